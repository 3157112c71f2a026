//! The review: what a set of changes means to clusters.
//!
//! * `hosts`: which hosts clusters get, give back, replace and hand to each other.
//! * `services`: which services are created, changed and deleted, and what of them changes.
//! * `pods`: how the pods of a service look, so that it shows when they are replaced.
//! * `endpoints`: where clusters are reached.
//! * `installer`: whether Kubernetes is installed (again) on the machines of a Provisioning, and why.
//! * `shared`: what no single cluster has; `agents` is what of that tells an agent what to apply.
//! * `dangers`: what of all that can hurt somebody.
//!
//! It is read off the changed files alone, before and after, so it is true of whatever made them change. How hosts
//! stand is asked of the site. Nothing is read from the disk.

pub mod agents;
pub mod dangers;
pub mod endpoints;
pub mod hosts;
pub mod installer;
mod pods;
pub mod services;
pub mod shared;

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::names::{ClusterKey, HostKey};
use crate::inventory::Inventory;
use crate::layout;
use crate::output::Tree;
use crate::output::compare::{Change, Changes};
use crate::request::ClusterKind;
use crate::site::Site;

pub use agents::AgentObjects;
pub use dangers::{Danger, Harm};
pub use endpoints::{EndpointChange, EndpointKind};
use hosts::Facts;
pub use hosts::HostChanges;
pub use installer::{InstallerAspect, InstallerChange, Readdressed};
pub use services::{Aspect, ServiceChange};
pub use shared::{Released, Root, Shared};

/// What a set of changes means to clusters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Review {
    /// What can hurt somebody, the worst first.
    pub dangers: Vec<Danger>,
    /// The clusters of which anything changes, by namespace and name.
    pub clusters: Vec<ClusterReview>,
    /// What changes outside of clusters.
    pub shared: Shared,
    /// All of it, counted.
    pub totals: Totals,
}

/// What changes of one cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterReview {
    /// The cluster.
    pub cluster: ClusterKey,
    /// What asks for it, or did.
    pub kind: ClusterKind,
    /// Whether it comes, changes or goes.
    pub state: State,
    /// Its hosts.
    pub hosts: HostChanges,
    /// The services of which anything changes, by directory.
    pub services: Vec<ServiceChange>,
    /// What installs Kubernetes on the machines of a Provisioning, if anything of it changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub installer: Option<InstallerChange>,
    /// The endpoints that change.
    pub endpoints: Vec<EndpointChange>,
    /// Its files.
    pub files: Counts,
}

/// What becomes of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum State {
    /// It was not there before.
    Created,
    /// It was and stays there, in another form.
    Changed,
    /// It will no longer be there.
    Deleted,
}

/// How many things come, change and go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Those that were not there before.
    pub created: usize,
    /// Those that stay, in another form.
    pub changed: usize,
    /// Those that will no longer be there.
    pub deleted: usize,
}

/// A review, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Totals {
    /// Clusters.
    pub clusters: Counts,
    /// Hosts that clusters get from nobody, those that replace others included.
    pub hosts_added: usize,
    /// Those of them that had the cluster's labels already.
    pub hosts_adopted: usize,
    /// Those of them of which it is not known whether they are in use.
    pub hosts_added_of_unknown_use: usize,
    /// Those of them in another namespace than their SIPCluster, in which Cluster API looks for hosts.
    pub hosts_added_elsewhere: usize,
    /// Hosts that clusters give back, those that are replaced included.
    pub hosts_given_back: usize,
    /// Those of them of which it is not known whether they are in use.
    pub hosts_of_unknown_use: usize,
    /// Hosts that give way to others of their role.
    pub hosts_replaced: usize,
    /// Hosts that go from one cluster to another.
    pub hosts_moved: usize,
    /// Hosts that get another role in their cluster.
    pub hosts_with_another_role: usize,
    /// Machines of Provisionings that get another name, and no other role.
    pub machines_with_another_name: usize,
    /// Installers that run on the machines of their clusters.
    pub installers_run: usize,
    /// Services.
    pub services: Counts,
    /// Files.
    pub files: Counts,
}

/// What there was before the changes.
#[derive(Debug, Clone, Copy)]
pub struct Before<'a> {
    /// The clusters that had any files.
    pub clusters: &'a BTreeSet<ClusterKey>,
    /// How hosts stood that the site no longer has.
    pub inventory: Option<&'a Inventory>,
    /// The output directory, where it was another one.
    pub output: Option<&'a Utf8Path>,
}

/// A file's texts, before and after; none where it is not there.
type Texts<'a> = (Option<&'a str>, Option<&'a str>);

/// The changed files of a cluster or of a part of it, by their paths relative to its directory.
type ChangedFiles<'a> = BTreeMap<&'a Utf8Path, Texts<'a>>;

impl Review {
    /// Reviews changes to the output directory that `site` was read from. `later` is what it holds afterwards.
    pub fn of(changes: &Changes, later: &Tree, site: &Site) -> Self {
        let clusters = site.state.clusters().into_iter().cloned().collect();
        Self::between(
            changes,
            &Before {
                clusters: &clusters,
                inventory: None,
                output: None,
            },
            later,
            site,
        )
    }

    /// Reviews changes between two output directories. `later` is the later one; what clusters keep that are left as
    /// they are may be missing. `site` is what it was generated from, and where the changed files lie.
    pub fn between(changes: &Changes, before: &Before<'_>, later: &Tree, site: &Site) -> Self {
        let output = &site.settings.output;
        let mut by_cluster: BTreeMap<ClusterKey, ChangedFiles<'_>> = BTreeMap::new();
        let mut of_none: ChangedFiles<'_> = BTreeMap::new();
        for (path, change) in &changes.files {
            let path = path.strip_prefix(output).unwrap_or(path);
            match layout::cluster_of(path) {
                Some(cluster) => by_cluster
                    .entry(cluster)
                    .or_default()
                    .insert(path, change.texts()),
                None => of_none.insert(path, change.texts()),
            };
        }
        let facts = Facts { before, site };
        let mut hosts = hosts::changes(&by_cluster, &facts);
        let clusters = by_cluster.iter().map(|(cluster, files)| ClusterReview {
            kind: facts.kind(cluster, files),
            state: match before.clusters.contains(cluster) {
                false => State::Created,
                true if site.clusters.contains_key(cluster) => State::Changed,
                true => State::Deleted,
            },
            hosts: hosts.remove(cluster).unwrap_or_default(),
            services: services::changes(cluster, files, later),
            installer: installer::change(cluster, files),
            endpoints: endpoints::changes(cluster, files),
            files: files.values().map(|texts| State::of(*texts)).collect(),
            cluster: cluster.clone(),
        });
        let clusters: Vec<ClusterReview> = clusters.collect();
        let is_gone = |file: &Utf8Path| {
            matches!(
                changes.files.get(&output.join(file)),
                Some(Change::Delete { .. })
            )
        };
        let shared = shared::changes(&of_none, &facts, &is_gone);
        Self {
            dangers: dangers::of(
                &clusters,
                &shared,
                outlived(&clusters, &shared),
                site,
                before.output,
            ),
            totals: Totals::of(&clusters, changes),
            clusters,
            shared,
        }
    }
}

impl ClusterReview {
    /// Counts the hosts that come and that Cluster API cannot claim for Machines beside the SIPCluster: it looks for hosts
    /// in the Machine's own namespace alone. Nobody claims those of a Provisioning.
    fn added_elsewhere(&self) -> usize {
        let added = self.hosts.added.iter().map(|added| &added.host);
        let all = added.chain(self.hosts.replaced.iter().map(|replaced| &replaced.by));
        let is_elsewhere = |host: &&HostKey| host.namespace != self.cluster.namespace;
        if self.kind.descriptor().uses_cluster_api {
            all.filter(is_elsewhere).count()
        } else {
            0
        }
    }
}

impl Review {
    /// Puts first the dangers of what comes along without being part of these changes: the base had not generated it.
    pub(crate) fn bring_along(&mut self, brought: &Review) {
        let of_base = brought
            .dangers
            .iter()
            .map(|danger| Danger::of_stale_base(danger.harm.clone()));
        self.dangers.splice(0..0, of_base);
    }

    /// Observed hosts that are released although no file gave them to a cluster: they have its labels from a time that
    /// was reverted.
    pub fn outlived(&self) -> impl Iterator<Item = &Released> {
        outlived(&self.clusters, &self.shared)
    }
}

fn outlived<'a>(
    clusters: &'a [ClusterReview],
    shared: &'a Shared,
) -> impl Iterator<Item = &'a Released> {
    let gives_back = |released: &Released| {
        let mut hosts = clusters.iter().flat_map(|cluster| cluster.hosts.leaving());
        hosts.any(|host| *host == released.host)
    };
    shared
        .released
        .iter()
        .filter(move |released| !gives_back(released))
}

impl State {
    fn of(texts: Texts<'_>) -> Self {
        match texts {
            (None, _) => State::Created,
            (_, None) => State::Deleted,
            _ => State::Changed,
        }
    }

    /// What becomes of something that consists of files, one of which is there exactly when it is.
    fn by_witness(files: &ChangedFiles<'_>, witness: &str) -> Self {
        files
            .get(Utf8Path::new(witness))
            .map_or(State::Changed, |texts| State::of(*texts))
    }
}

impl Counts {
    /// How many there are in all.
    pub fn all(&self) -> usize {
        self.created + self.changed + self.deleted
    }

    fn of_files(changes: &Changes) -> Self {
        changes
            .files
            .values()
            .map(|change| State::of(change.texts()))
            .collect()
    }
}

impl FromIterator<State> for Counts {
    fn from_iter<I: IntoIterator<Item = State>>(states: I) -> Self {
        let mut counts = Counts::default();
        for state in states {
            match state {
                State::Created => counts.created += 1,
                State::Changed => counts.changed += 1,
                State::Deleted => counts.deleted += 1,
            }
        }
        counts
    }
}

impl Totals {
    fn of(clusters: &[ClusterReview], changes: &Changes) -> Self {
        let sum =
            |of: fn(&HostChanges) -> usize| clusters.iter().map(|cluster| of(&cluster.hosts)).sum();
        Totals {
            clusters: clusters.iter().map(|cluster| cluster.state).collect(),
            hosts_added: sum(|hosts| hosts.added.len() + hosts.replaced.len()),
            hosts_adopted: sum(|hosts| hosts.added.iter().filter(|added| added.adopted).count()),
            hosts_added_of_unknown_use: sum(|hosts| {
                let added = hosts
                    .added
                    .iter()
                    .filter(|added| !added.adopted && !added.use_known)
                    .count();
                added
                    + hosts
                        .replaced
                        .iter()
                        .filter(|replaced| !replaced.by_use_known)
                        .count()
            }),
            hosts_added_elsewhere: clusters.iter().map(ClusterReview::added_elsewhere).sum(),
            hosts_given_back: sum(|hosts| hosts.given_back.len() + hosts.replaced.len()),
            hosts_of_unknown_use: sum(|hosts| hosts.going().filter(|host| !host.use_known).count()),
            hosts_replaced: sum(|hosts| hosts.replaced.len()),
            hosts_moved: sum(|hosts| hosts.from_others.len()),
            hosts_with_another_role: sum(|hosts| hosts.with_another_role().count()),
            machines_with_another_name: sum(|hosts| hosts.with_another_name().count()),
            installers_run: clusters
                .iter()
                .flat_map(|cluster| &cluster.installer)
                .filter(|of| of.runs)
                .count(),
            services: clusters
                .iter()
                .flat_map(|cluster| &cluster.services)
                .map(|service| service.state)
                .collect(),
            files: Counts::of_files(changes),
        }
    }

    /// Counts the files of other changes than those that were reviewed.
    pub(crate) fn count_files(&mut self, changes: &Changes) {
        self.files = Counts::of_files(changes);
    }
}

/// The files below a directory, by their paths relative to it.
fn below<'a>(files: &ChangedFiles<'a>, directory: &Utf8PathBuf) -> ChangedFiles<'a> {
    let below = files
        .iter()
        .filter_map(|(path, texts)| Some((path.strip_prefix(directory).ok()?, *texts)));
    below.collect()
}
