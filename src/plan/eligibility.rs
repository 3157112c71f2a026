//! Why a host may not be taken for a node set: one rule after the other, the first that refuses counts.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use kube::core::{Selector, SelectorExt};

use super::claims::foreign_claims;
use crate::api::assignment::{Claim, OlderClaim};
use crate::api::mac::MacAddress;
use crate::api::names::{ClusterKey, HostKey};
use crate::inventory::Host;
use crate::inventory::machine::AskedMachine;
use crate::inventory::machine::Insufficient;
use crate::inventory::networks::Unaddressed;
use crate::inventory::undecided::Undecided;
use crate::inventory::usage::Usage;
use crate::output::state::Release;
use crate::request::Request;
use crate::site::Site;

/// The provisioning states in which a host can be taken; `ready` is the old name of `available`.
const FREE_STATES: [&str; 2] = ["available", "ready"];

/// What a node set needs of a host, whoever else has it.
#[derive(Debug, Clone)]
pub(crate) struct Needs<'a> {
    pub(crate) selector: &'a Selector,
    /// The interfaces on which the cluster's services use its address.
    pub(crate) interfaces: BTreeSet<&'a str>,
    /// No two hosts of the node set share a value of any of these labels.
    pub(crate) topology_keys: Vec<&'a str>,
    /// What the one machine has that is wanted, where a Provisioning asks for it.
    pub(crate) machine: Option<&'a AskedMachine>,
}

impl<'a> Needs<'a> {
    /// The same for needs that are the same.
    pub(super) fn key(
        &self,
    ) -> (
        String,
        BTreeSet<&'a str>,
        Vec<&'a str>,
        Option<&'a AskedMachine>,
    ) {
        (
            self.selector.to_string(),
            self.interfaces.clone(),
            self.topology_keys.clone(),
            self.machine,
        )
    }

    /// The host that is asked for by its MAC address: its index.
    pub(crate) fn named(&self) -> Option<usize> {
        self.machine?.named.map(|(_, host)| host)
    }
}

/// Why a host is refused. The display completes the sentence "the host …".
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// With the first requirement of the labelSelector that it does not meet.
    NotSelected(String),
    Assigned(ClusterKey),
    /// A cluster that is left as it is names it by its MAC address.
    NamedBy(ClusterKey),
    Claimed(String),
    GivenBack(String),
    InUse(Usage),
    Deleting,
    AppliedInFull(String),
    InError(String),
    NotFree(String),
    Reserved(&'static str),
    Unaddressed(Unaddressed),
    DomainTaken {
        key: String,
        domain: String,
    },
    /// Another host is named, by this MAC address.
    NotNamed(MacAddress),
    Insufficient(Insufficient),
    Undecided(Undecided),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NotSelected(requirement) => {
                write!(f, "does not match `{requirement}` of the labelSelector")
            }
            Refusal::Assigned(cluster) => write!(f, "is assigned to {cluster}"),
            Refusal::NamedBy(cluster) => write!(f, "is named by its MAC address in {cluster}"),
            Refusal::Claimed(claim) => write!(f, "has the labels {claim}"),
            Refusal::GivenBack(by) => {
                write!(f, "is being given back by {by} and not yet seen free")
            }
            Refusal::InUse(usage) => usage.fmt(f),
            Refusal::Deleting => write!(f, "is being deleted"),
            Refusal::AppliedInFull(by) => {
                write!(
                    f,
                    "is applied in full by {by}, so labels of our own would erase its spec"
                )
            }
            Refusal::InError(error) => write!(f, "is in an error: {error}"),
            Refusal::NotFree(state) => write!(
                f,
                "is in the state `{state}`, neither `available` nor `ready`"
            ),
            Refusal::Reserved(annotation) => write!(f, "bears the annotation {annotation}"),
            Refusal::Unaddressed(reason) => reason.fmt(f),
            Refusal::NotNamed(mac) => write!(f, "has no network card {mac}"),
            Refusal::Insufficient(reason) => reason.fmt(f),
            Refusal::Undecided(undecided) => undecided.fmt(f),
            Refusal::DomainTaken { key, domain } => {
                write!(
                    f,
                    "is in {key}={domain}, where the cluster has a host of this role already"
                )
            }
        }
    }
}

impl Refusal {
    /// The rule that refuses, for any number of hosts: "5 assigned to a cluster already".
    pub(super) fn rule(&self) -> String {
        match self {
            Refusal::NotSelected(requirement) => {
                format!("not matching `{requirement}` of the labelSelector")
            }
            Refusal::Assigned(_) => "assigned to a cluster already".to_owned(),
            Refusal::NamedBy(_) => "named by another cluster".to_owned(),
            Refusal::Claimed(_) => "with assignment labels of another cluster".to_owned(),
            Refusal::GivenBack(_) => {
                "being given back, and not yet seen free in the snapshot".to_owned()
            }
            Refusal::InUse(usage) => usage.rule().to_owned(),
            Refusal::Deleting => "being deleted".to_owned(),
            Refusal::AppliedInFull(_) => {
                "applied in full by another object of the agent".to_owned()
            }
            Refusal::InError(_) => "in an error".to_owned(),
            Refusal::NotFree(state) => format!("in the state `{state}`"),
            Refusal::Reserved(annotation) => format!("with the annotation {annotation}"),
            Refusal::Unaddressed(Unaddressed::NoNetwork(interface)) => {
                format!("without a network `{interface}` in the network data")
            }
            Refusal::Unaddressed(Unaddressed::NoAddress(interface)) => {
                format!("without an address in the network `{interface}`")
            }
            Refusal::Unaddressed(Unaddressed::NoNetworkData) => "without network data".to_owned(),
            Refusal::Unaddressed(Unaddressed::NoSecret(_)) => {
                "with network data in a Secret that is not in the repo".to_owned()
            }
            Refusal::Unaddressed(Unaddressed::NoKey(_)) => {
                "with network data in a Secret that has no key `networkData`".to_owned()
            }
            Refusal::Unaddressed(Unaddressed::Encrypted(_)) => {
                "with network data that is encrypted".to_owned()
            }
            Refusal::Unaddressed(Unaddressed::Unreadable(..)) => {
                "with network data that cannot be read".to_owned()
            }
            Refusal::Unaddressed(Unaddressed::Refused(_)) => {
                "with network data that cannot be decrypted".to_owned()
            }
            Refusal::NotNamed(mac) => format!("without the network card {mac}"),
            Refusal::Insufficient(Insufficient::Unknown) => "without hardware details".to_owned(),
            Refusal::Insufficient(Insufficient::Cpu(_, asked)) => {
                format!("with fewer than {asked} CPUs")
            }
            Refusal::Insufficient(Insufficient::Memory(_, asked)) => {
                format!("with less than {asked} MiB of memory")
            }
            Refusal::Insufficient(Insufficient::Sriov) => "without SR-IOV".to_owned(),
            Refusal::Insufficient(Insufficient::Qat) => "without QuickAssist".to_owned(),
            Refusal::Insufficient(Insufficient::Address) => "without an address".to_owned(),
            Refusal::Undecided(undecided) => {
                format!("that the variable `{}` decides about", undecided.variable)
            }
            Refusal::DomainTaken { key, .. } => {
                format!("in a domain of {key} where the cluster has a host of this role already")
            }
        }
    }
}

/// Why a host is of no use to anybody. Beside the first rule, these are the eyes of Cluster API's Metal3 provider: what
/// it would not take, nobody gets.
pub(crate) fn unusable(host: &Host) -> Option<Refusal> {
    applied_in_full(host)
        .or_else(|| in_use(host))
        .or_else(|| deleting(host))
        .or_else(|| undecided(host))
        .or_else(|| in_error(host))
        .or_else(|| not_free(host))
        .or_else(|| reserved(host))
}

/// Why a host cannot be had although it is asked for by its MAC address. Whoever names a host knows it: it may be
/// provisioned already, as the hosts of the Binary Provisioning Agent were, and no annotation keeps it from being named.
pub(crate) fn unusable_when_named(host: &Host) -> Option<Refusal> {
    let taken = || {
        in_use(host)
            .filter(|refusal| !matches!(refusal, Refusal::InUse(usage) if is_installed(usage)))
    };
    applied_in_full(host)
        .or_else(taken)
        .or_else(|| deleting(host))
        .or_else(|| in_error(host))
}

/// Returns whether a usage means that the host has an operating system, and nobody who consumes it.
fn is_installed(usage: &Usage) -> bool {
    matches!(
        usage,
        Usage::ExternallyProvisioned | Usage::Image | Usage::CustomDeploy
    )
}

/// What a host has too little of to be a machine that a Provisioning describes. A host that is named by its MAC address
/// has enough, whatever it has: that counts.
pub(crate) fn insufficient(host: &Host, asked: &AskedMachine) -> Option<Insufficient> {
    if asked.named.is_some() {
        return None;
    }
    let no_address = || {
        host.machine
            .address(None)
            .is_none()
            .then_some(Insufficient::Address)
    };
    host.machine.lacks(asked).next().or_else(no_address)
}

pub(super) fn not_selected(host: &Host, selector: &Selector) -> Option<Refusal> {
    if selector.matches(&host.labels) {
        return None;
    }
    // Nobody knows whether it matches.
    if let Some(refusal) = undecided(host) {
        return Some(refusal);
    }
    let requirement = selector
        .clone()
        .into_iter()
        .find(|requirement| !requirement.matches(&host.labels));
    Some(Refusal::NotSelected(
        requirement
            .map(|requirement| requirement.to_string())
            .unwrap_or_default(),
    ))
}

/// The agent that would apply our object with labels alone takes the spec for something that it should no longer have.
fn applied_in_full(host: &Host) -> Option<Refusal> {
    host.applied_in_full_by.clone().map(Refusal::AppliedInFull)
}

fn in_use(host: &Host) -> Option<Refusal> {
    host.usage.clone().map(Refusal::InUse)
}

fn deleting(host: &Host) -> Option<Refusal> {
    host.deleting.then_some(Refusal::Deleting)
}

fn undecided(host: &Host) -> Option<Refusal> {
    host.undecided.clone().map(Refusal::Undecided)
}

fn in_error(host: &Host) -> Option<Refusal> {
    host.error.clone().map(Refusal::InError)
}

/// A host without a state is not yet registered, which is legitimate.
fn not_free(host: &Host) -> Option<Refusal> {
    host.state
        .clone()
        .filter(|state| !FREE_STATES.contains(&state.as_str()))
        .map(Refusal::NotFree)
}

fn reserved(host: &Host) -> Option<Refusal> {
    host.reserved_by.map(Refusal::Reserved)
}

pub(super) fn unaddressed(host: &Host, interfaces: &BTreeSet<&str>) -> Option<Refusal> {
    interfaces
        .iter()
        .find_map(|interface| host.address(interface).err())
        .map(Refusal::Unaddressed)
}

/// Who may take a host at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Availability {
    /// Every cluster.
    Free,
    /// One cluster, and why not the others: it had the host before, or labels say that it has it.
    Only(ClusterKey, Refusal),
    /// Nobody.
    Refused(Refusal),
}

impl Availability {
    /// The availability of every host, by its index; `assigned` says whose hosts are.
    pub(super) fn of_all(
        site: &Site,
        assigned: &BTreeMap<usize, &ClusterKey>,
        released: &BTreeMap<HostKey, Release>,
        left_out: &BTreeSet<ClusterKey>,
    ) -> Vec<Availability> {
        let hosts = site.inventory.hosts.iter().enumerate();
        let mut all: Vec<Availability> = hosts
            .map(|(at, host)| {
                Self::of(
                    site,
                    host,
                    assigned.get(&at).copied(),
                    released.get(&host.key),
                )
            })
            .collect();
        // A cluster that is left out or cannot be read must find the hosts that it names when its turn comes.
        let has_no_turn = |(key, request): &(&ClusterKey, &Request)| {
            left_out.contains(key) || request.cluster.is_none()
        };
        for (key, request) in site.clusters.iter().filter(has_no_turn) {
            for host in &request.named {
                if let Some(free @ Availability::Free) = all.get_mut(*host) {
                    *free = Availability::Only(key.clone(), Refusal::NamedBy(key.clone()));
                }
            }
        }
        all
    }

    /// The availability of a host that may be assigned, or released.
    pub(super) fn of(
        site: &Site,
        host: &Host,
        assigned: Option<&ClusterKey>,
        release: Option<&Release>,
    ) -> Availability {
        match assigned {
            Some(cluster) => Availability::Refused(Refusal::Assigned(cluster.clone())),
            None => Self::of_unassigned(release, foreign_claims(site, host)),
        }
    }

    fn of_unassigned<'a>(
        release: Option<&Release>,
        claims: impl Iterator<Item = &'a Claim>,
    ) -> Availability {
        let mut only: Option<(ClusterKey, Refusal)> = None;
        if let Some(release) = release {
            let refusal = |by: &dyn fmt::Display| Refusal::GivenBack(by.to_string());
            match &release.by {
                Some(by) => only = Some((by.clone(), refusal(by))),
                None => return Availability::Refused(refusal(&"a cluster")),
            }
        }
        for claim in claims {
            match (claim, &only) {
                (Claim::Older(OlderClaim { labels, .. }) | Claim::Unclear(labels), _) => {
                    return Availability::Refused(Refusal::Claimed(labels.clone()));
                }
                (Claim::Cluster(cluster, _), Some((other, _))) if cluster == other => {}
                (Claim::Cluster(cluster, part), None) => {
                    only = Some((
                        cluster.clone(),
                        Refusal::Claimed(format!("of {cluster}, {part}")),
                    ));
                }
                (Claim::Cluster(cluster, part), Some(_)) => {
                    return Availability::Refused(Refusal::Claimed(format!(
                        "of {cluster}, {part}"
                    )));
                }
            }
        }
        only.map_or(Availability::Free, |(cluster, refusal)| {
            Availability::Only(cluster, refusal)
        })
    }

    /// Why a cluster may not take the host; `None` when it may.
    pub(super) fn refuses(&self, cluster: &ClusterKey) -> Option<&Refusal> {
        match self {
            Availability::Free => None,
            Availability::Only(other, refusal) => (other != cluster).then_some(refusal),
            Availability::Refused(refusal) => Some(refusal),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_reads_as_a_sentence_about_one_host_and_about_many() {
        let refusal = Refusal::DomainTaken {
            key: "example.com/rack".to_owned(),
            domain: "a3".to_owned(),
        };
        assert_eq!(
            format!("the host {refusal}"),
            "the host is in example.com/rack=a3, where the cluster has a host of this role already"
        );
        assert!(
            refusal
                .rule()
                .starts_with("in a domain of example.com/rack")
        );
    }
}
