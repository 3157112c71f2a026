//! The services of a cluster, from templates.

use std::collections::BTreeMap;
use std::net::IpAddr;

use camino::{Utf8Path, Utf8PathBuf};
use minijinja::Value;
use minijinja::value::Serde;
use serde::Serialize;

use super::bmc::Bmc;
use super::{Templates, Tree, verify};
use crate::api::names::{ClusterKey, NodePort, ObjectName, Role};
use crate::finding::Finding;
use crate::layout::{self, header};
use crate::plan::Placement;
use crate::site::settings::{self, Credentials};
use crate::site::{Cluster, Detail, Host, Service, ServiceKind, Site};

/// What every template is given.
#[derive(Serialize)]
struct Context<'a> {
    cluster: &'a ClusterKey,
    /// The name of the service's objects.
    name: String,
    component: &'static str,
    image: &'a str,
    node_labels: &'a BTreeMap<String, String>,
    #[serde(flatten)]
    own: Own<'a>,
}

/// What the template of a cluster's kustomization is given.
#[derive(Serialize)]
struct ClusterContext<'a> {
    cluster: &'a ClusterKey,
    /// The directories of its services.
    services: Vec<String>,
}

/// What only the templates of one kind of service are given.
#[derive(Serialize)]
#[serde(untagged)]
enum Own<'a> {
    LoadBalancer {
        ports: Vec<Port>,
        /// How HAProxy sees that a server is well: `kube-apiserver` or `tcp`.
        check: &'static str,
        servers: Vec<Server>,
    },
    JumpHost {
        node_port: NodePort,
        bmc_proxy: bool,
        authorized_keys: &'a [String],
        node_private_keys: Option<&'a ObjectName>,
        /// Whether the jump host gets the BMCs' credentials.
        power_control: bool,
        hosts: Vec<ReachableHost<'a>>,
    },
    Auth {
        node_port: NodePort,
        ca_secret: &'a ObjectName,
        issuer: String,
        address: IpAddr,
    },
}

#[derive(Serialize)]
struct Port {
    name: String,
    /// Of the Service, of HAProxy and of the servers.
    port: u16,
    node_port: NodePort,
}

#[derive(Serialize)]
struct Server {
    name: String,
    /// IPv6 in brackets.
    address: String,
}

#[derive(Serialize)]
struct ReachableHost<'a> {
    name: String,
    namespace: &'a str,
    host: &'a str,
    role: &'static str,
    /// IPv6 without brackets.
    address: IpAddr,
    bmc: Option<Bmc>,
    /// The Secret with the BMC's credentials.
    credentials: Option<&'a str>,
}

/// The files of a cluster's services, and what is wrong with them.
pub(super) fn render(
    cluster: &Cluster,
    placement: &Placement,
    site: &Site,
    templates: &Templates,
) -> (Tree, Vec<Finding>) {
    let mut renderer = Renderer { cluster, placement, site, templates, tree: Tree::new(), findings: Vec::new() };
    renderer.check_credentials();
    for service in &cluster.services {
        renderer.service(service);
    }
    if !cluster.services.is_empty() {
        let services: Vec<String> = cluster.services.iter().map(Service::directory).collect();
        let context = Value::from(Serde(ClusterContext { cluster: &cluster.key, services }));
        let file = layout::cluster_directory(&cluster.key).join(layout::KUSTOMIZATION);
        renderer.file("cluster/kustomization.yaml", file, &context);
    }
    let findings = renderer.findings.into_iter().map(|finding| finding.of(&cluster.key)).collect();
    (renderer.tree, findings)
}

/// The definitions of what Dex keeps in Kubernetes.
pub(super) fn dex_definitions(site: &Site, templates: &Templates) -> Result<Tree, Box<Finding>> {
    let mut tree = Tree::new();
    for name in templates.names_below(layout::CRDS) {
        let file = Utf8PathBuf::from(name);
        let text = rendered(site, templates, name, &file, &"the definitions of Dex", Value::default())?;
        tree.insert(file, text);
    }
    Ok(tree)
}

/// A file from a template, with the mark of ownership, read back. What the disk already has was read back when it
/// was written.
fn rendered(
    site: &Site,
    templates: &Templates,
    template: &str,
    file: &Utf8Path,
    made_from: &dyn std::fmt::Display,
    context: Value,
) -> Result<String, Box<Finding>> {
    let text = with_header(&templates.render(template, context)?, &made_from.to_string());
    if file.extension() == Some("yaml") && !is_configuration(template) && !site.state.has(file, &text) {
        verify::manifests(&text).map_err(|unreadable| match templates.own_file(template) {
            Some(own) => unreadable.of_template(own, file),
            None => unreadable.finding(file),
        })?;
    }
    Ok(text)
}

/// Files of programs, not of Kubernetes.
fn is_configuration(template: &str) -> bool {
    template == "auth/config.yaml"
}

/// Puts the mark of ownership on top; in a script, below the line that names its interpreter.
fn with_header(text: &str, made_from: &str) -> String {
    let interpreter = if text.starts_with("#!") { text.find('\n').map_or(text.len(), |end| end + 1) } else { 0 };
    let (first, rest) = text.split_at(interpreter);
    format!("{first}{}{rest}", header(made_from))
}

struct Renderer<'a> {
    cluster: &'a Cluster,
    placement: &'a Placement,
    site: &'a Site,
    templates: &'a Templates,
    tree: Tree,
    findings: Vec<Finding>,
}

impl<'a> Renderer<'a> {
    /// The hosts of the cluster that serve in one of some roles.
    fn hosts(&self, serves: impl Fn(Role) -> bool) -> Vec<(&'a Host, Role)> {
        let site = self.site;
        let serving = self.placement.iter().filter(|(role, _)| serves(**role));
        serving
            .flat_map(|(role, assigned)| {
                assigned.iter().map(move |assigned| (&site.inventory.hosts[assigned.host], *role))
            })
            .collect()
    }

    /// A pod mounts Secrets of its own namespace only.
    fn check_credentials(&mut self) {
        let jump_host = self.cluster.services.iter().find(|service| service.kind() == ServiceKind::JumpHost);
        let Some(jump_host) = jump_host.filter(|_| self.site.settings.credentials == Credentials::Mount) else {
            return;
        };
        let own = &self.cluster.key.namespace;
        let elsewhere: Vec<&Host> = self
            .hosts(|_| true)
            .into_iter()
            .map(|(host, _)| host)
            .filter(|host| host.key.namespace != *own && credentials(host).is_some())
            .collect();
        let Some(first) = elsewhere.first() else { return };
        self.findings.push(
            Finding::error(format!(
                "the jump host of {} cannot mount the BMC credentials of {} of its hosts, which are in other \
                 namespaces, such as {}",
                self.cluster.key,
                elsewhere.len(),
                first.key
            ))
            .at(self.cluster.origin.at(jump_host.route()))
            .see(first.origin.at(["spec", "bmc", "credentialsName"]), "the Secret that is in the host's namespace")
            .help(format!(
                "pods mount Secrets of their own namespace only: write `credentials: none` into {} for jump hosts \
                 without power control, or put the SIPCluster into the namespace of its hosts",
                settings::FILE
            )),
        );
    }

    fn service(&mut self, service: &'a Service) {
        let Some(own) = self.own(service) else { return };
        let context = Context {
            cluster: &self.cluster.key,
            name: service.object_name(&self.cluster.key),
            component: service.kind().component(),
            image: &service.image,
            node_labels: &service.node_labels,
            own,
        };
        let templates = match service.kind() {
            ServiceKind::ControlPlaneLoadBalancer | ServiceKind::WorkerLoadBalancer => "loadbalancer",
            ServiceKind::JumpHost => "jumphost",
            ServiceKind::Auth => "auth",
        };
        let directory = layout::cluster_directory(&self.cluster.key).join(service.directory());
        // One conversion for all of the service's files.
        let context = Value::from(Serde(&context));
        for template in self.templates.names_below(templates) {
            let Ok(below) = Utf8Path::new(template).strip_prefix(templates) else { continue };
            self.file(template, directory.join(below), &context);
        }
    }

    fn file(&mut self, template: &str, file: Utf8PathBuf, context: &Value) {
        match rendered(self.site, self.templates, template, &file, &self.cluster.origin.file, context.clone()) {
            Ok(text) => {
                self.tree.insert(file, text);
            }
            Err(finding) => self.findings.push(*finding),
        }
    }

    fn own(&mut self, service: &'a Service) -> Option<Own<'a>> {
        Some(match &service.detail {
            Detail::ControlPlaneLoadBalancer { node_port } => Own::LoadBalancer {
                ports: vec![Port { name: "kube-apiserver".to_owned(), port: 6443, node_port: *node_port }],
                check: "kube-apiserver",
                servers: self.servers(service)?,
            },
            Detail::WorkerLoadBalancer { node_ports } => {
                let port = |node_port: &NodePort| Port {
                    name: format!("port-{node_port}"),
                    port: node_port.number(),
                    node_port: *node_port,
                };
                Own::LoadBalancer {
                    ports: node_ports.iter().map(port).collect(),
                    check: "tcp",
                    servers: self.servers(service)?,
                }
            }
            Detail::JumpHost { node_port, bmc_proxy, authorized_keys, node_private_keys } => Own::JumpHost {
                node_port: *node_port,
                bmc_proxy: *bmc_proxy,
                authorized_keys,
                node_private_keys: node_private_keys.as_ref(),
                power_control: self.site.settings.credentials == Credentials::Mount,
                hosts: self.reachable_hosts(service)?,
            },
            Detail::Auth { node_port, ca_secret, address } => Own::Auth {
                node_port: *node_port,
                ca_secret,
                issuer: format!("https://{}:{node_port}/dex", bracketed(*address)),
                address: *address,
            },
        })
    }

    /// The hosts that a service uses, with their addresses; `None` when one has none, which a finding says.
    fn addressed(&mut self, service: &Service) -> Option<Vec<(&'a Host, Role, IpAddr)>> {
        let interface = service.interface.as_deref()?;
        let mut addressed = Vec::new();
        let mut complete = true;
        for (host, role) in self.hosts(|role| service.uses(role)) {
            match host.address(interface) {
                Ok(address) => addressed.push((host, role, address)),
                Err(reason) => {
                    complete = false;
                    self.findings.push(
                        Finding::error(format!(
                            "host {} of {} {reason}, so {} cannot reach it",
                            host.key,
                            self.cluster.key,
                            service.object_name(&self.cluster.key)
                        ))
                        .at(host.origin.at(["spec", "networkData"]))
                        .see(
                            self.cluster.origin.at(service.route().into_iter().chain(["nodeInterfaceId".into()])),
                            format!("the service uses `{interface}`"),
                        )
                        .help("the cluster has the host already, so it is not replaced: correct its network data"),
                    );
                }
            }
        }
        self.warn_of_shared_addresses(service, &addressed);
        complete.then_some(addressed)
    }

    /// Two hosts with one address happen (the SIP operator's own sample has them), and are a mistake.
    fn warn_of_shared_addresses(&mut self, service: &Service, addressed: &[(&Host, Role, IpAddr)]) {
        let mut by_address: BTreeMap<IpAddr, Vec<&Host>> = BTreeMap::new();
        for (host, _, address) in addressed {
            by_address.entry(*address).or_default().push(host);
        }
        for (address, hosts) in by_address.into_iter().filter(|(_, hosts)| hosts.len() > 1) {
            let name = service.object_name(&self.cluster.key);
            let finding = Finding::warning(format!("{} hosts of {name} have the address {address}", hosts.len()))
                .help("whoever connects to one of them may reach another; correct their network data");
            let add = |finding: Finding, host: &Host| {
                finding.see(host.origin.at(["spec", "networkData"]), host.key.to_string())
            };
            self.findings.push(hosts.into_iter().fold(finding, add));
        }
    }

    fn servers(&mut self, service: &Service) -> Option<Vec<Server>> {
        let cluster = self.cluster;
        let server = |(host, _, address): (&Host, Role, IpAddr)| Server {
            name: name_in(cluster, host, ':'),
            address: bracketed(address),
        };
        Some(self.addressed(service)?.into_iter().map(server).collect())
    }

    fn reachable_hosts(&mut self, service: &Service) -> Option<Vec<ReachableHost<'a>>> {
        let addressed = self.addressed(service)?;
        let mut hosts = Vec::with_capacity(addressed.len());
        for (host, role, address) in addressed {
            hosts.push(ReachableHost {
                name: name_in(self.cluster, host, '.'),
                namespace: host.key.namespace.as_str(),
                host: host.key.name.as_str(),
                role: role.as_str(),
                address,
                bmc: self.bmc(host),
                credentials: credentials(host),
            });
        }
        Some(hosts)
    }

    /// How a host's BMC is reached. One whose address cannot be read is left out: the host itself works.
    fn bmc(&mut self, host: &Host) -> Option<Bmc> {
        let bmc = host.bmc.as_ref().filter(|bmc| !bmc.address.is_empty())?;
        let parsed = Bmc::parse(&bmc.address, bmc.disable_certificate_verification);
        if parsed.is_none() {
            self.findings.push(
                Finding::warning(format!("the BMC address of host {} cannot be understood", host.key))
                    .at(host.origin.at(["spec", "bmc", "address"]))
                    .help(
                        "write it as Metal3 does, such as `redfish://192.0.2.1/redfish/v1/Systems/1`; until then the \
                         jump host has no power control over the host",
                    ),
            );
        }
        parsed
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

/// The Secret with the credentials of a host's BMC.
fn credentials(host: &Host) -> Option<&str> {
    host.bmc.as_ref().map(|bmc| bmc.credentials_name.as_str()).filter(|name| !name.is_empty())
}

fn bracketed(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}
