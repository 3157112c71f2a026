//! Shortages: node sets that cannot be filled, with a proof that a person can check by counting.

mod explanation;
mod findings;
mod wording;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;

use super::demand::NodeSetDemand;
use super::flow_network::Instance;
use super::matching::FlowUnit;
use super::search_result::{HostBounds, ShortDemand, ShortageProof};
use super::shortage_causes::{DemandLimits, ShortageCauses};
use super::skew::{DomainProof, DomainRule};
use crate::base::api::names::{ClusterKey, HostKey, Part};
use crate::site::Site;

pub(super) use explanation::{ShortageExplanation, domains_of};
pub(super) use findings::machine_shortages;

/// A node set that cannot be filled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Shortage {
    /// Number of hosts that the node set requests.
    pub wanted: usize,
    /// Number of hosts that it retains.
    pub kept: usize,
    /// Number of additional hosts that it could have at most.
    pub found: usize,
    /// True if it is not proven that it can have so many.
    pub may_lack_more: bool,
    /// Maximum number of hosts in a domain of each topology key.
    #[serde(skip)]
    max_per_domain: usize,
    /// Number of other hosts that its selector matches.
    pub matching: usize,
    /// Topology domains of those hosts, for each topology key.
    pub topology: Vec<MatchedTopology>,
    /// The constraints without each of which it would lack fewer hosts.
    #[serde(skip)]
    causes: ShortageCauses,
    /// The reason why there are not more.
    pub reason: ShortageReason,
    /// The reasons that follow from the hosts which it does not have.
    #[serde(flatten)]
    explanation: Arc<ShortageExplanation>,
    /// True for a machine of a Provisioning.
    #[serde(skip)]
    pub is_machine: bool,
}

/// The reason why a node set cannot be filled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ShortageReason {
    /// The hosts do not suffice.
    #[serde(rename_all = "camelCase")]
    Counted {
        /// The node sets that compete for the hosts, including this one, in the order in which they
        /// choose.
        rivals: Vec<CompetingNodeSet>,
        /// The largest number of further hosts that they can have together. It is less than they
        /// lack.
        can_be_had: usize,
    },
    /// There are enough hosts for each topology key alone and without quotas, but not for all
    /// together.
    Crossing(NodeSetConflict),
    /// Its constraint on topology domains admits fewer hosts, whoever else wants them.
    Constrained(DomainProof),
    /// The search ended at its limit of steps.
    Undecided,
}

/// Node sets that cannot be filled together, and the constraints that suffice for that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeSetConflict {
    /// The node sets, in the order in which they choose.
    pub node_sets: Vec<CompetingNodeSet>,
    /// The topology domains, by topology key.
    pub domains: BTreeMap<String, BTreeSet<String>>,
    /// The quotas, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quotas: Vec<String>,
    /// The topology spread constraints, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skews: Vec<String>,
    /// Number of hosts that these node sets can use.
    pub usable: usize,
    /// Number of those hosts in none of the domains.
    pub outside: usize,
    /// True if each node set and each domain is proven necessary for the conflict. False if the
    /// search ended before.
    pub is_minimal: bool,
    /// True if there are too few hosts even without the quotas.
    pub has_no_more_hosts: bool,
}

impl ShortageReason {
    /// Names the node sets and quotas of a proof, which has them as indices of a problem.
    pub(in crate::plan) fn new(proof: ShortageProof, instance: &Instance<'_>) -> Self {
        let competing = |indices: &[usize]| {
            let demands = indices.iter().map(|index| &instance.demands[*index]);
            demands.map(CompetingNodeSet::new).collect()
        };
        match proof {
            ShortageProof::Counted(count) => ShortageReason::Counted {
                rivals: competing(&count.demands),
                can_be_had: count.can_be_had,
            },
            ShortageProof::Crossing(conflict) => {
                let core = conflict.core;
                let constrained = core.constrained.iter().map(|index| &instance.demands[*index]);
                let quotas = core.quotas.iter().map(|quota| instance.quotas[*quota].to_string());
                ShortageReason::Crossing(NodeSetConflict {
                    node_sets: competing(&core.demands),
                    domains: conflict.domains,
                    quotas: quotas.collect(),
                    skews: constrained.flat_map(described_spreads).collect(),
                    usable: conflict.hosts,
                    outside: conflict.outside,
                    is_minimal: core.is_minimal,
                    has_no_more_hosts: conflict.has_no_more_hosts,
                })
            }
            ShortageProof::Constrained(proof) => ShortageReason::Constrained(proof),
            ShortageProof::Undecided => ShortageReason::Undecided,
        }
    }
}

/// Describes the required constraints of a node set on topology domains.
fn described_spreads(demand: &NodeSetDemand<'_>) -> impl Iterator<Item = String> {
    let NodeSetDemand { cluster, part, spreads, .. } = demand;
    spreads.iter().map(move |spread| {
        let limit = match spread.rule {
            DomainRule::Skew(rule) => format!("maxSkew: {}", rule.max_skew),
            DomainRule::Same => "sameDomain".to_owned(),
        };
        format!("{} {part}: `{limit}` over {}", cluster.key, spread.key)
    })
}

/// A demand that cannot be served.
pub(super) struct UnservedDemand {
    /// Its index.
    pub(super) index: usize,
    pub(super) found: HostBounds,
    pub(super) reason: ShortageReason,
    pub(super) limits: DemandLimits,
}

impl UnservedDemand {
    pub(super) fn new(
        instance: &Instance<'_>,
        picks: &[Vec<FlowUnit>],
        short: ShortDemand,
    ) -> Self {
        let ShortDemand { index, found, why } = short;
        let limits = DemandLimits::new(instance, picks, index, &why);
        Self { index, found, limits, reason: ShortageReason::new(why, instance) }
    }
}

/// Topology domains of the hosts that a labelSelector matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MatchedTopology {
    /// The topology key.
    pub key: String,
    /// Domains of matching hosts.
    pub domains: Arc<BTreeSet<String>>,
    /// Domains in which the node set has a host.
    pub used: BTreeSet<String>,
}

/// A node set that lacks hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, derive_more::Display)]
#[display("{cluster} {part} ({missing})")]
pub struct CompetingNodeSet {
    /// The cluster.
    pub cluster: ClusterKey,
    /// The part of the cluster.
    #[serde(flatten)]
    pub part: Part,
    /// Number of hosts that it lacks.
    pub missing: usize,
}

impl CompetingNodeSet {
    fn new(demand: &NodeSetDemand<'_>) -> Self {
        Self {
            cluster: demand.cluster.key.clone(),
            part: demand.part.clone(),
            missing: demand.missing,
        }
    }
}

/// The hosts that one rule refuses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HostsRefusedByRule {
    /// The rule, as in "5 in use".
    pub rule: String,
    /// The refused hosts.
    pub hosts: Arc<[HostKey]>,
}

impl Shortage {
    /// Returns the number of hosts that cannot be found. It may lack more if `may_lack_more` says so.
    pub fn short_of(&self) -> usize {
        self.wanted.saturating_sub(self.kept + self.found)
    }

    /// Collects the proof. `explanation` is about the hosts that the node set does not have.
    pub(in crate::plan) fn new(
        site: &Site,
        demand: &NodeSetDemand<'_>,
        unserved: UnservedDemand,
        causes: ShortageCauses,
        explanation: Arc<ShortageExplanation>,
    ) -> Self {
        let UnservedDemand { found, reason, .. } = unserved;
        let hosts = &site.inventory.hosts;
        let keys = demand.node_set.topology_keys.iter();
        let topology = keys.zip(&explanation.topology).map(|(key, domains)| MatchedTopology {
            key: key.clone(),
            domains: domains.clone(),
            used: domains_of(demand.kept.iter().map(|host| &hosts[*host]), key),
        });
        Self {
            wanted: demand.wanted,
            kept: demand.kept.len(),
            max_per_domain: demand.node_set.max_per_domain,
            found: found.most,
            may_lack_more: found.least < found.most,
            matching: causes.matching,
            topology: topology.collect(),
            causes,
            reason,
            is_machine: demand.node_set.machine.is_some(),
            explanation,
        }
    }
}
