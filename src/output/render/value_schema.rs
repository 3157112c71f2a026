//! JSON Schema of template values.

use schemars::{JsonSchema, Schema};

/// Returns the schema of a type that is only serialized.
pub(super) fn schema_of<T: JsonSchema>() -> Schema {
    let settings = schemars::generate::SchemaSettings::draft2020_12();
    settings
        .for_serialize()
        .with(|settings| settings.inline_subschemas = true)
        .into_generator()
        .into_root_schema_for::<T>()
}
