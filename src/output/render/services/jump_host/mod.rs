//! Values of the templates of jump hosts.

mod bmc;
mod egress;

use std::collections::BTreeMap;
use std::net::IpAddr;

use schemars::JsonSchema;
use serde::Serialize;

use bmc::BmcValues;
use egress::EgressValues;

use crate::base::api::names::{NodePort, ObjectName, SecretKey};
use crate::base::finding::{Code, Finding};
use crate::input::settings::{self, Credentials, SecretStore};
use crate::output::render::planned_hosts::{PatchedPairs, guards};
use crate::output::render::renderer::{Renderer, name_in};
use crate::site::inventory::Host;
use crate::site::request::ClusterService;
use crate::site::request::service::{JumpHostSettings, VolumeClaim};

#[derive(Serialize, JsonSchema)]
pub(super) struct JumpHostValues<'a> {
    /// Port of the SSH server on the base cluster's nodes.
    node_port: NodePort,
    #[serde(flatten)]
    settings: &'a JumpHostSettings,
    /// Volume of the operators' home directories. Without it, they are lost with the pod.
    homes: Option<HomeVolumeValues<'a>>,
    /// True if the jump host has the BMCs' credentials.
    power_control: bool,
    /// Hosts of the cluster.
    hosts: Vec<ReachableHost<'a>>,
    /// BMC Secrets of other namespaces to copy.
    secret_copies: Vec<SecretCopy<'a>>,
    /// Targets that the jump host may connect to; absent without a limit.
    egress: Option<EgressValues>,
}

#[derive(Serialize, JsonSchema)]
struct HomeVolumeValues<'a> {
    #[serde(flatten)]
    volume_claim: &'a VolumeClaim,
    /// Annotations that keep agents from deleting it.
    guards: PatchedPairs<'static>,
}

#[derive(Serialize, JsonSchema)]
struct ReachableHost<'a> {
    /// Name for operators: the host's name, with its namespace as prefix if that is not the
    /// cluster's.
    name: String,
    /// The host's namespace.
    namespace: &'a str,
    /// The host's own name.
    host: &'a str,
    /// `ControlPlane` or `Worker`.
    role: &'static str,
    /// IPv6 without brackets.
    address: IpAddr,
    /// Access to its BMC, if the BMC's address is valid.
    bmc: Option<BmcValues>,
    /// Secret with the BMC's credentials.
    credentials: Option<String>,
    /// True if the host must never be powered off.
    disable_power_off: bool,
}

/// A Secret of another namespace that the External Secrets Operator copies.
#[derive(Serialize, JsonSchema)]
struct SecretCopy<'a> {
    /// The copy's name, in the cluster's namespace.
    name: String,
    /// The store that reads the namespace of the Secret.
    store: &'a SecretStore,
    /// The Secret's own name.
    secret: ObjectName,
}

/// Returns the values; `None`, with a finding, if a host has no address or an invalid name.
pub(super) fn values<'a>(
    renderer: &mut Renderer<'a>,
    service: &'a ClusterService,
    settings: &'a JumpHostSettings,
) -> Option<JumpHostValues<'a>> {
    let secret_copies = copies(renderer, service);
    let hosts = reachable_hosts(renderer, service)?;
    Some(JumpHostValues {
        node_port: *service.node_ports.first()?,
        settings,
        homes: settings.homes.as_ref().map(|volume_claim| HomeVolumeValues {
            volume_claim,
            guards: guards(renderer.site, None),
        }),
        power_control: renderer.site.settings.credentials != Credentials::None,
        secret_copies,
        egress: egress::egress(renderer, &hosts),
        hosts,
    })
}

/// Returns the Secret with the BMC's credentials that the jump host reads: the host's own, or a
/// copy.
fn credentials(renderer: &Renderer<'_>, service: &ClusterService, host: &Host) -> Option<String> {
    let secret = bmc_secret(host)?;
    let cluster = &renderer.cluster.key;
    Some(if secret.namespace == cluster.namespace {
        secret.name.to_string()
    } else {
        service.copy_name(cluster, &secret)
    })
}

/// Returns the Secret with the credentials of a host's BMC.
fn bmc_secret(host: &Host) -> Option<SecretKey> {
    // The API server rejects any other name.
    let name = host.bmc()?.credentials_name.parse().ok()?;
    Some(SecretKey { namespace: host.key.namespace.clone(), name })
}

/// Returns the copies of BMC Secrets from other namespaces. A jump host may read Secrets of its own
/// namespace only.
///
/// A Secret that cannot be copied is an error: with `reference`, every such Secret; with
/// `external-secrets`, one without a store.
fn copies<'a>(renderer: &mut Renderer<'a>, service: &ClusterService) -> Vec<SecretCopy<'a>> {
    let (cluster, settings) = (renderer.cluster, &renderer.site.settings);
    if settings.credentials == Credentials::None {
        return Vec::new();
    }
    let stores = Some(&settings.external_secrets.stores)
        .filter(|_| settings.credentials == Credentials::ExternalSecrets);
    let elsewhere = renderer.hosts().filter(|host| host.key.namespace != cluster.key.namespace);
    let mut copies: BTreeMap<String, SecretCopy<'a>> = BTreeMap::new();
    let mut without_store: Vec<&Host> = Vec::new();
    for (host, secret) in elsewhere.filter_map(|host| Some((host, bmc_secret(host)?))) {
        let Some(store) = stores.and_then(|stores| stores.get(&secret.namespace)) else {
            without_store.push(host);
            continue;
        };
        let name = service.copy_name(&cluster.key, &secret);
        copies.insert(name.clone(), SecretCopy { name, store, secret: secret.name });
    }
    if let Some(first) = without_store.first() {
        let help = match settings.credentials {
            Credentials::ExternalSecrets => format!(
                "name the store that reads {} under `externalSecrets.stores` in {}",
                first.key.namespace,
                settings::FILE
            ),
            _ => format!(
                "a jump host reads Secrets of its own namespace only: write `credentials: external-secrets` into {} to have \
                 them copied, or `credentials: none` for jump hosts without power control, or put the SIPCluster into \
                 the namespace of its hosts",
                settings::FILE
            ),
        };
        let message = format!(
            "the jump host of {} cannot read the BMC credentials of {} of its hosts, which are in other namespaces, \
             such as {}",
            cluster.key,
            without_store.len(),
            first.key
        );
        let secret = first.origin.at(["spec", "bmc", "credentialsName"]);
        let finding = Finding::new(Code::CredentialsElsewhere, message)
            .at(cluster.origin.at(service.route()))
            .see(secret, "the Secret that is in the host's namespace")
            .help(help);
        renderer.rendered.findings.push(finding);
    }
    copies.into_values().collect()
}

fn reachable_hosts<'a>(
    renderer: &mut Renderer<'a>,
    service: &ClusterService,
) -> Option<Vec<ReachableHost<'a>>> {
    let addressed = renderer.addressed(service)?;
    let jump_host = service.object_name(&renderer.cluster.key);
    let mut hosts = Vec::with_capacity(addressed.len());
    let mut names: BTreeMap<String, &Host> = BTreeMap::new();
    let mut named = true;
    for (host, role, address) in addressed {
        let name = name_in(renderer.cluster, host, '.');
        // All hosts are checked, so that one run reports all mistakes.
        let mistake = name_mistake(&jump_host, host, &name, names.insert(name.clone(), host));
        named &= mistake.is_none();
        renderer.rendered.findings.extend(mistake);
        hosts.push(ReachableHost {
            name,
            namespace: host.key.namespace.as_str(),
            host: host.key.name.as_str(),
            role: role.as_str(),
            address,
            bmc: bmc(renderer, host),
            credentials: credentials(renderer, service, host),
            disable_power_off: host.disable_power_off,
        });
    }
    named.then_some(hosts)
}

/// Reports a host whose name on the jump host is not unique, or no DNS name: ssh, `/etc/hosts` and the
/// credential files use it.
fn name_mistake(jump_host: &str, host: &Host, name: &str, other: Option<&Host>) -> Option<Finding> {
    let message = match other {
        Some(other) => format!(
            "the hosts {} and {} would both be named {name} on {jump_host}",
            other.key, host.key
        ),
        None if is_dns_name(name) => return None,
        None => format!(
            "the name of host {} is too long for {jump_host}, with its namespace before it",
            host.key
        ),
    };
    let finding = Finding::new(Code::AmbiguousHostName, message)
        .at(host.origin.at(["metadata", "name"]))
        .help("rename one of them: a jump host names hosts of other namespaces NAMESPACE.NAME");
    let other = other.map(|other| (other.origin.at(["metadata", "name"]), "the other one"));
    Some(finding.see_each(other))
}

/// Returns whether a resolver takes a text. Kubernetes limits names of objects as a whole only.
fn is_dns_name(text: &str) -> bool {
    text.parse::<ObjectName>().is_ok() && text.split('.').all(|label| label.len() <= 63)
}

/// Returns the address of a host's BMC; `None` for an invalid one, which the inventory reports.
fn bmc(renderer: &mut Renderer<'_>, host: &Host) -> Option<BmcValues> {
    let bmc = host.bmc().filter(|bmc| !bmc.address.is_empty())?;
    if !bmc.credentials_name.is_empty() && bmc_secret(host).is_none() {
        let message =
            format!("the credentialsName of host {} is not a valid name of a Secret", host.key);
        let finding = Finding::new(Code::InvalidCredentialsName, message)
            .at(host.origin.at(["spec", "bmc", "credentialsName"]))
            .help(
                "write the name of the Secret with the BMC's `username` and `password`; until then the host has no power control",
            );
        renderer.rendered.findings.push(finding);
    }
    BmcValues::parse(&bmc.address, bmc.disable_certificate_verification)
}
