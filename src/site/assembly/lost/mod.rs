//! Proof that objects of the previous run are gone, and not in something unread.
//!
//! A missing request releases its hosts and deletes its services, so absence must be proven:
//! everything that the object's build, directory or `sources` lists was read as objects. A link, a
//! pipe, a remote base, a file that git ignores or a text without objects proves nothing.

mod objects;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

use super::Site;
use super::mistaken_templates::names;
use super::unread_texts::{self, AGENTS, GIT_IGNORES_IT, UnreadText};
use crate::base::api::names::ClusterKey;
use crate::base::finding::{Code, Finding, Place};
use crate::base::grouping::grouped_in_order;
use crate::base::layout;
use crate::base::text::in_shell;
use crate::input::kustomize::{BuildEntry, is_remote};
use crate::input::load::{EntryKind, Files, ReadError, may_hold_resources, mentions};
use crate::site::inventory::Evidence;

use objects::LostObject;

/// Facts that prove or disprove an absence.
pub(super) struct AbsenceEvidence<'a> {
    pub(super) repo: &'a Files,
    pub(super) site: &'a Site,
    /// Directories that cannot be read, with the reason.
    pub(super) closed: &'a [(Utf8PathBuf, String)],
    /// Errors so far. A file with an error is already reported.
    pub(super) findings: &'a [Finding],
}

/// A file that is not read, or not in full, and may hold a missing object.
#[derive(Clone)]
struct UnreadPlace {
    place: Place,
    /// Completes "… is missing, and ".
    why: String,
    help: String,
}

impl UnreadPlace {
    /// Returns a file at a path that git may restore.
    fn restorable(place: Place, why: &str, path: &Utf8Path) -> Self {
        let path = in_shell(path.as_str());
        let help = format!(
            "restore it with `git checkout HEAD -- {path}`, or remove it and the entry that lists it"
        );
        Self::new(place, why, help)
    }

    fn new(place: Place, why: &str, help: String) -> Self {
        let why = format!("{}, which may hold it, is not read in full: {why}", place.file());
        Self { place, why, help }
    }

    /// Returns a file that may hold any object and can be excluded.
    fn excludable(place: Place, why: &str, remedy: &str) -> Self {
        let (path, settings) = (place.file(), crate::input::settings::FILE);
        let help = format!(
            "{remedy}, or exclude it in {settings} by `sources: [{{paths: [\"!{path}\"]}}]`"
        );
        Self::new(place, why, help)
    }

    fn finding(self, lost: &LostObject<'_>) -> Finding {
        let message = format!("{} is missing, and {}", lost.what, self.why);
        Finding::new(Code::LossUnproven, message)
            .at(self.place)
            .help(self.help)
            .for_clusters(lost.cluster)
    }
}

/// Reports every cluster, part of one and assigned host whose absence is not proven.
///
/// # Errors
///
/// Returns an error if a file or directory cannot be read.
pub(super) fn unproven(known: &AbsenceEvidence<'_>) -> Result<Vec<Finding>, ReadError> {
    let lost = known.lost();
    // A stream is read to its end and is complete by definition.
    if lost.is_empty() || !known.repo.streams().is_empty() {
        return Ok(Vec::new());
    }
    let unread_paths = known.repo.unread(&known.site.settings.output)?;
    let unread_path = unread_paths.iter().find(|(path, _)| known.site.settings.may_read(path));
    let texts = known.unread_texts(&lost)?;
    let (emptied, texts): (Vec<_>, Vec<_>) =
        texts.into_iter().partition(|text| unread_texts::decides_about_others(text.file()));
    // It may have listed, named or selected any object.
    let emptied = emptied.into_iter().next().map(|text| {
        let file = text.file().clone();
        UnreadPlace::restorable(text.place, &text.why, &file)
    });
    let builds: BTreeSet<Utf8PathBuf> = lost.iter().flat_map(|it| it.builds.clone()).collect();
    let mut unread_builds = BTreeMap::new();
    for directory in builds {
        let unread = known.in_build(&directory)?;
        unread_builds.extend(unread.map(|unread| (directory, unread)));
    }
    let find = |lost: &LostObject<'_>| -> Result<Option<UnreadPlace>, ReadError> {
        let sources = known.sources_of(lost);
        for file in &sources {
            if let Some(unread) = known.unread_source(file)? {
                return Ok(Some(unread));
            }
        }
        let unread_in_build =
            lost.builds.iter().find_map(|it| unread_builds.get(it)).or(emptied.as_ref()).cloned();
        let is_renamed = known.has_new_name(&sources);
        if !sources.is_empty() && !is_renamed {
            return Ok(unread_in_build);
        }
        let in_texts = || in_texts(lost, &texts, is_renamed);
        let in_paths = || {
            let (path, why) = unread_path?;
            let place = Place::File(Arc::from(path.as_path()));
            let remedy = "put a plain file in its place, delete it, list it in .gitignore";
            Some(UnreadPlace::excludable(place, why, remedy))
        };
        let elsewhere = || in_texts().or_else(|| known.in_closed()).or_else(in_paths);
        Ok(unread_in_build.or_else(elsewhere))
    };
    let mut findings = Vec::new();
    let by_cluster =
        grouped_in_order(lost.into_iter().map(|lost| ((lost.cluster, lost.kind), lost)));
    // One unproven loss freezes its cluster, or ends the run.
    for (_, cluster_losses) in by_cluster {
        for lost in &cluster_losses {
            if let Some(unread) = find(lost)? {
                findings.push(unread.finding(lost));
                break;
            }
        }
    }
    Ok(findings)
}

impl AbsenceEvidence<'_> {
    /// Returns the first part of a build that is not read.
    fn in_build(&self, directory: &Utf8Path) -> Result<Option<UnreadPlace>, ReadError> {
        let mut sources = self.site.settings.sources.iter();
        let is_built = sources.any(|source| {
            let built = source.kustomization.as_deref();
            built.is_some_and(|built| self.site.builds.made_of(built).contains(directory))
        });
        // kustomize has built and thus read all of it.
        if is_built {
            return Ok(None);
        }
        let (elsewhere, files) = self.site.builds.parts(directory);
        let local = files.values().filter_map(|part| Some((part, self.why_part_is_unread(part)?)));
        let elsewhere = elsewhere.iter().map(|part| (part, NOT_HERE));
        if let Some((part, why)) = local.chain(elsewhere).next() {
            return Ok(Some(unread_part(part, why, directory)));
        }
        let read = |path: &Utf8PathBuf| {
            let file = self.repo.resolve(path).unwrap_or_else(|| path.clone());
            let is_read = self.repo.kind(&file) == Some(EntryKind::File) && !self.has_error(&file);
            is_read.then_some(file)
        };
        let files: Vec<Utf8PathBuf> = files
            .keys()
            .filter(|path| !path.starts_with(&self.site.settings.output))
            .filter_map(read)
            .collect();
        self.unread_text(&files, "object")
    }

    /// Returns the first document of some manifests that is no object. They had the lost one of a kind.
    fn unread_text(
        &self,
        files: &[Utf8PathBuf],
        kind: &str,
    ) -> Result<Option<UnreadPlace>, ReadError> {
        let texts = unread_texts::in_manifests(self.repo, files)?;
        Ok(texts.into_iter().next().map(|UnreadText { place, why, remedy, .. }| UnreadPlace {
            why: format!("its file {} cannot be read: {why}", place.file()),
            place,
            help: format!(
                "{remedy}; to remove the {kind}, delete its document from a file that can be read"
            ),
        }))
    }

    /// Returns why an entry of a kustomization is not read. kustomize follows links.
    fn why_part_is_unread(&self, part: &BuildEntry) -> Option<&'static str> {
        let path = part.path.as_ref()?;
        if path.starts_with(&self.site.settings.output) || self.repo.is_out_of_reach(path) {
            return None;
        }
        let is_read = |target: &Utf8Path| {
            self.repo.kind(target) == Some(EntryKind::File)
                || self.site.builds.has_kustomization(target)
        };
        match self.repo.resolve(path) {
            Some(target) if self.repo.has_link(path) && is_read(&target) => None,
            None if self.repo.kind(path).is_none() && is_remote(&part.name) => Some(NOT_HERE),
            _ => self.why_unread(path),
        }
    }

    /// Returns why a path is no file that was read.
    fn why_unread(&self, path: &Utf8PathBuf) -> Option<&'static str> {
        if self.repo.has_link(path) {
            return Some("it is a symbolic link, or lies behind one");
        }
        match self.repo.kind(path) {
            Some(EntryKind::File) => {
                self.site.files.binary_search(path).is_err().then_some(GIT_IGNORES_IT)
            }
            Some(EntryKind::Directory) => Some("it is a directory without a kustomization"),
            Some(EntryKind::Link | EntryKind::Other) => Some("it is a pipe, a device or a socket"),
            None => Some("it does not exist in this repo"),
        }
    }

    /// Returns the first directory that cannot be read and that the settings do not exclude.
    fn in_closed(&self) -> Option<UnreadPlace> {
        let mut closed = self.closed.iter();
        let (directory, reason) =
            closed.find(|(directory, _)| self.site.settings.may_read(directory))?;
        let place = Place::File(Arc::from(directory.as_path()));
        Some(UnreadPlace::excludable(place, reason, "make it readable"))
    }

    /// Returns texts that may hold objects and that the settings do not exclude.
    fn unread_texts(&self, lost: &[LostObject<'_>]) -> Result<Vec<UnreadText>, ReadError> {
        let names: Vec<&str> = lost.iter().map(|lost| lost.name).collect();
        let may_read = |file: &Utf8Path| {
            self.site.settings.may_read(file) && self.repo.reads(file) && !self.has_error(file)
        };
        let mut texts = unread_texts::anywhere(self.repo, &self.site.files, may_read, &names)?;
        let hosts = self.site.inventory.hosts.iter();
        let observed = hosts.filter(|host| host.evidence == Evidence::Live);
        let tops: BTreeSet<_> = observed.map(|host| top(&host.origin.file)).collect();
        // Where a snapshot is, data of other programs is not expected.
        texts.retain(|text| {
            !text.has_unknown_past || tops.is_empty() || tops.contains(&top(text.file()))
        });
        let mut ignored = Vec::new();
        for directory in tops.into_iter().flatten() {
            let entries = self.repo.entries_below(Utf8Path::new(directory))?.into_iter();
            let files = entries.filter(|(file, kind)| {
                let is_candidate = *kind == EntryKind::File && may_hold_resources(file);
                is_candidate
                    && self.site.settings.may_read(file)
                    && self.site.files.binary_search(file).is_err()
            });
            ignored.extend(files.map(|(file, _)| file));
        }
        if !ignored.is_empty() {
            // Other sites read files of a common directory.
            let (all, _) = self.repo.whole_repo().files_and_closed(&self.site.settings.output)?;
            ignored.retain(|file| all.binary_search(file).is_err());
        }
        texts.extend(unread_texts::ignored(self.repo, &ignored)?);
        Ok(texts)
    }

    /// Returns the existing files that a cluster was generated from. They are not recorded for hosts.
    fn sources_of(&self, lost: &LostObject<'_>) -> Vec<&Utf8PathBuf> {
        let request = lost.cluster.filter(|_| lost.kind.is_none());
        let made_from = request.and_then(|cluster| self.site.state.made_from.get(cluster));
        // No build of this site reaches a file out of reach. It may belong to another site.
        let exists = |file: &&Utf8PathBuf| {
            !self.repo.is_out_of_reach(file)
                && (self.repo.kind(file).is_some() || self.repo.has_link(file))
        };
        made_from.into_iter().flatten().filter(exists).collect()
    }

    /// Returns whether a file has a request of a new name, which a build or an agent may have given
    /// it.
    fn has_new_name(&self, files: &[&Utf8PathBuf]) -> bool {
        let is_new = |cluster: &ClusterKey| !self.site.state.clusters.contains(cluster);
        let mut requests = self.site.clusters.iter();
        requests.any(|(cluster, request)| {
            is_new(cluster) && files.iter().any(|file| **file == *request.origin.file)
        })
    }

    /// Returns a file that a cluster was generated from, unless it was read completely.
    fn unread_source(&self, file: &Utf8PathBuf) -> Result<Option<UnreadPlace>, ReadError> {
        let is_file = self.repo.kind(file) == Some(EntryKind::File) && !self.repo.has_link(file);
        if is_file && self.has_error(file) {
            return Ok(None);
        }
        let Some(why) = self.why_unread(file) else {
            return self.unread_text(std::slice::from_ref(file), "cluster");
        };
        Ok(Some(UnreadPlace::restorable(Place::File(Arc::from(file.as_path())), why, file)))
    }

    fn has_error(&self, file: &Utf8Path) -> bool {
        let errors = self
            .findings
            .iter()
            .filter(|finding| finding.is_error() && finding.clusters.is_empty());
        errors.flat_map(|error| &error.places).any(|(place, _)| **place.file() == *file)
    }
}

/// The reason why an entry is not read if it is no path of this repo.
const NOT_HERE: &str = "its objects are not in this repo";

fn unread_part(part: &BuildEntry, why: &'static str, build: &Utf8Path) -> UnreadPlace {
    let (place, reason) = (part.place.clone(), format!("it lists `{}`: {why}", part.name));
    if let Some(path) = part.path.as_ref().filter(|_| why != NOT_HERE) {
        return UnreadPlace::restorable(place, &reason, path);
    }
    let (build, settings) = (layout::directory_argument(build), crate::input::settings::FILE);
    let help = format!(
        "copy its objects into this repo, or let kustomize build them, in {settings} by `sources: [{{kustomization: \
         {build}}}]`"
    );
    UnreadPlace::new(place, &reason, help)
}

/// Returns the directory at the repo's root that a file is below, if any.
fn top(file: &Utf8Path) -> Option<&str> {
    let mut parts = file.iter();
    parts.next().filter(|_| parts.next().is_some())
}

/// Returns a text without objects that may hold the missing one, or, if that was renamed, the agent's
/// object that named it.
fn in_texts(lost: &LostObject<'_>, texts: &[UnreadText], is_renamed: bool) -> Option<UnreadPlace> {
    let may_hold_it = |text: &&UnreadText| {
        // The files of clusters and builds are known.
        let is_of_builds = lost.kind.is_none() || !lost.builds.is_empty();
        if text.has_unknown_past && is_of_builds {
            return false;
        }
        text.unrelated.as_ref().is_none_or(|unrelated| {
            let has_kind = |kind| mentions(&[kind])(unrelated.as_bytes());
            let may_be_agents = is_renamed || lost.cluster.is_none();
            may_be_agents && mentions(&AGENTS)(unrelated.as_bytes())
                || names(unrelated, lost.name)
                // The build, which was read, tells which files it has.
                && (!text.is_earlier || lost.builds.is_empty())
                // `mistaken_templates` checks templates of requests.
                && (!text.is_template || lost.kind.is_some_and(has_kind))
        })
    };
    let text = texts.iter().find(may_hold_it)?;
    Some(UnreadPlace::excludable(text.place.clone(), &text.why, text.remedy))
}
