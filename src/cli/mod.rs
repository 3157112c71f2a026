//! Arguments, exit codes and printing: results go to stdout, words for people to stderr.

mod commit;
mod completions;
mod diff;
mod explain;
mod generate;
mod init;
mod inventory;
mod man;
mod migrate;
mod progress;
mod repo;
mod report;
mod schema;
mod snapshot;
mod staging;
mod status;
mod template;
mod validate;

use std::io::Write;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use sipgen::report::{Document, Text};

const EXAMPLES: &str = "\
Examples:
  sipgen init                        once: settings, a hook and a CI job for your repo
  sipgen snapshot                    the hosts of a cluster, as files of the repo
  sipgen generate                    after every change of a SIPCluster or of the hosts
  sipgen validate                    what is wrong, line by line
  sipgen diff --base origin/main     what a branch changes, for its reviewer
  sipgen status                      clusters, spare hosts and racks at a glance
  sipgen explain tenant-a/edge       why a cluster has its hosts";

/// Turns SIPClusters and a snapshot of BareMetalHosts into kustomize overlays that Flux or Argo CD can apply.
///
/// Exit codes: 0 all is well, 1 the answer is no (something is stale, invalid or cannot be placed), 2 it could
/// not run (usage, reading, writing).
#[derive(Parser)]
#[command(name = "sipgen", version, max_term_width = 100, after_long_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Init(init::Arguments),
    Snapshot(snapshot::Arguments),
    Generate(generate::Arguments),
    Validate(validate::Arguments),
    Migrate(migrate::Arguments),
    Diff(diff::Arguments),
    Explain(explain::Arguments),
    Inventory(inventory::Arguments),
    Status(status::Arguments),
    Report(report::Arguments),
    Template(template::Arguments),
    Schema(schema::Arguments),
    Completions(completions::Arguments),
    Man(man::Arguments),
}

/// How a command ended.
enum Outcome {
    /// All is well.
    Yes,
    /// The answer is no.
    No,
}

/// Why a command could not run.
struct Failure(String);

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

/// Runs the program.
pub(crate) fn run() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return usage(&error),
    };
    let outcome = match arguments.command {
        Command::Init(arguments) => init::run(&arguments),
        Command::Generate(arguments) => generate::run(&arguments),
        Command::Validate(arguments) => validate::run(&arguments),
        Command::Migrate(arguments) => migrate::run(&arguments),
        Command::Diff(arguments) => diff::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Inventory(arguments) => inventory::run(&arguments),
        Command::Status(arguments) => status::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Template(arguments) => template::run(&arguments),
        Command::Schema(arguments) => schema::run(&arguments),
        Command::Snapshot(arguments) => snapshot::run(&arguments),
        Command::Completions(arguments) => completions::run(&arguments),
        Command::Man(arguments) => man::run(&arguments),
    };
    match outcome {
        Ok(Outcome::Yes) => ExitCode::SUCCESS,
        Ok(Outcome::No) => ExitCode::from(1),
        Err(Failure(message)) => {
            say(sipgen::report::failure(&message));
            ExitCode::from(2)
        }
    }
}

/// Prints the help that was asked for, or says what is wrong with the arguments, which may be anything.
fn usage(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            print_document(&Document::of_sipgen(error.render().ansi().to_string()));
            return ExitCode::SUCCESS;
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            say(error.to_string());
            return ExitCode::from(2);
        }
        _ => {}
    }
    let message = error.to_string();
    say(sipgen::report::failure(
        message
            .strip_prefix("error: ")
            .unwrap_or(&message)
            .trim_end(),
    ));
    ExitCode::from(2)
}

/// Says something to people.
fn say(text: impl Into<Text>) {
    // Nobody is left to be told when stderr is gone.
    let _ = write!(anstream::stderr(), "{}", text.into().styled());
}

/// Prints a result for people.
fn print(text: impl Into<Text>) {
    // A reader that has seen enough, such as `head`, is no failure.
    let _ = write!(anstream::stdout(), "{}", text.into().styled());
}

/// Prints a result for programs.
fn print_document(document: &Document) {
    // As with what is for people.
    let _ = write!(anstream::stdout(), "{document}");
}
