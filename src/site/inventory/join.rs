//! Joins the manifest and the snapshot of each host.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::addresses::inspected_addresses;
use super::appliers;
use super::apply_options;
use super::evidence::Evidence;
use super::hardware::HardwareByHost;
use super::host::{AssignmentLabels, Host, HostNetwork, LiveState};
use super::host_document::HostDocument;
use super::machine::{self, MachineProperties};
use super::maintenance::MaintenanceMark;
use super::network_index::Networks;
use super::registration;
use super::undecided::VariableValue;
use super::usage::HostUsage;
use crate::base::api::assignment::{self, ReleaseProgress};
use crate::base::api::cluster_api::CLUSTER_NAME;
use crate::base::api::hardware::DETAILS;
use crate::base::api::hardware_identity::HardwareIdentity;
use crate::base::api::host::{
    self, BareMetalHostStatus, DETACHED, DETACHED_STATE, MAINTENANCE, NODE_REUSE, PAUSED,
    SYNC_OPTIONS, UNHEALTHY, live_field,
};
use crate::base::api::ipam::ADDRESSES;
use crate::base::api::names::HostKey;
use crate::base::api::reservation::{RESERVED_FOR, Tenants};
use crate::base::finding::{Code, Finding, Origin};
use crate::base::text::credentials::masked_value;
use crate::input::kustomize::Builds;
use crate::input::settings::reservations::Reservation;
use crate::input::settings::{self, InventoryMode, Settings, sources};

/// The documents of one host.
#[derive(Default)]
pub(crate) struct HostDescriptions {
    manifest: Option<Box<HostDocument>>,
    snapshot: Option<Box<HostDocument>>,
}

impl HostDescriptions {
    /// Adds a document, as manifest or as snapshot. Documents with better evidence come first.
    pub(crate) fn add(
        &mut self,
        document: Box<HostDocument>,
        builds: &Builds,
        settings: &Settings,
        findings: &mut Vec<Finding>,
    ) {
        match (document.evidence, &self.manifest, &self.snapshot) {
            (Evidence::Applied { .. } | Evidence::Reached { .. }, Some(other), _) => {
                // A copy that no agent applies is reported with its build.
                if other.evidence.is_proof() == document.evidence.is_proof() {
                    findings.push(twice(&document, &other.origin, "is declared twice", settings));
                }
            }
            (Evidence::Applied { .. } | Evidence::Reached { .. }, None, _) => {
                findings.extend(live_copy(&document, builds));
                findings.extend(rendered_by_two(&document, builds));
                self.manifest = Some(document);
            }
            (Evidence::Loose, None, None) => self.manifest = Some(document),
            // A template of another program is no snapshot.
            (Evidence::Loose, _, Some(_)) if document.rendered_by.is_some() => {}
            // Beside a manifest, it may still say that the host is in use.
            (Evidence::Live | Evidence::Loose, _, snapshot) => {
                findings.extend(observed_but_rendered(&document, builds));
                match snapshot {
                    None => self.snapshot = Some(document),
                    Some(other) => {
                        let is = "is in the snapshot twice";
                        findings.push(twice(&document, &other.origin, is, settings));
                    }
                }
            }
        }
    }

    /// Joins the documents into one host. Reports documents without a spec and returns `None` for
    /// them.
    ///
    /// `hardware` is `None` if nothing requires it; the machine is then unknown.
    pub(crate) fn join(
        self,
        key: HostKey,
        settings: &Settings,
        networks: &Networks,
        hardware: Option<&HardwareByHost>,
        findings: &mut Vec<Finding>,
    ) -> Option<Host> {
        if self.all().all(|document| document.host.spec.is_none()) {
            findings.extend(self.all().next().map(shell));
            return None;
        }
        let manifest = self.manifest.as_deref();
        let live = self.snapshot.as_deref();
        // The manifest outranks the snapshot, because an agent applies it.
        let primary = manifest.or(live)?;
        if settings.inventory.mode == InventoryMode::Declared && primary.evidence.root().is_none() {
            findings.push(not_rendered(&key, &primary.origin));
        }
        let spec = primary.host.spec.as_ref();
        let (data, found) = networks.network(primary);
        findings.extend(found);
        let live_state = self.live_state();
        let found = hardware.and_then(|all| all.get(&key)).map(|found| &found.hardware);
        let inspected = found.filter(|_| settings.inventory.inspected_addresses);
        let mut addresses = inspected.map(inspected_addresses).unwrap_or_default();
        let (claimed, namespace) = (&networks.claimed, &key.namespace);
        addresses.extend(claimed.host_addresses(&key, live_state.machine_in(namespace)));
        if let Some((document, text)) = self.annotated(ADDRESSES) {
            let origin = &document.origin;
            addresses.extend(claimed.annotated_addresses(namespace, text, origin, findings));
        }
        let network = HostNetwork {
            data,
            addresses,
            boot_mac: spec.and_then(|spec| spec.boot_mac_address.as_deref()?.parse().ok()),
        };
        let none = BTreeMap::new();
        let labels = primary.host.metadata.labels.as_ref().unwrap_or(&none);
        let machine = hardware.map(|_| {
            findings.extend(machine::unclear_labels(&key, labels, &primary.origin));
            let HostNetwork { data, boot_mac, .. } = &network;
            let devices = &settings.provisioning.devices;
            MachineProperties::new(found, data, *boot_mac, labels, devices)
        });
        let marked = self.annotated(MAINTENANCE).map(|(document, reason)| {
            (reason, document.origin.at(["metadata", "annotations", MAINTENANCE]))
        });
        let mut host = Host {
            own_namespace: primary.own_namespace.clone(),
            namespace_by_settings: primary.namespace_by_settings,
            file: primary.file.clone(),
            evidence: primary.evidence,
            origin: primary.origin.clone(),
            undecided: VariableValue::in_document(primary).map(Box::new),
            sync_options: manifest
                .and_then(|manifest| manifest.host.metadata.annotation(SYNC_OPTIONS))
                .map(str::to_owned),
            apply_options: apply_options::for_host(manifest, live),
            applied_in_full_by: live.filter(|_| manifest.is_none()).and_then(|live| {
                appliers::applied_in_full(&key, &live.host.metadata, settings)
                    .or_else(|| live.rendered_by.clone())
            }),
            spec: None,
            refused_change: manifest.zip(live).and_then(|(manifest, live)| {
                registration::refused_change(&manifest.host, &live.host)
            }),
            is_refused: false,
            reserved_by: UNHEALTHY
                .into_iter()
                .chain([PAUSED, DETACHED])
                .find(|name| self.annotated(name).is_some())
                .or_else(|| {
                    let state = self.status()?.operational_status.as_deref();
                    (state == Some("detached")).then_some(DETACHED_STATE)
                }),
            reservations: self.reservations(labels, settings, findings),
            maintenance: MaintenanceMark::for_host(&key, labels, marked, settings, findings)
                .map(Box::new),
            disable_power_off: self
                .all()
                .filter_map(|document| document.host.spec.as_ref())
                .any(|spec| spec.disable_power_off == Some(true)),
            live: live_state,
            assignment: self.assignment_labels(settings),
            network,
            hardware: match found {
                Some(found) => HardwareIdentity::from(found),
                None => self.hardware_identity(),
            },
            same_machine: None,
            machine: machine.map_or_else(MachineProperties::unknown, Arc::new),
            labels: BTreeMap::new(),
            key,
        };
        // Moved, because a site has thousands.
        let primary = *self.manifest.or(self.snapshot)?.host;
        host.labels = primary.metadata.labels.unwrap_or_default();
        host.spec = primary.spec.map(Box::new);
        host.is_refused = registration::is_refused(&host);
        Some(host)
    }

    /// Returns the reservations of the settings and of the annotation.
    fn reservations(
        &self,
        labels: &BTreeMap<String, String>,
        settings: &Settings,
        findings: &mut Vec<Finding>,
    ) -> Vec<Arc<Tenants>> {
        let matching =
            settings.reservations.iter().filter(|reservation| reservation.matches(labels));
        let mut all: Vec<Tenants> = matching.map(Reservation::tenants).collect();
        if let Some((document, text)) = self.annotated(RESERVED_FOR) {
            match text.parse() {
                Ok(tenants) => all.push(tenants),
                Err(error) => {
                    let message =
                        format!("`{RESERVED_FOR}: {text}` names no tenants: an entry {error}");
                    let place = document.origin.at(["metadata", "annotations", RESERVED_FOR]);
                    let help = "write namespaces or NAMESPACE/CLUSTER, separated by commas";
                    let finding = Finding::new(Code::InvalidMark, message).at(place).help(help);
                    findings.push(finding);
                }
            }
        }
        all.into_iter().map(Arc::new).collect()
    }

    fn live_state(&self) -> LiveState {
        let snapshot = self.snapshot.as_deref().filter(|it| it.evidence == Evidence::Live);
        let status = self.status();
        let error = status.and_then(current_error);
        let error_type = status.and_then(|status| status.error_type.as_deref());
        // Among equal usages, that of the live object is reported. A consumer says more than an image.
        let usages = self.live_first().flat_map(HostUsage::all_of);
        LiveState {
            origin: snapshot.map(|live| live.origin.clone()),
            is_object: self.all().any(is_live_object),
            uid: snapshot.and_then(|live| live.host.metadata.uid.clone()).filter(|uid| is_uid(uid)),
            provisioning: status
                .and_then(|status| shown(status.provisioning.as_ref()?.state.as_ref())),
            usage: usages.min_by_key(|usage| !matches!(usage, HostUsage::Consumer(_))),
            machine_cluster: self.live_label(CLUSTER_NAME).map(Box::from),
            node_reuse: self.live_label(NODE_REUSE).map(Box::from),
            failed: error.is_some() && error_type != Some(host::PASSING_ERROR),
            error,
            deleting: self
                .all()
                .any(|document| document.host.metadata.deletion_timestamp.is_some()),
        }
    }

    /// Returns a label of the live object, or else of the manifest.
    fn live_label(&self, key: &str) -> Option<&str> {
        self.live_first().find_map(|document| document.host.metadata.label(key))
    }

    fn assignment_labels(&self, settings: &Settings) -> AssignmentLabels {
        let snapshot = self.snapshot.as_deref();
        let mut claims = Vec::new();
        let mut read = |document: &HostDocument| {
            let found = settings.assignment.read(document.host.metadata.labels.as_ref()?);
            claims.extend(found.claims.into_iter().map(|claim| (claim, document.origin.clone())));
            Some(found.keys)
        };
        let in_manifest = self.manifest.as_deref().and_then(&mut read).unwrap_or_default();
        let in_snapshot = snapshot.and_then(read).unwrap_or_default();
        let owners = snapshot.map(|live| appliers::label_owners(&live.host.metadata, &in_snapshot));
        AssignmentLabels {
            claims,
            in_manifest,
            in_snapshot,
            legacy_key: None,
            owners: owners.unwrap_or_default(),
            released: snapshot
                .and_then(|live| live.host.metadata.annotation(assignment::GIVEN_BACK))
                .map(ReleaseProgress::from_value),
        }
    }

    /// Returns the manifest, then the snapshot.
    fn all(&self) -> impl Iterator<Item = &HostDocument> {
        self.manifest.as_deref().into_iter().chain(self.snapshot.as_deref())
    }

    /// Returns the snapshot, then the manifest.
    fn live_first(&self) -> impl Iterator<Item = &HostDocument> {
        self.snapshot.as_deref().into_iter().chain(self.manifest.as_deref())
    }

    /// Returns the first document with an annotation, and its value.
    fn annotated(&self, name: &str) -> Option<(&HostDocument, &str)> {
        self.all().find_map(|document| Some((document, document.host.metadata.annotation(name)?)))
    }

    /// Returns the status of the live object, or else the status in the manifest.
    fn status(&self) -> Option<&BareMetalHostStatus> {
        self.live_first().find_map(|document| document.host.status.as_ref())
    }

    fn hardware_identity(&self) -> HardwareIdentity {
        let mut documents = self.live_first();
        let found = documents.find_map(|document| document.host.status.as_ref()?.hardware.clone());
        let annotated = || serde_json::from_str(self.annotated(DETAILS)?.1).ok();
        let mut identity: HardwareIdentity = found.or_else(annotated).unwrap_or_default();
        // The manifest may name another one, which Metal3 refuses.
        let spec = self.snapshot.as_ref().and_then(|live| live.host.spec.as_ref());
        let live = spec.and_then(|spec| spec.boot_mac_address.as_deref()?.parse().ok());
        if let Some(mac) = live.filter(|mac| !identity.macs.contains(mac)) {
            identity.macs = identity.macs.iter().copied().chain([mac]).collect();
        }
        identity
    }
}

fn current_error(status: &BareMetalHostStatus) -> Option<String> {
    let operational = status.operational_status.as_ref();
    shown(status.error_message.as_ref())
        .or_else(|| shown(status.error_type.as_ref()))
        .or_else(|| operational.filter(|state| *state == "error").cloned())
}

fn is_live_object(document: &HostDocument) -> bool {
    let provisioning =
        |status: &BareMetalHostStatus| Some(status.provisioning.as_ref()?.state.is_some());
    live_field(&document.host.metadata).is_some()
        || document.host.status.as_ref().and_then(provisioning) == Some(true)
}

/// Masks credentials in a text of the status: Ironic's messages contain the URLs that it requested.
fn shown(text: Option<&String>) -> Option<String> {
    text.filter(|text| !text.is_empty()).map(|text| masked_value(text).into_owned())
}

/// Reports a manifest that a build renders although the settings say that hosts are snapshots.
fn observed_but_rendered(document: &HostDocument, builds: &Builds) -> Option<Finding> {
    let (key, root) = (&document.key, &builds.root(*document.roots.first()?).file);
    if live_field(&document.host.metadata).is_some() || document.host.status.is_some() {
        return None;
    }
    let message = format!(
        "host {key} is a manifest that {root} renders, so it cannot be observed: labels applied to it as a second \
         object would erase its spec"
    );
    let file = settings::FILE;
    let help = format!("remove `inventory.mode: observed` from {file}, or the host from the build");
    let place = document.origin.name();
    Some(Finding::new(Code::ObservedButRendered, message).at(place).help(help))
}

/// Reports a copy of a live object that a build renders.
fn live_copy(document: &HostDocument, builds: &Builds) -> Option<Finding> {
    let field = live_field(&document.host.metadata)?;
    let (key, root) = (&document.key, &builds.root(*document.roots.first()?).file);
    let message = format!(
        "host {key} has metadata.{field}, so it is a live object's copy, but {root} renders it as a manifest; no API \
         server takes it"
    );
    let place = document.origin.at(["metadata", field]);
    Some(Finding::new(Code::ObservedButRendered, message).at(place).help(format!(
        "take the snapshot out of the kustomization, or set `inventory: {{mode: observed}}` in {}",
        settings::FILE
    )))
}

/// Reports a host that two builds render.
fn rendered_by_two(document: &HostDocument, builds: &Builds) -> Option<Finding> {
    let [one, other, ..] = document.roots[..] else { return None };
    let key = &document.key;
    let message =
        format!("host {key} is rendered by two kustomizations, which would overwrite each other");
    let finding = Finding::new(Code::RenderedByTwo, message)
        .at(document.origin.name())
        .see(builds.resources_of(builds.root(one)), "one")
        .see(builds.resources_of(builds.root(other)), "the other");
    Some(finding.help("make one of them a resource of the other, or remove the host from one"))
}

fn not_rendered(host: &HostKey, snapshot: &Origin) -> Finding {
    let message =
        format!("no kustomization renders host `{host}`, but `inventory.mode` is `declared`");
    Finding::new(Code::NotRendered, message).at(snapshot.name()).help(format!(
        "list its file in a kustomization.yaml, or remove `inventory.mode: declared` from {}",
        settings::FILE
    ))
}

/// Returns whether a text is a UID in the form of API servers. No object has another form.
fn is_uid(text: &str) -> bool {
    registration::is_uuid(text) && text.contains('-') && *text == text.to_ascii_lowercase()
}

/// Reports a host without a spec. An agent creates one when it applies labels to a deleted host.
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
    let fine = "a manifest and one snapshot of the same host are fine";
    let help = if document.origin.file == other.file {
        format!("keep one of the two documents; {fine}")
    } else if document.roots.is_empty() && !document.origin.is_rendered() {
        sources::leave_out(settings, &[&document.origin.file])
    } else {
        format!("take one of them out of the kustomization; {fine}")
    };
    Finding::new(Code::DuplicateHost, format!("host {} {message}", document.key))
        .at(document.origin.name())
        .see(other.name(), "the other one")
        .help(help)
}
