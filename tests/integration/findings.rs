//! The catalogue of findings: each code has a small repo in `fixtures/findings` that has the mistake, and beside it
//! what `sipgen validate` says of it.

use std::fs;
use std::path::{Path, PathBuf};

use sipgen::finding::Code;
use sipgen::report;

use crate::support::{Repo, fixtures};

/// Codes that only another command than `validate` can give, with its arguments.
const OTHER_COMMANDS: [(Code, &[&str]); 7] = [
    (Code::EmptyInput, &["validate", "--input", "rendered.yaml"]),
    (
        Code::UnknownStanding,
        &["validate", "--input", "rendered.yaml"],
    ),
    (Code::NotMigrated, &["migrate", "--check"]),
    (Code::Stale, &["generate", "--check", "--format", "github"]),
    (Code::FrozenHostGone, WITHOUT_EDGE),
    (Code::StillObserved, WITHOUT_EDGE),
    (Code::PatchMisses, WITHOUT_EDGE),
];

/// Leaves the cluster `tenant-a/edge` as it is.
const WITHOUT_EDGE: &[&str] = &["generate", "--check", "--only", "tenant-a/core"];

/// Adds to a code's fixture what would be too large in it, and symbolic links.
fn complete(code: Code, repo: &Repo) {
    if code == Code::LargeBuild {
        let hosts: String = (1..=1001)
            .map(|number| crate::support::host(&format!("n{number:04}"), ""))
            .collect();
        repo.write("inventory/hosts.yaml", &hosts);
        repo.commit();
    }
    if code == Code::ListedUnread {
        std::os::unix::fs::symlink("rack-a.txt", repo.path().join("hosts/rack-a.yaml")).unwrap();
    }
    if code == Code::AppliedUnread {
        // A submodule that is not checked out.
        repo.git(&[
            "update-index",
            "--add",
            "--cacheinfo",
            &format!("160000,{},private", "1".repeat(40)),
        ]);
    }
}

fn fixture(code: Code) -> String {
    format!("findings/{code}")
}

/// What is said of a code's fixture, with the exit code.
fn said(code: Code) -> String {
    let repo = Repo::of_fixture(&fixture(code));
    complete(code, &repo);
    let other = OTHER_COMMANDS.iter().find(|(known, _)| *known == code);
    let arguments: &[&str] = other.map_or(&["validate"], |(_, arguments)| arguments);
    let run = crate::support::run(&mut repo.sipgen(arguments));
    let root = repo.path().to_str().unwrap();
    format!(
        "{}{}exit code {}\n",
        run.stdout,
        if other.is_some() {
            run.stderr
        } else {
            String::new()
        },
        run.code
    )
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
    for entry in fs::read_dir(fixtures().join("findings")).unwrap() {
        let path = entry.unwrap().path();
        let name = Path::new(path.file_name().unwrap()).with_extension("");
        assert!(
            name.to_str().unwrap().parse::<Code>().is_ok(),
            "{} is of no code",
            path.display()
        );
    }
}

#[test]
fn each_code_is_explained_with_an_example() {
    for code in Code::ALL {
        let text = code.explanation();
        assert!(
            text.split_whitespace().count() >= 25,
            "{code} is hardly explained: {text}"
        );
        assert!(
            !code.title().ends_with('.') && !code.title().starts_with(char::is_uppercase),
            "{}",
            code.title()
        );
    }
}

const CODES: &str = "<!-- codes -->\n";
const END_OF_CODES: &str = "<!-- end of codes -->";

fn documentation() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/findings.md")
}

/// With SIPGEN_UPDATE_DOCS in the environment, the codes are written and not compared.
#[test]
fn the_documentation_has_every_code_as_the_catalogue_has_it() {
    let documented = fs::read_to_string(documentation()).unwrap();
    let (before, rest) = documented.split_once(CODES).unwrap();
    let (_, after) = rest.split_once(END_OF_CODES).unwrap();

    let right = format!(
        "{before}{CODES}{}\n{END_OF_CODES}{after}",
        report::codes_as_markdown()
    );

    if std::env::var_os("SIPGEN_UPDATE_DOCS").is_some() {
        fs::write(documentation(), &right).unwrap();
        return;
    }
    assert!(
        documented == right,
        "run SIPGEN_UPDATE_DOCS=1 cargo test --test integration findings"
    );
}
