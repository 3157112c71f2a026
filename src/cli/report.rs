//! `sipgen report`: the site as a page for a browser.

use std::fs;
use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use sipgen::finding::Finding;
use sipgen::output::compare::{Change, Changes};
use sipgen::picture::Picture;
use sipgen::report;

use super::{Failure, Outcome, print_document, repo, say};

const EXAMPLES: &str = "\
Examples:
  sipgen report --html site.html
  sipgen report --html - | gzip > site.html.gz";

/// Make a page of the site: racks, hosts, clusters, with filters
///
/// One file that loads nothing from anywhere: open it in a browser, attach it to a ticket, keep it as a CI artifact.
/// It shows what `sipgen generate` would decide now, with what changes marked. Nothing else is written.
///
/// Exits with 1 if the input has errors; the page is made all the same and tells them.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    from: repo::From,

    /// Where to write the page; `-` prints it. A file that is no such page is not replaced. Of several sites each has a
    /// page, with its name before the ending: site.html becomes site.production.html
    #[arg(long, value_name = "FILE")]
    html: Utf8PathBuf,

    /// The label whose values are the racks; by default the topology key that most node sets use
    #[arg(long, value_name = "LABEL")]
    rack_by: Option<String>,
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let chosen = arguments.from.chosen()?;
    let (lock, sites) = repo::lock_to_read(&chosen)?;
    let to_stdout = arguments.html == "-";
    if to_stdout && sites.single().is_none() {
        return Err(Failure(
            "a page is of one site: name it by --site, or a file by --html".to_owned(),
        ));
    }
    // Before the work, so that nobody waits for a refusal.
    let mut pages = Vec::new();
    for site in &sites.all {
        let path = if sites.single().is_some() {
            arguments.html.clone()
        } else {
            of_site(&arguments.html, &site.name)
        };
        let before = if to_stdout { None } else { replaceable(&path)? };
        pages.push((path, before));
    }
    let runs = repo::generate(&sites)?;
    drop(lock);
    let mut made = Vec::new();
    for ((_, generated), (path, before)) in runs.iter().zip(pages) {
        let picture = Picture::new(generated, arguments.rack_by.as_deref())?;
        made.push((
            path,
            before,
            report::page(&picture, &generated.findings, &sites.repo)?,
        ));
    }
    for (path, before, page) in made {
        if to_stdout {
            print_document(&page);
        } else {
            write(&path, before, page.to_string())?;
        }
    }
    let (findings, _) = repo::findings(&sites, &runs);
    say(report::findings(&findings, &sites.repo));
    let failed = findings.iter().any(Finding::is_error);
    Ok(if failed { Outcome::No } else { Outcome::Yes })
}

/// The file of one site's page: its name comes before the ending.
fn of_site(path: &Utf8Path, site: &str) -> Utf8PathBuf {
    let site = site.replace('/', "-");
    let name = match (path.file_stem(), path.extension()) {
        (Some(stem), Some(extension)) => format!("{stem}.{site}.{extension}"),
        _ => format!("{}.{site}", path.file_name().unwrap_or_default()),
    };
    path.with_file_name(name)
}

/// The page that is at a path, if one is; anything else there is somebody's, and is refused.
fn replaceable(path: &Utf8Path) -> Result<Option<String>, Failure> {
    let refused = |what: &str| {
        Failure(format!(
            "{path} {what}; it stays as it is: name another file, or `-` for stdout"
        ))
    };
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(refused(&format!("cannot be looked at: {error}"))),
        Ok(found) => found,
    };
    if !found.is_file() {
        return Err(refused("is no plain file"));
    }
    let content = fs::read(path).map_err(|error| refused(&format!("cannot be read: {error}")))?;
    if !report::is_page(&content) {
        return Err(refused("is not a page that sipgen made"));
    }
    Ok(Some(String::from_utf8_lossy(&content).into_owned()))
}

/// Writes the page as every file is written: whole, or not at all. One that stays as it is, is not touched.
fn write(path: &Utf8Path, before: Option<String>, after: String) -> Result<(), Failure> {
    let directory = path
        .parent()
        .filter(|directory| !directory.as_str().is_empty())
        .unwrap_or(Utf8Path::new("."));
    let Some(name) = path.file_name() else {
        return Err(Failure(format!("--html {path:?} names no file")));
    };
    if !directory.is_dir() {
        return Err(Failure(format!(
            "cannot write {path}: there is no directory {directory}"
        )));
    }
    let change = match before {
        Some(before) if before == after => return Ok(()),
        Some(before) => Change::Update { before, after },
        None => Change::Create { after },
    };
    let changes = Changes {
        files: [(name.into(), change)].into(),
        leftovers: Vec::new(),
    };
    Ok(sipgen::write(directory, &changes)?)
}
