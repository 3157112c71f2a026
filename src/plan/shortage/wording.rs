//! Descriptions of a shortage: its constraint, and its proof line by line.

use std::collections::BTreeSet;

use super::{
    CompetingNodeSet, HostsRefusedByRule, MatchedTopology, NodeSetConflict, Shortage,
    ShortageReason,
};
use crate::base::api::cluster_api::FAILURE_DOMAIN;
use crate::base::text::counted;
use crate::plan::eligibility::Refusal;
use crate::plan::shortage_causes::{ShortageCauses, listed_refusals};
use crate::plan::skew::DomainProof;
use crate::site::inventory::natural;

/// Maximum numbers of rules, hosts of each rule, rivals and domains that a message names.
const RULES_SHOWN: usize = 8;
const HOSTS_SHOWN: usize = 3;
const RIVALS_SHOWN: usize = 4;
const DOMAINS_SHOWN: usize = 8;

impl Shortage {
    /// Describes the constraints without each of which fewer hosts would be lacking. The site has this
    /// number of hosts.
    pub fn constraint(&self, hosts: usize) -> String {
        if hosts == 0 {
            return "the repo has no BareMetalHost".to_owned();
        }
        if self.is_machine && self.matching == 0 && self.explanation.mismatch.is_none() {
            return "none meets the requirements".to_owned();
        }
        if self.matching == 0 && hosts > self.kept {
            let besides = if self.kept == 0 { "" } else { " besides the assigned ones" };
            let hint = match &self.explanation.unknown_label {
                Some((wanted, Some(alike))) => {
                    format!(" (none has a label {wanted}; did you mean {alike}?)")
                }
                Some((wanted, None)) => format!(" (none has a label {wanted})"),
                None => String::new(),
            };
            let requirement = match &self.explanation.unknown_label {
                Some((wanted, _)) if wanted.starts_with(FAILURE_DOMAIN) => "its `failureDomain`",
                _ if self.explanation.is_by_spread => "its constraint on topology domains",
                _ => "its selector",
            };
            return format!("{requirement} matches no host{besides}{hint}");
        }
        match &self.reason {
            ShortageReason::Counted { rivals, can_be_had } => self.count(hosts, rivals, *can_be_had),
            ShortageReason::Crossing(conflict) => conflict.constraint(),
            ShortageReason::Constrained(proof) => {
                let DomainProof { key, max_skew, decisive, can_be_had, .. } = proof;
                match (max_skew, decisive) {
                    (None, Some((domain, _))) => format!(
                        "`sameDomain` wants all hosts in one domain of {key}, and {domain} can have {can_be_had} at most"
                    ),
                    (None, None) => format!("no host that it may have is in a domain of {key}"),
                    (Some(max_skew), emptiest) => {
                        let emptiest = emptiest.as_ref().map_or_else(
                            || "there are fewer domains than `minDomains`".to_owned(),
                            |(domain, hosts)| format!("{domain} can have {}", counted(*hosts, "host")),
                        );
                        format!(
                            "`maxSkew: {max_skew}` over {key} admits {can_be_had} in all, because {emptiest}"
                        )
                    }
                }
            }
            ShortageReason::Undecided => {
                "the search for hosts that are apart by all topologyKeys at once ended at its limit of steps".to_owned()
            }
        }
    }

    /// Describes constraints that are proven by counting.
    fn count(&self, hosts: usize, rivals: &[CompetingNodeSet], can_be_had: usize) -> String {
        let ShortageCauses { by_one, by_several, topology, .. } = &self.causes;
        let selected = self.matching + self.kept;
        let is_too_few = selected < self.wanted && !self.is_machine;
        let matching = || match (self.is_machine, is_too_few) {
            (true, _) => format!("{} would do", counted(selected, "host")),
            (_, true) if selected < hosts => {
                format!("its selector matches only {selected} of all hosts")
            }
            (_, true) => format!(
                "there {} only {}",
                if hosts == 1 { "is" } else { "are" },
                counted(hosts, "host")
            ),
            _ if selected == 1 => "1 host matches its selector".to_owned(),
            _ => format!("{selected} hosts match its selector"),
        };
        let mut parts = Vec::new();
        if is_too_few || !by_one.is_empty() {
            let listed = listed_refusals(selected, by_one, by_several);
            parts.push(matching() + &listed);
        }
        if !topology.is_empty() {
            let keys: Vec<&str> = topology.iter().map(|(key, _)| key.as_str()).collect();
            let wants = match self.max_per_domain {
                1 => format!(
                    "its topologyKey wants every host in another domain of {}",
                    keys.join(", and in another one of ")
                ),
                most => format!(
                    "its topologyKey allows {most} hosts in a domain of {}",
                    keys.join(", and of ")
                ),
            };
            parts.push(match topology.as_slice() {
                [(_, domains)] if domains * self.max_per_domain < self.wanted => {
                    let verb = if selected == 1 { "is" } else { "are" };
                    format!("{wants}, and {selected} that match {verb} in {domains}")
                }
                _ => wants,
            });
        }
        if rivals.len() > 1 {
            let missing: usize = rivals.iter().map(|rival| rival.missing).sum();
            let verb = if can_be_had == 1 { "is" } else { "are" };
            parts.push(format!(
                "{} node sets compete for the same hosts: together they miss {missing}, and {can_be_had} {verb} available",
                rivals.len(),
            ));
        }
        if parts.is_empty() {
            parts.push(match by_several.as_slice() {
                [] => matching() + ", too few are available",
                several => matching() + &listed_refusals(selected, several, &[]),
            });
        }
        parts.join("; ")
    }

    /// Describes the proof, line by line.
    pub fn proof(&self) -> Vec<String> {
        if let Some((host, refusal)) = &self.explanation.named {
            let why = refusal
                .as_ref()
                .map_or_else(|| "goes to another cluster".to_owned(), Refusal::to_string);
            return vec![format!("it is host {host} by its MAC address, which {why}")];
        }
        let free = match (self.found, self.may_lack_more) {
            (1, false) => "1 more is free".to_owned(),
            (found, false) => format!("{found} more are free"),
            (found, true) => format!("at most {found} more are free for it"),
        };
        let mut lines = Vec::new();
        if !self.is_machine {
            lines.push(format!("the node set has {} of {}, and {free}", self.kept, self.wanted));
        }
        for MatchedTopology { key, domains, used, .. } in
            self.topology.iter().filter(|_| self.matching > 0)
        {
            let used = domains.intersection(used).count();
            let first = first_by_natural_order(domains, DOMAINS_SHOWN + 1);
            let (named, key_domains) =
                (some_of(first.iter(), DOMAINS_SHOWN), counted(domains.len(), "domain"));
            let used = if used == 0 {
                String::new()
            } else {
                format!(", {used} of which it already uses")
            };
            let matching = match self.matching {
                1 => "1 other host matches".to_owned(),
                count => format!("{count} other hosts match"),
            };
            lines.push(format!("{matching}, in {key_domains} of {key} ({named}){used}"));
        }
        match &self.reason {
            ShortageReason::Counted { rivals, .. } if rivals.len() > 1 => {
                let rivals = some_of(rivals.iter(), RIVALS_SHOWN);
                lines.push(format!("competing node sets, with the hosts that they miss: {rivals}"));
            }
            ShortageReason::Crossing(conflict) => lines.extend(conflict.proof(self.max_per_domain)),
            _ => {}
        }
        let refused = self.explanation.refused.as_slice();
        let (shown, others) = refused.split_at(RULES_SHOWN.min(refused.len()));
        let hosts = |refused: &HostsRefusedByRule| refused.hosts.len();
        let total: usize = refused.iter().map(hosts).sum();
        if total > 0 {
            let noun = if self.is_machine { "host" } else { "other host" };
            lines.push(format!("{} cannot serve it:", counted(total, noun)));
        }
        for HostsRefusedByRule { rule, hosts } in shown {
            let named = some_of(hosts.iter(), HOSTS_SHOWN);
            lines.push(format!("{:>5} {rule} ({named})", hosts.len()));
        }
        if !others.is_empty() {
            let others: usize = others.iter().map(hosts).sum();
            lines.push(format!("{others:>5} for other reasons"));
        }
        lines.extend(self.explanation.remedy.clone());
        lines
    }
}

impl NodeSetConflict {
    /// Describes the constraints without each of which there would be no conflict.
    fn constraint(&self) -> String {
        let Self { domains, quotas, skews, .. } = self;
        if domains.is_empty() && skews.is_empty() && !quotas.is_empty() {
            let hosts = match self.has_no_more_hosts {
                true => format!(", and only {} can serve it", counted(self.usable, "host")),
                false => String::new(),
            };
            return format!("the quota is {}{hosts}", quotas.join(", and "));
        }
        let others = match self.node_sets.len() {
            0 | 1 => String::new(),
            count => format!(" for {count} node sets together"),
        };
        let within = match quotas.as_slice() {
            [] => String::new(),
            quotas => format!(" within the quota of {}", quotas.join(", and of ")),
        };
        let what = match (domains.is_empty(), skews.is_empty()) {
            (_, true) => "is apart by all topologyKeys at once",
            (true, false) => "meets the constraints on topology domains",
            (false, false) => "meets the topologyKeys and the constraints on topology domains",
        };
        format!("no choice of hosts {what}{others}{within}")
    }

    /// Describes the proof, line by line. It names every node set and domain.
    fn proof(&self, max_per_domain: usize) -> Vec<String> {
        let Self { node_sets, domains, quotas, .. } = self;
        let (limits, kinds) = match (domains.is_empty(), quotas.is_empty()) {
            (_, true) => ("topologyKeys", "node sets or domains"),
            (true, false) => ("quotas", "node sets or quotas"),
            (false, false) => ("topologyKeys and quotas", "node sets, domains or quotas"),
        };
        let all = some_of(node_sets.iter(), node_sets.len());
        let these = if node_sets.len() == 1 { "it" } else { "them" };
        let mut lines = vec![match node_sets.len() {
            1 => format!("in conflict with its {limits}, with the hosts that it misses: {all}"),
            _ => format!("in conflict with each other, with the hosts that they miss: {all}"),
        }];
        for (key, domains) in domains {
            let sorted = first_by_natural_order(domains, domains.len());
            let named = some_of(sorted.iter(), sorted.len());
            lines.push(format!("over {} of {key} ({named})", counted(domains.len(), "domain")));
        }
        lines.extend(quotas.iter().map(|quota| format!("over the quota of {quota}")));
        let usable = counted(self.usable, "host");
        lines.push(if domains.is_empty() {
            format!("{usable} can serve {these}")
        } else {
            format!(
                "{usable} can serve {these}, {} of which are in none of these domains; a node set takes at most {} \
                 of each domain",
                self.outside,
                if max_per_domain == 1 { "one host".to_owned() } else { counted(max_per_domain, "host") }
            )
        });
        lines.push(if self.is_minimal {
            format!("with one of these {kinds} fewer there would be a choice")
        } else {
            format!(
                "some of these {kinds} may not matter: the search for fewer ended at its limit of steps"
            )
        });
        lines.extend(self.skews.iter().map(|skew| format!("over the spread of {skew}")));
        lines
    }
}

/// Joins the first items, with an ellipsis if there are more.
pub(super) fn some_of<T: ToString>(
    things: impl ExactSizeIterator<Item = T>,
    shown: usize,
) -> String {
    let more = if things.len() > shown { ", …" } else { "" };
    let first: Vec<String> = things.take(shown).map(|thing| thing.to_string()).collect();
    format!("{}{more}", first.join(", "))
}

/// Returns the first values in natural order, without sorting the others: there may be thousands.
fn first_by_natural_order(values: &BTreeSet<String>, count: usize) -> Vec<&String> {
    let order = |a: &&String, b: &&String| natural(a, b).then_with(|| a.cmp(b));
    let mut first: Vec<&String> = values.iter().collect();
    if first.len() > count {
        first.select_nth_unstable_by(count, order);
        first.truncate(count);
    }
    first.sort_unstable_by(order);
    first
}
