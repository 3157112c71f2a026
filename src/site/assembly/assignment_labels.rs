//! Labels of assigned hosts that the settings choose: their clusters, and mistakes in them.

use std::collections::{BTreeMap, BTreeSet};

use super::Site;
use crate::base::api::assignment::{Claim, NamedClaim};
use crate::base::api::names::{ClusterKey, HostKey, Namespace, ObjectName, Part, is_label};
use crate::base::finding::{Code, Finding, Origin};
use crate::base::grouping::grouped;
use crate::base::text::counted;
use crate::input::settings::Settings;
use crate::site::inventory::Host;
use crate::site::previous::{PreviousOutput, RecordedAssignment};
use crate::site::request::sipcluster::legacy_labels;
use crate::site::request::{Cluster, Request};

/// Completes claims by labels that name no namespace, and parts that labels do not tell apart.
pub(super) fn resolve(
    hosts: &mut [Host],
    clusters: &BTreeMap<ClusterKey, Request>,
    state: &PreviousOutput,
) -> Vec<Finding> {
    let by_name = grouped(clusters.keys().map(|key| (&key.name, key)));
    let mut findings = Vec::new();
    for host in hosts {
        let is_current = |(claim, _): &(Claim, Origin)| matches!(claim, Claim::Cluster(..));
        let has_current = host.assignment.claims.iter().any(is_current);
        for (claim, origin) in &mut host.assignment.claims {
            if let Claim::Unclear(labels) = claim {
                findings.push(unclear(&host.key, labels, origin));
            }
            if let Claim::Older(older) = claim {
                *claim = match legacy_labels::resolved(older, &host.key, origin, clusters) {
                    Ok(resolved) => {
                        host.assignment.legacy_key = (!has_current).then_some(older.label);
                        resolved
                    }
                    Err(finding) => {
                        findings.push(finding);
                        Claim::Unclear(std::mem::take(&mut older.labels))
                    }
                };
            }
            if let Claim::Named(NamedClaim { name, part, labels }) = claim {
                let named_clusters = by_name.get(name).map_or(&[][..], Vec::as_slice);
                *claim = match owner(&host.key, name, named_clusters, state) {
                    Some(cluster) => Claim::Cluster(cluster.clone(), part.clone()),
                    None => Claim::Unclear(std::mem::take(labels)),
                };
            }
            if let Claim::Cluster(cluster, part) = claim
                && let Some(cluster) =
                    clusters.get(cluster).and_then(|request| request.cluster.as_ref())
            {
                *part = known_part(cluster, part);
            }
        }
        host.assignment.claims.dedup();
    }
    findings
}

/// Reports labels of an assignment that are incomplete or invalid.
fn unclear(host: &HostKey, labels: &str, origin: &Origin) -> Finding {
    let message = format!(
        "the labels {labels} of host {host} name no cluster and role: the host is treated as belonging to another owner"
    );
    Finding::new(Code::UnclearLabels, message)
        .at(origin.at(["metadata", "labels"]))
        .help("complete the labels of its assignment; or remove them if the host is unassigned")
}

/// Returns the cluster of a name that a host belongs to: the one that it was assigned to, or else
/// the nearest.
fn owner<'a>(
    host: &HostKey,
    name: &ObjectName,
    named_clusters: &[&'a ClusterKey],
    state: &'a PreviousOutput,
) -> Option<&'a ClusterKey> {
    let held = state.held.get(host).into_iter().flatten();
    let released = state.released.get(host).and_then(|release| release.by.as_ref());
    let mut before = held.map(|held| &held.cluster).chain(released);
    let assigned = before.find(|cluster| cluster.name == *name);
    assigned.or_else(|| legacy_labels::nearest(named_clusters, host))
}

/// Returns the part of a cluster that labels mean.
///
/// Labels that people set often have the role alone. A node set may also have the name of its role,
/// which labels have for hosts without a node set, too.
fn known_part(cluster: &Cluster, part: &Part) -> Part {
    if *part != part.role.into() || cluster.node_sets.contains_key(part) {
        return part.clone();
    }
    let role_parts =
        || cluster.node_sets.keys().filter(|other| other.role == part.role && other.node.is_none());
    let named_like_role = role_parts().find(|other| {
        let name = other.node_set.as_ref();
        name.is_some_and(|name| name.as_str() == part.role.in_lower_case())
    });
    let mut all = role_parts();
    let only = all.next().filter(|_| all.next().is_none());
    named_like_role.or(only).unwrap_or(part).clone()
}

/// Reports clusters whose hosts would get labels that are invalid, that are those of another
/// cluster, or that replace other labels at once.
pub(super) fn mistakes(site: &Site) -> Vec<Finding> {
    let mut findings: Vec<Finding> = changed_at_once(site).into_iter().collect();
    if !site.settings.assignment.is_default() {
        findings.extend(site.valid_clusters().filter_map(|it| invalid(it, &site.settings)));
        findings.extend(ambiguous(site));
    }
    findings
}

fn invalid(cluster: &Cluster, settings: &Settings) -> Option<Finding> {
    let problem = cluster.node_sets.keys().find_map(|part| {
        let labels = settings.assignment.labels_of(&cluster.key, part);
        if let Some((key, value)) = labels.iter().find(|(key, value)| !is_label(key, value)) {
            return Some(format!("the label `{key}: {value}`, which no host can have"));
        }
        let key = settings.assignment.collision(&cluster.key, part)?;
        Some(format!("two labels with the key `{key}`"))
    })?;
    let message = format!("hosts of {} would get {problem}", cluster.key);
    Some(
        Finding::new(Code::InvalidAssignmentLabel, message)
            .at(cluster.origin.name())
            .see(settings.place(["assignment".into()]), "the labels of assigned hosts")
            .help("keys and values have at most 63 letters, digits, `-`, `_` and `.`: shorten the name of the cluster, or change `assignment`")
            .for_cluster(&cluster.key),
    )
}

/// Reports node sets whose hosts would have the same labels.
fn ambiguous(site: &Site) -> Vec<Finding> {
    type Labels = BTreeMap<String, String>;
    type Users<'a> = BTreeMap<Option<&'a Namespace>, (&'a Cluster, &'a Part)>;
    let mut known: BTreeMap<Labels, Users<'_>> = BTreeMap::new();
    let mut findings = Vec::new();
    for (cluster, part, node_set) in site.valid_clusters().flat_map(Cluster::parts) {
        let labels = site.settings.assignment.labels.labels(&cluster.key, part);
        let users = known.entry(labels).or_default();
        let namespace = node_set.namespace.as_ref();
        // A node set without a namespace may have hosts of any.
        let other = match namespace {
            Some(_) => users.get(&None).or_else(|| users.get(&namespace)),
            None => users.values().next(),
        };
        match other {
            Some(other) => findings.push(same_labels(*other, (cluster, part), &site.settings)),
            None => _ = users.insert(namespace, (cluster, part)),
        }
    }
    findings
}

fn same_labels(
    (one, one_part): (&Cluster, &Part),
    (other, other_part): (&Cluster, &Part),
    settings: &Settings,
) -> Finding {
    let (message, help) = if one.key == other.key {
        (
            format!(
                "hosts of {} would get the same labels as {other_part} and as {one_part}",
                one.key
            ),
            "add `{{ role }}` or `{{ node_set }}` to `assignment.labels`, or rename the MachineDeployment",
        )
    } else {
        (
            format!("hosts of {} and of {} would get the same labels", one.key, other.key),
            "add `{{ cluster.namespace }}` to `assignment.labels`",
        )
    };
    Finding::new(Code::InvalidAssignmentLabel, message)
        .at(other.origin.name())
        .see(settings.place(["assignment".into(), "labels".into()]), "the labels of assigned hosts")
        .help(help)
        .for_cluster(&one.key)
        .for_cluster(&other.key)
}

/// Reports hosts whose labels would be replaced in one step. Until every selector has the new
/// labels, it would find no host.
fn changed_at_once(site: &Site) -> Option<Finding> {
    let Site { clusters, inventory, state, settings, .. } = site;
    let held = state.held.iter().flat_map(|(host, held)| held.iter().map(move |held| (host, held)));
    let is_changed = |(host, held): &(&HostKey, &RecordedAssignment)| {
        let RecordedAssignment { cluster, part, labels, .. } = held;
        settings.assignment.would_replace(labels, (cluster, part), |key, value| {
            inventory.host(host).is_none_or(|host| {
                host.live.origin.is_none()
                    || host.assignment.in_snapshot.contains(key)
                    || host.labels.get(key) == Some(value)
            })
        })
    };
    let changed: Vec<(&HostKey, &RecordedAssignment)> =
        held.filter(|it| clusters.contains_key(&it.1.cluster) && is_changed(it)).collect();
    let (host, first) = changed.first()?;
    let live = inventory.host(host).and_then(|host| host.live.origin.as_ref());
    let others = match changed.len() - 1 {
        0 => String::new(),
        more => format!(" and of {}", counted(more, "further host")),
    };
    let finding = Finding::new(
        Code::LabelsReplaced,
        format!(
            "the labels of host {host}{others} would be replaced at once, so selectors by the old ones would find \
             no host"
        ),
    )
    .at(settings.place(["assignment".into(), "labels".into()]))
    .see(first.origin.at(["metadata", "labels"]), "its labels")
    .see_each(live.map(|origin| (origin.at(["metadata", "labels"]), "those in the snapshot")))
    .help(
        "write the labels that `assignment.labels` had before under `assignment.former`: then hosts \
         have both until you remove it",
    );
    let clusters: BTreeSet<&ClusterKey> = changed.iter().map(|(_, held)| &held.cluster).collect();
    Some(finding.for_clusters(clusters))
}
