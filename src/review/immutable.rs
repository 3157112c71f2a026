//! Fields that an existing object cannot change. The API server rejects the update, so an agent
//! applies neither the object nor what waits for it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use yaml_serde::{Mapping, Value};

use super::service_files::{ServiceFiles, Side, objects, patches};

/// Immutable fields by kind.
const FIELDS: [(&str, &[&str]); 7] = [
    ("Deployment", &["spec.selector"]),
    ("DaemonSet", &["spec.selector"]),
    (
        "StatefulSet",
        &[
            "spec.selector",
            "spec.serviceName",
            "spec.volumeClaimTemplates",
            "spec.podManagementPolicy",
        ],
    ),
    ("Job", &["spec.selector", "spec.template"]),
    (
        "PersistentVolumeClaim",
        &[
            "spec.accessModes",
            "spec.selector",
            "spec.storageClassName",
            "spec.volumeMode",
            "spec.volumeName",
        ],
    ),
    ("RoleBinding", &["roleRef"]),
    ("ClusterRoleBinding", &["roleRef"]),
];

/// Kinds whose pods outlive them if they are deleted with `--cascade=orphan`. A successor with a
/// selector that matches the pods adopts them.
const ADOPTING: [&str; 3] = ["Deployment", "DaemonSet", "StatefulSet"];

/// A change of an existing object that the API server rejects.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct ImmutableField {
    /// Kind of the object.
    pub kind: String,
    /// Name of the object.
    pub name: String,
    /// Path of the field, such as `spec.selector`.
    pub field: String,
}

impl ImmutableField {
    /// Returns whether the object's pods keep running if it is deleted and created again.
    pub(super) fn can_orphan_pods(&self) -> bool {
        ADOPTING.contains(&self.kind.as_str())
    }
}

/// Lists the changed immutable fields of a service's objects.
pub(super) fn changes(files: &ServiceFiles<'_>) -> Vec<ImmutableField> {
    let before = objects_of(&files.before);
    let mut changed = Vec::new();
    for ((kind, name), after) in objects_of(&files.after) {
        let Some(before) = before.get(&(kind.clone(), name.clone())) else {
            continue;
        };
        let fields = FIELDS.iter().find(|(known, _)| *known == kind);
        for field in fields.into_iter().flat_map(|(_, fields)| *fields) {
            if at(before, field) != at(&after, field) {
                changed.push(ImmutableField {
                    kind: kind.clone(),
                    name: name.clone(),
                    field: (*field).to_owned(),
                });
            }
        }
    }
    changed
}

/// Reads a service's objects by kind and name, with the names and selectors that its kustomization
/// gives them.
fn objects_of(side: &Side<'_>) -> BTreeMap<(String, String), Value> {
    let kustomization = side.kustomization();
    let names: BTreeMap<String, String> = patches(&kustomization)
        .filter_map(|(patch, operations)| {
            let target = at(patch, "target.name")?.as_str()?.to_owned();
            let mut operations = operations.as_sequence()?.iter();
            let renames = |operation: &&Value| {
                operation.get("path").and_then(Value::as_str) == Some("/metadata/name")
            };
            let name = operations.find(renames)?.get("value")?.as_str()?.to_owned();
            Some((target, name))
        })
        .collect();
    let labels = kustomization.get("labels").and_then(Value::as_sequence);
    let selected: Vec<&Mapping> = labels
        .into_iter()
        .flatten()
        .filter(|labels| labels.get("includeSelectors").and_then(Value::as_bool) == Some(true))
        .filter_map(|labels| labels.get("pairs")?.as_mapping())
        .collect();
    let texts = [&side.own, &side.shared].into_iter().flatten();
    texts
        .filter(|(path, _)| path.extension() == Some("yaml"))
        .flat_map(|(_, text)| objects(text))
        .filter_map(|mut object| {
            let kind = at(&object, "kind")?.as_str()?.to_owned();
            let name = at(&object, "metadata.name")?.as_str()?;
            let name = names.get(name).map_or(name, String::as_str).to_owned();
            if let Some(Value::Mapping(selector)) = object
                .get_mut("spec")
                .and_then(|spec| spec.get_mut("selector")?.get_mut("matchLabels"))
            {
                let pairs = selected.iter().flat_map(|pairs| pairs.iter());
                selector.extend(pairs.map(|(key, value)| (key.clone(), value.clone())));
            }
            Some(((kind, name), object))
        })
        .collect()
}

fn at<'a>(object: &'a Value, field: &str) -> Option<&'a Value> {
    field
        .split('.')
        .try_fold(object, |value, key| value.get(key))
}

#[cfg(test)]
mod tests {
    use camino::Utf8Path;

    use super::*;

    fn side<'a>(own: &[(&'a str, &'a str)], shared: &[(&'a str, &'a str)]) -> Side<'a> {
        let [own, shared] = [own, shared].map(|files| {
            let named = files
                .iter()
                .map(|(name, text)| (Utf8Path::new(*name), *text));
            named.collect()
        });
        Side { own, shared }
    }

    fn between(before: Side<'_>, after: Side<'_>) -> Vec<String> {
        let files = ServiceFiles {
            changed: BTreeMap::new(),
            before,
            after,
        };
        changes(&files)
            .into_iter()
            .map(|change| format!("{} {} {}", change.kind, change.name, change.field))
            .collect()
    }

    fn changed(before: &str, after: &str) -> Vec<String> {
        between(
            side(&[("a.yaml", before)], &[]),
            side(&[("a.yaml", after)], &[]),
        )
    }

    #[test]
    fn shared_objects_have_the_names_and_selectors_of_the_service() {
        let deployment = |name: &str, labels: &str| {
            format!(
                "kind: Deployment\nmetadata: {{name: {name}}}\nspec: {{selector: {{matchLabels: {{{labels}}}}}}}\n"
            )
        };
        let before = deployment("jumphost-edge", "app: a, instance: edge");
        let shared = deployment("jumphost", "app: a");
        let kustomization = "labels:\n- {pairs: {instance: edge}, includeSelectors: true}\n\
                             patches:\n- target: {name: jumphost}\n  patch: |-\n    - {op: replace, path: /metadata/name, value: jumphost-edge}\n";
        let before = || side(&[("deployment.yaml", &before)], &[]);
        let after = |kustomization| {
            side(
                &[("kustomization.yaml", kustomization)],
                &[("deployment.yaml", &shared)],
            )
        };
        assert!(between(before(), after(kustomization)).is_empty());
        let other = kustomization.replace("instance: edge", "instance: other");
        assert_eq!(
            between(before(), after(&other)),
            ["Deployment jumphost-edge spec.selector"]
        );
        // Without the patch, it is another Deployment.
        assert!(between(before(), after("resources: []\n")).is_empty());
    }

    #[test]
    fn a_changed_selector_is_an_immutable_field() {
        let deployment = |label: &str| {
            format!(
                "kind: Deployment\nmetadata: {{name: a}}\nspec: {{replicas: 1, selector: {{matchLabels: {{app: {label}}}}}}}\n"
            )
        };
        assert_eq!(
            changed(&deployment("a"), &deployment("b")),
            ["Deployment a spec.selector"]
        );
        let more = deployment("a").replace("replicas: 1", "replicas: 2");
        assert!(changed(&deployment("a"), &more).is_empty());
        let other = deployment("b").replace("name: a", "name: b");
        assert!(changed(&deployment("a"), &other).is_empty());
    }

    #[test]
    fn objects_are_found_in_any_document_of_a_file() {
        let claim = |class: &str| {
            format!(
                "kind: Service\nmetadata: {{name: a}}\n---\nkind: PersistentVolumeClaim\nmetadata: {{name: a}}\nspec: {{storageClassName: {class}}}\n"
            )
        };
        assert_eq!(
            changed(&claim("fast"), &claim("slow")),
            ["PersistentVolumeClaim a spec.storageClassName"]
        );
    }
}
