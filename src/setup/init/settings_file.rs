//! `sipgen.yaml`.

use camino::Utf8Path;

use super::agents::{ArgocdSource, DetectedAgent, DetectedAgents};
use super::base_clusters::BaseClusters;
use super::{FileAction, Proposal};
use crate::base::api::gitops::FluxSourceRef;
use crate::base::text::counted;
use crate::base::text::visible::yaml_text;
use crate::input::load::Files;
use crate::input::settings::{self, Settings};

pub(super) fn propose(
    repo: &Files,
    output: &Utf8Path,
    agents: &DetectedAgents,
    clusters: &BaseClusters,
) -> Proposal {
    let gitops = gitops(agents);
    let mut note = match agents.only() {
        Some(DetectedAgent::Flux(flux)) => {
            format!("settings; Flux was detected by `{}`", flux.seen_in)
        }
        Some(DetectedAgent::Argocd(argocd)) => {
            format!("settings; Argo CD was detected by `{}`", argocd.seen_in)
        }
        None => "settings".to_owned(),
    };
    match clusters {
        BaseClusters::One => {}
        BaseClusters::Known(outputs) => {
            note.push_str(&format!("; {}", counted(outputs.len(), "site")))
        }
        BaseClusters::Bootstrapped(sites) => {
            note.push_str(&format!(
                "; {}, each with its own Flux bootstrap",
                counted(sites.len(), "site")
            ));
        }
        BaseClusters::Possible(_) => note.push_str("; it may have several sites: see `sites`"),
    }
    let lacks = |there: &str| match &gitops {
        Gitops::Decided(lines) if !there.lines().any(|line| line.starts_with("gitops:")) => {
            FileAction::Add { lines: lines.clone(), place: "at the end".to_owned() }
        }
        _ => FileAction::Keep,
    };
    Proposal::new(repo, settings::FILE, note, || text(output, &gitops, clusters), lacks)
}

/// Settings of the agent.
enum Gitops {
    Decided(String),
    /// Comment for a person to decide.
    Open(String),
}

/// Formats the agent's settings.
fn gitops(agents: &DetectedAgents) -> Gitops {
    let open = |why: &str| {
        Gitops::Open(format!(
            "# {why} Choose the agent that\n# applies the output, and sipgen writes its objects as well.\n\
             # gitops: flux\n\
             # flux:\n#   sourceRef: {{kind: GitRepository, name: flux-system}}\n\
             # gitops: argocd\n\
             # argocd:\n#   repoURL: https://git.example.com/platform/fleet.git\n"
        ))
    };
    match agents.only() {
        Some(DetectedAgent::Flux(flux)) => {
            if flux.source.is_none() && !flux.open.is_empty() {
                return open(&format!(
                    "Flux was detected; the repo leaves {} open.",
                    flux.open.join(", ")
                ));
            }
            let source = flux.source.as_ref().map(|FluxSourceRef { kind, name, namespace }| {
                let fields = [
                    ("kind", kind.as_ref()),
                    ("name", Some(name)),
                    ("namespace", namespace.as_ref()),
                ];
                let lines = fields.map(|(key, value)| entry("    ", key, value)).concat();
                format!("flux:\n  sourceRef:\n{lines}")
            });
            let decryption = flux
                .decryption
                .as_ref()
                .and_then(|decryption| serde_json::to_string(decryption).ok());
            let decryption = decryption
                .map_or(String::new(), |decryption| format!("  decryption: {decryption}\n"));
            let rest = format!("{decryption}{}", undecided(&flux.open));
            let head = if source.is_none() && !rest.is_empty() {
                "flux:\n".to_owned()
            } else {
                source.unwrap_or_default()
            };
            Gitops::Decided(format!("gitops: flux\n{head}{rest}"))
        }
        Some(DetectedAgent::Argocd(argocd)) => match &argocd.source {
            Some(ArgocdSource { repo_url, target_revision, project, namespace }) => {
                Gitops::Decided(format!(
                    "gitops: argocd\nargocd:\n{}{}{}{}{}",
                    entry("  ", "repoURL", Some(repo_url)),
                    entry("  ", "targetRevision", target_revision.as_ref()),
                    entry("  ", "project", project.as_ref()),
                    entry("  ", "namespace", namespace.as_ref()),
                    undecided(&argocd.open),
                ))
            }
            None => open("Argo CD was detected, but not its URL of this repo."),
        },
        None if agents.flux.is_some() => open("This repo has manifests of both Flux and Argo CD."),
        None => open("This repo has no manifests of Flux or Argo CD."),
    }
}

/// Formats comments about settings that the repo leaves open.
fn undecided(open: &[String]) -> String {
    open.iter()
        .map(|line| format!("  # The repo leaves this open; set it here.\n  # {line}\n"))
        .collect()
}

/// Formats a line of a mapping; empty without a value.
fn entry(indent: &str, key: &str, value: Option<&String>) -> String {
    value.map_or(String::new(), |value| format!("{indent}{key}: {}\n", yaml_text(value)))
}

fn text(output: &Utf8Path, gitops: &Gitops, clusters: &BaseClusters) -> String {
    let sites = clusters.setting().map_or(String::new(), |setting| format!("{setting}\n"));
    let output = if output == Settings::default().output {
        format!("# output: {output}\n")
    } else {
        format!("output: {}\n", yaml_text(output.as_str()))
    };
    let gitops = match gitops {
        Gitops::Decided(lines) => format!(
            "# The agent that applies the output. Point it at `agents` in the output directory, and at nothing else\n\
             # there.\n{lines}"
        ),
        Gitops::Open(comment) => comment.clone(),
    };
    format!(
        "# Settings of sipgen. All of them are optional; comments show the defaults.\n\n\
         {sites}# Output directory, written by sipgen only.\n{output}\n\
         # auto: a host is declared if a kustomization.yaml of this repo reaches it, else observed.\n\
         # declared or observed: the same for all hosts.\n\
         # inventory:\n#   mode: auto\n\n\
         # Form of the labels of declared hosts: overlay, which an agent applies instead of their directory; or\n\
         # component, for a kustomization of yours that renders them together with other objects.\n\
         # hosts:\n#   form: overlay\n\n\
         # Access of jump hosts to BMC credentials: reference, external-secrets or none.\n\
         # credentials: reference\n\n\
         {gitops}"
    )
}
