//! The last check of rendered patches: each finds its host in the build, and gives it exactly what
//! the plan says. Nothing else in the build changes.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use camino::Utf8Path;
use serde::Deserialize;

use super::Tree;
use super::hosts::{Labels, assigned_by_part, declared_annotations, released_labels};
use super::patched_names::{written_name, written_namespace};
use crate::api::host;
use crate::api::kustomization::{Kustomization, Patch};
use crate::finding::{Code, Finding, Place};
use crate::inventory::{Evidence, Host};
use crate::kustomize::{Root, Targets};
use crate::layout;
use crate::load::texts_of_documents;
use crate::plan::Plan;
use crate::settings::gitops::Form;
use crate::site::Site;
use crate::text::yaml;

/// A patch that gives a host labels and annotations, and nothing else.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct HostPatch {
    api_version: String,
    kind: String,
    metadata: PatchMetadata,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PatchMetadata {
    name: String,
    namespace: Option<String>,
    #[serde(default)]
    labels: Labels,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

/// A declared host whose patch is rendered.
pub(crate) struct PlannedHost<'a> {
    pub(crate) host: &'a Host,
    /// Its labels. Those without a value are removed.
    pub(crate) labels: Labels,
    /// Its name and namespace in the build that the patch is part of.
    pub(crate) named: (String, Option<String>),
    /// The name of the file with its patch.
    file: String,
    /// Its guards.
    pub(crate) annotations: BTreeMap<&'static str, String>,
}

/// Planned hosts by their names.
type Planned<'a> = HashMap<(String, Option<String>), PlannedHost<'a>>;

/// A difference between the patches and the plan, with its host.
type Difference<'a> = (String, Option<&'a Host>);

/// Compares the rendered patches of declared hosts with the plan. `kept` are files that stay as
/// they are on the disk.
pub(super) fn check(site: &Site, plan: &Plan, tree: &Tree, kept: &BTreeSet<&str>) -> Vec<Finding> {
    let mut planned = planned_hosts(site, plan);
    let roots = site.inventory.roots.iter();
    let check = |(index, root): (&usize, &Root)| {
        let directory = layout::declared_directory(&root.directory);
        let overlay = site.settings.output.join(&directory);
        let component = (site.settings.hosts.form == Form::Component).then_some(&*overlay);
        let files = Patches {
            directory: &directory,
            tree,
            kept,
            targets: site.patch_targets.of(*index, component),
        };
        let planned = planned.remove(index).unwrap_or_default().into_iter();
        let planned = planned.map(|planned| (planned.named.clone(), planned));
        let base = component.is_none().then_some((&*overlay, &*root.directory));
        let (why, host) = files.difference(base, planned.collect())?;
        let place = host.map_or(Place::File(overlay.as_path().into()), |host| {
            host.origin.name()
        });
        Some(
            Finding::new(
                Code::PatchesDiffer,
                format!("the patches in `{overlay}` would not build as planned: {why}"),
            )
            .at(place)
            .help(
                "give each host of a build a name that no other host of it had before a patch, \
                 `namePrefix` or `nameSuffix`",
            ),
        )
    };
    roots.filter_map(check).collect()
}

/// Returns the declared hosts whose patches are rendered, by root.
pub(crate) fn planned_hosts<'a>(
    site: &'a Site,
    plan: &'a Plan,
) -> BTreeMap<usize, Vec<PlannedHost<'a>>> {
    let mut planned: BTreeMap<usize, Vec<PlannedHost<'_>>> = BTreeMap::new();
    let mut add = |host: &'a Host, labels: Labels, file: &str| {
        if let Evidence::Applied { root } = host.evidence {
            let named = (
                written_name(site, host).to_owned(),
                written_namespace(site, host).map(str::to_owned),
            );
            planned.entry(root).or_default().push(PlannedHost {
                host,
                labels,
                named,
                file: file.to_owned(),
                annotations: declared_annotations(site, host),
            });
        }
    };
    for (key, placement) in &plan.clusters {
        let cluster = site.clusters.get(key).and_then(|it| it.cluster.as_ref());
        let Some(cluster) = cluster else { continue };
        let file = layout::patch_file(key);
        for (part, host, of_part) in assigned_by_part(site, cluster, placement) {
            add(host, of_part.declared_labels_of(cluster, part, host), &file);
        }
    }
    for host in plan
        .unlabelled
        .iter()
        .filter_map(|key| site.inventory.host(key))
    {
        add(host, released_labels(host), layout::UNLABELLED);
    }
    planned
}

/// Returns whether a path leads from a directory up to the repo's root, and from there down to
/// another directory, whatever characters its name has.
fn leads_to(directory: &Utf8Path, path: &str, target: &Utf8Path) -> bool {
    let mut rest = Utf8Path::new(path);
    let is_up = directory.iter().all(|_| {
        let below = rest.strip_prefix("..");
        below.map(|below| rest = below).is_ok()
    });
    is_up && rest == target
}

/// The rendered files of a root.
struct Patches<'a> {
    directory: &'a Utf8Path,
    tree: &'a Tree,
    kept: &'a BTreeSet<&'a str>,
    /// The objects of the builds that apply the patches.
    targets: Vec<&'a Targets>,
}

impl Patches<'_> {
    /// Returns the first difference from the plan. `base` are the overlay and the directory that it
    /// is based on.
    fn difference<'h>(
        &self,
        base: Option<(&Utf8Path, &Utf8Path)>,
        mut planned: Planned<'h>,
    ) -> Option<Difference<'h>> {
        let file = self.directory.join(layout::KUSTOMIZATION);
        let text = self.tree.get(file.as_str())?;
        let only = |why: &str| Some((why.to_owned(), None));
        let Ok(kustomization) = yaml::from_str::<Kustomization>(text) else {
            return only("its kustomization.yaml cannot be parsed");
        };
        if let Some((overlay, root)) = base {
            let resources = kustomization.resources.as_deref().unwrap_or_default();
            if !matches!(resources, [only] if leads_to(overlay, only, root)) {
                return only("it is not based on the hosts of the repo");
            }
        }
        for patch in kustomization.patches.iter().flatten() {
            let Patch::Entry { path, target, .. } = patch else {
                return only("it has a patch of another form");
            };
            let Some(path) = path else {
                // Guards of Secrets have a target.
                if target.as_ref().and_then(|target| target.kind.as_deref()) == Some("Secret") {
                    continue;
                }
                return only("it has a patch for more than Secrets");
            };
            let name = path;
            let path = self.directory.join(name);
            let Some(text) = self.tree.get(path.as_str()) else {
                if !self.kept.contains(path.as_str()) {
                    return Some((format!("`{path}` is missing"), None));
                }
                // The file of a cluster that is up to date equals what would be rendered.
                for (_, planned) in planned.extract_if(|_, planned| planned.file == *name) {
                    let (name, namespace) = &planned.named;
                    let difference =
                        self.missed(planned.host, host::API_VERSION, name, namespace.as_deref());
                    if difference.is_some() {
                        return difference;
                    }
                }
                continue;
            };
            for document in texts_of_documents(text) {
                let Ok(patch) = yaml::from_str::<HostPatch>(document) else {
                    return Some((format!("a patch in `{path}` is not one of a host"), None));
                };
                if let Some(difference) = self.difference_of(patch, &mut planned) {
                    return Some(difference);
                }
            }
        }
        let lost = planned.into_values().map(|planned| planned.host);
        let lost = lost.min_by_key(|host| &host.key)?;
        Some((format!("`{}` has no patch", lost.key), Some(lost)))
    }

    /// Returns how a patch differs from the plan, and removes its host from the planned ones.
    fn difference_of<'h>(
        &self,
        patch: HostPatch,
        planned: &mut Planned<'h>,
    ) -> Option<Difference<'h>> {
        let HostPatch {
            api_version,
            kind,
            metadata,
        } = patch;
        let named = (metadata.name, metadata.namespace);
        let Some(planned) = planned.remove(&named) else {
            let why = format!("`{}` has a patch that is not planned", named.0);
            return Some((why, None));
        };
        let PlannedHost {
            host,
            labels,
            annotations,
            ..
        } = planned;
        if kind != host::KIND {
            return Some((
                format!("`{}` has a patch of another kind", host.key),
                Some(host),
            ));
        }
        let missed = self.missed(host, &api_version, &named.0, named.1.as_deref());
        if missed.is_some() {
            return missed;
        }
        let are_same = metadata.annotations.len() == annotations.len()
            && annotations
                .iter()
                .all(|(key, value)| metadata.annotations.get(*key) == Some(value));
        (metadata.labels != labels || !are_same).then(|| {
            let why = format!(
                "the patch of `{}` has other labels or annotations",
                host.key
            );
            (why, Some(host))
        })
    }

    /// Returns the difference if the patch of a host does not match exactly one.
    fn missed<'h>(
        &self,
        host: &'h Host,
        api_version: &str,
        name: &str,
        namespace: Option<&str>,
    ) -> Option<Difference<'h>> {
        let counts = self
            .targets
            .iter()
            .map(|targets| targets.count(api_version, host::KIND, name, namespace));
        counts.into_iter().find(|count| *count != 1).map(|count| {
            let why = format!(
                "the patch of `{}` matches {count} hosts by their names or former names",
                host.key
            );
            (why, Some(host))
        })
    }
}
