//! Everything odd that a repo can be.

use std::fs;
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::Command;

use camino::Utf8Path;
use sipgen::Options;
use sipgen::input::load::Files;

use crate::support::scenes::git::{id, quickstart, status, want_more};
use crate::support::{EDGE, Repo, assert_says, copy, fixtures, run, run_tool, tool};

/// What is generated from the files that a revision has, as the difference to its own output.
fn changes_at(repo: &Path, revision: &str) -> Result<Vec<String>, String> {
    let root = Utf8Path::from_path(repo).unwrap();
    let files = Files::at_revision(root, revision).map_err(|error| error.to_string())?;
    let generated = sipgen::generate(&files, &Options::default(), &|_| {})
        .map_err(|error| error.to_string())?;
    assert!(
        generated.findings.iter().all(|finding| !finding.is_error()),
        "{:?}",
        generated.findings
    );
    Ok(generated.changes.unwrap().files.keys().map(ToString::to_string).collect())
}

#[track_caller]
fn git(directory: &Path, arguments: &[&str]) {
    let output = run_tool(
        tool("git")
            .current_dir(directory)
            .args(["-c", "protocol.file.allow=always"])
            .args(arguments),
    );
    assert!(
        output.status.success(),
        "git {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// A clone, made with these arguments.
fn clone(repo: &Repo, arguments: &[&str]) -> (tempfile::TempDir, std::path::PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let from = format!("file://{}", repo.path().display());
    git(directory.path(), &[&["clone", "--quiet"], arguments, &[&from, "clone"]].concat());
    let path = directory.path().join("clone");
    (directory, path)
}

#[test]
fn a_bare_repo_has_revisions() {
    let repo = quickstart();
    want_more(&repo);
    repo.commit();
    let (_directory, bare) = clone(&repo, &["--bare"]);

    assert_eq!(changes_at(&bare, "HEAD~"), Ok(Vec::new()));
    assert_eq!(changes_at(&bare, "HEAD").unwrap().len(), 6);
}

#[test]
fn a_bare_repo_has_no_worktree_and_no_index() {
    let repo = quickstart();
    let (_directory, bare) = clone(&repo, &["--bare"]);

    let run = run(repo.sipgen(&["generate", "--from-index", "--repo"]).arg(&bare)).expect(2);

    assert_says(&run.stderr, &["is a bare repo", "if the command has it"]);
}

#[test]
fn a_shallow_clone_says_what_it_lacks() {
    let repo = quickstart();
    let (_directory, shallow) = clone(&repo, &["--depth=1"]);

    assert_eq!(changes_at(&shallow, "HEAD"), Ok(Vec::new()));
    assert_says(
        &changes_at(&shallow, "HEAD~").unwrap_err(),
        &["no revision `HEAD~`", "git fetch --unshallow"],
    );
}

#[test]
fn a_partial_clone_says_what_it_has_not_fetched() {
    let repo = quickstart();
    want_more(&repo);
    repo.commit();
    repo.git(&["config", "uploadpack.allowFilter", "true"]);
    let (_directory, partial) = clone(&repo, &["--filter=blob:none"]);

    assert_eq!(changes_at(&partial, "HEAD").unwrap().len(), 6);
    assert_says(
        &changes_at(&partial, "HEAD~").unwrap_err(),
        &["partial clone", "git fetch --refetch --no-filter"],
    );
    git(&partial, &["fetch", "--quiet", "--refetch", "--no-filter"]);
    assert_eq!(changes_at(&partial, "HEAD~"), Ok(Vec::new()));
}

#[test]
fn a_linked_worktree_has_files_and_an_index_of_its_own() {
    let repo = quickstart();
    let linked = repo.path().join(".git/elsewhere");
    repo.git(&["worktree", "add", "--quiet", "--detach", linked.to_str().unwrap()]);
    want_more(&repo);
    repo.git(&["add", EDGE]);
    let generate = |arguments: &[&str]| {
        let arguments = [&["generate", "--check"], arguments].concat();
        run(repo.sipgen(&arguments).current_dir(&linked))
    };

    generate(&[]).expect(0);
    generate(&["--from-index"]).expect(0);
    repo.generate(&["--from-index", "--check"]).expect(1);
}

#[test]
fn without_a_commit_files_are_read_all_the_same() {
    let repo = Repo::empty();
    copy(&fixtures().join("quickstart"), repo.path());

    assert_says(&repo.generate(&["--from-index"]).expect(0).stderr, &["no SIPCluster"]);
    assert!(!repo.exists("overlays"));
    repo.git(&["add", "--all"]);
    repo.generate(&["--from-index"]).expect(0);

    assert_eq!(repo.files("overlays").len(), 52);
}

#[test]
fn names_with_spaces_and_of_any_script_are_read_from_everywhere() {
    // An e with an accent: as one character, and as two.
    for name in ["ein Standort", "\u{e9}tage", "e\u{301}tage", "サイト", "#1 [*]"] {
        let repo = Repo::of_fixture("quickstart");
        fs::rename(repo.path().join("sites/lab"), repo.path().join("sites").join(name)).unwrap();
        repo.generate(&[]).expect(0);
        repo.commit();

        assert!(
            repo.exists(&format!("overlays/hosts/declared/sites/{name}/tenant-a.edge.yaml")),
            "{name}"
        );
        repo.generate(&["--from-index", "--check"]).expect(0);
        assert_eq!(changes_at(repo.path(), "HEAD"), Ok(Vec::new()), "{name}");
    }
}

#[test]
fn another_repo_in_the_worktree_is_not_this_ones() {
    let repo = quickstart();
    let nested = repo.path().join("nested");
    let other = Repo::of_hosts(1);
    other.want("tenant/other", 1);
    fs::remove_dir_all(other.path().join(".git")).unwrap();
    copy(other.path(), &nested);
    repo.generate(&["--check"]).expect(1);

    git(&nested, &["init", "--quiet"]);

    // As git itself sees it.
    assert_eq!(status(&repo), ["?? nested/"]);
    repo.generate(&["--check"]).expect(0);
}

#[test]
fn a_bare_repo_has_nothing_to_generate_but_something_to_compare() {
    let repo = quickstart();
    let bare = tempfile::tempdir().unwrap();
    repo.git(&["clone", "--quiet", "--bare", ".", bare.path().to_str().unwrap()]);
    let here = bare.path().to_str().unwrap();

    for arguments in [
        &["generate"][..],
        &["generate", "--repo", here],
        &["status"],
        &["generate", "--from-index"],
    ] {
        let refused = run(repo.sipgen(arguments).current_dir(bare.path())).expect(2);
        assert_says(&refused.stderr, &["is a bare repo", "name a revision with --rev"]);
    }
    run(repo.sipgen(&["diff", "--base", "HEAD", "--head", "HEAD"]).current_dir(bare.path()))
        .expect(0);
}

#[test]
fn a_hook_of_a_bare_repo_can_check_files_that_lie_elsewhere() {
    let bare = tempfile::tempdir().unwrap();
    git(bare.path(), &["init", "--quiet", "--bare"]);
    let files = tempfile::tempdir().unwrap();
    copy(quickstart().path(), files.path());
    fs::remove_dir_all(files.path().join(".git")).unwrap();
    let mut sipgen = Command::new(env!("CARGO_BIN_EXE_sipgen"));
    sipgen
        .args(["generate", "--check", "--repo"])
        .arg(files.path())
        .current_dir(bare.path())
        .env("GIT_DIR", ".");

    run(&mut sipgen).expect(0);
}

#[test]
fn the_memory_of_another_site_is_not_to_be_deleted() {
    let repo = quickstart();
    repo.generate(&["--repo", "sites"]).expect(0);
    let own = "sites/overlays/hosts/declared/lab/tenant-a.edge.yaml";
    assert!(repo.exists(own));

    let copies = repo.refused();
    repo.write("sites/sipgen.yaml", "");
    let foreign = repo.refused();

    assert_says(
        &copies,
        &[
            "1 of sipgen's own files with hosts lies outside the output directory",
            "if they are copies: to exclude it",
        ],
    );
    assert_says(
        &foreign,
        &["hosts lies in sites, which has a sipgen.yaml of its own", "--repo sites`", own],
    );
    assert!(!foreign.contains("delete"), "{foreign}");
}

#[test]
fn a_repo_within_another_is_one_of_its_own() {
    let outer = Repo::of_hosts(1);
    let nested = outer.path().join("nested");
    copy(&fixtures().join("quickstart"), &nested);
    git(&nested, &["init", "--quiet"]);

    run(outer.sipgen(&["generate"]).current_dir(nested.join("sites"))).expect(0);

    assert!(nested.join("overlays/hosts/declared/sites").exists());
    assert!(!outer.exists("overlays"));
}

#[test]
fn what_a_sparse_checkout_leaves_out_is_not_taken_for_gone() {
    for left_out in ["sites", "overlays"] {
        let repo = quickstart();
        repo.write("docs/index.md", "words\n");
        repo.commit();
        repo.git(&["sparse-checkout", "set", "--no-cone", "/*", &format!("!/{left_out}/")]);
        assert!(!repo.exists(left_out));

        let run = repo.generate(&["--check", "--allow-empty"]).expect(2);

        assert_says(
            &run.stderr,
            &[left_out, "left out of this sparse checkout", "git sparse-checkout disable"],
        );
        repo.generate(&["--check", "--from-index"]).expect(0);
        repo.git(&["sparse-checkout", "set", "--no-cone", "/*", "!/docs/"]);
        repo.generate(&["--check"]).expect(0);
    }
}

#[test]
fn a_repo_of_another_user_is_read_when_git_trusts_it() {
    let repo = quickstart();
    let nobody = Some(65534);
    if chown(repo.path(), nobody, nobody).is_err() {
        // Only root can give a repo away.
        assert_ne!(run_tool(tool("id").arg("-u")).stdout, b"0\n");
        return;
    }
    chown(repo.path().join(".git"), nobody, nobody).unwrap();
    let home = tempfile::tempdir().unwrap();
    let mut sipgen = repo.sipgen(&["generate", "--check"]);
    sipgen.env("HOME", home.path()).env_remove("SUDO_UID").env_remove("XDG_CONFIG_HOME");

    let refused = run(&mut sipgen).expect(2);

    let top = repo.path().canonicalize().unwrap();
    let remedy = format!("git config --global --add safe.directory {}", top.display());
    assert_says(&refused.stderr, &["belongs to another user", &remedy]);
    let mut shell = tool("sh");
    let trusted =
        run_tool(shell.args(["-c", &remedy]).env("HOME", home.path()).current_dir(home.path()));
    assert!(trusted.status.success());
    run(&mut sipgen).expect(0);
}

#[test]
fn a_detached_head_is_as_good_as_a_branch() {
    let repo = quickstart();
    repo.git(&["checkout", "--quiet", "--detach"]);
    want_more(&repo);
    repo.git(&["add", EDGE]);

    repo.generate(&["--from-index", "--check"]).expect(1);
    repo.generate(&[]).expect(0);
    repo.commit();

    assert_eq!(changes_at(repo.path(), &id(&repo, "HEAD~")), Ok(Vec::new()));
}
