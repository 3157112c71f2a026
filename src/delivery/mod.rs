//! How the output is wired into the repo: which of its kustomizations and of its agents' objects come at the hosts.
//!
//! * `listings`: kustomizations of the repo that list a directory of ours.
//! * `components`: the kustomizations that include the components of hosts.
//! * `applied`: the directories that objects of the repo tell Flux or Argo CD to apply.
//! * `generators`: what ApplicationSets make of parameters.
//! * `followed`: the same, before it is known what a site reads.
//! * `aside`: objects that only seem to do so.
//! * `clusters`: the clusters that Argo CD knows by Secrets of the repo.
//! * `includes`: sources of Flux whose files are copied into others.
//! * `conditions`: whether the agent can apply what sipgen writes; what a project allows, rendering knows.
//! * `delivered`: those of them that have what sipgen writes, declared hosts aside.
//! * `rendered_twice`: what is wrong when those reach hosts that sipgen's own output reaches too.
//!
//! One object must have one renderer: two that differ in labels take them from each other for ever.

mod applied;
mod aside;
mod clusters;
mod components;
mod conditions;
mod delivered;
mod followed;
mod generators;
mod includes;
mod listings;
mod rendered_twice;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

use crate::api::gitops::{Agent, AppProject, FluxSource};
use crate::api::names::HostKey;
use crate::finding::{Code, Finding, Origin, Place};
use crate::inventory::Inventory;
use crate::kustomize::{Among, Builds, Listing};
use crate::layout;
use crate::load::Files;
use crate::settings::gitops::Form;
use crate::settings::{self, Settings};

pub(crate) use applied::AgentObject;
pub(crate) use applied::in_repo;
pub use components::Component;
pub use delivered::Delivered;
pub(crate) use followed::{Followed, followed};

use applied::Context;
use clusters::Cluster;

/// How the output is wired into the repo.
#[derive(Debug, Default)]
pub struct Wiring {
    /// The roots that objects of the repo's own make the chosen agent apply, with labels or still without: no object
    /// of ours is to apply them, too.
    pub applied: BTreeSet<usize>,
    /// The other directories of the output that they make it apply.
    pub delivered: Delivered,
    /// Where each root's hosts are patched, when that is done by components.
    pub components: BTreeMap<usize, Component>,
    /// The projects of Argo CD that decide what our Applications may apply.
    pub(crate) projects: Vec<(Origin, AppProject)>,
}

/// What the wiring is worked out from.
struct Repo<'a> {
    files: &'a Files,
    settings: &'a Settings,
    inventory: &'a Inventory,
    builds: &'a Builds,
    /// Every document that describes a host.
    documents: &'a [(HostKey, Origin)],
    /// Further files whose directories generators may name.
    paths: &'a [Utf8PathBuf],
    /// The sources of Flux.
    sources: Vec<(Origin, FluxSource)>,
    /// The clusters that Argo CD knows by Secrets of the repo.
    clusters: Vec<Cluster>,
    /// The components that agents add to kustomizations: what is listed, where, and the kustomization's directory.
    added: Vec<(Utf8PathBuf, Place, Utf8PathBuf)>,
}

/// Works out how the output is wired into the repo, and what is wrong with that. `closed` are the directories that
/// cannot be read.
pub(crate) fn wire(
    files: &Files,
    settings: &Settings,
    inventory: &Inventory,
    builds: &Builds,
    documents: &[(HostKey, Origin)],
    objects: Vec<AgentObject>,
    closed: &[(Utf8PathBuf, String)],
) -> (Wiring, Vec<Finding>) {
    let Context {
        projects,
        sources,
        clusters,
    } = Context::of(&objects, builds);
    let added = Vec::new();
    let mut repo = Repo {
        files,
        settings,
        inventory,
        builds,
        documents,
        paths: &[],
        sources,
        clusters,
        added,
    };
    let applied = applied::directories(&repo, objects);
    let is_here = |applied: &&applied::Applied| applied.aside.is_none() && applied.is_build(&repo);
    let added = applied.iter().filter(is_here).flat_map(|applied| {
        let added = applied.components.iter();
        added.map(|(listed, place)| (listed.clone(), place.clone(), applied.directory.clone()))
    });
    let added: Vec<_> = added.collect();
    repo.added = added;
    let own_project = settings.argocd.project.as_str();
    let projects = projects
        .into_iter()
        .filter(|(_, project)| project.metadata.name == own_project)
        .collect();
    let mut wiring = Wiring {
        projects,
        ..Wiring::default()
    };
    let mut findings = Vec::new();
    match settings.hosts.form {
        Form::Overlay => findings.extend(listings::of_overlays(&repo)),
        Form::Component => {
            let (components, found) = components::included(&repo);
            wiring.components = components;
            findings.extend(found);
        }
    }
    findings.extend(changed_agent(&repo));
    findings.extend(rendered_twice::check(&repo, &mut wiring, &applied));
    findings.extend(conditions::check(&repo, &wiring, &applied));
    findings.extend(
        applied
            .iter()
            .filter_map(|applied| conditions::unread(applied, closed)),
    );
    (wiring, findings)
}

/// The output is still that for the other agent: this one's objects would take its place at once, and hosts lose the
/// guards against the other while that still applies them.
fn changed_agent(repo: &Repo<'_>) -> Option<Finding> {
    let (other, name) = match repo.settings.gitops? {
        Agent::Flux => (Agent::Argocd, "Argo CD"),
        Agent::Argocd => (Agent::Flux, "Flux"),
    };
    let directory = repo.settings.output.join(layout::agent_directory(other));
    let file = directory.join(layout::KUSTOMIZATION);
    let is_generated = repo
        .files
        .text(&file)
        .is_some_and(|text| layout::is_ours(text.as_bytes()));
    is_generated.then(|| {
        Finding::new(
            Code::AgentChanged,
            format!("the output is for {name}, and may not be for another agent from one run to the next"),
        )
        .at(settings::place(repo.files, ["gitops".into()]))
        .see(Place::File(Arc::from(file.as_path())), format!("what {name} applies"))
        .help(format!(
            "first have {name} let go of the services, or it deletes them: docs/gitops.md says how, under \"Change \
                 the agent\"; then remove `gitops`, generate, and let {name} apply the hosts, which bear the guards of \
                 both agents then; at last set `gitops` anew"
        ))
    })
}

impl Repo<'_> {
    /// The places that list directories below one: kustomizations of the repo, and agents that add components to them.
    fn listings_below<'b>(&'b self, top: &'b Utf8Path) -> Vec<(&'b Utf8Path, Listing<'b>)> {
        let added = self
            .added
            .iter()
            .filter(|(listed, ..)| listed.starts_with(top));
        let added = added.map(|(listed, place, directory)| {
            let (place, among) = (place.clone(), Among::Components(usize::MAX));
            (
                listed.as_path(),
                Listing {
                    directory,
                    place,
                    among,
                },
            )
        });
        self.builds
            .listings_below(top)
            .into_iter()
            .chain(added)
            .collect()
    }

    /// The directory of a root's patches, relative to the repo's root.
    fn patches_of(&self, root: &Utf8Path) -> Utf8PathBuf {
        self.settings.output.join(layout::declared_directory(root))
    }
}

/// A directory as people read it.
fn shown(directory: &Utf8Path) -> String {
    if directory.as_str().is_empty() {
        "the repo's root".to_owned()
    } else {
        directory.to_string()
    }
}
