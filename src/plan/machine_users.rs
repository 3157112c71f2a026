//! The node set whose Machine uses a host.
//!
//! Evidence, the strongest first:
//!
//! 1. The Machine's own objects, in the repo or in a snapshot.
//! 2. CAPM3's labels on the host: the Cluster of the Machine, and the control plane or
//!    MachineDeployment that a host waits for.
//! 3. The name of the Metal3Machine, if only one object can have given it.

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::base::api::assignment::Claim;
use crate::base::api::machine_names::NameFit;
use crate::base::api::names::{ClusterKey, Namespace, Part, Role};
use crate::base::grouping::grouped;
use crate::site::Site;
use crate::site::inventory::Host;
use crate::site::inventory::usage::HostUsage;
use crate::site::request::cluster_api::{MachineFacts, MachineMaker, node_set_name};
use crate::site::request::{Cluster, NodeSet};

/// Prefixes that CAPM3 gives to names in the label for node reuse.
const REUSED_CONTROL_PLANE: &str = "cp-";
const REUSED_DEPLOYMENT: &str = "md-";

/// The user of a host.
#[derive(Debug, Clone, PartialEq, Eq, derive_more::Display)]
pub(crate) enum MachineUser<'a> {
    /// A Machine of a requested node set.
    #[display("{cluster}, {part}")]
    NodeSet { cluster: &'a ClusterKey, part: &'a Part },
    /// A Machine of a requested Cluster, of an unknown node set.
    Cluster(&'a ClusterKey),
    /// A Machine that no request asks hosts for, described by its owner.
    Other(String),
    /// A consumer that is no Machine of the namespace: CAPM3 skips its hosts.
    Foreign,
}

impl MachineUser<'_> {
    /// Returns whether the Machines of a node set cannot use the host. A SIPCluster says nothing about
    /// the Cluster whose Machines use its hosts.
    pub(crate) fn excludes(&self, cluster: &ClusterKey, part: &Part, site: &Site) -> bool {
        let request = site.clusters.get(cluster);
        let makes_machines =
            request.is_some_and(|request| request.kind.descriptor().makes_machines);
        match self {
            MachineUser::NodeSet { cluster: own, part: own_part } => {
                (*own, *own_part) != (cluster, part)
            }
            MachineUser::Cluster(own) => *own != cluster && makes_machines,
            MachineUser::Other(_) | MachineUser::Foreign => makes_machines,
        }
    }
}

/// Node sets of Cluster API and other objects that make Machines, by namespace.
pub(crate) struct MachineUsers<'a> {
    site: &'a Site,
    clusters: BTreeMap<&'a Namespace, Vec<&'a Cluster>>,
    others: BTreeMap<&'a Namespace, Vec<&'a MachineMaker>>,
}

impl<'a> MachineUsers<'a> {
    pub(crate) fn new(site: &'a Site) -> Self {
        let valid = site.valid_clusters();
        let clusters = valid.filter(|cluster| cluster.kind.descriptor().makes_machines);
        let clusters = grouped(clusters.map(|cluster| (&cluster.key.namespace, cluster)));
        let is_requested = |maker: &&MachineMaker| {
            let requested = clusters.get(&maker.namespace).into_iter().flatten();
            let mut node_sets = requested.flat_map(|cluster| &cluster.node_sets);
            node_sets.any(|(part, node_set)| {
                maker.role == Some(part.role)
                    && node_set.machine_names.fit_owner(&maker.name).is_some()
            })
        };
        let others = site.machine_objects.makers.iter().filter(|maker| !is_requested(maker));
        let others = grouped(others.map(|maker| (&maker.namespace, maker)));
        Self { site, clusters, others }
    }

    /// Returns the user of each host of the site.
    pub(crate) fn by_host(&self) -> Vec<Option<MachineUser<'a>>> {
        let hosts = self.site.inventory.hosts.par_iter();
        hosts.map(|host| self.user(host)).collect()
    }

    /// Returns the user of a host; `None` if no Machine is known to use it.
    pub(crate) fn user(&self, host: &Host) -> Option<MachineUser<'a>> {
        let namespace = &host.key.namespace;
        let usage = host.live.usage.as_ref();
        let own = |(other, name)| (other == namespace.as_str()).then_some(name);
        let machine = host.live.machine_in(namespace);
        let waiting = usage.and_then(|usage| usage.waiting_cluster()).and_then(own);
        let reused = host.live.node_reuse.as_deref().filter(|_| machine.is_none());
        if machine.is_none() && reused.is_none() {
            let is_foreign = waiting.is_none() && matches!(usage, Some(HostUsage::Consumer(_)));
            return is_foreign.then_some(MachineUser::Foreign);
        }
        let facts = machine.and_then(|machine| self.site.machine_objects.facts(namespace, machine));
        let cluster_of_machine = facts.and_then(|facts| facts.cluster.as_deref());
        let evidence = UserEvidence { host, machine, facts, reused };
        match cluster_of_machine.or(waiting).or(host.live.machine_cluster.as_deref()) {
            Some(cluster) => self.user_in_cluster(cluster, &evidence),
            None => self.user_by_name(&evidence),
        }
    }

    fn user_in_cluster(&self, name: &str, evidence: &UserEvidence<'_>) -> Option<MachineUser<'a>> {
        let host = evidence.host;
        let namespace = &host.key.namespace;
        let mut own = self.clusters.get(namespace).into_iter().flatten();
        let Some(cluster) = own.find(|cluster| cluster.key.name.as_str() == name) else {
            let key = ClusterKey { namespace: namespace.clone(), name: name.parse().ok()? };
            // A SIPCluster or an invalid request may be the Cluster's.
            return (!self.site.clusters.contains_key(&key))
                .then(|| MachineUser::Other(format!("the Cluster {key}")));
        };
        let node_set = |part| MachineUser::NodeSet { cluster: &cluster.key, part };
        let part = evidence.node_set(cluster).map(node_set);
        // Without a consumer, the host waits for a Machine of the removed node set, which never comes.
        let is_used = matches!(host.live.usage, Some(HostUsage::Consumer(_)));
        if part.is_none() && is_used && self.is_of_removed_node_set(host, cluster) {
            return Some(MachineUser::Cluster(&cluster.key));
        }
        let other = || {
            let mut others = self.other_makers(evidence);
            others.next().map(|(_, user)| user)
        };
        let only = || self.only_node_set(cluster, evidence).map(node_set);
        let mut sets = cluster.node_sets.iter();
        let waited =
            || evidence.waited_for(sets.all(|(part, set)| evidence.fit(part, set).is_none()));
        let user = part.or_else(other).or_else(only).or_else(waited);
        Some(user.unwrap_or(MachineUser::Cluster(&cluster.key)))
    }

    /// Returns whether the output, or else the labels, assign a host to a node set that its Cluster has
    /// no more. Its Machine is deleted later.
    fn is_of_removed_node_set(&self, host: &Host, cluster: &Cluster) -> bool {
        let is_removed = |(key, part): (&ClusterKey, &Part)| {
            let is_it =
                |own: &Part| own == part || own.role == part.role && part.node_set.is_none();
            *key == cluster.key && !cluster.node_sets.keys().any(is_it)
        };
        match self.site.state.held.get(&host.key) {
            Some(held) => held.iter().any(|held| is_removed((&held.cluster, &held.part))),
            None => host.assignment.claims.iter().any(
                |(claim, _)| matches!(claim, Claim::Cluster(key, part) if is_removed((key, part))),
            ),
        }
    }

    /// Returns the objects that are no requests and may have made a Machine.
    fn other_makers(
        &self,
        evidence: &UserEvidence<'_>,
    ) -> impl Iterator<Item = (NameFit, MachineUser<'a>)> {
        let makers = self.others.get(&evidence.host.key.namespace).into_iter().flatten();
        makers.filter_map(|maker| {
            let fit = maker.machine_names.fit_machine(evidence.machine?)?;
            let owner = match &maker.cluster {
                Some(cluster) => format!("{} of {cluster}", maker.title),
                None => maker.title.clone(),
            };
            Some((fit, MachineUser::Other(owner)))
        })
    }

    /// Returns the only node set of a Cluster whose Machines may have any name.
    fn only_node_set(&self, cluster: &'a Cluster, evidence: &UserEvidence<'_>) -> Option<&'a Part> {
        let mut node_sets = cluster.node_sets.keys();
        let only =
            node_sets.next().filter(|_| evidence.facts.is_none() && evidence.reused.is_none())?;
        let mut others = self.others.get(&cluster.key.namespace).into_iter().flatten();
        let is_of_other = others.any(|maker| maker.cluster.as_ref() == Some(&cluster.key));
        (node_sets.next().is_none() && !is_of_other).then_some(only)
    }

    fn user_by_name(&self, evidence: &UserEvidence<'_>) -> Option<MachineUser<'a>> {
        let clusters = self.clusters.get(&evidence.host.key.namespace).into_iter().flatten();
        let node_sets = clusters.flat_map(|cluster| cluster.parts());
        let requested = node_sets.filter_map(|(cluster, part, node_set)| {
            let fit = evidence.fit(part, node_set)?;
            Some((fit, MachineUser::NodeSet { cluster: &cluster.key, part }))
        });
        let others = self.other_makers(evidence);
        let candidates: Vec<(NameFit, MachineUser<'a>)> = requested.chain(others).collect();
        let waited = evidence.waited_for(candidates.is_empty());
        only_best(candidates).or(waited)
    }
}

/// Facts about the node set of a host's user.
struct UserEvidence<'e> {
    host: &'e Host,
    /// Name of the Metal3Machine.
    machine: Option<&'e str>,
    facts: Option<&'e MachineFacts>,
    /// Value of the label for node reuse.
    reused: Option<&'e str>,
}

impl UserEvidence<'_> {
    /// Returns the only node set of a Cluster that may be the user's.
    fn node_set<'a>(&self, cluster: &'a Cluster) -> Option<&'a Part> {
        let fits = cluster.node_sets.iter();
        let fits: Vec<(NameFit, &Part)> =
            fits.filter_map(|(part, node_set)| Some((self.fit(part, node_set)?, part))).collect();
        only_best(fits)
    }

    /// Returns how well a node set fits the user.
    fn fit(&self, part: &Part, node_set: &NodeSet) -> Option<NameFit> {
        let names = &node_set.machine_names;
        let is_control_plane = part.role == Role::ControlPlane;
        if let Some(facts) = self.facts {
            if facts.is_control_plane {
                return is_control_plane.then_some(NameFit::Exact);
            }
            if let Some(deployment) = &facts.topology_deployment {
                let is_own = part.node_set.is_some() && node_set_name(deployment) == part.node_set;
                return is_own.then_some(NameFit::Exact);
            }
            if let Some(deployment) = &facts.deployment {
                return names.fit_owner(deployment).filter(|_| !is_control_plane);
            }
            if let Some(set) = &facts.machine_set {
                return names.fit_machine_set(set);
            }
        }
        if let Some(reused) = self.reused {
            return match reused.strip_prefix(REUSED_CONTROL_PLANE) {
                Some(name) if is_control_plane => names.fit_owner(name),
                _ if is_control_plane => None,
                _ => names.fit_owner(reused.strip_prefix(REUSED_DEPLOYMENT)?),
            };
        }
        names.fit_machine(self.machine?)
    }

    /// Returns the owner of the Machine that the host waits for, if it is none that fits.
    fn waited_for<'a>(&self, fits_none: bool) -> Option<MachineUser<'a>> {
        let reused = self.reused.filter(|_| fits_none)?;
        let (kind, name) = match reused.strip_prefix(REUSED_CONTROL_PLANE) {
            Some(name) => ("control plane", name),
            None => ("MachineDeployment", reused.strip_prefix(REUSED_DEPLOYMENT).unwrap_or(reused)),
        };
        Some(MachineUser::Other(format!("the {kind} {name}")))
    }
}

/// Returns the candidate that fits best, unless several do.
fn only_best<T>(candidates: Vec<(NameFit, T)>) -> Option<T> {
    let best = candidates.iter().map(|(fit, _)| *fit).max()?;
    let mut best = candidates.into_iter().filter(|(fit, _)| *fit == best);
    let (_, only) = best.next()?;
    best.next().is_none().then_some(only)
}
