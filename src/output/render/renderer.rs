//! Collects the rendered files of one cluster.

use std::net::IpAddr;

use camino::Utf8PathBuf;
use minijinja::Value;

use super::Templates;
use super::directory::{DirectoryRenderer, RenderedTemplates, TemplateSource};
use super::planned_hosts::placed_hosts;
use super::shared_files::SharedFiles;
use crate::base::api::names::Role;
use crate::base::finding::{Code, Finding, Origin};
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
    pub(super) shared: &'a SharedFiles,
    pub(super) rendered: RenderedTemplates,
}

impl<'a> Renderer<'a> {
    /// Returns the hosts of the cluster.
    pub(super) fn hosts(&self) -> impl Iterator<Item = &'a Host> + use<'a> {
        placed_hosts(self.site, self.placement).map(|(_, host)| host)
    }

    /// Renders a directory of templates.
    pub(super) fn directory(
        &mut self,
        source: TemplateSource<'a>,
        target: Utf8PathBuf,
        hosts: &[&Host],
        values: &Value,
    ) {
        let rendered = self.part(source, target, hosts).render(values);
        self.rendered.extend(rendered);
    }

    /// Renders one template into a file with manifests.
    pub(super) fn file(&mut self, template: &str, file: Utf8PathBuf, context: &Value) {
        let mut part = self.part(TemplateSource::BuiltIn("", &[]), Utf8PathBuf::new(), &[]);
        part.add(template, &file, context);
        let rendered = part.rendered;
        self.rendered.extend(rendered);
    }

    fn part<'h>(
        &'h self,
        source: TemplateSource<'h>,
        target: Utf8PathBuf,
        hosts: &'h [&'h Host],
    ) -> DirectoryRenderer<'h> {
        let made_from = self.cluster.origin.made_from().to_string();
        let mut part = DirectoryRenderer::new(self.site, self.templates, source, target, made_from);
        (part.shared, part.hosts) = (Some(self.shared), hosts);
        part
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
        let name = service.object_name(&self.cluster.key);
        let hosts = placed_hosts(self.site, self.placement);
        for (part, host) in hosts.filter(|(part, _)| service.uses(part.role)) {
            let reason = match host.address(interface) {
                Ok(address) => {
                    addressed.push((host, part.role, address));
                    continue;
                }
                Err(reason) => reason,
            };
            complete = false;
            let message = format!(
                "host {} of {} {reason}, so {name} cannot reach it",
                host.key, self.cluster.key
            );
            let route = service.route().into_iter().chain(["nodeInterfaceId".into()]);
            let remedy = remedy(host)
                .unwrap_or_else(|| "fix its network data, or nodeInterfaceId".to_owned());
            let finding = Finding::new(Code::Unaddressed, message)
                .at(host.origin.at(["spec", "networkData"]))
                .see(self.cluster.origin.at(route), format!("the service uses `{interface}`"))
                .help(format!("the cluster has the host already, so it is not replaced: {remedy}"));
            self.rendered.findings.push(finding);
        }
        complete.then_some(addressed)
    }

    /// Returns the finding about an object that the cluster's component patches, if no entry
    /// includes the component where the object is.
    pub(super) fn beyond_component(
        &self,
        [kind, name]: [&str; 2],
        origin: Option<&Origin>,
    ) -> Option<Finding> {
        let cluster = &self.cluster.key;
        let listing = self.site.component_listings.get(cluster)?.first()?;
        if origin.is_some_and(|origin| self.site.component_reaches(cluster, &origin.file)) {
            return None;
        }
        let message = format!(
            "the component of {cluster} patches the {kind} `{name}`, which is not among the resources of a kustomization \
             that includes it"
        );
        let help = format!(
            "list the {kind} there, or the component also in the kustomization of the {kind}"
        );
        let finding = Finding::new(Code::Unpinned, message).at(listing.place.clone()).help(help);
        Some(finding.see_each(origin.map(|origin| (origin.name(), "out of reach"))))
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
