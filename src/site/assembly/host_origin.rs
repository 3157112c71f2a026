//! Origin of hosts that come from a stream, a build or `paths`.
//!
//! These inputs may omit a host's manifest, but the host is still declared: an agent applies the
//! manifest, and a partial object with labels would erase its spec (see `render::hosts`). So all
//! manifests of the repo are read, inputs or not. A rendered host is declared by the manifest that
//! its build gives the same name and namespace. Without a manifest, it is observed only if it is a
//! live object.

use std::collections::HashSet;
use std::mem;

use super::concern::{is_example, is_excluded};
use super::names::NamingContext;
use crate::base::api::host::live_field;
use crate::base::api::names::HostKey;
use crate::base::finding::{Code, Finding, Origin, Place};
use crate::base::grouping::grouped;
use crate::base::text::subject_with_first;
use crate::input::settings::{InventoryMode, Settings};
use crate::site::inventory::host_document::HostDocument;
use crate::site::inventory::usage::HostUsage;

/// Documents of hosts, with the keys that builds give them.
#[derive(Default)]
pub(super) struct HostDocuments {
    pub(super) inputs: Vec<HostDocument>,
    /// Documents of the repo that are not inputs. Once completed, those of hosts without inputs that
    /// kustomizations render, or that say that the host is in use.
    pub(super) others: Vec<HostDocument>,
    /// All documents in the repo's files.
    pub(super) in_files: Vec<(HostKey, Origin)>,
}

/// Completes input hosts by the repo's other documents, which show who renders them.
pub(super) fn complete(hosts: &mut HostDocuments, naming: NamingContext<'_>) -> Vec<Finding> {
    let NamingContext { inputs, settings, .. } = naming;
    // All manifests are inputs, so the inputs are complete.
    let others = mem::take(&mut hosts.others);
    if inputs.are_all() {
        return Vec::new();
    }
    let (manifests, loose): (Vec<_>, Vec<_>) =
        others.into_iter().partition(|document| !document.roots.is_empty());
    let manifests = grouped(manifests.into_iter().map(|document| (document.key.clone(), document)));
    let is_observed = settings.inventory.mode == InventoryMode::Observed;
    let (mut seen, mut is_described) = (HashSet::new(), HashSet::new());
    let (mut unknown, mut live) = (Vec::new(), Vec::new());
    for document in &mut hosts.inputs {
        let manifest = manifests.get(&document.key).and_then(|manifests| manifests.first());
        let is_built = document.origin.is_rendered() && !is_snapshot(document, manifest);
        match manifest {
            Some(manifest) if is_built => {
                document.roots.clone_from(&manifest.roots);
                document.file.clone_from(&manifest.file);
                document.own_namespace.clone_from(&manifest.own_namespace);
                document.namespace_by_settings = manifest.namespace_by_settings;
                take_labels_of(document, manifest, settings);
            }
            None if is_built || document.origin.made_for().is_some() => {
                // A document without a spec is a partial object with labels and declares nothing.
                if document.host.spec.is_some() {
                    document.roots = inputs.roots(&document.origin);
                }
                if document.roots.is_empty() && !is_observed {
                    unknown.push((document.key.clone(), document.origin.start()));
                }
            }
            None if document.origin.is_rendered() && !is_observed => {
                live.push((document.key.clone(), document.origin.start()));
            }
            _ => {}
        }
        if !document.roots.is_empty() {
            is_described.insert(document.key.clone());
        }
        seen.insert(document.key.clone());
    }
    // The remaining inputs are snapshots. Those of declared hosts still need their manifests.
    for (key, manifests) in manifests {
        if !seen.contains(&key) {
            hosts.others.extend(manifests.into_iter().next());
        } else if !is_described.contains(&key) {
            hosts.inputs.extend(manifests);
        }
    }
    let known: HashSet<HostKey> = hosts.others.iter().map(|other| other.key.clone()).collect();
    // Excluded files count if they show that a host is in use, and may be of this site.
    let shows_use = |document: &HostDocument| {
        let file = &document.origin.file;
        is_excluded(settings, file)
            && !is_example(file)
            && !naming.repo.is_out_of_reach(file)
            && (!is_observed || document.host.is_live())
            && HostUsage::all_of(document).next().is_some()
    };
    let is_unknown =
        |document: &HostDocument| !seen.contains(&document.key) && !known.contains(&document.key);
    hosts.others.extend(loose.into_iter().filter(|it| is_unknown(it) && shows_use(it)));
    live.retain(|(key, _)| !is_described.contains(key));
    let renamed =
        if live.is_empty() { None } else { renaming_kustomization(naming, &hosts.in_files) };
    let why = "but no kustomization of the repo renders such a manifest, and it is no live object: it is not known whether \
               an agent applies it in full, and";
    let renamed = renamed.and_then(|(field, place)| {
        let why = format!("as a live object, but {} may rename a manifest to it:", place.file());
        let others = "keep the live objects in a file of the repo, which `sources` list beside the kustomization";
        Some(unknown_standing(live, &why, others)?.see(place, format!("the `{field}`")))
    });
    let others = "hand over the live object, with its status, or set `inventory: {mode: observed}`";
    unknown_standing(unknown, why, others).into_iter().chain(renamed).collect()
}

/// Returns the field and place in a kustomization that may rename hosts.
fn renaming_kustomization(
    naming: NamingContext<'_>,
    documents: &[(HostKey, Origin)],
) -> Option<(&'static str, Place)> {
    let files = documents.iter().map(|(_, origin)| &*origin.file).collect();
    let sources = naming.settings.sources.iter();
    let built = sources.filter_map(|source| source.kustomization.as_deref());
    naming.builds.that_may_rename(naming.repo, &files, built)
}

/// Returns whether a document is a copy of a live object. A manifest in git may also have a status;
/// then so does its rendered form.
fn is_snapshot(document: &HostDocument, manifest: Option<&HostDocument>) -> bool {
    let has_status = document.host.status.is_some();
    live_field(&document.host.metadata).is_some()
        || has_status && manifest.is_none_or(|manifest| manifest.host.status.is_none())
}

/// Replaces the assignment labels of a rendered host by those of its manifest.
///
/// The build may include sipgen's own patches. Their labels are recorded in the output and are no
/// claim of the manifest.
fn take_labels_of(document: &mut HostDocument, manifest: &HostDocument, settings: &Settings) {
    let labels = document.host.metadata.labels.get_or_insert_default();
    labels.retain(|key, _| !settings.assignment.has_key(key));
    let own = manifest.host.metadata.labels.iter().flatten();
    let own = own.filter(|(key, _)| settings.assignment.has_key(key));
    labels.extend(own.map(|(key, value)| (key.clone(), value.clone())));
}

/// Reports hosts in a stream that an agent may apply in full by a manifest that is not known.
///
/// `others` is the advice for those that no build of the repo renders.
fn unknown_standing(mut hosts: Vec<(HostKey, Place)>, why: &str, others: &str) -> Option<Finding> {
    hosts.sort_by(|(a, _), (b, _)| a.cmp(b));
    let (first, _) = hosts.first()?;
    let names = subject_with_first(hosts.len(), "host", first);
    let message = format!(
        "{names} in the input, {why} then an object with labels alone would erase its spec"
    );
    let finding = Finding::new(Code::UnknownStanding, message).help(format!(
        "if a build of this repo renders it, by Helm for instance, say which: `sources: [{{kustomization: DIRECTORY}}]` in \
         sipgen.yaml; if others make it, {others}"
    ));
    Some(finding.at_each(hosts.into_iter().map(|(_, place)| place)))
}
