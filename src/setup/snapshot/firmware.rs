//! Reduction of HostFirmwareSettings and FirmwareSchemas to what tells which settings a host has.

use serde_json::{Map, Value, json};

use super::text_at;
use crate::base::api::firmware::{SCHEMA, SETTINGS};
use crate::base::api::host::API_VERSION;
use crate::input::load::{Files, ReadError};
use crate::input::settings::Settings;

/// The live objects: kind, plural and version.
pub(super) const LIVE: [(&str, &str, &[&str]); 2] = [
    (SETTINGS, "hostfirmwaresettings", &[API_VERSION]),
    (SCHEMA, "firmwareschemas", &[API_VERSION]),
];

/// Fields of a setting's schema that are kept.
const FIELDS: [&str; 7] = [
    "attribute_type",
    "allowable_values",
    "lower_bound",
    "upper_bound",
    "min_length",
    "max_length",
    "read_only",
];

/// Returns whether a template of a site mentions HostFirmwareSettings, which an output may render.
///
/// # Errors
///
/// Fails if a template cannot be read.
pub fn renders_firmware(repo: &Files, settings: &Settings) -> Result<bool, ReadError> {
    let Some(templates) = &settings.templates else { return Ok(false) };
    for file in repo.files_below(templates)? {
        if memchr::memmem::find(&repo.read(&file)?, SETTINGS.as_bytes()).is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Keeps the name of the schema of HostFirmwareSettings, and the settings of a FirmwareSchema. Returns
/// `None` for other kinds.
pub(super) fn keep_firmware(kept: &mut Value, live: &Value) -> Option<()> {
    match text_at(live, "/kind")? {
        SETTINGS => {
            let schema = text_at(live, "/status/schema/name")?;
            let namespace = text_at(live, "/metadata/namespace")?;
            kept["status"] = json!({"schema": {"name": schema, "namespace": namespace}});
        }
        SCHEMA => {
            let settings = live.pointer("/spec/schema")?.as_object()?.iter();
            let setting = |(name, schema): (&String, &Value)| {
                let fields = FIELDS
                    .iter()
                    .filter_map(|field| Some(((*field).to_owned(), schema.get(field)?.clone())));
                (name.clone(), Value::Object(fields.collect()))
            };
            kept["spec"] = json!({"schema": settings.map(setting).collect::<Map<_, _>>()});
        }
        _ => return None,
    }
    Some(())
}
