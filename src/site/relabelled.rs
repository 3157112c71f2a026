//! Kustomizations that give a Provisioning or a Software another cluster than it names.

use super::objects::{ClusterDocument, SoftwareDocument};
use crate::api::names::{ClusterKey, ObjectName};
use crate::api::provisioning::{CLUSTER, KIND, SOFTWARE_KIND};
use crate::finding::{Code, Finding};
use crate::kustomize::Builds;
use crate::source::{Files, Origin};

/// Refuses labels `cluster` that kustomizations change: the file would be for one cluster, and what is rendered for
/// another.
pub(super) fn refuse(
    repo: &Files,
    builds: &Builds,
    clusters: &[ClusterDocument],
    software: &[SoftwareDocument],
) -> Vec<Finding> {
    let requests = clusters.iter().filter(|document| document.kind == KIND);
    let requests = requests.map(|document| (KIND, &document.key, &document.name, &document.origin));
    let software = software.iter().map(|document| (SOFTWARE_KIND, &document.key, &document.name, &document.origin));
    // What is rendered has the label that it was given.
    let documents: Vec<_> = requests.chain(software).filter(|(.., origin)| !origin.is_rendered()).collect();
    if documents.is_empty() {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (place, given, reached) in builds.that_give_label(repo, &[KIND, SOFTWARE_KIND], CLUSTER) {
        let is_changed = |(_, key, name, origin): &&(_, &ClusterKey, &ObjectName, &Origin)| {
            reached.contains(&*origin.file)
                && given.name.as_ref().is_none_or(|only| only == name.as_str())
                && given.value.as_ref().is_none_or(|value| value != key.name.as_str())
        };
        let Some((kind, key, _, origin)) = documents.iter().find(is_changed) else { continue };
        let to = given.value.map_or_else(String::new, |value| format!(", `{value}`"));
        let message = format!("a kustomization gives the {kind} of {key} another label `cluster`{to}");
        findings.push(
            Finding::new(Code::Relabelled, message)
                .at(place)
                .see(origin.at(["metadata", "labels", CLUSTER]), format!("names {}", key.name))
                .help(
                    "write the label into the file, and take it out of the kustomization; or let `sources` name the \
                     kustomization that renders it, so that what it renders is the input",
                ),
        );
    }
    findings
}
