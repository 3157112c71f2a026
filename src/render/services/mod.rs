//! The services of a cluster, from templates: a module for each kind of service says what its templates are given.

mod auth;
mod bmc;
mod endpoints;
mod jump_host;
mod load_balancer;

use std::collections::BTreeMap;
use std::net::IpAddr;

use camino::{Utf8Path, Utf8PathBuf};
use minijinja::Value;
use minijinja::value::Serde;
use schemars::{JsonSchema, Schema};
use serde::Serialize;

use super::values::schema_of;
use super::{Templates, Tree, installation, verify};
use crate::api::names::{ClusterKey, Role};
use crate::finding::{Code, Finding, Place};
use crate::inventory::Host;
use crate::inventory::network_remedy::remedy;
use crate::inventory::networks::Unaddressed;
use crate::layout::{self, header};
use crate::plan::Placement;
use crate::request::{Cluster, Detail, Service};
use crate::site::Site;

/// What every template of a service is given.
#[derive(Serialize, JsonSchema)]
struct Context<'a, T> {
    /// The cluster.
    cluster: &'a ClusterKey,
    /// The name of the service's objects.
    name: String,
    /// The kind of service, as names and labels have it: `loadbalancer-worker`, `jumphost`.
    component: &'static str,
    /// The container image.
    image: &'a str,
    /// Labels of the nodes that the pods run on; empty for the base cluster's control-plane nodes.
    node_labels: &'a BTreeMap<String, String>,
    /// What only the templates of its kind are given.
    #[serde(flatten)]
    own: T,
}

/// What the template of a cluster's kustomization is given.
#[derive(Serialize, JsonSchema)]
struct ClusterContext<'a> {
    /// The cluster.
    cluster: &'a ClusterKey,
    /// The directories of its services, and that of its installer.
    services: Vec<String>,
}

/// The template of a cluster's kustomization.
pub(super) const CLUSTER_TEMPLATE: &str = "cluster/kustomization.yaml";

/// What it is given, with the directories that it lists.
pub(super) fn cluster_context(cluster: &Cluster, services: Vec<String>) -> Value {
    Value::from(Serde(ClusterContext {
        cluster: &cluster.key,
        services,
    }))
}

/// The schema of what the templates in a directory are given.
pub(super) fn schema(directory: &str) -> Option<Schema> {
    Some(match directory {
        "auth" => schema_of::<Context<'_, auth::Values<'_>>>(),
        "cluster" => schema_of::<ClusterContext<'_>>(),
        "crds" => schema_of::<Nothing>(),
        "installer" => schema_of::<installation::Values<'_>>(),
        "jumphost" => schema_of::<Context<'_, jump_host::Values<'_>>>(),
        "loadbalancer" => schema_of::<Context<'_, load_balancer::Values>>(),
        "partials" => schema_of::<Context<'_, Nothing>>(),
        "tenant" => schema_of::<endpoints::Values<'_>>(),
        _ => return None,
    })
}

/// What templates are given that are given nothing.
#[derive(Serialize, JsonSchema)]
struct Nothing {}

/// The files of a cluster's services, and what is wrong with them.
pub(super) fn render(
    cluster: &Cluster,
    placement: &Placement,
    site: &Site,
    templates: &Templates,
) -> (Tree, Vec<Finding>) {
    let mut renderer = Renderer {
        cluster,
        placement,
        site,
        templates,
        tree: Tree::new(),
        findings: Vec::new(),
    };
    for service in &cluster.services {
        renderer.service(service);
    }
    let mut services: Vec<String> = cluster.services.iter().map(Service::directory).collect();
    if let Some(installation) = &cluster.installation {
        installation::render(&mut renderer, installation);
        // Without a host for each machine there is nothing to install.
        let rendered = layout::installer_directory(&cluster.key).join(layout::KUSTOMIZATION);
        services.extend(
            renderer
                .tree
                .contains_key(&rendered)
                .then(|| layout::INSTALLER.to_owned()),
        );
    }
    if !services.is_empty() {
        let context = cluster_context(cluster, services);
        let file = layout::cluster_directory(&cluster.key).join(layout::KUSTOMIZATION);
        renderer.file(CLUSTER_TEMPLATE, file, &context);
    }
    // Cluster API has no part in what an installer makes.
    if cluster.installation.is_none() {
        renderer.endpoints();
    }
    let findings = renderer
        .findings
        .into_iter()
        .map(|finding| finding.of(&cluster.key))
        .collect();
    (renderer.tree, findings)
}

/// The definitions of what Dex keeps in Kubernetes.
pub(super) fn dex_definitions(site: &Site, templates: &Templates) -> Result<Tree, Box<Finding>> {
    let mut tree = Tree::new();
    for name in templates.names_below(layout::CRDS) {
        let file = Utf8PathBuf::from(name);
        if let Some(text) = rendered(
            site,
            templates,
            name,
            &file,
            &"the definitions of Dex",
            Value::default(),
        )? {
            tree.insert(file, text);
        }
    }
    Ok(tree)
}

/// A file from a template, with the mark of ownership, read back; none where the template renders to nothing. What
/// the disk already has was read back when it was written.
fn rendered(
    site: &Site,
    templates: &Templates,
    template: &str,
    file: &Utf8Path,
    made_from: &dyn std::fmt::Display,
    context: Value,
) -> Result<Option<String>, Box<Finding>> {
    let text = templates.render(template, context)?;
    if text.trim().is_empty() {
        return Ok(None);
    }
    let mut text = with_header(&text, &made_from.to_string());
    // HAProxy refuses a file without.
    if !text.ends_with('\n') {
        text.push('\n');
    }
    if file.extension() == Some("yaml") && !site.state.has(file, &text) {
        let read = if is_configuration(template) {
            verify::yaml(&text)
        } else {
            verify::manifests(&text)
        };
        read.map_err(|unreadable| match templates.own_file(template) {
            Some(own) => unreadable.of_template(own),
            None => unreadable.finding(&site.settings.output.join(file)),
        })?;
    }
    Ok(Some(text))
}

/// Files of programs, not of Kubernetes.
fn is_configuration(template: &str) -> bool {
    matches!(
        template,
        "auth/config.yaml" | "auth/kubeadm-structured/authentication-configuration.yaml"
    )
}

/// Puts the mark of ownership on top; in a script, below the line that names its interpreter.
fn with_header(text: &str, made_from: &str) -> String {
    let interpreter = if text.starts_with("#!") {
        text.find('\n').map_or(text.len(), |end| end + 1)
    } else {
        0
    };
    let (first, rest) = text.split_at(interpreter);
    format!("{first}{}{rest}", header(made_from))
}

/// What makes the files of one cluster, with what it has made and found so far.
pub(super) struct Renderer<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) placement: &'a Placement,
    pub(super) site: &'a Site,
    pub(super) templates: &'a Templates,
    pub(super) tree: Tree,
    pub(super) findings: Vec<Finding>,
}

impl<'a> Renderer<'a> {
    /// The hosts of the cluster that serve in one of some roles.
    fn hosts(&self, serves: impl Fn(Role) -> bool) -> Vec<(&'a Host, Role)> {
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

    fn service(&mut self, service: &'a Service) {
        match &service.detail {
            Detail::ControlPlaneLoadBalancer {
                node_port,
                replicas,
            } => {
                let values =
                    load_balancer::before_control_plane(self, service, *node_port, *replicas);
                self.files("loadbalancer", service, values);
            }
            Detail::WorkerLoadBalancer {
                node_ports,
                replicas,
            } => {
                let values = load_balancer::before_workers(self, service, node_ports, *replicas);
                self.files("loadbalancer", service, values);
            }
            Detail::JumpHost(jump_host) => {
                let values = jump_host::values(self, service, jump_host);
                self.files("jumphost", service, values);
            }
            Detail::Auth(auth) => {
                let name = service.object_name(&self.cluster.key);
                self.files("auth", service, Some(auth::values(auth, &name)));
            }
        }
    }

    /// Renders a service's templates, those below `templates`. Without values for them a finding says why.
    fn files<T: Serialize>(&mut self, templates: &'static str, service: &Service, own: Option<T>) {
        let Some(own) = own else { return };
        let context = Context {
            cluster: &self.cluster.key,
            name: service.object_name(&self.cluster.key),
            component: service.kind().component(),
            image: &service.image,
            node_labels: &service.node_labels,
            own,
        };
        self.files_below(templates, &service.path(&self.cluster.key), &context);
    }

    /// Renders what other manifests need of the cluster, for those of the tenant to include.
    fn endpoints(&mut self) {
        let directory = layout::tenant_directory(&self.cluster.key);
        self.files_below("tenant", &directory, &endpoints::values(self.cluster));
    }

    fn files_below(
        &mut self,
        templates: &'static str,
        directory: &Utf8Path,
        context: &impl Serialize,
    ) {
        // One conversion for all of the files.
        let context = Value::from(Serde(context));
        for template in self.templates.names_below(templates) {
            let Ok(below) = Utf8Path::new(template).strip_prefix(templates) else {
                continue;
            };
            self.file(template, directory.join(below), &context);
        }
    }

    pub(super) fn file(&mut self, template: &str, file: Utf8PathBuf, context: &Value) {
        match rendered(
            self.site,
            self.templates,
            template,
            &file,
            &self.cluster.origin.made_from(),
            context.clone(),
        ) {
            Ok(text) => self.tree.extend(text.map(|text| (file, text))),
            Err(finding) => self.findings.push(*finding),
        }
    }

    /// The hosts that a service uses, with their addresses; `None` when one has none, which a finding says.
    fn addressed(&mut self, service: &Service) -> Option<Vec<(&'a Host, Role, IpAddr)>> {
        let interface = service.interface.as_deref()?;
        let mut addressed = Vec::new();
        let mut complete = true;
        for (host, role) in self.hosts(|role| service.uses(role)) {
            match host.address(interface) {
                Ok(address) => addressed.push((host, role, address)),
                // An error says so already, and what to do.
                Err(Unaddressed::Refused(_)) => complete = false,
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
                                "the cluster has the host already, so it is not replaced: correct its network data, or \
                                     nodeInterfaceId"
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

    /// Two hosts with one address happen (the SIP operator's own sample has them), and are a mistake. Each host comes
    /// with the place that its address is from.
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
                format!("{} hosts of {name} have the address {address}", hosts.len()),
            )
            .help("whoever connects to one of them may reach another; correct their network data");
            let add = |finding: Finding, (host, place): (&Host, Place)| {
                finding.see(place, host.key.to_string())
            };
            self.findings.push(hosts.into_iter().fold(finding, add));
        }
    }
}

/// The name by which a service knows a host; with its namespace if that is not the cluster's, as two hosts of
/// different namespaces may have one name.
fn name_in(cluster: &Cluster, host: &Host, separator: char) -> String {
    if host.key.namespace == cluster.key.namespace {
        host.key.name.to_string()
    } else {
        format!("{}{separator}{}", host.key.namespace, host.key.name)
    }
}
