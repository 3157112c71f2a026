//! Values of the templates of outputs: a view of the plan.
//!
//! It has nothing that is secret or that changes by itself: no credentials of BMCs, and of a host's
//! status only whether it is in use. So a second run renders the same files.

use std::collections::{BTreeMap, HashSet};
use std::net::IpAddr;

use schemars::JsonSchema;
use serde::Serialize;

use crate::base::api::bmc::BmcAddress;
use crate::base::api::cluster_api::CLUSTER_NAME;
use crate::base::api::gitops::GitopsAgent;
use crate::base::api::host::{NODE_REUSE, without_user};
use crate::base::api::mac::MacAddress;
use crate::base::api::names::{ClusterKey, Namespace, NodeName, ObjectName, Part, Role};
use crate::input::settings::outputs::OutputSettings;
use crate::output::render::directory::SharedTemplates;
use crate::output::render::planned_hosts::placed_hosts;
use crate::plan::{Placement, Plan, topology};
use crate::site::Site;
use crate::site::inventory::{Evidence, Host};
use crate::site::request::service::EndpointAddress;
use crate::site::request::{Cluster, ClusterKind, ClusterService};

/// Version of the values. Fields are only added to a version.
const VERSION: u32 = 1;

/// Values of the templates in `outputs/`.
#[derive(Default, Serialize, JsonSchema)]
#[schemars(rename = "OutputValues")]
pub(in crate::output::render) struct OutputValues<'a> {
    /// Version of these values, 1.
    pub(super) version: u32,
    /// The site.
    pub(super) site: OutputSite<'a>,
    /// The cluster; in the scopes `cluster` and `host`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cluster: Option<OutputCluster<'a>>,
    /// The host; in the scope `host`, except in `kustomization.yaml`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) host: Option<OutputHost<'a>>,
    /// The clusters; in the scope `site`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) clusters: Option<Vec<OutputCluster<'a>>>,
    /// Hosts of the inventory that no cluster has; in the scope `site`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) unassigned: Option<Vec<OutputHost<'a>>>,
    /// Manifests of the output, relative to `kustomization.yaml`; only in that file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) files: Option<Vec<String>>,
    /// Files that clusters share, from the templates in the directory `shared` beside the template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) shared: Option<SharedTemplates>,
}

/// The site.
#[derive(Default, Serialize, JsonSchema)]
pub(super) struct OutputSite<'a> {
    /// Its directory in the repo; empty if the repo is one site.
    directory: &'a str,
    /// The agent in the settings.
    agent: Option<GitopsAgent>,
    /// Label with the rack of hosts, if any host has it.
    rack_label: Option<&'a str>,
}

/// A cluster.
#[derive(Serialize, JsonSchema)]
pub(super) struct OutputCluster<'a> {
    /// Its namespace.
    namespace: &'a Namespace,
    /// Its name.
    name: &'a ObjectName,
    /// Kind of its request.
    kind: ClusterKind,
    /// Labels of its request.
    labels: &'a BTreeMap<String, String>,
    /// Annotations of its request.
    annotations: &'a BTreeMap<String, String>,
    /// Its node sets.
    node_sets: Vec<OutputNodeSet<'a>>,
    /// Values for clients of the cluster, by name, as in its endpoints ConfigMap.
    endpoints: BTreeMap<String, String>,
    /// Address of its API server, if the request has it.
    api: Option<EndpointAddress>,
    /// Its hosts, by role and node set, in natural order.
    hosts: Vec<OutputHost<'a>>,
}

/// A node set.
#[derive(Serialize, JsonSchema)]
struct OutputNodeSet<'a> {
    /// Role of its hosts.
    role: Role,
    /// Its name, if the request names it.
    name: Option<&'a NodeName>,
    /// Machine of a Provisioning.
    machine: Option<&'a NodeName>,
    /// Number of hosts to run on.
    active: usize,
    /// Number of further hosts, for upgrades.
    standby: usize,
    /// Labels that spread its hosts.
    topology_keys: &'a [String],
}

/// A host.
#[derive(Serialize, JsonSchema)]
pub(super) struct OutputHost<'a> {
    /// Its namespace.
    namespace: &'a Namespace,
    /// Its name.
    name: &'a ObjectName,
    /// Its state.
    state: OutputHostState,
    /// Its role; none for an unassigned host.
    role: Option<Role>,
    /// Name of its node set, if the request names it.
    node_set: Option<&'a NodeName>,
    /// Its machine in a Provisioning.
    machine: Option<&'a NodeName>,
    /// Its rack, if it has the label.
    rack: Option<&'a str>,
    /// Its failure domain in Cluster API, if the cluster leaves that to sipgen.
    failure_domain: Option<&'a str>,
    /// Its labels, without those of its assignment and those that outputs add.
    labels: BTreeMap<&'a str, &'a str>,
    /// Its addresses by network.
    addresses: BTreeMap<&'a str, IpAddr>,
    /// Access to its BMC, if its manifest or snapshot has a valid address.
    bmc: Option<BmcAddress>,
    /// Its hardware, as far as it is known.
    hardware: OutputHardware<'a>,
}

/// State of a host.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum OutputHostState {
    /// No cluster has it, and it is not known to be in use.
    Free,
    /// A cluster has it, and it is not known to be in use.
    Assigned,
    /// It is in use, such as by a Machine.
    InUse,
}

/// Hardware of a host.
#[derive(Serialize, JsonSchema)]
struct OutputHardware<'a> {
    /// MAC address that it boots from.
    #[schemars(with = "Option<String>")]
    boot_mac: Option<MacAddress>,
    /// MAC addresses of its network cards.
    #[schemars(with = "Vec<String>")]
    macs: &'a [MacAddress],
    /// Its serial number.
    serial: Option<&'a str>,
}

impl<'a> OutputValues<'a> {
    /// Returns the values for a cluster.
    pub(super) fn for_cluster(site: &'a Site, cluster: &'a Cluster, placed: &'a Placement) -> Self {
        let cluster = OutputCluster::new(site, cluster, placed);
        Self { cluster: Some(cluster), ..Self::common(site) }
    }

    /// Returns the values for the site, with the clusters that an output covers.
    pub(super) fn for_site(site: &'a Site, plan: &'a Plan, output: &OutputSettings) -> Self {
        let clusters = plan.clusters.iter().filter_map(|(key, placed)| {
            let cluster = site.clusters.get(key)?.cluster.as_ref()?;
            output.covers(&cluster.labels).then(|| OutputCluster::new(site, cluster, placed))
        });
        let placed = plan.clusters.values().flat_map(BTreeMap::values).flatten();
        let assigned: HashSet<usize> = placed.map(|placed| placed.host).collect();
        let unassigned = site.inventory.hosts.iter().enumerate().filter(|(index, host)| {
            // A host that is only reached or loose may be an example.
            let is_certain = matches!(host.evidence, Evidence::Applied { .. } | Evidence::Live);
            !assigned.contains(index) && is_certain && host.same_machine.is_none()
        });
        let unassigned = unassigned.map(|(_, host)| OutputHost::new(site, host, None));
        let (clusters, unassigned) = (Some(clusters.collect()), Some(unassigned.collect()));
        Self { clusters, unassigned, ..Self::common(site) }
    }

    fn common(site: &'a Site) -> Self {
        Self {
            version: VERSION,
            site: OutputSite {
                directory: site.settings.directory.as_str(),
                agent: site.settings.gitops,
                rack_label: site.rack_label.as_deref(),
            },
            ..Self::default()
        }
    }
}

impl<'a> OutputCluster<'a> {
    fn new(site: &'a Site, cluster: &'a Cluster, placed: &'a Placement) -> Self {
        let ClusterKey { namespace, name } = &cluster.key;
        let node_sets = cluster.node_sets.iter().map(|(part, set)| OutputNodeSet {
            role: part.role,
            name: part.node_set.as_ref(),
            machine: part.node.as_ref(),
            active: set.active,
            standby: set.standby(),
            topology_keys: &set.topology_keys,
        });
        let hosts = placed_hosts(site, placed)
            .map(|(part, host)| OutputHost::new(site, host, Some((cluster, part))));
        Self {
            namespace,
            name,
            kind: cluster.kind,
            labels: &cluster.labels,
            annotations: &cluster.annotations,
            node_sets: node_sets.collect(),
            endpoints: cluster.services.iter().flat_map(|service| service.endpoints()).collect(),
            api: cluster.services.iter().find_map(ClusterService::api_address),
            hosts: hosts.collect(),
        }
    }
}

impl<'a> OutputHost<'a> {
    fn new(site: &'a Site, host: &'a Host, assigned: Option<(&'a Cluster, &'a Part)>) -> Self {
        let assignment = &host.assignment;
        let is_own = |key: &str| {
            let mut keys = assignment.in_manifest.iter().chain(&assignment.in_snapshot);
            let is_added = || site.settings.outputs.iter().any(|it| it.labels.contains_key(key));
            !keys.any(|assigned| assigned == key)
                && ![CLUSTER_NAME, NODE_REUSE].contains(&key)
                && !is_added()
        };
        let labels = host.labels.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let part = assigned.map(|(_, part)| part);
        let bmc = host.bmc();
        let bmc = bmc.and_then(|bmc| BmcAddress::parse(&without_user(&bmc.address)).ok());
        Self {
            namespace: &host.key.namespace,
            name: &host.key.name,
            state: match (&host.live.usage, part) {
                (Some(_), _) => OutputHostState::InUse,
                (None, Some(_)) => OutputHostState::Assigned,
                (None, None) => OutputHostState::Free,
            },
            role: part.map(|part| part.role),
            node_set: part.and_then(|part| part.node_set.as_ref()),
            machine: part.and_then(|part| part.node.as_ref()),
            rack: site.rack_label.as_deref().and_then(|label| host.domain(label)),
            failure_domain: assigned
                .and_then(|(cluster, part)| topology::failure_domain(cluster, part, host)),
            labels: labels.filter(|(key, _)| is_own(key)).collect(),
            addresses: host.shown_addresses(),
            bmc,
            hardware: OutputHardware {
                boot_mac: host.network.boot_mac,
                macs: &host.hardware.macs,
                serial: host.hardware.serial.as_deref(),
            },
        }
    }
}
