//! Outputs: directories of manifests that templates of the repo's own render from the plan.
//!
//! * `values`: the values of their templates.
//! * `template_check`: mistakes in their directories of templates.
//! * `object_check`: objects that an agent must not delete, or that two outputs render.
//!
//! An agent deletes what leaves a directory, hence these rules:
//!
//! * An output renders no object whose deletion deletes more than itself, and no host.
//! * Its kustomizations list its own files only: what they list elsewhere would have two owners.
//! * With frozen clusters, the outputs of the site stay as they are: they would lack these clusters.

mod object_check;
mod template_check;
mod values;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use minijinja::Value;
use minijinja::value::Serde;

use super::hosts::{KUSTOMIZATION_HEAD, write_item};
use super::renderer::{Renderer, YamlConsumer, rendered, verified, with_ownership};
use super::{Templates, Tree};
use crate::base::finding::{Code, Finding};
use crate::base::layout::{self, header, outputs};
use crate::base::tree::files_below;
use crate::input::settings::outputs::{OutputScope, OutputSettings};
use crate::plan::Plan;
use crate::site::Site;
use crate::site::inventory::Host;
use crate::site::request::shortened;
use object_check::RenderedObject;

pub(super) use object_check::duplicates;
pub(crate) use template_check::template_findings;
pub(super) use values::OutputValues;

/// The objects that outputs of a cluster or of the site render.
pub(super) type OutputObjects = Vec<RenderedObject>;

/// Maximum length of the name of a file of a host. File systems allow 255 bytes.
const LONGEST: usize = 240;

/// The result of rendering an output.
struct RenderedOutput {
    tree: Tree,
    objects: OutputObjects,
    findings: Vec<Finding>,
}

/// Renders an output.
struct OutputRenderer<'a> {
    site: &'a Site,
    templates: &'a Templates,
    output: &'a OutputSettings,
    /// Its directory, relative to the output directory.
    directory: Utf8PathBuf,
    made_from: String,
    tree: Tree,
    findings: Vec<Finding>,
}

/// Renders the outputs of a cluster. Returns the directories that the cluster's kustomization lists,
/// and the objects in them.
pub(super) fn render_cluster(renderer: &mut Renderer<'_>) -> (Vec<String>, OutputObjects) {
    let Renderer { site, templates, cluster, placement, .. } = *renderer;
    let declared = site.settings.outputs.iter().filter(|output| {
        output.scope != OutputScope::Site && output.covers(&cluster.metadata.labels)
    });
    let mut declared = declared.peekable();
    let (mut listed, mut objects) = (Vec::new(), Vec::new());
    if declared.peek().is_none() {
        return (listed, objects);
    }
    // All outputs share one conversion of the values.
    let values = Value::from(Serde(OutputValues::for_cluster(site, cluster, placement)));
    let hosts: Vec<&Host> = renderer.hosts(|_| true).into_iter().map(|(host, _)| host).collect();
    for output in declared {
        let directory = layout::cluster_directory(&cluster.key).join(&output.name);
        let made_from = cluster.origin.made_from().to_string();
        let rendered = OutputRenderer::new(site, templates, output, directory.clone(), made_from)
            .render(&values, &hosts);
        let kustomization = directory.join(layout::KUSTOMIZATION);
        if rendered.tree.contains_key(kustomization.as_str()) {
            listed.push(output.name.clone());
        }
        renderer.tree.extend(rendered.tree);
        renderer.findings.extend(rendered.findings);
        objects.extend(rendered.objects);
    }
    (listed, objects)
}

/// Renders the outputs of the site.
pub(super) fn render_site(
    site: &Site,
    plan: &Plan,
    templates: &Templates,
) -> (Tree, OutputObjects, Vec<Finding>) {
    let (mut tree, mut objects, mut findings) = (Tree::new(), Vec::new(), Vec::new());
    for output in site.settings.outputs.iter().filter(|output| output.scope == OutputScope::Site) {
        let covers = |labels: &_| output.covers(labels);
        let values = OutputValues::for_site(site, plan, |cluster| covers(&cluster.metadata.labels));
        let directory = outputs::site_directory(&output.name);
        let made_from = site.settings.file.to_string();
        let rendered = OutputRenderer::new(site, templates, output, directory, made_from)
            .render(&Value::from(Serde(values)), &[]);
        tree.extend(rendered.tree);
        objects.extend(rendered.objects);
        findings.extend(rendered.findings);
    }
    (tree, objects, findings)
}

impl<'a> OutputRenderer<'a> {
    fn new(
        site: &'a Site,
        templates: &'a Templates,
        output: &'a OutputSettings,
        directory: Utf8PathBuf,
        made_from: String,
    ) -> Self {
        let (tree, findings) = (Tree::new(), Vec::new());
        Self { site, templates, output, directory, made_from, tree, findings }
    }

    /// Renders all templates, kustomizations last.
    fn render(mut self, values: &Value, hosts: &[&Host]) -> RenderedOutput {
        let all = self.templates.own_below(&outputs::template_directory(&self.output.name));
        let (kustomizations, others): (Vec<_>, Vec<_>) =
            all.partition(|(_, file)| file.file_name() == Some(layout::KUSTOMIZATION));
        for (template, file) in others {
            if self.output.scope == OutputScope::Host {
                self.add_per_host(template, file, values, hosts);
            } else {
                self.add(template, file, values);
            }
        }
        let objects = self.objects(kustomizations.is_empty());
        self.add_kustomizations(&kustomizations, values);
        let kustomization = self.tree.get(self.directory.join(layout::KUSTOMIZATION).as_str());
        let objects = object_check::built(objects, kustomization, !kustomizations.is_empty());
        RenderedOutput { tree: self.tree, objects, findings: self.findings }
    }

    /// Adds a kustomization to each directory, innermost first: that of a template, or else a list of
    /// its manifests.
    fn add_kustomizations(&mut self, templates: &[(&str, &Utf8Path)], values: &Value) {
        let is_manifest = |path: &&Utf8Path| path.extension() == Some("yaml");
        let manifests = self.tree.keys().map(|path| &**path).filter(is_manifest);
        let relative = manifests.filter_map(|path| path.strip_prefix(&self.directory).ok());
        let files = relative.chain(templates.iter().map(|(_, file)| *file));
        let directories = files.flat_map(|file| file.ancestors().skip(1));
        let mut directories: Vec<Utf8PathBuf> =
            directories.map(Utf8Path::to_owned).collect::<BTreeSet<_>>().into_iter().collect();
        directories.sort_by_key(|directory| Reverse(directory.iter().count()));
        for below in directories {
            let file = below.join(layout::KUSTOMIZATION);
            let listed = self.entries(&below);
            if let Some((template, _)) = templates.iter().find(|(_, own)| *own == file) {
                let values = with_value(values, "files", Value::from(listed));
                self.add(template, &file, &values);
            } else if !listed.is_empty() {
                let mut text = header(&self.made_from) + KUSTOMIZATION_HEAD + "resources:\n";
                listed.iter().for_each(|entry| write_item(&mut text, "", entry));
                self.tree.insert(self.directory.join(file).into(), text);
            }
        }
    }

    /// Returns what the kustomization of a directory lists: its manifests, and the directories in it
    /// that have a kustomization.
    fn entries(&self, below: &Utf8Path) -> Vec<String> {
        // An empty path would append a slash.
        let inside = self.directory.join(below.join(layout::KUSTOMIZATION));
        let directory = inside.parent().unwrap_or(&self.directory);
        let entries = files_below(&self.tree, directory).filter_map(|(path, _)| {
            let path = path.strip_prefix(directory).ok()?;
            let is_kustomization = path.file_name() == Some(layout::KUSTOMIZATION);
            match path.iter().count() {
                1 => (path.extension() == Some("yaml") && !is_kustomization).then_some(path),
                2 => path.parent().filter(|_| is_kustomization),
                _ => None,
            }
        });
        entries.map(Utf8Path::to_string).collect()
    }

    /// Renders a template into the file of the same path.
    fn add(&mut self, template: &str, file: &Utf8Path, values: &Value) {
        let path = self.directory.join(file);
        let made_from: &dyn std::fmt::Display = &self.made_from;
        let consumer = consumer(file);
        let values = values.clone();
        match rendered(self.site, self.templates, template, consumer, &path, made_from, values) {
            Ok(text) => self.tree.extend(text.map(|text| (path.into(), text))),
            Err(finding) => self.findings.push(*finding),
        }
    }

    /// Renders a template into a file per host.
    fn add_per_host(&mut self, template: &str, file: &Utf8Path, values: &Value, hosts: &[&Host]) {
        let listed = values.get_attr("cluster").and_then(|cluster| cluster.get_attr("hosts"));
        let host_values = listed.and_then(|hosts| Ok(hosts.try_iter()?.collect::<Vec<_>>()));
        let host_values = host_values.unwrap_or_default();
        let contexts = host_values.into_iter().map(|host| with_value(values, "host", host));
        let texts = match self.templates.render_each(template, contexts) {
            Ok(texts) => texts,
            Err((index, finding)) => {
                let host = hosts.get(index).map(|host| (host.origin.name(), host.key.to_string()));
                let finding = host.into_iter().fold(*finding, |finding, (place, key)| {
                    finding.see(place, format!("host {key}"))
                });
                self.findings.push(finding);
                return;
            }
        };
        let end = file.extension().map(|extension| format!(".{extension}")).unwrap_or_default();
        for (host, text) in hosts.iter().zip(texts) {
            let Some(text) = with_ownership(&text, &self.made_from) else { continue };
            let prefix = outputs::host_file_prefix(file);
            let mut name = format!("{prefix}{}.{}", host.key.namespace, host.key.name);
            if name.len() + end.len() > LONGEST {
                name = shortened(&name, &name, LONGEST.saturating_sub(end.len()));
            }
            let path = self.directory.join(file.with_file_name(name + &end));
            match verified(self.site, self.templates, template, consumer(file), &path, &text) {
                Ok(()) => drop(self.tree.insert(path.into(), text)),
                Err(finding) => {
                    self.findings
                        .push(finding.see(host.origin.name(), format!("host {}", host.key)));
                    return;
                }
            }
        }
    }

    /// Reads the objects of the output, and reports those that it must not render. `must_name_namespace`
    /// is set if no kustomization of its own may set namespaces.
    fn objects(&mut self, must_name_namespace: bool) -> OutputObjects {
        let (mut objects, mut reported) = (Vec::new(), BTreeSet::new());
        for (path, text) in self.tree.iter().filter(|(path, _)| path.extension() == Some("yaml")) {
            for object in object_check::objects(path, text) {
                let mistake = object.mistake(must_name_namespace);
                if let Some((problem, help)) = mistake {
                    let source = self.templates.own_of(path);
                    let template = source.map_or_else(|| path.as_str(), |file| file.as_str());
                    // A template for hosts may have the same mistake for each.
                    if !reported.insert(template.to_owned()) {
                        continue;
                    }
                    let message = format!("the template {template} renders {problem}");
                    let finding = Finding::new(Code::InvalidManifest, message).help(help);
                    self.findings.push(self.templates.at_own(finding, path));
                }
                objects.push(object);
            }
        }
        objects
    }
}

/// Returns values with one more.
fn with_value(values: &Value, name: &str, value: Value) -> Value {
    let keys = values.try_iter().into_iter().flatten();
    let entries = keys.filter_map(|key| Some((key.to_string(), values.get_item(&key).ok()?)));
    Value::from(entries.chain([(name.to_owned(), value)]).collect::<BTreeMap<_, _>>())
}

/// Returns the reader of a YAML file.
fn consumer(file: &Utf8Path) -> YamlConsumer {
    match file.extension() {
        Some("yaml") => YamlConsumer::Manifests,
        _ => YamlConsumer::Configuration,
    }
}
