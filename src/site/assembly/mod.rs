//! The site: a repo's clusters and hosts, validated and joined.
//!
//! * `inputs`: which documents are inputs, by `sources` or streams; `left_out`: documents of the
//!   repo that inputs omit.
//! * `objects`: typed objects with the names that builds give them. `scan` reads the files that
//!   `listing` finds, `interpret` reads one document as a `read_object`, and `names` applies names.
//! * `host_origin`: which build renders a host; `requests`: checked requests.
//! * `delivered`: objects as builds change them; `evidence`: proof that labels of a host arrive.
//! * `omitted`: objects that a kustomization omits.
//! * `tenant_components`: where the components of clusters for Cluster API are included.
//! * `operators_templates`: HAProxy templates of the SIP operator.
//! * `plaintext_secrets`: values of Secrets that should not be in git.
//! * `agent_builds`: changes of agents' objects to builds; `substitution`: values of Flux's variables.
//! * `concern`: whether a mistake can reach a base cluster; `duplicates`: which document of an object
//!   counts.
//! * `hardware`: inspected hardware, read on demand.
//! * `lost`: objects of the previous run that something unread may hold; `unread_texts`: texts
//!   without objects.
//! * `mistaken_templates`: requests that are mistaken for templates of other tools.
//! * `misplaced`: generated hosts outside the output directory.
//! * `assignment_labels`: labels of assigned hosts that the settings choose.
//! * `clashes`: conflicts between services.
//!
//! Hosts are chosen in `plan`.

mod agent_builds;
mod assignment_labels;
pub(crate) mod clashes;
pub(crate) mod concern;
mod delivered;
mod duplicates;
mod evidence;
pub mod hardware;
mod host_origin;
mod inputs;
mod interpret;
mod left_out;
mod listing;
mod lost;
mod misplaced;
mod mistaken_templates;
mod names;
mod objects;
mod omitted;
mod operators_templates;
mod plaintext_secrets;
mod rack_label;
mod read_object;
mod requests;
mod scan;
mod substitution;
mod tenant_components;
mod unread_texts;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use camino::{Utf8Path, Utf8PathBuf};

use crate::base::api::firmware::{FirmwareObject, FirmwareSchema};
use crate::base::api::hardware_identity::HardwareIdentity;
use crate::base::api::names::{ClusterKey, HostKey};
use crate::base::api::topology_spread::evenness_key;
use crate::base::finding::{Code, Finding, Origin, Place};
use crate::base::layout;
use crate::input::kustomize::{BuildRoot, Builds, OverlayBases, join};
use crate::input::load::{Files, ReadError};
use crate::input::settings::{InventoryMode, Settings};
use crate::site::delivery::{self, DeliveryWiring};
use crate::site::inventory::{self, Inventory, identity};
use crate::site::previous::PreviousOutput;
use crate::site::request::cluster_api::{Claimant, MachineObjects};
use crate::site::request::{Cluster, ClusterKind, NodeSet, Request, RequestContext};
use agent_builds::AgentBuilds;
use inputs::BuiltSource;
pub use left_out::LeftOutHost;
use lost::AbsenceEvidence;
pub use names::ServiceWithPorts;
use objects::{NamedObjects, NamedRequests};
pub(crate) use plaintext_secrets::has_plain_secret;
use requests::CheckedRequests;
pub(crate) use tenant_components::ComponentListing;
use tenant_components::ComponentListings;

/// Clusters and hosts of a repo.
#[derive(Debug, Default)]
pub struct Site {
    /// Settings that it was read with.
    pub settings: Settings,
    /// Every requested cluster.
    pub clusters: BTreeMap<ClusterKey, Request>,
    /// Every host.
    pub inventory: Inventory,
    /// The label with the rack of hosts, if any host has it.
    pub rack_label: Option<String>,
    /// Delivery of the output by the repo's kustomizations and agents.
    pub wiring: DeliveryWiring,
    /// Previous output.
    pub state: PreviousOutput,
    /// Assigned hosts that are not inputs, although kustomizations of the repo render them, or files say
    /// that they are in use. No plan is valid without them.
    pub left_out: HashMap<HostKey, LeftOutHost>,
    /// Services of the repo with NodePorts, except those in the output directory.
    pub services: Vec<ServiceWithPorts>,
    /// Firmware settings by host, and their schemas by name, which no host has.
    firmware: HashMap<HostKey, FirmwareObject>,
    /// Set if hardware was read and its findings were reported. Only Provisionings depend on it.
    pub knows_hardware: bool,
    /// HAProxy templates of the SIP operator.
    pub operators_templates: Vec<Place>,
    /// Machines of Cluster API, and the objects that make them.
    pub(crate) machine_objects: MachineObjects,
    /// Names of request definitions in the repo.
    pub definitions: BTreeSet<&'static str>,
    /// Objects that claim hosts and are no requests.
    pub(crate) claimants: Vec<Claimant>,
    /// Objects that overlays of the output patch.
    pub(crate) overlay_bases: OverlayBases,
    /// Changes of agents' objects to builds, by directory.
    pub(crate) agent_builds: AgentBuilds,
    /// Where the components of clusters for Cluster API are included.
    pub(crate) component_listings: ComponentListings,
    /// The files that each kustomization reaches.
    pub(crate) builds: Builds,
    /// Files that were read, and objects that sources build, kept for reading hardware.
    files: Vec<Utf8PathBuf>,
    rendered: Vec<BuiltSource>,
}

/// Reads the objects of a repo, and beside them the previous output: naming is serial for the most
/// part. Objects are read on the calling thread, whose stack is larger than those of the pool.
fn read_files(
    repo: &Files,
    settings: Settings,
) -> Result<(Site, NamedObjects, Vec<Finding>), ReadError> {
    let mut previous = Ok((PreviousOutput::default(), Vec::new()));
    let objects = rayon::in_place_scope(|scope| {
        scope.spawn(|_| {
            let entries = repo.entries_below(&settings.output);
            previous = entries.and_then(|it| PreviousOutput::read(repo, &settings, it));
        });
        objects::named(scan::scan(repo, &settings)?, repo, &settings)
    });
    let (site, objects, mut findings) = objects?;
    let (state, found) = previous?;
    findings.extend(found);
    Ok((Site { state, settings, ..site }, objects, findings))
}

impl Site {
    /// Reads a repo and the previous output. Findings report mistakes in their content.
    ///
    /// # Errors
    ///
    /// Returns an error if a file or directory cannot be read.
    pub fn read(repo: &Files, settings: Settings) -> Result<(Self, Vec<Finding>), ReadError> {
        let (mut site, objects, mut all) = read_files(repo, settings)?;
        let NamedObjects { requests, mut hosts, agents, closed, .. } = objects;
        let reached = agents.reached(repo, &site.settings, &site.builds, &hosts.in_files);
        all.extend(evidence::classify(
            repo,
            &site,
            &agents,
            &reached,
            &hosts.in_files,
            &mut hosts.inputs,
        ));
        all.extend(concern::without_duplicates(&mut hosts.inputs, &site));

        let (hardware, findings) =
            hardware::if_it_decides(repo, &site, &requests, &objects.cluster_parts, &hosts.inputs)?;
        all.extend(findings);
        site.knows_hardware = hardware.is_some();
        let (inventory, findings) = inventory::assemble(
            hosts.inputs,
            objects.networks,
            &site.builds,
            &site.settings,
            hardware.as_ref(),
        );
        site.inventory = inventory;
        all.extend(findings);
        // Manifests do not count then.
        if site.settings.inventory.mode == InventoryMode::Observed {
            site.left_out.retain(|_, host| host.root.is_none());
        }
        // An overlay in the output may be applied elsewhere, and so its hosts.
        let roots = site.inventory.hosts.iter().filter_map(|host| host.evidence.root());
        let roots: BTreeSet<usize> =
            roots.chain(site.left_out.values().filter_map(|host| host.root)).collect();
        let roots = roots.into_iter().map(|index| (index, site.builds.root(index)));
        let kept = roots.filter(|(_, root)| site.state.has_overlay_of(&root.directory));
        site.inventory.roots.extend(kept.map(|(index, root)| (index, root.clone())));
        site.left_out.retain(|host, _| site.state.held.contains_key(host));

        let (wiring, findings) = delivery::wire(
            repo,
            &site.settings,
            &site.inventory,
            &site.builds,
            &agents,
            &reached,
            &closed,
        );
        site.wiring = wiring;
        all.extend(findings);

        let context = RequestContext::new(
            &site.inventory,
            &site.settings,
            &objects.software,
            &objects.cluster_parts,
        );
        let NamedRequests { clusters, in_repo, templates } = requests;
        let CheckedRequests { clusters, templates, claimants, findings } =
            requests::check(clusters, templates, &context);
        site.clusters = clusters;
        site.claimants = claimants;
        all.extend(findings);
        site.component_listings = tenant_components::listings(&site);
        tenant_components::name(&mut site.clusters, &site.component_listings);
        site.machine_objects = MachineObjects::new(&objects.cluster_parts);
        all.extend(site.identify_hosts(objects.hardware));
        site.find_rack_label();
        all.extend(assignment_labels::mistakes(&site));
        all.extend(clashes::service_clashes(&site));
        all.extend(mistaken_templates::mistaken(repo, &site, &templates));

        let missing = left_out::clusters(&site, &in_repo);
        // If clusters are known to be missing from the inputs, their absence needs no proof.
        if missing.is_none() {
            let known = AbsenceEvidence { repo, site: &site, closed: &closed, findings: &all };
            let unproven = lost::unproven(&known)?;
            // An error that names the reason replaces the warning about it.
            let ends = |finding: &Finding, reason: &String| finding.message.ends_with(reason);
            all.retain(|finding| {
                finding.code != Code::DirectoryUnread
                    || !closed.iter().any(|(_, reason)| {
                        ends(finding, reason) && unproven.iter().any(|error| ends(error, reason))
                    })
            });
            all.extend(unproven);
        }
        all.extend(missing);
        Ok((site, all))
    }

    /// Completes hosts by what needs all requests or all hosts: assignments by older labels, which
    /// name no namespace, and other hosts of the same machine.
    fn identify_hosts(&mut self, mut hardware: HashMap<HostKey, HardwareIdentity>) -> Vec<Finding> {
        let (hosts, state) = (&mut self.inventory.hosts, &self.state);
        let mut findings = assignment_labels::resolve(hosts, &self.clusters, state);
        for host in &mut *hosts {
            if let Some(identity) = hardware.remove(&host.key) {
                host.hardware = identity;
            }
        }
        let is_held = |host: &HostKey| state.held.contains_key(host);
        findings.extend(identity::mark_same_machines(hosts, is_held));
        findings
    }

    /// Returns the label over whose values the hosts of a node set are spread.
    pub(crate) fn spread_key<'s>(&'s self, node_set: &'s NodeSet) -> Option<&'s str> {
        evenness_key(&node_set.spread, self.rack_label.as_deref())
    }

    /// Returns the Clusters that become requests by opting in.
    pub fn clusters_not_opted_in(&self) -> BTreeSet<&ClusterKey> {
        self.claimants.iter().filter_map(|claimant| claimant.may_opt_in.as_ref()).collect()
    }

    /// Returns the clusters whose requests are valid.
    pub(crate) fn valid_clusters(&self) -> impl Iterator<Item = &Cluster> {
        self.clusters.values().filter_map(|request| request.cluster.as_ref())
    }

    /// Returns the clusters of the previous output that nobody requests.
    pub(crate) fn removed_clusters(&self) -> impl Iterator<Item = &ClusterKey> {
        self.state.clusters.iter().filter(|cluster| !self.clusters.contains_key(cluster))
    }

    /// Returns a cluster if its request is valid.
    pub(crate) fn valid_cluster(&self, key: &ClusterKey) -> Option<&Cluster> {
        self.clusters.get(key)?.cluster.as_ref()
    }

    /// Returns the kind of a cluster's request; for a removed cluster, the kind in the previous
    /// output.
    pub(crate) fn kind_of(&self, cluster: &ClusterKey) -> ClusterKind {
        if let Some(request) = self.clusters.get(cluster) {
            return request.kind;
        }
        let installer = layout::installer_directory(cluster);
        let mut files = self.state.files.get(cluster).into_iter().flatten();
        ClusterKind::with_installer(files.any(|file| file.starts_with(&installer)))
    }

    /// Returns whether a valid request assigns machines, on which an operating system is installed.
    pub(crate) fn has_machines(&self) -> bool {
        self.valid_clusters().any(|cluster| cluster.installation.is_some())
    }

    /// Returns the component that makes Cluster API use the hosts of a cluster, relative to the repo.
    pub(crate) fn component_for_cluster_api(&self, cluster: &ClusterKey) -> Utf8PathBuf {
        let directory = layout::tenant_directory(cluster);
        self.settings.output.join(directory).join(layout::CLUSTER_API)
    }

    /// Returns whether an entry of a kustomization in a directory leads to hosts outside of the output.
    pub(crate) fn has_hosts_at(&self, directory: &Utf8Path, entry: &str) -> bool {
        join(directory, entry).is_some_and(|target| {
            let below = self.builds.below(&target);
            let mut files = self.inventory.hosts.iter().filter_map(|host| host.file.as_deref());
            files.any(|file| file == target || below.contains_key(file))
        })
    }

    /// Returns the schema of a host's firmware settings, if it is known.
    pub(crate) fn firmware_schema(&self, host: &HostKey) -> Option<&FirmwareSchema> {
        let schema = self.firmware.get(host)?.status.schema.as_ref()?;
        let key = HostKey { namespace: host.namespace.clone(), name: schema.name.clone() };
        Some(&self.firmware.get(&key)?.spec.schema)
    }

    /// Returns an outermost kustomization, by the index in the evidence of hosts.
    pub(crate) fn root(&self, index: usize) -> &BuildRoot {
        self.builds.root(index)
    }

    /// Returns the directories of outermost kustomizations of the repo that list a path of the
    /// output, without those that need more than the files of the repo.
    pub(crate) fn roots_listing_output(&self) -> impl Iterator<Item = &Utf8Path> {
        let listing = self.builds.roots_listing(&self.settings.output).into_iter();
        let directories = listing.map(|index| self.root(index).directory.as_path());
        directories.filter(|directory| self.builds.parts(directory).0.is_empty())
    }

    /// Returns the roots of declared hosts whose builds also contain a document.
    pub(crate) fn roots_with(&self, origin: &Origin) -> Vec<&BuildRoot> {
        let indices: BTreeSet<usize> =
            self.builds.reach_of(origin).iter().map(|reach| reach.root).collect();
        indices.iter().filter_map(|index| self.inventory.roots.get(index)).collect()
    }
}
