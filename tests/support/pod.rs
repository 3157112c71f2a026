//! A pod as the kubelet would start it: what a rendered Deployment mounts, where it mounts it, with the owners and
//! modes that Kubernetes gives, as the user and with the rights of its security context, on a read-only root.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tempfile::TempDir;
use yaml_serde::Value;

use super::network::{Network, Server};
use super::programs::{object, sequence, string, succeed};
use super::secrets_api::{SecretsApi, TOKEN};
use super::{documents, kustomize_build, tool};

/// The entries of Secrets, by name.
pub type Secrets = BTreeMap<String, BTreeMap<String, String>>;

/// The Secrets of a directory's build.
pub fn secrets_of(directory: &Path) -> Secrets {
    let secrets = documents(&kustomize_build(directory))
        .into_iter()
        .filter(|object| object["kind"] == "Secret");
    let entries = |secret: &Value, field: &str| -> Vec<(String, String)> {
        let entries = secret.get(field).and_then(Value::as_mapping).into_iter().flatten();
        entries.map(|(key, value)| (string(key), string(value))).collect()
    };
    let decoded = |text: String| String::from_utf8(STANDARD.decode(text).unwrap()).unwrap();
    secrets
        .map(|secret| {
            let data =
                entries(&secret, "data").into_iter().map(|(key, value)| (key, decoded(value)));
            let all = data.chain(entries(&secret, "stringData")).collect();
            (string(&secret["metadata"]["name"]), all)
        })
        .collect()
}

/// A pod of a Deployment.
pub struct Pod<'a> {
    network: &'a Network,
    api: &'a SecretsApi,
    namespace: String,
    template: Value,
    pod: Value,
    /// What is mounted, a directory for each volume.
    volumes: TempDir,
    /// What outlives the pod.
    claims: &'a Path,
}

/// The `/etc/hosts` that the kubelet mounts where the container does not mount one.
pub const KUBELETS_HOSTS: &str =
    "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n192.0.2.10\tthis-pod\n";

/// The user and group of the image, as in `images/jump-host/Containerfile`.
pub const PASSWD: &str =
    "root:x:0:0:root:/root:/bin/bash\njump:x:1000:1000::/home/jump:/bin/bash\n";

impl<'a> Pod<'a> {
    /// Mounts the volumes of the Deployment that a directory's build has, with Secrets that are there, and runs its init
    /// containers.
    pub fn new(
        network: &'a Network,
        api: &'a SecretsApi,
        directory: &Path,
        secrets: &Secrets,
        claims: &'a Path,
    ) -> Self {
        let build = kustomize_build(directory);
        let deployment = object(&build, "Deployment");
        let template = deployment["spec"]["template"].clone();
        let pod = template["spec"].clone();
        let pod = Self {
            network,
            api,
            namespace: string(&deployment["metadata"]["namespace"]),
            template,
            pod,
            volumes: tempfile::tempdir().unwrap(),
            claims,
        };
        // Other users must reach what is mounted.
        fs::set_permissions(pod.volumes.path(), fs::Permissions::from_mode(0o755)).unwrap();
        api.apply(&build, secrets);
        for volume in sequence(&pod.pod["volumes"]) {
            pod.fill(volume, &build, secrets);
        }
        for container in sequence(&pod.pod["initContainers"]) {
            succeed(&mut pod.program(container, &command(container), &[]));
        }
        pod
    }

    /// What happens to a running pod when another build is applied: the kubelet brings the ConfigMaps of the same names up
    /// to date. With another pod template it would be another pod.
    #[track_caller]
    fn apply(&self, directory: &Path, secrets: &Secrets) {
        let build = kustomize_build(directory);
        assert_eq!(
            object(&build, "Deployment")["spec"]["template"],
            self.template,
            "the pod is replaced"
        );
        self.api.apply(&build, secrets);
        let is_config = |volume: &&Value| volume.get("configMap").is_some();
        for volume in sequence(&self.pod["volumes"]).iter().filter(is_config) {
            self.fill(volume, &build, secrets);
        }
    }

    fn fill(&self, volume: &Value, build: &str, secrets: &Secrets) {
        let directory = self.volumes.path().join(string(&volume["name"]));
        if let Some(config) = volume.get("configMap") {
            let objects = documents(build);
            let is_meant = |object: &&Value| {
                object["kind"] == "ConfigMap" && object["metadata"]["name"] == config["name"]
            };
            let map =
                objects.iter().find(is_meant).unwrap_or_else(|| panic!("there is no {config:?}"));
            let data = map["data"].as_mapping().unwrap();
            let files = data.iter().map(|(name, text)| (string(name), string(text)));
            self.files(&directory, files, &config["defaultMode"]);
        } else if let Some(secret) = volume.get("secret") {
            let entries = secrets.get(&string(&secret["secretName"]));
            let is_optional = secret.get("optional").and_then(Value::as_bool) == Some(true);
            assert!(
                entries.is_some() || is_optional,
                "the pod waits for ever: there is no {secret:?}"
            );
            self.files(&directory, entries.cloned().unwrap_or_default(), &secret["defaultMode"]);
        } else if let Some(projected) = volume.get("projected") {
            let files = sequence(&projected["sources"]).iter().map(|source| {
                if let Some(token) = source.get("serviceAccountToken") {
                    return (string(&token["path"]), TOKEN.to_owned());
                }
                // Every namespace has this one.
                let map = &source["configMap"];
                assert_eq!(map["name"], "kube-root-ca.crt", "these tests do not know {source:?}");
                (string(&map["items"][0]["path"]), self.api.certificate())
            });
            let files: Vec<_> = files.collect();
            self.files(&directory, files, &projected["defaultMode"]);
        } else if volume.get("persistentVolumeClaim").is_some() {
            // The kubelet makes everything in a volume the group's to read and write.
            let claim = self.claim(volume);
            let group = self.group();
            self.as_root(&format!(
                "mkdir -p '{claim}'; chgrp -R {group} '{claim}'; chmod -R g+rwX '{claim}'; chmod g+s '{claim}'"
            ));
        } else {
            assert!(volume.get("emptyDir").is_some(), "these tests do not know {volume:?}");
            fs::create_dir_all(&directory).unwrap();
            let (group, directory) = (self.group(), directory.display());
            self.as_root(&format!("chown 0:{group} '{directory}'; chmod 2777 '{directory}'"));
        }
    }

    /// Files of a volume, as the kubelet leaves them: root's, and the group's to read; the directory is everybody's. They
    /// lie in a directory of their own, to which a link leads: another link changes all of them at once.
    fn files(
        &self,
        directory: &Path,
        files: impl IntoIterator<Item = (String, String)>,
        mode: &Value,
    ) {
        let mode = mode.as_u64().unwrap() | 0o440;
        fs::create_dir_all(directory).unwrap();
        let version = format!("..{}", fs::read_dir(directory).unwrap().count());
        fs::create_dir(directory.join(&version)).unwrap();
        for (name, text) in files {
            let file = directory.join(&version).join(&name);
            fs::write(&file, text).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(mode as u32)).unwrap();
            // It is there already when the volume is brought up to date.
            let _ = symlink(Path::new("..data").join(&name), directory.join(&name));
        }
        symlink(&version, directory.join("..staged")).unwrap();
        fs::rename(directory.join("..staged"), directory.join("..data")).unwrap();
        let (group, directory) = (self.group(), directory.display());
        self.as_root(&format!(
            "chown -hR 0:{group} '{directory}'; find '{directory}' -type d -exec chmod 2777 {{}} +"
        ));
    }

    fn as_root(&self, script: &str) {
        succeed(self.network.tool("sh").arg("-ec").arg(script));
    }

    fn group(&self) -> u64 {
        self.pod["securityContext"]["fsGroup"].as_u64().unwrap()
    }

    fn claim(&self, volume: &Value) -> String {
        let name = string(&volume["persistentVolumeClaim"]["claimName"]);
        self.claims.join(name).to_str().unwrap().to_owned()
    }

    /// Where a mount of a container comes from; nothing for an empty volume that no other container mounts.
    fn source(&self, mount: &Value) -> Option<PathBuf> {
        let name = &mount["name"];
        let volume = sequence(&self.pod["volumes"]).iter().find(|volume| &volume["name"] == name);
        let volume = volume.unwrap_or_else(|| panic!("there is no volume {name:?}"));
        if volume.get("emptyDir").is_some() {
            let containers = ["containers", "initContainers"].map(|list| sequence(&self.pod[list]));
            let mounts = containers
                .iter()
                .flat_map(|list| list.iter())
                .flat_map(|of| sequence(&of["volumeMounts"]));
            if mounts.filter(|mount| &mount["name"] == name).count() < 2 {
                return None;
            }
        }
        if volume.get("persistentVolumeClaim").is_some() {
            return Some(PathBuf::from(self.claim(volume)));
        }
        let directory = self.volumes.path().join(string(name));
        let Some(path) = mount.get("subPath") else {
            return Some(directory);
        };
        // The file that is there now: a link that is changed later leads elsewhere.
        Some(directory.join(string(path)).canonicalize().unwrap())
    }

    /// A file for the container's `/etc`.
    fn etc(&self, name: &str, text: &str) -> PathBuf {
        let file = self.volumes.path().join(format!("..etc-{name}"));
        fs::write(&file, text).unwrap();
        file
    }

    /// A program in the first container, to which operators log in.
    pub fn tool(&self, program: &[&str], environment: &[(&str, &str)]) -> Command {
        self.program(&sequence(&self.pod["containers"])[0], program, environment)
    }

    fn program(
        &self,
        container: &Value,
        program: &[impl AsRef<OsStr>],
        environment: &[(&str, &str)],
    ) -> Command {
        let context = &self.pod["securityContext"];
        assert_eq!(container["securityContext"]["readOnlyRootFilesystem"].as_bool(), Some(true));

        let mut sandbox = self.network.tool("bwrap");
        let mut add = |arguments: &[&str]| {
            sandbox.args(arguments);
        };
        let image = image();
        let in_image = |path: &str| format!("{}{path}", image.trim_end_matches('/'));
        add(&[
            "--die-with-parent",
            "--unshare-pid",
            "--unshare-ipc",
            "--cap-add",
            "ALL",
            "--clearenv",
        ]);
        add(&["--ro-bind", &in_image("/usr"), "/usr", "--proc", "/proc", "--dev", "/dev"]);
        for name in ["bin", "sbin", "lib", "lib64"] {
            add(&["--symlink", &format!("usr/{name}"), &format!("/{name}")]);
        }
        // What is above a mount would be root's alone.
        for path in ["/etc", "/etc/opt", "/etc/ssh", "/run", "/run/sipgen"] {
            add(&["--perms", "0755", "--dir", path]);
        }
        for path in
            ["/etc/ssl", "/etc/alternatives", "/etc/ld.so.cache", "/etc/nsswitch.conf", "/etc/skel"]
        {
            add(&["--ro-bind-try", &in_image(path), path]);
        }
        let mounts = sequence(&container["volumeMounts"]);
        let mut files = vec![("passwd", PASSWD), ("group", "root:x:0:\njump:x:1000:\n")];
        if !mounts.iter().any(|mount| mount["mountPath"] == "/etc/hosts") {
            files.push(("hosts", KUBELETS_HOSTS));
        }
        for (name, text) in files {
            add(&["--ro-bind", self.etc(name, text).to_str().unwrap(), &format!("/etc/{name}")]);
        }
        if image == "/" {
            let (packages, mounted) = redfishtool();
            let above = Path::new(&mounted).parent().unwrap().to_str().unwrap();
            add(&["--tmpfs", "/usr/local"]);
            for path in ["/usr/local/bin", "/usr/local/lib", above] {
                add(&["--perms", "0755", "--dir", path]);
            }
            add(&["--ro-bind", &packages, &mounted]);
        }
        for mount in mounts {
            let path = string(&mount["mountPath"]);
            let is_read_only = mount.get("readOnly").and_then(Value::as_bool) == Some(true);
            match self.source(mount) {
                None => add(&["--perms", "2777", "--tmpfs", &path]),
                Some(source) => {
                    let bind = if is_read_only { "--ro-bind" } else { "--bind" };
                    add(&[bind, source.to_str().unwrap(), &path]);
                }
            }
        }
        if image == "/" {
            add(&["--remount-ro", "/usr/local"]);
        }
        add(&["--remount-ro", "/"]);
        add(&["--setenv", "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]);
        for (name, value) in SecretsApi::environment() {
            add(&["--setenv", name, &value]);
        }
        for variable in sequence(&container["env"]) {
            add(&[
                "--setenv",
                &string(&variable["name"]),
                &match variable["valueFrom"]["fieldRef"]["fieldPath"].as_str() {
                    None => string(&variable["value"]),
                    Some("metadata.namespace") => self.namespace.clone(),
                    Some(other) => panic!("{other} of a pod is unknown here"),
                },
            ]);
        }
        for (name, value) in environment {
            add(&["--setenv", name, value]);
        }
        let id = |value: &Value| value.as_u64().unwrap().to_string();
        add(&[
            "--",
            "setpriv",
            "--reuid",
            &id(&context["runAsUser"]),
            "--regid",
            &id(&context["runAsGroup"]),
        ]);
        add(&[
            "--groups",
            &id(&context["fsGroup"]),
            "--inh-caps=-all",
            "--bounding-set=-all",
            "--no-new-privs",
            "--",
        ]);
        sandbox.args(program);
        sandbox
    }

    /// Starts the containers, the first with more in its environment; they run while the result lives.
    #[track_caller]
    pub fn start(self, environment: &[(&str, &str)], ready: &str) -> Running<'a> {
        let [container, others @ ..] = sequence(&self.pod["containers"]) else {
            panic!("there is no container")
        };
        let others = others.iter().map(|other| {
            let log = self.volumes.path().join(format!("{}.log", string(&other["name"])));
            Server::start(&mut self.program(other, &command(other), &[]), &log, "")
        });
        let others = others.collect();
        let log = self.volumes.path().join("log");
        let server = Server::start(
            &mut self.program(container, &command(container), environment),
            &log,
            ready,
        );
        Running { server, _others: others, pod: self }
    }
}

/// The command of a container.
fn command(container: &Value) -> Vec<String> {
    sequence(&container["command"]).iter().map(string).collect()
}

/// A pod that runs.
pub struct Running<'a> {
    server: Server,
    _others: Vec<Server>,
    pod: Pod<'a>,
}

impl Running<'_> {
    /// Applies another build, which must leave the pod what it is.
    #[track_caller]
    pub fn apply(&self, directory: &Path, secrets: &Secrets) {
        self.pod.apply(directory, secrets);
    }

    pub fn log(&self) -> String {
        self.server.log()
    }
}

/// The root of the image: where `SIPGEN_JUMP_HOST_IMAGE` says that one is unpacked, or else this machine, which has
/// the same programs.
fn image() -> String {
    std::env::var("SIPGEN_JUMP_HOST_IMAGE").unwrap_or_else(|_| "/".to_owned())
}

/// The Python packages of the tests.
pub fn python_packages() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/venv/lib");
    let python =
        fs::read_dir(&root).unwrap_or_else(|_| panic!("{root:?}: `tests/tools/install` makes it"));
    let version = python
        .map(|entry| entry.unwrap().file_name())
        .find(|name| name.to_string_lossy().starts_with("python"));
    let packages = root.join(version.unwrap_or(OsString::from("python3"))).join("site-packages");
    packages.to_str().unwrap().to_owned()
}

/// Where the tests' redfishtool is, and where the Python of the container looks for it.
fn redfishtool() -> (String, String) {
    let version =
        "import sys; print('/usr/local/lib/python%d.%d/dist-packages' % sys.version_info[:2])";
    let mounted = succeed(tool("/usr/bin/python3").arg("-c").arg(version));
    (python_packages(), mounted.trim().to_owned())
}
