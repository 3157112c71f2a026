//! The inventories of Provisionings, in the hands of the real ansible.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::IpAddr;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use sipgen::base::api::names::NodeName;
use sipgen::input::settings::provisioning::InventoryFormat;
use sipgen::output::render::installation::{InstallerInventory, file_name, mark, variables};
use sipgen::site::request::Installation;
use sipgen::site::request::cluster::InstalledPackage;
use tempfile::TempDir;

use crate::support::programs::succeed;
use crate::support::python_tool;

const FORMATS: [InventoryFormat; 2] = [InventoryFormat::Ini, InventoryFormat::Yaml];

/// Names that YAML or INI may take for something else, and names that are parts of each other.
const ODD: [&str; 16] = [
    "1e3",
    "on",
    "0777",
    "0x1f",
    "null",
    "1.5",
    "1_000",
    "2026-11-22",
    "192.0.2.1",
    "node.with.dots",
    "Node_1",
    "a",
    "0",
    "worker-10",
    "worker-1",
    "worker-01",
];

fn nodes(names: &[&str]) -> Vec<NodeName> {
    names.iter().map(|name| name.parse().unwrap()).collect()
}

fn installation(masters: &[&str], workers: &[&str]) -> Installation {
    Installation { masters: nodes(masters), workers: nodes(workers), ..Installation::default() }
}

fn package(name: &str, version: Option<&str>) -> InstalledPackage {
    InstalledPackage { name: name.to_owned(), version: version.map(str::to_owned) }
}

/// An address for each node, in some network.
fn addresses(installation: &Installation, network: &str) -> BTreeMap<NodeName, IpAddr> {
    let nodes: BTreeSet<&NodeName> =
        installation.masters.iter().chain(&installation.workers).collect();
    let numbered = nodes.into_iter().zip(1..);
    numbered
        .map(|(node, number)| (node.clone(), format!("{network}{number}").parse().unwrap()))
        .collect()
}

/// An inventory as it is mounted into the installer's pod.
struct Mounted {
    directory: TempDir,
    file: &'static str,
}

impl Mounted {
    fn new(
        installation: &Installation,
        addresses: &BTreeMap<NodeName, IpAddr>,
        format: InventoryFormat,
    ) -> Self {
        let mounted = Self { directory: tempfile::tempdir().unwrap(), file: file_name(format) };
        let mark = mark(&"tenant-a/edge".parse().unwrap());
        let text = InstallerInventory::new(installation, addresses).unwrap().text(format);
        fs::write(mounted.path().join(mounted.file), mark.clone() + &text).unwrap();
        fs::create_dir(mounted.path().join("group_vars")).unwrap();
        for (file, text) in variables(installation, format) {
            fs::write(mounted.path().join("group_vars").join(file), mark.clone() + &text).unwrap();
        }
        mounted
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    /// One of ansible's programs, with this inventory and nothing of the machine's own settings.
    fn ansible(&self, program: &str) -> Command {
        let mut command = python_tool(program);
        command.arg("-i").arg(self.path().join(self.file)).current_dir(self.path());
        let home = self.path().join("home");
        command.env_clear().env("HOME", home).env("LC_ALL", "C.UTF-8").env("ANSIBLE_NOCOLOR", "1");
        command.env("PATH", std::env::var("PATH").unwrap_or_default());
        // For what runs on the nodes, which here are this machine.
        command.env("ANSIBLE_PYTHON_INTERPRETER", python_tool("python").get_program());
        command
    }

    /// What `ansible-inventory --list` says.
    fn list(&self) -> Value {
        serde_json::from_str(&succeed(self.ansible("ansible-inventory").arg("--list"))).unwrap()
    }
}

/// The members of a group, in their order.
fn group(list: &Value, name: &str, of: &str) -> Vec<String> {
    let members =
        list[name][of].as_array().unwrap_or_else(|| panic!("{name} has no {of} in {list}"));
    members.iter().map(|member| member.as_str().unwrap().to_owned()).collect()
}

/// What ansible says of the hosts of an inventory, without what the inventory itself adds.
fn hostvars(list: &Value) -> BTreeMap<String, Value> {
    serde_json::from_value(list["_meta"]["hostvars"].clone()).unwrap()
}

#[test]
fn ansible_reads_the_historical_inventory_as_it_was_planned_whatever_the_names() {
    for network in ["192.0.2.", "2001:db8::", "fd00::a:"] {
        let odd = installation(&ODD[..4], &ODD[2..]);
        let addresses = addresses(&odd, network);

        let list = Mounted::new(&odd, &addresses, InventoryFormat::Ini).list();

        let expected: BTreeMap<String, Value> = addresses
            .iter()
            .map(|(node, address)| {
                (node.to_string(), json!({"ansible_ssh_host": address, "ansible_ssh_port": 22}))
            })
            .collect();
        assert_eq!(hostvars(&list), expected);
        for (name, nodes) in [
            ("kube-master", &ODD[..4]),
            ("kube-node", &ODD[2..]),
            ("etcd", &ODD[..4]),
            ("ovn-central", &ODD[..4]),
            ("ovn-controller", &ODD[2..]),
            ("virtlet", &ODD[2..]),
        ] {
            assert_eq!(group(&list, name, "hosts"), nodes, "{name}");
        }
        assert_eq!(group(&list, "k8s-cluster", "children"), ["kube-node", "kube-master"]);
    }
}

#[test]
fn ansible_reads_the_inventory_of_kubespray_as_it_was_planned_whatever_the_names() {
    for (network, version) in [("192.0.2.", ""), ("2001:db8::", "6"), ("fd00::a:", "6")] {
        let odd = installation(&ODD[..4], &ODD[2..]);
        let addresses = addresses(&odd, network);

        let list = Mounted::new(&odd, &addresses, InventoryFormat::Yaml).list();

        let variables = |address: &IpAddr| {
            let mut variables = json!({"ansible_host": address});
            variables[format!("ip{version}")] = json!(address);
            variables[format!("access_ip{version}")] = json!(address);
            if version == "6" {
                variables["ipv4_stack"] = json!(false);
                variables["ipv6_stack"] = json!(true);
            }
            variables
        };
        let expected: BTreeMap<String, Value> = addresses
            .iter()
            .map(|(node, address)| (node.to_string(), variables(address)))
            .collect();
        assert_eq!(hostvars(&list), expected);
        for (name, nodes) in
            [("kube_control_plane", &ODD[..4]), ("kube_node", &ODD[2..]), ("etcd", &ODD[..4])]
        {
            assert_eq!(group(&list, name, "hosts"), nodes, "{name}");
        }
        assert_eq!(group(&list, "k8s_cluster", "children"), ["kube_control_plane", "kube_node"]);
    }
}

#[test]
fn ansible_has_nothing_to_warn_of_in_the_inventory_of_kubespray() {
    let plain = installation(&["master-1"], &["worker-1"]);
    let mounted = Mounted::new(&plain, &addresses(&plain, "192.0.2."), InventoryFormat::Yaml);

    let output = crate::support::run_tool(mounted.ansible("ansible-inventory").arg("--list"));

    assert_eq!(crate::support::text(&output.stderr), "");
}

#[test]
fn kubernetes_runs_workloads_on_the_masters_of_a_cluster_without_workers() {
    let masters = installation(&["m-1", "m-2", "m-3"], &[]);
    for (format, name) in FORMATS.into_iter().zip(["kube-node", "kube_node"]) {
        let list = Mounted::new(&masters, &addresses(&masters, "192.0.2."), format).list();

        assert_eq!(group(&list, name, "hosts"), ["m-1", "m-2", "m-3"]);
    }
}

// Packages

/// Packages that ansible may take for something else than their text.
fn odd_packages() -> Vec<InstalledPackage> {
    vec![
        package("linux-image-amd64", Some("6.1.90-1+deb12u1")),
        package("with blanks", Some(" 1 : 2 ~ 3 ")),
        package("it's \"quoted\"", Some("'1'")),
        package("{{ 1 + 1 }}", Some("{{ lookup('pipe', 'touch templated') }}")),
        package("{% if true %}x{% endif %}", Some("{# nothing #}")),
        package("a # no comment", Some("1e3")),
        package("no", Some("1.10")),
        package("back\\slash", None),
        package("ünicöde", None),
        package("!unsafe tagged", Some("*anchor")),
    ]
}

/// What a play has of the packages of each node, by its name: what apt would be asked for.
fn asked_of_apt(mounted: &Mounted) -> BTreeMap<String, Vec<String>> {
    let documented = playbook_of_the_docs();
    let asked =
        "ansible.builtin.apt:\n        name: \"{{ packages }}\"\n        update_cache: true\n";
    assert!(documented.contains(asked), "{documented}");
    // What apt would be told is written down instead.
    let written = "ansible.builtin.copy:\n        content: \"{{ packages | to_json }}\"\n        \
                   dest: \"{{ inventory_dir }}/asked.{{ inventory_hostname }}\"\n";
    let play = documented.replace(asked, written).replace("become: true", "connection: local");
    fs::write(mounted.path().join("play.yml"), play).unwrap();
    succeed(mounted.ansible("ansible-playbook").arg("play.yml"));
    let files = fs::read_dir(mounted.path()).unwrap().map(|entry| entry.unwrap().path());
    let asked = files.filter_map(|path| {
        let node = path.file_name().unwrap().to_str().unwrap().strip_prefix("asked.")?.to_owned();
        Some((node, serde_json::from_slice(&fs::read(&path).unwrap()).unwrap()))
    });
    asked.collect()
}

/// The playbook that the documentation has for packages.
fn playbook_of_the_docs() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/how-to/packages.md");
    let text = fs::read_to_string(page).unwrap();
    let (_, behind) = text.split_once("```yaml\n# packages.yml\n").unwrap();
    let play = behind.split_once("```").unwrap().0.to_owned();
    let template = include_str!("../../templates/installer/packages.yml");
    assert_eq!(play, template.replace("{% raw %}", "").replace("{% endraw %}", ""));
    play
}

fn apt_names(packages: &[InstalledPackage]) -> Vec<String> {
    let name = |package: &InstalledPackage| match &package.version {
        Some(version) => format!("{}={version}", package.name),
        None => package.name.clone(),
    };
    packages.iter().map(name).collect()
}

#[test]
fn one_play_installs_each_nodes_packages_to_the_letter_and_runs_nothing_that_stands_in_them() {
    let installation = Installation {
        master_packages: odd_packages(),
        worker_packages: vec![package("jq", None)],
        ..installation(&["m"], &["w"])
    };
    for format in FORMATS {
        let mounted = Mounted::new(&installation, &addresses(&installation, "192.0.2."), format);

        let asked = asked_of_apt(&mounted);

        let expected = [("m", apt_names(&odd_packages())), ("w", vec!["jq".to_owned()])];
        assert_eq!(asked, expected.map(|(node, names)| (node.to_owned(), names)).into());
        assert!(!mounted.path().join("templated").exists());
    }
}

#[test]
fn a_node_with_both_roles_gets_the_packages_of_both() {
    let installation = Installation {
        master_packages: vec![package("curl", Some("7.88")), package("make", None)],
        worker_packages: vec![package("jq", None), package("make", None)],
        ..installation(&["both", "m"], &["w", "both"])
    };
    for format in FORMATS {
        let mounted = Mounted::new(&installation, &addresses(&installation, "192.0.2."), format);

        let asked = asked_of_apt(&mounted);

        assert_eq!(asked["both"], ["curl=7.88", "make", "jq"], "{format:?}");
        assert_eq!(asked["m"], ["curl=7.88", "make"], "{format:?}");
        assert_eq!(asked["w"], ["jq", "make"], "{format:?}");
    }
}

#[test]
fn a_cluster_without_packages_has_no_variables() {
    let plain = installation(&["m"], &["w"]);
    for format in FORMATS {
        let mounted = Mounted::new(&plain, &addresses(&plain, "192.0.2."), format);

        assert_eq!(fs::read_dir(mounted.path().join("group_vars")).unwrap().count(), 0);
        assert!(asked_of_apt(&mounted).values().all(Vec::is_empty));
    }
}
