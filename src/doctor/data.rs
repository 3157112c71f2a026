//! The age of the snapshot, the findings of the input, and the state of the output.

use camino::Utf8PathBuf;

use super::{DoctorCheck, RepoFacts, SiteFacts};
use crate::api::date::Date;
use crate::generate::GeneratedSite;
use crate::git::LastChange;
use crate::text::{counted, in_shell};

/// The age in days up to which a snapshot is current.
pub const AGE_LIMIT_DAYS: u32 = 7;

/// Returns the snapshot of observed hosts: the snapshot directory, or files elsewhere. Without
/// observed hosts, it is empty.
pub fn snapshot_paths(run: &GeneratedSite) -> Vec<Utf8PathBuf> {
    let observed = run.site.inventory.hosts.iter();
    let observed = observed.filter(|host| !host.is_declared());
    let mut paths: Vec<Utf8PathBuf> = observed
        .map(|host| host.live.origin.as_ref().unwrap_or(&host.origin))
        .map(|origin| origin.file.to_path_buf())
        .collect();
    let directory = &run.site.settings.snapshot.directory;
    if paths.iter().any(|path| path.starts_with(directory)) {
        return vec![directory.clone()];
    }
    paths.sort();
    paths.dedup();
    paths
}

pub(super) fn snapshot(facts: &RepoFacts, site: &SiteFacts<'_>) -> Vec<DoctorCheck> {
    const SUBJECT: &str = "snapshot";
    let Ok(run) = site.run else {
        return Vec::new();
    };
    let Some(snapshot) = &site.snapshot else {
        let has_hosts = !snapshot_paths(run).is_empty();
        let fact = if has_hosts {
            "of unknown age outside git"
        } else {
            "not required: no host is observed"
        };
        return vec![DoctorCheck::ok(SUBJECT, fact)];
    };
    let shown = match snapshot.paths.as_slice() {
        [only] => format!("`{only}`"),
        [first, rest @ ..] => format!("`{first}` and {}", counted(rest.len(), "more file")),
        [] => String::new(),
    };
    let is_own = snapshot.paths.as_slice() == [run.site.settings.snapshot.directory.clone()];
    let refresh = if is_own {
        "run `sipgen snapshot`"
    } else {
        "refresh it from the base cluster, or replace it by `sipgen snapshot`: see docs/operations/snapshots.md"
    };
    let mut checks = Vec::new();
    match (snapshot.last, facts.today) {
        (LastChange::At(seconds), Some(today)) => {
            let date = Date::from_unix_seconds(u64::try_from(seconds).unwrap_or_default());
            let days = today.days_since(date);
            let days_ago = counted(days as usize, "day");
            let fact = format!("{shown} last changed {days_ago} ago, on {date}");
            checks.push(if days > AGE_LIMIT_DAYS {
                DoctorCheck::warning(SUBJECT, fact).help(refresh)
            } else {
                DoctorCheck::ok(SUBJECT, fact)
            });
        }
        (LastChange::Unknown, _) => checks.push(
            DoctorCheck::note(
                SUBJECT,
                format!("{shown} is older than the history of this clone"),
            )
            .help("run `git fetch --unshallow` if the clone is shallow"),
        ),
        (LastChange::Uncommitted, _) => checks.push(
            DoctorCheck::warning(SUBJECT, format!("{shown} is not committed"))
                .help(format!("run `git add` and `git commit` for {shown}")),
        ),
        (LastChange::At(_), None) => {}
    }
    if snapshot.changes > 0 && snapshot.last != LastChange::Uncommitted {
        let changes = counted(snapshot.changes, "uncommitted change");
        checks.push(DoctorCheck::note(SUBJECT, format!("{shown} has {changes}")));
    }
    checks
}

pub(super) fn input(site: &SiteFacts<'_>) -> Option<DoctorCheck> {
    const SUBJECT: &str = "input";
    let run = match site.run {
        Ok(run) => run,
        // The output reports it, with the fix.
        Err(_) if site.interrupted.is_some() => return None,
        Err(error) => return Some(DoctorCheck::failed(SUBJECT, error)),
    };
    let errors = run
        .findings
        .iter()
        .filter(|finding| finding.is_error())
        .count();
    let warnings = run.findings.len() - errors;
    let validate = "run `sipgen validate`";
    Some(match (errors, warnings) {
        (0, 0) => DoctorCheck::ok(SUBJECT, format!("no findings in {}", size(run))),
        (0, warnings) => DoctorCheck::warning(SUBJECT, counted(warnings, "warning")).help(validate),
        (errors, 0) => DoctorCheck::failed(SUBJECT, counted(errors, "error")).help(validate),
        (errors, warnings) => {
            let fact = format!(
                "{}, {}",
                counted(errors, "error"),
                counted(warnings, "warning")
            );
            DoctorCheck::failed(SUBJECT, fact).help(validate)
        }
    })
}

fn size(run: &GeneratedSite) -> String {
    let clusters = counted(run.site.clusters.len(), "cluster");
    format!(
        "{clusters} and {}",
        counted(run.site.inventory.hosts.len(), "host")
    )
}

pub(super) fn output(site: &SiteFacts<'_>) -> Vec<DoctorCheck> {
    const SUBJECT: &str = "output";
    if let Some(directory) = &site.interrupted {
        let fact = format!("an interrupted run left `{directory}` half written");
        return vec![
            DoctorCheck::failed(SUBJECT, fact)
                .help("run `sipgen generate`, which rolls it back first"),
        ];
    }
    let (Ok(run), Ok(settings)) = (site.run, &site.settings) else {
        return Vec::new();
    };
    let output = &settings.output;
    let mut checks = vec![match &run.changes {
        None => DoctorCheck::note(
            SUBJECT,
            format!("`{output}` is not compared: the input has errors"),
        ),
        Some(changes) => {
            let files = changes.files.values();
            match files.filter(|change| !change.is_in_mark_only()).count() {
                0 => DoctorCheck::ok(SUBJECT, format!("`{output}` is up to date")),
                stale => {
                    let fact = format!("`{output}` has {}", counted(stale, "stale file"));
                    DoctorCheck::warning(SUBJECT, fact).help("run `sipgen generate`")
                }
            }
        }
    }];
    let Some(git) = &site.output else {
        return checks;
    };
    if let Some(file) = &git.ignored {
        let fact = format!("git ignores `{file}`, which records the assignment of hosts");
        checks.push(DoctorCheck::failed(SUBJECT, fact).help(format!(
            "run `git check-ignore --verbose {}`, and remove that pattern",
            in_shell(file.as_str())
        )));
    } else if git.state.is_tracked && git.state.changes > 0 {
        let changes = counted(git.state.changes, "uncommitted change");
        checks.push(
            DoctorCheck::note(SUBJECT, format!("`{output}` has {changes}"))
                .help("commit them with the input"),
        );
    } else if git.state.is_tracked {
        checks.push(DoctorCheck::ok(SUBJECT, format!("`{output}` is committed")));
    } else if git.state.changes > 0 {
        let fact = format!("`{output}` is not committed; it records the assignment of hosts");
        checks.push(DoctorCheck::warning(SUBJECT, fact).help(format!(
            "run `git add {}` and `git commit`",
            in_shell(output.as_str())
        )));
    }
    checks
}
