//! Arguments, exit codes and printing: results go to stdout, messages to stderr.

mod capacity;
mod completions;
mod diff;
mod doctor;
mod drain;
mod example;
mod explain;
mod generate;
mod init;
mod migrate;
mod progress;
mod repo;
mod report;
mod schema;
mod snapshot;
mod status;
mod template;
#[cfg(test)]
mod tests;
mod validate;
mod what_if;

use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::sync::LazyLock;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use sipgen::base::finding::Finding;
use sipgen::input::load::Files;
use sipgen::report::{ReportDocument, ReportText};

const EXAMPLES: &str = "\
Examples:
  sipgen init                        set up a repo once: settings, a hook and a CI job
  sipgen example sipcluster          print a first request that fits the repo's hosts
  sipgen snapshot                    write the hosts of a cluster into the repo
  sipgen generate                    update the overlays after a change of requests or hosts
  sipgen validate                    report errors and warnings with file and line
  sipgen doctor                      check hooks, CI, the agent and the snapshot's age
  sipgen diff --base origin/main     show what a branch changes, for its reviewer
  sipgen status                      show clusters, spare hosts and racks
  sipgen explain tenant-a/edge       explain why a cluster has its hosts
  sipgen what-if --without rack=r7   show what the loss of a rack does
  sipgen capacity                    show what else fits
  sipgen drain rack=r7               show the moves that empty a rack";

/// Version, commit, target and libgit2, one a line. `sipgen -V` prints the version only.
static LONG_VERSION: LazyLock<String> = LazyLock::new(|| {
    let (major, minor, patch) = git2::Version::get().libgit2_version();
    // `build.rs` sets both variables.
    let commit = match env!("SIPGEN_BUILD_COMMIT") {
        "" => "unknown",
        commit => commit,
    };
    format!(
        "{}\ncommit: {commit}\ntarget: {}\nlibgit2: {major}.{minor}.{patch}",
        env!("CARGO_PKG_VERSION"),
        env!("SIPGEN_BUILD_TARGET"),
    )
});

/// Assign BareMetalHosts to SIPClusters, Clusters of Cluster API and Provisionings, and generate
/// kustomize overlays for Flux or Argo CD.
///
/// Exit codes: 0 success; 1 check failed (stale output, invalid input or no placement); 2 sipgen
/// could not run (usage, reading, writing).
#[derive(Parser)]
#[command(
    name = "sipgen",
    version,
    long_version = LONG_VERSION.as_str(),
    max_term_width = 100,
    after_long_help = EXAMPLES
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Init(init::Arguments),
    Example(example::Arguments),
    Snapshot(snapshot::Arguments),
    Generate(generate::Arguments),
    Validate(validate::Arguments),
    Doctor(doctor::Arguments),
    Migrate(migrate::Arguments),
    Diff(diff::Arguments),
    Explain(explain::Arguments),
    WhatIf(what_if::Arguments),
    Capacity(capacity::Arguments),
    Drain(drain::Arguments),
    Status(status::Arguments),
    Report(report::Arguments),
    Template(template::Arguments),
    Schema(schema::Arguments),
    Completions(completions::Arguments),
}

/// Commands by purpose, as the help lists them. `completions` is for packages.
const GROUPS: [(&str, &[&str]); 3] = [
    ("Daily", &["generate", "validate", "diff", "status", "explain", "report", "snapshot"]),
    ("Planning", &["what-if", "capacity", "drain"]),
    ("Set-up", &["init", "example", "doctor", "migrate", "template", "schema"]),
];

/// Returns the command line, whose help lists the commands by purpose.
fn command_line() -> clap::Command {
    let command = Arguments::command();
    let header = command.get_styles().get_header();
    let mut groups = String::new();
    for (title, names) in GROUPS {
        // Writing to a String cannot fail.
        let _ = writeln!(groups, "{header}{title}:{header:#}");
        for subcommand in names.iter().filter_map(|name| command.find_subcommand(name)) {
            let about = subcommand.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(groups, "  {:<9} {about}", subcommand.get_name());
        }
        groups.push('\n');
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}{header}Options:{header:#}\n{{options}}{{after-help}}"
    );
    command.help_template(template)
}

/// The formats of answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum AnswerFormat {
    /// Text
    Text,
    /// JSON
    Json,
}

/// Error that kept a command from running: exit code 2.
struct CommandError(String);

/// Returns the exit code of a command that ran: 1 if a check failed.
fn exit_code(has_failed: bool) -> ExitCode {
    u8::from(has_failed).into()
}

impl<E: std::error::Error> From<E> for CommandError {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

pub(crate) fn run() -> ExitCode {
    let matches = command_line().try_get_matches();
    let arguments = match matches.and_then(|matches| Arguments::from_arg_matches(&matches)) {
        Ok(arguments) => arguments,
        Err(error) => return usage(&error),
    };
    let outcome = match arguments.command {
        Command::Init(arguments) => init::run(&arguments),
        Command::Example(arguments) => example::run(&arguments),
        Command::Generate(arguments) => generate::run(&arguments),
        Command::Validate(arguments) => validate::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Migrate(arguments) => migrate::run(&arguments),
        Command::Diff(arguments) => diff::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Capacity(arguments) => capacity::run(&arguments),
        Command::Drain(arguments) => drain::run(&arguments),
        Command::WhatIf(arguments) => what_if::run(&arguments),
        Command::Status(arguments) => status::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Template(arguments) => template::run(&arguments),
        Command::Schema(arguments) => schema::run(&arguments),
        Command::Snapshot(arguments) => snapshot::run(&arguments),
        Command::Completions(arguments) => completions::run(&arguments),
    };
    match outcome {
        Ok(code) => code,
        Err(CommandError(message)) => {
            say(sipgen::report::failure(&message));
            ExitCode::from(2)
        }
    }
}

/// Prints the requested help, or reports invalid arguments. These may hold any text.
fn usage(error: &clap::Error) -> ExitCode {
    let message = error.to_string();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            print_document(&ReportDocument::trusted(error.render().ansi().to_string()));
            return ExitCode::SUCCESS;
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => say(message),
        _ => say(sipgen::report::failure(message.strip_prefix("error: ").unwrap_or(&message))),
    }
    ExitCode::from(2)
}

/// Prints a message to stderr.
fn say(text: impl Into<ReportText>) {
    let text = fitted(text.into(), std::io::stderr().is_terminal());
    // A closed stderr leaves no channel to report the failure.
    let _ = write!(anstream::stderr(), "{}", text.styled());
}

/// Prints a result as text to stdout.
fn print(text: impl Into<ReportText>) {
    print_lines(&fitted(text.into(), std::io::stdout().is_terminal()));
}

/// Prints lines that other programs read, such as a diff, to stdout.
fn print_lines(text: &ReportText) {
    // A closed pipe, as after `| head`, is no failure.
    let _ = write!(anstream::stdout(), "{}", text.styled());
}

/// Breaks lines at words if a terminal would break them elsewhere.
fn fitted(text: ReportText, is_terminal: bool) -> ReportText {
    let size = is_terminal.then(terminal_size::terminal_size).flatten();
    size.map_or_else(|| text.clone(), |(width, _)| text.fitted(width.0.into()))
}

/// Prints findings to stderr, and returns 1 if one is an error.
fn say_findings(findings: &[Finding], files: &Files) -> ExitCode {
    say(sipgen::report::findings(findings, files));
    exit_code(findings.iter().any(Finding::is_error))
}

/// Prints a machine-readable result to stdout.
fn print_document(document: &ReportDocument) {
    // A closed pipe is no failure, as in `print`.
    let _ = write!(anstream::stdout(), "{document}");
}
