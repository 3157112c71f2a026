//! The directories of a repo's base clusters, each of which is to be a site.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};

use crate::load::{Files, ReadError};
use crate::settings::{self, Settings};
use crate::sites::Sites;

/// The file in which `flux bootstrap` says what a cluster applies.
const FLUX_SYNC: &str = "flux-system/gotk-sync.yaml";
/// The directory in which monorepos keep a directory for each base cluster.
const USUAL: &str = "clusters";

/// The base clusters of a repo, as far as its files tell.
#[derive(Debug)]
pub(super) enum BaseClusters {
    /// The repo is one site.
    One,
    /// The repo's own settings list them, or have none at the root; each with its output directory.
    Known(Vec<(Utf8PathBuf, Utf8PathBuf)>),
    /// Flux was bootstrapped in each of these directories.
    Bootstrapped(BTreeSet<Utf8PathBuf>),
    /// The directories have a usual place, which decides nothing.
    Possible(BTreeSet<Utf8PathBuf>),
}

/// Finds the base clusters of a repo.
///
/// # Errors
///
/// When a file or directory cannot be read.
pub(super) fn find(repo: &Files, output: &Utf8Path) -> Result<BaseClusters, ReadError> {
    let sites = Sites::find(repo.clone())?;
    if sites.are_listed {
        let output = |files: &Files| Settings::load(files).unwrap_or_default().output;
        let known = sites
            .all
            .iter()
            .map(|site| (site.directory.clone(), output(&site.files)));
        return Ok(BaseClusters::Known(known.collect()));
    }
    if repo.kind(Utf8Path::new(settings::FILE)).is_some() {
        return Ok(BaseClusters::One);
    }
    let files = repo.files(output)?;
    let root = |file: &Utf8PathBuf| {
        file.as_str()
            .strip_suffix(FLUX_SYNC)?
            .strip_suffix('/')
            .map(Utf8PathBuf::from)
    };
    let bootstrapped: BTreeSet<Utf8PathBuf> = files.iter().filter_map(root).collect();
    if bootstrapped.len() > 1 {
        return Ok(BaseClusters::Bootstrapped(bootstrapped));
    }
    let usual = files.iter().filter_map(|file| {
        file.ancestors()
            .find(|path| path.parent() == Some(USUAL.into()))
    });
    let usual: BTreeSet<Utf8PathBuf> = usual
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
    /// The output directories.
    pub(super) fn outputs(&self, output: &Utf8Path) -> Vec<Utf8PathBuf> {
        match self {
            Self::One | Self::Possible(_) => vec![output.to_owned()],
            Self::Known(sites) => sites.iter().map(|(_, output)| output.clone()).collect(),
            Self::Bootstrapped(sites) => sites.iter().map(|site| output.join(site)).collect(),
        }
    }

    /// The output directory as the readers of the repo are told it.
    pub(super) fn shown_output(&self, output: &Utf8Path) -> Utf8PathBuf {
        match self {
            Self::One | Self::Possible(_) => output.to_owned(),
            Self::Bootstrapped(_) => output.join("<site>"),
            Self::Known(sites) => {
                let shown = sites
                    .iter()
                    .map(|(site, output)| output.as_str().replace(site.as_str(), "<site>"));
                let shown: BTreeSet<String> = shown.collect();
                if shown.len() == 1 {
                    shown.into_iter().collect::<String>().into()
                } else {
                    "<site>/overlays".into()
                }
            }
        }
    }

    /// The list for the settings; of what decides nothing, as a comment.
    pub(super) fn setting(&self) -> Option<String> {
        let list = |sites: &mut dyn Iterator<Item = &Utf8PathBuf>, comment: &str| {
            let lines: String = sites
                .map(|site| format!("{comment}  - {}\n", quoted(site.as_str())))
                .collect();
            format!("{comment}sites:\n{lines}")
        };
        const ABOUT: &str = "# The base clusters of this repo, each of which is a site with hosts and clusters of its own.\n";
        match self {
            Self::One | Self::Known(_) => None,
            Self::Bootstrapped(sites) => Some(format!("{ABOUT}{}", list(&mut sites.iter(), ""))),
            Self::Possible(sites) => {
                let which = "# Nothing here says whether these are the base clusters: if so, each is a site.\n";
                Some(format!("{which}{}", list(&mut sites.iter(), "# ")))
            }
        }
    }

    /// Returns whether each has settings of its own, so that the root needs none.
    pub(super) fn have_settings(&self) -> bool {
        matches!(self, Self::Known(_))
    }
}

/// A text as YAML with quotes, whatever is in it.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
