//! Kustomizations that include the components of hosts.
//!
//! kustomize runs the components of a kustomization after its resources and before its own
//! `namespace:`. So a patch in a component must use the namespace that the kustomizations below
//! give to a host.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use camino::{Utf8Path, Utf8PathBuf};

use super::repo::{DeliveryRepo, shown};
use crate::base::api::kustomization::listed;
use crate::base::api::names::HostKey;
use crate::base::finding::{Code, Finding};
use crate::base::grouping::grouped;
use crate::base::text::{abbreviated, counted};
use crate::input::kustomize::{BuildRoot, ListField, Listing};
use crate::input::load::kustomize::relative;
use crate::site::inventory::{Evidence, Host};

/// Maximum number of hosts that a message lists.
const SHOWN: usize = 5;

/// Component that patches a root's hosts.
#[derive(Debug)]
pub struct Component {
    /// Directory of the kustomization that includes the component, or that should include it.
    pub directory: Utf8PathBuf,
    /// Set if it does.
    pub included: bool,
    /// Namespace of the hosts of a file at that point, if a kustomization below sets one.
    namespaces: HashMap<Utf8PathBuf, Option<String>>,
}

impl Component {
    /// Returns the namespace of a host where the component runs, if it has one there.
    pub fn namespace_of<'a>(&'a self, host: &'a Host) -> Option<&'a str> {
        if let Some(level) = host.origin.level(&self.directory) {
            return level.namespace.as_deref();
        }
        let file = host.file.as_deref();
        let given = file.and_then(|file| self.namespaces.get(file)).and_then(Option::as_deref);
        given.or(host.own_namespace.as_deref())
    }

    /// Returns the name of a host where the component runs.
    pub fn name_of<'a>(&'a self, host: &'a Host) -> &'a str {
        let level = host.origin.level(&self.directory);
        level.map_or(host.key.name.as_str(), |level| level.name.as_str())
    }
}

/// Returns the component of each root, and findings about misplaced ones.
pub(super) fn included(repo: &DeliveryRepo<'_>) -> (BTreeMap<usize, Component>, Vec<Finding>) {
    let top = repo.patches_of("".into());
    let mut listings = grouped(repo.listings_below(&top));
    let (mut components, mut findings) = (BTreeMap::new(), Vec::new());
    for (index, root) in &repo.inventory.roots {
        let directory = repo.patches_of(&root.directory);
        let listings = listings.remove(directory.as_path()).unwrap_or_default();
        let (component, found) = root_component(repo, *index, root, &directory, &listings);
        components.insert(*index, component);
        findings.extend(found);
    }
    (components, findings)
}

fn root_component(
    repo: &DeliveryRepo<'_>,
    index: usize,
    root: &BuildRoot,
    component: &Utf8Path,
    listings: &[Listing<'_>],
) -> (Component, Vec<Finding>) {
    let is_of_root = |host: &&Host| host.evidence == Evidence::Applied { root: index };
    let hosts: Vec<&Host> = repo.inventory.hosts.iter().filter(is_of_root).collect();
    let files: BTreeSet<&Utf8Path> = hosts.iter().filter_map(|host| host.file.as_deref()).collect();
    let misplaced = |listing: &Listing<'_>, what: &str| {
        Finding::new(Code::ComponentMisplaced, format!("{component} is {what}"))
            .at(listing.place.clone())
    };
    let (mut included, mut findings) = (Vec::new(), Vec::new());
    for listing in listings {
        let (what, help) = match listing.among {
            ListField::Components(before) => {
                included.push((listing, before));
                continue;
            }
            ListField::Resources => {
                ("listed among the resources, but is a component", "list it under `components`")
            }
            ListField::ComponentsOfComponent => (
                "listed in a component, whose hosts are unknown",
                "list it in the kustomization that has the hosts among its resources",
            ),
        };
        findings.push(misplaced(listing, what).help(help));
    }
    if let [(first, _), (second, _), ..] = included[..] {
        let finding = misplaced(second, "included twice, so its patches are applied twice")
            .see(first.place.clone(), "the other line");
        let help = "keep one of the lines, in a kustomization that reaches every host";
        findings.push(finding.help(help));
    }
    let (lowest, at_end) = repo.builds.lowest(&root.directory, &files);
    let (directory, before) = match included.first() {
        Some((listing, before)) => (listing.directory.to_owned(), *before),
        None => (lowest.clone(), at_end),
    };
    let reached = repo.builds.before_component(&directory, before);
    if let Some((listing, _)) = included.first() {
        // Only kustomize knows the origin of a host without a file.
        let is_missing =
            |host: &&&Host| host.file.as_deref().is_some_and(|file| !reached.contains_key(file));
        let missing: Vec<&Host> = hosts.iter().filter(is_missing).copied().collect();
        if !missing.is_empty() {
            let names: Vec<&HostKey> = missing.iter().map(|host| &host.key).collect();
            let what = format!(
                "included where {} that it patches are missing: {}",
                counted(missing.len(), "host"),
                abbreviated(&names, SHOWN)
            );
            let help = if listing.directory == lowest {
                "move the line to the end of `components`: components run in their order".to_owned()
            } else {
                line_to_add(repo, component, &lowest, "move the line: ")
            };
            let shown = missing.iter().take(SHOWN).map(|host| (host.origin.name(), "out of reach"));
            findings.push(misplaced(listing, &what).help(help).see_each(shown));
        }
    } else if listings.is_empty() {
        // Otherwise, a misplaced listing has been reported.
        findings.extend(not_included(repo, component, &lowest, hosts.len()));
    }
    let namespaces = reached.into_iter().filter_map(|(file, ways)| {
        Some((file, ways.into_iter().next()?.namespace.map(|(namespace, _)| namespace)))
    });
    let (included, namespaces) = (!included.is_empty(), namespaces.collect());
    (Component { directory, included, namespaces }, findings)
}

fn not_included(
    repo: &DeliveryRepo<'_>,
    component: &Utf8Path,
    lowest: &Utf8Path,
    hosts: usize,
) -> Option<Finding> {
    let place = repo.builds.place_in(lowest, "components")?;
    let are = if hosts == 1 { "host gets its" } else { "hosts get their" };
    let message =
        format!("{hosts} declared {are} labels from {component}, which no kustomization includes");
    let help = line_to_add(repo, component, lowest, "");
    Some(Finding::new(Code::NotIncluded, message).at(place).help(help))
}

/// Returns the help: the line to add and its file.
fn line_to_add(
    repo: &DeliveryRepo<'_>,
    component: &Utf8Path,
    directory: &Utf8Path,
    to_do: &str,
) -> String {
    let file = repo.builds.kustomization_file(directory);
    let file = file.map_or_else(|| shown(directory), |file| file.to_string());
    let way = relative(directory, component);
    format!("{to_do}add it to {file}:\ncomponents:\n  - {}", listed(way.as_str()))
}
