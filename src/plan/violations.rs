//! Violations: reasons why a retained host would not be chosen again.
//!
//! Retained hosts are moved with `--rebalance` only, except hosts that fail or are being deleted.
//! The requirements come from the list of rules in [`eligibility`].

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::CurrentAssignment;
use super::eligibility::{self, INSTALLED_STATES, Needs, Refusal};
use super::skew::fullest_domains;
use super::topology::{self, occurrences};
use crate::base::api::host::{PAUSED, UNHEALTHY};
use crate::base::api::names::Part;
use crate::base::api::topology_spread::shared_key;
use crate::site::Site;
use crate::site::inventory::Host;
use crate::site::inventory::usage::{EXTERNALLY_PROVISIONED, HostUsage};
use crate::site::request::NodeSet;

/// Provisioning state of Metal3 for hosts without a BMC.
const UNMANAGED: &str = "unmanaged";

/// Provisioning state of Metal3 in which it installs an operating system.
const INSTALLING: &str = "provisioning";

/// The reason why a retained host would not be chosen again. The worst comes last.
/// The display completes the sentence "the host …".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, derive_more::Display)]
pub(super) enum Violation {
    #[display("shares its topology domain with another host of the node set")]
    SharesDomain,
    #[display(
        "is in another topology domain than other hosts of the node set, which must all be in one"
    )]
    OtherDomain,
    #[display("no longer matches the selector")]
    NotSelected,
    #[display("is reserved for others")]
    ReservedForOthers,
    /// It has less than its machine requires.
    #[display("no longer meets its requirements")]
    Insufficient,
    #[display("has no operating system yet, so it cannot become a node")]
    NotInstalled,
    #[display("is in use by a Machine of Cluster API, whose node an installer would destroy")]
    Consumed,
    /// No Machine may claim it, because it is externally provisioned, or paused or detached and
    /// unused.
    #[display("is {}", match *_0 {
        PAUSED => "paused",
        EXTERNALLY_PROVISIONED => "externally provisioned",
        _ => "detached",
    })]
    Reserved(&'static str),
    /// No Machine may claim it until its object changes.
    #[display("cannot be claimed")]
    Unclaimable,
    #[display("is in maintenance")]
    InMaintenance,
    /// CAPM3 marked it.
    #[display("is marked as unhealthy")]
    Unhealthy,
    /// It has an error that needs intervention.
    #[display("has failed")]
    Failed,
    /// It has a deletion timestamp.
    #[display("is being deleted")]
    Deleting,
    #[display("is used by a Machine of another node set")]
    UsedByAnother,
}

impl Violation {
    /// Returns whether a spare host replaces the host in any run, not only with `--rebalance`.
    pub(super) fn is_replaced_at_once(self) -> bool {
        matches!(self, Violation::Deleting | Violation::Failed | Violation::Unhealthy)
    }
}

/// An assignment with the violation of its host.
pub(super) type RetainedAssignment<'a> = (Option<Violation>, CurrentAssignment<'a>);

/// Returns the violation of a host by itself, whichever other hosts the node set has. `needs` are the
/// node set's requirements without those of services; `None` if the cluster has no such node set.
pub(super) fn own_violation(
    index: usize,
    host: &Host,
    needs: Option<&Needs<'_>>,
) -> Option<Violation> {
    let requires_system = needs.map(|needs| needs.system().is_required());
    let usage = host.live.usage.as_ref();
    let is_external = usage == Some(&HostUsage::System(EXTERNALLY_PROVISIONED));
    let is_consumed = matches!(usage, Some(HostUsage::Consumer(_) | HostUsage::NodeReuse(_)));
    let is_unhealthy = host.reserved_by.is_some_and(|mark| UNHEALTHY.contains(&mark));
    let external = Violation::Reserved(EXTERNALLY_PROVISIONED);
    let conditions = [
        (host.live.deleting, Violation::Deleting),
        (host.live.failed, Violation::Failed),
        (host.maintenance.is_some(), Violation::InMaintenance),
        (is_external && requires_system == Some(false), external),
        (is_consumed && requires_system == Some(true), Violation::Consumed),
        (is_unhealthy, Violation::Unhealthy),
    ];
    let met = conditions.into_iter().find(|(is_met, _)| *is_met).map(|(_, violation)| violation);
    let mark = host.reserved_by.filter(|_| usage.is_none() && !is_provisioned(host));
    if let Some(violation) = met.or(mark.map(Violation::Reserved)) {
        return Some(violation);
    }
    let needs = needs?;
    let Some(unmet) = eligibility::unmet(index, host, needs) else {
        return condition_violation(host, needs);
    };
    match unmet {
        Refusal::Elsewhere(_) | Refusal::NotSelected(_) => Some(Violation::NotSelected),
        // A value that only Flux knows may match as well as before.
        Refusal::Undecided(variable) => variable.is_left.then_some(Violation::NotSelected),
        Refusal::ReservedFor(_) => Some(Violation::ReservedForOthers),
        Refusal::Insufficient(_) => Some(Violation::Insufficient),
        // `Assignments::retain` releases such a host.
        Refusal::NotNamed(_) => None,
        // Rendering reports missing addresses of services.
        Refusal::Unaddressed(_) => None,
        // The rules for ownership, condition and topology do not apply: a retained host is in use,
        // and `Violation` has its own conditions.
        Refusal::Assigned(_)
        | Refusal::NamedBy(_)
        | Refusal::Claimed(_)
        | Refusal::GivenBack(_)
        | Refusal::NotApplied
        | Refusal::NotRendered
        | Refusal::AppliedInFull(_)
        | Refusal::InUse(_)
        | Refusal::Deleting
        | Refusal::InMaintenance(_)
        | Refusal::InError(_)
        | Refusal::NotFree(_)
        | Refusal::Unregistered
        | Refusal::SameMachine(_)
        | Refusal::InvalidBootMac
        | Refusal::NotInstalled(_)
        | Refusal::Reserved(_)
        | Refusal::DomainTaken { .. }
        | Refusal::SkewExceeded { .. }
        | Refusal::OtherDomain { .. } => None,
    }
}

/// Returns the violation that follows from a condition of the host which does not end by itself.
fn condition_violation(host: &Host, needs: &Needs<'_>) -> Option<Violation> {
    let is_lasting = match eligibility::unusable(host, needs.system())? {
        // A host without a known state may be running.
        Refusal::NotInstalled(state) => return state.map(|_| Violation::NotInstalled),
        Refusal::SameMachine(_) | Refusal::InvalidBootMac => {
            !needs.system().is_required() && host.live.usage.is_none()
        }
        // Metal3 leaves this state when the host gets a BMC, and any other by itself.
        Refusal::NotFree(state) => state == UNMANAGED && host.bmc().is_none(),
        // CAPM3 sets image and consumer at once. Hosts of SIPClusters may have other users.
        Refusal::InUse(HostUsage::System(field)) if field != EXTERNALLY_PROVISIONED => {
            host.live.is_object && needs.node_set.namespace.is_some()
        }
        _ => false,
    };
    is_lasting.then_some(Violation::Unclaimable)
}

/// Sorts the hosts of a node set, those first that are retained longest, and adds their violations.
///
/// A host in maintenance comes last, even if it is in use: `sipgen drain` has added a host for it.
/// A host in use comes before any other. Ties follow from the worst violation, from the
/// provisioning state, and from how the host was assigned. Of equally good hosts, the first ones are
/// spread over topology domains as evenly as possible; at last, the inventory decides.
pub(super) fn by_retention<'a>(
    assignments: Vec<CurrentAssignment<'a>>,
    node_set: Option<&NodeSet>,
    site: &Site,
    is_used_by_another: impl Fn(usize) -> bool,
) -> Vec<RetainedAssignment<'a>> {
    let hosts = &site.inventory.hosts;
    let needs = node_set.map(Needs::without_services);
    let worth = |(violation, assignment): &RetainedAssignment<'_>| {
        let host = &hosts[assignment.host];
        let is_in_use = in_use_as(host, assignment.part).is_some()
            && *violation != Some(Violation::UsedByAnother);
        (host.maintenance.is_some(), !is_in_use, *violation, !is_provisioned(host), assignment.how)
    };
    let order = |retained: &RetainedAssignment<'_>| (worth(retained), retained.1.host);
    // The first order decides which of several hosts keeps a shared domain. The second one includes
    // the violations that follow from it.
    let with_violation = assignments.into_iter().map(|assignment| {
        let host = assignment.host;
        let violation = if is_used_by_another(host) {
            Some(Violation::UsedByAnother)
        } else {
            own_violation(host, &hosts[host], needs.as_ref())
        };
        (violation, assignment)
    });
    let mut violating: Vec<RetainedAssignment<'_>> = with_violation.collect();
    violating.sort_by_cached_key(order);
    let assigned: Vec<usize> = violating.iter().map(|(_, assignment)| assignment.host).collect();
    let single = node_set.and_then(|node_set| common_domain(&assigned, node_set, site));
    let mut domains: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let most = node_set.map_or(1, |node_set| node_set.max_per_domain);
    let keys = node_set.map_or(&[][..], |node_set| &node_set.topology_keys);
    for (violation, assignment) in &mut violating {
        let host = &hosts[assignment.host];
        let mut shares = false;
        for domain in topology::domains(host, keys) {
            let hosts = domains.entry(domain).or_default();
            *hosts += 1;
            shares |= *hosts > most;
        }
        let is_elsewhere = single.is_some_and(|(key, domain)| host.domain(key) != domain);
        *violation = violation
            .or(shares.then_some(Violation::SharesDomain))
            .or(is_elsewhere.then_some(Violation::OtherDomain));
    }
    violating.sort_by_cached_key(order);
    let Some(key) = node_set.and_then(|node_set| site.spread_key(node_set)) else {
        return violating;
    };
    // Of equally good hosts, the first ones of all domains precede the second ones.
    let mut domain_hosts: BTreeMap<Option<&str>, usize> = BTreeMap::new();
    let with_level = violating.into_iter().map(|retained| {
        let level = domain_hosts.entry(hosts[retained.1.host].domain(key)).or_default();
        *level += 1;
        (*level, retained)
    });
    let mut spread: Vec<(usize, RetainedAssignment<'_>)> = with_level.collect();
    spread.sort_by_cached_key(|(level, retained)| (worth(retained), *level));
    spread.into_iter().map(|(_, retained)| retained).collect()
}

/// Returns the label of which all hosts of a node set must share a value, and the value that most of its
/// hosts have. Of several, one that has room for all comes first, then that of the first host.
fn common_domain<'s>(
    assigned: &[usize],
    node_set: &'s NodeSet,
    site: &'s Site,
) -> Option<(&'s str, Option<&'s str>)> {
    let key = shared_key(&node_set.spread)?;
    let hosts = &site.inventory.hosts;
    let own = assigned.iter().map(|host| hosts[*host].domain(key));
    let fullest = fullest_domains(own.clone());
    let needs = Needs::without_services(node_set);
    let spare = hosts.iter().enumerate().filter(|(index, host)| {
        fullest.len() > 1
            && host.domain(key).is_some_and(|domain| fullest.contains(domain))
            && !site.state.held.contains_key(&host.key)
            && eligibility::unmet(*index, host, &needs).is_none()
            && eligibility::unusable(host, needs.system()).is_none()
    });
    let spare = spare.map(|(_, host)| host.domain(key));
    let (room, wanted) = (occurrences(own.clone().chain(spare).flatten()), node_set.wanted());
    let domains = own.flatten().filter(|domain| fullest.contains(domain));
    Some((key, domains.min_by_key(|domain| Reverse(room.get(domain).min(Some(&wanted))))))
}

/// Returns the reason why a host in use must not be taken from its cluster.
///
/// Hosts of Provisionings have no consumer, because no Machine claims them. Their state shows
/// whether something was installed.
pub(super) fn in_use_as(host: &Host, part: &Part) -> Option<&'static str> {
    match &host.live.usage {
        Some(HostUsage::Consumer(_)) => Some("a Machine consumes it"),
        Some(HostUsage::NodeReuse(_)) => Some("a Machine is to use it again"),
        Some(_) => Some("it has an operating system, and may be running"),
        None => (part.node.is_some() && is_provisioned(host))
            .then_some("it is provisioned, and may be running"),
    }
}

/// Returns whether a host may be running an installed operating system, judged by its state.
fn is_provisioned(host: &Host) -> bool {
    host.live
        .provisioning
        .as_ref()
        .is_some_and(|state| state == INSTALLING || INSTALLED_STATES.contains(&state.as_str()))
}
