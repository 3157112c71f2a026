//! Settings under `maintenance`: hosts that get no new assignment.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::check::{InvalidField, unusable};
use crate::base::api::date::Date;
use crate::base::api::names::{HostKey, has_all};
use crate::base::api::unique;

/// A mark of hosts in maintenance: those with the labels, and those that are listed. Assigned hosts
/// stay until they are drained.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Maintenance {
    /// Labels of the hosts; a host has all of them.
    #[serde(default, deserialize_with = "unique::map")]
    pub labels: BTreeMap<String, String>,
    /// Single hosts as `NAMESPACE/HOST`.
    #[serde(default, deserialize_with = "host_keys")]
    #[schemars(with = "Vec<String>")]
    pub hosts: Vec<HostKey>,
    /// The reason, for later readers.
    #[schemars(length(min = 1))]
    pub reason: String,
    /// The expected end, as `YYYY-MM-DD`. The mark keeps its effect afterwards, with a warning.
    pub until: Option<Date>,
}

impl Maintenance {
    /// Returns whether a host is marked.
    pub fn marks(&self, host: &HostKey, labels: &BTreeMap<String, String>) -> bool {
        self.hosts.contains(host) || self.selects(labels)
    }

    /// Returns whether the mark has labels, and a host with these labels has all of them.
    pub fn selects(&self, labels: &BTreeMap<String, String>) -> bool {
        !self.labels.is_empty() && has_all(labels, &self.labels)
    }

    /// Returns the invalid field.
    pub(super) fn mistake(&self) -> Option<InvalidField> {
        if self.reason.trim().is_empty() {
            let help = "write the reason, for later readers";
            return Some(InvalidField::new("reason", "is empty", help));
        }
        if self.labels.is_empty() && self.hosts.is_empty() {
            let problem = "is missing, and so is `hosts`: the mark selects no host";
            let help = "write the labels of the hosts, or `hosts: [NAMESPACE/HOST]`";
            return Some(InvalidField::new("labels", problem, help));
        }
        unusable(&self.labels)
    }
}

/// Reads keys of hosts from their text form.
fn host_keys<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<HostKey>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    let parse = |text: &String| {
        text.parse()
            .map_err(|error| D::Error::custom(format!("`{text}` {error}; write NAMESPACE/HOST")))
    };
    texts.iter().map(parse).collect()
}
