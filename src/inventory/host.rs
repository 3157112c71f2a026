//! One host: the joined content of its manifest and its snapshot.

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
    /// The namespace that its manifest or snapshot says, before any kustomization.
    pub own_namespace: Option<String>,
    /// Whether neither its manifest nor a kustomization gives it a namespace, but the settings: a patch finds it without.
    pub namespace_by_settings: bool,
    /// The file of the repo that has its manifest, or else its snapshot, where there is one.
    pub file: Option<Arc<Utf8Path>>,
    /// Origin of the host's object.
    pub standing: Standing,
    /// Its manifest, or else its snapshot.
    pub origin: Origin,
    /// The UID of its object, where a snapshot shows one: another object of the same name has another.
    pub uid: Option<String>,
    /// Where a snapshot shows it, if one does: its status and its consumer are there, if they are anywhere.
    pub live: Option<Origin>,
    /// The labels by which it is selected: those of the manifest, or else those of the snapshot.
    pub labels: BTreeMap<String, String>,
    /// Value that only Flux knows and that decides about the host, if any.
    pub undecided: Option<Undecided>,
    /// Who claims the host by labels, and where those stand: in the manifest, in the snapshot.
    pub claims: Vec<(Claim, Origin)>,
    /// The assignment labels in the manifest itself, of any generation; a host that is given back must lose them by a
    /// patch.
    pub manifest_labels: Vec<&'static str>,
    /// Assignment labels in the snapshot.
    pub live_labels: Vec<&'static str>,
    /// The label of an older generation that names the cluster of its claims, where no labels of today do.
    pub by_older_labels: Option<&'static str>,
    /// Argo CD's options in the manifest, which a patch must not lose: see [`crate::api::host::SYNC_OPTIONS`].
    pub sync_options: Option<String>,
    /// Which agent applies an observed host in full, in words. An object of ours would erase its spec.
    pub applied_in_full_by: Option<String>,
    /// The agents that keep assignment labels on the live host, as far as the snapshot has the managers of its fields.
    pub label_owners: Vec<Agent>,
    /// The last time that the host was given back, as the snapshot shows it.
    pub given_back: Option<GivenBack>,
    /// Access to its BMC.
    pub bmc: Option<Bmc>,
    /// The MAC address from which it boots, where its manifest or snapshot has one.
    pub boot_mac: Option<MacAddress>,
    /// The Secrets of its namespace that it names: with the credentials of its BMC and with network data.
    pub secrets: BTreeSet<ObjectName>,
    /// Its addresses.
    pub network: Network,
    /// The field that names the Secret with them, or would.
    pub network_field: &'static [&'static str],
    /// Evidence, beside its state, that it is in use.
    pub usage: Option<Usage>,
    /// Set if it must never be powered off.
    pub disable_power_off: bool,
    /// Set if its deletion was requested.
    pub deleting: bool,
    /// Its current error.
    pub error: Option<String>,
    /// Set if the error needs intervention to clear.
    pub failed: bool,
    /// Its provisioning state, where a snapshot knows one.
    pub state: Option<String>,
    /// Annotation that reserves it.
    pub reserved_by: Option<&'static str>,
    /// Properties that Provisionings select by.
    pub machine: Machine,
}

/// Origin of a host's object; it decides how its labels may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// A manifest in this repo, which the build of the root with this index renders.
    Declared {
        /// Index into the inventory's roots.
        root: usize,
    },
    /// Somebody else; the repo has a snapshot of it.
    Observed,
}

impl Host {
    /// Returns whether a kustomization of this repo renders the host in full.
    pub fn is_declared(&self) -> bool {
        matches!(self.standing, Standing::Declared { .. })
    }

    /// Whether it is known who uses the host: a snapshot says it, a manifest that nobody completes does not.
    pub fn is_use_known(&self) -> bool {
        self.standing == Standing::Observed
            || self.live.is_some()
            || self.state.is_some()
            || self.usage.is_some()
    }

    /// Returns what uses the host, in words.
    pub fn user(&self) -> Option<String> {
        self.usage.as_ref().map(Usage::user)
    }

    /// The place of what only a live host has, such as its status.
    pub(crate) fn live_place<S: Into<Step>>(&self, route: impl IntoIterator<Item = S>) -> Place {
        self.live.as_ref().unwrap_or(&self.origin).at(route)
    }

    /// The host's address on an interface, or why it has none.
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
