//! The catalogue of findings: each code has a small repo in `fixtures/findings` that has the mistake, and beside it
//! what `sipgen validate` says of it.

#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::path::Path;

use sipgen::finding::Code;
use support::{Repo, fixtures};

/// Codes that only another command than `validate` can give, with its arguments.
const OTHER_COMMANDS: [(Code, &[&str]); 2] =
    [(Code::NotMigrated, &["migrate", "--check"]), (Code::Stale, &["generate", "--check", "--format", "github"])];

fn fixture(code: Code) -> String {
    format!("findings/{code}")
}

/// What is said of a code's fixture, with the exit code.
fn said(code: Code) -> String {
    let repo = Repo::of_fixture(&fixture(code));
    let other = OTHER_COMMANDS.iter().find(|(known, _)| *known == code);
    let arguments: &[&str] = other.map_or(&["validate"], |(_, arguments)| arguments);
    let run = support::run(&mut repo.sipgen(arguments));
    let root = repo.path().to_str().unwrap();
    format!("{}{}exit code {}\n", run.stdout, if other.is_some() { run.stderr } else { String::new() }, run.code)
        .replace(root, "[repo]")
}

#[test]
fn each_code_has_a_fixture_that_shows_it() {
    let mut failures = Vec::new();
    for code in Code::ALL {
        if !fixtures().join(fixture(*code)).is_dir() {
            failures.push(format!("{code} has no fixture"));
            continue;
        }
        let said = said(*code);
        if !said.contains(code.id()) {
            failures.push(format!("the fixture of {code} does not show it:\n{said}"));
        }
        insta::with_settings!({
            snapshot_path => fixtures().join("findings"),
            prepend_module_to_snapshot => false,
            omit_expression => true,
        }, {
            insta::assert_snapshot!(code.id(), said);
        });
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn each_fixture_is_of_a_code() {
    for entry in std::fs::read_dir(fixtures().join("findings")).unwrap() {
        let path = entry.unwrap().path();
        let name = Path::new(path.file_name().unwrap()).with_extension("");
        assert!(name.to_str().unwrap().parse::<Code>().is_ok(), "{} is of no code", path.display());
    }
}

#[test]
fn each_code_is_explained_with_an_example() {
    for code in Code::ALL {
        let text = code.explanation();
        assert!(text.split_whitespace().count() >= 25, "{code} is hardly explained: {text}");
        assert!(!code.title().ends_with('.') && !code.title().starts_with(char::is_uppercase), "{}", code.title());
    }
}
