//! Flux Kustomizations.

use serde_json::{Value, json};

use super::{ApplyPolicy, Delivery, DirectoryContent, document, in_source};
use crate::base::api::gitops::{FLUX_API_VERSION, FLUX_KIND};
use crate::base::api::without_nulls;
use crate::input::settings::Settings;
use crate::input::settings::gitops::Duration;

/// Time that Flux waits for an installer. Flux would otherwise report a timeout for each
/// installation, because its default is the interval.
const INSTALLER_TIMEOUT: &str = "3h";

/// Returns the Kustomization that applies a directory.
pub(super) fn kustomization(delivery: &Delivery, settings: &Settings) -> String {
    let flux = &settings.flux;
    let after: Vec<Value> = delivery.after.iter().map(|name| json!({ "name": name })).collect();
    let timeout = if delivery.holds == DirectoryContent::Installer && flux.wait {
        Some(INSTALLER_TIMEOUT)
    } else {
        flux.timeout.as_ref().map(Duration::as_str)
    };
    let policy = ApplyPolicy::new(delivery.holds);
    let is_marker = delivery.holds == DirectoryContent::AfterServices;
    // For hosts, waiting would let one in error block everything that depends on them. Flux considers
    // a Job ready when it has finished, and reports a failed one.
    let is_required = delivery.holds == DirectoryContent::Definitions;
    let spec = without_nulls(json!({
        "dependsOn": (!after.is_empty()).then_some(after),
        "interval": flux.interval,
        "retryInterval": flux.retry_interval,
        "timeout": timeout,
        "sourceRef": flux.source_ref,
        "path": format!("./{}", in_source(&flux.path, &settings.output, delivery)),
        "prune": policy.is_deleted || is_marker,
        "wait": is_required || policy.is_deleted && flux.wait,
        "decryption": flux.decryption,
        "serviceAccountName": flux.service_account_name,
    }));
    let metadata = json!({ "name": delivery.name, "namespace": flux.namespace });
    document(FLUX_API_VERSION, FLUX_KIND, json!({ "metadata": metadata, "spec": spec }))
}
