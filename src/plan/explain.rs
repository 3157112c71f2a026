//! Explains assignments: the reasons why hosts are where they are.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::demand::{NodeSetDemand, by_priority};
use super::eligibility::{self, Availability, Refusal};
use super::host_state::{self, HostOwner};
use super::machine_users::{MachineUser, MachineUsers};
use super::machines::{self, HostFacts, MachineRequirements, by_role_and_name, in_order};
use super::shortage::Shortage;
use super::skew::MatchingDomains;
use super::{AssignmentMethod, Plan, placed_hosts, topology};
use crate::base::api::names::{ClusterKey, HostKey, Part};
use crate::site::Site;
use crate::site::inventory::usage::HostUsage;
use crate::site::inventory::{Evidence, Host};
use crate::site::request::{ClusterKind, NodeSet};

/// The reasons for the hosts of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterExplanation {
    /// The cluster.
    pub cluster: ClusterKey,
    /// The kind of its request.
    pub kind: ClusterKind,
    /// The name of its Provisioning; `None` for other kinds and if it is invalid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provisioning: Option<String>,
    /// The position of its request: file and line.
    pub place: String,
    /// The priority; clusters with a higher one choose first.
    pub priority: i64,
    /// True if it is frozen, so that its files stay unchanged.
    pub left_as_it_is: bool,
    /// Its node sets, by role and name.
    pub node_sets: Vec<NodeSetExplanation>,
    /// The hosts that it releases.
    pub gives_back: Vec<HostKey>,
}

/// The reasons for the hosts of a node set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeSetExplanation {
    /// The part of the cluster.
    #[serde(flatten)]
    pub part: Part,
    /// True for a control plane machine that also runs workloads.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub worker_too: bool,
    /// Number of hosts that it requests.
    pub wanted: usize,
    /// The requirements on its machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<MachineRequirements>,
    /// Its hosts.
    pub hosts: Vec<AssignedHost>,
    /// The reason why it has too few hosts.
    pub shortage: Option<Shortage>,
}

/// A host of a node set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AssignedHost {
    /// The host.
    pub host: HostKey,
    /// How the host was assigned.
    pub how: AssignmentMethod,
    /// Values of the topology keys on the host.
    pub domains: BTreeMap<String, String>,
    /// The capacity of the host, for a machine of a Provisioning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<HostFacts>,
    /// The reason why the machine has this host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The owner of a host, or the reasons why it has none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HostExplanation {
    /// The host.
    pub host: HostKey,
    /// Proof that labels of the host arrive: `live`, `applied`, `reached` or `loose`.
    pub evidence: &'static str,
    /// Its owner.
    pub assigned: Option<HostOwner>,
    /// Facts that hold for every cluster: the host's state and its claims.
    pub facts: Vec<String>,
    /// The node sets that do not have it.
    pub refused: Vec<NodeSetRefusal>,
}

/// A node set that does not have a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NodeSetRefusal {
    /// The cluster.
    pub cluster: ClusterKey,
    /// The part of the cluster.
    #[serde(flatten)]
    pub part: Part,
    /// The reason, which completes the sentence "the host …"; `None` if the host is acceptable.
    pub why: Option<String>,
    /// True for a machine that names another host.
    #[serde(skip)]
    pub names_another: bool,
}

/// Explains a cluster; `None` if the repo does not request it.
pub fn cluster(site: &Site, plan: &Plan, key: &ClusterKey) -> Option<ClusterExplanation> {
    let request = site.clusters.get(key)?;
    let cluster = request.cluster.as_ref();
    let assigned = host_state::assignments(site, plan);
    let own = assigned.iter().filter(|(_, owner)| owner.cluster == *key);
    // In inventory order.
    let own: BTreeMap<usize, &HostOwner> = own.map(|(host, owner)| (*host, owner)).collect();
    let asked = cluster.into_iter().flat_map(|cluster| cluster.node_sets.keys());
    let parts: BTreeSet<&Part> = asked.chain(own.values().map(|owner| &owner.part)).collect();
    let node_sets = in_order(parts).into_iter().map(|part| {
        let node_set = cluster.and_then(|cluster| cluster.node_set(part));
        let hosts = own.iter().filter(|(_, owner)| owner.part == *part);
        let hosts =
            hosts.map(|(host, owner)| described(&site.inventory.hosts[*host], owner, node_set));
        NodeSetExplanation {
            part: part.clone(),
            worker_too: cluster.is_some_and(|cluster| cluster.is_worker_too(part)),
            wanted: node_set.map_or(0, NodeSet::wanted),
            asked: node_set.and_then(MachineRequirements::for_node_set),
            hosts: hosts.collect(),
            shortage: plan.shortages.get(&(key.clone(), part.clone())).cloned(),
        }
    });
    Some(ClusterExplanation {
        cluster: key.clone(),
        kind: site.kind_of(key),
        provisioning: cluster
            .and_then(|cluster| Some(cluster.installation.as_ref()?.provisioning.clone())),
        place: request.origin.shown(),
        priority: cluster.map_or(0, |cluster| cluster.priority),
        left_as_it_is: !plan.clusters.contains_key(key),
        node_sets: node_sets.collect(),
        gives_back: plan.given_back.get(key).cloned().unwrap_or_default(),
    })
}

fn described(host: &Host, owner: &HostOwner, node_set: Option<&NodeSet>) -> AssignedHost {
    // A frozen cluster keeps the hosts of the previous output.
    let how = owner.how.unwrap_or(AssignmentMethod::Stays);
    let keys = node_set.map_or(&[][..], |set| &set.topology_keys);
    let domains = topology::domains(host, keys).into_iter();
    let is_machine = owner.part.node.is_some();
    AssignedHost {
        host: host.key.clone(),
        how,
        domains: domains.map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
        machine: is_machine.then(|| HostFacts::for_host(host, node_set)),
        why: is_machine.then(|| machines::why(host, how, node_set)),
    }
}

/// Explains a host; `None` if the repo does not have it.
pub fn host(site: &Site, plan: &Plan, key: &HostKey) -> Option<HostExplanation> {
    let index = site.inventory.index(key)?;
    let host = &site.inventory.hosts[index];
    let assigned = host_state::assignments(site, plan).remove(&index);
    let owner = assigned.as_ref().map(|assignment| &assignment.cluster);
    let availability = Availability::for_host(site, host, owner, plan.released.get(key));
    let mut refused = Vec::new();
    let (domains, none) = (MatchingDomains::default(), BTreeSet::new());
    for cluster in by_priority(site, &plan.frozen) {
        let mut node_sets: Vec<_> = cluster.node_sets.iter().collect();
        node_sets.sort_by(|(a, _), (b, _)| by_role_and_name(a, b));
        let own = assigned.as_ref().filter(|own| own.cluster == cluster.key);
        let own = own.map(|own| &own.part);
        for (part, node_set) in node_sets.into_iter().filter(|(part, _)| own != Some(*part)) {
            let kept = placed_hosts(&plan.clusters, &cluster.key, part).collect();
            let demand = NodeSetDemand::new(site, cluster, part, node_set, kept)
                .with_domain_limits(&domains, &site.inventory.hosts, &none);
            let refusal = eligibility::refusal(index, host, &demand, &availability);
            refused.push(NodeSetRefusal {
                cluster: cluster.key.clone(),
                part: part.clone(),
                why: refusal.as_ref().map(Refusal::to_string),
                names_another: matches!(refusal, Some(Refusal::NotNamed(_))),
            });
        }
    }
    let user = MachineUsers::new(site).user(host);
    let user = user.filter(|user| *user != MachineUser::Foreign);
    let mut facts = facts(site, host, plan);
    facts.extend(user.map(|user| format!("is used by a Machine of {user}")));
    Some(HostExplanation {
        host: key.clone(),
        evidence: host.evidence.name(),
        facts,
        assigned,
        refused,
    })
}

/// Returns facts about a host that hold for every cluster: its state and its claims. Each completes
/// the sentence "the host …".
pub fn facts(site: &Site, host: &Host, plan: &Plan) -> Vec<String> {
    let mut facts = vec![match host.evidence {
        Evidence::Applied { .. } => "is declared by a manifest of this repo".to_owned(),
        Evidence::Live => "is observed in a snapshot; another owner creates it".to_owned(),
        Evidence::Reached { .. } => Refusal::NotApplied.to_string(),
        Evidence::Loose => Refusal::NotRendered.to_string(),
    }];
    facts.extend(host.applied_in_full_by.as_ref().map(|by| format!("is applied in full by {by}")));
    facts.extend(host.live.provisioning.as_ref().map(|state| format!("is in the state `{state}`")));
    facts.extend(
        (!host.is_use_known()).then(|| "has no known state: no snapshot shows it".to_owned()),
    );
    facts.extend(host.live.usage.as_ref().map(|usage| match usage {
        HostUsage::Consumer(consumer) => format!("is consumed by {consumer}"),
        other => other.to_string(),
    }));
    facts.extend(host.live.deleting.then(|| "is being deleted".to_owned()));
    facts.extend(host.live.error.as_ref().map(|error| format!("is in an error: {error}")));
    facts.extend(host.maintenance.as_ref().map(|mark| format!("is in maintenance: {mark}")));
    facts.extend(host.reserved_by.map(|mark| Refusal::Reserved(mark).to_string()));
    for (interface, known) in &host.network.addresses {
        facts.push(format!(
            "has the address {} on `{interface}` by {}",
            known.address, known.source
        ));
    }
    let claims = host.assignment.claims.iter();
    facts.extend(claims.map(|(claim, _)| Refusal::claimed(claim).to_string()));
    let mut requests = site.clusters.values();
    let has_machines = requests.any(|request| !request.kind.descriptor().uses_cluster_api);
    facts.extend(has_machines.then(|| machines::fact(host)).flatten());
    let release = plan.released.get(&host.key);
    facts.extend(release.map(|release| Refusal::released(release).to_string()));
    facts
}
