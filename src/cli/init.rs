//! `sipgen init`: what a repo needs so that sipgen is run in it.

use camino::Utf8PathBuf;
use clap::ValueEnum;
use sipgen::init::{self, Action, Forge};
use sipgen::report;
use sipgen::settings::Settings;

use super::{Failure, Outcome, print, repo, say};

const EXAMPLES: &str = "\
Examples:
  sipgen init                        in a git repo
  sipgen init --dry-run              show the files, and write nothing
  sipgen init --ci gitlab            where the CI is not recognised";

/// Prepare a git repo for sipgen
///
/// Writes sipgen.yaml, a hook for pre-commit, a CI job, .gitattributes and SIPGEN.md. Nothing is asked, and a file
/// that is there is left as it is: the lines that it lacks are printed. The manifests in the repo tell whether Flux or
/// Argo CD applies it; its remote, or its files, tell whether the CI is GitHub's or GitLab's.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The root of a git repo; by default that of the git repo around the working directory
    #[arg(long, value_name = "DIR")]
    repo: Option<Utf8PathBuf>,

    /// Write nothing, and print the files that would be created as a diff
    #[arg(long)]
    dry_run: bool,

    /// The CI that gets a job; by default the one that is recognised
    #[arg(long, value_enum)]
    ci: Option<Ci>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Ci {
    /// A workflow of GitHub Actions
    Github,
    /// Jobs for GitLab
    Gitlab,
    /// No job
    None,
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let (files, around) = repo::git_root(arguments.repo.as_deref())?;
    let settings = match Settings::load(&files) {
        Ok(settings) => settings,
        Err(finding) => {
            say(report::findings(&[finding], &files));
            return Ok(Outcome::No);
        }
    };
    let remote = around.remote;
    let forges = match arguments.ci {
        Some(Ci::Github) => vec![Forge::Github],
        Some(Ci::Gitlab) => vec![Forge::Gitlab],
        Some(Ci::None) => Vec::new(),
        None => init::forges(&files, remote.as_deref()),
    };
    let proposals = init::propose(
        &files,
        &settings,
        remote.as_deref(),
        &around.branches,
        &forges,
    )?;

    let changes = init::changes(&proposals);
    if arguments.dry_run {
        print(report::diff(&changes));
    } else {
        sipgen::write(files.root(), &changes)?;
    }
    say(report::proposals(&proposals, !arguments.dry_run));
    if forges.is_empty() && arguments.ci.is_none() {
        say(
            "\nThere is no CI job: neither GitHub nor GitLab was recognised. `sipgen init --ci` takes its name.\n",
        );
    }
    let is_blocked = proposals
        .iter()
        .any(|proposal| matches!(proposal.action, Action::Blocked(_)));
    Ok(if is_blocked {
        Outcome::No
    } else {
        Outcome::Yes
    })
}
