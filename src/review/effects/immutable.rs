//! Fields that an existing object cannot change. The API server rejects the update, so an agent
//! applies neither the object nor what waits for it.

use schemars::JsonSchema;
use serde::Serialize;
use yaml_serde::Value;

use super::built::ServiceBuild;

/// Immutable fields of kinds.
const FIELDS: [(&str, &str); 15] = [
    ("Deployment", "spec.selector"),
    ("DaemonSet", "spec.selector"),
    ("StatefulSet", "spec.selector"),
    ("StatefulSet", "spec.serviceName"),
    ("StatefulSet", "spec.volumeClaimTemplates"),
    ("StatefulSet", "spec.podManagementPolicy"),
    ("Job", "spec.selector"),
    ("Job", "spec.template"),
    ("PersistentVolumeClaim", "spec.accessModes"),
    ("PersistentVolumeClaim", "spec.selector"),
    ("PersistentVolumeClaim", "spec.storageClassName"),
    ("PersistentVolumeClaim", "spec.volumeMode"),
    ("PersistentVolumeClaim", "spec.volumeName"),
    ("RoleBinding", "roleRef"),
    ("ClusterRoleBinding", "roleRef"),
];

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

/// Lists the changed immutable fields of a service's objects.
pub(super) fn changes(before: &ServiceBuild<'_>, after: &ServiceBuild<'_>) -> Vec<ImmutableField> {
    let mut changed = Vec::new();
    for (key, after) in &after.objects {
        let Some(before) = before.objects.get(key) else {
            continue;
        };
        let (kind, name) = key;
        for (_, field) in FIELDS.iter().filter(|(known, _)| known == kind) {
            if at(before, field) != at(after, field) {
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

/// Returns the value at the path of a field.
pub(super) fn at<'a>(object: &'a Value, field: &str) -> Option<&'a Value> {
    field.split('.').try_fold(object, |value, key| value.get(key))
}

#[cfg(test)]
mod tests {
    use camino::Utf8Path;

    use super::*;
    use crate::review::effects::service_files::ServiceVersion;

    fn changed(before: &str, after: &str) -> Vec<String> {
        let side = |text| ServiceVersion {
            own: [
                (Utf8Path::new("kustomization.yaml"), "resources: [a.yaml]\n"),
                (Utf8Path::new("a.yaml"), text),
            ]
            .into(),
            ..ServiceVersion::default()
        };
        let (before, after) = (side(before), side(after));
        changes(&ServiceBuild::new(&before), &ServiceBuild::new(&after))
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
        assert_eq!(changed(&deployment("a"), &deployment("b")), ["Deployment a spec.selector"]);
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
