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
#[derive(Debug)]
pub(super) enum BaseClusters {
    /// The repo is a single site.
    One,
    /// The settings list the sites, or the root has none; the output directory of each.
    Known(Vec<Utf8PathBuf>),
    /// Flux was bootstrapped in each of these directories.
    Bootstrapped(BTreeSet<Utf8PathBuf>),
    /// These directories may be sites, by the usual layout.
    Possible(BTreeSet<Utf8PathBuf>),
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
        return Ok(BaseClusters::Known(sites.all.iter().map(|site| output(&site.files)).collect()));
    }
    if repo.kind(Utf8Path::new(settings::FILE)).is_some() {
        return Ok(BaseClusters::One);
    }
    let (files, _) = repo.files_and_closed(output)?;
    let root = |file: &Utf8PathBuf| {
        file.as_str().strip_suffix(FLUX_SYNC)?.strip_suffix('/').map(Utf8PathBuf::from)
    };
    let bootstrapped: BTreeSet<Utf8PathBuf> = files.iter().filter_map(root).collect();
    if bootstrapped.len() > 1 {
        return Ok(BaseClusters::Bootstrapped(bootstrapped));
    }
    let usual: BTreeSet<Utf8PathBuf> = files
        .iter()
        .filter_map(|file| file.ancestors().find(|path| path.parent() == Some(USUAL.into())))
        .filter(|path| !files.iter().any(|file| file == path))
        .map(Utf8Path::to_owned)
        .collect();
    Ok(if usual.len() > 1 && bootstrapped.is_empty() {
        BaseClusters::Possible(usual)
    } else {
        BaseClusters::One
    })
}

impl BaseClusters {
    /// Returns the output directories.
    pub(super) fn outputs(&self, output: &Utf8Path) -> Vec<Utf8PathBuf> {
        match self {
            Self::One | Self::Possible(_) => vec![output.to_owned()],
            Self::Known(outputs) => outputs.clone(),
            Self::Bootstrapped(sites) => sites.iter().map(|site| output.join(site)).collect(),
        }
    }

    /// Formats the `sites` setting; as a comment if the sites are a guess.
    pub(super) fn setting(&self) -> String {
        let (sites, about, comment) = match self {
            Self::One | Self::Known(_) => return String::new(),
            Self::Bootstrapped(sites) => (
                sites,
                "Base clusters of this repo. Each is a site with its own hosts and clusters.",
                "",
            ),
            Self::Possible(sites) => {
                (sites, "Uncomment this if these are the base clusters: each is a site.", "# ")
            }
        };
        let site = |site: &Utf8PathBuf| format!("{comment}  - {}\n", yaml_text(site.as_str()));
        format!("# {about}\n{comment}sites:\n{}\n", sites.iter().map(site).collect::<String>())
    }

    /// Returns an addition to the note about the settings.
    pub(super) fn note(&self) -> String {
        match self {
            Self::One => String::new(),
            Self::Known(outputs) => format!("; {}", counted(outputs.len(), "site")),
            Self::Bootstrapped(sites) => {
                format!("; {}, each with its own Flux bootstrap", counted(sites.len(), "site"))
            }
            Self::Possible(_) => "; it may have several sites: see `sites`".to_owned(),
        }
    }
}
