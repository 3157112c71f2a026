//! Flux Kustomizations.

use serde::Serialize;
use serde_json::{Value, json};

use super::{Delivery, DirectoryContent, document, in_source};
use crate::base::api::gitops::{FLUX_API_VERSION, FLUX_KIND};
use crate::input::settings::Settings;
use crate::input::settings::gitops::{Decryption, Duration, SourceRef};

/// Time that Flux waits for an installer. Flux would otherwise report a timeout for each
/// installation, because its default is the interval.
const INSTALLER_TIMEOUT: &str = "3h";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FluxSpec<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    depends_on: Vec<Value>,
    interval: &'a Duration,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_interval: Option<&'a Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout: Option<&'a str>,
    source_ref: &'a SourceRef,
    path: String,
    /// Flux deletes objects that leave the build, and all of them with the Kustomization. For hosts
    /// that would power off machines, and for definitions delete every object of their kinds.
    prune: bool,
    /// Disabled for hosts, because one host in error would block everything that depends on them.
    /// Flux considers a Job ready when it has finished, and reports a failed one.
    wait: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    decryption: Option<&'a Decryption>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service_account_name: Option<String>,
}

/// Returns the Kustomization that applies a directory.
pub(super) fn kustomization(delivery: &Delivery, settings: &Settings) -> String {
    let flux = &settings.flux;
    let spec = FluxSpec {
        depends_on: delivery.after.iter().map(|name| json!({ "name": name })).collect(),
        interval: &flux.interval,
        retry_interval: flux.retry_interval.as_ref(),
        timeout: if delivery.holds == DirectoryContent::Installer && flux.wait {
            Some(INSTALLER_TIMEOUT)
        } else {
            flux.timeout.as_ref().map(Duration::as_str)
        },
        source_ref: &flux.source_ref,
        path: format!("./{}", in_source(&flux.path, &settings.output, delivery)),
        prune: matches!(
            delivery.holds,
            DirectoryContent::Services
                | DirectoryContent::SiteOutput
                | DirectoryContent::AfterServices
                | DirectoryContent::Installer
        ),
        wait: match delivery.holds {
            DirectoryContent::Definitions => true,
            DirectoryContent::Services
            | DirectoryContent::SiteOutput
            | DirectoryContent::Installer => flux.wait,
            DirectoryContent::AfterServices
            | DirectoryContent::Declared
            | DirectoryContent::Observed
            | DirectoryContent::Released => false,
        },
        decryption: flux.decryption.as_ref(),
        service_account_name: flux.service_account_name.as_ref().map(ToString::to_string),
    };
    let metadata = json!({ "name": delivery.name, "namespace": flux.namespace });
    document(FLUX_API_VERSION, FLUX_KIND, metadata, json!(spec))
}
