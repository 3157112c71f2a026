//! Builds as agents' objects change them, by the root of the build.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

use super::interpret::interpret_resource;
use super::names::NamingContext;
use super::read_object::{ReadContent, ReadObject};
use super::substitution::VariablesByObject;
use crate::base::api::kustomization::listed;
use crate::base::finding::Origin;
use crate::base::layout;
use crate::input::kustomize::{AgentBuild, Builds, Listing};
use crate::input::load::ReadError;
use crate::site::delivery::{AgentObject, Agents, AppliedDirectory, BuildChanges, RepoListing};

/// Maximum number of levels at which agents' objects apply agents' objects.
const LEVELS: usize = 5;

/// Changes to builds, by the directory of the root, and by the directory that an object applies.
pub(crate) type AgentBuilds = BTreeMap<Utf8PathBuf, AgentBuild>;

/// Collects the changes to builds. Replaces the agents' objects by what builds make of them, which
/// may be those of other agents' objects.
///
/// # Errors
///
/// Returns an error if a file cannot be read.
pub(super) fn collect(
    naming: NamingContext<'_>,
    listing: &RepoListing,
    objects: &mut Vec<ReadObject>,
) -> Result<AgentBuilds, ReadError> {
    // Moved, because generators of ApplicationSets may be large.
    let mut written: Vec<AgentObject> = Vec::new();
    for object in std::mem::take(objects) {
        match object.content {
            ReadContent::Agent(agent) => written.push(*agent),
            _ => objects.push(object),
        }
    }
    if written.is_empty() {
        return Ok(AgentBuilds::new());
    }
    AgentObject::find_omitted(&mut written, naming.builds);
    // Secrets that name clusters.
    let clusters = objects.iter().filter_map(|object| match &object.content {
        ReadContent::Secret(secret) => secret.agent.as_deref().cloned(),
        _ => None,
    });
    let clusters: Vec<AgentObject> = clusters.collect();
    let mut builds = AgentBuilds::new();
    let (mut replaced, mut made) = delivered(naming, &written, &builds);
    for _ in 0..LEVELS {
        let changed: Vec<Utf8PathBuf> = builds.keys().cloned().collect();
        let kept = written.iter().filter(|object| !replaced.contains(&object.origin));
        let current: Vec<AgentObject> = kept.chain(&made).chain(&clusters).cloned().collect();
        builds = by_directory(naming, listing, current)?;
        // Only a new change to the build of agents' objects changes these.
        let is_in = |file: &Utf8Path, root: &Utf8PathBuf| {
            let mut reaches = naming.builds.reach(file).iter();
            file.starts_with(root)
                || reaches.any(|reach| naming.builds.root(reach.root).directory == *root)
        };
        let has_agents = |root| written.iter().any(|agent| is_in(&agent.origin.file, root));
        if !builds.keys().any(|root| !changed.contains(root) && has_agents(root)) {
            break;
        }
        (replaced, made) = delivered(naming, &written, &builds);
    }
    written.retain(|object| !replaced.contains(&object.origin));
    let all = written.into_iter().chain(made);
    objects.extend(all.map(|agent| ReadObject {
        origin: agent.origin.clone(),
        content: ReadContent::Agent(Box::new(agent)),
        findings: Vec::new(),
    }));
    Ok(builds)
}

/// Returns agents' objects as builds deliver them, after the documents of which they are made. Those
/// of builds that cannot be evaluated stay as written.
fn delivered(
    naming: NamingContext<'_>,
    written: &[AgentObject],
    agents: &AgentBuilds,
) -> (HashSet<Origin>, Vec<AgentObject>) {
    let files: HashSet<Arc<Utf8Path>> =
        written.iter().map(|object| object.origin.file.clone()).collect();
    let plain = plain_builds(naming.builds, &files, agents);
    let builds = plain.as_ref().unwrap_or(naming.builds);
    let evaluated = NamingContext { builds, ..naming }.evaluated(files, agents);
    let documents = evaluated.delivered.values().flatten();
    let objects =
        documents.filter_map(|document| match interpret_resource(&document.document())?.content {
            ReadContent::Agent(agent) => Some(*agent),
            _ => None,
        });
    let objects = objects.collect();
    (evaluated.read.into_keys().collect(), objects)
}

/// Returns the builds with those of Flux, which makes a kustomization of the files in a directory
/// that has none. Only some files are listed.
pub(super) fn plain_builds(
    builds: &Builds,
    files: &HashSet<Arc<Utf8Path>>,
    agents: &AgentBuilds,
) -> Option<Builds> {
    let detected = agents.iter().filter(|(directory, build)| build.autodetects(builds, directory));
    let made = detected.filter_map(|(directory, _)| {
        let is_plain = |file: &&Arc<Utf8Path>| {
            let mut above = file.ancestors().skip(1).take_while(|it| it.starts_with(directory));
            file.starts_with(directory)
                && matches!(file.extension(), Some("yaml" | "yml"))
                && !above.any(|above| builds.has_kustomization(above))
        };
        let plain = files.iter().filter(is_plain);
        let paths: BTreeSet<&Utf8Path> =
            plain.filter_map(|file| file.strip_prefix(directory).ok()).collect();
        let entries = paths.iter().map(|path| format!("- {}\n", listed(path.as_str())));
        let text = format!("resources:\n{}", entries.collect::<String>());
        (!paths.is_empty()).then(|| (directory.join(layout::KUSTOMIZATION), text))
    });
    let made: Vec<(Utf8PathBuf, String)> = made.collect();
    let files = made.iter().map(|(file, text)| (file.as_path(), text.as_str()));
    (!made.is_empty()).then(|| builds.with_files(files))
}

/// Returns the changes of agents' objects, by directory.
fn by_directory(
    naming: NamingContext<'_>,
    listing: &RepoListing,
    objects: Vec<AgentObject>,
) -> Result<AgentBuilds, ReadError> {
    let NamingContext { repo, settings, builds: all_builds, .. } = naming;
    let (changing, others): (Vec<_>, Vec<_>) =
        objects.iter().partition(|object| object.may_change_builds());
    if changing.is_empty() {
        return Ok(AgentBuilds::new());
    }
    // They only tell which objects this site gets.
    let others: HashSet<Origin> = others.iter().map(|it| it.origin.as_written()).collect();
    let agents = Agents::new(repo, settings, all_builds, objects, listing);
    let applied = agents.applied.into_iter().filter(AppliedDirectory::is_of_site);
    let changes = applied.filter_map(|applied| Some(*applied.changes?));
    let changes: Vec<BuildChanges> =
        changes.filter(|it| !others.contains(&it.build.written_origin())).collect();
    let variables = naming.variables(changes.iter())?;
    let output = &settings.output;
    let overlays = all_builds.roots().map(|root| {
        let overlay = output.join(layout::declared_directory(&root.directory));
        (overlay, root.directory.as_path())
    });
    let (overlays, listings) = (overlays.collect(), all_builds.listings_below(output));
    let mut builds = AgentBuilds::new();
    for changes in &changes {
        let directories = changed_directories(all_builds, &overlays, &listings, changes);
        for (directory, is_above) in directories {
            let build = agent_build(naming, changes, is_above, &variables);
            let joined = match builds.remove(&directory) {
                Some(other) => AgentBuild::joined(other, build),
                None => build,
            };
            builds.insert(directory, joined);
        }
    }
    builds.retain(|_, build| !build.is_empty());
    Ok(builds)
}

/// Returns the changes of one object to one build.
fn agent_build(
    naming: NamingContext<'_>,
    changes: &BuildChanges,
    is_above: bool,
    variables: &VariablesByObject,
) -> AgentBuild {
    let mut build = changes.build.for_root(is_above);
    build.variables = naming.merged_variables(variables, &build.written_origin(), changes);
    build
}

/// Returns the directories whose builds an object changes: roots, and those with output that it applies;
/// set for those that it applies through another kustomization. `overlays` have the root of each
/// overlay of hosts, and `listings` are those of directories of the output.
fn changed_directories(
    builds: &Builds,
    overlays: &HashMap<Utf8PathBuf, &Utf8Path>,
    listings: &[(Utf8PathBuf, Listing<'_>)],
    changes: &BuildChanges,
) -> BTreeMap<Utf8PathBuf, bool> {
    let directory = changes.build.directory();
    let mut changed = BTreeMap::new();
    if let Some(root) = overlays.get(directory) {
        changed.extend([((*root).to_owned(), true), (directory.clone(), false)]);
    } else if builds.has_kustomization(directory) {
        let parts: BTreeSet<&Utf8Path> = builds.made_of(directory).into_iter().collect();
        let listed = listings.iter().filter(|(_, by)| parts.contains(by.directory));
        let listed: Vec<&Utf8PathBuf> = listed.map(|(listed, _)| listed).collect();
        let roots = listed.iter().filter_map(|overlay| overlays.get(*overlay));
        changed.extend(roots.map(|root| ((*root).to_owned(), true)));
        let is_root = overlays.values().any(|root| root == directory);
        if !listed.is_empty() || is_root || changes.build.sets_names() {
            changed.insert(directory.clone(), false);
        }
    } else {
        changed.insert(directory.clone(), changes.is_autodetected);
    }
    if changes.is_autodetected && !builds.has_kustomization(directory) {
        // Flux lists every directory with a kustomization, unless another covers it.
        let below = overlays.iter().filter(|(overlay, root)| {
            let is_outermost = |root: &Utf8Path| {
                let above = root.ancestors().skip(1);
                let mut above = above.take_while(|above| above.starts_with(directory));
                !above.any(|above| builds.has_kustomization(above))
            };
            overlay.starts_with(directory) || root.starts_with(directory) && is_outermost(root)
        });
        changed.extend(below.map(|(_, root)| ((*root).to_owned(), true)));
    }
    changed
}
