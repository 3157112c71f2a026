//! A forge with a stale branch, and the jobs that generate for it.

use std::process::Command;

use serde_json::{Value, json};

use crate::ci_examples::component::{default_of, jobs, script};
use crate::ci_examples::forge::Forge;
use crate::ci_examples::runner::Job;
use crate::ci_examples::{sh, traced};
use crate::support::scenes::git::want_more;
use crate::support::{Repo, Run};

pub(crate) const FORGES: [Kind; 2] = [Kind::Github, Kind::Gitlab];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Github,
    Gitlab,
}

/// A forge with the branch `main`, whose overlays are current, and the branch `change`, whose overlays are stale.
pub(crate) struct Stage {
    pub(crate) forge: Forge,
    /// Where the branches come from.
    author: Repo,
    /// The checkout of the job.
    pub(crate) checkout: Repo,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::with(want_more)
    }

    /// A stage with a change that is not generated.
    pub(crate) fn with(change: impl FnOnce(&Repo)) -> Self {
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
        let stage = Self { forge, author, checkout };
        stage.in_forge(&["config", "receive.advertisePushOptions", "true"]);
        stage.check_out("change");
        stage
    }

    /// Checks out a branch as the job does: its newest commit alone.
    pub(crate) fn check_out(&self, branch: &str) {
        let from = format!("file://{}", self.forge.repo().display());
        let checkout = &self.checkout;
        checkout.git(&["fetch", "--quiet", "--depth", "1", &from, branch]);
        checkout.git(&["checkout", "--quiet", "--force", "--detach", "FETCH_HEAD"]);
    }

    /// Runs git in the repo of the forge.
    pub(crate) fn in_forge(&self, arguments: &[&str]) -> String {
        let bare = format!("--git-dir={}", self.forge.repo().display());
        let all = [&[bare.as_str()], arguments].concat();
        self.author.git(&all).trim().to_owned()
    }

    /// Returns the commit of a branch of the forge; empty if there is no such branch.
    pub(crate) fn tip(&self, branch: &str) -> String {
        let name = format!("refs/heads/{branch}");
        self.in_forge(&["for-each-ref", "--format=%(objectname)", &name])
    }

    /// Returns the files that the newest commit of a branch changes.
    pub(crate) fn files(&self, branch: &str) -> Vec<String> {
        let files = self.in_forge(&["diff", "--name-only", &format!("{branch}^"), branch]);
        files.lines().map(str::to_owned).collect()
    }

    pub(crate) fn head(&self) -> String {
        self.checkout.git(&["rev-parse", "HEAD"]).trim().to_owned()
    }

    /// The job of a pull or merge request from `change`.
    pub(crate) fn for_change(&self, kind: Kind) -> Run {
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
    pub(crate) fn for_main(&self, kind: Kind) -> Run {
        match kind {
            Kind::Github => self.github("push", &repository(), &self.head(), &[]),
            Kind::Gitlab => {
                self.gitlab(&[("CI_PIPELINE_SOURCE", "push"), ("CI_COMMIT_BRANCH", "main")])
            }
        }
    }

    pub(crate) fn github(
        &self,
        name: &str,
        event: &Value,
        commit: &str,
        inputs: &[(&str, &str)],
    ) -> Run {
        self.github_on("main", name, event, commit, inputs)
    }

    pub(crate) fn github_on(
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

    pub(crate) fn gitlab(&self, variables: &[(&str, &str)]) -> Run {
        let (run, arguments) = traced(&self.gitlab_job(variables));
        assert!(!arguments.contains("token-of-the-bot"), "{arguments}");
        run
    }

    fn gitlab_job(&self, variables: &[(&str, &str)]) -> Command {
        let script = script(&jobs(), "sipgen-regenerate");
        let mut command = sh(&script, self.checkout.path());
        for (name, value) in [
            ("CI_COMMIT_SHA", self.head().as_str()),
            ("CI_DEFAULT_BRANCH", "main"),
            ("CI_SERVER_PROTOCOL", "http"),
            ("CI_SERVER_HOST", "127.0.0.1"),
            ("CI_SERVER_PORT", &self.forge.port.to_string()),
            ("CI_PROJECT_PATH", "platform/fleet"),
            ("SIPGEN_OUTPUT", &default_of("output")),
            ("SIPGEN_TOKEN", "token-of-the-bot"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("NO_PROXY", "*"),
        ] {
            command.env(name, value);
        }
        command.envs(variables.iter().copied());
        command
    }
}

pub(crate) fn repository() -> Value {
    json!({"repository": {"default_branch": "main"}})
}

/// The event of a pull request from the branch `change`.
pub(crate) fn pull_request() -> Value {
    let mut event = repository();
    event["pull_request"] =
        json!({"head": {"ref": "change", "repo": {"full_name": "platform/fleet"}}});
    event
}
