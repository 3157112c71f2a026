//! Demands under a hypothesis.

use std::collections::{BTreeMap, BTreeSet};

use super::{PlanHypothesis, PlannedSite};
use crate::base::api::names::{ClusterKey, Part};
use crate::plan::demand::{NodeSetDemand, serving_order};
use crate::plan::eligibility;
use crate::plan::{placed_hosts, topology};
use crate::site::request::{Cluster, NodeSet};

/// Demands that take part in a question.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::plan) enum QuestionScope {
    /// Demands of clusters that the hypothesis affects.
    Affected,
    /// Also demands of clusters that lack hosts in any case.
    WithShort,
}

impl<'a> PlannedSite<'a> {
    /// Returns the open demands that take part in a question, in serving order.
    pub(super) fn demands<'q>(
        &'q self,
        hypothesis: &'q PlanHypothesis<'_>,
        participants: QuestionScope,
    ) -> Vec<NodeSetDemand<'q>> {
        let gone = hypothesis.gone.iter();
        let bereft = gone.filter_map(|host| self.owners.get(host).copied());
        let resized = hypothesis.resized.iter().map(|(cluster, ..)| *cluster);
        let mut affected: BTreeSet<&ClusterKey> = bereft.chain(resized).collect();
        if participants == QuestionScope::WithShort {
            affected.extend(self.plan.shortages.keys().map(|(cluster, _)| cluster));
        }
        let mut clusters: Vec<&Cluster> = match self.may_move {
            true => self.clusters.clone(),
            false => {
                let affected = affected.into_iter().filter(|key| !self.plan.frozen.contains(*key));
                affected.filter_map(|key| self.site.valid_cluster(key)).collect()
            }
        };
        clusters.extend(hypothesis.more);
        clusters.sort_by_key(|cluster| serving_order(cluster));
        let node_sets = clusters.into_iter().flat_map(Cluster::parts);
        let demands = node_sets.map(|(cluster, part, node_set)| {
            let other =
                hypothesis.resized.filter(|(key, other, _)| **key == cluster.key && *other == part);
            let node_set = other.map_or(node_set, |(.., other)| other);
            self.demand(cluster, part, node_set, hypothesis)
        });
        demands.filter(NodeSetDemand::is_open).collect()
    }

    pub(super) fn demand<'q>(
        &'q self,
        cluster: &'q Cluster,
        part: &'q Part,
        node_set: &'q NodeSet,
        hypothesis: &PlanHypothesis<'_>,
    ) -> NodeSetDemand<'q> {
        let (gone, may_move) = (&hypothesis.gone, self.may_move && !node_set.is_named());
        let hosts = self.hosts_of(cluster, part);
        let stays: BTreeSet<usize> =
            hosts.filter(|host| !may_move && !gone.contains(host)).collect();
        let none = BTreeSet::new();
        let without = if hypothesis.is_drain { &none } else { gone };
        let demand = NodeSetDemand::new(self.site, cluster, part, node_set, stays)
            .with_domain_limits(&self.matching_domains, self.hosts, without);
        if !hypothesis.is_drain {
            return demand;
        }
        let has = self.hosts_of(cluster, part).count();
        let unmoved = if may_move { self.unmoved(&demand, gone) } else { 0 };
        let wanted = demand.wanted.min(has).saturating_sub(unmoved);
        let stays = demand.kept.len();
        NodeSetDemand { missing: wanted.saturating_sub(stays), wanted: wanted.max(stays), ..demand }
    }

    /// Returns the number of hosts that a node set keeps although the planner would not choose them.
    /// They take no place from others.
    fn unmoved(&self, demand: &NodeSetDemand<'_>, gone: &BTreeSet<usize>) -> usize {
        let mut taken = BTreeMap::new();
        let hosts = self.hosts_of(demand.cluster, demand.part);
        let is_unmoved = |host: &usize| {
            let (known, availability) = (&self.hosts[*host], &self.availability[*host]);
            let is_refused = eligibility::refusal(*host, known, demand, availability).is_some();
            let domains = topology::domains(&self.hosts[*host], &demand.node_set.topology_keys);
            is_refused
                || !domains.into_iter().all(|domain| {
                    let hosts: &mut usize = taken.entry(domain).or_default();
                    *hosts += 1;
                    *hosts <= demand.node_set.max_per_domain
                })
        };
        let left = hosts.filter(|host| !gone.contains(host));
        left.filter(is_unmoved).count()
    }

    pub(super) fn hosts_of(
        &self,
        cluster: &Cluster,
        part: &Part,
    ) -> impl Iterator<Item = usize> + use<'a> {
        placed_hosts(&self.plan.clusters, &cluster.key, part)
    }
}
