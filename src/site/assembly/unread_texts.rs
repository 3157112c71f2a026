//! Texts without objects that stand where objects may have been: pointers of Git LFS, encrypted,
//! truncated or conflicting files, and other data. Hosts, MachineDeployments and IPPools of an unknown
//! version count as well, and hosts of an unknown kind.
//!
//! Any such text counts as unread. Known formats only improve the message.

use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use serde::Deserialize;
use serde::de::IgnoredAny;
use yaml_serde::Value;

use super::concern::is_example;
use super::mistaken_templates::names;
use crate::base::api::host::{self, BareMetalHost, ObjectEnvelope};
use crate::base::api::kustomization::is_kustomization;
use crate::base::api::provisioning::SOFTWARE_KIND;
use crate::base::api::{cluster_api, group, ipam};
use crate::base::finding::{Finding, Place};
use crate::base::layout;
use crate::base::text::{has_conflicts, yaml};
use crate::input::decode::misspelled_kinds::misspelled_kind;
use crate::input::kustomize::is_empty_kustomization;
use crate::input::load::foreign_format::{WHOLLY_ENCRYPTED, foreign_format};
use crate::input::load::{
    Document, Files, ParseError, ReadError, ScanResult, mentions, sops, texts_of_documents,
};
use crate::input::settings;
use crate::site::inventory::identity::may_run;
use crate::site::request::registry::OBJECTS;
use crate::site::request::{ClusterKind, cluster_parts};

/// A text that was not read as objects.
#[derive(Debug, Clone)]
pub(super) struct UnreadText {
    pub(super) place: Place,
    pub(super) why: String,
    /// How to make it readable, in the imperative.
    pub(super) remedy: &'static str,
    /// Set if the text may be what is left of an object that sipgen reads.
    may_be_ours: bool,
    /// Set if its name can be read, so that it is no object of another name.
    is_named: bool,
    /// The text, or an earlier one of its file, if it is likely unrelated: a template of another tool,
    /// an example, or data. It counts if it has the name of the missing object.
    pub(super) unrelated: Option<String>,
    pub(super) is_template: bool,
    /// Set if the unrelated text is an earlier one, and the present one is data.
    pub(super) is_earlier: bool,
    /// Set for data of which no history tells what stood there before.
    pub(super) has_unknown_past: bool,
}

/// The kind of a list of objects of any kind. A list with items is read as these.
const LIST: &str = "List";

/// API groups of agents' objects, which may name requests.
pub(super) const AGENTS: [&str; 2] = ["kustomize.toolkit.fluxcd.io", "argoproj.io"];

/// The reason why a file on the disk is no input.
pub(super) const GIT_IGNORES_IT: &str = "git ignores it, or it belongs to another repo";

/// The remedies for any other text.
const RESTORE: &str = "restore the file";
const FIX: &str = "fix the syntax";
const CORRECT: &str = "correct it";

/// Fields that every object has.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ObjectHead {
    api_version: Option<String>,
    metadata: Option<NameMetadata>,
    spec: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct NameMetadata {
    name: Option<String>,
}

impl UnreadText {
    fn new(place: Place, why: impl Into<String>, remedy: &'static str) -> Self {
        UnreadText {
            place,
            why: why.into(),
            remedy,
            may_be_ours: true,
            is_named: false,
            unrelated: None,
            is_template: false,
            is_earlier: false,
            has_unknown_past: false,
        }
    }

    pub(super) fn file(&self) -> &Arc<Utf8Path> {
        self.place.file()
    }
}

/// Returns what was not read of `files`, which hold nothing but objects.
pub(super) fn in_manifests(
    repo: &Files,
    files: &[Utf8PathBuf],
) -> Result<Vec<UnreadText>, ReadError> {
    let look = |file: &Utf8Path, content: &[u8]| match whole(file, content) {
        Some(text) => ScanResult { says: Some(text), read: false },
        None => ScanResult::from(true),
    };
    repo.scan(files, look, |document| defect(&document))
}

/// Returns whether a file decides which other files are read, and how: a kustomization or settings.
pub(super) fn decides_about_others(file: &Utf8Path) -> bool {
    is_kustomization(file) || file.file_name() == Some(settings::FILE)
}

/// Returns the texts in `files` that may hold objects that sipgen reads, and empty files that decide
/// about others.
///
/// Data of other programs, such as values of a chart, has no objects either. It counts only where
/// git's history has had an object with one of the `missing` names or of an agent, or is unknown.
pub(super) fn anywhere(
    repo: &Files,
    files: &[Utf8PathBuf],
    may_read: impl Fn(&Utf8Path) -> bool + Sync,
    missing: &[&str],
) -> Result<Vec<UnreadText>, ReadError> {
    let look = |file: &Utf8Path, content: &[u8]| {
        if !may_read(file) || layout::is_ours(content) {
            return ScanResult::from(false);
        }
        if decides_about_others(file) {
            let written = std::str::from_utf8(content).ok().and_then(yaml::parse);
            let is_empty = match is_kustomization(file) {
                true => written.is_some_and(|written| is_empty_kustomization(&written)),
                false => is_blank(content),
            };
            let text = || UnreadText::new(Place::File(Arc::from(file)), "it is empty", RESTORE);
            return ScanResult { says: is_empty.then(text), read: false };
        }
        let says = whole(file, content);
        let read = says.is_none();
        ScanResult { says, read }
    };
    let found = repo.scan(files, look, |document| {
        let text = defect(&document).or_else(|| unread_object(&document))?;
        let is_template = document.looks_like_template();
        let is_unrelated = text.is_named || is_template || is_example(&document.origin.file);
        let may_be_named =
            text.is_named || document.broken().is_some() || document.kind() == Some(host::KIND);
        let unrelated = (is_unrelated && may_be_named).then(|| document.text().to_owned());
        // The name may be what a template replaced.
        let has_name = || missing.iter().any(|name| names(document.text(), name));
        let is_ours = !is_unrelated || may_be_named && (!is_template || has_name());
        let may_be_ours = text.may_be_ours && is_ours;
        Some(UnreadText { unrelated, is_template, may_be_ours, ..text })
    })?;
    let (mut texts, data): (Vec<_>, Vec<_>) = found.into_iter().partition(|text| text.may_be_ours);
    let data_files = data.iter().map(|text| text.file().to_path_buf());
    let had_objects =
        mentions(&[&ClusterKind::marks()[..], &[host::KIND, ipam::POOL, SOFTWARE_KIND]].concat());
    let had_agents = mentions(&AGENTS);
    let had_it = |then: &[u8]| {
        if had_agents(then) {
            return true;
        }
        let then = had_objects(then).then(|| String::from_utf8_lossy(then));
        then.is_some_and(|then| missing.iter().any(|name| names(&then, name)))
    };
    let earlier = repo.earlier_texts(&data_files.collect(), had_it);
    for text in data {
        if earlier.unknown.contains(&**text.file()) {
            texts.push(UnreadText { has_unknown_past: true, unrelated: None, ..text });
        } else if let Some(then) = earlier.texts.get(&**text.file()) {
            let unrelated = Some(then.to_owned());
            texts.push(UnreadText { unrelated, is_template: false, is_earlier: true, ..text });
        }
    }
    Ok(texts)
}

/// Returns the texts with hosts in `files`, which git ignores.
pub(super) fn ignored(repo: &Files, files: &[Utf8PathBuf]) -> Result<Vec<UnreadText>, ReadError> {
    let look = |file: &Utf8Path, content: &[u8]| {
        let ignored = || {
            let text =
                UnreadText::new(Place::File(Arc::from(file)), GIT_IGNORES_IT, "let git track it");
            let unrelated = Some(String::from_utf8_lossy(content).into_owned());
            UnreadText { unrelated, ..text }
        };
        let says = mentions(&[host::KIND])(content).then(ignored);
        ScanResult { says, read: false }
    };
    repo.scan(files, look, |_| None)
}

/// Returns why a host, a MachineDeployment or an IPPool is not read.
fn unread_object(document: &Document<'_>) -> Option<UnreadText> {
    let named = |place: Place, why: &str, remedy| {
        Some(UnreadText { is_named: true, ..UnreadText::new(place, why, remedy) })
    };
    let is_of_unknown_version = match document.kind() {
        Some(cluster_api::MACHINE_DEPLOYMENT) => cluster_parts::read(document).is_none(),
        // Other API groups have pools, too.
        Some(ipam::POOL) if document.mentions(&[ipam::GROUP]) => document
            .parse::<ObjectEnvelope>()
            .is_ok_and(|pool| group(&pool.api_version) != ipam::GROUP),
        _ => false,
    };
    if is_of_unknown_version {
        let why = "its `apiVersion` is not that of Cluster API or Metal3";
        return named(document.origin.at(["apiVersion"]), why, CORRECT);
    }
    if document.kind() == Some(host::KIND) {
        match document.parse::<BareMetalHost>() {
            Err(error) => return Some(invalid(document, &error, true)),
            // Without a state, it is what an agent makes of labels alone.
            Ok(host) if host.spec.is_none() && may_run(host.state()) => {
                return named(document.origin.start(), "its host has no `spec`", RESTORE);
            }
            Ok(_) => {}
        }
    }
    let (kind, Finding { message, places, .. }) = misspelled_kind(document, None)?;
    let place = places.into_iter().next().map_or_else(|| document.origin.start(), |(it, _)| it);
    named(place, &message, CORRECT).filter(|_| kind == host::KIND)
}

/// Returns the defect of a document that cannot be parsed.
fn invalid(document: &Document<'_>, error: &ParseError, may_be_ours: bool) -> UnreadText {
    let origin = &document.origin;
    let (why, remedy) = if document.broken().is_some() && has_conflicts(document.text()) {
        ("it has conflicts of a merge", "resolve them")
    } else {
        (error.message.as_str(), FIX)
    };
    let place = error.line.map_or_else(|| origin.start(), |line| origin.spot(line, error.column));
    UnreadText { may_be_ours, ..UnreadText::new(place, why, remedy) }
}

/// Returns why a file as a whole is unread.
fn whole(file: &Utf8Path, content: &[u8]) -> Option<UnreadText> {
    let (why, remedy) = match foreign_format(content) {
        Some(known) => known,
        None if is_blank(content) => ("it is empty", RESTORE),
        None if is_part_of_list(content) => {
            ("it is a part of a list, which `metadata.continue` says", "read the whole list")
        }
        None => return None,
    };
    let text = UnreadText::new(Place::File(Arc::from(file)), why, remedy);
    Some(UnreadText { may_be_ours: !is_blank(content), ..text })
}

/// Returns whether a file is an answer of an API server that has more objects.
fn is_part_of_list(content: &[u8]) -> bool {
    let list = || yaml::parse::<Value>(std::str::from_utf8(content).ok()?);
    let next = |list: Value| Some(list.get("metadata")?.get("continue")? != "");
    mentions(&["continue"])(content) && list().and_then(next) == Some(true)
}

/// Returns whether a file has neither content nor a comment. A comment in place of an object, such as
/// its manifest commented out, is a person's decision that a diff shows, like a deletion.
fn is_blank(content: &[u8]) -> bool {
    std::str::from_utf8(content).is_ok_and(|text| {
        let text = text.trim_start_matches('\u{feff}');
        !text.contains('#') && texts_of_documents(text).next().is_none()
    })
}

/// Returns why a document is no object that kustomize and sipgen read.
fn defect(document: &Document<'_>) -> Option<UnreadText> {
    let (why, may_be_ours) = match document.kind() {
        None => match document.parse::<Value>() {
            Err(error) => return Some(invalid(document, &error, true)),
            Ok(Value::Mapping(fields)) if fields.contains_key("sops") => (WHOLLY_ENCRYPTED, true),
            Ok(Value::Mapping(fields)) => {
                let api_version = fields.get("apiVersion").and_then(Value::as_str);
                ("it has no `kind`", is_of_our_group(api_version))
            }
            Ok(Value::Sequence(items)) => {
                let fields = ["kind", "apiVersion"];
                let is_object = |item: &Value| fields.iter().any(|field| item.get(field).is_some());
                ("it is a list without `kind: List`", items.iter().any(is_object))
            }
            Ok(_) => ("it is text, not an object", true),
        },
        Some(kind) if sops::is_encrypted(kind) => ("its `kind` is encrypted", true),
        Some(kind) => {
            let ObjectHead { api_version, metadata, spec } = match document.parse() {
                Ok(head) => head,
                Err(error) => return Some(invalid(document, &error, is_ours(kind))),
            };
            let name = metadata.and_then(|metadata| metadata.name);
            // The name may be cut off as well. A bracket ends a whole object.
            let is_cut_off = || !document.text().ends_with(['\n', '}', ']']);
            if kind == LIST {
                ("it is a list without items", true)
            } else if name.is_none_or(|name| name.is_empty()) {
                ("it has no name", is_of_our_group(api_version.as_deref()))
            } else if is_ours(kind) && spec.is_none() && is_cut_off() {
                ("its last line is cut off", true)
            } else {
                return None;
            }
        }
    };
    Some(UnreadText { may_be_ours, ..UnreadText::new(document.origin.start(), why, RESTORE) })
}

fn is_ours(kind: &str) -> bool {
    kind == host::KIND
        || kind == cluster_api::KIND
        || OBJECTS.into_iter().any(|object| object.kind == kind)
}

/// Returns whether an API version is of a group of hosts or requests.
fn is_of_our_group(api_version: Option<&str>) -> bool {
    let request_groups = OBJECTS.into_iter().map(|object| object.group);
    let mut groups = request_groups.chain([host::GROUP, cluster_api::GROUP]);
    api_version.is_some_and(|own| groups.any(|known| known == group(own)))
}
