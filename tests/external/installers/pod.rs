//! The installer's pod as the kubelet would start it, with an installer that does with its files what the public one
//! does: it reads the inventory and the key, and writes beside the inventory.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use yaml_serde::Value;

use super::{INSTALLER, built, container, kud};
use crate::support::programs::{object, sequence, string, succeed};
use crate::support::{documents, kustomize_build, run_tool, tool};

/// What the installer does with its files. ssh takes no key that others may read, and remembers hosts beside it.
const PROGRAM: &str = r#"#!/bin/sh
set -eu
here=/opt/kud/multi-cluster/$2
mkdir -p "$here/log" "$here/artifacts" /opt/kud/multi-cluster/addons
printf '%s\n' "$@" > "$here/log/arguments"
cp "$here/hosts.ini" "$here/log/"
cp -r "$here/group_vars" "$here/log/"
ssh-keygen -y -f /root/.ssh/id_rsa > "$here/artifacts/key.pub"
cp /root/.ssh/id_rsa.pub "$here/log/"
touch /root/.ssh/known_hosts
! touch "$here/hosts.ini" 2> /dev/null
"#;

/// A pod of a build's Job: the node's directories, and a directory for each other volume.
struct Pod {
    directory: TempDir,
    job: Value,
}

impl Pod {
    fn new(build: &str) -> Self {
        let pod = Self { directory: tempfile::tempdir().unwrap(), job: object(build, "Job") };
        let image = pod.path("image");
        fs::create_dir(&image).unwrap();
        fs::write(image.join("installer"), PROGRAM).unwrap();
        fs::set_permissions(image.join("installer"), fs::Permissions::from_mode(0o755)).unwrap();
        for volume in sequence(&pod.job["spec"]["template"]["spec"]["volumes"]) {
            pod.fill(volume, build);
        }
        pod
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn fill(&self, volume: &Value, build: &str) {
        let directory = self.path(&string(&volume["name"]));
        fs::create_dir(&directory).unwrap();
        if let Some(config) = volume.get("configMap") {
            let objects = documents(build);
            let map =
                objects.iter().find(|object| object["metadata"]["name"] == config["name"]).unwrap();
            items(&directory, config, |key| string(&map["data"][key]));
        } else if let Some(secret) = volume.get("secret") {
            assert_eq!(secret["secretName"], "ssh-key-secret");
            let key = self.path("id_rsa");
            succeed(
                tool("ssh-keygen")
                    .args(["-q", "-t", "ed25519", "-N", "", "-C", "fleet", "-f"])
                    .arg(&key),
            );
            items(&directory, secret, |name| fs::read_to_string(self.path(name)).unwrap());
        } else {
            // Those of the container that saves the kubeconfig are empty here.
            let is_other = ["projected", "emptyDir"].iter().any(|kind| volume.get(kind).is_some());
            assert!(
                is_other || volume.get("hostPath").is_some(),
                "this test does not know {volume:?}"
            );
        }
    }

    /// Runs the command in its container, with what is mounted and nothing else that could be written.
    fn run(&self) {
        let container = container(&self.job);
        let mut sandbox = tool("bwrap");
        sandbox.args([
            "--die-with-parent",
            "--ro-bind",
            "/",
            "/",
            "--dev",
            "/dev",
            "--tmpfs",
            "/root",
            "--tmpfs",
            "/opt",
        ]);
        sandbox.args(["--bind", self.path("image").to_str().unwrap(), "/mnt", "--chdir", "/mnt"]);
        let mut mounts: Vec<&Value> = sequence(&container["volumeMounts"]).iter().collect();
        // A runtime mounts what is outside before what is in it.
        mounts.sort_by_key(|mount| string(&mount["mountPath"]).matches('/').count());
        for mount in mounts {
            let volume = self.path(&string(&mount["name"]));
            let source =
                mount.get("subPath").map_or(volume.clone(), |part| volume.join(string(part)));
            let is_read_only = mount.get("readOnly").and_then(Value::as_bool) == Some(true);
            sandbox
                .arg(if is_read_only { "--ro-bind" } else { "--bind" })
                .arg(source)
                .arg(string(&mount["mountPath"]));
        }
        sandbox
            .args(["--setenv", "HOME", "/root", "--"])
            .args(sequence(&container["command"]).iter().map(string));
        let output = run_tool(&mut sandbox);
        assert!(
            output.status.success(),
            "{}{}",
            crate::support::text(&output.stdout),
            crate::support::text(&output.stderr)
        );
    }
}

/// The files of a volume, as the kubelet writes them.
fn items(directory: &Path, volume: &Value, text: impl Fn(&str) -> String) {
    let mode = volume.get("defaultMode").and_then(Value::as_u64).unwrap_or(0o644);
    for item in sequence(&volume["items"]) {
        let file = directory.join(string(&item["path"]));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text(&string(&item["key"]))).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(u32::try_from(mode).unwrap()))
            .unwrap();
    }
}

#[test]
fn the_installer_reads_its_inventory_and_key_and_leaves_what_it_writes_on_the_node() {
    let repo = kud();
    let pod = Pod::new(&built(&repo));

    pod.run();

    let left = pod.path("multi-cluster/depot");
    let read = |file: &str| {
        fs::read_to_string(left.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
    };
    assert_eq!(read("log/hosts.ini"), repo.read(&format!("{INSTALLER}/hosts.ini")));
    for file in ["group_vars/kube-master.yml", "group_vars/kube-node.yml"] {
        assert_eq!(read(&format!("log/{file}")), repo.read(&format!("{INSTALLER}/{file}")));
    }
    assert_eq!(
        read("log/arguments"),
        "--cluster\ndepot\n--network\n10.244.64.0/18\n--plugins\nonap4k8s\nmultus\n"
    );
    assert_eq!(read("artifacts/key.pub"), read("log/id_rsa.pub"));
    assert!(pod.path("multi-cluster/addons").is_dir());
}

#[test]
fn clusters_of_one_name_in_two_namespaces_share_no_directory_of_the_node() {
    let repo = kud();
    repo.replace("clusters/press.yaml", "cluster: press", "cluster: depot");
    repo.replace("clusters/press.yaml", "namespace: lab", "namespace: print");
    let directories = |cluster: &str| -> Vec<String> {
        let job =
            object(&kustomize_build(repo.path().join("overlays/clusters").join(cluster)), "Job");
        let volumes = sequence(&job["spec"]["template"]["spec"]["volumes"]).iter();
        volumes.filter_map(|volume| Some(string(&volume.get("hostPath")?["path"]))).collect()
    };
    repo.generate(&[]).expect(0);

    assert_eq!(directories("lab/depot"), ["/opt/kud/multi-cluster/lab"]);
    assert_eq!(directories("print/depot"), ["/opt/kud/multi-cluster/print"]);
}
