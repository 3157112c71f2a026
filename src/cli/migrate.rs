//! `sipgen migrate`: prints legacy SIPClusters in today's form.

use sipgen::report;

use super::{CommandError, ExitCode, exit_code, print_lines, repo, say};

const EXAMPLES: &str = "\
Examples:
  sipgen migrate                 print the legacy SIPClusters of the repo in today's form
  sipgen migrate > today.yaml    write them into a file";

/// Print legacy SIPClusters in today's form
///
/// Replace each SIPCluster by its printed text, in the file that the first line names: the output of
/// `sipgen generate` stays the same. Comments are not printed. Nothing is written.
/// docs/operations/migrating.md lists the mapping of each field.
///
/// Exits with 1 if the input has errors, such as a field that cannot be converted.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    from: repo::RepoArguments,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, CommandError> {
    let from = arguments.from.chosen()?;
    let migration = sipgen::migrate(&from.sites()?)?;
    print_lines(&report::migration(&migration));
    say(report::findings(&migration.findings, &from.files));
    let is_complete = migration.findings.is_empty();
    if migration.documents.is_empty() && is_complete {
        say("no legacy SIPCluster found\n".to_owned());
    }
    Ok(exit_code(!is_complete))
}
