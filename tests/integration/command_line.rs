//! Help, completions and manual: what people meet before anything else.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use crate::support::{assert_says, run, run_tool, text, tool};

fn sipgen(arguments: &[&str]) -> String {
    run(Command::new(env!("CARGO_BIN_EXE_sipgen")).args(arguments)).expect(0).stdout
}

/// The words of every command, those of the commands below it included.
fn commands(above: &[String]) -> Vec<Vec<String>> {
    let mut arguments: Vec<&str> = above.iter().map(String::as_str).collect();
    arguments.push("--help");
    let help = sipgen(&arguments);
    let mut found = vec![above.to_vec()];
    let listed = help.split("Commands:\n").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap_or_default();
    for name in listed.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next()) {
        if !name.is_empty() && name != "help" {
            found.extend(commands(&[above, &[name.to_owned()]].concat()));
        }
    }
    found
}

#[test]
fn every_command_has_an_example_in_its_help() {
    let commands = commands(&[]);
    assert!(commands.contains(&vec!["template".to_owned(), "show".to_owned()]), "{commands:?}");

    for command in commands {
        let mut arguments: Vec<&str> = command.iter().map(String::as_str).collect();
        arguments.push("--help");
        let help = sipgen(&arguments);
        let example = [&["sipgen".to_owned()], command.as_slice()].concat().join(" ");
        assert!(help.lines().any(|line| line.starts_with("  ") && line.contains(&example)), "{example}:\n{help}");
    }
}

mod completions {
    use super::*;

    fn script(shell: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), sipgen(&["completions", shell])).unwrap();
        file
    }

    #[test]
    fn are_valid_for_each_shell() {
        for shell in ["bash", "zsh", "fish"] {
            let script = script(shell);

            let output = run_tool(tool(shell).arg("-n").arg(script.path()));

            assert!(output.status.success(), "{shell}: {}", text(&output.stderr));
            assert!(fs::metadata(script.path()).unwrap().len() > 1000);
        }
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
        assert_eq!(offered(&["sipgen", "generate", "--ch"]), BTreeSet::from(["--check".to_owned()]));
        let formats = ["text", "github", "gitlab", "sarif"].map(str::to_owned);
        assert_eq!(offered(&["sipgen", "generate", "--format", "''"]), BTreeSet::from(formats));
    }

    #[test]
    fn of_fish_offer_commands() {
        let script = script("fish");
        let program = format!("source {}; complete --do-complete 'sipgen gen'", script.path().display());

        let output = run_tool(tool("fish").args(["--no-config", "-c", &program]));

        assert_says(&text(&output.stdout), &["generate\tGenerate the overlays of a repo"]);
    }
}

mod manual {
    use super::*;

    #[test]
    fn has_a_page_for_every_command_that_a_reader_of_manuals_accepts() {
        let directory = tempfile::tempdir().unwrap();
        let below = directory.path().join("share/man1");

        sipgen(&["man", "--dir", below.to_str().unwrap()]);

        let pages: BTreeSet<String> =
            fs::read_dir(&below).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        let name = |words: &Vec<String>| [&["sipgen".to_owned()], words.as_slice()].concat().join("-") + ".1";
        assert_eq!(pages, commands(&[]).iter().map(name).collect());
        for page in pages {
            let output = run_tool(tool("mandoc").args(["-T", "lint", "-W", "error"]).arg(below.join(&page)));
            assert!(output.status.success(), "{page}: {}", text(&output.stdout));
        }
    }

    #[test]
    fn shows_the_examples_as_the_help_does() {
        let directory = tempfile::tempdir().unwrap();
        sipgen(&["man", "--dir", directory.path().to_str().unwrap()]);
        let help = sipgen(&["generate", "--help"]);
        let examples = help.split("Examples:\n").nth(1).unwrap();

        let page = directory.path().join("sipgen-generate.1");
        let output = run_tool(tool("mandoc").args(["-T", "ascii", "-O", "width=120"]).arg(page));

        // A reader of manuals strikes bold letters twice.
        let shown = text(&output.stdout).replace('\u{8}', "");
        let shown: Vec<&str> = shown.lines().map(str::trim).collect();
        for example in examples.lines() {
            assert!(shown.contains(&example.trim()), "{example:?} is not in:\n{}", shown.join("\n"));
        }
        assert!(!shown.iter().any(|line| line.contains("EXTRA")));
    }

    #[test]
    fn is_printed_without_a_directory() {
        assert_says(&sipgen(&["man"]), &[".TH \"SIPGEN\" 1 \"\" \"sipgen ", ".SH EXAMPLES"]);
    }
}
