//! Hosts of node sets while moves are made.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::api::names::ClusterKey;
use crate::plan::Plan;
use crate::plan::ask::{OccupiedSet, PlannedSite};
use crate::plan::quotas::{self, QuotaUse};
use crate::plan::skew::{DomainLimit, MatchingDomains};
use crate::site::Site;
use crate::site::inventory::Host;
use crate::site::request::NodeSet;

/// The node sets of a planned site that have hosts, and the constraints on moves of these.
pub(super) struct OccupiedSite<'a> {
    pub(super) hosts: &'a [Host],
    /// In serving order.
    pub(super) node_sets: Vec<OccupiedSet<'a>>,
    /// The owner of every assigned host, including hosts of frozen clusters.
    pub(super) owners: BTreeMap<usize, &'a ClusterKey>,
    quotas: Vec<QuotaUse>,
    /// Required constraints of each node set on topology domains, without its hosts.
    domain_limits: Vec<Vec<DomainLimit<'a>>>,
}

/// The replacement of a host of a node set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HostMove {
    /// Index of the node set.
    pub(super) set: usize,
    /// The host that leaves.
    pub(super) from: usize,
    /// The host that takes its place.
    pub(super) to: usize,
}

/// The hosts of all node sets at one point of a plan of moves.
pub(super) struct MoveState<'r> {
    site: &'r OccupiedSite<'r>,
    hosts: Vec<BTreeSet<usize>>,
    /// The node set of each assigned host; `None` for hosts of frozen clusters.
    assigned: BTreeMap<usize, Option<usize>>,
    /// Number of hosts that count for each quota.
    used: Vec<usize>,
}

impl<'a> OccupiedSite<'a> {
    pub(super) fn new(site: &'a Site, plan: &Plan, planned: &PlannedSite<'a>) -> Self {
        let hosts = &site.inventory.hosts;
        let node_sets = planned.occupied_sets();
        let (domains, none) = (MatchingDomains::default(), BTreeSet::new());
        let domain_limits =
            |set: &OccupiedSet<'a>| domains.domain_limits(hosts, &none, set.node_set, (&none, &[]));
        let domain_limits = node_sets.iter().map(domain_limits).collect();
        let quotas = quotas::all(site, plan);
        Self { hosts, quotas, owners: planned.owners.clone(), domain_limits, node_sets }
    }

    /// Returns whether a quota limits a node set.
    pub(super) fn is_limited(&self, set: usize) -> bool {
        self.quotas.iter().any(|quota| self.is_subject(set, quota))
    }

    /// Returns whether a node set belongs to the namespace of a quota.
    fn is_subject(&self, set: usize, quota: &QuotaUse) -> bool {
        self.node_sets[set].cluster.key.namespace == quota.quota.namespace
    }

    /// Returns 1 for a host that counts for a quota.
    fn share(&self, host: usize, quota: &QuotaUse) -> usize {
        usize::from(quota.quota.counts(&self.hosts[host].labels))
    }
}

impl<'r> MoveState<'r> {
    pub(super) fn new(site: &'r OccupiedSite<'r>) -> Self {
        let mut assigned: BTreeMap<usize, Option<usize>> =
            site.owners.keys().map(|host| (*host, None)).collect();
        for (index, set) in site.node_sets.iter().enumerate() {
            assigned.extend(set.hosts.iter().map(|host| (*host, Some(index))));
        }
        Self {
            site,
            hosts: site.node_sets.iter().map(|set| set.hosts.clone()).collect(),
            assigned,
            used: site.quotas.iter().map(QuotaUse::used).collect(),
        }
    }

    /// Makes a move if every constraint holds afterwards, and returns whether it did. The caller
    /// knows that the node set accepts the host.
    pub(super) fn make(&mut self, step: HostMove) -> bool {
        let is_possible = self.hosts[step.set].contains(&step.from)
            && !self.is_assigned(step.to)
            && self.allows(step);
        if is_possible {
            self.apply(step);
        }
        is_possible
    }

    /// Makes all moves if every constraint holds after each, and returns whether it did.
    pub(super) fn make_all(&mut self, moves: &[HostMove]) -> bool {
        let made = moves.iter().take_while(|step| self.make(**step)).count();
        let is_complete = made == moves.len();
        if !is_complete {
            self.revert_all(&moves[..made]);
        }
        is_complete
    }

    /// Returns whether topology and quotas allow a move once another node set, if it has the new host,
    /// has left it.
    pub(super) fn allows(&self, step: HostMove) -> bool {
        self.is_apart(step) && self.is_even(step) && self.is_within_quotas(step)
    }

    /// Returns whether a cluster has the host.
    pub(super) fn is_assigned(&self, host: usize) -> bool {
        self.assigned.contains_key(&host)
    }

    /// Returns the node set that has the host.
    pub(super) fn owner(&self, host: usize) -> Option<usize> {
        self.assigned.get(&host).copied().flatten()
    }

    /// Reverts a move.
    pub(super) fn revert(&mut self, step: HostMove) {
        self.apply(HostMove { from: step.to, to: step.from, ..step });
    }

    /// Reverts moves that were made in this order.
    pub(super) fn revert_all(&mut self, moves: &[HostMove]) {
        moves.iter().rev().for_each(|step| self.revert(*step));
    }

    fn apply(&mut self, HostMove { set, from, to }: HostMove) {
        self.hosts[set].remove(&from);
        self.hosts[set].insert(to);
        self.assigned.remove(&from);
        self.assigned.insert(to, Some(set));
        for (quota, used) in self.site.quotas.iter().zip(&mut self.used) {
            if self.site.is_subject(set, quota) {
                *used = *used + self.site.share(to, quota) - self.site.share(from, quota);
            }
        }
    }

    /// Returns whether the topology domains of the new host have room for it beside the hosts that
    /// stay.
    fn is_apart(&self, HostMove { set, from, to }: HostMove) -> bool {
        let NodeSet { topology_keys, max_per_domain: most, .. } = self.site.node_sets[set].node_set;
        topology_keys.iter().all(|key| {
            let domain = |host: usize| self.site.hosts[host].domain(key);
            let Some(own) = domain(to) else { return true };
            let stay = self.hosts[set].iter().filter(|host| **host != from);
            stay.filter(|host| domain(**host) == Some(own)).take(*most).count() < *most
        })
    }

    /// Returns whether the constraints on topology domains admit the new host.
    fn is_even(&self, HostMove { set, from, to }: HostMove) -> bool {
        self.site.domain_limits[set].iter().all(|limit| {
            let domain = |host: &usize| self.site.hosts[*host].domain(limit.key);
            let stay = self.hosts[set].iter().filter(|host| **host != from);
            limit.admits(domain(&to), stay.map(domain))
        })
    }

    fn is_within_quotas(&self, HostMove { set, from, to }: HostMove) -> bool {
        let (site, owner) = (self.site, self.owner(to));
        site.quotas.iter().zip(&self.used).all(|(quota, used)| {
            let is_left = owner.is_some_and(|owner| site.is_subject(owner, quota));
            !site.is_subject(set, quota)
                || site.share(to, quota) == 0
                || used - site.share(from, quota) - usize::from(is_left) < quota.quota.hosts
        })
    }
}
