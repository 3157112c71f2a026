//! Generated files that are not what the input makes of them, and what to do.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use camino::Utf8Path;

use super::{FAINT, one_line, styled};
use crate::Generated;
use crate::api::names::ClusterKey;
use crate::compare::{Change, Changes};
use crate::finding::{Finding, counted};
use crate::layout;
use crate::source::Place;

/// How many stale files are named.
const FILES_SHOWN: usize = 20;

/// The files that changes are about, one a line.
pub fn stale_files(changes: &Changes) -> String {
    let mut out = String::new();
    for (path, change) in changes.files.iter().take(FILES_SHOWN) {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "  {:<7}  {}", verb(change), one_line(path.as_str()));
    }
    if changes.files.len() > FILES_SHOWN {
        let _ = writeln!(out, "  … and {} more", changes.files.len() - FILES_SHOWN);
    }
    out
}

/// Says by which command stale files are mended.
pub fn how_to_mend(command: &str) -> String {
    format!("{} run `{command}`, and commit the result\n", styled(FAINT, "help:"))
}

/// Stale files as findings, one for all that is stale of a cluster: it stands at the SIPCluster, which is what a
/// reviewer has before the eyes, and names the files. Those of clusters that are gone, and those that clusters share,
/// stand where they lie. `command` mends them.
pub fn stale(generated: &Generated, command: &str) -> Vec<Finding> {
    let Some(changes) = &generated.changes else { return Vec::new() };
    let output = &generated.site.settings.output;
    // What clusters share comes last.
    let mut by_cluster: BTreeMap<(bool, Option<ClusterKey>), Vec<(&Utf8Path, &Change)>> = BTreeMap::new();
    for (path, change) in &changes.files {
        let cluster = path.strip_prefix(output).ok().and_then(layout::cluster_of);
        by_cluster.entry((cluster.is_none(), cluster)).or_default().push((path, change));
    }
    let finding = |((_, cluster), files): ((bool, Option<ClusterKey>), Vec<(&Utf8Path, &Change)>)| {
        let of = match &cluster {
            Some(cluster) => format!("of {cluster}"),
            None => "that clusters share".to_owned(),
        };
        let verb_of_all = if files.len() == 1 { "is" } else { "are" };
        let count = counted(files.len(), "generated file");
        let finding = Finding::error(format!("{count} {of} {verb_of_all} stale"))
            .help(format!("run `{command}`, and commit the result"));
        let request = cluster.as_ref().and_then(|cluster| generated.site.clusters.get(cluster));
        let finding =
            request.into_iter().fold(finding, |finding, request| finding.at(request.origin.at(["metadata", "name"])));
        let finding = files.into_iter().fold(finding, |finding, (path, change)| {
            finding.see(Place::File(Arc::from(path)), format!("to be {}", verb(change)))
        });
        cluster.iter().fold(finding, Finding::of)
    };
    by_cluster.into_iter().map(finding).collect()
}

/// What a run does to a file.
fn verb(change: &Change) -> &'static str {
    match change {
        Change::Create { .. } => "created",
        Change::Update { .. } => "changed",
        Change::Delete { .. } => "deleted",
    }
}
