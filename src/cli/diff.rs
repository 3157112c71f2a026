//! `sipgen diff`: what changes, in words, for those who decide whether to merge.

use camino::Utf8PathBuf;
use clap::ValueEnum;
use sipgen::finding::Finding;
use sipgen::report::{self, Comparison, Document};
use sipgen::{Options, difference};

use super::progress::Progress;
use super::{Failure, Outcome, print, print_document, repo, say};

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
    let Arguments { repo: directory, base, head: revision, .. } = arguments;
    let directory = directory.as_deref();
    let head = match revision {
        Some(revision) => repo::at_revision(directory, revision)?,
        None if repo::is_bare(directory)? => {
            return Err(Failure("a bare repo has no files on the disk: name a revision by --head".to_owned()));
        }
        None => repo::with_inputs(repo::find(directory)?, &arguments.input)?,
    };
    let base_files = base.as_ref().map(|base| repo::at_revision(directory, base)).transpose()?;
    let options =
        Options { keep_going: arguments.keep_going, allow_empty: arguments.allow_empty, ..Options::default() };
    let lock = repo::lock_to_read(&head)?;
    let progress = Progress::start();
    let difference = match &base_files {
        Some(base) => difference::between(base, &head, &options, &|stage| progress.show(stage))?,
        None => difference::pending(&head, &options, &|stage| progress.show(stage))?,
    };
    progress.finish();
    drop(lock);

    if arguments.format == Format::Text {
        print(report::plan(&difference));
        if let Some((changes, _)) = difference.known.as_ref().filter(|_| arguments.lines) {
            print("\n");
            print(report::diff(changes));
        }
        say(report::notes(&difference));
        say(report::findings(&difference.findings, &head));
    } else {
        let comparison = Comparison::new(base.as_deref(), revision.as_deref(), &difference, &head, arguments.lines);
        match arguments.format {
            Format::Json => print_document(&Document::json(&comparison)?),
            _ => print(report::markdown(&comparison)),
        }
    }
    let failed = difference.findings.iter().any(Finding::is_error);
    Ok(if failed || !difference.is_none() { Outcome::No } else { Outcome::Yes })
}
