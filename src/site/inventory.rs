//! The inventory: every host of the site once, whatever manifests and snapshots say of it.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use camino::Utf8Path;

use super::builds::{Builds, Root};
use super::settings::{self, Mode};
use crate::api::assignment::{self, Claim, GivenBack};
use crate::api::host::{BareMetalHost, Bmc, DETACHED, Metadata, PAUSED, SYNC_OPTIONS, UNHEALTHY};
use crate::api::names::{HostKey, SecretKey};
use crate::api::network_data::{Malformed, NetworkData, NetworkDataSecret, NoAddress, SECRET_KEYS};
use crate::finding::Finding;
use crate::source::{Origin, Place, Step};

/// One host of the site.
#[derive(Debug, Clone)]
pub struct Host {
    /// Namespace and name.
    pub key: HostKey,
    /// Who makes the host's object.
    pub standing: Standing,
    /// Where it is described first: its manifest, or else its snapshot.
    pub origin: Origin,
    /// The labels by which it is selected: those of the manifest, or else those of the snapshot.
    pub labels: BTreeMap<String, String>,
    /// Who claims the host by labels, and where those stand: in the manifest, in the snapshot.
    pub claims: Vec<(Claim, Origin)>,
    /// The assignment labels in the manifest itself; a host that is given back must lose them by a patch.
    pub manifest_labels: Vec<&'static str>,
    /// Argo CD's options in the manifest, which a patch must not lose: see [`SYNC_OPTIONS`](crate::api::host::SYNC_OPTIONS).
    pub sync_options: Option<String>,
    /// The last time that the host was given back, as the snapshot shows it.
    pub given_back: Option<GivenBack>,
    /// How its BMC is reached.
    pub bmc: Option<Bmc>,
    /// Its addresses.
    pub network: Network,
    /// Who uses it, as `Kind namespace/name`.
    pub consumer: Option<String>,
    /// Whether its deletion was asked for.
    pub deleting: bool,
    /// The error that it is in.
    pub error: Option<String>,
    /// Its provisioning state, where a snapshot knows one.
    pub state: Option<String>,
    /// The annotation that keeps it from being taken.
    pub reserved_by: Option<&'static str>,
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

/// A host's network data, or why there is none.
#[derive(Debug, Clone)]
pub enum Network {
    /// It is there.
    Known(Arc<NetworkData>),
    /// The host refers to none.
    Absent,
    /// The Secret that it refers to is not in the repo.
    Missing(SecretKey),
    /// The Secret is there, but what is in it cannot be read.
    Unreadable(SecretKey, String),
}

/// Why a host has no address on an interface. The display names the Secret that is to blame.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unaddressed {
    /// The host refers to no network data.
    #[error("has no network data")]
    NoNetworkData,
    /// The Secret that it refers to is not in the repo.
    #[error("has network data in the Secret {0}, which is not in the repo")]
    NoSecret(SecretKey),
    /// What the Secret holds cannot be read.
    #[error("has network data in the Secret {0}, which {1}")]
    Unreadable(SecretKey, String),
    /// Its network data has no network of this id.
    #[error("has no network `{0}` in its network data")]
    NoNetwork(String),
    /// The network has no static address, as with DHCP.
    #[error("has no address in its network `{0}`")]
    NoAddress(String),
}

impl Host {
    /// The host's address on an interface, or why it has none.
    pub fn address(&self, interface: &str) -> Result<IpAddr, Unaddressed> {
        match &self.network {
            Network::Known(data) => data.address(interface).map_err(|reason| match reason {
                NoAddress::NoSuchNetwork => Unaddressed::NoNetwork(interface.to_owned()),
                NoAddress::NoStaticAddress => Unaddressed::NoAddress(interface.to_owned()),
            }),
            Network::Absent => Err(Unaddressed::NoNetworkData),
            Network::Missing(secret) => Err(Unaddressed::NoSecret(secret.clone())),
            Network::Unreadable(secret, reason) => Err(Unaddressed::Unreadable(secret.clone(), reason.clone())),
        }
    }
}

/// All hosts of a site.
#[derive(Debug, Default)]
pub struct Inventory {
    /// Every host once, in natural order of their names (`r9` before `r10`).
    pub hosts: Vec<Host>,
    /// The outermost kustomizations that render hosts, by the index in [`Standing::Declared`].
    pub roots: BTreeMap<usize, Root>,
    by_key: HashMap<HostKey, usize>,
}

impl Inventory {
    /// The index of a host.
    pub fn index(&self, key: &HostKey) -> Option<usize> {
        self.by_key.get(key).copied()
    }

    /// The host with a key.
    pub fn host(&self, key: &HostKey) -> Option<&Host> {
        self.index(key).map(|index| &self.hosts[index])
    }
}

/// A host's document, with the key that its build gives it.
pub(super) struct HostDocument {
    pub(super) key: HostKey,
    pub(super) origin: Origin,
    pub(super) host: BareMetalHost,
}

/// A Secret with network data.
#[derive(Debug)]
pub(super) struct NetworkSecret {
    pub(super) key: SecretKey,
    pub(super) origin: Origin,
    route: [Step; 2],
    data: Result<Arc<NetworkData>, Unreadable>,
}

#[derive(Debug, Clone)]
enum Unreadable {
    Malformed(Malformed),
    Encrypted,
    NotBase64,
}

impl NetworkSecret {
    /// Takes the network data out of a Secret; `None` when it holds none. Nothing else of it is kept.
    pub(super) fn new(key: SecretKey, origin: Origin, secret: NetworkDataSecret) -> Option<Self> {
        // As in the API server, a plain value wins over an encoded one.
        for (field, values, encoded) in [("stringData", secret.string_data, false), ("data", secret.data, true)] {
            let Some(values) = values else { continue };
            for (name, value) in SECRET_KEYS.into_iter().zip([values.network_data, values.value]) {
                if let Some(value) = value {
                    let data = read_network_data(&value, encoded).map(Arc::new);
                    return Some(Self { key, origin, route: [field.into(), name.into()], data });
                }
            }
        }
        None
    }
}

fn read_network_data(value: &str, encoded: bool) -> Result<NetworkData, Unreadable> {
    if value.starts_with("ENC[") {
        return Err(Unreadable::Encrypted);
    }
    if !encoded {
        return NetworkData::parse(value).map_err(Unreadable::Malformed);
    }
    let compact: String = value.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    let bytes = BASE64_STANDARD.decode(compact).map_err(|_| Unreadable::NotBase64)?;
    let text = String::from_utf8(bytes).map_err(|_| Unreadable::NotBase64)?;
    NetworkData::parse(&text).map_err(Unreadable::Malformed)
}

/// Joins what manifests and snapshots say of each host.
pub(super) fn assemble(
    documents: Vec<HostDocument>,
    secrets: Vec<NetworkSecret>,
    builds: &Builds,
    mode: Mode,
    output: &Utf8Path,
) -> (Inventory, Vec<Finding>) {
    let mut findings = Vec::new();
    let networks = index_secrets(secrets, builds, &mut findings);
    let mut by_key: BTreeMap<HostKey, Descriptions> = BTreeMap::new();
    for document in documents {
        by_key.entry(document.key.clone()).or_default().add(document, builds, mode, &mut findings);
    }
    let mut inventory = Inventory::default();
    let mut malformed = BTreeMap::new();
    for (key, descriptions) in by_key {
        let Some(host) = descriptions.join(key, mode, &networks, &mut findings) else { continue };
        if let Standing::Declared { root } = host.standing {
            inventory.roots.entry(root).or_insert_with(|| builds.root(root).clone());
        }
        if let Network::Unreadable(secret, _) = &host.network
            && let Some(secret) = networks.get(secret)
            && let Err(Unreadable::Malformed(malformed_address @ Malformed::Address { .. })) = &secret.data
        {
            malformed.entry(secret.key.clone()).or_insert((secret, malformed_address, host.key.clone()));
        }
        inventory.hosts.push(host);
    }
    for (secret, error, host) in malformed.into_values() {
        findings.push(
            Finding::error(format!("the network data of host {host} {error}"))
                .at(secret.origin.at(secret.route.clone()))
                .help("correct the address in the Secret; `<no value>` or no ip_address mean that there is none"),
        );
    }
    for root in inventory.roots.values() {
        if output.starts_with(&root.directory) {
            findings.push(output_inside(root, output));
        }
    }
    findings.extend(large_builds(&inventory));
    inventory.hosts.sort_by(|a, b| {
        natural(a.key.name.as_str(), b.key.name.as_str()).then_with(|| a.key.namespace.cmp(&b.key.namespace))
    });
    inventory.by_key = inventory.hosts.iter().enumerate().map(|(index, host)| (host.key.clone(), index)).collect();
    findings.extend(shared_bmcs(&inventory.hosts));
    (inventory, findings)
}

/// kustomize refuses a base that contains the overlay, so there is no place for one under this root.
fn output_inside(root: &Root, output: &Utf8Path) -> Finding {
    let help = if root.directory.as_str().is_empty() {
        format!("move what it lists into a directory of its own, beside {output}")
    } else {
        let directory = &root.directory;
        format!("move {output} out of {directory}: set `output` in {} to another directory", settings::FILE)
    };
    Finding::error(format!(
        "{} renders hosts and lies above the output directory {output}: an overlay below its own base is a cycle",
        root.file
    ))
    .at(Place::File(root.file.clone()))
    .help(help)
}

/// `kustomize build` takes time with the square of a build's hosts, and Argo CD ends it after 90 seconds.
const HOSTS_OF_A_BUILD: usize = 1000;

fn large_builds(inventory: &Inventory) -> Vec<Finding> {
    let mut hosts: BTreeMap<usize, usize> = BTreeMap::new();
    for host in &inventory.hosts {
        if let Standing::Declared { root } = host.standing {
            *hosts.entry(root).or_default() += 1;
        }
    }
    let large = hosts.into_iter().filter(|(_, count)| *count > HOSTS_OF_A_BUILD);
    let describe = |(root, count): (usize, usize)| {
        let file = &inventory.roots[&root].file;
        Finding::warning(format!("{file} renders {count} hosts in one build, more than {HOSTS_OF_A_BUILD}"))
            .at(Place::File(file.clone()))
            .help("kustomize takes minutes for such a build: split it, by rack for instance")
    };
    large.map(describe).collect()
}

/// Several hosts behind one BMC address happen (the SIP operator's own sample has them), and are a mistake.
fn shared_bmcs(hosts: &[Host]) -> Vec<Finding> {
    let mut by_address: BTreeMap<&str, Vec<&Host>> = BTreeMap::new();
    for host in hosts {
        if let Some(bmc) = host.bmc.as_ref().filter(|bmc| !bmc.address.is_empty()) {
            by_address.entry(&bmc.address).or_default().push(host);
        }
    }
    let shared = by_address.into_iter().filter(|(_, hosts)| hosts.len() > 1);
    let describe = |(address, hosts): (&str, Vec<&Host>)| {
        let finding = Finding::warning(format!("{} hosts have the BMC address {address}", hosts.len()))
            .help("a power command for one of them reaches the same machine; correct the addresses");
        let add = |finding: Finding, host: &&Host| {
            finding.see(host.origin.at(["spec", "bmc", "address"]), host.key.to_string())
        };
        hosts.iter().fold(finding, add)
    };
    shared.map(describe).collect()
}

fn index_secrets(
    secrets: Vec<NetworkSecret>,
    builds: &Builds,
    findings: &mut Vec<Finding>,
) -> HashMap<SecretKey, NetworkSecret> {
    let mut index: HashMap<SecretKey, NetworkSecret> = HashMap::new();
    for secret in secrets {
        let is_declared = |secret: &NetworkSecret| !builds.reach(&secret.origin.file).is_empty();
        let Some(other) = index.get(&secret.key) else {
            index.insert(secret.key.clone(), secret);
            continue;
        };
        let same = matches!((&other.data, &secret.data), (Ok(a), Ok(b)) if a == b);
        match (is_declared(other), is_declared(&secret)) {
            (false, true) => {
                index.insert(secret.key.clone(), secret);
            }
            (true, false) => {}
            _ if same => {}
            _ => findings.push(
                Finding::error(format!("the Secret {} is there twice, with different network data", secret.key))
                    .at(secret.origin.start())
                    .see(other.origin.start(), "the other one")
                    .help("remove one of them"),
            ),
        }
    }
    index
}

/// What the repo says of one host: by manifest, by snapshot, or by both.
#[derive(Default)]
struct Descriptions {
    manifest: Option<(HostDocument, usize)>,
    snapshot: Option<HostDocument>,
}

/// What only a live object has: no API server takes a manifest with them.
fn live_field(metadata: &Metadata) -> Option<&'static str> {
    [
        ("uid", metadata.uid.is_some()),
        ("resourceVersion", metadata.resource_version.is_some()),
        ("managedFields", metadata.managed_fields.is_some()),
    ]
    .into_iter()
    .find_map(|(field, there)| there.then_some(field))
}

impl Descriptions {
    fn add(&mut self, document: HostDocument, builds: &Builds, mode: Mode, findings: &mut Vec<Finding>) {
        let reach = builds.reach(&document.origin.file);
        let live = live_field(&document.host.metadata);
        let Some(first) = reach.first().filter(|_| mode != Mode::Observed) else {
            if let (Some(reach), None, None) = (reach.first(), live, &document.host.status) {
                let kustomization = &builds.root(reach.root).file;
                findings.push(
                    Finding::error(format!(
                        "host {} is a manifest that {kustomization} renders, so it cannot be observed: labels \
                         applied to it as a second object would erase its spec",
                        document.key
                    ))
                    .at(document.origin.start())
                    .help(format!(
                        "remove `inventory.mode: observed` from {}, or the host from the build",
                        settings::FILE
                    )),
                );
            }
            return Self::set(&mut self.snapshot, document, |document| document, "is in the snapshot twice", findings);
        };
        if let Some(field) = live {
            findings.push(
                Finding::error(format!(
                    "host {} has metadata.{field}, so it is a live object's copy, but {} renders it as a manifest; \
                     no API server takes it",
                    document.key,
                    builds.root(first.root).file
                ))
                .at(document.origin.at(["metadata", field]))
                .help(format!(
                    "take the snapshot out of the kustomization, or set `inventory: {{mode: observed}}` in {}",
                    settings::FILE
                )),
            );
        }
        if let Some(other) = reach.iter().find(|other| other.root != first.root) {
            findings.push(
                Finding::error(format!(
                    "host {} is rendered by two kustomizations, which would fight over it",
                    document.key
                ))
                .at(document.origin.start())
                .see(Place::File(builds.root(first.root).file.clone()), "one")
                .see(Place::File(builds.root(other.root).file.clone()), "the other")
                .help("let one of them be a resource of the other, or take the host out of one"),
            );
        }
        let root = first.root;
        let into_document = |(document, _): &(HostDocument, usize)| document.origin.clone();
        match &self.manifest {
            None => self.manifest = Some((document, root)),
            Some(other) => findings.push(twice(&document, into_document(other), "is declared twice")),
        }
    }

    fn set(
        slot: &mut Option<HostDocument>,
        document: HostDocument,
        keep: impl Fn(HostDocument) -> HostDocument,
        message: &str,
        findings: &mut Vec<Finding>,
    ) {
        match slot {
            None => *slot = Some(keep(document)),
            Some(other) => findings.push(twice(&document, other.origin.clone(), message)),
        }
    }

    fn join(
        self,
        key: HostKey,
        mode: Mode,
        networks: &HashMap<SecretKey, NetworkSecret>,
        findings: &mut Vec<Finding>,
    ) -> Option<Host> {
        if let (Mode::Declared, None, Some(snapshot)) = (mode, &self.manifest, &self.snapshot) {
            findings.push(
                Finding::error(format!("no kustomization reaches host {key}, but every host is said to be declared"))
                    .at(snapshot.origin.start())
                    .help(format!(
                        "list its file in a kustomization.yaml, or remove `inventory.mode: declared` from {}",
                        settings::FILE
                    )),
            );
        }
        let standing =
            self.manifest.as_ref().map_or(Standing::Observed, |(_, root)| Standing::Declared { root: *root });
        let manifest = self.manifest.map(|(document, _)| document);
        let live = self.snapshot;
        let labels = |document: &Option<HostDocument>| {
            document.as_ref().and_then(|document| document.host.metadata.labels.clone()).unwrap_or_default()
        };
        let claims = [&manifest, &live]
            .into_iter()
            .flatten()
            .filter_map(|document| {
                let labels = document.host.metadata.labels.as_ref()?;
                Some((assignment::claim(labels)?, document.origin.clone()))
            })
            .collect();
        let manifest_labels =
            assignment::LABELS.into_iter().filter(|label| labels(&manifest).contains_key(*label)).collect();
        let annotated = |name: &str| {
            [&manifest, &live].into_iter().flatten().any(|document| {
                document.host.metadata.annotations.as_ref().is_some_and(|annotations| annotations.contains_key(name))
            })
        };
        let sync_options = manifest
            .as_ref()
            .and_then(|document| document.host.metadata.annotations.as_ref()?.get(SYNC_OPTIONS).cloned());
        let given_back = live.as_ref().and_then(|document| {
            let annotations = document.host.metadata.annotations.as_ref()?;
            annotations.get(assignment::GIVEN_BACK).map(|value| GivenBack::from_value(value))
        });
        let status = live.as_ref().or(manifest.as_ref()).and_then(|document| document.host.status.as_ref());
        let status = status.or_else(|| manifest.as_ref().and_then(|document| document.host.status.as_ref()));
        let text = |value: Option<&String>| value.filter(|text| !text.is_empty()).cloned();
        let error = status.and_then(|status| {
            text(status.error_message.as_ref())
                .or_else(|| text(status.error_type.as_ref()))
                .or_else(|| status.operational_status.clone().filter(|state| state == "error"))
        });
        let state = status.and_then(|status| text(status.provisioning.as_ref()?.state.as_ref()));
        let reserved_by = [PAUSED, DETACHED].into_iter().chain(UNHEALTHY).find(|name| annotated(name));
        let described = [&manifest, &live].into_iter().flatten();
        let deleting = described.clone().any(|document| document.host.metadata.deletion_timestamp.is_some());
        let consumer = [&live, &manifest].into_iter().flatten().find_map(consumer);
        let primary = manifest.as_ref().or(live.as_ref())?;
        let spec = primary.host.spec.as_ref();
        Some(Host {
            network: network(&key, spec, networks),
            key,
            standing,
            origin: primary.origin.clone(),
            labels: primary.host.metadata.labels.clone().unwrap_or_default(),
            claims,
            manifest_labels,
            sync_options,
            given_back,
            bmc: spec.and_then(|spec| spec.bmc.clone()),
            consumer,
            deleting,
            error,
            state,
            reserved_by,
        })
    }
}

fn twice(document: &HostDocument, other: Origin, message: &str) -> Finding {
    Finding::error(format!("host {} {message}", document.key))
        .at(document.origin.start())
        .see(other.start(), "the other one")
        .help("remove one of them; a manifest and one snapshot of the same host are fine")
}

fn consumer(document: &HostDocument) -> Option<String> {
    let consumer = document.host.spec.as_ref()?.consumer_ref.as_ref()?;
    let name = consumer.name.as_deref().filter(|name| !name.is_empty())?;
    let kind = consumer.kind.as_deref().unwrap_or("object");
    let namespace = consumer.namespace.as_deref().unwrap_or(document.key.namespace.as_str());
    Some(format!("{kind} {namespace}/{name}"))
}

fn network(
    host: &HostKey,
    spec: Option<&crate::api::host::Spec>,
    networks: &HashMap<SecretKey, NetworkSecret>,
) -> Network {
    let Some(spec) = spec else { return Network::Absent };
    let reference = spec.network_data.as_ref();
    let name = reference
        .and_then(|reference| reference.name.as_deref())
        .or(spec.preprovisioning_network_data_name.as_deref())
        .filter(|name| !name.is_empty());
    let Some(Ok(name)) = name.map(str::parse) else { return Network::Absent };
    let namespace = reference.and_then(|reference| reference.namespace.as_deref()).map(str::parse);
    let own = SecretKey { namespace: host.namespace.clone(), name };
    let named = match namespace {
        Some(Ok(namespace)) => SecretKey { namespace, ..own.clone() },
        _ => own.clone(),
    };
    // A kustomization moves a Secret to another namespace, but not the reference inside a host.
    let Some(secret) = networks.get(&named).or_else(|| networks.get(&own)) else { return Network::Missing(named) };
    match &secret.data {
        Ok(data) => Network::Known(data.clone()),
        Err(unreadable) => Network::Unreadable(
            secret.key.clone(),
            match unreadable {
                Unreadable::Malformed(malformed) => malformed.to_string(),
                Unreadable::Encrypted => "is encrypted".to_owned(),
                Unreadable::NotBase64 => "is not base64 of a text".to_owned(),
            },
        ),
    }
}

/// Compares names as people count: runs of digits by their number, the rest by character.
pub fn natural(a: &str, b: &str) -> Ordering {
    let (mut rest_a, mut rest_b) = (a, b);
    while !rest_a.is_empty() && !rest_b.is_empty() {
        let (part_a, part_b) = (leading_part(rest_a), leading_part(rest_b));
        let digits =
            part_a.starts_with(|c: char| c.is_ascii_digit()) && part_b.starts_with(|c: char| c.is_ascii_digit());
        let order = if digits {
            let (a, b) = (part_a.trim_start_matches('0'), part_b.trim_start_matches('0'));
            a.len().cmp(&b.len()).then_with(|| a.cmp(b))
        } else {
            part_a.cmp(part_b)
        };
        if order != Ordering::Equal {
            return order;
        }
        rest_a = &rest_a[part_a.len()..];
        rest_b = &rest_b[part_b.len()..];
    }
    // `r01` and `r1` count alike but are two names.
    rest_a.len().cmp(&rest_b.len()).then_with(|| a.cmp(b))
}

/// The longest beginning that is all digits or has none.
fn leading_part(text: &str) -> &str {
    let digits = text.starts_with(|c: char| c.is_ascii_digit());
    let end = text.find(|c: char| c.is_ascii_digit() != digits).unwrap_or(text.len());
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ordered_as_people_count() {
        let mut names = ["r10o1", "r9o2", "r9o10", "r1", "a", "r01", "r1a"];
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names, ["a", "r01", "r1", "r1a", "r9o2", "r9o10", "r10o1"]);
    }
}
