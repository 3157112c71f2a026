//! `sipgen schema`: JSON Schemas and CustomResourceDefinitions of sipgen's kinds.

use clap::{Subcommand, ValueEnum};
use serde_json::Value;
use sipgen::report::Document;
use sipgen::schema;

use super::{Failure, Outcome, print_document};

const EXAMPLES: &str = "\
Examples:
  sipgen schema sipcluster > .schemas/sipcluster.json
  sipgen schema settings > .schemas/sipgen.json
  sipgen schema crd | kubectl apply --server-side -f -

The first line of a file names its schema to editors:
  # yaml-language-server: $schema=../.schemas/sipcluster.json";

/// Print JSON Schemas for editors and CustomResourceDefinitions for clusters
///
/// With a JSON Schema an editor completes keys, shows their documentation and underlines invalid
/// values.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print the JSON Schema of SIPCluster
    #[command(after_long_help = "Example:\n  sipgen schema sipcluster > .schemas/sipcluster.json")]
    Sipcluster,
    /// Print the JSON Schema of Provisioning (bpa.akraino.org)
    #[command(
        after_long_help = "Example:\n  sipgen schema provisioning > .schemas/provisioning.json"
    )]
    Provisioning,
    /// Print the JSON Schema of Software (bpa.akraino.org)
    #[command(after_long_help = "Example:\n  sipgen schema software > .schemas/software.json")]
    Software,
    /// Print the JSON Schema of sipgen.yaml
    #[command(after_long_help = "Example:\n  sipgen schema settings > .schemas/sipgen.json")]
    Settings,
    /// Print a CustomResourceDefinition as YAML
    ///
    /// The SIPCluster definition accepts every object that the SIP operator's own definition
    /// accepts and the operator can serve.
    #[command(after_long_help = "Example:\n  sipgen schema crd | kubectl apply --server-side -f -")]
    Crd {
        /// The kind to define
        #[arg(value_enum, default_value_t = Kind::Sipcluster)]
        kind: Kind,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// SIPCluster (airship.airshipit.org)
    Sipcluster,
    /// Provisioning (bpa.akraino.org)
    Provisioning,
    /// Software (bpa.akraino.org)
    Software,
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    match &arguments.command {
        Command::Sipcluster => print_schema(&schema::sipcluster())?,
        Command::Provisioning => print_schema(&schema::provisioning())?,
        Command::Software => print_schema(&schema::software())?,
        Command::Settings => print_schema(&schema::settings())?,
        Command::Crd { kind } => {
            let definition = match kind {
                Kind::Sipcluster => schema::sipcluster_crd(),
                Kind::Provisioning => schema::provisioning_crd(),
                Kind::Software => schema::software_crd(),
            };
            print_document(&Document::of_sipgen(schema::yaml(&definition)?));
        }
    }
    Ok(Outcome::Yes)
}

fn print_schema(schema: &Value) -> Result<(), Failure> {
    print_document(&Document::of_sipgen(
        serde_json::to_string_pretty(schema)? + "\n",
    ));
    Ok(())
}
