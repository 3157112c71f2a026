//! `sipgen init`: creates settings, hook and CI job in a repo.

use camino::Utf8PathBuf;
use clap::ValueEnum;
use sipgen::Options;
use sipgen::input::settings::Settings;
use sipgen::report;
use sipgen::setup::init::{self, FileAction, Forge, Proposal};
use sipgen::site::sites::Sites;

use super::{CommandError, ExitCode, exit_code, print_lines, repo, say, say_findings};

const EXAMPLES: &str = "\
Examples:
  sipgen init                        set up the git repo around the working directory
  sipgen init --dry-run              show the files without writing them
  sipgen init --ci gitlab            if the CI system is not detected";

/// Prepare a git repo for sipgen
///
/// Writes sipgen.yaml, a pre-commit hook, a CI job and .gitattributes. It never prompts, and never
/// changes an existing file: missing lines are printed. Flux or Argo CD is detected by the
/// manifests in the repo. GitHub or GitLab is detected by the remote or by the repo's files.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The root of a git repo; default: the root of the repo around the working directory
    #[arg(long, value_name = "DIR")]
    repo: Option<Utf8PathBuf>,

    /// Write nothing, and print the files that would be created as a diff
    #[arg(long)]
    dry_run: bool,

    /// The CI system that gets a job; default: the detected one
    #[arg(long, value_enum)]
    ci: Option<Ci>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Ci {
    /// GitHub Actions workflow
    Github,
    /// GitLab jobs
    Gitlab,
    /// No job
    None,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, CommandError> {
    let (files, around) = repo::git_root(arguments.repo.as_deref())?;
    let settings = match Settings::load(&files) {
        Ok(settings) => settings,
        Err(findings) => return Ok(say_findings(&findings, &files)),
    };
    let remote = around.remote;
    let forges = match arguments.ci {
        Some(Ci::Github) => vec![Forge::Github],
        Some(Ci::Gitlab) => vec![Forge::Gitlab],
        Some(Ci::None) => Vec::new(),
        None => init::forges(&files, remote.as_deref()),
    };
    let proposals = init::propose(&files, &settings, remote.as_deref(), &around.branches, &forges)?;

    let changes = init::changes(&proposals);
    if arguments.dry_run {
        print_lines(&report::diff(&changes));
    } else {
        sipgen::write(files.root(), &changes)?;
    }
    let sites = (!arguments.dry_run).then(|| Sites::find(files)).transpose()?;
    let runs = sites.as_ref().map(generate).transpose()?;
    say(report::proposals(&proposals, runs.as_deref()));
    if forges.is_empty() && arguments.ci.is_none() {
        say(
            "\nno CI job created: neither GitHub nor GitLab was detected; choose one with `sipgen init --ci`\n",
        );
    }
    let is_blocked = |it: &Proposal| matches!(it.action, FileAction::Blocked(_));
    Ok(exit_code(proposals.iter().any(is_blocked)))
}

/// Finds out what the repo asks for, and has for it.
fn generate(sites: &Sites) -> Result<repo::Runs<'_>, CommandError> {
    let options = Options { keep_going: true, allow_empty: true, ..repo::options()? };
    Ok(sipgen::generate_sites(sites, &options, &|_| {})?)
}
