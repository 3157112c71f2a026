//! What the templates of jump hosts are given.

use std::net::IpAddr;

use serde::Serialize;

use super::bmc::Bmc;
use super::{Renderer, name_in};
use crate::api::names::{NodePort, ObjectName};
use crate::finding::Finding;
use crate::site::cluster::{HostKeys, JumpHost};
use crate::site::settings::{self, Credentials};
use crate::site::{Host, Service};

#[derive(Serialize)]
pub(super) struct Values<'a> {
    node_port: NodePort,
    bmc_proxy: bool,
    authorized_keys: &'a [String],
    node_private_keys: Option<&'a ObjectName>,
    host_keys: KeptHostKeys<'a>,
    /// Whether the jump host gets the BMCs' credentials.
    power_control: bool,
    hosts: Vec<ReachableHost<'a>>,
}

/// Where host keys are kept: one of both; in neither, every pod makes its own.
#[derive(Default, Serialize)]
struct KeptHostKeys<'a> {
    secret_name: Option<&'a ObjectName>,
    volume_claim: Option<VolumeClaim<'a>>,
}

#[derive(Serialize)]
struct VolumeClaim<'a> {
    storage_class_name: Option<&'a ObjectName>,
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

/// `None` when a host cannot be reached, which a finding says.
pub(super) fn values<'a>(
    renderer: &mut Renderer<'a>,
    service: &'a Service,
    jump_host: &'a JumpHost,
) -> Option<Values<'a>> {
    check_credentials(renderer, service);
    Some(Values {
        node_port: jump_host.node_port,
        bmc_proxy: jump_host.bmc_proxy,
        authorized_keys: &jump_host.authorized_keys,
        node_private_keys: jump_host.node_private_keys.as_ref(),
        host_keys: KeptHostKeys::from(&jump_host.host_keys),
        power_control: renderer.site.settings.credentials == Credentials::Reference,
        hosts: reachable_hosts(renderer, service)?,
    })
}

impl<'a> From<&'a HostKeys> for KeptHostKeys<'a> {
    fn from(host_keys: &'a HostKeys) -> Self {
        match host_keys {
            HostKeys::Secret(name) => Self { secret_name: Some(name), ..Self::default() },
            HostKeys::Volume { storage_class } => Self {
                volume_claim: Some(VolumeClaim { storage_class_name: storage_class.as_ref() }),
                ..Self::default()
            },
            HostKeys::Ephemeral => Self::default(),
        }
    }
}

/// A pod mounts Secrets of its own namespace only.
fn check_credentials(renderer: &mut Renderer<'_>, jump_host: &Service) {
    if renderer.site.settings.credentials != Credentials::Reference {
        return;
    }
    let cluster = renderer.cluster;
    let hosts = renderer.hosts(|_| true).into_iter().map(|(host, _)| host);
    let elsewhere: Vec<&Host> =
        hosts.filter(|host| host.key.namespace != cluster.key.namespace && credentials(host).is_some()).collect();
    let Some(first) = elsewhere.first() else { return };
    renderer.findings.push(
        Finding::error(format!(
            "the jump host of {} cannot mount the BMC credentials of {} of its hosts, which are in other namespaces, \
             such as {}",
            cluster.key,
            elsewhere.len(),
            first.key
        ))
        .at(cluster.origin.at(jump_host.route()))
        .see(first.origin.at(["spec", "bmc", "credentialsName"]), "the Secret that is in the host's namespace")
        .help(format!(
            "pods mount Secrets of their own namespace only: write `credentials: none` into {} for jump hosts without \
             power control, or put the SIPCluster into the namespace of its hosts",
            settings::FILE
        )),
    );
}

fn reachable_hosts<'a>(renderer: &mut Renderer<'a>, service: &Service) -> Option<Vec<ReachableHost<'a>>> {
    let addressed = renderer.addressed(service)?;
    let mut hosts = Vec::with_capacity(addressed.len());
    for (host, role, address) in addressed {
        hosts.push(ReachableHost {
            name: name_in(renderer.cluster, host, '.'),
            namespace: host.key.namespace.as_str(),
            host: host.key.name.as_str(),
            role: role.as_str(),
            address,
            bmc: bmc(renderer, host),
            credentials: credentials(host),
        });
    }
    Some(hosts)
}

/// How a host's BMC is reached. One whose address cannot be read is left out: the host itself works.
fn bmc(renderer: &mut Renderer<'_>, host: &Host) -> Option<Bmc> {
    let bmc = host.bmc.as_ref().filter(|bmc| !bmc.address.is_empty())?;
    let parsed = Bmc::parse(&bmc.address, bmc.disable_certificate_verification);
    if parsed.is_none() {
        renderer.findings.push(
            Finding::warning(format!("the BMC address of host {} cannot be understood", host.key))
                .at(host.origin.at(["spec", "bmc", "address"]))
                .help(
                    "write it as Metal3 does, such as `redfish://192.0.2.1/redfish/v1/Systems/1`; until then the jump \
                     host has no power control over the host",
                ),
        );
    }
    parsed
}

/// The Secret with the credentials of a host's BMC.
fn credentials(host: &Host) -> Option<&str> {
    host.bmc.as_ref().map(|bmc| bmc.credentials_name.as_str()).filter(|name| !name.is_empty())
}
