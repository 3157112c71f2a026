//! Arguments, exit codes and printing: results go to stdout, words for people to stderr.

mod explain;
mod generate;
mod progress;
mod repo;
mod report;
mod status;
mod template;

use std::fmt;
use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Turns SIPClusters and a snapshot of BareMetalHosts into kustomize overlays that Flux or Argo CD can apply.
///
/// Exit codes: 0 all is well, 1 the answer is no (something is stale, invalid or cannot be placed), 2 it could
/// not run (usage, reading, writing).
#[derive(Parser)]
#[command(version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Generate(generate::Arguments),
    Explain(explain::Arguments),
    Status(status::Arguments),
    Report(report::Arguments),
    Template(template::Arguments),
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
    let outcome = match Arguments::parse().command {
        Command::Generate(arguments) => generate::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Status(arguments) => status::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Template(arguments) => template::run(&arguments),
    };
    match outcome {
        Ok(Outcome::Yes) => ExitCode::SUCCESS,
        Ok(Outcome::No) => ExitCode::from(1),
        Err(Failure(message)) => {
            let style = anstyle::AnsiColor::Red.on_default().bold();
            say(format_args!("{style}error{style:#}: {message}\n"));
            ExitCode::from(2)
        }
    }
}

/// Says something to people.
fn say(text: impl fmt::Display) {
    // Nobody is left to be told when stderr is gone.
    let _ = write!(anstream::stderr(), "{text}");
}

/// Prints a result.
fn print(text: impl fmt::Display) {
    // A reader that has seen enough, such as `head`, is no failure.
    let _ = write!(anstream::stdout(), "{text}");
}
