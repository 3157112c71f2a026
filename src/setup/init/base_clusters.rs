//! Directories of a repo's base clusters, each of which becomes a site.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};

use crate::base::text::counted;
use crate::base::text::visible::yaml_text;
use crate::input::load::{Files, ReadError};
use crate::input::settings::{self, Settings};
use crate::site::sites::Sites;

/// File in which `flux bootstrap` defines what a cluster applies.
const FLUX_SYNC: &str = "flux-system/gotk-sync.yaml";
/// Directory in which monorepos usually keep one directory per base cluster.
const USUAL: &str = "clusters";

/// Base clusters of a repo, derived from its files.
#[derive(Debug, Default)]
pub(super) struct BaseClusters {
    /// Output directories.
    pub(super) outputs: Vec<Utf8PathBuf>,
    /// Set if the settings list the sites, or the root has none.
    pub(super) are_known: bool,
    /// The `sites` setting; a comment if the sites are a guess.
    pub(super) setting: String,
    /// Addition to the note about the settings.
    pub(super) note: String,
}

/// Finds the base clusters of a repo.
///
/// # Errors
///
/// A file or directory cannot be read.
pub(super) fn find(repo: &Files, output: &Utf8Path) -> Result<BaseClusters, ReadError> {
    let sites = Sites::find(repo.clone())?;
    if sites.are_listed {
        let output = |files: &Files| Settings::load(files).unwrap_or_default().output;
        let outputs: Vec<Utf8PathBuf> = sites.all.iter().map(|site| output(&site.files)).collect();
        let note = format!("; {}", counted(outputs.len(), "site"));
        return Ok(BaseClusters { outputs, are_known: true, note, ..BaseClusters::default() });
    }
    let single = BaseClusters { outputs: vec![output.to_owned()], ..BaseClusters::default() };
    if repo.kind(Utf8Path::new(settings::FILE)).is_some() {
        return Ok(single);
    }
    let (files, _) = repo.files_and_closed(output)?;
    let root = |file: &Utf8PathBuf| {
        file.as_str().strip_suffix(FLUX_SYNC)?.strip_suffix('/').map(Utf8PathBuf::from)
    };
    let bootstrapped: BTreeSet<Utf8PathBuf> = files.iter().filter_map(root).collect();
    if bootstrapped.len() > 1 {
        let about = "Base clusters of this repo. Each is a site with its own hosts and clusters.";
        let sites = counted(bootstrapped.len(), "site");
        return Ok(BaseClusters {
            outputs: bootstrapped.iter().map(|site| output.join(site)).collect(),
            setting: sites_setting(&bootstrapped, about, ""),
            note: format!("; {sites}, each with its own Flux bootstrap"),
            ..single
        });
    }
    let usual: BTreeSet<Utf8PathBuf> = files
        .iter()
        .filter_map(|file| file.ancestors().find(|path| path.parent() == Some(USUAL.into())))
        .filter(|path| !files.iter().any(|file| file == path))
        .map(Utf8Path::to_owned)
        .collect();
    if usual.len() < 2 || !bootstrapped.is_empty() {
        return Ok(single);
    }
    let about = "Uncomment this if these are the base clusters: each is a site.";
    let note = "; it may have several sites: see `sites`".to_owned();
    Ok(BaseClusters { setting: sites_setting(&usual, about, "# "), note, ..single })
}

/// Formats the `sites` setting, with `comment` before each line.
fn sites_setting(sites: &BTreeSet<Utf8PathBuf>, about: &str, comment: &str) -> String {
    let site = |site: &Utf8PathBuf| format!("{comment}  - {}\n", yaml_text(site.as_str()));
    format!("# {about}\n{comment}sites:\n{}\n", sites.iter().map(site).collect::<String>())
}
