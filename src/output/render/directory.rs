//! Renders a directory of templates into a directory of files: a service, the tenant's manifests,
//! definitions, or an output of the repo's own. `firmware_check` reports firmware settings of outputs
//! that Metal3 refuses.

mod firmware_check;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use minijinja::Value;
use minijinja::value::Serde;
use schemars::JsonSchema;
use serde::Serialize;

use super::hosts::kustomization_listing;
use super::object_check::{self, RenderedObject};
use super::planned_hosts::{HostMetadata, PinnedPool};
use super::rendered_text::{verified, with_ownership};
use super::shared_files::{SharedDirectory, SharedFiles};
use super::{Templates, Tree};
use crate::base::api::names::ClusterKey;
use crate::base::finding::{Code, Finding};
use crate::base::layout::{self, header, outputs};
use crate::base::text::embedded;
use crate::base::tree::files_below;
use crate::input::settings::outputs::{OutputScope, OutputSettings};
use crate::site::Site;
use crate::site::inventory::Host;
use crate::site::request::shortened;

/// Maximum length of the name of a file of a host. File systems allow 255 bytes.
const LONGEST: usize = 240;

/// Templates that are rendered together.
#[derive(Clone, Copy)]
pub(super) enum TemplateSource<'a> {
    /// Built-in templates below a directory, with the files that programs read instead of Kubernetes.
    BuiltIn(&'static str, &'a [String]),
    /// Templates of an output.
    Output(&'a OutputSettings),
}

/// Files that clusters share.
#[derive(Serialize, JsonSchema)]
pub(super) struct SharedTemplates {
    /// Name of their objects.
    name: String,
    /// Path of their directory, relative to that of the template.
    path: String,
}

/// The result of rendering templates: of a directory, of a cluster, or of all.
#[derive(Default)]
pub(super) struct RenderedTemplates {
    pub(super) tree: Tree,
    /// Shared directories that files in the tree refer to.
    pub(super) used_shared: BTreeSet<Utf8PathBuf>,
    /// Set if a shared file is not on the disk as rendered.
    pub(super) has_new_shared: bool,
    /// Objects of outputs.
    pub(super) objects: Vec<RenderedObject>,
    /// Metadata that outputs add to hosts.
    pub(super) host_metadata: HostMetadata,
    /// Addresses that pools keep for hosts of clusters.
    pub(super) pinned: Vec<(ClusterKey, PinnedPool)>,
    pub(super) findings: Vec<Finding>,
}

impl RenderedTemplates {
    /// Adds another result.
    pub(super) fn extend(&mut self, other: Self) {
        self.tree.extend(other.tree);
        self.used_shared.extend(other.used_shared);
        self.has_new_shared |= other.has_new_shared;
        self.objects.extend(other.objects);
        self.host_metadata.extend(other.host_metadata);
        self.pinned.extend(other.pinned);
        self.findings.extend(other.findings);
    }
}

/// Renders a directory of templates.
pub(super) struct DirectoryRenderer<'a> {
    site: &'a Site,
    templates: &'a Templates,
    source: TemplateSource<'a>,
    /// The directory of the files, relative to the output directory.
    target: Utf8PathBuf,
    /// The input that the ownership mark names.
    made_from: String,
    /// Shared files of all clusters; `None` if no cluster has the directory.
    pub(super) shared: Option<&'a SharedFiles>,
    /// Hosts with a file each, in the order of their values.
    pub(super) hosts: &'a [&'a Host],
    pub(super) rendered: RenderedTemplates,
}

/// A directory of templates below the source.
#[derive(Default)]
struct TemplateGroup<'a> {
    /// Templates with the files that they render, relative to the target.
    templates: Vec<(&'a str, &'a Utf8Path)>,
    /// The template of its kustomization.
    kustomization: Option<&'a str>,
    /// Templates of shared files.
    shared_templates: Vec<&'a str>,
    values: Value,
    shared: Option<Arc<SharedDirectory>>,
}

impl<'a> DirectoryRenderer<'a> {
    /// Returns a renderer without shared files and hosts, as of a directory that no cluster has.
    pub(super) fn new(
        site: &'a Site,
        templates: &'a Templates,
        source: TemplateSource<'a>,
        target: Utf8PathBuf,
        made_from: String,
    ) -> Self {
        let rendered = RenderedTemplates::default();
        Self { site, templates, source, target, made_from, shared: None, hosts: &[], rendered }
    }

    /// Renders all templates, kustomizations last.
    pub(super) fn render(mut self, values: &Value) -> RenderedTemplates {
        let mut groups = self.groups();
        for (below, group) in &mut groups {
            group.shared = self.shared_files(group, values);
            group.values = match &group.shared {
                None => values.clone(),
                Some(shared) => {
                    let name = match self.source {
                        TemplateSource::BuiltIn(directory, _) => directory.to_owned(),
                        TemplateSource::Output(output) => output.name.clone(),
                    };
                    let path = layout::reference_from(&self.directory(below), &shared.path);
                    with_value(values, "shared", Value::from(Serde(SharedTemplates { name, path })))
                }
            };
            for (template, file) in &group.templates {
                if self.is_per_host() {
                    self.add_per_host(template, file, &group.values);
                } else {
                    self.add(template, file, &group.values);
                }
            }
        }
        let mut objects = self.objects(&groups);
        self.add_kustomizations(&groups);
        for (below, group) in &groups {
            self.use_shared(below, group);
        }
        let kustomization =
            self.rendered.tree.get(self.target.join(layout::KUSTOMIZATION).as_str());
        // Without a kustomization of their own, objects have the namespaces that they name.
        if has_own(&groups) {
            object_check::resolve_namespaces(&mut objects, kustomization);
        }
        self.rendered.objects = objects;
        self.rendered
    }

    /// Returns the templates by their directories, relative to the source.
    fn groups(&self) -> BTreeMap<&'a Utf8Path, TemplateGroup<'a>> {
        let all: Vec<(&'a str, &'a Utf8Path)> = match self.source {
            TemplateSource::BuiltIn(directory, _) => embedded::templates_below(directory)
                .map(|(name, file)| (name, Utf8Path::new(file)))
                .collect(),
            TemplateSource::Output(output) => {
                self.templates.own_below(&outputs::template_directory(&output.name)).collect()
            }
        };
        let mut groups: BTreeMap<&Utf8Path, TemplateGroup<'_>> = BTreeMap::new();
        for (name, file) in all {
            let parent = file.parent().unwrap_or(file);
            let is_shared = self.shared.is_some() && parent.file_name() == Some(layout::SHARED);
            let directory = if is_shared { parent.parent().unwrap_or(parent) } else { parent };
            let group = groups.entry(directory).or_default();
            if is_shared {
                group.shared_templates.push(name);
            } else if is_kustomization(file) {
                group.kustomization = Some(name);
            } else {
                group.templates.push((name, file));
            }
        }
        groups
    }

    fn is_per_host(&self) -> bool {
        matches!(self.source, TemplateSource::Output(output) if output.scope == OutputScope::Host)
    }

    fn is_output(&self) -> bool {
        matches!(self.source, TemplateSource::Output(_))
    }

    /// Returns the directory of rendered files.
    fn directory(&self, below: &Utf8Path) -> Utf8PathBuf {
        // An empty path would append a slash.
        if below.as_str().is_empty() { self.target.clone() } else { self.target.join(below) }
    }

    /// Returns whether another program than Kubernetes reads the file of a template.
    fn is_configuration(&self, file: &Utf8Path) -> bool {
        match self.source {
            TemplateSource::BuiltIn(_, files) => files.iter().any(|other| file == other),
            TemplateSource::Output(_) => file.extension() != Some("yaml"),
        }
    }

    /// Renders the files that clusters share; `None` if there are none.
    fn shared_files(
        &mut self,
        group: &TemplateGroup<'a>,
        values: &Value,
    ) -> Option<Arc<SharedDirectory>> {
        let made_in = Utf8Path::new(*group.shared_templates.first()?).parent()?.parent()?;
        let values = match self.source {
            // Each service replaces it by its own name.
            TemplateSource::BuiltIn(directory, _) => with_value(values, "name", directory.into()),
            TemplateSource::Output(_) => values.clone(),
        };
        let mut texts = Vec::new();
        for template in &group.shared_templates {
            match self.templates.render(template, values.clone()) {
                Ok(text) => {
                    let text = with_ownership(&text, &format!("the template {template}"));
                    texts.extend(text.map(|text| ((*template).to_owned(), text)));
                }
                Err(finding) => self.rendered.findings.push(*finding),
            }
        }
        let names = texts.iter().map(|(template, _)| Utf8Path::new(template));
        if self.is_output() && !names.clone().any(is_kustomization) {
            let listed = names.filter(|name| is_yaml(name)).filter_map(Utf8Path::file_name);
            let head = header(&format!("the templates of {made_in}"));
            let text = kustomization_listing(&head, listed);
            let kustomization = made_in.join(layout::SHARED).join(layout::KUSTOMIZATION);
            texts.push((kustomization.to_string(), text));
        }
        let directory = self.shared?.directory(self.site, self.templates, made_in, texts);
        self.rendered.findings.extend(directory.findings.iter().cloned());
        Some(directory)
    }

    /// Records shared files if the rendered kustomization of a directory refers to them. One from the
    /// repo's own templates may not.
    fn use_shared(&mut self, below: &Utf8Path, group: &TemplateGroup<'_>) {
        let Some(shared) = &group.shared else { return };
        let file = self.target.join(below.join(layout::KUSTOMIZATION));
        let kustomization = self.rendered.tree.get(file.as_str()).map_or("", String::as_str);
        if layout::shared_directories(&file, kustomization).contains(&shared.path) {
            self.rendered.used_shared.insert(shared.path.clone());
            self.rendered.has_new_shared |= !shared.is_up_to_date;
        }
    }

    /// Adds a kustomization to each directory, innermost first: that of a template, or else, for an
    /// output, a list of its manifests.
    fn add_kustomizations(&mut self, groups: &BTreeMap<&Utf8Path, TemplateGroup<'a>>) {
        if !self.is_output() {
            for (below, group) in groups {
                if let Some(template) = group.kustomization {
                    self.add(template, &below.join(layout::KUSTOMIZATION), &group.values);
                }
            }
            return;
        }
        let manifests = self.rendered.tree.keys().map(|path| &**path).filter(|path| is_yaml(path));
        let relative = manifests.filter_map(|path| path.strip_prefix(&self.target).ok());
        let directories = relative.flat_map(|file| file.ancestors().skip(1));
        let directories = directories.chain(groups.keys().flat_map(|below| below.ancestors()));
        let directories: BTreeSet<(Reverse<usize>, Utf8PathBuf)> =
            directories.map(|it| (Reverse(it.iter().count()), it.to_owned())).collect();
        for (_, below) in directories {
            let file = below.join(layout::KUSTOMIZATION);
            let group = groups.get(below.as_path());
            let listed = self.entries(&below, group.and_then(|group| group.shared.as_deref()));
            let own = group.and_then(|group| Some((group.kustomization?, &group.values)));
            if let Some((template, values)) = own {
                let values = with_value(values, "files", Value::from(listed));
                self.add(template, &file, &values);
            } else if !listed.is_empty() {
                let listed = listed.iter().map(String::as_str);
                let text = kustomization_listing(&header(&self.made_from), listed);
                self.rendered.tree.insert(self.target.join(file).into(), text);
            }
        }
    }

    /// Returns what the kustomization of a directory lists: its manifests, the directories in it that
    /// have a kustomization, and shared files.
    fn entries(&self, below: &Utf8Path, shared: Option<&SharedDirectory>) -> Vec<String> {
        let directory = self.directory(below);
        let entries = files_below(&self.rendered.tree, &directory).filter_map(|(path, _)| {
            let path = path.strip_prefix(&directory).ok()?;
            let is_kustomization = is_kustomization(path);
            match path.iter().count() {
                1 => (is_yaml(path) && !is_kustomization).then_some(path),
                2 => path.parent().filter(|_| is_kustomization),
                _ => None,
            }
        });
        let shared = shared.map(|shared| layout::reference_from(&directory, &shared.path));
        shared.into_iter().chain(entries.map(Utf8Path::to_string)).collect()
    }

    /// Renders a template into the file of the same path.
    pub(super) fn add(&mut self, template: &str, file: &Utf8Path, values: &Value) {
        let text = self.templates.render(template, values.clone());
        let added = text.and_then(|text| self.add_text(template, file, file, &text));
        self.rendered.findings.extend(added.err().map(|finding| *finding));
    }

    /// Adds a rendered text with the ownership mark, unless it is empty. The result is parsed to prove
    /// that it is valid.
    fn add_text(
        &mut self,
        template: &str,
        template_file: &Utf8Path,
        file: &Utf8Path,
        text: &str,
    ) -> Result<(), Box<Finding>> {
        if let Some(text) = with_ownership(text, &self.made_from) {
            let path = self.target.join(file);
            let is_configuration = self.is_configuration(template_file);
            verified(self.site, self.templates, template, is_configuration, &path, &text)?;
            self.rendered.tree.insert(path.into(), text);
        }
        Ok(())
    }

    /// Renders a template into a file per host.
    fn add_per_host(&mut self, template: &str, file: &Utf8Path, values: &Value) {
        let texts = match self.templates.render_each(template, host_contexts(values)) {
            Ok(texts) => texts,
            Err((index, finding)) => {
                return self.rendered.findings.push(for_host(*finding, self.hosts.get(index)));
            }
        };
        let end = file.extension().map(|extension| format!(".{extension}")).unwrap_or_default();
        let prefix = outputs::host_file_prefix(file);
        for (host, text) in self.hosts.iter().zip(texts) {
            let mut name = format!("{prefix}{}.{}", host.key.namespace, host.key.name);
            if name.len() + end.len() > LONGEST {
                name = shortened(&name, &name, LONGEST.saturating_sub(end.len()));
            }
            let host_file = file.with_file_name(name + &end);
            if let Err(finding) = self.add_text(template, file, &host_file, &text) {
                return self.rendered.findings.push(for_host(*finding, Some(host)));
            }
        }
    }

    /// Reads the objects of an output, and reports those that it must not render.
    fn objects(&mut self, groups: &BTreeMap<&Utf8Path, TemplateGroup<'a>>) -> Vec<RenderedObject> {
        let TemplateSource::Output(output) = self.source else { return Vec::new() };
        let mut objects: Vec<(&Utf8Path, RenderedObject)> = Vec::new();
        let mut reported = BTreeSet::new();
        for (path, text) in self.rendered.tree.iter().filter(|(path, _)| is_yaml(path)) {
            objects.extend(object_check::objects(path, text).into_iter().map(|it| (&**path, it)));
        }
        for (below, group) in groups {
            // Each cluster that refers to shared files applies their objects.
            let file = self.directory(below).join(layout::KUSTOMIZATION);
            for (path, text) in group.shared.iter().flat_map(|shared| &shared.manifests) {
                let found = object_check::objects(&file, text);
                objects.extend(found.into_iter().map(|object| (path.as_path(), object)));
            }
        }
        let must_name_namespace = !has_own(groups);
        for (path, object) in &objects {
            let Some((problem, help)) = object.mistake(must_name_namespace, output.scope) else {
                continue;
            };
            let source = self.templates.own_of(path);
            let template = source.map_or_else(|| path.as_str(), |file| file.as_str());
            // A template for hosts may have the same mistake for each.
            if reported.insert(template.to_owned()) {
                let message = format!("the template {template} renders {problem}");
                let finding = Finding::new(Code::InvalidManifest, message).help(help);
                self.rendered.findings.push(self.templates.at_own(finding, path));
            }
        }
        let found = self.refused_firmware();
        self.rendered.findings.extend(found);
        objects.into_iter().map(|(_, object)| object).collect()
    }
}

/// Returns whether a template of the directory may set namespaces.
fn has_own(groups: &BTreeMap<&Utf8Path, TemplateGroup<'_>>) -> bool {
    groups.values().any(|group| group.kustomization.is_some())
}

fn is_kustomization(file: &Utf8Path) -> bool {
    file.file_name() == Some(layout::KUSTOMIZATION)
}

fn is_yaml(file: &Utf8Path) -> bool {
    file.extension() == Some("yaml")
}

/// Returns the values for each host of a cluster, by those for the cluster.
pub(super) fn host_contexts(values: &Value) -> impl Iterator<Item = Value> {
    let hosts = values.get_attr("cluster").and_then(|cluster| cluster.get_attr("hosts"));
    let hosts = hosts.and_then(|hosts| Ok(hosts.try_iter()?.collect::<Vec<_>>()));
    hosts.unwrap_or_default().into_iter().map(|host| with_value(values, "host", host))
}

/// Adds the host that a template was rendered for to a finding.
pub(super) fn for_host(finding: Finding, host: Option<&&Host>) -> Finding {
    finding.see_each(host.map(|host| (host.origin.name(), format!("host {}", host.key))))
}

/// Returns values with one more.
pub(super) fn with_value(values: &Value, name: &str, value: Value) -> Value {
    let keys = values.try_iter().into_iter().flatten();
    let entries = keys.filter_map(|key| Some((key.to_string(), values.get_item(&key).ok()?)));
    Value::from(entries.chain([(name.to_owned(), value)]).collect::<BTreeMap<_, _>>())
}
