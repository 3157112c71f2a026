//! The files of a service: its own, and the shared ones that its kustomization refers to.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};

use super::ChangedFiles;
use crate::base::layout;
use crate::base::tree::{Tree, TreePath, files_below};

/// Texts of files, by path relative to their directory.
pub(super) type Files<'a> = BTreeMap<&'a Utf8Path, &'a str>;

/// Groups changed files by the first directory in their paths.
pub(super) fn by_part<'a>(files: &ChangedFiles<'a>) -> BTreeMap<&'a str, ChangedFiles<'a>> {
    let mut parts: BTreeMap<&str, ChangedFiles<'_>> = BTreeMap::new();
    for (path, texts) in files {
        let mut names = path.iter();
        if let (Some(part), file) = (names.next(), names.as_path())
            && !file.as_str().is_empty()
        {
            parts.entry(part).or_default().insert(file, *texts);
        }
    }
    parts
}

/// Returns the files of a directory before or after the changes.
pub(super) fn files<'a>(
    directory: &Utf8Path,
    changed: &ChangedFiles<'a>,
    later: &'a Tree,
    side: usize,
) -> Files<'a> {
    let unchanged = files_below(later, directory)
        .filter_map(|(path, text)| Some((path.strip_prefix(directory).ok()?, text.as_str())))
        .filter(|(path, _)| !changed.contains_key(path));
    let changed = changed.iter().filter_map(|(path, texts)| Some((*path, texts[side]?)));
    unchanged.chain(changed).collect()
}

/// Returns the directories of kustomizations that refer to shared files that change under the same
/// name, because they were edited by hand.
pub(super) fn with_edited_files(shared: &ChangedFiles<'_>, later: &Tree) -> BTreeSet<Utf8PathBuf> {
    let edited: BTreeSet<Utf8PathBuf> = shared
        .iter()
        .filter(|(_, texts)| matches!(texts, [Some(_), Some(_)]))
        .filter_map(|(path, _)| path.ancestors().nth(path.iter().count().checked_sub(3)?))
        .map(Utf8Path::to_owned)
        .collect();
    if edited.is_empty() {
        return BTreeSet::new();
    }
    let kustomizations = files_below(later, Utf8Path::new(layout::CLUSTERS))
        .filter(|(path, _)| path.file_name() == Some(layout::KUSTOMIZATION));
    let refers = |(path, text): &(&TreePath, &String)| {
        !layout::shared_directories(path, text).is_disjoint(&edited)
    };
    let directories = kustomizations.filter(refers).filter_map(|(path, _)| path.parent());
    directories.map(Utf8Path::to_owned).collect()
}
