//! The sites of a repo: one per base cluster, each in its own directory.
//!
//! - `reach`: the files that a site reads
//! - `shared_machines`: machines that are hosts of two sites
//!
//! A site is a subset of the repo's files, with paths from the repo's root. Code that handles a
//! repo with one site therefore handles each of several sites unchanged.

mod reach;
mod shared_machines;

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};
use globset::GlobBuilder;

use crate::base::api::gitops::{ApplicationDestination, GitopsAgent};
use crate::base::finding::{Code, Finding, RouteStep};
use crate::base::grouping::occurrences;
use crate::base::layout;
use crate::input::load::{EntryKind, Files, ReadError, SitePart};
use crate::input::settings::{self, Settings, inside};
use reach::ReferenceGraph;
pub(crate) use shared_machines::shared as shared_machines;

/// Directories relative to the repo's root.
type Directories = BTreeSet<Utf8PathBuf>;

/// A site of a repo.
#[derive(Debug, Clone)]
pub struct Location {
    /// Name of its directory, or the whole path if two sites share a name. Empty for a repo with a
    /// single site.
    pub name: String,
    /// Directory relative to the repo's root.
    pub directory: Utf8PathBuf,
    /// Files that the site reads.
    pub files: Files,
    /// Its settings, or the default ones if they are invalid.
    settings: Settings,
}

/// The sites of a repo.
#[derive(Debug)]
pub struct Sites {
    /// The files of the whole repo.
    pub repo: Files,
    /// Sites sorted by name.
    pub all: Vec<Location>,
    /// Findings about the sites as a whole.
    pub findings: Vec<Finding>,
    /// Sites that were not selected.
    pub others: Vec<Location>,
    /// Set if the repo has sites in directories, even if only one.
    pub are_listed: bool,
    /// Set if one site was selected.
    is_chosen: bool,
}

impl Sites {
    /// Finds the sites of a repo.
    ///
    /// Sites are the directories in `sites` of the root's settings. If the root has neither
    /// settings nor output, they are the directories with settings. Otherwise the repo is one site.
    ///
    /// # Errors
    ///
    /// Fails if a file or directory cannot be read.
    pub fn find(repo: Files) -> Result<Self, ReadError> {
        let repo = repo.with_worktree()?;
        let root = Settings::load_root(&repo);
        let (directories, mut findings) = if !root.sites.is_empty() {
            expanded(&repo, &root)?
        } else if repo.kind(Utf8Path::new(settings::FILE)).is_none() {
            (directories_with_settings(&repo)?, Vec::new())
        } else {
            (BTreeSet::new(), Vec::new())
        };
        let are_listed = !(directories.is_empty() && findings.is_empty());
        let all = match are_listed {
            true => located(&repo, &directories, &mut findings)?,
            false => vec![Location {
                name: String::new(),
                directory: Utf8PathBuf::new(),
                files: repo.clone(),
                settings: root,
            }],
        };
        Ok(Self { repo, all, findings, others: Vec::new(), are_listed, is_chosen: false })
    }

    /// Selects the site with a name or a directory.
    pub fn only(self, site: &str) -> Result<Self, NoSuchSite> {
        let directory = Utf8Path::new(site.trim_start_matches("./").trim_end_matches('/'));
        let names: Vec<&str> = self.all.iter().map(|site| site.name.as_str()).collect();
        let known = match self.are_listed {
            true => format!("the repo has {}", names.join(", ")),
            false => "the repo is one site; list several under `sites` in sipgen.yaml".to_owned(),
        };
        let (all, others): (Vec<Location>, Vec<Location>) =
            self.all.into_iter().partition(|of| of.name == site || of.directory == directory);
        if all.is_empty() || !self.are_listed {
            return Err(NoSuchSite(site.to_owned(), known));
        }
        Ok(Self { all, others, is_chosen: true, ..self })
    }

    /// Returns the only site, if the repo is one or one was selected. It is shown like a repo with
    /// a single site.
    pub fn single(&self) -> Option<&Location> {
        self.all.first().filter(|_| self.is_chosen || !self.are_listed)
    }

    /// Returns the files of the same site in another revision of the repo, even if that revision
    /// does not list it.
    ///
    /// # Errors
    ///
    /// Fails if a file or directory cannot be read.
    pub fn counterpart(&self, site: &Location) -> Result<Files, ReadError> {
        match self.all.iter().find(|other| other.directory == site.directory) {
            Some(other) => Ok(other.files.clone()),
            None if site.directory.as_str().is_empty() => Ok(self.repo.clone()),
            None => {
                let directory = site.directory.clone();
                let part = SitePart { directory, ..SitePart::default() };
                let (part, settings) = with_settings(&self.repo, part);
                let read = ReferenceGraph::read(&self.repo)?;
                Ok(self.repo.limited_to(read.reach(part, &settings, &[])))
            }
        }
    }
}

/// Returns the sites in some directories, sorted by name, and reports mistakes in several of them.
fn located(
    repo: &Files,
    directories: &Directories,
    findings: &mut Vec<Finding>,
) -> Result<Vec<Location>, ReadError> {
    let read = ReferenceGraph::read(repo)?;
    let mut parts = Vec::new();
    for (directory, name) in with_names(directories) {
        let is_inner = |other: &&Utf8PathBuf| **other != directory && other.starts_with(&directory);
        let inner = directories.iter().filter(is_inner).cloned().collect();
        let part = SitePart { directory, inner, ..SitePart::default() };
        let (part, settings) = with_settings(repo, part);
        parts.push((name, part, settings));
    }
    let location = |(name, part, settings): &(String, SitePart, Settings)| {
        // Directories that belong to one site. Agents of other sites that apply a directory around
        // them do not add their files.
        let others = parts.iter().filter(|(_, other, _)| other.directory != part.directory);
        let other_directories: Vec<&Utf8Path> = others
            .flat_map(|(_, other, of)| [&*other.directory, &*of.output, &*of.snapshot.directory])
            .collect();
        let files = repo.limited_to(read.reach(part.clone(), settings, &other_directories));
        let (name, directory) = (name.clone(), part.directory.clone());
        Location { name, directory, files, settings: settings.clone() }
    };
    let all: Vec<Location> = parts.iter().map(location).collect();
    findings.extend(read.outside(&all));
    findings.extend(all.iter().flat_map(|site| read.listed_output(site, &all)));
    findings.extend(same_applications(&all));
    findings.extend(overlapping(&all));
    // Findings of no particular site are suppressed by the root's settings.
    let shared = Settings::load(repo).unwrap_or_default();
    findings.retain(|finding| !shared.ignores(finding));
    Ok(all)
}

/// Returns the part of a repo that a site has by its directory and its settings.
fn with_settings(repo: &Files, part: SitePart) -> (SitePart, Settings) {
    let settings = Settings::load(&repo.limited_to(part.clone())).unwrap_or_default();
    let snapshot = Some(settings.snapshot.directory.clone());
    (SitePart { snapshot, ..part }, settings)
}

/// The error for an unknown site, with the names of the known ones.
#[derive(Debug, thiserror::Error)]
#[error("unknown site `{0}`; {1}")]
pub struct NoSuchSite(String, String);

/// Expands a list of directories and globs, without the ones excluded by `!`.
fn expanded(repo: &Files, root: &Settings) -> Result<(Directories, Vec<Finding>), ReadError> {
    let mut found = BTreeSet::new();
    let mut findings = Vec::new();
    let mut known: Option<Directories> = None;
    let mut excluded = BTreeSet::new();
    for (index, entry) in root.sites.iter().enumerate() {
        let mut report = |problem: &str, help: &str| {
            let message = format!("`{entry}` in `sites` {problem}");
            let place = root.place(["sites".into(), RouteStep::from(index)]);
            findings.push(Finding::new(Code::NoSuchSite, message).at(place).help(help));
        };
        let (excludes, plain) =
            entry.strip_prefix('!').map_or((false, entry.as_str()), |rest| (true, rest));
        let Some(plain) = inside(Utf8Path::new(plain)) else {
            let help = "write it relative to the repo's root, such as `clusters/production` or `clusters/*`";
            report("is not a directory inside the repo", help);
            continue;
        };
        let matching: Directories = if repo.kind(&plain) == Some(EntryKind::Directory) {
            BTreeSet::from([plain])
        } else {
            let all = match &mut known {
                Some(all) => all,
                None => known.insert(directories(repo)?),
            };
            let glob = GlobBuilder::new(plain.as_str()).literal_separator(true).build();
            let glob = glob.map(|glob| glob.compile_matcher());
            let matches = |path: &&Utf8PathBuf| glob.as_ref().is_ok_and(|glob| glob.is_match(path));
            all.iter().filter(matches).cloned().collect()
        };
        if matching.is_empty() {
            let help = "fix the path, or remove it if the base cluster is gone; git does not keep empty directories";
            report("matches no directory with manifests", help);
        }
        if excludes { excluded.extend(matching) } else { found.extend(matching) }
    }
    found.retain(|directory| !excluded.contains(directory));
    Ok((found, findings))
}

/// Returns the directories with files that can hold resources. Hidden directories are never sites.
fn directories(repo: &Files) -> Result<Directories, ReadError> {
    let (files, _) = repo.files_and_closed(&Settings::default().output)?;
    let above = files.iter().flat_map(|file| file.ancestors().skip(1));
    let may_be_sites = above.filter(|path| !path.as_str().is_empty() && !is_hidden(path));
    Ok(may_be_sites.map(Utf8Path::to_owned).collect())
}

fn is_hidden(path: &Utf8Path) -> bool {
    path.components().any(|part| part.as_str().starts_with('.'))
}

/// Returns the directories with settings, if the repo's root has neither settings nor output.
fn directories_with_settings(repo: &Files) -> Result<Directories, ReadError> {
    let output = Settings::default().output;
    let (files, _) = repo.files_and_closed(&output)?;
    let named = files.iter().filter(|file| file.file_name() == Some(settings::FILE));
    let above = named.filter_map(|file| file.parent()).filter(|path| !is_hidden(path));
    let settled: Directories = above.map(Utf8Path::to_owned).collect();
    if settled.is_empty() {
        return Ok(settled);
    }
    // Only marked files make an output directory: a directory of that name may be the user's own.
    for file in repo.files_below(&output)?.iter().filter(|file| !layout::is_leftover(file)) {
        if layout::is_ours(&repo.read(file)?) {
            return Ok(BTreeSet::new());
        }
    }
    Ok(settled)
}

/// Returns the directories with unique site names, sorted by name.
fn with_names(directories: &Directories) -> Vec<(Utf8PathBuf, String)> {
    let count = occurrences(directories.iter().map(|directory| directory.file_name()));
    let with_name = |directory: &Utf8PathBuf| {
        let short = directory.file_name().filter(|name| count.get(&Some(*name)) == Some(&1));
        (directory.clone(), short.unwrap_or(directory.as_str()).to_owned())
    };
    let mut named: Vec<_> = directories.iter().map(with_name).collect();
    named.sort_by(|a, b| a.1.cmp(&b.1));
    named
}

/// Reports sites of one Argo CD whose Applications have equal names: one site would apply the
/// other's output.
fn same_applications(sites: &[Location]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let name = Some("in-cluster".to_owned());
    let in_cluster = ApplicationDestination { name, ..ApplicationDestination::default() };
    let with_argocd =
        || sites.iter().filter(|site| site.settings.gitops == Some(GitopsAgent::Argocd));
    let place = |site: &Location| site.settings.place(["argocd".into(), "name".into()]);
    for (index, site) in with_argocd().enumerate() {
        let own = &site.settings.argocd;
        let clashes = |other: &&Location| {
            let other = &other.settings.argocd;
            // Each base cluster may run its own Argo CD, which applies to the cluster that it runs
            // in.
            let is_same_argocd =
                !(own.destination.is(&in_cluster) && other.destination.is(&in_cluster));
            own.name.as_str() == other.name.as_str()
                && own.namespace == other.namespace
                && is_same_argocd
        };
        if let Some(other) = with_argocd().take(index).find(clashes) {
            let (one, two, name) = (&other.name, &site.name, own.name.as_str());
            let message = format!(
                "the sites `{one}` and `{two}` have Applications with the same names in one Argo CD: `argocd.name` is `{name}` for both"
            );
            let directory = site.directory.file_name().unwrap_or_default();
            let file = format!("{}/{}", site.directory, settings::FILE);
            let help = format!("write `argocd: {{name: sipgen-{directory}}}` in {file}");
            let finding = Finding::new(Code::SameApplications, message).at(place(site));
            findings.push(finding.see(place(other), "the other site").help(help));
        }
    }
    findings
}

/// Reports sites that would write into a directory of another site.
fn overlapping(sites: &[Location]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for site in sites {
        let own = &site.settings;
        for other in sites.iter().filter(|other| other.directory != site.directory) {
            let settings = &other.settings;
            let taken = [&settings.output, &settings.snapshot.directory, &other.directory];
            let taken = taken.into_iter().find(|taken| taken.starts_with(&own.output));
            let Some(directory) = taken else { continue };
            let (output, one, two) = (&own.output, &site.name, &other.name);
            let message = format!(
                "the output directory `{output}` of the site `{one}` contains `{directory}` of the site `{two}`"
            );
            let file = format!("{}/{}", site.directory, settings::FILE);
            let help = format!("set `output` in {file} to a directory of its own");
            let place = own.place(["output".into()]);
            findings.push(Finding::new(Code::InvalidSetting, message).at(place).help(help));
        }
    }
    findings
}
