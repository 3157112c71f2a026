//! Files and sites that a command reads.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::{self, IsTerminal, Read};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;
use sipgen::ask::overview::Overview;
use sipgen::base::finding::{self, Finding};
use sipgen::base::text::joined;
use sipgen::input::git::{self, EnclosingRepo};
use sipgen::input::load::{Files, Stream};
use sipgen::input::settings::Settings;
use sipgen::output::lock::Lock;
use sipgen::report::{self, ReportDocument, ReportText};
use sipgen::site::assembly::hardware;
use sipgen::site::sites::{Location, Sites};
use sipgen::{Date, GeneratedSite, JournalScope, Options};

use super::{AnswerFormat, CommandError, print, print_document};

/// Variable with the time that counts as now, in seconds since 1970, for reproducible runs.
const SOURCE_DATE_EPOCH: &str = "SOURCE_DATE_EPOCH";

/// Arguments that select the input.
#[derive(clap::Args)]
pub(crate) struct RepoArguments {
    /// The repo's directory; default: the root of the git repo around the working directory
    #[arg(long, value_name = "DIR")]
    pub(super) repo: Option<Utf8PathBuf>,

    /// Process one site, given by name or directory; default: all `sites` in sipgen.yaml
    #[arg(long, value_name = "NAME")]
    pub(super) site: Option<String>,

    /// Read this revision of the repo, such as origin/main, instead of the working tree
    ///
    /// Inputs, settings, templates and the previous output come from the revision. The repo may be
    /// bare.
    #[arg(long, value_name = "REV")]
    pub(super) rev: Option<String>,

    /// Read SIPClusters, hosts and Secrets from rendered manifests instead of the repo's files;
    /// repeatable, `-` is stdin
    ///
    /// Example: `kustomize build sites/lab | sipgen generate --input -`. Settings, templates,
    /// kustomizations and the previous output come from the repo, and the repo decides which hosts
    /// it declares. See docs/reference/inputs.md.
    #[arg(long, value_name = "FILE", conflicts_with = "rev")]
    pub(super) input: Vec<Utf8PathBuf>,
}

/// Runs of all selected sites.
pub(super) type Runs<'a> = Vec<(&'a Location, GeneratedSite)>;

/// Files of a repo, with the selected site.
pub(super) struct SelectedFiles {
    pub(super) files: Files,
    /// Name or directory of the selected site; `None` for all.
    pub(super) site: Option<String>,
}

impl RepoArguments {
    /// Returns whether the arguments or the working directory name a repo.
    pub(super) fn is_anywhere(&self) -> Result<bool, CommandError> {
        let is_named = self.repo.is_some() || self.rev.is_some() || !self.input.is_empty();
        Ok(is_named || git::around(Utf8Path::new("."))?.is_some())
    }

    /// Opens the selected files.
    pub(super) fn chosen(&self) -> Result<SelectedFiles, CommandError> {
        let Self { repo, site, rev, input } = self;
        SelectedFiles::open(repo.as_deref(), rev.as_deref(), site.as_deref())?.with_inputs(input)
    }
}

impl SelectedFiles {
    /// Opens the files of a repo, on disk or of a revision.
    ///
    /// If `directory` is that of a site, the whole repo is opened, because a site also reads files
    /// outside its directory.
    pub(super) fn open(
        directory: Option<&Utf8Path>,
        revision: Option<&str>,
        site: Option<&str>,
    ) -> Result<Self, CommandError> {
        let files = open(directory, revision)?;
        if let Some(directory) = directory.filter(|_| site.is_none())
            && let Some(EnclosingRepo { top: Some(top), place, .. }) = git::around(directory)?
            && !place.as_str().is_empty()
        {
            let whole = open(Some(&top), revision)?;
            let sites = Sites::find(whole.clone())?;
            let place = place.as_str().trim_end_matches('/').to_owned();
            if sites.are_listed && sites.all.iter().any(|site| site.directory == place.as_str()) {
                return Ok(Self { files: whole, site: Some(place) });
            }
        }
        Ok(Self { files, site: site.map(str::to_owned) })
    }

    /// Replaces the inputs by rendered streams, if there are any.
    pub(super) fn with_inputs(self, inputs: &[Utf8PathBuf]) -> Result<Self, CommandError> {
        Ok(Self { files: self.files.with_streams(streams("--input", inputs)?), ..self })
    }

    /// Switches to the staged versions of the same files.
    pub(super) fn staged(self) -> Result<Self, CommandError> {
        Ok(Self { files: Files::staged(self.files.root())?, ..self })
    }

    /// Finds the selected sites.
    pub(super) fn sites(&self) -> Result<Sites, CommandError> {
        let all = Sites::find(self.files.clone())?;
        let sites = match &self.site {
            Some(site) => all.only(site)?,
            None => all,
        };
        if !self.files.streams().is_empty() && sites.all.len() > 1 {
            return Err(one_base_cluster("--input describes", &sites));
        }
        Ok(sites)
    }
}

/// Name of stdin in findings.
const STDIN: &str = "<stdin>";

/// Reads the files that an option names; `-` is stdin.
pub(super) fn streams(option: &str, paths: &[Utf8PathBuf]) -> Result<Vec<Stream>, CommandError> {
    if paths.iter().filter(|path| *path == "-").count() > 1 {
        return Err(CommandError(format!("duplicate {option} -: stdin can be read only once")));
    }
    let stream = |path: &Utf8PathBuf| -> Result<Stream, CommandError> {
        let (name, read) = match path.as_str() {
            "-" if io::stdin().is_terminal() => {
                return Err(CommandError(format!(
                    "{option} - reads stdin, which is a terminal: pipe manifests into it, as in `kustomize build \
                     sites/lab | sipgen generate --input -`"
                )));
            }
            "-" => {
                let mut content = Vec::new();
                (Utf8Path::new(STDIN), io::stdin().read_to_end(&mut content).map(|_| content))
            }
            // A pipe works as well, such as the shell's `<(kustomize build …)`.
            _ => (path.as_path(), fs::read(path)),
        };
        let content =
            read.map_err(|error| CommandError(format!("cannot read {option} `{path}`: {error}")))?;
        Ok(Stream { name: Arc::from(name), content })
    };
    paths.iter().map(stream).collect()
}

/// Returns the directories that runs write for a site, with the scopes of their journals.
fn written_directories(site: &Location) -> Vec<(Utf8PathBuf, JournalScope)> {
    // A site with unreadable settings is never written.
    let Ok(settings) = Settings::load(&site.files) else { return Vec::new() };
    vec![
        (settings.snapshot.directory, JournalScope::Snapshot),
        (settings.output, JournalScope::Hosts),
    ]
}

/// Rolls back interrupted runs of all sites, also of those that were not selected.
///
/// Returns whether there was one. The caller must hold the exclusive lock on the root.
pub(super) fn undo_interrupted(sites: &Sites) -> Result<bool, CommandError> {
    let root = sites.repo.root();
    let mut is_undone = false;
    let all = sites.all.iter().chain(&sites.others);
    for (directory, scope) in all.flat_map(written_directories) {
        is_undone |= sipgen::is_interrupted(root, &directory);
        sipgen::undo_interrupted(root, &directory, scope)?;
    }
    Ok(is_undone)
}

/// Takes the shared lock if files are read from disk, and finds the sites.
pub(super) fn lock_to_read(chosen: &SelectedFiles) -> Result<(Option<Lock>, Sites), CommandError> {
    let root = chosen.files.root();
    let lock = chosen.files.are_on_disk().then(|| Lock::shared(root)).transpose()?;
    let sites = chosen.sites()?;
    let mut written = sites.all.iter().filter(|_| lock.is_some()).flat_map(written_directories);
    match written.find(|(directory, _)| sipgen::is_interrupted(root, directory)) {
        None => Ok((lock, sites)),
        Some((directory, _)) => Err(CommandError(format!(
            "`{directory}` is half written by an interrupted run: run `sipgen generate`, which rolls it back first"
        ))),
    }
}

/// Reports that an option needs the choice of a site.
pub(super) fn one_base_cluster(what: &str, sites: &Sites) -> CommandError {
    let names = names(sites);
    CommandError(format!("{what} one base cluster: choose its site with --site: {names}"))
}

fn names(sites: &Sites) -> String {
    joined(sites.all.iter().map(|site| &site.name), ", ")
}

/// Returns the only site; fails if a command that answers for one would have to choose.
pub(super) fn only(sites: &Sites) -> Result<&Location, CommandError> {
    let choose = || CommandError(format!("choose a site with --site: {}", names(sites)));
    sites.single().ok_or_else(choose)
}

/// Returns the heading of one of several sites; empty if there is one.
pub(super) fn heading(sites: &Sites, site: &str) -> ReportText {
    if sites.single().is_some() { ReportText::default() } else { report::site(site) }
}

pub(super) fn generate(sites: &Sites) -> Result<Runs<'_>, CommandError> {
    Ok(sipgen::generate_sites(sites, &options()?, &|_| {})?)
}

/// Returns the overview of a site with the kinds of hardware.
pub(super) fn overview(
    site: &Location,
    generated: &GeneratedSite,
    by: Option<&str>,
) -> Result<Overview, CommandError> {
    let (hardware, _) = hardware::known_hardware(&site.files, &generated.site, None)?;
    Ok(Overview::new(generated, by)?.with_hardware(&hardware))
}

/// Adds the findings about inspected hardware, which `generate` skips unless requests require some.
pub(super) fn add_hardware_findings(runs: &mut Runs<'_>) -> Result<(), CommandError> {
    for (site, run) in runs.iter_mut().filter(|(_, run)| !run.site.knows_hardware) {
        let (_, found) = hardware::known_hardware(&site.files, &run.site, None)?;
        let settings = &run.site.settings;
        let (muted, shown): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|finding| settings.ignores(finding));
        run.muted += muted.len();
        run.findings.extend(shown);
    }
    Ok(())
}

/// Returns the default options with the current date in UTC, or that of `SOURCE_DATE_EPOCH`
/// (<https://reproducible-builds.org/specs/source-date-epoch/>).
pub(super) fn options() -> Result<Options, CommandError> {
    let seconds = match env::var_os(SOURCE_DATE_EPOCH) {
        None => SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs()),
        Some(value) => value.to_string_lossy().parse().map_err(|_| {
            CommandError(format!(
                "invalid {SOURCE_DATE_EPOCH} `{}`: set it to seconds since 1970, or unset it",
                value.to_string_lossy()
            ))
        })?,
    };
    Ok(Options { today: Some(Date::from_unix_seconds(seconds)), ..Options::default() })
}

/// Collects the findings of all sites and of the sites as a whole.
pub(super) fn findings(sites: &Sites, runs: &Runs<'_>) -> Vec<Finding> {
    let all = sites.findings.iter().chain(runs.iter().flat_map(|(_, run)| &run.findings));
    merged(sites, all.cloned().collect())
}

/// Merges the findings of sites: one about files that sites share is reported by each of them.
pub(super) fn merged(sites: &Sites, findings: Vec<Finding>) -> Vec<Finding> {
    if sites.single().is_some() { findings } else { finding::merge(findings) }
}

/// Prints the answers of sites: as text, each below the heading of its site, or as JSON.
pub(super) fn print_answers<T: Serialize>(
    format: AnswerFormat,
    sites: &Sites,
    answers: &[(&Location, T)],
    text: impl Fn(&T) -> ReportText,
) -> Result<(), CommandError> {
    if format == AnswerFormat::Json {
        return print_json(sites, answers);
    }
    for (site, answer) in answers {
        print(heading(sites, &site.name));
        print(text(answer));
    }
    Ok(())
}

/// Prints a value as JSON; several sites are keyed by name.
pub(super) fn print_json<T: Serialize>(
    sites: &Sites,
    values: &[(&Location, T)],
) -> Result<(), CommandError> {
    print_document(&match (sites.single(), values) {
        (Some(_), [(_, value)]) => ReportDocument::json(value)?,
        _ => {
            let by_name: BTreeMap<&str, &T> =
                values.iter().map(|(site, value)| (site.name.as_str(), value)).collect();
            ReportDocument::json(&BTreeMap::from([("sites", by_name)]))?
        }
    });
    Ok(())
}

/// Opens the named directory, or the root of the git repo around the working directory; on disk, or
/// in a revision of a repo that may be bare.
fn open(directory: Option<&Utf8Path>, revision: Option<&str>) -> Result<Files, CommandError> {
    if let Some(directory) = directory.filter(|directory| !directory.is_dir()) {
        return Err(CommandError(format!("--repo `{directory}` is not a directory")));
    }
    let around = git::around(directory.unwrap_or(Utf8Path::new(".")))?;
    let root = match (directory, &around) {
        (Some(directory), _) => directory,
        (None, Some(around)) => around.top.as_deref().unwrap_or(&around.directory),
        (None, None) => {
            return Err(CommandError(
                "the working directory is not in a git repo: name a directory with --repo"
                    .to_owned(),
            ));
        }
    };
    if let Some(revision) = revision {
        return Ok(Files::at_revision(root, revision)?);
    }
    // Hooks of a bare repo run with GIT_DIR set, also for files that are elsewhere.
    let holds_root = |repo: &&EnclosingRepo| {
        root.canonicalize_utf8().is_ok_and(|root| root.starts_with(&repo.directory))
    };
    match around.as_ref().filter(|repo| repo.top.is_none()).filter(holds_root) {
        None => Ok(Files::on_disk(root)),
        Some(bare) => Err(CommandError(format!(
            "`{}` is a bare repo without files on disk: name a revision with --rev if the command has it \
             (`sipgen diff`: with --base and --head), or clone it",
            bare.directory
        ))),
    }
}

/// Opens the git repo whose root is `directory`, or the one around the working directory.
pub(super) fn git_root(
    directory: Option<&Utf8Path>,
) -> Result<(Files, EnclosingRepo), CommandError> {
    let files = open(directory, None)?;
    let root = files.root();
    match git::around(root)? {
        None => Err(CommandError(format!("`{root}` is not in a git repo: run `git init`"))),
        Some(EnclosingRepo { top: Some(top), place, .. }) if !place.as_str().is_empty() => {
            Err(CommandError(format!(
                "`{root}` is not the root of its git repo, where hooks and CI jobs are read: run with --repo {}",
                top.as_str().trim_end_matches('/')
            )))
        }
        Some(around) => Ok((files, around)),
    }
}

/// Returns the directory's path in its git repo, from which forges count paths. It is empty at the
/// root and outside git.
pub(super) fn place_in_git(directory: &Utf8Path) -> Result<Utf8PathBuf, CommandError> {
    Ok(git::around(directory)?.map(|around| around.place).unwrap_or_default())
}
