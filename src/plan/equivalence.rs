//! Host kinds: equivalence classes of hosts that meet the same requirements.
//!
//! Requirements are checked once per kind instead of once per host. The topology domain of a host
//! and its owners do not belong to its kind.

use std::collections::{BTreeSet, HashMap, HashSet};

use kube::core::Expression;

use super::eligibility::{self, Needs};
use crate::inventory::Host;
use crate::inventory::machine::Machine;

/// The hosts by kind.
pub(crate) struct HostKinds<'h> {
    of_host: Vec<Option<usize>>,
    /// Topology domains, `keys` values for each host.
    domains: Vec<Option<&'h str>>,
    /// Number of topology keys.
    keys: usize,
    /// One host of each kind.
    samples: Vec<usize>,
    /// Hosts that a machine names by MAC address.
    named: HashSet<usize>,
    /// Kinds by key and value of the labels that selectors name.
    by_label: HashMap<(String, String), Vec<usize>>,
}

/// The properties that hosts of a kind share.
#[derive(PartialEq, Eq, Hash)]
struct Alike<'a> {
    /// Labels that selectors name, by the number of their key. A value that no selector names is
    /// `None`.
    labels: Vec<(usize, Option<&'a str>)>,
    /// For each interface that services use: set if the host has an address on it.
    addressed: Vec<bool>,
    /// The capacity, if a machine has requirements.
    machine: Option<Capacity>,
    /// The host itself if a machine names it, so that it is a kind of its own.
    named: Option<usize>,
}

/// The properties for which machines have requirements.
#[derive(PartialEq, Eq, Hash)]
struct Capacity {
    cpu: Option<u64>,
    memory_mib: Option<u64>,
    sriov: bool,
    qat: bool,
    is_addressed: bool,
}

/// The values that selectors name for one label key.
#[derive(Default)]
struct Asked {
    number: usize,
    values: BTreeSet<String>,
}

impl<'h> HostKinds<'h> {
    /// Groups hosts by kind, and collects the topology domains of those hosts.
    ///
    /// Only hosts that `counts`, or that a machine names, have a kind. Both happen in one pass,
    /// because the labels are spread over memory and dominate the time.
    pub(crate) fn new(
        hosts: &'h [Host],
        needs: &[&Needs<'_>],
        topology: &[&str],
        counts: impl Fn(&Host) -> bool,
    ) -> Self {
        let asked = asked(needs);
        let interfaces: BTreeSet<&str> = needs
            .iter()
            .flat_map(|needs| &needs.interfaces)
            .copied()
            .collect();
        let mut kinds = Self {
            of_host: Vec::with_capacity(hosts.len()),
            domains: vec![None; hosts.len() * topology.len()],
            keys: topology.len(),
            samples: Vec::new(),
            named: needs.iter().filter_map(|needs| needs.named()).collect(),
            by_label: HashMap::new(),
        };
        let asks_for_machines = needs
            .iter()
            .any(|needs| needs.machine.is_some() && needs.named().is_none());
        let mut known: HashMap<Alike<'_>, usize> = HashMap::new();
        for (index, host) in hosts.iter().enumerate() {
            let named = kinds.named.contains(&index);
            if !(counts(host) || named && eligibility::unusable_when_named(host).is_none()) {
                kinds.of_host.push(None);
                continue;
            }
            let mut labels = Vec::new();
            for (key, value) in &host.labels {
                if let Some(asked) = asked.get(key) {
                    labels.push((
                        asked.number,
                        asked.values.contains(value).then_some(value.as_str()),
                    ));
                }
                // An empty value counts as missing, as in `topology::domain`.
                if let Some(at) = topology
                    .iter()
                    .position(|other| other == key)
                    .filter(|_| !value.is_empty())
                {
                    kinds.domains[index * topology.len() + at] = Some(value);
                }
            }
            let addressed = interfaces
                .iter()
                .map(|interface| host.address(interface).is_ok());
            let machine = asks_for_machines.then(|| {
                let Machine {
                    cpu,
                    memory_mib,
                    sriov,
                    qat,
                    ..
                } = host.machine;
                Capacity {
                    cpu,
                    memory_mib,
                    sriov,
                    qat,
                    is_addressed: host.machine.address(None).is_some(),
                }
            });
            let alike = Alike {
                labels,
                addressed: addressed.collect(),
                machine,
                named: named.then_some(index),
            };
            let next = kinds.samples.len();
            let kind = *known.entry(alike).or_insert(next);
            if kind == next {
                kinds.samples.push(index);
                for (key, value) in &host.labels {
                    if asked
                        .get(key)
                        .is_some_and(|asked| asked.values.contains(value))
                    {
                        kinds
                            .by_label
                            .entry((key.clone(), value.clone()))
                            .or_default()
                            .push(kind);
                    }
                }
            }
            kinds.of_host.push(Some(kind));
        }
        kinds
    }

    /// Returns the number of kinds.
    pub(crate) fn count(&self) -> usize {
        self.samples.len()
    }

    /// Returns the kind of a host; `None` if it does not count.
    pub(crate) fn kind_of(&self, host: usize) -> Option<usize> {
        self.of_host[host]
    }

    /// Returns the topology domains of a host that counts, in the order of the keys.
    pub(crate) fn domains(&self, host: usize) -> &[Option<&'h str>] {
        &self.domains[host * self.keys..(host + 1) * self.keys]
    }

    /// Returns the kinds that meet requirements, in ascending order.
    pub(crate) fn matching(&self, hosts: &[Host], needs: &Needs<'_>) -> Vec<usize> {
        if let Some(named) = needs.named() {
            return self
                .of_host
                .get(named)
                .copied()
                .flatten()
                .into_iter()
                .collect();
        }
        // Only the requirement with the fewest kinds narrows the search; `meets` checks all of
        // them.
        let mut candidates: Option<Vec<usize>> = None;
        for expression in needs.selector.clone() {
            let (key, values) = match expression {
                Expression::Equal(key, value) => (key, BTreeSet::from([value])),
                Expression::In(key, values) => (key, values),
                _ => continue,
            };
            let with = values
                .into_iter()
                .filter_map(|value| self.by_label.get(&(key.clone(), value)));
            let with: Vec<usize> = with.flatten().copied().collect();
            if candidates
                .as_ref()
                .is_none_or(|candidates| with.len() < candidates.len())
            {
                candidates = Some(with);
            }
        }
        let mut candidates = candidates.unwrap_or_else(|| (0..self.count()).collect());
        candidates.sort_unstable();
        let meets = |index: usize| {
            let host = &hosts[index];
            eligibility::unmet(index, host, needs).is_none()
                // A named host may be usable only for the machine that names it.
                && !(self.named.contains(&index) && eligibility::unusable(host).is_some())
        };
        candidates.retain(|kind| meets(self.samples[*kind]));
        candidates
    }
}

/// Returns the label keys and values that selectors name.
fn asked(needs: &[&Needs<'_>]) -> HashMap<String, Asked> {
    let mut asked: HashMap<String, Asked> = HashMap::new();
    for expression in needs.iter().flat_map(|needs| needs.selector.clone()) {
        let (key, values) = match expression {
            Expression::In(key, values) | Expression::NotIn(key, values) => (key, values),
            Expression::Equal(key, value) | Expression::NotEqual(key, value) => {
                (key, BTreeSet::from([value]))
            }
            Expression::Exists(key) | Expression::DoesNotExist(key) => (key, BTreeSet::new()),
        };
        let number = asked.len();
        asked
            .entry(key)
            .or_insert_with(|| Asked {
                number,
                values: BTreeSet::new(),
            })
            .values
            .extend(values);
    }
    asked
}
