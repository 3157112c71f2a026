//! Checks of what breaks without an error: hooks, CI, the agent, the age of the snapshot, and
//! output that git does not have.

mod automation;

use std::collections::BTreeSet;

use camino::Utf8PathBuf;
use serde::Serialize;

use crate::base::api::date::Date;
use crate::base::finding::Code;
use crate::base::layout;
use crate::base::text::{counted, in_shell, with_others};
use crate::generate::GeneratedSite;
use crate::input::git::{Checkout, GitError, Hook, LastChange};
use crate::input::load::{Files, ReadError};

/// Maximum age of a current snapshot, in days.
const AGE_LIMIT_DAYS: u32 = 7;
/// Maximum number of commits in which the last change of a snapshot is searched.
const SEARCHED_COMMITS: usize = 10_000;

/// The result of a check, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckState {
    /// Nothing to do.
    Ok,
    /// Something to fix.
    Warning,
    /// Assignments get lost.
    Failed,
}

/// A check with its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoctorCheck {
    /// Its result.
    pub state: CheckState,
    /// Subject, in a word.
    pub subject: &'static str,
    /// The fact, in one sentence without a final period.
    pub fact: String,
    /// The fix.
    pub help: Option<String>,
}

impl DoctorCheck {
    fn ok(subject: &'static str, fact: impl Into<String>) -> Self {
        Self { state: CheckState::Ok, subject, fact: fact.into(), help: None }
    }

    fn warning(subject: &'static str, fact: impl Into<String>, help: impl Into<String>) -> Self {
        Self { state: CheckState::Warning, help: Some(help.into()), ..Self::ok(subject, fact) }
    }
}

/// Checks the `pre-commit` hook of git, if there is one, and CI jobs. `top` has the files of the whole
/// worktree.
///
/// # Errors
///
/// A file or directory cannot be read.
pub fn check_automation(top: &Files, hook: Option<&Hook>) -> Result<Vec<DoctorCheck>, ReadError> {
    Ok(vec![automation::check_hook(top, hook), automation::check_ci(top)?])
}

/// Checks a site by a run of it.
///
/// # Errors
///
/// git's data cannot be read.
pub fn check_site(
    checkout: &Checkout,
    run: &GeneratedSite,
    today: Option<Date>,
) -> Result<Vec<DoctorCheck>, GitError> {
    let (snapshot, output) = (check_snapshot(checkout, run, today)?, check_output(checkout, run)?);
    Ok(check_agent(run).into_iter().chain(snapshot).chain(output).collect())
}

/// Checks whether an object of the repo points the agent at its objects.
fn check_agent(run: &GeneratedSite) -> Option<DoctorCheck> {
    const SUBJECT: &str = "agent";
    let settings = &run.site.settings;
    let agent = settings.gitops?;
    let directory = settings.output.join(layout::agent_directory(agent));
    Some(match &run.site.wiring.agent_objects_by {
        Some(object) => DoctorCheck::ok(SUBJECT, format!("{object} applies `{directory}`")),
        None => DoctorCheck::warning(
            SUBJECT,
            format!("no object of the repo makes {agent} apply `{directory}`"),
            format!(
                "point {agent} at `{directory}`, as docs/how-to/{}.md shows; ignore this if its object is in another repo",
                directory.file_name().unwrap_or_default()
            ),
        ),
    })
}

/// Returns the snapshot of observed hosts: the snapshot directory, or files elsewhere. Without
/// observed hosts, it is empty.
fn snapshot_paths(run: &GeneratedSite) -> Vec<Utf8PathBuf> {
    let hosts = run.site.inventory.hosts.iter();
    let paths: BTreeSet<Utf8PathBuf> = hosts
        .filter(|host| !host.is_declared())
        .map(|host| host.live.origin.as_ref().unwrap_or(&host.origin))
        .map(|origin| origin.file.to_path_buf())
        .collect();
    let directory = &run.site.settings.snapshot.directory;
    if paths.iter().any(|path| path.starts_with(directory)) {
        return vec![directory.clone()];
    }
    paths.into_iter().collect()
}

/// The last change of a snapshot. The date, not the age, so that a page of the same commit is the
/// same on another day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SnapshotChange {
    /// The day of the commit; `None` if no known commit has the snapshot.
    pub date: Option<String>,
}

/// Returns the last change of a site's snapshot; `None` without observed hosts.
///
/// # Errors
///
/// git's data cannot be read.
pub fn snapshot_change(
    checkout: Option<&Checkout>,
    run: &GeneratedSite,
) -> Result<Option<SnapshotChange>, GitError> {
    let paths = snapshot_paths(run);
    if paths.is_empty() {
        return Ok(None);
    }
    let last =
        checkout.map(|checkout| checkout.last_change(&paths, SEARCHED_COMMITS)).transpose()?;
    let date = match last {
        Some(LastChange::At(date)) => Some(date.to_string()),
        _ => None,
    };
    Ok(Some(SnapshotChange { date }))
}

fn check_snapshot(
    checkout: &Checkout,
    run: &GeneratedSite,
    today: Option<Date>,
) -> Result<Option<DoctorCheck>, GitError> {
    const SUBJECT: &str = "snapshot";
    let paths = snapshot_paths(run);
    let shown = match paths.as_slice() {
        [] => return Ok(None),
        [first, rest @ ..] => with_others(format!("`{first}`"), rest.len(), "more file"),
    };
    Ok(match (checkout.last_change(&paths, SEARCHED_COMMITS)?, today) {
        (LastChange::At(date), Some(today)) => {
            let days = today.days_since(date);
            let days_ago = counted(days as usize, "day");
            let fact = format!("{shown} last changed {days_ago} ago, on {date}");
            Some(if days > AGE_LIMIT_DAYS {
                let help = "refresh it: docs/operations/snapshots.md shows how";
                DoctorCheck::warning(SUBJECT, fact, help)
            } else {
                DoctorCheck::ok(SUBJECT, fact)
            })
        }
        (LastChange::Unknown, _) => Some(DoctorCheck::warning(
            SUBJECT,
            format!("{shown} is older than the history of this clone"),
            "run `git fetch --unshallow` if the clone is shallow",
        )),
        (LastChange::Uncommitted, _) => Some(DoctorCheck::warning(
            SUBJECT,
            format!("{shown} is not committed"),
            format!("run `git add` and `git commit` for {shown}"),
        )),
        (LastChange::At(_), None) => None,
    })
}

/// Checks whether git has the files that record assignments.
fn check_output(checkout: &Checkout, run: &GeneratedSite) -> Result<Vec<DoctorCheck>, GitError> {
    const SUBJECT: &str = "output";
    let output = &run.site.settings.output;
    if let Some(ignored) = run.findings.iter().find(|it| it.code == Code::IgnoredOutput) {
        let help = ignored.help.clone().unwrap_or_default();
        return Ok(vec![DoctorCheck {
            state: CheckState::Failed,
            ..DoctorCheck::warning(SUBJECT, &ignored.message, help)
        }]);
    }
    Ok(match checkout.changes(output)? {
        (0, false) => Vec::new(),
        (0, true) => vec![DoctorCheck::ok(SUBJECT, format!("`{output}` is committed"))],
        (changes, _) => vec![DoctorCheck::warning(
            SUBJECT,
            format!(
                "`{output}` has {}; it records the assignment of hosts",
                counted(changes, "uncommitted change")
            ),
            format!("run `git add {}` and `git commit`", in_shell(output.as_str())),
        )],
    })
}
