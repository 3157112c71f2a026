//! Files of one cluster: the labels of its hosts, its services, its installer, its outputs, and the
//! tenant's component.

use super::directory::RenderedTemplates;
use super::renderer::Renderer;
use super::shared_files::SharedFiles;
use super::{Templates, cluster_kustomization, hosts, installation, outputs, services, tenant};
use crate::base::layout;
use crate::plan::Placement;
use crate::site::Site;
use crate::site::request::{Cluster, ClusterService};

/// Renders the files of a cluster.
pub(super) fn render(
    cluster: &Cluster,
    placement: &Placement,
    site: &Site,
    templates: &Templates,
    shared: &SharedFiles,
) -> RenderedTemplates {
    let rendered = RenderedTemplates::default();
    let mut renderer = Renderer { cluster, placement, site, templates, shared, rendered };
    for service in &cluster.services {
        services::render(&mut renderer, service);
    }
    let mut listed: Vec<String> = cluster.services.iter().map(ClusterService::directory).collect();
    if let Some(installation) = &cluster.installation {
        installation::render(&mut renderer, installation);
        // An installer is rendered only if every machine has a host.
        let rendered = layout::installer_directory(&cluster.key).join(layout::KUSTOMIZATION);
        if renderer.rendered.tree.contains_key(rendered.as_str()) {
            listed.push(layout::INSTALLER.to_owned());
        }
    }
    listed.extend(outputs::render_cluster(&mut renderer));
    if !listed.is_empty() {
        let context = cluster_kustomization::context(cluster, listed);
        let file = layout::cluster_directory(&cluster.key).join(layout::KUSTOMIZATION);
        renderer.file(cluster_kustomization::TEMPLATE, file, &context);
    }
    // Cluster API does not manage machines with an installer.
    if cluster.installation.is_none() {
        tenant::render(&mut renderer);
    }
    let mut rendered = renderer.rendered;
    let hosts = hosts::render(site, cluster, placement, &rendered.host_metadata);
    rendered.tree.extend(hosts);
    let findings =
        rendered.findings.into_iter().map(|finding| finding.for_cluster(&cluster.key)).collect();
    RenderedTemplates { findings, ..rendered }
}
