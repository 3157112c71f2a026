//! Services of a cluster, rendered from templates. A module per kind supplies the values of its
//! templates.

mod auth;
mod jump_host;
mod load_balancer;
mod service_templates;

use camino::{Utf8Path, Utf8PathBuf};
use minijinja::Value;
use schemars::Schema;
use serde::Serialize;

use service_templates::{ServiceTemplates, SharedTemplates};

pub(super) use service_templates::ServiceContext;

use super::renderer::{Renderer, YamlConsumer, rendered};
use super::{Templates, Tree};
use crate::base::finding::Finding;
use crate::base::layout;
use crate::site::Site;
use crate::site::request::{ClusterService, Detail, ServiceKind};

/// Returns the templates of a kind of service.
fn templates_of(kind: ServiceKind) -> &'static ServiceTemplates {
    match kind {
        ServiceKind::ControlPlaneLoadBalancer => &load_balancer::CONTROL_PLANE,
        ServiceKind::WorkerLoadBalancer => &load_balancer::WORKER,
        ServiceKind::JumpHost => &jump_host::TEMPLATES,
        ServiceKind::Auth => &auth::TEMPLATES,
    }
}

/// Returns the directories of the templates of services.
pub(super) fn directories() -> impl Iterator<Item = &'static str> {
    ServiceKind::ALL.into_iter().map(|kind| templates_of(kind).set.directory)
}

/// Returns the schema of the values for a directory of templates; `None` if no service has it.
pub(super) fn schema(directory: &str) -> Option<Schema> {
    let mut kinds = ServiceKind::ALL.into_iter().map(templates_of);
    let templates = kinds.find(|templates| templates.set.directory == directory)?;
    Some((templates.schema)())
}

/// Renders a service.
pub(super) fn render<'a>(renderer: &mut Renderer<'a>, service: &'a ClusterService) {
    match &service.detail {
        Detail::ControlPlaneLoadBalancer(balancer) => {
            let values = load_balancer::before_control_plane(renderer, service, balancer);
            files(renderer, service, values);
        }
        Detail::WorkerLoadBalancer(balancer) => {
            let values = load_balancer::before_workers(renderer, service, balancer);
            files(renderer, service, values);
        }
        Detail::JumpHost(jump_host) => {
            let values = jump_host::values(renderer, service, jump_host);
            files(renderer, service, values);
        }
        Detail::Auth(auth) => {
            let name = service.object_name(&renderer.cluster.key);
            let configured_version = renderer.site.settings.services.kubernetes_version;
            let kubernetes = configured_version.or(renderer.cluster.kubernetes_version);
            files(renderer, service, Some(auth::values(auth, &name, kubernetes)));
        }
    }
}

/// Renders a service's templates. Missing values have a finding.
fn files<T: Serialize>(renderer: &mut Renderer<'_>, service: &ClusterService, own: Option<T>) {
    let Some(own) = own else { return };
    let cluster = &renderer.cluster.key;
    let network_policies = renderer.site.settings.services.network_policies;
    let context = |name: String, shared| ServiceContext {
        cluster,
        name,
        shared,
        component: service.descriptor().component,
        image: &service.image,
        node_labels: &service.node_labels,
        on_control_plane: service.descriptor().on_control_plane,
        network_policies,
        own: &own,
    };
    let set = &templates_of(service.kind()).set;
    for templates in set.directories() {
        let below = templates.strip_prefix(set.directory).unwrap_or(templates);
        let directory = match below.as_str() {
            "" => service.path(cluster),
            _ => service.path(cluster).join(below),
        };
        let shared = renderer.shared_files(templates, &context(set.directory.to_owned(), None));
        let reference = SharedTemplates {
            name: set.directory,
            path: layout::reference_to_shared(&directory, &shared.path),
        };
        let context = context(service.object_name(cluster), Some(reference));
        renderer.files_in(set, templates, &service.path(cluster), &context);
        renderer.add_shared(&shared, &directory);
    }
}

/// Renders the CustomResourceDefinitions that services require.
pub(super) fn definitions(site: &Site, templates: &Templates) -> Result<Tree, Box<Finding>> {
    let mut tree = Tree::new();
    for name in templates.names_below(layout::CRDS.into()) {
        let file = Utf8PathBuf::from(name);
        let made_from: &dyn std::fmt::Display = &"the definitions of Dex";
        let content = YamlConsumer::Manifests;
        let context = Value::default();
        if let Some(text) = rendered(site, templates, name, content, &file, made_from, context)? {
            tree.insert(file.into(), text);
        }
    }
    Ok(tree)
}

/// Returns the kinds of services that require CustomResourceDefinitions.
pub(super) fn kinds_with_definitions() -> impl Iterator<Item = ServiceKind> {
    let has_definitions = |kind: &ServiceKind| kind.descriptor().definitions.is_some();
    ServiceKind::ALL.into_iter().filter(has_definitions)
}

/// Returns whether a file in a cluster's directory belongs to a service that requires
/// CustomResourceDefinitions.
pub(super) fn requires_definitions(file: &Utf8Path) -> bool {
    kinds_with_definitions().any(|kind| file.as_str().starts_with(kind.descriptor().component))
}

/// Returns the help for a service with a too large ConfigMap, and the field to change, if it is a
/// single one.
pub(super) fn too_large(kind: ServiceKind) -> (&'static str, Option<&'static str>) {
    let templates = templates_of(kind);
    (templates.too_large, templates.too_large_field)
}
