//! Review: the meaning of a set of changes for clusters.
//!
//! * `hosts`: hosts that clusters gain, release, replace and hand over.
//! * `services`: services that are created, changed and deleted; `service_files`: their files.
//! * `outputs`: outputs that are created, changed and deleted.
//! * `built`: what kustomize builds of a service's files, and changes that the API server rejects.
//! * `endpoints`: addresses of clusters.
//! * `installer`: runs of the Kubernetes installer on the machines of a Provisioning, with reasons.
//! * `shared`: changes outside of clusters, such as those of Flux and Argo CD objects.
//! * `dangers`: changes that can cause an outage or a loss; `harm_message`: their messages.
//!
//! A review compares the changed files only, before and after, so it holds whatever caused the
//! changes. The state of hosts comes from the site. Nothing is read from disk.

mod built;
pub mod dangers;
pub mod endpoints;
mod harm_message;
pub mod hosts;
pub mod installer;
pub mod outputs;
mod service_files;
pub mod services;
pub mod shared;

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8Path;
use derive_more::Display;
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yaml_serde::Value;

use crate::base::api::names::{ClusterKey, HostKey};
use crate::base::layout::{self, outputs::SITE};
use crate::base::text::yaml;
use crate::base::tree::Tree;
use crate::input::load::texts_of_documents;
use crate::output::compare::{Change, OutputChanges};
use crate::plan::machine_users::MachineUsers;
use crate::site::Site;
use crate::site::inventory::Inventory;
use crate::site::request::ClusterKind;

pub use built::ImmutableField;
pub use dangers::{Danger, Harm};
pub use endpoints::{EndpointChange, EndpointKind};
pub use hosts::HostChanges;
use hosts::ReviewFacts;
pub use installer::{InstallerChange, ReaddressedMachine};
pub use outputs::OutputChange;
pub use services::{Aspect, ServiceChange};
pub use shared::{AgentObjects, ChangedRoot, ReleasedObservedHost, SharedChanges};

/// Meaning of a set of changes for clusters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Review {
    /// Changes that can cause an outage or a loss, worst first.
    pub dangers: Vec<Danger>,
    /// Clusters with changes, by namespace and name.
    pub clusters: Vec<ClusterReview>,
    /// Changes outside of clusters.
    pub shared: SharedChanges,
    /// Totals.
    pub totals: Totals,
}

/// Changes of one cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ClusterReview {
    /// The cluster.
    pub cluster: ClusterKey,
    /// Kind of the cluster's request, possibly deleted.
    pub kind: ClusterKind,
    /// Created, changed or deleted.
    pub state: FileState,
    /// Changes of its hosts.
    pub hosts: HostChanges,
    /// Services with changes, by directory.
    pub services: Vec<ServiceChange>,
    /// Outputs with changes, by name.
    pub outputs: Vec<OutputChange>,
    /// Changes of the installer of Kubernetes on the machines of a Provisioning, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub installer: Option<InstallerChange>,
    /// Changed endpoints.
    pub endpoints: Vec<EndpointChange>,
    /// Numbers of its changed files.
    pub files: ChangeCounts,
}

/// Kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema, Display)]
#[display(rename_all = "lowercase")]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "State")]
pub enum FileState {
    /// It did not exist before.
    Created,
    /// It exists before and after, with differences.
    Changed,
    /// It no longer exists.
    Deleted,
}

/// Numbers of created, changed and deleted things.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Counts")]
pub struct ChangeCounts {
    /// Number created.
    pub created: usize,
    /// Number changed.
    pub changed: usize,
    /// Number deleted.
    pub deleted: usize,
}

/// Totals of a review.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Totals {
    /// Clusters.
    pub clusters: ChangeCounts,
    /// Hosts assigned from the pool, replacements included.
    pub hosts_added: usize,
    /// Added hosts that already had the cluster's labels.
    pub hosts_adopted: usize,
    /// Number of these hosts whose use is unknown.
    pub hosts_added_of_unknown_use: usize,
    /// Hosts that clusters release, replaced ones included.
    pub hosts_given_back: usize,
    /// Number of these hosts whose use is unknown.
    pub hosts_of_unknown_use: usize,
    /// Hosts that are replaced by others of their role.
    pub hosts_replaced: usize,
    /// Hosts that move from one cluster to another.
    pub hosts_moved: usize,
    /// Hosts whose role in their cluster changes.
    pub hosts_with_another_role: usize,
    /// Hosts that stay, with other labels or annotations.
    pub hosts_with_other_metadata: usize,
    /// Machines of Provisionings whose name changes, but not the role.
    pub machines_with_another_name: usize,
    /// Installers that run on the machines of their clusters.
    pub installers_run: usize,
    /// Services.
    pub services: ChangeCounts,
    /// Outputs, of clusters and of the site.
    pub outputs: ChangeCounts,
    /// Files.
    pub files: ChangeCounts,
}

/// State before the changes.
#[derive(Debug, Clone, Copy)]
pub struct StateBefore<'a> {
    /// Clusters with files.
    pub clusters: &'a BTreeSet<ClusterKey>,
    /// Inventory before, for hosts that the site no longer has.
    pub inventory: Option<&'a Inventory>,
    /// Output directory, if it was another one.
    pub output: Option<&'a Utf8Path>,
}

/// Texts of a file before and after; `None` if the file does not exist.
type Texts<'a> = [Option<&'a str>; 2];

/// Changed files of a cluster or a part of it, by path relative to its directory.
type ChangedFiles<'a> = BTreeMap<&'a Utf8Path, Texts<'a>>;

impl Review {
    /// Reviews changes to the output directory of `site`. `later` is its content afterwards.
    pub fn new(changes: &OutputChanges, later: &Tree, site: &Site) -> Self {
        let clusters = &site.state.clusters;
        let before = StateBefore { clusters, inventory: None, output: None };
        Self::between(changes, &before, later, site)
    }

    /// Reviews the changes between two output directories.
    ///
    /// `later` is the later one; files of clusters that are left unchanged may be missing in it.
    /// `site` is its source, and `changes` has paths of that site.
    pub fn between(
        changes: &OutputChanges,
        before: &StateBefore<'_>,
        later: &Tree,
        site: &Site,
    ) -> Self {
        let output = &site.settings.output;
        let mut by_cluster: BTreeMap<ClusterKey, ChangedFiles<'_>> = BTreeMap::new();
        let mut outside_clusters: ChangedFiles<'_> = BTreeMap::new();
        let located = changes.files.par_iter().map(|(path, change)| {
            let path = path.strip_prefix(output).unwrap_or(path);
            (layout::cluster_of(path), path, Texts::from(change.texts()))
        });
        for (cluster, path, texts) in located.collect::<Vec<_>>() {
            match cluster {
                Some(cluster) => by_cluster.entry(cluster).or_default().insert(path, texts),
                None => outside_clusters.insert(path, texts),
            };
        }
        let mut shared = outside_clusters.clone();
        shared.retain(|path, _| path.starts_with(layout::SHARED));
        let edited = service_files::with_edited_files(&shared, later);
        for cluster in edited.iter().filter_map(|service| layout::cluster_of(service)) {
            by_cluster.entry(cluster).or_default();
        }
        let machines = MachineUsers::new(site);
        let facts = ReviewFacts { before, site, machines, later, shared, edited };
        let hosts = hosts::changes(&by_cluster, &facts);
        let review = |(cluster, files): (&ClusterKey, &ChangedFiles<'_>)| ClusterReview {
            kind: facts.kind(cluster, files),
            state: match before.clusters.contains(cluster) {
                false => FileState::Created,
                true if site.clusters.contains_key(cluster) => FileState::Changed,
                true => FileState::Deleted,
            },
            hosts: hosts.get(cluster).cloned().unwrap_or_default(),
            services: services::changes(cluster, files, &facts),
            outputs: outputs::changes(&layout::cluster_directory(cluster), files, &facts),
            installer: installer::change(cluster, files),
            endpoints: endpoints::changes(cluster, files),
            files: files.values().map(|texts| FileState::from_sides(*texts)).collect(),
            cluster: cluster.clone(),
        };
        let clusters: Vec<ClusterReview> = by_cluster.par_iter().map(review).collect();
        let is_gone = |file: &Utf8Path| {
            changes.files.get(&output.join(file)).is_some_and(|change| change.after.is_none())
        };
        let mut shared = shared::changes(&outside_clusters, &facts, &is_gone);
        shared.outputs = outputs::changes(Utf8Path::new(SITE), &outside_clusters, &facts);
        let dangers = dangers::dangers(&clusters, &shared, site, before.output);
        let totals = Totals::new(&clusters, &shared, changes);
        Self { dangers, clusters, shared, totals }
    }

    /// Prepends the dangers of changes that the base had not generated.
    pub(crate) fn bring_along(&mut self, brought: &Review) {
        self.dangers.splice(0..0, brought.dangers.iter().cloned().map(Danger::moved_to_base));
    }
}

/// Returns observed hosts that are released although no generated file assigned them. Their labels
/// were left by a commit that was reverted.
pub(crate) fn outlived<'a>(
    clusters: &'a [ClusterReview],
    shared: &'a SharedChanges,
) -> impl Iterator<Item = &'a ReleasedObservedHost> {
    let leaving: BTreeSet<&HostKey> =
        clusters.iter().flat_map(|cluster| cluster.hosts.leaving()).collect();
    shared.released.iter().filter(move |released| !leaving.contains(&released.host))
}

impl FileState {
    /// Returns the state of something that differs.
    pub(crate) fn from_sides<T>(sides: [Option<T>; 2]) -> Self {
        match sides {
            [None, _] => FileState::Created,
            [_, None] => FileState::Deleted,
            _ => FileState::Changed,
        }
    }

    /// Returns the state of a directory, given a file that exists exactly when the directory does.
    fn by_witness(files: &ChangedFiles<'_>, witness: &str) -> Self {
        files
            .get(Utf8Path::new(witness))
            .map_or(FileState::Changed, |texts| FileState::from_sides(*texts))
    }
}

impl From<&Change> for FileState {
    fn from(change: &Change) -> Self {
        FileState::from_sides(change.texts().into())
    }
}

impl ChangeCounts {
    /// Returns the sum of all three.
    pub fn all(&self) -> usize {
        self.created + self.changed + self.deleted
    }

    pub(crate) fn from_changes(changes: &OutputChanges) -> Self {
        changes.files.values().map(FileState::from).collect()
    }
}

impl FromIterator<FileState> for ChangeCounts {
    fn from_iter<I: IntoIterator<Item = FileState>>(states: I) -> Self {
        let mut counts = ChangeCounts::default();
        for state in states {
            match state {
                FileState::Created => counts.created += 1,
                FileState::Changed => counts.changed += 1,
                FileState::Deleted => counts.deleted += 1,
            }
        }
        counts
    }
}

impl Totals {
    fn new(clusters: &[ClusterReview], shared: &SharedChanges, changes: &OutputChanges) -> Self {
        let sum =
            |of: fn(&HostChanges) -> usize| clusters.iter().map(|cluster| of(&cluster.hosts)).sum();
        let services = clusters.iter().flat_map(|cluster| &cluster.services);
        let outputs = clusters.iter().flat_map(|cluster| &cluster.outputs).chain(&shared.outputs);
        let installers = clusters.iter().flat_map(|cluster| &cluster.installer);
        Totals {
            clusters: clusters.iter().map(|cluster| cluster.state).collect(),
            hosts_added: sum(|hosts| hosts.added.len() + hosts.replaced.len()),
            hosts_adopted: sum(|hosts| hosts.added.iter().filter(|added| added.adopted).count()),
            hosts_added_of_unknown_use: sum(|hosts| {
                let added =
                    hosts.added.iter().filter(|added| !added.adopted && !added.use_known).count();
                added + hosts.replaced.iter().filter(|replaced| !replaced.by_use_known).count()
            }),
            hosts_given_back: sum(|hosts| hosts.given_back.len() + hosts.replaced.len()),
            hosts_of_unknown_use: sum(|hosts| hosts.going().filter(|host| !host.use_known).count()),
            hosts_replaced: sum(|hosts| hosts.replaced.len()),
            hosts_moved: sum(|hosts| hosts.from_others.len()),
            hosts_with_another_role: sum(|hosts| hosts.with_another_role().count()),
            hosts_with_other_metadata: sum(|hosts| hosts.with_other_metadata().len()),
            machines_with_another_name: sum(|hosts| hosts.with_another_name().count()),
            installers_run: installers.filter(|installer| installer.runs).count(),
            services: services.map(|service| service.state).collect(),
            outputs: outputs.map(|output| output.state).collect(),
            files: ChangeCounts::from_changes(changes),
        }
    }
}

/// Returns the keys whose values differ between two mappings, in order, with the states of the values.
fn changed_keys<'m, K: Ord, V: PartialEq>(
    before: &'m BTreeMap<K, V>,
    after: &'m BTreeMap<K, V>,
) -> impl Iterator<Item = (&'m K, FileState)> {
    let keys: BTreeSet<&K> = before.keys().chain(after.keys()).collect();
    let sides = keys.into_iter().map(|key| (key, [before.get(key), after.get(key)]));
    let changed = sides.filter(|(_, [before, after])| before != after);
    changed.map(|(key, sides)| (key, FileState::from_sides(sides)))
}

/// Returns the data of a ConfigMap; empty if it is unreadable.
fn config_map(text: &str) -> BTreeMap<String, String> {
    #[derive(Default, Deserialize)]
    struct ConfigMap {
        #[serde(default)]
        data: BTreeMap<String, String>,
    }
    yaml::from_str::<ConfigMap>(text).unwrap_or_default().data
}

/// Returns the readable documents of a text.
fn documents(text: &str) -> impl Iterator<Item = Value> {
    texts_of_documents(text).filter_map(yaml::parse)
}

/// Returns the value at the path of a field, such as `metadata.name`.
fn at<'a>(object: &'a Value, field: &str) -> Option<&'a Value> {
    field.split('.').try_fold(object, |value, key| value.get(key))
}

/// Returns whether a field is set.
fn is_true(object: &Value, field: &str) -> bool {
    at(object, field).and_then(Value::as_bool) == Some(true)
}

/// Selects the files below a directory, by paths relative to it.
fn below<'a>(files: &ChangedFiles<'a>, directory: &Utf8Path) -> ChangedFiles<'a> {
    let below =
        files.iter().filter_map(|(path, texts)| Some((path.strip_prefix(directory).ok()?, *texts)));
    below.collect()
}
