//! Facts about moves of assigned hosts, for `sipgen drain`.
//!
//! A host that a move releases is judged as it is once a snapshot shows it unused: its use and its
//! provisioning state no longer count, all other rules do.

use std::collections::{BTreeMap, BTreeSet};

use super::Plan;
use super::choose::choose;
use super::demand::{Demand, by_priority};
use super::eligibility::{self, Asker, Availability, Needs, RequiredSystem};
use super::placement::Assigned;
use super::probe::Lacking;
use super::quotas::{self, QuotaUse};
use super::shortage::Reason;
use super::supply::Supply;
use super::topology;
use super::violations::in_use_as;
use crate::api::names::{ClusterKey, Part};
use crate::inventory::Host;
use crate::inventory::usage::Usage;
use crate::request::{Cluster, NodeSet};
use crate::site::Site;

/// The node sets of a plan, with the rules for moves of their hosts.
pub struct Relocation<'a> {
    site: &'a Site,
    plan: &'a Plan,
    /// Node sets of planned clusters that have hosts, in serving order.
    pub node_sets: Vec<OccupiedSet<'a>>,
    /// Quotas of the settings.
    pub limits: Vec<HostLimit>,
}

/// A node set with its hosts.
pub struct OccupiedSet<'a> {
    /// The cluster.
    pub cluster: &'a Cluster,
    /// The part of the cluster.
    pub part: &'a Part,
    /// Its hosts.
    pub hosts: BTreeSet<usize>,
    /// Number of its hosts that it does not request: they wait for their release.
    pub surplus: usize,
    node_set: &'a NodeSet,
    needs: Needs<'a>,
}

/// A quota as numbers.
pub struct HostLimit {
    /// Maximum number of hosts that count.
    pub most: usize,
    /// Number of hosts that count now.
    pub used: usize,
    /// For each node set, whether it belongs to the namespace.
    pub node_sets: Vec<bool>,
    /// For each host, whether it counts.
    pub hosts: Vec<bool>,
}

/// Node sets that lack hosts if all assigned hosts may move.
pub struct Shortfall {
    /// The node sets.
    pub lacking: Vec<Lacking>,
    /// Whether they prove that no placement exists. They do not if a search reached its limit, or
    /// if a host may stay where the planner would not choose it.
    pub is_proof: bool,
}

impl<'a> OccupiedSet<'a> {
    /// Returns whether the node set names its host by MAC address.
    pub fn is_bound(&self) -> bool {
        self.needs.named().is_some()
    }

    fn requires_no_system(&self) -> bool {
        self.needs.system() == RequiredSystem::NoSystem
    }

    /// Returns the reason why a host of the node set is in use.
    pub(crate) fn use_of(&self, host: &Host) -> Option<&'static str> {
        in_use_as(host, self.part)
    }
}

impl<'a> Relocation<'a> {
    /// Collects the node sets of a plan.
    pub fn new(site: &'a Site, plan: &'a Plan) -> Self {
        let mut occupied = Vec::new();
        for cluster in by_priority(site, &plan.frozen) {
            let Some(placement) = plan.clusters.get(&cluster.key) else {
                continue;
            };
            for (part, node_set) in &cluster.node_sets {
                let assigned = placement.get(part).into_iter().flatten();
                let hosts: BTreeSet<usize> = assigned.map(|assigned| assigned.host).collect();
                if !hosts.is_empty() {
                    occupied.push(OccupiedSet {
                        cluster,
                        part,
                        surplus: hosts.len().saturating_sub(node_set.wanted()),
                        hosts,
                        node_set,
                        needs: Needs::new(cluster, part, node_set),
                    });
                }
            }
        }
        let limit = |quota: QuotaUse| {
            let counts = |host: &Host| quota.quota.counts(&host.labels);
            let is_subject =
                |set: &OccupiedSet<'_>| set.cluster.key.namespace == quota.quota.namespace;
            HostLimit {
                most: quota.quota.hosts,
                used: quota.used(),
                node_sets: occupied.iter().map(is_subject).collect(),
                hosts: site.inventory.hosts.iter().map(counts).collect(),
            }
        };
        let limits = quotas::all(site, plan).into_iter().map(limit).collect();
        Self {
            site,
            plan,
            node_sets: occupied,
            limits,
        }
    }

    /// Returns the number of hosts of the site.
    pub fn host_count(&self) -> usize {
        self.site.inventory.hosts.len()
    }

    /// Returns the topology domains of a host that matter for a node set.
    pub fn domains(&self, set: usize, host: usize) -> Vec<(&str, &str)> {
        let keys = &self.node_sets[set].needs.topology_keys;
        topology::domains(&self.site.inventory.hosts[host], keys)
    }

    /// Chooses free hosts for the places of `leaving` hosts, for each node set.
    ///
    /// # Errors
    ///
    /// Returns the node sets that lack hosts.
    pub fn replacements(
        &self,
        drained: &BTreeSet<usize>,
        leaving: &BTreeMap<usize, usize>,
    ) -> Result<BTreeMap<usize, Vec<usize>>, Vec<Lacking>> {
        let owners = self.owners();
        let availability =
            Availability::of_all(self.site, &owners, &self.plan.released, &BTreeSet::new());
        let affected: BTreeSet<usize> = leaving.values().copied().collect();
        let demands: Vec<Demand<'_>> = affected
            .iter()
            .map(|index| {
                let set = &self.node_sets[*index];
                let stays = set.hosts.iter().filter(|host| !leaving.contains_key(host));
                let stays: Vec<usize> = stays.copied().collect();
                self.demand(set, &stays, set.hosts.len() - stays.len())
            })
            .collect();
        let gone: BTreeSet<usize> = drained.iter().chain(leaving.keys()).copied().collect();
        let quotas = quotas::binding(self.site, &demands, &owners, &gone);
        let supply = Supply {
            hosts: &self.site.inventory.hosts,
            availability: &availability,
            gone: &gone,
            choice: None,
        };
        let chosen = choose(self.site, supply, &demands, &quotas);
        let mut added = BTreeMap::new();
        let mut lacking = Vec::new();
        for ((index, demand), chosen) in affected.into_iter().zip(&demands).zip(chosen) {
            match chosen {
                Ok(chosen) => {
                    added.insert(index, chosen.added);
                }
                Err(shortage) => {
                    lacking.push((demand.cluster.key.clone(), demand.part.clone(), shortage));
                }
            }
        }
        if lacking.is_empty() {
            Ok(added)
        } else {
            Err(lacking)
        }
    }

    /// Returns the hosts that node sets may have after a move, each with these node sets. Hosts
    /// that are assigned now are judged as released ones.
    pub fn acceptable(&self) -> Vec<Vec<usize>> {
        let released = self.released_hosts();
        let availability = self.availability_if_released();
        let none = BTreeSet::new();
        let accepts = |set: &OccupiedSet<'_>, index: usize| {
            let asker = Asker {
                cluster: &set.cluster.key,
                needs: &set.needs,
                availability: &availability[index],
                assigned_to: None,
                domains: &none,
            };
            eligibility::refusal(index, &released[index], &asker).is_none()
        };
        let of_host = |host: usize| {
            let sets = self.node_sets.iter().enumerate();
            let sets = sets.filter(|(_, set)| !set.is_bound() && accepts(set, host));
            sets.map(|(index, _)| index).collect()
        };
        (0..released.len()).map(of_host).collect()
    }

    /// Serves all node sets anew without the drained hosts. `waiting` hosts need no place.
    /// `acceptable` has the result of [`Relocation::acceptable`], if it is known.
    pub fn shortfall(
        &self,
        drained: &BTreeSet<usize>,
        waiting: &BTreeMap<usize, usize>,
        acceptable: Option<&[Vec<usize>]>,
    ) -> Shortfall {
        let released = self.released_hosts();
        let availability = self.availability_if_released();
        let mut kept: BTreeMap<usize, &ClusterKey> = self.plan.frozen_hosts(self.site).collect();
        let demands: Vec<Demand<'_>> = self
            .node_sets
            .iter()
            .map(|set| {
                if set.is_bound() {
                    kept.extend(set.hosts.iter().map(|host| (*host, &set.cluster.key)));
                    let hosts: Vec<usize> = set.hosts.iter().copied().collect();
                    self.demand(set, &hosts, 0)
                } else {
                    let waits = set
                        .hosts
                        .iter()
                        .filter(|host| waiting.contains_key(host))
                        .count();
                    self.demand(set, &[], set.hosts.len() - waits)
                }
            })
            .collect();
        let quotas = quotas::binding(self.site, &demands, &kept, drained);
        let supply = Supply {
            hosts: &released,
            availability: &availability,
            gone: drained,
            choice: None,
        };
        let chosen = choose(self.site, supply, &demands, &quotas);
        let results = demands.iter().zip(chosen);
        let lacking: Vec<Lacking> = results
            .filter_map(|(demand, chosen)| {
                let (cluster, part) = (demand.cluster.key.clone(), demand.part.clone());
                Some((cluster, part, chosen.err()?))
            })
            .collect();
        let is_decided = |(.., shortage): &Lacking| !matches!(shortage.reason, Reason::Undecided);
        let is_proof = acceptable.is_some_and(|acceptable| self.is_regular(acceptable));
        Shortfall {
            is_proof: is_proof && !lacking.is_empty() && lacking.iter().all(is_decided),
            lacking,
        }
    }

    /// Returns whether the planner would choose every host again where it is.
    fn is_regular(&self, acceptable: &[Vec<usize>]) -> bool {
        let is_exceeded = |limit: &HostLimit| limit.used > limit.most;
        let mut sets = self.node_sets.iter().enumerate();
        let of_set = |(index, set): (usize, &OccupiedSet<'_>)| {
            let mut domains = BTreeSet::new();
            let mut hosts = set.hosts.iter();
            set.is_bound()
                || hosts.all(|host| {
                    let mut own = self.domains(index, *host).into_iter();
                    acceptable[*host].contains(&index) && own.all(|domain| domains.insert(domain))
                })
        };
        sets.all(of_set) && !self.limits.iter().any(is_exceeded)
    }

    /// Returns all hosts as they are once their clusters have released them.
    fn released_hosts(&self) -> Vec<Host> {
        let mut hosts = self.site.inventory.hosts.clone();
        let sets = self.node_sets.iter().filter(|set| set.requires_no_system());
        for host in sets.flat_map(|set| &set.hosts) {
            let live = &mut hosts[*host].live;
            // Metal3 does not deprovision such a host.
            if live.usage != Some(Usage::ExternallyProvisioned) {
                live.usage = None;
                live.provisioning = Some("available".to_owned());
            }
        }
        hosts
    }

    fn availability_if_released(&self) -> Vec<Availability> {
        let frozen = self.plan.frozen_hosts(self.site).collect();
        let mut all =
            Availability::of_all(self.site, &frozen, &self.plan.released, &BTreeSet::new());
        // Labels of its cluster are removed with the release.
        for set in &self.node_sets {
            set.hosts
                .iter()
                .for_each(|host| all[*host] = Availability::Free);
        }
        all
    }

    /// Returns the owner of every assigned host, including hosts of frozen clusters.
    pub fn owners(&self) -> BTreeMap<usize, &'a ClusterKey> {
        self.plan.assigned(self.site).collect()
    }

    fn demand(&self, set: &OccupiedSet<'a>, kept: &[usize], missing: usize) -> Demand<'a> {
        let assigned = self.plan.clusters.get(&set.cluster.key);
        let assigned = assigned.and_then(|placement| placement.get(set.part));
        let stays = assigned.into_iter().flatten();
        let stays: Vec<Assigned> = stays
            .filter(|assigned| kept.contains(&assigned.host))
            .copied()
            .collect();
        let demand = Demand::new(
            self.site,
            set.cluster,
            set.part,
            set.node_set,
            &stays,
            |_| false,
        );
        Demand {
            wanted: stays.len() + missing,
            missing,
            ..demand
        }
    }
}
