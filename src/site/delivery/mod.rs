//! Delivery of the output: kustomizations and agents' objects of the repo that reach hosts.
//!
//! * `repo`: input facts.
//! * `listings`: kustomizations of the repo that list a directory of the output.
//! * `components`: kustomizations that include the components of hosts.
//! * `agent_objects`: objects of Flux and Argo CD; `directories` finds what they apply, each an
//!   `applied`.
//! * `apply_options`: options by which the labels of hosts do not arrive.
//! * `build_changes`: fields of agents' objects that change what they build.
//! * `generators`: parameters of ApplicationSets; `clusters`: clusters that Secrets register in
//!   Argo CD.
//! * `includes`: Flux sources that are copied into others; `overrides`: files that change
//!   sources of Argo CD; `paths`: paths and globs of sources.
//! * `agents`: all such objects of a repo, before its hosts are known; `reached`: what one applies.
//! * `exclusion`: objects that only seem to apply this repo to the base cluster.
//! * `conditions`: conditions that prevent the agent from applying the output.
//! * `delivered`: directories of the output that the repo's own objects apply.
//! * `rendered_twice`: hosts that those and sipgen's own objects both apply.
//!
//! Each object must have one renderer: two that differ in labels revert each other for ever.

mod agent_objects;
mod agents;
mod applied;
pub(crate) mod apply_options;
mod build_changes;
mod clusters;
mod components;
mod conditions;
mod delivered;
mod directories;
mod exclusion;
mod generators;
mod includes;
mod listings;
mod overrides;
mod paths;
mod reached;
mod rendered_twice;
mod repo;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use camino::Utf8PathBuf;

use crate::base::api::gitops::GitopsAgent;
use crate::base::api::names::HostKey;
use crate::base::finding::{Code, Finding, Place};
use crate::base::layout;
use crate::input::kustomize::Builds;
use crate::input::load::Files;
use crate::input::settings::Settings;
use crate::input::settings::gitops::HostsForm;
use crate::site::inventory::Inventory;

pub(crate) use agent_objects::{AgentObject, AgentObjectContent, GROUPS};
pub(crate) use agents::{Agents, AppliedBuilds, applied_builds};
pub(crate) use applied::{AppliedDirectory, ObjectOption};
pub(crate) use build_changes::BuildChanges;
pub use components::Component;
pub use delivered::DeliveredOutput;
pub(crate) use reached::ReachedContent;
pub(crate) use repo::{RepoListing, kustomizations_of_output};

use reached::added_components;
use repo::DeliveryRepo;

/// Delivery of the output by the repo's kustomizations and agents.
#[derive(Debug, Default)]
pub struct DeliveryWiring {
    /// Roots that the chosen agent applies by the repo's own objects, with or without labels.
    /// sipgen must not write another object for them.
    pub applied: BTreeSet<usize>,
    /// Other directories of the output that these objects apply.
    pub delivered: DeliveredOutput,
    /// Object of the repo that makes the chosen agent apply the objects that sipgen writes for it.
    pub agent_objects_by: Option<String>,
    /// Component that patches each root's hosts, if components are used.
    pub components: BTreeMap<usize, Component>,
    /// Directories that agents' objects apply or add as components, with their places.
    pub(crate) named_by_agents: Vec<(Utf8PathBuf, Place)>,
}

/// Determines how the repo delivers the output, and reports mistakes. `closed` are directories that
/// cannot be read.
pub(crate) fn wire(
    files: &Files,
    settings: &Settings,
    inventory: &Inventory,
    builds: &Builds,
    agents: &Agents,
    reached: &[ReachedContent<'_>],
    closed: &[(Utf8PathBuf, String)],
) -> (DeliveryWiring, Vec<Finding>) {
    let mut findings = Vec::new();
    let Agents { context, applied, .. } = agents;
    let listing = RepoListing::default();
    let mut repo = DeliveryRepo::new(files, settings, inventory, builds, context, &listing);
    repo.added = added_components(&repo, applied);
    let mut wiring = DeliveryWiring::default();
    match settings.hosts.form {
        HostsForm::Overlay => findings.extend(listings::overlay_listings(&repo)),
        HostsForm::Component => {
            let (components, found) = components::included(&repo);
            wiring.components = components;
            findings.extend(found);
        }
    }
    findings.extend(changed_agent(&repo));
    findings.extend(rendered_twice::check(&repo, &mut wiring, reached));
    findings.extend(conditions::check(&repo, &wiring, applied, reached));
    findings.extend(conditions::unread(settings, applied, closed));
    // An Application of the repo has reported them for its hosts.
    if settings.gitops == Some(GitopsAgent::Argocd)
        && findings.iter().all(|it| it.code != Code::LabelsNotApplied)
    {
        let hosts: Vec<&HostKey> = inventory.hosts.iter().map(|host| &host.key).collect();
        let options = apply_options::from_argocd_settings(&repo, settings.argocd.project.as_str());
        findings.extend(apply_options::findings("Argo CD", &options, &hosts));
    }
    let added = repo.added.into_iter().map(|(listed, place, _)| (listed, place));
    let applied =
        applied.iter().filter(|applied| applied.exclusion.is_none() && !applied.is_generated);
    let applied = applied.map(|applied| (applied.directory.clone(), applied.place.clone()));
    wiring.named_by_agents = added.chain(applied).collect();
    (wiring, findings)
}

/// Reports an output that was written for the other agent. The new agent's objects would replace it
/// at once, and hosts would lose the guards against the old agent while that still applies them.
fn changed_agent(repo: &DeliveryRepo<'_>) -> Option<Finding> {
    let (other, name) = match repo.settings.gitops? {
        GitopsAgent::Flux => (GitopsAgent::Argocd, "Argo CD"),
        GitopsAgent::Argocd => (GitopsAgent::Flux, "Flux"),
    };
    let directory = repo.settings.output.join(layout::agent_directory(other));
    let file = directory.join(layout::KUSTOMIZATION);
    let is_generated = repo.files.text(&file).is_some_and(|text| layout::is_ours(text.as_bytes()));
    let message = format!("the output is for {name}, and the agent cannot change in one run");
    let finding = Finding::new(Code::AgentChanged, message)
        .at(repo.settings.place(["gitops".into()]))
        .see(Place::File(Arc::from(file.as_path())), format!("what {name} applies"));
    is_generated.then(|| {
        finding.help(format!(
            "first detach the services from {name}, or it deletes them: see docs/operations/change-agent.md; \
                 then remove `gitops`, generate, and let {name} apply the hosts, which then have the guards of both \
                 agents; finally set `gitops` to the new agent"
        ))
    })
}
