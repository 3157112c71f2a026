//! The hooks of `.pre-commit-hooks.yaml`, run by the real pre-commit when the real git commits.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::support::scenes::git::{EDGE_HOSTS, id, identify, quickstart, want_more};
use crate::support::{EDGE, Repo, Run, assert_says, run, run_tool, text, tool};

const MANIFEST: &str = ".pre-commit-hooks.yaml";

/// pre-commit, from the Python packages that `tests/tools/install` installs.
fn pre_commit() -> Command {
    tool(
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("target/tools/venv/bin/pre-commit")
            .to_str()
            .unwrap(),
    )
}

/// A repo in which pre-commit runs one of our hooks.
struct Guarded {
    repo: Repo,
    /// What pre-commit keeps, and a repo with our manifest that it takes the hook from.
    home: TempDir,
}

impl Guarded {
    fn by(hook: &str, repo: Repo) -> Self {
        identify(&repo);
        let published = Repo::empty();
        let manifest =
            std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(MANIFEST)).unwrap();
        published.write(MANIFEST, &manifest);
        published.commit();
        let home = tempfile::tempdir().unwrap();
        let from = home.path().join("sipgen");
        published.git(&["clone", "--quiet", ".", from.to_str().unwrap()]);
        let config = format!(
            "repos:\n- repo: {}\n  rev: {}\n  hooks: [{{id: {hook}}}]\n",
            from.display(),
            id(&published, "HEAD")
        );
        repo.write(".pre-commit-config.yaml", &config);
        repo.commit();
        let guarded = Self { repo, home };
        let installed =
            run_tool(guarded.with_environment(pre_commit(), guarded.repo.path()).arg("install"));
        assert!(
            installed.status.success(),
            "{}{}",
            text(&installed.stdout),
            text(&installed.stderr)
        );
        guarded
    }

    fn with_environment(&self, mut command: Command, directory: &Path) -> Command {
        let program = PathBuf::from(env!("CARGO_BIN_EXE_sipgen"));
        let path =
            format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
        command.env("PATH", path).env("PRE_COMMIT_HOME", self.home.path()).current_dir(directory);
        command
    }

    /// Commits by the real git, which runs the hook.
    fn commit(&self, arguments: &[&str]) -> Run {
        self.commit_in(self.repo.path(), arguments)
    }

    fn commit_in(&self, directory: &Path, arguments: &[&str]) -> Run {
        let mut git = self.with_environment(tool("git"), directory);
        run(git.args(["commit", "--quiet", "--message", "change"]).args(arguments))
    }

    /// Has two commits refused and passed: the hook writes, `git add` stages.
    #[track_caller]
    fn fails_until_staged(&self, arguments: &[&str]) {
        let before = id(&self.repo, "HEAD");
        let refused = self.commit(arguments).expect(1);
        assert_says(&refused.stderr, &["Failed", "not staged yet: run `git add overlays`"]);
        assert_eq!(id(&self.repo, "HEAD"), before);

        self.repo.git(&["add", "overlays"]);
        self.commit(arguments).expect(0);
        // What is committed is what belongs together.
        self.repo.git(&["stash", "--quiet", "--include-untracked"]);
        self.repo.generate(&["--check", "--allow-empty"]).expect(0);
    }
}

fn writing(repo: Repo) -> Guarded {
    Guarded::by("sipgen-generate-system", repo)
}

fn checking(repo: Repo) -> Guarded {
    Guarded::by("sipgen-check-system", repo)
}

/// A repo whose two clusters are generated and committed.
fn two_clusters() -> Repo {
    let repo = Repo::of_hosts(4);
    repo.want("tenant/one", 1);
    repo.want("tenant/two", 1);
    repo.generate(&[]).expect(0);
    repo.commit();
    repo
}

#[test]
fn a_new_file_fails_although_it_is_right_and_lies_there_untracked() {
    let guarded = writing(two_clusters());
    guarded.repo.want("tenant/three", 1);
    guarded.repo.git(&["add", "clusters"]);

    guarded.fails_until_staged(&[]);

    let guarded = writing(two_clusters());
    guarded.repo.want("tenant/three", 1);
    guarded.repo.git(&["add", "clusters"]);
    guarded.repo.generate(&[]).expect(0);

    guarded.fails_until_staged(&[]);
}

#[test]
fn a_changed_file_fails_until_it_is_staged() {
    let guarded = writing(quickstart());
    want_more(&guarded.repo);
    guarded.repo.git(&["add", EDGE]);

    guarded.fails_until_staged(&[]);
}

#[test]
fn a_commit_that_only_deletes_a_cluster_fails_until_its_files_are_deleted() {
    let guarded = writing(two_clusters());
    guarded.repo.git(&["rm", "--quiet", "clusters/tenant.two.yaml"]);

    guarded.fails_until_staged(&[]);

    assert!(!guarded.repo.exists("overlays/tenants/tenant/two"));
}

#[test]
fn a_cluster_that_lies_around_untracked_is_no_part_of_a_commit() {
    let guarded = writing(two_clusters());
    guarded.repo.want("tenant/lying-around", 1);
    guarded.repo.write("notes", "mine\n");
    guarded.repo.git(&["add", "notes"]);

    guarded.commit(&[]).expect(0);

    assert!(!guarded.repo.exists("overlays/tenants/tenant/lying-around"));
}

#[test]
fn a_commit_of_all_changed_files_is_judged_by_what_it_will_have() {
    let guarded = checking(quickstart());
    want_more(&guarded.repo);

    let refused = guarded.commit(&["--all"]).expect(1);

    assert_says(&refused.stderr, &["Failed", "+  name: \"lab-c2\""]);
    guarded.repo.generate(&[]).expect(0);
    guarded.commit(&["--all"]).expect(0);
}

#[test]
fn a_commit_of_some_paths_is_judged_by_what_it_will_have() {
    let guarded = checking(quickstart());
    want_more(&guarded.repo);
    guarded.repo.generate(&[]).expect(0);
    guarded.repo.git(&["add", "overlays"]);

    guarded.commit(&[EDGE]).expect(1);
    guarded.commit(&["overlays"]).expect(1);
    guarded.commit(&[EDGE, "overlays"]).expect(0);
}

#[test]
fn of_a_partly_staged_file_the_staged_part_is_judged() {
    let guarded = writing(quickstart());
    want_more(&guarded.repo);
    guarded.repo.git(&["add", EDGE]);
    guarded.repo.replace(
        EDGE,
        crate::support::scenes::git::TWO_WORKERS,
        "active: 0\n        standby: 1",
    );

    let refused = guarded.commit(&[]).expect(1);

    assert_says(&refused.stderr, &["6 files written"]);
    assert!(guarded.repo.read(EDGE_HOSTS).contains("lab-c2"));
    assert!(guarded.repo.read(EDGE).contains("active: 0"));
    guarded.repo.git(&["add", "overlays"]);
    guarded.commit(&[]).expect(0);
}

#[test]
fn the_checking_hook_shows_the_difference_and_writes_nothing() {
    let guarded = checking(quickstart());
    want_more(&guarded.repo);
    guarded.repo.git(&["add", EDGE]);
    let before = guarded.repo.on_disk("");

    let refused = guarded.commit(&[]).expect(1);

    assert_says(
        &refused.stderr,
        &[
            "6 files would be written",
            "+  name: \"lab-c2\"",
            "run `sipgen generate --from-index`, then `git add overlays`",
        ],
    );
    assert!(guarded.repo.on_disk("") == before, "files have changed");
    guarded.repo.generate(&["--from-index"]).expect(0);
    guarded.repo.git(&["add", "overlays"]);
    guarded.commit(&[]).expect(0);
}

#[test]
fn in_a_linked_worktree_the_hook_judges_that_worktree() {
    let guarded = writing(quickstart());
    let linked = guarded.home.path().join("linked");
    guarded.repo.git(&["worktree", "add", "--quiet", "-b", "other", linked.to_str().unwrap()]);
    want_more(&guarded.repo);
    std::fs::copy(guarded.repo.path().join(EDGE), linked.join(EDGE)).unwrap();
    let git = |arguments: &[&str]| {
        guarded.repo.git(&[&["-C", linked.to_str().unwrap()], arguments].concat())
    };
    git(&["add", "sites"]);

    guarded.commit_in(&linked, &[]).expect(1);

    assert!(git(&["status", "--porcelain"]).contains(&format!(" M {EDGE_HOSTS}")));
    assert_eq!(guarded.repo.git(&["status", "--porcelain"]), format!(" M {EDGE}\n"));
    git(&["add", "overlays"]);
    guarded.commit_in(&linked, &[]).expect(0);
}

#[test]
fn a_mistake_is_refused_with_its_line_and_stale_overlays_are_not() {
    let guarded = Guarded::by("sipgen-validate-system", quickstart());
    guarded.repo.replace(EDGE, "active: 2", "active: -2");
    guarded.repo.git(&["add", EDGE]);

    let refused = guarded.commit(&[]).expect(1);
    assert_says(&refused.stderr, &["Failed", "error[SIP0209]: ", "17 |         active: -2", "^^"]);

    guarded.repo.replace(EDGE, "active: -2", "active: 2");
    want_more(&guarded.repo);
    guarded.repo.git(&["add", EDGE]);
    guarded.commit(&[]).expect(0);
}

#[test]
fn pre_commit_takes_the_manifest() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join(MANIFEST);

    let output = run_tool(pre_commit().arg("validate-manifest").arg(&manifest));

    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    let hooks: Vec<yaml_serde::Value> =
        yaml_serde::from_str(&std::fs::read_to_string(manifest).unwrap()).unwrap();
    let ids: Vec<&str> = hooks.iter().map(|hook| hook["id"].as_str().unwrap()).collect();
    let commands = ["sipgen-generate", "sipgen-check", "sipgen-validate"].map(str::to_owned);
    let [compiled, on_the_machine] =
        ["rust", "system"].map(|kind| commands.clone().map(|id| format!("{id}-{kind}")));
    assert_eq!(ids, [commands, compiled, on_the_machine].concat());
    for hook in &hooks {
        let is = |key: &str| hook[key].as_bool().unwrap();
        assert!(is("always_run") && is("require_serial") && !is("pass_filenames"), "{hook:?}");
        assert!(hook.get("files").is_none() && hook.get("types").is_none(), "{hook:?}");
    }
}
