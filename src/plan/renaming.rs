//! Machines that were renamed in their Provisioning and retain their hosts.
//!
//! A Provisioning does not record a rename: one name disappears, and another one appears. Therefore
//! a new name inherits the host of a name that disappeared if it meets the requirements. That
//! happens before any host is released, so a wrong guess never stops a running machine.

use std::collections::{BTreeMap, BTreeSet};

use super::CurrentAssignment;
use super::eligibility::Needs;
use super::machines::by_role_and_name;
use super::violations::{Violation, own_violation};
use crate::base::api::names::Part;
use crate::site::Site;
use crate::site::inventory::usage::HostUsage;
use crate::site::request::{Cluster, NodeSet};

/// Maximum number of names that disappear at once. Pairing is quadratic in time and memory.
const MOST: usize = 2_000;

/// Assigns hosts of names that disappeared to machines without a host that name none.
///
/// Pairs as many as possible, in the order of names, and the same role first. Returns whether there
/// is such a machine.
pub(super) fn inherit<'a>(
    assignments: &mut BTreeMap<&'a Part, Vec<CurrentAssignment<'a>>>,
    cluster: &'a Cluster,
    site: &Site,
) -> bool {
    let hosts = &site.inventory.hosts;
    let is_heir = |(part, set): &(&Part, &NodeSet)| {
        let is_any_host = set.machine.as_ref().is_some_and(|machine| machine.named.is_none());
        is_any_host && !assignments.contains_key(part)
    };
    let node_sets = cluster.parts().map(|(_, part, set)| (part, set));
    let mut heirs: Vec<(&Part, &NodeSet)> = node_sets.filter(is_heir).collect();
    // Labels may name the cluster but no machine. A host that a Machine consumes came from a
    // SIPCluster and is not inherited.
    let is_gone = |(part, assignment): &(&Part, CurrentAssignment<'_>)| {
        let is_consumed = matches!(hosts[assignment.host].live.usage, Some(HostUsage::Consumer(_)));
        (part.node.is_some() || !is_consumed) && !cluster.node_sets.contains_key(*part)
    };
    let all = assignments.iter().flat_map(|(part, all)| all.iter().map(|own| (*part, *own)));
    let mut gone: Vec<(&Part, CurrentAssignment<'_>)> = all.filter(is_gone).collect();
    if heirs.is_empty() || gone.is_empty() || gone.len() > MOST {
        return false;
    }
    heirs.sort_by(|a, b| by_role_and_name(a.0, b.0));
    gone.sort_by(|a, b| by_role_and_name(a.0, b.0).then(a.1.host.cmp(&b.1.host)));
    let needs: Vec<Needs<'_>> =
        heirs.iter().map(|(_, node_set)| Needs::without_services(node_set)).collect();
    let fits = |heir: usize, gone_one: usize| {
        let host = gone[gone_one].1.host;
        // A machine keeps a host that has no operating system yet under its new name too.
        own_violation(host, &hosts[host], Some(&needs[heir]))
            .is_none_or(|violation| violation == Violation::NotInstalled)
    };
    let has_same_role = |heir: usize, gone_one: usize| heirs[heir].0.role == gone[gone_one].0.role;
    let mut pairs =
        BipartiteMatching { fits, is_preferred: has_same_role, heirs: vec![None; gone.len()] };
    pairs.find_all(heirs.len());

    let mut is_inherited = false;
    for ((part, assignment), heir) in gone.iter().zip(pairs.heirs) {
        let Some(heir) = heir else { continue };
        if let Some(part_assignments) = assignments.get_mut(part) {
            part_assignments.retain(|other| other.host != assignment.host);
        }
        assignments.entry(heirs[heir].0).or_default().push(*assignment);
        is_inherited = true;
    }
    is_inherited
}

/// A maximum bipartite matching of heirs and things.
struct BipartiteMatching<F, P> {
    /// Returns whether an heir can have a thing.
    fits: F,
    /// Returns whether an heir prefers a thing.
    is_preferred: P,
    /// The heir of each thing.
    heirs: Vec<Option<usize>>,
}

impl<F: Fn(usize, usize) -> bool, P: Fn(usize, usize) -> bool> BipartiteMatching<F, P> {
    /// Serves heirs `0..heirs` in order.
    fn find_all(&mut self, heirs: usize) {
        // A thing that was tried in vain leads nowhere until a search succeeds.
        let mut tried = BTreeSet::new();
        for heir in 0..heirs {
            if self.find(heir, &mut tried) {
                tried.clear();
            }
        }
    }

    /// Finds a thing for an heir, by an augmenting path if necessary.
    fn find(&mut self, heir: usize, tried: &mut BTreeSet<usize>) -> bool {
        let mut things: Vec<usize> = (0..self.heirs.len()).collect();
        things.sort_by_key(|thing| !(self.is_preferred)(heir, *thing));
        let is_free = |thing: &&usize| self.heirs[**thing].is_none() && (self.fits)(heir, **thing);
        if let Some(free) = things.iter().find(is_free).copied() {
            self.heirs[free] = Some(heir);
            return true;
        }
        for thing in things {
            let Some(other) = self.heirs[thing] else { continue };
            if (self.fits)(heir, thing) && tried.insert(thing) && self.find(other, tried) {
                self.heirs[thing] = Some(heir);
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the heir of each of three things.
    fn paired(heirs: usize, fits: impl Fn(usize, usize) -> bool) -> Vec<Option<usize>> {
        let mut pairs =
            BipartiteMatching { fits, is_preferred: |_, _| false, heirs: vec![None; 3] };
        pairs.find_all(heirs);
        pairs.heirs
    }

    #[test]
    fn things_go_to_heirs_in_their_order_where_all_fit() {
        assert_eq!(paired(3, |_, _| true), [Some(0), Some(1), Some(2)]);
        assert_eq!(paired(2, |_, _| true), [Some(0), Some(1), None]);
    }

    #[test]
    fn an_heir_leaves_a_thing_to_one_that_can_have_no_other() {
        assert_eq!(paired(3, |heir, thing| thing <= 2 - heir), [Some(2), Some(1), Some(0)]);
    }

    #[test]
    fn one_who_can_have_nothing_keeps_nobody_from_anything() {
        assert_eq!(
            paired(4, |heir, thing| heir != 1 && thing < 2 || heir == 3),
            [Some(0), Some(2), Some(3)]
        );
        assert_eq!(paired(2, |_, _| false), [None; 3]);
    }
}
