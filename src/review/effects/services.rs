//! Services that are created, changed and deleted.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8Path;
use schemars::JsonSchema;
use serde::Serialize;
use yaml_serde::Value;

use super::built::ServiceBuild;
use super::hosts::ReviewFacts;
use super::service_files::by_part;
use super::{ChangedFiles, FileState, ImmutableField, Texts, below, changed_keys};
use crate::base::api::names::ClusterKey;
pub use crate::base::api::service_kind::Aspect;
use crate::base::api::service_kind::ServiceKind;
use crate::base::layout;

/// Change of one of a cluster's services.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ServiceChange {
    /// Name of its directory, such as `loadbalancer-worker`, or `jumphost2` for the second jump
    /// host.
    pub service: String,
    /// Created, changed or deleted.
    pub state: FileState,
    /// Changed aspects; empty if only comments differ.
    pub aspects: BTreeSet<Aspect>,
    /// True if the pods are replaced, which ends their connections. Otherwise running pods reload
    /// the changes.
    pub restarts: bool,
    /// Changes that the API server rejects, because the object exists.
    pub immutable: Vec<ImmutableField>,
}

/// Computes the changes of a cluster's services.
pub(super) fn changes(
    cluster: &ClusterKey,
    files: &ChangedFiles<'_>,
    facts: &ReviewFacts<'_>,
) -> Vec<ServiceChange> {
    let directory = layout::cluster_directory(cluster);
    let edited =
        facts.edited.iter().filter_map(|referring| referring.strip_prefix(&directory).ok());
    let edited = edited.filter_map(|referring| referring.iter().next());
    let mut by_service: BTreeMap<&str, ChangedFiles<'_>> =
        edited.map(|service| (service, ChangedFiles::new())).collect();
    // Other files are the cluster's own kustomization, its installer and its outputs.
    let parts = by_part(&below(files, &directory)).into_iter();
    by_service.extend(parts.filter(|(part, _)| ServiceKind::with_directory(part).is_some()));
    let change = |(service, files): (&str, ChangedFiles<'_>)| {
        // The cluster's kustomization lists exactly the existing services, so each has a
        // kustomization of its own.
        let state = FileState::by_witness(&files, layout::KUSTOMIZATION);
        let mut change = ServiceChange {
            service: service.to_owned(),
            state,
            aspects: BTreeSet::new(),
            restarts: false,
            immutable: Vec::new(),
        };
        if state == FileState::Changed {
            let directory = directory.join(service);
            let [before, after] = ServiceBuild::before_and_after(&directory, &files, facts);
            change.aspects = aspects(service, &files, &before, &after);
            change.restarts = before.pods() != after.pods();
            change.immutable = after.changed_immutable_fields(&before);
        }
        change
    };
    by_service.into_iter().map(change).collect()
}

fn aspects(
    service: &str,
    changed: &ChangedFiles<'_>,
    before: &ServiceBuild<'_>,
    after: &ServiceBuild<'_>,
) -> BTreeSet<Aspect> {
    let mut aspects = BTreeSet::new();
    for key in before.objects.keys().chain(after.objects.keys()) {
        let (kind, _) = key;
        let [before, after] =
            [before, after].map(|built| built.objects.get(key).unwrap_or(&Value::Null));
        differences(before, after, aspect_of(kind), &mut aspects);
    }
    let kind = ServiceKind::with_directory(service);
    for key in before.generated.keys().chain(after.generated.keys()) {
        let [before, after] = [before, after].map(|built| {
            let entry = built.generated.get(key).and_then(|entry| entry.text);
            layout::body(entry.unwrap_or_default())
        });
        if before != after {
            match kind.and_then(|kind| kind.aspects.get(&key.1)) {
                Some(words) => aspects.extend(line_aspects(words, before, after)),
                None => drop(aspects.insert(Aspect::Configuration)),
            }
        }
    }
    // Files that the build does not read, such as those for tenants.
    let is_other = |(path, texts): (&&Utf8Path, &Texts<'_>)| {
        let [before_body, after_body] = texts.map(|it| layout::body(it.unwrap_or_default()));
        !before.read.contains(path) && !after.read.contains(path) && before_body != after_body
    };
    if before.others != after.others || changed.iter().any(is_other) {
        aspects.insert(Aspect::Configuration);
    }
    aspects
}

/// Returns the aspects of the lines that differ between two texts, by their first words.
fn line_aspects(words: &BTreeMap<String, Aspect>, before: &str, after: &str) -> BTreeSet<Aspect> {
    let by_aspect = |text| {
        let mut by_aspect: BTreeMap<Aspect, BTreeSet<&str>> = BTreeMap::new();
        for line in lines(text) {
            let word = line.split_whitespace().next().unwrap_or_default();
            let (aspect, line) = match words.get(word) {
                // The port of a server is that of its section.
                Some(Aspect::Hosts) => {
                    (Aspect::Hosts, line.rsplit_once(':').map_or(line, |(host, _)| host))
                }
                Some(aspect) => (*aspect, line),
                None => (*words.get("*").unwrap_or(&Aspect::Configuration), line),
            };
            by_aspect.entry(aspect).or_default().insert(line);
        }
        by_aspect
    };
    let [before, after] = [before, after].map(by_aspect);
    changed_keys(&before, &after).map(|(aspect, _)| *aspect).collect()
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Collects the aspects in which two values differ; `within` is the aspect of the keys above.
fn differences(
    before: &Value,
    after: &Value,
    within: Option<Aspect>,
    aspects: &mut BTreeSet<Aspect>,
) {
    match (before, after) {
        (Value::Mapping(before), Value::Mapping(after)) => {
            let keys = before.keys().chain(after.keys().filter(|key| !before.contains_key(*key)));
            for key in keys {
                let told = within.or_else(|| aspect_of(key.as_str()?));
                let [old, new] = [before, after].map(|it| it.get(key).unwrap_or(&Value::Null));
                differences(old, new, told, aspects);
            }
        }
        (Value::Sequence(before), Value::Sequence(after)) if before.len() == after.len() => {
            for (before, after) in before.iter().zip(after) {
                differences(before, after, within, aspects);
            }
        }
        _ if before != after => aspects.extend([within.unwrap_or(Aspect::Configuration)]),
        _ => {}
    }
}

/// Maps a kind of objects, or a key in an object, to the aspect of any change in it; `None` if the
/// keys below decide.
fn aspect_of(kind_or_key: &str) -> Option<Aspect> {
    match kind_or_key {
        "ports" => Some(Aspect::Ports),
        "image" => Some(Aspect::Image),
        "replicas" | "PodDisruptionBudget" => Some(Aspect::Replicas),
        "ExternalSecret" | "Role" => Some(Aspect::Hosts),
        _ => None,
    }
}
