//! The site: everything that a repo says of clusters and hosts, checked and joined into one whole.
//!
//! * `settings`: what `sipgen.yaml` says; `gitops` is what it says of agents.
//! * `builds`: which kustomization reaches which file, and with which namespace.
//! * `cluster`: what a SIPCluster asks for; `request` and `selector` check it.
//! * `auth`: what of that concerns Dex.
//! * `host`: one host, joined from manifest and snapshot; `networks` are its addresses.
//! * `hardware`: what inspection found in the hosts, read on demand.
//! * `appliers`: which agent applies a host in full, as its snapshot says.
//! * `inventory`: every host once.
//! * `wiring`: which kustomizations and agents' objects of the repo come at the hosts.
//! * `state`: what the last run wrote, which is who has which host; `generated_host` reads one host of it.
//! * `objects`: from documents to typed objects with the names that their builds give them.
//! * `doubtful`: values of hosts that other programs read otherwise.
//! * `fields`: those of a SIPCluster that its current generation does not have.
//! * `unwritable`: texts that must not reach a file.
//! * `clashes`: what two services cannot both have.
//!
//! How hosts are chosen is not known here.

mod appliers;
pub mod auth;
pub mod builds;
mod clashes;
pub mod cluster;
mod doubtful;
mod fields;
pub(crate) mod generated_host;
pub mod gitops;
pub mod hardware;
pub mod host;
pub mod inventory;
pub mod networks;
mod objects;
mod request;
mod selector;
pub mod settings;
pub mod state;
mod unwritable;
pub mod wiring;

use std::collections::BTreeMap;

use crate::api::names::{ClusterKey, HostKey, ObjectName};
use crate::finding::{Code, Finding};
use crate::source::{Files, Origin, ReadError};

use builds::Builds;

pub use auth::Auth;
pub use cluster::{Cluster, Detail, NodeSet, Service, ServiceKind};
pub use host::{Host, Standing};
pub use inventory::Inventory;
pub use settings::Settings;
pub use state::State;
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
    /// Which kustomization reaches which file.
    builds: Builds,
}

/// A SIPCluster of the repo.
#[derive(Debug)]
pub struct Request {
    /// Where it stands.
    pub origin: Origin,
    /// What it asks for; nothing when that is invalid, which a finding says.
    pub cluster: Option<Cluster>,
}

impl Site {
    /// Reads a repo, and what the last run wrote into it. What is wrong with the content is in the findings.
    ///
    /// # Errors
    ///
    /// When a file or directory cannot be read.
    pub fn read(repo: &Files, settings: Settings) -> Result<(Self, Vec<Finding>), ReadError> {
        let (objects, mut findings) = objects::read(repo, &settings.output)?;
        let documents: Vec<(HostKey, Origin)> =
            objects.hosts.iter().map(|document| (document.key.clone(), document.origin.clone())).collect();
        let (inventory, found) = inventory::assemble(objects.hosts, objects.secrets, &objects.builds, &settings);
        findings.extend(found);
        let (wiring, found) =
            wiring::wire(repo, &settings, &inventory, &objects.builds, &documents, objects.agent_objects);
        findings.extend(found);

        let mut clusters: BTreeMap<ClusterKey, Request> = BTreeMap::new();
        for document in objects.clusters {
            let objects::ClusterDocument { key, origin, priority, spec } = document;
            if let Some(other) = clusters.get(&key) {
                findings.push(
                    Finding::new(Code::DuplicateCluster, format!("there are two SIPClusters {key}"))
                        .at(origin.start())
                        .see(other.origin.start(), "the other one")
                        .help("remove one of them, or give it another name")
                        .of(&key),
                );
                continue;
            }
            let cluster = spec.and_then(|spec| {
                let (cluster, found) = request::check(key.clone(), origin.clone(), priority.as_deref(), &spec);
                findings.extend(found);
                cluster
            });
            clusters.insert(key, Request { origin, cluster });
        }
        let valid = clusters.values().filter_map(|request| request.cluster.as_ref());
        let contested = clashes::node_ports(valid.clone());
        findings.extend(clashes::dex_storage(valid.clone()));

        let (state, found) = State::read(repo, &settings.output)?;
        findings.extend(found);
        // One that two ask for moves in any case.
        findings.extend(if contested.is_empty() { clashes::moved_node_ports(valid, &state) } else { contested });
        findings.extend(mistaken_for_templates(repo, &state, &clusters, &objects.templates));
        Ok((Self { settings, clusters, inventory, wiring, state, builds: objects.builds }, findings))
    }
}

/// A cluster that is gone gives its hosts back. It is not gone when its SIPCluster has merely become unreadable,
/// and has double braces somewhere, so that it passes for a template of another tool.
fn mistaken_for_templates(
    repo: &Files,
    state: &State,
    clusters: &BTreeMap<ClusterKey, Request>,
    templates: &[Origin],
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for cluster in state.clusters().into_iter().filter(|cluster| !clusters.contains_key(cluster)) {
        let may_be = |origin: &&Origin| repo.text(&origin.file).is_some_and(|text| names(&text, &cluster.name));
        findings.extend(templates.iter().find(may_be).map(|origin| {
            Finding::new(
                Code::TakenForTemplate,
                format!("{cluster} seems to be gone, but a SIPCluster that cannot be read may be it"),
            )
            .at(origin.start())
            .help("it has `{{` in it, so it passes for a template: correct it, or remove it if the cluster is to go")
        }));
    }
    findings
}

/// Whether a text that cannot be parsed has something of this name.
fn names(text: &str, name: &ObjectName) -> bool {
    let is_name = |(at, name): (usize, &str)| {
        let key = text[..at].trim_end_matches([' ', '"', '\'', ':']);
        let longer = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
        key.ends_with("name") && !text[at + name.len()..].starts_with(longer)
    };
    text.match_indices(name.as_str()).any(is_name)
}
