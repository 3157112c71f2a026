//! Hosts of a kind meet the same needs: selectors are asked once a kind, not once a host.

use std::collections::{BTreeSet, HashMap, HashSet};

use kube::core::Expression;

use super::eligibility::{self, Needs};
use crate::inventory::Host;
use crate::inventory::machine::Machine;

/// The kinds of some hosts.
pub(crate) struct HostKinds<'h> {
    of_host: Vec<Option<usize>>,
    /// The topology domains of each host, one after the other.
    domains: Vec<Option<&'h str>>,
    /// How many topology keys there are.
    keys: usize,
    /// One host of each kind.
    samples: Vec<usize>,
    /// The hosts that somebody names by MAC addresses.
    named: HashSet<usize>,
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
    /// What it has, where somebody asks for machines.
    machine: Option<Capacity>,
    /// Its index, where somebody names it: it is a kind of its own.
    named: Option<usize>,
}

/// What machines are asked to have.
#[derive(PartialEq, Eq, Hash)]
struct Capacity {
    cpu: Option<u64>,
    memory_mib: Option<u64>,
    sriov: bool,
    qat: bool,
    is_addressed: bool,
}

/// What selectors ask for, of one label.
#[derive(Default)]
struct Asked {
    number: usize,
    values: BTreeSet<String>,
}

impl<'h> HostKinds<'h> {
    /// The kinds that the needs tell apart among the hosts that `counts` and those that somebody names, and the topology
    /// domains of those: both in one pass, because the labels lie all over the memory.
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
                // As in `topology::domain`, an empty value is none.
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

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.samples.len()
    }

    /// The kind of a host; none when it does not count.
    pub(crate) fn kind_of(&self, host: usize) -> Option<usize> {
        self.of_host[host]
    }

    /// The topology domains of a host that counts, key by key.
    pub(crate) fn domains(&self, host: usize) -> &[Option<&'h str>] {
        &self.domains[host * self.keys..(host + 1) * self.keys]
    }

    /// The kinds that meet needs, in order.
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

/// The labels that selectors ask for.
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
