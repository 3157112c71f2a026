//! Labels and annotations that outputs add to hosts.
//!
//! The keys are in the settings, so neither a plan nor a template has to know what they render:
//! no selector may name such a label (`review::lint::output_labels`), and the values of templates
//! have no such label.

use minijinja::Value;

use crate::base::api::names::is_label_value;
use crate::base::finding::{Code, Finding};
use crate::input::settings::outputs::{MetadataField, OutputSettings};
use crate::output::render::directory::with_value;
use crate::output::render::renderer::Renderer;

/// Renders what an output adds to the hosts of a cluster.
pub(super) fn add(renderer: &mut Renderer<'_>, output: &OutputSettings, values: &Value) {
    let site = renderer.site;
    let assigned = renderer.placement.values().flatten();
    let hosts: Vec<usize> = assigned.map(|assigned| assigned.host).collect();
    let all = values.get_attr("cluster").and_then(|cluster| cluster.get_attr("hosts"));
    let all: Vec<Value> = all.and_then(|all| Ok(all.try_iter()?.collect())).unwrap_or_default();
    let index = site.settings.outputs.iter().position(|other| other.name == output.name);
    for (field, key, text) in output.host_metadata() {
        let at = |finding: Finding, position: usize| {
            let list = ["outputs".into(), index.unwrap_or_default().into()];
            let entry = [field.name().into(), key.to_owned().into()];
            let finding = finding.at(site.settings.place(list.into_iter().chain(entry)));
            match hosts.get(position).map(|host| &site.inventory.hosts[*host]) {
                Some(host) => finding.see(host.origin.name(), format!("host {}", host.key)),
                None => finding,
            }
        };
        let name = format!("`{key}` in output {}", output.name);
        let contexts = all.iter().map(|host| with_value(values, "host", host.clone()));
        let texts = match renderer.templates.render_text(&name, text, contexts) {
            Ok(texts) => texts,
            Err((position, finding)) => {
                let help = "run `sipgen template values outputs` for its values";
                renderer.findings.push(at(finding.help(help), position));
                continue;
            }
        };
        for (position, text) in texts.iter().map(|text| text.trim()).enumerate() {
            if text.is_empty() {
                continue;
            }
            let added = renderer.host_metadata.entry(hosts[position]).or_default();
            let entries = match field {
                MetadataField::Labels if !is_label_value(text) => {
                    let message =
                        format!("the template of {name} renders `{text}`, which no label can have");
                    let finding = Finding::new(Code::InvalidManifest, message);
                    let help = "labels have at most 63 letters, digits, `-`, `_` and `.`; an annotation may have any text";
                    renderer.findings.push(at(finding.help(help), position));
                    break;
                }
                MetadataField::Labels => &mut added.labels,
                MetadataField::Annotations => &mut added.annotations,
            };
            entries.insert(key.to_owned(), text.to_owned());
        }
    }
}
