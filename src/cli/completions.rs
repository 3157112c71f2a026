//! `sipgen completions`: completion scripts for shells.

use clap::CommandFactory;
use clap_complete::Shell;

use sipgen::report::ReportDocument;

use super::{CommandError, ExitCode, print_document};

const EXAMPLES: &str = "\
Examples:
  source <(sipgen completions bash)                                         in ~/.bashrc
  sipgen completions zsh > ~/.zfunc/_sipgen                                 with ~/.zfunc in fpath
  sipgen completions fish > ~/.config/fish/completions/sipgen.fish";

/// Print the completions for a shell
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(
        arguments.shell,
        &mut super::Arguments::command(),
        "sipgen",
        &mut script,
    );
    print_document(&ReportDocument::trusted(String::from_utf8(script)?));
    Ok(ExitCode::SUCCESS)
}
