//! Rule: node sets together request more hosts than they share.
//!
//! If all of them are planned, that is an error. This rule also warns while one is held back and
//! the others take the hosts.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::counts::exceeds;
use super::node_sets::{NodeSets, RequestedNodeSet};
use crate::base::finding::{Code, Finding};
use crate::base::text::counted;

/// Finds pools of hosts that are too small for their node sets. If pools are nested, the smallest
/// one is reported.
pub(super) fn contended(node_sets: &NodeSets<'_>) -> Vec<Finding> {
    // Different labelSelectors may select the same hosts.
    let mut by_pool: BTreeMap<&[usize], Vec<usize>> = BTreeMap::new();
    for (index, set) in node_sets
        .all
        .iter()
        .enumerate()
        .filter(|(_, set)| set.node_set.wanted() > 0 && !node_sets.pool(set).is_empty())
    {
        by_pool.entry(node_sets.pool(set)).or_default().push(index);
    }
    // A pool is contained only in pools that have its first kind.
    let mut with_kind: HashMap<usize, Vec<&[usize]>> = HashMap::new();
    for pool in by_pool.keys() {
        pool.iter().for_each(|kind| with_kind.entry(*kind).or_default().push(pool));
    }
    let mut within: BTreeMap<&[usize], Vec<usize>> = BTreeMap::new();
    for (pool, sets) in &by_pool {
        for around in
            with_kind.get(&pool[0]).into_iter().flatten().filter(|around| is_subset(pool, around))
        {
            within.entry(around).or_default().extend(sets);
        }
    }
    let mut pools: Vec<(&[usize], Vec<usize>)> = within.into_iter().collect();
    pools.sort_by_key(|(pool, _)| pool.len());
    let mut told: BTreeSet<usize> = BTreeSet::new();
    let mut findings = Vec::new();
    for (_, mut rivals) in pools {
        rivals.sort_unstable();
        let rivals: Vec<&RequestedNodeSet<'_>> =
            rivals.iter().map(|index| &node_sets.all[*index]).collect();
        findings.extend(describe(&rivals, node_sets, &mut told));
    }
    findings
}

/// Reports whether one ascending list contains the other.
fn is_subset(one: &[usize], other: &[usize]) -> bool {
    let mut rest = other.iter();
    one.len() <= other.len() && one.iter().all(|kind| rest.any(|other| other == kind))
}

fn describe(
    rivals: &[&RequestedNodeSet<'_>],
    node_sets: &NodeSets<'_>,
    told: &mut BTreeSet<usize>,
) -> Option<Finding> {
    let largest = rivals.iter().copied().max_by_key(|set| node_sets.count(set))?;
    let (hosts, wanted) =
        (node_sets.count(largest), rivals.iter().map(|set| set.node_set.wanted()).sum::<usize>());
    // A finding about one of the node sets explains the rest.
    let is_told = |set: &&RequestedNodeSet<'_>| {
        set.is_short || exceeds(set, node_sets) || told.contains(&set.pool)
    };
    if rivals.len() < 2 || wanted <= hosts || rivals.iter().any(is_told) {
        return None;
    }
    told.extend(rivals.iter().map(|set| set.pool));
    let mut finding = Finding::new(
        Code::BeyondReach,
        format!(
            "{} request {wanted} hosts together, but their labelSelectors match {hosts}",
            counted(rivals.len(), "node set")
        ),
    )
    .help("request fewer hosts, or select other hosts for one of them");
    for (index, set) in rivals.iter().enumerate() {
        let place = set.node_set.count_at.place();
        let what =
            format!("{} of {} requests {}", set.role, set.cluster.key, set.node_set.wanted());
        finding = if index == 0 { finding.at(place) } else { finding.see(place, what) };
        if !finding.clusters.contains(&set.cluster.key) {
            finding = finding.for_cluster(&set.cluster.key);
        }
    }
    Some(finding)
}
