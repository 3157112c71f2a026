//! Renders the objects by which Flux or Argo CD applies the directories of the output in order.
//!
//! They are derived from the future content of the output directory, so a frozen cluster keeps its
//! objects.
//!
//! A wrong object can power machines off, hence these rules for both agents:
//!
//! * Only services and installers are ever deleted with the object that applied them; hosts and
//!   definitions never.
//! * A directory that the repo's own object applies gets no object of sipgen's, because the two
//!   would fight over it.

mod argocd;
mod flux;
mod names;

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};

use super::Tree;
use super::services::kinds_with_definitions;
use super::yaml_block::block_of;
use crate::api::gitops::Agent;
use crate::api::names::{ClusterKey, Namespace};
use crate::layout::{self, header};
use crate::plan::Plan;
use crate::settings::gitops::Form;
use crate::site::Site;

use names::Names;

/// A directory of the output that an agent applies.
struct Delivery {
    /// Name of the object that applies it.
    name: String,
    /// Path relative to the output directory.
    directory: Utf8PathBuf,
    holds: Holds,
    /// Names of the objects that must be applied before.
    after: Vec<String>,
    /// File of the object, beside the agent's kustomization.
    file: String,
}

/// Content of a directory, which decides what an agent may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Holds {
    /// CustomResourceDefinitions. Deleting one deletes every object of its kind.
    Definitions,
    /// A cluster's services.
    Services,
    /// An anchor object only: what depends on it is applied after all services.
    AfterServices,
    /// Hosts that the repo declares, with their labels.
    Declared,
    /// Labels of observed hosts.
    Observed,
    /// Installer of a cluster. It runs for long, so nothing waits for it.
    Installer,
    /// Released hosts, without labels.
    Released,
}

/// File of the anchor object.
const ANCHOR: &str = "about.yaml";

/// The Kustomization that is applied after all services: its file, and the directory that it
/// applies.
const AFTER_SERVICES: (&str, &str) = ("services.yaml", "services");

/// Renders the files of the agent in the settings. `tree` has all other files.
pub(super) fn render(site: &Site, plan: &Plan, tree: &Tree) -> Tree {
    let mut files = Tree::new();
    let Some(agent) = site.settings.gitops else {
        return files;
    };
    let directory = layout::agent_directory(agent);
    let (names, namespace) = match agent {
        Agent::Flux => (
            Names(site.settings.flux.name.as_str()),
            &site.settings.flux.namespace,
        ),
        Agent::Argocd => (
            Names(site.settings.argocd.name.as_str()),
            &site.settings.argocd.namespace,
        ),
    };
    let made_from = site.settings.file.to_string();
    let mut listed = BTreeSet::new();
    for delivery in deliveries(site, plan, tree, agent, names) {
        let object = match agent {
            Agent::Flux => flux::kustomization(&delivery, &site.settings),
            Agent::Argocd => argocd::application(&delivery, &site.settings),
        };
        let file = files
            .entry(directory.join(&delivery.file))
            .or_insert_with(|| header(&made_from));
        file.push_str(&object);
        listed.insert(delivery.file);
    }
    let about =
        "What sipgen tells this agent to apply. This object is here even when that is nothing.";
    listed.insert(ANCHOR.to_owned());
    write_kustomization(
        &mut files,
        &made_from,
        &directory,
        &listed,
        &anchor(names.0, namespace, about),
    );
    if agent == Agent::Flux {
        let about = "What depends on the Kustomization of this name comes after the services of all clusters.";
        let anchor = anchor(&site.settings.flux.after_services(), namespace, about);
        let listed = BTreeSet::from([ANCHOR.to_owned()]);
        write_kustomization(
            &mut files,
            &made_from,
            &directory.join(AFTER_SERVICES.1),
            &listed,
            &anchor,
        );
    }
    files
}

/// Adds a kustomization that lists some files, and writes the anchor among them.
fn write_kustomization(
    files: &mut Tree,
    made_from: &str,
    directory: &Utf8Path,
    listed: &BTreeSet<String>,
    anchor: &str,
) {
    files.insert(directory.join(ANCHOR), header(made_from) + anchor);
    let mut text = header(made_from) + super::hosts::KUSTOMIZATION_HEAD + "resources:\n";
    listed
        .iter()
        .for_each(|file| super::hosts::write_item(&mut text, "", file));
    files.insert(directory.join(layout::KUSTOMIZATION), text);
}

/// Returns an object that always exists.
///
/// Without it, the directory would vanish with the last cluster. The agent would then find nothing
/// to compare with and leave that cluster's services running.
fn anchor(name: &str, namespace: &Namespace, about: &str) -> String {
    let metadata = json!({ "name": name, "namespace": namespace });
    let data = json!({ "about": about });
    format!(
        "---\napiVersion: v1\nkind: ConfigMap{}\n",
        block_of(json!({ "data": data, "metadata": metadata }))
    )
}

/// Formats an object as a document.
fn document(api_version: &str, kind: &str, metadata: Value, spec: Value) -> String {
    let body = block_of(json!({ "metadata": metadata, "spec": spec }));
    format!("---\napiVersion: {api_version}\nkind: {kind}{body}\n")
}

/// Returns the path of an output directory in an agent's source, where the repo is at `prefix`.
fn in_source(prefix: &Utf8Path, output: &Utf8Path, delivery: &Delivery) -> Utf8PathBuf {
    prefix.join(output).join(&delivery.directory)
}

/// Returns all directories to apply, in order.
fn deliveries(
    site: &Site,
    plan: &Plan,
    tree: &Tree,
    agent: Agent,
    names: Names<'_>,
) -> Vec<Delivery> {
    let kept = plan
        .frozen
        .iter()
        .filter_map(|cluster| site.state.files.get(cluster))
        .flatten();
    // Files of frozen clusters stay, so their objects must stay as well.
    let present: BTreeSet<&Utf8Path> = tree.keys().chain(kept).map(Utf8PathBuf::as_path).collect();
    let is_ours = |directory: &Utf8Path| {
        let is_built = present.contains(directory.join(layout::KUSTOMIZATION).as_path());
        is_built && !site.wiring.delivered.has(directory)
    };
    let mut all = Vec::new();

    let definitions = definitions_directory();
    let has_definitions = is_ours(&definitions);
    if has_definitions {
        all.push(Delivery {
            name: names.definitions(),
            directory: definitions,
            holds: Holds::Definitions,
            after: Vec::new(),
            file: "crds.yaml".to_owned(),
        });
    }
    let clusters: BTreeSet<&ClusterKey> = plan.clusters.keys().chain(&plan.frozen).collect();
    let is_installed = |cluster: &ClusterKey| {
        present.contains(
            layout::installer_directory(cluster)
                .join(layout::KUSTOMIZATION)
                .as_path(),
        )
    };
    // Hosts are labeled before anything is installed on them.
    let mut marked: BTreeMap<&ClusterKey, Vec<String>> = BTreeMap::new();
    for cluster in &clusters {
        let file = layout::patch_file(cluster);
        let services = layout::cluster_directory(cluster);
        let observed = layout::observed_directory(cluster);
        let mut before = Vec::new();
        let services_name = names.services(cluster);
        if is_ours(&services) && !is_installed(cluster) {
            let requires_definitions = kinds_with_definitions().any(|kind| {
                let service = services.join(kind.descriptor().component);
                let first = present.range(service.as_path()..).next();
                first.is_some_and(|file| file.as_str().starts_with(service.as_str()))
            });
            let after = if requires_definitions && has_definitions {
                vec![names.definitions()]
            } else {
                Vec::new()
            };
            before.push(services_name.clone());
            all.push(Delivery {
                name: services_name,
                directory: services,
                holds: Holds::Services,
                after,
                file: file.clone(),
            });
        }
        if is_ours(&observed) {
            marked
                .entry(cluster)
                .or_default()
                .push(names.observed(cluster));
            all.push(Delivery {
                name: names.observed(cluster),
                directory: observed,
                holds: Holds::Observed,
                after: before,
                file,
            });
        }
    }
    for (index, root) in &site.inventory.roots {
        if site.settings.hosts.form == Form::Component || site.wiring.applied.contains(index) {
            continue;
        }
        let directory = layout::declared_directory(&root.directory);
        let has_hosts_there = |cluster: &&&ClusterKey| {
            present.contains(directory.join(layout::patch_file(cluster)).as_path())
        };
        let with_hosts = clusters.iter().filter(has_hosts_there);
        for cluster in with_hosts {
            marked
                .entry(cluster)
                .or_default()
                .push(names.declared(&root.directory));
        }
        all.push(Delivery {
            name: names.declared(&root.directory),
            directory,
            holds: Holds::Declared,
            // No dependency: this build moves hosts between all tenants, and one service that fails
            // would block it for all.
            after: Vec::new(),
            file: "hosts.yaml".to_owned(),
        });
    }
    for cluster in clusters.iter().filter(|cluster| is_installed(cluster)) {
        let directory = layout::cluster_directory(cluster);
        if is_ours(&directory) {
            all.push(Delivery {
                name: names.services(cluster),
                directory,
                holds: Holds::Installer,
                after: marked.remove(cluster).unwrap_or_default(),
                file: layout::patch_file(cluster),
            });
        }
    }
    if agent == Agent::Flux {
        let services = all
            .iter()
            .filter(|delivery| delivery.holds == Holds::Services);
        all.push(Delivery {
            name: site.settings.flux.after_services(),
            after: services.map(|delivery| delivery.name.clone()).collect(),
            directory: layout::agent_directory(agent).join(AFTER_SERVICES.1),
            holds: Holds::AfterServices,
            file: AFTER_SERVICES.0.to_owned(),
        });
    }
    let released = layout::released_directory();
    if is_ours(&released) {
        all.push(Delivery {
            name: names.released(),
            directory: released,
            holds: Holds::Released,
            // No dependency on the clusters' hosts: one cluster that fails would block the release
            // of all others.
            after: Vec::new(),
            file: "released.yaml".to_owned(),
        });
    }
    // The order of `Holds` is the order of application.
    all.sort_by(|a, b| (a.holds, &a.name).cmp(&(b.holds, &b.name)));
    all
}

fn definitions_directory() -> Utf8PathBuf {
    Utf8Path::new(layout::CRDS).join("dex")
}
