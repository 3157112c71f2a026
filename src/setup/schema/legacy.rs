//! SIPCluster fields of older generations, for API servers.
//!
//! A base cluster may have objects with these fields, and an agent may still apply some. An API
//! server would drop unknown fields, and with them what `sipgen migrate` needs from an object that
//! exists nowhere else. The fields are not validated. Editors do not offer them, because they are
//! for new files.

use serde_json::{Value, json};

/// Names of texts, and of fields whose type differed between generations, by the JSON pointer to the
/// mapping's schema.
const FIELDS: [(&str, &[&str], &[&str]); 4] = [
    ("/properties/spec", &["cluster-name", "clusterName"], &["config", "infra"]),
    (
        "/properties/spec/properties/nodes/additionalProperties",
        &["vm-flavor", "vmFlavor", "spreadTopology"],
        &["scheduling-constraints"],
    ),
    ("/properties/spec/properties/services", &[], &["loadBalancer"]),
    (
        "/properties/spec/properties/services/properties/jumpHost/items",
        &["sshkey", "sshKey", "SSHKey"],
        &[],
    ),
];

/// Adds the older fields to the schema of a SIPCluster.
pub(super) fn add_to(schema: &mut Value) {
    for (pointer, texts, others) in FIELDS {
        let Some(mapping) = schema.pointer_mut(pointer) else { continue };
        for field in texts.iter().chain(others) {
            let property = &mut mapping["properties"][*field];
            if property.is_null() {
                let (keyword, value) = match texts.contains(field) {
                    true => ("type", json!("string")),
                    false => ("x-kubernetes-preserve-unknown-fields", json!(true)),
                };
                let description = "Older: `sipgen migrate` prints what it is today.";
                *property = json!({"description": description, (keyword): value});
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::schema::sipcluster_crd;

    #[test]
    fn every_older_field_has_its_place_in_the_definition() {
        let definition = sipcluster_crd();
        let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        for (pointer, texts, others) in FIELDS {
            let properties = &schema.pointer(pointer).unwrap()["properties"];
            for field in texts.iter().chain(others) {
                let description = properties[*field]["description"].as_str().unwrap();
                assert!(description.starts_with("Older"), "{field}");
            }
        }
    }
}
