//! Firmware settings of hosts, and the schemas by which Metal3 accepts them.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::host::Metadata;
use super::names::ObjectName;
use crate::base::text::{abbreviated, suggest};

/// The kind of the settings of a host. The object has the host's name.
pub const SETTINGS: &str = "HostFirmwareSettings";
/// The kind of a schema, which hosts of one model share.
pub const SCHEMA: &str = "FirmwareSchema";

/// The type of a password, and a word in the names of passwords. Metal3 keeps them out of schemas.
const PASSWORD: &str = "Password";

/// Maximum number of names or values in a message.
const MOST_SHOWN: usize = 8;

/// The schemas of settings by name.
pub type FirmwareSchema = BTreeMap<String, SettingSchema>;

/// An object of either kind.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FirmwareObject {
    /// API group and version.
    pub api_version: String,
    /// Name and namespace.
    pub metadata: Metadata,
    /// The settings or their schemas.
    pub spec: FirmwareSpec,
    /// The report of Metal3 about the host.
    pub status: FirmwareStatus,
}

/// The spec of either kind.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct FirmwareSpec {
    /// Values of settings: texts and integers.
    pub settings: BTreeMap<String, serde_json::Value>,
    /// The schemas of settings.
    pub schema: FirmwareSchema,
}

/// The status of a host's settings.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct FirmwareStatus {
    /// The schema of the host's model.
    pub schema: Option<SchemaReference>,
}

/// A reference to a schema in the namespace of the host.
#[derive(Debug, Clone, Deserialize)]
pub struct SchemaReference {
    /// The schema's name.
    pub name: ObjectName,
}

/// The schema of a setting.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct SettingSchema {
    attribute_type: String,
    allowable_values: Vec<String>,
    lower_bound: Option<i64>,
    upper_bound: Option<i64>,
    min_length: Option<i64>,
    max_length: Option<i64>,
    read_only: bool,
}

/// Returns why Metal3 refuses a setting, with help, as `SettingSchema.Validate` of its API does. No
/// `value` is one that is neither a text nor an integer.
pub fn setting_mistake(
    schema: &FirmwareSchema,
    name: &str,
    value: Option<&str>,
) -> Option<(String, String)> {
    let did_you_mean = |meant: Option<&str>| meant.map(|meant| format!("did you mean `{meant}`?"));
    let mistake = |problem: &str, help: &str| Some((problem.to_owned(), help.to_owned()));
    let Some(setting) = schema.get(name).filter(|_| !name.contains(PASSWORD)) else {
        let known: Vec<&String> = schema.keys().collect();
        let meant = did_you_mean(suggest::alike(name, known.iter().map(|name| name.as_str())));
        let known = || format!("choose one of {}", abbreviated(&known, MOST_SHOWN));
        return mistake("the host has no such setting", &meant.unwrap_or_else(known));
    };
    if setting.read_only || setting.attribute_type == PASSWORD {
        return mistake("Metal3 cannot change the setting", "remove it from the template");
    }
    let Some(value) = value else {
        let problem = "Kubernetes reads neither a text nor an integer";
        return mistake(problem, "write the value in quotes");
    };
    let allowed = setting.unmet_requirement(value)?;
    let values = setting.allowable_values.iter().map(String::as_str);
    let help = did_you_mean(suggest::alike(value, values));
    Some((format!("the value must be {allowed}"), help.unwrap_or(format!("write {allowed}"))))
}

impl SettingSchema {
    /// Returns the requirement that a value does not meet.
    fn unmet_requirement(&self, value: &str) -> Option<String> {
        let is_within = |number: i64, least: Option<i64>, most: Option<i64>| {
            least.is_none_or(|least| least <= number) && most.is_none_or(|most| number <= most)
        };
        let (is_allowed, allowed) = match self.attribute_type.as_str() {
            // The BMC has no registry of its settings.
            "" => return None,
            "Enumeration" => {
                let values: Vec<_> =
                    self.allowable_values.iter().map(|it| format!("`{it}`")).collect();
                let is_allowed = self.allowable_values.iter().any(|allowed| allowed == value);
                (is_allowed, format!("one of {}", abbreviated(&values, MOST_SHOWN)))
            }
            "Integer" => {
                let (least, most) = (self.lower_bound, self.upper_bound);
                let is_allowed = value.parse().is_ok_and(|number| is_within(number, least, most));
                (is_allowed, format!("an integer ({})", bounds(least, most)))
            }
            "String" => {
                let (least, most) = (self.min_length, self.max_length);
                let length = i64::try_from(value.len()).unwrap_or(i64::MAX);
                (is_within(length, least, most), format!("a text ({} bytes)", bounds(least, most)))
            }
            "Boolean" => {
                (["true", "false"].contains(&value), "`true` or `false`, in quotes".to_owned())
            }
            other => (false, format!("of a type that Metal3 knows, unlike {other}")),
        };
        (!is_allowed).then_some(allowed)
    }
}

fn bounds(least: Option<i64>, most: Option<i64>) -> String {
    match (least, most) {
        (Some(least), Some(most)) => format!("{least} to {most}"),
        (Some(least), None) => format!("at least {least}"),
        (None, Some(most)) => format!("at most {most}"),
        (None, None) => "any".to_owned(),
    }
}
