//! The files of a repo that are read, and their objects.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use camino::{Utf8Path, Utf8PathBuf};

use super::interpret::interpret;
use super::listing::{listed_elsewhere, not_too_large};
use super::operators_templates;
use super::read_object::{ReadContent, ReadObject};
use crate::base::api::cluster_api::{GROUP, OPENSHIFT_GROUP};
use crate::base::api::firmware;
use crate::base::api::hardware;
use crate::base::api::host;
use crate::base::api::ipam;
use crate::base::api::kustomization::{Kustomization, is_kustomization};
use crate::base::api::service;
use crate::base::finding::{Finding, Origin};
use crate::base::layout;
use crate::input::decode::misspelled_kinds;
use crate::input::kustomize::{Builds, KustomizationRefusal};
use crate::input::load::{Document, Files, ReadError, ScanResult, mentions};
use crate::input::settings::{Settings, sources};
use crate::site::delivery::GROUPS;
use crate::site::request::ClusterKind;
use crate::site::request::registry::OBJECTS;

/// A file with such an object contains one of these words.
const WORDS: [&str; 13] = [
    ipam::GROUP,
    ipam::CLUSTER_API_GROUP,
    ipam::DATA,
    host::KIND,
    hardware::KIND,
    firmware::SETTINGS,
    firmware::SCHEMA,
    GROUP,
    OPENSHIFT_GROUP,
    "Secret",
    operators_templates::KEYS[0],
    operators_templates::KEYS[1],
    service::NODE_PORT,
];

/// Objects of a repo's files, and the kustomizations that reach the files.
pub(super) struct ScannedFiles {
    /// Every object except kustomizations.
    pub(super) objects: Vec<ReadObject>,
    /// Files that were read, sorted.
    pub(super) files: Vec<Utf8PathBuf>,
    /// Directories that cannot be read, with the reason.
    pub(super) closed: Vec<(Utf8PathBuf, String)>,
    pub(super) builds: Builds,
    /// Reason why kustomize refuses the kustomization of a directory.
    pub(super) refused: BTreeMap<Utf8PathBuf, KustomizationRefusal>,
    pub(super) build_findings: Vec<Finding>,
    /// Findings about files that are too large, and about listed ones that cannot be read.
    pub(super) unread: Vec<Finding>,
}

/// Reads the typed objects of a repo's files, except below its output directory.
///
/// # Errors
///
/// Returns an error if a file or directory cannot be read.
pub(super) fn scan(repo: &Files, settings: &Settings) -> Result<ScannedFiles, ReadError> {
    let output = &settings.output;
    let (files, closed) = repo.files_and_closed(output)?;
    let (mut files, mut too_large) = not_too_large(repo, files);
    for (directory, reason) in &closed {
        let snapshot = &settings.snapshot.directory;
        let has_snapshot = snapshot.starts_with(directory) || directory.starts_with(snapshot);
        if has_snapshot || settings.leads_into(directory) {
            return Err(needed(repo, settings, directory, reason));
        }
    }
    let requests = OBJECTS.map(|object| object.kind);
    // Hosts first: they are most of the bytes, and the first word that is found ends the search.
    let ours = mentions(
        &[&[host::KIND][..], &requests, &WORDS[..], &GROUPS[..], &misspelled_kinds::WORDS].concat(),
    );
    let hosts = mentions(&[host::KIND]);
    let requests = mentions(&ClusterKind::marks());
    let look = |file: &Utf8Path, content: &[u8]| {
        if !layout::is_ours(content) {
            return ScanResult::from(is_kustomization(file) || ours(content));
        }
        // A request may have sipgen's marker because a user copied the comment from a generated
        // file.
        let says = hosts(content).then(|| ReadObject {
            origin: Origin::for_file(file.into(), ""),
            content: ReadContent::GeneratedHosts,
            findings: Vec::new(),
        });
        ScanResult { says, read: requests(content) }
    };
    let interpret_file = |document: Document<'_>| {
        let is_for_agents = repo.is_for_agents(&document.origin.file);
        interpret(document).filter(|object| !is_for_agents || object.is_for_agents())
    };
    let mut objects = repo.scan(&files, look, interpret_file)?;
    let (kustomizations, refused) = take_kustomizations(&mut objects);
    let (builds, build_findings) = Builds::new(kustomizations);
    let reason = |path: &Utf8Path| {
        let mut closed = closed.iter();
        closed.find_map(|(directory, reason)| path.starts_with(directory).then_some(reason))
    };
    let listed = builds.listed().filter_map(|path| Some((path, reason(path)?)));
    if let Some((path, reason)) = listed.min() {
        let by = builds.place_of_listed(path);
        return Err(repo.closed(path, format!("{} lists it, and {reason}", by.file())));
    }
    // kustomize reads files of any name that it lists, so these are found only now.
    let (listed, mut unread) = listed_elsewhere(repo, &builds, &files, output, &ours);
    let (listed, listed_too_large) = not_too_large(repo, listed);
    objects.extend(repo.scan(&listed, look, interpret)?);
    files.extend(listed);
    files.sort();
    // Other files are no inputs.
    too_large.retain(|finding| {
        let mut files = finding.places.iter().map(|(place, _)| place.file());
        files.any(|file| settings.may_read(file) || !builds.reach(file).is_empty())
    });
    unread.extend(too_large.into_iter().chain(listed_too_large));
    Ok(ScannedFiles { objects, files, closed, builds, refused, build_findings, unread })
}

/// Returns the error for a directory that cannot be read and has inputs.
pub(super) fn needed(
    repo: &Files,
    settings: &Settings,
    directory: &Utf8Path,
    reason: &str,
) -> ReadError {
    let out = sources::leave_out(settings, &[directory]);
    repo.closed(directory, format!("{reason}; {out}"))
}

type Kustomizations = Vec<(Origin, Kustomization)>;

/// Separates kustomizations from the other objects, with the directories whose kustomization is
/// refused. kustomize reads only the first document of a file.
fn take_kustomizations(
    objects: &mut Vec<ReadObject>,
) -> (Kustomizations, BTreeMap<Utf8PathBuf, KustomizationRefusal>) {
    let (mut kustomizations, mut refused) = (Vec::new(), BTreeMap::new());
    let mut known = BTreeSet::new();
    for object in mem::take(objects) {
        let is_by_kustomize = is_kustomization(&object.origin.file)
            && !matches!(object.content, ReadContent::GeneratedHosts);
        if is_by_kustomize && !known.insert(object.origin.file.clone()) {
            continue;
        }
        let ReadObject { origin, content, findings } = object;
        match content {
            ReadContent::Kustomization(content) => {
                let directory = origin.file.parent().unwrap_or(Utf8Path::new(""));
                refused.extend(content.refusal.map(|refusal| (directory.to_owned(), refusal)));
                kustomizations.push((origin, content.kustomization));
            }
            content => objects.push(ReadObject { origin, content, findings }),
        }
    }
    (kustomizations, refused)
}
