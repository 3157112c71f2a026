//! The site: everything that a repo says of clusters and hosts, checked and joined into one whole.
//!
//! * `settings`: what `sipgen.yaml` says; `gitops` is what it says of agents, `provisioning_settings` of Provisionings,
//!   `snapshot_settings` of snapshots and Secrets; `written` finds where a setting is written.
//! * `inputs`: which documents are inputs, by the settings' `sources` or because they are rendered already; `standings`:
//!   who renders hosts that came by another way than their manifests;
//!   `left_out`: what inputs leave out that the repo still has.
//! * `concern`: whether a mistake can reach a base cluster, or is one of an example.
//! * `cluster`: what a SIPCluster or a Provisioning asks for; `request` and `provisioning` check it, `selector` its
//!   label selectors.
//! * `auth`: what of that concerns Dex.
//! * `host`: one host, joined from manifest and snapshot; `networks` are its addresses, `network_files` those in
//!   files that are no manifests; `decryption` opens what is encrypted, `keyless` finds Secrets without network data, and
//!   `network_remedy` says how a host gets some; `usage` is what says that a host is in use.
//! * `hardware`: what inspection found in the hosts, read on demand.
//! * `machine`: what of a host's hardware decides whether it can be a node of a Provisioning.
//! * `appliers`: which agent applies a host in full, as its snapshot says.
//! * `inventory`: every host once.
//! * `wiring`: which kustomizations and agents' objects of the repo come at the hosts.
//! * `state`: what the last run wrote, which is who has which host; `generated_host` reads one host of it.
//! * `objects`: from documents to typed objects with the names that their builds give them.
//! * `delivered`: those objects as builds deliver them, where builds change them.
//! * `specs`: what requests ask for, read in one piece or refused.
//! * `plaintext_secrets`: values of Secrets that should not be in git.
//! * `near_misses`: objects that are nearly ours.
//! * `templates`: documents that pass for templates of other tools, and are none.
//! * `doubtful`: values of hosts that other programs read otherwise.
//! * `fields`: those of a request, held against those that its kind has.
//! * `older`: SIPClusters of older generations, read as the current one; `older_labels` are those of their hosts.
//! * `mismatch`: why a labelSelector matches no host.
//! * `alike`: names that may be meant by others.
//! * `lost`: what the previous run knew and something unread may hold.
//! * `variables`: values of hosts that only Flux knows.
//! * `unwritable`: texts that must not reach a file.
//! * `clashes`: what two services cannot both have.
//!
//! How hosts are chosen is not known here.

pub(crate) mod alike;
mod appliers;
pub mod auth;
pub(crate) mod clashes;
pub mod cluster;
mod concern;
mod decryption;
mod delivered;
mod doubtful;
mod fields;
pub(crate) mod generated_host;
pub mod gitops;
pub mod hardware;
pub mod host;
mod inputs;
pub mod inventory;
pub mod keyless;
mod left_out;
mod lost;
pub mod machine;
pub mod mismatch;
mod near_misses;
mod network_files;
pub(crate) mod network_remedy;
pub mod networks;
mod objects;
pub mod older;
mod older_labels;
mod plaintext_secrets;
mod provisioning;
pub mod provisioning_settings;
mod request;
mod selector;
pub mod settings;
pub mod snapshot_settings;
pub mod sources;
mod specs;
mod standings;
pub mod state;
mod templates;
mod unwritable;
pub mod usage;
pub mod variables;
pub mod wiring;
mod written;

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::api::names::{ClusterKey, HostKey};
use crate::api::provisioning as api;
use crate::finding::{Code, Finding};
use crate::source::{Files, Origin, Place, ReadError};

use crate::kustomize::{Builds, Root};
use lost::Known;

pub use auth::Auth;
pub use cluster::{AskedMachine, Cluster, ClusterKind, Detail, Installation, NodeSet, Service, ServiceKind};
pub use host::{Host, Standing};
pub use inventory::Inventory;
pub use left_out::HostLeftOut;
pub use objects::ServiceWithPorts;
pub use older::Conversion;
use older::TopologyLabels;
use provisioning::{Asked, Macs};
pub use provisioning_settings::InventoryFormat;
use settings::Mode;
pub use settings::Settings;
use specs::Spec;
pub use state::State;
pub(crate) use state::hosts_of_generated;
use templates::Template;
pub use wiring::Wiring;

/// What a repo says of its clusters and hosts.
#[derive(Debug)]
pub struct Site {
    /// The settings that it was read with.
    pub settings: Settings,
    /// Every cluster that the repo asks for.
    pub clusters: BTreeMap<ClusterKey, Request>,
    /// Every host.
    pub inventory: Inventory,
    /// How the output is wired into the repo.
    pub wiring: Wiring,
    /// What the last run left in the output directory.
    pub state: State,
    /// The hosts that the last run gave to clusters, that kustomizations of the repo render, and that are not among the
    /// inputs. Without them, no plan can be trusted.
    pub left_out: HashMap<HostKey, HostLeftOut>,
    /// The Services of the repo, other than those in the output directory, that ask for NodePorts.
    pub services: Vec<ServiceWithPorts>,
    /// Whether the hardware of hosts has been read, and what is wrong with it told: it decides for Provisionings only.
    pub knows_hardware: bool,
    /// The names of the definitions of requests that the repo has.
    pub definitions: BTreeSet<&'static str>,
    /// Which kustomization reaches which file.
    builds: Builds,
}

/// A SIPCluster or a Provisioning of the repo.
#[derive(Debug)]
pub struct Request {
    /// Which of the two.
    pub kind: &'static str,
    /// Where it stands.
    pub origin: Origin,
    /// What it asks for; nothing when that is invalid, which a finding says.
    pub cluster: Option<Cluster>,
    /// The hosts that a Provisioning names by MAC addresses, by their indices; those of an invalid one, too, as far as it
    /// can be read.
    pub named: BTreeSet<usize>,
    /// The name by which hosts that older generations labelled know it, where it is another one.
    pub former_name: Option<String>,
    /// What becomes of it, if it is of an older generation.
    pub older: Option<Box<Conversion>>,
}

impl Site {
    /// Reads a repo, and what the last run wrote into it. What is wrong with the content is in the findings.
    ///
    /// # Errors
    ///
    /// When a file or directory cannot be read.
    pub fn read(repo: &Files, settings: Settings) -> Result<(Self, Vec<Finding>), ReadError> {
        let (mut objects, mut findings) = objects::read(repo, &settings)?;
        let (state, found) = State::read(repo, &settings.output)?;
        findings.extend(found);
        findings.extend(concern::without_duplicates(&mut objects.hosts, &state, &settings));
        findings.extend(concern::without_duplicate_requests(&mut objects.clusters, &objects.builds, &settings));
        let (mut inventory, found) = inventory::assemble(objects.hosts, &objects.networks, &objects.builds, &settings);
        findings.extend(found);
        // The only ones for whom it decides: reading it takes as long as all the rest.
        let knows_hardware = objects.clusters.iter().any(|document| matches!(document.spec, Spec::Provisioning(_)));
        if knows_hardware {
            let (hardware, found) = hardware::of_inventory(repo, &settings, &objects.builds, &inventory)?;
            findings.extend(found);
            findings.extend(machine::tell(&mut inventory, &hardware, &settings.provisioning.devices));
        }
        let mut left_out = objects.left_out;
        // In this mode, a snapshot says which hosts there are, and no manifest.
        left_out.retain(|_, _| settings.inventory.mode != Mode::Observed);
        // An agent applies the hosts through their overlay, whether they are among the inputs or not.
        for host in left_out.values().filter(|host| state.has_overlay_of(&host.root)) {
            inventory.roots.entry(host.root_index).or_insert_with(|| objects.builds.root(host.root_index).clone());
        }
        left_out.retain(|host, _| state.held.contains_key(host));
        let (builds, documents) = (&objects.builds, &objects.documents);
        let (agent_objects, closed) = (objects.agent_objects, &objects.closed);
        let (wiring, found) = wiring::wire(repo, &settings, &inventory, builds, documents, agent_objects, closed);
        findings.extend(found);

        // Few sites have older SIPClusters, and many have thousands of hosts.
        let labels =
            LazyCell::new(|| TopologyLabels::new(&settings.topology, inventory.hosts.iter().map(|host| &host.labels)));
        let macs = LazyCell::new(|| Macs::new(&inventory.hosts));
        let mut templates = objects.templates;
        let mut clusters: BTreeMap<ClusterKey, Request> = BTreeMap::new();
        for document in objects.clusters {
            let objects::ClusterDocument { kind, key, name, origin, cluster_type, priority, former_name, spec } =
                document;
            if let Some(other) = clusters.get(&key) {
                findings.push(duplicate(&key, kind, &origin, other, &settings));
                continue;
            }
            let (spec, origin, older) = match spec {
                Spec::Older(document, may_be_template) => {
                    let conversion = older::convert(*document, &origin, &labels);
                    if may_be_template && !conversion.errors.is_empty() {
                        templates.push(Template { origin, asked: None });
                        continue;
                    }
                    let (spec, origin, found) = read_older(&key, &conversion, origin);
                    findings.extend(found.into_iter().map(|finding| finding.of(&key)));
                    (spec, origin, Some(Box::new(conversion)))
                }
                spec => (spec, origin, None),
            };
            let mut named = BTreeSet::new();
            let cluster = match spec {
                Spec::Current(spec) => {
                    let (cluster, found) = request::check(key.clone(), origin.clone(), priority.as_deref(), &spec);
                    findings.extend(found);
                    cluster
                }
                Spec::Provisioning(spec) => {
                    let software = provisioning::software_of(&key, &objects.software);
                    let (key, origin) = (key.clone(), origin.clone());
                    let (priority, cluster_type) = (priority.as_deref(), cluster_type.as_deref());
                    let asked = Asked { key, origin, name, priority, cluster_type, spec: &spec, software };
                    let (cluster, hosts, found) = provisioning::check(asked, &macs);
                    findings.extend(found);
                    named = hosts;
                    cluster
                }
                Spec::Older(..) | Spec::Unreadable => None,
            };
            let former_name = former_name.or_else(|| older.as_ref()?.former_name.clone());
            clusters.insert(key, Request { kind, origin, cluster, named, former_name, older });
        }
        findings.extend(provisioning::without_cluster(&objects.software, &clusters));
        findings.extend(older_labels::understand(&mut inventory, &clusters));
        let valid = clusters.values().filter_map(|request| request.cluster.as_ref());
        let contested = clashes::node_ports(valid.clone());
        findings.extend(clashes::dex_storage(valid.clone()));

        // One that two ask for moves in any case.
        findings.extend(if contested.is_empty() { clashes::moved_node_ports(valid, &state) } else { contested });
        findings.extend(templates::mistaken(repo, &state, &clusters, &templates));
        let left_out_clusters = left_out::clusters(&state, &clusters, &objects.in_repo);
        // The inputs are not what they should be, which says it all.
        if left_out_clusters.is_none() {
            let (repo, settings, files) = (repo, &settings, objects.files.as_slice());
            let (state, clusters, inventory) = (&state, &clusters, &inventory);
            let known = Known { repo, settings, files, state, clusters, inventory, findings: &findings };
            let unproven = lost::unproven(&known)?;
            findings.extend(unproven);
        }
        findings.extend(left_out_clusters);
        let (services, definitions, builds) = (objects.services, objects.definitions, objects.builds);
        let site = Self {
            settings,
            clusters,
            inventory,
            wiring,
            state,
            left_out,
            services,
            knows_hardware,
            definitions,
            builds,
        };
        Ok((site, findings))
    }

    /// Returns the roots of declared hosts whose builds have a document, too.
    pub(crate) fn roots_with(&self, origin: &Origin) -> Vec<&Root> {
        let indices: BTreeSet<usize> = self.builds.reach_of(origin).iter().map(|reach| reach.root).collect();
        indices.iter().filter_map(|index| self.inventory.roots.get(index)).collect()
    }
}

impl Request {
    /// Where it says which cluster it asks for.
    pub fn name(&self) -> Place {
        place_of_name(self.kind, &self.origin)
    }
}

fn place_of_name(kind: &str, origin: &Origin) -> Place {
    if kind == api::KIND { origin.at(["metadata", "labels", api::CLUSTER]) } else { origin.name() }
}

/// One more request of a cluster than there may be.
fn duplicate(key: &ClusterKey, kind: &str, origin: &Origin, other: &Request, settings: &Settings) -> Finding {
    let message = if kind == other.kind {
        format!("there are two {kind}s {key}")
    } else {
        format!("a {} and a {kind} ask for one cluster {key}", other.kind)
    };
    let name = if kind == api::KIND { "label `cluster`" } else { "name" };
    Finding::new(Code::DuplicateCluster, message)
        .at(place_of_name(kind, origin))
        .see(other.name(), "the other one")
        .help(if origin.is_rendered() {
            format!("render one of them, or give it another {name} or namespace")
        } else {
            let out = concern::leave_out(settings, &[&origin.file]);
            format!("if this one is an example, keep it; {out}\notherwise give it another {name} or namespace")
        })
        .of(key)
}

/// Reads an older SIPCluster in the form that it was given, and says that it is older.
fn read_older(key: &ClusterKey, conversion: &Conversion, origin: Origin) -> (Spec, Origin, Vec<Finding>) {
    let generation = conversion.generation.words();
    let renamed = conversion
        .former_name
        .as_ref()
        .map_or(String::new(), |former| format!("; it is called {} and no longer `{former}`", key.name));
    let mut findings = vec![
        Finding::new(
            Code::OlderGeneration,
            format!("the SIPCluster {key} is of the generation of {generation}, and is read as one of today{renamed}"),
        )
        .at(origin.at(["spec"]))
        .help("`sipgen migrate` rewrites it in today's form; docs/migrating.md says what becomes of each field"),
    ];
    findings.extend(conversion.unknown.iter().chain(&conversion.errors).cloned());
    let origin = origin.read_as(conversion.moved.clone());
    if !conversion.errors.is_empty() {
        return (Spec::Unreadable, origin, findings);
    }
    let (spec, found) = specs::converted(conversion.spec.clone(), &origin);
    findings.extend(found);
    (spec, origin, findings)
}
