//! Checks of the environment of a repo: programs, settings, agent, hooks, CI and the age of data.
//!
//! * `programs`: git, kustomize, sops and sipgen itself.
//! * `settings`: invalid settings, and settings without effect.
//! * `agent`: the GitOps agent, and the object that points it at the output.
//! * `automation`: git hooks and CI jobs that run sipgen.
//! * `data`: the snapshot, the input, and the generated files.
//!
//! Facts from outside the repo's files are gathered by the caller.

mod agent;
mod automation;
mod data;
mod programs;
mod settings;

use camino::{Utf8Path, Utf8PathBuf};
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::date::Date;
use crate::finding::{Finding, Place};
use crate::generate::GeneratedSite;
use crate::git::{DirectoryState, Hook, LastChange};
use crate::load::versions::InstalledProgram;
use crate::load::{Files, ReadError};
use crate::settings::Settings;
use crate::sites::Sites;

pub use data::{AGE_LIMIT_DAYS, snapshot_paths};

/// The result of a check, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "State")]
pub enum CheckState {
    /// Nothing to do.
    Ok,
    /// Something to know.
    Note,
    /// Something to fix, although sipgen works.
    Warning,
    /// sipgen does not work, or loses data.
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
    /// The setting to fix.
    pub place: Option<Place>,
    /// The fix.
    pub help: Option<String>,
}

/// Facts about a repo from outside its files.
#[derive(Debug)]
pub struct RepoFacts {
    /// The top of the git worktree; `None` outside git.
    pub top: Option<Utf8PathBuf>,
    /// The fetch URL.
    pub remote: Option<String>,
    /// The hook that git runs before a commit.
    pub hook: Option<Hook>,
    /// Installed programs.
    pub git: Option<InstalledProgram>,
    /// The program that builds kustomizations.
    pub kustomize: Option<InstalledProgram>,
    /// The program that decrypts Secrets.
    pub sops: Option<InstalledProgram>,
    /// The current date.
    pub today: Option<Date>,
}

/// Facts about a site.
#[derive(Debug)]
pub struct SiteFacts<'a> {
    /// Its name; empty if the repo is one site.
    pub name: &'a str,
    /// Its files.
    pub files: &'a Files,
    /// Its settings, or the findings about them.
    pub settings: Result<Settings, Vec<Finding>>,
    /// A run with its findings, or the reason why there is none.
    pub run: Result<&'a GeneratedSite, &'a str>,
    /// A directory that an interrupted run left half written.
    pub interrupted: Option<Utf8PathBuf>,
    /// The output directory in git; `None` outside git.
    pub output: Option<OutputFacts>,
    /// The snapshot of observed hosts in git; `None` outside git or without such hosts.
    pub snapshot: Option<SnapshotFacts>,
}

/// The output directory in git.
#[derive(Debug)]
pub struct OutputFacts {
    /// Its files.
    pub state: DirectoryState,
    /// A file that git ignores although it records assignments.
    pub ignored: Option<Utf8PathBuf>,
}

/// The snapshot in git.
#[derive(Debug)]
pub struct SnapshotFacts {
    /// Its directory or files.
    pub paths: Vec<Utf8PathBuf>,
    /// The number of files that differ from the checked-out commit.
    pub changes: usize,
    /// Its last change.
    pub last: LastChange,
}

/// Checks what concerns no files: sipgen, and the git repo around a directory.
pub fn check_surroundings(facts: &RepoFacts, directory: &Utf8Path) -> Vec<DoctorCheck> {
    vec![programs::sipgen(), programs::git(facts, directory)]
}

/// Checks what the sites of a repo share. `top` has the files of the whole git worktree, where hooks
/// and CI jobs are.
///
/// # Errors
///
/// A file or directory cannot be read.
pub fn check_repo(
    facts: &RepoFacts,
    sites: &Sites,
    all: &[SiteFacts<'_>],
    top: &Files,
) -> Result<Vec<DoctorCheck>, ReadError> {
    let mut checks = vec![programs::kustomize(facts, all), programs::sops(facts, all)];
    checks.push(automation::hook(top, facts));
    checks.push(automation::ci(top)?);
    checks.extend(settings::site_checks(sites, all));
    Ok(checks)
}

/// Checks one site.
///
/// # Errors
///
/// A file or directory cannot be read.
pub fn check_site(facts: &RepoFacts, site: &SiteFacts<'_>) -> Result<Vec<DoctorCheck>, ReadError> {
    let mut checks = vec![settings::validity(site)];
    checks.extend(agent::check(facts, site)?);
    checks.extend(data::snapshot(facts, site));
    checks.extend(data::input(site));
    checks.extend(data::output(site));
    Ok(checks)
}

impl DoctorCheck {
    fn new(state: CheckState, subject: &'static str, fact: impl Into<String>) -> Self {
        Self {
            state,
            subject,
            fact: fact.into(),
            place: None,
            help: None,
        }
    }

    fn ok(subject: &'static str, fact: impl Into<String>) -> Self {
        Self::new(CheckState::Ok, subject, fact)
    }

    fn note(subject: &'static str, fact: impl Into<String>) -> Self {
        Self::new(CheckState::Note, subject, fact)
    }

    fn warning(subject: &'static str, fact: impl Into<String>) -> Self {
        Self::new(CheckState::Warning, subject, fact)
    }

    fn failed(subject: &'static str, fact: impl Into<String>) -> Self {
        Self::new(CheckState::Failed, subject, fact)
    }

    /// Reports a finding as a check.
    fn from_finding(state: CheckState, subject: &'static str, finding: &Finding) -> Self {
        Self {
            place: finding.places.first().map(|(place, _)| place.clone()),
            help: finding.help.clone(),
            ..Self::new(state, subject, &finding.message)
        }
    }

    fn at(self, place: Place) -> Self {
        Self {
            place: Some(place),
            ..self
        }
    }

    fn help(self, help: impl Into<String>) -> Self {
        Self {
            help: Some(help.into()),
            ..self
        }
    }
}
