//! Origin of hosts that come from a stream, a build or `paths`.
//!
//! These inputs may omit a host's manifest, but the host is still declared: an agent applies the
//! manifest, and a partial object with labels would erase its spec (see `render::hosts`). So all
//! manifests of the repo are read, inputs or not. A rendered host is declared by the manifest that
//! its build gives the same name and namespace. Without a manifest, it is observed only if it is a
//! live object.

use std::collections::HashSet;
use std::mem;

use super::inputs::InputSelection;
use crate::base::api::host::live_field;
use crate::base::api::names::HostKey;
use crate::base::finding::{Code, Finding, Origin, Place};
use crate::base::grouping::grouped;
use crate::base::text::subject_with_first;
use crate::input::kustomize::RenamingKustomization;
use crate::input::settings::{InventoryMode, Settings};
use crate::site::inventory::host_document::HostDocument;

/// Documents of hosts, with the keys that builds give them.
#[derive(Default)]
pub(super) struct HostDocuments {
    pub(super) inputs: Vec<HostDocument>,
    /// Documents of the repo that are not inputs. Once completed, manifests of hosts without inputs.
    pub(super) others: Vec<HostDocument>,
    /// All documents in the repo's files.
    pub(super) in_files: Vec<(HostKey, Origin)>,
}

/// Completes input hosts by the repo's other documents, which show who renders them.
pub(super) fn complete(
    hosts: &mut HostDocuments,
    inputs: &InputSelection<'_>,
    settings: &Settings,
    renamed: impl FnOnce(&[(HostKey, Origin)]) -> Option<RenamingKustomization>,
) -> Vec<Finding> {
    let documents = mem::take(&mut hosts.inputs);
    let others = mem::take(&mut hosts.others);
    // All manifests are inputs, so the inputs are complete.
    if inputs.are_all() {
        hosts.inputs = documents;
        return Vec::new();
    }
    let manifests = others.into_iter().filter(|document| !document.roots.is_empty());
    let manifests = grouped(manifests.map(|document| (document.key.clone(), document)));
    let mut complete: Vec<HostDocument> = Vec::new();
    let mut is_described: HashSet<HostKey> = HashSet::new();
    let mut unknown: Vec<(HostKey, Place)> = Vec::new();
    let mut live: Vec<(HostKey, Place)> = Vec::new();
    for mut document in documents {
        let manifest = manifests.get(&document.key).and_then(|manifests| manifests.first());
        match manifest {
            Some(manifest)
                if document.origin.is_rendered() && !is_snapshot(&document, Some(manifest)) =>
            {
                document.roots.clone_from(&manifest.roots);
                document.file.clone_from(&manifest.file);
                document.own_namespace.clone_from(&manifest.own_namespace);
                document.namespace_by_settings = manifest.namespace_by_settings;
                take_labels_of(&mut document, manifest, settings);
            }
            None if document.origin.made_for().is_some()
                || document.origin.is_rendered() && !is_snapshot(&document, None) =>
            {
                // A document without a spec is a partial object with labels and declares nothing.
                if document.host.spec.is_some() {
                    document.roots = inputs.roots(&document.origin);
                }
                if document.roots.is_empty() && settings.inventory.mode != InventoryMode::Observed {
                    unknown.push((document.key.clone(), document.origin.start()));
                }
            }
            None if document.origin.is_rendered()
                && settings.inventory.mode != InventoryMode::Observed =>
            {
                live.push((document.key.clone(), document.origin.start()));
            }
            _ => {}
        }
        if !document.roots.is_empty() {
            is_described.insert(document.key.clone());
        }
        complete.push(document);
    }
    // The remaining inputs are snapshots. Those of declared hosts still need their manifests.
    let seen: HashSet<HostKey> = complete.iter().map(|document| document.key.clone()).collect();
    let (mut left, left_out): (Vec<_>, Vec<_>) =
        manifests.into_iter().partition(|(key, _)| seen.contains(key));
    left.retain(|(key, _)| !is_described.contains(key));
    complete.extend(left.into_iter().flat_map(|(_, manifests)| manifests));
    live.retain(|(key, _)| !is_described.contains(key));
    let renamed = if live.is_empty() { None } else { renamed(&hosts.in_files) };
    hosts.inputs = complete;
    hosts.others =
        left_out.into_iter().filter_map(|(_, manifests)| manifests.into_iter().next()).collect();
    let why = "and no kustomization of the repo renders such a manifest, nor is it a live object";
    let renamed = renamed.and_then(|RenamingKustomization { field, place }| {
        let why = format!("as a live object, but {} may rename a manifest to it", place.file());
        Some(unknown_standing(live, &why)?.see(place, format!("the `{field}`")))
    });
    unknown_standing(unknown, why).into_iter().chain(renamed).collect()
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
fn unknown_standing(mut hosts: Vec<(HostKey, Place)>, why: &str) -> Option<Finding> {
    hosts.sort_by(|(a, _), (b, _)| a.cmp(b));
    let (first, _) = hosts.first()?;
    let names = subject_with_first(hosts.len(), "host", first);
    let message = format!(
        "{names} in the input, {why}: if an agent applies its manifest, an object with labels alone would erase its spec"
    );
    let finding = Finding::new(Code::UnknownStanding, message).help(
        "if a build of this repo renders it, by Helm for instance, say which: `sources: [{kustomization: DIRECTORY}]` in \
         sipgen.yaml; if others make it, keep its live object, with its status, in a file that `sources` list, or set \
         `inventory: {mode: observed}`",
    );
    Some(finding.at_each(hosts.into_iter().map(|(_, place)| place)))
}
