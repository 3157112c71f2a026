//! Changes of git's index that are still to be made in the worktree.

use camino::Utf8Path;

use super::{Change, OutputChanges, PathComparison, in_the_way, obstacle_above};
use crate::base::finding::Finding;
use crate::base::layout;
use crate::input::load::{EntryKind, Files, ReadError};

/// Returns the changes on the disk that match the changes of `staged` files.
///
/// Up-to-date files are not written again. Files unknown to git's index are left alone, and foreign
/// files at a required path are reported.
///
/// # Errors
///
/// Fails if a file cannot be read.
pub fn in_worktree(
    disk: &Files,
    output: &Utf8Path,
    staged: &OutputChanges,
) -> Result<(OutputChanges, Vec<Finding>), ReadError> {
    let (mut changes, mut findings) = (OutputChanges::default(), Vec::new());
    for (path, change) in &staged.files {
        let after = change.after.as_deref();
        if let Some((obstacle, what)) = obstacle_above(disk, path.parent().unwrap_or(output)) {
            findings.extend(after.map(|_| in_the_way(&obstacle, what)));
            continue;
        }
        let found = match disk.kind(path) {
            Some(EntryKind::File) => match (disk.read(path)?, after) {
                // A machine crash may leave generated files empty.
                (content, None) if content.is_empty() => {
                    PathComparison::Changed(Change { before: Some(String::new()), after: None })
                }
                (content, after) => PathComparison::new(&content, after),
            },
            Some(_) => PathComparison::InTheWay("not a regular file"),
            None => Change::between(None, after.map(str::to_owned))
                .map_or(PathComparison::Unchanged, PathComparison::Changed),
        };
        match found {
            PathComparison::Changed(change) => drop(changes.files.insert(path.clone(), change)),
            PathComparison::InTheWay(what) if after.is_some() => {
                findings.push(in_the_way(path, what));
            }
            _ => {}
        }
    }
    findings.dedup();
    changes.leftovers =
        disk.files_below(output)?.into_iter().filter(|file| layout::is_leftover(file)).collect();
    Ok((changes, findings))
}
