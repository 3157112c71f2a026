//! The tests of `integration::command_line` that need another program.

use std::fs;

use crate::support::scenes::command_line::sipgen;
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
