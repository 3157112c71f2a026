//! Files of one cluster: the labels of its hosts, its services, its installer, its outputs, and the
//! tenant's component.

use std::collections::BTreeSet;

use camino::Utf8PathBuf;

use super::object_check::RenderedObject;
use super::planned_hosts::HostMetadata;
use super::renderer::Renderer;
use super::shared_files::SharedFiles;
use super::{
    Templates, Tree, cluster_kustomization, hosts, installation, outputs, services, tenant,
};
use crate::base::finding::Finding;
use crate::base::layout;
use crate::plan::Placement;
use crate::site::Site;
use crate::site::request::{Cluster, ClusterService};

/// The rendered files of a cluster.
pub(super) struct RenderedCluster {
    /// The files; `None` if the cluster is up to date: the disk has exactly these files, and the shared
    /// ones that they refer to. Most clusters of most runs are, and all their texts together take a
    /// quarter of what the inventory takes.
    pub(super) tree: Option<Tree>,
    /// Shared directories that they refer to.
    pub(super) used_shared: BTreeSet<Utf8PathBuf>,
    /// Objects of its outputs.
    pub(super) objects: Vec<RenderedObject>,
    /// Metadata that its outputs add to hosts.
    pub(super) host_metadata: HostMetadata,
    pub(super) findings: Vec<Finding>,
}

/// Renders the files of a cluster.
pub(super) fn render(
    cluster: &Cluster,
    placement: &Placement,
    site: &Site,
    templates: &Templates,
    shared: &SharedFiles,
) -> RenderedCluster {
    let mut renderer = Renderer::new(cluster, placement, site, templates, shared);
    for service in &cluster.services {
        services::render(&mut renderer, service);
    }
    let mut listed: Vec<String> = cluster.services.iter().map(ClusterService::directory).collect();
    if let Some(installation) = &cluster.installation {
        installation::render(&mut renderer, installation);
        // An installer is rendered only if every machine has a host.
        let rendered = layout::installer_directory(&cluster.key).join(layout::KUSTOMIZATION);
        listed.extend(
            renderer.tree.contains_key(rendered.as_str()).then(|| layout::INSTALLER.to_owned()),
        );
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
    let findings =
        renderer.findings.into_iter().map(|finding| finding.for_cluster(&cluster.key)).collect();
    let mut tree = renderer.tree;
    hosts::render(site, cluster, placement, &renderer.host_metadata, &mut tree);
    let is_up_to_date = !renderer.has_new_shared && site.state.is_up_to_date(&cluster.key, &tree);
    RenderedCluster {
        tree: (!is_up_to_date).then_some(tree),
        used_shared: renderer.used_shared,
        objects: renderer.objects,
        host_metadata: renderer.host_metadata,
        findings,
    }
}
