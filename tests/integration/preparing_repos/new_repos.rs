//! What a repo gets that has none of the files yet.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::scenes::preparing_repos::{init, newcomer, pre_commit, settings};
use crate::support::{Repo, assert_says, documents};

#[test]
fn gets_all_it_needs_and_can_be_generated() {
    let repo = newcomer();

    let run = init(&repo, &["--ci", "github"]).expect(0);

    let created = [
        "sipgen.yaml",
        ".pre-commit-config.yaml",
        ".gitattributes",
        ".github/workflows/sipgen.yaml",
    ];
    for file in created {
        assert!(repo.exists(file), "{file} is missing");
        assert_says(&run.stderr, &[&format!("created        {file}")]);
    }
    assert_says(
        &run.stderr,
        &["1. Set SIPGEN_WHEEL in .github/workflows/sipgen.yaml", "2. Run `pre-commit install`"],
    );
    let generated = repo.generate(&[]).expect(0);
    assert!(!generated.stderr.contains("warning"), "{}", generated.stderr);
}

#[test]
fn stays_as_it_is_the_second_time() {
    let repo = newcomer();
    init(&repo, &["--ci", "gitlab"]).expect(0);
    let before = repo.on_disk("");

    let run = init(&repo, &["--ci", "gitlab"]).expect(0);

    assert!(repo.on_disk("") == before, "files have changed");
    assert_eq!(
        run.stderr.lines().filter(|line| line.ends_with("complete")).count(),
        5,
        "{}",
        run.stderr
    );
    assert_says(&run.stderr, &["Found 6 hosts (2 free) and 1 cluster request."]);
    assert!(!run.stderr.contains("pre-commit install"), "{}", run.stderr);
}

#[test]
fn has_settings_whose_comments_are_settings_too() {
    let repo = newcomer();
    init(&repo, &[]).expect(0);

    let is_setting = |line: &&str| {
        line.strip_prefix("# ").is_some_and(|rest| {
            let key = rest.trim_start().split(':').next().unwrap();
            rest.contains(':') && ["output", "inventory", "mode", "credentials"].contains(&key)
        })
    };
    let text = repo.read("sipgen.yaml");
    let settings: String =
        text.lines().filter(is_setting).map(|line| format!("{}\n", &line[2..])).collect();
    assert_eq!(settings.lines().count(), 4, "{text}");
    repo.write("sipgen.yaml", &settings);

    repo.generate(&[]).expect(0);
}

#[test]
fn has_a_hook_that_refuses_what_is_stale() {
    let repo = newcomer();
    init(&repo, &[]).expect(0);
    pre_commit(&repo, &["validate-config"]).expect(0);
    repo.commit();

    let run = pre_commit(&repo, &["run", "--all-files"]).expect(1);
    assert_says(
        &run.stdout,
        &[
            "generated overlays are up to date",
            "Failed",
            "run `sipgen generate --from-index`, then `git add overlays`",
        ],
    );

    repo.generate(&[]).expect(0);
    repo.commit();
    pre_commit(&repo, &["run", "--all-files"]).expect(0);
}

#[test]
fn without_any_cluster_can_be_committed() {
    let repo = Repo::empty();
    init(&repo, &[]).expect(0);
    repo.commit();

    pre_commit(&repo, &["run", "--all-files"]).expect(0);
}

#[test]
fn has_the_hook_that_is_published_under_its_name() {
    let repo = newcomer();
    init(&repo, &[]).expect(0);
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join(".pre-commit-hooks.yaml");
    let published = documents(&fs::read_to_string(manifest).unwrap()).remove(0);

    let hook = &documents(&repo.read(".pre-commit-config.yaml"))[0]["repos"][0]["hooks"][0];

    let published = published
        .as_sequence()
        .unwrap()
        .iter()
        .find(|published| published["id"] == hook["id"])
        .unwrap();
    for key in ["entry", "pass_filenames", "always_run", "require_serial"] {
        assert_eq!(hook[key], published[key], "{key}");
    }
}

#[test]
fn has_attributes_that_fold_services_and_never_the_labels_of_hosts() {
    let repo = newcomer();
    init(&repo, &[]).expect(0);
    let attribute = |name: &str, file: &str| {
        let answer = repo.git(&["check-attr", name, "--", file]);
        answer.trim().rsplit(' ').next().unwrap().to_owned()
    };

    for file in [
        "clusters/tenant-a/edge/auth/config.yaml",
        "crds/dex/crds.yaml",
        "tenants/t/c/endpoints/endpoints.yaml",
    ] {
        let file = format!("overlays/{file}");
        assert_eq!(attribute("linguist-generated", &file), "set", "{file}");
        assert_eq!(attribute("gitlab-generated", &file), "set", "{file}");
        assert_eq!(attribute("eol", &file), "lf", "{file}");
    }
    let labels = "overlays/hosts/declared/sites/lab/tenant-a.edge.yaml";
    assert_eq!(attribute("linguist-generated", labels), "unset");
    assert_eq!(attribute("gitlab-generated", labels), "unset");
    assert_eq!(attribute("eol", labels), "lf");
}

#[test]
fn is_shown_as_a_patch_by_a_dry_run() {
    let repo = newcomer();
    let before = repo.on_disk("");

    let run = init(&repo, &["--ci", "github", "--dry-run"]).expect(0);

    assert!(repo.on_disk("") == before, "files have changed");
    assert_says(&run.stderr, &["to create"]);
    let mut git = Command::new("git")
        .arg("apply")
        .current_dir(repo.path())
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    git.stdin.take().unwrap().write_all(run.stdout.as_bytes()).unwrap();
    assert!(git.wait().unwrap().success());
    let applied = repo.files("");
    let other = newcomer();
    init(&other, &["--ci", "github"]).expect(0);
    assert_eq!(applied, other.files(""));
}

#[test]
fn with_overlays_of_its_own_gets_another_directory() {
    let repo = newcomer();
    repo.write("overlays/production/kustomization.yaml", "resources: [../../base]\n");

    init(&repo, &[]).expect(0);

    assert_eq!(settings(&repo)["output"], "sipgen");
    assert_says(&repo.read(".gitattributes"), &["sipgen/clusters/**"]);
    let run = repo.generate(&[]).expect(0);
    assert!(repo.exists("sipgen/clusters/tenant-a/edge"), "{}", run.stderr);
}

#[test]
fn keeps_the_directory_that_it_was_generated_into() {
    let repo = Repo::generated("quickstart");

    init(&repo, &[]).expect(0);

    assert_eq!(settings(&repo)["output"], yaml_serde::Value::Null);
    repo.generate(&["--check"]).expect(0);
}
