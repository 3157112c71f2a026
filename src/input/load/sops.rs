//! Texts encrypted with SOPS, and their decryption by the `sops` program.
//!
//! A decrypted text is never written to disk: sops reads from stdin and prints to a pipe.

use std::env;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::program::{self, NotRun};

/// The start of an encrypted value.
const VALUE: &str = "ENC[";

/// The format of a file encrypted by sops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SopsFormat {
    /// YAML with encrypted values.
    Yaml,
    /// JSON with encrypted values.
    Json,
    /// Lines with variables.
    Dotenv,
    /// Any other file, encrypted as a whole.
    Binary,
}

/// The reason why sops cannot decrypt. The display is one clause about sops without any value.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum SopsError {
    /// sops is not installed.
    #[error("there is no `sops` on this machine")]
    NoProgram,
    /// The file has lost the metadata that sops writes, so it cannot be decrypted.
    #[error("the file has lost what sops writes below its values: restore it from git's history")]
    NoMetadata,
    /// sops failed, with its message.
    #[error("sops says:\n{0}")]
    Failed(String),
    /// sops exceeded the time limit, perhaps because it waits for a passphrase.
    #[error("sops was ended after {} seconds", LONGEST.as_secs())]
    TimedOut,
    /// sops could not be started.
    #[error("sops cannot be run: {0}")]
    Io(String),
}

/// The environment variable that selects the sops program. It is no setting, because settings are
/// part of a repo, and a repo must not choose a program to run.
const PROGRAM: &str = "SIPGEN_SOPS";
/// The time limit of sops, 60 s: it may use a remote key service.
const LONGEST: Duration = Duration::from_secs(60);

/// Returns whether a value is encrypted.
pub(crate) fn is_encrypted(value: &str) -> bool {
    value.trim_start().starts_with(VALUE)
}

/// Returns the format of an encrypted text; `None` if it is not encrypted.
pub(crate) fn form(text: &str) -> Option<SopsFormat> {
    let mentions = |words: &str| memchr::memmem::find(text.as_bytes(), words.as_bytes()).is_some();
    // A cheap check before anything is parsed.
    if !mentions("sops") || !mentions(VALUE) {
        return None;
    }
    if text.lines().any(|line| line.starts_with("sops_mac=")) {
        return Some(SopsFormat::Dotenv);
    }
    let is_json = text.trim_start().starts_with('{');
    if is_json {
        let file: serde_json::Value = serde_json::from_str(text).ok()?;
        let own = file.get("sops")?.as_object()?;
        let is_whole = file
            // sops stores a binary file as JSON with `data` and `sops`.
            .as_object()
            .is_some_and(|file| file.len() == 2 && file.contains_key("data"));
        return own.contains_key("mac").then_some(if is_whole {
            SopsFormat::Binary
        } else {
            SopsFormat::Json
        });
    }
    text.lines().any(|line| line.starts_with("sops:")).then_some(SopsFormat::Yaml)
}

/// Decrypts a text by sops.
pub(crate) fn decrypt(text: &str, form: SopsFormat) -> Result<String, SopsError> {
    let kind = match form {
        SopsFormat::Yaml => "yaml",
        SopsFormat::Json => "json",
        SopsFormat::Dotenv => "dotenv",
        SopsFormat::Binary => "binary",
    };
    let mut command = Command::new(program().ok_or(SopsError::NoProgram)?);
    command.args(["--decrypt", "--input-type", kind, "--output-type", kind, "/dev/stdin"]);
    let ended =
        program::run(&mut command, text.as_bytes().to_vec(), LONGEST).map_err(
            |error| match error {
                NotRun::Io(error) => SopsError::Io(error.to_string()),
                NotRun::TimedOut => SopsError::TimedOut,
            },
        )?;
    if !ended.status.success() {
        return Err(SopsError::Failed(program::first_lines(&without_values(&ended.stderr))));
    }
    String::from_utf8(ended.stdout)
        .map_err(|_| SopsError::Io(io::Error::other("what it prints is no text").to_string()))
}

/// Returns the sops program.
pub(super) fn program() -> Option<PathBuf> {
    let named = env::var_os(PROGRAM).filter(|named| !named.is_empty());
    named.map(PathBuf::from).or_else(|| program::find("sops"))
}

/// Removes encrypted values from a message of sops, because their length may reveal the value.
fn without_values(said: &str) -> String {
    let mut words = String::with_capacity(said.len());
    let mut rest = said;
    while let Some((before, behind)) = rest.split_once(VALUE) {
        words.push_str(before);
        words.push_str("ENC[…]");
        rest = behind.split_once(']').map_or("", |(_, rest)| rest);
    }
    words + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encrypted_file_is_told_by_what_sops_adds() {
        for (text, expected) in [
            ("a: ENC[x]\nsops:\n    mac: ENC[y]\n", Some(SopsFormat::Yaml)),
            (r#"{"data": "ENC[x]", "sops": {"mac": "ENC[y]"}}"#, Some(SopsFormat::Binary)),
            (r#"{"networks": ["ENC[x]"], "sops": {"mac": "ENC[y]"}}"#, Some(SopsFormat::Json)),
            ("networkData=ENC[x]\nsops_mac=ENC[y]\n", Some(SopsFormat::Dotenv)),
            ("a: b # sops: ENC[x]\n", None),
            (r#"{"networks": []}"#, None),
        ] {
            assert_eq!(form(text), expected, "{text}");
        }
    }

    #[test]
    fn words_of_sops_are_shown_without_values() {
        assert_eq!(
            without_values("cannot read ENC[AES256_GCM,data:abc] here"),
            "cannot read ENC[…] here"
        );
        assert_eq!(without_values("cannot read ENC[AES256_GCM,data:abc"), "cannot read ENC[…]");
    }
}
