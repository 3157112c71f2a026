//! Manifests for the tenant to include: a cluster's endpoints, and the labels of its hosts.

use std::collections::BTreeMap;

use minijinja::Value;
use minijinja::value::Serde;
use schemars::JsonSchema;
use serde::Serialize;

use super::directory::TemplateSource;
use super::planned_hosts::{PinnedPool, placed_hosts};
use super::pools::{self, exactly};
use super::renderer::Renderer;
use crate::base::api::assignment;
use crate::base::api::names::{ClusterKey, Role};
use crate::base::layout;
use crate::plan::topology;
use crate::site::inventory::natural;
use crate::site::request::ClusterService;
use crate::site::request::service::EndpointAddress;

/// Values of the templates in `tenant/`.
#[derive(Serialize, JsonSchema)]
pub(super) struct TenantValues<'a> {
    /// The cluster.
    cluster: &'a ClusterKey,
    /// Values for other manifests, by name.
    endpoints: BTreeMap<String, String>,
    /// Address of the tenant's API, if the SIPCluster has it.
    control_plane_endpoint: Option<EndpointAddress>,
    /// Labels that all hosts of the cluster have in common.
    host_labels: BTreeMap<String, String>,
    /// Label by which a Metal3MachineTemplate says the role of its Machines.
    role_label: &'static str,
    /// Roles of hosts, with their further labels.
    roles: [RoleLabels; 2],
    /// Metal3MachineTemplates of a request by Cluster API's objects, with the labels of their hosts;
    /// empty for a SIPCluster.
    machine_templates: Vec<PinnedTemplate<'a>>,
    /// IPPools with the addresses that they must keep for hosts of the cluster.
    pools: Vec<PinnedPool>,
    /// Name of the Metal3Cluster that gets failure domains, as a regular expression that matches
    /// nothing else.
    metal3_cluster: Option<String>,
    /// Failure domains for a Metal3Cluster that names none.
    failure_domains: Vec<&'a str>,
}

#[derive(Serialize, JsonSchema)]
struct PinnedTemplate<'a> {
    /// Its name, as a regular expression that matches nothing else.
    name: String,
    /// Labels of its hosts.
    labels: &'a BTreeMap<String, String>,
}

#[derive(Serialize, JsonSchema)]
struct RoleLabels {
    /// The role.
    role: Role,
    /// Labels that only hosts of this role have.
    labels: BTreeMap<String, String>,
}

/// Renders the manifests.
pub(super) fn render(renderer: &mut Renderer<'_>) {
    let cluster = renderer.cluster;
    let directory = layout::tenant_directory(&cluster.key);
    let pools = pools::pinned(renderer);
    let pinned = pools.iter().map(|pool| (cluster.key.clone(), pool.clone()));
    renderer.rendered.pinned.extend(pinned);
    let values = values(renderer, pools);
    if !cluster.kind.descriptor().makes_machines {
        let source = TemplateSource::BuiltIn("tenant", &[]);
        renderer.directory(source, directory, &[], &Value::from(Serde(&values)));
    } else if !values.machine_templates.is_empty() {
        if let Some(it) =
            cluster.without_failure_domains.as_ref().filter(|_| !values.failure_domains.is_empty())
        {
            let kind = ["Metal3Cluster", &it.name];
            let finding = renderer.beyond_component(kind, Some(&it.origin));
            renderer.rendered.findings.extend(finding);
        }
        // Without templates, kustomize refuses the component because it is empty.
        let source = TemplateSource::BuiltIn("tenant/cluster-api", &[]);
        let directory = directory.join(layout::CLUSTER_API);
        renderer.directory(source, directory, &[], &Value::from(Serde(&values)));
    }
}

fn values<'a>(renderer: &Renderer<'a>, pools: Vec<PinnedPool>) -> TenantValues<'a> {
    let Renderer { cluster, site, .. } = *renderer;
    // Cluster API selects hosts by them.
    let labels_of = |role: Role| site.settings.assignment.labels.labels(&cluster.key, &role.into());
    let mut roles = Role::ALL.map(|role| RoleLabels { role, labels: labels_of(role) });
    let mut host_labels = roles[0].labels.clone();
    host_labels.retain(|key, value| roles[1].labels.get(key) == Some(value));
    for RoleLabels { labels, .. } in &mut roles {
        labels.retain(|key, _| !host_labels.contains_key(key));
    }
    let mut endpoints = host_selectors(&host_labels, &roles);
    endpoints.extend(cluster.services.iter().flat_map(|service| service.endpoints()));
    let templates = cluster.machine_templates.iter().filter(|template| !template.is_of_class);
    let pinned = templates.map(|it| PinnedTemplate { name: exactly(&it.name), labels: &it.labels });
    TenantValues {
        cluster: &cluster.key,
        endpoints,
        control_plane_endpoint: cluster.services.iter().find_map(ClusterService::api_address),
        host_labels,
        role_label: assignment::NODE_TYPE,
        roles,
        metal3_cluster: cluster.without_failure_domains.as_ref().map(|it| exactly(&it.name)),
        failure_domains: failure_domains(renderer),
        pools,
        machine_templates: pinned.collect(),
    }
}

/// Returns the values of labels for selectors in other manifests, by the labels' names without
/// prefix.
fn host_selectors(
    host_labels: &BTreeMap<String, String>,
    roles: &[RoleLabels],
) -> BTreeMap<String, String> {
    let name = |key: &str| format!("host-selector-{}", key.rsplit('/').next().unwrap_or(key));
    let common = host_labels.iter().map(|(key, value)| (name(key), value.clone()));
    let by_role = roles.iter().flat_map(|RoleLabels { role, labels }| {
        let name = move |key: &str| format!("{}-{}", name(key), role.in_lower_case());
        labels.iter().map(move |(key, value)| (name(key), value.clone()))
    });
    common.chain(by_role).collect()
}

/// Returns the failure domains of the control-plane hosts, in natural order.
fn failure_domains<'a>(renderer: &Renderer<'a>) -> Vec<&'a str> {
    let hosts = placed_hosts(renderer.site, renderer.placement);
    let domain = |(part, host)| topology::failure_domain(renderer.cluster, part, host);
    let mut domains: Vec<&str> = hosts.filter_map(domain).collect();
    domains.sort_by(|a, b| natural(a, b));
    domains.dedup();
    // Metal3Cluster accepts no more.
    domains.truncate(MOST_DOMAINS);
    domains
}

/// Maximum number of failure domains of a Metal3Cluster.
const MOST_DOMAINS: usize = 100;
