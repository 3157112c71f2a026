//! Custom resources of other projects, checked against the schemas of their
//! CustomResourceDefinitions.
//!
//! The schemas are data: `custom_resources.json` has those of the rendered kinds, reduced to what is
//! checked.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;

use crate::base::api::structural_schema::StructuralSchema;

/// The schema of a kind of custom resource.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Definition {
    api_version: String,
    kind: String,
    schema: StructuralSchema,
}

static DEFINITIONS: LazyLock<Vec<Definition>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("custom_resources.json")).unwrap_or_default()
});

/// Fields that every object has, which are checked elsewhere.
const COMMON: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Returns the first violation of an object's schema; `None` if it is valid or its kind is unknown.
pub(super) fn violation(api_version: &str, kind: &str, mut object: Value) -> Option<String> {
    let definition = DEFINITIONS
        .iter()
        .find(|definition| definition.api_version == api_version && definition.kind == kind)?;
    object.as_object_mut()?.retain(|field, _| !COMMON.contains(&field.as_str()));
    definition.schema.violation(&object, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_rendered_kinds_have_a_schema() {
        let kinds: Vec<&str> =
            DEFINITIONS.iter().map(|definition| definition.kind.as_str()).collect();
        assert_eq!(
            kinds,
            ["Application", "Certificate", "ExternalSecret", "Issuer", "Kustomization"]
        );
    }
}
