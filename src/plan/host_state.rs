//! How every host stands when the plan is carried out: in a word, and why it cannot be had.

use std::collections::HashMap;

use serde::Serialize;

use super::Plan;
use super::eligibility::{self, Availability, Refusal};
use super::placement::{Assigned, How};
use crate::api::names::{ClusterKey, HostKey, Part};
use crate::inventory::Host;
use crate::site::Site;

/// How a host stands. A host that is not assigned has the first of the states that is true of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum HostState {
    /// A cluster has it.
    Assigned,
    /// A cluster had it, and gives it back.
    GivenBack,
    /// Somebody else has it, by labels or as its consumer.
    InUse,
    /// Its deletion was asked for.
    Deleting,
    /// It is in an error.
    Failed,
    /// Metal3 has not yet made it available.
    NotReady,
    /// An annotation keeps it from being taken.
    Reserved,
    /// Any cluster may take it that it suits.
    Free,
}

impl HostState {
    /// All states, in the order in which they are told.
    pub const ALL: [HostState; 8] = [
        HostState::Assigned,
        HostState::Free,
        HostState::Failed,
        HostState::GivenBack,
        HostState::InUse,
        HostState::NotReady,
        HostState::Reserved,
        HostState::Deleting,
    ];

    /// The state in words that complete the sentence "the host is …".
    pub fn words(self) -> &'static str {
        match self {
            HostState::Assigned => "assigned",
            HostState::GivenBack => "given back",
            HostState::InUse => "in use by others",
            HostState::Deleting => "being deleted",
            HostState::Failed => "failed",
            HostState::NotReady => "not ready",
            HostState::Reserved => "reserved",
            HostState::Free => "free",
        }
    }
}

/// How one host stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostStanding {
    /// In a word.
    pub state: HostState,
    /// Whose it is, when a cluster has it.
    pub assigned: Option<Assignment>,
    /// The cluster of this repo that gives it back, if that is known; another one may have it by now.
    pub given_back_by: Option<ClusterKey>,
    /// Whether this plan takes it from that cluster; if not, an earlier one did.
    pub given_back_now: bool,
    /// Why no cluster can have it, completing the sentence "the host …".
    pub why_not_free: Option<String>,
}

/// How every host of the site stands, in the inventory's order.
pub fn of_all(site: &Site, plan: &Plan) -> Vec<HostStanding> {
    let mut assigned = assignments(site, plan);
    let given_back: HashMap<&HostKey, &ClusterKey> = plan
        .given_back
        .iter()
        .flat_map(|(cluster, hosts)| hosts.iter().map(move |host| (host, cluster)))
        .collect();
    let standing = |(index, host): (usize, &Host)| {
        let given_back_now = given_back.get(&host.key).copied();
        let released = plan.released.get(&host.key);
        let by = given_back_now.or_else(|| released?.by.as_ref()).cloned();
        let assigned = assigned.remove(&index);
        let (state, why_not_free) = match assigned {
            Some(_) => (HostState::Assigned, None),
            None if given_back_now.is_some() || released.is_some() => (HostState::GivenBack, None),
            None => unassigned(site, host),
        };
        HostStanding {
            state,
            assigned,
            given_back_by: by,
            given_back_now: given_back_now.is_some(),
            why_not_free,
        }
    };
    site.inventory
        .hosts
        .iter()
        .enumerate()
        .map(standing)
        .collect()
}

/// Whose hosts are, by index; those of frozen clusters included.
pub(super) fn assignments(site: &Site, plan: &Plan) -> HashMap<usize, Assignment> {
    let held = site.state.held.iter().filter_map(|(host, held)| {
        let held = held
            .iter()
            .find(|held| plan.frozen.contains(&held.cluster))?;
        Some((
            site.inventory.index(host)?,
            Assignment {
                cluster: held.cluster.clone(),
                part: held.part.clone(),
                how: None,
            },
        ))
    });
    let planned = plan.clusters.iter().flat_map(|(cluster, placement)| {
        let hosts = placement
            .iter()
            .flat_map(|(part, hosts)| hosts.iter().map(move |host| (part, host)));
        hosts.map(move |(part, Assigned { host, how })| {
            (
                *host,
                Assignment {
                    cluster: cluster.clone(),
                    part: part.clone(),
                    how: Some(*how),
                },
            )
        })
    });
    held.chain(planned).collect()
}

fn unassigned(site: &Site, host: &Host) -> (HostState, Option<String>) {
    let claimed = match Availability::of(site, host, None, None) {
        Availability::Free => None,
        Availability::Only(_, refusal) | Availability::Refused(refusal) => Some(refusal),
    };
    let Some(refusal) = claimed.or_else(|| eligibility::unusable(host)) else {
        return (HostState::Free, None);
    };
    let state = match refusal {
        Refusal::Deleting => HostState::Deleting,
        Refusal::InError(_) => HostState::Failed,
        Refusal::NotFree(_) => HostState::NotReady,
        Refusal::Reserved(_) => HostState::Reserved,
        Refusal::Assigned(_)
        | Refusal::NamedBy(_)
        | Refusal::Claimed(_)
        | Refusal::GivenBack(_)
        | Refusal::AppliedInFull(_)
        | Refusal::InUse(_)
        | Refusal::Undecided(_) => HostState::InUse,
        // Depends on who asks, and nobody does here.
        Refusal::NotNamed(_)
        | Refusal::NotSelected(_)
        | Refusal::Insufficient(_)
        | Refusal::Unaddressed(_)
        | Refusal::DomainTaken { .. } => HostState::InUse,
    };
    (state, Some(refusal.to_string()))
}

/// Whose a host is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Assignment {
    /// The cluster.
    pub cluster: ClusterKey,
    /// What for.
    #[serde(flatten)]
    pub part: Part,
    /// How the cluster came by it; nothing for a cluster with errors, which keeps what it has.
    pub how: Option<How>,
}
