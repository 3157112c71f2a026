//! Labels and annotations that outputs add to hosts.
//!
//! The keys are in the settings, so that no run depends on the result of another: no selector may
//! name such a label (`review::lint::output_labels`), and the values of templates have none.

use minijinja::Value;

use crate::base::api::names::is_label_value;
use crate::base::finding::{Code, Finding};
use crate::input::settings::outputs::{MetadataField, OutputSettings};
use crate::output::render::directory::{for_host, host_contexts};
use crate::output::render::renderer::Renderer;
use crate::site::inventory::Host;

/// Renders the metadata that an output, with its index in the settings, adds to the hosts of a cluster.
pub(super) fn add(
    renderer: &mut Renderer<'_>,
    (index, output): (usize, &OutputSettings),
    hosts: &[&Host],
    values: &Value,
) {
    let settings = &renderer.site.settings;
    for (field, key, text) in output.host_metadata() {
        let route = ["outputs".into(), index.into(), field.name().into(), key.to_owned().into()];
        let at = |finding: Finding, position: usize| {
            for_host(finding.at(settings.place(route.clone())), hosts.get(position))
        };
        let name = format!("`{key}` in output {}", output.name);
        let texts = match renderer.templates.render_text(&name, text, host_contexts(values)) {
            Ok(texts) => texts,
            Err((position, finding)) => {
                let help = "run `sipgen template values outputs` for its values";
                renderer.rendered.findings.push(at(finding.help(help), position));
                continue;
            }
        };
        for (position, (text, host)) in texts.iter().zip(hosts).enumerate() {
            let text = text.trim();
            if text.is_empty() {
                continue;
            }
            if field == MetadataField::Labels && !is_label_value(text) {
                let message =
                    format!("the template of {name} renders `{text}`, which no label can have");
                let finding = Finding::new(Code::InvalidManifest, message);
                let help = "labels have at most 63 letters, digits, `-`, `_` and `.`; an annotation may have any text";
                renderer.rendered.findings.push(at(finding.help(help), position));
                break;
            }
            let added = renderer.rendered.host_metadata.entry(host.key.clone()).or_default();
            let entries = match field {
                MetadataField::Labels => &mut added.labels,
                MetadataField::Annotations => &mut added.annotations,
            };
            entries.insert(key.to_owned().into(), Some(text.to_owned()));
        }
    }
}
