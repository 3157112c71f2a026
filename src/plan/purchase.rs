//! Purchases: hosts, with their labels, with which everything is served.
//!
//! Hosts are bought in *kinds*: for each different requirement of the node sets, with just the labels
//! that its selector requires. The planner confirms that a purchase is enough, and that it is not with
//! one host less of any kind. Another choice of kinds may need fewer hosts.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use kube::core::SelectorExt;
use schemars::JsonSchema;
use serde::Serialize;

use super::ask::{PlanHypothesis, PlannedSite, QuestionScope, smallest};
use super::demand::NodeSetDemand;
use super::eligibility::Needs;
use super::shortage::{ShortageReason, domains_of};
use super::skew::DomainRule;
use crate::base::api::label_query::{named_values, required_label, requires_label};
use crate::base::api::names::{ClusterKey, HostKey, Namespace, Part};
use crate::base::api::reservation::Tenants;
use crate::base::api::topology_spread::shared_key;
use crate::base::grouping::grouped_in_order;
use crate::site::Site;
use crate::site::hypothesis::{available_host, usual_namespace};
use crate::site::inventory::machine::MachineProperties;
use crate::site::inventory::{Host, natural};

/// Maximum number of values of a label that a selector names.
const VALUES_TRIED: usize = 20;
/// Maximum number of topology domains of the site for the hosts of a kind.
const DOMAINS_TRIED: usize = 50;

/// A purchase with which everything is served.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Purchase {
    /// Number of hosts; null if no purchase was found that suffices.
    pub hosts: Option<usize>,
    /// True if it is proven that one host less of any kind does not suffice.
    pub is_minimal: bool,
    /// The hosts by kind.
    pub kinds: Vec<BoughtKind>,
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
    /// The hardware that each must have, in words; empty for any.
    pub hardware: String,
    /// Values of topology keys, one for each host. No two hosts have the same. Null is a value that no
    /// other host has.
    pub domains: BTreeMap<String, Vec<Option<String>>>,
    /// Node sets that can use them.
    pub node_sets: Vec<Buyer>,
}

/// A node set that can use bought hosts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Buyer {
    /// The cluster.
    pub cluster: ClusterKey,
    /// The part of the cluster.
    #[serde(flatten)]
    pub part: Part,
}

/// Labels of a host.
type Labels = BTreeMap<String, String>;

/// Hosts of one kind that may be bought.
struct PurchasableKind {
    /// The properties that they share.
    kind: BoughtKind,
    /// A host without the labels that are open.
    host: Host,
    /// Topology keys whose values are open.
    open_keys: Vec<String>,
    /// Number of hosts that its node sets lack.
    missing: usize,
    /// Set if one of its node sets is not served without a purchase.
    is_lacking: bool,
    /// Indices of hosts of this kind, each in a domain of its own.
    own: Range<usize>,
    /// Indices of hosts of this kind in domains of the site, if one topology key is open.
    known: Range<usize>,
}

/// Questions about hosts that are bought.
struct PurchaseSearch<'p, 'q> {
    planned: &'p PlannedSite<'p>,
    hypothesis: &'p PlanHypothesis<'q>,
    /// Indices of all hosts that could be bought.
    all: Range<usize>,
    /// Set if it is not proven that fewer hosts do not suffice.
    is_unproven: Cell<bool>,
}

/// Returns a purchase with which everything is served under a hypothesis; `None` if that needs none.
/// Hosts with labels that are `unwanted`, or that are marked for maintenance, are not bought.
pub fn purchase(
    planned: &PlannedSite<'_>,
    hypothesis: &PlanHypothesis<'_>,
    unwanted: impl Fn(&Labels) -> bool,
) -> Option<Purchase> {
    let (demands, unserved) = planned.unserved(hypothesis, QuestionScope::WithShort);
    if unserved.is_empty() {
        return None;
    }
    let short = unserved.iter().map(|unserved| unserved.index).collect();
    let unwanted = |labels: &Labels| {
        let mut marks = planned.site.settings.maintenance.iter();
        unwanted(labels) || marks.any(|mark| mark.selects(labels))
    };
    let unwanted: &dyn Fn(&Labels) -> bool = &unwanted;
    let site = planned.site;
    let Some(mut kinds) = kinds(site, &demands, &short, unwanted) else {
        return Some(Purchase::default());
    };
    let mut hosts = site.inventory.hosts.clone();
    for kind in &mut kinds {
        let own = (0..kind.missing).map(|_| None);
        kind.own = kind.add(site, &mut hosts, own, unwanted);
        if let [key] = kind.open_keys.as_slice() {
            let known = domains_of(site.inventory.hosts.iter(), key);
            let mut known: Vec<&String> = known.iter().collect();
            known.sort_by(|a, b| natural(a, b));
            kind.known = kind.add(site, &mut hosts, known.into_iter().map(Some), unwanted);
        }
    }
    let (plan, owners) = (planned.plan, planned.owners.clone());
    let with_bought = PlannedSite::with_owners(site, plan, &hosts, hypothesis.more, owners);
    // A host in another domain may do with fewer.
    let mut limits = demands.iter().flat_map(|demand| &demand.spreads);
    let is_skewed = limits.any(|limit| limit.rule != DomainRule::Same);
    let search = PurchaseSearch {
        planned: &with_bought,
        hypothesis,
        all: site.inventory.hosts.len()..hosts.len(),
        is_unproven: Cell::new(is_skewed),
    };
    Some(search.purchase(&kinds, &hosts).unwrap_or_default())
}

impl PurchaseSearch<'_, '_> {
    /// Returns a purchase; `None` if even all hosts together do not suffice.
    fn purchase(&self, kinds: &[PurchasableKind], hosts: &[Host]) -> Option<Purchase> {
        let mut counts: Vec<usize> = kinds.iter().map(|kind| kind.own.len()).collect();
        if !self.suffices(&chosen(kinds, &counts)) {
            return None;
        }
        // Kinds for node sets that lack hosts are left out last.
        let mut order: Vec<usize> = (0..kinds.len()).collect();
        order.sort_by_key(|kind| kinds[*kind].is_lacking);
        for kind in order {
            let suffices = |count: usize| {
                let mut fewer = counts.clone();
                fewer[kind] = count;
                self.suffices(&chosen(kinds, &fewer))
            };
            counts[kind] = smallest(counts[kind], suffices);
        }
        let mut bought = chosen(kinds, &counts);
        let mut result = Vec::new();
        for (kind, count) in kinds.iter().zip(&counts).filter(|(_, count)| **count > 0) {
            let hosts_of_kind = self.in_known_domains(kind, *count, &mut bought);
            let value = |key: &String, host: usize| {
                let is_known = kind.known.contains(&host);
                is_known.then(|| hosts[host].labels.get(key).cloned()).flatten()
            };
            let keys = kind.open_keys.iter();
            let domains = keys.map(|key| {
                let values = hosts_of_kind.iter().map(|host| value(key, *host));
                (key.clone(), values.collect())
            });
            let domains = domains.collect();
            result.push(BoughtKind { hosts: *count, domains, ..kind.kind.clone() });
        }
        Some(Purchase {
            hosts: Some(counts.iter().sum()),
            is_minimal: !self.is_unproven.get(),
            kinds: result,
        })
    }

    /// Exchanges hosts of a kind in domains of their own for hosts in domains of the site, as far as the
    /// purchase still suffices. Returns the hosts, those in known domains first.
    fn in_known_domains(
        &self,
        kind: &PurchasableKind,
        count: usize,
        bought: &mut BTreeSet<usize>,
    ) -> Vec<usize> {
        let mut known = kind.known.clone().take(DOMAINS_TRIED);
        let mut chosen = Vec::new();
        let mut own: Vec<usize> = kind.own.clone().take(count).collect();
        while let Some(last) = own.last()
            && let Some((host, other)) = known.find_map(|host| {
                let mut other = bought.clone();
                other.remove(last);
                other.insert(host);
                self.suffices(&other).then_some((host, other))
            })
        {
            own.pop();
            *bought = other;
            chosen.push(host);
        }
        chosen.extend(own);
        chosen
    }

    /// Returns whether these bought hosts suffice.
    fn suffices(&self, bought: &BTreeSet<usize>) -> bool {
        let mut hypothesis = self.hypothesis.clone();
        let others = self.all.clone().filter(|host| !bought.contains(host));
        hypothesis.gone.extend(others);
        let (_, unserved) = self.planned.unserved(&hypothesis, QuestionScope::WithShort);
        if unserved.iter().any(|unserved| unserved.reason == ShortageReason::Undecided) {
            self.is_unproven.set(true);
        }
        unserved.is_empty()
    }
}

impl PurchasableKind {
    /// Appends hosts of this kind in these domains, or each in a domain of its own for each topology
    /// key, with the reservations that the settings give them. Returns their indices.
    fn add<'d>(
        &self,
        site: &Site,
        hosts: &mut Vec<Host>,
        domains: impl Iterator<Item = Option<&'d String>>,
        unwanted: &dyn Fn(&Labels) -> bool,
    ) -> Range<usize> {
        let first = hosts.len();
        for domain in domains {
            let mut host = self.host.clone();
            for key in &self.open_keys {
                // No label of a host has this form.
                let own = || format!("?{}", hosts.len());
                host.labels.insert(key.clone(), domain.cloned().unwrap_or_else(own));
            }
            if unwanted(&host.labels) {
                continue;
            }
            let reservations = site.settings.reservations.iter();
            let reservations = reservations.filter(|reservation| reservation.matches(&host.labels));
            let tenants = reservations.map(|reservation| Arc::new(reservation.tenants()));
            // No node set knows a reservation that no host of the site has.
            let excludes = |tenants: &Arc<Tenants>| {
                let mut buyers = self.kind.node_sets.iter();
                site.inventory.reservations.contains(tenants)
                    || buyers.any(|buyer| !tenants.include(&buyer.cluster))
            };
            host.reservations = tenants.filter(excludes).collect();
            hosts.push(host);
        }
        first..hosts.len()
    }
}

/// Returns the first hosts of each kind.
fn chosen(kinds: &[PurchasableKind], counts: &[usize]) -> BTreeSet<usize> {
    kinds.iter().zip(counts).flat_map(|(kind, count)| kind.own.clone().take(*count)).collect()
}

/// Returns the kinds of hosts that serve some of the demands. `None` if no bought host can serve one
/// that is lacking: a machine that needs an installed host, or a selector that excludes every host.
fn kinds(
    site: &Site,
    demands: &[NodeSetDemand<'_>],
    lacking: &BTreeSet<usize>,
    unwanted: &dyn Fn(&Labels) -> bool,
) -> Option<Vec<PurchasableKind>> {
    let hosts = &site.inventory.hosts;
    let interfaces: BTreeSet<&str> =
        demands.iter().flat_map(|demand| &demand.needs.interfaces).copied().collect();
    let mut choices = Vec::new();
    for (index, demand) in demands.iter().enumerate() {
        let is_lacking = lacking.contains(&index);
        let required_hardware = &demand.node_set.hardware;
        let machine = MachineProperties::sufficient_for(required_hardware);
        let mut labels = match machine.filter(|_| demand.node_set.machine.is_none()) {
            Some(_) => label_choices(demand, hosts),
            None => Vec::new(),
        };
        labels.retain(|labels| !unwanted(labels));
        if labels.is_empty() && is_lacking {
            return None;
        }
        let namespace = demand.node_set.namespace.clone().unwrap_or_else(|| usual_namespace(hosts));
        for labels in labels {
            let keys = demand.needs.limiting_keys().into_iter();
            let open_keys: Vec<String> =
                keys.filter(|key| !labels.contains_key(*key)).map(str::to_owned).collect();
            let properties = (namespace.clone(), labels, required_hardware, open_keys);
            choices.push((properties, (demand, is_lacking)));
        }
    }
    let kinds = grouped_in_order(choices).into_iter().map(|(properties, demands)| {
        let (namespace, labels, required_hardware, open_keys) = properties;
        let machine = MachineProperties::sufficient_for(required_hardware).unwrap_or_default();
        // Only the labels of a bought host matter.
        let name = demands[0].0.cluster.key.name.clone();
        let key = HostKey { namespace: namespace.clone(), name };
        let host = available_host(key, labels.clone(), interfaces.iter().copied());
        let buyers = demands.iter().map(|(demand, _)| Buyer {
            cluster: demand.cluster.key.clone(),
            part: demand.part.clone(),
        });
        PurchasableKind {
            kind: BoughtKind {
                hosts: 0,
                namespace,
                labels,
                hardware: required_hardware.to_string(),
                domains: BTreeMap::new(),
                node_sets: buyers.collect(),
            },
            host: Host { machine: Arc::new(machine), ..host },
            open_keys,
            missing: demands.iter().map(|(demand, _)| demand.missing).sum(),
            is_lacking: demands.iter().any(|(_, is_lacking)| *is_lacking),
            own: 0..0,
            known: 0..0,
        }
    });
    Some(kinds.collect())
}

/// Returns the labels of hosts that a selector matches: those that it requires. If it limits the
/// values of a topology key, there is a choice for each of them. So there is if all hosts must be in a
/// single domain, unless it is known.
fn label_choices(demand: &NodeSetDemand<'_>, hosts: &[Host]) -> Vec<Labels> {
    let needs = &demand.needs;
    // The labels that it wants, with the values that it names; none if any value will do.
    let mut required: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let requirements = needs.requirements.iter().map(|(expression, _)| expression);
    for expression in requirements.filter(|expression| requires_label(expression)) {
        let values = named_values(expression).into_iter().map(String::as_str);
        required.entry(required_label(expression)).or_default().extend(values);
    }
    let limiting_keys = needs.limiting_keys();
    let mut choices = vec![BTreeMap::new()];
    for (key, named) in &required {
        let is_topology = limiting_keys.contains(key);
        let is_single = shared_key(&needs.node_set.spread) == Some(key);
        if is_topology && named.is_empty() && !is_single {
            // Each host gets a value in any case.
            continue;
        }
        let mut values = sufficient_values(key, needs, hosts);
        if is_single {
            let is_usable = |value: &String| match demand.settled_limit() {
                Some(limit) => limit.domains.contains_key(value.as_str()),
                None => !value.is_empty(),
            };
            values.retain(is_usable);
        }
        values.truncate(if is_topology { VALUES_TRIED } else { 1 });
        if is_single {
            // The last kind stays: the largest domain, which needs fewest further hosts.
            values.reverse();
        }
        choices = choices
            .iter()
            .flat_map(|labels| {
                values.iter().map(|value| {
                    let mut labels = labels.clone();
                    labels.insert((*key).to_owned(), value.clone());
                    labels
                })
            })
            .take(VALUES_TRIED)
            .collect();
    }
    choices.retain(|labels| {
        let mut labels = labels.clone();
        for key in &limiting_keys {
            labels.entry((*key).to_owned()).or_insert("?".to_owned());
        }
        needs.node_set.selector.matches(&labels)
    });
    choices
}

/// Returns the values of a label with which a host meets all requirements on it, the most common among
/// hosts first.
fn sufficient_values(key: &str, needs: &Needs<'_>, hosts: &[Host]) -> Vec<String> {
    let requirements = needs.requirements.iter().map(|(requirement, _)| requirement);
    let requirements = requirements.filter(|requirement| required_label(requirement) == key);
    let named = requirements.clone().flat_map(named_values).map(String::as_str);
    // A label without a value exists.
    let candidates = named.chain([""]);
    let mut counts: BTreeMap<&str, usize> = candidates.map(|value| (value, 0)).collect();
    for value in hosts.iter().filter_map(|host| host.labels.get(key)) {
        *counts.entry(value).or_default() += 1;
    }
    let is_sufficient = |value: &&str| {
        let labels = BTreeMap::from([(key.to_owned(), (*value).to_owned())]);
        requirements.clone().all(|requirement| requirement.matches(&labels))
    };
    let mut values: Vec<&str> = counts.keys().copied().filter(is_sufficient).collect();
    values.sort_by(|a, b| counts[b].cmp(&counts[a]).then_with(|| natural(a, b)));
    values.into_iter().map(str::to_owned).collect()
}
