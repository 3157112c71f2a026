//! Builds of the output by the real kustomize, compared with the plan.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use rayon::prelude::*;
use yaml_serde::{Mapping, Value};

use super::included_hosts::CompleteRepo;
use super::{Error, GeneratedSite};
use crate::base::api::gitops::GitopsAgent;
use crate::base::api::host;
use crate::base::api::kustomization::is_kustomization;
use crate::base::api::names::Namespace;
use crate::base::finding::{Code, Finding, Place};
use crate::base::grouping::grouped;
use crate::base::layout;
use crate::base::text::yaml;
use crate::base::tree::Tree;
use crate::input::load::kustomize::{BuildError, build_in_place, needed_paths};
use crate::input::load::{Files, texts_of_documents};
use crate::input::settings::{self, gitops::HostsForm};
use crate::output::render::{AllowedChanges, PlannedHost, planned_hosts};

/// The time limit of a build. Argo CD ends one after 90 s.
const LONGEST: Duration = Duration::from_secs(300);

/// The result of checking builds.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct CheckedBuilds {
    /// The number of builds that were made.
    pub count: usize,
    /// The number of builds that no change affects.
    pub unaffected: usize,
    /// Builds that fail, or differ from the plan.
    pub findings: Vec<Finding>,
    /// Directories that were not built, because they need what is not in the repo.
    pub skipped: Vec<Utf8PathBuf>,
}

/// Builds everything that agents apply of the output with the real kustomize, in parallel, and
/// compares the objects with the plan. kustomize reads the disk, so the output must be up to date.
/// With `changed` files, only builds that read one of them are made. `progress` gets the number of finished builds and that of all builds.
///
/// # Errors
///
/// Fails if kustomize is not installed, or a file cannot be read.
pub fn check_builds(
    repo: &Files,
    generated: &GeneratedSite,
    changed: Option<&BTreeSet<Utf8PathBuf>>,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<CheckedBuilds, Error> {
    let rendered = generated.output(repo)?;
    let all = directories(&rendered, generated);
    let is_affected = |(directory, _): &(&Utf8PathBuf, _)| {
        changed.is_none_or(|changed| reads_any(repo, directory, changed))
    };
    let builds: Vec<_> = all.iter().filter(is_affected).collect();
    let unaffected = all.len() - builds.len();
    let planned = planned_hosts(&generated.site, &generated.plan, &generated.host_metadata);
    let complete = CompleteRepo::new(repo, &generated.site, &planned, &rendered);
    let done = AtomicUsize::new(0);
    let check = |(directory, root): &(&Utf8PathBuf, &Option<usize>)| {
        let difference = |objects: &BuiltObjects| match root {
            Some(root) => {
                let own = &generated.site.root(*root).directory;
                let hosts = planned.get(&layout::declared_directory(own)).map(Vec::as_slice);
                let before = match generated.site.settings.hosts.form {
                    // Without the repo's own files, the overlay would fail as well.
                    HostsForm::Overlay => Some(build(repo, generated, own).ok()?),
                    // The build with a component has no counterpart without it.
                    HostsForm::Component => None,
                };
                let before = before.as_ref().unwrap_or(objects);
                difference(generated, hosts.unwrap_or_default(), before, objects)
            }
            None => complete.hosts(directory).into_iter().find_map(|host| change(host, objects)),
        };
        let checked = check_build(repo, generated, directory, difference);
        progress(done.fetch_add(1, Ordering::Relaxed) + 1, builds.len());
        checked
    };
    let checked = builds.par_iter().map(check).map(|checked| match checked {
        other @ (Ok(_) | Err(BuildError::Elsewhere { .. })) => Ok(other),
        Err(error) => Err(Error::Build(error.to_string())),
    });
    // Without the program, no further build is tried.
    let checked: Vec<_> = checked.collect::<Result<_, Error>>()?;
    let mut all = CheckedBuilds { unaffected, ..CheckedBuilds::default() };
    for ((directory, _), checked) in builds.into_iter().zip(checked) {
        match checked {
            Ok(finding) => {
                all.count += 1;
                all.findings.extend(finding);
            }
            Err(_) => all.skipped.push(directory.clone()),
        }
    }
    Ok(all)
}

/// Returns whether a build reads one of these files, or if that is not known.
fn reads_any(repo: &Files, directory: &Utf8Path, changed: &BTreeSet<Utf8PathBuf>) -> bool {
    let Ok(needed) = needed_paths(repo, directory, None) else { return true };
    changed.iter().any(|file| {
        let is_built =
            is_kustomization(file) && file.parent().is_some_and(|it| needed.contains(it));
        // git has one entry for all files of a submodule.
        let has_needed = || needed.iter().any(|needed| needed.starts_with(file));
        file.file_name() == Some(settings::FILE) || is_built || has_needed()
    })
}

/// Returns the directories that agents build, with the root whose hosts they patch, if any.
fn directories(rendered: &Tree, generated: &GeneratedSite) -> BTreeMap<Utf8PathBuf, Option<usize>> {
    let site = &generated.site;
    let output = &site.settings.output;
    let files = rendered.iter().filter(|(_, text)| text.contains("\nkind: Kustomization\n"));
    let built = files.filter_map(|(path, _)| path.as_str().strip_suffix(layout::KUSTOMIZATION));
    let directories: BTreeSet<Utf8PathBuf> =
        built.map(|directory| output.join(directory.trim_end_matches('/'))).collect();
    // A directory below another one is part of its build.
    let is_outermost = |directory: &&Utf8PathBuf| {
        let mut above = directory.ancestors().skip(1);
        !above.any(|above| directories.contains(above))
    };
    let outermost = directories.iter().filter(is_outermost).cloned();
    let listing = site.roots_listing_output().map(Utf8Path::to_owned);
    let patched = site.inventory.roots.iter().filter_map(|(index, root)| {
        let components = &site.wiring.components;
        let directory = match site.settings.hosts.form {
            HostsForm::Overlay => {
                let overlay = output.join(layout::declared_directory(&root.directory));
                directories.contains(&overlay).then_some(overlay)
            }
            HostsForm::Component => {
                let is_included = components.get(index).is_some_and(|it| it.included);
                is_included.then(|| root.directory.clone())
            }
        };
        Some((directory?, Some(*index)))
    });
    outermost.chain(listing).map(|directory| (directory, None)).chain(patched).collect()
}

/// Builds a directory, and reports what `difference` finds.
///
/// # Errors
///
/// Fails if the build is not possible here: it needs more than the repo, or kustomize is missing.
fn check_build(
    repo: &Files,
    generated: &GeneratedSite,
    directory: &Utf8Path,
    difference: impl FnOnce(&BuiltObjects) -> Option<String>,
) -> Result<Option<Finding>, BuildError> {
    let wrong = |code: Code, why: &str, help: &str| {
        let shown = layout::directory_argument(directory);
        let place = Place::File(directory.join(layout::KUSTOMIZATION).into());
        let finding = Finding::new(code, format!("`kustomize build {shown}` {why}"));
        Some(finding.at(place).help(help))
    };
    match build(repo, generated, directory) {
        Ok(built) => Ok(difference(&built).and_then(|why| {
            let why = format!("differs from the plan: {why}");
            wrong(Code::PatchesDiffer, &why, "compare the build with the generated patches")
        })),
        Err(error @ (BuildError::NoProgram | BuildError::Elsewhere { .. })) => Err(error),
        Err(BuildError::Failed(said)) => {
            let help = format!("fix it; kustomize reports:\n{said}");
            Ok(wrong(Code::BuildRefused, "fails", &help))
        }
        Err(error) => {
            let help = "run it, and fix what it reports";
            Ok(wrong(Code::BuildRefused, &error.to_string(), help))
        }
    }
}

/// What identifies an object of a build.
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
struct BuiltId {
    kind: String,
    name: String,
    namespace: Option<String>,
}

/// The objects of a build.
type BuiltObjects = BTreeMap<BuiltId, Vec<Mapping>>;

impl BuiltId {
    fn host(name: &str, namespace: Option<&str>) -> Self {
        let namespace = namespace.map(str::to_owned);
        Self { kind: host::KIND.to_owned(), name: name.to_owned(), namespace }
    }
}

/// Builds a directory with the real kustomize.
fn build(
    repo: &Files,
    generated: &GeneratedSite,
    directory: &Utf8Path,
) -> Result<BuiltObjects, BuildError> {
    let is_restricted = generated.site.settings.gitops != Some(GitopsAgent::Flux);
    let text = build_in_place(repo, directory, is_restricted, LONGEST)?;
    let read = texts_of_documents(&text).map(yaml::from_str::<Mapping>);
    Ok(grouped(read.filter_map(Result::ok).map(|object| {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let metadata = |key: &str| text(object.get("metadata").and_then(|it| it.get(key)));
        let kind = text(object.get("kind")).unwrap_or_default();
        let (name, namespace) = (metadata("name").unwrap_or_default(), metadata("namespace"));
        (BuiltId { kind, name, namespace }, object)
    })))
}

/// Returns the change of a generated host in a build that includes it.
fn change(planned: &PlannedHost<'_>, objects: &BuiltObjects) -> Option<String> {
    let key = &planned.host.key;
    let id = |namespace| BuiltId::host(key.name.as_str(), namespace);
    let found = objects.get(&id(Some(key.namespace.as_str())));
    match found.or_else(|| objects.get(&id(None))).map(Vec::as_slice) {
        Some([object]) => {
            let field = planned.changed_field(object)?;
            Some(format!("the host `{key}` has another `{}`", field.join(".")))
        }
        found => Some(format!("it has the host `{key}` {} times", found.map_or(0, <[_]>::len))),
    }
}

/// Returns the first difference of a build from the plan. `before` is the build of the repo's own
/// files.
fn difference(
    generated: &GeneratedSite,
    planned: &[PlannedHost<'_>],
    before: &BuiltObjects,
    after: &BuiltObjects,
) -> Option<String> {
    let site = &generated.site;
    let allowed = AllowedChanges::new(site, &generated.plan);
    let mut hosts_by_id = HashMap::with_capacity(planned.len());
    for planned in planned {
        let key = &planned.host.key;
        let (name, namespace) = if site.settings.hosts.form == HostsForm::Component {
            (key.name.as_str(), Some(key.namespace.as_str()))
        } else {
            (planned.name, planned.namespace)
        };
        let mut id = BuiltId::host(name, namespace);
        // A host without a namespace stays without one in the build.
        if key.namespace == Namespace::default_namespace() && !after.contains_key(&id) {
            id.namespace = None;
        }
        let count = after.get(&id).map_or(0, Vec::len);
        if count != 1 {
            return Some(format!("it has the host `{key}` {count} times"));
        }
        hosts_by_id.insert(id, planned);
    }
    before.keys().chain(after.keys()).find_map(|id| {
        let BuiltId { kind, name, .. } = id;
        let objects = |build: &'_ BuiltObjects| build.get(id).map_or(0, Vec::len);
        if objects(before) != objects(after) {
            return Some(format!("it has the {kind} `{name}` {} times", objects(after)));
        }
        let mut pairs = before.get(id)?.iter().zip(after.get(id)?);
        pairs.find_map(|(before, after)| match hosts_by_id.get(id) {
            Some(planned) => planned
                .difference(before, after)
                .map(|what| format!("the host `{}` has {what}", planned.host.key)),
            None => allowed
                .changed_field(before, after)
                .map(|field| format!("the {kind} `{name}` has another value of `{field}`")),
        })
    })
}
