//! `sipgen template`, and what its documentation says of templates.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use sipgen::output::render::{templates, values};
use walkdir::WalkDir;

use crate::support::{Repo, Run, assert_says, compare_generated, run, text};

/// Runs `sipgen template`, outside any repo.
fn template(arguments: &[&str]) -> Run {
    let nowhere = tempfile::tempdir().unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_sipgen"));
    run(command.current_dir(nowhere.path()).arg("template").args(arguments))
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The templates of the source tree, by name.
fn sources() -> BTreeMap<String, String> {
    let directory = root().join("templates");
    let files = WalkDir::new(&directory)
        .into_iter()
        .map(Result::unwrap)
        .filter(|entry| entry.file_type().is_file());
    files
        .map(|entry| {
            let name = entry.path().strip_prefix(&directory).unwrap().to_str().unwrap().to_owned();
            (name, text(&fs::read(entry.path()).unwrap()))
        })
        .collect()
}

#[test]
fn list_names_every_template_of_the_source_tree() {
    let list = template(&["list"]).expect(0).stdout;

    let names: Vec<&str> = list.lines().collect();
    assert_eq!(names, sources().keys().collect::<Vec<_>>());
}

#[test]
fn show_prints_a_template_as_it_is() {
    for (name, source) in sources() {
        assert_eq!(template(&["show", &name]).expect(0).stdout, source, "{name}");
    }
}

#[test]
fn a_template_that_is_shown_and_put_into_the_repo_changes_nothing() {
    let repo = Repo::of_fixture("quickstart");
    repo.write("sipgen.yaml", "templates: own\n");
    repo.generate(&[]).expect(0);
    for name in templates::names() {
        repo.write(&format!("own/{name}"), &template(&["show", name]).expect(0).stdout);
    }

    let run = repo.generate(&["--check"]).expect(0);

    assert!(!run.stderr.contains("warning"), "{}", run.stderr);
}

#[test]
fn an_unknown_template_is_refused_with_the_one_that_is_meant() {
    for verb in ["show", "values"] {
        let run = template(&[verb, "haproxy.cfg"]).expect(2);

        assert_says(&run.stderr, &["unknown template `haproxy.cfg`", "loadbalancer/haproxy.cfg"]);
    }
}

#[test]
fn every_value_of_every_template_says_what_it_means() {
    for name in templates::names() {
        for value in values::given(name).unwrap() {
            assert!(!value.meaning.is_empty() && value.kind != "value", "{name}: {value:?}");
        }
    }
}

#[test]
fn values_explains_what_a_template_is_given() {
    let said = template(&["values", "loadbalancer/haproxy.cfg"]).expect(0).stdout;

    let lines = |name: &str| said.lines().find(|line| line.split_whitespace().next() == Some(name));
    assert_says(lines("check").unwrap(), &["`kube-apiserver` or `tcp`"]);
    assert_says(lines("servers[].address").unwrap(), &["text", "IPv6 in brackets"]);
}

/// Template with the values of all services, which the tables of the others leave out.
const COMMON: &str = "partials/placement.yaml";
const TABLE_START: &str = "<!-- values: ";
const TABLE_END: &str = "<!-- end of values -->";

/// The documentation with the tables that follow from the code.
fn with_true_tables(documentation: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    for line in documentation.split_inclusive('\n') {
        inside &= line.trim_end() != TABLE_END;
        if !inside {
            out.push_str(line);
        }
        if let Some(name) = line.strip_prefix(TABLE_START) {
            let name = name.trim_end().trim_end_matches(" -->");
            out.push_str("| value | | |\n| --- | --- | --- |\n");
            let rows = |template: &str| -> Vec<String> {
                let values = values::given(template).unwrap();
                let row = values.iter().map(|value| {
                    format!("| `{}` | {} | {} |\n", value.name, value.kind, value.meaning)
                });
                row.collect()
            };
            let common = rows(COMMON);
            let own = rows(name).into_iter();
            out.extend(own.filter(|row| name == COMMON || !common.contains(row)));
            inside = true;
        }
    }
    out
}

/// With SIPGEN_UPDATE_DOCS in the environment, the tables are written and not compared.
#[test]
fn the_documentation_has_every_value_of_every_directory() {
    let file = root().join("docs/reference/templates.md");
    let documentation = text(&fs::read(&file).unwrap());
    compare_generated(&file, &with_true_tables(&documentation));
    for name in templates::names().filter(|name| !values::given(name).unwrap().is_empty()) {
        let directory = name.split('/').next().unwrap();
        assert!(
            documentation.contains(&format!("## `{directory}/`\n\n{TABLE_START}{directory}/")),
            "{name}"
        );
    }
}
