//! Hosts whose patches are rendered, and the comparison of builds with them.

use std::collections::BTreeMap;

use yaml_serde::{Mapping, Value};

use super::hosts::{Labels, assigned_by_part, declared_annotations, guards, released_labels};
use super::patched_names::{written_name, written_namespace};
use crate::base::api::host;
use crate::base::layout;
use crate::plan::Plan;
use crate::site::Site;
use crate::site::inventory::{Evidence, Host};

/// A declared host whose patch is rendered.
pub(crate) struct PlannedHost<'a> {
    pub(crate) host: &'a Host,
    /// Its labels. Those without a value are removed.
    pub(crate) labels: Labels,
    /// Its name and namespace in the build that the patch is part of.
    pub(crate) named: (String, Option<String>),
    /// The name of the file with its patch.
    pub(super) file: String,
    /// Its guards.
    annotations: BTreeMap<&'static str, String>,
}

/// Returns the declared hosts whose patches are rendered, by root.
pub(crate) fn planned_hosts<'a>(
    site: &'a Site,
    plan: &'a Plan,
) -> BTreeMap<usize, Vec<PlannedHost<'a>>> {
    let mut planned: BTreeMap<usize, Vec<PlannedHost<'_>>> = BTreeMap::new();
    let mut add = |host: &'a Host, labels: Labels, file: &str| {
        if let Evidence::Applied { root } = host.evidence {
            let named = (
                written_name(site, host).to_owned(),
                written_namespace(site, host).map(str::to_owned),
            );
            planned.entry(root).or_default().push(PlannedHost {
                host,
                labels,
                named,
                file: file.to_owned(),
                annotations: declared_annotations(site, host),
            });
        }
    };
    for (key, placement) in &plan.clusters {
        let cluster = site.clusters.get(key).and_then(|it| it.cluster.as_ref());
        let Some(cluster) = cluster else { continue };
        let file = layout::patch_file(key);
        for (part, host, part_labels) in assigned_by_part(site, cluster, placement) {
            add(host, part_labels.declared_labels_of(cluster, part, host), &file);
        }
    }
    for host in plan.unlabelled.iter().filter_map(|key| site.inventory.host(key)) {
        add(host, released_labels(host), layout::UNLABELLED);
    }
    planned
}

impl PlannedHost<'_> {
    /// Returns the fields of its id in the build.
    pub(super) fn id(&self) -> Mapping {
        let (name, namespace) = &self.named;
        let text = |text: &str| Value::from(text);
        let mut metadata = Mapping::from_iter([(text("name"), text(name))]);
        if let Some(namespace) = namespace {
            metadata.insert(text("namespace"), text(namespace));
        }
        Mapping::from_iter([
            (text("apiVersion"), text(host::API_VERSION)),
            (text("kind"), text(host::KIND)),
            (text("metadata"), Value::Mapping(metadata)),
        ])
    }

    /// Returns its patch.
    pub(super) fn patch(&self) -> Mapping {
        let text = |text: &str| Value::from(text);
        let labels = self.labels.iter().map(|(key, value)| {
            let value = value.as_deref().map_or(Value::Null, text);
            (text(key), value)
        });
        let annotations = self.annotations.iter();
        let annotations = annotations.map(|(key, value)| (text(key), text(value)));
        let mut patch = self.id();
        if let Some(Value::Mapping(metadata)) = patch.get_mut("metadata") {
            metadata.insert(text("labels"), Value::Mapping(labels.collect()));
            metadata.insert(text("annotations"), Value::Mapping(annotations.collect()));
        }
        patch
    }

    /// Returns the keys of the labels that its patch removes.
    pub(super) fn removed_labels(&self) -> impl Iterator<Item = &str> {
        let removed = self.labels.iter().filter(|(_, value)| value.is_none());
        removed.map(|(key, _)| key.as_str())
    }

    /// Returns how its object in a build differs from the plan. `before` is the object in the build
    /// of the repo's own files.
    pub(crate) fn difference(&self, before: &Mapping, after: &Mapping) -> Option<String> {
        let labels = self.labels.iter();
        let labels = labels.map(|(key, value)| (key.as_str(), value.as_deref()));
        let annotations = self.annotations.iter();
        let annotations = annotations.map(|(key, value)| (*key, Some(value.as_str())));
        let (before, after) = (ComparedObject::new(before), ComparedObject::new(after));
        different_pair(before.labels, after.labels, labels)
            .map(|key| format!("another label `{key}`"))
            .or_else(|| {
                different_pair(before.annotations, after.annotations, annotations)
                    .map(|key| format!("another annotation `{key}`"))
            })
            .or_else(|| {
                different_field(&before, &after).map(|field| format!("another value of `{field}`"))
            })
    }
}

/// The changes of objects without a planned patch.
pub(crate) struct AllowedChanges {
    /// Annotations of Secrets.
    guards: BTreeMap<&'static str, String>,
    /// Set if hosts may have labels of frozen clusters.
    has_frozen: bool,
}

impl AllowedChanges {
    pub(crate) fn new(site: &Site, plan: &Plan) -> Self {
        AllowedChanges { guards: guards(site, None), has_frozen: !plan.frozen.is_empty() }
    }
}

/// Returns the field in which an object without a planned patch differs from the object in the
/// build of the repo's own files.
pub(crate) fn changed_field(
    allowed: &AllowedChanges,
    before: &Mapping,
    after: &Mapping,
) -> Option<String> {
    let (before, after) = (ComparedObject::new(before), ComparedObject::new(after));
    let none = || [].into_iter();
    let label = || different_pair(before.labels, after.labels, none());
    let guards = allowed.guards.iter();
    let guards = guards.map(|(key, value)| (*key, Some(value.as_str())));
    let is_guarded = || different_pair(before.annotations, after.annotations, guards).is_none();
    let pair = match after.object.get("kind").and_then(Value::as_str) {
        Some(host::KIND) if allowed.has_frozen => None,
        Some("Secret") if is_guarded() => label(),
        _ => label().or_else(|| different_pair(before.annotations, after.annotations, none())),
    };
    pair.map(str::to_owned).or_else(|| different_field(&before, &after))
}

/// An object whose labels and annotations are compared apart from the rest.
struct ComparedObject<'a> {
    object: &'a Mapping,
    metadata: Option<&'a Mapping>,
    labels: Option<&'a Mapping>,
    annotations: Option<&'a Mapping>,
}

impl<'a> ComparedObject<'a> {
    fn new(object: &'a Mapping) -> Self {
        let metadata = object.get("metadata").and_then(Value::as_mapping);
        let pairs = |field: &str| metadata?.get(field)?.as_mapping();
        let (labels, annotations) = (pairs("labels"), pairs("annotations"));
        ComparedObject { object, metadata, labels, annotations }
    }
}

/// Returns the first key of labels or annotations that differs from what it was, apart from the
/// keys that are set, or removed by `None`.
fn different_pair<'a>(
    before: Option<&'a Mapping>,
    after: Option<&'a Mapping>,
    set: impl Iterator<Item = (&'a str, Option<&'a str>)> + Clone,
) -> Option<&'a str> {
    let value = |pairs: Option<&'a Mapping>, key: &str| pairs.and_then(|pairs| pairs.get(key));
    let wrong = set
        .clone()
        .find(|(key, planned)| value(after, key).map(Value::as_str) != planned.map(Some));
    let is_changed = |key: &&str| {
        set.clone().all(|(other, _)| other != *key) && value(before, key) != value(after, key)
    };
    let all = before.into_iter().chain(after).flat_map(Mapping::keys);
    wrong.map(|(key, _)| key).or_else(|| all.filter_map(Value::as_str).find(is_changed))
}

/// Returns the first field that differs, apart from labels and annotations.
fn different_field(before: &ComparedObject<'_>, after: &ComparedObject<'_>) -> Option<String> {
    let none = Mapping::new();
    let (one, other) = (before.metadata.unwrap_or(&none), after.metadata.unwrap_or(&none));
    first_difference(before.object, after.object, &["metadata"]).or_else(|| {
        let field = first_difference(one, other, &["labels", "annotations"])?;
        Some(format!("metadata.{field}"))
    })
}

/// Returns the path of the first field that differs, apart from some fields.
fn first_difference(one: &Mapping, other: &Mapping, apart: &[&str]) -> Option<String> {
    let is_compared = |key: &&Value| key.as_str().is_some_and(|key| !apart.contains(&key));
    let fields = || one.iter().filter(|(key, _)| is_compared(key));
    let changed = fields().find(|(key, value)| other.get(*key) != Some(*value));
    // Without a changed field, all fields of one are in the other.
    let has_more = || other.keys().filter(is_compared).count() > fields().count();
    let added = || other.keys().filter(is_compared).find(|key| !one.contains_key(*key));
    let key = changed.map(|(key, _)| key).or_else(|| if has_more() { added() } else { None })?;
    let key = key.as_str()?;
    let inner = match (one.get(key), other.get(key)) {
        (Some(Value::Mapping(one)), Some(Value::Mapping(other))) => {
            first_difference(one, other, &[])
        }
        _ => None,
    };
    Some(inner.map_or_else(|| key.to_owned(), |inner| format!("{key}.{inner}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::text::yaml;

    #[test]
    fn objects_without_a_patch_keep_all_but_guards_of_secrets() {
        let allowed = AllowedChanges {
            guards: BTreeMap::from([("guard", "on".to_owned())]),
            has_frozen: false,
        };
        let changed = |before: &str, after: &str| {
            let read = |text: &str| yaml::from_str::<Mapping>(text).unwrap();
            changed_field(&allowed, &read(before), &read(after))
        };
        let guarded = "{kind: Secret, metadata: {name: a, annotations: {guard: 'on'}}}";
        assert_eq!(changed("{kind: Secret, metadata: {name: a}}", guarded), None);
        for (before, after, field) in [
            (
                "{kind: Role, metadata: {name: a}}",
                "{kind: Role, metadata: {name: a, annotations: {guard: 'on'}}}",
                "guard",
            ),
            (
                "{kind: Secret, metadata: {name: a}, data: {a: b}}",
                "{kind: Secret, metadata: {name: a}, data: {a: c}}",
                "data.a",
            ),
            (
                "{kind: BareMetalHost, metadata: {name: a}}",
                "{kind: BareMetalHost, metadata: {name: a, labels: {x: y}}}",
                "x",
            ),
        ] {
            assert_eq!(changed(before, after).as_deref(), Some(field), "{after}");
        }
    }
}
