//! What is generated, in the hands of the real programs: kustomize, HAProxy, OpenSSH, dash and Python.

#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, LazyLock, Mutex};
use std::thread;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use camino::Utf8Path;
use sipgen::site::{Settings, Site};
use sipgen::source::Worktree;
use support::{Repo, documents, kustomize_build, run_tool, text, tool};
use tempfile::TempDir;
use yaml_serde::Value;

/// A fixture's repo after a run.
fn generated(fixture: &str) -> Repo {
    let repo = Repo::of_fixture(fixture);
    repo.generate(&[]).expect(0);
    repo
}

/// The repos of all fixtures after a run, by fixture.
static GENERATED: LazyLock<BTreeMap<String, Repo>> =
    LazyLock::new(|| support::fixture_names().into_iter().map(|name| (name.clone(), generated(&name))).collect());

/// A kustomization of the output, and what kustomize makes of it.
struct Build {
    /// Fixture and directory.
    name: String,
    directory: PathBuf,
    output: String,
}

/// Every kustomization below the overlays of every fixture, built. Components work only inside other builds.
static BUILDS: LazyLock<Vec<Build>> = LazyLock::new(|| {
    let mut builds = Vec::new();
    for (fixture, repo) in &*GENERATED {
        for (file, text) in repo.files("overlays") {
            if file.ends_with("kustomization.yaml") && documents(&text)[0]["kind"].as_str() != Some("Component") {
                let directory = repo.path().join("overlays").join(&file).parent().unwrap().to_owned();
                let output = kustomize_build(&directory);
                builds.push(Build { name: format!("{fixture}: {file}"), directory, output });
            }
        }
    }
    builds
});

/// The generated files of one name, of all fixtures.
fn files_named(name: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for repo in GENERATED.values() {
        let paths = repo.files("overlays").into_keys().filter(|path| path.rsplit('/').next() == Some(name));
        files.extend(paths.map(|path| repo.path().join("overlays").join(path)));
    }
    assert!(!files.is_empty(), "no fixture has a {name}");
    files
}

/// Runs a program that must end well, and returns what it printed.
#[track_caller]
fn succeed(command: &mut Command) -> String {
    let output = run_tool(command);
    assert!(output.status.success(), "{command:?}\n{}\n{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value:?} is not a string")).to_owned()
}

fn sequence(value: &Value) -> &[Value] {
    value.as_sequence().map_or(&[], Vec::as_slice)
}

/// `Kind namespace/name` of an object; one without namespace is in `default`.
fn identity(object: &Value) -> String {
    let metadata = &object["metadata"];
    let namespace = metadata.get("namespace").map_or("default".to_owned(), string);
    format!("{} {namespace}/{}", string(&object["kind"]), string(&metadata["name"]))
}

#[track_caller]
fn object(build: &str, kind: &str) -> Value {
    let mut objects = documents(build).into_iter().filter(|object| object["kind"].as_str() == Some(kind));
    let object = objects.next().unwrap_or_else(|| panic!("no {kind} in\n{build}"));
    assert!(objects.next().is_none(), "more than one {kind} in\n{build}");
    object
}

// kustomize and Kubernetes

#[test]
fn every_object_of_every_build_is_one_that_kubernetes_takes() {
    let directory = tempfile::tempdir().unwrap();
    let mut names = String::new();
    for (number, build) in BUILDS.iter().enumerate() {
        let file = directory.path().join(format!("{number}.yaml"));
        fs::write(&file, format!("# {}\n{}", build.name, build.output)).unwrap();
        names.push_str(&format!("{}\n", file.display()));
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut validator = Command::new(root.join("target/tools/venv/bin/python"));
    validator.arg(root.join("tests/tools/validate-manifests")).arg("--many").stdin(Stdio::piped());
    let missing = "target/tools/venv cannot be used; `tests/tools/install` makes it";
    let mut validator = validator
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{missing} ({error})"));
    validator.stdin.take().unwrap().write_all(names.as_bytes()).unwrap();

    let output = validator.wait_with_output().unwrap();

    assert!(output.status.success(), "{}", text(&output.stderr));
    let objects: usize = BUILDS.iter().map(|build| documents(&build.output).len()).sum();
    assert_eq!(text(&output.stdout).trim(), format!("{objects} objects valid"));
}

#[test]
fn a_cluster_is_built_from_its_services_as_each_service_is() {
    let mut services = BTreeMap::<&Path, BTreeSet<String>>::new();
    for build in BUILDS.iter().filter(|build| build.name.contains(": clusters/")) {
        let objects = documents(&build.output).into_iter().map(|object| identity(&object));
        services.entry(&build.directory).or_default().extend(objects);
    }
    let mut clusters = 0;
    for (directory, objects) in &services {
        let parts: BTreeSet<String> = services
            .iter()
            .filter(|(service, _)| service.parent() == Some(directory))
            .flat_map(|(_, objects)| objects.clone())
            .collect();
        if !parts.is_empty() {
            assert_eq!(objects, &parts, "{directory:?}");
            clusters += 1;
        }
    }
    assert!(clusters > 5, "{clusters}");
}

/// An object without what labels hosts: its labels and annotations.
fn bare(mut object: Value) -> Value {
    let metadata = object["metadata"].as_mapping_mut().unwrap();
    metadata.remove("labels");
    metadata.remove("annotations");
    object
}

/// The builds of declared hosts, each with what kustomize makes of the directory that it is based on.
fn declared_builds() -> impl Iterator<Item = (&'static Build, String)> {
    let declared = BUILDS.iter().filter(|build| build.name.contains(": hosts/declared/"));
    declared.map(|build| {
        let kustomization = fs::read_to_string(build.directory.join("kustomization.yaml")).unwrap();
        let base = string(&documents(&kustomization)[0]["resources"][0]);
        (build, kustomize_build(build.directory.join(base)))
    })
}

#[test]
fn a_build_of_declared_hosts_has_every_object_of_its_base_as_it_was_but_for_labels_and_annotations() {
    let mut builds = 0;
    for (build, base) in declared_builds() {
        let by_identity = |text: &str| -> BTreeMap<String, Value> {
            documents(text).into_iter().map(|object| (identity(&object), bare(object))).collect()
        };
        assert_eq!(by_identity(&build.output), by_identity(&base), "{}", build.name);
        builds += 1;
    }
    assert!(builds >= 7, "{builds}");
}

#[test]
fn a_build_of_declared_hosts_keeps_all_labels_and_annotations_of_its_base() {
    let entries = |object: &Value, field: &str| -> BTreeMap<String, String> {
        let entries = object["metadata"].get(field).and_then(Value::as_mapping).into_iter().flatten();
        entries.map(|(key, value)| (string(key), string(value))).collect()
    };
    let ours = |key: &str| key.starts_with("sip.airshipit.org/") || key == "argocd.argoproj.io/sync-options";
    for (build, base) in declared_builds() {
        let built: BTreeMap<String, Value> =
            documents(&build.output).into_iter().map(|object| (identity(&object), object)).collect();
        for object in documents(&base) {
            for field in ["labels", "annotations"] {
                let now = entries(&built[&identity(&object)], field);
                for (key, value) in entries(&object, field).into_iter().filter(|(key, _)| !ours(key)) {
                    assert_eq!(now.get(&key), Some(&value), "{}: {}: {key}", build.name, identity(&object));
                }
            }
        }
    }
}

#[test]
fn only_hosts_that_clusters_have_are_changed_by_a_build_of_declared_hosts() {
    for (build, base) in declared_builds() {
        let base: BTreeMap<String, Value> =
            documents(&base).into_iter().map(|object| (identity(&object), object)).collect();
        for object in documents(&build.output) {
            let labels = object["metadata"].get("labels");
            let cluster = labels.and_then(|labels| labels.get("sip.airshipit.org/cluster-name"));
            if cluster.is_none() {
                assert_eq!(object, base[&identity(&object)], "{}", build.name);
            }
        }
    }
}

#[test]
fn a_host_that_is_gone_from_its_manifests_fails_the_build_and_is_not_silently_left_out() {
    let repo = generated("quickstart");
    repo.replace("sites/lab/hosts/rack-a.yaml", "  name: lab-a1\n", "  name: lab-a9\n");

    let output = run_tool(tool("kustomize").arg("build").arg(repo.path().join("overlays/hosts/declared/sites/lab")));

    assert!(!output.status.success());
    assert!(text(&output.stderr).contains("lab-a1"), "{}", text(&output.stderr));
}

#[test]
fn a_label_of_the_manifest_that_gives_the_host_to_a_cluster_is_gone_from_the_build_when_the_host_is_given_back() {
    let repo = Repo::of_fixture("quickstart");
    let labels = "    sip.airshipit.org/cluster-namespace: tenant-a\n    sip.airshipit.org/cluster-name: edge\n    \
                  sip.airshipit.org/node-type: Worker\n";
    repo.replace(
        "sites/lab/hosts/rack-a.yaml",
        "  name: lab-a2\n  namespace: tenant-a\n  labels:\n",
        &format!("  name: lab-a2\n  namespace: tenant-a\n  labels:\n{labels}"),
    );
    repo.generate(&[]).expect(0);
    let counts = "active: 1\n        standby: 1";
    repo.replace("sites/lab/clusters/edge.yaml", counts, "active: 0\n        standby: 0");
    repo.generate(&[]).expect(0);

    let build = kustomize_build(repo.path().join("overlays/hosts/declared/sites/lab"));

    let host = documents(&build).into_iter().find(|object| object["metadata"]["name"].as_str() == Some("lab-a2"));
    let labels = host.unwrap()["metadata"]["labels"].clone();
    let keys: Vec<String> = labels.as_mapping().unwrap().keys().map(string).collect();
    assert_eq!(keys, ["hardware.example.com/flavor", "topology.example.com/rack"]);
}

// Namespaces: kustomize's and ours

/// The hosts and clusters that sipgen reads in a repo.
fn read_by_sipgen(repo: &Repo) -> BTreeSet<String> {
    let worktree = Worktree::new(Utf8Path::from_path(repo.path()).unwrap());
    let (site, findings) = Site::read(&worktree, Settings::load(&worktree).unwrap()).unwrap();
    let errors: Vec<_> = findings.iter().filter(|finding| finding.is_error()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let hosts = site.inventory.hosts.iter().map(|host| format!("BareMetalHost {}", host.key));
    hosts.chain(site.clusters.keys().map(|cluster| format!("SIPCluster {cluster}"))).collect()
}

/// The hosts and clusters that kustomize builds from some directories.
fn built_by_kustomize(repo: &Repo, directories: &[String]) -> BTreeSet<String> {
    let builds = directories.iter().map(|directory| kustomize_build(repo.path().join(directory)));
    let objects: Vec<Value> = builds.flat_map(|build| documents(&build)).collect();
    let ours = ["BareMetalHost", "SIPCluster"];
    objects.iter().filter(|object| ours.contains(&object["kind"].as_str().unwrap())).map(identity).collect()
}

#[test]
fn hosts_and_clusters_are_read_with_the_namespaces_that_kustomize_gives_them() {
    for (fixture, roots) in [
        ("kustomize-namespaces", vec!["sites/east", "sites/west"]),
        ("sip-operator", vec!["site"]),
        ("ipv6", vec!["site"]),
    ] {
        let repo = Repo::of_fixture(fixture);
        let roots: Vec<String> = roots.into_iter().map(str::to_owned).collect();
        assert_eq!(read_by_sipgen(&repo), built_by_kustomize(&repo, &roots), "{fixture}");
    }
}

fn host(name: &str, namespace: Option<&str>) -> String {
    let namespace = namespace.map_or(String::new(), |namespace| format!("  namespace: {namespace}\n"));
    format!(
        "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata:\n  name: {name}\n{namespace}spec:\n  online: true\n"
    )
}

fn kustomization(kind: &str, namespace: Option<&str>, lists: &str) -> String {
    let version = if kind == "Component" { "v1alpha1" } else { "v1beta1" };
    let namespace = namespace.map_or(String::new(), |namespace| format!("namespace: {namespace}\n"));
    format!("apiVersion: kustomize.config.k8s.io/{version}\nkind: {kind}\n{lists}{namespace}")
}

/// Three kustomizations, one in the other, and a host in the innermost; each level with a namespace or without.
#[test]
fn in_any_nesting_the_namespace_is_that_of_kustomize() {
    let repo = Repo::empty();
    let mut roots = Vec::new();
    for case in 0..16 {
        let site = format!("site-{case}");
        let namespace = |bit: u32, name: &'static str| (case & (1 << bit) != 0).then_some(name);
        // The ways to write a path, and the names that the file may have, take turns.
        let (to_middle, to_inner) = [("middle", "../inner"), ("./middle/", "./../inner/")][case % 2];
        let file = ["kustomization.yaml", "kustomization.yml", "Kustomization"][case % 3];
        let outer = format!("resources:\n  - {to_middle}\n");
        repo.write(&format!("{site}/{file}"), &kustomization("Kustomization", namespace(0, "outer"), &outer));
        let middle = format!("resources:\n  - {to_inner}\n");
        repo.write(&format!("{site}/middle/{file}"), &kustomization("Kustomization", namespace(1, "middle"), &middle));
        let inner = kustomization("Kustomization", namespace(2, "inner"), "resources:\n  - host.yaml\n");
        repo.write(&format!("{site}/inner/{file}"), &inner);
        repo.write(&format!("{site}/inner/host.yaml"), &host(&format!("host-{case}"), namespace(3, "own")));
        roots.push(site);
    }

    assert_eq!(read_by_sipgen(&repo), built_by_kustomize(&repo, &roots));
}

#[test]
fn a_host_of_a_component_gets_the_namespace_that_kustomize_gives_it() {
    let repo = Repo::empty();
    let mut roots = Vec::new();
    for case in 0..4 {
        let site = format!("site-{case}");
        let namespace = |bit: u32, name: &'static str| (case & (1 << bit) != 0).then_some(name);
        let outer = kustomization("Kustomization", namespace(0, "outer"), "components:\n  - component\n");
        repo.write(&format!("{site}/kustomization.yaml"), &outer);
        let component = kustomization("Component", namespace(1, "component"), "resources:\n  - host.yaml\n");
        repo.write(&format!("{site}/component/kustomization.yaml"), &component);
        repo.write(&format!("{site}/component/host.yaml"), &host(&format!("host-{case}"), Some("own")));
        roots.push(site);
    }

    assert_eq!(read_by_sipgen(&repo), built_by_kustomize(&repo, &roots));
}

/// A component transforms all that the kustomization has which lists it.
#[test]
fn a_component_gives_its_namespace_to_the_hosts_beside_it_as_in_kustomize() {
    let repo = Repo::empty();
    let lists = "resources:\n  - host.yaml\ncomponents:\n  - component\n";
    repo.write("site/kustomization.yaml", &kustomization("Kustomization", None, lists));
    repo.write("site/host.yaml", &host("host", None));
    repo.write("site/component/kustomization.yaml", &kustomization("Component", Some("component"), ""));

    assert_eq!(read_by_sipgen(&repo), built_by_kustomize(&repo, &["site".to_owned()]));
}

// The tenant's API server

/// What a KubeadmControlPlane becomes in an overlay with the component of the quickstart's cluster.
fn with_component(version: &str, api_server: &str) -> Vec<Value> {
    let repo = generated("quickstart");
    repo.write(
        "tenant/kubeadm-control-plane.yaml",
        &format!(
            "apiVersion: controlplane.cluster.x-k8s.io/{version}\nkind: KubeadmControlPlane\nmetadata:\n  name: edge\n  \
             namespace: tenant-a\nspec:\n  version: v1.33.0\n  kubeadmConfigSpec:\n    clusterConfiguration:\n      \
             apiServer:\n{api_server}    files:\n    - path: /etc/motd\n      content: hello\n"
        ),
    );
    let lists = "resources:\n  - kubeadm-control-plane.yaml\ncomponents:\n  - ../overlays/clusters/tenant-a/edge/auth/kubeadm\n";
    repo.write("tenant/kustomization.yaml", &kustomization("Kustomization", None, lists));
    documents(&kustomize_build(repo.path().join("tenant")))
}

const OIDC: [(&str, &str); 5] = [
    ("oidc-ca-file", "/etc/kubernetes/pki/oidc-ca.crt"),
    ("oidc-client-id", "kubernetes"),
    ("oidc-groups-claim", "groups"),
    ("oidc-issuer-url", "https://192.0.2.10:30556/dex"),
    ("oidc-username-claim", "email"),
];

/// The arguments, with the one that the KubeadmControlPlane had before.
fn expected_arguments() -> BTreeMap<String, String> {
    let all = OIDC.into_iter().chain([("audit-log-maxage", "30")]);
    all.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[test]
fn a_v1beta1_control_plane_gets_the_oidc_arguments_beside_its_own() {
    let built = with_component("v1beta1", "        extraArgs:\n          audit-log-maxage: \"30\"\n");

    let arguments = &built[0]["spec"]["kubeadmConfigSpec"]["clusterConfiguration"]["apiServer"]["extraArgs"];
    let arguments = arguments.as_mapping().unwrap().iter().map(|(name, value)| (string(name), string(value)));
    assert_eq!(arguments.collect::<BTreeMap<_, _>>(), expected_arguments());
}

#[test]
fn a_v1beta2_control_plane_gets_the_oidc_arguments_beside_its_own() {
    let own = "        extraArgs:\n        - name: audit-log-maxage\n          value: \"30\"\n";
    let built = with_component("v1beta2", own);

    let arguments = &built[0]["spec"]["kubeadmConfigSpec"]["clusterConfiguration"]["apiServer"]["extraArgs"];
    let arguments = sequence(arguments).iter().map(|argument| (string(&argument["name"]), string(&argument["value"])));
    assert_eq!(arguments.collect::<BTreeMap<_, _>>(), expected_arguments());
}

#[test]
fn a_control_plane_without_arguments_gets_them_too() {
    for version in ["v1beta1", "v1beta2"] {
        let built = with_component(version, "        timeoutForControlPlane: 4m0s\n");

        let arguments = &built[0]["spec"]["kubeadmConfigSpec"]["clusterConfiguration"]["apiServer"]["extraArgs"];
        let number = arguments.as_mapping().map_or(sequence(arguments).len(), |arguments| arguments.len());
        assert_eq!(number, OIDC.len(), "{version}: {arguments:?}");
    }
}

#[test]
fn a_control_plane_gets_the_ca_of_dex_from_its_secret_beside_its_own_files() {
    for version in ["v1beta1", "v1beta2"] {
        let built = with_component(version, "        timeoutForControlPlane: 4m0s\n");

        let files = sequence(&built[0]["spec"]["kubeadmConfigSpec"]["files"]);
        let paths: Vec<String> = files.iter().map(|file| string(&file["path"])).collect();
        assert_eq!(paths, ["/etc/motd", "/etc/kubernetes/pki/oidc-ca.crt"], "{version}");
        let secret = &files[1]["contentFrom"]["secret"];
        assert_eq!(
            (string(&secret["name"]), string(&secret["key"])),
            ("auth-edge-tls".to_owned(), "ca.crt".to_owned())
        );
    }
}

#[test]
fn the_component_adds_no_object_of_its_own() {
    for version in ["v1beta1", "v1beta2"] {
        let built = with_component(version, "        timeoutForControlPlane: 4m0s\n");

        assert_eq!(built.iter().map(identity).collect::<Vec<_>>(), ["KubeadmControlPlane tenant-a/edge"], "{version}");
    }
}

// HAProxy

#[test]
fn haproxy_takes_every_configuration() {
    for file in files_named("haproxy.cfg") {
        succeed(tool("haproxy").arg("-c").arg("-f").arg(file));
    }
}

#[test]
fn haproxy_takes_the_configuration_of_a_cluster_without_hosts() {
    let repo = Repo::of_fixture("quickstart");
    for (counts, none) in [
        ("active: 2\n        standby: 0", "active: 0\n        standby: 0"),
        ("active: 1\n        standby: 1", "active: 0\n        standby: 0"),
    ] {
        repo.replace("sites/lab/clusters/edge.yaml", counts, none);
    }
    repo.generate(&[]).expect(0);

    for balancer in ["loadbalancer-controlplane", "loadbalancer-worker"] {
        let file = repo.path().join(format!("overlays/clusters/tenant-a/edge/{balancer}/haproxy.cfg"));
        succeed(tool("haproxy").arg("-c").arg("-f").arg(file));
    }
}

/// The name of the ConfigMap in a build of a load balancer, to which its Deployment must refer.
fn configuration_of(repo: &Repo) -> String {
    let build = kustomize_build(repo.path().join("overlays/clusters/tenant-a/edge/loadbalancer-controlplane"));
    let name = string(&object(&build, "ConfigMap")["metadata"]["name"]);
    let volumes = object(&build, "Deployment")["spec"]["template"]["spec"]["volumes"].clone();
    let mounted: Vec<String> = sequence(&volumes).iter().map(|volume| string(&volume["configMap"]["name"])).collect();
    assert_eq!(mounted, [name.as_str()]);
    name
}

#[test]
fn a_changed_configuration_has_a_new_name_so_that_haproxy_is_started_anew() {
    let repo = generated("quickstart");
    let before = configuration_of(&repo);
    repo.replace("sites/lab/hosts/rack-a.yaml", "ip_address: 198.51.100.11\n", "ip_address: 198.51.100.111\n");
    repo.generate(&[]).expect(0);

    let after = configuration_of(&repo);

    assert_ne!(before, after);
}

// OpenSSH and the jump host's scripts

/// A directory that a user without any rights owns, and the number of that user: sshd runs as an ordinary user,
/// and what it checks is other than for root.
struct Unprivileged {
    directory: TempDir,
    user: u32,
}

impl Unprivileged {
    const NOBODY: u32 = 65534;

    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let own = fs::metadata(directory.path()).unwrap().uid();
        let user = if own == 0 { Self::NOBODY } else { own };
        if own == 0 {
            chown(directory.path(), Some(user), Some(user)).unwrap();
        }
        Self { directory, user }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    /// A program that runs as this user.
    fn tool(&self, program: impl AsRef<Path>) -> Command {
        let root = fs::metadata("/proc/self").unwrap().uid() == 0;
        if !root {
            return tool(program.as_ref().to_str().unwrap());
        }
        let mut command = tool("setpriv");
        command.args(["--reuid", &self.user.to_string(), "--regid", &self.user.to_string(), "--clear-groups", "--"]);
        command.arg(program.as_ref());
        command
    }

    /// A file of this user.
    fn file(&self, name: &str, text: &[u8], mode: u32) -> PathBuf {
        let path = self.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        if self.user == Self::NOBODY {
            chown(&path, Some(self.user), Some(self.user)).unwrap();
        }
        path
    }
}

/// sshd asks to be called by its whole path.
fn sshd() -> PathBuf {
    let places = ["/usr/sbin/sshd", "/usr/local/sbin/sshd", "/sbin/sshd"].map(PathBuf::from);
    let found = places.into_iter().find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("sshd must be installed (Debian: apt-get install openssh-server)"))
}

#[test]
fn sshd_takes_every_configuration_as_an_ordinary_user() {
    let user = Unprivileged::new();
    let keys: Vec<PathBuf> = ["ed25519", "rsa"]
        .map(|kind| {
            let key = user.path().join(kind);
            succeed(user.tool("ssh-keygen").args(["-q", "-N", "", "-t", kind, "-f"]).arg(&key));
            key
        })
        .into();
    for file in files_named("sshd_config") {
        let configuration = user.file("sshd_config", &fs::read(&file).unwrap(), 0o400);
        let authorized = fs::read(file.with_file_name("authorized_keys")).unwrap();
        let authorized = user.file("authorized_keys", &authorized, 0o444);
        let mut command = user.tool(sshd());
        command.arg("-t").arg("-f").arg(&configuration);
        keys.iter().for_each(|key| {
            command.arg("-h").arg(key);
        });
        command.arg("-o").arg(format!("AuthorizedKeysFile={}", authorized.display()));

        succeed(&mut command);
        fs::remove_file(configuration).unwrap();
        fs::remove_file(authorized).unwrap();
    }
}

#[test]
fn sshd_admits_keys_only() {
    let repo = &GENERATED["quickstart"];
    let user = Unprivileged::new();
    let key = user.path().join("key");
    succeed(user.tool("ssh-keygen").args(["-q", "-N", "", "-t", "ed25519", "-f"]).arg(&key));
    let text = repo.read("overlays/clusters/tenant-a/edge/jumphost/sshd_config");
    let configuration = user.file("sshd_config", text.as_bytes(), 0o400);

    let effective = succeed(user.tool(sshd()).arg("-T").arg("-f").arg(configuration).arg("-h").arg(key));

    for line in [
        "port 2222",
        "authenticationmethods publickey",
        "passwordauthentication no",
        "kbdinteractiveauthentication no",
        "permitrootlogin no",
        "authorizedkeysfile /etc/ssh/authorized_keys",
    ] {
        assert!(effective.lines().any(|effective| effective == line), "{line} is not in\n{effective}");
    }
}

/// What the ssh client makes of a configuration: the address of a host.
fn address_by_ssh(configuration: &Path, host: &str) -> String {
    let effective = succeed(tool("ssh").arg("-G").arg("-F").arg(configuration).arg(host));
    let line = effective.lines().find_map(|line| line.strip_prefix("hostname "));
    line.unwrap_or_else(|| panic!("no hostname in\n{effective}")).to_owned()
}

#[test]
fn ssh_finds_each_host_by_its_name() {
    let quickstart = [
        ("lab-a1", "198.51.100.11"),
        ("lab-b1", "198.51.100.21"),
        ("lab-a2", "198.51.100.12"),
        ("lab-b2", "198.51.100.22"),
    ];
    let ipv6 = [("d1-north", "2001:db8:0:a::11"), ("d2-south", "2001:db8:0:a::22")];
    for (fixture, cluster, hosts) in [("quickstart", "tenant-a/edge", &quickstart[..]), ("ipv6", "v6/edge", &ipv6)] {
        let file = format!("overlays/clusters/{cluster}/jumphost/ssh_config");
        for (host, address) in hosts {
            assert_eq!(address_by_ssh(&GENERATED[fixture].path().join(&file), host), *address, "{host}");
        }
    }
}

#[test]
fn ssh_and_the_pods_host_aliases_agree_on_every_host() {
    let mut hosts = 0;
    for file in files_named("ssh_config") {
        let deployment = fs::read_to_string(file.with_file_name("deployment.yaml")).unwrap();
        for alias in sequence(&object(&deployment, "Deployment")["spec"]["template"]["spec"]["hostAliases"]) {
            for name in sequence(&alias["hostnames"]) {
                assert_eq!(address_by_ssh(&file, &string(name)), string(&alias["ip"]), "{file:?}");
                hosts += 1;
            }
        }
    }
    assert!(hosts > 20, "{hosts}");
}

#[test]
fn every_authorized_key_is_one_for_openssh() {
    for file in files_named("authorized_keys") {
        let content = fs::read_to_string(&file).unwrap();
        let keys = content.lines().filter(|line| !line.starts_with('#')).count();
        assert!(keys > 0, "{file:?}");

        let fingerprints = succeed(tool("ssh-keygen").arg("-l").arg("-f").arg(&file));

        assert_eq!(fingerprints.lines().count(), keys, "{file:?}\n{fingerprints}");
    }
}

#[test]
fn dash_takes_every_start_script() {
    for file in files_named("start") {
        succeed(tool("dash").arg("-n").arg(file));
    }
}

#[test]
fn the_host_tool_is_no_newer_than_the_python_of_the_jump_hosts_image() {
    let parse = "import ast, sys; ast.parse(open(sys.argv[1]).read(), feature_version=(3, 6))";
    for file in files_named("host") {
        succeed(tool("python3").arg("-c").arg(parse).arg(file));
    }
}

#[test]
fn host_list_shows_every_host_with_its_role_address_and_bmc() {
    let directory = GENERATED["quickstart"].path().join("overlays/clusters/tenant-a/edge/jumphost");

    let mut tool = tool("python3");
    let list = succeed(tool.arg(directory.join("host")).arg("list").env("SIPGEN_HOSTS", directory.join("hosts")));

    let rows: Vec<Vec<&str>> = list.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["NAME", "ROLE", "ADDRESS", "BMC"]);
    assert_eq!(rows[1], ["lab-a1", "ControlPlane", "198.51.100.11", "https://203.0.113.11/redfish/v1/Systems/1"]);
    assert_eq!(rows.len(), 5, "{list}");
}

#[test]
fn host_list_reads_the_hosts_of_every_jump_host() {
    for file in files_named("hosts") {
        let mut tool = tool("python3");
        let list = succeed(tool.arg(file.with_file_name("host")).arg("list").env("SIPGEN_HOSTS", &file));

        let ssh_config = fs::read_to_string(file.with_file_name("ssh_config")).unwrap();
        let hosts = ssh_config.lines().filter_map(|line| line.strip_prefix("Host ")).filter(|host| *host != "*");
        let listed = list.lines().skip(1).map(|line| line.split_whitespace().next().unwrap());
        assert_eq!(listed.collect::<Vec<_>>(), hosts.collect::<Vec<_>>(), "{file:?}");
    }
}

// Redfish

/// A request that a BMC got: method and path, who asked, and the body.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Request {
    what: String,
    user: String,
    body: String,
}

/// A small Redfish service over HTTP with the systems 1 and 2, for the user `admin` with a password.
struct Bmc {
    port: u16,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Bmc {
    fn start(password: &'static str, reset_types: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let bmc = Self { port: listener.local_addr().unwrap().port(), requests: Arc::default() };
        let requests = bmc.requests.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                answer(stream.unwrap(), password, reset_types, &requests);
            }
        });
        bmc
    }

    /// What was asked for that changes anything.
    fn orders(&self) -> Vec<Request> {
        let requests = self.requests.lock().unwrap().clone();
        requests.into_iter().filter(|request| request.what.starts_with("POST ")).collect()
    }
}

fn answer(mut stream: TcpStream, password: &str, reset_types: &str, requests: &Mutex<Vec<Request>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let what = line.rsplit_once(" HTTP/").unwrap().0.to_owned();
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_lowercase(), value.to_owned());
    }
    let mut body = vec![0; headers.get("content-length").map_or(0, |length| length.parse().unwrap())];
    reader.read_exact(&mut body).unwrap();
    let basic = headers.get("authorization").and_then(|value| value.strip_prefix("Basic ")).unwrap_or_default();
    let user = text(&STANDARD.decode(basic).unwrap());

    let system = what.strip_prefix("GET /redfish/v1/Systems/").filter(|system| ["1", "2"].contains(system));
    let (status, answer) = match system {
        _ if user != format!("admin:{password}") => ("401 Unauthorized", "{}".to_owned()),
        _ if what == "GET /redfish/v1/Systems" => {
            ("200 OK", r#"{"Members": [{"@odata.id": "/redfish/v1/Systems/1"}]}"#.to_owned())
        }
        Some(system) => {
            let target = format!("/redfish/v1/Systems/{system}/Actions/Vendor.Reset");
            let reset = format!(r##"{{"target": "{target}", "ResetType@Redfish.AllowableValues": [{reset_types}]}}"##);
            ("200 OK", format!(r##"{{"Actions": {{"#ComputerSystem.Reset": {reset}}}}}"##))
        }
        None if what.ends_with("/Actions/Vendor.Reset") => ("204 No Content", String::new()),
        None => ("404 Not Found", "{}".to_owned()),
    };
    requests.lock().unwrap().push(Request { what, user, body: text(&body) });
    let length = answer.len();
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{answer}").unwrap();
}

const BOTH: &str = r#""ForceRestart", "GracefulRestart""#;

/// The quickstart, generated with two of its hosts behind one BMC.
fn behind(bmc: &Bmc, paths: [&str; 2]) -> Repo {
    let repo = Repo::of_fixture("quickstart");
    for (address, path) in
        ["redfish+https://203.0.113.11/redfish/v1/Systems/1", "redfish+https://203.0.113.12/redfish/v1/Systems/1"]
            .into_iter()
            .zip(paths)
    {
        repo.replace("sites/lab/hosts/rack-a.yaml", address, &format!("redfish+http://127.0.0.1:{}{path}", bmc.port));
    }
    repo.generate(&[]).expect(0);
    repo
}

/// Lays out the credentials as the kubelet does by the jump host's Deployment, from the Secrets of the site.
fn mounted_credentials(repo: &Repo) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let secrets: BTreeMap<String, Value> = documents(&kustomize_build(repo.path().join("sites/lab")))
        .into_iter()
        .filter(|object| object["kind"].as_str() == Some("Secret"))
        .map(|secret| (string(&secret["metadata"]["name"]), secret))
        .collect();
    let deployment = repo.read("overlays/clusters/tenant-a/edge/jumphost/deployment.yaml");
    for volume in sequence(&object(&deployment, "Deployment")["spec"]["template"]["spec"]["volumes"]) {
        for source in sequence(&volume["projected"]["sources"]) {
            for item in sequence(&source["secret"]["items"]) {
                let path = directory.path().join(string(&item["path"]));
                let encoded = string(&secrets[&string(&source["secret"]["name"])]["data"][&item["key"]]);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, STANDARD.decode(encoded).unwrap()).unwrap();
            }
        }
    }
    directory
}

/// Runs `host reboot NAME` as the jump host of the quickstart's cluster would; gives how it ended and what it said.
fn reboot(repo: &Repo, host: &str) -> (bool, String) {
    let directory = repo.path().join("overlays/clusters/tenant-a/edge/jumphost");
    let credentials = mounted_credentials(repo);
    let mut command = tool("python3");
    command.arg(directory.join("host")).args(["reboot", host]).env("NO_PROXY", "*").env("no_proxy", "*");
    command.env("SIPGEN_HOSTS", directory.join("hosts")).env("SIPGEN_BMC_CREDENTIALS", credentials.path());
    let output = run_tool(&mut command);
    (output.status.success(), text(&output.stdout) + &text(&output.stderr))
}

#[test]
fn host_reboot_restarts_the_system_that_the_hosts_bmc_address_names_with_the_credentials_of_its_secret() {
    let bmc = Bmc::start("not-a-secret", BOTH);
    let repo = behind(&bmc, ["/redfish/v1/Systems/1", "/redfish/v1/Systems/2"]);

    let (success, said) = reboot(&repo, "lab-a2");

    assert!(success, "{said}");
    let order = Request {
        what: "POST /redfish/v1/Systems/2/Actions/Vendor.Reset".to_owned(),
        user: "admin:not-a-secret".to_owned(),
        body: r#"{"ResetType": "GracefulRestart"}"#.to_owned(),
    };
    assert_eq!(bmc.orders(), [order]);
}

#[test]
fn host_reboot_finds_the_only_system_of_a_bmc_whose_address_names_none() {
    let bmc = Bmc::start("not-a-secret", BOTH);
    let repo = behind(&bmc, ["", "/redfish/v1/Systems/2"]);

    let (success, said) = reboot(&repo, "lab-a1");

    assert!(success, "{said}");
    let orders: Vec<String> = bmc.orders().into_iter().map(|order| order.what).collect();
    assert_eq!(orders, ["POST /redfish/v1/Systems/1/Actions/Vendor.Reset"]);
}

#[test]
fn host_reboot_says_that_the_bmc_refuses_the_credentials() {
    let bmc = Bmc::start("another password", BOTH);
    let repo = behind(&bmc, ["/redfish/v1/Systems/1", "/redfish/v1/Systems/2"]);

    let (success, said) = reboot(&repo, "lab-a1");

    assert!(!success);
    assert!(said.starts_with("host: lab-a1: the BMC refuses the user name or the password"), "{said}");
    assert!(!said.contains("not-a-secret"), "{said}");
}

#[test]
fn host_reboot_gives_no_order_that_the_bmc_does_not_offer() {
    let bmc = Bmc::start("not-a-secret", r#""ForceRestart""#);
    let repo = behind(&bmc, ["/redfish/v1/Systems/1", "/redfish/v1/Systems/2"]);

    let (success, said) = reboot(&repo, "lab-a1");

    assert!(!success);
    assert!(said.contains("does not offer GracefulRestart, only ForceRestart"), "{said}");
    assert!(bmc.orders().is_empty());
}

#[test]
fn host_reboot_of_an_unknown_host_says_how_to_see_the_known_ones() {
    let (success, said) = reboot(&GENERATED["quickstart"], "lab-z9");

    assert!(!success);
    assert!(said.contains("lab-z9: there is no such host; \"host list\" shows them"), "{said}");
}
