//! The order in which a node set takes hosts that suit it equally well.
//!
//! It only breaks ties: the flow gives up a preferred host whenever a placement requires that.

use std::collections::HashSet;

use super::demand::NodeSetDemand;
use super::eligibility;
use crate::base::api::names::Namespace;
use crate::site::inventory::Host;
use crate::site::inventory::machine::MachineProperties;
use crate::site::inventory::registration;
use crate::site::inventory::requirements::HardwareRequirements;

/// The rank of a host for a node set; the lowest is taken first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Preference {
    /// Set if an agent would not label the host, or would replace it (SIP0625).
    is_refused_by_agent: bool,
    /// Set if Metal3 does not register the host, or the API server refuses it.
    is_unregistered: bool,
    /// Set if another host may stand for its machine.
    is_doubtful: bool,
    /// Set unless a snapshot shows the host ready: the state of a manifest is unknown.
    is_unproven: bool,
    /// Set if the host is not in the cluster's namespace, where Cluster API looks for it.
    is_elsewhere: bool,
}

/// The size of a host, as far as it decides about the order of hosts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct HostSize {
    sriov: bool,
    qat: bool,
    cpu: u64,
    /// Equal machines differ by less than 1 GiB.
    memory_gib: u64,
    disk_gigabytes: u64,
}

impl HostSize {
    pub(super) fn new(host: &Host) -> Self {
        let MachineProperties { cpu, memory_mib, sriov, qat, disks, .. } = &*host.machine;
        let disk_bytes = disks.iter().map(|disk| disk.bytes).fold(0, u64::saturating_add);
        Self {
            sriov: *sriov,
            qat: *qat,
            cpu: cpu.unwrap_or_default(),
            memory_gib: memory_mib.unwrap_or_default().div_ceil(1024),
            disk_gigabytes: disk_bytes / 1_000_000_000,
        }
    }

    /// Ranks hosts of this size for a node set: the smallest first. Devices that it does not require
    /// count most, then CPUs, memory and disks.
    pub(super) fn rank(self, asked: &HardwareRequirements) -> SizeRank {
        let unasked = usize::from(self.sriov && !asked.asks_for_sriov())
            + usize::from(self.qat && !asked.qat);
        (unasked, self.cpu, self.memory_gib, self.disk_gigabytes)
    }
}

/// The rank of a host by its size; the lowest is taken first.
pub(super) type SizeRank = (usize, u64, u64, u64);

/// The properties of a host on which its preference depends. All hosts of a class have the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct HostTraits<'a> {
    /// The rank wherever the host is.
    preference: Preference,
    namespace: Option<&'a Namespace>,
}

impl HostTraits<'_> {
    /// Ranks hosts with these properties for clusters of a namespace.
    pub(super) fn preference(self, home: Option<&Namespace>) -> Preference {
        Preference { is_elsewhere: home.is_some() && self.namespace != home, ..self.preference }
    }
}

/// The namespaces that have both clusters and hosts. Where all hosts are in one, none counts.
#[derive(Default)]
pub(super) struct SharedNamespaces<'a>(HashSet<&'a Namespace>);

impl<'a> SharedNamespaces<'a> {
    /// Returns the namespaces of demands in which some hosts, but not all, are.
    pub(super) fn new(
        demands: &[NodeSetDemand<'a>],
        hosts: impl Iterator<Item = &'a Host>,
    ) -> Self {
        let own: HashSet<&Namespace> = demands.iter().filter_map(namespace).collect();
        let mut with_hosts: HashSet<&Namespace> = hosts.map(|host| &host.key.namespace).collect();
        if with_hosts.len() < 2 {
            with_hosts.clear();
        }
        with_hosts.retain(|namespace| own.contains(namespace));
        Self(with_hosts)
    }

    /// Returns the namespace whose hosts a demand prefers.
    pub(super) fn home(&self, demand: &NodeSetDemand<'a>) -> Option<&'a Namespace> {
        namespace(demand).filter(|namespace| self.0.contains(namespace))
    }

    /// Returns the properties of a host.
    pub(super) fn traits(&self, host: &'a Host) -> HostTraits<'a> {
        let namespace = Some(&host.key.namespace);
        HostTraits {
            preference: Preference {
                is_refused_by_agent: !host.apply_options.is_empty(),
                is_unregistered: host.is_refused || registration::lacks_bmc(host),
                is_doubtful: host.same_machine.is_some(),
                is_unproven: !eligibility::is_ready(host),
                is_elsewhere: false,
            },
            namespace: namespace.filter(|namespace| self.0.contains(namespace)),
        }
    }
}

/// Returns the namespace of a demand's cluster, unless it decides already.
fn namespace<'a>(demand: &NodeSetDemand<'a>) -> Option<&'a Namespace> {
    demand.node_set.namespace.is_none().then_some(&demand.cluster.key.namespace)
}
