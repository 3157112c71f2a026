//! Help, completions and manual: what people meet before anything else.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use crate::support::scenes::command_line::{commands, sipgen};
use crate::support::{run_tool, text};

#[test]
fn every_command_has_an_example_in_its_help() {
    let commands = commands(&[]);
    assert!(commands.contains(&vec!["template".to_owned(), "show".to_owned()]), "{commands:?}");

    for command in commands {
        let mut arguments: Vec<&str> = command.iter().map(String::as_str).collect();
        arguments.push("--help");
        let help = sipgen(&arguments);
        let example = [&["sipgen".to_owned()], command.as_slice()].concat().join(" ");
        assert!(
            help.lines().any(|line| line.starts_with("  ") && line.contains(&example)),
            "{example}:\n{help}"
        );
    }
}

#[test]
fn the_long_version_names_the_origin_of_the_binary() {
    let version = env!("CARGO_PKG_VERSION");

    assert_eq!(sipgen(&["-V"]), format!("sipgen {version}\n"));
    let long = sipgen(&["--version"]);
    let lines: Vec<&str> = long.lines().collect();
    assert_eq!(lines[0], format!("sipgen {version}"));
    // A debug build has no commit.
    assert!(lines[1].starts_with("commit: "), "{long}");
    assert_eq!(lines[2], concat!("target: ", env!("SIPGEN_BUILD_TARGET")));
    assert!(lines[3].starts_with("libgit2: 1."), "{long}");
}

mod completions {
    use super::*;

    fn script(shell: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), sipgen(&["completions", shell])).unwrap();
        file
    }

    /// What bash offers for the last of some words.
    fn offered(words: &[&str]) -> BTreeSet<String> {
        let script = script("bash");
        let last = words.len() - 1;
        let program = format!(
            "source {}; COMP_WORDS=({}); COMP_CWORD={last}; function=$(complete -p sipgen | sed 's/.*-F \\([^ ]*\\).*/\\1/'); \
             \"$function\" sipgen '{}' '{}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            script.path().display(),
            words.join(" "),
            words[last],
            words[last - 1],
        );
        let output = run_tool(Command::new("bash").args(["--norc", "-c", &program]));
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout).lines().map(str::to_owned).collect()
    }

    #[test]
    fn of_bash_offer_commands_options_and_values() {
        assert_eq!(offered(&["sipgen", "gen"]), BTreeSet::from(["generate".to_owned()]));
        assert_eq!(
            offered(&["sipgen", "generate", "--ch"]),
            BTreeSet::from(["--check".to_owned()])
        );
        let formats = ["text", "github", "gitlab", "sarif"].map(str::to_owned);
        assert_eq!(offered(&["sipgen", "generate", "--format", "''"]), BTreeSet::from(formats));
    }
}
