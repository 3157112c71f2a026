//! Runs programs that produce inputs: kustomize.

use std::env;
use std::io::{self, Read};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use regex::Captures;

use crate::base::text::{credentials, static_regex};
use crate::input::git::is_executable;

/// The interval between checks for the end of a program that has closed its output.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Finds a program in `PATH`. Relative directories are skipped, because they could lead into the
/// repo.
pub(super) fn find(name: &str) -> Option<PathBuf> {
    let directories = env::var_os("PATH")?;
    let mut candidates = env::split_paths(&directories)
        .filter(|path| path.is_absolute())
        .map(|path| path.join(name));
    candidates.find(|path| is_executable(path))
}

/// Runs a program, and kills it at the time limit: the error is [`io::ErrorKind::TimedOut`].
pub(super) fn run(command: &mut Command, longest: Duration) -> io::Result<Output> {
    let deadline = Instant::now() + longest;
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (stdout, stderr) = (listen(child.stdout.take()), listen(child.stderr.take()));
    // A closure, so that every error leads to `kill`.
    let ended = (|| {
        // The pipes close when the program ends, so that `wait` is short.
        let (stdout, stderr) = (heard(&stdout, deadline)?, heard(&stderr, deadline)?);
        Ok(Output { status: wait(&mut child, deadline)?, stdout, stderr })
    })();
    if ended.is_err() {
        // Fails if the program has ended in the meantime.
        let _ = child.kill();
        let _ = child.wait();
    }
    ended
}

/// Reads a pipe to its end on another thread, so that neither pipe blocks the program.
fn listen(pipe: Option<impl Read + Send + 'static>) -> Receiver<io::Result<Vec<u8>>> {
    let (said, heard) = mpsc::channel();
    thread::spawn(move || {
        let mut all = Vec::new();
        let read = pipe.map_or(Ok(0), |mut pipe| pipe.read_to_end(&mut all));
        // The receiver is gone if the program was killed.
        let _ = said.send(read.map(|_| all));
    });
    heard
}

fn heard(said: &Receiver<io::Result<Vec<u8>>>, deadline: Instant) -> io::Result<Vec<u8>> {
    let left = deadline.saturating_duration_since(Instant::now());
    said.recv_timeout(left).map_err(|_| io::ErrorKind::TimedOut)?
}

fn wait(child: &mut Child, deadline: Instant) -> io::Result<ExitStatus> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if Instant::now() >= deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// Returns the first lines of an error message, without values from files.
pub(super) fn first_lines(said: &str) -> String {
    let lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let shown: Vec<String> = lines.take(LINES_SHOWN).map(without_values).collect();
    if shown.is_empty() { "it says nothing".to_owned() } else { shown.join("\n") }
}

/// Removes quoted values from a line: kustomize prints the whole patch that it cannot apply.
fn without_values(line: &str) -> String {
    // Literals of a generator are printed without quotes, and often are secrets.
    if let Some((before, _)) = line.split_once("literal source") {
        return without_values(before) + "literal sources …";
    }
    // A cut message may not close a quoted text. Go quotes strings with backslashes.
    let quoted = static_regex!(r#""(?:\\.|[^"])*"?|`(?:\\.|[^`])*`?"#);
    let shown = quoted.replace_all(line, |found: &Captures<'_>| {
        let (quote, rest) = found[0].split_at(1);
        let quoted = rest.strip_suffix(quote).unwrap_or(rest);
        // Line breaks and mappings are parts of documents, which names and paths are not.
        let is_document =
            quoted.contains("\\n") || quoted.contains(": ") || credentials::is_random(quoted);
        if is_document { format!("{quote}…{quote}") } else { found[0].to_owned() }
    });
    let words = shown.split(' ').map(|word| if credentials::is_random(word) { "…" } else { word });
    let words: Vec<&str> = words.collect();
    credentials::masked_value(&words.join(" ")).into_owned()
}

/// The maximum number of lines in an error message.
const LINES_SHOWN: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn both_outputs_of_a_program_are_read_at_once() {
        let script = "head -c 1048576 /dev/zero; head -c 1048576 /dev/zero >&2; echo done >&2";
        let ended = run(&mut shell(script), Duration::from_secs(60)).unwrap();
        assert!(ended.status.success());
        assert!(ended.stdout.len() == 1 << 20 && ended.stderr.ends_with(b"\0done\n"));
    }

    #[test]
    fn no_value_of_a_document_is_among_the_words_of_a_program() {
        for (said, expected) in [
            (
                r#"Error: trouble with config: "patch: |-\n  password: \"a b\"\n" in file "x.yaml""#,
                r#"Error: trouble with config: "…" in file "x.yaml""#,
            ),
            ("Error: cannot parse `{a: b, c}`: no", "Error: cannot parse `…`: no"),
            ("Error: password: hunter2", "Error: password: …"),
            ("Error: got Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5 here", "Error: got … here"),
            ("Error: https://me:x@git.example/a failed", "Error: https://…@git.example/a failed"),
            ("Error: open \"a", "Error: open \"a"),
            (
                "Error: literal sources [hunter2]: invalid literal source hunter2",
                "Error: literal sources …",
            ),
        ] {
            assert_eq!(first_lines(said), expected, "{said}");
        }
    }

    #[test]
    fn one_that_takes_too_long_is_ended_even_when_its_children_keep_its_pipes() {
        let start = Instant::now();
        let ended = run(&mut shell("sleep 60 & sleep 60"), Duration::from_millis(200));
        assert_eq!(ended.err().map(|error| error.kind()), Some(io::ErrorKind::TimedOut));
        assert!(start.elapsed() < Duration::from_secs(30));
    }
}
