//! Generated files that are damaged, lost or unknown. Read as they are, they would release hosts.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

use super::File;
use crate::base::finding::{Code, Finding, Place};
use crate::base::layout;
use crate::base::text::{counted, in_shell, with_others};
use crate::input::load::foreign_format::foreign_format;
use crate::input::load::{EntryKind, Files};

/// Reports a file of hosts without an object. A machine crash may leave such files, or a clone without
/// Git LFS. Treating them as no assignments would release hosts.
pub(super) fn unread(file: &Utf8Path, content: &[u8]) -> Option<Finding> {
    let is_empty = content.is_empty() || layout::is_ours(content) && !has_object(content);
    let damage = |reason: &str| unreadable(reason, file, Place::File(Arc::from(file)));
    match foreign_format(content) {
        Some((reason, remedy)) => Some(damage(reason).help(remedy)),
        None => is_empty.then(|| damage("it is empty")),
    }
}

/// Reports lost files of hosts: kustomizations and the last commit have them, and so have the inputs
/// the request. A run that ends early leaves no such files.
pub(super) fn missing(
    repo: &Files,
    files: &[File],
    entries: &[(Utf8PathBuf, EntryKind)],
    output: &Utf8Path,
) -> Vec<Finding> {
    let entries = entries.iter().map(|(path, _)| path.as_path());
    let existing: HashSet<&Utf8Path> =
        entries.filter(|path| path.starts_with(layout::HOSTS)).collect();
    let listed = files.iter().flat_map(|by| by.listed_hosts.iter().map(move |entry| (by, entry)));
    let missing = listed.filter(|(_, (_, file))| !existing.contains(file.as_path()));
    let places: BTreeMap<Utf8PathBuf, Place> = missing
        .map(|(by, (line, file))| {
            let place = Place::Spot(Arc::from(output.join(&by.path)), *line, None);
            (output.join(file), place)
        })
        .collect();
    let committed = repo.earlier_texts(&places.keys().cloned().collect(), |_| true);
    let is_lost = |(file, _): &(Utf8PathBuf, Place)| {
        committed.texts.get(file).is_some_and(|text| {
            let request = layout::made_from(text.as_bytes());
            request.is_some_and(|request| repo.kind(&request).is_some())
                || foreign_format(text.as_bytes()).is_some()
        })
    };
    let lost = places.into_iter().filter(is_lost);
    lost.map(|(file, place)| unreadable("it is missing", &file, place)).collect()
}

/// Reports files of hosts in another output directory below this one, which no file would record
/// any more.
pub(super) fn misplaced(files: &[File], output: &Utf8Path) -> Option<Finding> {
    let mut misplaced = files.iter().filter(|file| file.is_misplaced);
    let first = output.join(&misplaced.next()?.path);
    let count = counted(1 + misplaced.count(), "generated file");
    let message = format!("{count} with hosts below {output}, not in {output}/{}", layout::HOSTS);
    Some(Finding::new(Code::MisplacedOutput, message).at(Place::File(Arc::from(first))).help(
        "they record assignments: restore the settings `output` and `sites`, or move the files with `git mv`; \
         delete copies",
    ))
}

/// Returns whether a file has more than comments.
fn has_object(content: &[u8]) -> bool {
    content.split(|byte| *byte == b'\n').any(|line| line.starts_with(b"kind:"))
}

/// Returns the files with hosts that a generated kustomization lists, with their lines.
pub(super) fn listed_hosts(kustomization: &Utf8Path, text: &str) -> Vec<(usize, Utf8PathBuf)> {
    let entry = |(index, line): (usize, &str)| {
        let entry = line.trim().strip_prefix("- ")?;
        let name = entry.strip_prefix("path: ").unwrap_or(entry).trim_matches('"');
        let is_beside = name.ends_with(".yaml") && !name.contains('/');
        is_beside.then(|| (index + 1, kustomization.with_file_name(name)))
    };
    text.lines().enumerate().filter_map(entry).collect()
}

/// Reports files that a newer sipgen has written. Without their assignments, hosts would seem free.
pub(super) fn written_by_newer(files: &[File], output: &Utf8Path) -> Option<Finding> {
    let mut newer = files.iter().filter(|file| file.is_newer);
    let first = output.join(&newer.next()?.path);
    let files = with_others(format!("`{first}`"), newer.count(), "other file");
    let message = format!("a newer sipgen has written {files}");
    let release = env!("CARGO_PKG_VERSION");
    let help = format!("update sipgen {release} to the version that wrote the output");
    let place = Place::File(Arc::from(first.as_path()));
    Some(Finding::new(Code::NewerOutput, message).at(place).help(help))
}

pub(super) fn unreadable(reason: &str, file: &Utf8Path, place: Place) -> Finding {
    let message = format!("the generated file cannot be read: {reason}; it was edited or damaged");
    let file = in_shell(file.as_str());
    let help = format!(
        "restore it with `git checkout HEAD -- {file}`, or from an earlier commit if it was committed in this state; it \
         records host assignments"
    );
    Finding::new(Code::GeneratedUnreadable, message).at(place).help(help)
}
