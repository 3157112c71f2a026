//! Hosts of a kind meet the same needs: selectors are asked once a kind, not once a host.

use std::collections::{BTreeSet, HashMap};

use kube::core::{Expression, SelectorExt};

use super::eligibility::{self, Needs};
use crate::site::Host;

/// The kinds of the hosts that can be taken at all.
pub(super) struct Kinds {
    of_host: Vec<Option<usize>>,
    /// One host of each kind.
    samples: Vec<usize>,
    /// The kinds with a value of a label that some selector names.
    by_label: HashMap<(String, String), Vec<usize>>,
}

/// All in which two hosts of a kind are alike.
#[derive(PartialEq, Eq, Hash)]
struct Alike<'a> {
    /// The labels that selectors ask for, by the number of their key; no value where no selector names it.
    labels: Vec<(usize, Option<&'a str>)>,
    /// Whether it has an address on each interface that somebody uses.
    addressed: Vec<bool>,
}

/// What selectors ask for, of one label.
#[derive(Default)]
struct Asked {
    number: usize,
    values: BTreeSet<String>,
}

impl Kinds {
    /// The kinds that the needs tell apart.
    pub(super) fn new(hosts: &[Host], needs: &[&Needs<'_>]) -> Self {
        let asked = asked(needs);
        let interfaces: BTreeSet<&str> = needs.iter().flat_map(|needs| &needs.interfaces).copied().collect();
        let mut kinds =
            Self { of_host: Vec::with_capacity(hosts.len()), samples: Vec::new(), by_label: HashMap::new() };
        let mut known: HashMap<Alike<'_>, usize> = HashMap::new();
        for (index, host) in hosts.iter().enumerate() {
            if eligibility::unusable(host).is_some() {
                kinds.of_host.push(None);
                continue;
            }
            let labels = host.labels.iter().filter_map(|(key, value)| {
                let asked = asked.get(key)?;
                Some((asked.number, asked.values.contains(value).then_some(value.as_str())))
            });
            let addressed = interfaces.iter().map(|interface| host.address(interface).is_ok());
            let alike = Alike { labels: labels.collect(), addressed: addressed.collect() };
            let next = kinds.samples.len();
            let kind = *known.entry(alike).or_insert(next);
            if kind == next {
                kinds.samples.push(index);
                for (key, value) in &host.labels {
                    if asked.get(key).is_some_and(|asked| asked.values.contains(value)) {
                        kinds.by_label.entry((key.clone(), value.clone())).or_default().push(kind);
                    }
                }
            }
            kinds.of_host.push(Some(kind));
        }
        kinds
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.samples.len()
    }

    /// The kind of a host; none when nobody can take it.
    pub(super) fn of(&self, host: usize) -> Option<usize> {
        self.of_host[host]
    }

    /// The kinds that meet needs, in order.
    pub(super) fn meeting(&self, hosts: &[Host], needs: &Needs<'_>) -> Vec<usize> {
        let mut candidates: Option<Vec<usize>> = None;
        for expression in needs.selector.clone() {
            let (key, values) = match expression {
                Expression::Equal(key, value) => (key, BTreeSet::from([value])),
                Expression::In(key, values) => (key, values),
                _ => continue,
            };
            let with = values.into_iter().filter_map(|value| self.by_label.get(&(key.clone(), value)));
            let with: Vec<usize> = with.flatten().copied().collect();
            if candidates.as_ref().is_none_or(|candidates| with.len() < candidates.len()) {
                candidates = Some(with);
            }
        }
        let mut candidates = candidates.unwrap_or_else(|| (0..self.count()).collect());
        candidates.sort_unstable();
        let meets = |host: &Host| {
            needs.selector.matches(&host.labels) && eligibility::unaddressed(host, &needs.interfaces).is_none()
        };
        candidates.retain(|kind| meets(&hosts[self.samples[*kind]]));
        candidates
    }
}

/// The labels that selectors ask for.
fn asked(needs: &[&Needs<'_>]) -> HashMap<String, Asked> {
    let mut asked: HashMap<String, Asked> = HashMap::new();
    for expression in needs.iter().flat_map(|needs| needs.selector.clone()) {
        let (key, values) = match expression {
            Expression::In(key, values) | Expression::NotIn(key, values) => (key, values),
            Expression::Equal(key, value) | Expression::NotEqual(key, value) => (key, BTreeSet::from([value])),
            Expression::Exists(key) | Expression::DoesNotExist(key) => (key, BTreeSet::new()),
        };
        let number = asked.len();
        asked.entry(key).or_insert_with(|| Asked { number, values: BTreeSet::new() }).values.extend(values);
    }
    asked
}
