//! SIPClusters of older generations in today's form.

use std::collections::BTreeSet;
use std::sync::Arc;

use camino::Utf8Path;

use crate::base::finding::{self, Finding};
use crate::input::load::ReadError;
use crate::input::settings::Settings;
use crate::site::Site;
use crate::site::sites::Sites;

/// Legacy SIPClusters in today's form.
#[derive(Debug, Default)]
pub struct Migration {
    /// Each of them, in the order of files and of their texts.
    pub documents: BTreeSet<MigratedDocument>,
    /// Errors of the input, which may hide others.
    pub findings: Vec<Finding>,
}

/// A legacy SIPCluster in today's form.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MigratedDocument {
    /// The file of the legacy one, relative to the repo's root.
    pub file: Arc<Utf8Path>,
    /// Offset of the legacy one in its file, in bytes.
    start: usize,
    /// YAML text.
    pub text: String,
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
            let Some(conversion) = request.older.as_ref().filter(|older| older.is_complete())
            else {
                continue;
            };
            let origin = &request.origin;
            let text = yaml_serde::to_string(&conversion.document).unwrap_or_default();
            let (file, start) = (origin.file.clone(), origin.range.start);
            migration.documents.insert(MigratedDocument { file, start, text });
        }
    }
    migration.findings = finding::merge(migration.findings);
    Ok(migration)
}
