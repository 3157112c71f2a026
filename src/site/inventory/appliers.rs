//! Agents that apply a live host in full, derived from the host's own metadata.
//!
//! An agent applies all objects under one field manager, and removes fields that it applied earlier
//! and that are missing now. So a partial object with labels erases the spec of a host that the
//! same agent applies in full elsewhere.

use crate::base::api::assignment;
use crate::base::api::gitops::{FLUX_NAME, FLUX_NAMESPACE, GitopsAgent, TRACKING_ID};
use crate::base::api::host::{self, Metadata};
use crate::base::api::names::HostKey;
use crate::base::layout;
use crate::input::settings::Settings;

/// Sync option that makes Argo CD merge a partial object.
const MERGED_BY_ARGOCD: &str = "ClientSideApplyMigration=false";

/// Describes the agent that applies a live host in full; `None` if there is no sign of one, or the
/// repo does not use that agent. Traces of sipgen's own partial objects are ignored.
pub(crate) fn applied_in_full(
    key: &HostKey,
    live: &Metadata,
    settings: &Settings,
) -> Option<String> {
    // With the prefix of the names of this site's objects.
    let agents =
        [(GitopsAgent::Flux, &settings.flux.name), (GitopsAgent::Argocd, &settings.argocd.name)];
    // Without `gitops`, either agent may be in use.
    let used =
        agents.into_iter().filter(|(agent, _)| settings.gitops.is_none_or(|used| used == *agent));
    let mut applying = used.filter_map(|(agent, site)| {
        let (by, words) = match agent {
            GitopsAgent::Flux => flux_kustomization(live),
            GitopsAgent::Argocd => application(key, live),
        };
        let owns_spec = live.managed_fields.iter().flatten().any(|managed| {
            managed.manager == agent.manager()
                && managed.operation == "Apply"
                && managed.fields.as_ref().is_some_and(|fields| fields.spec.is_some())
        });
        if owns_spec {
            return Some(words);
        }
        // Without the agent's field manager on the spec, the last apply decides: another object's
        // name, or an apply of more than labels, means that the agent applies the full host.
        let is_ours = layout::is_agents_object_of_labels(by?, site.as_str());
        (!is_ours && !is_labels_alone(live, agent, settings)).then_some(words)
    });
    applying.next()
}

/// Returns the name and the description of the Kustomization that last applied a host.
fn flux_kustomization(live: &Metadata) -> (Option<&str>, String) {
    let Some(name) = live.label(FLUX_NAME) else { return (None, "Flux".to_owned()) };
    let namespace =
        live.label(FLUX_NAMESPACE).map(|namespace| format!("{namespace}/")).unwrap_or_default();
    (Some(name), format!("the Flux Kustomization {namespace}{name}"))
}

/// Returns the name and the description of the Application that last applied a host. Like Argo CD,
/// this ignores a tracking annotation that was copied from another object.
fn application<'a>(key: &HostKey, live: &'a Metadata) -> (Option<&'a str>, String) {
    // A tracking id ends in the object that it was written for.
    let own = format!(":{}/{}:{key}", host::GROUP, host::KIND);
    let Some(application) = live.annotation(TRACKING_ID).and_then(|id| id.strip_suffix(&own))
    else {
        return (None, "Argo CD".to_owned());
    };
    // An Application outside of Argo CD's namespace is written `NAMESPACE_NAME`.
    let name = application.rsplit('_').next().unwrap_or(application);
    (Some(name), format!("the Argo CD Application {}", application.replacen('_', "/", 1)))
}

/// Returns the agents that own assignment labels of a live host, by their keys, and therefore keep
/// them.
pub(crate) fn label_owners(live: &Metadata, keys: &[String]) -> Vec<GitopsAgent> {
    let owns = |agent: &GitopsAgent| {
        live.managed_fields.iter().flatten().any(|managed| {
            managed.manager == agent.manager() && keys.iter().any(|key| managed.has_label(key))
        })
    };
    GitopsAgent::ALL.into_iter().filter(owns).collect()
}

/// Returns whether the agent's last apply was one of sipgen's partial objects with labels.
///
/// A user's own object may apply these under any name. Every partial object has the merge
/// annotation, and either an assignment or the annotation of a release.
fn is_labels_alone(live: &Metadata, agent: GitopsAgent, settings: &Settings) -> bool {
    let labels = live.labels.as_ref();
    let is_assigned = labels.is_some_and(|it| !settings.assignment.read(it).claims.is_empty());
    let is_merged = match agent {
        GitopsAgent::Flux => {
            live.annotation(host::SSA).is_some_and(|ssa| ssa.eq_ignore_ascii_case("Merge"))
        }
        GitopsAgent::Argocd => live
            .annotation(host::SYNC_OPTIONS)
            .is_some_and(|options| options.contains(MERGED_BY_ARGOCD)),
    };
    is_merged && (is_assigned || live.annotation(assignment::GIVEN_BACK).is_some())
}
