//! Versions of the programs that sipgen runs.

use std::process::Command;
use std::time::Duration;

use super::program::{self, NotRun};
use super::{kustomize, sops};

/// The time limit of a program that prints its version, 10 s.
const LONGEST: Duration = Duration::from_secs(10);

/// An installed program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledProgram {
    /// The name of its file, such as `kubectl`.
    pub name: String,
    /// Its version, such as `5.8.0`; `None` if it prints none.
    pub version: Option<String>,
}

/// Returns the git program of the `PATH`.
pub fn git() -> Option<InstalledProgram> {
    installed(
        Command::new(program::find("git")?).arg("--version"),
        "git version ",
    )
}

/// Returns the program that builds kustomizations, with the version of its kustomize.
pub fn kustomize() -> Option<InstalledProgram> {
    let (program, first) = kustomize::program()?;
    let mut command = Command::new(program);
    if first == kustomize::OF_KUBECTL {
        installed(command.args(["version", "--client"]), "Kustomize Version: ")
    } else {
        installed(command.arg("version"), "")
    }
}

/// Returns the sops program.
pub fn sops() -> Option<InstalledProgram> {
    let mut command = Command::new(sops::program()?);
    // Without the option, `sops --version` asks GitHub for the latest version.
    command.args(["--version", "--disable-version-check"]);
    installed(&mut command, "sops ")
}

/// Runs a program, and reads the version behind `prefix` at the start of a line. Returns `None` if it
/// cannot be started.
fn installed(command: &mut Command, prefix: &str) -> Option<InstalledProgram> {
    let name = command.get_program().to_string_lossy().into_owned();
    let name = name.rsplit('/').next().unwrap_or(&name).to_owned();
    let output = match program::run(command, Vec::new(), LONGEST) {
        Ok(ended) => String::from_utf8_lossy(&ended.stdout).into_owned(),
        Err(NotRun::TimedOut) => String::new(),
        Err(NotRun::Io(_)) => return None,
    };
    let version = version(&output, prefix);
    Some(InstalledProgram { name, version })
}

/// Returns the version behind a prefix, without a leading `v`. kustomize 4 prints
/// `{Version:kustomize/v4.5.7 …}`.
fn version(output: &str, prefix: &str) -> Option<String> {
    let mut lines = output.lines().filter_map(|line| line.strip_prefix(prefix));
    let line = lines.next()?.trim_start_matches("{Version:kustomize/");
    let version: String = line
        .trim_start_matches('v')
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+'))
        .collect();
    version
        .starts_with(|c: char| c.is_ascii_digit())
        .then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_programs_print_them() {
        for (output, prefix, expected) in [
            ("git version 2.39.5\n", "git version ", Some("2.39.5")),
            ("v5.8.0\n", "", Some("5.8.0")),
            (
                "{Version:kustomize/v4.5.7 GitCommit:56d82a8 BuildDate:2022-08-02T16:35:54Z}\n",
                "",
                Some("4.5.7"),
            ),
            (
                "Client Version: v1.34.1\nKustomize Version: v5.7.1\n",
                "Kustomize Version: ",
                Some("5.7.1"),
            ),
            ("sops 3.11.0 (latest)\n", "sops ", Some("3.11.0")),
            ("unknown\n", "", None),
            ("", "", None),
        ] {
            assert_eq!(version(output, prefix).as_deref(), expected, "{output}");
        }
    }
}
