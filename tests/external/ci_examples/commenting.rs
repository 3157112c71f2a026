//! The plan is one comment, which later pushes change.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::ci_examples::forge::{Author, Forge};
use crate::ci_examples::runner::Job;
use crate::ci_examples::{bash, job, sh, step, traced};
use crate::support::{Run, run};

const MARKER: &str = "<!-- sipgen -->";
/// Text that a shell, a URL or JSON would change if it could.
const PLAN: &str =
    "<!-- sipgen -->\n**tenant-a/edge** adds `lab-a1`\n\n$(id) `id` & + % \\ \"ü\" 'x' @file\n";

/// Where the script is.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Github,
    /// The action, in a job of GitHub.
    Action,
    Gitlab,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Github, Self::Action, Self::Gitlab];
}

/// Runs the script of the job that comments, in a directory with a plan.
fn comment(kind: Kind, forge: &Forge, changes: bool) -> Run {
    comment_with(kind, forge, changes, "token-of-the-bot")
}

fn comment_with(kind: Kind, forge: &Forge, changes: bool, token: &str) -> Run {
    let directory = tempfile::tempdir().unwrap();
    let plan = if changes { "changes" } else { "none" };
    let mut command = match kind {
        Kind::Github => github(directory.path(), forge, token),
        Kind::Action => return action(directory.path(), forge, plan),
        Kind::Gitlab => gitlab(directory.path(), forge, token),
    };
    run(command.env("PLAN", plan).env("SIPGEN_PLAN", plan))
}

/// gh speaks plain HTTP to this host alone, and a proxy takes it to the forge.
fn github(directory: &Path, forge: &Forge, token: &str) -> Command {
    fs::write(directory.join("plan.md"), PLAN).unwrap();
    let mut command = bash(&step("comment", "Comment"), directory);
    command
        .env("GH_HOST", "github.localhost")
        .env_remove("NO_PROXY")
        .env_remove("no_proxy")
        .env("HTTP_PROXY", format!("http://127.0.0.1:{}", forge.port))
        .env("GH_CONFIG_DIR", directory.join("gh"))
        .env("GH_TOKEN", token)
        .env("GITHUB_REPOSITORY", "platform/fleet")
        .env("NUMBER", "5");
    command
}

/// The same with the action's step, which has the token of the job.
fn action(directory: &Path, forge: &Forge, plan: &str) -> Run {
    fs::write(directory.join("plan.md"), PLAN).unwrap();
    let mut job = Job::new(directory, "pull_request", &json!({"pull_request": {"number": "5"}}));
    let proxy = format!("http://127.0.0.1:{}", forge.port);
    let config = directory.join("gh");
    for (name, value) in [
        ("GH_HOST", "github.localhost"),
        ("NO_PROXY", ""),
        ("no_proxy", ""),
        ("HTTP_PROXY", &proxy),
        ("GH_CONFIG_DIR", config.to_str().unwrap()),
    ] {
        job.set(name, value);
    }
    job.uses(&[("mode", "comment"), ("plan", plan), ("plan-file", "plan.md")])
}

fn gitlab(directory: &Path, forge: &Forge, token: &str) -> Command {
    fs::write(directory.join("sipgen-plan.md"), PLAN).unwrap();
    let mut command = sh(&job("sipgen-comment"), directory);
    command
        .env("NO_PROXY", "*")
        .env("CI_API_V4_URL", format!("http://127.0.0.1:{}/api/v4", forge.port))
        .env("CI_PROJECT_ID", "3")
        .env("CI_MERGE_REQUEST_IID", "5")
        .env("SIPGEN_TOKEN", token);
    command
}

#[test]
fn the_first_plan_with_changes_becomes_a_comment() {
    for kind in Kind::ALL {
        let forge = Forge::with(&[(Author::Somebody, "Looks good.")]);

        comment(kind, &forge, true).expect(0);

        assert_eq!(forge.bodies(), ["Looks good.", PLAN], "{kind:?}");
    }
}

#[test]
fn later_plans_take_its_place() {
    for kind in Kind::ALL {
        for changes in [true, false] {
            let forge =
                Forge::with(&[(Author::Job, "<!-- sipgen -->\nold"), (Author::Somebody, "Hm.")]);

            comment(kind, &forge, changes).expect(0);

            assert_eq!(forge.bodies(), [PLAN, "Hm."], "{kind:?}");
        }
    }
}

#[test]
fn a_plan_without_changes_is_no_comment() {
    for kind in Kind::ALL {
        let forge = Forge::with(&[(Author::Somebody, "Looks good.")]);

        comment(kind, &forge, false).expect(0);

        assert_eq!(forge.bodies(), ["Looks good."], "{kind:?}");
    }
}

#[test]
fn a_comment_that_only_looks_like_the_plan_is_left_alone() {
    for kind in Kind::ALL {
        let forge = Forge::with(&[
            (Author::Somebody, MARKER),
            (Author::Job, "Released 1.2, see <!-- sipgen -->"),
        ]);

        comment(kind, &forge, true).expect(0);

        assert_eq!(forge.bodies(), [MARKER, "Released 1.2, see <!-- sipgen -->", PLAN], "{kind:?}");
    }
}

#[test]
fn a_plan_is_found_on_the_second_page_of_gitlab() {
    let mut comments = vec![(Author::Somebody, "One more thing."); 130];
    comments.push((Author::Job, "<!-- sipgen -->\nold"));
    let forge = Forge::with(&comments);

    comment(Kind::Gitlab, &forge, true).expect(0);

    assert_eq!(forge.bodies().len(), 131);
    assert_eq!(forge.bodies()[130], PLAN);
}

#[test]
fn a_forge_that_refuses_fails_the_job() {
    for kind in [Kind::Github, Kind::Gitlab] {
        for token in ["wrong", "token-to-read"] {
            let forge = Forge::with(&[]);

            let run = comment_with(kind, &forge, true, token);

            assert_ne!(run.code, 0, "{kind:?} with {token}");
            assert_eq!(forge.bodies().len(), 0, "{kind:?} with {token}");
        }
    }
}

#[test]
fn the_token_is_in_no_argument() {
    for github_job in [true, false] {
        let directory = tempfile::tempdir().unwrap();
        let forge = Forge::with(&[(Author::Job, "<!-- sipgen -->\nold")]);
        let mut script = if github_job {
            github(directory.path(), &forge, "token-of-the-bot")
        } else {
            gitlab(directory.path(), &forge, "token-of-the-bot")
        };
        script.env("PLAN", "changes").env("SIPGEN_PLAN", "changes");

        let (run, arguments) = traced(&script);

        run.expect(0);
        assert_eq!(forge.bodies(), [PLAN]);
        assert!(arguments.contains("execve(") && !arguments.contains("token-of-"), "{arguments}");
    }
}

#[test]
fn the_action_needs_a_plan_and_no_sipgen() {
    let directory = tempfile::tempdir().unwrap();
    let mut job = Job::new(directory.path(), "pull_request", &json!({}));
    let missing = [("mode", "comment"), ("package", "sipgen==0.0.0"), ("plan-file", "none.md")];

    let refused = job.uses(&missing).expect(1);

    assert!(refused.stdout.contains("::error::"), "{}", refused.stdout);
    assert!(refused.stdout.contains("`none.md` does not exist"), "{}", refused.stdout);
}
