//! Argo CD Applications.

use serde_json::json;

use super::{Delivery, DirectoryContent, document, in_source};
use crate::base::api::gitops::{APPLICATION, ARGOCD_API_VERSION};
use crate::base::api::host;
use crate::base::api::names::Namespace;
use crate::input::settings::Settings;
use crate::output::render::planned_hosts::{GUARDS, MERGE};

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
    let mut metadata = json!({
        "name": delivery.name,
        "namespace": argocd.namespace,
        "annotations": { "argocd.argoproj.io/sync-wave": wave(delivery.holds).to_string() },
    });
    // Deleting hosts powers machines off, and deleting definitions deletes their objects.
    let is_deletable = matches!(
        delivery.holds,
        DirectoryContent::Services | DirectoryContent::SiteOutput | DirectoryContent::Installer
    );
    if is_deletable {
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
            "automated": { "prune": is_deletable, "selfHeal": true },
            "syncOptions": sync_options(delivery.holds),
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
    document(ARGOCD_API_VERSION, APPLICATION, metadata, spec)
}

fn wave(holds: DirectoryContent) -> i32 {
    match holds {
        DirectoryContent::Definitions => 0,
        DirectoryContent::Services
        | DirectoryContent::SiteOutput
        | DirectoryContent::AfterServices => 1,
        DirectoryContent::Declared | DirectoryContent::Observed => 2,
        DirectoryContent::Released | DirectoryContent::Installer => 3,
    }
}

fn sync_options(holds: DirectoryContent) -> Vec<&'static str> {
    match holds {
        DirectoryContent::Definitions => GUARDS.to_vec(),
        // A pod of the old ReplicaSet may start once more and requires the old ConfigMap.
        DirectoryContent::Services
        | DirectoryContent::SiteOutput
        | DirectoryContent::AfterServices => vec!["PruneLast=true"],
        // The old Job must be gone before the new one starts: two installers must not work on the
        // same hosts.
        DirectoryContent::Installer => Vec::new(),
        DirectoryContent::Declared => {
            [&["RespectIgnoreDifferences=true"], GUARDS.as_slice()].concat()
        }
        DirectoryContent::Observed | DirectoryContent::Released => {
            [MERGE.as_slice(), &GUARDS].concat()
        }
    }
}
