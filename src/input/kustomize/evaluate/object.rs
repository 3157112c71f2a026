//! An object during a build, and the ids by which kustomize distinguishes objects.

use std::hash::{Hash, Hasher};

use yaml_serde::{Mapping, Value};

use super::StepResult;
use super::budget::BuildBudget;
use crate::base::api::host;
use crate::base::finding::{ComponentLevel, ForeignValue, Origin, Place, RouteStep};
pub(super) use crate::base::text::yaml::scalar_text;

/// An object of a build in its current state.
#[derive(Debug, Clone)]
pub(crate) struct BuildObject {
    /// Its source document, or the kustomization whose generator made it.
    pub(crate) origin: Origin,
    pub(crate) value: Mapping,
    /// Its ids before each change of name or namespace, oldest first.
    previous: Vec<Id>,
    /// The prefixes and suffixes of its name, innermost first.
    pub(super) prefixes: Vec<String>,
    pub(super) suffixes: Vec<String>,
    /// The changes that are still visible, in order.
    pub(super) changes: Vec<ForeignValue>,
    /// Its name and namespace where each kustomization's components run, innermost first.
    pub(super) levels: Vec<ComponentLevel>,
    /// Texts before variables in them were substituted.
    pub(super) unsubstituted: Vec<(Vec<RouteStep>, String)>,
    /// Behavior of the generator that made it.
    pub(super) generated: Option<Behavior>,
    /// Set if its name gets a content hash as suffix.
    pub(super) needs_hash: bool,
    /// Scalars without a type yet. The next merge patch turns them into strings, whatever it
    /// changes.
    pub(super) untyped: Vec<Vec<RouteStep>>,
    /// Names of the variables that take their value from it.
    pub(super) vars: Vec<String>,
    /// Set if a patch has deleted it. It stays in its list until all patches have run.
    pub(crate) is_deleted: bool,
}

/// A generator's behavior towards an existing object of the same id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, derive_more::Display)]
#[display(rename_all = "lowercase")]
pub(super) enum Behavior {
    Create,
    Merge,
    Replace,
}

/// The id by which kustomize distinguishes objects. Namespaces are compared by effect: empty equals
/// `default`.
#[derive(Debug, Clone, Eq)]
pub(super) struct Id {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) kind: String,
    pub(super) name: String,
    /// Namespace as written.
    pub(super) namespace: String,
    pub(super) is_cluster_scoped: bool,
}

/// Effective namespace of cluster-scoped objects.
const NO_NAMESPACE: &str = "_non_namespaceable_";

/// Returns whether a kind is cluster-scoped in kustomize 5.8, in any version.
pub(crate) fn is_cluster_scoped(group: &str, kind: &str) -> bool {
    let kinds: &[&str] = match group {
        "" => &[
            "ComponentStatus",
            "Namespace",
            "Node",
            "NodeProxyOptions",
            "PersistentVolume",
            "SelfSubjectAccessReview",
            "SubjectAccessReview",
            "TokenReview",
        ],
        "admissionregistration.k8s.io" => &[
            "MutatingWebhookConfiguration",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
            "ValidatingWebhookConfiguration",
        ],
        "apiextensions.k8s.io" => &["CustomResourceDefinition"],
        "apiregistration.k8s.io" => &["APIService"],
        "certificates.k8s.io" => &["CertificateSigningRequest"],
        "flowcontrol.apiserver.k8s.io" => &["FlowSchema", "PriorityLevelConfiguration"],
        "internal.apiserver.k8s.io" => &["StorageVersion"],
        "networking.k8s.io" => &["IngressClass"],
        "node.k8s.io" => &["RuntimeClass"],
        "policy" => &["PodSecurityPolicy"],
        "rbac.authorization.k8s.io" => &["ClusterRole", "ClusterRoleBinding"],
        "scheduling.k8s.io" => &["PriorityClass"],
        "storage.k8s.io" => &["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment"],
        _ => &[],
    };
    kinds.contains(&kind)
}

impl Id {
    /// Returns the id of a host.
    pub(super) fn host(name: &str, namespace: Option<&str>) -> Self {
        let parts = [host::KIND, name, namespace.unwrap_or_default()];
        Self::new(host::API_VERSION, parts.map(str::to_owned))
    }

    pub(super) fn new(api_version: &str, [kind, name, namespace]: [String; 3]) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Id {
            group: group.to_owned(),
            version: version.to_owned(),
            is_cluster_scoped: is_cluster_scoped(group, &kind),
            kind,
            name,
            namespace,
        }
    }

    /// Reads the id of an object.
    pub(super) fn from_object(object: &Mapping) -> Self {
        let text = |route: &[&str]| text_at(object, route).unwrap_or_default();
        let routes = [&["kind"][..], &["metadata", "name"], &["metadata", "namespace"]];
        Id::new(&text(&["apiVersion"]), routes.map(text))
    }

    /// Returns the namespace that is compared.
    pub(super) fn effective_namespace(&self) -> &str {
        match self.namespace.as_str() {
            _ if self.is_cluster_scoped => NO_NAMESPACE,
            "" => "default",
            namespace => namespace,
        }
    }

    /// Formats the object for messages.
    pub(super) fn shown(&self) -> String {
        match self.namespace.as_str() {
            "" => format!("{} {}", self.kind, self.name),
            namespace => format!("{} {namespace}/{}", self.kind, self.name),
        }
    }

    fn parts(&self) -> [&str; 5] {
        [&self.group, &self.version, &self.kind, &self.name, self.effective_namespace()]
    }
}

impl PartialEq for Id {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Hash for Id {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.parts().hash(state);
    }
}

impl BuildObject {
    pub(super) fn new(origin: Origin, value: Mapping) -> Self {
        BuildObject {
            origin,
            value,
            previous: Vec::new(),
            prefixes: Vec::new(),
            suffixes: Vec::new(),
            changes: Vec::new(),
            levels: Vec::new(),
            unsubstituted: Vec::new(),
            generated: None,
            needs_hash: false,
            untyped: Vec::new(),
            vars: Vec::new(),
            is_deleted: false,
        }
    }

    /// Returns a copy without the places of changes so far.
    pub(super) fn unchanged(&self) -> Self {
        BuildObject {
            previous: self.previous.clone(),
            generated: self.generated,
            untyped: self.untyped.clone(),
            ..BuildObject::new(self.origin.clone(), self.value.clone())
        }
    }

    pub(super) fn kind(&self) -> String {
        text_at(&self.value, &["kind"]).unwrap_or_default()
    }

    pub(super) fn name(&self) -> String {
        text_at(&self.value, &["metadata", "name"]).unwrap_or_default()
    }

    pub(super) fn id(&self) -> Id {
        Id::from_object(&self.value)
    }

    /// Returns the id before any change.
    pub(super) fn original_id(&self) -> Id {
        self.first_id().cloned().unwrap_or_else(|| self.id())
    }

    /// Returns the id before the first change, if there was one.
    pub(super) fn first_id(&self) -> Option<&Id> {
        self.previous.first()
    }

    /// Returns all previous and current ids. Previous ones get the current group and version.
    pub(super) fn ids(&self) -> Vec<Id> {
        let now = self.id();
        let before = self.previous.iter().map(|id| Id {
            group: now.group.clone(),
            version: now.version.clone(),
            ..id.clone()
        });
        let mut ids: Vec<Id> = before.collect();
        ids.push(now);
        ids
    }

    /// Records the current id before it changes.
    pub(super) fn keep_id(&mut self) {
        let id = self.id();
        let namespace = id.effective_namespace().to_owned();
        // kustomize forgets of a previous id whether its kind is namespaced.
        let id = Id { namespace, is_cluster_scoped: false, ..id };
        // Thousands of patches may leave the id as it is.
        if self.previous.last() != Some(&id) {
            self.previous.push(id);
        }
        self.spell_annotations();
    }

    /// Sets a text at a route, creating missing mappings.
    pub(super) fn set(&mut self, route: &[&str], text: &str, place: &Place) {
        let before = set_at(&mut self.value, route, text.into());
        // An unchanged value keeps its place.
        if before.as_ref().and_then(Value::as_str) == Some(text) {
            return;
        }
        let route = route.iter().map(|key| RouteStep::from(*key)).collect();
        let replaces = before.is_some_and(|before| !before.is_null());
        self.note(ForeignValue { route, place: place.clone(), goes_on: false, replaces });
    }

    /// Reverts a name or namespace that a patch must not change.
    pub(super) fn restore(&mut self, key: &str, text: &str) {
        if let Some(Value::Mapping(metadata)) = self.value.get_mut("metadata") {
            match metadata.get(key) {
                None if text.is_empty() => return,
                Some(Value::String(now)) if now == text => return,
                _ if text.is_empty() => _ = metadata.remove(key),
                _ => _ = metadata.insert(Value::from(key), Value::from(text)),
            }
        }
        let restored = [RouteStep::from("metadata"), key.into()];
        self.changes.retain(|change| change.route != restored);
    }

    /// Records the place that sets the value at a route.
    pub(super) fn note(&mut self, mut given: ForeignValue) {
        given.replaces |=
            self.changes.iter().any(|change| change.route == given.route && change.replaces);
        self.changes
            // Earlier changes at or below the route are overwritten.
            .retain(|change| !change.route.starts_with(&given.route));
        self.changes.push(given);
    }

    /// Records the place of a patch that sets the values at some routes, each set if it replaces
    /// another value. `goes_on` is set if the values are at these routes below the place.
    pub(super) fn note_all(
        &mut self,
        routes: Vec<(Vec<RouteStep>, bool)>,
        place: &Place,
        goes_on: bool,
        budget: &BuildBudget,
    ) -> StepResult {
        for (route, replaces) in routes {
            budget.step(1 + self.changes.len() / 8)?;
            let place = match place {
                Place::Node(origin, base) if goes_on => {
                    Place::Node(origin.clone(), base.iter().chain(&route).cloned().collect())
                }
                other => other.clone(),
            };
            self.note(ForeignValue { route, place, goes_on, replaces });
        }
        Ok(())
    }

    /// Applies a change to the object as a value. Afterwards, it has no fields if it is no mapping.
    pub(super) fn change<T>(&mut self, change: impl FnOnce(&mut Value) -> T) -> T {
        let mut value = Value::Mapping(std::mem::take(&mut self.value));
        let result = change(&mut value);
        if let Value::Mapping(mapping) = value {
            self.value = mapping;
        }
        result
    }

    /// Turns untyped scalars into strings. Merge patches never reach into lists.
    pub(super) fn settle_types(&mut self) {
        for route in std::mem::take(&mut self.untyped) {
            let keys: Option<Vec<&str>> = route.iter().map(RouteStep::key).collect();
            if let Some(keys) = keys
                && let Some(text) = text_at(&self.value, &keys)
            {
                set_at(&mut self.value, &keys, text.into());
            }
        }
    }

    /// Turns all annotations into strings, as kustomize does at the end of a build, and where it records
    /// a previous id among them.
    pub(super) fn spell_annotations(&mut self) {
        let metadata = self.value.get_mut("metadata");
        let annotations = metadata.and_then(|it| it.get_mut("annotations")?.as_mapping_mut());
        for value in annotations.into_iter().flat_map(Mapping::values_mut) {
            if !value.is_null() && !value.is_string() {
                *value = Value::from(scalar_text(value).unwrap_or_default());
            }
        }
    }

    /// Returns the place that sets the value at a route.
    pub(super) fn place_of(&self, route: &[RouteStep]) -> Place {
        let changes = self.changes.iter().filter(|change| route.starts_with(&change.route));
        let change = changes.max_by_key(|change| change.route.len());
        change.map_or_else(|| self.origin.at(route.to_vec()), |change| change.place.clone())
    }
}

/// Sets the value at a route of keys, creating missing mappings. Returns the value before.
pub(super) fn set_at(mut mapping: &mut Mapping, route: &[&str], value: Value) -> Option<Value> {
    let (last, above) = route.split_last()?;
    for key in above {
        let inner = mapping.entry((*key).into()).or_insert(Value::Null);
        if !inner.is_mapping() {
            *inner = Mapping::new().into();
        }
        mapping = inner.as_mapping_mut()?;
    }
    mapping.insert((*last).into(), value)
}

/// Returns the value at a route of keys.
pub(super) fn value_at<'a>(mapping: &'a Mapping, route: &[&str]) -> Option<&'a Value> {
    let (first, rest) = route.split_first()?;
    rest.iter().try_fold(mapping.get(*first)?, |value, key| value.get(*key))
}

/// Returns the scalar at a route of keys as text.
pub(super) fn text_at(mapping: &Mapping, route: &[&str]) -> Option<String> {
    scalar_text(value_at(mapping, route)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_patches_leave_as_it_is_is_kept_once() {
        let value = yaml_serde::from_str("{kind: A, metadata: {name: a}}").unwrap();
        let origin = Origin::for_file(camino::Utf8PathBuf::from("a.yaml").into(), "");
        let mut object = BuildObject::new(origin, value);
        for name in ["a", "a", "b", "b", "a"] {
            object.restore("name", name);
            object.keep_id();
        }
        let ids = object.ids();
        let names: Vec<&str> = ids.iter().map(|id| id.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "a", "a"]);
    }
}
