//! Facts about moves of assigned hosts, for `sipgen drain`.
//!
//! A host that a move releases is judged as it is once a snapshot shows it unused: its use and its
//! provisioning state no longer count, all other rules do.

use std::collections::{BTreeMap, BTreeSet};

use super::Plan;
use super::ask::NodeSetLack;
use super::choose::{ChosenHosts, choose};
use super::demand::{NodeSetDemand, by_priority};
use super::eligibility::{self, Availability, Needs, RequestingNodeSet, RequiredSystem};
use super::host_classes::HostClasses;
use super::placement::PlacedHost;
use super::quotas::{self, QuotaUse, QuotaUses};
use super::shortage::Shortage;
use super::supply::HostSupply;
use super::topology;
use super::violations::in_use_as;
use crate::api::names::{ClusterKey, Part};
use crate::inventory::Host;
use crate::inventory::usage::HostUsage;
use crate::request::{Cluster, NodeSet};
use crate::settings::quotas::Quota;
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

/// The hosts that node sets may have after a move.
pub struct AcceptedHosts {
    /// For each different requirement, the hosts, each with the only cluster that may have it.
    pools: Vec<Vec<(usize, Option<ClusterKey>)>>,
    /// The requirement of each node set.
    pool_of: Vec<Option<usize>>,
}

impl AcceptedHosts {
    /// Returns the hosts for a node set, given with its index.
    pub fn hosts_for(&self, index: usize, set: &OccupiedSet<'_>) -> impl Iterator<Item = usize> {
        let pool = self.pool_of[index].into_iter();
        let cluster = set.cluster.key.clone();
        let hosts = pool
            .flat_map(|pool| &self.pools[pool])
            .filter(move |(_, only)| only.as_ref().is_none_or(|only| *only == cluster));
        hosts.map(|(host, _)| *host)
    }
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
    ) -> Result<BTreeMap<usize, Vec<usize>>, Vec<NodeSetLack>> {
        let owners = self.owners();
        let availability =
            Availability::all(self.site, &owners, &self.plan.released, &BTreeSet::new());
        let affected: BTreeSet<usize> = leaving.values().copied().collect();
        let demands: Vec<NodeSetDemand<'_>> = affected
            .iter()
            .map(|index| {
                let set = &self.node_sets[*index];
                let stays = set.hosts.iter().filter(|host| !leaving.contains_key(host));
                let stays: Vec<usize> = stays.copied().collect();
                self.demand(set, &stays, set.hosts.len() - stays.len())
            })
            .collect();
        let gone: BTreeSet<usize> = drained.iter().chain(leaving.keys()).copied().collect();
        let lost = gone
            .iter()
            .filter_map(|host| Some((*host, *owners.get(host)?)));
        let quotas = QuotaUses::new(self.site, self.plan.assigned(self.site));
        let quotas = quotas.binding(&demands, lost);
        let supply = HostSupply {
            hosts: &self.site.inventory.hosts,
            availability: &availability,
            gone: &gone,
        };
        let chosen = choose(self.site, supply, &demands, &quotas);
        if chosen.iter().any(Result::is_err) {
            return Err(lacking(&demands, chosen));
        }
        let added = chosen.into_iter().flatten().map(|chosen| chosen.added);
        Ok(affected.into_iter().zip(added).collect())
    }

    /// Returns the hosts that node sets may have after a move. Hosts that are assigned now are judged as
    /// released ones.
    pub fn accepted(&self) -> AcceptedHosts {
        let released = self.released_hosts();
        let availability = self.availability_if_released();
        let needs = self.node_sets.iter().map(|set| set.needs.clone());
        let none = BTreeSet::new();
        let labels = std::iter::empty();
        let classes = HostClasses::for_needs(&released, &availability, &none, needs, labels);
        let pools = classes.pools.iter().map(|pool| {
            let domains = pool.pool.domains.iter();
            let mut hosts: Vec<(usize, Option<ClusterKey>)> = domains
                .flat_map(|domain| &domain.classes)
                .flat_map(|class| {
                    let class = &classes.classes[*class];
                    class.hosts.iter().map(|host| (*host, class.only.clone()))
                })
                .collect();
            hosts.sort_unstable();
            hosts
        });
        let pool_of = self.node_sets.iter().map(|set| classes.pool_of(&set.needs));
        AcceptedHosts {
            pools: pools.collect(),
            pool_of: pool_of.collect(),
        }
    }

    /// Serves all node sets anew without the drained hosts. `waiting` hosts need no place.
    ///
    /// A host that stays where the planner would not choose it takes no place from others, so the node
    /// sets that lack hosts prove that no placement exists.
    pub fn shortfall(
        &self,
        drained: &BTreeSet<usize>,
        waiting: &BTreeMap<usize, usize>,
    ) -> Vec<NodeSetLack> {
        let released = self.released_hosts();
        let availability = self.availability_if_released();
        let mut kept: BTreeMap<usize, &ClusterKey> = self.plan.frozen_hosts(self.site).collect();
        let demands: Vec<NodeSetDemand<'_>> = self
            .node_sets
            .iter()
            .map(|set| {
                if set.is_bound() {
                    kept.extend(set.hosts.iter().map(|host| (*host, &set.cluster.key)));
                    let hosts: Vec<usize> = set.hosts.iter().copied().collect();
                    return self.demand(set, &hosts, 0);
                }
                let mut domains = BTreeSet::new();
                let needs_place = |host: &&usize| {
                    if waiting.contains_key(host) {
                        return false;
                    }
                    let asker = RequestingNodeSet {
                        cluster: &set.cluster.key,
                        needs: &set.needs,
                        availability: &availability[**host],
                        assigned_to: None,
                        domains: &BTreeSet::new(),
                    };
                    let mut host_domains =
                        topology::domains(&released[**host], &set.needs.topology_keys).into_iter();
                    drained.contains(host)
                        || eligibility::refusal(**host, &released[**host], &asker).is_none()
                            && host_domains.all(|domain| domains.insert(domain))
                };
                let missing = set.hosts.iter().filter(needs_place).count();
                self.demand(set, &[], missing)
            })
            .collect();
        let kept = kept.iter().map(|(host, cluster)| (*host, *cluster));
        let mut quotas = QuotaUses::new(self.site, kept).binding(&demands, std::iter::empty());
        let exceeded: Vec<Quota> = quotas::all(self.site, self.plan)
            .into_iter()
            .filter(|quota| quota.used() > quota.quota.hosts)
            .map(|quota| quota.quota)
            .collect();
        quotas.retain(|quota| !exceeded.contains(&quota.quota));
        let supply = HostSupply {
            hosts: &released,
            availability: &availability,
            gone: drained,
        };
        lacking(&demands, choose(self.site, supply, &demands, &quotas))
    }

    /// Returns all hosts as they are once their clusters have released them.
    fn released_hosts(&self) -> Vec<Host> {
        let mut hosts = self.site.inventory.hosts.clone();
        let sets = self.node_sets.iter().filter(|set| set.requires_no_system());
        for host in sets.flat_map(|set| &set.hosts) {
            let live = &mut hosts[*host].live;
            // Metal3 does not deprovision such a host.
            if live.usage != Some(HostUsage::ExternallyProvisioned) {
                live.usage = None;
                live.provisioning = Some("available".to_owned());
            }
        }
        hosts
    }

    fn availability_if_released(&self) -> Vec<Availability> {
        let frozen = self.plan.frozen_hosts(self.site).collect();
        let mut all = Availability::all(self.site, &frozen, &self.plan.released, &BTreeSet::new());
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

    fn demand(&self, set: &OccupiedSet<'a>, kept: &[usize], missing: usize) -> NodeSetDemand<'a> {
        let assigned = self.plan.clusters.get(&set.cluster.key);
        let assigned = assigned.and_then(|placement| placement.get(set.part));
        let stays: Vec<PlacedHost> = assigned
            .into_iter()
            .flatten()
            .filter(|assigned| kept.contains(&assigned.host))
            .copied()
            .collect();
        let demand = NodeSetDemand::new(
            self.site,
            set.cluster,
            set.part,
            set.node_set,
            &stays,
            |_| false,
        );
        NodeSetDemand {
            wanted: stays.len() + missing,
            missing,
            ..demand
        }
    }
}

/// Returns the demands that are not served.
fn lacking(
    demands: &[NodeSetDemand<'_>],
    chosen: Vec<Result<ChosenHosts, Box<Shortage>>>,
) -> Vec<NodeSetLack> {
    let results = demands.iter().zip(chosen);
    let lacking = results.filter_map(|(demand, chosen)| {
        Some(NodeSetLack {
            cluster: demand.cluster.key.clone(),
            part: demand.part.clone(),
            today: 0,
            shortage: *chosen.err()?,
        })
    });
    lacking.collect()
}
