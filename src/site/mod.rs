//! The site: everything that a repo says of clusters and hosts, checked and joined into one whole.
//!
//! * `inputs`: which documents are inputs, by the settings' `sources` or because they are rendered already; `left_out`:
//!   what inputs leave out that the repo still has.
//! * `objects`: from documents to typed objects with the names that their builds give them.
//! * `delivered`: those objects as builds deliver them, where builds change them.
//! * `plaintext_secrets`: values of Secrets that should not be in git.
//! * `substitution`: values of Flux's variables that the repo has.
//! * `concern`: whether a mistake can reach a base cluster, or is one of an example.
//! * `hardware`: what inspection found in the hosts, read on demand.
//! * `lost`: what the previous run knew and something unread may hold.
//! * `mistaken_templates`: requests that pass for templates of other tools, and are none.
//! * `clashes`: what two services cannot both have.
//!
//! How hosts are chosen is not known here.

pub(crate) mod clashes;
pub(crate) mod concern;
mod delivered;
pub mod hardware;
pub(crate) mod inputs;
mod left_out;
mod lost;
mod mistaken_templates;
pub(crate) mod objects;
mod plaintext_secrets;
mod substitution;

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::api::names::{ClusterKey, HostKey};
use crate::finding::{Code, Finding, Origin};
use crate::load::{Files, ReadError};

use crate::kustomize::{Builds, Root};
use crate::output::state::State;
use lost::Known;

use crate::decode::suspected_templates::Template;
use crate::delivery::{self, Wiring};
use crate::inventory::{self, Inventory, machine};
use crate::layout;
use crate::request::provisioning::{Asked, Macs};
use crate::request::sipcluster::legacy::{self, TopologyLabels};
use crate::request::sipcluster::legacy_labels;
use crate::request::{
    ClusterDocument, ClusterKind, Conversion, Request, Spec, provisioning, sipcluster,
};
use crate::settings::{Mode, Settings, sources};
pub use left_out::HostLeftOut;
pub use objects::ServiceWithPorts;

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
        findings.extend(concern::without_duplicates(
            &mut objects.hosts,
            &state,
            &settings,
        ));
        findings.extend(concern::without_duplicate_requests(
            &mut objects.clusters,
            &objects.builds,
            &settings,
        ));
        let (mut inventory, found) =
            inventory::assemble(objects.hosts, &objects.networks, &objects.builds, &settings);
        findings.extend(found);
        // The only ones for whom it decides: reading it takes as long as all the rest.
        let knows_hardware = objects
            .clusters
            .iter()
            .any(|document| matches!(document.spec, Spec::Provisioning(_)));
        if knows_hardware {
            let (hardware, found) =
                hardware::of_inventory(repo, &settings, &objects.builds, &inventory)?;
            findings.extend(found);
            findings.extend(machine::tell(
                &mut inventory,
                &hardware,
                &settings.provisioning.devices,
            ));
        }
        let mut left_out = objects.left_out;
        // In this mode, a snapshot says which hosts there are, and no manifest.
        left_out.retain(|_, _| settings.inventory.mode != Mode::Observed);
        // An agent applies the hosts through their overlay, whether they are among the inputs or not.
        for host in left_out
            .values()
            .filter(|host| state.has_overlay_of(&host.root))
        {
            inventory
                .roots
                .entry(host.root_index)
                .or_insert_with(|| objects.builds.root(host.root_index).clone());
        }
        left_out.retain(|host, _| state.held.contains_key(host));
        let (builds, documents) = (&objects.builds, &objects.documents);
        let (agent_objects, closed) = (objects.agent_objects, &objects.closed);
        let (wiring, found) = delivery::wire(
            repo,
            &settings,
            &inventory,
            builds,
            documents,
            agent_objects,
            closed,
        );
        findings.extend(found);

        // Few sites have older SIPClusters, and many have thousands of hosts.
        let labels = LazyCell::new(|| {
            TopologyLabels::new(
                &settings.topology,
                inventory.hosts.iter().map(|host| &host.labels),
            )
        });
        let macs = LazyCell::new(|| Macs::new(&inventory.hosts));
        let mut templates = objects.templates;
        let mut clusters: BTreeMap<ClusterKey, Request> = BTreeMap::new();
        for document in objects.clusters {
            let ClusterDocument {
                kind,
                key,
                name,
                origin,
                cluster_type,
                priority,
                former_name,
                spec,
            } = document;
            if let Some(other) = clusters.get(&key) {
                findings.push(duplicate(&key, kind, &origin, other, &settings));
                continue;
            }
            let (spec, origin, older) = match spec {
                Spec::Older(document, may_be_template) => {
                    let conversion = legacy::convert(*document, &origin, &labels);
                    if may_be_template && !conversion.errors.is_empty() {
                        templates.push(Template {
                            origin,
                            asked: None,
                        });
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
                    let (cluster, found) =
                        sipcluster::check(key.clone(), origin.clone(), priority.as_deref(), &spec);
                    findings.extend(found);
                    cluster
                }
                Spec::Provisioning(spec) => {
                    let software = provisioning::software_of(&key, &objects.software);
                    let (key, origin) = (key.clone(), origin.clone());
                    let (priority, cluster_type) = (priority.as_deref(), cluster_type.as_deref());
                    let asked = Asked {
                        key,
                        origin,
                        name,
                        priority,
                        cluster_type,
                        spec: &spec,
                        software,
                    };
                    let (cluster, hosts, found) = provisioning::check(asked, &macs);
                    findings.extend(found);
                    named = hosts;
                    cluster
                }
                Spec::Older(..) | Spec::Unreadable => None,
            };
            let former_name = former_name.or_else(|| older.as_ref()?.former_name.clone());
            clusters.insert(
                key,
                Request {
                    kind,
                    origin,
                    cluster,
                    named,
                    former_name,
                    older,
                },
            );
        }
        findings.extend(provisioning::without_cluster(&objects.software, &clusters));
        findings.extend(legacy_labels::understand(&mut inventory, &clusters));
        let valid = clusters
            .values()
            .filter_map(|request| request.cluster.as_ref());
        let contested = clashes::node_ports(valid.clone());
        findings.extend(clashes::dex_storage(valid.clone()));

        // One that two ask for moves in any case.
        findings.extend(if contested.is_empty() {
            clashes::moved_node_ports(valid, &state)
        } else {
            contested
        });
        findings.extend(mistaken_templates::mistaken(
            repo, &state, &clusters, &templates,
        ));
        let left_out_clusters = left_out::clusters(&state, &clusters, &objects.in_repo);
        // The inputs are not what they should be, which says it all.
        if left_out_clusters.is_none() {
            let (repo, settings, files) = (repo, &settings, objects.files.as_slice());
            let (state, clusters, inventory) = (&state, &clusters, &inventory);
            let known = Known {
                repo,
                settings,
                files,
                state,
                clusters,
                inventory,
                findings: &findings,
            };
            let unproven = lost::unproven(&known)?;
            findings.extend(unproven);
        }
        findings.extend(left_out_clusters);
        let (services, definitions, builds) =
            (objects.services, objects.definitions, objects.builds);
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

    /// Returns the kind of request of a cluster; of one that is gone, by what the previous run wrote.
    pub(crate) fn kind_of(&self, cluster: &ClusterKey) -> ClusterKind {
        let installer = layout::installer_directory(cluster);
        let is_installed = || {
            let files = self.state.files.get(cluster);
            files.is_some_and(|files| files.iter().any(|file| file.starts_with(&installer)))
        };
        match self.clusters.get(cluster) {
            Some(request) => request.kind,
            None => ClusterKind::with_installer(is_installed()),
        }
    }

    /// Returns the roots of declared hosts whose builds have a document, too.
    pub(crate) fn roots_with(&self, origin: &Origin) -> Vec<&Root> {
        let indices: BTreeSet<usize> = self
            .builds
            .reach_of(origin)
            .iter()
            .map(|reach| reach.root)
            .collect();
        indices
            .iter()
            .filter_map(|index| self.inventory.roots.get(index))
            .collect()
    }
}

/// One more request of a cluster than there may be.
fn duplicate(
    key: &ClusterKey,
    kind: ClusterKind,
    origin: &Origin,
    other: &Request,
    settings: &Settings,
) -> Finding {
    let message = if kind == other.kind {
        format!("there are two {kind}s {key}")
    } else {
        format!("a {} and a {kind} ask for one cluster {key}", other.kind)
    };
    let name = kind.descriptor().name_source;
    Finding::new(Code::DuplicateCluster, message)
        .at(kind.place_of_name(origin))
        .see(other.name(), "the other one")
        .help(if origin.is_rendered() {
            format!("render one of them, or give it another {name} or namespace")
        } else {
            let out = sources::leave_out(settings, &[&origin.file]);
            format!("if this one is an example, keep it; {out}\notherwise give it another {name} or namespace")
        })
        .of(key)
}

/// Reads an older SIPCluster in the form that it was given, and says that it is older.
fn read_older(
    key: &ClusterKey,
    conversion: &Conversion,
    origin: Origin,
) -> (Spec, Origin, Vec<Finding>) {
    let generation = conversion.generation.words();
    let renamed = conversion
        .former_name
        .as_ref()
        .map_or(String::new(), |former| {
            format!("; it is called {} and no longer `{former}`", key.name)
        });
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
    let (spec, found) = sipcluster::converted(conversion.spec.clone(), &origin);
    findings.extend(found);
    (spec, origin, findings)
}
