//! `sipgen report`: the site as an HTML page.

use std::fs;
use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use sipgen::ask::capacity::{CapacityScope, capacity};
use sipgen::ask::drain::{drain, in_maintenance};
use sipgen::input::git::{self, Checkout};
use sipgen::output::compare::{Change, OutputChanges};
use sipgen::report::{self, PageAnswers};
use sipgen::setup::doctor::snapshot_change;

use super::{CommandError, ExitCode, print_document, repo, say_findings};

const EXAMPLES: &str = "\
Examples:
  sipgen report site.html
  sipgen report - | gzip > site.html.gz";

/// Write an HTML page of the site: verdict, clusters, racks and hosts
///
/// The page is one self-contained file: open it in a browser, attach it to a ticket, keep it as a
/// CI artifact. It shows the plan that `sipgen generate` would compute now, with changes marked, what
/// else fits, what the loss of each rack does, and the steps that empty hosts in maintenance. Nothing
/// else is written.
///
/// Exits with 1 if the input has errors; the page is written anyway and lists them.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    from: repo::RepoArguments,

    /// The path of the page; `-` prints it. Only an earlier page is replaced, never another file.
    /// Each of several sites gets a page of its own: site.html becomes site.production.html
    #[arg(value_name = "FILE")]
    file: Utf8PathBuf,

    /// The label of topology domains; default: the most used topology key
    #[arg(long, value_name = "LABEL")]
    by: Option<String>,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, CommandError> {
    let file = &arguments.file;
    let chosen = arguments.from.chosen()?;
    let (lock, sites) = repo::lock_to_read(&chosen)?;
    let to_stdout = file == "-";
    if to_stdout && sites.single().is_none() {
        return Err(CommandError(
            "a page shows one site: choose it with --site, or name a file".to_owned(),
        ));
    }
    // Refuse paths before the slow part.
    let mut pages = Vec::new();
    for site in &sites.all {
        let path =
            if sites.single().is_some() { file.clone() } else { site_path(file, &site.name) };
        let before = if to_stdout { None } else { replaceable(&path)? };
        pages.push((path, before));
    }
    let runs = repo::generate(&sites)?;
    let paths: Vec<Utf8PathBuf> =
        pages.iter().map(|(path, _)| path).filter_map(|path| whole(path)).collect();
    let version = git::version(chosen.files.root(), arguments.from.rev.as_deref(), &paths)?;
    drop(lock);
    // A revision or stream has no worktree.
    let root = chosen.files.root();
    let checkout = if chosen.files.are_on_disk() { Checkout::around(root)? } else { None };
    let mut made = Vec::new();
    for ((site, generated), (path, before)) in runs.iter().zip(pages) {
        let overview = repo::overview(site, generated, arguments.by.as_deref())?;
        let scope = CapacityScope { racks: Some(&overview), ..CapacityScope::default() };
        let findings = &generated.findings;
        let marked = in_maintenance(&generated.site);
        let drain = (!marked.is_empty()).then(|| drain(generated, &marked, &[], 1));
        let version = version.as_ref();
        let answers = PageAnswers {
            overview: &overview,
            capacity: &capacity(generated, &scope)?,
            drain: drain.as_ref(),
            snapshot: snapshot_change(checkout.as_ref(), generated)?,
        };
        let page = report::page(&answers, version, findings, &sites.repo)?;
        made.push((path, before, page));
    }
    for (path, before, page) in made {
        if to_stdout {
            print_document(&page);
        } else {
            write(&path, before, page.to_string())?;
        }
    }
    Ok(say_findings(&repo::findings(&sites, &runs), &sites.repo))
}

/// Returns the path of one site's page, with the site's name before the extension.
fn site_path(path: &Utf8Path, site: &str) -> Utf8PathBuf {
    let site = site.replace('/', "-");
    let name = match (path.file_stem(), path.extension()) {
        (Some(stem), Some(extension)) => format!("{stem}.{site}.{extension}"),
        _ => format!("{}.{site}", path.file_name().unwrap_or_default()),
    };
    path.with_file_name(name)
}

/// Returns the absolute path of a page.
fn whole(path: &Utf8Path) -> Option<Utf8PathBuf> {
    Some(directory_of(path).canonicalize_utf8().ok()?.join(path.file_name()?))
}

/// Returns the directory of a page.
fn directory_of(path: &Utf8Path) -> &Utf8Path {
    let directory = path.parent().filter(|directory| !directory.as_str().is_empty());
    directory.unwrap_or(Utf8Path::new("."))
}

/// Returns the existing page at a path, if any. Other files belong to the user and are refused.
fn replaceable(path: &Utf8Path) -> Result<Option<String>, CommandError> {
    let refused = |what: &str| {
        CommandError(format!(
            "`{path}` {what} and was not changed: name another file, or `-` for stdout"
        ))
    };
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(refused(&format!("cannot be inspected: {error}"))),
        Ok(found) => found,
    };
    if !found.is_file() {
        return Err(refused("is not a regular file"));
    }
    let content = fs::read(path).map_err(|error| refused(&format!("cannot be read: {error}")))?;
    if !report::is_page(&content) {
        return Err(refused("is not a page written by sipgen"));
    }
    Ok(Some(String::from_utf8_lossy(&content).into_owned()))
}

/// Writes the page atomically. An unchanged page is not touched.
fn write(path: &Utf8Path, before: Option<String>, after: String) -> Result<(), CommandError> {
    let directory = directory_of(path);
    let Some(name) = path.file_name() else {
        return Err(CommandError(format!("`{path}` is not a file name")));
    };
    if !directory.is_dir() {
        return Err(CommandError(format!(
            "cannot write `{path}`: no such directory: `{directory}`"
        )));
    }
    let Some(change) = Change::between(before, Some(after)) else { return Ok(()) };
    let changes = OutputChanges { files: [(name.into(), change)].into(), leftovers: Vec::new() };
    Ok(sipgen::write(directory, &changes)?)
}
