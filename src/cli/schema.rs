//! `sipgen schema`: JSON Schemas and CustomResourceDefinitions of sipgen's kinds.

use clap::{Subcommand, ValueEnum};
use sipgen::output::render::values;
use sipgen::report::ReportDocument;
use sipgen::setup::schema;

use super::{CommandError, ExitCode, print_document};

const EXAMPLES: &str = "\
Examples:
  sipgen schema sipcluster > .schemas/sipcluster.json
  sipgen schema settings > .schemas/sipgen.json
  sipgen schema crd | kubectl apply --server-side -f -

The first line of a file names its schema to editors:
  # yaml-language-server: $schema=../.schemas/sipcluster.json";

/// Print JSON Schemas and CustomResourceDefinitions
///
/// With a JSON Schema an editor completes keys, shows their documentation and underlines invalid
/// values.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: SchemaCommand,
}

#[derive(Subcommand)]
enum SchemaCommand {
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
    /// Print the JSON Schema of the values of outputs' templates
    #[command(
        after_long_help = "Example:\n  sipgen schema output-values > .schemas/output-values.json"
    )]
    OutputValues,
    /// Print a CustomResourceDefinition as YAML
    ///
    /// The SIPCluster definition accepts every object that the SIP operator's own definition
    /// accepts and the operator can serve.
    #[command(after_long_help = "Example:\n  sipgen schema crd | kubectl apply --server-side -f -")]
    Crd {
        /// The kind to define
        #[arg(value_enum, default_value_t = SchemaKind::Sipcluster)]
        kind: SchemaKind,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SchemaKind {
    /// SIPCluster (airship.airshipit.org)
    Sipcluster,
    /// Provisioning (bpa.akraino.org)
    Provisioning,
    /// Software (bpa.akraino.org)
    Software,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, CommandError> {
    let schema = match &arguments.command {
        SchemaCommand::Sipcluster => schema::sipcluster(),
        SchemaCommand::Provisioning => schema::provisioning(),
        SchemaCommand::Software => schema::software(),
        SchemaCommand::Settings => schema::settings(),
        SchemaCommand::OutputValues => values::output_schema(),
        SchemaCommand::Crd { kind } => {
            let definition = match kind {
                SchemaKind::Sipcluster => schema::sipcluster_crd(),
                SchemaKind::Provisioning => schema::provisioning_crd(),
                SchemaKind::Software => schema::software_crd(),
            };
            print_document(&ReportDocument::trusted(yaml_serde::to_string(&definition)?));
            return Ok(ExitCode::SUCCESS);
        }
    };
    print_document(&ReportDocument::trusted(serde_json::to_string_pretty(&schema)? + "\n"));
    Ok(ExitCode::SUCCESS)
}
