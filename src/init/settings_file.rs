//! `sipgen.yaml`.

use camino::Utf8Path;

use super::agents::{Agent, Agents, ApplicationSource, SourceRef};
use super::base_clusters::BaseClusters;
use super::{Action, Proposal};
use crate::load::Files;
use crate::settings::{self, Settings};
use crate::text::counted;

pub(super) fn propose(
    repo: &Files,
    output: &Utf8Path,
    agents: &Agents,
    clusters: &BaseClusters,
) -> Proposal {
    let gitops = gitops(agents);
    let mut note = match agents.only() {
        Some(Agent::Flux(flux)) => format!("settings; Flux was recognised by {}", flux.seen_in),
        Some(Agent::Argocd(argocd)) => {
            format!("settings; Argo CD was recognised by {}", argocd.seen_in)
        }
        None => "settings".to_owned(),
    };
    match clusters {
        BaseClusters::One => {}
        BaseClusters::Known(sites) => note.push_str(&format!("; {}", counted(sites.len(), "site"))),
        BaseClusters::Bootstrapped(sites) => {
            note.push_str(&format!(
                "; {}, in each of which Flux was bootstrapped",
                counted(sites.len(), "site")
            ));
        }
        BaseClusters::Possible(_) => {
            note.push_str("; whether the repo is several sites is for you to say: see `sites`")
        }
    }
    let lacks = |there: &str| match &gitops {
        Gitops::Decided(lines) if !there.lines().any(|line| line.starts_with("gitops:")) => {
            Action::Add {
                lines: lines.clone(),
                place: "at its end".to_owned(),
            }
        }
        _ => Action::Keep,
    };
    Proposal::new(
        repo,
        settings::FILE,
        note,
        || text(output, &gitops, clusters),
        lacks,
    )
}

/// What the settings say of the agent.
enum Gitops {
    Decided(String),
    /// For a person to decide.
    Open(String),
}

/// The agent's part of the settings.
fn gitops(agents: &Agents) -> Gitops {
    let open = |why: &str| {
        Gitops::Open(format!(
            "# {why} Say which agent applies\n# what is generated, and sipgen writes its objects, too.\n\
             # gitops: flux\n\
             # flux:\n#   sourceRef: {{kind: GitRepository, name: flux-system}}\n\
             # gitops: argocd\n\
             # argocd:\n#   repoURL: https://git.example.com/platform/fleet.git\n"
        ))
    };
    match agents.only() {
        Some(Agent::Flux(flux)) => {
            if flux.source.is_none() && !flux.open.is_empty() {
                return open(&format!(
                    "Flux was recognised; the repo does not decide {}.",
                    flux.open.join(", ")
                ));
            }
            let source = flux.source.as_ref().map(
                |SourceRef {
                     kind,
                     name,
                     namespace,
                 }| {
                    let entries = [
                        entry("    ", "kind", Some(kind)),
                        entry("    ", "name", Some(name)),
                    ]
                    .concat();
                    format!(
                        "flux:\n  sourceRef:\n{entries}{}",
                        entry("    ", "namespace", namespace.as_ref())
                    )
                },
            );
            let decryption = flux
                .decryption
                .as_ref()
                .and_then(|decryption| serde_json::to_string(decryption).ok());
            let decryption = decryption.map_or(String::new(), |decryption| {
                format!("  decryption: {decryption}\n")
            });
            let rest = format!("{decryption}{}", undecided(&flux.open));
            let head = if source.is_none() && !rest.is_empty() {
                "flux:\n".to_owned()
            } else {
                source.unwrap_or_default()
            };
            Gitops::Decided(format!("gitops: flux\n{head}{rest}"))
        }
        Some(Agent::Argocd(argocd)) => match &argocd.source {
            Some(ApplicationSource {
                repo_url,
                target_revision,
                project,
                namespace,
            }) => Gitops::Decided(format!(
                "gitops: argocd\nargocd:\n{}{}{}{}{}",
                entry("  ", "repoURL", Some(repo_url)),
                entry("  ", "targetRevision", target_revision.as_ref()),
                entry("  ", "project", project.as_ref()),
                entry("  ", "namespace", namespace.as_ref()),
                undecided(&argocd.open),
            )),
            None => open("Argo CD was recognised, but not the URL that it has this repo from."),
        },
        None if agents.flux.is_some() => open("There are manifests of Flux and of Argo CD here."),
        None => open("There are neither manifests of Flux here nor of Argo CD."),
    }
}

/// Comments about settings that the repo does not decide.
fn undecided(open: &[String]) -> String {
    open.iter()
        .map(|line| format!("  # The repo does not decide this; say it here.\n  # {line}\n"))
        .collect()
}

/// A line of a mapping; none without a value.
fn entry(indent: &str, key: &str, value: Option<&String>) -> String {
    value.map_or(String::new(), |value| {
        format!("{indent}{key}: {}\n", quoted(value))
    })
}

/// A text as YAML with quotes, whatever is in it.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn text(output: &Utf8Path, gitops: &Gitops, clusters: &BaseClusters) -> String {
    let sites = clusters
        .setting()
        .map_or(String::new(), |setting| format!("{setting}\n"));
    let output = if output == Settings::default().output {
        format!("# output: {output}\n")
    } else {
        format!("output: {}\n", quoted(output.as_str()))
    };
    let gitops = match gitops {
        Gitops::Decided(lines) => format!("# The agent that applies what is generated.\n{lines}"),
        Gitops::Open(comment) => comment.clone(),
    };
    format!(
        "# The settings of sipgen. Everything has a default that works: what is a comment shows it.\n\n\
         {sites}# The directory that sipgen writes, and nobody else.\n{output}\n\
         # A host is declared when a kustomization.yaml of this repo reaches it, else observed: auto.\n\
         # To take every host for one of them, write declared or observed.\n\
         # inventory:\n#   mode: auto\n\n\
         # How their labels reach declared hosts: overlay, which an agent applies in place of their directory; or\n\
         # component, for a kustomization of yours that renders them together with other things.\n\
         # hosts:\n#   form: overlay\n\n\
         # How jump hosts get at their hosts' BMC credentials: reference, external-secrets or none.\n\
         # credentials: reference\n\n\
         {gitops}"
    )
}
