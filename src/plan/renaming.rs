//! Machines that have got another name in their Provisioning: they keep the hosts that they had.
//!
//! A Provisioning does not say that a machine was renamed: one name is gone, and another one has come. So the host of a
//! name that is gone goes to a new name that asks for no more than the host has, before anything is given back. By such
//! a guess nobody loses a machine that runs.

use std::collections::{BTreeMap, BTreeSet};

use super::machines::by_role_and_name;
use super::placement::CurrentAssignment;
use super::violations::own_violation;
use crate::api::names::Part;
use crate::inventory::usage::Usage;
use crate::request::{Cluster, NodeSet};
use crate::site::Site;

/// More machines than anybody renames at once; to pair them takes time and memory that grow with the square of it.
const MOST: usize = 2_000;

/// Gives the hosts of names that are gone to machines that have none and name none: to as many as can be, in the order of
/// names, and first to those of the same role. Whether there is such a machine.
pub(super) fn inherit<'a>(
    assignments: &mut BTreeMap<&'a Part, Vec<CurrentAssignment<'a>>>,
    cluster: &'a Cluster,
    site: &Site,
) -> bool {
    let mut heirs: Vec<(&Part, &NodeSet)> = cluster
        .node_sets
        .iter()
        .filter(|(part, set)| {
            let is_any_host = set
                .machine
                .as_ref()
                .is_some_and(|machine| machine.named.is_none());
            is_any_host && !assignments.contains_key(part)
        })
        .collect();
    // Labels may name the cluster and no machine of it; what is in use by a Machine was a SIPCluster's, and stays out of this.
    let is_gone = |part: &Part, assignment: &CurrentAssignment<'_>| {
        let is_nobodys = part.node.is_some()
            || !matches!(
                site.inventory.hosts[assignment.host].usage,
                Some(Usage::Consumer(_))
            );
        is_nobodys && !cluster.node_sets.contains_key(part)
    };
    let mut gone: Vec<(&Part, CurrentAssignment<'_>)> = assignments
        .iter()
        .flat_map(|(part, of_part)| of_part.iter().map(|assignment| (*part, *assignment)))
        .filter(|(part, assignment)| is_gone(part, assignment))
        .collect();
    if heirs.is_empty() || gone.is_empty() || gone.len() > MOST {
        return false;
    }
    heirs.sort_by(|a, b| by_role_and_name(a.0, b.0));
    gone.sort_by(|a, b| by_role_and_name(a.0, b.0).then(a.1.host.cmp(&b.1.host)));
    let fits = |heir: usize, gone_one: usize| {
        {
            let host = gone[gone_one].1.host;
            own_violation(host, &site.inventory.hosts[host], Some(heirs[heir].1))
        }
        .is_none()
    };
    let has_same_role = |heir: usize, gone_one: usize| heirs[heir].0.role == gone[gone_one].0.role;
    let mut pairs = Pairs {
        fits,
        is_preferred: has_same_role,
        heirs: vec![None; gone.len()],
    };
    pairs.find_all(heirs.len());

    let inherited: Vec<(usize, usize)> = pairs
        .heirs
        .iter()
        .enumerate()
        .filter_map(|(gone_one, heir)| Some((gone_one, (*heir)?)))
        .collect();
    for (gone_one, heir) in &inherited {
        let (part, assignment) = gone[*gone_one];
        if let Some(of_part) = assignments.get_mut(part) {
            of_part.retain(|other| other.host != assignment.host);
        }
        assignments
            .entry(heirs[*heir].0)
            .or_default()
            .push(assignment);
    }
    !inherited.is_empty()
}

/// Who gets what: as many pairs as there can be.
struct Pairs<F, P> {
    /// Whether an heir can have something.
    fits: F,
    /// What an heir would rather have.
    is_preferred: P,
    /// Who has each thing.
    heirs: Vec<Option<usize>>,
}

impl<F: Fn(usize, usize) -> bool, P: Fn(usize, usize) -> bool> Pairs<F, P> {
    /// Serves so many heirs, one after the other.
    fn find_all(&mut self, heirs: usize) {
        // What a search has tried in vain leads nowhere until another one succeeds.
        let mut tried = BTreeSet::new();
        for heir in 0..heirs {
            if self.find(heir, &mut tried) {
                tried.clear();
            }
        }
    }

    /// Finds something for an heir, if need be by finding something else for who has it.
    fn find(&mut self, heir: usize, tried: &mut BTreeSet<usize>) -> bool {
        let (preferred, others): (Vec<usize>, Vec<usize>) =
            (0..self.heirs.len()).partition(|thing| (self.is_preferred)(heir, *thing));
        let things: Vec<usize> = preferred.into_iter().chain(others).collect();
        let is_free = |thing: &&usize| self.heirs[**thing].is_none() && (self.fits)(heir, **thing);
        if let Some(free) = things.iter().find(is_free).copied() {
            self.heirs[free] = Some(heir);
            return true;
        }
        for thing in things {
            let Some(other) = self.heirs[thing] else {
                continue;
            };
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

    /// Who gets each of three things, by what fits.
    fn paired(heirs: usize, fits: impl Fn(usize, usize) -> bool) -> Vec<Option<usize>> {
        let mut pairs = Pairs {
            fits,
            is_preferred: |_, _| false,
            heirs: vec![None; 3],
        };
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
        assert_eq!(
            paired(3, |heir, thing| thing <= 2 - heir),
            [Some(2), Some(1), Some(0)]
        );
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
