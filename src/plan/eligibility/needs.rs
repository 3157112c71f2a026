//! Requirements of node sets.

use std::collections::BTreeSet;

use std::sync::Arc;

use kube::core::Expression;

use crate::base::api::names::{Namespace, Part};
use crate::base::api::reservation::Tenants;
use crate::base::api::topology_spread::TopologySpread;
use crate::site::inventory::machine::RequiredMachine;
use crate::site::inventory::requirements::HardwareRequirements;
use crate::site::request::{Cluster, NodeSet};

/// Requirements of a node set on each of its hosts, whoever owns the host.
#[derive(Debug, Clone)]
pub(crate) struct Needs<'a> {
    pub(crate) node_set: &'a NodeSet,
    /// The requirements of the selector and of constraints on domains, each with its text.
    pub(crate) requirements: Vec<(Expression, Arc<str>)>,
    /// Interfaces on which the cluster's services use the host's address.
    pub(crate) interfaces: BTreeSet<&'a str>,
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

/// Equal for equal requirements on each host.
pub(crate) type NeedsKey<'a> = (
    String,
    Option<&'a Namespace>,
    &'a BTreeSet<Arc<Tenants>>,
    BTreeSet<&'a str>,
    &'a HardwareRequirements,
    Option<&'a RequiredMachine>,
);

/// Equal for equal requirements on each host, and on all together.
pub(crate) type PoolKey<'a> = (NeedsKey<'a>, &'a [String], usize, &'a [TopologySpread]);

impl<'a> Needs<'a> {
    /// Returns the requirements of a node set.
    pub(crate) fn new(cluster: &'a Cluster, part: &Part, node_set: &'a NodeSet) -> Self {
        Self { interfaces: cluster.interfaces(part.role), ..Self::without_services(node_set) }
    }

    /// Returns the requirements of a node set, except those of services.
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
        let requirements = requirements.chain(with_domain).collect();
        Self { node_set, requirements, interfaces: BTreeSet::new() }
    }

    pub(crate) fn key(&self) -> NeedsKey<'a> {
        let NodeSet { selector, namespace, reservations, hardware, machine, .. } = self.node_set;
        let interfaces = self.interfaces.clone();
        let (namespace, machine) = (namespace.as_ref(), machine.as_ref());
        (selector.to_string(), namespace, reservations, interfaces, hardware, machine)
    }

    pub(crate) fn pool_key(&self) -> PoolKey<'a> {
        let NodeSet { topology_keys, max_per_domain, spread, .. } = self.node_set;
        (self.key(), topology_keys, *max_per_domain, spread)
    }

    /// Returns the labels whose values constraints name.
    pub(crate) fn spread_keys(&self) -> impl Iterator<Item = &'a str> {
        self.node_set.spread.iter().map(|spread| spread.key.as_str())
    }

    /// Returns the labels by whose values hosts are limited or must be even, without duplicates.
    pub(crate) fn limiting_keys(&self) -> BTreeSet<&'a str> {
        let required = self.node_set.spread.iter().filter(|spread| spread.is_required());
        let spread = required.map(|spread| spread.key.as_str());
        self.node_set.topology_keys.iter().map(String::as_str).chain(spread).collect()
    }

    /// Returns the operating system that the node set requires on a host.
    pub(crate) fn system(&self) -> RequiredSystem {
        match &self.node_set.machine {
            None => RequiredSystem::NoSystem,
            Some(machine) if machine.named.is_none() => RequiredSystem::Installed,
            Some(_) => RequiredSystem::OfNamed,
        }
    }

    /// Returns whether it depends on the hardware of hosts. That of a named host does not matter.
    pub(crate) fn is_by_hardware(&self) -> bool {
        self.named().is_none()
            && (self.node_set.machine.is_some() || !self.node_set.hardware.is_empty())
    }

    /// Returns the index of the host that is requested by its MAC address.
    pub(crate) fn named(&self) -> Option<usize> {
        self.node_set.machine.as_ref()?.named.map(|(_, host)| host)
    }
}
