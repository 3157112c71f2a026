//! `sipgen validate`: everything that is wrong with the input.

use clap::ValueEnum;
use sipgen::finding::{Finding, Severity};
use sipgen::report::{self, Document, Results, Validation};
use sipgen::site::hardware;

use super::{Failure, Outcome, print, print_document, repo, say};

const EXAMPLES: &str = "\
Examples:
  sipgen validate                          all that is wrong, with the lines to mend
  sipgen validate --strict                 warnings are errors, too; for CI
  sipgen validate --format sarif > sipgen.sarif
  sipgen explain SIP0205                   what a code means, at length";

/// Say what is wrong with the input
///
/// Reads, plans and renders as `sipgen generate` does, and writes nothing. It also reads what inspection found in the
/// hosts, which `sipgen generate` passes by. Each finding has a code, the place to mend and what to do. Stale overlays
/// are no findings here: `sipgen generate --check` tells those.
///
/// A warning that does not matter in your repo can be ignored in sipgen.yaml, with the reason:
/// `findings: {ignore: [{code: SIP0307, reason: ...}]}`. Errors cannot.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    from: repo::From,

    /// Take warnings for errors, and exit with 1 if there is one
    #[arg(long)]
    strict: bool,

    /// Read what is staged, and nothing else; for pre-commit hooks
    #[arg(long, conflicts_with_all = ["rev", "input"])]
    from_index: bool,

    /// How to print the findings; for other than people, they are said to people on stderr, too
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs; docs/findings.schema.json is its schema
    Json,
    /// Workflow commands of GitHub Actions, which become annotations
    Github,
    /// GitLab's code quality report
    Gitlab,
    /// SARIF 2.1.0, for GitHub's code scanning and for editors
    Sarif,
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let chosen = arguments.from.chosen()?;
    let chosen = if arguments.from_index {
        chosen.staged()?
    } else {
        chosen
    };
    let (lock, sites) = repo::lock_to_read(&chosen)?;
    let runs = repo::generate(&sites)?;
    drop(lock);
    let (mut findings, mut muted) = repo::findings(&sites, &runs);
    // It decides nothing when hosts are assigned to SIPClusters, so `generate` does not read it for them.
    for (site, generated) in runs
        .iter()
        .filter(|(_, generated)| !generated.site.knows_hardware)
    {
        let (told, ignored): (Vec<_>, Vec<_>) = hardware::of_all(&site.files, &generated.site)?
            .1
            .into_iter()
            .partition(|finding| !generated.site.settings.ignores(finding));
        findings.extend(told);
        muted += ignored.len();
    }
    let files = &sites.repo;
    if arguments.strict {
        findings
            .iter_mut()
            .for_each(|finding| finding.severity = Severity::Error);
    }
    let text = report::findings(&findings, files);
    let results = || -> Result<Results, Failure> {
        Ok(Results::new(
            &findings,
            &[],
            files,
            &repo::place_in_git(files.root())?,
        ))
    };
    match arguments.format {
        Format::Text => print(text.clone()),
        Format::Json => {
            let validation = Validation::new(&findings, muted, files);
            print_document(&Document::json(&validation)?);
        }
        Format::Github => print_document(&report::github(&results()?)),
        Format::Gitlab => print_document(&report::gitlab(&results()?)?),
        Format::Sarif => print_document(&report::sarif(&results()?)?),
    }
    if arguments.format != Format::Text {
        say(text);
    }
    say(report::tally(&findings, muted));
    Ok(if findings.iter().any(Finding::is_error) {
        Outcome::No
    } else {
        Outcome::Yes
    })
}
