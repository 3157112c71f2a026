//! `sipgen validate`: reports all errors and warnings of the input.

use clap::ValueEnum;
use sipgen::base::finding::{Finding, Severity};
use sipgen::report::{self, CiResults, ReportDocument, Validation};

use super::{CommandError, ExitCode, exit_code, print, print_document, repo, say};

const EXAMPLES: &str = "\
Examples:
  sipgen validate                          report errors and warnings, with the lines to fix
  sipgen validate --strict                 treat warnings as errors; for CI
  sipgen validate --format sarif > sipgen.sarif
  sipgen explain SIP0209                   explain a code in detail";

/// Report errors and warnings of the input
///
/// Reads, plans and renders like `sipgen generate`, but writes nothing. It also checks the
/// inspected hardware, which `sipgen generate` skips. Each finding has a code, a position and a
/// fix. Stale overlays are not findings here: use `sipgen generate --check` for them.
///
/// Warnings that do not apply to your repo can be ignored in sipgen.yaml, with the reason:
/// `findings: {ignore: [{code: SIP0307, reason: ...}]}`. Errors cannot be ignored.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    from: repo::RepoArguments,

    /// Treat warnings as errors, and exit with 1 if there is one
    #[arg(long)]
    strict: bool,

    /// Read staged files only; for pre-commit hooks
    #[arg(long, conflicts_with_all = ["rev", "input"])]
    from_index: bool,

    /// The format of stdout; with a machine format, findings also go to stderr as text
    #[arg(long, value_enum, default_value_t = ValidateFormat::Text)]
    format: ValidateFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ValidateFormat {
    /// Text
    Text,
    /// JSON; docs/findings.schema.json is its schema
    Json,
    /// GitHub Actions workflow commands, shown as annotations
    Github,
    /// GitLab code quality report
    Gitlab,
    /// SARIF 2.1.0, for GitHub code scanning and editors
    Sarif,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, CommandError> {
    let chosen = arguments.from.chosen()?;
    let chosen = if arguments.from_index { chosen.staged()? } else { chosen };
    let (lock, sites) = repo::lock_to_read(&chosen)?;
    let mut runs = repo::generate(&sites)?;
    drop(lock);
    repo::add_hardware_findings(&mut runs)?;
    let mut findings = repo::findings(&sites, &runs);
    let muted = runs.iter().map(|(_, run)| run.muted).sum();
    let files = &sites.repo;
    if arguments.strict {
        findings.iter_mut().for_each(|finding| finding.severity = Severity::Error);
    }
    let text = report::findings(&findings, files);
    let results = || -> Result<CiResults, CommandError> {
        Ok(CiResults::new(&findings, &[], files, &repo::place_in_git(files.root())?))
    };
    match arguments.format {
        ValidateFormat::Text => print(text.clone()),
        ValidateFormat::Json => {
            let validation = Validation::new(&findings, muted, files);
            print_document(&ReportDocument::json(&validation)?);
        }
        ValidateFormat::Github => print_document(&report::github(&results()?)),
        ValidateFormat::Gitlab => print_document(&report::gitlab(&results()?)?),
        ValidateFormat::Sarif => print_document(&report::sarif(&results()?)?),
    }
    if arguments.format != ValidateFormat::Text {
        say(text);
    }
    say(report::tally(&findings, muted));
    Ok(exit_code(findings.iter().any(Finding::is_error)))
}
