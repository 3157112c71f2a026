//! Tells why a node set could not be filled.

use std::collections::BTreeMap;

use kube::core::Expression;

use super::demand::Demand;
use super::eligibility::Refusal;
use crate::finding::Finding;
use crate::site::{Host, Site};

/// How many rules and how many hosts of each a message names.
const RULES_SHOWN: usize = 5;
const HOSTS_SHOWN: usize = 3;

/// There are not enough hosts for a node set.
pub(super) struct Shortage {
    /// How many of the missing hosts were found.
    pub(super) found: usize,
    /// Why each other host was refused, in the inventory's order.
    pub(super) refusals: Vec<(usize, Refusal)>,
}

impl Shortage {
    /// The finding: how many hosts are missing, by which constraint, and why the others were refused.
    pub(super) fn explain(&self, site: &Site, demand: &Demand<'_>) -> Finding {
        let Demand { cluster, role, wanted, missing, .. } = demand;
        let short = missing - self.found;
        let has = wanted - missing;
        let message = format!(
            "{short} of the {wanted} {role} hosts of {} cannot be found: {}",
            cluster.key,
            self.constraint(site, demand)
        );
        let free = if self.found == 1 { "1 more is free".to_owned() } else { format!("{} more are free", self.found) };
        let mut help = vec![format!("the cluster has {has}, and {free}")];
        if !self.refusals.is_empty() {
            help[0] += &format!("; of the other {} hosts", self.refusals.len());
        }
        let rules = self.by_rule();
        for (rule, hosts) in rules.iter().take(RULES_SHOWN) {
            let names: Vec<String> =
                hosts.iter().take(HOSTS_SHOWN).map(|host| site.inventory.hosts[*host].key.to_string()).collect();
            let more = if hosts.len() > HOSTS_SHOWN { ", …" } else { "" };
            help.push(format!("{:>5} {rule} ({}{more})", hosts.len(), names.join(", ")));
        }
        if rules.len() > RULES_SHOWN {
            let others: usize = rules[RULES_SHOWN..].iter().map(|(_, hosts)| hosts.len()).sum();
            help.push(format!("{others:>5} are refused for other reasons"));
        }
        Finding::error(message)
            .at(cluster.origin.at(["spec", "nodes", role.as_str(), "count"]))
            .help(help.join("\n"))
            .of(&cluster.key)
    }

    /// The refused hosts by the rule that refuses them, the commonest first.
    fn by_rule(&self) -> Vec<(String, Vec<usize>)> {
        let mut by_rule: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (host, refusal) in &self.refusals {
            by_rule.entry(refusal.rule()).or_default().push(*host);
        }
        let mut rules: Vec<(String, Vec<usize>)> = by_rule.into_iter().collect();
        rules.sort_by_key(|(_, hosts)| std::cmp::Reverse(hosts.len()));
        rules
    }

    /// The constraint that decides: what has to change for the node set to be filled.
    fn constraint(&self, site: &Site, demand: &Demand<'_>) -> String {
        let hosts = &site.inventory.hosts;
        if hosts.is_empty() {
            return "the repo has no BareMetalHost".to_owned();
        }
        let refused_by = |is: fn(&Refusal) -> bool| self.refusals.iter().filter(|(_, refusal)| is(refusal)).count();
        let others = self.refusals.len() - refused_by(|refusal| *refusal == Refusal::NotSelected) + self.found;
        if others == 0 {
            let hint = unknown_label(hosts, demand).unwrap_or_default();
            let besides = if demand.kept.is_empty() { "" } else { " besides those that it has" };
            return format!("its labelSelector matches no host{besides}{hint}");
        }
        let selected = others + demand.kept.len();
        if selected < demand.wanted {
            return format!("its labelSelector matches only {selected} of all hosts");
        }
        match demand.needs.topology_key {
            Some(key) if refused_by(|refusal| matches!(refusal, Refusal::DomainTaken { .. })) > 0 => {
                format!("its topologyKey wants every host in another domain of {key}")
            }
            _ => format!("too few of the {selected} hosts that its labelSelector matches can be taken"),
        }
    }
}

/// A label that the selector asks for and that no host has, with one of the same name that hosts do have.
fn unknown_label(hosts: &[Host], demand: &Demand<'_>) -> Option<String> {
    let wanted = demand.needs.selector.clone().into_iter().find_map(|expression| match expression {
        Expression::In(key, _) | Expression::Equal(key, _) | Expression::Exists(key) => {
            hosts.iter().all(|host| !host.labels.contains_key(&key)).then_some(key)
        }
        _ => None,
    })?;
    let name = |key: &str| key.rsplit('/').next().unwrap_or_default().to_owned();
    let alike = hosts.iter().flat_map(|host| host.labels.keys()).find(|key| name(key) == name(&wanted));
    Some(match alike {
        Some(alike) => format!(" (none has a label {wanted}; did you mean {alike}?)"),
        None => format!(" (none has a label {wanted})"),
    })
}
