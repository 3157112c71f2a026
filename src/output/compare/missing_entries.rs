//! Generated files and directories that kustomizations or agents' objects of the repo name, and that
//! will not exist.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};

use super::Change;
use crate::base::api::kustomization;
use crate::base::finding::{Code, Finding, Place};
use crate::base::layout;
use crate::base::text::abbreviated;
use crate::input::kustomize::BuildEntry;
use crate::input::load::{EntryKind, Files};
use crate::site::Site;
use crate::site::delivery::kustomizations_of_output;

/// Maximum number of overlays that a message suggests.
const SUGGESTED: usize = 3;

/// The output directory as these changes leave it.
pub(crate) struct ChangedOutput<'a> {
    pub(crate) repo: &'a Files,
    pub(crate) site: &'a Site,
    pub(crate) changes: &'a BTreeMap<Utf8PathBuf, Change>,
    /// Set if all clusters are generated.
    pub(crate) is_complete: bool,
}

impl ChangedOutput<'_> {
    /// Reports entries of kustomizations and agents' objects that name a path below the output
    /// directory where nothing will be.
    pub(crate) fn missing_entries(&self) -> Vec<Finding> {
        let output = &self.site.settings.output;
        let describe = |name: &str, place: Place, (why, help): (&'static str, String)| {
            let message = format!("{} names `{name}`, {why}", place.file());
            Finding::new(Code::BuildRefused, message).at(place).help(help)
        };
        let entries = self.site.builds.entries_naming(
            |path| path.starts_with(output),
            |file| !self.changes.contains_key(file),
        );
        let named_by_agents =
            self.site.wiring.named_by_agents.iter().filter(|(path, _)| path.starts_with(output));
        let listed = entries.iter().filter_map(|entry| entry.path.as_deref());
        let applied = named_by_agents.clone().map(|(path, _)| path.as_path());
        let named: BTreeSet<&Utf8Path> = listed.chain(applied).collect();
        let in_builds = entries.iter().filter_map(|BuildEntry { path, place, name, .. }| {
            let why = self.why_missing(path.as_deref()?, true, &named)?;
            Some(describe(name, place.clone(), why))
        });
        let by_agents = named_by_agents.filter_map(|(path, place)| {
            let why = self.why_missing(path, false, &named)?;
            Some(describe(path.as_str(), place.clone(), why))
        });
        in_builds.chain(by_agents).collect()
    }

    /// Returns why an entry of a kustomization (`is_listed`), or of an agent's object, which needs no
    /// kustomization, names nothing. Also returns what to do. `named` are all paths that they name.
    fn why_missing(
        &self,
        path: &Utf8Path,
        is_listed: bool,
        named: &BTreeSet<&Utf8Path>,
    ) -> Option<(&'static str, String)> {
        let files = || kustomization::FILE_NAMES.iter().map(|file| path.join(file));
        let is_deleted =
            |path: &Utf8Path| self.changes.get(path).is_some_and(|change| change.after.is_none());
        let will_be = |path: &Utf8Path| match self.changes.get(path) {
            Some(change) => change.after.is_some(),
            None => self.repo.kind(path).is_some_and(|kind| kind != EntryKind::Directory),
        };
        if will_be(path) || files().any(|file| will_be(&file)) {
            return None;
        }
        if is_deleted(path) || files().any(|file| is_deleted(&file)) {
            let help = self.overlays_instead_of(path, named).unwrap_or_else(|| {
                "remove this entry, in the same commit; or keep the request that the files belong to"
                    .to_owned()
            });
            return Some(("which is to be deleted, so it would no longer build", help));
        }
        if !self.is_complete {
            return None;
        }
        let mut below = self.changes.range(path.to_owned()..);
        let creates = below.next().is_some_and(|(file, _)| file.starts_with(path));
        if creates || self.repo.kind(path).is_some() {
            let help = "list what is below it, or remove this entry".to_owned();
            return is_listed.then_some(("which has no kustomization, so it does not build", help));
        }
        let help = self.overlays_instead_of(path, named);
        let Site { settings, builds, clusters, .. } = self.site;
        let mut planned = kustomizations_of_output(settings, builds, clusters.keys());
        // An agent may apply services before a cluster has any.
        let is_planned = planned.any(|file| file.starts_with(path));
        (is_listed || help.is_some() || !is_planned).then(|| {
            let help = help.unwrap_or_else(|| "correct or remove this entry".to_owned());
            ("which does not exist and is not generated, so it does not build", help)
        })
    }

    /// Returns the advice to name another overlay of hosts, if the path is that of one.
    fn overlays_instead_of(&self, path: &Utf8Path, named: &BTreeSet<&Utf8Path>) -> Option<String> {
        let site = self.site;
        let overlay = |root: &Utf8Path| site.settings.output.join(layout::declared_directory(root));
        path.strip_prefix(overlay("".into())).ok()?;
        let written = site.inventory.roots.values().map(|root| overlay(&root.directory));
        let written: Vec<Utf8PathBuf> =
            written.filter(|overlay| !named.contains(overlay.as_path())).collect();
        Some(match written.as_slice() {
            [] => "remove this entry: sipgen writes no other overlay of hosts; an agent that prunes deletes hosts that \
                   nothing else applies"
                .to_owned(),
            all => format!(
                "name a directory that sipgen writes: {}; without it, an agent that prunes deletes the hosts",
                abbreviated(all, SUGGESTED)
            ),
        })
    }
}
