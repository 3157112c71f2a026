//! Deleted files and directories that kustomizations or agents' objects of the repo name.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};

use super::Change;
use crate::base::api::kustomization;
use crate::base::finding::{Code, Finding, Place};
use crate::input::kustomize::BuildEntry;
use crate::site::Site;

/// Reports entries of kustomizations and agents' objects that name a file or directory that these
/// changes delete.
pub(crate) fn listed_deletions(
    site: &Site,
    changes: &BTreeMap<Utf8PathBuf, Change>,
) -> Vec<Finding> {
    let is_deleted = |path: &Utf8Path| matches!(changes.get(path), Some(Change::Delete { .. }));
    let is_gone = |path: &Utf8Path| {
        let files = || kustomization::FILE_NAMES.iter().map(|file| path.join(file));
        let is_created =
            |file: Utf8PathBuf| matches!(changes.get(&file), Some(Change::Create { .. }));
        is_deleted(path) || files().any(|file| is_deleted(&file)) && !files().any(is_created)
    };
    let describe = |(name, place): (String, Place)| {
        let by = place.file();
        let message =
            format!("{by} names `{name}`, which is to be deleted, so it would no longer build");
        Finding::new(Code::BuildRefused, message).at(place).help(
            "remove this entry, in the same commit; or keep the request that the files belong to",
        )
    };
    let entries = site.builds.entries_naming(is_gone, |file| !changes.contains_key(file));
    let entries = entries.into_iter().map(|BuildEntry { place, name, .. }| (name, place));
    let by_agents = site.wiring.named_by_agents.iter().filter(|(listed, _)| is_gone(listed));
    let by_agents = by_agents.map(|(listed, place)| (listed.to_string(), place.clone()));
    entries.chain(by_agents).map(describe).collect()
}
