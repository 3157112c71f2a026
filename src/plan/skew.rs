//! Required constraints on topology domains: the largest difference between the hosts of domains, and
//! a single domain for all hosts.
//!
//! As in Kubernetes, every domain with a matching host counts, whoever has the host. A domain that
//! gets a host must have at most `max_skew` hosts more than the emptiest domain. Hosts that are there
//! already may exceed that. Those of a node set in a single domain decide which one it is; if several
//! domains have equally many of them, the search does.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use kube::core::SelectorExt;
use serde::Serialize;

use super::topology::occurrences;
use crate::base::api::names::Namespace;
use crate::base::api::topology_spread::{SpreadRule, TopologySpread};
use crate::base::layout::VARIABLE;
use crate::site::inventory::Host;
use crate::site::inventory::requirements::HardwareRequirements;
use crate::site::request::NodeSet;

/// Domains with the number of their matching hosts.
type DomainHosts<'a> = BTreeMap<&'a str, usize>;

/// A required constraint of a node set on topology domains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DomainLimit<'a> {
    pub(crate) key: &'a str,
    pub(crate) rule: DomainRule,
    /// The domains that count, with the hosts that the node set retains there.
    pub(crate) domains: DomainHosts<'a>,
}

/// The kind of a constraint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DomainRule {
    Skew(SkewRule),
    /// All hosts in one of the domains.
    Same,
}

/// The largest number of hosts in a domain, given the number in the emptiest domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SkewRule {
    pub(super) max_skew: usize,
    /// Set if the emptiest domain counts as empty, because there are fewer domains than `minDomains`.
    pub(super) counts_from_zero: bool,
}

impl SkewRule {
    /// Returns the most hosts in a domain that grows, given the number of hosts in each.
    pub(crate) fn most(self, hosts: impl Iterator<Item = usize>) -> usize {
        let fewest = hosts.min().filter(|_| !self.counts_from_zero);
        fewest.unwrap_or_default().saturating_add(self.max_skew)
    }
}

/// A constraint that a node set cannot meet with any hosts that it may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DomainProof {
    /// The topology key.
    #[serde(rename = "topologyKey")]
    pub key: String,
    /// The largest difference between the hosts of a domain and of the emptiest domain. Null if all
    /// hosts must be in one domain.
    pub max_skew: Option<usize>,
    /// The domain in which the node set can have the fewest hosts, and their number; with
    /// `sameDomain`, the most hosts. Null if there is none, or if the number counts as 0, because
    /// there are fewer domains than `minDomains`.
    pub decisive: Option<(String, usize)>,
    /// The largest number of further hosts that the node set can have.
    #[serde(skip)]
    pub(super) found: usize,
    /// The largest number of hosts that it can have in domains that count.
    pub can_be_had: usize,
}

/// Domains of matching hosts by selector, namespace, hardware and topology key.
#[derive(Default)]
pub(crate) struct MatchingDomains<'a>(Mutex<HashMap<DomainQuestion, Arc<DomainHosts<'a>>>>);

type DomainQuestion = (String, Option<Namespace>, HardwareRequirements, String);

impl<'a> MatchingDomains<'a> {
    /// Returns the required constraints of a node set on domains, for the hosts that are not gone. Other
    /// hosts may replace some of the kept ones, which come in ascending order.
    pub(crate) fn domain_limits<'q>(
        &self,
        hosts: &'a [Host],
        gone: &BTreeSet<usize>,
        node_set: &'q NodeSet,
        (kept, replaceable): (&BTreeSet<usize>, &[usize]),
    ) -> Vec<DomainLimit<'q>>
    where
        'a: 'q,
    {
        let limit = |spread: &'q TopologySpread| {
            let key = spread.key.as_str();
            let own = |host: &usize| hosts[*host].domain(key);
            let is_matching = |host: &&usize| is_match(&hosts[**host], node_set);
            let gone = occurrences(gone.iter().filter(is_matching).filter_map(own));
            let kept_in = occurrences(kept.iter().filter_map(own));
            let all = self.domains(hosts, node_set, key);
            let left = all.iter().filter(|(domain, hosts)| gone.get(*domain) < Some(*hosts));
            let with_kept = |domain| (domain, kept_in.get(domain).copied().unwrap_or_default());
            let mut domains: DomainHosts<'q> = left.map(|(domain, _)| with_kept(*domain)).collect();
            let rule = match spread.rule {
                SpreadRule::MaxSkew { max_skew, min_domains } => {
                    let counts_from_zero = domains.len() < min_domains;
                    DomainRule::Skew(SkewRule { max_skew, counts_from_zero })
                }
                SpreadRule::Same => {
                    let fullest = fullest_domains(kept.iter().map(own));
                    let staying =
                        kept.iter().filter(|host| replaceable.binary_search(host).is_err());
                    let is_fullest =
                        |own: &Option<&str>| own.is_some_and(|own| fullest.contains(own));
                    let staying = fullest_domains(staying.map(own).filter(is_fullest));
                    let chosen = if staying.is_empty() { fullest } else { staying };
                    if !chosen.is_empty() {
                        let kept =
                            |domain| (domain, domains.get(domain).copied().unwrap_or_default());
                        domains = chosen.into_iter().map(kept).collect();
                    }
                    DomainRule::Same
                }
                SpreadRule::Even => return None,
            };
            Some(DomainLimit { key, rule, domains })
        };
        node_set.spread.iter().filter_map(limit).collect()
    }

    fn domains(&self, hosts: &'a [Host], node_set: &NodeSet, key: &str) -> Arc<DomainHosts<'a>> {
        let NodeSet { selector, namespace, hardware, .. } = node_set;
        let question = (selector.to_string(), namespace.clone(), hardware.clone(), key.to_owned());
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = || {
            let matching = hosts.iter().filter(|host| is_match(host, node_set));
            let domains = matching.filter_map(|host| host.domain(key));
            // Only Flux knows the domain of a variable, which may be one of the others.
            Arc::new(occurrences(domains.filter(|domain| !domain.contains(VARIABLE))))
        };
        known.entry(question).or_insert_with(count).clone()
    }
}

fn is_match(host: &Host, node_set: &NodeSet) -> bool {
    node_set.selector.matches(&host.labels)
        && node_set.namespace.as_ref().is_none_or(|namespace| *namespace == host.key.namespace)
        && (node_set.hardware.is_empty() || host.machine.lacks(&node_set.hardware).next().is_none())
}

/// Returns the domains with most hosts.
pub(super) fn fullest_domains<'a>(
    domains: impl Iterator<Item = Option<&'a str>>,
) -> BTreeSet<&'a str> {
    let mut counts = occurrences(domains.flatten());
    let most = counts.values().copied().max();
    counts.retain(|_, hosts| Some(*hosts) == most);
    counts.into_keys().collect()
}

impl DomainLimit<'_> {
    /// Returns whether a host in a domain may be added to the retained hosts.
    pub(super) fn admits_one_more(&self, domain: Option<&str>) -> bool {
        match self.rule {
            DomainRule::Skew(_) => self.admits(domain, std::iter::empty()),
            DomainRule::Same => domain.is_some_and(|domain| self.domains.contains_key(domain)),
        }
    }

    /// Returns whether a host in a domain may be added to hosts in others.
    pub(crate) fn admits<'d>(
        &self,
        domain: Option<&'d str>,
        others: impl Iterator<Item = Option<&'d str>>,
    ) -> bool {
        match self.rule {
            DomainRule::Skew(rule) => {
                let mut domains = self.domains.clone();
                for domain in others.chain([domain]).flatten() {
                    domains.entry(domain).and_modify(|hosts| *hosts += 1);
                }
                let most = rule.most(domains.values().copied());
                domain.and_then(|own| domains.get(own)).is_none_or(|hosts| *hosts <= most)
            }
            DomainRule::Same => {
                let fullest = fullest_domains(others);
                domain.is_some_and(|domain| fullest.is_empty() || fullest.contains(domain))
            }
        }
    }

    /// Returns why a node set cannot have so many further hosts, judged by the number of hosts that
    /// it could get in each domain if no other node set wanted them. `None` if it can.
    pub(super) fn proof(
        &self,
        missing: usize,
        available: impl Fn(&str) -> usize,
    ) -> Option<DomainProof> {
        let (found, can_be_had, max_skew, decisive) = match self.rule {
            DomainRule::Skew(rule) => {
                let kept: usize = self.domains.values().sum();
                let most = |(domain, kept): (&&str, &usize)| (*kept, *kept + available(domain));
                let reach: Vec<(usize, usize)> = self.domains.iter().map(most).collect();
                let reaching = self.domains.keys().zip(reach.iter().map(|(_, most)| *most));
                let emptiest = reaching.min_by_key(|(_, most)| *most);
                // More hosts in the emptiest domain never lower the limit of another one.
                let limit = rule.most(reach.iter().map(|(_, most)| *most));
                let can_be_had: usize =
                    reach.iter().map(|(kept, most)| (*most).min(limit.max(*kept))).sum();
                let emptiest = emptiest.filter(|_| !rule.counts_from_zero);
                (can_be_had - kept, can_be_had, Some(rule.max_skew), emptiest)
            }
            DomainRule::Same => {
                let most = self.domains.iter().map(|(domain, kept)| {
                    let found = available(domain).min(missing);
                    (found, *kept, domain)
                });
                let largest = most.rev().max_by_key(|(found, ..)| *found);
                let (found, kept) = largest.map_or((0, 0), |(found, kept, _)| (found, kept));
                let largest = largest.map(|(.., domain)| (domain, found + kept));
                (found, found + kept, None, largest)
            }
        };
        (found < missing).then(|| DomainProof {
            key: self.key.to_owned(),
            max_skew,
            decisive: decisive.map(|(domain, hosts)| ((*domain).to_owned(), hosts)),
            found,
            can_be_had,
        })
    }
}
