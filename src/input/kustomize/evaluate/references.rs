//! References by name, which follow the objects that a build renames.
//!
//! kustomize knows the references of its own kinds only. Files of `configurations` add others, such
//! as those between objects of Cluster API.

use std::collections::{BTreeSet, HashMap};

use serde::Deserialize;
use yaml_serde::Value;

use super::object::{BuildObject, Id, scalar_text};
use super::{EvaluationError, StepResult, defer, refuse};
use crate::base::finding::{ForeignValue, Place, RouteStep};

/// A file of `configurations` that kustomize is not needed for.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct Configuration {
    pub(super) name_reference: Vec<NameReference>,
    images: Vec<ReferenceField>,
    replicas: Vec<ReferenceField>,
}

/// Fields that refer to the objects of a kind by name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct NameReference {
    group: String,
    version: String,
    kind: String,
    field_specs: Vec<ReferenceField>,
}

/// A field of the objects of a kind. A missing kind, group or version means any.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReferenceField {
    #[serde(default)]
    group: String,
    #[serde(default)]
    version: String,
    #[serde(default)]
    kind: String,
    /// Keys separated by slashes. Lists on the path are passed through.
    path: String,
    #[serde(default, rename = "create")]
    _create: bool,
}

/// An object with its former ids.
struct NamedBuildObject {
    now: Id,
    before: Vec<Id>,
    prefixes: Vec<String>,
    suffixes: Vec<String>,
    place: Place,
}

/// Updates all references to renamed objects.
///
/// # Errors
///
/// Returns why kustomize would refuse a reference, with the index of its object.
pub(super) fn update(
    objects: &mut [BuildObject],
    references: &[NameReference],
) -> Result<(), (usize, EvaluationError)> {
    if references.is_empty() {
        return Ok(());
    }
    let all: Vec<NamedBuildObject> = objects.iter().map(NamedBuildObject::new).collect();
    let mut by_name: HashMap<&str, Vec<&NamedBuildObject>> = HashMap::new();
    for candidate in &all {
        let names: BTreeSet<&str> = candidate.before.iter().map(|id| id.name.as_str()).collect();
        for name in names {
            by_name.entry(name).or_default().push(candidate);
        }
    }
    for (index, (object, referrer)) in objects.iter_mut().zip(&all).enumerate() {
        let original = object.original_id();
        for reference in references {
            for field in reference.field_specs.iter().filter(|it| it.is_of(&original)) {
                let mut changes: Vec<(Vec<RouteStep>, Place)> = Vec::new();
                let mut set = |value: &mut Value, route: &[RouteStep]| {
                    // kustomize completes such a reference by the namespace beside the name.
                    if value.is_mapping() {
                        return defer("a name reference leads to a mapping");
                    }
                    let name = scalar_text(value).unwrap_or_default();
                    let named = by_name.get(name.as_str()).cloned().unwrap_or_default();
                    let to = reference.target(&name, named, referrer)?;
                    if let Some(to) = to.filter(|to| to.now.name != name) {
                        *value = Value::from(to.now.name.as_str());
                        changes.push((route.to_vec(), to.place.clone()));
                    }
                    Ok(())
                };
                let keys = keys(&field.path);
                object
                    .change(|whole| each_at(whole, &keys, &mut Vec::new(), &mut set))
                    .map_err(|problem| (index, problem))?;
                for (route, place) in changes {
                    object.note(ForeignValue { route, place, goes_on: false, replaces: true });
                }
            }
        }
    }
    Ok(())
}

impl Configuration {
    /// Returns the kinds to which `replicas` applies besides kustomize's own.
    pub(super) fn kinds_with_replicas(&self) -> impl Iterator<Item = String> + '_ {
        self.replicas.iter().map(|field| field.kind.clone())
    }

    /// Returns whether the transformers of images or replicas reach into an object.
    pub(super) fn changes(&self, object: &BuildObject) -> bool {
        let id = object.original_id();
        let mut fields = self.images.iter().chain(&self.replicas);
        fields.any(|field| field.is_of(&id))
    }
}

impl NameReference {
    /// Returns one reference for each field.
    pub(super) fn split(self) -> impl Iterator<Item = NameReference> {
        let fields = self.field_specs.clone().into_iter();
        fields.map(move |field| NameReference { field_specs: vec![field], ..self.clone() })
    }

    /// Returns the object that is meant, of those that once had a name.
    fn target<'a>(
        &self,
        name: &str,
        mut named: Vec<&'a NamedBuildObject>,
        referrer: &NamedBuildObject,
    ) -> StepResult<Option<&'a NamedBuildObject>> {
        let kind = [self.group.as_str(), &self.version, &self.kind];
        named.retain(|candidate| {
            candidate.before.iter().any(|id| is_selected(id, kind))
                && (referrer.now.is_cluster_scoped
                    || candidate.now.is_cluster_scoped
                    || candidate.now.effective_namespace() == referrer.now.effective_namespace())
        });
        for allow_none in [true, false] {
            if named.len() > 1 {
                named.retain(|candidate| candidate.has_affixes_of(referrer, allow_none));
            }
        }
        if named.iter().any(|other| other.now.name != named[0].now.name) {
            let count = named.len();
            return refuse(format!("a name reference to `{name}` has {count} possible targets"));
        }
        Ok(named.first().copied())
    }
}

impl ReferenceField {
    fn is_of(&self, id: &Id) -> bool {
        is_selected(id, [&self.group, &self.version, &self.kind])
    }
}

impl NamedBuildObject {
    fn new(object: &BuildObject) -> Self {
        let mut before = object.ids();
        before.pop();
        NamedBuildObject {
            now: object.id(),
            before,
            prefixes: object.prefixes.clone(),
            suffixes: object.suffixes.clone(),
            place: object.place_of(&["metadata".into(), "name".into()]),
        }
    }

    /// Returns whether this object and a referrer got the same prefixes and suffixes.
    fn has_affixes_of(&self, referrer: &NamedBuildObject, allow_none: bool) -> bool {
        let are_same = |ours: &[String], others: &[String]| {
            let (short, long) =
                if ours.len() < others.len() { (ours, others) } else { (others, ours) };
            if short.is_empty() { allow_none || long.is_empty() } else { long.ends_with(short) }
        };
        are_same(&self.prefixes, &referrer.prefixes) && are_same(&self.suffixes, &referrer.suffixes)
    }
}

/// Visits the values at a path of keys, through all lists on the way, each with its route.
fn each_at(
    value: &mut Value,
    keys: &[String],
    route: &mut Vec<RouteStep>,
    visit: &mut impl FnMut(&mut Value, &[RouteStep]) -> StepResult,
) -> StepResult {
    match (value, keys) {
        (Value::Null, _) => {}
        (Value::Sequence(items), _) => {
            for (index, item) in items.iter_mut().enumerate() {
                route.push(index.into());
                each_at(item, keys, route, visit)?;
                route.pop();
            }
        }
        (value, []) => visit(value, route)?,
        (Value::Mapping(mapping), [key, rest @ ..]) => {
            if let Some(value) = mapping.get_mut(key.as_str()) {
                route.push(key.as_str().into());
                each_at(value, rest, route, visit)?;
                route.pop();
            }
        }
        (_, [key, ..]) => {
            return refuse(format!("a name reference expects `{key}` in a mapping"));
        }
    }
    Ok(())
}

/// Returns whether an id is of a group, version and kind, which may be empty.
pub(super) fn is_selected(id: &Id, [group, version, kind]: [&str; 3]) -> bool {
    let fits = |wanted: &str, of: &str| wanted.is_empty() || wanted == of;
    fits(group, &id.group) && fits(version, &id.version) && fits(kind, &id.kind)
}

/// Splits a path at its slashes. A backslash before a slash keeps it.
fn keys(path: &str) -> Vec<String> {
    let path = path.strip_prefix('/').unwrap_or(path).replace("\\/", "\0");
    let key = |key: &str| key.strip_suffix("[]").unwrap_or(key).replace('\0', "/");
    path.split('/').map(key).collect()
}
