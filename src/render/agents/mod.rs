//! The objects that tell Flux or Argo CD which directories of the output to apply, and in which order.
//!
//! They are made of what the output directory will have, so a cluster that is left as it is keeps its own.
//!
//! What can go wrong here switches machines off, so for both agents:
//!
//! * Only services are ever deleted with the object that applied them; hosts and definitions never.
//! * A root of declared hosts that an object of the repo's own applies gets none of ours: two would fight over it.
//! * Names are at most 63 characters long: agents label what they apply with them.

mod argocd;
mod flux;

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};
use sha2::{Digest, Sha256};

use super::Tree;
use super::block::block_of;
use crate::api::gitops::Agent;
use crate::api::names::ClusterKey;
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

/// The names of a label's values end here.
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
    // An agent that prunes deletes everything for a kustomization of nothing.
    if !listed.is_empty() {
        let mut text = header(settings::FILE) + super::hosts::KUSTOMIZATION_HEAD + "resources:\n";
        listed.iter().for_each(|file| super::hosts::write_item(&mut text, "", file));
        files.insert(directory.join(layout::KUSTOMIZATION), text);
    }
    files
}

/// An object as a document of its own.
fn document(api_version: &str, kind: &str, metadata: serde_json::Value, spec: serde_json::Value) -> String {
    let body = block_of(serde_json::json!({ "metadata": metadata, "spec": spec }));
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
    let is_built = |directory: &Utf8Path| present.contains(directory.join(layout::KUSTOMIZATION).as_path());
    let mut all = Vec::new();

    let definitions = definitions_directory();
    let has_definitions = is_built(&definitions);
    if has_definitions {
        all.push(Delivery::new(Holds::Definitions, "crds", &["dex"], definitions, Vec::new(), "crds.yaml"));
    }
    let clusters: BTreeSet<&ClusterKey> = plan.clusters.keys().chain(&plan.frozen).collect();
    for cluster in &clusters {
        let file = layout::patch_file(cluster);
        let services = layout::cluster_directory(cluster);
        let observed = layout::observed_directory(cluster);
        let mut before = Vec::new();
        if is_built(&services) {
            let auth = services.join(ServiceKind::Auth.component());
            let has_auth = present.range(auth.as_path()..).next();
            let has_auth = has_auth.is_some_and(|file| file.as_str().starts_with(auth.as_str()));
            let after = if has_auth && has_definitions { vec![name("crds", &["dex"])] } else { Vec::new() };
            all.push(Delivery::new(Holds::Services, "services", &parts(cluster), services, after, &file));
            before.push(name("services", &parts(cluster)));
        }
        if is_built(&observed) {
            all.push(Delivery::new(Holds::Observed, "observed", &parts(cluster), observed, before, &file));
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
        let with_services = with_services.filter(|cluster| is_built(&layout::cluster_directory(cluster)));
        let after = with_services.map(|cluster| name("services", &parts(cluster))).collect();
        let parts: Vec<&str> = root.directory.iter().collect();
        all.push(Delivery::new(Holds::Declared, "declared", &parts, directory, after, "hosts.yaml"));
    }
    let released = layout::released_directory();
    if is_built(&released) {
        let hosts = all.iter().filter(|delivery| matches!(delivery.holds, Holds::Declared | Holds::Observed));
        let after = hosts.map(|delivery| delivery.name.clone()).collect();
        all.push(Delivery::new(Holds::Released, "released", &[], released, after, "released.yaml"));
    }
    all.sort_by(|a, b| (a.holds, &a.name).cmp(&(b.holds, &b.name)));
    all
}

impl Delivery {
    fn new(holds: Holds, kind: &str, parts: &[&str], directory: Utf8PathBuf, after: Vec<String>, file: &str) -> Self {
        Self { name: name(kind, parts), directory, holds, after, file: file.to_owned() }
    }
}

fn definitions_directory() -> Utf8PathBuf {
    Utf8Path::new(layout::CRDS).join("dex")
}

fn parts(cluster: &ClusterKey) -> [&str; 2] {
    [cluster.namespace.as_str(), cluster.name.as_str()]
}

/// The name of an object: `sipgen`, what it is of, and its parts. Only the last part may have dots of its own, so two
/// objects never have one name; where a part is no name, or all of it is too long, a hash tells them apart.
fn name(kind: &str, parts: &[&str]) -> String {
    let whole = [&["sipgen", kind], parts].concat().join(".");
    let last = parts.len().saturating_sub(1);
    let is_dns = |part: &str| part.split('.').all(is_dns_label);
    let is_plain = |(at, part): (usize, &&str)| if at == last { is_dns(part) } else { is_dns_label(part) };
    if whole.len() <= LONGEST_NAME && parts.iter().enumerate().all(is_plain) {
        return whole;
    }
    // Between parts a slash, which no part has.
    let digest = Sha256::digest([&[kind], parts].concat().join("/").as_bytes());
    let hash: String = digest.iter().take(5).map(|byte| format!("{byte:02x}")).collect();
    let as_dns = |c: char| if c.is_ascii_lowercase() || c.is_ascii_digit() || c == '.' { c } else { '-' };
    let lowercase: String = whole.to_ascii_lowercase().chars().map(as_dns).collect();
    let labels: Vec<&str> =
        lowercase.split('.').map(|label| label.trim_matches('-')).filter(|label| !label.is_empty()).collect();
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

    #[test]
    fn an_object_is_named_after_what_it_applies() {
        assert_eq!(name("services", &["tenant-a", "edge"]), "sipgen.services.tenant-a.edge");
        assert_eq!(name("declared", &["sites", "lab"]), "sipgen.declared.sites.lab");
        assert_eq!(name("released", &[]), "sipgen.released");
        assert_eq!(name("declared", &[]), "sipgen.declared");
    }

    #[test]
    fn no_two_names_are_alike_and_all_are_names() {
        let long = "x".repeat(63);
        let longer = format!("{long}.{long}.{long}.y");
        let longest = format!("{long}.{long}.{long}.z");
        let all: &[&[&str]] = &[
            &["a-b", "c"],
            &["a", "b-c"],
            &["a", "b.c"],
            &["a.b", "c"],
            &["a", "b", "c"],
            &[long.as_str(), longer.as_str()],
            &[long.as_str(), longest.as_str()],
            &["Sites", "Lab 1"],
            &["sites", "lab_1"],
            &["sites", "lab-1"],
            &["сайт"],
            &["..."],
            &["_"],
        ];
        let names: BTreeSet<String> = all.iter().map(|parts| name("services", parts)).collect();
        assert_eq!(names.len(), all.len(), "{names:?}");
        for name in names {
            assert!(name.len() <= LONGEST_NAME && name.split('.').all(is_dns_label), "{name}");
        }
    }
}
