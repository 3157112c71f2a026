//! A stand-in for a forge: its repo, and the API for requests for review.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Who has written a comment.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Author {
    /// The job.
    Job,
    Somebody,
}

/// A server that listens on this machine, until it is dropped.
pub(crate) struct Forge {
    server: Child,
    directory: TempDir,
    pub(crate) port: u16,
}

impl Forge {
    /// A server with these comments.
    pub(crate) fn with(comments: &[(Author, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let comment = |(id, (author, body)): (usize, &(Author, &str))| {
            let (login, number) = match author {
                Author::Job => ("github-actions[bot]", 7),
                Author::Somebody => ("somebody", 8),
            };
            json!({"id": id, "user": {"login": login}, "author": {"id": number}, "body": body})
        };
        let comments = Value::from_iter(comments.iter().enumerate().map(comment));
        fs::write(directory.path().join("comments.json"), comments.to_string()).unwrap();
        let program =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/external/ci_examples/forge.py");
        let mut server = Command::new("python3")
            .arg(program)
            .arg(directory.path().join("comments.json"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().parse().unwrap_or_else(|_| panic!("the server says {line:?}"));
        Self { server, directory, port }
    }

    /// The bare repo that the forge serves as `platform/fleet`.
    pub(crate) fn repo(&self) -> PathBuf {
        self.directory.path().join("fleet.git")
    }

    /// The pull requests that were opened.
    pub(crate) fn pulls(&self) -> Vec<Value> {
        fs::read_to_string(self.directory.path().join("pulls.json"))
            .map(|text| serde_json::from_str(&text).unwrap())
            .unwrap_or_default()
    }

    /// What the comments say now, in their order.
    pub(crate) fn bodies(&self) -> Vec<String> {
        let comments = fs::read_to_string(self.directory.path().join("comments.json")).unwrap();
        let comments: Vec<Value> = serde_json::from_str(&comments).unwrap();
        comments.iter().map(|comment| comment["body"].as_str().unwrap().to_owned()).collect()
    }
}

impl Drop for Forge {
    fn drop(&mut self) {
        // It is gone already where it has failed.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
