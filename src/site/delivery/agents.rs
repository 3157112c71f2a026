//! Agents' objects of a site, and the builds that they make agents apply.

use std::collections::{BTreeSet, HashMap, HashSet};

use camino::{Utf8Path, Utf8PathBuf};

use super::agent_objects::{AgentContext, AgentObject, AgentObjectContent};
use super::applied::{AppliedDirectory, PlainDirectory};
use super::directories::directories;
use super::reached::{Overlays, ReachedContent, added_components};
use super::repo::{DeliveryRepo, RepoListing, shown};
use crate::base::api::host;
use crate::base::api::names::HostKey;
use crate::base::finding::{Code, Finding, Origin, Place};
use crate::base::grouping::grouped;
use crate::input::kustomize::Builds;
use crate::input::load::Files;
use crate::input::settings::Settings;
use crate::site::inventory::Inventory;

/// Agents' objects of a repo, by the settings of a site.
pub(crate) struct Agents {
    pub(super) context: AgentContext,
    pub(crate) applied: Vec<AppliedDirectory>,
    /// Places of objects that cannot be read, with their kinds.
    unreadable: Vec<(Place, &'static str)>,
}

/// A directory of which a program that sipgen does not run makes objects.
pub(crate) struct RenderedDirectory {
    /// Directory, relative to the repo's root.
    pub(crate) directory: Utf8PathBuf,
    /// The agent's object and the program: "HelmRelease flux-system/hosts, by Helm".
    pub(crate) by: String,
    /// Extension of the files that the program reads, if the agent applies the others as they are.
    extension: Option<&'static str>,
    place: Place,
}

impl RenderedDirectory {
    /// Returns whether the program reads a file.
    pub(crate) fn has(&self, file: &Utf8Path) -> bool {
        file.starts_with(&self.directory)
            && (self.extension.is_none() || file.extension() == self.extension)
    }
}

/// Builds that agents' objects apply.
#[derive(Default)]
pub(crate) struct AppliedBuilds {
    /// Files that they render, by the root that the directory of the build is a part of.
    files: HashMap<usize, HashSet<Utf8PathBuf>>,
    /// Roots whose overlays are applied.
    overlays: BTreeSet<usize>,
}

impl AppliedBuilds {
    fn new<'r>(builds: &Builds, all_reached: impl Iterator<Item = &'r ReachedContent<'r>>) -> Self {
        let mut all_reached = all_reached.peekable();
        let mut all = Self::default();
        if all_reached.peek().is_none() {
            return all;
        }
        let roots = builds.roots().enumerate();
        let roots_around = grouped(roots.flat_map(|(index, root)| {
            let directories = builds.made_of(&root.directory).into_iter();
            directories.map(move |directory| (directory, index))
        }));
        for reached in all_reached {
            all.overlays.extend(&reached.overlays);
            for top in &reached.tops {
                for root in roots_around.get(*top).into_iter().flatten() {
                    let files = all.files.entry(*root).or_default();
                    files.extend(builds.below(top).into_keys());
                }
            }
        }
        all
    }

    /// Returns the builds that objects apply to clusters other than the site's base cluster.
    pub(crate) fn elsewhere(builds: &Builds, all_reached: &[ReachedContent<'_>]) -> Self {
        let is_elsewhere = |reached: &&ReachedContent<'_>| reached.applied.is_elsewhere();
        Self::new(builds, all_reached.iter().filter(is_elsewhere))
    }

    /// Returns whether an applied build renders a file of a root.
    pub(crate) fn has(&self, root: usize, file: &Utf8Path) -> bool {
        let has_file = |files: &HashSet<Utf8PathBuf>| files.contains(file);
        self.overlays.contains(&root) || self.files.get(&root).is_some_and(has_file)
    }
}

impl Agents {
    /// Finds the directories that objects make agents apply.
    pub(crate) fn new(
        files: &Files,
        settings: &Settings,
        builds: &Builds,
        objects: Vec<AgentObject>,
        listing: &RepoListing,
    ) -> Self {
        let unreadable = objects.iter().filter_map(|object| match object.content {
            AgentObjectContent::Unreadable(kind) => {
                Some((Place::File(object.origin.file.clone()), kind))
            }
            _ => None,
        });
        let unreadable = unreadable.collect();
        let (context, inventory) = (AgentContext::new(&objects, builds), Inventory::default());
        let repo = DeliveryRepo::new(files, settings, &inventory, builds, &context, listing);
        let applied = directories(&repo, objects);
        Self { applied, context, unreadable }
    }

    /// Returns whether an agent applies a file to the site without a build.
    pub(crate) fn apply_plainly(&self, builds: &Builds, file: &Utf8Path) -> bool {
        self.applied.iter().any(|it| it.is_of_site() && it.applies_plainly(builds, file))
    }

    /// Returns what the objects reach, in their order. `documents` are all documents of hosts.
    pub(crate) fn reached<'a>(
        &'a self,
        files: &'a Files,
        settings: &'a Settings,
        builds: &'a Builds,
        documents: &'a [(HostKey, Origin)],
    ) -> Vec<ReachedContent<'a>> {
        let inventory = Inventory::default();
        let listing = RepoListing::default();
        let mut repo =
            DeliveryRepo::new(files, settings, &inventory, builds, &self.context, &listing);
        repo.added = added_components(&repo, &self.applied);
        let overlays = Overlays::new(&repo);
        let applied = self.applied.iter();
        applied.map(|applied| ReachedContent::new(builds, documents, &overlays, applied)).collect()
    }
}

/// Returns the builds of the site that agents apply, and the directories of which other programs
/// make objects.
pub(crate) fn applied_builds(
    builds: &Builds,
    all_reached: &[ReachedContent<'_>],
) -> (AppliedBuilds, Vec<RenderedDirectory>) {
    let site_reached = || all_reached.iter().filter(|reached| reached.applied.is_of_site());
    let mut rendered = Vec::new();
    for reached in site_reached() {
        let applied = reached.applied;
        let mut render = |directory: Utf8PathBuf, program: &str, extension| {
            rendered.push(RenderedDirectory {
                directory,
                extension,
                by: format!("{}, by {program}", applied.by),
                place: applied.place.clone(),
            });
        };
        match applied.plain {
            PlainDirectory::Rendered(program) => render(applied.directory.clone(), program, None),
            PlainDirectory::Files(_) if !applied.is_build(builds) => {
                render(applied.directory.clone(), "Jsonnet", Some("jsonnet"));
            }
            PlainDirectory::Files(_) | PlainDirectory::Autodetect(_) => {}
        }
        let charts = reached.kustomizations.iter();
        let inflates = |directory: &Utf8Path| {
            builds.made_elsewhere(directory).any(|field| field.starts_with("helm"))
        };
        for directory in charts.filter(|directory| inflates(directory)) {
            render(directory.join(CHART_HOME), "Helm", None);
        }
    }
    (AppliedBuilds::new(builds, site_reached()), rendered)
}

impl Agents {
    /// Warns about objects that cannot be read, and about hosts that only another program can
    /// render.
    pub(crate) fn unread(&self, files: &Files, rendered: &[RenderedDirectory]) -> Vec<Finding> {
        let mut findings = Vec::new();
        for rendered in rendered {
            let (directory, by) = (&rendered.directory, &rendered.by);
            let mentions_host = |file: &&Utf8PathBuf| {
                let text = rendered.has(file).then(|| files.text(file)).flatten();
                text.is_some_and(|text| text.contains(host::KIND))
            };
            let below = files.files_below(directory).unwrap_or_default();
            if let Some(file) = below.iter().find(mentions_host) {
                let message = format!(
                    "the BareMetalHosts that {by}, makes of {} are unknown",
                    shown(directory)
                );
                let finding = Finding::new(Code::DirectoryUnread, message)
                    .at(rendered.place.clone())
                    .see(Place::File(file.as_path().into()), "a BareMetalHost of it");
                findings.push(finding.help(
                    "take snapshots with `sipgen snapshot` or `kubectl get --show-managed-fields`: they tell which \
                     hosts the agent applies",
                ));
            }
        }
        let directory = |place: &'_ Place| place.file().parent().map(Utf8Path::to_owned);
        let unreadable = self.unreadable.iter();
        let directories = grouped(unreadable.map(|object| (directory(&object.0), object)));
        findings.extend(directories.into_iter().filter_map(|(directory, objects)| {
            let (_, kind) = objects.first()?;
            let message = format!(
                "what the {kind} in {} makes an agent apply is unknown: it cannot be read, or has templates, patches or values of other objects",
                shown(&directory.unwrap_or_default())
            );
            let finding = Finding::new(Code::DirectoryUnread, message);
            let places = objects.iter().map(|(place, _)| place.clone());
            Some(finding.at_each(places).help(
                "write the object without them; if it applies no hosts of this repo, mute this warning",
            ))
        }));
        findings
    }
}

/// Default directory of charts, beside a kustomization with `helmCharts`.
const CHART_HOME: &str = "charts";
