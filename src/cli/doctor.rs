//! `sipgen doctor`: checks what breaks without an error.

use camino::{Utf8Path, Utf8PathBuf};
use sipgen::input::git::{self, Checkout};
use sipgen::input::load::Files;
use sipgen::report;
use sipgen::setup::doctor::{CheckState, check_automation, check_site};

use super::repo::SelectedFiles;
use super::{CommandError, ExitCode, exit_code, print, repo, say};

const EXAMPLES: &str = "\
Examples:
  sipgen doctor                      check the repo around the working directory
  sipgen doctor --site production    check one site of several";

/// Check what breaks silently: hooks, CI, the agent, the snapshot
///
/// Prints one line per check, with the fix where there is something to fix. `failed` means that
/// assignments get lost. Nothing is written, and no cluster is read.
///
/// Exits with 1 if a check failed.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The repo's directory; default: the root of the git repo around the working directory
    #[arg(long, value_name = "DIR")]
    repo: Option<Utf8PathBuf>,

    /// Check one site, given by name or directory; default: all `sites` in sipgen.yaml
    #[arg(long, value_name = "NAME")]
    site: Option<String>,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, CommandError> {
    let directory = arguments.repo.as_deref();
    let here = directory.unwrap_or(Utf8Path::new("."));
    let top = git::around(here)?.and_then(|around| around.top);
    let (Some(top), Some(checkout)) = (top, Checkout::around(here)?) else {
        return Err(CommandError(format!(
            "`{here}` is not in a git worktree, which records the assignment of hosts: run `git init`, or name a clone"
        )));
    };
    let chosen = SelectedFiles::open(directory, None, arguments.site.as_deref())?;
    let (lock, sites) = repo::lock_to_read(&chosen)?;
    let runs = repo::generate(&sites)?;
    drop(lock);
    let today = repo::options()?.today;
    let hook = checkout.hook("pre-commit")?;
    let mut all = check_automation(&Files::on_disk(top), hook.as_ref())?;
    print(report::checks(&all));
    for (site, run) in &runs {
        if !site.name.is_empty() {
            print("\n");
            print(report::site(&site.name));
        }
        let checks = check_site(&checkout, run, today)?;
        print(report::checks(&checks));
        all.extend(checks);
    }
    say(report::tally_of_checks(&all));
    let failed = all.iter().any(|check| check.state == CheckState::Failed);
    Ok(exit_code(failed))
}
