//! Fields that an existing object cannot change. The API server rejects the update, so an agent
//! applies neither the object nor what waits for it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yaml_serde::Value;

use super::ChangedFiles;

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

/// Lists the changed immutable fields of objects in a service's changed files.
pub(super) fn changes(files: &ChangedFiles<'_>) -> Vec<ImmutableField> {
    let manifests = || {
        files
            .iter()
            .filter(|(path, _)| path.extension() == Some("yaml"))
    };
    let before: BTreeMap<(String, String), Value> = manifests()
        .flat_map(|(_, (before, _))| objects(before.unwrap_or_default()))
        .collect();
    let after = manifests().flat_map(|(_, (_, after))| objects(after.unwrap_or_default()));
    let mut changed = Vec::new();
    for (key, after) in after {
        let Some(before) = before.get(&key) else {
            continue;
        };
        let (kind, name) = key;
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

/// Reads the objects of a file, by kind and name.
fn objects(text: &str) -> impl Iterator<Item = ((String, String), Value)> {
    let documents = yaml_serde::Deserializer::from_str(text);
    documents
        .map_while(|document| Value::deserialize(document).ok())
        .filter_map(|object| {
            let kind = at(&object, "kind")?.as_str()?.to_owned();
            let name = at(&object, "metadata.name")?.as_str()?.to_owned();
            Some(((kind, name), object))
        })
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

    fn changed(before: &str, after: &str) -> Vec<String> {
        let files = ChangedFiles::from([(Utf8Path::new("a.yaml"), (Some(before), Some(after)))]);
        changes(&files)
            .into_iter()
            .map(|change| format!("{} {} {}", change.kind, change.name, change.field))
            .collect()
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
