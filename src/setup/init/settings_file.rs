//! `sipgen.yaml`.

use camino::Utf8Path;

use super::agents::DetectedAgent;
use super::base_clusters::BaseClusters;
use super::{FileAction, Proposal};
use crate::base::text::visible::yaml_text;
use crate::input::load::Files;
use crate::input::settings::{self, Settings};

pub(super) fn propose(
    repo: &Files,
    output: &Utf8Path,
    agents: &[DetectedAgent],
    clusters: &BaseClusters,
) -> Proposal {
    let (agent, gitops) = match agents {
        [DetectedAgent { agent, seen_in, settings, .. }] => (
            format!("; {agent} was detected by `{seen_in}`"),
            settings.as_deref().map_err(String::as_str),
        ),
        [] => (String::new(), Err("This repo has no manifests of Flux or Argo CD.")),
        _ => (String::new(), Err("This repo has manifests of both Flux and Argo CD.")),
    };
    let lacks = |there: &str| match gitops {
        Ok(lines) if !there.lines().any(|line| line.starts_with("gitops:")) => {
            FileAction::add_at_end(lines.to_owned())
        }
        _ => FileAction::Keep,
    };
    let note = format!("settings{agent}{}", clusters.note);
    Proposal::new(repo, settings::FILE, note, text(output, gitops, clusters), lacks)
}

/// Formats the file. `gitops` has the agent's settings, or the reason why a person has to choose them.
fn text(output: &Utf8Path, gitops: Result<&str, &str>, clusters: &BaseClusters) -> String {
    let sites = &clusters.setting;
    let output = if output == Settings::default().output {
        format!("# output: {output}\n")
    } else {
        format!("output: {}\n", yaml_text(output.as_str()))
    };
    let gitops = match gitops {
        Ok(lines) => format!(
            "# The agent that applies the output. Point it at `agents` in the output directory, and at nothing else\n\
             # there.\n{lines}"
        ),
        Err(reason) => format!(
            "# {reason} Choose the agent that\n# applies the output, and sipgen writes its objects as well.\n\
             # gitops: flux\n\
             # flux:\n#   sourceRef: {{kind: GitRepository, name: flux-system}}\n\
             # gitops: argocd\n\
             # argocd:\n#   repoURL: https://git.example.com/platform/fleet.git\n"
        ),
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
