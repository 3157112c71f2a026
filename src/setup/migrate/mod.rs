//! Rewrites legacy SIPClusters in today's form, in place.
//!
//! `request::sipcluster::legacy` lists the [`DocumentEdit`]s that convert a document. They are applied to
//! its text, so that comments, order, quotes and indentation are kept where possible. Then the new
//! text is parsed again and compared: other documents must be unchanged, and rewritten ones must
//! equal their converted form. A file that fails this check is left alone, with a finding.
//!
//! The edits move lists together with their comments, for which `yamlpatch` has no operation.
//!
//! * `text`: edits of a document's text.
//! * `emit`: values as YAML text.

mod emit;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use yaml_serde::{Mapping, Value};

use crate::base::api::assignment::FORMER_NAME;
use crate::base::api::names::ClusterKey;
use crate::base::finding::{self, Code, Finding, Origin, Place, RouteStep};
use crate::input::load::{Files, ReadError, documents};
use crate::input::settings::Settings;
use crate::output::compare::{Change, OutputChanges};
use crate::site::Site;
use crate::site::request::Request;
use crate::site::request::sipcluster::legacy::{Conversion, DocumentEdit};
use crate::site::sites::Sites;
use text::{EditedText, RewriteError};

/// Result of a migration.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Migration {
    /// Changed files.
    pub changes: OutputChanges,
    /// Rewritten SIPClusters.
    pub clusters: BTreeSet<ClusterKey>,
    /// Reasons why others cannot be rewritten, and unreadable files. Their files are left alone.
    pub findings: Vec<Finding>,
}

/// Computes the changes of all sites. A file that several sites read must change in the same way
/// for each.
///
/// # Errors
///
/// The repo cannot be read.
pub fn migrate_sites(
    sites: &Sites,
    only: Option<&BTreeSet<Utf8PathBuf>>,
) -> Result<Migration, ReadError> {
    let mut all = Migration { findings: sites.findings.clone(), ..Migration::default() };
    for site in &sites.all {
        let Migration { changes, clusters, findings } = migrate(&site.files, only)?;
        all.clusters.extend(clusters);
        all.findings.extend(findings);
        for (file, change) in changes.files {
            let other = all.changes.files.get(&file).filter(|other| **other != change);
            if other.is_some() {
                all.findings.push(
                    Finding::new(
                        Code::NotMigrated,
                        format!(
                            "the SIPCluster cannot be rewritten: site `{}` requires another form",
                            site.name
                        ),
                    )
                    .at(Place::File(Arc::from(file.as_path())))
                    .help("set the same labels in `topology` in the settings of both sites"),
                );
            } else {
                all.changes.files.insert(file, change);
            }
        }
    }
    let refused: BTreeSet<&Utf8Path> = all
        .findings
        .iter()
        .filter(|finding| finding.code == Code::NotMigrated)
        .flat_map(files_of)
        .collect();
    all.changes.files.retain(|file, _| !refused.contains(file.as_path()));
    all.findings = finding::merge(all.findings);
    Ok(all)
}

fn files_of(finding: &Finding) -> impl Iterator<Item = &Utf8Path> {
    finding.places.iter().take(1).map(|(place, _)| &**place.file())
}

/// Computes the changes of all or some files of a repo. Writes nothing.
///
/// # Errors
///
/// The repo cannot be read.
pub fn migrate(repo: &Files, only: Option<&BTreeSet<Utf8PathBuf>>) -> Result<Migration, ReadError> {
    let settings = match Settings::load(repo) {
        Ok(settings) => settings,
        Err(findings) => {
            return Ok(Migration { findings, ..Migration::default() });
        }
    };
    let (site, findings) = Site::read(repo, settings)?;
    let is_wanted = |file: &Utf8Path| only.is_none_or(|only| only.contains(file));
    let mut by_file: BTreeMap<Arc<Utf8Path>, Vec<LegacySipcluster<'_>>> = BTreeMap::new();
    for (cluster, request) in
        site.clusters.iter().filter(|(_, request)| is_wanted(&request.origin.file))
    {
        if let Request { origin, older: Some(conversion), .. } = request {
            by_file.entry(origin.file.clone()).or_default().push(LegacySipcluster {
                cluster,
                origin,
                conversion,
            });
        }
    }
    let mut migration = Migration::default();
    let matters = |finding: &&Finding| {
        finding.is_error()
            && HIDING.contains(&finding.code)
            && finding.places.first().is_none_or(|(place, _)| is_wanted(place.file()))
    };
    migration.findings.extend(findings.iter().filter(matters).cloned());
    for (file, older) in by_file {
        let failed: Vec<Finding> = older.iter().flat_map(|older| older.errors()).collect();
        if !failed.is_empty() {
            migration.findings.extend(failed);
            continue;
        }
        let bytes = repo.read(&file)?;
        match rewritten(&file, bytes, &older) {
            Ok((before, after)) => {
                migration
                    .clusters
                    .extend(older.iter().map(|older| older.cluster.clone()));
                migration
                    .changes
                    .files
                    .insert(file.to_path_buf(), Change::Update { before, after });
            }
            Err((place, RewriteError(why))) => migration.findings.push(
                Finding::new(
                    Code::NotMigrated,
                    format!("the SIPCluster cannot be rewritten: {why}"),
                )
                .at(place)
                .help("rewrite it by hand: docs/operations/migrating.md lists the mapping of each field"),
            ),
        }
    }
    migration.findings = finding::merge(migration.findings);
    Ok(migration)
}

/// Errors that may hide a SIPCluster entirely.
const HIDING: [Code; 12] = [
    Code::Unreadable,
    Code::UnknownVersion,
    Code::InvalidName,
    Code::InvalidName,
    Code::TwoNamespaces,
    Code::TakenForTemplate,
    Code::DuplicateCluster,
    Code::VariableInText,
    Code::InvisibleCharacter,
    Code::SecretInGit,
    Code::SecretInGit,
    Code::SecretInGit,
];

/// A legacy SIPCluster of a file.
struct LegacySipcluster<'a> {
    cluster: &'a ClusterKey,
    origin: &'a Origin,
    conversion: &'a Conversion,
}

impl LegacySipcluster<'_> {
    fn errors(&self) -> impl Iterator<Item = Finding> {
        self.conversion.errors.iter().map(|error| error.clone().for_cluster(self.cluster))
    }

    /// Returns the document that the rewritten text must parse to.
    fn expected(&self) -> Value {
        let mut document = self.conversion.document.clone();
        let Some(fields) = document.as_mapping_mut() else {
            return document;
        };
        fields.insert("spec".into(), self.conversion.spec.clone());
        if let Some(former) = &self.conversion.former_name
            && let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_mapping_mut)
        {
            let annotations =
                metadata.entry("annotations".into()).or_insert_with(|| Mapping::new().into());
            if let Some(annotations) = annotations.as_mapping_mut() {
                annotations.insert(FORMER_NAME.into(), former.as_str().into());
            }
        }
        document
    }

    /// Applies the edits. An error has the route of the edit.
    fn rewrite(&self, text: String) -> Result<String, (Vec<RouteStep>, RewriteError)> {
        let Conversion { edits, moved, spec, .. } = self.conversion;
        let mut text = EditedText::new(text, self.origin.steps_into());
        // Flow collections are rewritten as a whole, before anything is renamed.
        let (mut in_braces, mut left) = (Vec::new(), Vec::new());
        for edit in edits {
            match flow_around(&text, edit).map_err(|why| (edit.route().to_vec(), why))? {
                Some(route) if route.last() == Some(&"optional".into()) => {}
                Some(route) => {
                    if let (true, DocumentEdit::Wrap(at, name) | DocumentEdit::Group(at, name, _)) =
                        (route == edit.route(), edit)
                    {
                        left.push(DocumentEdit::Rename(at.clone(), name.clone()));
                    }
                    if !in_braces.contains(&route) {
                        in_braces.push(route);
                    }
                }
                None => left.push(edit.clone()),
            }
        }
        for route in &in_braces {
            let read = moved.read(route);
            let value = read[1..].iter().try_fold(spec, |value, step| match step {
                RouteStep::Key(key) => value.get(key.as_str()),
                RouteStep::Index(index) => value.get(*index),
            });
            let value = value.ok_or_else(|| RewriteError("unsupported layout".into()));
            value
                .and_then(|value| text.set_flow(route, value))
                .map_err(|why| (route.clone(), why))?;
        }
        for edit in &left {
            match edit {
                DocumentEdit::Rename(route, name) => text.rename(route, name),
                DocumentEdit::Replace(route, name, value) => text.replace(route, name, value),
                DocumentEdit::IntoList(route, name, list) => text.make_list(route, name, list),
                DocumentEdit::Wrap(route, name) => text.wrap(route, name),
                DocumentEdit::Remove(route) => text.remove(route),
                DocumentEdit::Lift(route, entries) => text.lift(route, entries),
                DocumentEdit::Group(route, name, groups) => text.group(route, name, groups),
            }
            .map_err(|why| (edit.route().to_vec(), why))?;
        }
        if let Some(former) = &self.conversion.former_name {
            text.annotate(FORMER_NAME, former).map_err(|why| (vec!["metadata".into()], why))?;
        }
        Ok(text.into_text())
    }
}

impl DocumentEdit {
    fn route(&self) -> &[RouteStep] {
        match self {
            DocumentEdit::Rename(route, _)
            | DocumentEdit::Replace(route, ..)
            | DocumentEdit::IntoList(route, ..)
            | DocumentEdit::Wrap(route, _)
            | DocumentEdit::Remove(route)
            | DocumentEdit::Lift(route, _)
            | DocumentEdit::Group(route, ..) => route,
        }
    }
}

/// Returns the outermost flow collection around an edit.
fn flow_around(
    text: &EditedText,
    edit: &DocumentEdit,
) -> Result<Option<Vec<RouteStep>>, RewriteError> {
    let route = edit.route();
    let takes_apart = matches!(edit, DocumentEdit::Wrap(..) | DocumentEdit::Group(..));
    let deepest = if takes_apart { route.len() } else { route.len() - 1 };
    for length in 1..=deepest {
        if text.is_flow(&route[..length])? {
            return Ok(Some(route[..length].to_vec()));
        }
    }
    Ok(None)
}

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Returns a file's text before and after, or the reason and position of a refusal.
fn rewritten(
    file: &Arc<Utf8Path>,
    bytes: Vec<u8>,
    older: &[LegacySipcluster<'_>],
) -> Result<(String, String), (Place, RewriteError)> {
    let at =
        |older: &LegacySipcluster<'_>, route: Vec<RouteStep>| older.origin.as_written().at(route);
    let nowhere = || Place::File(file.clone());
    let before = String::from_utf8(bytes)
        .map_err(|_| (nowhere(), RewriteError("the file is not valid UTF-8".into())))?;
    let (mark, text) = match before.strip_prefix(BYTE_ORDER_MARK) {
        Some(text) => (BYTE_ORDER_MARK, text),
        None => ("", before.as_str()),
    };
    let has_crlf = text.contains("\r\n");
    if has_crlf && text.matches('\n').count() != text.matches("\r\n").count() {
        return Err((
            nowhere(),
            RewriteError("mixed line ends: only some lines end with a carriage return".into()),
        ));
    }
    let mut after = text.to_owned();
    let mut last_first: Vec<&LegacySipcluster<'_>> = older.iter().collect();
    // SIPClusters in one list that is not split into items are edited in turn, each on the result
    // of the previous edit.
    last_first.sort_by_key(|older| std::cmp::Reverse(older.origin.range().start));
    let mut grown: Option<(usize, usize)> = None;
    for one in last_first {
        let mut range = one.origin.range();
        if let Some((_, end)) = grown.filter(|(start, _)| *start == range.start) {
            range.end = end;
        }
        let rewritten = one
            .rewrite(after[range.clone()].replace("\r\n", "\n"))
            .map_err(|(route, why)| (at(one, route), why))?;
        let rewritten = if has_crlf { rewritten.replace('\n', "\r\n") } else { rewritten };
        grown = Some((range.start, range.start + rewritten.len()));
        after.replace_range(range, &rewritten);
    }
    let unlike = documents(file, text, |origin, value| {
        let migrated = older.iter().find(|older| is_same(older.origin, origin));
        migrated.map_or(value, |older| Some(older.expected()))
    });
    let is_as_expected = unlike == documents(file, &after, |_, value| value);
    match older.first() {
        Some(first) if !is_as_expected => Err((
            at(first, Vec::new()),
            RewriteError("the result would have another meaning".into()),
        )),
        _ => Ok((before.clone(), format!("{mark}{after}"))),
    }
}

fn is_same(one: &Origin, other: &Origin) -> bool {
    one.range() == other.range() && one.steps_into() == other.steps_into()
}
