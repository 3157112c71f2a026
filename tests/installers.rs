//! What a Provisioning has installed on its machines: the Job, what it is given, and when there is another one.

#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use support::programs::{identity, object, sequence, string, succeed};
use support::{Repo, Run, assert_says, documents, kustomize_build, python_tool, run};
use yaml_serde::Value;

/// The Provisioning with MAC addresses, of the cluster `lab/depot`, and its Software.
const DEPOT: &str = "clusters/depot.yaml";
const HOSTS: &str = "inventory/hosts.yaml";
const INSTALLER: &str = "overlays/clusters/lab/depot/installer";

/// What kustomize makes of the cluster `lab/depot`.
#[track_caller]
fn built(repo: &Repo) -> String {
    repo.generate(&[]).expect(0);
    kustomize_build(repo.path().join("overlays/clusters/lab/depot"))
}

/// The Job's name after a run.
#[track_caller]
fn job_name(repo: &Repo) -> String {
    string(&object(&built(repo), "Job")["metadata"]["name"])
}

fn container(job: &Value) -> &Value {
    &job["spec"]["template"]["spec"]["containers"][0]
}

/// What a pod of the Job sees of its inventory: the texts of the files that are mounted, by their paths.
fn mounted(build: &str) -> BTreeMap<String, String> {
    let job = object(build, "Job");
    let volumes = sequence(&job["spec"]["template"]["spec"]["volumes"]);
    let volume = volumes.iter().find(|volume| volume["name"] == "inventory").unwrap();
    let is_it = |map: &&Value| map["kind"] == "ConfigMap" && map["metadata"]["name"] == volume["configMap"]["name"];
    let objects = documents(build);
    let map = objects.iter().find(is_it).unwrap_or_else(|| panic!("the build has no ConfigMap for {volume:?}"));
    let mounts = sequence(&container(&job)["volumeMounts"]).iter().filter(|mount| mount["name"] == "inventory");
    let mut files = BTreeMap::new();
    for mount in mounts {
        let (at, part) = (string(&mount["mountPath"]), string(&mount["subPath"]));
        for item in sequence(&volume["configMap"]["items"]) {
            let path = string(&item["path"]);
            if let Some(below) = path.strip_prefix(&part) {
                files.insert(format!("{at}{below}"), string(&map["data"][string(&item["key"]).as_str()]));
            }
        }
    }
    files
}

#[test]
fn the_build_of_a_cluster_has_all_of_it_in_the_clusters_namespace() {
    let mut objects: Vec<String> = documents(&built(&Repo::of_fixture("provisioning"))).iter().map(identity).collect();
    objects.sort();

    let kinds: Vec<&str> = objects.iter().map(|identity| identity.rsplit_once('-').unwrap().0).collect();
    assert_eq!(kinds, ["ConfigMap lab/depot", "ConfigMap lab/kud-depot-inventory", "Job lab/kud-depot"]);
    assert_eq!(objects[0], "ConfigMap lab/depot-configmap");
}

/// The address that each machine has by the labels of its host and by what the inventory says of that host.
fn planned(repo: &Repo) -> BTreeMap<String, String> {
    let hosts = documents(&repo.read(HOSTS)).remove(0);
    let address = |name: &Value| {
        let host = sequence(&hosts["items"]).iter().find(|host| &host["metadata"]["name"] == name).unwrap();
        string(&host["status"]["hardware"]["nics"][0]["ip"])
    };
    let labelled = documents(&repo.read("overlays/hosts/observed/lab.depot/hosts.yaml"));
    let node = |host: &Value| string(&host["metadata"]["labels"]["bpa.akraino.org/node"]);
    labelled.iter().map(|host| (node(host), address(&host["metadata"]["name"]))).collect()
}

#[test]
fn the_installer_finds_the_inventory_of_the_plan_where_it_looks_for_it() {
    for (settings, file, address) in [("ini", "hosts.ini", "ansible_ssh_host"), ("yaml", "hosts.yaml", "ansible_host")]
    {
        let repo = Repo::of_fixture("provisioning");
        repo.write("sipgen.yaml", &format!("provisioning: {{inventory: {settings}}}\n"));
        let files = mounted(&built(&repo));
        let root = tempfile::tempdir().unwrap();
        for (path, text) in &files {
            let path = root.path().join(path.trim_start_matches('/'));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let inventory = root.path().join("opt/kud/multi-cluster/depot").join(file);

        let list =
            succeed(python_tool("ansible-inventory").arg("-i").arg(inventory).arg("--list").env("LC_ALL", "C.UTF-8"));

        let list: serde_json::Value = serde_json::from_str(&list).unwrap();
        let hosts = list["_meta"]["hostvars"].as_object().unwrap();
        let read: BTreeMap<String, String> =
            hosts.iter().map(|(node, host)| (node.clone(), host[address].as_str().unwrap().to_owned())).collect();
        assert_eq!(read, planned(&repo));
        assert_eq!(hosts["worker-1"]["sipgen_worker_packages"][0], json!({"name": "curl", "apt": "curl"}));
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
    let repo = Repo::of_fixture("provisioning");

    let job = object(&built(&repo), "Job");

    let command: Vec<String> = sequence(&container(&job)["command"]).iter().map(string).collect();
    let expected =
        ["./installer", "--cluster", "depot", "--network", "10.244.64.0/18", "--plugins", "onap4k8s", "multus"];
    assert_eq!(command, expected);
    assert_eq!(container(&job).get("args"), None);
}

#[test]
fn without_network_and_plugins_the_installer_is_asked_for_none() {
    let repo = Repo::of_fixture("provisioning");
    repo.replace(DEPOT, "  PodSubnet: 10.244.64.0/18\n  KUDPlugins:\n    - onap4k8s\n    - multus\n", "");

    let job = object(&built(&repo), "Job");

    let command: Vec<String> = sequence(&container(&job)["command"]).iter().map(string).collect();
    assert_eq!(command, ["./installer", "--cluster", "depot"]);
}

// When there is another Job

#[test]
fn every_change_of_what_the_job_does_makes_another_job() {
    let before = job_name(&Repo::of_fixture("provisioning"));
    let own = "templates: own\n";
    let template = include_str!("../templates/installer/job.yaml");
    let changes: [(&str, &dyn Fn(&Repo)); 11] = [
        ("an address", &|repo| repo.replace(HOSTS, "ip: 198.51.100.13", "ip: 198.51.100.93")),
        ("a machine", &|repo| repo.replace(DEPOT, "- worker-1:", "- worker-9:")),
        ("a role", &|repo| repo.replace(DEPOT, "  workers:\n", "  workers:\n    - master-2: {}\n")),
        ("a host", &|repo| repo.replace(DEPOT, "00:00:5e:00:53:03", "00:00:5e:00:53:04")),
        ("the order of plugins", &|repo| {
            repo.replace(DEPOT, "    - onap4k8s\n    - multus\n", "    - multus\n    - onap4k8s\n");
        }),
        ("the network", &|repo| repo.replace(DEPOT, "10.244.64.0/18", "10.244.0.0/16")),
        ("a package", &|repo| repo.replace(DEPOT, "- curl", "- wget")),
        ("a version", &|repo| repo.replace(DEPOT, "1.5+dfsg-1ubuntu0.1", "1.5+dfsg-2")),
        ("the image", &|repo| repo.write("sipgen.yaml", "provisioning: {image: registry.example.com/installer:1}\n")),
        ("the form of the inventory", &|repo| repo.write("sipgen.yaml", "provisioning: {inventory: yaml}\n")),
        ("the template", &|repo| {
            repo.write("sipgen.yaml", own);
            repo.write("own/installer/job.yaml", &template.replace("backoffLimit: 0", "backoffLimit: 1"));
        }),
    ];
    let mut names = vec![before];
    for (what, change) in changes {
        let repo = Repo::generated("provisioning");
        change(&repo);
        let name = job_name(&repo);
        assert!(!names.contains(&name), "{what} is changed, and the Job is still {name}");
        names.push(name);
    }
}

#[test]
fn what_changes_nothing_of_the_job_runs_no_installer_again() {
    let before = job_name(&Repo::of_fixture("provisioning"));
    let template = include_str!("../templates/installer/job.yaml");
    let changes: [(&str, &dyn Fn(&Repo)); 5] = [
        ("nothing", &|_| {}),
        ("a comment", &|repo| repo.replace(DEPOT, "  masters:\n", "  # those with much memory\n  masters:\n")),
        ("another cluster", &|repo| repo.remove("clusters/press.yaml")),
        ("the file", &|repo| {
            let text = repo.read(DEPOT);
            repo.remove(DEPOT);
            repo.write("fleet/depot.yaml", &text);
        }),
        ("a template's comments", &|repo| {
            repo.write("sipgen.yaml", "templates: own\n");
            repo.write("own/installer/job.yaml", &format!("# Our own.\n{template}"));
        }),
    ];
    for (what, change) in changes {
        let repo = Repo::generated("provisioning");
        change(&repo);
        assert_eq!(job_name(&repo), before, "only {what} is changed");
    }
}

#[test]
fn the_name_of_the_job_fits_into_a_label_whatever_the_clusters_name() {
    let long = "edge.".repeat(9) + "e";
    let mut names = Vec::new();
    for cluster in [long.clone() + "c", long + "d", "edge.lab".to_owned(), "edge-lab".to_owned(), "1".to_owned()] {
        let repo = Repo::of_fixture("provisioning");
        repo.replace(DEPOT, "cluster: depot", &format!("cluster: \"{cluster}\""));
        repo.generate(&[]).expect(0);

        let build = kustomize_build(repo.path().join("overlays/clusters/lab").join(&cluster));

        let name = string(&object(&build, "Job")["metadata"]["name"]);
        assert!(name.len() <= 63 && !name.contains('.'), "{name}");
        assert!(mounted(&build).contains_key(&format!("/opt/kud/multi-cluster/{cluster}/hosts.ini")));
        names.push(string(&object(&build, "Job")["metadata"]["labels"]["app.kubernetes.io/instance"]));
    }
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 5, "two clusters have one name: {names:?}");
}

#[test]
fn packages_that_are_wanted_no_more_are_gone() {
    let repo = Repo::generated("provisioning");
    let (provisioning, _) = repo.read(DEPOT).split_once("---\n").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    repo.write(DEPOT, &provisioning);

    let files = mounted(&built(&repo));

    assert_eq!(files.into_keys().collect::<Vec<_>>(), ["/opt/kud/multi-cluster/depot/hosts.ini"]);
    assert!(!repo.exists(&format!("{INSTALLER}/group_vars")));
}

// What cannot be installed

#[test]
fn a_machine_whose_host_has_lost_its_address_is_not_left_out() {
    let repo = Repo::generated("provisioning");
    repo.replace(HOSTS, "ip: 198.51.100.16", "ip: \"\"");
    repo.replace(HOSTS, "ip: \"2001:db8::16\"", "ip: \"\"");

    let said = repo.refused();

    assert_says(&said, &["SIP0813", "body-2", "lab/depot-06", "clusters/press.yaml"]);
}

#[test]
fn a_machine_is_not_called_what_ansible_has_for_something_else() {
    for name in ["all", "ungrouped", "kube-node", "kube_node", "k8s-cluster", "localhost", "bastion", "etcd"] {
        let repo = Repo::of_fixture("provisioning");
        repo.replace(DEPOT, "- worker-1:", &format!("- {name}:"));

        assert_says(&repo.refused(), &["SIP0840", &format!("`{name}`"), DEPOT]);
    }
}

// The command

fn inventory(repo: &Repo, arguments: &[&str]) -> Run {
    run(&mut repo.sipgen(&[&["inventory"], arguments].concat()))
}

/// A file without its first line, the mark of ownership.
fn body(path: PathBuf) -> String {
    fs::read_to_string(path).unwrap().split_once('\n').unwrap().1.to_owned()
}

#[test]
fn the_command_prints_what_would_be_written_and_writes_nothing() {
    let repo = Repo::of_fixture("provisioning");

    let printed = inventory(&repo, &["lab/depot"]).expect(0);

    assert!(!repo.exists("overlays"));
    repo.generate(&[]).expect(0);
    assert_eq!(printed.stdout, body(repo.path().join(INSTALLER).join("hosts.ini")));
    assert_eq!(printed.stderr, "");
}

#[test]
fn the_command_prints_either_form_and_by_default_that_of_the_settings() {
    let repo = Repo::of_fixture("provisioning");
    let yaml = inventory(&repo, &["lab/depot", "--format", "yaml"]).expect(0).stdout;
    let ini = inventory(&repo, &["lab/depot"]).expect(0).stdout;
    repo.write("sipgen.yaml", "provisioning: {inventory: yaml}\n");

    assert_eq!(inventory(&repo, &["lab/depot"]).expect(0).stdout, yaml);
    assert_eq!(inventory(&repo, &["lab/depot", "--format", "ini"]).expect(0).stdout, ini);
    repo.generate(&[]).expect(0);
    assert_eq!(yaml, body(repo.path().join(INSTALLER).join("hosts.yaml")));
}

#[test]
fn the_command_has_an_inventory_of_a_revision() {
    let repo = Repo::of_fixture("provisioning");
    let before = inventory(&repo, &["lab/depot"]).expect(0).stdout;
    repo.replace(HOSTS, "ip: 198.51.100.13", "ip: 198.51.100.93");

    assert_eq!(inventory(&repo, &["lab/depot", "--rev", "HEAD"]).expect(0).stdout, before);
    assert!(inventory(&repo, &["lab/depot"]).expect(0).stdout.contains("198.51.100.93"));
}

#[test]
fn the_command_prints_no_half_of_an_inventory() {
    let repo = Repo::of_fixture("provisioning");
    repo.replace("clusters/press.yaml", "cpu: 64", "cpu: 640");

    let run = inventory(&repo, &["lab/press"]).expect(1);

    assert_eq!(run.stdout, "");
    assert_says(&run.stderr, &["error[SIP", "body-1"]);
    assert_says(&inventory(&repo, &["lab/depot"]).expect(0).stdout, &["[kube-master]"]);
}

#[test]
fn the_command_says_what_has_no_inventory() {
    let repo = Repo::of_fixture("quickstart");

    let run = inventory(&repo, &["tenant-a/edge"]).expect(2);
    assert_says(&run.stderr, &["tenant-a/edge is a SIPCluster"]);
    let run = inventory(&repo, &["tenant-a/none"]).expect(2);
    assert_says(&run.stderr, &["the repo has no Provisioning whose cluster is tenant-a/none"]);
}

// Agents

#[test]
fn flux_does_not_wait_for_an_installer_but_for_other_services() {
    let repo = Repo::of_fixture("quickstart");
    support::copy(&support::fixtures().join("provisioning"), &repo.path().join("bpa"));
    repo.write("sipgen.yaml", "gitops: flux\nflux: {wait: true}\n");
    repo.generate(&[]).expect(0);

    let agents = repo.files("overlays/agents/flux");
    let waits = |file: &str| {
        let services = documents(&agents[file])
            .into_iter()
            .find(|object| string(&object["metadata"]["name"]).contains(".services."));
        services.unwrap()["spec"]["wait"].as_bool().unwrap()
    };
    assert!(waits("tenant-a.edge.yaml"));
    assert!(!waits("lab.depot.yaml"));
}

/// An agent gives a Job its name and never changes it: what would change it there must not be in the build.
#[test]
fn the_job_has_nothing_that_an_agent_would_run_it_again_for() {
    let build = built(&Repo::of_fixture("provisioning"));

    let job = object(&build, "Job");

    assert_eq!(job["spec"].get("ttlSecondsAfterFinished"), None);
    assert_eq!(job["metadata"].get("annotations"), None);
    assert_eq!(job["spec"]["backoffLimit"], 0);
    assert_eq!(job["spec"]["template"]["spec"]["restartPolicy"], "Never");
}

/// The installer writes logs and the new cluster's kubeconfig beside its inventory, and an operator fetches it there.
#[test]
fn what_lies_around_the_inventory_can_be_written_and_outlives_the_pod() {
    let job = object(&built(&Repo::of_fixture("provisioning")), "Job");

    let mounts = sequence(&container(&job)["volumeMounts"]);
    let around = mounts.iter().find(|mount| mount["mountPath"] == "/opt/kud/multi-cluster").unwrap();
    assert_eq!(around.get("readOnly"), None);
    let volumes = sequence(&job["spec"]["template"]["spec"]["volumes"]);
    let volume = volumes.iter().find(|volume| volume["name"] == around["name"]).unwrap();
    assert_eq!(volume["hostPath"]["path"], "/opt/kud/multi-cluster");
    let inside = |mount: &&Value| Path::new(&string(&mount["mountPath"])).starts_with("/opt/kud/multi-cluster/depot");
    assert!(mounts.iter().filter(inside).all(|mount| mount.get("subPath").is_some()), "{mounts:?}");
}
