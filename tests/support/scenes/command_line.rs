//! What the tests of `command_line` begin with.

use std::process::Command;

use crate::support::run;

pub fn sipgen(arguments: &[&str]) -> String {
    run(Command::new(env!("CARGO_BIN_EXE_sipgen")).args(arguments)).expect(0).stdout
}

/// The words of every command, those of the commands below it included.
pub fn commands(above: &[String]) -> Vec<Vec<String>> {
    let mut arguments: Vec<&str> = above.iter().map(String::as_str).collect();
    arguments.push("--help");
    let help = sipgen(&arguments);
    let mut found = vec![above.to_vec()];
    // Commands stand before the options, in one list or several.
    let listed = help.split("\nOptions:\n").next().unwrap_or_default();
    let is_name = |name: &&str| name.starts_with(|c: char| c.is_ascii_lowercase());
    let names = listed.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    for name in names.filter(is_name) {
        if name != "help" {
            found.extend(commands(&[above, &[name.to_owned()]].concat()));
        }
    }
    found
}
