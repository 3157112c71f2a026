//! Checks that rendered kustomizations list existing files and that their ConfigMaps are not too
//! large.
//!
//! A template that renders nothing creates no file.

use std::collections::{BTreeSet, HashSet};

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};
use rayon::prelude::*;

use super::{Templates, Tree};
use crate::base::api::kustomization::{Kustomization, KustomizeGenerator};
use crate::base::finding::{Code, Finding, Place, RouteStep};
use crate::base::layout::{self, outputs};
use crate::base::text::yaml;
use crate::base::tree::files_below;
use crate::input::kustomize::Builds;
use crate::site::Site;
use crate::site::request::{Cluster, ClusterService};

/// Maximum size of a ConfigMap: 1 MiB.
const MOST_BYTES: usize = 1024 * 1024;

/// Checks kustomizations rendered from templates. Directories without `new_files` were checked when
/// they were written.
pub(super) fn check(
    site: &Site,
    tree: &Tree,
    new_files: &HashSet<&str>,
    templates: &Templates,
) -> Vec<Finding> {
    let from_template = |path: &Utf8Path| {
        path.file_name() == Some(layout::KUSTOMIZATION) && !path.starts_with(layout::HOSTS)
    };
    let is_checked =
        |path: &Utf8Path| from_template(path) && is_changed(site, tree, new_files, path);
    let kustomizations = tree.par_iter().filter(|(path, _)| is_checked(path));
    let misfits = kustomizations.clone().filter_map(|(path, text)| {
        let kustomization: Kustomization = yaml::from_str(text).ok()?;
        Some(misfits(site, tree, templates, path, &kustomization))
    });
    let misfits: Vec<Finding> = misfits.flatten().collect();
    if !misfits.is_empty() {
        return misfits;
    }
    let changed = kustomizations.map(|(path, _)| &**path);
    let changed = changed.chain(new_files.par_iter().map(|path| Utf8Path::new(*path)));
    let own = changed.filter(|path| templates.own_of(path).is_some()).collect();
    unbuildable(site, tree, templates, own)
}

/// Reports builds with files of the repo's own templates that kustomize would refuse.
fn unbuildable(
    site: &Site,
    tree: &Tree,
    templates: &Templates,
    own: BTreeSet<&Utf8Path>,
) -> Vec<Finding> {
    if own.is_empty() {
        return Vec::new();
    }
    let clusters: BTreeSet<_> = own.iter().filter_map(|path| layout::cluster_of(path)).collect();
    let is_read = |path: &Utf8Path| {
        let cluster = layout::cluster_of(path);
        !path.starts_with(layout::HOSTS) && cluster.is_none_or(|it| clusters.contains(&it))
    };
    let files = tree.iter().filter(|(path, _)| is_read(path));
    let files = files.map(|(path, text)| (path.to_path_buf(), text.clone())).collect();
    let refused =
        Builds::refused(files, |directory| own.iter().any(|path| path.starts_with(directory)));
    let finding = |(directory, why): (Utf8PathBuf, String)| {
        let shown = site.settings.output.join(&directory);
        let message = format!("what would be {shown} cannot be built by kustomize: {why}");
        let finding = Finding::new(Code::InvalidManifest, message).help("correct the template");
        let below = own.iter().filter(|path| path.starts_with(&directory));
        let sources: BTreeSet<_> = below.filter_map(|path| templates.own_of(path)).collect();
        let finding = finding.at_each(sources.into_iter().map(|it| Place::File(it.clone())));
        finding.for_clusters(&layout::cluster_of(&directory.join(layout::KUSTOMIZATION)))
    };
    refused.into_iter().map(finding).collect()
}

/// Returns whether the directory of a kustomization has other files or texts than on the disk.
fn is_changed(site: &Site, tree: &Tree, new_files: &HashSet<&str>, path: &Utf8Path) -> bool {
    let (Some(cluster), Some(directory)) = (layout::cluster_of(path), path.parent()) else {
        return true;
    };
    let start = format!("{directory}/");
    let files = site.state.files.get(&cluster).into_iter().flatten();
    let before = files.filter(|file| file.as_str().starts_with(&start)).count();
    let mut now = files_below(tree, directory);
    // A removed file changes the directory as well.
    now.clone().count() != before || now.any(|(file, _)| new_files.contains(file.as_str()))
}

fn misfits(
    site: &Site,
    tree: &Tree,
    templates: &Templates,
    path: &Utf8Path,
    kustomization: &Kustomization,
) -> Vec<Finding> {
    let directory = path.parent().unwrap_or(path);
    let service = service_of(site, path);
    let part = outputs::part_of(path).map(|(part, _)| part);
    let output = part.filter(|part| site.settings.outputs.iter().any(|it| it.name == *part));
    let is_own_shared = |shared: &Utf8Path| {
        let own = |name: &str| layout::shared_directory(&outputs::template_directory(name), "");
        output.is_none_or(|name| shared.starts_with(own(name)))
    };
    let Kustomization { resources, components, transformers, .. } = kustomization;
    let generators = || kustomization.config_map_generator.iter().flatten();
    let lists = [resources, components, transformers].into_iter().flatten().flatten();
    let listed = lists.map(String::as_str).chain(generators().flat_map(|it| it.paths()));
    let has_hosts = |entry| site.has_hosts_at(&site.settings.output.join(directory), entry);
    let missing = listed.filter(|entry| {
        let target = match layout::shared_directory_of(path, entry) {
            Some(shared) if is_own_shared(&shared) => shared,
            // A file elsewhere would have two owners, and each would delete it.
            _ if output.is_some() && is_elsewhere(entry) => return true,
            // Other entries outside are the repo's own. Hosts have an overlay of theirs.
            None if entry.starts_with("..") => return has_hosts(entry),
            _ => path_of(directory, entry),
        };
        !tree.contains_key(target.as_str()) && files_below(tree, &target).next().is_none()
    });
    let mut found: Vec<Finding> = missing
        .map(|entry| {
            let file = site.settings.output.join(path);
            let (why, help) = match has_hosts(entry) {
                true => ("has hosts", "remove the entry: hosts are applied once, with their labels"),
                false => (
                    "no template renders",
                    "a template that renders nothing makes no file: remove the entry, or render something",
                ),
            };
            let message = format!("what would be {file} lists {entry}, which {why}");
            let finding = Finding::new(Code::InvalidManifest, message).help(help);
            let own = templates.own_of(&directory.join(entry)).or_else(|| templates.own_of(path));
            let place = service.map(|(cluster, service)| cluster.origin.at(service.route()));
            match own {
                Some(own) => finding
                    .at(Place::File(own.clone()))
                    .see_each(place.map(|place| (place, "the service"))),
                None => finding.at_each(place),
            }
        })
        .collect();
    for generator in generators() {
        let mut bytes = read_bytes(tree, directory, generator);
        if generator.behavior.as_deref() == Some("merge") {
            bytes += shared_bytes(tree, path, kustomization, &generator.name);
        }
        if bytes > MOST_BYTES {
            let name = generator.name.as_deref().unwrap_or_default();
            let finding = too_large(name, bytes, service);
            found.push(if output.is_some() { templates.at_own(finding, path) } else { finding });
        }
    }
    let clusters = layout::cluster_of(path);
    found.into_iter().map(|finding| finding.for_clusters(&clusters)).collect()
}

/// Returns the size of what shared files put into a ConfigMap.
fn shared_bytes(
    tree: &Tree,
    path: &Utf8Path,
    kustomization: &Kustomization,
    name: &Option<String>,
) -> usize {
    let sizes = kustomization.resources.iter().flatten().filter_map(|entry| {
        let directory = layout::shared_directory_of(path, entry)?;
        let text = tree.get(directory.join(layout::KUSTOMIZATION).as_str())?;
        let kustomization: Kustomization = yaml::from_str(text).ok()?;
        let generators = kustomization.config_map_generator.iter().flatten();
        let same = generators.filter(|generator| generator.name == *name);
        Some(same.map(|generator| read_bytes(tree, &directory, generator)).sum::<usize>())
    });
    sizes.sum()
}

/// Returns the size of the rendered files that a generator in a directory reads.
fn read_bytes(tree: &Tree, directory: &Utf8Path, generator: &KustomizeGenerator) -> usize {
    let texts = generator.paths().filter_map(|file| tree.get(path_of(directory, file).as_str()));
    texts.map(String::len).sum()
}

/// Returns the path of an entry of the kustomization in a directory, such as `./haproxy.cfg`.
fn path_of(directory: &Utf8Path, entry: &str) -> Utf8PathBuf {
    directory.join(entry).components().collect()
}

/// Reports a ConfigMap that is too large.
fn too_large(name: &str, bytes: usize, service: Option<(&Cluster, &ClusterService)>) -> Finding {
    let message =
        format!("the ConfigMap {name} would have {bytes} bytes; the limit is {MOST_BYTES}");
    let finding = Finding::new(Code::InvalidManifest, message);
    let Some((cluster, service)) = service else { return finding };
    let mut place = service.route();
    let advice = &service.kind.too_large;
    place.extend(advice.field.as_deref().map(RouteStep::from));
    finding.at(cluster.origin.at(place)).help(&advice.help)
}

/// Returns whether an entry of a kustomization leaves its directory.
fn is_elsewhere(entry: &str) -> bool {
    let mut parts = Utf8Path::new(entry).components();
    parts.any(|part| !matches!(part, Utf8Component::Normal(_) | Utf8Component::CurDir))
}

/// Returns the service of an output file.
fn service_of<'a>(site: &'a Site, path: &Utf8Path) -> Option<(&'a Cluster, &'a ClusterService)> {
    let key = layout::cluster_of(path)?;
    let cluster = site.valid_cluster(&key)?;
    Some((cluster, cluster.services.iter().find(|service| path.starts_with(service.path(&key)))?))
}
