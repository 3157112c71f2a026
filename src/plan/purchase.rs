//! The smallest purchase: the fewest hosts, and their labels, with which everything is served.
//!
//! Hosts are bought in *kinds*: for each different requirement of the node sets, with just the labels
//! that its selector requires. A host in a topology domain of its own is as good as any, so the
//! number is found with such hosts, and existing domains are tried afterwards.
//!
//! Where a flow decides, the sets of hosts that suffice are the spanning sets of a matroid. Whoever
//! leaves out hosts one by one, in any order, therefore ends with the smallest number. Other orders
//! end with other kinds: the alternatives. Where a search decides, every smaller purchase is tried.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use kube::core::{Expression, SelectorExt};
use schemars::JsonSchema;
use serde::Serialize;

use super::demand::Demand;
use super::eligibility::Needs;
use super::probe::{Outcome, Probe, Question, smallest};
use super::topology;
use crate::api::names::{ClusterKey, HostKey, Namespace, Part};
use crate::hypothesis::{available_host, usual_namespace};
use crate::inventory::{Host, natural};

/// Maximum number of alternatives.
const ALTERNATIVES: usize = 4;
/// Maximum number of smaller purchases to try where no flow decides.
const TRIED: usize = 300;
/// Maximum number of domains that a selector may name for a topology key.
const DOMAINS_TRIED: usize = 20;

/// The smallest purchase with which everything is served.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Purchase {
    /// Number of hosts; null if no purchase suffices.
    pub hosts: Option<usize>,
    /// True if it is proven that fewer hosts do not suffice.
    pub is_smallest: bool,
    /// Purchases of this number of hosts, of which one is enough. There may be others.
    pub choices: Vec<Vec<BoughtKind>>,
}

/// Hosts to buy that differ in their topology domains at most.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BoughtKind {
    /// Number of hosts.
    pub hosts: usize,
    /// Their namespace.
    pub namespace: Namespace,
    /// Labels that all of them have.
    pub labels: BTreeMap<String, String>,
    /// Values of topology keys, one for each host. No two hosts have the same. Null is a value that no
    /// other host has.
    pub domains: BTreeMap<String, Vec<Option<String>>>,
    /// Node sets that can use them.
    pub node_sets: Vec<Buyer>,
}

/// A node set that can use bought hosts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Buyer {
    /// The cluster.
    pub cluster: ClusterKey,
    /// The part of the cluster.
    #[serde(flatten)]
    pub part: Part,
}

/// Hosts of one kind.
struct Kind {
    namespace: Namespace,
    labels: BTreeMap<String, String>,
    /// Topology keys whose values are open.
    open_keys: Vec<String>,
    buyers: Vec<Buyer>,
    /// Number of hosts that its node sets lack.
    missing: usize,
    /// Set if one of its node sets is not served without a purchase.
    is_lacking: bool,
    /// Indices of hosts of this kind, each in a domain of its own.
    hosts: Vec<usize>,
}

/// A search for the smallest purchase.
struct Search<'p, 'q> {
    probe: &'p Probe<'p>,
    demands: &'p [Demand<'p>],
    question: &'p Question<'q>,
    kinds: &'p [Kind],
    /// Number of hosts of the site.
    owned: usize,
    was_undecided: Cell<bool>,
}

impl Probe<'_> {
    /// Returns the smallest purchase with which the clusters of a question and all affected clusters
    /// are served, also those that lack hosts now. `None` if nothing is lacking.
    pub fn purchase(&self, question: &Question<'_>) -> Option<Purchase> {
        let demands = self.demands(question);
        let lacking = match self.outcome(&demands, &question.gone) {
            Outcome::Served => return None,
            Outcome::Unserved(lacking) => lacking,
            Outcome::Undecided => (0..demands.len()).collect(),
        };
        let none = Purchase {
            hosts: None,
            is_smallest: true,
            choices: Vec::new(),
        };
        let Some(mut kinds) = kinds(self, &demands, &lacking) else {
            return Some(none);
        };
        let mut bought = Vec::new();
        for kind in &mut kinds {
            let first = self.count() + bought.len();
            bought.extend((0..kind.missing).map(|at| kind.host(first + at, &demands, None)));
            kind.hosts = (first..first + kind.missing).collect();
        }
        let probe = self.with_hosts(bought);
        let demands = probe.demands(question);
        let search = Search {
            probe: &probe,
            demands: &demands,
            question,
            kinds: &kinds,
            owned: self.count(),
            was_undecided: Cell::new(false),
        };
        Some(search.smallest().unwrap_or(none))
    }
}

impl Search<'_, '_> {
    /// Returns the smallest purchase; `None` if even all hosts together do not suffice.
    fn smallest(&self) -> Option<Purchase> {
        let most: Vec<usize> = self.kinds.iter().map(|kind| kind.missing).collect();
        if !self.suffices(&most) {
            return None;
        }
        // Kinds for node sets that lack hosts are left out last, so they are bought first.
        let mut order: Vec<usize> = (0..most.len()).collect();
        order.sort_by_key(|kind| self.kinds[*kind].is_lacking);
        let mut best = self.reduced(&most, &order);
        let is_flow = self.probe.is_flow(self.demands, &self.question.gone);
        let is_proven = is_flow || self.try_smaller(&most, &mut best);
        let size = |counts: &[usize]| counts.iter().sum::<usize>();

        let mut choices = vec![best];
        for kind in (0..most.len()).rev() {
            let mut order = order.clone();
            order.sort_by_key(|other| *other == kind);
            let other = self.reduced(&most, &order);
            if size(&other) == size(&choices[0]) && !choices.contains(&other) {
                choices.push(other);
            }
            if choices.len() > ALTERNATIVES {
                break;
            }
        }
        Some(Purchase {
            hosts: Some(size(&choices[0])),
            is_smallest: is_proven && !self.was_undecided.get(),
            choices: choices
                .iter()
                .map(|counts| self.bought(counts, is_flow))
                .collect(),
        })
    }

    /// Leaves out hosts of one kind after the other.
    fn reduced(&self, most: &[usize], order: &[usize]) -> Vec<usize> {
        let mut counts = most.to_vec();
        for kind in order {
            let suffices = |count: usize| {
                let mut fewer = counts.clone();
                fewer[*kind] = count;
                self.suffices(&fewer)
            };
            counts[*kind] = smallest(counts[*kind], suffices);
        }
        counts
    }

    /// Tries every smaller purchase, and returns whether there are none left.
    fn try_smaller(&self, most: &[usize], best: &mut Vec<usize>) -> bool {
        let mut tried = 0;
        while let Some(fewer) = best.iter().sum::<usize>().checked_sub(1) {
            let mut smaller = None;
            let is_complete = each_split(fewer, most, &mut Vec::new(), &mut |counts| {
                tried += 1;
                if self.suffices(counts) {
                    smaller = Some(counts.to_vec());
                }
                smaller.is_none() && tried < TRIED
            });
            match smaller {
                Some(counts) => *best = counts,
                None => return is_complete,
            }
        }
        true
    }

    /// Returns whether these numbers of hosts of each kind suffice.
    fn suffices(&self, counts: &[usize]) -> bool {
        let bought = self.kinds.iter().zip(counts);
        let bought = bought.flat_map(|(kind, count)| &kind.hosts[..*count]);
        self.suffice(self.probe, &bought.copied().collect())
    }

    /// Returns whether these bought hosts suffice.
    fn suffice(&self, probe: &Probe<'_>, bought: &BTreeSet<usize>) -> bool {
        let mut gone = self.question.gone.clone();
        gone.extend((self.owned..probe.count()).filter(|host| !bought.contains(host)));
        let outcome = probe.outcome(self.demands, &gone);
        if matches!(outcome, Outcome::Undecided) {
            self.was_undecided.set(true);
        }
        matches!(outcome, Outcome::Served)
    }

    /// Describes a purchase, and chooses the domains of its hosts.
    fn bought(&self, counts: &[usize], is_flow: bool) -> Vec<BoughtKind> {
        let mut probe = None;
        let mut bought: BTreeSet<usize> = BTreeSet::new();
        for (kind, count) in self.kinds.iter().zip(counts) {
            bought.extend(&kind.hosts[..*count]);
        }
        let mut result = Vec::new();
        for (kind, count) in self
            .kinds
            .iter()
            .zip(counts)
            .filter(|(_, count)| **count > 0)
        {
            let mut domains: BTreeMap<String, Vec<Option<String>>> = kind
                .open_keys
                .iter()
                .map(|key| (key.clone(), vec![None; *count]))
                .collect();
            if let ([key], true) = (kind.open_keys.as_slice(), is_flow) {
                let known = known_domains(self.probe.site_hosts(), key);
                let first = probe.as_ref().map_or(self.probe.count(), Probe::count);
                let more = known.iter().enumerate();
                let more = more
                    .map(|(at, domain)| kind.host(first + at, self.demands, Some((key, domain))));
                let with_known = probe
                    .as_ref()
                    .unwrap_or(self.probe)
                    .with_hosts(more.collect());
                let chosen = self.in_known_domains(
                    &with_known,
                    &kind.hosts[..*count],
                    first..first + known.len(),
                    &mut bought,
                );
                let mut values: Vec<Option<String>> = chosen
                    .iter()
                    .map(|host| Some(known[host - first].clone()))
                    .collect();
                values.resize(*count, None);
                domains.insert(key.clone(), values);
                probe = Some(with_known);
            }
            result.push(BoughtKind {
                hosts: *count,
                namespace: kind.namespace.clone(),
                labels: kind.labels.clone(),
                domains,
                node_sets: kind.buyers.clone(),
            });
        }
        result
    }

    /// Exchanges hosts in domains of their own for hosts in known domains, the first that suffice.
    ///
    /// In a matroid, a prefix of the known domains helps exactly if one of its hosts can be
    /// exchanged, so bisection finds the first.
    fn in_known_domains(
        &self,
        probe: &Probe<'_>,
        own: &[usize],
        known: std::ops::Range<usize>,
        bought: &mut BTreeSet<usize>,
    ) -> Vec<usize> {
        let mut chosen = Vec::new();
        let mut from = known.start;
        for host in own {
            bought.remove(host);
            let helps = |count: usize| {
                let mut with = bought.clone();
                with.extend(from..from + count);
                self.suffice(probe, &with)
            };
            let left = known.end - from;
            // There may be thousands of domains, and the next one is mostly as good as any.
            let count = if left > 0 && helps(1) {
                1
            } else if helps(left) {
                smallest(left, helps)
            } else {
                bought.insert(*host);
                break;
            };
            let found = from + count.saturating_sub(1);
            chosen.push(found);
            bought.insert(found);
            from = found + 1;
        }
        chosen
    }
}

impl Kind {
    /// Returns a host of this kind: in a known domain, or in a domain of its own for each topology
    /// key.
    fn host(&self, number: usize, demands: &[Demand<'_>], domain: Option<(&str, &str)>) -> Host {
        let mut labels = self.labels.clone();
        for key in &self.open_keys {
            // No label of a host has this form.
            let own = || format!("?{number}");
            let known = domain.filter(|(other, _)| other == key);
            let value = known.map_or_else(own, |(_, domain)| domain.to_owned());
            labels.insert(key.clone(), value);
        }
        let interfaces = demands.iter().flat_map(|demand| &demand.needs.interfaces);
        let key = HostKey {
            namespace: self.namespace.clone(),
            // Only the labels of a bought host matter.
            name: demands[0].cluster.key.name.clone(),
        };
        available_host(key, labels, interfaces.copied())
    }
}

/// Returns the kinds of hosts that serve some of the demands. `None` if no bought host can serve one
/// that is lacking: a machine that needs an installed host, or a selector that excludes every host.
fn kinds(probe: &Probe<'_>, demands: &[Demand<'_>], lacking: &[usize]) -> Option<Vec<Kind>> {
    let mut kinds: Vec<Kind> = Vec::new();
    for (index, demand) in demands.iter().enumerate() {
        let is_lacking = lacking.contains(&index);
        let choices = if demand.needs.machine.is_some() {
            Vec::new()
        } else {
            label_choices(&demand.needs, probe.site_hosts())
        };
        if choices.is_empty() && is_lacking {
            return None;
        }
        let namespace = demand.needs.namespace.cloned();
        let namespace = namespace.unwrap_or_else(|| usual_namespace(probe.site_hosts()));
        for labels in choices {
            let keys = demand.needs.topology_keys.iter();
            let open_keys: Vec<String> = keys
                .filter(|key| !labels.contains_key(**key))
                .map(|key| (*key).to_owned())
                .collect();
            let is_alike = |kind: &&mut Kind| {
                kind.namespace == namespace && kind.labels == labels && kind.open_keys == open_keys
            };
            let buyer = Buyer {
                cluster: demand.cluster.key.clone(),
                part: demand.part.clone(),
            };
            match kinds.iter_mut().find(is_alike) {
                Some(kind) => {
                    kind.missing += demand.missing;
                    kind.is_lacking |= is_lacking;
                    kind.buyers.push(buyer);
                }
                None => kinds.push(Kind {
                    namespace: namespace.clone(),
                    labels,
                    open_keys,
                    buyers: vec![buyer],
                    missing: demand.missing,
                    is_lacking,
                    hosts: Vec::new(),
                }),
            }
        }
    }
    Some(kinds)
}

/// Requirements of a selector on one label.
#[derive(Default)]
struct Required<'s> {
    exists: bool,
    allowed: Option<BTreeSet<&'s str>>,
    denied: BTreeSet<&'s str>,
}

/// Returns the labels of hosts that a selector matches: those that it requires. If it limits the
/// values of a topology key, there is a choice for each of them.
fn label_choices(needs: &Needs<'_>, hosts: &[Host]) -> Vec<BTreeMap<String, String>> {
    let mut required: BTreeMap<&str, Required<'_>> = BTreeMap::new();
    for (expression, _) in &needs.requirements {
        let (key, allowed, denied, exists) = match expression {
            Expression::In(key, values) => (key, Some(texts(values)), BTreeSet::new(), true),
            Expression::NotIn(key, values) => (key, None, texts(values), false),
            Expression::Equal(key, value) => (key, Some([value.as_str()].into()), [].into(), true),
            Expression::NotEqual(key, value) => (key, None, [value.as_str()].into(), false),
            Expression::Exists(key) => (key, None, BTreeSet::new(), true),
            Expression::DoesNotExist(key) => (key, None, BTreeSet::new(), false),
        };
        let of_key = required.entry(key).or_default();
        of_key.exists |= exists;
        of_key.denied.extend(denied);
        of_key.allowed = match (of_key.allowed.take(), allowed) {
            (Some(known), Some(allowed)) => Some(&known & &allowed),
            (known, allowed) => known.or(allowed),
        };
    }
    let mut choices = vec![BTreeMap::new()];
    for (key, required) in required.iter().filter(|(_, required)| required.exists) {
        let is_topology = needs.topology_keys.contains(key);
        if is_topology && required.allowed.is_none() {
            // Each host gets a value in any case.
            continue;
        }
        let mut values = values(key, required, hosts);
        values.truncate(if is_topology { DOMAINS_TRIED } else { 1 });
        choices = choices
            .iter()
            .flat_map(|labels| {
                values.iter().map(|value| {
                    let mut labels = labels.clone();
                    labels.insert((*key).to_owned(), value.clone());
                    labels
                })
            })
            .take(DOMAINS_TRIED)
            .collect();
    }
    choices.retain(|labels| {
        let mut labels = labels.clone();
        for key in &needs.topology_keys {
            labels.entry((*key).to_owned()).or_insert("?".to_owned());
        }
        needs.selector.matches(&labels)
    });
    choices
}

fn texts(values: &BTreeSet<String>) -> BTreeSet<&str> {
    values.iter().map(String::as_str).collect()
}

/// Returns the values that a label may have, the most common among hosts first.
fn values(key: &str, required: &Required<'_>, hosts: &[Host]) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for value in hosts.iter().filter_map(|host| host.labels.get(key)) {
        *counts.entry(value).or_default() += 1;
    }
    let of_hosts = counts.keys().copied();
    let allowed = required.allowed.iter().flatten().copied();
    // A label without a value exists.
    let any = required.allowed.is_none().then_some("");
    let all: BTreeSet<&str> = of_hosts.chain(allowed).chain(any).collect();
    let is_allowed = |value: &&str| {
        let allowed = required.allowed.as_ref();
        allowed.is_none_or(|allowed| allowed.contains(value)) && !required.denied.contains(value)
    };
    let mut values: Vec<&str> = all.into_iter().filter(is_allowed).collect();
    values.sort_by(|a, b| {
        let count = |value: &str| counts.get(value).copied().unwrap_or_default();
        count(b).cmp(&count(a)).then_with(|| natural(a, b))
    });
    values.into_iter().map(str::to_owned).collect()
}

/// Returns the domains of hosts, in natural order.
fn known_domains(hosts: &[Host], key: &str) -> Vec<String> {
    let known = hosts.iter().filter_map(|host| topology::domain(host, key));
    let mut known: Vec<&str> = known.collect::<BTreeSet<_>>().into_iter().collect();
    known.sort_by(|a, b| natural(a, b));
    known.into_iter().map(str::to_owned).collect()
}

/// Calls `visit` with every way to split a sum into parts of limited size, until it returns false.
/// Returns whether it was called with all.
fn each_split(
    sum: usize,
    most: &[usize],
    split: &mut Vec<usize>,
    visit: &mut dyn FnMut(&[usize]) -> bool,
) -> bool {
    let Some(limit) = most.get(split.len()) else {
        return sum > 0 || visit(split);
    };
    (0..=sum.min(*limit)).all(|part| {
        split.push(part);
        let goes_on = each_split(sum - part, most, split, visit);
        split.pop();
        goes_on
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_split_of_a_sum_is_visited_once() {
        let mut seen = Vec::new();

        let all = each_split(3, &[2, 1, 3], &mut Vec::new(), &mut |split| {
            seen.push(split.to_vec());
            true
        });

        assert!(all);
        let expected = [
            [0, 0, 3],
            [0, 1, 2],
            [1, 0, 2],
            [1, 1, 1],
            [2, 0, 1],
            [2, 1, 0],
        ];
        assert_eq!(seen, expected);
    }
}
