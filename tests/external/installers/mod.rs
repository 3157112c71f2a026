//! What a Provisioning has installed on its machines: the Job, what it is given, and when there is another one.

mod again;
mod agents;
mod kubeconfig;
mod kubespray;
mod pod;

use std::collections::BTreeMap;
use std::fs;

use serde_json::json;
use yaml_serde::Value;

use crate::support::programs::{identity, object, sequence, string, succeed};
use crate::support::{Repo, assert_says, documents, kustomize_build, python_tool};

/// The Provisioning with MAC addresses, of the cluster `lab/depot`, and its Software.
const DEPOT: &str = "clusters/depot.yaml";
const HOSTS: &str = "inventory/hosts.yaml";
const INSTALLER: &str = "overlays/clusters/lab/depot/installer";

const NETWORK: &str = "  PodSubnet: 10.244.64.0/18\n";
const PLUGINS: &str = "  KUDPlugins:\n    - onap4k8s\n    - multus\n";

/// The fixture for KUD, and with plugins of it.
fn kud() -> Repo {
    let repo = Repo::of_fixture("provisioning");
    repo.write("sipgen.yaml", "provisioning: {installer: kud}\n");
    repo.replace(DEPOT, NETWORK, &format!("{NETWORK}{PLUGINS}"));
    repo
}

/// What kustomize makes of the cluster `lab/depot`.
#[track_caller]
fn built(repo: &Repo) -> String {
    repo.generate(&[]).expect(0);
    kustomize_build(repo.path().join("overlays/clusters/lab/depot"))
}

/// The container of the installer, which runs before the one that saves the kubeconfig.
fn container(job: &Value) -> &Value {
    &job["spec"]["template"]["spec"]["initContainers"][0]
}

/// What a pod of the Job sees of its inventory: the texts of the files that are mounted, by their paths.
fn mounted(build: &str) -> BTreeMap<String, String> {
    let job = object(build, "Job");
    let volumes = sequence(&job["spec"]["template"]["spec"]["volumes"]);
    let volume = volumes.iter().find(|volume| volume["name"] == "inventory").unwrap();
    let is_it = |map: &&Value| {
        map["kind"] == "ConfigMap" && map["metadata"]["name"] == volume["configMap"]["name"]
    };
    let objects = documents(build);
    let map = objects
        .iter()
        .find(is_it)
        .unwrap_or_else(|| panic!("the build has no ConfigMap for {volume:?}"));
    let mounts = sequence(&container(&job)["volumeMounts"])
        .iter()
        .filter(|mount| mount["name"] == "inventory");
    let mut files = BTreeMap::new();
    for mount in mounts {
        let (at, part) = (string(&mount["mountPath"]), string(&mount["subPath"]));
        for item in sequence(&volume["configMap"]["items"]) {
            let path = string(&item["path"]);
            if let Some(below) = path.strip_prefix(&part) {
                files.insert(
                    format!("{at}{below}"),
                    string(&map["data"][string(&item["key"]).as_str()]),
                );
            }
        }
    }
    files
}

#[test]
fn the_build_of_a_cluster_has_all_of_it_in_the_clusters_namespace() {
    let mut objects: Vec<String> =
        documents(&built(&Repo::of_fixture("provisioning"))).iter().map(identity).collect();
    objects.sort();

    let kinds: Vec<&str> =
        objects.iter().map(|identity| identity.rsplit_once('-').unwrap().0).collect();
    assert_eq!(
        kinds,
        [
            "ConfigMap lab/depot",
            "ConfigMap lab/k8s-depot-inventory",
            "Job lab/k8s-depot",
            "Role lab/k8s",
            "RoleBinding lab/k8s",
            "ServiceAccount lab/k8s",
        ]
    );
    assert_eq!(objects[0], "ConfigMap lab/depot-configmap");
}

/// The address that each machine has by the labels of its host and by what the inventory says of that host.
fn planned(repo: &Repo) -> BTreeMap<String, String> {
    let hosts = documents(&repo.read(HOSTS)).remove(0);
    let address = |name: &Value| {
        let host = sequence(&hosts["items"])
            .iter()
            .find(|host| &host["metadata"]["name"] == name)
            .unwrap();
        string(&host["status"]["hardware"]["nics"][0]["ip"])
    };
    let labelled = documents(&repo.read("overlays/hosts/observed/lab.depot/hosts.yaml"));
    let node = |host: &Value| string(&host["metadata"]["labels"]["bpa.akraino.org/node"]);
    labelled.iter().map(|host| (node(host), address(&host["metadata"]["name"]))).collect()
}

#[test]
fn the_installer_finds_the_inventory_of_the_plan_where_it_looks_for_it() {
    let kud = "opt/kud/multi-cluster/depot";
    for (settings, directory, file, address) in [
        ("{}", "inventory", "hosts.yaml", "ansible_host"),
        ("{installer: kud}", kud, "hosts.ini", "ansible_ssh_host"),
        ("{installer: kud, inventory: yaml}", kud, "hosts.yaml", "ansible_host"),
    ] {
        let repo = Repo::of_fixture("provisioning");
        repo.write("sipgen.yaml", &format!("provisioning: {settings}\n"));
        let files = mounted(&built(&repo));
        let root = tempfile::tempdir().unwrap();
        for (path, text) in &files {
            let path = root.path().join(path.trim_start_matches('/'));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let inventory = root.path().join(directory).join(file);

        let list = succeed(
            python_tool("ansible-inventory")
                .arg("-i")
                .arg(inventory)
                .arg("--list")
                .env("LC_ALL", "C.UTF-8"),
        );

        let list: serde_json::Value = serde_json::from_str(&list).unwrap();
        let hosts = list["_meta"]["hostvars"].as_object().unwrap();
        let read: BTreeMap<String, String> = hosts
            .iter()
            .map(|(node, host)| (node.clone(), host[address].as_str().unwrap().to_owned()))
            .collect();
        assert_eq!(read, planned(&repo));
        assert_eq!(
            hosts["worker-1"]["sipgen_worker_packages"][0],
            json!({"name": "curl", "apt": "curl"})
        );
        let jq = json!({"name": "jq", "version": "1.5+dfsg-1ubuntu0.1", "apt": "jq=1.5+dfsg-1ubuntu0.1"});
        assert_eq!(hosts["master-1"]["sipgen_master_packages"][1], jq);
    }
}

#[test]
fn the_addresses_of_the_machines_are_there_for_others() {
    let build = built(&Repo::of_fixture("provisioning"));

    let maps = documents(&build);
    let map = maps.iter().find(|object| object["metadata"]["name"] == "depot-configmap").unwrap();
    assert_eq!(map["metadata"]["labels"]["cluster"], "depot");
    let expected = "MASTER_master-1: 198.51.100.11\nMASTER_master-2: 198.51.100.12\nWORKER_worker-1: 198.51.100.13\n";
    assert_eq!(yaml_serde::to_string(&map["data"]).unwrap(), expected);
}

#[test]
fn nothing_that_stands_in_a_provisioning_reaches_a_shell() {
    let repo = kud();

    let job = object(&built(&repo), "Job");

    let command: Vec<String> = sequence(&container(&job)["command"]).iter().map(string).collect();
    let expected = [
        "./installer",
        "--cluster",
        "depot",
        "--network",
        "10.244.64.0/18",
        "--plugins",
        "onap4k8s",
        "multus",
    ];
    assert_eq!(command, expected);
    assert_eq!(container(&job).get("args"), None);
}

#[test]
fn without_network_and_plugins_the_installer_is_asked_for_none() {
    let repo = kud();
    repo.replace(DEPOT, NETWORK, "");
    repo.replace(DEPOT, PLUGINS, "");

    let job = object(&built(&repo), "Job");

    let command: Vec<String> = sequence(&container(&job)["command"]).iter().map(string).collect();
    assert_eq!(command, ["./installer", "--cluster", "depot"]);
}

// What cannot be installed

#[test]
fn a_machine_whose_host_has_lost_its_address_is_not_left_out() {
    let repo = Repo::generated("provisioning");
    repo.replace(HOSTS, "ip: 198.51.100.16", "ip: \"\"");
    repo.replace(HOSTS, "ip: \"2001:db8::16\"", "ip: \"\"");

    let said = repo.refused();

    assert_says(&said, &["SIP0803", "body-2", "lab/depot-06", "clusters/press.yaml"]);
}

#[test]
fn a_machine_is_not_called_what_ansible_has_for_something_else() {
    for name in [
        "all",
        "ungrouped",
        "kube-node",
        "kube_node",
        "k8s-cluster",
        "localhost",
        "bastion",
        "etcd",
    ] {
        let repo = Repo::of_fixture("provisioning");
        repo.replace(DEPOT, "- worker-1:", &format!("- {name}:"));

        assert_says(&repo.refused(), &["SIP0803", &format!("`{name}`"), DEPOT]);
    }
}

#[test]
fn two_machines_with_one_address_are_told() {
    let repo = Repo::of_fixture("provisioning");
    repo.replace(HOSTS, "ip: 198.51.100.13", "ip: 198.51.100.12");

    let said = repo.generate(&[]).expect(0).stderr;

    assert_says(
        &said,
        &["SIP0325", "2 hosts have the address 198.51.100.12", "lab/depot-02", "lab/depot-03"],
    );
}

#[test]
fn machines_of_two_families_of_addresses_are_told_and_those_of_ipv6_alone_are_none() {
    let repo = Repo::of_fixture("provisioning");
    repo.replace(HOSTS, "ip: 198.51.100.13", "ip: \"2001:db8::1:13\"");
    for installer in ["kud", "kubespray"] {
        repo.write("sipgen.yaml", &format!("provisioning: {{installer: {installer}}}\n"));
        let said = repo.generate(&[]).expect(0).stderr;
        assert_says(
            &said,
            &["SIP0853", "of lab/depot, worker-1 would be reached by IPv6 and master-1 by IPv4"],
        );
    }

    repo.replace(HOSTS, "ip: 198.51.100.11", "ip: \"2001:db8::1:11\"");
    repo.replace(HOSTS, "ip: 198.51.100.12", "ip: \"2001:db8::1:12\"");
    let said = repo.generate(&[]).expect(0).stderr;
    assert!(!said.contains("SIP0853"), "{said}");
}

#[test]
fn a_template_that_names_its_job_without_the_hash_is_refused() {
    let repo = Repo::of_fixture("provisioning");
    let template = include_str!("../../../templates/installer/job.yaml");
    repo.write("sipgen.yaml", "templates: own\n");
    repo.write("own/installer/job.yaml", &template.replace("name: {{ job }}", "name: {{ name }}"));

    assert_says(
        &repo.refused(),
        &["SIP0703", "own/installer/job.yaml", "name the Job `{{ job }}`"],
    );
}

#[test]
fn an_image_that_cannot_be_one_is_refused_at_the_setting() {
    let texts = [
        "",
        "a b",
        "${IMAGE}",
        "a\\nb",
        "ünicode",
        "http://admin:hunter2@reg/x",
        "admin:hunter2@reg/x",
    ];
    for image in texts
        .map(|text| format!("\"{text}\""))
        .into_iter()
        .chain(["null", "~", "5", "true"].map(str::to_owned))
    {
        let repo = Repo::of_fixture("provisioning");
        repo.write("sipgen.yaml", &format!("provisioning: {{image: {image}}}\n"));

        let said = repo.refused();
        assert_says(&said, &["SIP0002", "provisioning.image", "sipgen.yaml:1:"]);
        assert!(!said.contains("hunter2"), "{said}");
    }
    let repo = Repo::of_fixture("provisioning");
    let image = "[2001:db8::5]:5000/platform/installer:1.4@sha256:0123456789abcdef0123456789abcdef";
    repo.write("sipgen.yaml", &format!("provisioning: {{image: \"{image}\"}}\n"));
    assert_eq!(container(&object(&built(&repo), "Job"))["image"], image);
}
