//! Differences between an object in the build of the repo's own files and in one with patches.

use std::borrow::Cow;

use yaml_serde::{Mapping, Value};

use super::planned_hosts::{PatchedPairs, PlannedHost, guards};
use crate::base::api::host;
use crate::base::api::names::{HostKey, Namespace};
use crate::plan::Plan;
use crate::site::Site;
use crate::site::inventory::{Evidence, Host};

impl PlannedHost<'_> {
    /// Returns how its object in a build differs from the plan. `before` is the object in the build
    /// of the repo's own files.
    pub(crate) fn difference(&self, before: &Mapping, after: &Mapping) -> Option<String> {
        let (before, after) = (ComparedObject::new(before), ComparedObject::new(after));
        different_pair(before.labels, after.labels, &self.labels)
            .map(|key| format!("another label `{key}`"))
            .or_else(|| {
                different_pair(before.annotations, after.annotations, &self.annotations)
                    .map(|key| format!("another annotation `{key}`"))
            })
            .or_else(|| {
                different_field(&before, &after).map(|field| format!("another value of `{field}`"))
            })
    }

    /// Returns the route of the first field that its object in a build does not have as planned.
    /// Further options in an annotation are no difference.
    pub(crate) fn changed_field(&self, object: &Mapping) -> Option<Vec<&str>> {
        let found = ComparedObject::new(object);
        let mut labels = self.labels.iter();
        let label = labels.find(|(key, planned)| text_of(found.labels, key) != planned.as_deref());
        let lacks_options = |(key, planned): &(&Cow<'_, str>, &Option<String>)| {
            let found = text_of(found.annotations, key).unwrap_or_default();
            let has = |option: &str| found.split(',').any(|other| other.trim() == option);
            planned.as_ref().is_some_and(|planned| !planned.split(',').all(has))
        };
        let annotation = || self.annotations.iter().find(lacks_options);
        let HostKey { namespace, name } = &self.host.key;
        let mut id = vec![("name", Some(name.as_str()))];
        // Without one, the object has the namespace of the settings, or the default.
        let is_implied =
            self.host.namespace_by_settings || *namespace == Namespace::default_namespace();
        if !is_implied || text_of(found.metadata, "namespace").is_some() {
            id.push(("namespace", Some(namespace.as_str())));
        }
        if self.host.evidence == Evidence::Live {
            id.push(("uid", self.host.live.uid.as_deref()));
        }
        let field = id.into_iter().find(|(key, value)| text_of(found.metadata, key) != *value);
        // A partial object leaves its spec to Metal3 and Cluster API.
        let has_spec = self.host.evidence == Evidence::Live && object.contains_key("spec");
        field
            .map(|(key, _)| vec!["metadata", key])
            .or_else(|| has_spec.then(|| vec!["spec"]))
            .or_else(|| label.map(|(key, _)| vec!["metadata", "labels", &**key]))
            .or_else(|| annotation().map(|(key, _)| vec!["metadata", "annotations", &**key]))
    }

    /// Returns the keys of unplanned labels of its object in a build that differ from the host's.
    /// Partial objects lack those of the host, and patches may remove those that assign it.
    pub(crate) fn unplanned_labels<'o>(
        &'o self,
        object: &'o Mapping,
    ) -> impl Iterator<Item = &'o str> {
        let found = ComparedObject::new(object).labels;
        let Host { assignment, labels, evidence, .. } = self.host;
        let is_left =
            |key: &&String| *evidence != Evidence::Live && !assignment.in_manifest.contains(key);
        let own = labels.keys().filter(is_left).map(String::as_str);
        let built = found.into_iter().flat_map(Mapping::keys).filter_map(Value::as_str);
        let differs = move |key: &&str| {
            let value = found.and_then(|labels| labels.get(key));
            !self.labels.contains_key(*key)
                && value.is_none_or(Value::is_string)
                && value.and_then(Value::as_str) != labels.get(*key).map(String::as_str)
        };
        own.chain(built).filter(differs)
    }
}

fn text_of<'a>(pairs: Option<&'a Mapping>, key: &str) -> Option<&'a str> {
    pairs?.get(key)?.as_str()
}

/// The changes of objects without a planned patch.
pub(crate) struct AllowedChanges {
    /// Annotations of Secrets.
    guards: PatchedPairs<'static>,
    /// Set if hosts may have labels of frozen clusters.
    has_frozen: bool,
}

impl AllowedChanges {
    pub(crate) fn new(site: &Site, plan: &Plan) -> Self {
        AllowedChanges { guards: guards(site, None), has_frozen: !plan.frozen.is_empty() }
    }

    /// Returns the field in which an object without a planned patch differs from the object in the
    /// build of the repo's own files.
    pub(crate) fn changed_field(&self, before: &Mapping, after: &Mapping) -> Option<String> {
        let (before, after) = (ComparedObject::new(before), ComparedObject::new(after));
        let none = PatchedPairs::new();
        let label = || different_pair(before.labels, after.labels, &none);
        let annotation = |set| different_pair(before.annotations, after.annotations, set);
        let pair = match after.object.get("kind").and_then(Value::as_str) {
            Some(host::KIND) if self.has_frozen => None,
            Some("Secret") if annotation(&self.guards).is_none() => label(),
            _ => label().or_else(|| annotation(&none)),
        };
        pair.map(str::to_owned).or_else(|| different_field(&before, &after))
    }
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
/// keys that are `set`.
fn different_pair<'a>(
    before: Option<&'a Mapping>,
    after: Option<&'a Mapping>,
    set: &'a PatchedPairs<'_>,
) -> Option<&'a str> {
    let value = |pairs: Option<&'a Mapping>, key: &str| pairs.and_then(|pairs| pairs.get(key));
    let wrong = set.iter().find(|(key, planned)| {
        value(after, key).map(Value::as_str) != planned.as_ref().map(|it| Some(it.as_str()))
    });
    let is_changed =
        |key: &&str| !set.contains_key(*key) && value(before, key) != value(after, key);
    let all = before.into_iter().chain(after).flat_map(Mapping::keys);
    wrong.map(|(key, _)| &**key).or_else(|| all.filter_map(Value::as_str).find(is_changed))
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
    use std::collections::BTreeMap;

    use super::*;
    use crate::base::text::yaml;

    #[test]
    fn objects_without_a_patch_keep_all_but_guards_of_secrets() {
        let allowed = AllowedChanges {
            guards: BTreeMap::from([("guard".into(), Some("on".to_owned()))]),
            has_frozen: false,
        };
        let changed = |before: &str, after: &str| {
            let read = |text: &str| yaml::from_str::<Mapping>(text).unwrap();
            allowed.changed_field(&read(before), &read(after))
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
