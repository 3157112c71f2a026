//! Checks of rendered firmware settings against the schemas of hosts.

use std::collections::BTreeMap;
use std::sync::Arc;

use camino::Utf8Path;
use serde_json::Value;

use super::DirectoryRenderer;
use crate::base::api::firmware::{FirmwareObject, SETTINGS, setting_mistake};
use crate::base::api::host::Metadata;
use crate::base::api::names::HostKey;
use crate::base::finding::{Code, Finding};
use crate::base::text::abbreviated;
use crate::input::load::{self, PlainScalars, read_by_others};
use crate::site::inventory::Host;

/// Maximum number of hosts in a message.
const MOST_HOSTS: usize = 3;

impl DirectoryRenderer<'_> {
    /// Reports settings that Metal3 refuses by the schema of the host, if it is known. The same mistake of
    /// several hosts is reported once.
    pub(super) fn refused_firmware(&self) -> Vec<Finding> {
        let (site, templates) = (self.site, self.templates);
        let mut mistakes: BTreeMap<_, (&Utf8Path, Vec<HostKey>)> = BTreeMap::new();
        for (path, text) in self.rendered.tree.iter().filter(|(_, text)| text.contains(SETTINGS)) {
            let template = templates.own_of(path).map_or(&**path, |file| file);
            for document in load::objects(&Arc::from(&**path), text) {
                let Ok(FirmwareObject { metadata, spec, .. }) = document.parse() else { continue };
                let Some(host) = host_key(self.hosts, &metadata) else { continue };
                let Some(schema) = site.firmware_schema(&host) else { continue };
                let plain = PlainScalars::new(&document);
                for (name, value) in spec.settings {
                    let is_quoted = |text: &str| {
                        read_by_others(text).is_none()
                            || !plain.has(&["spec", "settings", &name], text)
                    };
                    let (value, is_valid) = match value {
                        Value::String(text) => (text.clone(), is_quoted(&text)),
                        // Metal3 reads 32 bits.
                        other => (
                            other.to_string(),
                            other.as_i64().is_some_and(|it| i32::try_from(it).is_ok()),
                        ),
                    };
                    if let Some(mistake) =
                        setting_mistake(schema, &name, is_valid.then_some(&value))
                    {
                        let mistake = (template, name, value, mistake);
                        mistakes.entry(mistake).or_insert((path, vec![])).1.push(host.clone());
                    }
                }
            }
        }
        let mut findings = Vec::new();
        for ((template, name, value, (problem, help)), (path, hosts)) in mistakes {
            let hosts = abbreviated(&hosts, MOST_HOSTS);
            let message = format!(
                "the template {template} renders `{name}: {value}` for {hosts}, but {problem}"
            );
            let finding = Finding::new(Code::InvalidManifest, message).help(help);
            findings.push(match templates.own_with(&name, path) {
                places if places.is_empty() => templates.at_own(finding, path),
                places => places.into_iter().fold(finding, Finding::at),
            });
        }
        findings
    }
}

/// Returns the host of firmware settings. A kustomization may set their namespace.
fn host_key(hosts: &[&Host], metadata: &Metadata) -> Option<HostKey> {
    let name = metadata.name.as_deref()?;
    let mut hosts = hosts.iter();
    match &metadata.namespace {
        Some(namespace) => format!("{namespace}/{name}").parse().ok(),
        None => Some(hosts.find(|host| host.key.name.as_str() == name)?.key.clone()),
    }
}
