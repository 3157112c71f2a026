//! A host: the joined content of its manifest and its snapshot.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use camino::Utf8Path;

use super::machine::Machine;
use super::networks::{Network, Unaddressed};
use super::undecided::Undecided;
use super::usage::Usage;
use crate::api::assignment::{Claim, GivenBack};
use crate::api::gitops::Agent;
use crate::api::host::Bmc;
use crate::api::mac::MacAddress;
use crate::api::names::{HostKey, ObjectName};
use crate::api::network_data::NoAddress;
use crate::finding::{Origin, Place, Step};

/// One host of the site.
#[derive(Debug, Clone)]
pub struct Host {
    /// Namespace and name.
    pub key: HostKey,
    /// The namespace in its manifest or snapshot, before any kustomization.
    pub own_namespace: Option<String>,
    /// Set if only the settings give it a namespace: then a patch must name no namespace to match
    /// it.
    pub namespace_by_settings: bool,
    /// The file in the repo with its manifest, or else with its snapshot.
    pub file: Option<Arc<Utf8Path>>,
    /// Origin of the host's object.
    pub standing: Standing,
    /// The manifest, or else the snapshot.
    pub origin: Origin,
    /// UID of the live object in the snapshot. An object that is recreated under the same name has
    /// another UID.
    pub uid: Option<String>,
    /// The snapshot, if there is one; status and consumer are in it.
    pub live: Option<Origin>,
    /// Labels that selectors match: those of the manifest, or else those of the snapshot.
    pub labels: BTreeMap<String, String>,
    /// A value that decides about the host and that only Flux knows.
    pub undecided: Option<Undecided>,
    /// Claims of clusters by labels, each with the document that has them: manifest, then snapshot.
    pub claims: Vec<(Claim, Origin)>,
    /// Assignment labels of any generation in the manifest. A patch must remove them when the host
    /// is released.
    pub manifest_labels: Vec<&'static str>,
    /// Assignment labels in the snapshot.
    pub live_labels: Vec<&'static str>,
    /// The older label that names the cluster of its claims, if no current label does.
    pub by_older_labels: Option<&'static str>,
    /// Argo CD's sync options in the manifest, which a patch must keep: see
    /// [`crate::api::host::SYNC_OPTIONS`].
    pub sync_options: Option<String>,
    /// Description of the agent that applies an observed host in full. A partial object would erase
    /// its spec.
    pub applied_in_full_by: Option<String>,
    /// Agents that own assignment labels of the live host, according to the snapshot's managed
    /// fields.
    pub label_owners: Vec<Agent>,
    /// The last release of the host, according to the snapshot.
    pub given_back: Option<GivenBack>,
    /// Access to its BMC.
    pub bmc: Option<Bmc>,
    /// MAC address of the boot interface (`spec.bootMACAddress`).
    pub boot_mac: Option<MacAddress>,
    /// Names of the Secrets that it refers to, in its namespace: BMC credentials and network data.
    pub secrets: BTreeSet<ObjectName>,
    /// Its addresses.
    pub network: Network,
    /// The field that names the Secret with its network data, or that should.
    pub network_field: &'static [&'static str],
    /// Evidence other than its state that it is in use.
    pub usage: Option<Usage>,
    /// Set if it must never be powered off.
    pub disable_power_off: bool,
    /// Set if its deletion was requested.
    pub deleting: bool,
    /// Its current error.
    pub error: Option<String>,
    /// Set if it has an error other than `power management error`, which Metal3 retries and clears.
    pub failed: bool,
    /// Provisioning state, if a status is known.
    pub state: Option<String>,
    /// The annotation that reserves it.
    pub reserved_by: Option<&'static str>,
    /// Properties that Provisionings select by.
    pub machine: Machine,
}

/// The origin of a host's object, which decides how its labels may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// A manifest in this repo.
    Declared {
        /// Index of the root that renders it, among the inventory's roots.
        root: usize,
    },
    /// An object that is made elsewhere; the repo has only a snapshot of it.
    Observed,
}

impl Host {
    /// Returns whether a kustomization of this repo renders the host in full.
    pub fn is_declared(&self) -> bool {
        matches!(self.standing, Standing::Declared { .. })
    }

    /// Returns whether it is known if the host is in use. A manifest alone does not tell.
    pub fn is_use_known(&self) -> bool {
        self.standing == Standing::Observed
            || self.live.is_some()
            || self.state.is_some()
            || self.usage.is_some()
    }

    /// Describes the user of the host.
    pub fn user(&self) -> Option<String> {
        self.usage.as_ref().map(Usage::user)
    }

    /// Returns a place in the live object, for fields that only live objects have, such as the
    /// status.
    pub(crate) fn live_place<S: Into<Step>>(&self, route: impl IntoIterator<Item = S>) -> Place {
        self.live.as_ref().unwrap_or(&self.origin).at(route)
    }

    /// Returns the host's address on an interface.
    ///
    /// # Errors
    ///
    /// Returns the reason why it has none.
    pub fn address(&self, interface: &str) -> Result<IpAddr, Unaddressed> {
        match &self.network {
            Network::Known(data) => data.address(interface).map_err(|reason| match reason {
                NoAddress::NoSuchNetwork => Unaddressed::NoNetwork(interface.to_owned()),
                NoAddress::NoStaticAddress => Unaddressed::NoAddress(interface.to_owned()),
            }),
            Network::Absent => Err(Unaddressed::NoNetworkData),
            Network::Missing(secret) => Err(Unaddressed::NoSecret(secret.clone())),
            Network::Keyless(secret, _) => Err(Unaddressed::NoKey(secret.clone())),
            Network::Unreadable(holder, reason) => {
                Err(Unaddressed::Unreadable(holder.clone(), reason.clone()))
            }
            Network::Refused(holder) => Err(Unaddressed::Refused(holder.clone())),
            Network::Encrypted(holder, _) => Err(Unaddressed::Encrypted(holder.clone())),
        }
    }
}
