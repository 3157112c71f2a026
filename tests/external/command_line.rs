//! The tests of `integration::command_line` that need another program.

use std::collections::BTreeSet;
use std::fs;

use crate::support::scenes::command_line::{commands, sipgen};
use crate::support::{assert_says, run_tool, text, tool};

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

    #[test]
    fn of_fish_offer_commands() {
        let script = script("fish");
        let program =
            format!("source {}; complete --do-complete 'sipgen gen'", script.path().display());

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

        let pages: BTreeSet<String> = fs::read_dir(&below)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let name = |words: &Vec<String>| {
            [&["sipgen".to_owned()], words.as_slice()].concat().join("-") + ".1"
        };
        // The help does not list commands that are for packages.
        let packaging = ["completions", "man"].map(|command| vec![command.to_owned()]);
        let commands = commands(&[]).into_iter().chain(packaging);
        assert_eq!(pages, commands.map(|words| name(&words)).collect());
        for page in pages {
            let output =
                run_tool(tool("mandoc").args(["-T", "lint", "-W", "error"]).arg(below.join(&page)));
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
            assert!(
                shown.contains(&example.trim()),
                "{example:?} is not in:\n{}",
                shown.join("\n")
            );
        }
        assert!(!shown.iter().any(|line| line.contains("EXTRA")));
    }
}
