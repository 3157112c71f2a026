//! The settings of Dex's connectors, from `connectors.yaml`.

use std::sync::LazyLock;

use serde::Deserialize;

use super::JsonObject;

/// The connectors that sipgen knows.
#[derive(Default, Deserialize)]
pub(crate) struct ConnectorSchema {
    /// By type, the settings with their shapes; `None` if only the name is known.
    pub(crate) types: JsonObject,
    /// Flags that admit unknown users or expose passwords.
    pub(crate) r#unsafe: Vec<UnsafeFlag>,
}

/// A flag that admits unknown users or exposes passwords.
#[derive(Deserialize)]
pub(crate) struct UnsafeFlag {
    pub(crate) r#type: String,
    pub(crate) setting: String,
    pub(crate) message: String,
    pub(crate) help: String,
}

pub(crate) static SCHEMA: LazyLock<ConnectorSchema> =
    LazyLock::new(|| yaml_serde::from_str(include_str!("connectors.yaml")).unwrap_or_default());

/// Returns the types of connectors.
pub(super) fn connector_types() -> Vec<&'static str> {
    SCHEMA.types.keys().map(String::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_is_read() {
        assert_eq!(SCHEMA.types.len(), 18);
        assert_eq!(SCHEMA.r#unsafe.len(), 4);
    }
}
