//! What the tests share that hand generated files to real programs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use yaml_serde::Value;

use super::{Repo, documents, fixture_names, kustomize_build, run_tool, shared_directory, text};

/// A fixture's repo after a run.
pub fn generated(fixture: &str) -> Repo {
    let repo = Repo::of_fixture(fixture);
    repo.generate(&[]).expect(0);
    repo
}

/// The repos of all fixtures after a run, by fixture.
pub static GENERATED: LazyLock<BTreeMap<String, Repo>> = LazyLock::new(|| {
    fixture_names().into_iter().map(|name| (name.clone(), generated(&name))).collect()
});

/// A kustomization of the output, and what kustomize makes of it.
pub struct Build {
    /// Fixture and directory.
    pub name: String,
    pub directory: PathBuf,
    pub output: String,
}

/// Every kustomization below the overlays of every fixture, built; and those of tenants that include some of it.
pub static BUILDS: LazyLock<Vec<Build>> = LazyLock::new(|| {
    let mut builds = Vec::new();
    for (fixture, repo) in &*GENERATED {
        for (file, text) in repo.files("overlays") {
            let is_component = || documents(&text)[0]["kind"].as_str() == Some("Component");
            if file.ends_with("kustomization.yaml")
                && !file.starts_with("tenants/")
                && !is_component()
            {
                let directory =
                    repo.path().join("overlays").join(&file).parent().unwrap().to_owned();
                let output = kustomize_build(&directory);
                // Shared transformers build into nothing.
                if output.is_empty() {
                    continue;
                }
                builds.push(Build { name: format!("{fixture}: {file}"), directory, output });
            }
        }
        if repo.exists("tenant/kustomization.yaml") {
            let directory = repo.path().join("tenant");
            builds.push(Build {
                name: format!("{fixture}: tenant"),
                output: kustomize_build(&directory),
                directory,
            });
        }
    }
    builds
});

/// The generated files of one name, of all fixtures.
pub fn files_named(name: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for repo in GENERATED.values() {
        let paths =
            repo.files("overlays").into_keys().filter(|path| path.rsplit('/').next() == Some(name));
        files.extend(paths.map(|path| repo.path().join("overlays").join(path)));
    }
    assert!(!files.is_empty(), "no fixture has a {name}");
    files
}

/// The directory of the shared files that a service refers to, of which a file is given.
pub fn shared_beside(file: &Path) -> PathBuf {
    let kustomization = fs::read_to_string(file.with_file_name("kustomization.yaml")).unwrap();
    // A service's directory is such as `clusters/NAMESPACE/CLUSTER/SERVICE`.
    let output = file.ancestors().nth(5).unwrap();
    output.join(shared_directory(&kustomization))
}

/// Runs a program that must end well, and returns what it printed.
#[track_caller]
pub fn succeed(command: &mut Command) -> String {
    let output = run_tool(command);
    assert!(
        output.status.success(),
        "{command:?}\n{}\n{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    text(&output.stdout)
}

pub fn string(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value:?} is not a string")).to_owned()
}

pub fn sequence(value: &Value) -> &[Value] {
    value.as_sequence().map_or(&[], Vec::as_slice)
}

/// `Kind namespace/name` of an object; one without namespace is in `default`.
pub fn identity(object: &Value) -> String {
    let metadata = &object["metadata"];
    let namespace = metadata.get("namespace").map_or("default".to_owned(), string);
    format!("{} {namespace}/{}", string(&object["kind"]), string(&metadata["name"]))
}

#[track_caller]
pub fn object(build: &str, kind: &str) -> Value {
    let mut objects =
        documents(build).into_iter().filter(|object| object["kind"].as_str() == Some(kind));
    let object = objects.next().unwrap_or_else(|| panic!("no {kind} in\n{build}"));
    assert!(objects.next().is_none(), "more than one {kind} in\n{build}");
    object
}

/// A kustomization's text: its kind, its namespace and the lists in it.
pub fn kustomization(kind: &str, namespace: Option<&str>, lists: &str) -> String {
    let version = if kind == "Component" { "v1alpha1" } else { "v1beta1" };
    let namespace =
        namespace.map_or(String::new(), |namespace| format!("namespace: {namespace}\n"));
    format!("apiVersion: kustomize.config.k8s.io/{version}\nkind: {kind}\n{lists}{namespace}")
}
