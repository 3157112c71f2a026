//! Requirements of node sets.

use std::collections::BTreeSet;

use std::sync::Arc;

use kube::core::{Expression, Selector};

use crate::base::api::names::{Namespace, Part};
use crate::base::api::reservation::Tenants;
use crate::base::api::topology_spread::TopologySpread;
use crate::site::inventory::machine::RequiredMachine;
use crate::site::inventory::requirements::HardwareRequirements;
use crate::site::request::{Cluster, NodeSet};

/// Requirements of a node set on each of its hosts, whoever owns the host.
#[derive(Debug, Clone)]
pub(crate) struct Needs<'a> {
    pub(crate) selector: &'a Selector,
    /// The requirements of the selector, each with its text.
    pub(crate) requirements: Vec<(Expression, Arc<str>)>,
    /// Namespace of the hosts, if Cluster API must find them there.
    pub(crate) namespace: Option<&'a Namespace>,
    /// Reservations of hosts that include the cluster.
    pub(crate) reservations: &'a BTreeSet<Arc<Tenants>>,
    /// Interfaces on which the cluster's services use the host's address.
    pub(crate) interfaces: BTreeSet<&'a str>,
    /// Labels that limit the hosts of the node set with equal values.
    pub(crate) topology_keys: Vec<&'a str>,
    /// Maximum number of hosts with the same value of each of those labels.
    pub(crate) max_per_domain: usize,
    /// Topology spread constraints.
    pub(crate) spread: &'a [TopologySpread],
    /// Requirements on the hardware.
    pub(crate) hardware: &'a HardwareRequirements,
    /// The required host of a machine of a Provisioning.
    pub(crate) machine: Option<&'a RequiredMachine>,
}

/// The operating system that a node set requires on a host before it takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum RequiredSystem {
    /// No system: Cluster API installs one.
    NoSystem,
    /// An installed system.
    Installed,
    /// An installed system on a host that a MAC address names. A host of unknown state is accepted.
    OfNamed,
}

impl RequiredSystem {
    pub(crate) fn is_required(self) -> bool {
        self != RequiredSystem::NoSystem
    }

    pub(crate) fn is_of_named(self) -> bool {
        self == RequiredSystem::OfNamed
    }
}

/// Equal for equal requirements.
pub(crate) type NeedsKey<'a> = (
    String,
    Option<&'a Namespace>,
    &'a BTreeSet<Arc<Tenants>>,
    BTreeSet<&'a str>,
    (Vec<&'a str>, usize),
    &'a [TopologySpread],
    (&'a HardwareRequirements, Option<&'a RequiredMachine>),
);

impl<'a> Needs<'a> {
    /// Returns the requirements of a node set.
    pub(crate) fn new(cluster: &'a Cluster, part: &Part, node_set: &'a NodeSet) -> Self {
        Self {
            interfaces: cluster.interfaces(part.role),
            topology_keys: node_set.topology_keys.iter().map(String::as_str).collect(),
            max_per_domain: node_set.max_per_domain,
            spread: &node_set.spread,
            ..Self::without_services(node_set)
        }
    }

    /// Returns the requirements of a node set, except those of services and of its other hosts.
    pub(crate) fn without_services(node_set: &'a NodeSet) -> Self {
        let requirements = node_set.selector.clone().into_iter().map(|requirement| {
            let text = requirement.to_string().into();
            (requirement, text)
        });
        // The selector requires their labels; an empty value is no domain either.
        let spread = node_set.spread.iter().filter(|spread| spread.is_required());
        let with_domain = spread.map(|TopologySpread { key, .. }| {
            (Expression::NotEqual(key.clone(), String::new()), key.as_str().into())
        });
        Self {
            selector: &node_set.selector,
            requirements: requirements.chain(with_domain).collect(),
            namespace: node_set.namespace.as_ref(),
            reservations: &node_set.reservations,
            interfaces: BTreeSet::new(),
            topology_keys: Vec::new(),
            max_per_domain: 1,
            spread: &[],
            hardware: &node_set.hardware,
            machine: node_set.machine.as_ref(),
        }
    }

    pub(crate) fn key(&self) -> NeedsKey<'a> {
        (
            self.selector.to_string(),
            self.namespace,
            self.reservations,
            self.interfaces.clone(),
            (self.topology_keys.clone(), self.max_per_domain),
            self.spread,
            (self.hardware, self.machine),
        )
    }

    /// Returns the labels whose values constraints name.
    pub(crate) fn spread_keys(&self) -> impl Iterator<Item = &'a str> {
        self.spread.iter().map(|spread| spread.key.as_str())
    }

    /// Returns the labels by whose values hosts are limited or must be even, without duplicates.
    pub(crate) fn limiting_keys(&self) -> BTreeSet<&'a str> {
        let required = self.spread.iter().filter(|spread| spread.is_required());
        let spread = required.map(|spread| spread.key.as_str());
        self.topology_keys.iter().copied().chain(spread).collect()
    }

    /// Returns the operating system that the node set requires on a host.
    pub(crate) fn system(&self) -> RequiredSystem {
        match self.machine {
            None => RequiredSystem::NoSystem,
            Some(machine) if machine.named.is_none() => RequiredSystem::Installed,
            Some(_) => RequiredSystem::OfNamed,
        }
    }

    /// Returns whether it depends on the hardware of hosts. That of a named host does not matter.
    pub(crate) fn is_by_hardware(&self) -> bool {
        self.named().is_none() && (self.machine.is_some() || !self.hardware.is_empty())
    }

    /// Returns the index of the host that is requested by its MAC address.
    pub(crate) fn named(&self) -> Option<usize> {
        self.machine?.named.map(|(_, host)| host)
    }
}
