//! `sipgen validate`: everything that is wrong with the input.

use camino::Utf8PathBuf;
use sipgen::finding::Finding;
use sipgen::site::hardware;
use sipgen::{Options, report};

use super::{Failure, Outcome, print, repo};

/// Say what is wrong with the input
///
/// Reads, plans and renders as `sipgen generate` does, and writes nothing. It also reads what inspection found in the
/// hosts, which `sipgen generate` passes by.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The repo's directory; by default the root of the git repo around the working directory
    #[arg(long, value_name = "DIR")]
    repo: Option<Utf8PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let repo = repo::find(arguments.repo.as_deref())?;
    let generated = sipgen::generate(&repo, &Options::default(), &|_| {})?;
    let mut findings = generated.findings;
    // It decides nothing when hosts are assigned, so `generate` does not read it.
    findings.extend(hardware::of_all(&repo, &generated.site)?.1);
    print(report::findings(&findings, &repo));
    Ok(if findings.iter().any(Finding::is_error) { Outcome::No } else { Outcome::Yes })
}
