//! `sipgen validate`: everything that is wrong with the input.

use sipgen::finding::Finding;
use sipgen::{Options, report};

use super::{Failure, Outcome, print, repo};

/// Say what is wrong with the input
///
/// Reads, plans and renders as `sipgen generate` does, and writes nothing.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    from: repo::From,
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let repo = arguments.from.files()?;
    let generated = sipgen::generate(&repo, &Options::default(), &|_| {})?;
    print(report::findings(&generated.findings, &repo));
    Ok(if generated.findings.iter().any(Finding::is_error) { Outcome::No } else { Outcome::Yes })
}
