//! `sipgen diff`: what changes, in words, for those who decide whether to merge.

use camino::Utf8PathBuf;
use clap::ValueEnum;
use sipgen::Options;
use sipgen::difference::{self, Difference};
use sipgen::finding::{self, Finding};
use sipgen::report::{self, Comparison};
use sipgen::sites::{Location, Sites};

use super::progress::Progress;
use super::repo::Chosen;
use super::{Failure, Outcome, print, repo, say};

const EXAMPLES: &str = "\
Examples:
  sipgen diff                        what `sipgen generate` would change
  sipgen diff --base origin/main     what a branch changes
  sipgen diff --base HEAD~ --lines   the last commit, and the files line by line

In CI, where differences are no failure:
  sipgen diff --base origin/main --format markdown > plan.md || test $? -eq 1";

/// Show what changes for clusters: hosts, services, endpoints, and the dangers first
///
/// Without --base: what `sipgen generate` would change. With --base: what is generated from the inputs of that
/// revision against what is generated from those on the disk, or of --head. Overlays that somebody forgot to generate
/// count as generated, and are told. Nothing is written or checked out, and a bare repo will do for --base with --head.
///
/// Exit codes are those of `diff`: 0 no differences, 1 differences, stale overlays or errors in the input, 2 it could
/// not run.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The repo's directory; by default the root of the git repo around the working directory
    #[arg(long, value_name = "DIR")]
    repo: Option<Utf8PathBuf>,

    /// One site of the repo only, by its name or directory; by default all sites that `sites` in sipgen.yaml lists
    #[arg(long, value_name = "NAME")]
    site: Option<String>,

    /// The revision to compare with, such as origin/main, HEAD or a tag
    #[arg(long, value_name = "REV")]
    base: Option<String>,

    /// The revision to look at, instead of the files on the disk
    #[arg(long, value_name = "REV")]
    head: Option<String>,

    /// Take SIPClusters, hosts and Secrets from rendered manifests, and not from the repo's files; may be given several
    /// times, and `-` is stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["base", "head"])]
    input: Vec<Utf8PathBuf>,

    /// Add the changed files line by line, as unified diffs
    #[arg(long)]
    lines: bool,

    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Leave clusters with errors as they are, and compare the others
    #[arg(long)]
    keep_going: bool,

    /// Accept a repo without SIPClusters, which gives all hosts back
    #[arg(long)]
    allow_empty: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For a comment on a pull request, of at most 65,000 characters
    Markdown,
    /// For programs; docs/diff.schema.json describes it
    Json,
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let Arguments {
        repo: directory,
        base,
        head: revision,
        ..
    } = arguments;
    let directory = directory.as_deref();
    let site = arguments.site.as_deref();
    let head = match revision {
        Some(revision) => Chosen::at_revision(directory, revision, site)?,
        None if repo::is_bare(directory)? => {
            return Err(Failure(
                "a bare repo has no files on the disk: name a revision by --head".to_owned(),
            ));
        }
        None => Chosen::on_disk(directory, &arguments.input, site)?,
    };
    let base_files = base
        .as_ref()
        .map(|base| Chosen::at_revision(Some(head.files.root()), base, None))
        .transpose()?;
    let options = Options {
        keep_going: arguments.keep_going,
        allow_empty: arguments.allow_empty,
        ..Options::default()
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
        // They are of the whole run.
        first.findings.splice(0..0, sites.findings.clone());
        let gone = base_sites
            .iter()
            .flat_map(|base| &base.all)
            .filter(|_| sites.single().is_none());
        let gone = gone.filter(|site| {
            !sites
                .all
                .iter()
                .any(|other| other.directory == site.directory)
        });
        let note = |site: &Location| match site.name.as_str() {
            "" => "The base was one site.".to_owned(),
            name => format!(
                "The site {name} of the base is there no more: nothing is generated for it."
            ),
        };
        first.notes.extend(gone.map(note));
    }
    progress.finish();
    drop(lock);

    if arguments.format == Format::Text {
        for (site, difference) in &differences {
            if sites.single().is_none() {
                print(report::site(&site.name));
            }
            print(report::plan(difference));
            if let Some((changes, _)) = difference.known.as_ref().filter(|_| arguments.lines) {
                print("\n");
                print(report::diff(changes));
            }
            say(report::notes(difference));
        }
        let found = differences
            .iter()
            .flat_map(|(_, difference)| difference.findings.clone())
            .collect();
        let found = if sites.single().is_some() {
            found
        } else {
            finding::merge(found)
        };
        say(report::findings(&found, &sites.repo));
    } else {
        let comparison = |difference: &Difference| {
            Comparison::new(
                base.as_deref(),
                revision.as_deref(),
                difference,
                &sites.repo,
                arguments.lines,
            )
        };
        let comparisons: Vec<_> = differences
            .iter()
            .map(|(site, of)| (*site, comparison(of)))
            .collect();
        match (arguments.format, sites.single(), comparisons.as_slice()) {
            (Format::Json, ..) => repo::print_json(&sites, comparisons)?,
            (_, Some(_), [(_, only)]) => print(report::markdown(only)),
            (_, _, all) => {
                let all: Vec<_> = all
                    .iter()
                    .map(|(site, comparison)| (site.name.as_str(), comparison))
                    .collect();
                print(report::markdown_of_sites(&all));
            }
        }
    }
    let failed = differences
        .iter()
        .any(|(_, of)| of.findings.iter().any(Finding::is_error) || !of.is_none());
    Ok(if failed { Outcome::No } else { Outcome::Yes })
}
