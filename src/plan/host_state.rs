//! The state of every host after the plan, and its owner.

use std::collections::HashMap;

use serde::Serialize;

use super::eligibility::{self, Availability, Refusal, RequiredSystem};
use super::{AssignmentMethod, PlacedHost, Plan};
use crate::base::api::names::{ClusterKey, HostKey, Part};
use crate::site::Site;
use crate::site::inventory::Host;

/// The state of a host. An unassigned host has the first state that applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum HostState {
    /// A cluster has it.
    Assigned,
    /// A cluster releases it.
    GivenBack,
    /// Another owner has it, by labels or as its consumer.
    InUse,
    /// It has a deletion timestamp.
    Deleting,
    /// It has an error.
    Failed,
    /// Metal3 has not made it available yet.
    NotReady,
    /// It is marked for maintenance.
    InMaintenance,
    /// An annotation reserves it.
    Reserved,
    /// It has an operating system, so that a Provisioning may take it, but no other cluster.
    Installed,
    /// Any cluster whose requirements it meets may take it. If the site has Provisionings: any
    /// other cluster.
    Free,
}

impl HostState {
    /// All states in the order of reports.
    pub const ALL: [HostState; 10] = [
        HostState::Assigned,
        HostState::Free,
        HostState::Installed,
        HostState::Failed,
        HostState::GivenBack,
        HostState::InUse,
        HostState::NotReady,
        HostState::InMaintenance,
        HostState::Reserved,
        HostState::Deleting,
    ];

    /// Returns the state as the predicate of "the host is …".
    pub fn words(self) -> &'static str {
        match self {
            HostState::Assigned => "assigned",
            HostState::GivenBack => "released",
            HostState::InUse => "in use by others",
            HostState::Deleting => "being deleted",
            HostState::Failed => "failed",
            HostState::NotReady => "not ready",
            HostState::InMaintenance => "in maintenance",
            HostState::Reserved => "reserved",
            HostState::Installed => "free with an operating system",
            HostState::Free => "free",
        }
    }
}

/// The state of one host with its reasons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostStanding {
    /// The state.
    pub state: HostState,
    /// The owner, if a cluster has the host.
    pub assigned: Option<HostOwner>,
    /// The cluster of this repo that releases the host, if known. Another cluster may have it by
    /// now.
    pub given_back_by: Option<ClusterKey>,
    /// True if this plan releases the host, false if an earlier one did.
    pub given_back_now: bool,
    /// The reason why no cluster can have the host, as the predicate of "the host …".
    pub why_not_free: Option<String>,
}

/// Returns the state of every host in inventory order.
pub fn host_standings(site: &Site, plan: &Plan) -> Vec<HostStanding> {
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
    site.inventory.hosts.iter().enumerate().map(standing).collect()
}

/// Returns whether a Provisioning could take an unassigned host: it has an operating system.
pub(crate) fn is_free_machine(site: &Site, host: &Host) -> bool {
    Availability::for_host(site, host, None, None) == Availability::Free
        && eligibility::unusable(host, RequiredSystem::Installed).is_none()
}

/// Returns the owner of every assigned host by index, including hosts of frozen clusters.
pub(super) fn assignments(site: &Site, plan: &Plan) -> HashMap<usize, HostOwner> {
    let held = site.state.held.iter().filter_map(|(host, held)| {
        let held = held.iter().find(|held| plan.frozen.contains(&held.cluster))?;
        Some((
            site.inventory.index(host)?,
            HostOwner { cluster: held.cluster.clone(), part: held.part.clone(), how: None },
        ))
    });
    let planned = plan.clusters.iter().flat_map(|(cluster, placement)| {
        let hosts =
            placement.iter().flat_map(|(part, hosts)| hosts.iter().map(move |host| (part, host)));
        hosts.map(move |(part, PlacedHost { host, how })| {
            (*host, HostOwner { cluster: cluster.clone(), part: part.clone(), how: Some(*how) })
        })
    });
    held.chain(planned).collect()
}

fn unassigned(site: &Site, host: &Host) -> (HostState, Option<String>) {
    let claimed = Availability::for_host(site, host, None, None).refusal().cloned();
    if site.has_machines() && is_free_machine(site, host) {
        return (HostState::Installed, None);
    }
    let unusable = || eligibility::unusable(host, RequiredSystem::NoSystem);
    let Some(refusal) = claimed.or_else(unusable) else { return (HostState::Free, None) };
    let state = match refusal {
        Refusal::Deleting => HostState::Deleting,
        Refusal::InError(_) => HostState::Failed,
        Refusal::NotFree(_)
        | Refusal::NotApplied
        | Refusal::NotRendered
        | Refusal::Unregistered
        | Refusal::SameMachine(_)
        | Refusal::InvalidBootMac
        | Refusal::Undecided(_) => HostState::NotReady,
        Refusal::InMaintenance(_) => HostState::InMaintenance,
        Refusal::Reserved(_) => HostState::Reserved,
        Refusal::Assigned(_)
        | Refusal::NamedBy(_)
        | Refusal::Claimed(_)
        | Refusal::GivenBack(_)
        | Refusal::AppliedInFull(_)
        | Refusal::InUse(_) => HostState::InUse,
        // No node set requests the host here, so the rules for requirements, topology and installed
        // systems do not apply.
        Refusal::NotNamed(_)
        | Refusal::Elsewhere(_)
        | Refusal::ReservedFor(_)
        | Refusal::NotSelected(_)
        | Refusal::Insufficient(_)
        | Refusal::NotInstalled(_)
        | Refusal::Unaddressed(_)
        | Refusal::DomainTaken { .. }
        | Refusal::SkewExceeded { .. }
        | Refusal::OtherDomain { .. } => HostState::InUse,
    };
    (state, Some(refusal.to_string()))
}

/// The owner of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HostOwner {
    /// The cluster.
    pub cluster: ClusterKey,
    /// The part of the cluster.
    #[serde(flatten)]
    pub part: Part,
    /// How the host was assigned; `None` for a frozen cluster.
    pub how: Option<AssignmentMethod>,
}
