//! `sipgen man`: the manual.

use std::fs;
use std::io::{self, Write};

use camino::{Utf8Path, Utf8PathBuf};
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use roff::{Roff, roman};
use sipgen::report::Document;

use super::{Failure, Outcome, print_document};

const EXAMPLES: &str = "\
Examples:
  sipgen man | man -l -                             read it
  sipgen man --dir ~/.local/share/man/man1          then: man sipgen-generate";

/// Print the manual
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Write one page a command into this directory, in place of printing the first one
    #[arg(long, value_name = "DIR")]
    dir: Option<Utf8PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let mut command = super::Arguments::command().disable_help_subcommand(true);
    command.build();
    match &arguments.dir {
        Some(directory) => {
            let failed = |error: io::Error| {
                Failure(format!("cannot write the pages into {directory}: {error}"))
            };
            fs::create_dir_all(directory)
                .and_then(|()| write_pages(&command, directory))
                .map_err(failed)?;
        }
        None => print_document(&Document::of_sipgen(String::from_utf8(page(&command)?)?)),
    }
    Ok(Outcome::Yes)
}

/// Writes the page of a command, and those of the commands below it.
fn write_pages(command: &Command, directory: &Utf8Path) -> io::Result<()> {
    fs::write(
        directory.join(Man::new(command.clone()).get_filename()),
        page(command)?,
    )?;
    command
        .get_subcommands()
        .try_for_each(|below| write_pages(below, directory))
}

/// The page of a command. What clap makes of it lacks a heading of its own for examples, and has them run together.
fn page(command: &Command) -> io::Result<Vec<u8>> {
    let man = Man::new(command.clone());
    let mut page = Vec::new();
    let name = command
        .get_display_name()
        .unwrap_or_else(|| command.get_name())
        .to_uppercase();
    // Without a date: it would be another one in every build.
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
        // Below the heading that they have in the help.
        examples.lines().skip(1).for_each(|line| {
            section.text([roman(line)]);
        });
        section.control("fi", []).to_writer(&mut page)?;
    }
    Ok(page)
}
