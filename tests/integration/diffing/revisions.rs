//! Revisions of real git repos.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::*;
use crate::support::assert_says;

/// A repo with three commits: no cluster's host is given back, then `tenant/one` grows, then `tenant/two` is there.
fn with_history() -> Repo {
    let repo = Repo::of_hosts(4);
    repo.want("tenant/one", 1);
    repo.generate(&[]).expect(0);
    repo.commit();
    repo.want("tenant/one", 2);
    repo.generate(&[]).expect(0);
    repo.commit();
    repo.want("tenant/two", 1);
    repo.generate(&[]).expect(0);
    repo.commit();
    repo
}

const FIRST_TO_LAST: &str = "~ tenant/one
    + 1 Worker host: metal/host-2
+ tenant/two created
    + 1 Worker host: metal/host-3
2 clusters: 1 created, 1 changed; 2 hosts added
6 files: 4 created, 2 changed
2 hosts added: state unknown, no snapshot shows them
";

fn git(arguments: &[&str], directory: &Path) {
    let output = Command::new("git").args(arguments).current_dir(directory).output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", crate::support::text(&output.stderr));
}

/// A clone of a repo, with more arguments for `git clone`.
fn cloned(repo: &Repo, arguments: &[&str]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("file://{}", repo.path().display());
    git(&[&["clone", "--quiet"], arguments, &[&url, "clone"]].concat(), directory.path());
    directory
}

/// Runs `sipgen diff` in some directory.
fn diff_in(directory: &Path, arguments: &[&str]) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sipgen"));
    run(command.arg("diff").args(arguments).current_dir(directory))
}

#[test]
fn two_revisions_are_compared_whatever_is_on_the_disk() {
    let repo = with_history();
    repo.write("clusters/tenant.one.yaml", "no SIPCluster at all");
    repo.git(&["rm", "-r", "--quiet", "overlays"]);

    let run = repo.diff(&["--base", "HEAD~2", "--head", "HEAD"]).expect(1);

    assert_eq!(run.stdout, FIRST_TO_LAST);
}

#[test]
fn a_revision_is_compared_with_the_files_on_the_disk_committed_or_not() {
    let repo = with_history();
    repo.want("tenant/two", 2);

    let run = repo.diff(&["--base", "HEAD"]).expect(1);

    assert_says(&run.stdout, &["~ tenant/two\n    + 1 Worker host: metal/host-4\n"]);
    assert_says(&run.stderr, &["note: The overlays are stale in 1 file: run `sipgen generate`"]);
}

#[test]
fn a_commit_whose_overlays_were_not_generated_counts_as_if_they_were() {
    let repo = with_history();
    repo.want("tenant/two", 2);
    repo.commit();

    let forgotten = repo.diff(&["--base", "HEAD~1", "--head", "HEAD"]).expect(1);
    repo.generate(&[]).expect(0);
    repo.commit();
    let generated = repo.diff(&["--base", "HEAD~2", "--head", "HEAD"]).expect(1);

    assert_eq!(forgotten.stdout, generated.stdout);
    assert!(!generated.stderr.contains("error"), "{}", generated.stderr);
}

#[test]
fn the_last_cluster_is_removed_by_the_command_that_the_note_says() {
    let repo = with_history();
    for cluster in ["tenant/one", "tenant/two"] {
        repo.want_no_more(cluster);
    }

    let run = repo.diff(&["--base", "HEAD", "--allow-empty"]).expect(1);

    assert_says(&run.stderr, &["run `sipgen generate --allow-empty`, and commit the result"]);
}

/// A repo whose last commit has removed the SIPCluster of `tenant/one`, and not generated.
fn with_stale_base() -> Repo {
    let repo = with_history();
    repo.want_no_more("tenant/one");
    repo.commit();
    repo
}

const ONE_IS_DELETED: &str = "cluster tenant/one is deleted, with its 2 hosts";

#[test]
fn what_the_base_had_not_generated_is_told_apart_and_its_dangers_come_first() {
    let repo = with_stale_base();
    repo.want("tenant/three", 1);
    repo.want_no_more("tenant/two");
    repo.generate(&[]).expect(0);

    let run = repo.diff(&["--base", "HEAD"]).expect(1);

    let (own, brought) =
        run.stdout.split_once("\nAlso included: changes that the base had not generated").unwrap();
    let first = format!(
        "danger: from the base, whose overlays are stale: {ONE_IS_DELETED}\ndanger: cluster"
    );
    assert!(own.starts_with(&first), "{own}");
    assert_says(own, &["+ tenant/three created", "- tenant/two deleted"]);
    assert!(!own.contains("- tenant/one"), "{own}");
    assert_says(brought, &["- tenant/one deleted\n", "2 Worker hosts: metal/host-1, metal/host-2"]);
    assert!(!brought.contains("tenant/three"), "{brought}");
    assert_says(&run.stderr, &["note: The overlays of the base are stale in"]);
}

#[test]
fn a_head_that_merely_generates_a_stale_base_is_a_difference_in_every_format() {
    let repo = with_stale_base();
    repo.generate(&[]).expect(0);

    let text = repo.diff(&["--base", "HEAD"]).expect(1).stdout;
    let markdown = repo.diff(&["--base", "HEAD", "--format", "markdown"]).expect(1).stdout;
    let json = repo.diff(&["--base", "HEAD", "--format", "json"]).expect(1).stdout;

    assert_says(
        &text,
        &[
            &format!("stale: {ONE_IS_DELETED}\n\nno changes\n\nAlso included"),
            "- tenant/one deleted",
        ],
    );
    assert_says(
        &markdown,
        &[
            "## sipgen: 1 danger, changes not generated in the base",
            "> - from the base, whose overlays are stale: cluster `tenant/one` is deleted",
            "### Also included: changes that the base had not generated",
            "<summary><code>tenant/one</code> deleted</summary>",
        ],
    );
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let danger = &json["review"]["dangers"][0];
    assert_eq!((&danger["code"], &danger["fromBase"]), (&"cluster-deleted".into(), &true.into()));
    assert_eq!(json["review"]["clusters"], serde_json::json!([]));
    assert_eq!(json["brought"]["clusters"][0]["state"], "deleted");
}

#[test]
fn what_the_base_had_not_generated_and_the_head_takes_back_is_not_brought() {
    let repo = with_stale_base();
    repo.git(&["revert", "--no-edit", "HEAD"]);

    let run = repo.diff(&["--base", "HEAD~1", "--head", "HEAD"]).expect(1);

    assert!(!run.stdout.contains("brought"), "{}", run.stdout);
    assert_says(&run.stdout, &["+ tenant/one created"]);
}

#[test]
fn overlays_that_the_inputs_of_the_head_do_not_make_are_a_difference() {
    let repo = Repo::generated("quickstart");
    repo.commit();
    repo.replace("overlays/clusters/tenant-a/edge/jumphost/service.yaml", "30022", "30099");
    repo.commit();

    for arguments in [vec!["--base", "HEAD~1"], vec!["--base", "HEAD~1", "--head", "HEAD"]] {
        let run = repo.diff(&arguments).expect(1);
        assert_says(&run.stderr, &["note: The overlays are stale in 1 file"]);
        let json =
            repo.diff(&[arguments.as_slice(), &["--format", "json"]].concat()).expect(1).stdout;
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["stale"]["files"], 1);
        let markdown =
            repo.diff(&[arguments.as_slice(), &["--format", "markdown"]].concat()).expect(1).stdout;
        assert_says(&markdown, &["## sipgen: 1 stale file\n"]);
    }
}

#[test]
fn of_a_base_whose_settings_cannot_be_read_the_output_is_where_the_head_has_it() {
    let repo = with_history();
    repo.git(&["mv", "overlays", "deploy"]);
    repo.write("sipgen.yaml", "output: deploy\nno-such-setting: `<b>`\n");
    repo.commit();
    repo.write("sipgen.yaml", "output: deploy\n");
    repo.want("tenant/two", 2);

    let run = repo.diff(&["--base", "HEAD"]).expect(1);

    assert_says(
        &run.stdout,
        &["~ tenant/two\n    + 1 Worker host: metal/host-4\n1 cluster changed"],
    );
    assert_says(
        &run.stderr,
        &["so its committed overlays are used: `the settings cannot be read: "],
    );
}

#[test]
fn what_an_error_of_the_base_has_in_it_reaches_neither_terminal_nor_markdown() {
    let repo = with_history();
    repo.write("sipgen.yaml", "\"x\\e[31m`\\n\\n@all <b>\": 1\n");
    repo.commit();
    repo.remove("sipgen.yaml");

    let note = repo.diff(&["--base", "HEAD"]).stderr;
    let markdown = repo.diff(&["--base", "HEAD", "--format", "markdown"]).stdout;

    assert_says(&note, &["@all <b>"]);
    for text in [note.as_str(), &markdown] {
        let line = text.lines().find(|line| line.contains("The base has 1 error")).unwrap();
        let (_, quoted) = line.split_once('`').unwrap();
        let (quoted, behind) = quoted.split_once('`').unwrap();
        assert_says(quoted, &["@all <b>"]);
        assert!(behind == "." && !text.contains('\u{1b}'), "{text:?}");
    }
}

#[test]
fn of_a_base_with_errors_the_overlays_stand_in_as_they_are() {
    let repo = with_history();
    repo.write(
        "inventory/hosts.yaml",
        &(repo.read("inventory/hosts.yaml") + &crate::support::host("host-1", "")),
    );
    repo.commit();
    repo.git(&["checkout", "--quiet", "HEAD~1", "--", "inventory"]);
    repo.want("tenant/two", 2);

    let run = repo.diff(&["--base", "HEAD"]).expect(1);

    assert_says(
        &run.stdout,
        &["~ tenant/two\n    + 1 Worker host: metal/host-4\n1 cluster changed"],
    );
    assert_says(
        &run.stderr,
        &["note: The base has 1 error, so its committed overlays are used: `"],
    );
}

#[test]
fn of_a_base_with_an_impossible_cluster_only_that_one_stands_in_as_it_is() {
    let repo = with_history();
    repo.want("tenant/one", 9);
    repo.want("tenant/two", 2);
    repo.commit();
    repo.want("tenant/one", 2);

    let run = repo.diff(&["--base", "HEAD"]).expect(1);

    assert!(run.stdout.starts_with("no changes\n\nAlso included"), "{}", run.stdout);
    assert!(!run.stdout.contains("tenant/one"), "{}", run.stdout);
    assert_says(
        &run.stderr,
        &[
            "note: The base has 1 error, so the committed overlays of 1 cluster are used: `6 of the 9",
        ],
    );
}

#[test]
fn with_errors_in_the_head_they_are_shown_and_nothing_is_compared() {
    let repo = with_history();
    repo.want("tenant/one", 9);

    let run = repo.diff(&["--base", "HEAD"]).expect(1);

    assert_eq!(run.stdout, "");
    assert_says(
        &run.stderr,
        &["of the 9 Worker hosts of tenant/one cannot be found", "clusters/tenant.one.yaml:"],
    );
}

#[test]
fn before_the_first_cluster_there_was_nothing() {
    let repo = Repo::of_hosts(1);
    repo.commit();
    repo.want("tenant/one", 1);

    let run = repo.diff(&["--base", "HEAD"]).expect(1);

    assert_says(&run.stdout, &["+ tenant/one created", "+ 1 Worker host: metal/host-1"]);
    assert!(!run.stderr.contains("error"), "{}", run.stderr);
}

#[test]
fn a_bare_repo_is_compared_by_its_revisions() {
    let directory = cloned(&with_history(), &["--bare"]);
    let bare = directory.path().join("clone");

    let inside = diff_in(&bare, &["--base", "HEAD~2", "--head", "HEAD"]).expect(1);
    let named = diff_in(
        Path::new("/"),
        &["--repo", bare.to_str().unwrap(), "--base", "HEAD~2", "--head", "HEAD"],
    );

    assert_eq!(inside.stdout, FIRST_TO_LAST);
    assert_eq!(named.expect(1).stdout, FIRST_TO_LAST);
    let run = diff_in(&bare, &["--base", "HEAD~2"]).expect(2);
    assert_says(&run.stderr, &["is a bare repo", "`sipgen diff`: with --base and --head"]);
}

#[test]
fn a_worktree_of_a_bare_repo_is_a_worktree() {
    let directory = cloned(&with_history(), &["--bare"]);
    git(&["worktree", "add", "--quiet", "--detach", "../tree"], &directory.path().join("clone"));
    let tree = directory.path().join("tree");

    assert_eq!(diff_in(&tree, &["--base", "HEAD~2"]).expect(1).stdout, FIRST_TO_LAST);
    assert_eq!(
        diff_in(&tree.join("clusters"), &["--base", "HEAD~2"]).expect(1).stdout,
        FIRST_TO_LAST
    );
}

#[test]
fn a_detached_head_is_a_head() {
    let repo = with_history();
    repo.git(&["checkout", "--quiet", "--detach"]);

    assert_eq!(repo.diff(&["--base", "HEAD~2"]).expect(1).stdout, FIRST_TO_LAST);
}

#[test]
fn a_tag_and_the_beginning_of_an_id_name_revisions_too() {
    let repo = with_history();
    repo.git(&["tag", "--annotate", "--message", "first", "v1", "HEAD~2"]);
    let id = repo.git(&["rev-parse", "--short", "HEAD~2"]);

    assert_eq!(repo.diff(&["--base", "v1"]).expect(1).stdout, FIRST_TO_LAST);
    assert_eq!(repo.diff(&["--base", id.trim()]).expect(1).stdout, FIRST_TO_LAST);
}

#[test]
fn what_a_shallow_clone_has_is_compared() {
    let directory = cloned(&with_history(), &["--depth", "3"]);

    let run = diff_in(&directory.path().join("clone"), &["--base", "HEAD~2"]).expect(1);

    assert_eq!(run.stdout, FIRST_TO_LAST);
}

#[test]
fn what_a_shallow_clone_lacks_has_to_be_fetched() {
    let directory = cloned(&with_history(), &["--depth", "1"]);

    for missing in ["HEAD~2", "origin/other"] {
        let run = diff_in(&directory.path().join("clone"), &["--base", missing]).expect(2);

        assert_says(&run.stderr, &[missing, "shallow", "git fetch --unshallow", "fetch-depth: 0"]);
    }
}

#[test]
fn a_revision_that_is_not_there_is_a_mistake_in_the_command() {
    let run = with_history().diff(&["--base", "no-such-branch"]).expect(2);

    assert_says(&run.stderr, &["there is no revision `no-such-branch` here", "git fetch"]);
    assert_eq!(run.stdout, "");
}

#[test]
fn a_revision_without_a_name_is_a_mistake_in_the_command() {
    for arguments in [["--base", ""], ["--head", " "]] {
        let run = with_history().diff(&arguments).expect(2);

        assert_says(
            &run.stderr,
            &["the name of a revision is empty: name a commit, such as origin/main"],
        );
    }
}

#[test]
fn what_is_no_commit_is_no_revision() {
    let repo = with_history();
    for (name, kind) in [("HEAD:clusters", "tree"), ("HEAD:clusters/tenant.one.yaml", "blob")] {
        let run = repo.diff(&["--base", name]).expect(2);

        assert_says(&run.stderr, &[&format!("`{name}` is no commit but a {kind}: name a commit")]);
    }
}

#[test]
fn a_repo_without_commits_has_no_revision() {
    let repo = Repo::of_hosts(1);
    repo.want("tenant/one", 1);

    let run = repo.diff(&["--base", "HEAD"]).expect(2);

    assert_says(&run.stderr, &["there is no revision `HEAD` here", "the repo has no commits yet"]);
    repo.diff(&[]).expect(1);
}

#[test]
fn a_directory_without_git_has_no_revisions() {
    let directory = tempfile::tempdir().unwrap();

    let run = diff_in(directory.path(), &["--repo", ".", "--base", "HEAD"]).expect(2);

    assert_says(&run.stderr, &["`.` is not in a git repo"]);
}

#[test]
fn of_a_subdirectory_nothing_else_counts() {
    let repo = with_history();
    for (path, text) in
        repo.files("inventory").into_iter().map(|(path, text)| (format!("inventory/{path}"), text))
    {
        repo.write(&format!("sites/größe eins/{path}"), &text);
    }
    repo.commit();
    let cluster = repo.read("clusters/tenant.one.yaml");
    repo.write("sites/größe eins/clusters/one.yaml", &cluster);

    let run = repo.diff(&["--repo", "sites/größe eins", "--base", "HEAD"]).expect(1);

    assert_says(
        &run.stdout,
        &["+ tenant/one created", "+ 2 Worker hosts: metal/host-1, metal/host-2"],
    );
    repo.commit();
    let run =
        repo.diff(&["--repo", "sites/größe eins", "--base", "HEAD~1", "--head", "HEAD"]).expect(1);
    assert_says(&run.stdout, &["+ tenant/one created"]);
}

#[test]
fn a_checkout_with_crlf_has_no_differences() {
    let repo = with_history();
    repo.git(&["config", "core.autocrlf", "true"]);
    repo.git(&["rm", "-r", "--quiet", "--cached", "."]);
    repo.git(&["reset", "--quiet", "--hard"]);
    assert!(repo.read("clusters/tenant.one.yaml").contains("\r\n"));

    let run = repo.diff(&["--base", "HEAD"]).expect(0);

    assert_eq!(run.stdout, "no changes\n");
}

#[test]
fn a_cluster_that_is_left_as_it_is_in_a_checkout_with_crlf_has_no_differences() {
    let repo = with_history();
    repo.git(&["config", "core.autocrlf", "true"]);
    repo.git(&["rm", "-r", "--quiet", "--cached", "."]);
    repo.git(&["reset", "--quiet", "--hard"]);
    repo.want("tenant/one", 9);

    let run = repo.diff(&["--base", "HEAD", "--keep-going"]).expect(1);

    assert_eq!(run.stdout, "no changes\n");
}

#[test]
fn git_revert_takes_back_what_the_plan_said() {
    let repo = with_history();
    repo.git(&["revert", "--no-edit", "HEAD"]);

    let run = repo.diff(&["--base", "HEAD~1", "--head", "HEAD"]).expect(1);

    assert_says(
        &run.stdout,
        &["danger: cluster tenant/two is deleted, with its 1 host", "- tenant/two deleted"],
    );
    assert_eq!(repo.diff(&["--base", "HEAD~2", "--head", "HEAD"]).expect(0).stdout, "no changes\n");
}

#[test]
fn the_first_overlays_of_a_repo_are_new() {
    let repo = Repo::of_fixture("quickstart");
    repo.generate(&[]).expect(0);
    repo.commit();

    let run = repo.diff(&["--base", "HEAD~1", "--head", "HEAD"]).expect(1);

    assert_says(
        &run.stdout,
        &["+ tenant-a/edge created", "2 ControlPlane hosts", "52 files created"],
    );
    assert!(!run.stdout.contains("no changes") && !run.stdout.contains("stale"), "{}", run.stdout);
    assert_says(&run.stderr, &["note: The base has no overlays: all overlays are new."]);

    // Where overlays are kept elsewhere, on a branch of their own, they are on neither side.
    repo.git(&["rm", "--quiet", "-r", "overlays"]);
    repo.commit();
    let run = repo.diff(&["--base", "HEAD~2", "--head", "HEAD"]).expect(1);
    assert!(run.stdout.starts_with("no changes\n"), "{}", run.stdout);
}
