//! Generated files are pushed to the branch of a change, or proposed in a request of their own.

use std::path::Path;

use serde_json::{Value, json};

use crate::ci_examples::component::{jobs, script};
use crate::ci_examples::forge::Forge;
use crate::ci_examples::runner::Job;
use crate::ci_examples::sh;
use crate::support::scenes::git::{hook, identify, want_more};
use crate::support::{EDGE, Repo, Run, assert_says, run};

const FORGES: [Kind; 2] = [Kind::Github, Kind::Gitlab];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Github,
    Gitlab,
}

/// A forge with the branch `main`, whose overlays are current, and the branch `change`, whose overlays are stale.
struct Stage {
    forge: Forge,
    /// Where the branches come from.
    author: Repo,
    /// What the job has checked out.
    checkout: Repo,
}

impl Stage {
    fn new() -> Self {
        Self::with(want_more)
    }

    /// A stage with a change that is not generated.
    fn with(change: impl FnOnce(&Repo)) -> Self {
        let author = Repo::generated("quickstart");
        author.git(&["branch", "--move", "main"]);
        let forge = Forge::with(&[]);
        let bare = forge.repo();
        author.git(&["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
        author.git(&["remote", "add", "origin", bare.to_str().unwrap()]);
        author.git(&["switch", "--quiet", "--create", "change"]);
        change(&author);
        author.commit();
        author.git(&["push", "--quiet", "origin", "change"]);
        let checkout = Repo::empty();
        let stage = Self {
            forge,
            author,
            checkout,
        };
        stage.in_forge(&["config", "receive.advertisePushOptions", "true"]);
        stage.check_out("change");
        stage
    }

    /// Checks out a branch as the job does: its newest commit alone.
    fn check_out(&self, branch: &str) {
        let from = format!("file://{}", self.forge.repo().display());
        let checkout = &self.checkout;
        checkout.git(&["fetch", "--quiet", "--depth", "1", &from, branch]);
        checkout.git(&["checkout", "--quiet", "--force", "--detach", "FETCH_HEAD"]);
    }

    /// Runs git in the repo of the forge.
    fn in_forge(&self, arguments: &[&str]) -> String {
        let bare = format!("--git-dir={}", self.forge.repo().display());
        let all = [&[bare.as_str()], arguments].concat();
        self.author.git(&all).trim().to_owned()
    }

    /// Returns the commit of a branch of the forge; empty if there is no such branch.
    fn tip(&self, branch: &str) -> String {
        let name = format!("refs/heads/{branch}");
        self.in_forge(&["for-each-ref", "--format=%(objectname)", &name])
    }

    /// Returns the files that the newest commit of a branch changes.
    fn files(&self, branch: &str) -> Vec<String> {
        let files = self.in_forge(&["diff", "--name-only", &format!("{branch}^"), branch]);
        files.lines().map(str::to_owned).collect()
    }

    fn head(&self) -> String {
        self.checkout.git(&["rev-parse", "HEAD"]).trim().to_owned()
    }

    /// The job of a pull or merge request from `change`.
    fn for_change(&self, kind: Kind) -> Run {
        match kind {
            Kind::Github => {
                let merge = "0123456789012345678901234567890123456789";
                self.github("pull_request", &pull_request(), merge, &[])
            }
            Kind::Gitlab => self.gitlab(&[
                ("CI_PIPELINE_SOURCE", "merge_request_event"),
                ("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "change"),
            ]),
        }
    }

    /// The job of a push to `main`.
    fn for_main(&self, kind: Kind) -> Run {
        match kind {
            Kind::Github => self.github("push", &repository(), &self.head(), &[]),
            Kind::Gitlab => {
                self.gitlab(&[("CI_PIPELINE_SOURCE", "push"), ("CI_COMMIT_BRANCH", "main")])
            }
        }
    }

    fn github(&self, name: &str, event: &Value, commit: &str, inputs: &[(&str, &str)]) -> Run {
        self.github_on("main", name, event, commit, inputs)
    }

    fn github_on(
        &self,
        branch: &str,
        name: &str,
        event: &Value,
        commit: &str,
        inputs: &[(&str, &str)],
    ) -> Run {
        let before = self.head();
        let mut job = Job::new(self.checkout.path(), name, event);
        let server = format!("http://127.0.0.1:{}", self.forge.port);
        for (variable, value) in [
            ("GITHUB_SHA", commit),
            ("GITHUB_REF", &format!("refs/heads/{branch}")),
            ("GITHUB_REF_NAME", branch),
            ("GITHUB_SERVER_URL", &server),
            // gh speaks plain HTTP to this host alone, and a proxy takes it to the forge.
            ("GH_HOST", "github.localhost"),
            ("HTTP_PROXY", &server),
            ("http_proxy", ""),
            ("NO_PROXY", ""),
            ("no_proxy", ""),
            ("GH_CONFIG_DIR", "/nonexistent"),
        ] {
            job.set(variable, value);
        }
        let run = job.uses(&[&[("mode", "regenerate")], inputs].concat());
        let pushes = run.code == 0 && self.head() != before;
        let pushed = if pushes { self.head() } else { String::new() };
        assert_eq!(job.output("commit"), pushed, "{run:?}");
        run
    }

    fn gitlab(&self, variables: &[(&str, &str)]) -> Run {
        let script = script(&jobs(), "sipgen-regenerate");
        let mut command = sh(&script, self.checkout.path());
        for (name, value) in [
            ("CI_COMMIT_SHA", self.head().as_str()),
            ("CI_DEFAULT_BRANCH", "main"),
            ("CI_SERVER_PROTOCOL", "http"),
            ("CI_SERVER_HOST", "127.0.0.1"),
            ("CI_SERVER_PORT", &self.forge.port.to_string()),
            ("CI_PROJECT_PATH", "platform/fleet"),
            ("SIPGEN_TOKEN", "token-of-the-bot"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("NO_PROXY", "*"),
        ] {
            command.env(name, value);
        }
        run(command.envs(variables.iter().copied()))
    }
}

fn repository() -> Value {
    json!({"repository": {"default_branch": "main"}})
}

/// The event of a pull request from the branch `change`.
fn pull_request() -> Value {
    let mut event = repository();
    event["pull_request"] =
        json!({"head": {"ref": "change", "repo": {"full_name": "platform/fleet"}}});
    event
}

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
        assert!(
            files.iter().all(|file| file.starts_with("overlays/")),
            "{files:?}"
        );
        assert_eq!(
            stage.in_forge(&["for-each-ref", "--format=%(refname:short)"]),
            "change\nmain"
        );

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
            let update = format!(
                "cd '{}' && unset GIT_DIR GIT_INDEX_FILE && {update}",
                bare.display()
            );
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
        (
            "main",
            "pull_request",
            &fork,
            merge,
            "the fork of this pull request",
        ),
        (
            "main",
            "pull_request",
            &deleted_fork,
            merge,
            "the fork of this pull request",
        ),
        (
            "main",
            "pull_request",
            &pull_request(),
            head.as_str(),
            "the merge of the pull request is checked out",
        ),
        (
            "main",
            "pull_request",
            &from_main,
            merge,
            "from the default branch",
        ),
        (
            "main",
            "pull_request_target",
            &pull_request(),
            merge,
            "the event `pull_request_target`",
        ),
        (
            "main",
            "merge_group",
            &repository(),
            merge,
            "the event `merge_group`",
        ),
        (
            "change",
            "push",
            &repository(),
            head.as_str(),
            "not the default branch",
        ),
    ] {
        let run = stage
            .github_on(branch, event, payload, commit, &[])
            .expect(1);

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
