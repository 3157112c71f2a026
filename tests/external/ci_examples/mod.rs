//! The CI jobs in `examples/` are valid, and their scripts do what they say.

mod action;
mod checking;
mod commenting;
mod component;
pub(crate) mod forge;
mod linting;
mod planning;
mod regenerating;
mod runner;
mod stage;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use yaml_serde::Value;

use crate::support::{Run, run};

/// A file below `examples/`.
fn example(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(file)
}

fn parsed(file: &str) -> Value {
    yaml_serde::from_str(&fs::read_to_string(example(file)).unwrap()).unwrap()
}

/// The script of a step of a GitHub workflow.
fn step(job: &str, name: &str) -> String {
    let workflow = parsed("github/sipgen.yaml");
    let steps = workflow["jobs"][job]["steps"].as_sequence().unwrap();
    let step = steps
        .iter()
        .find(|step| step["name"] == name)
        .unwrap_or_else(|| panic!("{job} has no step {name}"));
    step["run"].as_str().unwrap().to_owned()
}

/// The script of a GitLab job.
fn job(name: &str) -> String {
    let jobs = parsed("gitlab/sipgen.yml");
    let lines = jobs[name]["script"]
        .as_sequence()
        .unwrap_or_else(|| panic!("there is no job {name}"))
        .iter();
    lines.map(|line| line.as_str().unwrap()).collect::<Vec<_>>().join("\n")
}

/// A shell as GitHub's runner starts it for a step.
fn bash(script: &str, directory: &Path) -> Command {
    shell(&["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script], directory)
}

/// A shell as GitLab's runner starts it in an image that has no bash.
fn sh(script: &str, directory: &Path) -> Command {
    shell(&["sh", "-ec", script], directory)
}

/// Runs a script, and returns what it ran and the arguments of every program that it started.
pub(crate) fn traced(script: &Command) -> (Run, String) {
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-e", "trace=execve", "-s", "100000", "-o"]).arg(log.path());
    command.arg(script.get_program()).args(script.get_args());
    command.current_dir(script.get_current_dir().unwrap());
    for (name, value) in script.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let run = run(&mut command);
    (run, fs::read_to_string(log.path()).unwrap())
}

fn shell(words: &[&str], directory: &Path) -> Command {
    let sipgen = Path::new(env!("CARGO_BIN_EXE_sipgen")).parent().unwrap();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(directory);
    command.env("PATH", format!("{}:{}", sipgen.display(), std::env::var("PATH").unwrap()));
    command
}
