//! `sipgen template`: the built-in templates and their values.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use sipgen::output::render::{templates, values};
use walkdir::WalkDir;

use crate::support::{Repo, Run, assert_says, run, text};

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
        .filter(|entry| entry.file_type().is_file())
        // It describes the templates beside it.
        .filter(|entry| entry.file_name() != "descriptor.yaml");
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
