//! Builds of the output by the real kustomize, compared with the plan.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use camino::Utf8PathBuf;
use rayon::prelude::*;
use serde::Deserialize;

use super::{Error, Generated};
use crate::api::gitops::Agent;
use crate::api::host;
use crate::finding::{Code, Finding, Place};
use crate::layout;
use crate::load::kustomize::{NotBuilt, build_in_place};
use crate::load::{Files, texts_of_documents};
use crate::render::{PlannedHost, planned_hosts};
use crate::settings::gitops::Form;
use crate::text::yaml;

/// The time limit of a build. Argo CD ends one after 90 s.
const LONGEST: Duration = Duration::from_secs(300);

/// The result of checking builds.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct CheckedBuilds {
    /// The number of builds that were made.
    pub count: usize,
    /// Builds that fail, or differ from the plan.
    pub findings: Vec<Finding>,
    /// Directories that were not built, because they need what is not in the repo.
    pub skipped: Vec<Utf8PathBuf>,
}

/// The result of one build.
enum Checked {
    Correct,
    Wrong(Finding),
    Skipped(Utf8PathBuf),
}

/// Builds everything that agents apply of the output with the real kustomize, in parallel, and
/// compares the hosts with the plan. kustomize reads the disk, so the output must be up to date.
/// `progress` gets the number of finished builds and that of all builds.
///
/// # Errors
///
/// Fails if kustomize is not installed, or a file cannot be read.
pub fn check_builds(
    repo: &Files,
    generated: &Generated,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<CheckedBuilds, Error> {
    let builds: Vec<(Utf8PathBuf, Option<usize>)> =
        directories(repo, generated)?.into_iter().collect();
    let planned = planned_hosts(&generated.site, &generated.plan);
    let done = AtomicUsize::new(0);
    let check = |(directory, root): &(Utf8PathBuf, Option<usize>)| {
        let hosts = root.map(|root| planned.get(&root).map(Vec::as_slice).unwrap_or_default());
        let checked = check_build(repo, generated, directory, hosts);
        progress(done.fetch_add(1, Ordering::Relaxed) + 1, builds.len());
        checked
    };
    let checked: Vec<Checked> = builds.par_iter().map(check).collect::<Result<_, Error>>()?;
    let mut all = CheckedBuilds::default();
    for checked in checked {
        match checked {
            Checked::Correct => all.count += 1,
            Checked::Wrong(finding) => {
                all.count += 1;
                all.findings.push(finding);
            }
            Checked::Skipped(directory) => all.skipped.push(directory),
        }
    }
    Ok(all)
}

/// Returns the directories that agents build, with the root whose hosts they patch, if any.
fn directories(
    repo: &Files,
    generated: &Generated,
) -> Result<BTreeMap<Utf8PathBuf, Option<usize>>, Error> {
    let site = &generated.site;
    let output = &site.settings.output;
    let rendered = generated.output(repo)?;
    let directories: BTreeSet<Utf8PathBuf> = rendered
        .iter()
        .filter(|(_, text)| text.contains("\nkind: Kustomization\n"))
        .filter_map(|(path, _)| path.as_str().strip_suffix(layout::KUSTOMIZATION))
        .map(|directory| output.join(directory.trim_end_matches('/')))
        .collect();
    // A directory below another one is part of its build.
    let is_outermost = |directory: &&Utf8PathBuf| {
        let mut above = directory.ancestors().skip(1);
        !above.any(|above| directories.contains(above))
    };
    let mut builds: BTreeMap<Utf8PathBuf, Option<usize>> = directories
        .iter()
        .filter(is_outermost)
        .map(|directory| (directory.clone(), None))
        .collect();
    for (index, root) in &site.inventory.roots {
        let overlay = output.join(layout::declared_directory(&root.directory));
        let is_included = site
            .wiring
            .components
            .get(index)
            .is_some_and(|component| component.included);
        match site.settings.hosts.form {
            Form::Overlay if directories.contains(&overlay) => {
                builds.insert(overlay, Some(*index));
            }
            Form::Component if is_included => {
                builds.insert(root.directory.clone(), Some(*index));
            }
            _ => {}
        }
    }
    Ok(builds)
}

fn check_build(
    repo: &Files,
    generated: &Generated,
    directory: &Utf8PathBuf,
    hosts: Option<&[PlannedHost<'_>]>,
) -> Result<Checked, Error> {
    let settings = &generated.site.settings;
    let is_restricted = settings.gitops != Some(Agent::Flux);
    let shown = if directory.as_str().is_empty() {
        "."
    } else {
        directory.as_str()
    };
    let wrong = |code: Code, why: &str, help: &str| {
        let place = Place::File(directory.join(layout::KUSTOMIZATION).into());
        let finding = Finding::new(code, format!("`kustomize build {shown}` {why}"));
        Ok(Checked::Wrong(finding.at(place).help(help)))
    };
    let is_final = settings.hosts.form == Form::Component;
    match build_in_place(repo, directory, is_restricted, LONGEST) {
        Ok(text) => match hosts.and_then(|hosts| difference(&text, hosts, is_final)) {
            Some(why) => wrong(
                Code::PatchesDiffer,
                &format!("differs from the plan: {why}"),
                "compare the build with the generated patches",
            ),
            None => Ok(Checked::Correct),
        },
        Err(error @ NotBuilt::NoProgram) => Err(Error::Build(error.to_string())),
        Err(NotBuilt::Elsewhere { .. }) => Ok(Checked::Skipped(directory.clone())),
        Err(NotBuilt::Failed(said)) => wrong(
            Code::BuildRefused,
            "fails",
            &format!("fix it; kustomize reports:\n{said}"),
        ),
        Err(error) => wrong(
            Code::BuildRefused,
            &error.to_string(),
            "run it, and fix what it reports",
        ),
    }
}

/// A host in a build.
#[derive(Deserialize)]
struct BuiltHost {
    kind: String,
    metadata: BuiltMetadata,
}

#[derive(Deserialize)]
struct BuiltMetadata {
    name: String,
    namespace: Option<String>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

/// Returns the first difference of a build from the planned hosts. With `is_final`, the build has
/// them under their final names.
fn difference(text: &str, planned: &[PlannedHost<'_>], is_final: bool) -> Option<String> {
    let mut built: HashMap<(String, Option<String>), Vec<BuiltMetadata>> = HashMap::new();
    let of_host = texts_of_documents(text).filter(|document| document.contains(host::KIND));
    for document in of_host {
        if let Ok(host) = yaml::from_str::<BuiltHost>(document)
            && host.kind == host::KIND
        {
            let named = (host.metadata.name.clone(), host.metadata.namespace.clone());
            built.entry(named).or_default().push(host.metadata);
        }
    }
    planned.iter().find_map(|planned| {
        let key = &planned.host.key;
        let named = if is_final {
            (key.name.to_string(), Some(key.namespace.to_string()))
        } else {
            planned.named.clone()
        };
        let found = built.get(&named).map(Vec::as_slice).unwrap_or_default();
        let [metadata] = found else {
            return Some(format!("it has the host `{key}` {} times", found.len()));
        };
        let label = planned
            .labels
            .iter()
            .find(|(label, value)| metadata.labels.get(*label) != value.as_ref());
        let guard = planned
            .annotations
            .iter()
            .find(|(name, value)| metadata.annotations.get(**name) != Some(value));
        match (label, guard) {
            (Some((label, _)), _) => Some(format!("the host `{key}` has another label `{label}`")),
            (_, Some((name, _))) => {
                Some(format!("the host `{key}` has another annotation `{name}`"))
            }
            _ => None,
        }
    })
}
