//! Brief phrases for many changes: the actions in clusters, and the totals.

use crate::base::text::counted;
use crate::review::effects::{ChangeCounts, ClusterReview, FileState, Totals};

/// An action, for sentences about clusters and for commit subjects.
pub(super) struct ReportedAction {
    /// Third person: "the cluster …".
    pub(super) does: &'static str,
    /// Imperative, for commit subjects.
    pub(super) imperative: &'static str,
    pub(super) what: String,
}

fn deed(
    does: &'static str,
    imperative: &'static str,
    count: usize,
    noun: &str,
) -> Option<ReportedAction> {
    (count > 0).then(|| ReportedAction { does, imperative, what: counted(count, noun) })
}

/// Lists what changes in clusters, as briefly as possible.
pub(super) fn deeds(clusters: &[&ClusterReview]) -> Vec<ReportedAction> {
    let sum = |of: &dyn Fn(&ClusterReview) -> usize| {
        clusters.iter().map(|cluster| of(cluster)).sum::<usize>()
    };
    let adopted = sum(&|cluster| cluster.hosts.added.iter().filter(|added| added.adopted).count());
    let services = |state: FileState| {
        sum(&|cluster| cluster.services.iter().filter(|of| of.state == state).count())
    };
    let outputs = |state: FileState| {
        sum(&|cluster| cluster.outputs.iter().filter(|of| of.state == state).count())
    };
    let endpoints = |cluster: &ClusterReview| match cluster.state {
        // A cluster's endpoints are created and deleted with it.
        FileState::Created | FileState::Deleted => 0,
        FileState::Changed => cluster.endpoints.len(),
    };
    let deeds = [
        deed("runs", "run", sum(&|cluster| usize::from(runs_installer(cluster))), "installer"),
        deed("adds", "add", sum(&|cluster| cluster.hosts.added.len()) - adopted, "host"),
        deed("adopts", "adopt", adopted, "host"),
        deed("replaces", "replace", sum(&|cluster| cluster.hosts.replaced.len()), "host"),
        deed("releases", "release", sum(&|cluster| cluster.hosts.given_back.len()), "host"),
        deed("takes over", "take over", sum(&|cluster| cluster.hosts.from_others.len()), "host"),
        deed("hands over", "hand over", sum(&|cluster| cluster.hosts.to_others.len()), "host"),
        deed(
            "changes the role of",
            "change the role of",
            sum(&|cluster| cluster.hosts.with_another_role().count()),
            "host",
        ),
        deed(
            "changes the metadata of",
            "change the metadata of",
            sum(&|cluster| cluster.hosts.with_other_metadata().len()),
            "host",
        ),
        deed(
            "renames",
            "rename",
            sum(&|cluster| cluster.hosts.with_another_name().count()),
            "machine",
        ),
        deed("creates", "create", services(FileState::Created), "service"),
        deed("changes", "change", services(FileState::Changed), "service"),
        deed("deletes", "delete", services(FileState::Deleted), "service"),
        deed("creates", "create", outputs(FileState::Created), "output"),
        deed("changes", "change", outputs(FileState::Changed), "output"),
        deed("deletes", "delete", outputs(FileState::Deleted), "output"),
        deed("changes", "change", sum(&endpoints), "endpoint"),
    ];
    deeds.into_iter().flatten().collect()
}

fn runs_installer(cluster: &ClusterReview) -> bool {
    cluster.installer.as_ref().is_some_and(|installer| installer.runs)
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
