//! `sipgen generate --from-index`.

use std::fs;

use crate::support::scenes::git::{
    EDGE_HOSTS, ONE_WORKER, TWO_WORKERS, quickstart, status, want_more,
};
use crate::support::{EDGE, Repo, assert_says, copy, fixtures, run};

const CHECK: [&str; 2] = ["--from-index", "--check"];

#[test]
fn a_change_counts_when_it_is_staged_and_not_before() {
    let repo = quickstart();
    want_more(&repo);

    repo.generate(&CHECK).expect(0);
    repo.git(&["add", EDGE]);

    repo.generate(&CHECK).expect(1);
}

#[test]
fn of_a_partly_staged_file_the_staged_part_counts() {
    let (repo, other) = (quickstart(), quickstart());
    want_more(&repo);
    repo.git(&["add", EDGE]);
    repo.replace(EDGE, TWO_WORKERS, "active: 0\n        standby: 0");
    want_more(&other);

    repo.generate(&["--from-index"]).expect(0);
    other.generate(&[]).expect(0);

    assert_eq!(repo.files("overlays"), other.files("overlays"));
}

#[test]
fn settings_and_templates_count_as_they_are_staged() {
    let repo = quickstart();
    repo.write("sipgen.yaml", "templates: mine\n");
    repo.write(
        "mine/loadbalancer/service.yaml",
        "# staged\napiVersion: v1\nkind: Service\nmetadata:\n  name: {{ name }}\n",
    );
    repo.git(&["add", "sipgen.yaml", "mine"]);
    repo.write("sipgen.yaml", "not: settings\n");
    repo.write("mine/loadbalancer/service.yaml", "not a template {{");

    repo.generate(&["--from-index"]).expect(0);

    assert_says(
        &repo.read("overlays/clusters/tenant-a/edge/loadbalancer-worker/service.yaml"),
        &["# staged"],
    );
}

#[test]
fn what_is_untracked_is_not_read() {
    let repo = Repo::of_hosts(3);
    repo.want("tenant/one", 1);
    repo.generate(&[]).expect(0);
    repo.commit();
    repo.want("tenant/two", 1);

    repo.generate(&CHECK).expect(0);
}

#[test]
fn what_is_to_be_added_some_day_is_not_staged() {
    let repo = Repo::of_fixture("quickstart");
    repo.generate(&[]).expect(0);
    repo.git(&["add", "--intent-to-add", "overlays"]);

    let run = repo.generate(&CHECK).expect(1);

    assert_says(&run.stderr, &["52 created, 0 changed"]);
}

#[test]
fn the_hosts_of_an_unstaged_run_are_not_remembered() {
    let repo = Repo::of_hosts(3);
    repo.want("tenant/two", 1);
    repo.generate(&[]).expect(0);
    repo.want_no_more("tenant/two");
    repo.want("tenant/one", 1);
    repo.git(&["add", "clusters", "inventory"]);

    repo.generate(&["--from-index"]).expect(0);

    assert_eq!(repo.hosts_of("tenant", "one"), ["Worker metal/host-1"]);
}

#[test]
fn files_that_are_right_but_not_staged_fail_and_the_message_heals_it() {
    let repo = Repo::of_fixture("quickstart");
    repo.generate(&[]).expect(0);
    let before = repo.on_disk("");

    let run = repo.generate(&["--from-index", "--exit-code"]).expect(1);

    assert!(repo.on_disk("") == before, "files were written that were right");
    assert_says(&run.stderr, &["52 created", "not staged yet: run `git add overlays`"]);
    repo.git(&["add", "overlays"]);
    let healed = repo.generate(&["--from-index", "--exit-code"]).expect(0);
    assert!(!healed.stderr.contains("staged"), "{}", healed.stderr);
}

#[test]
fn a_deleted_cluster_takes_its_files_with_it() {
    let repo = Repo::of_hosts(3);
    repo.want("tenant/one", 1);
    repo.want("tenant/two", 1);
    repo.generate(&[]).expect(0);
    repo.commit();
    repo.git(&["rm", "--quiet", "clusters/tenant.two.yaml"]);

    repo.generate(&["--from-index", "--exit-code"]).expect(1);

    assert_eq!(repo.hosts_of("tenant", "two"), [""; 0]);
    assert!(!repo.exists("overlays/tenants/tenant/two"));
    repo.git(&["add", "overlays"]);
    repo.generate(&["--from-index", "--exit-code"]).expect(0);
}

#[test]
fn generated_files_that_the_index_does_not_know_are_left_alone() {
    let repo = Repo::of_hosts(3);
    repo.want("tenant/one", 1);
    repo.generate(&[]).expect(0);
    repo.commit();
    repo.want("tenant/two", 1);
    repo.generate(&[]).expect(0);
    repo.want("tenant/one", 2);
    repo.git(&["add", "clusters/tenant.one.yaml"]);

    repo.generate(&["--from-index"]).expect(0);

    assert_eq!(repo.hosts_of("tenant", "two"), ["Worker metal/host-2"]);
}

#[test]
fn somebody_elses_file_in_the_worktree_is_not_overwritten() {
    let repo = Repo::of_fixture("quickstart");
    repo.write(EDGE_HOSTS, "mine\n");
    let before = repo.on_disk("");

    let run = repo.generate(&["--from-index"]).expect(1);

    assert_says(
        &run.stderr,
        &[&format!("`{EDGE_HOSTS}` is a file without sipgen's first line"), "no files written"],
    );
    assert!(repo.on_disk("") == before, "files have changed");
}

#[test]
fn nothing_is_written_through_a_link_in_the_worktree() {
    let repo = Repo::of_fixture("quickstart");
    let elsewhere = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), repo.path().join("overlays")).unwrap();

    let run = repo.generate(&["--from-index"]).expect(1);

    assert_says(&run.stderr, &["`overlays` is a symbolic link"]);
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

#[test]
fn a_finding_names_the_line_of_the_staged_file() {
    let repo = quickstart();
    repo.replace(EDGE, "active: 2", "active: many");
    repo.git(&["add", EDGE]);
    let in_worktree = repo.generate(&["--check"]).expect(1).stderr;
    repo.write(EDGE, "# nothing\n");

    let staged = repo.generate(&CHECK).expect(1).stderr;

    assert_says(&staged, &["`active` must be a whole number", &format!("{EDGE}:")]);
    assert_eq!(staged, in_worktree);
}

#[test]
fn conflicts_are_refused() {
    let repo = quickstart();
    want_more(&repo);
    repo.commit();
    repo.git(&["checkout", "--quiet", "-b", "other", "HEAD~"]);
    repo.replace(EDGE, ONE_WORKER, "active: 0\n        standby: 1");
    repo.commit();
    assert!(
        !crate::support::run_tool(
            crate::support::tool("git").current_dir(repo.path()).args(["merge", "-"])
        )
        .status
        .success()
    );

    let run = repo.generate(&CHECK).expect(2);

    assert_says(&run.stderr, &["git's index has conflicts", "`git status`"]);
}

#[test]
fn the_index_of_the_environment_is_the_one_that_is_read() {
    let repo = quickstart();
    let index = repo.path().join(".git/other-index");
    fs::copy(repo.path().join(".git/index"), &index).unwrap();
    want_more(&repo);
    repo.git(&["add", EDGE]);
    repo.generate(&CHECK).expect(1);

    for named in [index.to_str().unwrap(), ".git/other-index"] {
        let mut sipgen = repo.sipgen(&["generate", "--from-index", "--check"]);
        run(sipgen.env("GIT_INDEX_FILE", named)).expect(0);
        // git takes a relative one from the top, wherever a hook has gone since.
        run(sipgen.current_dir(repo.path().join("sites"))).expect(0);
    }
}

#[test]
fn an_index_of_another_repo_in_the_environment_is_not_read() {
    let (repo, other) = (quickstart(), quickstart());
    want_more(&repo);
    repo.git(&["add", EDGE]);

    let mut sipgen = repo.sipgen(&["generate", "--from-index", "--check", "--repo"]);
    sipgen.arg(repo.path()).current_dir(other.path()).env("GIT_INDEX_FILE", ".git/index");
    run(&mut sipgen).expect(1);
    sipgen.env("GIT_DIR", other.path().join(".git"));
    run(&mut sipgen).expect(1);
}

#[test]
fn a_worktree_whose_repo_only_the_environment_knows_is_read() {
    let repo = quickstart();
    let elsewhere = tempfile::tempdir().unwrap();
    fs::rename(repo.path().join(".git"), elsewhere.path().join("git")).unwrap();
    want_more(&repo);
    let mut sipgen = repo.sipgen(&["generate", "--from-index", "--check"]);

    run(&mut sipgen).expect(2);

    sipgen.env("GIT_DIR", elsewhere.path().join("git")).env("GIT_WORK_TREE", repo.path());
    run(&mut sipgen).expect(0);
}

#[test]
fn an_index_that_only_git_can_read_is_refused_with_the_remedy() {
    let repo = quickstart();

    repo.git(&["update-index", "--split-index"]);
    for arguments in [&["--check"][..], &CHECK] {
        let run = repo.generate(arguments).expect(2);
        assert_says(&run.stderr, &["git's index is split", "git update-index --no-split-index"]);
    }
    repo.git(&["update-index", "--no-split-index"]);
    repo.generate(&CHECK).expect(0);

    repo.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "sites"]);
    let run = repo.generate(&CHECK).expect(2);
    assert_says(
        &run.stderr,
        &["git's index is a sparse one", "git sparse-checkout reapply --no-sparse-index"],
    );
    repo.git(&["sparse-checkout", "reapply", "--no-sparse-index"]);
    repo.generate(&CHECK).expect(0);
}

#[test]
fn a_directory_of_the_repo_has_its_own_part_of_the_index() {
    let repo = Repo::empty();
    for site in ["north", "south"] {
        copy(&fixtures().join("quickstart"), &repo.path().join(site));
    }
    repo.commit();

    let run = repo.generate(&["--from-index", "--exit-code", "--repo", "north"]).expect(1);

    assert_says(&run.stderr, &["1 cluster: 4 hosts assigned", "run `git -C north add overlays`"]);
    assert!(status(&repo).iter().all(|line| line.starts_with("?? north/overlays/")));
    repo.git(&["-C", "north", "add", "overlays"]);
    repo.generate(&["--from-index", "--exit-code", "--repo", "north"]).expect(0);
}

#[test]
fn without_a_repo_nothing_can_be_staged() {
    let directory = tempfile::tempdir().unwrap();
    let repo = quickstart();

    let run =
        run(repo.sipgen(&["generate", "--from-index", "--repo"]).arg(directory.path())).expect(2);

    assert_says(&run.stderr, &["is not in a git repo"]);
}
