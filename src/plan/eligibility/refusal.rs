//! Reasons of the rules, each with its wording.

use std::sync::Arc;

use kube::core::SelectorExt;

use super::needs::Needs;
use crate::base::api::assignment::Claim;
use crate::base::api::host::DETACHED_STATE;
use crate::base::api::mac::MacAddress;
use crate::base::api::names::{ClusterKey, Namespace};
use crate::base::api::network_data::NoAddress;
use crate::site::inventory::host::{Host, SameMachine};
use crate::site::inventory::networks::{NoAddressReason, NoNetworkData};
use crate::site::inventory::requirements::UnmetRequirement;
use crate::site::inventory::undecided::VariableValue;
use crate::site::inventory::usage::HostUsage;
use crate::site::previous::PendingRelease;

/// The reason why a host is refused. The display completes the sentence "the host …".
#[derive(Debug, Clone, PartialEq, Eq, derive_more::Display)]
pub(crate) enum Refusal {
    /// Another host is requested, by this MAC address.
    #[display("has no network card {_0}")]
    NotNamed(MacAddress),
    /// Cluster API claims only hosts in this namespace.
    #[display("is not in the namespace {_0}, where Cluster API looks for hosts")]
    Elsewhere(Namespace),
    /// These tenants may have it.
    #[display("is reserved for {_0}")]
    ReservedFor(String),
    /// The first requirement of the labelSelector that the host does not meet.
    #[display("does not match `{_0}` of the selector")]
    NotSelected(Arc<str>),
    /// It lacks hardware, or an address for the installer.
    Insufficient(UnmetRequirement),
    #[display("is assigned to {_0}")]
    Assigned(ClusterKey),
    /// A frozen cluster names the host by its MAC address.
    #[display("is named by its MAC address in {_0}")]
    NamedBy(ClusterKey),
    #[display("has the labels {_0}")]
    Claimed(String),
    #[display("is being released by {_0} and not yet seen free")]
    GivenBack(String),
    /// Agents' objects of the site apply other kustomizations with hosts.
    #[display("is in a kustomization that no agent's object of the site applies")]
    NotApplied,
    /// No build renders its manifest, and no snapshot shows it.
    #[display("has a manifest that no build renders, and no snapshot shows it")]
    NotRendered,
    #[display("is applied in full by {_0}, so an object with labels would erase its spec")]
    AppliedInFull(String),
    /// Something uses it, or may do so.
    InUse(HostUsage),
    #[display("is being deleted")]
    Deleting,
    /// The reason of its maintenance mark.
    #[display("is in maintenance: {_0}")]
    InMaintenance(String),
    /// Only Flux knows the value of a variable in it.
    Undecided(Box<VariableValue>),
    #[display("is in an error: {_0}")]
    InError(String),
    #[display("is in the state `{_0}`, neither `available` nor `ready`")]
    NotFree(String),
    /// A live host without a provisioning state.
    #[display("is not registered yet: the live object has no provisioning state")]
    Unregistered,
    /// Another host stands for its machine.
    #[display("is the machine of host {}: both have {}", _0.host, _0.identity)]
    SameMachine(Box<SameMachine>),
    /// The API server refuses its boot MAC address.
    #[display("has no valid boot MAC address")]
    InvalidBootMac,
    /// No operating system is installed, by the provisioning state; `None` if no state is known.
    #[display("{}", not_installed(_0.as_deref()))]
    NotInstalled(Option<String>),
    #[display("has {}", reserving_mark(_0))]
    Reserved(&'static str),
    /// It has no address on an interface that services use.
    Unaddressed(NoAddressReason),
    #[display("is in {key}={domain}, where the cluster has a host of this role already")]
    DomainTaken { key: String, domain: String },
    /// The node set would have too many hosts there.
    #[display("is in {key}={domain}, where one more host of its role exceeds the maxSkew")]
    SkewExceeded { key: String, domain: String },
    /// All hosts of the node set are in this domain.
    #[display("is not in {key}={domain}, where the other hosts of its role are")]
    OtherDomain { key: String, domain: String },
}

impl Refusal {
    /// Returns the refusal of a host with these labels.
    pub(in crate::plan) fn claimed(claim: &Claim) -> Self {
        Refusal::Claimed(match claim {
            Claim::Cluster(cluster, part) => format!("of {cluster}, {part}"),
            other => other.unclear().unwrap_or_default().to_owned(),
        })
    }

    /// Returns the refusal of a host that is being released.
    pub(in crate::plan) fn released(release: &PendingRelease) -> Self {
        let by = release.by.as_ref().map(ClusterKey::to_string);
        Refusal::GivenBack(by.unwrap_or("a cluster".to_owned()))
    }

    /// Returns whether the node set does not ask for such a host. A host that lacks hardware matches,
    /// except for a machine of a Provisioning. A host whose labels have a variable does not match yet.
    pub(in crate::plan) fn is_unasked(&self, host: &Host, needs: &Needs<'_>) -> bool {
        match self {
            Refusal::Insufficient(_) => needs.node_set.machine.is_some(),
            Refusal::Undecided(_) => !needs.node_set.selector.matches(&host.labels),
            other => matches!(other, Refusal::NotNamed(_) | Refusal::NotSelected(_)),
        }
    }

    /// Returns the rule that refuses, worded for any number of hosts: "5 assigned to a cluster
    /// already".
    pub(in crate::plan) fn rule(&self) -> String {
        match self {
            Refusal::NotNamed(mac) => format!("without the network card {mac}"),
            // The predicate for one host.
            Refusal::Elsewhere(_)
            | Refusal::ReservedFor(_)
            | Refusal::Deleting
            | Refusal::InMaintenance(_) => self.to_string().replacen("is ", "", 1),
            Refusal::NotSelected(requirement) => {
                format!("not matching `{requirement}` of the selector")
            }
            Refusal::Insufficient(lack) => lack.rule.clone(),
            Refusal::Assigned(_) => "assigned to a cluster already".into(),
            Refusal::NamedBy(_) => "named by another cluster".into(),
            Refusal::Claimed(_) => "with other assignment labels".into(),
            Refusal::GivenBack(_) => "being released, and not yet seen free in the snapshot".into(),
            Refusal::NotApplied => "in a kustomization that no agent's object applies".into(),
            Refusal::NotRendered => "in no build and no snapshot".into(),
            Refusal::AppliedInFull(_) => "applied in full by another object of the agent".into(),
            Refusal::InUse(usage) => usage.rule().to_string(),
            Refusal::Undecided(left) if left.is_left => {
                format!("with a variable in `{}` that Flux leaves there", left.field)
            }
            Refusal::Undecided(undecided) => {
                format!("that the variable `{}` decides about", undecided.variable)
            }
            Refusal::InError(_) => "in an error".into(),
            Refusal::NotFree(state) => format!("in the state `{state}`"),
            Refusal::Unregistered => "not registered yet (no provisioning state)".into(),
            Refusal::SameMachine(_) => "on the machine of another host".into(),
            Refusal::InvalidBootMac => "without a valid boot MAC address".into(),
            Refusal::NotInstalled(Some(state)) => {
                format!("without an operating system (state `{state}`)")
            }
            Refusal::NotInstalled(None) => {
                "not known to have an operating system (no state)".into()
            }
            Refusal::Reserved(mark) => format!("with {}", reserving_mark(mark)),
            Refusal::Unaddressed(reason) => unaddressed(reason),
            Refusal::DomainTaken { key, .. } => {
                format!("in a domain of {key} where the cluster has a host of this role already")
            }
            Refusal::SkewExceeded { key, .. } => {
                format!("in a domain of {key} where one more host exceeds the maxSkew")
            }
            Refusal::OtherDomain { key, domain } => {
                format!("not in {key}={domain}, where the other hosts of the role are")
            }
        }
    }
}

fn not_installed(state: Option<&str>) -> String {
    match state {
        Some(state) => format!(
            "has no installed operating system: it is in the state `{state}`, neither `provisioned` nor \
             `externally provisioned`"
        ),
        None => "is not known to have an operating system: no snapshot shows its state".into(),
    }
}

fn reserving_mark(mark: &str) -> String {
    match mark {
        DETACHED_STATE => format!("`{mark}`"),
        annotation => format!("the annotation {annotation}"),
    }
}

/// Describes why several hosts have no address. The display of `reason` describes one host.
fn unaddressed(reason: &NoAddressReason) -> String {
    match reason {
        NoAddressReason::NoAddress(NoAddress::NoSuchNetwork(interface)) => {
            format!("without a network `{interface}` in the network data")
        }
        NoAddressReason::NoAddress(NoAddress::NoStaticAddress(interface)) => {
            format!("without an address in the network `{interface}`")
        }
        NoAddressReason::NoAddress(NoAddress::LinkLocal(interface)) => {
            format!("with only a link-local address in the network `{interface}`")
        }
        NoAddressReason::NoData(NoNetworkData::Absent) => "without network data".into(),
        NoAddressReason::NoData(NoNetworkData::Missing(_)) => {
            "with network data in a Secret that is not in the repo".into()
        }
        NoAddressReason::NoData(NoNetworkData::Keyless(..)) => {
            "with network data in a Secret that has no key `networkData`".into()
        }
        NoAddressReason::NoData(NoNetworkData::OtherFormat(_, format)) => {
            format!("with network data in the format of {format}")
        }
        NoAddressReason::NoData(NoNetworkData::Encrypted(..)) => {
            "with network data that is encrypted".into()
        }
        NoAddressReason::NoData(NoNetworkData::Unreadable(..)) => {
            "with network data that cannot be read".into()
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
        assert!(refusal.rule().starts_with("in a domain of example.com/rack"));
    }

    #[test]
    fn the_rule_of_a_named_variant_differs_from_its_sentence() {
        let machine = MachineProperties { cpu: Some(4), ..MachineProperties::default() };
        let asked = HardwareRequirements { cpu: 8, ..HardwareRequirements::default() };
        let refusal = machine.lacks(&asked).last().map(Refusal::Insufficient).unwrap();
        assert_eq!(refusal.to_string(), "has 4 CPUs, and 8 are asked for");
        assert_eq!(refusal.rule(), "with fewer than 8 CPUs");
    }
}
