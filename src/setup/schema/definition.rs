//! CustomResourceDefinitions for the clusters to which requests are applied.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
    ValidationRule,
};
use kube::CustomResourceExt;
use yaml_serde::Value;

use super::{legacy, unwrapped};
use crate::base::api::provisioning::{Provisioning, Software};
use crate::base::api::sipcluster::SIPCluster;

/// Returns the definition of SIPCluster.
pub fn sipcluster_crd() -> CustomResourceDefinition {
    let mut definition = SIPCluster::crd();
    for schema in schemas(&mut definition) {
        legacy::add_to(schema);
        // Hosts have the name as a label value.
        schema.x_kubernetes_validations = Some(vec![ValidationRule {
            rule: "size(self.metadata.name) <= 63".to_owned(),
            message: Some(
                "the name has more than 63 characters, the limit of label values".to_owned(),
            ),
            ..ValidationRule::default()
        }]);
    }
    finished(definition)
}

/// Returns the definition of Provisioning.
pub fn provisioning_crd() -> CustomResourceDefinition {
    finished(Provisioning::crd())
}

/// Returns the definition of Software.
pub fn software_crd() -> CustomResourceDefinition {
    finished(Software::crd())
}

/// Formats a CustomResourceDefinition as YAML.
///
/// # Errors
///
/// Never fails for the definitions in this module.
pub fn yaml(definition: &CustomResourceDefinition) -> Result<String, yaml_serde::Error> {
    let mut value = yaml_serde::to_value(definition)?;
    whole_numbers(&mut value);
    yaml_serde::to_string(&value)
}

/// Replaces floats by integers: the types have limits as floats, but all limits are integers.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            // The bound keeps the conversion to `i64` exact.
            if let Some(whole) =
                number.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < 1e9)
            {
                *value = (whole as i64).into();
            }
        }
        Value::Sequence(items) => items.iter_mut().for_each(whole_numbers),
        Value::Mapping(fields) => fields.values_mut().for_each(whole_numbers),
        _ => {}
    }
}

fn schemas(
    definition: &mut CustomResourceDefinition,
) -> impl Iterator<Item = &mut JSONSchemaProps> {
    definition
        .spec
        .versions
        .iter_mut()
        .filter_map(|version| version.schema.as_mut()?.open_api_v3_schema.as_mut())
}

fn finished(mut definition: CustomResourceDefinition) -> CustomResourceDefinition {
    for schema in schemas(&mut definition) {
        // The SIP operator accepted SIPClusters without a spec, which request nothing.
        schema.required = None;
        plain(schema);
    }
    definition
}

/// Removes fields without effect in an API server, recursively.
fn plain(schema: &mut JSONSchemaProps) {
    // The API server drops a null that is not allowed, and sipgen reads null as missing too.
    schema.nullable = None;
    // Defaults that the API server adds would differ from the object in git.
    schema.default = None;
    // Beside `x-kubernetes-preserve-unknown-fields`, it would make the API server drop unknown
    // nested fields.
    if schema.x_kubernetes_preserve_unknown_fields == Some(true) {
        schema.additional_properties = None;
    }
    if let Some(text) = &mut schema.description {
        *text = unwrapped(text);
    }
    schema.properties.iter_mut().flat_map(|properties| properties.values_mut()).for_each(plain);
    match &mut schema.items {
        Some(JSONSchemaPropsOrArray::Schema(items)) => plain(items),
        Some(JSONSchemaPropsOrArray::Schemas(items)) => items.iter_mut().for_each(plain),
        None => {}
    }
    if let Some(JSONSchemaPropsOrBool::Schema(others)) = &mut schema.additional_properties {
        plain(others);
    }
}
