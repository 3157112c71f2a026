//! Services of a cluster, rendered from templates. The values of most kinds have a module.

mod auth;
mod described;
mod jump_host;
mod load_balancer;

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};
use minijinja::Value;
use minijinja::value::Serde;
use schemars::{JsonSchema, Schema};
use serde::Serialize;

use super::Templates;
use super::directory::{DirectoryRenderer, RenderedTemplates, SharedTemplates, TemplateSource};
use super::renderer::Renderer;
use super::value_schema::schema_of;
use crate::base::api::names::ClusterKey;
use crate::base::api::service_kind::ServiceKind;
use crate::base::layout::outputs;
use crate::site::Site;
use crate::site::request::{ClusterService, KindSettings};

/// Values of every template of a service.
#[derive(Serialize, JsonSchema)]
pub(in crate::output::render) struct ServiceContext<'a, T> {
    /// The cluster.
    cluster: &'a ClusterKey,
    /// Name of the service's objects; in `shared/`, the name that each service replaces by its own.
    name: String,
    /// The files from the templates in `shared/`; none in these templates.
    shared: Option<SharedTemplates>,
    /// Kind of service in names and labels: `loadbalancer-worker`, `jumphost`.
    component: &'a str,
    /// Container image.
    image: &'a str,
    /// Labels of the nodes that the pods run on; empty for the default of the kind.
    node_labels: &'a BTreeMap<String, String>,
    /// True if the pods run on the base cluster's control-plane nodes by default.
    on_control_plane: bool,
    /// True if the settings ask for NetworkPolicies.
    network_policies: bool,
    /// Values for the templates of its kind only.
    #[serde(flatten)]
    own: T,
}

/// Returns the schema of the values for a directory of templates; `None` if no service has it.
pub(super) fn schema(directory: &str) -> Option<Schema> {
    let kind = ServiceKind::all().iter().find(|kind| kind.templates == directory)?;
    Some(match (&kind.entry, kind.logs_in_to_bmcs) {
        (Some(_), _) if kind.balances.is_some() => {
            schema_of::<ServiceContext<'_, load_balancer::HaproxyValues>>()
        }
        (Some(_), _) => schema_of::<ServiceContext<'_, described::DescribedValues<'_>>>(),
        (None, true) => schema_of::<ServiceContext<'_, jump_host::JumpHostValues<'_>>>(),
        (None, false) => schema_of::<ServiceContext<'_, auth::DexValues<'_>>>(),
    })
}

/// Renders a service.
pub(super) fn render<'a>(renderer: &mut Renderer<'a>, service: &'a ClusterService) {
    match &service.settings {
        KindSettings::Described(fields) if service.kind.balances.is_some() => {
            files(load_balancer::values(renderer, service, fields), renderer, service);
        }
        KindSettings::Described(fields) => {
            files(described::values(renderer, service, fields), renderer, service);
        }
        KindSettings::JumpHost(settings) => {
            files(jump_host::values(renderer, service, settings), renderer, service);
        }
        KindSettings::Auth(settings) => {
            files(auth::values(renderer, service, settings), renderer, service);
        }
    }
}

/// Renders a service's templates. Missing values have a finding.
fn files<T: Serialize>(own: Option<T>, renderer: &mut Renderer<'_>, service: &ClusterService) {
    let Some(own) = own else { return };
    let (cluster, kind) = (&renderer.cluster.key, service.kind);
    let values = ServiceContext {
        cluster,
        name: service.object_name(cluster),
        shared: None,
        component: &kind.component,
        image: &service.image,
        node_labels: &service.node_labels,
        on_control_plane: kind.on_control_plane,
        network_policies: renderer.site.settings.services.network_policies,
        own,
    };
    let source = TemplateSource::BuiltIn(kind.templates, &kind.configuration);
    renderer.directory(source, service.path(cluster), &[], &Value::from(Serde(values)));
}

/// Renders a directory of CustomResourceDefinitions that services require.
pub(super) fn definitions(
    site: &Site,
    templates: &Templates,
    directory: &'static str,
) -> RenderedTemplates {
    let (source, target) = (TemplateSource::BuiltIn(directory, &[]), Utf8PathBuf::from(directory));
    let made_from = format!("the definitions in {directory}");
    DirectoryRenderer::new(site, templates, source, target, made_from).render(&Value::default())
}

/// Returns the directory of the CustomResourceDefinitions that the service of a file requires.
pub(super) fn required_definitions(file: &Utf8Path) -> Option<&'static str> {
    let (service, _) = outputs::part_of(file)?;
    ServiceKind::with_directory(service)?.definitions.as_deref()
}
