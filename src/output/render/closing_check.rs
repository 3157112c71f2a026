//! The last check of rendered patches: each build is evaluated with them and compared with the plan.
//! Each planned host gets exactly its labels and guards, and nothing else in the build changes.

use std::collections::{BTreeSet, HashMap};

use camino::Utf8PathBuf;
use serde::Deserialize;

use super::Tree;
use super::object_difference::AllowedChanges;
use super::planned_hosts::{HostsByDirectory, PlannedHost};
use crate::base::api::kustomization::Patch;
use crate::base::finding::{Code, Finding, Place};
use crate::base::layout;
use crate::base::text::yaml;
use crate::input::kustomize::{BuildRoot, OverlayBase, OverlayBuild, PatchFile};
use crate::input::settings::gitops::HostsForm;
use crate::plan::Plan;
use crate::site::Site;
use crate::site::inventory::Host;

/// The fields of a kustomization that sipgen writes for hosts.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct OverlayKustomization {
    #[serde(rename = "apiVersion")]
    _api_version: String,
    #[serde(rename = "kind")]
    _kind: String,
    #[serde(default)]
    resources: Vec<String>,
    #[serde(default)]
    patches: Vec<Patch>,
}

const NAME_HELP: &str = "give each host of a build a name that no other host of it had before a patch, \
                         `namePrefix` or `nameSuffix`";
const VALUE_HELP: &str = "write the value in the manifest: kustomize makes a text of a value that a \
                          replacement adds, if a later patch changes its object";

/// Compares the builds of declared hosts with the plan. `kept` are files that stay as they are on
/// the disk.
pub(super) fn check(
    site: &Site,
    plan: &Plan,
    all_planned: &HostsByDirectory<'_>,
    tree: &Tree,
    kept: &BTreeSet<&str>,
) -> Vec<Finding> {
    let allowed = &AllowedChanges::new(site, plan);
    let roots = site.inventory.roots.iter();
    let check = |(index, root): (&usize, &BuildRoot)| {
        let directory = layout::declared_directory(&root.directory);
        let planned = all_planned.get(&directory).map_or(&[][..], Vec::as_slice);
        let overlay = site.settings.output.join(&directory);
        let files = RenderedPatches { site, allowed, overlay, directory, tree, kept };
        files.compare(*index, root, planned).err().map(|finding| *finding)
    };
    roots.filter_map(check).collect()
}

/// The rendered files of a root.
struct RenderedPatches<'a> {
    site: &'a Site,
    allowed: &'a AllowedChanges,
    overlay: Utf8PathBuf,
    directory: Utf8PathBuf,
    tree: &'a Tree,
    kept: &'a BTreeSet<&'a str>,
}

impl RenderedPatches<'_> {
    fn finding(&self, why: &str, host: Option<&Host>, help: &str) -> Box<Finding> {
        let overlay = self.overlay.as_path();
        let place = host.map_or(Place::File(overlay.into()), |host| host.origin.name());
        let message = format!("the patches in `{overlay}` would not build as planned: {why}");
        Box::new(Finding::new(Code::PatchesDiffer, message).at(place).help(help))
    }

    /// Compares with the plan. The error is the first difference.
    fn compare(
        &self,
        index: usize,
        root: &BuildRoot,
        planned: &[PlannedHost<'_>],
    ) -> Result<(), Box<Finding>> {
        let file = self.directory.join(self.site.settings.hosts.form.file_name());
        let Some(text) = self.tree.get(file.as_str()) else { return Ok(()) };
        let differs = |why: &str| self.finding(why, None, NAME_HELP);
        let kustomization: OverlayKustomization =
            yaml::from_str(text).map_err(|_| differs("its kustomization.yaml has other fields"))?;
        let is_overlay = self.site.settings.hosts.form == HostsForm::Overlay;
        let is_based = match kustomization.resources.as_slice() {
            [] => !is_overlay,
            [path] => is_overlay && *path == layout::reference_from(&self.overlay, &root.directory),
            _ => false,
        };
        if !is_based {
            return Err(differs("it is not based on the hosts of the repo"));
        }
        let component = (!is_overlay).then_some(self.overlay.as_path());
        let bases = self.site.overlay_bases.for_root(index, component);
        let compare =
            |base: &OverlayBase| self.compare_build(base.build(), &kustomization, planned);
        if bases.is_empty() {
            // Kustomizations outside of the inputs are not evaluated, and a component may not be
            // listed yet.
            let hosts = planned.iter().map(|planned| (planned.host.origin.clone(), planned.id()));
            return compare(&OverlayBase::with_ids(hosts));
        }
        bases.into_iter().try_for_each(compare)
    }

    /// Evaluates a build with the patches, and compares it with the plan.
    fn compare_build(
        &self,
        mut build: OverlayBuild<'_>,
        kustomization: &OverlayKustomization,
        planned: &[PlannedHost<'_>],
    ) -> Result<(), Box<Finding>> {
        let mut by_position = HashMap::with_capacity(planned.len());
        for planned in planned {
            let host = planned.host;
            let position = build.host(planned.name, planned.namespace).map_err(|count| {
                let key = &host.key;
                let why = format!(
                    "the patch of `{key}` matches {count} hosts by their names or former names"
                );
                self.finding(&why, Some(host), NAME_HELP)
            })?;
            build.add_known_labels(position, planned.removed_labels());
            by_position.insert(position, planned);
        }
        let file = |name: &str| self.patch_file(name, planned);
        build
            .apply(&kustomization.patches, file, &self.overlay)
            .map_err(|problem| self.finding(&problem.to_string(), None, NAME_HELP))?;
        for (position, (before, after)) in build.objects().enumerate() {
            let planned = by_position.get(&position);
            let named = || {
                let text = |key: &str| before.value.get("metadata")?.get(key)?.as_str();
                text("name").unwrap_or_default().to_owned()
            };
            let difference = match planned {
                _ if after.is_deleted => Some(format!("a patch deletes `{}`", named())),
                Some(planned) => planned
                    .difference(&before.value, &after.value)
                    .map(|what| format!("`{}` would have {what}", planned.host.key)),
                None => self
                    .allowed
                    .changed_field(&before.value, &after.value)
                    .map(|field| format!("`{}` would have another value of `{field}`", named())),
            };
            let difference = difference.or_else(|| {
                let is_right = after.has_only_new_metadata();
                (!is_right).then(|| format!("a patch changes more of `{}` than planned", named()))
            });
            if let Some(why) = difference {
                let host = planned.map(|planned| planned.host);
                return Err(self.finding(&why, host, VALUE_HELP));
            }
        }
        Ok(())
    }

    /// Returns the patches in a file. One that stays on the disk is that of a cluster that is up to
    /// date, so it equals what would be rendered, or that of a frozen cluster, whose hosts are not
    /// planned.
    fn patch_file(&self, name: &str, planned: &[PlannedHost<'_>]) -> Option<PatchFile<'_>> {
        let path = self.directory.join(name);
        if let Some(text) = self.tree.get(path.as_str()) {
            return Some(PatchFile::Text(text));
        }
        let patches = planned.iter().filter(|planned| planned.file == name).map(PlannedHost::patch);
        let is_kept = self.kept.contains(path.as_str());
        is_kept.then(|| PatchFile::Known(patches.collect()))
    }
}
