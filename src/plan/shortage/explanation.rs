//! Reasons for a shortage that follow from the hosts that a node set does not have.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::core::{Selector, SelectorExt};
use serde::Serialize;

use super::HostsRefusedByRule;
use crate::base::api::label_query::{required_label, requires_label};
use crate::base::api::names::HostKey;
use crate::base::grouping::grouped;
use crate::plan::demand::NodeSetDemand;
use crate::plan::eligibility::{Needs, Refusal};
use crate::plan::shortage_causes::ShortageCauses;
use crate::site::Site;
use crate::site::inventory::Host;
use crate::site::inventory::mismatch::{Mismatch, mismatch};
use crate::site::inventory::network_remedy::remedy;

/// The part of a shortage's proof that follows from the refusals of other hosts. Demands with equal
/// requirements share it, because it requires a pass over all hosts.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::plan) struct ShortageExplanation {
    /// For each topology key, the domains of matching hosts.
    #[serde(skip)]
    pub(super) topology: Vec<Arc<BTreeSet<String>>>,
    /// Refused hosts by rule, the most common rule first.
    pub(super) refused: Vec<HostsRefusedByRule>,
    /// The requirement that excludes every host, if the selector matches none.
    #[serde(skip)]
    pub(super) mismatch: Option<Mismatch>,
    /// A required label that no host has, with a label of the same name that hosts have.
    pub(super) unknown_label: Option<(String, Option<String>)>,
    /// Set if hosts of its selector exist, but none with the labels of its constraints on domains.
    #[serde(skip)]
    pub(super) is_by_spread: bool,
    /// Advice for a host without network data.
    #[serde(skip)]
    pub(super) remedy: Option<String>,
    /// The host that a machine names by MAC address, with the refusal. The refusal is `None` if another
    /// cluster has the host, or if refused hosts are not listed.
    #[serde(skip)]
    pub(super) named: Option<(HostKey, Option<Refusal>)>,
}

impl ShortageExplanation {
    /// Evaluates `refusals`: every host that the node set does not have, with its refusal. They are
    /// empty if refused hosts are not listed.
    pub(in crate::plan) fn new(
        site: &Site,
        demand: &NodeSetDemand<'_>,
        causes: &ShortageCauses,
        refusals: &[(usize, Option<Refusal>)],
    ) -> Self {
        let hosts = &site.inventory.hosts;
        let matching = refusals.iter().filter_map(|(host, refusal)| {
            let host = &hosts[*host];
            let is_unasked = |refusal: &Refusal| refusal.is_unasked(host, &demand.needs);
            (!refusal.as_ref().is_some_and(is_unasked)).then_some(host)
        });
        let matching: Vec<&Host> = matching.collect();
        let topology = demand.node_set.topology_keys.iter();
        let topology = topology.map(|key| Arc::new(domains_of(matching.iter().copied(), key)));
        let needs = &demand.needs;
        let is_excluded = causes.matching == 0 && demand.kept.len() < hosts.len();
        let by_value = is_excluded && needs.named().is_none();
        let own = needs.node_set.own_selector();
        let mismatch = by_value.then(|| mismatch(hosts, &own)).flatten();
        let selects_any =
            |selector: &Selector| hosts.iter().any(|host| selector.matches(&host.labels));
        let is_by_spread = by_value && selects_any(&own) && !selects_any(&needs.node_set.selector);
        // A machine may lack a host because of its other requirements.
        let by_labels = needs.node_set.machine.is_none() || mismatch.is_some();
        let unknown_label =
            (is_excluded && by_labels).then(|| unknown_label(hosts, needs)).flatten();
        Self {
            topology: topology.collect(),
            remedy: refusals.iter().find_map(|(host, refusal)| {
                let is_of_network = matches!(refusal, Some(Refusal::Unaddressed(_)));
                is_of_network.then(|| remedy(&hosts[*host]))?
            }),
            named: demand.needs.named().map(|named| {
                let own = refusals.iter().find(|(host, _)| *host == named);
                (hosts[named].key.clone(), own.and_then(|(_, refusal)| refusal.clone()))
            }),
            refused: by_rule(site, refusals),
            mismatch,
            unknown_label,
            is_by_spread,
        }
    }
}

/// Returns the known domains of hosts for a topology key.
pub(in crate::plan) fn domains_of<'h>(
    hosts: impl Iterator<Item = &'h Host>,
    key: &str,
) -> BTreeSet<String> {
    let domains: BTreeSet<&str> = hosts.filter_map(|host| host.domain(key)).collect();
    domains.into_iter().map(str::to_owned).collect()
}

fn by_rule(site: &Site, refusals: &[(usize, Option<Refusal>)]) -> Vec<HostsRefusedByRule> {
    let by_rule = grouped(refusals.iter().filter_map(|(host, refusal)| {
        let host = site.inventory.hosts[*host].key.clone();
        Some((refusal.as_ref()?.rule(), host))
    }));
    let rules =
        by_rule.into_iter().map(|(rule, hosts)| HostsRefusedByRule { rule, hosts: hosts.into() });
    let mut rules: Vec<HostsRefusedByRule> = rules.collect();
    rules.sort_by_key(|refused| std::cmp::Reverse(refused.hosts.len()));
    rules
}

fn unknown_label(hosts: &[Host], needs: &Needs<'_>) -> Option<(String, Option<String>)> {
    let is_unknown = |key: &str| hosts.iter().all(|host| !host.labels.contains_key(key));
    let mut selecting = needs.requirements.iter().map(|(of, _)| of);
    let unknown = selecting.find(|of| requires_label(of) && is_unknown(required_label(of)))?;
    let wanted = required_label(unknown).to_owned();
    let name = |key: &str| key.rsplit('/').next().unwrap_or_default().to_owned();
    let mut keys = hosts.iter().flat_map(|host| host.labels.keys());
    let alike = keys.find(|key| name(key) == name(&wanted)).cloned();
    Some((wanted, alike))
}
