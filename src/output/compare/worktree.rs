//! Changes of git's index that are still to be made in the worktree.

use camino::Utf8Path;

use super::{Change, OutputChanges, UNMARKED, in_the_way, obstacle_above};
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
        let (_, after) = change.texts();
        let mut make = |before: Option<String>| {
            let change = Change::between(before, after.map(str::to_owned));
            changes.files.extend(change.map(|change| (path.clone(), change)));
        };
        let obstacle = obstacle_above(disk, path.parent().unwrap_or(output));
        match (obstacle, disk.kind(path), after) {
            (Some((obstacle, what)), _, Some(_)) => findings.push(in_the_way(&obstacle, what)),
            (None, Some(EntryKind::File), _) => {
                let content = disk.read(path)?;
                let is_ours = layout::is_ours(&content) || content.is_empty();
                match after {
                    Some(after) if layout::differ_in_line_ends_only(after.as_bytes(), &content) => {
                    }
                    Some(_) if !is_ours => findings.push(in_the_way(path, UNMARKED)),
                    None if !is_ours => {}
                    _ => make(Some(layout::text_of(&content))),
                }
            }
            (None, Some(_), Some(_)) => findings.push(in_the_way(path, "not a regular file")),
            (None, None, Some(_)) => make(None),
            // Already absent.
            (_, _, None) => {}
        }
    }
    findings.dedup();
    changes.leftovers =
        disk.files_below(output)?.into_iter().filter(|file| layout::is_leftover(file)).collect();
    Ok((changes, findings))
}
