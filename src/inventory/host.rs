//! One host: what manifests and snapshots say of it, joined.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use camino::Utf8Path;

use super::appliers;
use super::machine::Machine;
use super::networks::{self, Network, Networks, Referring, Unaddressed};
use super::undecided::Undecided;
use super::usage::Usage;
use crate::api::assignment::{self, Claim, GivenBack};
use crate::api::gitops::Agent;
use crate::api::host::{
    self, BareMetalHost, Bmc, DETACHED, Metadata, PAUSED, SYNC_OPTIONS, Spec, UNHEALTHY,
};
use crate::api::mac::MacAddress;
use crate::api::names::{HostKey, ObjectName};
use crate::api::network_data::NoAddress;
use crate::finding::{Code, Finding, Origin, Place, Step};
use crate::kustomize::Builds;
use crate::settings::{self, Mode, Settings, sources};
use crate::text::credentials::masked_value;

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
    /// Who makes the host's object.
    pub standing: Standing,
    /// Where it is described first: its manifest, or else its snapshot.
    pub origin: Origin,
    /// The UID of its object, where a snapshot shows one: another object of the same name has another.
    pub uid: Option<String>,
    /// Where a snapshot shows it, if one does: its status and its consumer are there, if they are anywhere.
    pub live: Option<Origin>,
    /// The labels by which it is selected: those of the manifest, or else those of the snapshot.
    pub labels: BTreeMap<String, String>,
    /// A value that only Flux knows, if one decides about the host.
    pub undecided: Option<Undecided>,
    /// Who claims the host by labels, and where those stand: in the manifest, in the snapshot.
    pub claims: Vec<(Claim, Origin)>,
    /// The assignment labels in the manifest itself, of any generation; a host that is given back must lose them by a
    /// patch.
    pub manifest_labels: Vec<&'static str>,
    /// Those that the snapshot shows.
    pub live_labels: Vec<&'static str>,
    /// The label of an older generation that names the cluster of its claims, where no labels of today do.
    pub by_older_labels: Option<&'static str>,
    /// Argo CD's options in the manifest, which a patch must not lose: see [`SYNC_OPTIONS`].
    pub sync_options: Option<String>,
    /// Which agent applies an observed host in full, in words. An object of ours would erase its spec.
    pub applied_in_full_by: Option<String>,
    /// The agents that keep assignment labels on the live host, as far as the snapshot has the managers of its fields.
    pub label_owners: Vec<Agent>,
    /// The last time that the host was given back, as the snapshot shows it.
    pub given_back: Option<GivenBack>,
    /// How its BMC is reached.
    pub bmc: Option<Bmc>,
    /// The MAC address from which it boots, where its manifest or snapshot has one.
    pub boot_mac: Option<MacAddress>,
    /// The Secrets of its namespace that it names: with the credentials of its BMC and with network data.
    pub secrets: BTreeSet<ObjectName>,
    /// Its addresses.
    pub network: Network,
    /// The field that names the Secret with them, or would.
    pub network_field: &'static [&'static str],
    /// What says that it is not free, beside its state.
    pub usage: Option<Usage>,
    /// Whether it must never be powered off.
    pub disable_power_off: bool,
    /// Whether its deletion was asked for.
    pub deleting: bool,
    /// The error that it is in.
    pub error: Option<String>,
    /// Whether that is an error that does not pass by itself.
    pub failed: bool,
    /// Its provisioning state, where a snapshot knows one.
    pub state: Option<String>,
    /// The annotation that keeps it from being taken.
    pub reserved_by: Option<&'static str>,
    /// What Provisionings look at.
    pub machine: Machine,
}

/// Who makes a host's object: this decides how its labels may be written.
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

impl HostDocument {
    /// The document, as far as its network data concerns it.
    pub(crate) fn referring(&self) -> Referring<'_> {
        Referring {
            key: &self.key,
            spec: self.host.spec.as_ref(),
            file: self.file.as_deref(),
        }
    }
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

/// A host's document, with the key that its build gives it.
pub(crate) struct HostDocument {
    pub(crate) key: HostKey,
    pub(crate) origin: Origin,
    pub(crate) host: BareMetalHost,
    /// The outermost kustomizations whose builds have it.
    pub(crate) roots: Vec<usize>,
    /// The file of the repo that a build reaches.
    pub(crate) file: Option<Arc<Utf8Path>>,
    /// The namespace that the file says.
    pub(crate) own_namespace: Option<String>,
    /// Whether it is the settings that give it a namespace.
    pub(crate) namespace_by_settings: bool,
    /// Whether it is no example, as far as is known: a mistake in it is an error.
    pub(crate) is_meant: bool,
}

/// What the repo says of one host: by manifest, by snapshot, or by both.
#[derive(Default)]
pub(crate) struct Descriptions {
    manifest: Option<(HostDocument, usize)>,
    snapshot: Option<HostDocument>,
}

/// What only a live object has: no API server takes a manifest with them.
pub(crate) fn live_field(metadata: &Metadata) -> Option<&'static str> {
    [
        ("uid", metadata.uid.is_some()),
        ("resourceVersion", metadata.resource_version.is_some()),
        ("managedFields", metadata.managed_fields.is_some()),
    ]
    .into_iter()
    .find_map(|(field, there)| there.then_some(field))
}

/// Returns whether a text is a UID as API servers make them; no object has any other.
fn is_uid(text: &str) -> bool {
    const GROUPS: [usize; 5] = [8, 4, 4, 4, 12];
    let is_hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    text.split('-').map(str::len).eq(GROUPS) && text.split('-').flat_map(str::chars).all(is_hex)
}

impl Descriptions {
    /// Adds a document, as manifest or as snapshot.
    pub(crate) fn add(
        &mut self,
        document: HostDocument,
        builds: &Builds,
        settings: &Settings,
        findings: &mut Vec<Finding>,
    ) {
        let mode = settings.inventory.mode;
        let live = live_field(&document.host.metadata);
        let Some(root) = document
            .roots
            .first()
            .copied()
            .filter(|_| mode != Mode::Observed)
        else {
            if let (Some(root), None, None) = (document.roots.first(), live, &document.host.status)
            {
                let kustomization = &builds.root(*root).file;
                findings.push(
                    Finding::new(
                        Code::ObservedButRendered,
                        format!(
                            "host {} is a manifest that {kustomization} renders, so it cannot be observed: labels \
                         applied to it as a second object would erase its spec",
                            document.key
                        ),
                    )
                    .at(document.origin.name())
                    .help(format!(
                        "remove `inventory.mode: observed` from {}, or the host from the build",
                        settings::FILE
                    )),
                );
            }
            match &self.snapshot {
                None => self.snapshot = Some(document),
                Some(other) => findings.push(twice(
                    &document,
                    &other.origin,
                    "is in the snapshot twice",
                    settings,
                )),
            }
            return;
        };
        if let Some(field) = live {
            findings.push(
                Finding::new(
                    Code::LiveCopyRendered,
                    format!(
                        "host {} has metadata.{field}, so it is a live object's copy, but {} renders it as a manifest; \
                     no API server takes it",
                        document.key,
                        builds.root(root).file
                    ),
                )
                .at(document.origin.at(["metadata", field]))
                .help(format!(
                    "take the snapshot out of the kustomization, or set `inventory: {{mode: observed}}` in {}",
                    settings::FILE
                )),
            );
        }
        if let Some(other) = document.roots.get(1) {
            findings.push(
                Finding::new(
                    Code::RenderedByTwo,
                    format!(
                        "host {} is rendered by two kustomizations, which would fight over it",
                        document.key
                    ),
                )
                .at(document.origin.name())
                .see(builds.resources_of(builds.root(root)), "one")
                .see(builds.resources_of(builds.root(*other)), "the other")
                .help("let one of them be a resource of the other, or take the host out of one"),
            );
        }
        match &self.manifest {
            None => self.manifest = Some((document, root)),
            Some((other, _)) => findings.push(twice(
                &document,
                &other.origin,
                "is declared twice",
                settings,
            )),
        }
    }

    /// The host, from all that was added.
    pub(crate) fn join(
        self,
        key: HostKey,
        settings: &Settings,
        networks: &Networks,
        findings: &mut Vec<Finding>,
    ) -> Option<Host> {
        if let (Mode::Declared, None, Some(snapshot)) =
            (settings.inventory.mode, &self.manifest, &self.snapshot)
        {
            findings.push(
                Finding::new(
                    Code::NotRendered,
                    format!("no kustomization reaches host {key}, but every host is said to be declared"),
                )
                .at(snapshot.origin.name())
                .help(format!(
                    "list its file in a kustomization.yaml, or remove `inventory.mode: declared` from {}",
                    settings::FILE
                )),
            );
        }
        let described = || {
            self.manifest
                .iter()
                .map(|(document, _)| document)
                .chain(&self.snapshot)
        };
        if described().all(|document| document.host.spec.is_none()) {
            findings.extend(described().next().map(shell));
            return None;
        }
        let standing = self
            .manifest
            .as_ref()
            .map_or(Standing::Observed, |(_, root)| Standing::Declared {
                root: *root,
            });
        let manifest = self.manifest.map(|(document, _)| document);
        let live = self.snapshot;
        let labels = |document: &Option<HostDocument>| {
            document
                .as_ref()
                .and_then(|document| document.host.metadata.labels.clone())
                .unwrap_or_default()
        };
        let claims = [&manifest, &live]
            .into_iter()
            .flatten()
            .filter_map(|document| {
                let labels = document.host.metadata.labels.as_ref()?;
                Some((assignment::claim(labels)?, document.origin.clone()))
            })
            .collect();
        let assignment_labels = |document: &Option<HostDocument>| -> Vec<&'static str> {
            let all = assignment::LABELS
                .into_iter()
                .chain(assignment::OLDER_LABELS);
            let borne = labels(document);
            all.filter(|label| borne.contains_key(*label)).collect()
        };
        let (manifest_labels, live_labels) =
            (assignment_labels(&manifest), assignment_labels(&live));
        let annotated = |name: &str| {
            [&manifest, &live].into_iter().flatten().any(|document| {
                document
                    .host
                    .metadata
                    .annotations
                    .as_ref()
                    .is_some_and(|annotations| annotations.contains_key(name))
            })
        };
        let sync_options = manifest.as_ref().and_then(|document| {
            document
                .host
                .metadata
                .annotations
                .as_ref()?
                .get(SYNC_OPTIONS)
                .cloned()
        });
        let given_back = live.as_ref().and_then(|document| {
            let annotations = document.host.metadata.annotations.as_ref()?;
            annotations
                .get(assignment::GIVEN_BACK)
                .map(|value| GivenBack::from_value(value))
        });
        let applied_in_full_by = match (&manifest, &live) {
            (None, Some(live)) => appliers::applied_in_full(&key, &live.host.metadata, settings),
            _ => None,
        };
        let label_owners = live
            .as_ref()
            .map(|document| appliers::label_owners(&document.host.metadata));
        let uid = live
            .as_ref()
            .and_then(|document| document.host.metadata.uid.clone())
            .filter(|uid| is_uid(uid));
        let status = [&live, &manifest]
            .into_iter()
            .flatten()
            .find_map(|document| document.host.status.as_ref());
        // Ironic puts the URLs that it has asked into its messages.
        let text = |value: Option<&String>| {
            value
                .filter(|text| !text.is_empty())
                .map(|text| masked_value(text).into_owned())
        };
        let error = status.and_then(|status| {
            text(status.error_message.as_ref())
                .or_else(|| text(status.error_type.as_ref()))
                .or_else(|| {
                    status
                        .operational_status
                        .clone()
                        .filter(|state| state == "error")
                })
        });
        let state = status.and_then(|status| text(status.provisioning.as_ref()?.state.as_ref()));
        let reserved_by = [PAUSED, DETACHED]
            .into_iter()
            .chain(UNHEALTHY)
            .find(|name| annotated(name));
        let described = [&manifest, &live].into_iter().flatten();
        let deleting = described
            .clone()
            .any(|document| document.host.metadata.deletion_timestamp.is_some());
        let usages = [&live, &manifest]
            .into_iter()
            .flatten()
            .flat_map(Usage::all_of);
        // Who consumes a host says more than the image that this one has put on it.
        let usage = usages.min_by_key(|usage| !matches!(usage, Usage::Consumer(_)));
        let disable_power_off = described.clone().any(|document| {
            document
                .host
                .spec
                .as_ref()
                .is_some_and(|spec| spec.disable_power_off == Some(true))
        });
        let primary = manifest.as_ref().or(live.as_ref())?;
        let spec = primary.host.spec.as_ref();
        let referring = Referring {
            key: &key,
            spec,
            file: primary.file.as_deref(),
        };
        let (network, found) = networks.of(&referring);
        findings.extend(found);
        Some(Host {
            network,
            network_field: networks::field(spec),
            key,
            own_namespace: primary.own_namespace.clone(),
            namespace_by_settings: primary.namespace_by_settings,
            file: primary.file.clone(),
            standing,
            origin: primary.origin.clone(),
            uid,
            live: live.as_ref().map(|document| document.origin.clone()),
            undecided: Undecided::of(primary),
            boot_mac: spec.and_then(|spec| spec.boot_mac_address.as_deref()?.parse().ok()),
            labels: primary.host.metadata.labels.clone().unwrap_or_default(),
            claims,
            manifest_labels,
            live_labels,
            by_older_labels: None,
            sync_options,
            applied_in_full_by,
            label_owners: label_owners.unwrap_or_default(),
            given_back,
            bmc: spec.and_then(|spec| spec.bmc.clone()),
            secrets: spec.map(named_secrets).unwrap_or_default(),
            usage,
            disable_power_off,
            deleting,
            failed: error.is_some()
                && status.and_then(|status| status.error_type.as_deref())
                    != Some(host::PASSING_ERROR),
            error,
            state,
            reserved_by,
            machine: Machine::default(),
        })
    }
}

/// A machine's object without its spec. An agent makes it when it applies labels to a host that was deleted.
fn shell(document: &HostDocument) -> Finding {
    let HostKey { namespace, name } = &document.key;
    Finding::new(Code::ShellHost, format!("host `{}` has no spec, so it is not counted as a host", document.key))
        .at(document.origin.name())
        .help(format!(
            "if the machine is gone, delete the object and take a new snapshot: `kubectl delete baremetalhost -n \
             {namespace} {name}`; otherwise apply its full manifest again"
        ))
}

fn twice(document: &HostDocument, other: &Origin, message: &str, settings: &Settings) -> Finding {
    let help = if document.origin.is_rendered() {
        "render one of them; a manifest and one snapshot of the same host are fine".to_owned()
    } else if document.origin.file == other.file {
        "keep one of the two documents; a manifest and one snapshot of the same host are fine"
            .to_owned()
    } else if document.roots.is_empty() {
        sources::leave_out(settings, &[&document.origin.file])
    } else {
        "take one of them out of the kustomization; a manifest and one snapshot of the same host are fine".to_owned()
    };
    Finding::new(
        Code::DuplicateHost,
        format!("host {} {message}", document.key),
    )
    .at(document.origin.name())
    .see(other.name(), "the other one")
    .help(help)
}

/// Returns the Secrets that a host names, by their names: Metal3 reads them in the host's own namespace.
pub(crate) fn named_secrets(spec: &Spec) -> BTreeSet<ObjectName> {
    spec.references()
        .into_iter()
        .filter_map(|(_, name)| name.parse().ok())
        .collect()
}
