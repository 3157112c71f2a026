//! `sipgen template`: built-in service templates, as a starting point for custom ones.

use clap::Subcommand;
use sipgen::output::render::{templates, values};
use sipgen::report::{self, ReportDocument};

use super::{CommandError, ExitCode, print, print_document, say};

const EXAMPLES: &str = "\
Examples:
  sipgen template list
  sipgen template values loadbalancer/haproxy.cfg
  mkdir -p my-templates/loadbalancer
  sipgen template show loadbalancer/haproxy.cfg > my-templates/loadbalancer/haproxy.cfg";

/// Show the built-in templates and their values
///
/// To replace a template, create a file with the same path in the directory that `templates` in
/// sipgen.yaml names.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: TemplateCommand,
}

#[derive(Subcommand)]
enum TemplateCommand {
    /// List the built-in templates
    #[command(after_long_help = "Example:\n  sipgen template list")]
    List,
    /// Print a built-in template
    #[command(after_long_help = "Example:\n  sipgen template show loadbalancer/haproxy.cfg")]
    Show {
        /// A template, such as loadbalancer/haproxy.cfg
        name: String,
    },
    /// Explain the values that a template receives
    #[command(
        after_long_help = "Examples:\n  sipgen template values loadbalancer/haproxy.cfg\n  sipgen template values outputs"
    )]
    Values {
        /// A template, such as loadbalancer/haproxy.cfg, or `outputs` for those of all outputs
        name: String,
    },
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, CommandError> {
    match &arguments.command {
        TemplateCommand::List => templates::names().for_each(|name| print(format!("{name}\n"))),
        TemplateCommand::Show { name } => {
            let text = templates::embedded(name).ok_or_else(|| unknown(name))?;
            print_document(&ReportDocument::trusted(text));
        }
        TemplateCommand::Values { name } => {
            match values::given(name).ok_or_else(|| unknown(name))?.as_slice() {
                [] => say(format!("`{name}` receives no values\n")),
                given => print(report::given(given)),
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn unknown(name: &str) -> CommandError {
    let meant = templates::alike(name).map(|alike| format!("; did you mean `{alike}`?"));
    let meant = meant.unwrap_or_else(|| ";".to_owned());
    CommandError(format!(
        "unknown template `{name}`{meant} `sipgen template list` lists all of them"
    ))
}
