//! Required topology spread constraints: the largest difference between the hosts of domains.
//!
//! As in Kubernetes, every domain with a matching host counts, whoever has the host. A domain that
//! gets a host must have at most `max_skew` hosts more than the emptiest domain. Hosts that are there
//! already may exceed that.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use kube::core::SelectorExt;

use crate::base::api::names::Namespace;
use crate::base::api::topology_spread::TopologySpread;
use crate::site::inventory::Host;
use crate::site::request::NodeSet;

/// Domains with the number of their matching hosts.
type DomainHosts<'a> = BTreeMap<&'a str, usize>;

/// A required topology spread constraint of a node set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SkewLimit<'a> {
    pub(crate) key: &'a str,
    pub(crate) rule: SkewRule,
    /// The domains that count, with the hosts that the node set retains there.
    pub(crate) domains: DomainHosts<'a>,
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SkewProof {
    pub(super) key: String,
    pub(super) max_skew: usize,
    /// The domain with the fewest hosts, with the most hosts that the node set can have there; `None` if
    /// the number counts as 0.
    pub(super) emptiest: Option<(String, usize)>,
    /// The largest number of hosts that the node set can have.
    pub(super) can_be_had: usize,
}

/// Domains of matching hosts by selector, namespace and topology key.
#[derive(Default)]
pub(crate) struct MatchingDomains<'a>(Mutex<HashMap<DomainQuestion, Arc<DomainHosts<'a>>>>);

type DomainQuestion = (String, Option<Namespace>, String);

impl<'a> MatchingDomains<'a> {
    /// Returns the required constraints of a node set, for the hosts that are not gone.
    pub(crate) fn skew_limits<'q>(
        &self,
        hosts: &'a [Host],
        gone: &BTreeSet<usize>,
        node_set: &'q NodeSet,
        kept: &BTreeSet<usize>,
    ) -> Vec<SkewLimit<'q>>
    where
        'a: 'q,
    {
        let required = node_set.spread.iter().filter(|spread| spread.is_required);
        let limit = |spread: &'q TopologySpread| {
            let key = spread.key.as_str();
            let mut all: DomainHosts<'q> = (*self.domains(hosts, node_set, key)).clone();
            let gone = gone.iter().map(|host| &hosts[*host]);
            for domain in
                gone.filter(|host| is_match(host, node_set)).filter_map(|host| host.domain(key))
            {
                if let Some(left) = all.get_mut(domain) {
                    *left = left.saturating_sub(1);
                }
            }
            all.retain(|_, hosts| *hosts > 0);
            all.values_mut().for_each(|hosts| *hosts = 0);
            for domain in kept.iter().filter_map(|host| hosts[*host].domain(key)) {
                all.entry(domain).and_modify(|kept| *kept += 1);
            }
            SkewLimit {
                key,
                rule: SkewRule {
                    max_skew: spread.max_skew,
                    counts_from_zero: all.len() < spread.min_domains,
                },
                domains: all,
            }
        };
        required.map(limit).collect()
    }

    fn domains(&self, hosts: &'a [Host], node_set: &NodeSet, key: &str) -> Arc<DomainHosts<'a>> {
        let question = (node_set.selector.to_string(), node_set.namespace.clone(), key.to_owned());
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = || {
            let mut domains = DomainHosts::new();
            let matching = hosts.iter().filter(|host| is_match(host, node_set));
            for domain in matching.filter_map(|host| host.domain(key)) {
                *domains.entry(domain).or_default() += 1;
            }
            Arc::new(domains)
        };
        known.entry(question).or_insert_with(count).clone()
    }
}

fn is_match(host: &Host, node_set: &NodeSet) -> bool {
    node_set.selector.matches(&host.labels)
        && node_set.namespace.as_ref().is_none_or(|namespace| *namespace == host.key.namespace)
}

impl SkewLimit<'_> {
    /// Returns why a node set cannot have so many further hosts, judged by the number of hosts that
    /// it could get in each domain if no other node set wanted them. `None` if it can.
    pub(super) fn proof(
        &self,
        missing: usize,
        available: impl Fn(&str) -> usize,
    ) -> Option<SkewProof> {
        let kept: usize = self.domains.values().sum();
        let most = |(domain, kept): (&&str, &usize)| (*kept, *kept + available(domain));
        let reach: Vec<(usize, usize)> = self.domains.iter().map(most).collect();
        let least_reach = self.domains.keys().zip(&reach).min_by_key(|(_, (_, most))| *most);
        let emptiest = least_reach.filter(|_| !self.rule.counts_from_zero);
        // More hosts in the emptiest domain never lower the limit of another one.
        let limit = self.rule.most(reach.iter().map(|(_, most)| *most));
        let can_be_had: usize =
            reach.iter().map(|(kept, most)| (*most).min(limit.max(*kept))).sum();
        (can_be_had < kept + missing).then(|| SkewProof {
            key: self.key.to_owned(),
            max_skew: self.rule.max_skew,
            emptiest: emptiest.map(|(domain, (_, most))| ((*domain).to_owned(), *most)),
            can_be_had,
        })
    }
}
