//! Changes that Flux and Argo CD make to a build: the fields of their objects act like a further
//! kustomization, and Flux also changes what was built.

use std::collections::BTreeMap;
use std::mem;

use camino::{Utf8Path, Utf8PathBuf};
use yaml_serde::Value;

use super::object::BuildObject;
use super::{
    BuildEvaluation, BuildObjects, BuildResult, EvaluationError, FailureAt, SubstitutionVariables,
};
use crate::base::api::kustomization::Kustomization;
use crate::base::finding::{Origin, Place};
use crate::input::kustomize::{BuildNode, Builds, join};

/// The changes of an agent's object to what it builds.
#[derive(Debug, Clone)]
pub(crate) struct AgentBuild {
    /// The object.
    pub(crate) by: String,
    /// Place of its fields.
    place: Place,
    /// Another object that applies the same build, with its place.
    other: Option<(String, Place)>,
    /// Set if two objects that apply the build give it different names.
    has_other_names: bool,
    /// Fields that are those of a kustomization.
    node: BuildNode,
    /// Set if the object applies a kustomization that lists the root, such as the overlay of its
    /// hosts.
    is_above_root: bool,
    /// Labels and annotations that Flux sets after the build, with their places.
    common_metadata: Vec<(&'static str, String, String, Place)>,
    pub(crate) variables: Option<SubstitutionVariables>,
    /// The reason why only the agent knows the result.
    unknown: Option<(String, Place)>,
}

impl AgentBuild {
    /// Returns the changes by fields of a kustomization, which are at a place, or the reason why they
    /// are unknown. Routes in `origin` are those of a kustomization.
    pub(crate) fn new(
        by: String,
        origin: Origin,
        directory: Utf8PathBuf,
        kustomization: Result<Kustomization, String>,
        place: Place,
    ) -> Self {
        let unknown = kustomization.as_ref().err().map(|reason| (reason.clone(), place.clone()));
        let kustomization = kustomization.unwrap_or_default();
        let (resources, components) = (Vec::new(), Vec::new());
        AgentBuild {
            by,
            place,
            other: None,
            has_other_names: false,
            node: BuildNode { origin, directory, kustomization, resources, components },
            is_above_root: false,
            common_metadata: Vec::new(),
            variables: None,
            unknown,
        }
    }

    /// Adds the labels and annotations of `spec.commonMetadata`, which are set after the build.
    pub(crate) fn set_common_metadata(&mut self, metadata: &Value) {
        let origin = self.written_origin();
        for field in ["labels", "annotations"] {
            let entries = metadata.get(field).cloned().unwrap_or_default();
            match yaml_serde::from_value::<Option<BTreeMap<String, String>>>(entries) {
                Ok(entries) => {
                    for (key, value) in entries.into_iter().flatten() {
                        let place = origin.at(["spec", "commonMetadata", field, &key]);
                        self.common_metadata.push((field, key, value, place));
                    }
                }
                Err(error) => {
                    let place = origin.at(["spec", "commonMetadata"]);
                    self.unknown.get_or_insert((error.to_string(), place));
                }
            }
        }
    }

    /// Returns the changes to a root's build, or to that of a kustomization above it which the object
    /// applies.
    pub(crate) fn for_root(&self, is_above_root: bool) -> Self {
        AgentBuild { is_above_root, ..self.clone() }
    }

    /// Returns the directory that the object applies.
    pub(crate) fn directory(&self) -> &Utf8PathBuf {
        &self.node.directory
    }

    /// Returns the position of the object, as it is written.
    pub(crate) fn written_origin(&self) -> Origin {
        self.node.origin.as_written()
    }

    /// Returns the object with its file.
    pub(super) fn source(&self) -> (&str, &Utf8Path) {
        (&self.by, &self.node.origin.file)
    }

    /// Returns the place of the object.
    pub(crate) fn place_of_object(&self) -> Place {
        self.node.origin.start()
    }

    /// Returns the changes to a directory's build among those by directory. Flux builds a directory
    /// without a kustomization from those below it.
    pub(crate) fn for_directory<'b>(
        all: &'b BTreeMap<Utf8PathBuf, AgentBuild>,
        builds: &Builds,
        directory: &Utf8Path,
    ) -> Option<&'b AgentBuild> {
        let mut above = directory.ancestors().skip(1);
        let autodetected =
            |above: &Utf8Path| all.get(above).filter(|build| build.autodetects(builds, above));
        all.get(directory).or_else(|| above.find_map(autodetected))
    }

    /// Returns the changes to builds without names, except in the builds that `keeps` selects and
    /// to which all objects give the same. Hosts are assigned under the names that the repo's own
    /// builds give them.
    pub(crate) fn without_names(
        all: &BTreeMap<Utf8PathBuf, AgentBuild>,
        keeps: impl Fn(&Utf8Path) -> bool,
    ) -> BTreeMap<Utf8PathBuf, AgentBuild> {
        let builds = all.iter().map(|(directory, build)| {
            let counts = build.sets_names() && keeps(directory);
            let is_kept = counts && !build.has_other_names;
            let mut kept = if is_kept { build.clone() } else { build.unnamed() };
            if let Some((other, place)) = build.other.as_ref().filter(|_| counts && !is_kept) {
                let reason = format!("{} and {other} give its objects different names", build.by);
                kept.unknown.get_or_insert((reason, place.clone()));
            }
            (directory.clone(), kept)
        });
        builds.filter(|(_, build)| !build.is_empty()).collect()
    }

    fn unnamed(&self) -> Self {
        let mut build = self.clone();
        let own = &mut build.node.kustomization;
        (own.namespace, own.name_prefix, own.name_suffix) = (None, None, None);
        build
    }

    /// Returns the components that the object adds to the build, each with its place.
    pub(crate) fn components(&self) -> impl Iterator<Item = (Utf8PathBuf, Place)> {
        let BuildNode { directory, kustomization, .. } = &self.node;
        let entries = self.node.listed_in("components", &kustomization.components);
        entries.filter_map(move |(place, entry)| Some((join(directory, entry)?, place)))
    }

    /// Returns whether it sets names or namespaces of all objects.
    pub(crate) fn sets_names(&self) -> bool {
        self.node.kustomization.sets_names()
    }

    /// Returns whether the object applies a directory itself, not through another kustomization.
    pub(crate) fn applies(&self, builds: &Builds, directory: &Utf8Path) -> bool {
        let applied = &self.node.directory;
        applied == directory || directory.starts_with(applied) && !builds.has_kustomization(applied)
    }

    /// Returns whether Flux builds a directory without a kustomization for the object.
    pub(crate) fn autodetects(&self, builds: &Builds, directory: &Utf8Path) -> bool {
        self.is_above_root && !builds.has_kustomization(directory)
    }

    /// Returns whether it changes nothing.
    pub(crate) fn is_empty(&self) -> bool {
        let own = &self.node.kustomization;
        !own.changes_objects()
            && !own.sets_names()
            && own.components.is_none()
            && self.common_metadata.is_empty()
            && self.variables.is_none()
            && self.unknown.is_none()
    }

    /// Joins the changes of two objects that apply one build, which often are for two clusters.
    pub(crate) fn joined(mut self, mut other: Self) -> Self {
        let place = other.place.clone();
        if other.sets_names() && !self.sets_names() {
            mem::swap(&mut self, &mut other);
        }
        let changes = |build: &Self| {
            let entries = build.common_metadata.iter();
            let entries: Vec<_> =
                entries.map(|(field, key, value, _)| (field, key, value)).collect();
            format!("{:?} {entries:?}", build.unnamed().node.kustomization)
        };
        if changes(&self) != changes(&other) {
            let reason = format!("{} and {} apply it with different changes", self.by, other.by);
            self.unknown.get_or_insert((reason, place.clone()));
        }
        let names = |build: &Self| {
            let own = &build.node.kustomization;
            [&own.namespace, &own.name_prefix, &own.name_suffix].map(Clone::clone)
        };
        self.has_other_names |= other.has_other_names || names(&self) != names(&other);
        self.unknown = self.unknown.or(other.unknown);
        self.is_above_root |= other.is_above_root;
        self.other = self.other.or(Some((other.by, place)));
        if self.variables.is_none() {
            mem::swap(&mut self.variables, &mut other.variables);
        }
        let others = other.variables.unwrap_or_default();
        self.variables = self.variables.map(|own| own.agreed(others));
        self
    }
}

impl<'a> BuildEvaluation<'a> {
    /// Returns the fields that an agent adds to the kustomization of a root itself.
    pub(super) fn added_by_agent(&self, directory: &Utf8Path) -> Option<&'a BuildNode> {
        let is_root = self.inside.len() == 1;
        let build = self.wanted.agents.get(directory).filter(|_| is_root)?;
        (!build.is_above_root).then_some(&build.node)
    }

    /// Applies the kustomization above a root that consists of an agent's fields.
    pub(super) fn apply_agent_above(
        &mut self,
        build: &AgentBuild,
        objects: &mut BuildObjects,
    ) -> BuildResult {
        if let Some((reason, place)) = &build.unknown {
            return Err(EvaluationError::Undetermined(reason.clone())).at(place);
        }
        if build.is_above_root {
            self.is_above_root = true;
            self.add_components(&build.node, objects)?;
            self.transform(&build.node, objects)?;
        }
        Ok(())
    }

    /// Applies the changes of Flux to built objects.
    pub(super) fn apply_flux(
        &self,
        directory: &Utf8PathBuf,
        objects: &mut [BuildObject],
    ) -> BuildResult {
        let Some(build) = self.wanted.agents.get(directory) else { return Ok(()) };
        if let Some(variables) = &build.variables {
            if let Some((name, place)) = variables.invalid_name() {
                let root = Place::File(self.builds.nodes[directory].origin.file.clone());
                let why = format!("`{name}` is no name of a variable");
                return Err(EvaluationError::Unapplied(why)).at(place.unwrap_or(&root));
            }
            for object in objects.iter_mut() {
                let start = object.origin.start();
                variables.replace_in(object, self.budget).at(&start)?;
                if let Some((other, place)) = &build.other
                    && self.is_vital(object)
                    && let Some(name) = variables.contested_in_id(&object.id())
                {
                    let why = format!("{} and {other} give `{name}` different values", build.by);
                    return Err(EvaluationError::Undetermined(why)).at(place);
                }
            }
            self.check_unique(objects).map_err(|failure| failure.by_flux())?;
        }
        for (field, key, value, place) in &build.common_metadata {
            self.set_all(objects, field, (key, value), place)?;
        }
        Ok(())
    }
}
