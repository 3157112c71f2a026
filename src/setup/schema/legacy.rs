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

const SPEC: &LegacyPath = &["spec"];
const NODE_SET: &LegacyPath = &["spec", "nodes", "*"];
const SERVICES: &LegacyPath = &["spec", "services"];
const JUMP_HOST: &LegacyPath = &["spec", "services", "jumpHost", "[]"];

/// Type of an older field.
#[derive(Clone, Copy)]
enum LegacyFieldType {
    Text,
    /// Any type: it differed between generations.
    Anything,
}

/// Path, name, type and description of each field.
const FIELDS: [(&LegacyPath, &str, LegacyFieldType, &str); 12] = [
    (SPEC, "cluster-name", LegacyFieldType::Text, "the cluster's name, of 2020 and January 2021"),
    (SPEC, "clusterName", LegacyFieldType::Text, "the cluster's name, of February 2021"),
    (SPEC, "config", LegacyFieldType::Anything, "the cluster's name is in it, of December 2020"),
    (SPEC, "infra", LegacyFieldType::Anything, "the services, of 2020 and January 2021"),
    (
        NODE_SET,
        "vm-flavor",
        LegacyFieldType::Text,
        "the label of the hosts, of 2020 and January 2021",
    ),
    (NODE_SET, "vmFlavor", LegacyFieldType::Text, "the label of the hosts, of February 2021"),
    (
        NODE_SET,
        "scheduling-constraints",
        LegacyFieldType::Anything,
        "what keeps hosts apart, of 2020",
    ),
    (
        NODE_SET,
        "spreadTopology",
        LegacyFieldType::Text,
        "what keeps hosts apart, of January to March 2021",
    ),
    (
        SERVICES,
        "loadBalancer",
        LegacyFieldType::Anything,
        "the load balancers, of February and March 2021",
    ),
    (JUMP_HOST, "sshkey", LegacyFieldType::Text, "a public key, of February 2021"),
    (JUMP_HOST, "sshKey", LegacyFieldType::Text, "a public key, of February 2021"),
    (JUMP_HOST, "SSHKey", LegacyFieldType::Text, "a public key, of February 2021"),
];

/// Adds the older fields to the schema of a SIPCluster.
pub(super) fn add_to(schema: &mut JSONSchemaProps) {
    for (way, field, shape, meaning) in FIELDS {
        let Some(mapping) = at(schema, way) else {
            continue;
        };
        let description =
            Some(format!("Older: {meaning}. `sipgen migrate` prints what it is today."));
        let property = match shape {
            LegacyFieldType::Text => JSONSchemaProps {
                description,
                type_: Some("string".to_owned()),
                ..Default::default()
            },
            LegacyFieldType::Anything => JSONSchemaProps {
                description,
                x_kubernetes_preserve_unknown_fields: Some(true),
                ..Default::default()
            },
        };
        mapping
            .properties
            .get_or_insert_with(BTreeMap::new)
            .entry(field.to_owned())
            .or_insert(property);
    }
}

fn at<'a>(schema: &'a mut JSONSchemaProps, way: &LegacyPath) -> Option<&'a mut JSONSchemaProps> {
    let Some((step, rest)) = way.split_first() else {
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
        for (way, field, ..) in FIELDS {
            let properties = at(schema, way).and_then(|mapping| mapping.properties.as_ref());
            let property = properties.and_then(|properties| properties.get(field));
            assert!(
                property.is_some_and(|property| property
                    .description
                    .as_ref()
                    .unwrap()
                    .starts_with("Older")),
                "{field}"
            );
        }
    }
}
