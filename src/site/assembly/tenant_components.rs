//! Kustomizations and agents' objects that include the components of clusters for Cluster API.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

use super::Site;
use crate::base::api::names::ClusterKey;
use crate::base::finding::{Origin, Place};
use crate::base::layout;
use crate::input::kustomize::{ListField, Listing};
use crate::site::request::Request;

/// An entry that includes the component of a cluster.
#[derive(Debug, Clone)]
pub(crate) struct ComponentListing {
    pub(crate) component: Utf8PathBuf,
    /// Directory of the kustomization that includes it.
    pub(crate) directory: Utf8PathBuf,
    /// Place of the entry.
    pub(crate) place: Place,
    /// Files of the kustomization, whose objects the component patches.
    files: Arc<HashSet<Utf8PathBuf>>,
}

/// Where the components of clusters are included.
pub(crate) type ComponentListings = BTreeMap<ClusterKey, Vec<ComponentListing>>;

/// Finds the entries that include components of clusters.
pub(super) fn listings(site: &Site) -> ComponentListings {
    let Site { builds, settings, .. } = site;
    let tenants = settings.output.join(layout::TENANTS);
    let in_repo = builds.listings_below(&tenants).into_iter();
    let in_repo = in_repo.filter(|(_, listing)| listing.among != ListField::Resources);
    let by_agents = site.agent_builds.iter().flat_map(|(directory, agent)| {
        let among = ListField::Components(usize::MAX);
        agent.components().map(move |(path, place)| (path, Listing { directory, place, among }))
    });
    let mut reached: HashMap<&Utf8Path, Arc<HashSet<Utf8PathBuf>>> = HashMap::new();
    let mut listings = ComponentListings::new();
    for (component, Listing { directory, place, among }) in in_repo.chain(by_agents) {
        let path = component.strip_prefix(&settings.output).ok();
        let path = path.filter(|path| path.ends_with(layout::CLUSTER_API));
        let cluster = path.and_then(|path| layout::cluster_of(&path.join(layout::KUSTOMIZATION)));
        if let Some(cluster) = cluster {
            let files = reached.entry(directory).or_insert_with(|| {
                let mut built = vec![directory];
                // It also patches what those have that list the component in which it is listed.
                if among == ListField::ComponentsOfComponent {
                    let roots = builds.roots_of(directory).into_iter();
                    built.extend(roots.map(|root| builds.root(root).directory.as_path()));
                }
                let files = built.into_iter().flat_map(|built| builds.below(built).into_keys());
                Arc::new(files.collect())
            });
            let (files, directory) = (files.clone(), directory.to_owned());
            let listing = ComponentListing { component, directory, place, files };
            listings.entry(cluster).or_default().push(listing);
        }
    }
    listings
}

/// Gives the objects that components patch the names that they have there.
pub(super) fn name(clusters: &mut BTreeMap<ClusterKey, Request>, listings: &ComponentListings) {
    let clusters = clusters.values_mut().filter_map(|request| request.cluster.as_mut());
    for cluster in clusters {
        let listings = listings.get(&cluster.key).map_or(&[][..], Vec::as_slice);
        let name_there = |origin: &Origin| {
            let reaching = listings.iter().find(|it| it.files.contains(&*origin.file));
            let level = reaching.and_then(|reaching| origin.level(&reaching.directory));
            // Flux replaces variables after all components.
            let written = || origin.unsubstituted(&["metadata", "name"]).map(str::to_owned);
            level.map(|level| level.name.clone()).or_else(written)
        };
        for template in &mut cluster.machine_templates {
            if let Some(name) = name_there(&template.selector_at.origin) {
                template.name = name;
            }
        }
        if let Some(metal3_cluster) = &mut cluster.without_failure_domains
            && let Some(name) = name_there(&metal3_cluster.origin)
        {
            metal3_cluster.name = name;
        }
    }
}

impl Site {
    /// Returns whether the component of a cluster is included where a file is.
    pub(crate) fn component_reaches(&self, cluster: &ClusterKey, file: &Utf8Path) -> bool {
        let listings = self.component_listings.get(cluster);
        listings.into_iter().flatten().any(|listing| listing.files.contains(file))
    }
}
