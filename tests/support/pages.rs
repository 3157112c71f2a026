//! Pages of `docs/` that are executed: what a reader would type and write, in order, in a directory per page.
//!
//! | block or comment | effect |
//! | --- | --- |
//! | `sh` | run by bash, and must succeed |
//! | `console` | each line `$ COMMAND` is run, and must print the lines below it |
//! | `console,exit=1` | the same, and its last command must end with this code |
//! | `LANGUAGE,file` | a file, whose path is the comment in its first line |
//! | `sh,no_run`, `console,no_run` | for reading only: the block needs a cluster, a forge or the reader's decision |
//! | `<!-- after: PAGE -->` | from here on where a reader is who has followed `docs/PAGE` |
//! | `<!-- repo: NAME -->` | from here on in a new git repo with the files of `fixtures/NAME` |
//! | `<!-- run: COMMAND -->` | run and not shown |
//! | `<!-- needs: PROGRAM -->` | the page is run by the external tests |
//!
//! In expected output, `…` is any text, and on a line of its own any lines.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;
use tempfile::TempDir;
use walkdir::WalkDir;

use super::{copy, fixtures, repo_path, tool};

/// A page of `docs/`.
pub struct Page {
    pub path: PathBuf,
    pub text: String,
}

/// A step that readers of a page take.
#[derive(Debug)]
enum Step {
    After(String),
    Repo(String),
    Run(String),
    Write { path: String, text: String },
    Console { commands: Vec<Expected>, code: i32 },
}

/// A command with the output that the page shows.
#[derive(Debug)]
struct Expected {
    command: String,
    output: String,
    /// Index of the output's first line, and of the line behind its last one.
    lines: (usize, usize),
}

/// The root directory in which a page runs.
#[derive(Clone, Copy)]
pub enum Root {
    /// That of this machine.
    Machine,
    /// One with git, sipgen and a shell with its everyday tools, without a network.
    Container,
}

/// The programs of [`Root::Container`] besides sipgen.
const CONTAINER_PROGRAMS: [&str; 12] =
    ["bash", "git", "sh", "cat", "cp", "find", "grep", "ls", "mkdir", "rm", "sed", "sort"];

/// The directory in which a page runs.
struct Session {
    root: Root,
    directory: TempDir,
    working_directory: PathBuf,
}

/// All pages, by path.
pub fn pages() -> Vec<Page> {
    let entries = WalkDir::new(repo_path("docs")).sort_by_file_name();
    let paths = entries.into_iter().map(|entry| entry.unwrap().into_path());
    let paths = paths.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let page = |path: PathBuf| Page { text: fs::read_to_string(&path).unwrap(), path };
    paths.map(page).collect()
}

impl Page {
    /// Returns whether the page needs a program besides bash, git and sipgen.
    pub fn needs_programs(&self) -> bool {
        self.text.contains("<!-- needs: ")
    }

    /// Returns whether readers follow the page from its top. Explanations of findings show a repo's mistake and its fix.
    pub fn is_followed(&self) -> bool {
        !self.name().starts_with("docs/reference/findings/")
    }

    /// The path of the page in sipgen's repo.
    pub fn name(&self) -> String {
        let path = self.path.strip_prefix(repo_path(""));
        path.unwrap().display().to_string()
    }

    /// Does what the page has its readers do. Returns the first failure, and the number of steps.
    ///
    /// With SIPGEN_UPDATE_DOCS in the environment, other output than the page shows is written into the page.
    pub fn run(&self) -> Result<usize, String> {
        self.run_in(Root::Machine)
    }

    /// Does the same in a root.
    pub fn run_in(&self, root: Root) -> Result<usize, String> {
        let steps = steps(&self.text);
        let mut session = Session::new(root);
        let mut updates = Vec::new();
        for (line, step) in &steps {
            let failed = |why: String| format!("{}:{line}: {why}", self.name());
            match step {
                Step::After(page) => session = Session::after(root, page),
                Step::Repo(fixture) => session = Session::of_fixture(root, fixture),
                Step::Write { path, text } => session.write(path, text),
                Step::Run(script) => {
                    let (code, output) = session.run(script);
                    if code != 0 {
                        return Err(failed(format!("exit code {code}\n{script}\n{output}")));
                    }
                }
                Step::Console { commands, code } => {
                    for (index, expected) in commands.iter().enumerate() {
                        let (actual_code, output) = session.run(&expected.command);
                        let code = if index + 1 == commands.len() { *code } else { 0 };
                        if actual_code != code {
                            let command = &expected.command;
                            return Err(failed(format!(
                                "exit code {actual_code}\n$ {command}\n{output}"
                            )));
                        }
                        if matches(&expected.output, &output) {
                            continue;
                        }
                        if std::env::var_os("SIPGEN_UPDATE_DOCS").is_none() {
                            return Err(failed(format!(
                                "$ {} prints\n{output}\n-- and not\n{}",
                                expected.command, expected.output
                            )));
                        }
                        updates.push((expected.lines, output));
                    }
                }
            }
        }
        if !updates.is_empty() {
            fs::write(&self.path, updated(&self.text, &updates)).unwrap();
        }
        Ok(steps.len())
    }
}

impl Session {
    fn new(root: Root) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().join("home");
        fs::create_dir(&home).unwrap();
        let working_directory = directory.path().join("work");
        fs::create_dir(&working_directory).unwrap();
        Self { root, directory, working_directory }
    }

    fn of_fixture(root: Root, name: &str) -> Self {
        let mut session = Self::new(root);
        copy(&fixtures().join(name), &session.working_directory);
        let (code, output) = session
            .run("git init --quiet -b main && git add --all && git commit --quiet -m inputs");
        assert_eq!(code, 0, "{output}");
        session
    }

    /// Does what a page below `docs/` has its readers do. The run of that page itself compares what its commands print.
    fn after(root: Root, page: &str) -> Self {
        let text = fs::read_to_string(repo_path("docs").join(page)).unwrap();
        let mut session = Self::new(root);
        for (_, step) in steps(&text) {
            match step {
                Step::After(page) => session = Self::after(root, &page),
                Step::Repo(fixture) => session = Self::of_fixture(root, &fixture),
                Step::Write { path, text } => session.write(&path, &text),
                Step::Run(script) => drop(session.run(&script)),
                Step::Console { commands, .. } => {
                    for expected in commands {
                        session.run(&expected.command);
                    }
                }
            }
        }
        session
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.working_directory.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Runs a script, and keeps the directory in which it ends. Returns its exit code, and what a terminal would show.
    fn run(&mut self, script: &str) -> (i32, String) {
        let ended_in = self.directory.path().join("working-directory");
        let sipgen = Path::new(env!("CARGO_BIN_EXE_sipgen")).parent().unwrap();
        let (mut shell, path) = match self.root {
            Root::Machine => {
                let path = std::env::var("PATH").unwrap();
                (Command::new("bash"), format!("{}:{path}", sipgen.display()))
            }
            Root::Container => (self.container(), "/usr/bin".to_owned()),
        };
        let result = shell
            .args(["-euo", "pipefail", "-c"])
            .arg(format!("exec 2>&1\ntrap 'pwd > \"$ENDED_IN\"' EXIT\n{script}"))
            .current_dir(&self.working_directory)
            // Nothing of the machine's own clusters and accounts is within reach.
            .env_clear()
            .env("ENDED_IN", &ended_in)
            .env("PATH", path)
            .env("HOME", self.directory.path().join("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .envs(["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|name| (name, "Anna")))
            .envs(
                ["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|name| (name, "anna@example.com")),
            )
            .output()
            .unwrap();
        if let Ok(directory) = fs::read_to_string(&ended_in) {
            self.working_directory = PathBuf::from(directory.trim_end());
        }
        let output = String::from_utf8(result.stdout).unwrap();
        (result.status.code().unwrap_or(-1), output)
    }
}

impl Session {
    /// A shell in [`Root::Container`], where only this directory can be written.
    fn container(&self) -> Command {
        let mut sandbox = tool("bwrap");
        sandbox.args(["--unshare-all", "--die-with-parent", "--dev", "/dev", "--proc", "/proc"]);
        sandbox.args(["--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64"]);
        for libraries in ["/usr/lib", "/usr/lib64", "/usr/share/git-core"] {
            sandbox.args(["--ro-bind-try", libraries, libraries]);
        }
        sandbox.args(["--ro-bind", env!("CARGO_BIN_EXE_sipgen"), "/usr/bin/sipgen"]);
        sandbox.arg("--ro-bind").arg(fixtures()).arg("/fixtures");
        for program in CONTAINER_PROGRAMS {
            let file = format!("/usr/bin/{program}");
            sandbox.args(["--ro-bind", &file, &file]);
        }
        sandbox.args(["--tmpfs", "/tmp", "--bind"]);
        sandbox.arg(self.directory.path()).arg(self.directory.path());
        sandbox.arg("--chdir").arg(&self.working_directory).args(["--", "/usr/bin/bash"]);
        sandbox
    }
}

/// Reads the steps of a page, each with the number of its line.
fn steps(text: &str) -> Vec<(usize, Step)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut steps = Vec::new();
    let mut index = 0;
    while let Some(line) = lines.get(index) {
        index += 1;
        let number = index;
        let content = line.trim_start();
        let comment = |name: &str| {
            let text = content.strip_prefix("<!-- ")?.strip_prefix(name)?;
            Some(
                text.strip_suffix(" -->")
                    .unwrap_or_else(|| panic!("`{content}` does not end on its line"))
                    .to_owned(),
            )
        };
        if let Some(page) = comment("after: ") {
            steps.push((number, Step::After(page)));
        } else if let Some(fixture) = comment("repo: ") {
            steps.push((number, Step::Repo(fixture)));
        } else if let Some(command) = comment("run: ") {
            steps.push((number, Step::Run(command)));
        }
        let Some(info) = content.strip_prefix("```") else {
            continue;
        };
        let indentation = line.len() - content.len();
        let first = index;
        while !lines[index].trim_start().starts_with("```") {
            index += 1;
        }
        let block: Vec<&str> = lines[first..index]
            .iter()
            .map(|line| line.get(indentation..).unwrap_or_default())
            .collect();
        index += 1;
        steps.extend(step(info, &block, first).map(|step| (number, step)));
    }
    steps
}

/// Returns what a block has the reader do. `first` is the index of its first line.
fn step(info: &str, block: &[&str], first: usize) -> Option<Step> {
    let mut words = info.split(',');
    let language = words.next().unwrap_or_default();
    let attributes: Vec<&str> = words.collect();
    if attributes.contains(&"file") {
        let path = block.first().and_then(|line| line.strip_prefix("# "));
        let path = path.unwrap_or_else(|| panic!("`{info}` needs a first line `# PATH`"));
        return Some(Step::Write { path: path.to_owned(), text: block.join("\n") + "\n" });
    }
    if attributes.contains(&"no_run") {
        return None;
    }
    match language {
        "sh" => Some(Step::Run(block.join("\n"))),
        "console" => {
            let code = attributes.iter().find_map(|word| word.strip_prefix("exit="));
            Some(Step::Console {
                commands: commands(block, first),
                code: code.map_or(0, |code| code.parse().unwrap()),
            })
        }
        _ => None,
    }
}

/// Reads the commands of a console, which may continue behind a backslash.
fn commands(block: &[&str], first: usize) -> Vec<Expected> {
    let mut commands: Vec<Expected> = Vec::new();
    let mut continues = false;
    for (index, line) in block.iter().enumerate() {
        let behind = first + index + 1;
        if let Some(command) = line.strip_prefix("$ ") {
            commands.push(Expected {
                command: command.to_owned(),
                output: String::new(),
                lines: (behind, behind),
            });
            continues = command.ends_with('\\');
            continue;
        }
        let last = commands.last_mut();
        let last = last.unwrap_or_else(|| panic!("a console begins with `$ `, not `{line}`"));
        if continues {
            write!(last.command, "\n{line}").unwrap();
            last.lines = (behind, behind);
            continues = line.ends_with('\\');
        } else {
            last.output.push_str(line);
            last.output.push('\n');
            last.lines.1 = behind;
        }
    }
    commands
}

/// Returns whether output is as expected, with `…` for what may differ.
fn matches(expected: &str, actual: &str) -> bool {
    let mut pattern = r"\A".to_owned();
    for line in expected.lines() {
        if line.trim() == "…" {
            pattern.push_str(r"(?:.*\n)*");
        } else {
            let line = regex::escape(line.trim_end()).replace('…', ".*");
            write!(pattern, r"{line}[ \t]*\n").unwrap();
        }
    }
    pattern.push_str(r"\z");
    let actual = format!("{}\n", actual.trim_end());
    Regex::new(&pattern).unwrap().is_match(&actual) || expected.trim_end() == actual.trim_end()
}

/// Replaces lines of a page by the output that commands printed.
fn updated(text: &str, updates: &[((usize, usize), String)]) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for ((first, end), output) in updates.iter().rev() {
        let indentation: String =
            lines[first - 1].chars().take_while(|char| *char == ' ').collect();
        let output = output.trim_end().lines().map(|line| {
            let line = format!("{indentation}{line}");
            line.trim_end().to_owned()
        });
        lines.splice(first..end, output.collect::<Vec<_>>());
    }
    lines.join("\n") + "\n"
}
