//! `sipgen generate --commit`.

use std::fs;

use crate::support::scenes::git::{
    EDGE_HOSTS, changed_by, hook, id, identify, message, quickstart, status, want_more,
};
use crate::support::{EDGE, Repo, assert_says, copy, fixtures, run, run_tool, tool};

#[test]
fn the_commit_has_the_generated_files_and_nothing_else() {
    let repo = quickstart();
    want_more(&repo);
    repo.commit();
    repo.write("staged", "mine\n");
    repo.write("sites/lab/notes.md", "mine\n");
    repo.git(&["add", "staged"]);
    repo.write("staged", "and changed since\n");

    let run = repo.generate(&["--commit"]).expect(0);

    assert_eq!(
        changed_by(&repo, "HEAD"),
        [
            "M overlays/clusters/tenant-a/edge/jumphost/hosts",
            "M overlays/clusters/tenant-a/edge/jumphost/kustomization.yaml",
            "M overlays/clusters/tenant-a/edge/jumphost/ssh_config",
            "M overlays/clusters/tenant-a/edge/loadbalancer-worker/haproxy.cfg",
            "M overlays/hosts/declared/sites/lab/kustomization.yaml",
            "M overlays/hosts/declared/sites/lab/tenant-a.edge.yaml",
        ]
    );
    assert_eq!(status(&repo), ["AM staged", "?? sites/lab/notes.md"]);
    assert_says(&run.stderr, &[&format!("committed 6 files as {}", &id(&repo, "HEAD")[..7])]);
    repo.generate(&["--check"]).expect(0);
}

#[test]
fn created_and_deleted_files_are_in_it_too() {
    let repo = Repo::of_hosts(3);
    identify(&repo);
    repo.want("tenant/old", 1);
    repo.generate(&["--commit"]).expect(0);
    repo.commit();
    repo.want_no_more("tenant/old");
    repo.want("tenant/new", 1);

    repo.generate(&["--commit"]).expect(0);

    let changed = changed_by(&repo, "HEAD");
    assert!(
        changed.contains(&"A overlays/hosts/declared/inventory/tenant.new.yaml".to_owned()),
        "{changed:?}"
    );
    assert!(
        changed.contains(&"D overlays/hosts/declared/inventory/tenant.old.yaml".to_owned()),
        "{changed:?}"
    );
    assert_eq!(status(&repo), [" D clusters/tenant.old.yaml", "?? clusters/tenant.new.yaml"]);
}

#[test]
fn what_an_earlier_run_has_left_uncommitted_is_in_it() {
    let repo = quickstart();
    want_more(&repo);
    repo.commit();
    repo.generate(&[]).expect(0);
    repo.git(&["add", EDGE_HOSTS]);

    repo.generate(&["--commit"]).expect(0);

    assert_eq!(changed_by(&repo, "HEAD").len(), 6);
    assert_eq!(status(&repo), [""; 0]);
}

#[test]
fn somebody_elses_file_below_the_output_is_not_in_it() {
    let repo = quickstart();
    want_more(&repo);
    repo.commit();
    repo.write("overlays/notes.txt", "mine\n");

    repo.generate(&["--commit"]).expect(0);

    assert_eq!(changed_by(&repo, "HEAD").len(), 6);
    assert_eq!(status(&repo), ["?? overlays/notes.txt"]);
}

#[test]
fn somebody_elses_file_that_would_have_to_go_is_not_in_it() {
    let in_the_way: [fn(&Repo); 2] = [
        |repo| repo.write("overlays/hosts", "mine\n"),
        |repo| {
            let other = Repo::of_hosts(1);
            other.commit();
            let from = other.path().to_str().unwrap();
            repo.git(&[
                "-c",
                "protocol.file.allow=always",
                "submodule",
                "--quiet",
                "add",
                from,
                "overlays",
            ]);
        },
    ];
    for put_in_the_way in in_the_way {
        let repo = Repo::of_fixture("quickstart");
        identify(&repo);
        put_in_the_way(&repo);
        repo.commit();
        let before = id(&repo, "HEAD");
        for gone in ["overlays/hosts", "overlays/.git"] {
            fs::remove_file(repo.path().join(gone)).ok();
        }

        let run = repo.generate(&["--commit"]).expect(2);

        assert_says(&run.stderr, &["would have to go"]);
        assert_eq!(id(&repo, "HEAD"), before);
    }
}

#[test]
fn what_was_committed_meanwhile_is_not_undone() {
    let repo = quickstart();
    want_more(&repo);
    repo.commit();
    // Somebody who commits just when the message is written.
    hook(
        &repo,
        "pre-commit",
        "[ -e .git/once ] || { touch .git/once; git -c core.hooksPath=/ commit --quiet --allow-empty -m theirs; }",
    );

    repo.generate(&["--commit"]).expect(2);

    assert_says(&message(&repo, "HEAD"), &["theirs"]);
}

#[test]
fn the_message_has_the_plan_and_names_the_revision_of_the_inputs() {
    let repo = quickstart();
    want_more(&repo);
    repo.commit();
    repo.write("unrelated.txt", "mine\n");
    repo.write("overlays/notes.yaml", "mine: true\n");
    let inputs = id(&repo, "HEAD");

    repo.generate(&["--commit"]).expect(0);

    let message = message(&repo, "HEAD");
    assert_says(&message, &["tenant-a/edge: add 1 host", "+ 1 Worker host: tenant-a/lab-c2"]);
    assert!(!message.contains('\u{1b}'), "{message:?}");
    let trailers = repo.git(&["show", "--no-patch", "--format=%(trailers)", "HEAD"]);
    assert_eq!(trailers.trim(), format!("Sipgen-Inputs: {inputs}"));
    assert_eq!(
        repo.git(&["show", "--no-patch", "--format=%an <%ae>", "HEAD"]).trim(),
        "Tess Ter <tess@example.com>"
    );
}

#[test]
fn the_message_says_when_inputs_are_not_those_of_the_revision() {
    let change: [fn(&Repo); 4] = [
        want_more,
        |repo| {
            want_more(repo);
            repo.git(&["add", EDGE]);
        },
        |repo| {
            repo.want("tenant-b/none", 0);
        },
        |repo| {
            repo.write("sipgen.yaml", "templates: mine\n");
            repo.commit();
            repo.write("mine/loadbalancer/haproxy.cfg", "# mine\n");
        },
    ];
    for change in change {
        let repo = quickstart();
        change(&repo);
        let inputs = id(&repo, "HEAD");

        repo.generate(&["--commit"]).expect(0);

        assert_says(
            &message(&repo, "HEAD"),
            &[&format!("\n\nSipgen-Inputs: {inputs} with uncommitted changes\n")],
        );
    }
}

#[test]
fn of_staged_inputs_only_what_is_staged_is_uncommitted() {
    let repo = quickstart();
    want_more(&repo);
    repo.commit();
    repo.write("clusters/bad.yaml", "kind: SIPCluster\n");
    repo.git(&["add", "--intent-to-add", "clusters"]);

    repo.generate(&["--commit", "--from-index"]).expect(0);

    assert!(!message(&repo, "HEAD").contains("uncommitted"));
}

#[test]
fn without_changes_there_is_no_commit() {
    let repo = quickstart();
    let before = id(&repo, "HEAD");
    repo.write("staged", "mine\n");
    repo.git(&["add", "staged"]);

    let run = repo.generate(&["--commit"]).expect(0);

    assert_says(&run.stderr, &["no commit"]);
    assert_eq!(id(&repo, "HEAD"), before);
    assert_eq!(status(&repo), ["A  staged"]);
}

#[test]
fn the_first_commit_of_all_can_be_one_of_generated_files() {
    let repo = Repo::empty();
    identify(&repo);
    copy(&fixtures().join("quickstart"), repo.path());

    repo.generate(&["--commit"]).expect(0);

    assert_eq!(changed_by(&repo, "HEAD").len(), 52);
    assert!(!message(&repo, "HEAD").contains("Sipgen-Inputs"));
    assert!(status(&repo).iter().all(|line| line.starts_with("?? sites/")), "{:?}", status(&repo));
}

#[test]
fn on_a_detached_head_the_commit_is_the_new_head() {
    let repo = quickstart();
    want_more(&repo);
    repo.commit();
    repo.git(&["checkout", "--quiet", "--detach"]);
    let before = id(&repo, "HEAD");

    let run = repo.generate(&["--commit"]).expect(0);

    assert_says(&run.stderr, &["on a detached HEAD"]);
    assert_eq!(id(&repo, "HEAD~"), before);
}

#[test]
fn a_directory_of_a_repo_is_committed_by_itself() {
    let repo = Repo::empty();
    identify(&repo);
    copy(&fixtures().join("quickstart"), &repo.path().join("a site"));
    repo.commit();
    let inputs = id(&repo, "HEAD");
    repo.write("clusters.yaml", "not: ours\n");

    repo.generate(&["--commit", "--repo", "a site"]).expect(0);

    assert_eq!(changed_by(&repo, "HEAD").len(), 52);
    assert!(message(&repo, "HEAD").trim_end().ends_with(&inputs));
    assert_eq!(status(&repo), ["?? clusters.yaml"]);
}

#[test]
fn hooks_see_the_commit_and_can_refuse_it() {
    let repo = quickstart();
    want_more(&repo);
    repo.commit();
    repo.write("staged", "mine\n");
    repo.git(&["add", "staged"]);
    hook(&repo, "pre-commit", "git diff --cached --name-only; echo it is Friday; exit 1");
    let index = fs::read(repo.path().join(".git/index")).unwrap();
    let before = id(&repo, "HEAD");

    let run = repo.generate(&["--commit"]).expect(2);

    assert_says(
        &run.stderr,
        &["it is Friday", EDGE_HOSTS, "git did not commit", "in the worktree"],
    );
    assert!(!run.stderr.contains("\nstaged\n"), "{}", run.stderr);
    assert_eq!(id(&repo, "HEAD"), before);
    assert_eq!(fs::read(repo.path().join(".git/index")).unwrap(), index);
    assert!(repo.read(EDGE_HOSTS).contains("lab-c2"));
    hook(&repo, "pre-commit", "exit 0");
    repo.generate(&["--commit"]).expect(0);
    assert_eq!(changed_by(&repo, "HEAD").len(), 6);
    assert_eq!(status(&repo), ["A  staged"]);
}

#[test]
fn what_hooks_make_of_message_and_files_is_what_is_committed() {
    let repo = quickstart();
    want_more(&repo);
    repo.commit();
    hook(&repo, "pre-commit", &format!("echo '# seen' >> {EDGE_HOSTS} && git add {EDGE_HOSTS}"));
    hook(&repo, "commit-msg", "echo Reviewed-by: a hook >> $1");

    repo.generate(&["--commit"]).expect(0);

    assert_says(&message(&repo, "HEAD"), &["Sipgen-Inputs: ", "\nReviewed-by: a hook\n"]);
    assert_says(&repo.git(&["show", &format!("HEAD:{EDGE_HOSTS}")]), &["# seen"]);
    assert_eq!(status(&repo), [""; 0]);
}

#[test]
fn without_an_identity_nothing_is_written() {
    let repo = Repo::of_fixture("quickstart");
    repo.git(&["config", "user.useConfigOnly", "true"]);
    let before = repo.on_disk("");
    let home = tempfile::tempdir().unwrap();
    let mut sipgen = repo.sipgen(&["generate", "--commit"]);
    sipgen
        .env("HOME", home.path())
        .env("XDG_CONFIG_HOME", home.path())
        .env("GIT_CONFIG_NOSYSTEM", "1");
    for variable in [
        "GIT_AUTHOR_NAME",
        "GIT_AUTHOR_EMAIL",
        "GIT_COMMITTER_NAME",
        "GIT_COMMITTER_EMAIL",
        "EMAIL",
    ] {
        sipgen.env_remove(variable);
    }

    let refused = run(&mut sipgen).expect(2);

    assert_says(&refused.stderr, &["git has no author identity", "git config user.email"]);
    assert!(repo.on_disk("") == before, "files have changed");
}

#[test]
fn in_the_middle_of_something_else_nothing_is_written() {
    for (what, arguments) in [
        ("a merge", ["merge", "other"]),
        ("a rebase", ["rebase", "other"]),
        ("a cherry-pick", ["cherry-pick", "other"]),
    ] {
        let repo = quickstart();
        repo.git(&["checkout", "--quiet", "-b", "other"]);
        repo.write("notes", "theirs\n");
        repo.commit();
        repo.git(&["checkout", "--quiet", "-"]);
        repo.write("notes", "ours\n");
        want_more(&repo);
        repo.commit();
        assert!(!run_tool(tool("git").current_dir(repo.path()).args(arguments)).status.success());
        let before = repo.on_disk("");

        let run = repo.generate(&["--commit"]).expect(2);

        assert_says(&run.stderr, &[&format!("in the middle of {what}")]);
        assert!(repo.on_disk("") == before, "files have changed");
    }
}

#[test]
fn a_hook_of_git_cannot_commit() {
    let repo = quickstart();
    want_more(&repo);
    let program = env!("CARGO_BIN_EXE_sipgen");
    hook(&repo, "pre-commit", &format!("'{program}' generate --commit"));
    repo.git(&["add", EDGE]);

    let commit =
        run_tool(tool("git").current_dir(repo.path()).args(["commit", "--message", "more"]));

    assert!(!commit.status.success());
    assert_says(
        &String::from_utf8_lossy(&commit.stderr),
        &["git runs this as a hook", "--from-index --exit-code"],
    );
}

#[test]
fn while_another_git_is_at_work_nothing_is_written() {
    let repo = quickstart();
    want_more(&repo);
    fs::write(repo.path().join(".git/index.lock"), "").unwrap();
    let before = repo.on_disk("");

    let run = repo.generate(&["--commit"]).expect(2);

    assert_says(&run.stderr, &["another git is at work", "index.lock"]);
    assert!(repo.on_disk("") == before, "files have changed");
}

#[test]
fn errors_in_the_input_forbid_the_commit() {
    let repo = quickstart();
    repo.replace(EDGE, "active: 2", "active: many");
    let before = id(&repo, "HEAD");

    repo.generate(&["--commit"]).expect(1);

    assert_eq!(id(&repo, "HEAD"), before);
}

#[test]
fn with_keep_going_the_other_clusters_are_committed() {
    let repo = Repo::of_hosts(3);
    identify(&repo);
    repo.want("tenant/good", 1);
    repo.want("tenant/bad", 1);
    repo.generate(&[]).expect(0);
    repo.commit();
    repo.want("tenant/good", 2);
    repo.want("tenant/bad", 200);

    repo.generate(&["--commit", "--keep-going"]).expect(1);

    assert_eq!(changed_by(&repo, "HEAD"), ["M overlays/hosts/declared/inventory/tenant.good.yaml"]);
}

#[test]
fn a_linked_worktree_commits_to_its_own_branch() {
    let repo = quickstart();
    let linked = repo.path().join(".git/elsewhere");
    repo.git(&["worktree", "add", "--quiet", "-b", "other", linked.to_str().unwrap()]);
    want_more(&repo);
    fs::copy(repo.path().join(EDGE), linked.join(EDGE)).unwrap();
    let before = id(&repo, "HEAD");

    run(repo.sipgen(&["generate", "--commit"]).current_dir(&linked)).expect(0);

    assert_eq!(id(&repo, "HEAD"), before);
    assert_eq!(changed_by(&repo, "other").len(), 6);
    assert_eq!(
        repo.git(&["-C", linked.to_str().unwrap(), "status", "--porcelain"]),
        format!(" M {EDGE}\n")
    );
}
