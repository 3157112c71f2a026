//! `sipgen diff`: summarizes changes for reviewers.

use camino::Utf8PathBuf;
use clap::ValueEnum;
use sipgen::Options;
use sipgen::ask::difference;
use sipgen::base::finding::Finding;
use sipgen::report::{self, DiffReport};
use sipgen::site::sites::{Location, Sites};

use super::progress::Progress;
use super::repo::SelectedFiles;
use super::{CommandError, ExitCode, exit_code, print, print_lines, repo, say};

const EXAMPLES: &str = "\
Examples:
  sipgen diff                        what `sipgen generate` would change
  sipgen diff --base origin/main     what a branch changes
  sipgen diff --base HEAD~ --lines   the last commit, and the files line by line

In CI, where differences are not a failure:
  sipgen diff --base origin/main --format markdown > plan.md || test $? -eq 1";

/// Summarize changes to clusters for their reviewer, dangers first
///
/// Without --base: the changes that `sipgen generate` would make. With --base: the output for that
/// revision compared with the output for the working tree, or for --head. Both are generated in
/// memory, so forgotten overlays are included and reported. Nothing is written or checked out; with
/// --base and --head the repo may be bare.
///
/// Exit codes as in `diff`: 0 no differences; 1 differences, stale overlays or invalid input; 2
/// sipgen could not run.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The repo's directory; default: the root of the git repo around the working directory
    #[arg(long, value_name = "DIR")]
    repo: Option<Utf8PathBuf>,

    /// Process one site, given by name or directory; default: all `sites` in sipgen.yaml
    #[arg(long, value_name = "NAME")]
    site: Option<String>,

    /// The revision to compare with, such as origin/main, HEAD or a tag
    #[arg(long, value_name = "REV")]
    base: Option<String>,

    /// The revision to compare instead of the working tree
    #[arg(long, value_name = "REV")]
    head: Option<String>,

    /// Read SIPClusters, hosts and Secrets from rendered manifests instead of the repo's files;
    /// repeatable, `-` is stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["base", "head"])]
    input: Vec<Utf8PathBuf>,

    /// Also print the changed files as unified diffs
    #[arg(long)]
    lines: bool,

    /// The output format
    #[arg(long, value_enum, default_value_t = DiffFormat::Text)]
    format: DiffFormat,

    /// Leave clusters with errors unchanged, and compare the others
    #[arg(long)]
    keep_going: bool,

    /// Accept a repo without SIPClusters, which releases all hosts
    #[arg(long)]
    allow_empty: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DiffFormat {
    /// Text
    Text,
    /// Markdown for a pull request comment, at most 65,000 characters
    Markdown,
    /// JSON; docs/diff.schema.json is its schema
    Json,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, CommandError> {
    let Arguments { repo: directory, base, head: revision, .. } = arguments;
    let directory = directory.as_deref();
    let site = arguments.site.as_deref();
    let head =
        SelectedFiles::open(directory, revision.as_deref(), site)?.with_inputs(&arguments.input)?;
    let at_base = |base: &String| SelectedFiles::open(Some(head.files.root()), Some(base), None);
    let base_files = base.as_ref().map(at_base).transpose()?;
    let options = Options {
        keep_going: arguments.keep_going,
        allow_empty: arguments.allow_empty,
        ..repo::options()?
    };
    let (lock, sites) = repo::lock_to_read(&head)?;
    let base_sites = base_files.map(|base| Sites::find(base.files)).transpose()?;
    let progress = Progress::start();
    let shows = |stage| progress.show(stage);
    let mut differences = Vec::new();
    for site in &sites.all {
        let difference = match &base_sites {
            Some(base) => {
                difference::between(&base.counterpart(site)?, &site.files, &options, &shows)?
            }
            None => difference::pending(&site.files, &options, &shows)?,
        };
        differences.push((site, difference));
    }
    if let Some((_, first)) = differences.first_mut() {
        // These findings concern the whole run.
        first.findings.splice(0..0, sites.findings.clone());
        let base_sites = base_sites.iter().filter(|_| sites.single().is_none());
        let gone = base_sites
            .flat_map(|base| &base.all)
            .filter(|site| !sites.all.iter().any(|other| other.directory == site.directory));
        let note = |site: &Location| match site.name.as_str() {
            "" => "The base had a single site.".to_owned(),
            name => format!("Site `{name}` of the base was removed: nothing is generated for it."),
        };
        first.notes.extend(gone.map(note));
    }
    drop(progress);
    drop(lock);

    if arguments.format == DiffFormat::Text {
        for (site, difference) in &differences {
            print(repo::heading(&sites, &site.name));
            print(report::plan(difference));
            if let Some((changes, _)) = difference.known.as_ref().filter(|_| arguments.lines) {
                print("\n");
                print_lines(&report::diff(changes));
            }
            say(report::notes(difference));
        }
        let found = differences.iter().flat_map(|(_, difference)| difference.findings.clone());
        say(report::findings(&repo::merged(&sites, found.collect()), &sites.repo));
    } else {
        let (base, head) = (base.as_deref(), revision.as_deref());
        let comparisons = differences.iter().map(|(site, it)| {
            (*site, DiffReport::new(base, head, it, &sites.repo, arguments.lines))
        });
        let comparisons: Vec<(&Location, DiffReport)> = comparisons.collect();
        match (arguments.format, sites.single(), comparisons.as_slice()) {
            (DiffFormat::Json, ..) => repo::print_json(&sites, &comparisons)?,
            (_, Some(_), [(_, only)]) => print(report::markdown(only)),
            (_, _, all) => {
                let all: Vec<_> = all.iter().map(|(site, it)| (site.name.as_str(), it)).collect();
                print(report::markdown_of_sites(&all));
            }
        }
    }
    let failed = differences
        .iter()
        .any(|(_, of)| of.findings.iter().any(Finding::is_error) || !of.is_none());
    Ok(exit_code(failed))
}
