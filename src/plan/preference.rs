//! The order in which a node set takes hosts that suit it equally well.
//!
//! It only breaks ties: the flow gives up a preferred host whenever a placement requires that.

use std::collections::HashSet;

use super::demand::NodeSetDemand;
use super::eligibility;
use crate::base::api::names::Namespace;
use crate::site::inventory::Host;

/// The rank of a host for a node set; the lowest is taken first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Preference {
    /// Set if an agent would not label the host, or would replace it (SIP0625).
    is_refused_by_agent: bool,
    /// Set if another host may stand for its machine.
    is_doubtful: bool,
    /// Set unless a snapshot shows the host ready: the state of a manifest is unknown.
    is_unproven: bool,
    /// Set if the host is not in the cluster's namespace, where Cluster API looks for it.
    is_elsewhere: bool,
}

/// The properties of a host on which its preference depends. All hosts of a class have the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct HostTraits<'a> {
    has_apply_option: bool,
    is_doubtful: bool,
    is_proven: bool,
    namespace: Option<&'a Namespace>,
}

impl HostTraits<'_> {
    /// Ranks hosts with these properties for clusters of a namespace.
    pub(super) fn preference(self, home: Option<&Namespace>) -> Preference {
        Preference {
            is_refused_by_agent: self.has_apply_option,
            is_doubtful: self.is_doubtful,
            is_unproven: !self.is_proven,
            is_elsewhere: home.is_some() && self.namespace != home,
        }
    }
}

/// The namespaces that have both clusters and hosts. Where all hosts are in one, none counts.
#[derive(Default)]
pub(super) struct SharedNamespaces<'a>(HashSet<&'a Namespace>);

impl<'a> SharedNamespaces<'a> {
    /// Returns the namespaces of demands in which some hosts, but not all, are.
    pub(super) fn new<'d>(
        demands: impl Iterator<Item = &'d NodeSetDemand<'a>>,
        hosts: impl Iterator<Item = &'a Host>,
    ) -> Self
    where
        'a: 'd,
    {
        let own: HashSet<&Namespace> = demands.filter_map(namespace).collect();
        let mut with_hosts: HashSet<&Namespace> = HashSet::new();
        let mut last = None;
        for namespace in hosts.map(|host| &host.key.namespace) {
            // Neighbours are mostly in one namespace: to compare is cheaper than to hash.
            if last != Some(namespace) {
                with_hosts.insert(namespace);
                last = Some(namespace);
            }
        }
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
            has_apply_option: !host.apply_options.is_empty(),
            is_doubtful: host.same_machine.is_some(),
            is_proven: eligibility::is_ready(host),
            namespace: namespace.filter(|namespace| self.0.contains(namespace)),
        }
    }
}

/// Returns the namespace of a demand's cluster, unless that decides already or does not matter: no
/// Cluster API claims the machines of a Provisioning.
fn namespace<'a>(demand: &NodeSetDemand<'a>) -> Option<&'a Namespace> {
    let matters = demand.needs.namespace.is_none() && !demand.needs.system().is_required();
    matters.then_some(&demand.cluster.key.namespace)
}
