//! Options of agents by which the labels of a host never arrive, or by which their arrival replaces
//! the host.
//!
//! * Flux: `shouldSkipApply` and `shouldForceApply` of github.com/fluxcd/pkg, `ssa`.
//! * Argo CD: `performSync` of its gitops-engine, and `normalizeTargetResources` of its controller.

use super::host_document::HostDocument;
use crate::base::api::gitops::GitopsAgent;
use crate::base::api::host::{FORCE, Metadata, RECONCILE, SSA, SYNC_OPTIONS};
use crate::base::finding::{Code, Finding, Place};

/// An option of an agent.
#[derive(Debug, Clone, PartialEq, Eq, derive_more::Display)]
#[display("{agent} {effect}: `{text}`")]
pub(crate) struct ApplyOption {
    pub(crate) agent: GitopsAgent,
    /// The option as it is written.
    pub(crate) text: String,
    pub(crate) effect: ApplyEffect,
    pub(crate) place: Place,
}

impl ApplyOption {
    pub(crate) fn new(agent: GitopsAgent, text: &str, effect: ApplyEffect, place: Place) -> Self {
        Self { agent, text: text.to_owned(), effect, place }
    }
}

/// The effect of an option on a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, derive_more::Display)]
pub(crate) enum ApplyEffect {
    #[display("never updates it, so its labels do not arrive")]
    Skips,
    #[display("only creates it, so later labels do not arrive")]
    OnlyCreates,
    #[display("may delete it and create it again, which powers the machine off")]
    Recreates,
    #[display("replaces it as a whole, so it loses what others wrote into its spec")]
    Replaces,
    #[display("ignores its labels or annotations, so they do not arrive")]
    IgnoresMetadata,
    #[display("does not keep it as an ordinary object, so labels do not arrive")]
    RunsAsHook,
}

/// Flux's labels and annotations with their values, which it compares without case. The last field
/// is set if they also count on the live object.
const FLUX: [(&str, &str, ApplyEffect, bool); 4] = [
    (RECONCILE, "disabled", ApplyEffect::Skips, true),
    (SSA, "Ignore", ApplyEffect::Skips, true),
    (SSA, "IfNotPresent", ApplyEffect::OnlyCreates, false),
    (FORCE, "enabled", ApplyEffect::Recreates, true),
];

/// Argo CD's sync options. All count on the live object.
pub(crate) const ARGOCD: [(&str, ApplyEffect); 2] =
    [("Replace=true", ApplyEffect::Replaces), ("Force=true", ApplyEffect::Recreates)];

/// Annotations that make an object a hook for Argo CD.
const HOOKS: [&str; 2] = ["argocd.argoproj.io/hook", "helm.sh/hook"];

/// Returns the options of a host, in its manifest and in its live object.
pub(super) fn for_host(
    manifest: Option<&HostDocument>,
    live: Option<&HostDocument>,
) -> Vec<ApplyOption> {
    let manifest = manifest.map(|manifest| (manifest, false));
    let documents = manifest.into_iter().chain(live.map(|live| (live, true)));
    let options = documents.flat_map(|(document, is_live)| {
        in_metadata(&document.host.metadata, is_live, |route| document.origin.at(route))
    });
    options.collect()
}

/// Returns the options in the metadata of an object, with the places of their routes.
pub(crate) fn in_metadata(
    metadata: &Metadata,
    is_live: bool,
    place: impl Fn([&str; 3]) -> Place,
) -> Vec<ApplyOption> {
    let mut all = Vec::new();
    let mut add = |agent, field: &str, key: &str, text: &str, effect| {
        all.push(ApplyOption::new(agent, text, effect, place(["metadata", field, key])));
    };
    for (field, entries) in [("labels", &metadata.labels), ("annotations", &metadata.annotations)] {
        for (key, value, effect, counts_live) in FLUX {
            let own = entries.as_ref().and_then(|entries| entries.get(key));
            let own = own.filter(|own| own.eq_ignore_ascii_case(value));
            if let Some(own) = own.filter(|_| counts_live || !is_live) {
                add(GitopsAgent::Flux, field, key, &format!("{key}: {own}"), effect);
            }
        }
    }
    let sync_options = metadata.annotation(SYNC_OPTIONS).unwrap_or_default();
    for (option, effect) in ARGOCD {
        if sync_options.split(',').any(|own| own.trim() == option) {
            add(GitopsAgent::Argocd, "annotations", SYNC_OPTIONS, option, effect);
        }
    }
    let hooks = HOOKS.into_iter().filter(|key| !is_live && metadata.annotation(key).is_some());
    for key in hooks {
        add(GitopsAgent::Argocd, "annotations", key, key, ApplyEffect::RunsAsHook);
    }
    all
}

/// Returns the finding about hosts with an option.
pub(crate) fn finding(subject: &str, option: &ApplyOption) -> Finding {
    Finding::new(Code::LabelsNotApplied, format!("{subject}, but {option}"))
        .at(option.place.clone())
}
