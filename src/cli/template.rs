//! `sipgen template`: the templates of services, for those who write their own.

use clap::Subcommand;
use sipgen::render::{templates, values};
use sipgen::report;

use super::{Failure, Outcome, print, say};

/// Show the built-in templates and what they are given
///
/// A repo replaces a template by a file of the same path below the directory that `templates` in sipgen.yaml names:
///
///     mkdir -p my-templates/loadbalancer
///     sipgen template show loadbalancer/haproxy.cfg > my-templates/loadbalancer/haproxy.cfg
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List the built-in templates
    List,
    /// Print a built-in template
    Show {
        /// A template, such as loadbalancer/haproxy.cfg
        name: String,
    },
    /// Explain the values that a template is given
    Values {
        /// A template, such as loadbalancer/haproxy.cfg
        name: String,
    },
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    match &arguments.command {
        Command::List => templates::names().for_each(|name| print(format_args!("{name}\n"))),
        Command::Show { name } => print(templates::embedded(name).ok_or_else(|| unknown(name))?),
        Command::Values { name } => match values::given(name).ok_or_else(|| unknown(name))?.as_slice() {
            [] => say(format_args!("{name} is given nothing\n")),
            given => print(report::given(given)),
        },
    }
    Ok(Outcome::Yes)
}

fn unknown(name: &str) -> Failure {
    let alike = templates::alike(name);
    Failure(format!("there is no template {name}; did you mean {alike}? `sipgen template list` shows them all"))
}
