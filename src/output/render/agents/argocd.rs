//! Argo CD Applications.

use serde_json::json;

use super::{ApplyPolicy, Delivery, DirectoryContent, Output, document, in_source};
use crate::base::api::gitops::{APPLICATION, ARGOCD_API_VERSION};
use crate::base::api::host;

/// Finalizer that deletes an Application's objects together with the Application.
const CASCADE: &str = "resources-finalizer.argocd.argoproj.io";

/// Returns the Application that applies a directory.
pub(super) fn application(delivery: &Delivery, output: &Output<'_>) -> String {
    let settings = &output.site.settings;
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
    // Argo CD applies no object of an Application in which the namespace of one is missing.
    if let Some(namespace) = output.default_namespace(&delivery.directory) {
        spec["destination"]["namespace"] = json!(namespace);
    }
    if delivery.holds == DirectoryContent::Declared {
        // Cluster API powers hosts on and off as Machines claim them, so Argo CD must not.
        spec["ignoreDifferences"] =
            json!([{ "group": host::GROUP, "kind": host::KIND, "jsonPointers": ["/spec/online"] }]);
    }
    document(ARGOCD_API_VERSION, APPLICATION, json!({ "metadata": metadata, "spec": spec }))
}
