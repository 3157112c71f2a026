//! The pod of kubespray's image: a user without rights runs the real ansible, which logs in to machines by the real ssh.
//! In the place of kubespray's playbooks is one that does with files and connections what they do.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use yaml_serde::Value;

use super::container;
use crate::support::network::{Network, Server};
use crate::support::pod::python_packages;
use crate::support::programs::{object, sequence, string, succeed};
use crate::support::ssh::{Key, node};
use crate::support::{Repo, documents, kustomize_build};

/// The machines of `lab/press`, and their addresses.
const MACHINES: [(&str, &str); 4] = [
    ("body-1", "198.51.100.15"),
    ("body-2", "198.51.100.16"),
    ("body-3", "198.51.100.17"),
    ("head-1", "198.51.100.18"),
];

/// Tasks of kubespray on the machine that runs ansible have their own `become` and `connection`.
const PLAYBOOK: &str = r#"
- hosts: k8s_cluster
  gather_facts: false
  become: false
  tasks:
    - ansible.builtin.raw: echo "$SSH_CONNECTION"
      register: connection
    - ansible.builtin.file: {path: "{{ artifacts_dir }}", state: directory, mode: "0750"}
      delegate_to: localhost
      connection: local
      become: false
      run_once: true
    - ansible.builtin.copy:
        content: "{{ connection.stdout_lines[-1].split(' ')[2] }} {{ kube_pods_subnet }} {{ 'kube_node' in group_names }}"
        dest: "{{ artifacts_dir }}/{{ inventory_hostname }}"
        mode: "0600"
      delegate_to: localhost
      connection: local
      become: false
"#;

/// Of the image: what else ansible is told.
const CONFIGURATION: &str = "[ssh_connection]\npipelining=True\nssh_args=-o UserKnownHostsFile=/dev/null\n\
                             [defaults]\nhost_key_checking=False\nfact_caching=jsonfile\nfact_caching_connection=/tmp\n";

/// The volumes of a pod, with the owners and modes that the kubelet gives.
struct Pod<'a> {
    network: &'a Network,
    volumes: TempDir,
    job: Value,
}

impl<'a> Pod<'a> {
    fn new(network: &'a Network, build: &str, key: &Key) -> Self {
        let pod =
            Self { network, volumes: tempfile::tempdir().unwrap(), job: object(build, "Job") };
        fs::set_permissions(pod.volumes.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let group = pod.context("fsGroup");
        for volume in sequence(&pod.job["spec"]["template"]["spec"]["volumes"]) {
            let directory = pod.path(&string(&volume["name"]));
            fs::create_dir(&directory).unwrap();
            let mut mode = 0o644;
            if let Some(config) = volume.get("configMap") {
                let objects = documents(build);
                let is_meant = |object: &&Value| object["metadata"]["name"] == config["name"];
                let map = objects.iter().find(is_meant).unwrap();
                for item in sequence(&config["items"]) {
                    let file = directory.join(string(&item["path"]));
                    fs::create_dir_all(file.parent().unwrap()).unwrap();
                    fs::write(file, string(&map["data"][string(&item["key"]).as_str()])).unwrap();
                }
            } else if let Some(secret) = volume.get("secret") {
                assert_eq!(secret["secretName"], "ssh-key-secret");
                fs::write(directory.join("id_rsa"), key.private()).unwrap();
                mode = secret["defaultMode"].as_u64().unwrap();
            }
            let directory = directory.display();
            succeed(network.tool("sh").arg("-ec").arg(format!(
                "chown -R 0:{group} '{directory}'; find '{directory}' -type d -exec chmod 2777 {{}} +; \
                 find '{directory}' -type f -exec chmod {:o} {{}} +",
                mode | 0o440
            )));
        }
        let image = pod.path("image");
        fs::create_dir(&image).unwrap();
        fs::write(image.join("ansible.cfg"), CONFIGURATION).unwrap();
        fs::write(image.join("cluster.yml"), PLAYBOOK).unwrap();
        pod
    }

    fn path(&self, name: &str) -> PathBuf {
        self.volumes.path().join(name)
    }

    fn context(&self, field: &str) -> String {
        let context = &self.job["spec"]["template"]["spec"]["securityContext"];
        context[field].as_u64().unwrap().to_string()
    }

    /// Runs the command of the installer.
    fn run(&self) -> String {
        let container = container(&self.job);
        assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
        let packages = python_packages();
        let mut sandbox = self.network.tool("bwrap");
        let mut add = |arguments: &[&str]| {
            sandbox.args(arguments);
        };
        add(&["--die-with-parent", "--unshare-pid", "--cap-add", "ALL", "--clearenv"]);
        add(&["--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev"]);
        add(&["--perms", "1777", "--tmpfs", "/dev/shm"]);
        for name in ["bin", "sbin", "lib", "lib64"] {
            add(&["--symlink", &format!("usr/{name}"), &format!("/{name}")]);
        }
        for path in ["/etc", "/inventory", "/packages", "/kubespray"] {
            add(&["--perms", "0755", "--dir", path]);
        }
        for path in ["/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/ld.so.cache"] {
            add(&["--ro-bind-try", path, path]);
        }
        add(&["--ro-bind", &packages, "/packages"]);
        add(&["--ro-bind", self.path("image").to_str().unwrap(), "/kubespray"]);
        for mount in sequence(&container["volumeMounts"]) {
            let volume = self.path(&string(&mount["name"]));
            let source =
                mount.get("subPath").map_or(volume.clone(), |part| volume.join(string(part)));
            let is_read_only = mount.get("readOnly").and_then(Value::as_bool) == Some(true);
            let bind = if is_read_only { "--ro-bind" } else { "--bind" };
            add(&[bind, source.to_str().unwrap(), &string(&mount["mountPath"])]);
        }
        add(&["--remount-ro", "/", "--chdir", "/kubespray"]);
        let environment = [
            ("PATH", "/usr/bin:/bin"),
            ("LC_ALL", "C.UTF-8"),
            ("PYTHONPATH", "/packages"),
            ("ANSIBLE_NOCOLOR", "1"),
        ];
        for (name, value) in environment {
            add(&["--setenv", name, value]);
        }
        for variable in sequence(&container["env"]) {
            add(&["--setenv", &string(&variable["name"]), &string(&variable["value"])]);
        }
        let (user, group) = (self.context("runAsUser"), self.context("runAsGroup"));
        add(&["--", "setpriv", "--reuid", &user, "--regid", &group]);
        add(&["--groups", &self.context("fsGroup"), "--inh-caps=-all", "--bounding-set=-all"]);
        add(&["--no-new-privs", "--", "/usr/bin/python3", "-c"]);
        // The program `ansible-playbook` of the package.
        add(&[
            "import sys; from ansible.cli.playbook import main; sys.argv = sys.argv[1:]; main()",
        ]);
        succeed(sandbox.args(sequence(&container["command"]).iter().map(string)))
    }
}

#[test]
fn a_user_without_rights_reaches_the_machines_and_leaves_a_kubeconfig_for_the_other_container() {
    let repo = Repo::of_fixture("provisioning");
    repo.write("sipgen.yaml", "provisioning: {variables: {ansible_user: jump}}\n");
    repo.generate(&[]).expect(0);
    let build = kustomize_build(repo.path().join("overlays/clusters/lab/press"));
    let network = Network::with(&MACHINES.map(|(_, address)| address));
    let key = Key::new("ed25519");
    let directories = MACHINES.map(|_| tempfile::tempdir().unwrap());
    let start = |((_, address), directory): (&(_, &str), &TempDir)| {
        node(&network, directory.path(), address, &key, "")
    };
    let _machines: Vec<Server> = MACHINES.iter().zip(&directories).map(start).collect();
    let pod = Pod::new(&network, &build, &key);

    pod.run();

    for (name, address) in MACHINES {
        let left = pod.path("tmp/artifacts").join(name);
        assert_eq!(read(&network, &left), format!("{address} 10.245.0.0/16 True"), "{name}");
    }
}

/// A file that may belong to another user.
fn read(network: &Network, file: &Path) -> String {
    succeed(network.tool("cat").arg(file))
}
