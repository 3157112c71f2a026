//! Reasons of the rules, each with its wording.

use std::fmt;
use std::sync::Arc;

use super::needs::Needs;
use crate::base::api::host::DETACHED_STATE;
use crate::base::api::mac::MacAddress;
use crate::base::api::names::{ClusterKey, Namespace};
use crate::site::inventory::host::SameMachine;
use crate::site::inventory::networks::{NoAddressReason, NoNetworkData};
use crate::site::inventory::requirements::UnmetRequirement;
use crate::site::inventory::undecided::VariableValue;
use crate::site::inventory::usage::HostUsage;

/// The reason why a host is refused. The display completes the sentence "the host …".
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Another host is requested, by this MAC address.
    NotNamed(MacAddress),
    /// Cluster API claims only hosts in this namespace.
    Elsewhere(Namespace),
    /// These tenants may have it.
    ReservedFor(String),
    /// The first requirement of the labelSelector that the host does not meet.
    NotSelected(Arc<str>),
    Insufficient(UnmetRequirement),
    Assigned(ClusterKey),
    /// A frozen cluster names the host by its MAC address.
    NamedBy(ClusterKey),
    Claimed(String),
    GivenBack(String),
    /// Agents' objects of the site apply other kustomizations with hosts.
    NotApplied,
    /// No build renders its manifest, and no snapshot shows it.
    NotRendered,
    AppliedInFull(String),
    InUse(HostUsage),
    Deleting,
    /// The reason of its maintenance mark.
    InMaintenance(String),
    Undecided(Box<VariableValue>),
    InError(String),
    NotFree(String),
    /// A live host without a provisioning state.
    Unregistered,
    /// Another host stands for its machine.
    SameMachine(Box<SameMachine>),
    /// The API server refuses its boot MAC address.
    InvalidBootMac,
    /// No operating system is installed, by the provisioning state; `None` if no state is known.
    NotInstalled(Option<String>),
    Reserved(&'static str),
    Unaddressed(NoAddressReason),
    DomainTaken {
        key: String,
        domain: String,
    },
    /// The node set would have too many hosts there.
    SkewExceeded {
        key: String,
        domain: String,
    },
    /// All hosts of the node set are in this domain.
    OtherDomain {
        key: String,
        domain: String,
    },
}

impl Refusal {
    /// Returns whether the node set does not ask for such a host. A host that lacks hardware matches,
    /// except for a machine of a Provisioning.
    pub(in crate::plan) fn is_unasked(&self, needs: &Needs<'_>) -> bool {
        match self {
            Refusal::Insufficient(_) => needs.machine.is_some(),
            other => matches!(other, Refusal::NotNamed(_) | Refusal::NotSelected(_)),
        }
    }

    /// Returns the rule that refuses, worded for any number of hosts: "5 assigned to a cluster
    /// already".
    pub(in crate::plan) fn rule(&self) -> impl fmt::Display {
        // A separate type, because the display of a refusal is its form for one host.
        struct RefusalRule<'r>(&'r Refusal);
        impl fmt::Display for RefusalRule<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.write(|_, rule| f.write_fmt(rule))
            }
        }
        RefusalRule(self)
    }

    /// Writes a reason, which is given for one host and as a rule for several hosts.
    fn write(
        &self,
        say: impl FnOnce(fmt::Arguments<'_>, fmt::Arguments<'_>) -> fmt::Result,
    ) -> fmt::Result {
        match self {
            Refusal::NotNamed(mac) => say(
                format_args!("has no network card {mac}"),
                format_args!("without the network card {mac}"),
            ),
            Refusal::Elsewhere(namespace) => is(
                say,
                format_args!("not in the namespace {namespace}, where Cluster API looks for hosts"),
            ),
            Refusal::ReservedFor(tenants) => is(say, format_args!("reserved for {tenants}")),
            Refusal::NotSelected(requirement) => say(
                format_args!("does not match `{requirement}` of the selector"),
                format_args!("not matching `{requirement}` of the selector"),
            ),
            Refusal::Insufficient(lack) => {
                say(format_args!("{lack}"), format_args!("{}", lack.rule))
            }
            Refusal::Assigned(cluster) => say(
                format_args!("is assigned to {cluster}"),
                format_args!("assigned to a cluster already"),
            ),
            Refusal::NamedBy(cluster) => say(
                format_args!("is named by its MAC address in {cluster}"),
                format_args!("named by another cluster"),
            ),
            Refusal::Claimed(claim) => say(
                format_args!("has the labels {claim}"),
                format_args!("with other assignment labels"),
            ),
            Refusal::GivenBack(by) => say(
                format_args!("is being released by {by} and not yet seen free"),
                format_args!("being released, and not yet seen free in the snapshot"),
            ),
            Refusal::NotApplied => say(
                format_args!("is in a kustomization that no agent's object of the site applies"),
                format_args!("in a kustomization that no agent's object applies"),
            ),
            Refusal::NotRendered => say(
                format_args!("has a manifest that no build renders, and no snapshot shows it"),
                format_args!("in no build and no snapshot"),
            ),
            Refusal::AppliedInFull(by) => say(
                format_args!(
                    "is applied in full by {by}, so an object with labels would erase its spec"
                ),
                format_args!("applied in full by another object of the agent"),
            ),
            Refusal::InUse(usage) => say(format_args!("{usage}"), format_args!("{}", usage.rule())),
            Refusal::Deleting => is(say, format_args!("being deleted")),
            Refusal::InMaintenance(reason) => is(say, format_args!("in maintenance: {reason}")),
            Refusal::Undecided(left) if left.is_left => say(
                format_args!("{left}"),
                format_args!("with a variable in `{}` that Flux leaves there", left.field),
            ),
            Refusal::Undecided(undecided) => say(
                format_args!("{undecided}"),
                format_args!("that the variable `{}` decides about", undecided.variable),
            ),
            Refusal::InError(error) => {
                say(format_args!("is in an error: {error}"), format_args!("in an error"))
            }
            Refusal::NotFree(state) => say(
                format_args!("is in the state `{state}`, neither `available` nor `ready`"),
                format_args!("in the state `{state}`"),
            ),
            Refusal::Unregistered => say(
                format_args!("is not registered yet: the live object has no provisioning state"),
                format_args!("not registered yet (no provisioning state)"),
            ),
            Refusal::SameMachine(same) => say(
                format_args!("is the machine of host {}: both have {}", same.host, same.identity),
                format_args!("on the machine of another host"),
            ),
            Refusal::InvalidBootMac => say(
                format_args!("has no valid boot MAC address"),
                format_args!("without a valid boot MAC address"),
            ),
            Refusal::NotInstalled(Some(state)) => say(
                format_args!(
                    "has no installed operating system: it is in the state `{state}`, neither `provisioned` nor \
                     `externally provisioned`"
                ),
                format_args!("without an operating system (state `{state}`)"),
            ),
            Refusal::NotInstalled(None) => say(
                format_args!(
                    "is not known to have an operating system: no snapshot shows its state"
                ),
                format_args!("not known to have an operating system (no state)"),
            ),
            Refusal::Reserved(DETACHED_STATE) => {
                say(format_args!("has `{DETACHED_STATE}`"), format_args!("with `{DETACHED_STATE}`"))
            }
            Refusal::Reserved(annotation) => say(
                format_args!("has the annotation {annotation}"),
                format_args!("with the annotation {annotation}"),
            ),
            Refusal::Unaddressed(reason) => {
                say(format_args!("{reason}"), format_args!("{}", unaddressed(reason)))
            }
            Refusal::DomainTaken { key, domain } => say(
                format_args!(
                    "is in {key}={domain}, where the cluster has a host of this role already"
                ),
                format_args!(
                    "in a domain of {key} where the cluster has a host of this role already"
                ),
            ),
            Refusal::SkewExceeded { key, domain } => say(
                format_args!(
                    "is in {key}={domain}, where one more host of its role exceeds the maxSkew"
                ),
                format_args!("in a domain of {key} where one more host exceeds the maxSkew"),
            ),
            Refusal::OtherDomain { key, domain } => say(
                format_args!("is not in {key}={domain}, where the other hosts of its role are"),
                format_args!("not in {key}={domain}, where the other hosts of the role are"),
            ),
        }
    }
}

/// Says a rule whose words are the predicate for one host as well: "the host is …", "5 hosts …".
fn is(
    say: impl FnOnce(fmt::Arguments<'_>, fmt::Arguments<'_>) -> fmt::Result,
    rule: fmt::Arguments<'_>,
) -> fmt::Result {
    say(format_args!("is {rule}"), rule)
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(|reason, _| f.write_fmt(reason))
    }
}

/// Describes why several hosts have no address. The display of `reason` describes one host.
fn unaddressed(reason: &NoAddressReason) -> String {
    match reason {
        NoAddressReason::NoNetwork(interface) => {
            format!("without a network `{interface}` in the network data")
        }
        NoAddressReason::NoAddress(interface) => {
            format!("without an address in the network `{interface}`")
        }
        NoAddressReason::LinkLocal(interface) => {
            format!("with only a link-local address in the network `{interface}`")
        }
        NoAddressReason::NoData(NoNetworkData::Absent) => "without network data".to_owned(),
        NoAddressReason::NoData(NoNetworkData::Missing(_)) => {
            "with network data in a Secret that is not in the repo".to_owned()
        }
        NoAddressReason::NoData(NoNetworkData::Keyless(..)) => {
            "with network data in a Secret that has no key `networkData`".to_owned()
        }
        NoAddressReason::NoData(NoNetworkData::OtherFormat(_, format)) => {
            format!("with network data in the format of {format}")
        }
        NoAddressReason::NoData(NoNetworkData::Encrypted(..)) => {
            "with network data that is encrypted".to_owned()
        }
        NoAddressReason::NoData(NoNetworkData::Unreadable(..)) => {
            "with network data that cannot be read".to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::inventory::machine::MachineProperties;
    use crate::site::inventory::requirements::HardwareRequirements;

    #[test]
    fn a_refusal_reads_as_a_sentence_about_one_host_and_about_many() {
        let refusal =
            Refusal::DomainTaken { key: "example.com/rack".to_owned(), domain: "a3".to_owned() };
        assert_eq!(
            format!("the host {refusal}"),
            "the host is in example.com/rack=a3, where the cluster has a host of this role already"
        );
        assert!(refusal.rule().to_string().starts_with("in a domain of example.com/rack"));
    }

    #[test]
    fn the_rule_of_a_named_variant_differs_from_its_sentence() {
        let machine = MachineProperties { cpu: Some(4), ..MachineProperties::default() };
        let asked = HardwareRequirements { cpu: 8, ..HardwareRequirements::default() };
        let refusal = machine.lacks(&asked).last().map(Refusal::Insufficient).unwrap();
        assert_eq!(refusal.to_string(), "has 4 CPUs, and 8 are asked for");
        assert_eq!(refusal.rule().to_string(), "with fewer than 8 CPUs");
    }
}
