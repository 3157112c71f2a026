//! Clusters and hosts of the previous run that are missing now and may be in something unread.
//!
//! A missing request releases its hosts and deletes its services, so absence must be proven: the
//! file that the cluster was generated from is deleted or was read completely. A link, a pipe, a
//! file that git ignores or a document that cannot be parsed proves nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use serde::de::IgnoredAny;

use super::mistaken_templates::names;
use super::{Inventory, Request};
use crate::api::host::{self, BareMetalHost};
use crate::api::names::ClusterKey;
use crate::finding::{Code, Finding, Origin, Place};
use crate::load::{Document, Files, Kind, ReadError, mentions};
use crate::output::state::State;
use crate::settings::Settings;
use crate::text::in_shell;

/// Maximum number of unread paths that a finding lists.
const SHOWN: usize = 3;

/// Facts that prove or disprove an absence.
pub(super) struct Known<'a> {
    pub(super) repo: &'a Files,
    pub(super) settings: &'a Settings,
    /// Files that were read.
    pub(super) files: &'a [Utf8PathBuf],
    pub(super) state: &'a State,
    pub(super) clusters: &'a BTreeMap<ClusterKey, Request>,
    pub(super) inventory: &'a Inventory,
    /// Errors so far. A file with an error is already reported.
    pub(super) findings: &'a [Finding],
}

/// A missing cluster or host.
struct Lost<'a> {
    /// Kind and name for messages.
    what: String,
    /// Name in a manifest.
    name: &'a str,
    /// The cluster itself, or the cluster that the host is assigned to.
    cluster: &'a ClusterKey,
    /// Set for a cluster, unset for a host.
    is_cluster: bool,
}

/// Reports every cluster and assigned host whose absence is not proven.
///
/// # Errors
///
/// Returns an error if a file or directory cannot be read.
pub(super) fn unproven(known: &Known<'_>) -> Result<Vec<Finding>, ReadError> {
    let lost = known.lost();
    // A stream is read to its end and is complete by definition.
    if lost.is_empty() || !known.repo.streams().is_empty() {
        return Ok(Vec::new());
    }
    let unread = known.unread()?;
    let broken = known.broken_documents()?;
    let mut findings = Vec::new();
    for lost in &lost {
        let finding = match known.source_of(lost)? {
            Source::Unread(finding) => Some(finding),
            Source::Read => None,
            Source::Gone => in_broken_document(lost, &broken).or_else(|| in_unread(lost, &unread)),
        };
        findings.extend(finding.map(|finding| finding.of(lost.cluster)));
    }
    Ok(findings)
}

/// State of the files that a cluster was generated from.
enum Source {
    /// At least one exists and was not read completely.
    Unread(Finding),
    /// All existing files were read completely.
    Read,
    /// None exists any longer, or none is known.
    Gone,
}

impl Known<'_> {
    fn lost(&self) -> Vec<Lost<'_>> {
        let clusters = self
            .state
            .clusters
            .iter()
            .filter(|cluster| !self.clusters.contains_key(*cluster));
        let clusters = clusters.map(|cluster| Lost {
            what: format!("cluster `{cluster}`"),
            name: cluster.name.as_str(),
            cluster,
            is_cluster: true,
        });
        let hosts = self
            .state
            .held
            .iter()
            .filter(|(host, _)| self.inventory.index(host).is_none());
        let hosts = hosts.filter_map(|(host, held)| {
            // Hosts of a removed cluster are reported with the cluster.
            let held = held
                .iter()
                .find(|held| self.clusters.contains_key(&held.cluster))?;
            let (what, cluster) = (
                format!("host `{host}` of `{}`", held.cluster),
                &held.cluster,
            );
            Some(Lost {
                what,
                name: host.name.as_str(),
                cluster,
                is_cluster: false,
            })
        });
        clusters.chain(hosts).collect()
    }

    /// Returns unread paths that may hold resources and that the settings do not exclude.
    fn unread(&self) -> Result<Vec<(Utf8PathBuf, &'static str)>, ReadError> {
        let mut unread = self.repo.unread(&self.settings.output)?;
        unread.retain(|(path, _)| self.settings.may_read(path));
        Ok(unread)
    }

    /// Returns documents that cannot be parsed, or not as the host that their kind says, with their
    /// text and whether they may be templates of other tools.
    fn broken_documents(&self) -> Result<Vec<(Origin, String, bool)>, ReadError> {
        let broken = |document: Document<'_>| {
            let found = || {
                (
                    document.origin.clone(),
                    document.text().to_owned(),
                    document.looks_like_template(),
                )
            };
            let is_host = document.kind() == Some(host::KIND);
            let is_broken = document.broken().is_some()
                || is_host && document.parse::<BareMetalHost>().is_err();
            is_broken.then(found)
        };
        self.repo
            .scan(self.files, |file, _| self.settings.may_read(file), broken)
    }

    /// Checks the files that a cluster was generated from. They are not recorded for hosts.
    fn source_of(&self, lost: &Lost<'_>) -> Result<Source, ReadError> {
        let made_from = self
            .state
            .made_from
            .get(lost.cluster)
            .filter(|_| lost.is_cluster);
        let mut source = Source::Gone;
        for file in made_from.into_iter().flatten() {
            // No build of this site reaches the file any longer. It may belong to another site.
            if self.repo.is_out_of_reach(file) {
                continue;
            }
            let why = match self.repo.kind(file) {
                None if !self.repo.has_link(file) => continue,
                Some(Kind::File) if !self.repo.has_link(file) => {
                    if self.has_error(file) {
                        source = Source::Read;
                        continue;
                    }
                    if self.files.binary_search(file).is_ok() {
                        if let Some(finding) = self.broken_in(file, lost)? {
                            return Ok(Source::Unread(finding));
                        }
                        source = Source::Read;
                        continue;
                    }
                    "git ignores it, or it belongs to another repo"
                }
                Some(Kind::Directory) => "it is a directory now",
                Some(Kind::Other) => "it is a pipe, a device or a socket",
                _ => "it is a symbolic link, or lies behind one",
            };
            let message = format!(
                "{} is missing, and its file {file} is not read: {why}",
                lost.what
            );
            return Ok(Source::Unread(
                Finding::new(Code::LossUnproven, message)
                    .at(Place::File(Arc::from(file.as_path())))
                    .help(format!(
                        "restore it with `git checkout HEAD -- {}`, or delete it",
                        in_shell(file.as_str())
                    )),
            ));
        }
        Ok(source)
    }

    fn has_error(&self, file: &Utf8Path) -> bool {
        let errors = self
            .findings
            .iter()
            .filter(|finding| finding.is_error() && finding.clusters.is_empty());
        errors
            .flat_map(|error| &error.places)
            .any(|(place, _)| **place.file() == *file)
    }

    /// Reports a document of a file that cannot be parsed.
    fn broken_in(&self, file: &Utf8PathBuf, lost: &Lost<'_>) -> Result<Option<Finding>, ReadError> {
        let unreadable = |document: Document<'_>| {
            document
                .parse::<IgnoredAny>()
                .err()
                .map(|error| (document.origin, error))
        };
        let found = self
            .repo
            .scan(std::slice::from_ref(file), |_, _| true, unreadable)?;
        Ok(found.into_iter().next().map(|(origin, error)| {
            let message =
                format!("{} is missing, and its file {file} cannot be read: {}", lost.what, error.message);
            let place = error.line.map_or_else(|| origin.start(), |line| origin.spot(line, error.column));
            Finding::new(Code::LossUnproven, message)
                .at(place)
                .help("fix the syntax; to remove the cluster, delete its document from a file that can be read")
        }))
    }
}

/// Reports a document that cannot be parsed and may be the missing one.
fn in_broken_document(lost: &Lost<'_>, broken: &[(Origin, String, bool)]) -> Option<Finding> {
    let may_be = |text: &str, is_template: bool| {
        // `mistaken_templates` checks templates of requests.
        names(text, lost.name)
            && (!is_template || !lost.is_cluster && mentions(&[host::KIND])(text.as_bytes()))
    };
    let (origin, ..) = broken
        .iter()
        .find(|(_, text, is_template)| may_be(text, *is_template))?;
    let message = format!(
        "{} is missing, and a document that cannot be read has its name",
        lost.what
    );
    Some(
        Finding::new(Code::LossUnproven, message)
            .at(origin.start())
            .help(format!(
                "fix the document, or delete it to remove {}",
                lost.what
            )),
    )
}

/// Reports an unread path that may hold the missing object.
fn in_unread(lost: &Lost<'_>, unread: &[(Utf8PathBuf, &'static str)]) -> Option<Finding> {
    let ((first, why), rest) = unread.split_first()?;
    let message = format!(
        "{} is missing, and {first}, which may hold it, is not read: {why}",
        lost.what
    );
    let finding =
        Finding::new(Code::LossUnproven, message).at(Place::File(Arc::from(first.as_path())));
    let others = rest.iter().take(SHOWN - 1);
    Some(others.fold(finding, |finding, (path, why)| finding.see(Place::File(Arc::from(path.as_path())), *why)).help(
        format!(
            "put a plain file in its place, delete it, or exclude it: in .gitignore, or in {} by \
             `sources: [{{paths: [\"!{}\"]}}]`",
            crate::settings::FILE,
            first
        ),
    ))
}
