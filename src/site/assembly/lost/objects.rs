//! Clusters, node sets, hosts, pools and Softwares of the previous run that are missing now.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};

use super::AbsenceEvidence;
use crate::base::api::names::{ClusterKey, NodeName, Part};
use crate::base::layout;
use crate::site::previous::RecordedAssignment;

/// A missing object.
pub(super) struct LostObject<'a> {
    pub(super) kind: LostKind,
    /// Kind and name for messages.
    pub(super) what: String,
    /// Name in a manifest.
    pub(super) name: &'a str,
    /// The cluster itself, or the cluster that has the object.
    pub(super) cluster: &'a ClusterKey,
    /// The builds that had it.
    pub(super) builds: BTreeSet<Utf8PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LostKind {
    Cluster,
    /// The MachineDeployment of a Cluster.
    NodeSet,
    /// A host that is assigned.
    Host,
    /// An IPPool that was to keep addresses for the cluster's hosts.
    Pool,
    /// The packages of a Provisioning's machines.
    Software,
}

impl<'a> AbsenceEvidence<'a> {
    pub(super) fn lost(&self) -> Vec<LostObject<'a>> {
        let (state, clusters) = (self.state, self.clusters);
        let lost_clusters =
            state.clusters.iter().filter(|cluster| !clusters.contains_key(*cluster));
        let lost_clusters = lost_clusters.map(|cluster| {
            let what = format!("cluster `{cluster}`");
            self.part_of_cluster(LostKind::Cluster, what, cluster.name.as_str(), cluster)
        });
        let lost_hosts = state.held.iter().filter(|(host, _)| self.inventory.index(host).is_none());
        let hosts = lost_hosts.filter_map(|(host, held)| {
            // Hosts of a removed cluster are reported with the cluster.
            let held = held.iter().find(|held| clusters.contains_key(&held.cluster))?;
            Some(LostObject {
                what: format!("host `{host}` of `{}`", held.cluster),
                name: host.name.as_str(),
                cluster: &held.cluster,
                builds: self.builds_of_host(&held.origin.file),
                kind: LostKind::Host,
            })
        });
        lost_clusters
            .chain(self.lost_node_sets())
            .chain(hosts)
            .chain(self.lost_pools())
            .chain(self.lost_software())
            .collect()
    }

    /// Returns a missing object that the builds of its cluster may render.
    fn part_of_cluster(
        &self,
        kind: LostKind,
        what: String,
        name: &'a str,
        cluster: &'a ClusterKey,
    ) -> LostObject<'a> {
        LostObject { kind, what, name, cluster, builds: self.builds_of_cluster(cluster) }
    }

    /// Returns node sets with hosts that objects of their own asked for.
    fn lost_node_sets(&self) -> impl Iterator<Item = LostObject<'a>> {
        let is_gone = |held: &RecordedAssignment| {
            let request = self.clusters.get(&held.cluster);
            let request = request.filter(|request| request.kind.descriptor().makes_machines);
            let is_it = |part: &Part| part.node_set == held.part.node_set;
            let cluster = request.and_then(|request| request.cluster.as_ref());
            cluster.is_some_and(|cluster| !cluster.node_sets.keys().any(is_it))
        };
        let held = self.state.held.values().flatten().filter(|held| is_gone(held));
        let gone: BTreeSet<(&ClusterKey, &NodeName)> =
            held.filter_map(|held| Some((&held.cluster, held.part.node_set.as_ref()?))).collect();
        gone.into_iter().map(|(cluster, node_set)| {
            let what = format!("node set `{node_set}` of `{cluster}`");
            self.part_of_cluster(LostKind::NodeSet, what, node_set.as_str(), cluster)
        })
    }

    fn lost_pools(&self) -> impl Iterator<Item = LostObject<'a>> {
        // Pools of a removed cluster keep nothing for it.
        let recorded = self.state.pinned_pools.iter();
        let recorded = recorded.filter(|(cluster, _)| self.clusters.contains_key(*cluster));
        recorded.flat_map(move |(cluster, pools)| {
            let is_known = move |name: &str| {
                let mut known = self.inventory.claimed.pools(&cluster.namespace);
                known.any(|(known, _)| known == name)
            };
            let gone = pools.keys().filter(move |name| !is_known(name));
            gone.map(move |name| {
                let what = format!("IPPool `{name}` with addresses of `{cluster}`");
                self.part_of_cluster(LostKind::Pool, what, name, cluster)
            })
        })
    }

    /// Returns the Softwares of clusters of which a role had packages and has none now.
    fn lost_software(&self) -> impl Iterator<Item = LostObject<'a>> {
        let is_gone = |(cluster, files): &(&ClusterKey, &Vec<Utf8PathBuf>)| {
            let request = self.clusters.get(*cluster).and_then(|it| it.cluster.as_ref());
            let installation = request.and_then(|cluster| cluster.installation.as_ref());
            installation.is_some_and(|it| {
                let roles = [&it.master_packages, &it.worker_packages];
                let roles = roles.iter().filter(|packages| !packages.is_empty());
                files.iter().filter(|file| layout::has_packages(file)).count() > roles.count()
            })
        };
        self.state.files.iter().filter(is_gone).map(|(cluster, _)| {
            // Its label names the cluster.
            let what = format!("Software of `{cluster}`");
            self.part_of_cluster(LostKind::Software, what, cluster.name.as_str(), cluster)
        })
    }

    /// Returns the directories of the kustomizations that listed the files of a cluster.
    fn builds_of_cluster(&self, cluster: &ClusterKey) -> BTreeSet<Utf8PathBuf> {
        let files = self.state.made_from.get(cluster).into_iter().flatten();
        let directories = files.flat_map(|file| {
            let own = file.parent().filter(|directory| self.builds.has_kustomization(directory));
            self.builds.listed_by(file).chain(own)
        });
        directories.map(Utf8Path::to_owned).collect()
    }

    /// Returns the directories of the kustomizations that rendered the host in a generated file. If
    /// its own is gone, another one around it or with hosts may have taken its place.
    fn builds_of_host(&self, generated: &Utf8Path) -> BTreeSet<Utf8PathBuf> {
        let below = generated.strip_prefix(&self.settings.output).ok();
        let Some(root) = below.and_then(layout::root_of_declared) else {
            return BTreeSet::new();
        };
        if self.builds.has_kustomization(root) {
            return BTreeSet::from([root.to_owned()]);
        }
        let around = root.ancestors().find(|directory| self.builds.has_kustomization(directory));
        let with_hosts = self.inventory.roots.values();
        with_hosts
            .map(|root| root.directory.as_path())
            .chain(around)
            .map(Utf8Path::to_owned)
            .collect()
    }
}
