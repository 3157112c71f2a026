//! The inventory of a Provisioning's machines, in two formats for ansible.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::net::IpAddr;

use serde_json::Value;

use crate::base::api::names::NodeName;
use crate::input::settings::provisioning::InventoryFormat;
use crate::site::request::cluster::Installation;

/// Names that a node must not have.
///
/// Ansible prefers a host to a group of the same name: a node `all` would be the only host of every
/// playbook, and `ungrouped` would lose its address. Playbooks run local tasks on `localhost`.
/// Kubespray connects to all hosts through `bastion`.
const TAKEN: [&str; 16] = [
    "all",
    "bastion",
    "calico-rr",
    "calico_rr",
    "etcd",
    "k8s-cluster",
    "k8s_cluster",
    "kube-master",
    "kube-node",
    "kube_control_plane",
    "kube_node",
    "localhost",
    "ovn-central",
    "ovn-controller",
    "ungrouped",
    "virtlet",
];

/// Returns whether a node has a name that ansible or kubespray reserves.
pub(super) fn is_taken(node: &NodeName) -> bool {
    TAKEN.contains(&node.as_str())
}

/// Machines of a cluster with their addresses and groups, without users and passwords.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallerInventory<'a> {
    /// Every node once, in the historical order: the first master, all workers, the other masters.
    nodes: Vec<(&'a NodeName, IpAddr)>,
    masters: &'a [NodeName],
    /// Nodes that run workloads; the masters if there are no workers.
    workers: &'a [NodeName],
    is_virtlet_vm: bool,
}

impl<'a> InstallerInventory<'a> {
    /// Returns the inventory of an installation, from the addresses of its nodes; `None` if one has no
    /// address.
    pub fn new(
        installation: &'a Installation,
        addresses: &BTreeMap<NodeName, IpAddr>,
    ) -> Option<Self> {
        let Installation { masters, workers, .. } = installation;
        let workers = if workers.is_empty() { masters } else { workers };
        // A node with both roles is listed once.
        let mut seen = BTreeSet::new();
        let in_order = masters.iter().take(1).chain(workers).chain(masters);
        let nodes = in_order.filter(|node| seen.insert(*node));
        let nodes = nodes.map(|node| Some((node, *addresses.get(node)?))).collect::<Option<_>>()?;
        Some(Self { nodes, masters, workers, is_virtlet_vm: installation.is_virtlet_vm })
    }

    /// Formats the inventory, without the ownership header.
    pub fn text(&self, format: InventoryFormat) -> String {
        match format {
            InventoryFormat::Ini => self.ini(),
            InventoryFormat::Yaml => self.yaml(),
        }
    }

    /// Returns the addresses by the keys in the cluster's ConfigMap of addresses. A node with both
    /// roles has both keys.
    pub fn addresses_by_role(&self) -> BTreeMap<String, IpAddr> {
        let keyed = |role: &str, nodes: &[NodeName]| -> Vec<(String, IpAddr)> {
            let keyed = self.nodes.iter().filter(|(node, _)| nodes.contains(node));
            keyed.map(|(node, address)| (format!("{role}_{node}"), *address)).collect()
        };
        keyed("MASTER", self.masters).into_iter().chain(keyed("WORKER", self.workers)).collect()
    }

    /// Formats the inventory exactly as the last version of the Binary Provisioning Agent did: two
    /// spaces after a name, a blank line between sections, none at the end.
    fn ini(&self) -> String {
        let host = |(node, address): &(&NodeName, IpAddr)| {
            format!("{node}  ansible_ssh_host={address} ansible_ssh_port=22")
        };
        let names = |nodes: &[NodeName]| nodes.iter().map(ToString::to_string).collect::<Vec<_>>();
        let (masters, workers) = (names(self.masters), names(self.workers));
        let mut sections = vec![
            ("all", self.nodes.iter().map(host).collect()),
            ("kube-master", masters.clone()),
            ("kube-node", workers.clone()),
            ("etcd", masters.clone()),
        ];
        if !self.is_virtlet_vm {
            sections.push(("ovn-central", masters));
            sections.push(("ovn-controller", workers.clone()));
            sections.push(("virtlet", workers));
        }
        sections
            .push(("k8s-cluster:children", vec!["kube-node".to_owned(), "kube-master".to_owned()]));
        let section =
            |(name, lines): (&str, Vec<String>)| format!("[{name}]\n{}\n", lines.join("\n"));
        sections.into_iter().map(section).collect::<Vec<_>>().join("\n")
    }

    /// Formats the inventory with the groups and variables of kubespray.
    ///
    /// kubespray must be told if all addresses are IPv6. The platform's own group variables
    /// override these.
    fn yaml(&self) -> String {
        let mut text = "all:\n  hosts:\n".to_owned();
        for (node, address) in &self.nodes {
            let (ip, access_ip) =
                if address.is_ipv6() { ("ip6", "access_ip6") } else { ("ip", "access_ip") };
            line(&mut text, 4, &format!("{}:", quoted(node)));
            for variable in ["ansible_host", ip, access_ip] {
                line(&mut text, 6, &format!("{variable}: \"{address}\""));
            }
        }
        if self.nodes.iter().all(|(_, address)| address.is_ipv6()) {
            text.push_str("  vars:\n    ipv4_stack: false\n    ipv6_stack: true\n");
        }
        text.push_str("  children:\n");
        for (group, nodes) in [
            ("kube_control_plane", self.masters),
            ("kube_node", self.workers),
            ("etcd", self.masters),
        ] {
            line(&mut text, 4, &format!("{group}:"));
            line(&mut text, 6, "hosts:");
            nodes.iter().for_each(|node| line(&mut text, 8, &format!("{}: {{}}", quoted(node))));
        }
        text.push_str("    k8s_cluster:\n      children:\n        kube_control_plane: {}\n        kube_node: {}\n");
        text
    }
}

/// Quotes a name, so that every YAML parser reads text.
fn quoted(node: &NodeName) -> Value {
    Value::from(node.as_str())
}

fn line(text: &mut String, indentation: usize, content: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{:indentation$}{content}", "");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(names: &[&str]) -> Vec<NodeName> {
        names.iter().map(|name| name.parse().unwrap()).collect()
    }

    fn installation(masters: &[&str], workers: &[&str]) -> Installation {
        Installation { masters: nodes(masters), workers: nodes(workers), ..Installation::default() }
    }

    /// Returns an address for each node of an installation, ending in its number.
    fn addresses(installation: &Installation, network: &str) -> BTreeMap<NodeName, IpAddr> {
        let nodes = installation.masters.iter().chain(&installation.workers);
        let mut addresses = BTreeMap::new();
        for node in nodes {
            let number = addresses.len() + 1;
            addresses
                .entry(node.clone())
                .or_insert_with(|| format!("{network}{number}").parse().unwrap());
        }
        addresses
    }

    fn text(installation: &Installation, network: &str, format: InventoryFormat) -> String {
        InstallerInventory::new(installation, &addresses(installation, network))
            .unwrap()
            .text(format)
    }

    /// Returns the names in a section of an INI file.
    fn section(text: &str, name: &str) -> Vec<String> {
        let lines = text.lines().skip_while(|line| *line != format!("[{name}]")).skip(1);
        let names = lines
            .take_while(|line| !line.is_empty())
            .map(|line| line.split_whitespace().next().unwrap());
        names.map(str::to_owned).collect()
    }

    #[test]
    fn the_historical_file_is_written_byte_by_byte() {
        let text = text(&installation(&["m-1", "m-2"], &["w-1"]), "10.0.0.", InventoryFormat::Ini);

        assert_eq!(
            text,
            "[all]\nm-1  ansible_ssh_host=10.0.0.1 ansible_ssh_port=22\nw-1  ansible_ssh_host=10.0.0.3 \
             ansible_ssh_port=22\nm-2  ansible_ssh_host=10.0.0.2 ansible_ssh_port=22\n\n[kube-master]\nm-1\nm-2\n\n\
             [kube-node]\nw-1\n\n[etcd]\nm-1\nm-2\n\n[ovn-central]\nm-1\nm-2\n\n[ovn-controller]\nw-1\n\n[virtlet]\nw-1\n\
             \n[k8s-cluster:children]\nkube-node\nkube-master\n"
        );
    }

    #[test]
    fn a_cluster_of_virtual_machines_in_pods_has_neither_ovn_nor_virtlet() {
        let installation = Installation { is_virtlet_vm: true, ..installation(&["m"], &["w"]) };

        let text = text(&installation, "10.0.0.", InventoryFormat::Ini);

        let sections: Vec<&str> = text.lines().filter(|line| line.starts_with('[')).collect();
        assert_eq!(
            sections,
            ["[all]", "[kube-master]", "[kube-node]", "[etcd]", "[k8s-cluster:children]"]
        );
    }

    #[test]
    fn every_node_is_listed_once_whatever_its_roles_and_however_names_resemble_each_other() {
        let both = installation(&["a", "b", "c"], &["worker-10", "b", "worker-1"]);

        let text = text(&both, "10.0.0.", InventoryFormat::Ini);

        assert_eq!(section(&text, "all"), ["a", "worker-10", "b", "worker-1", "c"]);
        assert_eq!(section(&text, "kube-node"), ["worker-10", "b", "worker-1"]);
    }

    #[test]
    fn masters_run_workloads_where_there_are_no_workers() {
        let masters = installation(&["b", "a"], &[]);

        let inventory = InstallerInventory::new(&masters, &addresses(&masters, "10.0.0.")).unwrap();

        assert_eq!(section(&inventory.ini(), "kube-node"), ["b", "a"]);
        let keys: Vec<String> = inventory.addresses_by_role().into_keys().collect();
        assert_eq!(keys, ["MASTER_a", "MASTER_b", "WORKER_a", "WORKER_b"]);
    }

    #[test]
    fn a_node_of_both_lists_has_its_address_under_both_keys() {
        let both = installation(&["a"], &["a", "w"]);

        let addresses = InstallerInventory::new(&both, &addresses(&both, "10.0.0."))
            .unwrap()
            .addresses_by_role();

        let texts: Vec<String> =
            addresses.iter().map(|(key, address)| format!("{key}={address}")).collect();
        assert_eq!(texts, ["MASTER_a=10.0.0.1", "WORKER_a=10.0.0.1", "WORKER_w=10.0.0.2"]);
    }

    #[test]
    fn a_node_without_an_address_is_never_written_with_a_blank() {
        let two = installation(&["m"], &["w"]);
        let mut known = addresses(&two, "10.0.0.");
        known.remove(&two.workers[0]);

        assert_eq!(InstallerInventory::new(&two, &known), None);
    }

    #[test]
    fn kubespray_gets_its_groups_and_variables() {
        insta::assert_snapshot!(text(&installation(&["m-1", "0777"], &["m-1", "on"]), "10.0.0.", InventoryFormat::Yaml), @r#"
        all:
          hosts:
            "m-1":
              ansible_host: "10.0.0.1"
              ip: "10.0.0.1"
              access_ip: "10.0.0.1"
            "on":
              ansible_host: "10.0.0.3"
              ip: "10.0.0.3"
              access_ip: "10.0.0.3"
            "0777":
              ansible_host: "10.0.0.2"
              ip: "10.0.0.2"
              access_ip: "10.0.0.2"
          children:
            kube_control_plane:
              hosts:
                "m-1": {}
                "0777": {}
            kube_node:
              hosts:
                "m-1": {}
                "on": {}
            etcd:
              hosts:
                "m-1": {}
                "0777": {}
            k8s_cluster:
              children:
                kube_control_plane: {}
                kube_node: {}
        "#);
    }

    #[test]
    fn kubespray_is_told_where_there_is_no_ipv4() {
        insta::assert_snapshot!(text(&installation(&["m"], &["w"]), "fd00::", InventoryFormat::Yaml), @r#"
        all:
          hosts:
            "m":
              ansible_host: "fd00::1"
              ip6: "fd00::1"
              access_ip6: "fd00::1"
            "w":
              ansible_host: "fd00::2"
              ip6: "fd00::2"
              access_ip6: "fd00::2"
          vars:
            ipv4_stack: false
            ipv6_stack: true
          children:
            kube_control_plane:
              hosts:
                "m": {}
            kube_node:
              hosts:
                "w": {}
            etcd:
              hosts:
                "m": {}
            k8s_cluster:
              children:
                kube_control_plane: {}
                kube_node: {}
        "#);
    }
}
