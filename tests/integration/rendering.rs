//! What is rendered: recorded texts of the fixtures' output (`tests/integration/snapshots`), and what must hold in all of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::{LazyLock, OnceLock};

use yaml_serde::Value;

use crate::support::{Repo, documents, fixture_names, shared_directory};

/// Generated files, by path below `overlays`.
type Files = BTreeMap<String, String>;

/// Returns the files that sipgen writes for a fixture; it runs once per fixture and process.
fn generated(fixture: &str) -> &'static Files {
    static GENERATED: LazyLock<BTreeMap<String, OnceLock<Files>>> = LazyLock::new(|| {
        let fixtures = fixture_names().into_iter();
        fixtures.map(|name| (name, OnceLock::new())).collect()
    });
    GENERATED[fixture].get_or_init(|| overlays(&Repo::of_fixture(fixture)))
}

/// Returns the files of every fixture.
fn all_generated() -> impl Iterator<Item = (String, &'static Files)> {
    fixture_names().into_iter().map(|fixture| {
        let files = generated(&fixture);
        (fixture, files)
    })
}

fn overlays(repo: &Repo) -> Files {
    repo.generate(&[]).expect(0);
    repo.files("overlays")
}

/// All generated files of all fixtures, with names that tell where they are from.
fn all_files() -> impl Iterator<Item = (String, &'static str)> {
    all_generated().flat_map(|(fixture, files)| {
        files.iter().map(move |(path, text)| (format!("{fixture}: {path}"), text.as_str()))
    })
}

/// Files of programs, not of Kubernetes.
fn is_configuration(file: &str) -> bool {
    file.ends_with("/installer/hosts.yaml")
        || file.ends_with("/config.yaml")
        || file.ends_with("/authentication-configuration.yaml")
}

/// All generated manifests of all fixtures.
fn all_objects() -> impl Iterator<Item = (String, Value)> {
    let manifests =
        all_files().filter(|(file, _)| file.ends_with(".yaml") && !is_configuration(file));
    manifests.flat_map(|(file, text)| {
        documents(text).into_iter().map(move |object| (file.clone(), object))
    })
}

/// The kustomizations of all fixtures' output, by fixture and directory.
fn all_kustomizations() -> impl Iterator<Item = (String, Value)> {
    all_objects().filter(|(file, _)| file.ends_with("/kustomization.yaml"))
}

/// The builds that hold hosts.
fn host_kustomizations() -> impl Iterator<Item = (String, Value)> {
    all_kustomizations().filter(|(file, _)| file.contains(": hosts/"))
}

fn strings(value: &Value) -> BTreeMap<&str, &str> {
    let entries = value.as_mapping().unwrap_or_else(|| panic!("{value:?} is not a mapping"));
    entries.iter().map(|(key, value)| (key.as_str().unwrap(), value.as_str().unwrap())).collect()
}

/// The only object of a file.
#[track_caller]
fn only(files: &Files, path: &str) -> Value {
    let text = files.get(path).unwrap_or_else(|| panic!("{path} is not among {:?}", files.keys()));
    let mut objects = documents(text);
    assert_eq!(objects.len(), 1, "{path}");
    objects.remove(0)
}

/// The Deployment of a service in a directory, without what the service's kustomization adds.
#[track_caller]
fn deployment(files: &Files, service: &str) -> Value {
    let kustomization = &files[&format!("{service}/kustomization.yaml")];
    only(files, &format!("{}/deployment.yaml", shared_directory(kustomization)))
}

/// A patch of the kustomization of a service in a directory, by the kind of its object.
#[track_caller]
fn patch(files: &Files, service: &str, kind: &str) -> Option<Value> {
    let kustomization = only(files, &format!("{service}/kustomization.yaml"));
    let patches = kustomization["patches"].as_sequence().unwrap();
    let mut bodies =
        patches.iter().map(|patch| documents(patch["patch"].as_str().unwrap()).remove(0));
    bodies.find(|body| body["kind"].as_str() == Some(kind))
}

#[track_caller]
fn object_name(files: &Files, path: &str) -> String {
    only(files, path)["metadata"]["name"].as_str().unwrap().to_owned()
}

/// Holds all rules for generated files against every fixture.
///
/// One test, because each test is a process and would generate every fixture again.
#[test]
fn the_output_of_every_fixture_keeps_all_rules() {
    let rules: [fn(); 19] = [
        nothing_is_recorded_that_is_no_longer_rendered,
        all_jump_hosts_have_the_same_scripts_and_those_of_the_image,
        a_service_selects_the_pods_of_its_own_deployment_only,
        a_service_that_may_run_on_control_plane_nodes_tolerates_their_taints,
        no_secret_is_written_only_references_to_secrets,
        no_password_of_the_inventory_reaches_the_output,
        a_jump_host_may_get_the_bmc_secrets_of_its_hosts_and_nothing_else,
        no_file_has_a_variable_that_flux_would_replace,
        every_directory_with_yaml_is_a_kustomization,
        no_kustomization_is_empty,
        patches_name_their_host_and_have_no_target_and_those_with_one_are_of_secrets,
        builds_of_hosts_rewrite_neither_namespaces_nor_names,
        every_assigned_host_is_guarded_against_pruning_and_deletion,
        every_observed_host_is_merged_into_what_others_made,
        a_declared_host_is_applied_as_the_whole_that_it_is,
        all_values_of_labels_and_annotations_of_hosts_are_quoted,
        every_file_ends_with_a_newline,
        every_file_says_in_a_comment_from_which_file_it_was_made,
        every_file_begins_with_the_mark_of_ownership,
    ];
    for rule in rules {
        rule();
    }
}

// The recorded texts

/// A jump host's scripts are long and everywhere the same, to the letter those of the templates.
const SCRIPTS: [&str; 3] = ["host", "refresh", "start"];

/// Whether a fixture's file is recorded.
fn is_recorded(fixture: &str, path: &str) -> bool {
    let is_script = SCRIPTS.contains(&path.rsplit('/').next().unwrap());
    match fixture {
        "quickstart" => !is_script,
        "auth" => !path.starts_with("crds/") && !path.starts_with("tenants/"),
        "jump-host" => path.contains("/jumphost/") && !is_script,
        "ipv6" | "observed" => {
            !path.starts_with("crds/") && !path.starts_with("tenants/") && !is_script
        }
        "declared-and-snapshot" => path.starts_with("hosts/"),
        "custom-haproxy" => path.ends_with("/haproxy.cfg"),
        "provisioning" => path.starts_with("clusters/"),
        "multi-cluster" => {
            let odd = [
                "tenant-a/core/jumphost/",
                "tenant-a/edge/loadbalancer-",
                "tenant-a/edge/jumphost",
            ];
            let is_odd = odd.iter().any(|below| path.starts_with(&format!("clusters/{below}")));
            path.starts_with("hosts/") || (is_odd && !is_script)
        }
        _ => false,
    }
}

/// The recorded texts of a fixture by their names: one a directory of output, each file below its path, so that a
/// review shows what changes in one service or one build of hosts.
fn records(fixture: &str) -> BTreeMap<String, String> {
    let mut records = BTreeMap::<String, String>::new();
    let files = generated(fixture);
    for (path, text) in files.iter().filter(|(path, _)| is_recorded(fixture, path)) {
        let (directory, _) = path.rsplit_once('/').unwrap();
        let record =
            records.entry(format!("{fixture}.{}", record_name(files, directory))).or_default();
        record.push_str(&format!(">>> {path}\n{text}"));
    }
    records
}

/// The name of a directory's record. That of shared files has the name of the first service that refers to them, because
/// the name of their directory changes with their content.
fn record_name(files: &Files, directory: &str) -> String {
    let shared: Vec<&str> = directory.splitn(4, '/').collect();
    let service = match shared.as_slice() {
        ["shared", templates, hash, ..] => {
            let reference = format!("/shared/{templates}/{hash}\"");
            let user = files.iter().find(|(_, text)| text.contains(&reference));
            let (kustomization, _) =
                user.unwrap_or_else(|| panic!("nothing refers to {directory}"));
            let (service, _) = kustomization.rsplit_once('/').unwrap();
            let below = shared.get(3).map_or(String::new(), |below| format!("/{below}"));
            format!("{service}/shared{below}")
        }
        _ => directory.to_owned(),
    };
    service.replace('/', ".")
}

#[track_caller]
fn assert_as_recorded(fixture: &str) {
    for (name, text) in records(fixture) {
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(name, text);
        });
    }
}

#[test]
fn auth_is_rendered_as_recorded() {
    assert_as_recorded("auth");
}

#[test]
fn outputs_are_rendered_as_recorded() {
    assert_as_recorded("outputs");
}

#[test]
fn quickstart_is_rendered_as_recorded() {
    assert_as_recorded("quickstart");
}

#[test]
fn ipv6_is_rendered_as_recorded() {
    assert_as_recorded("ipv6");
}

#[test]
fn observed_is_rendered_as_recorded() {
    assert_as_recorded("observed");
}

#[test]
fn declared_and_snapshot_is_rendered_as_recorded() {
    assert_as_recorded("declared-and-snapshot");
}

#[test]
fn custom_haproxy_is_rendered_as_recorded() {
    assert_as_recorded("custom-haproxy");
}

#[test]
fn provisioning_is_rendered_as_recorded() {
    assert_as_recorded("provisioning");
}

#[test]
fn multi_cluster_is_rendered_as_recorded() {
    assert_as_recorded("multi-cluster");
}

#[test]
fn jump_host_is_rendered_as_recorded() {
    assert_as_recorded("jump-host");
}

fn nothing_is_recorded_that_is_no_longer_rendered() {
    let rendered: BTreeSet<String> = fixture_names()
        .iter()
        .flat_map(|fixture| records(fixture).into_keys())
        .map(|name| name + ".snap")
        .collect();

    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/integration/snapshots");
    let entries = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let fixtures = fixture_names();
    let ours = entries
        .filter(|file| fixtures.iter().any(|fixture| file.starts_with(&format!("{fixture}."))));
    let recorded: BTreeSet<String> = ours.filter(|file| file.ends_with(".snap")).collect();

    let abandoned: Vec<&String> = recorded.difference(&rendered).collect();
    assert!(abandoned.is_empty(), "remove {abandoned:?} from tests/integration/snapshots");
}

fn all_jump_hosts_have_the_same_scripts_and_those_of_the_image() {
    let script = |text: &str| -> String {
        let lines = text.lines().filter(|line| !line.starts_with("# Generated by sipgen"));
        lines.map(|line| format!("{line}\n")).collect()
    };
    for name in SCRIPTS {
        let template =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("templates/jumphost/shared").join(name);
        let template = fs::read_to_string(template).unwrap();
        let scripts: Vec<_> =
            all_files().filter(|(file, _)| file.ends_with(&format!("/{name}"))).collect();
        assert!(scripts.len() > 2, "{name}");
        for (file, text) in scripts {
            assert_eq!(script(text), template, "{file}");
        }
    }
}

// Names

#[test]
fn objects_are_named_after_their_service_and_cluster() {
    let files = generated("quickstart");
    for service in ["auth", "jumphost", "loadbalancer-controlplane", "loadbalancer-worker"] {
        let directory = format!("clusters/tenant-a/edge/{service}");
        let name = object_name(files, &format!("{directory}/service.yaml"));
        assert_eq!(name, format!("{service}-edge"));
        let kustomization = only(files, &format!("{directory}/kustomization.yaml"));
        let renaming = kustomization["patches"].as_sequence().unwrap().last().unwrap();
        assert_eq!(
            renaming["target"]["name"],
            deployment(files, &directory)["metadata"]["name"],
            "{service}"
        );
        let operations = &documents(renaming["patch"].as_str().unwrap())[0];
        assert_eq!(operations[0]["value"].as_str(), Some(name.as_str()));
    }
}

/// The name of the control-plane load balancer's Service, of a cluster with a name.
fn service_name_of(cluster: &str) -> String {
    let repo = Repo::of_fixture("quickstart");
    repo.replace("sites/lab/clusters/edge.yaml", "  name: edge\n", &format!("  name: {cluster}\n"));
    let files = overlays(&repo);
    object_name(
        &files,
        &format!("clusters/tenant-a/{cluster}/loadbalancer-controlplane/service.yaml"),
    )
}

#[test]
fn the_longest_name_that_fits_a_service_is_kept_whole() {
    let cluster = "a".repeat(63 - "loadbalancer-controlplane-".len());

    assert_eq!(service_name_of(&cluster), format!("loadbalancer-controlplane-{cluster}"));
}

/// The end of the name is the start of the whole name's SHA-256, as `sha256sum` gives it.
#[test]
fn a_name_too_long_for_a_service_is_shortened_and_ends_in_a_hash_of_the_whole() {
    let name = service_name_of(&"a".repeat(60));

    assert_eq!(name, format!("loadbalancer-controlplane-{}-11ee3912", "a".repeat(28)));
    assert_eq!(name.len(), 63);
}

#[test]
fn two_long_names_that_differ_at_the_end_stay_different() {
    let start = "a".repeat(59);

    assert_ne!(service_name_of(&format!("{start}a")), service_name_of(&format!("{start}b")));
}

#[test]
fn a_dot_that_a_service_must_not_have_is_replaced_and_the_hash_tells_the_names_apart() {
    assert_eq!(service_name_of("edge.lab"), "loadbalancer-controlplane-edge-lab-028352e6");
    assert_eq!(service_name_of("edge-lab"), "loadbalancer-controlplane-edge-lab");
}

#[test]
fn several_entries_of_one_kind_have_names_of_their_own() {
    let files = generated("multi-cluster");

    let name = |directory: &str| {
        object_name(files, &format!("clusters/tenant-a/edge/{directory}/service.yaml"))
    };

    assert_eq!(name("jumphost"), "jumphost-edge");
    assert_eq!(name("jumphost2"), "jumphost2-edge");
    assert_eq!(name("loadbalancer-worker"), "loadbalancer-worker-edge");
    assert_eq!(name("loadbalancer-worker2"), "loadbalancer-worker2-edge");
}

fn a_service_selects_the_pods_of_its_own_deployment_only() {
    let mut selectors = BTreeSet::new();
    for (fixture, files) in all_generated() {
        for path in files.keys().filter(|path| path.ends_with("/service.yaml")) {
            let service = only(files, path);
            let (directory, _) = path.rsplit_once('/').unwrap();
            let deployment = deployment(files, directory);
            let kustomization = only(files, &format!("{directory}/kustomization.yaml"));
            let labels = &kustomization["labels"][0];
            assert_eq!(labels["includeSelectors"], true, "{fixture}: {path}");
            // kustomize adds the labels to all of these.
            let labelled = |labelled: &Value| {
                let mut all = strings(&labels["pairs"]);
                let own = all.clone();
                all.extend(strings(labelled));
                assert_eq!(all, own, "{fixture}: {path}");
                all.into_iter()
                    .map(|(key, value)| (key.to_owned(), value.to_owned()))
                    .collect::<BTreeMap<_, _>>()
            };
            let selector = labelled(&service["spec"]["selector"]);
            labelled(&deployment["spec"]["selector"]["matchLabels"]);
            labelled(&deployment["spec"]["template"]["metadata"]["labels"]);
            let namespace = path.split('/').nth(1).unwrap();
            assert!(
                selectors.insert((fixture.clone(), namespace.to_owned(), format!("{selector:?}"))),
                "{fixture}: {path}"
            );
        }
    }
}

// Where pods run

#[test]
fn node_labels_say_on_which_nodes_a_service_runs() {
    let deployment = deployment(generated("multi-cluster"), "clusters/tenant-a/edge/jumphost2");

    let pod = &deployment["spec"]["template"]["spec"];
    let expected = [("kubernetes.io/os", "linux"), ("node-role.example.com/edge-services", "")];
    assert_eq!(strings(&pod["nodeSelector"]), BTreeMap::from(expected));
}

fn a_service_that_may_run_on_control_plane_nodes_tolerates_their_taints() {
    for (file, deployment) in
        all_objects().filter(|(_, object)| object["kind"].as_str() == Some("Deployment"))
    {
        let pod = &deployment["spec"]["template"]["spec"];
        let tolerations = pod["tolerations"].as_sequence().into_iter().flatten();

        let tolerated: Vec<&str> =
            tolerations.map(|taint| taint["key"].as_str().unwrap()).collect();
        // Without a selector the scheduler finds a node without taints.
        let expected: &[&str] = if pod["nodeSelector"].is_null() {
            &[]
        } else {
            &["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"]
        };
        assert_eq!(tolerated, expected, "{file}");
    }
}

#[test]
fn without_node_labels_only_load_balancers_run_on_control_plane_nodes() {
    let node_selector = |service: &str| {
        let directory = format!("clusters/tenant-a/edge/{service}");
        let deployment = deployment(generated("quickstart"), &directory);
        deployment["spec"]["template"]["spec"]["nodeSelector"].clone()
    };

    for service in ["loadbalancer-controlplane", "loadbalancer-worker"] {
        assert_eq!(
            strings(&node_selector(service)),
            BTreeMap::from([("node-role.kubernetes.io/control-plane", "")]),
            "{service}"
        );
    }
    for service in ["auth", "jumphost"] {
        assert!(node_selector(service).is_null(), "{service}");
    }
}

#[test]
fn without_ipv6_load_balancers_listen_on_ipv4_only() {
    let repo = Repo::of_fixture("quickstart");
    let config = |repo: &Repo| {
        overlays(repo)["clusters/tenant-a/edge/loadbalancer-worker/haproxy.cfg"].clone()
    };
    let with_both = config(&repo);
    assert_eq!(with_both.matches("  bind :::").count(), 4);

    repo.write("sipgen.yaml", "services: {ipv6: false}\n");

    let expected = with_both.replace("bind :::", "bind *:").replace(" v4v6\n", "\n");
    assert_eq!(config(&repo), expected);
}

#[test]
fn the_api_load_balancer_has_the_priority_of_the_settings_and_no_service_a_policy_without() {
    let repo = Repo::of_fixture("quickstart");
    repo.write(
        "sipgen.yaml",
        "services: {priorityClassName: system-cluster-critical, networkPolicies: false}\n",
    );

    let files = overlays(&repo);

    let with_priority: Vec<&String> = files
        .iter()
        .filter(|(_, text)| text.contains("priorityClassName: \"system-cluster-critical\""))
        .map(|(path, _)| path)
        .collect();
    let balancer = &files["clusters/tenant-a/edge/loadbalancer-controlplane/kustomization.yaml"];
    assert_eq!(with_priority, [&format!("{}/deployment.yaml", shared_directory(balancer))]);
    assert!(!files.keys().any(|path| path.ends_with("networkpolicy.yaml")));
    assert!(!files.values().any(|text| text.contains("networkpolicy")));
}

#[test]
fn a_node_label_that_looks_like_a_number_stays_a_text() {
    let repo = Repo::of_fixture("multi-cluster");
    repo.replace(
        "tenants/tenant-a/edge.yaml",
        "kubernetes.io/os: linux",
        "example.com/zone: \"1e3\"",
    );

    let files = overlays(&repo);

    let jump_host = &files["clusters/tenant-a/edge/jumphost/kustomization.yaml"];
    let text = &files[&format!("{}/deployment.yaml", shared_directory(jump_host))];
    assert!(text.contains("\n        \"example.com/zone\": \"1e3\"\n"), "{text}");
}

// Secrets

fn no_secret_is_written_only_references_to_secrets() {
    for (file, object) in all_objects() {
        assert_ne!(object["kind"].as_str(), Some("Secret"), "{file}");
    }
    for (file, kustomization) in all_kustomizations() {
        assert!(kustomization.get("secretGenerator").is_none(), "{file}");
    }
}

fn no_password_of_the_inventory_reaches_the_output() {
    for (file, text) in all_files() {
        for password in ["ENC[", "RHVtbXkgdmFsdWU="] {
            assert!(!text.contains(password), "{file}");
        }
    }
}

#[test]
fn a_jump_host_refers_to_the_secrets_of_its_hosts_by_name() {
    let jump_host = "clusters/tenant-a/edge/jumphost";
    let deployment = patch(generated("quickstart"), jump_host, "Deployment").unwrap();

    let volumes = deployment["spec"]["template"]["spec"]["volumes"].as_sequence().unwrap();
    let volume =
        |name: &str| volumes.iter().find(|volume| volume["name"].as_str() == Some(name)).unwrap();
    assert_eq!(volume("node-private-keys")["secret"]["secretName"].as_str(), Some("edge-node-ssh"));
    let list = &generated("quickstart")["clusters/tenant-a/edge/jumphost/hosts"];
    let lines = list.lines().filter(|line| !line.starts_with('#'));
    let names: Vec<String> = lines
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["secret"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    let hosts = ["lab-a1", "lab-b1", "lab-a2", "lab-b2"];
    assert_eq!(names, hosts.map(|host| format!("{host}-bmc-credentials")));
}

/// A rule of a Role without `resourceNames` is for all Secrets of the namespace.
fn a_jump_host_may_get_the_bmc_secrets_of_its_hosts_and_nothing_else() {
    let mut secrets = 0;
    let jump_hosts = all_generated().flat_map(|(fixture, files)| {
        let lists = files.keys().filter_map(|path| path.strip_suffix("/jumphost/hosts"));
        lists.map(move |cluster| (fixture.clone(), files, format!("{cluster}/jumphost")))
    });
    for (fixture, files, directory) in jump_hosts {
        let file = format!("{fixture}: {directory}");
        let list = &files[&format!("{directory}/hosts")];
        let listed: BTreeSet<String> = list
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| {
                let host: serde_json::Value = serde_json::from_str(line).unwrap();
                Some(host.get("secret")?.as_str().unwrap().to_owned())
            })
            .collect();
        let role = patch(files, &directory, "Role").unwrap_or_default();
        let rules = role["rules"].as_sequence().cloned().unwrap_or_default();
        assert_eq!(rules.len(), usize::from(!listed.is_empty()), "{file}");
        for rule in rules {
            let of = |field: &str| {
                rule[field].as_sequence().unwrap().iter().map(|name| name.as_str().unwrap())
            };
            assert_eq!(
                of("resourceNames").collect::<Vec<_>>(),
                listed.iter().collect::<Vec<_>>(),
                "{file}"
            );
            assert_eq!(
                (of("verbs").collect(), of("resources").collect()),
                (vec!["get"], vec!["secrets"]),
                "{file}"
            );
            secrets += listed.len();
        }
    }
    assert!(secrets > 10, "{secrets}");
}

#[test]
fn a_jump_host_of_hosts_without_credentials_may_read_no_secret() {
    let repo = Repo::of_fixture("jump-host");
    let hosts = repo.read("hosts/hosts.yaml");
    let without = hosts.lines().filter(|line| !line.trim_start().starts_with("credentialsName:"));
    repo.write("hosts/hosts.yaml", &without.map(|line| format!("{line}\n")).collect::<String>());

    let files = overlays(&repo);

    let text = &files["clusters/depot/edge/jumphost/kustomization.yaml"];
    assert!(!text.contains("secrets"), "{text}");
    let text = &files[&format!("{}/rbac.yaml", shared_directory(text))];
    assert!(text.contains("\nrules: []\n") && !text.contains("secrets"), "{text}");
}

#[test]
fn a_jump_host_without_power_control_refers_to_no_bmc_credentials() {
    let files = generated("multi-cluster");
    let kustomization = &files["clusters/tenant-a/core/jumphost/kustomization.yaml"];
    let deployment = &files[&format!("{}/deployment.yaml", shared_directory(kustomization))];

    assert!(kustomization.contains("core-node-ssh"));
    for text in [kustomization, deployment] {
        assert!(!text.contains("bmc"), "{text}");
    }
}

// What agents make of it

fn no_file_has_a_variable_that_flux_would_replace() {
    for (file, text) in all_files() {
        assert!(!text.contains("${"), "{file}");
    }
}

#[test]
fn a_request_in_a_file_named_like_a_variable_brings_none_into_the_output() {
    let repo = Repo::of_fixture("quickstart");
    repo.write("sites/lab/clusters/${X}.yaml", &repo.read("sites/lab/clusters/edge.yaml"));
    repo.remove("sites/lab/clusters/edge.yaml");
    repo.replace("sites/lab/clusters/kustomization.yaml", "edge.yaml", "${X}.yaml");

    for (file, text) in overlays(&repo) {
        assert!(!text.contains("${"), "{file}");
    }
}

fn every_directory_with_yaml_is_a_kustomization() {
    for (fixture, files) in all_generated() {
        for path in files.keys().filter(|path| path.ends_with(".yaml")) {
            let (directory, _) = path.rsplit_once('/').unwrap();
            let has = |name: &str| files.contains_key(&format!("{directory}/{name}"));
            assert!(has("kustomization.yaml") || has("Kustomization"), "{fixture}: {path}");
        }
    }
}

fn no_kustomization_is_empty() {
    let kustomizations =
        || all_kustomizations().filter(|(_, text)| text["kind"].as_str() == Some("Kustomization"));
    assert!(kustomizations().count() > 20);
    for (file, kustomization) in kustomizations() {
        assert!(
            kustomization["resources"].as_sequence().is_some_and(|resources| !resources.is_empty()),
            "{file}"
        );
    }
}

fn patches_name_their_host_and_have_no_target_and_those_with_one_are_of_secrets() {
    let mut patches = 0;
    for (file, kustomization) in host_kustomizations() {
        for patch in kustomization.get("patches").and_then(Value::as_sequence).into_iter().flatten()
        {
            let keys: Vec<&str> =
                patch.as_mapping().unwrap().keys().map(|key| key.as_str().unwrap()).collect();
            if keys == ["target", "patch"] {
                assert_eq!(patch["target"]["kind"], "Secret", "{file}");
                let patch: Value = yaml_serde::from_str(patch["patch"].as_str().unwrap()).unwrap();
                let fields: Vec<&str> =
                    patch.as_mapping().unwrap().keys().map(|key| key.as_str().unwrap()).collect();
                assert_eq!(fields, ["apiVersion", "kind", "metadata"], "{file}");
                continue;
            }
            assert_eq!(keys, ["path"], "{file}");
            patches += 1;
        }
    }
    assert!(patches >= 6, "{patches}");
}

fn builds_of_hosts_rewrite_neither_namespaces_nor_names() {
    assert!(host_kustomizations().count() >= 7);
    for (file, kustomization) in host_kustomizations() {
        for field in ["namespace", "namePrefix", "nameSuffix", "labels"] {
            assert!(kustomization.get(field).is_none(), "{file}: {field}");
        }
    }
}

/// The hosts of all fixtures without an agent that are given to clusters, declared or observed.
fn assigned(standing: &str) -> Vec<(String, Value)> {
    let part = format!(": hosts/{standing}/");
    let is_assigned =
        |host: &Value| host["metadata"]["labels"].get("sip.airshipit.org/cluster-name").is_some();
    let hosts =
        all_objects().filter(|(_, object)| object["kind"].as_str() == Some("BareMetalHost"));
    // agents.rs is about those with one.
    let hosts = hosts.filter(|(file, _)| !file.starts_with("layout-"));
    hosts.filter(|(file, host)| file.contains(&part) && is_assigned(host)).collect()
}

fn sync_options(host: &Value) -> BTreeSet<&str> {
    host["metadata"]["annotations"]["argocd.argoproj.io/sync-options"]
        .as_str()
        .unwrap()
        .split(',')
        .collect()
}

fn every_assigned_host_is_guarded_against_pruning_and_deletion() {
    for standing in ["declared", "observed"] {
        let hosts = assigned(standing);
        assert!(!hosts.is_empty(), "{standing}");
        for (file, host) in hosts {
            let name = host["metadata"]["name"].as_str().unwrap();
            let annotations = strings(&host["metadata"]["annotations"]);
            assert_eq!(
                annotations.get("kustomize.toolkit.fluxcd.io/prune"),
                Some(&"disabled"),
                "{file}: {name}"
            );
            assert!(
                sync_options(&host).is_superset(&BTreeSet::from(["Prune=false", "Delete=false"])),
                "{file}: {name}"
            );
        }
    }
}

fn every_observed_host_is_merged_into_what_others_made() {
    for (file, host) in assigned("observed") {
        let name = host["metadata"]["name"].as_str().unwrap();
        let annotations = strings(&host["metadata"]["annotations"]);
        assert_eq!(
            annotations.get("kustomize.toolkit.fluxcd.io/ssa"),
            Some(&"Merge"),
            "{file}: {name}"
        );
        let merging = BTreeSet::from([
            "ServerSideApply=true",
            "Validate=false",
            "ClientSideApplyMigration=false",
        ]);
        assert!(sync_options(&host).is_superset(&merging), "{file}: {name}");
    }
}

fn a_declared_host_is_applied_as_the_whole_that_it_is() {
    for (file, host) in assigned("declared") {
        let name = host["metadata"]["name"].as_str().unwrap();
        let annotations = strings(&host["metadata"]["annotations"]);
        assert!(!annotations.contains_key("kustomize.toolkit.fluxcd.io/ssa"), "{file}: {name}");
        assert_eq!(
            sync_options(&host),
            BTreeSet::from(["Prune=false", "Delete=false"]),
            "{file}: {name}"
        );
    }
}

#[test]
fn a_host_that_is_given_back_is_still_guarded() {
    let repo = Repo::of_fixture("observed");
    repo.generate(&[]).expect(0);
    repo.remove("clusters/edge.yaml");
    repo.generate(&["--allow-empty"]).expect(0);

    let released = documents(&repo.read("overlays/hosts/observed/released/hosts.yaml"));

    assert!(!released.is_empty());
    for host in released {
        let annotations = strings(&host["metadata"]["annotations"]);
        assert_eq!(annotations.get("kustomize.toolkit.fluxcd.io/prune"), Some(&"disabled"));
        assert!(sync_options(&host).is_superset(&BTreeSet::from(["Prune=false", "Delete=false"])));
        assert!(host["metadata"].get("labels").is_none());
    }
}

/// The sync options in the patch of the host lab-a1, whose manifest has some.
fn options_beside(of_the_manifest: &str) -> String {
    let repo = Repo::of_fixture("quickstart");
    let annotation =
        format!("  annotations:\n    argocd.argoproj.io/sync-options: {of_the_manifest}\n");
    repo.replace(
        "sites/lab/hosts/rack-a.yaml",
        "  name: lab-a1\n  namespace: tenant-a\n",
        &format!("  name: lab-a1\n  namespace: tenant-a\n{annotation}"),
    );
    repo.generate(&[]).expect(0);
    let hosts = documents(&repo.read("overlays/hosts/declared/sites/lab/tenant-a.edge.yaml"));
    let host =
        hosts.iter().find(|host| host["metadata"]["name"].as_str() == Some("lab-a1")).unwrap();
    host["metadata"]["annotations"]["argocd.argoproj.io/sync-options"].as_str().unwrap().to_owned()
}

#[test]
fn the_sync_options_of_a_manifest_are_kept_beside_the_guards() {
    assert_eq!(
        options_beside("SkipDryRunOnMissingResource=true"),
        "SkipDryRunOnMissingResource=true,Prune=false,Delete=false"
    );
}

#[test]
fn a_sync_option_of_a_manifest_that_would_undo_a_guard_is_replaced() {
    assert_eq!(
        options_beside("ServerSideApply=true,Prune=true"),
        "ServerSideApply=true,Prune=false,Delete=false"
    );
    assert_eq!(options_beside("\"Delete=confirm, Prune=confirm\""), "Prune=false,Delete=false");
}

fn all_values_of_labels_and_annotations_of_hosts_are_quoted() {
    let keys = ["sip.airshipit.org/", "argocd.argoproj.io/", "kustomize.toolkit.fluxcd.io/"];
    let mut values = 0;
    for (file, text) in all_files().filter(|(file, _)| file.contains(": hosts/")) {
        for line in
            text.lines().filter(|line| keys.iter().any(|key| line.trim_start().starts_with(key)))
        {
            let (_, value) = line.split_once(": ").unwrap();
            assert!(
                value == "null" || (value.starts_with('"') && value.ends_with('"')),
                "{file}: {line}"
            );
            values += 1;
        }
    }
    assert!(values > 100, "{values}");
}

#[test]
fn a_cluster_whose_name_looks_like_a_number_is_named_by_texts_everywhere() {
    let repo = Repo::of_fixture("quickstart");
    repo.replace("sites/lab/clusters/edge.yaml", "  name: edge\n", "  name: \"1e3\"\n");

    let files = overlays(&repo);

    let patches = &files["hosts/declared/sites/lab/tenant-a.1e3.yaml"];
    let quoted =
        patches.lines().filter(|line| *line == "    sip.airshipit.org/cluster-name: \"1e3\"");
    assert_eq!(quoted.count(), 4, "{patches}");
}

// Every file

/// HAProxy refuses a configuration that does not.
fn every_file_ends_with_a_newline() {
    for (file, text) in all_files() {
        assert!(text.ends_with('\n'), "{file}");
    }
}

fn every_file_says_in_a_comment_from_which_file_it_was_made() {
    for (file, text) in all_files() {
        let marked =
            text.lines().take(2).any(|line| line.starts_with("# Generated by sipgen from "));
        assert!(marked, "{file}");
    }
}

fn every_file_begins_with_the_mark_of_ownership() {
    for (file, text) in all_files() {
        let skipped = usize::from(text.starts_with("#!"));
        let first = text.lines().nth(skipped).unwrap_or_default();
        assert!(first.starts_with("# Generated by sipgen from "), "{file}: {first}");
        assert!(first.ends_with(". Do not edit."), "{file}: {first}");
    }
}
