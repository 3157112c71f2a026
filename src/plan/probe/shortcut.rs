//! Shortcuts of a [`Probe`]: exact answers without a search through all free hosts.
//!
//! They exist where a flow with one topology key for each node set decides. Node sets that compete
//! with no other are counted; for the others, the search gets a sample of the free hosts.
//!
//! Clusters that the plan cannot serve do not matter to others there. None of them can be served
//! alone, so none can be beside others, and a cluster that is refused takes no host. A question is
//! about them only if it may leave another of their node sets without hosts.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::iter;

use super::super::choose::{reasons, unserved};
use super::super::demand::Demand;
use super::super::quotas::{self, QuotaUse};
use super::super::shortage::{Reason, Shortage};
use super::super::supply::Supply;
use super::free_hosts::Pool;
use super::{Lacking, Probe, Question, named};
use crate::api::names::{ClusterKey, Namespace};

/// Facts about a plan that shortcuts require.
pub(super) struct Shortcuts<'a> {
    /// Places of the planned clusters in serving order.
    places: HashMap<&'a ClusterKey, usize>,
    /// Places of clusters that lack hosts for some of their node sets only. Those of a list have
    /// equal demands.
    partly_short: Vec<Vec<usize>>,
    /// Number of hosts that short clusters of a namespace lack.
    lacking: BTreeMap<Namespace, usize>,
    quotas: Vec<QuotaUse>,
}

/// The open demands that decide a question, each with the free hosts for it.
struct Decisive<'s, 'q> {
    demands: Vec<Demand<'q>>,
    pools: Vec<&'s Pool<'s>>,
    /// Set if several demands can use the same host.
    compete: bool,
}

/// A demand that is not served: its index, the number of hosts that it could have, and the reason.
type Short = (usize, usize, Reason);

impl<'a> Shortcuts<'a> {
    /// Prepares shortcuts; `None` if a cluster that the plan cannot serve may matter.
    pub(super) fn new(probe: &Probe<'a>) -> Option<Self> {
        let none = Question::default();
        let short = probe.demands(&none);
        let quotas = probe.quotas(&short, &none.gone);
        if !quotas.is_empty() || !short.iter().all(has_one_key) {
            return None;
        }
        let refused = unserved(probe.supply(&none.gone), &short, &quotas);
        let refused: BTreeSet<&ClusterKey> = refused
            .iter()
            .map(|unserved| &short[unserved.index].cluster.key)
            .collect();
        if !short
            .iter()
            .all(|demand| refused.contains(&demand.cluster.key))
        {
            return None;
        }
        let places = probe.clusters.iter().enumerate();
        let places: HashMap<&ClusterKey, usize> =
            places.map(|(at, cluster)| (&cluster.key, at)).collect();
        let free = probe.free.as_ref()?;
        let mut partly_short: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        let mut lacking: BTreeMap<Namespace, usize> = BTreeMap::new();
        for demands in short.chunk_by(|a, b| a.cluster.key == b.cluster.key) {
            let key = &demands[0].cluster.key;
            let missing: usize = demands.iter().map(|demand| demand.missing).sum();
            *lacking.entry(key.namespace.clone()).or_default() += missing;
            if demands.iter().all(|demand| probe.is_short(demand)) {
                continue;
            }
            let wants = |demand: &Demand<'_>| {
                let domains = demand.domains.iter();
                let domains =
                    domains.map(|(key, domain)| ((*key).to_owned(), (*domain).to_owned()));
                let is_short = probe.is_short(demand);
                let domains: Vec<(String, String)> = domains.collect();
                Some((
                    free.pool_of(&demand.needs)?,
                    demand.missing,
                    is_short,
                    domains,
                ))
            };
            let wants: Vec<_> = demands.iter().map(wants).collect::<Option<_>>()?;
            let own = free.is_preferred(key).then_some(key);
            let alike = partly_short.entry((wants, own)).or_default();
            alike.push(*places.get(key)?);
        }
        Some(Self {
            partly_short: partly_short.into_values().collect(),
            places,
            lacking,
            quotas: quotas::all(probe.site, probe.plan),
        })
    }
}

impl Probe<'_> {
    /// Returns whether every node set that has enough hosts now has enough then, and so have the
    /// clusters of the question. `None` if that requires a search through all free hosts.
    pub(super) fn is_quickly_served(&self, question: &Question<'_>) -> Option<bool> {
        let shortcuts = self.shortcuts.as_ref()?;
        let affected = self.affected(shortcuts, question);
        let decisive = self.decisive(&affected, question)?;
        let short = self.short(&decisive, &question.gone);
        let mut short = short.iter().map(|(index, ..)| &decisive.demands[*index]);
        let is_served = short.all(|demand| self.is_short(demand));
        Some(is_served && !self.is_any_at_risk(&affected, question)?)
    }

    /// Returns the node sets that lack hosts then and do not now, with shortages that can only
    /// describe their constraints. `None` if that requires a search through all free hosts.
    pub(super) fn quickly_lacking(&self, question: &Question<'_>) -> Option<Vec<Lacking>> {
        let shortcuts = self.shortcuts.as_ref()?;
        let mut affected = self.affected(shortcuts, question);
        if self.is_any_at_risk(&affected, question)? {
            affected.extend(shortcuts.partly_short.iter().flatten());
        }
        let decisive = self.decisive(&affected, question)?;
        let missing: usize = decisive.demands.iter().map(|demand| demand.missing).sum();
        let short = self.short(&decisive, &question.gone).into_iter();
        let new = short.filter(|(index, ..)| !self.is_short(&decisive.demands[*index]));
        let lacking = new.map(|(index, found, reason)| {
            let demand = &decisive.demands[index];
            let others = match decisive.compete {
                true => missing - demand.missing,
                false => 0,
            };
            let pool = decisive.pools[index];
            let shortage = self.brief(demand, pool, found, reason, &question.gone, others)?;
            Some(named((demand, Box::new(shortage))))
        });
        lacking.collect()
    }

    /// Returns the places of clusters that a question affects.
    fn affected(&self, shortcuts: &Shortcuts<'_>, question: &Question<'_>) -> BTreeSet<usize> {
        let bereft = question.gone.iter();
        let bereft = bereft.filter_map(|host| self.owners.get(host).copied());
        let replaced = question.replaced.iter().map(|(cluster, ..)| *cluster);
        let affected = bereft.chain(replaced);
        let places = affected.filter_map(|cluster| shortcuts.places.get(cluster));
        places.copied().collect()
    }

    /// Returns the demands of affected clusters; `None` if shortcuts do not apply to them.
    fn decisive<'q>(
        &'q self,
        affected: &BTreeSet<usize>,
        question: &'q Question<'_>,
    ) -> Option<Decisive<'q, 'q>> {
        let (shortcuts, free) = (self.shortcuts.as_ref()?, self.free.as_ref()?);
        let of_site = affected.iter().map(|place| self.clusters[*place]);
        let demands = self.open_demands(of_site, question);
        if !demands.iter().all(has_one_key) || self.may_exceed_quota(shortcuts, &demands, question)
        {
            return None;
        }
        let pools = demands.iter().map(|demand| free.pool(&demand.needs));
        let pools: Vec<&Pool<'_>> = pools.collect::<Option<_>>()?;
        Some(Decisive {
            compete: free.compete(&pools, &demands),
            demands,
            pools,
        })
    }

    /// Returns whether a short cluster has enough hosts for a node set now, and not then.
    ///
    /// Of clusters with equal demands, the last to choose finds the fewest hosts: those that
    /// affected clusters before it have left.
    fn is_any_at_risk(&self, affected: &BTreeSet<usize>, question: &Question<'_>) -> Option<bool> {
        let none = Question {
            gone: question.gone.clone(),
            replaced: question.replaced,
            more: &[],
        };
        for alike in &self.shortcuts.as_ref()?.partly_short {
            let mut last = alike.iter().rev();
            let Some(place) = last.find(|place| !affected.contains(place)) else {
                continue;
            };
            let mut before: BTreeSet<usize> = affected.range(..place).copied().collect();
            before.insert(*place);
            let decisive = self.decisive(&before, &none)?;
            let key = &self.clusters[*place].key;
            let is_at_risk = |(index, ..): &Short| {
                let demand = &decisive.demands[*index];
                demand.cluster.key == *key && !self.is_short(demand)
            };
            if self.short(&decisive, &none.gone).iter().any(is_at_risk) {
                return Some(true);
            }
        }
        Some(false)
    }

    fn may_exceed_quota(
        &self,
        shortcuts: &Shortcuts<'_>,
        demands: &[Demand<'_>],
        question: &Question<'_>,
    ) -> bool {
        let mut exceeded = shortcuts.quotas.iter().filter(|of| {
            let quota = &of.quota;
            let own = demands.iter();
            let own = own.filter(|demand| demand.cluster.key.namespace == quota.namespace);
            let short = shortcuts.lacking.get(&quota.namespace);
            let wanted: usize = own.map(|demand| demand.missing).sum::<usize>()
                + short.copied().unwrap_or_default();
            let gone = question.gone.iter();
            let gone = gone.filter_map(|host| Some((*host, *self.owners.get(host)?)));
            let counts = |(host, owner): &(usize, &ClusterKey)| {
                owner.namespace == quota.namespace && quota.counts(&self.hosts[*host].labels)
            };
            let left = quota
                .hosts
                .saturating_sub(of.used() - gone.filter(counts).count());
            wanted > left
        });
        exceeded.next().is_some()
    }

    fn short(&self, decisive: &Decisive<'_, '_>, gone: &BTreeSet<usize>) -> Vec<Short> {
        let Decisive {
            demands,
            pools,
            compete,
        } = decisive;
        let Some(free) = &self.free else {
            return Vec::new();
        };
        if *compete {
            let sample = free.sample(pools, demands, gone);
            let supply = Supply {
                choice: Some(&sample),
                ..self.supply(gone)
            };
            return reasons(supply, demands, &[]);
        }
        let demands = demands.iter().zip(pools).enumerate();
        let short = demands.filter_map(|(index, (demand, pool))| {
            let room = free.room(pool, demand, gone);
            (demand.missing > room.apart).then(|| {
                let is_limited = room.limiting > 0;
                let reason = Reason::counted(iter::once(demand), room.apart, is_limited);
                (index, room.apart, reason)
            })
        });
        short.collect()
    }

    /// `others` is the number of hosts that other demands may take from those for this one.
    fn brief(
        &self,
        demand: &Demand<'_>,
        pool: &Pool<'_>,
        found: usize,
        reason: Reason,
        gone: &BTreeSet<usize>,
        others: usize,
    ) -> Option<Shortage> {
        let room = self.free.as_ref()?.room(pool, demand, gone);
        let existing = self.hosts.len() - gone.len() - demand.kept.len();
        let has_refused = existing > room.hosts - room.taken;
        let limits = room.taken > 0;
        if !has_refused || limits && room.taken <= others {
            return None;
        }
        let all_matching = pool.matching(&self.hosts, &demand.needs);
        let not_counted = demand.kept.iter().chain(gone);
        let not_counted = not_counted.filter(|host| all_matching.binary_search(host).is_ok());
        let matching = all_matching.len() - not_counted.count();
        let excluded = (matching == 0).then(|| pool.excluded(&self.hosts, &demand.needs));
        Some(Shortage::brief(
            demand, found, matching, limits, excluded, reason,
        ))
    }
}

fn has_one_key(demand: &Demand<'_>) -> bool {
    demand.needs.topology_keys.len() < 2
}
