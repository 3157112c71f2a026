//! Renders templates into the files of one cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use minijinja::Value;
use minijinja::value::Serde;
use serde::Serialize;

use super::shared_files::{SharedDirectory, SharedFiles};
use super::{Templates, Tree, templates, verify};
use crate::base::api::names::Role;
use crate::base::finding::{Code, Finding, Place};
use crate::base::layout::{self, header};
use crate::plan::Placement;
use crate::site::Site;
use crate::site::inventory::Host;
use crate::site::inventory::network_remedy::remedy;
use crate::site::inventory::networks::{NoAddressReason, NoNetworkData};
use crate::site::request::{Cluster, ClusterService};

/// Templates that are rendered together: all files below one directory.
pub(super) struct TemplateSet {
    /// Directory below `templates/`.
    pub(super) directory: &'static str,
    /// Files, relative to the directory, that programs read instead of Kubernetes.
    pub(super) configuration: &'static [&'static str],
}

impl TemplateSet {
    /// Returns the directories of its templates, without those of shared files.
    pub(super) fn directories(&self) -> impl Iterator<Item = &'static Utf8Path> {
        templates::directories_below(self.directory)
            .filter(|directory| directory.file_name() != Some(layout::SHARED))
    }

    fn content(&self, file: &Utf8Path) -> YamlConsumer {
        if self.configuration.contains(&file.as_str()) {
            YamlConsumer::Configuration
        } else {
            YamlConsumer::Manifests
        }
    }
}

/// The reader of a rendered YAML file.
#[derive(Clone, Copy)]
pub(super) enum YamlConsumer {
    /// Kubernetes.
    Manifests,
    /// Another program.
    Configuration,
}

/// Renders one cluster's files, and collects files and findings.
pub(super) struct Renderer<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) placement: &'a Placement,
    pub(super) site: &'a Site,
    pub(super) templates: &'a Templates,
    /// Shared files of all clusters.
    shared: &'a SharedFiles,
    pub(super) tree: Tree,
    /// Shared directories that files in the tree refer to.
    pub(super) used_shared: BTreeSet<Utf8PathBuf>,
    /// Set if the disk has all of them as rendered.
    pub(super) shared_is_up_to_date: bool,
    pub(super) findings: Vec<Finding>,
}

impl<'a> Renderer<'a> {
    /// Creates a renderer without files.
    pub(super) fn new(
        cluster: &'a Cluster,
        placement: &'a Placement,
        site: &'a Site,
        templates: &'a Templates,
        shared: &'a SharedFiles,
    ) -> Self {
        Self {
            cluster,
            placement,
            site,
            templates,
            shared,
            tree: Tree::new(),
            used_shared: BTreeSet::new(),
            shared_is_up_to_date: true,
            findings: Vec::new(),
        }
    }

    /// Returns the hosts of the cluster with the roles that `serves` accepts.
    pub(super) fn hosts(&self, serves: impl Fn(Role) -> bool) -> Vec<(&'a Host, Role)> {
        let site = self.site;
        let serving = self.placement.iter().filter(|(part, _)| serves(part.role));
        serving
            .flat_map(|(part, assigned)| {
                assigned
                    .iter()
                    .map(move |assigned| (&site.inventory.hosts[assigned.host], part.role))
            })
            .collect()
    }

    /// Renders all templates of a set into a directory.
    pub(super) fn files_below(
        &mut self,
        set: &TemplateSet,
        directory: &Utf8Path,
        context: &impl Serialize,
    ) {
        // All files share one conversion of the values.
        let context = Value::from(Serde(context));
        for template in self.templates.names_below(set.directory.into()) {
            self.add_of(set, template, directory, &context);
        }
    }

    /// Renders the templates in a directory, without those in directories below it, into a service's
    /// directory.
    pub(super) fn files_in(
        &mut self,
        set: &TemplateSet,
        templates: &Utf8Path,
        directory: &Utf8Path,
        context: &impl Serialize,
    ) {
        let context = Value::from(Serde(context));
        for template in self.templates.names_in(templates) {
            self.add_of(set, template, directory, &context);
        }
    }

    fn add_of(&mut self, set: &TemplateSet, template: &str, directory: &Utf8Path, context: &Value) {
        if let Ok(below) = Utf8Path::new(template).strip_prefix(set.directory) {
            self.add(template, set.content(below), directory.join(below), context);
        }
    }

    /// Renders the templates of the files that clusters share, beside those in a directory of
    /// templates.
    pub(super) fn shared_files(
        &mut self,
        templates: &Utf8Path,
        context: &impl Serialize,
    ) -> Arc<SharedDirectory> {
        let context = Value::from(Serde(context));
        let mut texts = Vec::new();
        for template in self.templates.names_in(&templates.join(layout::SHARED)) {
            let made_from = format!("the template {template}");
            match text_of(self.templates, template, &made_from, context.clone()) {
                Ok(Some(text)) => texts.push((template, text)),
                Ok(None) => {}
                Err(finding) => self.findings.push(*finding),
            }
        }
        let (site, own) = (self.site, self.templates);
        let verify = |template: &str, file: &Utf8Path, text: &str| {
            verified(site, own, template, YamlConsumer::Manifests, file, text)
        };
        let directory = self.shared.directory(templates, texts, &site.state, verify);
        self.findings.extend(directory.findings.iter().cloned());
        directory
    }

    /// Adds shared files if the rendered kustomization of a directory refers to them. One from the
    /// repo's own templates may not.
    pub(super) fn add_shared(&mut self, shared: &SharedDirectory, directory: &Utf8Path) {
        let file = directory.join(layout::KUSTOMIZATION);
        let kustomization = self.tree.get(file.as_str()).map_or("", String::as_str);
        if layout::shared_directories(&file, kustomization).contains(&shared.path) {
            self.used_shared.insert(shared.path.clone());
            self.shared_is_up_to_date &= shared.is_up_to_date;
        }
    }

    /// Renders one template into a file with manifests.
    pub(super) fn file(&mut self, template: &str, file: Utf8PathBuf, context: &Value) {
        self.add(template, YamlConsumer::Manifests, file, context);
    }

    fn add(&mut self, template: &str, content: YamlConsumer, file: Utf8PathBuf, context: &Value) {
        match rendered(
            self.site,
            self.templates,
            template,
            content,
            &file,
            &self.cluster.origin.made_from(),
            context.clone(),
        ) {
            Ok(text) => self.tree.extend(text.map(|text| (file.into(), text))),
            Err(finding) => self.findings.push(*finding),
        }
    }

    /// Returns the hosts that a service uses, with their addresses; `None`, with a finding, if one
    /// has no address.
    pub(super) fn addressed(
        &mut self,
        service: &ClusterService,
    ) -> Option<Vec<(&'a Host, Role, IpAddr)>> {
        let interface = service.interface.as_deref()?;
        let mut addressed = Vec::new();
        let mut complete = true;
        for (host, role) in self.hosts(|role| service.uses(role)) {
            match host.address(interface) {
                Ok(address) => addressed.push((host, role, address)),
                // Another finding reports this with advice.
                Err(NoAddressReason::NoData(NoNetworkData::Refused(_))) => complete = false,
                Err(reason) => {
                    complete = false;
                    self.findings.push(
                        Finding::new(
                            Code::Unaddressed,
                            format!(
                                "host {} of {} {reason}, so {} cannot reach it",
                                host.key,
                                self.cluster.key,
                                service.object_name(&self.cluster.key)
                            ),
                        )
                        .at(host.origin.at(["spec", "networkData"]))
                        .see(
                            self.cluster.origin.at(service.route().into_iter().chain(["nodeInterfaceId".into()])),
                            format!("the service uses `{interface}`"),
                        )
                        .help(match remedy(&self.site.inventory, host) {
                            Some(remedy) => {
                                format!("the cluster has the host already, so it is not replaced: {remedy}")
                            }
                            None => {
                                "the cluster has the host already, so it is not replaced: fix its network data, or nodeInterfaceId"
                                    .to_owned()
                            }
                        }),
                    );
                }
            }
        }
        let shared = addressed
            .iter()
            .map(|(host, _, address)| (*host, host.origin.at(["spec", "networkData"]), *address));
        self.warn_of_shared_addresses(&service.object_name(&self.cluster.key), shared);
        complete.then_some(addressed)
    }

    /// Warns about hosts that share an address. The SIP operator's own sample has this mistake, so
    /// it is no error. Each host comes with the place of its address.
    pub(super) fn warn_of_shared_addresses<'h>(
        &mut self,
        name: &str,
        addressed: impl Iterator<Item = (&'h Host, Place, IpAddr)>,
    ) {
        let mut by_address: BTreeMap<IpAddr, Vec<(&Host, Place)>> = BTreeMap::new();
        for (host, place, address) in addressed {
            by_address.entry(address).or_default().push((host, place));
        }
        for (address, hosts) in by_address.into_iter().filter(|(_, hosts)| hosts.len() > 1) {
            let finding = Finding::new(
                Code::SharedAddress,
                format!("{} hosts of {name} share the address {address}", hosts.len()),
            )
            .help("fix their network data: connections to one of them may reach another");
            let add = |finding: Finding, (host, place): (&Host, Place)| {
                finding.see(place, host.key.to_string())
            };
            self.findings.push(hosts.into_iter().fold(finding, add));
        }
    }
}

/// Returns the name by which a service knows a host.
///
/// A host of another namespace has its namespace as prefix, because hosts of different namespaces
/// may have equal names.
pub(super) fn name_in(cluster: &Cluster, host: &Host, separator: char) -> String {
    if host.key.namespace == cluster.key.namespace {
        host.key.name.to_string()
    } else {
        format!("{}{separator}{}", host.key.namespace, host.key.name)
    }
}

/// Renders a template into a file; `None` if the template renders to nothing.
///
/// The result is parsed to prove that it is valid, unless the disk already has the same text.
pub(super) fn rendered(
    site: &Site,
    templates: &Templates,
    template: &str,
    content: YamlConsumer,
    file: &Utf8Path,
    made_from: &dyn std::fmt::Display,
    context: Value,
) -> Result<Option<String>, Box<Finding>> {
    let text = text_of(templates, template, &made_from.to_string(), context)?;
    if let Some(text) = &text {
        verified(site, templates, template, content, file, text)?;
    }
    Ok(text)
}

/// Renders a template and adds the ownership header; `None` if the template renders to nothing.
fn text_of(
    templates: &Templates,
    template: &str,
    made_from: &str,
    context: Value,
) -> Result<Option<String>, Box<Finding>> {
    Ok(with_ownership(&templates.render(template, context)?, made_from))
}

/// Adds the ownership header and a final line break; `None` for a text of white space.
pub(super) fn with_ownership(text: &str, made_from: &str) -> Option<String> {
    if text.trim().is_empty() {
        return None;
    }
    let mut text = with_header(text, made_from);
    // HAProxy rejects a file without a final line break.
    if !text.ends_with('\n') {
        // `push` alone doubles the capacity, and all files stay in memory.
        text.reserve_exact(1);
        text.push('\n');
    }
    Some(text)
}

/// Parses a rendered YAML file to prove that it is valid, unless the disk already has the same text.
pub(super) fn verified(
    site: &Site,
    templates: &Templates,
    template: &str,
    content: YamlConsumer,
    file: &Utf8Path,
    text: &str,
) -> Result<(), Box<Finding>> {
    if !matches!(file.extension(), Some("yaml" | "yml")) || site.state.has(file, text) {
        return Ok(());
    }
    let read = match content {
        YamlConsumer::Manifests => verify::manifests(text),
        YamlConsumer::Configuration => verify::yaml(text),
    };
    read.map_err(|unreadable| {
        Box::new(match templates.own_file(template) {
            Some(own) => unreadable.template_finding(own),
            None => unreadable.finding(&site.settings.output.join(file)),
        })
    })
}

/// Adds the ownership header; in a script, below the shebang line.
fn with_header(text: &str, made_from: &str) -> String {
    // The kernel reads `#!` only at the start of a file.
    let interpreter =
        if text.starts_with("#!") { text.find('\n').map_or(text.len(), |end| end + 1) } else { 0 };
    let (first, rest) = text.split_at(interpreter);
    format!("{first}{}{rest}", header(made_from))
}
