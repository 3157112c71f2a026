//! Argo CD Applications.

use serde_json::json;

use super::{ApplyPolicy, Delivery, DirectoryContent, document, in_source};
use crate::base::api::gitops::{APPLICATION, ARGOCD_API_VERSION};
use crate::base::api::host;
use crate::base::api::names::Namespace;
use crate::input::settings::Settings;

/// Finalizer that deletes an Application's objects together with the Application.
const CASCADE: &str = "resources-finalizer.argocd.argoproj.io";

/// Returns the Application that applies a directory.
///
/// `namespace` is that of objects without one: Argo CD applies none of an Application in which it is
/// missing.
pub(super) fn application(
    delivery: &Delivery,
    settings: &Settings,
    namespace: Option<&Namespace>,
) -> String {
    let argocd = &settings.argocd;
    let policy = ApplyPolicy::new(delivery.holds);
    let mut metadata = json!({
        "name": delivery.name,
        "namespace": argocd.namespace,
        "annotations": { "argocd.argoproj.io/sync-wave": policy.wave.to_string() },
    });
    if policy.is_deleted {
        metadata["finalizers"] = json!([CASCADE]);
    }
    let mut spec = json!({
        "project": argocd.project,
        "source": {
            "repoURL": argocd.repo_url,
            "targetRevision": argocd.target_revision,
            "path": in_source(&argocd.path, &settings.output, delivery),
        },
        "destination": argocd.destination,
        "syncPolicy": {
            "automated": { "prune": policy.is_deleted, "selfHeal": true },
            "syncOptions": policy.sync_options.concat(),
        },
    });
    if let Some(namespace) = namespace {
        spec["destination"]["namespace"] = json!(namespace);
    }
    if delivery.holds == DirectoryContent::Declared {
        // Cluster API powers hosts on and off as Machines claim them, so Argo CD must not.
        spec["ignoreDifferences"] =
            json!([{ "group": host::GROUP, "kind": host::KIND, "jsonPointers": ["/spec/online"] }]);
    }
    document(ARGOCD_API_VERSION, APPLICATION, json!({ "metadata": metadata, "spec": spec }))
}
