//! Stale files: generated files that differ from what the input generates.

use std::collections::BTreeSet;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

use super::{FAINT, ReportText, one_line, styled};
use crate::base::finding::{Code, Finding, Place};
use crate::base::grouping::grouped;
use crate::base::layout;
use crate::base::text::{abbreviated, counted, in_shell, joined};
use crate::generate::{CheckedBuilds, GeneratedSite};
use crate::output::compare::{Change, OutputChanges};
use crate::review::effects::FileState;

/// Maximum number of stale files to name.
const FILES_SHOWN: usize = 20;

/// Maximum number of edited files to name.
const EDITED_SHOWN: usize = 5;

/// Selects the changes that make a file stale. A change of only the comment that names the input
/// does not count.
fn stale_of(changes: &OutputChanges) -> impl Iterator<Item = StaleFile<'_>> {
    let stale = changes.files.iter().filter(|(_, change)| !change.is_in_mark_only());
    stale.map(|(path, change)| (path.as_path(), change))
}

/// Lists the stale files, one per line.
pub fn stale_files(changes: &OutputChanges) -> ReportText {
    let mut out = ReportText::default();
    for (path, change) in stale_of(changes).take(FILES_SHOWN) {
        writeln!(out, "  {:<7}  {}", FileState::from(change).to_string(), one_line(path.as_str()));
    }
    if let Some(more @ 1..) = stale_of(changes).count().checked_sub(FILES_SHOWN) {
        writeln!(out, "  … and {more} more");
    }
    out
}

/// Names the files that were edited since the last commit. `written` tells whether the run has
/// restored them.
pub fn edited_files(edited: &BTreeSet<Utf8PathBuf>, written: bool) -> ReportText {
    if edited.is_empty() {
        return ReportText::default();
    }
    let shown = abbreviated(edited, EDITED_SHOWN);
    let result = if written {
        " was restored; change requests, settings or templates instead".to_owned()
    } else {
        let paths = edited.iter().take(EDITED_SHOWN).map(|file| in_shell(file.as_str()));
        format!("; `git checkout HEAD -- {}` restores it", joined(paths, " "))
    };
    let text =
        format!("edited since the last commit, by hand or with other inputs: {shown}{result}");
    (one_line(&text) + "\n").into()
}

/// Describes files that are not stale, although `command` would update their comment.
pub fn renamed_inputs(changes: &OutputChanges, command: &str) -> ReportText {
    let count = changes.files.len() - stale_of(changes).count();
    let (verb, their) = match count {
        0 => return ReportText::default(),
        1 => ("differs", "its"),
        _ => ("differ", "their"),
    };
    let (files, command) = (counted(count, "file"), one_line(command));
    let only = format!("{verb} only in the comment that names {their} input");
    format!("{files} {only}: not a failure, run `{command}` to update it\n").into()
}

/// Says that builds were not checked.
pub fn builds_not_checked() -> ReportText {
    "no build was checked: kustomize would read stale files\n".to_owned().into()
}

/// Says that all builds are made, because a revision is unknown.
pub fn unknown_base(base: &str) -> ReportText {
    let base = one_line(base);
    format!("`{base}` is no commit of this clone, so every build counts as changed\n").into()
}

/// Says how many builds were checked, and which were not.
pub fn checked_builds(checked: &CheckedBuilds) -> ReportText {
    let mut out = ReportText::default();
    let made = counted(checked.count, "build");
    let unaffected = match checked.unaffected {
        0 => String::new(),
        count => format!("; no change affects {count} more"),
    };
    writeln!(out, "kustomize has made {made}{unaffected}");
    for directory in &checked.skipped {
        let directory = one_line(directory.as_str());
        writeln!(out, "`{directory}` was not built: it needs what is not in the repo");
    }
    out
}

/// Formats the fix for stale files.
pub fn stale_help(remedy: &str) -> ReportText {
    format!("{} {}\n", styled(FAINT, "help:"), one_line(remedy)).into()
}

/// Reports stale files as findings, one per cluster.
///
/// The position is the SIPCluster, which a reviewer is looking at; the files are related positions.
/// Files of removed clusters and shared files have no other position than their own. `remedy` is
/// the help.
pub fn stale(generated: &GeneratedSite, remedy: &str) -> Vec<Finding> {
    let Some(changes) = &generated.changes else { return Vec::new() };
    let site = &generated.site;
    let mut by_cluster = grouped(stale_of(changes).map(|(path, change)| {
        let below = path.strip_prefix(&site.settings.output).ok();
        (below.and_then(layout::cluster_of), (path, change))
    }));
    let shared = by_cluster.remove(&None);
    let cluster_changes = by_cluster.iter().filter_map(|(cluster, files)| {
        let cluster = cluster.as_ref()?;
        let request = site.clusters.get(cluster).map(|request| request.origin.name());
        Some(finding(&format!("of {cluster}"), request, files, remedy).for_cluster(cluster))
    });
    let shared = shared.map(|files| finding("shared by clusters", None, &files, remedy));
    cluster_changes.chain(shared).collect()
}

type StaleFile<'a> = (&'a Utf8Path, &'a Change);

fn finding(of: &str, place: Option<Place>, files: &[StaleFile<'_>], remedy: &str) -> Finding {
    let are = if files.len() == 1 { "is" } else { "are" };
    let message = format!("{} {of} {are} stale", counted(files.len(), "generated file"));
    let mut finding = Finding::new(Code::Stale, message).help(remedy);
    // Not `at`, which adds what the name overrides: nothing is wrong with it.
    finding.places.extend(place.map(|place| (place, None)));
    let files = files.iter().map(|(path, change)| {
        (Place::File(Arc::from(*path)), format!("to be {}", FileState::from(*change)))
    });
    finding.see_each(files)
}
