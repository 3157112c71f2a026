//! Outputs that are created, changed and deleted, with the objects that an agent creates and deletes.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8Path;
use schemars::JsonSchema;
use serde::Serialize;
use yaml_serde::Value;

use super::built::ServiceBuild;
use super::hosts::{ConsumedHost, ReviewFacts};
use super::service_files::by_part;
use super::{
    ChangeCounts, ChangedFiles, FileState, ImmutableField, at, below, changed_keys, documents,
};
use crate::base::api::names::HostKey;
use crate::base::api::service_kind::ServiceKind;
use crate::base::layout;

/// Change of an output of a cluster or of the site.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OutputChange {
    /// Its name.
    pub output: String,
    /// Created, changed or deleted.
    pub state: FileState,
    /// Numbers of its objects that an agent creates, changes and deletes.
    pub objects: ChangeCounts,
    /// Changes that the API server rejects, because the object exists.
    pub immutable: Vec<ImmutableField>,
    /// Hosts in use whose firmware settings change.
    pub firmware: Vec<ConsumedHost>,
}

/// Kinds of objects by which Metal3 changes the firmware of the host of their name.
const FIRMWARE: [&str; 3] = ["HostFirmwareComponents", "HostFirmwareSettings", "HostUpdatePolicy"];

/// Computes the changes of outputs. `above` is the directory of a cluster, or of all outputs for the
/// site.
pub(super) fn changes(
    above: &Utf8Path,
    files: &ChangedFiles<'_>,
    facts: &ReviewFacts<'_>,
) -> Vec<OutputChange> {
    let is_output = |(part, _): &(&str, ChangedFiles<'_>)| {
        *part != layout::INSTALLER && ServiceKind::with_directory(part).is_none()
    };
    let change = |(output, changed): (&str, ChangedFiles<'_>)| {
        let directory = above.join(output);
        let [before, after] = ServiceBuild::before_and_after(&directory, &changed, facts);
        OutputChange {
            output: output.to_owned(),
            state: FileState::from_sides([&before, &after].map(|it| it.exists.then_some(()))),
            objects: objects(&before, &after),
            immutable: after.changed_immutable_fields(&before),
            firmware: firmware(&changed, facts),
        }
    };
    by_part(&below(files, above)).into_iter().filter(is_output).map(change).collect()
}

/// Returns the hosts in use whose firmware settings differ in changed files.
fn firmware(changed: &ChangedFiles<'_>, facts: &ReviewFacts<'_>) -> Vec<ConsumedHost> {
    let mut hosts = BTreeSet::new();
    for texts in changed.values() {
        let [before, after] = texts.map(|text| firmware_objects(text.unwrap_or_default()));
        hosts.extend(changed_keys(&before, &after).map(|((_, host), _)| host.clone()));
    }
    let consumed = |host| ConsumedHost::new(host, &facts.user(host), &None);
    hosts.iter().filter_map(consumed).collect()
}

/// Returns the firmware settings in a text, by kind and host.
fn firmware_objects(text: &str) -> BTreeMap<(String, HostKey), Value> {
    // Most texts have none.
    if !FIRMWARE.iter().any(|kind| text.contains(kind)) {
        return BTreeMap::new();
    }
    let firmware = documents(text).filter_map(|object| {
        let kind = object.get("kind")?.as_str().filter(|kind| FIRMWARE.contains(kind))?.to_owned();
        let text = |field: &str| at(&object, field)?.as_str();
        let namespace = text("metadata.namespace")?.parse().ok()?;
        let name = text("metadata.name")?.parse().ok()?;
        Some(((kind, HostKey { namespace, name }), object))
    });
    firmware.collect()
}

/// Counts the objects and generated ConfigMaps that differ between two builds.
fn objects(before: &ServiceBuild<'_>, after: &ServiceBuild<'_>) -> ChangeCounts {
    let objects = changed_keys(&before.objects, &after.objects).map(|(_, state)| state);
    let [before, after] = [before, after].map(ServiceBuild::config_maps);
    objects.chain(changed_keys(&before, &after).map(|(_, state)| state)).collect()
}
