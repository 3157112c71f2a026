//! A host: the joined content of its manifest and its snapshot.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use camino::Utf8Path;

use super::addresses::{AddressSource, KnownAddress};
use super::apply_options::ApplyOption;
use super::evidence::Evidence;
use super::machine::MachineProperties;
use super::maintenance::MaintenanceMark;
use super::networks::{HostNetworkData, NoAddressReason};
use super::undecided::VariableValue;
use super::usage::HostUsage;
use crate::base::api::assignment::{Claim, ReleaseProgress};
use crate::base::api::gitops::GitopsAgent;
use crate::base::api::hardware_identity::HardwareIdentity;
use crate::base::api::host::{BareMetalHostSpec, BmcDetails};
use crate::base::api::mac::MacAddress;
use crate::base::api::names::{HostKey, Namespace, ObjectName};
use crate::base::api::reservation::Tenants;
use crate::base::finding::{Origin, Place, RouteStep};
use crate::base::text::non_empty;

/// A host of the site.
#[derive(Debug, Clone)]
pub struct Host {
    /// Namespace and name.
    pub key: HostKey,
    /// Namespace in its manifest or snapshot, before any kustomization.
    pub own_namespace: Option<String>,
    /// Set if only the settings give it a namespace: patches must then not name one.
    pub namespace_by_settings: bool,
    /// File of the repo with its manifest, or else with its snapshot.
    pub file: Option<Arc<Utf8Path>>,
    /// Proof that its labels arrive.
    pub evidence: Evidence,
    /// The manifest, or else the snapshot.
    pub origin: Origin,
    /// Labels that selectors match: those of the manifest, or else those of the snapshot.
    pub labels: BTreeMap<String, String>,
    /// A value that decides about the host and that only Flux knows.
    pub undecided: Option<Box<VariableValue>>,
    /// Argo CD's options in the manifest, which a patch must keep: see
    /// [`SYNC_OPTIONS`](crate::base::api::host::SYNC_OPTIONS).
    pub sync_options: Option<String>,
    /// Options by which its labels do not arrive, or replace it. Almost no host has any.
    pub(crate) apply_options: Vec<ApplyOption>,
    /// Description of the agent that applies an observed host in full. A partial object would erase
    /// its spec.
    pub applied_in_full_by: Option<String>,
    /// The spec of its manifest, or else of its snapshot.
    pub spec: Option<Box<BareMetalHostSpec>>,
    /// Field of its manifest that differs from the live object, if Metal3 refuses the change.
    pub refused_change: Option<&'static [&'static str]>,
    /// Set if the API server, or Metal3, refuses it for a mistake.
    pub is_refused: bool,
    /// Annotation that reserves it.
    pub reserved_by: Option<&'static str>,
    /// Its reservations, each for some tenants.
    pub reservations: Vec<Arc<Tenants>>,
    /// Its maintenance mark: it gets no new assignment.
    pub maintenance: Option<Box<MaintenanceMark>>,
    /// Set if it must never be powered off.
    pub disable_power_off: bool,
    /// Its object in the base cluster.
    pub live: LiveState,
    /// Its assignment labels.
    pub assignment: AssignmentLabels,
    /// Its addresses.
    pub network: HostNetwork,
    /// Hardware values that identify its machine.
    pub hardware: HardwareIdentity,
    /// Set if another host stands for its machine.
    pub same_machine: Option<Box<SameMachine>>,
    /// Properties that Provisionings select by. Hosts of a site without Provisionings share one without
    /// any.
    pub machine: Arc<MachineProperties>,
}

/// A host that stands for the machine of another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SameMachine {
    /// The host that stands for the machine.
    pub host: HostKey,
    /// Description of the shared identity.
    pub identity: String,
    /// Set unless the hosts may be different machines.
    pub is_certain: bool,
}

/// State of a host's object in the base cluster, from its snapshot, or else from the status in its
/// manifest.
#[derive(Debug, Clone, Default)]
pub struct LiveState {
    /// The snapshot, if there is one.
    pub origin: Option<Origin>,
    /// Set if a document is a copy of a live object, by metadata that only an API server sets, or by a
    /// provisioning state, which is empty until Metal3 registers the host.
    pub is_object: bool,
    /// UID of the object. Another object of the same name has another UID.
    pub uid: Option<String>,
    /// Provisioning state.
    pub provisioning: Option<String>,
    /// Evidence, beside the provisioning state, that the host is in use.
    pub usage: Option<HostUsage>,
    /// Name of the Cluster in the label by which CAPM3 marks the hosts of its Machines.
    pub machine_cluster: Option<Box<str>>,
    /// Value of the label [`NODE_REUSE`](crate::base::api::host::NODE_REUSE).
    pub node_reuse: Option<Box<str>>,
    /// Current error.
    pub error: Option<String>,
    /// Set if it has an error other than `power management error`, which Metal3 retries and clears.
    pub failed: bool,
    /// Set if its deletion was requested.
    pub deleting: bool,
}

impl LiveState {
    /// Returns the Metal3Machine of a namespace that uses the host.
    pub(crate) fn machine_in(&self, namespace: &Namespace) -> Option<&str> {
        let (found, name) = self.usage.as_ref()?.metal3_machine()?;
        (found == namespace.as_str()).then_some(name)
    }
}

/// Labels that assign a host to a cluster, in its manifest and in its snapshot.
#[derive(Debug, Clone, Default)]
pub struct AssignmentLabels {
    /// Assignments by labels, of the manifest first, with their documents.
    pub claims: Vec<(Claim, Origin)>,
    /// Keys in the manifest, of any generation. On release, a patch removes them.
    pub in_manifest: Vec<String>,
    /// Keys in the snapshot, of any generation.
    pub in_snapshot: Vec<String>,
    /// Key of an older generation that names the cluster of the claims, if no current key does.
    pub legacy_key: Option<&'static str>,
    /// Agents that own assignment labels of the live host, by its managed fields.
    pub owners: Vec<GitopsAgent>,
    /// Last release of the host, from the snapshot.
    pub released: Option<ReleaseProgress>,
}

/// Network configuration of a host.
#[derive(Debug, Clone)]
pub struct HostNetwork {
    /// Its addresses.
    pub data: HostNetworkData,
    /// Addresses from other sources than network data, by interface.
    pub addresses: BTreeMap<String, KnownAddress>,
    /// MAC address that it boots from (`spec.bootMACAddress`).
    pub boot_mac: Option<MacAddress>,
}

impl Host {
    /// Returns the value of a topology label. An empty value counts as missing, because ViNO copies a
    /// label that its node lacks as `""`.
    pub fn domain(&self, topology_key: &str) -> Option<&str> {
        self.labels.get(topology_key).map(String::as_str).filter(|domain| !domain.is_empty())
    }

    /// Returns the access to its BMC.
    pub fn bmc(&self) -> Option<&BmcDetails> {
        self.spec.as_ref()?.bmc.as_ref()
    }

    /// Returns the names of Secrets of its namespace: BMC credentials and network data.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &str> {
        let names = self.spec.iter().flat_map(|spec| spec.references()).map(|(_, name)| name);
        names.filter(|name| name.parse::<ObjectName>().is_ok())
    }

    /// Returns the place of the field that names the host's network data, or should name it.
    pub(crate) fn network_place(&self) -> Place {
        let is_for_inspection = self.spec.as_ref().is_some_and(|spec| {
            let name = spec.network_data.as_ref().and_then(|secret| non_empty(&secret.name));
            name.is_none() && spec.preprovisioning_network_data_name.is_some()
        });
        match is_for_inspection {
            true => self.origin.at(["spec", "preprovisioningNetworkDataName"]),
            false => self.origin.at(["spec", "networkData", "name"]),
        }
    }

    /// Returns the root whose build renders the host in full, if an agent applies it.
    pub(crate) fn applied_root(&self) -> Option<usize> {
        self.evidence.root().filter(|_| self.is_declared())
    }

    /// Returns whether a kustomization of this repo renders the host in full.
    pub fn is_declared(&self) -> bool {
        matches!(self.evidence, Evidence::Applied { .. })
    }

    /// Returns whether it is known if the host is in use. A manifest without status or usage does
    /// not show it; a snapshot does.
    pub fn is_use_known(&self) -> bool {
        // An observed host is known by its snapshot.
        self.evidence == Evidence::Live
            || self.live.origin.is_some()
            || self.live.provisioning.is_some()
            || self.live.usage.is_some()
    }

    /// Describes the user of the host.
    pub fn user(&self) -> Option<String> {
        self.live.usage.as_ref().map(HostUsage::user)
    }

    /// Returns the place of a field that only a live host has, such as its status.
    pub(crate) fn live_place<S: Into<RouteStep>>(
        &self,
        route: impl IntoIterator<Item = S>,
    ) -> Place {
        self.live.origin.as_ref().unwrap_or(&self.origin).at(route)
    }

    /// Returns the host's address on an interface, or the reason why it has none.
    ///
    /// An interface is a network of the network data, or else one that another source names.
    pub fn address(&self, interface: &str) -> Result<IpAddr, NoAddressReason> {
        let other = self.network.addresses.get(interface);
        self.address_in_network_data(interface)
            .or_else(|reason| other.map(|known| known.address).ok_or(reason))
    }

    /// Returns its addresses from all sources, each in one spelling.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        let data = self.network.data.iter().flat_map(|data| data.addresses());
        let all = data.chain(self.network.addresses.values().map(|known| known.address));
        all.map(|address| address.to_canonical())
    }

    /// Returns the addresses by interface that generated files may show: those of
    /// [`address`](Self::address) with a name.
    pub fn shown_addresses(&self) -> BTreeMap<&str, IpAddr> {
        let known = self.network.addresses.iter();
        let mut shown: BTreeMap<&str, IpAddr> =
            known.map(|(interface, known)| (interface.as_str(), known.address)).collect();
        if let Ok(data) = &self.network.data {
            shown.extend(data.shown_ids().filter_map(|id| Some((id, data.address(id).ok()?))));
        }
        shown
    }

    /// Returns the address on an interface that users fixed: in network data or in an annotation.
    pub(crate) fn fixed_address(&self, interface: &str) -> Option<IpAddr> {
        let other = self.network.addresses.get(interface);
        let annotated = || other.filter(|known| known.source == AddressSource::Annotation);
        self.address_in_network_data(interface)
            .ok()
            .or_else(|| annotated().map(|known| known.address))
    }

    fn address_in_network_data(&self, interface: &str) -> Result<IpAddr, NoAddressReason> {
        let data =
            self.network.data.as_ref().map_err(|reason| NoAddressReason::NoData(reason.clone()))?;
        Ok(data.address(interface)?)
    }
}
