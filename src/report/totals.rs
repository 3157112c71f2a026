//! Brief phrases for many changes: the actions in clusters, and the totals.

use crate::base::text::counted;
use crate::review::effects::hosts::{AddedHost, HostChanges};
use crate::review::effects::{ChangeCounts, ClusterReview, FileState, Totals};

use super::plain;

/// Lists what a cluster changes, as briefly as possible, such as `adds 4 hosts`.
pub(super) fn deeds(cluster: &ClusterReview) -> Vec<String> {
    let runs_installer = cluster.installer.as_ref().is_some_and(|installer| installer.runs);
    let hosts = host_deeds(&cluster.hosts).map(|(verb, hosts)| (verb, hosts.len(), "host"));
    let by_state = |counts: ChangeCounts, noun: &'static str| {
        let ChangeCounts { created, changed, deleted } = counts;
        [("creates", created, noun), ("changes", changed, noun), ("deletes", deleted, noun)]
    };
    let services = by_state(cluster.services.iter().map(|it| it.state).collect(), "service");
    let outputs = by_state(cluster.outputs.iter().map(|it| it.state).collect(), "output");
    let endpoints = match cluster.state {
        // A cluster's endpoints are created and deleted with it.
        FileState::Created | FileState::Deleted => 0,
        FileState::Changed => cluster.endpoints.len(),
    };
    let deeds = [("runs", usize::from(runs_installer), "installer")].into_iter();
    let deeds = deeds.chain(hosts).chain(services).chain(outputs);
    let made = deeds.chain([("changes", endpoints, "endpoint")]).filter(|(_, count, _)| *count > 0);
    made.map(|(verb, count, noun)| format!("{verb} {}", counted(count, noun))).collect()
}

/// Lists what a cluster does with hosts: a verb, and the hosts as a sentence names them.
pub(super) fn host_deeds(hosts: &HostChanges) -> [(&'static str, Vec<String>); 9] {
    let added = |adopted| {
        let added = hosts.added.iter().filter(move |added| added.adopted == adopted);
        let name = |added: &AddedHost| match &added.part.node {
            None => plain(&added.host),
            Some(node) => format!("{} as {}", plain(&added.host), plain(node)),
        };
        added.map(name).collect()
    };
    let replaced = hosts.replaced.iter();
    let replaced =
        replaced.map(|of| format!("{} by {}", plain(&of.given_back.host), plain(&of.by)));
    [
        ("adds", added(false)),
        ("adopts", added(true)),
        ("replaces", replaced.collect()),
        ("releases", hosts.given_back.iter().map(|it| plain(&it.host)).collect()),
        ("takes over", hosts.from_others.iter().map(|it| plain(&it.host)).collect()),
        ("hands over", hosts.to_others.iter().map(|it| plain(&it.host)).collect()),
        ("changes the role of", hosts.with_another_role().map(|it| plain(&it.host)).collect()),
        (
            "changes the metadata of",
            hosts.with_other_metadata().into_iter().map(|host| plain(host)).collect(),
        ),
        ("renames the machine on", hosts.with_another_name().map(|it| plain(&it.host)).collect()),
    ]
}

/// Formats the totals: clusters, hosts and services; files; and three remarks about hosts. Lines
/// without content are empty.
pub(super) fn totals(totals: &Totals) -> [String; 4] {
    let hosts = [
        (totals.hosts_added, "added"),
        (totals.hosts_given_back, "released"),
        (totals.hosts_moved, "moved"),
        (totals.hosts_with_another_role, "with a new role"),
        (totals.hosts_with_other_metadata, "with other labels or annotations"),
    ];
    let parts = [
        counts("cluster", &totals.clusters),
        with_counts("host", &hosts),
        with_counts("machine", &[(totals.machines_with_another_name, "renamed")]),
        counts("service", &totals.services),
        counts("output", &totals.outputs),
        with_counts(
            "installer",
            &[(totals.installers_run, if totals.installers_run == 1 { "runs" } else { "run" })],
        ),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let unknown = match totals.hosts_of_unknown_use {
        0 => String::new(),
        count => {
            let them = if count == 1 { "it" } else { "them" };
            format!(
                "{} released may be in use: the repo has no snapshot of {them}",
                counted(count, "host")
            )
        }
    };
    let added = added_of_unknown_use(totals).unwrap_or_default();
    [parts.join("; "), counts("file", &totals.files).unwrap_or_default(), added, unknown]
}

/// Counts added hosts that are known only by their manifests.
pub(super) fn added_of_unknown_use(totals: &Totals) -> Option<String> {
    let count = totals.hosts_added_of_unknown_use;
    let them = if count == 1 { "it" } else { "them" };
    (count > 0).then(|| {
        format!("{} added: state unknown, no snapshot shows {them}", counted(count, "host"))
    })
}

pub(super) fn counts(noun: &str, counts: &ChangeCounts) -> Option<String> {
    with_counts(
        noun,
        &[(counts.created, "created"), (counts.changed, "changed"), (counts.deleted, "deleted")],
    )
}

/// Formats counts: `2 files created`, or if states differ, `3 files: 1 created, 2 changed`.
fn with_counts(noun: &str, counts: &[(usize, &str)]) -> Option<String> {
    let counts: Vec<&(usize, &str)> = counts.iter().filter(|(count, _)| *count > 0).collect();
    match counts.as_slice() {
        [] => None,
        [(count, what)] => Some(format!("{} {what}", counted(*count, noun))),
        several => {
            let all = several.iter().map(|(count, _)| count).sum();
            let parts: Vec<String> =
                several.iter().map(|(count, what)| format!("{count} {what}")).collect();
            Some(format!("{}: {}", counted(all, noun), parts.join(", ")))
        }
    }
}
