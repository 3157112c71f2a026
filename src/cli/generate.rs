//! `sipgen generate`: the main job.

use camino::Utf8PathBuf;
use clap::ValueEnum;
use sipgen::api::names::ClusterKey;
use sipgen::report::{self, Results};
use sipgen::source::Files;
use sipgen::{Generated, Options};

use super::progress::Progress;
use super::{Failure, Outcome, print, repo, say};

const EXAMPLES: &str = "\
Examples:
  sipgen generate                               write what has changed
  sipgen generate --check --diff                show what would change; for CI and hooks
  sipgen generate --check --format github       the same, as annotations of a pull request
  sipgen generate --only tenant-a/edge";

/// Generate the overlays of a repo
///
/// Reads the SIPClusters and BareMetalHosts of a repo, decides which host goes to which cluster, and writes
/// kustomize overlays with the hosts' labels and the clusters' services. Hosts that a cluster has, it keeps. All
/// of it is worked out before the first file is touched; with errors in the input, none is.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The repo's directory; by default the root of the git repo around the working directory
    #[arg(long, value_name = "DIR")]
    repo: Option<Utf8PathBuf>,

    /// Write nothing, and exit with 1 if something would change
    #[arg(long)]
    check: bool,

    /// Exit with 1 if something has changed
    #[arg(long)]
    exit_code: bool,

    /// Print the changes as a unified diff
    #[arg(long)]
    diff: bool,

    /// Leave clusters with errors as they are, and generate the others
    ///
    /// Errors that are about no cluster, such as a host that is there twice, stop the run all the same.
    #[arg(long)]
    keep_going: bool,

    /// Generate this cluster only; may be given several times
    ///
    /// All others stay as they are, hosts and services alike.
    #[arg(long, value_name = "NS/NAME")]
    only: Vec<ClusterKey>,

    /// Move hosts that no longer match their labelSelector, or share a topology domain
    ///
    /// Without it such hosts stay, with a warning. A host that a Machine consumes stays in any case. Use it with
    /// --check --diff first: the summary says what would be moved.
    #[arg(long)]
    rebalance: bool,

    /// Accept a repo without SIPClusters, and give all hosts back
    #[arg(long)]
    allow_empty: bool,

    /// Print the findings on stdout for a program, too; with --check, stale files are among them
    ///
    /// What is said to people goes to stderr in any case.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people only: nothing is printed on stdout
    Text,
    /// Workflow commands of GitHub Actions, which become annotations
    Github,
    /// GitLab's code quality report
    Gitlab,
    /// SARIF 2.1.0, for GitHub's code scanning and for editors
    Sarif,
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    if arguments.diff && arguments.format != Format::Text {
        return Err(Failure("--diff and --format both print on stdout: run sipgen once with each".to_owned()));
    }
    let repo = repo::find(arguments.repo.as_deref())?;
    let options = Options {
        keep_going: arguments.keep_going,
        only: arguments.only.iter().cloned().collect(),
        rebalance: arguments.rebalance,
        allow_empty: arguments.allow_empty,
    };
    let progress = Progress::start();
    let generated = sipgen::generate(&repo, &options, &|stage| progress.show(stage))?;
    if let Some(changes) = generated.changes.as_ref().filter(|_| !arguments.check) {
        progress.show_writing();
        sipgen::write(repo.root(), changes)?;
    }
    progress.finish();

    if let Some(changes) = generated.changes.as_ref().filter(|_| arguments.diff) {
        print(report::diff(changes));
    }
    print_results(arguments, &generated, &repo);
    say(report::findings(&generated.findings, &repo));
    say(report::summary(&generated, !arguments.check));
    if let Some(changes) = generated.changes.as_ref().filter(|changes| arguments.check && !changes.files.is_empty()) {
        say(report::stale_files(changes));
        say(report::how_to_mend(&writing_command(arguments)));
    }
    let failed = generated.findings.iter().any(sipgen::finding::Finding::is_error);
    let changed = generated.changes.is_some_and(|changes| !changes.files.is_empty());
    let refused = failed || changed && (arguments.check || arguments.exit_code);
    Ok(if refused { Outcome::No } else { Outcome::Yes })
}

/// Prints what was found for a program.
fn print_results(arguments: &Arguments, generated: &Generated, repo: &Files) {
    let write = match arguments.format {
        Format::Text => return,
        Format::Github => report::github,
        Format::Gitlab => report::gitlab,
        Format::Sarif => report::sarif,
    };
    let stale = if arguments.check { report::stale(generated, &writing_command(arguments)) } else { Vec::new() };
    print(write(&Results::new(&generated.findings, &stale, repo, &repo::place_in_git(repo.root()))));
}

/// The command that writes what this one has checked.
fn writing_command(arguments: &Arguments) -> String {
    let Arguments { repo, keep_going, only, rebalance, allow_empty, check: _, exit_code: _, diff: _, format: _ } =
        arguments;
    let flag = |name: &str, is_given: &bool| if *is_given { format!(" --{name}") } else { String::new() };
    let repo = repo.as_ref().map(|directory| format!(" --repo {}", quoted(directory.as_str())));
    let only: String = only.iter().map(|cluster| format!(" --only {cluster}")).collect();
    let flags = [("keep-going", keep_going), ("rebalance", rebalance), ("allow-empty", allow_empty)];
    let flags: String = flags.iter().map(|(name, is_given)| flag(name, is_given)).collect();
    format!("sipgen generate{}{only}{flags}", repo.unwrap_or_default())
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./:@%+=,-".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
