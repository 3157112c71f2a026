//! CustomResourceDefinitions for the clusters to which requests are applied.

use kube::CustomResourceExt;
use serde_json::{Value, json};

use super::{legacy, unwrapped};
use crate::base::api::provisioning::{Provisioning, Software};
use crate::base::api::sipcluster::SIPCluster;

/// Returns the definition of SIPCluster.
pub fn sipcluster_crd() -> Value {
    definition::<SIPCluster>(|schema| {
        legacy::add_to(schema);
        // Hosts have the name as a label value.
        schema["x-kubernetes-validations"] = json!([{
            "rule": "size(self.metadata.name) <= 63",
            "message": "the name has more than 63 characters, the limit of label values",
        }]);
    })
}

/// Returns the definition of Provisioning.
pub fn provisioning_crd() -> Value {
    definition::<Provisioning>(|_| {})
}

/// Returns the definition of Software.
pub fn software_crd() -> Value {
    definition::<Software>(|_| {})
}

/// Returns the definition of a kind. `extend` adds what its type does not say to its schema.
fn definition<T: CustomResourceExt>(extend: impl Fn(&mut Value)) -> Value {
    let mut definition = json!(T::crd());
    let versions = definition.pointer_mut("/spec/versions").and_then(Value::as_array_mut);
    for version in versions.into_iter().flatten() {
        let schema = &mut version["schema"]["openAPIV3Schema"];
        extend(schema);
        plain(schema);
        // The SIP operator accepted SIPClusters without a spec, which request nothing.
        if let Value::Object(keywords) = schema {
            keywords.remove("required");
        }
    }
    definition
}

/// Adapts a schema for API servers, recursively: removes keywords without effect there, joins lines of
/// descriptions, and writes limits as integers.
fn plain(schema: &mut Value) {
    let Value::Object(keywords) = schema else { return };
    // The API server drops a null that is not allowed, and sipgen reads null as missing too.
    keywords.remove("nullable");
    // Defaults that the API server adds would differ from the object in git.
    keywords.remove("default");
    // Beside `x-kubernetes-preserve-unknown-fields`, it would make the API server drop unknown
    // nested fields.
    if keywords.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true)) {
        keywords.remove("additionalProperties");
    }
    for (keyword, value) in keywords {
        match value {
            Value::String(text) if keyword == "description" => *text = unwrapped(text),
            Value::Object(properties) if keyword == "properties" => {
                properties.values_mut().for_each(plain);
            }
            Value::Object(_) if keyword == "items" || keyword == "additionalProperties" => {
                plain(value);
            }
            // The types have limits as floats, but all limits are integers. The bound keeps the
            // conversion to `i64` exact.
            Value::Number(number) => {
                let whole = number.as_f64().filter(|it| it.fract() == 0.0 && it.abs() < 1e9);
                if let Some(whole) = whole {
                    *value = (whole as i64).into();
                }
            }
            _ => {}
        }
    }
}
