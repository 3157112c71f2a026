//! SIPClusters of older generations in today's form.

use std::collections::BTreeSet;

use crate::base::finding::{self, Finding};
use crate::input::load::ReadError;
use crate::input::settings::Settings;
use crate::site::Site;
use crate::site::sites::Sites;

/// Legacy SIPClusters in today's form.
#[derive(Debug, Default)]
pub struct Migration {
    /// Position (file and byte offset) and YAML text of each, in order.
    pub documents: BTreeSet<(String, usize, String)>,
    /// Errors of the input, which may hide others.
    pub findings: Vec<Finding>,
}

/// Converts the legacy SIPClusters of all sites. One that several sites read is listed once, unless
/// the settings of the sites give it different forms.
///
/// # Errors
///
/// The repo cannot be read.
pub fn migrate(sites: &Sites) -> Result<Migration, ReadError> {
    let mut migration = Migration { findings: sites.findings.clone(), ..Migration::default() };
    for location in &sites.all {
        let (site, found) = match Settings::load(&location.files) {
            Ok(settings) => Site::read(&location.files, settings)?,
            Err(found) => {
                migration.findings.extend(found);
                continue;
            }
        };
        migration.findings.extend(found.into_iter().filter(Finding::is_error));
        for request in site.clusters.values() {
            let Some(conversion) = request.older.as_ref().filter(|older| older.errors.is_empty())
            else {
                continue;
            };
            let origin = &request.origin;
            let text = yaml_serde::to_string(&conversion.document).unwrap_or_default();
            migration.documents.insert((origin.file.to_string(), origin.range().start, text));
        }
    }
    migration.findings = finding::merge(migration.findings);
    Ok(migration)
}
