//! Node sets that have hosts, and the hosts as they are once their clusters release them.

use std::collections::BTreeSet;

use super::PlannedSite;
use crate::base::api::names::{ClusterKey, Part};
use crate::plan::eligibility::Needs;
use crate::plan::violations::in_use_as;
use crate::site::inventory::Host;
use crate::site::inventory::usage::{EXTERNALLY_PROVISIONED, HostUsage};
use crate::site::request::{Cluster, NodeSet};

/// A node set with its hosts.
pub(crate) struct OccupiedSet<'a> {
    /// The cluster.
    pub(crate) cluster: &'a Cluster,
    /// The part of the cluster.
    pub(crate) part: &'a Part,
    /// The request.
    pub(crate) node_set: &'a NodeSet,
    /// Its hosts.
    pub(crate) hosts: BTreeSet<usize>,
}

impl OccupiedSet<'_> {
    /// Returns the number of its hosts that it does not request: they wait for their release.
    pub(crate) fn surplus(&self) -> usize {
        self.hosts.len().saturating_sub(self.node_set.wanted())
    }

    /// Returns the reason why a host of the node set is in use.
    pub(crate) fn use_of(&self, host: &Host) -> Option<&'static str> {
        in_use_as(host, self.part)
    }
}

impl<'a> PlannedSite<'a> {
    /// Returns the node sets of planned clusters that have hosts, in serving order.
    pub(crate) fn occupied_sets(&self) -> Vec<OccupiedSet<'a>> {
        let node_sets = self.clusters.iter().flat_map(|cluster| cluster.parts());
        let occupied = node_sets.map(|(cluster, part, node_set)| OccupiedSet {
            hosts: self.hosts_of(cluster, part).collect(),
            cluster,
            part,
            node_set,
        });
        occupied.filter(|set| !set.hosts.is_empty()).collect()
    }

    /// Returns the hosts of the site as they are once a snapshot shows them unused: the use and the
    /// provisioning state of assigned hosts no longer count, all other rules do.
    pub(crate) fn released_hosts(&self) -> Vec<Host> {
        let mut hosts = self.site.inventory.hosts.clone();
        let sets = self.occupied_sets().into_iter();
        let reinstalled = sets.filter(|set| set.node_set.machine.is_none());
        for host in reinstalled.flat_map(|set| set.hosts) {
            let live = &mut hosts[host].live;
            // Metal3 does not deprovision such a host.
            if live.usage != Some(HostUsage::System(EXTERNALLY_PROVISIONED)) {
                live.usage = None;
                live.provisioning = Some("available".to_owned());
            }
        }
        hosts
    }

    /// Returns the hosts that a node set may have, in order of preference.
    pub(crate) fn accepted_hosts(&self, set: &OccupiedSet<'_>) -> Vec<usize> {
        let needs = Needs::new(set.cluster, set.part, set.node_set);
        let pool = self.classes.pool_of(&needs).into_iter();
        let classes = pool.flat_map(|pool| self.classes.pools[pool].pool.classes());
        let classes = classes.map(|class| &self.classes.classes[class]);
        let is_own = |only: &ClusterKey| *only == set.cluster.key;
        let own = classes.filter(|class| class.only.as_ref().is_none_or(is_own));
        own.flat_map(|class| &class.hosts).copied().collect()
    }
}
