//! Versions that several files must have.

use std::fs;
use std::process::Command;

use super::{VERSION, root, script};
use crate::support::programs::succeed;
use crate::support::{assert_says, run_tool, text};

fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap()
}

#[test]
fn hooks_install_the_wheel_of_this_version() {
    assert_says(&read("pyproject.toml"), &[&format!("dependencies = [\"sipgen=={VERSION}\"]")]);
}

#[test]
fn maturin_has_one_version() {
    let pin = read("release/requirements.txt")
        .lines()
        .find(|line| line.starts_with("maturin=="))
        .unwrap()
        .trim_end_matches(" \\")
        .to_owned();

    for file in ["release/wheel/pyproject.toml", "tests/tools/requirements.txt"] {
        assert!(read(file).contains(&pin), "{file} lacks {pin}");
    }
}

#[test]
fn a_tag_with_another_version_is_refused() {
    let output = run_tool(script("check", root()).args(["v9.9.9", "https://example.com/sipgen"]));

    assert_eq!(output.status.code(), Some(1));
    assert_says(
        &text(&output.stderr),
        &["Cargo.toml lacks", "pyproject.toml lacks", "CHANGELOG.md lacks"],
    );
}

#[test]
fn notes_are_the_section_of_the_version() {
    let changelog = read("CHANGELOG.md");
    let (_, after) = changelog.split_once("\n## Unreleased\n").unwrap();
    let section = after.split("\n## ").next().unwrap();

    let notes = succeed(script("notes", root()).arg("Unreleased"));

    assert_eq!(notes.trim(), section.trim());
}

#[test]
fn scripts_are_valid() {
    let scripts = ["build", "check", "notes", "prebuilt/cargo", "try"]
        .map(|name| root().join("release").join(name));

    let output = run_tool(Command::new("shellcheck").args(scripts));

    assert!(output.status.success(), "{}", text(&output.stdout));
}
