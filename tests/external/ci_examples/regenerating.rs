//! Generated files are pushed to the branch of a change, or proposed in a request of their own.

use std::path::Path;

use serde_json::{Value, json};

use crate::ci_examples::stage::{FORGES, Kind, Stage, pull_request, repository};
use crate::support::scenes::git::{hook, identify};
use crate::support::{EDGE, Repo, Run, assert_says};

fn assert_no_token(run: &Run) {
    for text in [&run.stdout, &run.stderr] {
        assert!(!text.contains("token-of-the-bot"), "{text}");
    }
}

#[test]
fn a_change_gets_one_commit_with_the_generated_files_only() {
    for kind in FORGES {
        let stage = Stage::new();
        stage.checkout.write("left-over.txt", "by another step\n");
        let start = stage.tip("change");

        let run = stage.for_change(kind).expect(0);

        assert_no_token(&run);
        let added = stage.in_forge(&["rev-list", &format!("{start}..change")]);
        assert_eq!(added, stage.head(), "{kind:?}");
        let files = stage.files("change");
        assert!(!files.is_empty(), "{kind:?}");
        assert!(files.iter().all(|file| file.starts_with("overlays/")), "{files:?}");
        assert_eq!(stage.in_forge(&["for-each-ref", "--format=%(refname:short)"]), "change\nmain");

        // The pipeline of that commit.
        stage.check_out("change");
        stage.for_change(kind).expect(0);
        assert_eq!(stage.tip("change"), added, "{kind:?}");
    }
}

#[test]
fn a_branch_that_moved_or_was_deleted_meanwhile_is_left_alone() {
    for kind in FORGES {
        for (update, left) in [
            ("git update-ref refs/heads/change refs/heads/main", "main"),
            // Merged, and deleted by the forge.
            (
                "git update-ref refs/heads/main refs/heads/change && git update-ref -d refs/heads/change",
                "deleted",
            ),
        ] {
            let stage = Stage::new();
            let bare = stage.forge.repo();
            let update =
                format!("cd '{}' && unset GIT_DIR GIT_INDEX_FILE && {update}", bare.display());
            hook(&stage.checkout, "post-commit", &update);

            let run = stage.for_change(kind).expect(1);

            assert_says(&run.stdout, &["cannot push to ", "change", "no longer at "]);
            assert_eq!(stage.tip("change"), stage.tip(left), "{kind:?}: {left}");
        }
    }
}

#[test]
fn hosts_that_are_short_and_invalid_input_push_nothing() {
    let short = |repo: &Repo| repo.replace(EDGE, "active: 1\n", "active: 99\n");
    let invalid = |repo: &Repo| repo.write(EDGE, "kind: [\n");
    for kind in FORGES {
        for stage in [Stage::with(short), Stage::with(invalid)] {
            let start = stage.tip("change");

            stage.for_change(kind).expect(1);

            assert_eq!(stage.tip("change"), start, "{kind:?}");
        }
    }
}

/// Lands the change on the default branch, without its overlays.
fn land(stage: &Stage) {
    stage.in_forge(&["update-ref", "refs/heads/main", "refs/heads/change"]);
    stage.check_out("main");
}

#[test]
fn the_default_branch_gets_a_request_and_is_never_pushed_to() {
    for kind in FORGES {
        let stage = Stage::new();
        land(&stage);
        let main = stage.tip("main");
        // GitLab opens the request for options of the push.
        let options = stage.forge.repo().join("options");
        receive_hook(&stage, &options);

        let run = stage.for_main(kind).expect(0);

        assert_no_token(&run);
        assert_eq!(stage.tip("main"), main, "{kind:?}");
        let proposed = stage.tip("sipgen-regenerate");
        assert_eq!(proposed, stage.head(), "{kind:?}");
        assert_eq!(stage.in_forge(&["rev-parse", "sipgen-regenerate^"]), main);
        match kind {
            Kind::Github => {
                let pulls = stage.forge.pulls();
                assert_eq!(pulls.len(), 1);
                assert_eq!(pulls[0]["base"], "main");
                assert_eq!(pulls[0]["head"], "sipgen-regenerate");
                assert_says(pulls[0]["body"].as_str().unwrap(), &["tenant-a/edge"]);
            }
            Kind::Gitlab => assert_says(
                &std::fs::read_to_string(&options).unwrap(),
                &["merge_request.create\n", "merge_request.target=main\n"],
            ),
        }

        // The next night: the same commit, and no second request.
        stage.check_out("main");
        stage.for_main(kind).expect(0);
        assert_eq!(stage.tip("sipgen-regenerate"), proposed, "{kind:?}");
        assert!(stage.forge.pulls().len() <= 1);
    }
}

/// Writes the options of each push to a file.
fn receive_hook(stage: &Stage, options: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let hook = stage.forge.repo().join("hooks/pre-receive");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    let script = format!(
        "#!/bin/sh\nenv | sed -n 's/^GIT_PUSH_OPTION_[0-9]*=//p' > '{}'\n",
        options.display()
    );
    std::fs::write(&hook, script).unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_default_branch_with_current_overlays_gets_no_request() {
    for kind in FORGES {
        let stage = Stage::new();
        stage.check_out("main");

        stage.for_main(kind).expect(0);

        assert_eq!(stage.tip("sipgen-regenerate"), "", "{kind:?}");
        assert_eq!(stage.forge.pulls().len(), 0, "{kind:?}");
    }
}

#[test]
fn github_refuses_what_it_cannot_push_safely() {
    let stage = Stage::new();
    let refs = stage.in_forge(&["for-each-ref"]);
    let head = stage.head();
    let mut fork = pull_request();
    fork["pull_request"]["head"]["repo"]["full_name"] = "somebody/fleet".into();
    let mut deleted_fork = pull_request();
    deleted_fork["pull_request"]["head"]["repo"] = Value::Null;
    let mut from_main = pull_request();
    from_main["pull_request"]["head"]["ref"] = "main".into();
    let merge = "0123456789012345678901234567890123456789";

    for (branch, event, payload, commit, reason) in [
        ("main", "pull_request", &fork, merge, "the fork of this pull request"),
        ("main", "pull_request", &deleted_fork, merge, "the fork of this pull request"),
        (
            "main",
            "pull_request",
            &pull_request(),
            head.as_str(),
            "the merge of the pull request is checked out",
        ),
        ("main", "pull_request", &from_main, merge, "from the default branch"),
        ("main", "pull_request_target", &pull_request(), merge, "the event `pull_request_target`"),
        ("main", "merge_group", &repository(), merge, "the event `merge_group`"),
        ("change", "push", &repository(), head.as_str(), "not the default branch"),
    ] {
        let run = stage.github_on(branch, event, payload, commit, &[]).expect(1);

        assert_says(&run.stdout, &["::error::", reason]);
        assert_eq!(stage.head(), head, "{event}");
    }

    assert_eq!(stage.in_forge(&["for-each-ref"]), refs);
}

#[test]
fn a_schedule_runs_on_the_default_branch_even_if_its_event_does_not_name_it() {
    let stage = Stage::new();
    land(&stage);

    let head = stage.head();
    stage.github("schedule", &json!({}), &head, &[]).expect(0);

    assert_eq!(stage.forge.pulls()[0]["base"], "main");
}

#[test]
fn a_token_that_may_not_push_fails_the_job() {
    let stage = Stage::new();
    let start = stage.tip("change");
    let merge = "0123456789012345678901234567890123456789";

    let inputs = [("token", "wrong")];
    let github = stage.github("pull_request", &pull_request(), merge, &inputs);
    assert_eq!(github.code, 1);
    stage.check_out("change");
    let gitlab = stage.gitlab(&[
        ("SIPGEN_TOKEN", "wrong"),
        ("CI_PIPELINE_SOURCE", "merge_request_event"),
        ("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "change"),
    ]);
    assert_eq!(gitlab.code, 1);

    assert_eq!(stage.tip("change"), start);
}

#[test]
fn gitlab_pushes_the_change_and_not_its_merge() {
    let stage = Stage::new();
    let start = stage.tip("change");
    identify(&stage.checkout);
    let from = format!("file://{}", stage.forge.repo().display());
    let checkout = &stage.checkout;
    checkout.git(&["fetch", "--quiet", "--unshallow", &from, "main", "change"]);
    checkout.write("merged.txt", "of the target branch\n");
    checkout.commit();
    let variables = [
        ("CI_PIPELINE_SOURCE", "merge_request_event"),
        ("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "change"),
        ("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", start.as_str()),
    ];

    stage.gitlab(&variables).expect(0);

    assert_eq!(stage.in_forge(&["rev-parse", "change^"]), start);
    assert!(!stage.files("change").contains(&"merged.txt".to_owned()));
}

#[test]
fn gitlab_refuses_a_merge_request_from_the_default_branch() {
    let stage = Stage::new();
    land(&stage);
    let main = stage.tip("main");

    let refused = stage.gitlab(&[
        ("CI_PIPELINE_SOURCE", "merge_request_event"),
        ("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "main"),
    ]);

    assert_says(&refused.expect(1).stdout, &["from the default branch"]);
    assert_eq!(stage.tip("main"), main);
}
