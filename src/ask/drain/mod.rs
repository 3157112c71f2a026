//! Plans of moves that empty hosts: `sipgen drain`.
//!
//! A move replaces a host of a node set by a host that is free. A step has moves of several
//! clusters; hosts that it releases are free from the next step on. After each move, in the order
//! shown, every constraint of the planner holds.
//!
//! * `state`: the constraints while moves are made.
//! * `sequence`: orders of moves to hosts that the planner chose, and their division into steps.
//! * `chains`: moves of other assigned hosts, if free hosts do not suffice.
//!
//! One move per drained host is a lower bound, so a plan without other moves has the fewest.

mod chains;
mod sequence;
mod state;

use std::collections::{BTreeMap, BTreeSet};

use kube::core::{Selector, SelectorExt};
use schemars::JsonSchema;
use serde::Serialize;

use crate::ask::capacity::LackingNodeSet;
use crate::base::api::cluster_api::DELETE_MACHINE;
use crate::base::api::names::{ClusterKey, HostKey, Part};
use crate::generate::GeneratedSite;
use crate::plan;
use crate::plan::ask::{NodeSetLack, PlanHypothesis, PlannedSite, is_proven};
use crate::plan::purchase::{Purchase, purchase};
use crate::site::Site;
use crate::site::inventory::usage::HostUsage;

use chains::chains;
use sequence::{least_steps, sequence, steps};
use state::{HostMove, OccupiedSite};

/// Version of the JSON format. It is incremented when a field is removed or changes its meaning.
const VERSION: u32 = 2;

/// A plan of moves that empties hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Drain {
    /// Version of this format. Within a version, fields are only added.
    #[schemars(extend("const" = VERSION))]
    pub version: u32,
    /// Maximum number of hosts of a cluster that move in one step. A control plane moves one member
    /// per step.
    pub at_once: usize,
    /// The verdict on emptying the hosts. Unless it is `planned`, the exit code is 1.
    pub verdict: DrainVerdict,
    /// Number of moves.
    pub moves: usize,
    /// True if fewer moves are proven impossible.
    pub has_fewest_moves: bool,
    /// True if fewer steps are proven impossible with this number of moves.
    pub has_fewest_steps: bool,
    /// The steps in order. The first one has no moves if it only waits for hosts in `waiting`.
    pub steps: Vec<DrainStep>,
    /// Drained hosts that other hosts have replaced already. They are released once a snapshot
    /// shows them unused.
    pub waiting: Vec<Occupant>,
    /// Drained hosts that no cluster has. They only must not be assigned.
    pub unused: Vec<HostKey>,
    /// Drained hosts that no plan can move.
    pub bound: Vec<BoundHost>,
    /// Node sets that lack hosts without the drained ones.
    pub lacking: Vec<LackingNodeSet>,
    /// A purchase with which the hosts can be emptied and no other host moves; null if nothing is
    /// lacking.
    pub purchase: Option<Purchase>,
}

/// The verdict on emptying hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Verdict")]
pub enum DrainVerdict {
    /// The steps empty the hosts.
    Planned,
    /// No placement exists without the hosts, or a host cannot move.
    Impossible,
    /// A placement may exist without the hosts, but no order of moves to one was found.
    NoOrder,
    /// The search ended at its limit.
    Undecided,
}

/// Moves that are made together. Their order keeps every constraint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Step")]
pub struct DrainStep {
    /// Moves.
    pub moves: Vec<DrainMove>,
}

/// The replacement of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Move")]
pub struct DrainMove {
    /// The host that leaves, with its cluster.
    #[serde(flatten)]
    pub from: Occupant,
    /// The host that takes its place.
    pub to: HostKey,
    /// Why a host moves that is not drained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A host of a cluster, and what releases it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Occupant {
    /// The cluster.
    pub cluster: ClusterKey,
    /// The part of the cluster.
    #[serde(flatten)]
    pub part: Part,
    /// The host.
    #[serde(rename = "from")]
    pub host: HostKey,
    /// The Machine that uses the host, if Cluster API does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineInUse>,
    /// Why the host is in use, if no Machine uses it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_use: Option<String>,
}

/// A Machine of Cluster API that uses a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MachineInUse {
    /// Name of the Metal3Machine, which is the Machine's.
    pub name: String,
    /// The command that makes Cluster API delete this Machine first when it scales down.
    pub command: String,
}

/// A drained host that no plan can move.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BoundHost {
    /// The host.
    pub host: HostKey,
    /// Its cluster.
    pub cluster: ClusterKey,
    /// The reason as a clause.
    pub why: String,
}

impl Drain {
    /// Returns the moves of the first step.
    pub fn next_moves(&self) -> Vec<plan::HostReplacement> {
        let moves = self.steps.first().into_iter().flat_map(|step| &step.moves);
        let moves = moves.map(|made| plan::HostReplacement {
            cluster: made.from.cluster.clone(),
            part: made.from.part.clone(),
            from: made.from.host.clone(),
            to: made.to.clone(),
        });
        moves.collect()
    }
}

/// Plans moves that empty hosts of a planned site, at most `at_once` per cluster and step. Hosts with
/// labels that match `selectors` would be emptied as well, so none are bought.
pub fn drain(
    generated: &GeneratedSite,
    hosts: &BTreeSet<HostKey>,
    selectors: &[Selector],
    at_once: usize,
) -> Drain {
    let site = &generated.site;
    let planned = PlannedSite::new(site, &generated.plan, &[]);
    let occupied = OccupiedSite::new(site, &generated.plan, &planned);
    let indices = hosts.iter().filter_map(|host| site.inventory.index(host));
    let drained: BTreeSet<usize> = indices.collect();
    let places = DrainedHosts::new(site, &occupied, &drained);
    let at_once = at_once.max(1);
    let emptied = places.leaving.keys().chain(places.waiting.keys()).chain(&places.unused);
    let gone = emptied.copied().collect();
    let hypothesis = PlanHypothesis { gone, is_drain: true, ..PlanHypothesis::default() };
    let answer = answer(&occupied, &planned, &hypothesis, &places.leaving);
    let (mut verdict, moves, has_fewest_moves, lacking) = match answer {
        Ok((moves, has_fewest)) => (DrainVerdict::Planned, moves, has_fewest, Vec::new()),
        Err((verdict, lacking)) => (verdict, Vec::new(), false, lacking),
    };
    let mut bought = None;
    if !places.bound.is_empty() && verdict == DrainVerdict::Planned {
        verdict = DrainVerdict::Impossible;
    } else if places.bound.is_empty() && verdict != DrainVerdict::Planned {
        bought = purchase(&planned, &hypothesis, |labels| {
            selectors.iter().any(|selector| selector.matches(labels))
        });
    }
    let steps = steps(&occupied, &moves, &places, at_once);
    let remaining = site.inventory.hosts.len() - hypothesis.gone.len();
    let lacking = lacking.into_iter().map(|lacking| LackingNodeSet::new(lacking, remaining));
    let key = |host: &usize| site.inventory.hosts[*host].key.clone();
    Drain {
        version: VERSION,
        at_once,
        verdict,
        moves: steps.iter().map(Vec::len).sum(),
        has_fewest_moves,
        has_fewest_steps: has_fewest_moves
            && steps.len() <= least_steps(&occupied, &places, at_once),
        steps: described(&occupied, &drained, &steps),
        waiting: places
            .waiting
            .iter()
            .map(|(host, set)| occupant(&occupied, *set, *host))
            .collect(),
        unused: places.unused.iter().map(key).collect(),
        bound: places.bound,
        lacking: lacking.collect(),
        purchase: bought,
    }
}

/// Returns the hosts of a site that are in maintenance.
pub fn in_maintenance(site: &Site) -> BTreeSet<HostKey> {
    let hosts = site.inventory.hosts.iter();
    let marked = hosts.filter(|host| host.maintenance.is_some());
    marked.map(|host| host.key.clone()).collect()
}

/// Drained hosts by what becomes of them.
#[derive(Default)]
struct DrainedHosts {
    /// Hosts to replace, with their node sets.
    leaving: BTreeMap<usize, usize>,
    /// Hosts that are replaced already, with their node sets.
    waiting: BTreeMap<usize, usize>,
    unused: Vec<usize>,
    bound: Vec<BoundHost>,
}

impl DrainedHosts {
    fn new(site: &Site, occupied: &OccupiedSite<'_>, drained: &BTreeSet<usize>) -> Self {
        let mut places = Self::default();
        let mut unassigned: BTreeSet<usize> = drained.clone();
        let mut bind = |host: usize, cluster: &ClusterKey, why: &str| {
            places.bound.push(BoundHost {
                host: site.inventory.hosts[host].key.clone(),
                cluster: cluster.clone(),
                why: why.to_owned(),
            });
        };
        for (index, set) in occupied.node_sets.iter().enumerate() {
            for (at, host) in set.hosts.intersection(drained).copied().enumerate() {
                unassigned.remove(&host);
                if set.node_set.is_named() {
                    bind(host, &set.cluster.key, "the request names the host by MAC address");
                } else if at < set.surplus() {
                    places.waiting.insert(host, index);
                } else {
                    places.leaving.insert(host, index);
                }
            }
        }
        for host in unassigned {
            match occupied.owners.get(&host) {
                Some(cluster) => {
                    bind(host, cluster, "errors in the cluster's request keep its files unchanged")
                }
                None => places.unused.push(host),
            }
        }
        places
    }
}

/// Moves in their order, and whether fewer are proven impossible; or why there are none.
type DrainAnswer = Result<(Vec<HostMove>, bool), (DrainVerdict, Vec<NodeSetLack>)>;

/// Moves leaving hosts, given with their node sets, to those that the planner chooses if all others
/// stay, or also moves others.
fn answer(
    site: &OccupiedSite<'_>,
    planned: &PlannedSite<'_>,
    hypothesis: &PlanHypothesis<'_>,
    leaving: &BTreeMap<usize, usize>,
) -> DrainAnswer {
    let lacking = match planned.replacements(hypothesis) {
        Ok(chosen) => match sequence(site, leaving, &chosen) {
            Some(moves) => return Ok((moves, true)),
            None => Vec::new(),
        },
        Err(lacking) => lacking,
    };
    let hosts = planned.released_hosts();
    let moving = planned.with_moves(&hosts);
    let shortfall = moving.lacking(hypothesis);
    if is_proven(&shortfall) {
        return Err((DrainVerdict::Impossible, shortfall));
    }
    match chains(site, &moving, &hypothesis.gone, leaving) {
        Ok(moves) => {
            // Without a move of another host, some node set would lack hosts.
            let others = moves.len() - leaving.len();
            Ok((moves, others == 0 || others == 1 && is_proven(&lacking)))
        }
        Err(verdict) => Err((verdict, lacking)),
    }
}

fn described(
    site: &OccupiedSite<'_>,
    drained: &BTreeSet<usize>,
    steps: &[Vec<HostMove>],
) -> Vec<DrainStep> {
    let key = |host: usize| site.hosts[host].key.clone();
    // The moves after the one that is described.
    let mut rest = steps.iter().flatten();
    let mut describe = |step: &HostMove| {
        rest.next();
        let reason = (!drained.contains(&step.from)).then(|| {
            match rest.clone().find(|later| later.to == step.from) {
                Some(later) => {
                    let set = &site.node_sets[later.set];
                    format!("{} {} needs {}", set.cluster.key, set.part, key(step.from))
                }
                None => format!("the topology domain or quota of {} is needed", key(step.from)),
            }
        });
        DrainMove { from: occupant(site, step.set, step.from), to: key(step.to), reason }
    };
    steps
        .iter()
        .map(|moves| DrainStep { moves: moves.iter().map(&mut describe).collect() })
        .collect()
}

fn occupant(site: &OccupiedSite<'_>, set: usize, host: usize) -> Occupant {
    let (set, host) = (&site.node_sets[set], &site.hosts[host]);
    let machine = host.live.usage.as_ref().and_then(HostUsage::metal3_machine);
    let machine = machine.map(|(namespace, name)| MachineInUse {
        name: name.to_owned(),
        command: format!("kubectl annotate machine -n {namespace} {name} {DELETE_MACHINE}="),
    });
    let in_use = set.use_of(host).filter(|_| machine.is_none());
    Occupant {
        cluster: set.cluster.key.clone(),
        part: set.part.clone(),
        host: host.key.clone(),
        in_use: in_use.map(str::to_owned),
        machine,
    }
}
