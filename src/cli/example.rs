//! `sipgen example`: a commented request that fits the repo's hosts.

use sipgen::Options;
use sipgen::input::settings::Settings;
use sipgen::report::ReportDocument;
use sipgen::setup::example::{Example, Fit};
use sipgen::site::assembly::hardware;

use super::{CommandError, ExitCode, print_document, repo, say_findings};

const EXAMPLES: &str = "\
Examples:
  sipgen example sipcluster > clusters/edge.yaml
  sipgen example cluster-api > clusters/edge.yaml
  sipgen example provisioning > clusters/edge.yaml";

/// Print a commented request for a first cluster
///
/// Namespace, selectors, topology key and numbers fit the free hosts of the repo, so that `sipgen
/// generate` finds a placement. Without a repo or free hosts, they are placeholders. Nothing is
/// written.
///
/// Exits with 1 if errors in the settings or hosts hide which hosts are free.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The kind of request
    #[arg(value_enum)]
    kind: Example,

    #[command(flatten)]
    from: repo::RepoArguments,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, CommandError> {
    let fit = if arguments.from.is_anywhere()? {
        let (lock, sites) = repo::lock_to_read(&arguments.from.chosen()?)?;
        let options = Options { keep_going: true, allow_empty: true, ..repo::options()? };
        let files = &repo::only(&sites)?.files;
        let generated = sipgen::generate(files, &options, &|_| {})?;
        let (hardware, _) = hardware::known_hardware(files, &generated.site, None)?;
        drop(lock);
        let fit = Fit::new(&generated, &hardware);
        // Other errors leave these hosts free.
        if generated.changes.is_none() && (!fit.is_found() || Settings::load(files).is_err()) {
            return Ok(say_findings(&generated.findings, files));
        }
        fit
    } else {
        Fit::default()
    };
    print_document(&ReportDocument::trusted(arguments.kind.manifest(&fit)?));
    Ok(ExitCode::SUCCESS)
}
