//! Clusters, node sets, hosts, pools and Softwares of the previous run that are missing now.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};

use super::AbsenceEvidence;
use crate::base::api::cluster_api::MACHINE_DEPLOYMENT;
use crate::base::api::gitops::{FLUX_GROUP, FLUX_KIND};
use crate::base::api::names::{ClusterKey, NodeName, Part};
use crate::base::api::provisioning::SOFTWARE_KIND;
use crate::base::api::{host, ipam};
use crate::base::layout;
use crate::site::previous::RecordedAssignment;

/// A missing object.
pub(super) struct LostObject<'a> {
    /// Kind of its manifest; `None` for a request.
    pub(super) kind: Option<&'static str>,
    /// Kind and name for messages.
    pub(super) what: String,
    /// Name in a manifest. That of an agent's object is not recorded.
    pub(super) name: &'a str,
    /// The cluster itself, or the cluster that has the object. Agents' objects are for several.
    pub(super) cluster: Option<&'a ClusterKey>,
    /// The builds that had it.
    pub(super) builds: BTreeSet<Utf8PathBuf>,
}

impl<'a> AbsenceEvidence<'a> {
    /// Returns the missing objects by cluster: the cluster itself, MachineDeployments, assigned hosts,
    /// IPPools that were to keep addresses for its hosts, and packages of its machines; before them,
    /// agents' objects.
    pub(super) fn lost(&self) -> Vec<LostObject<'a>> {
        let site = self.site;
        let lost_clusters = site.removed_clusters().map(|cluster| {
            let what = format!("cluster `{cluster}`");
            self.part_of_cluster(None, what, cluster.name.as_str(), cluster)
        });
        let lost_hosts =
            site.state.held.iter().filter(|(host, _)| site.inventory.index(host).is_none());
        let hosts = lost_hosts.filter_map(|(host, held)| {
            // Hosts of a removed cluster are reported with the cluster.
            let held = held.iter().find(|held| site.clusters.contains_key(&held.cluster))?;
            Some(LostObject {
                what: format!("host `{host}` of `{}`", held.cluster),
                name: host.name.as_str(),
                cluster: Some(&held.cluster),
                builds: self.builds_of_host(&held.origin.file),
                kind: Some(host::KIND),
            })
        });
        let lost = lost_clusters.chain(self.lost_node_sets()).chain(hosts);
        let lost = lost.chain(self.lost_pools()).chain(self.lost_software());
        let mut lost: Vec<LostObject<'a>> = lost.chain(self.lost_appliers()).collect();
        lost.sort_by_key(|lost| lost.cluster);
        lost
    }

    /// Returns a missing object that the builds of its cluster may render.
    fn part_of_cluster(
        &self,
        kind: Option<&'static str>,
        what: String,
        name: &'a str,
        cluster: &'a ClusterKey,
    ) -> LostObject<'a> {
        let builds = self.builds_of_cluster(cluster);
        LostObject { kind, what, name, cluster: Some(cluster), builds }
    }

    /// Returns node sets with hosts that objects of their own asked for.
    fn lost_node_sets(&self) -> impl Iterator<Item = LostObject<'a>> {
        let is_gone = |held: &RecordedAssignment| {
            let request = self.site.clusters.get(&held.cluster);
            let request = request.filter(|request| request.kind.descriptor().makes_machines);
            let is_it = |part: &Part| part.node_set == held.part.node_set;
            let cluster = request.and_then(|request| request.cluster.as_ref());
            cluster.is_some_and(|cluster| !cluster.node_sets.keys().any(is_it))
        };
        let held = self.site.state.held.values().flatten().filter(|held| is_gone(held));
        let gone: BTreeSet<(&ClusterKey, &NodeName)> =
            held.filter_map(|held| Some((&held.cluster, held.part.node_set.as_ref()?))).collect();
        gone.into_iter().map(|(cluster, node_set)| {
            let what = format!("node set `{node_set}` of `{cluster}`");
            self.part_of_cluster(Some(MACHINE_DEPLOYMENT), what, node_set.as_str(), cluster)
        })
    }

    fn lost_pools(&self) -> impl Iterator<Item = LostObject<'a>> {
        // Pools of a removed cluster keep nothing for it.
        let recorded = self.site.state.pinned_pools.iter();
        let recorded = recorded.filter(|(cluster, _)| self.site.clusters.contains_key(*cluster));
        recorded.flat_map(move |(cluster, pools)| {
            let is_known = move |name: &str| {
                let mut known = self.site.inventory.claimed.pools(&cluster.namespace);
                known.any(|(known, _)| known == name)
            };
            let gone = pools.keys().filter(move |name| !is_known(name));
            gone.map(move |name| {
                let what = format!("IPPool `{name}` with addresses of `{cluster}`");
                self.part_of_cluster(Some(ipam::POOL), what, name, cluster)
            })
        })
    }

    /// Returns the Softwares of clusters of which a role had packages and has none now.
    fn lost_software(&self) -> impl Iterator<Item = LostObject<'a>> {
        let is_gone = |(cluster, files): &(&ClusterKey, &Vec<Utf8PathBuf>)| {
            let request = self.site.clusters.get(*cluster).and_then(|it| it.cluster.as_ref());
            let installation = request.and_then(|cluster| cluster.installation.as_ref());
            installation.is_some_and(|it| {
                let roles = [&it.master_packages, &it.worker_packages];
                let roles = roles.iter().filter(|packages| !packages.is_empty());
                files.iter().filter(|file| layout::has_packages(file)).count() > roles.count()
            })
        };
        self.site.state.files.iter().filter(is_gone).map(|(cluster, _)| {
            // Its label names the cluster.
            let what = format!("Software of `{cluster}`");
            self.part_of_cluster(Some(SOFTWARE_KIND), what, cluster.name.as_str(), cluster)
        })
    }

    /// Returns the agents' objects that applied directories for which the previous run wrote none.
    /// sipgen would write a second one.
    fn lost_appliers(&self) -> impl Iterator<Item = LostObject<'a>> {
        let site = self.site;
        let (state, wiring, output) = (&site.state, &site.wiring, &site.settings.output);
        let agent = site.settings.gitops.map(layout::agent_directory);
        let agent = agent.filter(|agent| state.has_file(&agent.join(layout::KUSTOMIZATION)));
        let cluster_directories = site.clusters.keys().flat_map(|cluster| {
            let file = layout::patch_file(cluster);
            [layout::cluster_directory(cluster), layout::observed_directory(cluster)]
                .map(|directory| (directory, file.clone()))
        });
        let cluster_directories =
            cluster_directories.filter(|(directory, _)| !wiring.delivered.has(directory));
        let roots =
            site.inventory.roots.iter().filter(|(index, _)| !wiring.applied.contains(index));
        let declared = roots.map(|(_, root)| {
            (layout::declared_directory(&root.directory), layout::DECLARED_OBJECTS.to_owned())
        });
        // A file has the objects of several directories, each in a line that ends with its path.
        let has_own = |agent: &Utf8Path, directory: &Utf8Path, file: &str| {
            let (text, end) =
                (self.repo.text(&output.join(agent).join(file)), format!("/{directory}"));
            let is_path = |line: &str| line.trim_end_matches('"').ends_with(&end);
            text.is_some_and(|text| text.lines().any(is_path))
        };
        let left = cluster_directories.chain(declared).filter(move |(directory, file)| {
            let is_written = state.has_file(&directory.join(layout::KUSTOMIZATION));
            is_written && agent.as_ref().is_some_and(|agent| !has_own(agent, directory, file))
        });
        left.map(|(directory, _)| LostObject {
            kind: Some(FLUX_KIND),
            what: format!("the agent's object that applied {}", output.join(directory)),
            name: FLUX_GROUP,
            cluster: None,
            builds: BTreeSet::new(),
        })
    }

    /// Returns the directories of the kustomizations that listed the files of a cluster.
    fn builds_of_cluster(&self, cluster: &ClusterKey) -> BTreeSet<Utf8PathBuf> {
        let files = self.site.state.made_from.get(cluster).into_iter().flatten();
        let directories = files.flat_map(|file| {
            let own =
                file.parent().filter(|directory| self.site.builds.has_kustomization(directory));
            self.site.builds.listed_by(file).chain(own)
        });
        directories.map(Utf8Path::to_owned).collect()
    }

    /// Returns the directories of the kustomizations that rendered the host in a generated file. If
    /// its own is gone, another one around it or with hosts may have taken its place.
    fn builds_of_host(&self, generated: &Utf8Path) -> BTreeSet<Utf8PathBuf> {
        let below = generated.strip_prefix(&self.site.settings.output).ok();
        let Some(root) = below.and_then(layout::root_of_declared) else { return BTreeSet::new() };
        if self.site.builds.has_kustomization(root) {
            return BTreeSet::from([root.to_owned()]);
        }
        let around =
            root.ancestors().find(|directory| self.site.builds.has_kustomization(directory));
        let with_hosts = self.site.inventory.roots.values();
        with_hosts
            .map(|root| root.directory.as_path())
            .chain(around)
            .map(Utf8Path::to_owned)
            .collect()
    }
}
