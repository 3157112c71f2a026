//! Result and next steps of `sipgen init`.

use super::{ADDED, FAINT, ReportText, WARNING, one_line, styled, width, write_heading};
use crate::base::api::names::ClusterKey;
use crate::base::text::{abbreviated, counted};
use crate::generate::{GeneratedSite, OPT_IN};
use crate::plan::host_state::{self, HostStanding, HostState};
use crate::setup::init::{FileAction, Proposal};

/// CI variable that only the repo's owners can set.
const INSTALLED_FROM: &str = "SIPGEN_WHEEL";
const CLUSTERS_SHOWN: usize = 3;

/// Inputs that a repo already has.
#[derive(Debug, Clone, Default)]
pub struct ExistingInputs {
    /// Requested clusters.
    pub requests: usize,
    /// Hosts.
    pub hosts: usize,
    /// Hosts that a further cluster could get.
    pub free: usize,
    /// Clusters of Cluster API that are no requests, because they do not opt in.
    pub not_opted_in: Vec<ClusterKey>,
    /// Errors in them.
    pub errors: usize,
}

impl ExistingInputs {
    /// Counts the inputs of some sites.
    pub fn from_runs<'a>(runs: impl IntoIterator<Item = &'a GeneratedSite>) -> Self {
        let mut all = Self::default();
        for run in runs {
            let standings = host_state::host_standings(&run.site, &run.plan);
            let free = |standing: &&HostStanding| standing.state == HostState::Free;
            all.not_opted_in.extend(run.site.clusters_not_opted_in().into_iter().cloned());
            all.requests += run.site.clusters.len();
            all.hosts += run.site.inventory.hosts.len();
            all.free += standings.iter().filter(free).count();
            all.errors += run.findings.iter().filter(|f| f.is_error()).count();
        }
        all
    }
}

/// Formats the proposed files, followed by the lines that people have to add, and by the next steps
/// if the files are on disk: then `inputs` are those of the repo.
pub fn proposals(proposals: &[Proposal], inputs: Option<ExistingInputs>) -> ReportText {
    let mut out = ReportText::default();
    let written = inputs.is_some();
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
    if let Some(inputs) = inputs {
        write_next_steps(&mut out, proposals, inputs);
    }
    out
}

/// Lists the inputs, and the manual steps.
fn write_next_steps(out: &mut ReportText, proposals: &[Proposal], inputs: ExistingInputs) {
    let ExistingInputs { requests, hosts, free, not_opted_in, errors } = inputs;
    writeln!(out);
    writeln!(
        out,
        "Found {} ({free} free) and {}.",
        counted(hosts, "host"),
        counted(requests, "cluster request")
    );
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
