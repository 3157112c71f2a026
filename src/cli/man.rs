//! `sipgen man`: manual pages.

use std::fs;
use std::io::{self, Write};

use camino::{Utf8Path, Utf8PathBuf};
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use roff::{Roff, roman};
use sipgen::report::ReportDocument;

use super::{CommandError, CommandResult, print_document};

const EXAMPLES: &str = "\
Examples:
  sipgen man | man -l -                             read it
  sipgen man --dir ~/.local/share/man/man1          then: man sipgen-generate";

/// Print the manual
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Write one page per command into this directory instead of printing the main page
    #[arg(long, value_name = "DIR")]
    dir: Option<Utf8PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<CommandResult, CommandError> {
    let mut command = super::Arguments::command().disable_help_subcommand(true);
    command.build();
    match &arguments.dir {
        Some(directory) => {
            let failed = |error: io::Error| {
                CommandError(format!("cannot write manual pages to `{directory}`: {error}"))
            };
            fs::create_dir_all(directory)
                .and_then(|()| write_pages(&command, directory))
                .map_err(failed)?;
        }
        None => print_document(&ReportDocument::trusted(String::from_utf8(page(&command)?)?)),
    }
    Ok(CommandResult::Yes)
}

/// Writes the pages of a command and its subcommands.
fn write_pages(command: &Command, directory: &Utf8Path) -> io::Result<()> {
    fs::write(directory.join(Man::new(command.clone()).get_filename()), page(command)?)?;
    command.get_subcommands().try_for_each(|below| write_pages(below, directory))
}

/// Renders the page of a command. clap_mangen has no heading for examples and joins their lines.
fn page(command: &Command) -> io::Result<Vec<u8>> {
    let man = Man::new(command.clone());
    let mut page = Vec::new();
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_uppercase();
    // A date would make builds irreproducible.
    writeln!(
        page,
        ".TH \"{name}\" 1 \"\" \"sipgen {}\" \"Manual of sipgen\"",
        env!("CARGO_PKG_VERSION")
    )?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    if let Some(examples) = command.get_after_long_help().map(ToString::to_string) {
        let mut section = Roff::new();
        section.control("SH", ["EXAMPLES"]).control("nf", []);
        // The first line is the help's own heading, `Examples:`.
        examples.lines().skip(1).for_each(|line| {
            section.text([roman(line)]);
        });
        section.control("fi", []).to_writer(&mut page)?;
    }
    Ok(page)
}
