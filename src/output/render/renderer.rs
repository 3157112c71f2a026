//! Collects the rendered files of one cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use camino::Utf8PathBuf;
use minijinja::Value;

use super::directory::{DirectoryRenderer, RenderedTemplates, TemplateSource, TemplateUse};
use super::object_check::RenderedObject;
use super::planned_hosts::HostMetadata;
use super::shared_files::SharedFiles;
use super::{Templates, Tree};
use crate::base::api::names::Role;
use crate::base::finding::{Code, Finding, Place};
use crate::plan::Placement;
use crate::site::Site;
use crate::site::inventory::Host;
use crate::site::inventory::network_remedy::remedy;
use crate::site::request::{Cluster, ClusterService};

/// Collects one cluster's rendered files, with findings.
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
    /// Set if one of them is not on the disk as rendered.
    pub(super) has_new_shared: bool,
    /// Objects of outputs.
    pub(super) objects: Vec<RenderedObject>,
    /// Metadata that outputs add to hosts.
    pub(super) host_metadata: HostMetadata,
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
            has_new_shared: false,
            objects: Vec::new(),
            host_metadata: HostMetadata::new(),
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

    /// Renders a directory of templates.
    pub(super) fn directory(
        &mut self,
        source: TemplateSource<'a>,
        target: Utf8PathBuf,
        hosts: &[&Host],
        values: &dyn Fn(TemplateUse) -> Value,
    ) {
        let rendered = self.part(source, target, hosts).render(values);
        self.add(rendered);
    }

    /// Renders one template into a file with manifests.
    pub(super) fn file(&mut self, template: &str, file: Utf8PathBuf, context: &Value) {
        let mut part = self.part(TemplateSource::BuiltIn("", &[]), Utf8PathBuf::new(), &[]);
        part.add(template, &file, context);
        let rendered = part.rendered;
        self.add(rendered);
    }

    fn part<'h>(
        &self,
        source: TemplateSource<'h>,
        target: Utf8PathBuf,
        hosts: &'h [&'h Host],
    ) -> DirectoryRenderer<'h>
    where
        'a: 'h,
    {
        DirectoryRenderer {
            site: self.site,
            templates: self.templates,
            source,
            target,
            made_from: self.cluster.origin.made_from().to_string(),
            shared: Some(self.shared),
            hosts,
            rendered: RenderedTemplates::default(),
        }
    }

    fn add(&mut self, rendered: RenderedTemplates) {
        self.tree.extend(rendered.tree);
        self.used_shared.extend(rendered.used_shared);
        self.has_new_shared |= rendered.has_new_shared;
        self.objects.extend(rendered.objects);
        self.findings.extend(rendered.findings);
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
            let hosts = hosts.into_iter().map(|(host, place)| (place, host.key.to_string()));
            self.findings.push(finding.see_each(hosts));
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
