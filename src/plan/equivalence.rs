//! Host kinds: equivalence classes of hosts that meet the same requirements.
//!
//! Requirements are checked once per kind instead of once per host. The topology domain of a host
//! and its owners do not belong to its kind.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use kube::core::Expression;

use super::eligibility::{self, Needs, RequiredSystem};
use super::preference::HostSize;
use crate::base::api::label_query::{named_values, required_label};
use crate::base::api::names::Namespace;
use crate::base::api::reservation::Tenants;
use crate::site::inventory::Host;
use crate::site::inventory::requirements::HardwareRequirements;

/// The hosts by kind.
pub(crate) struct HostKinds<'h> {
    kind_by_host: Vec<Option<usize>>,
    /// Topology domains, one of each key for each host.
    domains: Vec<Option<&'h str>>,
    /// Number of topology keys.
    keys: usize,
    /// One host of each kind.
    samples: Vec<usize>,
    /// Set if kinds are only for node sets that can use the condition of their hosts.
    by_condition: bool,
    /// Kinds by key and value of the labels that selectors name.
    by_label: HashMap<(String, String), Vec<usize>>,
    /// Kinds by the namespaces that node sets require.
    by_namespace: HashMap<&'h Namespace, Vec<usize>>,
}

/// The properties that hosts of a kind share.
#[derive(PartialEq, Eq, Hash)]
struct HostClassKey<'a> {
    /// Labels that selectors name, by the number of the key. A value that no selector names is `None`.
    labels: Vec<(usize, Option<&'a String>)>,
    /// Namespace, if a node set requires it.
    namespace: Option<&'a Namespace>,
    reservations: &'a [Arc<Tenants>],
    /// For each interface that services use: set if the host has an address on it.
    addressed: Vec<bool>,
    /// The hardware, if a node set depends on it.
    hardware: Option<ComparedHardware>,
    /// The host itself if a machine names it, so that it is a kind of its own.
    named: Option<usize>,
    /// Set if its operating system is one for machines to run on.
    installed: bool,
}

/// The properties of hardware that matter to node sets.
#[derive(PartialEq, Eq, Hash)]
struct ComparedHardware {
    /// Decides about the order of hosts.
    size: HostSize,
    /// For each different requirement: set if the host meets it.
    meets: Vec<bool>,
    is_addressed: bool,
}

/// Selection of hosts that have a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CountedHosts<'c> {
    /// Every host, whatever its condition.
    All,
    /// Of these hosts, in ascending order, the ones whose condition suits at least one node set.
    /// They match only such node sets.
    Usable(&'c [usize]),
}

/// A label key that matters to some node set.
#[derive(Default)]
struct SelectedLabel<'k> {
    /// The values that selectors name; `None` if no selector names the key.
    values: Option<BTreeSet<&'k String>>,
    /// Index among the topology keys.
    topology: Option<usize>,
}

impl<'h> HostKinds<'h> {
    /// Groups hosts by kind, and collects the topology domains of those hosts.
    ///
    /// Only hosts that count have a kind. Both happen in one pass, because the labels are spread over
    /// memory and dominate the time.
    pub(crate) fn new(
        hosts: &'h [Host],
        needs: &[&Needs<'_>],
        topology: &[&str],
        counted: CountedHosts<'_>,
    ) -> Self {
        let asked = asked(needs, topology);
        let interfaces: BTreeSet<&str> =
            needs.iter().flat_map(|needs| &needs.interfaces).copied().collect();
        let mut kinds = Self {
            kind_by_host: vec![None; hosts.len()],
            domains: vec![None; hosts.len() * topology.len()],
            keys: topology.len(),
            samples: Vec::new(),
            by_condition: counted != CountedHosts::All,
            by_label: HashMap::new(),
            by_namespace: HashMap::new(),
        };
        let namespaces: HashSet<&Namespace> =
            needs.iter().filter_map(|needs| needs.node_set.namespace.as_ref()).collect();
        let all_named: HashSet<usize> = needs.iter().filter_map(|needs| needs.named()).collect();
        let systems: HashSet<RequiredSystem> = needs.iter().map(|needs| needs.system()).collect();
        let by_hardware = needs.iter().filter(|needs| needs.is_by_hardware());
        let asks_for_machines = by_hardware.clone().any(|needs| needs.node_set.machine.is_some());
        let hardware: BTreeSet<&HardwareRequirements> =
            by_hardware.map(|needs| &needs.node_set.hardware).collect();
        let candidates: Cow<'_, [usize]> = match counted {
            CountedHosts::All => (0..hosts.len()).collect(),
            CountedHosts::Usable(candidates) => candidates.into(),
        };
        let mut known: HashMap<HostClassKey<'_>, usize> = HashMap::new();
        for index in candidates.iter().copied() {
            let host = &hosts[index];
            let named = all_named.contains(&index);
            let is_usable =
                |system| systems.contains(&system) && eligibility::unusable(host, system).is_none();
            // Unless a machine names it, a host is usable with a system or without one, never both.
            let installed = kinds.by_condition && is_usable(RequiredSystem::Installed);
            let counts = !kinds.by_condition
                || installed
                || is_usable(RequiredSystem::NoSystem)
                || named && is_usable(RequiredSystem::OfNamed);
            if !counts {
                continue;
            }
            let mut labels = Vec::new();
            for (number, asked, value) in asked_labels(&asked, &host.labels) {
                if let Some(values) = &asked.values {
                    labels.push((number, values.get(value).copied()));
                }
                // An empty value counts as missing, as in `Host::domain`.
                if let Some(at) = asked.topology.filter(|_| !value.is_empty()) {
                    kinds.domains[index * topology.len() + at] = Some(value.as_str());
                }
            }
            let compared_hardware = (!hardware.is_empty()).then(|| {
                let meets = hardware.iter().map(|asked| host.machine.lacks(asked).next().is_none());
                ComparedHardware {
                    size: HostSize::new(host),
                    meets: meets.collect(),
                    is_addressed: asks_for_machines && host.machine.address(None).is_some(),
                }
            });
            let addressed = interfaces.iter().map(|interface| host.address(interface).is_ok());
            let namespace = Some(&host.key.namespace).filter(|own| namespaces.contains(*own));
            let alike = HostClassKey {
                labels,
                namespace,
                reservations: &host.reservations,
                addressed: addressed.collect(),
                hardware: compared_hardware,
                named: named.then_some(index),
                installed,
            };
            let kind = *known.entry(alike).or_insert_with(|| {
                let kind = kinds.samples.len();
                kinds.samples.push(index);
                if let Some(namespace) = namespace {
                    kinds.by_namespace.entry(namespace).or_default().push(kind);
                }
                for (key, value) in &host.labels {
                    let values = asked.get(key.as_str()).and_then(|of| of.values.as_ref());
                    if values.is_some_and(|values| values.contains(value)) {
                        kinds.by_label.entry((key.clone(), value.clone())).or_default().push(kind);
                    }
                }
                kind
            });
            kinds.kind_by_host[index] = Some(kind);
        }
        kinds
    }

    /// Returns the number of kinds.
    pub(crate) fn count(&self) -> usize {
        self.samples.len()
    }

    /// Returns the kind of a host; `None` if it does not count.
    pub(crate) fn kind_of(&self, host: usize) -> Option<usize> {
        self.kind_by_host[host]
    }

    /// Returns the hosts of each kind.
    pub(crate) fn hosts(&self) -> Vec<Vec<usize>> {
        let mut hosts = vec![Vec::new(); self.count()];
        for (host, kind) in self.kind_by_host.iter().enumerate() {
            kind.iter().for_each(|kind| hosts[*kind].push(host));
        }
        hosts
    }

    /// Returns the topology domains of a host that counts, in the order of the keys. A host without the
    /// label has none.
    pub(crate) fn domains(&self, host: usize) -> &[Option<&'h str>] {
        &self.domains[host * self.keys..(host + 1) * self.keys]
    }

    /// Returns the kinds that meet requirements, in ascending order.
    pub(crate) fn matching(&self, hosts: &[Host], needs: &Needs<'_>) -> Vec<usize> {
        if let Some(named) = needs.named() {
            let is_usable = |_: &usize| {
                !self.by_condition || eligibility::unusable(&hosts[named], needs.system()).is_none()
            };
            let kind = self.kind_by_host.get(named).copied().flatten();
            return kind.filter(is_usable).into_iter().collect();
        }
        // Only the requirement with the fewest kinds narrows the search; `meets` checks all of
        // them.
        let in_namespace = |own| self.by_namespace.get(own).cloned().unwrap_or_default();
        let mut candidates: Option<Vec<usize>> =
            needs.node_set.namespace.as_ref().map(in_namespace);
        let selecting = needs.requirements.iter().map(|(expression, _)| expression);
        let by_value =
            selecting.filter(|of| matches!(of, Expression::Equal(..) | Expression::In(..)));
        for expression in by_value {
            let key = required_label(expression).to_owned();
            let named = named_values(expression).into_iter();
            let with = named.filter_map(|value| self.by_label.get(&(key.clone(), value.clone())));
            let with: Vec<usize> = with.flatten().copied().collect();
            if candidates.as_ref().is_none_or(|candidates| with.len() < candidates.len()) {
                candidates = Some(with);
            }
        }
        let mut candidates = candidates.unwrap_or_else(|| (0..self.count()).collect());
        candidates.sort_unstable();
        let meets = |index: usize| {
            let host = &hosts[index];
            eligibility::unmet(index, host, needs).is_none()
                && (!self.by_condition || eligibility::unusable(host, needs.system()).is_none())
        };
        candidates.retain(|kind| meets(self.samples[*kind]));
        candidates
    }
}

/// Returns the label keys that selectors name, with their values, and the topology keys.
fn asked<'k>(
    needs: &[&'k Needs<'_>],
    topology: &[&'k str],
) -> BTreeMap<&'k str, SelectedLabel<'k>> {
    let mut asked: BTreeMap<&str, SelectedLabel<'_>> = BTreeMap::new();
    for (expression, _) in needs.iter().flat_map(|needs| &needs.requirements) {
        let label = asked.entry(required_label(expression)).or_default();
        label.values.get_or_insert_default().extend(named_values(expression));
    }
    for (at, key) in topology.iter().enumerate() {
        asked.entry(key).or_default().topology = Some(at);
    }
    asked
}

/// Returns the labels that are asked for, with the number of the key. Both maps are in the order of
/// keys, so that one pass finds them without a lookup for each label.
fn asked_labels<'q, 'h>(
    asked: &'q BTreeMap<&str, SelectedLabel<'q>>,
    labels: &'h BTreeMap<String, String>,
) -> impl Iterator<Item = (usize, &'q SelectedLabel<'q>, &'h String)> {
    let mut rest = asked.iter().enumerate().peekable();
    labels.iter().filter_map(move |(key, value)| {
        while rest.next_if(|(_, (other, _))| **other < key.as_str()).is_some() {}
        let (number, (_, asked)) = rest.next_if(|(_, (other, _))| **other == key.as_str())?;
        Some((number, asked, value))
    })
}
