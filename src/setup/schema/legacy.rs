//! SIPCluster fields of older generations, for API servers.
//!
//! A base cluster may have objects with these fields, and an agent may still apply some. An API
//! server would drop unknown fields, and with them what `sipgen migrate` needs from an object that
//! exists nowhere else. The fields are not validated. Editors do not offer them, because they are
//! for new files.

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};

/// Path from the root of a SIPCluster to a mapping: `*` is any key, `[]` any item.
type LegacyPath = [&'static str];

/// Names of texts, and of fields whose type differed between generations, by mapping.
const FIELDS: [(&LegacyPath, &[&str], &[&str]); 4] = [
    (&["spec"], &["cluster-name", "clusterName"], &["config", "infra"]),
    (
        &["spec", "nodes", "*"],
        &["vm-flavor", "vmFlavor", "spreadTopology"],
        &["scheduling-constraints"],
    ),
    (&["spec", "services"], &[], &["loadBalancer"]),
    (&["spec", "services", "jumpHost", "[]"], &["sshkey", "sshKey", "SSHKey"], &[]),
];

/// Adds the older fields to the schema of a SIPCluster.
pub(super) fn add_to(schema: &mut JSONSchemaProps) {
    for (path, texts, others) in FIELDS {
        let Some(mapping) = at(schema, path) else {
            continue;
        };
        let properties = mapping.properties.get_or_insert_with(BTreeMap::new);
        for field in texts.iter().chain(others) {
            let is_text = texts.contains(field);
            properties.entry((*field).to_owned()).or_insert(JSONSchemaProps {
                description: Some("Older: `sipgen migrate` prints what it is today.".to_owned()),
                type_: is_text.then(|| "string".to_owned()),
                x_kubernetes_preserve_unknown_fields: (!is_text).then_some(true),
                ..Default::default()
            });
        }
    }
}

fn at<'a>(schema: &'a mut JSONSchemaProps, path: &LegacyPath) -> Option<&'a mut JSONSchemaProps> {
    let Some((step, rest)) = path.split_first() else {
        return Some(schema);
    };
    let below = match *step {
        "*" => match schema.additional_properties.as_mut()? {
            JSONSchemaPropsOrBool::Schema(schema) => schema,
            JSONSchemaPropsOrBool::Bool(_) => return None,
        },
        "[]" => match schema.items.as_mut()? {
            JSONSchemaPropsOrArray::Schema(schema) => schema,
            JSONSchemaPropsOrArray::Schemas(_) => return None,
        },
        name => schema.properties.as_mut()?.get_mut(name)?,
    };
    at(below, rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::schema::sipcluster_crd;

    #[test]
    fn every_older_field_has_its_place_in_the_definition() {
        let mut definition = sipcluster_crd();
        let schema = definition.spec.versions[0]
            .schema
            .as_mut()
            .unwrap()
            .open_api_v3_schema
            .as_mut()
            .unwrap();
        for (path, texts, others) in FIELDS {
            let properties = at(schema, path).unwrap().properties.as_ref().unwrap();
            for field in texts.iter().chain(others) {
                let description = properties[*field].description.as_ref().unwrap();
                assert!(description.starts_with("Older"), "{field}");
            }
        }
    }
}
