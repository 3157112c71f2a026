//! The objects that tell Flux or Argo CD which directories of the output to apply, and in which order.
//!
//! They are made of what the output directory will have, so a cluster that is left as it is keeps its own.
//!
//! What can go wrong here switches machines off, so for both agents:
//!
//! * Only services are ever deleted with the object that applied them; hosts and definitions never.
//! * What an object of the repo's own applies gets none of ours: two would fight over it.
//! * Names are at most 63 characters long: agents label what they apply with them.

mod argocd;
mod flux;

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::Tree;
use super::block::block_of;
use crate::api::gitops::Agent;
use crate::api::names::{ClusterKey, Namespace};
use crate::layout::{self, header};
use crate::plan::Plan;
use crate::site::gitops::Form;
use crate::site::{ServiceKind, Site, settings};

/// A directory of the output that an agent applies.
struct Delivery {
    /// The name of its object.
    name: String,
    /// Relative to the output directory.
    directory: Utf8PathBuf,
    holds: Holds,
    /// The names of those that come before it.
    after: Vec<String>,
    /// The file of its object, beside the agent's kustomization.
    file: String,
}

/// What a directory holds: it decides what an agent may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Holds {
    /// CustomResourceDefinitions. Deleted, they take every object of their kind along.
    Definitions,
    /// A cluster's services.
    Services,
    /// Hosts as the repo declares them, with their labels.
    Declared,
    /// Labels of hosts that somebody else makes.
    Observed,
    /// Hosts given back, without labels.
    Released,
}

/// The file of the object that is always there.
const ANCHOR: &str = "about.yaml";

/// The longest value of a label.
const LONGEST_NAME: usize = 63;

/// The files of the agent that the settings name; `tree` is what is rendered already.
pub(super) fn render(site: &Site, plan: &Plan, tree: &Tree) -> Tree {
    let mut files = Tree::new();
    let Some(agent) = site.settings.gitops else { return files };
    let directory = layout::agent_directory(agent);
    let mut listed = BTreeSet::new();
    for delivery in deliveries(site, plan, tree) {
        let object = match agent {
            Agent::Flux => flux::kustomization(&delivery, &site.settings),
            Agent::Argocd => argocd::application(&delivery, &site.settings),
        };
        let file = files.entry(directory.join(&delivery.file)).or_insert_with(|| header(settings::FILE));
        file.push_str(&object);
        listed.insert(delivery.file);
    }
    let anchor = match agent {
        Agent::Flux => anchor(&site.settings.flux.namespace),
        Agent::Argocd => anchor(&site.settings.argocd.namespace),
    };
    files.insert(directory.join(ANCHOR), header(settings::FILE) + &anchor);
    listed.insert(ANCHOR.to_owned());
    let mut text = header(settings::FILE) + super::hosts::KUSTOMIZATION_HEAD + "resources:\n";
    listed.iter().for_each(|file| super::hosts::write_item(&mut text, "", file));
    files.insert(directory.join(layout::KUSTOMIZATION), text);
    files
}

/// An object that is always there. Without it the directory would vanish with the last cluster, and the agent that
/// applies it would find nothing to compare with and leave that cluster's services running.
fn anchor(namespace: &Namespace) -> String {
    let metadata = json!({ "name": "sipgen", "namespace": namespace });
    let data =
        json!({ "about": "What sipgen tells this agent to apply. This object is here even when that is nothing." });
    format!("---\napiVersion: v1\nkind: ConfigMap{}\n", block_of(json!({ "data": data, "metadata": metadata })))
}

/// An object as a document of its own.
fn document(api_version: &str, kind: &str, metadata: Value, spec: Value) -> String {
    let body = block_of(json!({ "metadata": metadata, "spec": spec }));
    format!("---\napiVersion: {api_version}\nkind: {kind}{body}\n")
}

/// The path of a directory of the output in an agent's source, where the repo is at `prefix`.
fn in_source(prefix: &Utf8Path, output: &Utf8Path, delivery: &Delivery) -> Utf8PathBuf {
    prefix.join(output).join(&delivery.directory)
}

/// Everything that is to be applied, in the order in which that is done.
fn deliveries(site: &Site, plan: &Plan, tree: &Tree) -> Vec<Delivery> {
    let kept = plan.frozen.iter().filter_map(|cluster| site.state.files.get(cluster)).flatten();
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
            name: definitions_name(),
            directory: definitions,
            holds: Holds::Definitions,
            after: Vec::new(),
            file: "crds.yaml".to_owned(),
        });
    }
    let clusters: BTreeSet<&ClusterKey> = plan.clusters.keys().chain(&plan.frozen).collect();
    for cluster in &clusters {
        let file = layout::patch_file(cluster);
        let services = layout::cluster_directory(cluster);
        let observed = layout::observed_directory(cluster);
        let mut before = Vec::new();
        let services_name = name_of_cluster("services", cluster);
        if is_ours(&services) {
            let auth = services.join(ServiceKind::Auth.component());
            let has_auth = present.range(auth.as_path()..).next();
            let has_auth = has_auth.is_some_and(|file| file.as_str().starts_with(auth.as_str()));
            let after = if has_auth && has_definitions { vec![definitions_name()] } else { Vec::new() };
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
            all.push(Delivery {
                name: name_of_cluster("observed", cluster),
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
        let has_hosts_there =
            |cluster: &&&ClusterKey| present.contains(directory.join(layout::patch_file(cluster)).as_path());
        let with_services = clusters.iter().filter(has_hosts_there);
        let with_services = with_services.filter(|cluster| is_ours(&layout::cluster_directory(cluster)));
        all.push(Delivery {
            name: name_of_root(&root.directory),
            after: with_services.map(|cluster| name_of_cluster("services", cluster)).collect(),
            directory,
            holds: Holds::Declared,
            file: "hosts.yaml".to_owned(),
        });
    }
    let released = layout::released_directory();
    if is_ours(&released) {
        let hosts = all.iter().filter(|delivery| matches!(delivery.holds, Holds::Declared | Holds::Observed));
        let after = hosts.map(|delivery| delivery.name.clone()).collect();
        all.push(Delivery {
            name: name("released", "", true),
            directory: released,
            holds: Holds::Released,
            after,
            file: "released.yaml".to_owned(),
        });
    }
    all.sort_by(|a, b| (a.holds, &a.name).cmp(&(b.holds, &b.name)));
    all
}

fn definitions_directory() -> Utf8PathBuf {
    Utf8Path::new(layout::CRDS).join("dex")
}

fn definitions_name() -> String {
    name("crds", "dex", true)
}

/// The name of an object that is of a cluster. Namespaces have no dots, so no two clusters have one name.
fn name_of_cluster(kind: &str, cluster: &ClusterKey) -> String {
    name(kind, &format!("{}.{}", cluster.namespace, cluster.name), true)
}

/// The name of the object that applies the overlay over a directory.
fn name_of_root(directory: &Utf8Path) -> String {
    let is_plain = directory.iter().all(is_dns_label);
    let parts: Vec<&str> = directory.iter().collect();
    name("declared", &parts.join(if is_plain { "." } else { "/" }), is_plain)
}

/// The name of an object: `sipgen`, what it is of, and the rest. A rest that is no name, or too long, is made one, and
/// a hash tells it from others.
fn name(kind: &str, rest: &str, is_plain: bool) -> String {
    let parts: Vec<&str> = ["sipgen", kind, rest].into_iter().filter(|part| !part.is_empty()).collect();
    let whole = parts.join(".");
    if is_plain && whole.len() <= LONGEST_NAME {
        return whole;
    }
    let digest = Sha256::digest(whole.as_bytes());
    let hash: String = digest.iter().take(5).map(|byte| format!("{byte:02x}")).collect();
    let lowercase = whole.to_ascii_lowercase();
    let labels = lowercase.split(|c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit() && c != '-');
    let labels: Vec<&str> = labels.map(|label| label.trim_matches('-')).filter(|label| !label.is_empty()).collect();
    let short: String = labels.join(".").chars().take(LONGEST_NAME - hash.len() - 1).collect();
    format!("{}-{hash}", short.trim_end_matches(['-', '.']))
}

fn is_dns_label(text: &str) -> bool {
    let is_dns = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty() && text.chars().all(is_dns) && !text.starts_with('-') && !text.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(key: &str) -> String {
        name_of_cluster("services", &key.parse().unwrap())
    }

    #[test]
    fn an_object_is_named_after_what_it_applies() {
        assert_eq!(cluster("tenant-a/edge"), "sipgen.services.tenant-a.edge");
        assert_eq!(name_of_root("sites/lab".into()), "sipgen.declared.sites.lab");
        assert_eq!(name_of_root("".into()), "sipgen.declared");
        assert_eq!(name("released", "", true), "sipgen.released");
    }

    #[test]
    fn no_two_names_are_alike_and_all_are_names() {
        let part = "x".repeat(63);
        let clusters = ["a-b/c", "a/b-c", "a/b.c"].map(str::to_owned).into_iter().chain([
            format!("{part}/{part}.{part}.{part}.y"),
            format!("{part}/{part}.{part}.{part}.z"),
            format!("{part}/y"),
        ]);
        let roots =
            ["a-b/c", "a/b-c", "a/b.c", "a/b/c", "a.b/c", "A/b/c", "Sites/Lab 1", "sites/lab_1", "сайт", "_", ""];
        let names: Vec<String> =
            clusters.map(|key| cluster(&key)).chain(roots.map(|root| name_of_root(root.into()))).collect();

        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), 6 + roots.len(), "{names:?}");
        for name in names {
            assert!(name.len() <= LONGEST_NAME && name.split('.').all(is_dns_label), "{name}");
        }
    }
}
