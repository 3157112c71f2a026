//! Shortages: node sets that cannot be filled, with a proof that a person can check by counting.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};
use std::sync::Arc;

use kube::core::Expression;
use serde::Serialize;

use super::demand::NodeSetDemand;
use super::eligibility::{Needs, Refusal, RefusalRemedy};
use super::machines::by_role_and_name;
use super::quotas::QuotaUse;
use super::search_result::DemandConflict;
use super::shortage_causes::{ShortageCauses, listed_refusals};
use super::topology;
use crate::base::api::cluster_api::SPARE;
use crate::base::api::names::{ClusterKey, HostKey, Part};
use crate::base::finding::{Code, Finding};
use crate::base::text::counted;
use crate::site::Site;
use crate::site::inventory::mismatch::{Mismatch, mismatch};
use crate::site::inventory::network_remedy::remedy;
use crate::site::inventory::{Host, natural};
use crate::site::request::ClusterKind;

/// Maximum numbers of rules, hosts of each rule, rivals and domains that a message names.
const RULES_SHOWN: usize = 8;
const HOSTS_SHOWN: usize = 3;
const RIVALS_SHOWN: usize = 4;
const DOMAINS_SHOWN: usize = 8;
/// Maximum number of machines that a message names.
const MACHINES_SHOWN: usize = 4;

/// A node set that cannot be filled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Shortage {
    /// Number of hosts that the node set requests.
    pub wanted: usize,
    /// Number of hosts that it retains.
    pub kept: usize,
    /// Number of additional hosts that it could have.
    pub found: usize,
    /// Number of other hosts that its selector matches.
    pub matching: usize,
    /// Topology domains of those hosts, for each topology key.
    pub topology: Vec<MatchedTopology>,
    /// The constraints without each of which it would lack fewer hosts.
    #[serde(skip)]
    causes: ShortageCauses,
    /// The reason why there are not more.
    pub reason: ShortageReason,
    /// Refused hosts by rule, the most common rule first.
    pub refused: Vec<HostsRefusedByRule>,
    /// A required label that no host has, with a label of the same name that hosts have.
    pub unknown_label: Option<(String, Option<String>)>,
    /// The requirement that excludes every host, if its selector matches none.
    #[serde(skip)]
    pub mismatch: Option<Mismatch>,
    /// Advice for a host without network data.
    #[serde(skip)]
    remedy: Option<String>,
    /// True for a machine of a Provisioning.
    #[serde(skip)]
    pub is_machine: bool,
    /// The host that it names by MAC address, with the refusal. The refusal is `None` if another
    /// cluster has the host, or if refused hosts are not listed.
    #[serde(skip)]
    named: Option<(HostKey, Option<Refusal>)>,
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
    #[serde(rename_all = "camelCase")]
    Crossing {
        /// Node sets that cannot be filled together, in the order in which they choose.
        node_sets: Vec<CompetingNodeSet>,
        /// The topology domains that suffice for the conflict, by topology key.
        domains: BTreeMap<String, BTreeSet<String>>,
        /// The quotas that suffice for the conflict, in words.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        quotas: Vec<String>,
        /// Number of hosts that these node sets can use.
        usable: usize,
        /// Number of those hosts in none of the domains.
        outside: usize,
        /// True if each node set and each domain is proven necessary for the conflict. False if the
        /// search ended before.
        is_minimal: bool,
        /// True if there are too few hosts even without the quotas.
        has_no_more_hosts: bool,
    },
    /// The search ended at its limit of steps.
    Undecided,
}

impl ShortageReason {
    pub(super) fn counted<'a>(
        rivals: impl Iterator<Item = &'a NodeSetDemand<'a>>,
        can_be_had: usize,
    ) -> Self {
        ShortageReason::Counted { rivals: rivals.map(CompetingNodeSet::new).collect(), can_be_had }
    }

    pub(super) fn crossing<'a>(
        node_sets: impl Iterator<Item = &'a NodeSetDemand<'a>>,
        conflict: &DemandConflict,
        quotas: impl Iterator<Item = &'a QuotaUse>,
    ) -> Self {
        let mut domains: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (key, value) in &conflict.domains {
            domains.entry(key.clone()).or_default().insert(value.clone());
        }
        ShortageReason::Crossing {
            node_sets: node_sets.map(CompetingNodeSet::new).collect(),
            domains,
            quotas: quotas.map(ToString::to_string).collect(),
            usable: conflict.hosts,
            outside: conflict.outside,
            is_minimal: conflict.is_minimal,
            has_no_more_hosts: conflict.has_no_more_hosts,
        }
    }

    fn rivals(&self) -> &[CompetingNodeSet] {
        match self {
            ShortageReason::Counted { rivals, .. } => rivals,
            ShortageReason::Crossing { .. } | ShortageReason::Undecided => &[],
        }
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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

impl fmt::Display for CompetingNodeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({})", self.cluster, self.part, self.missing)
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

/// The part of a shortage's proof that follows from the refusals of other hosts. Demands with equal
/// requirements share it, because it requires a pass over all hosts.
#[derive(Default)]
pub(super) struct ShortageExplanation {
    /// For each topology key, the domains of matching hosts.
    topology: Vec<Arc<BTreeSet<String>>>,
    refused: Vec<HostsRefusedByRule>,
    excluded: LabelExclusion,
    remedy: Option<String>,
    /// The refusal of the host that a machine names.
    named: Option<Refusal>,
}

/// The labels that exclude every host.
#[derive(Clone, Default)]
pub(super) struct LabelExclusion {
    mismatch: Option<Mismatch>,
    unknown_label: Option<(String, Option<String>)>,
}

impl LabelExclusion {
    /// Explains requirements that no host meets; `by_value` is set if values of labels matter.
    pub(super) fn new(hosts: &[Host], needs: &Needs<'_>, by_value: bool) -> Self {
        let mismatch = if by_value && needs.named().is_none() {
            mismatch(hosts, needs.selector)
        } else {
            None
        };
        // A machine may lack a host because of its other requirements.
        let by_labels = needs.machine.is_none() || mismatch.is_some();
        Self { unknown_label: if by_labels { unknown_label(hosts, needs) } else { None }, mismatch }
    }
}

impl ShortageExplanation {
    /// Evaluates `refusals`: every host that the node set does not have, with its refusal. They are
    /// empty if refused hosts are not listed.
    pub(super) fn new(
        site: &Site,
        demand: &NodeSetDemand<'_>,
        refusals: &[(usize, Option<Refusal>)],
    ) -> Self {
        let hosts = &site.inventory.hosts;
        let matching: Vec<&Host> = refusals
            .iter()
            .filter(|(_, refusal)| {
                let is_other = |refusal: &Refusal| {
                    matches!(
                        refusal.obstacle(),
                        RefusalRemedy::AnotherHost | RefusalRemedy::Requirement
                    )
                };
                !refusal.as_ref().is_some_and(is_other)
            })
            .map(|(host, _)| &hosts[*host])
            .collect();
        let topology = demand.needs.topology_keys.iter();
        let topology = topology.map(|key| Arc::new(domains_of(matching.iter().copied(), key)));
        Self {
            topology: topology.collect(),
            excluded: if matching.is_empty() {
                LabelExclusion::new(hosts, &demand.needs, !refusals.is_empty())
            } else {
                LabelExclusion::default()
            },
            remedy: refusals.iter().find_map(|(host, refusal)| {
                let is_of_network = refusal.as_ref()?.obstacle() == RefusalRemedy::NetworkData;
                is_of_network.then(|| remedy(&site.inventory, &hosts[*host]))?
            }),
            named: demand.needs.named().and_then(|named| {
                let (_, refusal) = refusals.iter().find(|(host, _)| *host == named)?;
                refusal.clone()
            }),
            refused: by_rule(site, refusals),
        }
    }

    /// Returns what an answer needs that lists no hosts.
    pub(super) fn brief(
        hosts: &[Host],
        demand: &NodeSetDemand<'_>,
        causes: &ShortageCauses,
    ) -> Self {
        let mut brief = Self::default();
        if causes.matching == 0 {
            brief.excluded = LabelExclusion::new(hosts, &demand.needs, true);
        }
        brief
    }
}

impl Shortage {
    /// Returns the number of hosts that cannot be found.
    pub fn short_of(&self) -> usize {
        self.wanted.saturating_sub(self.kept + self.found)
    }

    /// Collects the proof. `explanation` is about the hosts that the node set does not have.
    pub(super) fn new(
        site: &Site,
        demand: &NodeSetDemand<'_>,
        found: usize,
        explanation: &ShortageExplanation,
        causes: ShortageCauses,
        reason: ShortageReason,
    ) -> Self {
        let hosts = &site.inventory.hosts;
        let keys = demand.needs.topology_keys.iter();
        let topology = keys.zip(&explanation.topology).map(|(key, domains)| MatchedTopology {
            key: (*key).to_owned(),
            domains: domains.clone(),
            used: domains_of(demand.kept.iter().map(|host| &hosts[*host]), key),
        });
        let named = demand.needs.named();
        Self {
            wanted: demand.wanted,
            kept: demand.kept.len(),
            found,
            matching: causes.matching,
            topology: topology.collect(),
            causes,
            reason,
            is_machine: demand.needs.machine.is_some(),
            remedy: explanation.remedy.clone(),
            named: named.map(|named| (hosts[named].key.clone(), explanation.named.clone())),
            mismatch: explanation.excluded.mismatch.clone(),
            unknown_label: explanation.excluded.unknown_label.clone(),
            refused: explanation.refused.clone(),
        }
    }

    /// Returns whether any host with the required properties would do. Such shortages are reported
    /// together, by [`machine_shortages`].
    pub(super) fn is_of_any_host(&self, demand: &NodeSetDemand<'_>) -> bool {
        self.is_machine && demand.needs.named().is_none()
    }

    /// Reports the shortage of a node set, or of a machine that names its host.
    pub(super) fn finding(&self, site: &Site, demand: &NodeSetDemand<'_>) -> Finding {
        let NodeSetDemand { cluster, part, .. } = demand;
        if let Some(named) = demand.needs.named() {
            return self.named_host_finding(site, &site.inventory.hosts[named], demand);
        }
        let short = self.short_of();
        // No field of a manifest has this number, which is added to `replicas`.
        let for_rollouts = match cluster.kind {
            ClusterKind::ClusterApi => demand.node_set.standby,
            _ => 0,
        };
        let (aside, rollouts) = match for_rollouts {
            0 => (String::new(), None),
            count => (
                format!(" ({count} of them for rollouts)"),
                Some(format!(
                    "`maxSurge` of its rollout adds {} to its replicas: to go without, set `maxSurge: 0`, or annotate \
                     the object with `{SPARE}: \"0\"`",
                    counted(count, "host")
                )),
            ),
        };
        let finding = Finding::new(
            Code::Shortage,
            format!(
                "{short} of the {} {} hosts{aside} of {} cannot be found: {}",
                self.wanted,
                part.role,
                cluster.key,
                self.constraint(site.inventory.hosts.len())
            ),
        );
        let count = demand.node_set.count_at.place();
        let (finding, hints) = match &self.mismatch {
            // The cause is the requirement that excludes every host, not the count.
            Some(mismatch) => {
                let finding = mismatch.point(finding, &demand.node_set.selector_at);
                (
                    finding.see(count, format!("{} are wanted", self.wanted)),
                    mismatch.hints().collect(),
                )
            }
            None => (finding.at(count), Vec::new()),
        };
        let proof = self.proof();
        let lines: Vec<&str> = rollouts
            .as_deref()
            .into_iter()
            .chain(hints)
            .chain(proof.iter().map(String::as_str))
            .collect();
        finding.help(lines.join("\n")).for_cluster(&cluster.key)
    }

    /// Reports that a machine cannot have the host that it names.
    fn named_host_finding(&self, site: &Site, host: &Host, demand: &NodeSetDemand<'_>) -> Finding {
        let NodeSetDemand { cluster, part, .. } = demand;
        let refusal = self.named.as_ref().and_then(|(_, refusal)| refusal.as_ref());
        // A host that this plan releases belongs to its cluster until that is written, applied and
        // seen.
        let has_it_still = match refusal.map(Refusal::obstacle) {
            Some(RefusalRemedy::Release(by)) if !site.state.released.contains_key(&host.key) => {
                Some(by)
            }
            _ => None,
        };
        let why = match (has_it_still, refusal) {
            (Some(by), _) => format!("{by} has not yet released"),
            (None, Some(refusal)) => refusal.to_string(),
            (None, None) => "goes to another cluster".to_owned(),
        };
        let help = match has_it_still {
            Some(by) => format!(
                "an observed host moves between clusters in two runs: first generate without this machine, or with \
                 `--keep-going`, so that {by} releases it; apply that and take a snapshot; then name it here"
            ),
            None if matches!(refusal, Some(Refusal::NotInstalled(_))) => {
                "choose another host, or let Metal3 install this one first: set `image` in its BareMetalHost".to_owned()
            }
            None => "choose another host, or release this one and clear its error".to_owned(),
        };
        let finding = Finding::new(
            Code::NamedHostRefused,
            format!(
                "{part} of {} is host {} by its MAC address, which {why}",
                cluster.key, host.key
            ),
        )
        .at(demand.node_set.at.below(["mac-address".into()]).place())
        .see(host.origin.name(), "the host");
        let owner = match refusal.map(Refusal::obstacle) {
            Some(RefusalRemedy::Owner(owner)) => site.clusters.get(owner),
            _ => None,
        };
        let finding = owner
            .map(|owner| owner.origin.name())
            .into_iter()
            .fold(finding, |finding, place| finding.see(place, "its current cluster"));
        finding.help(help).for_cluster(&cluster.key)
    }

    /// Describes the constraints without each of which fewer hosts would be lacking. The site has this
    /// number of hosts.
    pub fn constraint(&self, hosts: usize) -> String {
        if hosts == 0 {
            return "the repo has no BareMetalHost".to_owned();
        }
        if self.is_machine && self.matching == 0 && self.mismatch.is_none() {
            return "none meets the requirements".to_owned();
        }
        if self.matching == 0 && hosts > self.kept {
            let besides = if self.kept == 0 { "" } else { " besides the assigned ones" };
            let hint = match &self.unknown_label {
                Some((wanted, Some(alike))) => {
                    format!(" (none has a label {wanted}; did you mean {alike}?)")
                }
                Some((wanted, None)) => format!(" (none has a label {wanted})"),
                None => String::new(),
            };
            return format!("its selector matches no host{besides}{hint}");
        }
        match &self.reason {
            ShortageReason::Counted { rivals, can_be_had } => self.count(hosts, rivals, *can_be_had),
            ShortageReason::Crossing {
                domains,
                quotas,
                usable,
                has_no_more_hosts,
                ..
            } if domains.is_empty() && !quotas.is_empty() => {
                let hosts = match has_no_more_hosts {
                    true => format!(", and only {} can serve it", counted(*usable, "host")),
                    false => String::new(),
                };
                format!("the quota is {}{hosts}", quotas.join(", and "))
            }
            ShortageReason::Crossing {
                node_sets, quotas, ..
            } => {
                let others = match node_sets.len() {
                    0 | 1 => String::new(),
                    count => format!(" for {count} node sets together"),
                };
                let within = match quotas.as_slice() {
                    [] => String::new(),
                    quotas => format!(" within the quota of {}", quotas.join(", and of ")),
                };
                format!("no choice of hosts is apart by all topologyKeys at once{others}{within}")
            }
            ShortageReason::Undecided => {
                "the search for hosts that are apart by all topologyKeys at once ended at its limit of steps".to_owned()
            }
        }
    }

    /// Describes constraints that are proven by counting.
    fn count(&self, hosts: usize, rivals: &[CompetingNodeSet], can_be_had: usize) -> String {
        let ShortageCauses { refused, topology, .. } = &self.causes;
        let selected = self.matching + self.kept;
        let is_too_few = selected < self.wanted && !self.is_machine;
        let matching = || match (self.is_machine, is_too_few) {
            (true, _) => format!("{} would do", counted(selected, "host")),
            (_, true) if selected < hosts => {
                format!("its selector matches only {selected} of all hosts")
            }
            (_, true) => format!(
                "there {} only {}",
                if hosts == 1 { "is" } else { "are" },
                counted(hosts, "host")
            ),
            _ if selected == 1 => "1 host matches its selector".to_owned(),
            _ => format!("{selected} hosts match its selector"),
        };
        let mut parts = Vec::new();
        if is_too_few || !refused.by_one.is_empty() {
            parts.push(matching() + &listed_refusals(selected, &refused.by_one));
        }
        if !topology.is_empty() {
            let keys: Vec<&str> = topology.iter().map(|(key, _)| key.as_str()).collect();
            let wants = format!(
                "its topologyKey wants every host in another domain of {}",
                keys.join(", and in another one of ")
            );
            parts.push(match topology.as_slice() {
                [(_, domains)] if *domains < self.wanted => {
                    let verb = if selected == 1 { "is" } else { "are" };
                    format!("{wants}, and {selected} that match {verb} in {domains}")
                }
                _ => wants,
            });
        }
        if rivals.len() > 1 {
            let missing: usize = rivals.iter().map(|rival| rival.missing).sum();
            let verb = if can_be_had == 1 { "is" } else { "are" };
            parts.push(format!(
                "{} node sets compete for the same hosts: together they miss {missing}, and {can_be_had} {verb} available",
                rivals.len(),
            ));
        }
        if parts.is_empty() {
            parts.push(match refused.by_several.as_slice() {
                [] => matching() + ", too few are available",
                several => matching() + &listed_refusals(selected, several),
            });
        }
        parts.join("; ")
    }

    /// Describes the proof, line by line.
    pub fn proof(&self) -> Vec<String> {
        if let Some((host, refusal)) = &self.named {
            let why = refusal
                .as_ref()
                .map_or_else(|| "goes to another cluster".to_owned(), Refusal::to_string);
            return vec![format!("it is host {host} by its MAC address, which {why}")];
        }
        let free = if self.found == 1 {
            "1 more is free".to_owned()
        } else {
            format!("{} more are free", self.found)
        };
        let mut lines = Vec::new();
        if !self.is_machine {
            lines.push(format!("the node set has {} of {}, and {free}", self.kept, self.wanted));
        }
        for MatchedTopology { key, domains, used, .. } in
            self.topology.iter().filter(|_| self.matching > 0)
        {
            let used = domains.intersection(used).count();
            let first = first_by_natural_order(domains, DOMAINS_SHOWN + 1);
            let (named, key_domains) =
                (some_of(first.iter(), DOMAINS_SHOWN), counted(domains.len(), "domain"));
            let used = if used == 0 {
                String::new()
            } else {
                format!(", {used} of which it already uses")
            };
            let matching = match self.matching {
                1 => "1 other host matches".to_owned(),
                count => format!("{count} other hosts match"),
            };
            lines.push(format!("{matching}, in {key_domains} of {key} ({named}){used}"));
        }
        if self.reason.rivals().len() > 1 {
            let rivals = some_of(self.reason.rivals().iter(), RIVALS_SHOWN);
            lines.push(format!("competing node sets, with the hosts that they miss: {rivals}"));
        }
        if let ShortageReason::Crossing {
            node_sets,
            domains,
            quotas,
            usable,
            outside,
            is_minimal,
            ..
        } = &self.reason
        {
            lines.extend(conflict(node_sets, (domains, quotas), *usable, *outside, *is_minimal));
        }
        let total: usize = self.refused.iter().map(|refused| refused.hosts.len()).sum();
        if total > 0 {
            let noun = if self.is_machine { "host" } else { "other host" };
            lines.push(format!("{} cannot serve it:", counted(total, noun)));
        }
        for HostsRefusedByRule { rule, hosts } in self.refused.iter().take(RULES_SHOWN) {
            lines.push(format!(
                "{:>5} {rule} ({})",
                hosts.len(),
                some_of(hosts.iter(), HOSTS_SHOWN)
            ));
        }
        if self.refused.len() > RULES_SHOWN {
            let others: usize =
                self.refused[RULES_SHOWN..].iter().map(|refused| refused.hosts.len()).sum();
            lines.push(format!("{others:>5} for other reasons"));
        }
        lines.extend(self.remedy.clone());
        lines
    }
}

/// Describes a conflict, line by line. It names every node set and domain, because it is the proof.
fn conflict(
    node_sets: &[CompetingNodeSet],
    (domains, quotas): (&BTreeMap<String, BTreeSet<String>>, &[String]),
    usable: usize,
    outside: usize,
    is_minimal: bool,
) -> Vec<String> {
    let limits = match (domains.is_empty(), quotas.is_empty()) {
        (_, true) => "topologyKeys",
        (true, false) => "quotas",
        (false, false) => "topologyKeys and quotas",
    };
    let (all, these) = (
        some_of(node_sets.iter(), node_sets.len()),
        if node_sets.len() == 1 { "it" } else { "them" },
    );
    let mut lines = vec![match node_sets.len() {
        1 => format!("in conflict with its {limits}, with the hosts that it misses: {all}"),
        _ => format!("in conflict with each other, with the hosts that they miss: {all}"),
    }];
    for (key, domains) in domains {
        let mut sorted: Vec<&String> = domains.iter().collect();
        sorted.sort_by(|a, b| natural(a, b));
        let named = some_of(sorted.iter(), sorted.len());
        lines.push(format!("over {} of {key} ({named})", counted(domains.len(), "domain")));
    }
    lines.extend(quotas.iter().map(|quota| format!("over the quota of {quota}")));
    let usable = counted(usable, "host");
    lines.push(if domains.is_empty() {
        format!("{usable} can serve {these}")
    } else {
        format!(
            "{usable} can serve {these}, {outside} of which are in none of these domains; a node set takes at most one \
             host of each domain"
        )
    });
    let kinds = match (domains.is_empty(), quotas.is_empty()) {
        (_, true) => "node sets or domains",
        (true, false) => "node sets or quotas",
        (false, false) => "node sets, domains or quotas",
    };
    lines.push(if is_minimal {
        format!("with one of these {kinds} fewer there would be a choice")
    } else {
        format!(
            "some of these {kinds} may not matter: the search for fewer ended at its limit of steps"
        )
    });
    lines
}

/// Machines of a cluster and role that lack a host for the same reasons.
struct SimilarShortages<'a> {
    constraint: String,
    proof: Vec<String>,
    mismatch: Option<&'a Mismatch>,
    demands: Vec<&'a NodeSetDemand<'a>>,
}

/// Reports machines for which no host has the required properties. Machines of a cluster and role
/// that lack a host for the same reasons share a finding.
pub(super) fn machine_shortages<'a>(
    site: &Site,
    short: &[(&'a NodeSetDemand<'a>, &'a Shortage)],
) -> Vec<Finding> {
    let hosts = site.inventory.hosts.len();
    let mut groups: Vec<SimilarShortages<'a>> = Vec::new();
    for (demand, shortage) in short {
        let (constraint, mismatch) = (shortage.constraint(hosts), shortage.mismatch.as_ref());
        let hints = mismatch.into_iter().flat_map(Mismatch::hints).map(str::to_owned);
        let proof: Vec<String> = hints.chain(shortage.proof()).collect();
        let is_alike = |group: &&mut SimilarShortages<'_>| {
            let has_same_role = group.demands.iter().take(1).all(|other| {
                other.cluster.key == demand.cluster.key && other.part.role == demand.part.role
            });
            has_same_role
                && group.constraint == constraint
                && group.proof == proof
                && group.mismatch == mismatch
        };
        match groups.iter_mut().find(is_alike) {
            Some(group) => group.demands.push(demand),
            None => {
                groups.push(SimilarShortages { constraint, proof, mismatch, demands: vec![demand] })
            }
        }
    }
    groups.into_iter().filter_map(SimilarShortages::finding).collect()
}

impl SimilarShortages<'_> {
    fn finding(mut self) -> Option<Finding> {
        self.demands.sort_by(|a, b| by_role_and_name(a.part, b.part));
        let (first, others) = self.demands.split_first()?;
        let NodeSetDemand { cluster, part, node_set, .. } = first;
        let who = if others.is_empty() {
            part.to_string()
        } else {
            let names: Vec<String> = self
                .demands
                .iter()
                .flat_map(|demand| &demand.part.node)
                .map(ToString::to_string)
                .collect();
            format!(
                "{} {} machines ({})",
                names.len(),
                part.role,
                some_of(names.iter(), MACHINES_SHOWN)
            )
        };
        let message =
            format!("no host can be found for {who} of {}: {}", cluster.key, self.constraint);
        let place = |demand: &NodeSetDemand<'_>| demand.node_set.at.place();
        let finding = Finding::new(Code::Shortage, message).help(self.proof.join("\n"));
        let finding = match self.mismatch {
            // The cause is the requirement that excludes every host, not the machine.
            Some(mismatch) => mismatch.point(finding, &node_set.selector_at),
            None => finding.at(place(first)),
        };
        Some(others.iter().fold(finding.for_cluster(&cluster.key), |finding, demand| {
            finding.see(place(demand), "and this one")
        }))
    }
}

/// Joins the first items, with an ellipsis if there are more.
fn some_of<T: ToString>(things: impl ExactSizeIterator<Item = T>, shown: usize) -> String {
    let more = if things.len() > shown { ", …" } else { "" };
    let first: Vec<String> = things.take(shown).map(|thing| thing.to_string()).collect();
    format!("{}{more}", first.join(", "))
}

/// Returns the first values in natural order, without sorting the others: there may be thousands.
fn first_by_natural_order(values: &BTreeSet<String>, count: usize) -> Vec<&String> {
    let order = |a: &&String, b: &&String| natural(a, b).then_with(|| a.cmp(b));
    let mut first: Vec<&String> = values.iter().collect();
    if first.len() > count {
        first.select_nth_unstable_by(count, order);
        first.truncate(count);
    }
    first.sort_unstable_by(order);
    first
}

/// Returns the known domains of hosts for a topology key.
fn domains_of<'h>(hosts: impl Iterator<Item = &'h Host>, key: &str) -> BTreeSet<String> {
    let domains: BTreeSet<&str> = hosts.filter_map(|host| topology::domain(host, key)).collect();
    domains.into_iter().map(str::to_owned).collect()
}

fn by_rule(site: &Site, refusals: &[(usize, Option<Refusal>)]) -> Vec<HostsRefusedByRule> {
    let mut by_rule: BTreeMap<String, Vec<HostKey>> = BTreeMap::new();
    let mut rule = String::new();
    for (host, refusal) in refusals {
        let Some(refusal) = refusal else { continue };
        rule.clear();
        // Writing to a String cannot fail.
        let _ = write!(rule, "{}", refusal.rule());
        let host = site.inventory.hosts[*host].key.clone();
        match by_rule.get_mut(&rule) {
            Some(hosts) => hosts.push(host),
            None => drop(by_rule.insert(rule.clone(), vec![host])),
        }
    }
    let mut rules: Vec<HostsRefusedByRule> = by_rule
        .into_iter()
        .map(|(rule, hosts)| HostsRefusedByRule { rule, hosts: hosts.into() })
        .collect();
    rules.sort_by_key(|refused| std::cmp::Reverse(refused.hosts.len()));
    rules
}

fn unknown_label(hosts: &[Host], needs: &Needs<'_>) -> Option<(String, Option<String>)> {
    let wanted = needs.selector.clone().into_iter().find_map(|expression| match expression {
        Expression::In(key, _) | Expression::Equal(key, _) | Expression::Exists(key) => {
            hosts.iter().all(|host| !host.labels.contains_key(&key)).then_some(key)
        }
        _ => None,
    })?;
    let name = |key: &str| key.rsplit('/').next().unwrap_or_default().to_owned();
    let alike = hosts
        .iter()
        .flat_map(|host| host.labels.keys())
        .find(|key| name(key) == name(&wanted))
        .cloned();
    Some((wanted, alike))
}
