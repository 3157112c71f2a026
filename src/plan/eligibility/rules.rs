//! The list of rules, one function for each.

use std::sync::Arc;

use kube::core::{Expression, SelectorExt};

use super::availability::Availability;
use super::needs::{Needs, RequiredSystem};
use super::refusal::Refusal;
use crate::base::api::label_query::required_label;
use crate::base::layout::VARIABLE;
use crate::plan::demand::NodeSetDemand;
use crate::plan::skew::DomainRule;
use crate::plan::topology;
use crate::site::inventory::registration::has_invalid_boot_mac;
use crate::site::inventory::requirements::UnmetRequirement;
use crate::site::inventory::usage::{EXTERNALLY_PROVISIONED, HostUsage};
use crate::site::inventory::{Evidence, Host};
use crate::site::request::NodeSet;

/// Provisioning states of Metal3 in which a host is free; `ready` is the old name of `available`.
const FREE_STATES: [&str; 2] = ["available", "ready"];

/// Provisioning states of Metal3 in which a host runs its operating system.
pub(in crate::plan) const INSTALLED_STATES: [&str; 2] = ["provisioned", "externally provisioned"];

/// A rule, by its input. It returns the reason to refuse a host.
enum EligibilityRule {
    /// Compares the host, given with its index, with the requirements of a node set.
    Requirement(fn(usize, &Host, &Needs<'_>) -> Option<Refusal>),
    /// Examines only the host, for the operating system that the node set requires on it.
    Condition(fn(&Host, RequiredSystem) -> Option<Refusal>),
    /// Examines other owners, and other hosts of the node set.
    Plan(fn(&Host, &NodeSetDemand<'_>, &Availability) -> Option<Refusal>),
}

/// All rules in order of evaluation. The module documentation gives the reasons.
const RULES: [EligibilityRule; 21] = [
    EligibilityRule::Requirement(named),
    EligibilityRule::Requirement(selected),
    EligibilityRule::Requirement(sufficient),
    EligibilityRule::Requirement(in_namespace),
    EligibilityRule::Requirement(not_reserved_for_others),
    EligibilityRule::Plan(available),
    EligibilityRule::Condition(proven),
    EligibilityRule::Condition(not_applied_in_full),
    EligibilityRule::Condition(unused),
    EligibilityRule::Condition(not_deleting),
    EligibilityRule::Condition(not_in_maintenance),
    EligibilityRule::Condition(decided),
    EligibilityRule::Condition(without_error),
    EligibilityRule::Condition(sole_host_of_machine),
    EligibilityRule::Condition(with_valid_boot_mac),
    EligibilityRule::Condition(in_free_state),
    EligibilityRule::Condition(installed),
    EligibilityRule::Condition(unreserved),
    EligibilityRule::Requirement(addressed),
    EligibilityRule::Plan(in_other_domain),
    EligibilityRule::Plan(in_admitted_domain),
];

/// Returns the reason why a node set cannot have a host, which is given with its index and its
/// availability.
pub(in crate::plan) fn refusal(
    index: usize,
    host: &Host,
    demand: &NodeSetDemand<'_>,
    availability: &Availability,
) -> Option<Refusal> {
    let needs = &demand.needs;
    RULES.iter().find_map(|rule| match rule {
        EligibilityRule::Requirement(rule) => rule(index, host, needs),
        EligibilityRule::Condition(rule) => rule(host, needs.system()),
        EligibilityRule::Plan(rule) => rule(host, demand, availability),
    })
}

/// Returns all reasons why node sets with these requirements cannot have a host, except its owners and
/// topology.
pub(in crate::plan) fn objections<'q>(
    index: usize,
    host: &'q Host,
    needs: &'q Needs<'_>,
) -> impl Iterator<Item = Refusal> + 'q {
    RULES.iter().filter_map(move |rule| match rule {
        EligibilityRule::Requirement(rule) => rule(index, host, needs),
        EligibilityRule::Condition(rule) => rule(host, needs.system()),
        EligibilityRule::Plan(_) => None,
    })
}

/// Returns the requirement that a host does not meet, whoever owns it and whatever its condition.
pub(crate) fn unmet(index: usize, host: &Host, needs: &Needs<'_>) -> Option<Refusal> {
    RULES.iter().find_map(|rule| match rule {
        EligibilityRule::Requirement(rule) => rule(index, host, needs),
        EligibilityRule::Condition(_) | EligibilityRule::Plan(_) => None,
    })
}

/// Returns the reason why no node set that requires this system can use a host.
pub(crate) fn unusable(host: &Host, system: RequiredSystem) -> Option<Refusal> {
    RULES.iter().find_map(|rule| match rule {
        EligibilityRule::Condition(rule) => rule(host, system),
        EligibilityRule::Requirement(_) | EligibilityRule::Plan(_) => None,
    })
}

/// Requires the host that the machine names by MAC address.
fn named(index: usize, _: &Host, needs: &Needs<'_>) -> Option<Refusal> {
    let (mac, named) = needs.node_set.machine.as_ref()?.named?;
    (named != index).then_some(Refusal::NotNamed(mac))
}

/// Requires the namespace of the Machines, because Cluster API claims no hosts elsewhere.
fn in_namespace(_: usize, host: &Host, needs: &Needs<'_>) -> Option<Refusal> {
    let namespace = needs.node_set.namespace.clone();
    namespace.filter(|own| *own != host.key.namespace).map(Refusal::Elsewhere)
}

/// Requires that every reservation of the host includes the cluster. A reservation does not keep a
/// host from being named.
fn not_reserved_for_others(_: usize, host: &Host, needs: &Needs<'_>) -> Option<Refusal> {
    if needs.named().is_some() {
        return None;
    }
    let mut others = host.reservations.iter();
    let other = others.find(|tenants| !needs.node_set.reservations.contains(*tenants))?;
    Some(Refusal::ReservedFor(other.to_string()))
}

/// Requires the labels of the labelSelector. A label with a variable leaves the answer open, unless
/// another one decides.
fn selected(_: usize, host: &Host, needs: &Needs<'_>) -> Option<Refusal> {
    let mut unmatched =
        needs.requirements.iter().filter(|(requirement, _)| !requirement.matches(&host.labels));
    let (_, first) = unmatched.clone().next().filter(|_| needs.named().is_none())?;
    let is_decided = |(requirement, _): &&(Expression, Arc<str>)| !is_variable(host, requirement);
    match unmatched.find(is_decided) {
        Some((_, text)) => Some(Refusal::NotSelected(text.clone())),
        None => decided(host, needs.system()).or(Some(Refusal::NotSelected(first.clone()))),
    }
}

/// Returns whether only Flux knows if labels of a host match.
fn is_variable(host: &Host, requirement: &Expression) -> bool {
    let key = required_label(requirement);
    let is_of_flux = host.undecided.as_ref().is_some_and(|variable| !variable.is_left);
    let has_variable = |(label, value): (&String, &String)| {
        label.contains(VARIABLE) || label == key && value.contains(VARIABLE)
    };
    is_of_flux && host.labels.iter().any(has_variable)
}

/// Requires the hardware of the node set.
fn sufficient(_: usize, host: &Host, needs: &Needs<'_>) -> Option<Refusal> {
    insufficient(host, needs.node_set).map(Refusal::Insufficient)
}

/// Returns what a host lacks. A host that is named by its MAC address lacks nothing, and the machine of
/// a Provisioning must have an address.
pub(in crate::plan) fn insufficient(host: &Host, node_set: &NodeSet) -> Option<UnmetRequirement> {
    if node_set.is_named() {
        return None;
    }
    let without_address = || {
        let is_missing = node_set.machine.is_some() && host.machine.address(None).is_none();
        let reason = "has no address by which the installer could reach it";
        is_missing.then(|| UnmetRequirement::new(reason, "without an address"))
    };
    host.machine.lacks(&node_set.hardware).next().or_else(without_address)
}

/// Requires that no other cluster has, gets or claims the host.
fn available(_: &Host, demand: &NodeSetDemand<'_>, availability: &Availability) -> Option<Refusal> {
    availability.refuses(&demand.cluster.key).cloned()
}

/// Requires evidence that labels of the host arrive.
fn proven(host: &Host, _: RequiredSystem) -> Option<Refusal> {
    match host.evidence {
        Evidence::Live | Evidence::Applied { .. } => None,
        Evidence::Reached { .. } => Some(Refusal::NotApplied),
        Evidence::Loose => Some(Refusal::NotRendered),
    }
}

/// Requires that no agent applies the host in full. Such an agent would apply sipgen's partial
/// object under the same name, and erase the spec.
fn not_applied_in_full(host: &Host, _: RequiredSystem) -> Option<Refusal> {
    host.applied_in_full_by.clone().map(Refusal::AppliedInFull)
}

/// Requires an unused host. The operating system of a host is no use of it if the node set requires
/// one. A host with a consumer belongs to Cluster API.
fn unused(host: &Host, system: RequiredSystem) -> Option<Refusal> {
    let usage = host.live.usage.as_ref()?;
    let is_system = match usage {
        HostUsage::System(_) => true,
        HostUsage::Consumer(_) | HostUsage::NodeReuse(_) => false,
    };
    (!(is_system && system.is_required())).then(|| Refusal::InUse(usage.clone()))
}

fn not_deleting(host: &Host, _: RequiredSystem) -> Option<Refusal> {
    host.live.deleting.then_some(Refusal::Deleting)
}

/// Requires that the host has no maintenance mark. A machine that names the host cannot take it
/// either, because the mark is newer than the host.
fn not_in_maintenance(host: &Host, _: RequiredSystem) -> Option<Refusal> {
    let mark = host.maintenance.as_ref()?;
    Some(Refusal::InMaintenance(mark.to_string()))
}

/// Requires that no variable affects the host's eligibility, because only Flux knows its value.
fn decided(host: &Host, system: RequiredSystem) -> Option<Refusal> {
    let undecided = host.undecided.as_ref().filter(|_| !system.is_of_named())?;
    Some(Refusal::Undecided(undecided.clone()))
}

fn without_error(host: &Host, _: RequiredSystem) -> Option<Refusal> {
    host.live.error.clone().map(Refusal::InError)
}

/// Requires that no other host stands for the machine. Ironic registers one host for a MAC address.
fn sole_host_of_machine(host: &Host, system: RequiredSystem) -> Option<Refusal> {
    let same = host.same_machine.as_ref()?;
    (same.is_certain && !system.is_of_named()).then(|| Refusal::SameMachine(same.clone()))
}

/// Requires that the API server accepts the boot MAC address, because it refuses the host otherwise.
fn with_valid_boot_mac(host: &Host, _: RequiredSystem) -> Option<Refusal> {
    (has_invalid_boot_mac(host) && !host.live.is_object).then_some(Refusal::InvalidBootMac)
}

/// Requires a free provisioning state, as Cluster API does. A manifest has no state; a live host
/// without one is not registered yet.
fn in_free_state(host: &Host, system: RequiredSystem) -> Option<Refusal> {
    match &host.live.provisioning {
        _ if system.is_required() || is_ready(host) => None,
        Some(state) => Some(Refusal::NotFree(state.clone())),
        None => host.live.is_object.then_some(Refusal::Unregistered),
    }
}

/// Returns whether a snapshot shows the host in a free provisioning state.
pub(in crate::plan) fn is_ready(host: &Host) -> bool {
    let state = host.live.provisioning.as_deref();
    state.is_some_and(|state| FREE_STATES.contains(&state))
}

/// Requires an installed operating system. The installer of a Provisioning logs in to the host; BPA's
/// design documents have the baremetal operator install the system first.
fn installed(host: &Host, system: RequiredSystem) -> Option<Refusal> {
    let is_installed = match &host.live.provisioning {
        _ if !system.is_required() => true,
        Some(state) => INSTALLED_STATES.contains(&state.as_str()),
        // The MAC address of a host that is declared in git without status is the user's word.
        None => {
            system.is_of_named()
                || host.live.usage == Some(HostUsage::System(EXTERNALLY_PROVISIONED))
        }
    };
    (!is_installed).then(|| Refusal::NotInstalled(host.live.provisioning.clone()))
}

/// Requires that no annotation reserves the host. An annotation does not keep a host from being
/// named.
fn unreserved(host: &Host, system: RequiredSystem) -> Option<Refusal> {
    host.reserved_by.filter(|_| !system.is_of_named()).map(Refusal::Reserved)
}

/// Requires an address on every interface that services of the cluster use.
fn addressed(_: usize, host: &Host, needs: &Needs<'_>) -> Option<Refusal> {
    if needs.named().is_some() {
        return None;
    }
    let mut errors = needs.interfaces.iter().filter_map(|interface| host.address(interface).err());
    errors.next().map(Refusal::Unaddressed)
}

/// Requires a topology domain that the constraints admit beside the retained hosts.
fn in_admitted_domain(
    host: &Host,
    demand: &NodeSetDemand<'_>,
    _: &Availability,
) -> Option<Refusal> {
    let limit =
        demand.spreads.iter().find(|limit| !limit.admits_one_more(host.domain(limit.key)))?;
    let key = limit.key.to_owned();
    Some(match limit.rule {
        DomainRule::Same => {
            let domains = limit.domains.keys().copied().collect::<Vec<_>>();
            Refusal::OtherDomain { key, domain: domains.join(", ") }
        }
        DomainRule::Skew(_) => {
            let domain = host.domain(limit.key).unwrap_or_default().to_owned();
            Refusal::SkewExceeded { key, domain }
        }
    })
}

/// Requires a topology domain without another host of the node set.
fn in_other_domain(host: &Host, demand: &NodeSetDemand<'_>, _: &Availability) -> Option<Refusal> {
    let (key, domain) = topology::domains(host, &demand.node_set.topology_keys)
        .into_iter()
        .find(|domain| demand.domains.contains(domain))?;
    Some(Refusal::DomainTaken { key: key.to_owned(), domain: domain.to_owned() })
}
