//! Checks of the directories of templates of outputs.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};

use crate::base::api::kustomization::is_kustomization;
use crate::base::api::service_kind::ServiceKind;
use crate::base::finding::{Code, Finding, Place};
use crate::base::layout;
use crate::base::layout::outputs::template_directory;
use crate::input::settings::Settings;
use crate::input::settings::outputs::{OutputScope, OutputSettings};
use crate::output::render::Templates;

/// Reports outputs whose name or templates are invalid.
pub(crate) fn template_findings(settings: &Settings, templates: &Templates) -> Vec<Finding> {
    let outputs = settings.outputs.iter().enumerate();
    outputs.flat_map(|(index, output)| mistakes(settings, templates, index, output)).collect()
}

fn mistakes(
    settings: &Settings,
    templates: &Templates,
    index: usize,
    output: &OutputSettings,
) -> Vec<Finding> {
    let name = &output.name;
    let place = settings.place(["outputs".into(), index.into(), "name".into()]);
    let has_templates = ServiceKind::all().iter().any(|kind| kind.templates == *name);
    if has_templates || ServiceKind::with_directory(name).is_some() || name == layout::INSTALLER {
        let message = format!("`name` of output {} is `{name}`, like built-in files", index + 1);
        let finding = Finding::new(Code::InvalidSetting, message).at(place);
        return vec![finding.help(format!("choose another name, such as `own-{name}`"))];
    }
    let files: Vec<&Utf8Path> =
        templates.own_below(&template_directory(name)).map(|(_, file)| file).collect();
    if files.is_empty() && !output.adds_metadata() {
        let directory =
            settings.templates.clone().unwrap_or_default().join(template_directory(name));
        let message = format!("output `{name}` has no templates: `{directory}` has no files");
        let help = "add a template; for its values run `sipgen template values outputs`";
        return vec![Finding::new(Code::InvalidSetting, message).at(place).help(help)];
    }
    let mut findings = Vec::new();
    let mut stems: BTreeMap<Utf8PathBuf, &Utf8Path> = BTreeMap::new();
    for file in files {
        let at = |message: String, help: &str| {
            let own = templates.own_file(template_directory(name).join(file).as_str());
            let places = own.map(|own| Place::File(own.clone()));
            Finding::new(Code::TemplateFails, message).help(help).at_each(places)
        };
        let this = format!("the template {file} of output `{name}`");
        if is_kustomization(file) && file.file_name() != Some(layout::KUSTOMIZATION) {
            let message = format!("{this} has another name than {}", layout::KUSTOMIZATION);
            let help = "rename it: kustomize refuses a directory with two of these names";
            findings.push(at(message, help));
        }
        if file.extension() == Some("json") {
            let message = format!("{this} cannot be JSON, which has no comments");
            let help = "write YAML, into a `.yml` file for another program than Kubernetes";
            findings.push(at(message, help));
        }
        let other = stems.insert(file.with_extension(""), file);
        if let Some(other) = other.filter(|_| output.scope == OutputScope::Host) {
            let message =
                format!("the templates {other} and {file} of output `{name}` may render one file");
            findings.push(at(message, "give them different names"));
        }
    }
    findings
}
