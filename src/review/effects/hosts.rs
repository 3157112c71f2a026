//! Hosts that clusters gain, release, replace and hand over.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

use super::{ChangedFiles, FileState, StateBefore, changed_keys};
use crate::base::api::assignment::Claim;
use crate::base::api::names::{ClusterKey, HostKey, NodeName, Part, Role};
use crate::base::layout;
use crate::base::tree::Tree;
use crate::input::load::objects;
use crate::input::settings::outputs::MetadataField;
use crate::plan::machine_users::{MachineUser, MachineUsers};
use crate::plan::machines::by_role_and_name;
use crate::site::Site;
use crate::site::inventory::{Host, natural};
use crate::site::previous::generated_host::{GeneratedHost, GeneratedHostState};
use crate::site::request::ClusterKind;

/// Changes of a cluster's hosts. Each list is in natural order of the hosts' names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostChanges {
    /// Hosts that were unassigned.
    pub added: Vec<AddedHost>,
    /// Hosts that become unassigned.
    pub given_back: Vec<ReleasedHost>,
    /// Hosts that are replaced by others in the same role.
    pub replaced: Vec<ReplacedHost>,
    /// Hosts that stay, with another role or another machine name.
    pub with_another_role: Vec<AnotherRole>,
    /// Hosts that move in from other clusters.
    pub from_others: Vec<MovedHost>,
    /// Hosts that move to other clusters.
    pub to_others: Vec<MovedHost>,
    /// Labels and annotations that change on hosts that stay.
    pub metadata: Vec<MetadataChange>,
}

/// A label or an annotation that hosts of a cluster gain, change or lose while they stay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MetadataChange {
    /// Labels or annotations.
    pub field: MetadataField,
    /// Key of the label or annotation.
    pub key: String,
    /// Created, changed or deleted.
    pub state: FileState,
    /// The hosts.
    pub hosts: Vec<HostKey>,
}

/// A host in use.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[schemars(rename = "Consumed")]
pub struct ConsumedHost {
    /// The host.
    pub host: HostKey,
    /// Consumer, as `Kind namespace/name`.
    pub consumer: String,
    /// Its machine in the Provisioning, before or after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeName>,
}

impl ConsumedHost {
    /// Returns a host if it has a consumer.
    pub(super) fn new(
        host: &HostKey,
        consumer: &Option<String>,
        node: &Option<NodeName>,
    ) -> Option<Self> {
        let consumer = consumer.clone()?;
        Some(Self { host: host.clone(), consumer, node: node.clone() })
    }
}

/// A host that a cluster gains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Added")]
pub struct AddedHost {
    /// The host.
    pub host: HostKey,
    /// Its role.
    #[serde(flatten)]
    pub part: Part,
    /// True if it already has the cluster's labels, or a Machine of the cluster uses it.
    pub adopted: bool,
    /// False if its use is unknown, because only a manifest shows it.
    pub use_known: bool,
}

/// A host that a cluster releases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "GivenBack")]
pub struct ReleasedHost {
    /// The host.
    pub host: HostKey,
    /// Its role.
    #[serde(flatten)]
    pub part: Part,
    /// Reason for the release.
    pub reason: Option<ReleaseReason>,
    /// Consumer, as `Kind namespace/name`, unless it is a Machine of another node set.
    pub consumer: Option<String>,
    /// False if its use is unknown, because only a manifest shows it.
    pub use_known: bool,
}

/// Reason why a host is released.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Reason")]
pub enum ReleaseReason {
    /// Its deletion was requested.
    BeingDeleted,
    /// It has a permanent error.
    Failed,
    /// It is no longer in the inventory.
    Gone,
}

/// A host that is replaced by another one in the same role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Replaced")]
pub struct ReplacedHost {
    /// Released host.
    #[serde(flatten)]
    pub given_back: ReleasedHost,
    /// Replacement.
    pub by: HostKey,
    /// False if the use of the replacement is unknown.
    pub by_use_known: bool,
}

/// A host whose role in its cluster, or whose name in its Provisioning, changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AnotherRole {
    /// The host.
    pub host: HostKey,
    /// Role before.
    pub before: Role,
    /// Machine name before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_before: Option<NodeName>,
    /// Role after.
    pub after: Role,
    /// Machine name after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_after: Option<NodeName>,
    /// Node set before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_set_before: Option<NodeName>,
    /// Node set after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_set_after: Option<NodeName>,
    /// Consumer, as `Kind namespace/name`, unless it is a Machine of another node set.
    pub consumer: Option<String>,
}

impl AnotherRole {
    /// Returns the part of its cluster before and after.
    pub(crate) fn parts(&self) -> [Part; 2] {
        let part = |role: Role, node: &Option<NodeName>, node_set: &Option<NodeName>| Part {
            role,
            node: node.clone(),
            node_set: node_set.clone(),
        };
        [
            part(self.before, &self.node_before, &self.node_set_before),
            part(self.after, &self.node_after, &self.node_set_after),
        ]
    }

    /// True if only the machine name changes.
    pub(crate) fn is_renamed(&self) -> bool {
        self.before == self.after && self.node_before.is_some() && self.node_after.is_some()
    }
}

/// A host that moves from one cluster to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Moved")]
pub struct MovedHost {
    /// The host.
    pub host: HostKey,
    /// Its role in this cluster.
    #[serde(flatten)]
    pub part: Part,
    /// The other cluster.
    pub other: ClusterKey,
    /// True if a Machine of the new cluster uses it already, so that only labels change.
    pub follows_machine: bool,
    /// Consumer, as `Kind namespace/name`.
    pub consumer: Option<String>,
}

/// Reads the hosts of a generated file. Unreadable documents are skipped, because somebody else
/// wrote them.
pub(super) fn entries(path: &Utf8Path, text: &str) -> Vec<GeneratedHost> {
    let documents = objects(&Arc::from(path), text);
    documents.iter().filter_map(|document| GeneratedHost::read(document).ok()).collect()
}

/// Returns the assignment of a generated host, unless its file removes its labels.
fn assignment(host: &GeneratedHost) -> Option<(&ClusterKey, &Part)> {
    match &host.says {
        GeneratedHostState::Held(cluster, part) => Some((cluster, part)),
        GeneratedHostState::Released(_) | GeneratedHostState::Unlabelled => None,
    }
}

/// Entries of a host in files before and after.
type HostEntries = [Vec<GeneratedHost>; 2];

/// Computes the host changes of all clusters.
pub(super) fn changes(
    by_cluster: &BTreeMap<ClusterKey, ChangedFiles<'_>>,
    facts: &ReviewFacts<'_>,
) -> BTreeMap<ClusterKey, HostChanges> {
    let by_host = entries_by_host(by_cluster);
    let mut changes: BTreeMap<ClusterKey, HostChanges> = BTreeMap::new();
    let mut metadata: BTreeMap<_, Vec<HostKey>> = BTreeMap::new();
    for (host, entries) in &by_host {
        let [was, is] = entries.each_ref().map(|side| side.iter().filter_map(assignment));
        let is = is.clone().next();
        // A merge may give a host to two clusters, of which one then loses it.
        let was = was.clone().find(|was| Some(*was) != is).or(was.clone().next());
        match (was, is) {
            (None, None) => {}
            (Some(was), Some(is)) if was == is => {
                for (field, key, state) in changed_metadata(entries) {
                    metadata.entry((is.0, field, key, state)).or_default().push(host.clone());
                }
            }
            (None, Some((cluster, part))) => {
                let added = facts.added(host, cluster, part);
                changes.entry(cluster.clone()).or_default().added.push(added);
            }
            (Some((cluster, part)), None) => {
                let given_back = facts.given_back(host, cluster, part);
                changes.entry(cluster.clone()).or_default().given_back.push(given_back);
            }
            (Some((cluster, before)), Some((other, after))) if cluster == other => {
                changes.entry(cluster.clone()).or_default().with_another_role.push(AnotherRole {
                    host: host.clone(),
                    before: before.role,
                    node_before: before.node.clone(),
                    after: after.role,
                    node_after: after.node.clone(),
                    node_set_before: before.node_set.clone(),
                    node_set_after: after.node_set.clone(),
                    consumer: facts.consumer(host, cluster, before),
                });
            }
            (Some((cluster, before)), Some((other, after))) => {
                let follows_machine = facts.is_user(host, other, after);
                let moved = |part: &Part, its_other: &ClusterKey| MovedHost {
                    host: host.clone(),
                    part: part.clone(),
                    other: its_other.clone(),
                    follows_machine,
                    consumer: facts.user(host),
                };
                let (leaves, arrives) = (moved(before, other), moved(after, cluster));
                changes.entry(cluster.clone()).or_default().to_others.push(leaves);
                changes.entry(other.clone()).or_default().from_others.push(arrives);
            }
        }
    }
    for ((cluster, field, key, state), hosts) in metadata {
        let change = MetadataChange { field, key: key.clone(), state, hosts };
        changes.entry(cluster.clone()).or_default().metadata.push(change);
    }
    for changes in changes.values_mut() {
        changes.pair();
        changes.added.sort_by(|a, b| by_role_and_name(&a.part, &b.part));
        changes.given_back.sort_by(|a, b| by_role_and_name(&a.part, &b.part));
    }
    changes
}

/// Reads the hosts in changed files of clusters, in natural order.
fn entries_by_host(files: &BTreeMap<ClusterKey, ChangedFiles<'_>>) -> Vec<(HostKey, HostEntries)> {
    let files = files.values().flatten().filter(|(path, _)| has_hosts(path));
    let texts: Vec<(&Utf8Path, (usize, &Option<&str>))> =
        files.flat_map(|(path, texts)| (0..).zip(texts).map(move |it| (*path, it))).collect();
    let read = |(path, (side, text)): (&Utf8Path, (usize, &Option<&str>))| {
        let hosts = text.map(|text| entries(path, text)).unwrap_or_default();
        hosts.into_iter().map(move |host| (side, host))
    };
    let all: Vec<(usize, GeneratedHost)> = texts.into_par_iter().flat_map_iter(read).collect();
    let mut by_host: BTreeMap<HostKey, HostEntries> = BTreeMap::new();
    for (side, host) in all {
        by_host.entry(host.key.clone()).or_default()[side].push(host);
    }
    let mut by_host: Vec<(HostKey, HostEntries)> = by_host.into_iter().collect();
    by_host.sort_by(|(a, _), (b, _)| in_order(a, b));
    by_host
}

/// Returns the labels and annotations that change on a host that stays.
fn changed_metadata(
    entries: &HostEntries,
) -> impl Iterator<Item = (MetadataField, &String, FileState)> {
    let single = match entries.each_ref().map(Vec::as_slice) {
        [[was], [is]] => Some((was, is)),
        _ => None,
    };
    single.into_iter().flat_map(|(was, is)| {
        let labels = changed_keys(&was.labels, &is.labels);
        let annotations = changed_keys(&was.annotations, &is.annotations);
        let labels = labels.map(|(key, state)| (MetadataField::Labels, key, state));
        labels.chain(annotations.map(|(key, state)| (MetadataField::Annotations, key, state)))
    })
}

/// Recognises a file with a cluster's hosts.
fn has_hosts(file: &Utf8Path) -> bool {
    file.starts_with(layout::HOSTS) && !layout::is_kustomization(file)
}

/// State of hosts and clusters, and files that clusters share.
pub(super) struct ReviewFacts<'a> {
    pub(super) before: &'a StateBefore<'a>,
    pub(super) site: &'a Site,
    pub(super) machines: MachineUsers<'a>,
    /// The output afterwards, including unchanged files.
    pub(super) later: &'a Tree,
    /// Changed files that services of several clusters refer to.
    pub(super) shared: ChangedFiles<'a>,
    /// Directories of services that refer to those of them that change under the same name.
    pub(super) edited: BTreeSet<Utf8PathBuf>,
}

impl ReviewFacts<'_> {
    /// Returns the kind of a cluster's request. For a deleted cluster, its files show it.
    pub(super) fn kind(&self, cluster: &ClusterKey, files: &ChangedFiles<'_>) -> ClusterKind {
        let installer = layout::installer_directory(cluster);
        let is_installed = files.keys().any(|file| file.starts_with(&installer));
        if is_installed && !self.site.clusters.contains_key(cluster) {
            return ClusterKind::with_installer(true);
        }
        self.site.kind_of(cluster)
    }

    fn host(&self, key: &HostKey) -> Option<&Host> {
        self.site.inventory.host(key).or_else(|| self.before.inventory?.host(key))
    }

    /// Returns the consumer of a host.
    pub(super) fn user(&self, key: &HostKey) -> Option<String> {
        self.host(key)?.user()
    }

    /// Returns the consumer of a host of a node set, unless it is a Machine of another one.
    fn consumer(&self, key: &HostKey, cluster: &ClusterKey, part: &Part) -> Option<String> {
        let host = self.host(key)?;
        let user = self.machines.user(host);
        let is_another = user.is_some_and(|user| user.excludes(cluster, part, self.site));
        host.user().filter(|_| !is_another)
    }

    fn added(&self, key: &HostKey, cluster: &ClusterKey, part: &Part) -> AddedHost {
        let mut claims = self.host(key).into_iter().flat_map(|host| &host.assignment.claims);
        let is_own =
            claims.any(|(claim, _)| matches!(claim, Claim::Cluster(owner, _) if owner == cluster));
        AddedHost {
            host: key.clone(),
            part: part.clone(),
            adopted: is_own || self.is_user(key, cluster, part),
            use_known: self.host(key).is_some_and(Host::is_use_known),
        }
    }

    /// Returns whether a Machine of a node set uses a host.
    fn is_user(&self, key: &HostKey, cluster: &ClusterKey, part: &Part) -> bool {
        let user = self.host(key).and_then(|host| self.machines.user(host));
        user == Some(MachineUser::NodeSet { cluster, part })
    }

    fn given_back(&self, key: &HostKey, cluster: &ClusterKey, part: &Part) -> ReleasedHost {
        let reason = match self.site.inventory.host(key) {
            None => Some(ReleaseReason::Gone),
            Some(host) if host.live.deleting => Some(ReleaseReason::BeingDeleted),
            Some(host) if host.live.failed => Some(ReleaseReason::Failed),
            Some(_) => None,
        };
        ReleasedHost {
            host: key.clone(),
            part: part.clone(),
            reason,
            consumer: self.consumer(key, cluster, part),
            use_known: self.host(key).is_some_and(Host::is_use_known),
        }
    }
}

impl HostChanges {
    /// Lists hosts that leave the cluster.
    pub(super) fn leaving(&self) -> impl Iterator<Item = &HostKey> {
        self.going().map(|host| &host.host).chain(self.to_others.iter().map(|moved| &moved.host))
    }

    /// Lists hosts that become unassigned, replaced ones included.
    pub(super) fn going(&self) -> impl Iterator<Item = &ReleasedHost> {
        self.given_back.iter().chain(self.replaced.iter().map(|replaced| &replaced.given_back))
    }

    /// Lists hosts whose role changes, or that start or stop being machines.
    pub(crate) fn with_another_role(&self) -> impl Iterator<Item = &AnotherRole> {
        self.with_another_role.iter().filter(|changed| !changed.is_renamed())
    }

    /// Lists machines of Provisionings of which only the name changes.
    pub(crate) fn with_another_name(&self) -> impl Iterator<Item = &AnotherRole> {
        self.with_another_role.iter().filter(|changed| changed.is_renamed())
    }

    /// Returns the hosts that stay, with other labels or annotations.
    pub(crate) fn with_other_metadata(&self) -> BTreeSet<&HostKey> {
        self.metadata.iter().flat_map(|change| &change.hosts).collect()
    }

    /// Pairs released and added hosts of the same role, starting with failed ones.
    fn pair(&mut self) {
        let parts: BTreeSet<Part> = self.added.iter().map(|added| added.part.clone()).collect();
        for part in parts {
            let is_coming = |added: &AddedHost| added.part == part && !added.adopted;
            let places = self.added.iter().filter(|added| is_coming(added)).count();
            let mut going: Vec<ReleasedHost> = Vec::new();
            for has_reason in [true, false] {
                let is_going = |host: &mut ReleasedHost| {
                    host.part == part && host.reason.is_some() == has_reason
                };
                let free = places - going.len();
                going.extend(self.given_back.extract_if(.., is_going).take(free));
            }
            let coming = self.added.extract_if(.., |added| is_coming(added));
            let pair = |(given_back, added): (ReleasedHost, AddedHost)| ReplacedHost {
                given_back,
                by: added.host,
                by_use_known: added.use_known,
            };
            self.replaced.extend(going.into_iter().zip(coming).map(pair));
        }
    }
}

/// Natural order: `r9` before `r10`.
pub(super) fn in_order(a: &HostKey, b: &HostKey) -> Ordering {
    natural(a.name.as_str(), b.name.as_str()).then_with(|| a.namespace.cmp(&b.namespace))
}
