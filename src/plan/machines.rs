//! Machines of Provisionings for reports: requirements, the capacity of hosts, and the reasons for
//! a host.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;

use serde::Serialize;

use super::{AssignmentMethod, eligibility};
use crate::base::api::hardware::memory;
use crate::base::api::names::Part;
use crate::site::inventory::machine::MachineProperties;
use crate::site::inventory::requirements::{HardwareRequirements, counted_cpus};
use crate::site::inventory::{Host, natural};
use crate::site::request::NodeSet;

/// The requirements of a Provisioning on one machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineRequirements {
    /// The MAC address of its host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mac_address: Option<String>,
    /// Its hardware.
    #[serde(flatten)]
    pub hardware: HardwareRequirements,
    /// The labelSelector; empty for any labels.
    pub selector: String,
}

impl MachineRequirements {
    /// Returns the requirements of a node set if it is for a machine.
    pub fn for_node_set(node_set: &NodeSet) -> Option<Self> {
        let machine = node_set.machine.as_ref()?;
        Some(Self {
            mac_address: machine.named.map(|(mac, _)| mac.to_string()),
            hardware: node_set.hardware.clone(),
            selector: node_set.selector.to_string(),
        })
    }
}

impl fmt::Display for MachineRequirements {
    /// Formats the requirements as `8 CPUs, 16 GiB, SR-IOV, example.com/rack=a`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mac = self.mac_address.iter().map(|mac| format!("MAC {mac}"));
        let others = [self.hardware.to_string(), self.selector.clone()].into_iter();
        let parts: Vec<String> = mac.chain(others.filter(|words| !words.is_empty())).collect();
        f.write_str(&if parts.is_empty() { "any host".to_owned() } else { parts.join(", ") })
    }
}

/// The capacity of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostFacts {
    /// Number of CPUs, if known.
    pub cpu: Option<u64>,
    /// Memory in MiB, if known.
    pub memory_mib: Option<u64>,
    /// True if it has SR-IOV.
    pub sriov: bool,
    /// True if it has QuickAssist.
    pub qat: bool,
    /// The address at which an installer reaches it.
    pub address: Option<IpAddr>,
}

impl HostFacts {
    /// Returns the capacity of a host as the machine of a node set; without one, as any machine.
    pub(super) fn for_host(host: &Host, node_set: Option<&NodeSet>) -> Self {
        let MachineProperties { cpu, memory_mib, sriov, qat, .. } = *host.machine;
        let address = match node_set {
            Some(node_set) => node_set.installer_address(host),
            None => host.machine.address(None),
        };
        Self { cpu, memory_mib, sriov, qat, address }
    }
}

impl fmt::Display for HostFacts {
    /// Formats the capacity without the address, as `40 CPUs, 188 GiB, SR-IOV`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes = [self.cpu.map(counted_cpus), self.memory_mib.map(memory)];
        let mut parts: Vec<String> = sizes.into_iter().flatten().collect();
        if parts.is_empty() {
            parts.push("size unknown".to_owned());
        }
        let devices = [(self.sriov, "SR-IOV"), (self.qat, "QuickAssist")].into_iter();
        parts.extend(devices.filter(|(has, _)| *has).map(|(_, name)| name.to_owned()));
        f.write_str(&parts.join(", "))
    }
}

/// Returns the reason why a machine has this host.
pub(super) fn why(host: &Host, how: AssignmentMethod, node_set: Option<&NodeSet>) -> String {
    let asked = node_set.and_then(|set| Some((set, set.machine.as_ref()?)));
    let came = match how {
        AssignmentMethod::Stays => "stays",
        AssignmentMethod::Adopted => "adopted by its labels",
        AssignmentMethod::Added => "picked",
    };
    let Some((node_set, machine)) = asked else { return came.to_owned() };
    if machine.named.is_some() {
        return format!("{came}, by its MAC address");
    }
    match (how, eligibility::insufficient(host, node_set)) {
        (_, Some(lacks)) => format!("{came}, although it {lacks}"),
        (AssignmentMethod::Added, None) => "picked, fits best".to_owned(),
        (AssignmentMethod::Stays | AssignmentMethod::Adopted, None) => came.to_owned(),
    }
}

/// Describes a host as a machine, completing the sentence "the host …"; `None` if the site has no
/// Provisioning.
pub(super) fn fact(host: &Host) -> Option<String> {
    // Hardware is read only for sites with Provisionings.
    if *host.machine == MachineProperties::default() {
        return None;
    }
    let facts = HostFacts::for_host(host, None);
    let reached = facts.address.map_or_else(
        || "no address by which an installer could reach it".to_owned(),
        |address| format!("the address {address}"),
    );
    Some(format!("has, as a machine of Provisionings, {facts} and {reached}"))
}

/// Sorts parts with [`by_role_and_name`].
pub(crate) fn in_order(parts: BTreeSet<&Part>) -> Vec<&Part> {
    let mut parts: Vec<&Part> = parts.into_iter().collect();
    parts.sort_by(|a, b| by_role_and_name(a, b));
    parts
}

/// Compares parts by role and then by name in natural order: `worker-9` before `worker-10`.
pub(crate) fn by_role_and_name(a: &Part, b: &Part) -> Ordering {
    a.role.cmp(&b.role).then_with(|| match (&a.node, &b.node) {
        (Some(a), Some(b)) => natural(a.as_str(), b.as_str()),
        (a, b) => a.cmp(b),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_reads_as_a_list() {
        let asked = MachineRequirements {
            hardware: HardwareRequirements {
                cpu: 8,
                memory_mib: 16_384,
                qat: true,
                ..HardwareRequirements::default()
            },
            selector: "rack=a".to_owned(),
            mac_address: None,
        };

        assert_eq!(asked.to_string(), "8 CPUs, 16 GiB, QuickAssist, rack=a");
        assert_eq!(MachineRequirements::default().to_string(), "any host");
    }

    #[test]
    fn a_host_that_nobody_inspected_has_no_size() {
        let facts =
            HostFacts { cpu: None, memory_mib: None, sriov: true, qat: false, address: None };

        assert_eq!(facts.to_string(), "size unknown, SR-IOV");
        assert_eq!(HostFacts { memory_mib: Some(1000), ..facts }.to_string(), "1000 MiB, SR-IOV");
    }
}
