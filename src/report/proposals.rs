//! Result and next steps of `sipgen init`.

use super::{ADDED, FAINT, ReportText, SiteRuns, WARNING, one_line, styled, width, write_heading};
use crate::base::text::{abbreviated, counted};
use crate::generate::OPT_IN;
use crate::plan::host_state::{HostState, host_standings};
use crate::setup::init::{FileAction, Proposal};

/// CI variable that only the repo's owners can set.
const INSTALLED_FROM: &str = "SIPGEN_WHEEL";
const CLUSTERS_SHOWN: usize = 3;

/// Formats the proposed files, followed by the lines that people have to add, and by the next steps
/// if the files are on disk: then `runs` are those of the repo's sites.
pub fn proposals(proposals: &[Proposal], runs: Option<&SiteRuns<'_>>) -> ReportText {
    let mut out = ReportText::default();
    let written = runs.is_some();
    let width = width(proposals.iter().map(|proposal| &proposal.path));
    for Proposal { path, note, action } in proposals {
        let (style, verb, note) = match action {
            FileAction::Create(_) if written => (ADDED, "created", note.clone()),
            FileAction::Create(_) => (ADDED, "to create", note.clone()),
            FileAction::Add { .. } => {
                (WARNING, "unchanged", "exists, but lacks the lines below".to_owned())
            }
            FileAction::Keep => (FAINT, "up to date", "complete".to_owned()),
            FileAction::Blocked(what) => {
                let note = format!("`{what}` is not a regular text file or a directory");
                (WARNING, "skipped", note)
            }
        };
        let verb = styled(style, format_args!("{verb:<13}"));
        writeln!(out, "{verb}  {:<width$}  {}", path.as_str(), one_line(&note));
    }
    for Proposal { path, action, .. } in proposals {
        if let FileAction::Add { lines, place } = action {
            write_heading(&mut out, format_args!("Add to {path}, {place}:"));
            writeln!(out);
            lines.trim_end().lines().for_each(|line| writeln!(out, "{line}"));
        }
    }
    if let Some(runs) = runs {
        write_next_steps(&mut out, proposals, runs);
    }
    out
}

/// Lists the inputs, and the manual steps.
fn write_next_steps(out: &mut ReportText, proposals: &[Proposal], runs: &SiteRuns<'_>) {
    let sites = || runs.iter().map(|(_, run)| &run.site);
    let requests: usize = sites().map(|site| site.clusters.len()).sum();
    let hosts: usize = sites().map(|site| site.inventory.hosts.len()).sum();
    let standings = runs.iter().flat_map(|(_, run)| host_standings(&run.site, &run.plan));
    let free = standings.filter(|standing| standing.state == HostState::Free).count();
    let not_opted_in: Vec<_> = sites().flat_map(|site| site.clusters_not_opted_in()).collect();
    let findings = runs.iter().flat_map(|(_, run)| &run.findings);
    let errors = findings.filter(|finding| finding.is_error()).count();
    let (found, asked) = (counted(hosts, "host"), counted(requests, "cluster request"));
    writeln!(out);
    writeln!(out, "Found {found} ({free} free) and {asked}.");
    let jobs = proposals.iter().find(|proposal| match &proposal.action {
        FileAction::Create(text) => text.contains(INSTALLED_FROM),
        _ => false,
    });
    let any = |is: fn(&FileAction) -> bool| proposals.iter().any(|it| is(&it.action));
    let steps = [
        any(|it| matches!(it, FileAction::Add { .. })).then(|| "Add the lines above.".to_owned()),
        jobs.map(|jobs| {
            format!(
                "Set {INSTALLED_FROM} in {} to the URL or path of sipgen's wheel, which CI installs.",
                jobs.path
            )
        }),
        any(|it| matches!(it, FileAction::Create(_)))
            .then(|| "Run `pre-commit install` to enable the hook.".to_owned()),
        (hosts == 0).then(|| {
            "Add hosts: `sipgen snapshot` writes those of a cluster into the repo. Manifests of \
             BareMetalHosts are found anywhere in it."
                .to_owned()
        }),
        (!not_opted_in.is_empty()).then(|| {
            let clusters = abbreviated(&not_opted_in, CLUSTERS_SHOWN);
            format!("To assign hosts to {clusters}: {OPT_IN}.")
        }),
        (not_opted_in.is_empty() && requests == 0).then(|| {
            "Write a request: `sipgen example sipcluster > edge.yaml` fits the repo's hosts; \
             `cluster-api` and `provisioning` are the other kinds."
                .to_owned()
        }),
        (errors > 0)
            .then(|| format!("Run `sipgen validate`, and fix {}.", counted(errors, "error"))),
        Some("Run `sipgen generate`, and review its messages and files.".to_owned()),
        Some(
            "Run `git add`, and commit everything. Point the agent at `agents` in the output \
             directory, which sipgen writes if `gitops` is set, and at nothing else there."
                .to_owned(),
        ),
    ];
    write_heading(out, "Next:");
    for (number, step) in (1..).zip(steps.iter().flatten()) {
        writeln!(out, "  {number}. {step}");
    }
}
