//! Changes that Flux and Argo CD make to a build: the fields of their objects act like a further
//! kustomization, and Flux also changes what was built.

use std::collections::BTreeMap;
use std::mem;

use camino::{Utf8Path, Utf8PathBuf};

use super::object::BuildObject;
use super::{
    BuildEvaluation, BuildObjects, BuildResult, EvaluationError, FailureAt, SubstitutionVariables,
};
use crate::base::api::kustomization::Kustomization;
use crate::base::finding::{Origin, Place};
use crate::input::kustomize::{Builds, KustomizationNode, join};

/// The changes of an agent's object to what it builds.
#[derive(Debug, Clone, Default)]
pub(crate) struct AgentBuild {
    /// The object.
    pub(crate) by: String,
    /// Another object that applies the same build, with its place.
    other: Option<(String, Place)>,
    /// Set if two objects that apply the build give it different names.
    has_other_names: bool,
    /// Fields that are those of a kustomization.
    kustomization: Option<KustomizationNode>,
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
    /// Returns the changes by fields of a kustomization. Routes in `origin` are those of one.
    pub(crate) fn new(
        by: &str,
        origin: &Origin,
        kustomization: Kustomization,
        directory: Utf8PathBuf,
        is_above_root: bool,
    ) -> Self {
        let node = KustomizationNode {
            origin: origin.clone(),
            directory,
            kustomization,
            resources: Vec::new(),
            components: Vec::new(),
        };
        let kustomization = Some(node);
        AgentBuild { by: by.to_owned(), kustomization, is_above_root, ..Self::default() }
    }

    /// Returns the changes by variables that are all known, if there are any.
    pub(super) fn with_variables(
        variables: BTreeMap<String, String>,
        place: &Place,
    ) -> Option<Self> {
        let values =
            variables.into_iter().map(|(name, value)| (name, Some((value, place.clone()))));
        let variables = SubstitutionVariables { values: values.collect(), ..Default::default() };
        (!variables.values.is_empty())
            .then(|| AgentBuild { variables: Some(variables), ..Self::default() })
    }

    /// Adds labels or annotations that are set after the build.
    pub(crate) fn set_common_metadata(
        &mut self,
        field: &'static str,
        entries: BTreeMap<String, String>,
        origin: &Origin,
    ) {
        for (key, value) in entries {
            let place = origin.at(["spec", "commonMetadata", field, &key]);
            self.common_metadata.push((field, key, value, place));
        }
    }

    /// Returns the object with its file.
    pub(super) fn source(&self) -> Option<(&str, &Utf8Path)> {
        Some((&self.by, &self.kustomization.as_ref()?.origin.file))
    }

    /// Returns the place of the object's fields.
    pub(crate) fn place(&self) -> Option<Place> {
        self.kustomization.as_ref().map(|node| node.origin.start())
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
            let is_kept = build.sets_names() && !build.has_other_names && keeps(directory);
            (directory.clone(), if is_kept { build.clone() } else { build.unnamed() })
        });
        builds.filter(|(_, build)| !build.is_empty()).collect()
    }

    fn unnamed(&self) -> Self {
        let mut build = self.clone();
        if let Some(KustomizationNode { kustomization, .. }) = &mut build.kustomization {
            kustomization.namespace = None;
            kustomization.name_prefix = None;
            kustomization.name_suffix = None;
        }
        build
    }

    /// Returns the components that the object adds to the build, each with its place.
    pub(crate) fn components(&self) -> impl Iterator<Item = (Utf8PathBuf, Place)> {
        self.kustomization.iter().flat_map(|node| {
            let entries = node.listed_in("components", &node.kustomization.components);
            entries.filter_map(|(place, entry)| Some((join(&node.directory, entry)?, place)))
        })
    }

    /// Returns whether it sets names or namespaces of all objects.
    pub(crate) fn sets_names(&self) -> bool {
        self.kustomization.as_ref().is_some_and(|node| node.kustomization.sets_names())
    }

    /// Returns whether the object applies a directory itself, not through another kustomization.
    pub(crate) fn applies(&self, builds: &Builds, directory: &Utf8Path) -> bool {
        let applied = self.kustomization.as_ref().map(|node| &node.directory);
        applied.is_some_and(|applied| {
            applied == directory
                || directory.starts_with(applied) && !builds.has_kustomization(applied)
        })
    }

    /// Returns whether Flux builds a directory without a kustomization for the object.
    pub(crate) fn autodetects(&self, builds: &Builds, directory: &Utf8Path) -> bool {
        self.is_above_root && !builds.has_kustomization(directory)
    }

    /// Marks the result as unknown.
    pub(crate) fn set_unknown(&mut self, reason: String, place: Place) {
        self.unknown.get_or_insert((reason, place));
    }

    /// Returns whether it changes nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.kustomization.as_ref().is_none_or(|node| {
            let own = &node.kustomization;
            !own.changes_objects() && !own.sets_names() && own.components.is_none()
        }) && self.common_metadata.is_empty()
            && self.variables.is_none()
            && self.unknown.is_none()
    }

    /// Joins the changes of two objects that apply one build, which often are for two clusters.
    pub(crate) fn joined(mut self, mut other: Self, place: &Place) -> Self {
        if other.sets_names() && !self.sets_names() {
            mem::swap(&mut self, &mut other);
        }
        let changes = |build: &Self| {
            let node = build.kustomization.as_ref();
            let entries = build.common_metadata.iter();
            (
                node.map(|node| format!("{:?}", node.kustomization)),
                entries
                    .map(|(field, key, value, _)| (*field, key.clone(), value.clone()))
                    .collect::<Vec<_>>(),
            )
        };
        if changes(&self.unnamed()) != changes(&other.unnamed()) {
            let reason = format!("{} and {} apply it with different changes", self.by, other.by);
            self.set_unknown(reason, place.clone());
        }
        let names = |build: &Self| {
            let own = build.kustomization.as_ref().map(|node| &node.kustomization);
            own.map(|own| [&own.namespace, &own.name_prefix, &own.name_suffix].map(Clone::clone))
        };
        self.has_other_names |= other.has_other_names || names(&self) != names(&other);
        if let Some((reason, place)) = other.unknown {
            self.set_unknown(reason, place);
        }
        self.is_above_root |= other.is_above_root;
        self.other = self.other.or(Some((other.by, place.clone())));
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
    pub(super) fn added_by_agent(&self, directory: &Utf8Path) -> Option<&'a KustomizationNode> {
        let is_root = self.inside.len() == 1;
        let build = self.wanted.agents.get(directory).filter(|_| is_root);
        let build = build.filter(|build| !build.is_above_root)?;
        build.kustomization.as_ref()
    }

    /// Applies the kustomization above a root that consists of an agent's fields.
    pub(super) fn apply_agent_above(
        &mut self,
        build: &AgentBuild,
        mut objects: BuildObjects,
    ) -> BuildResult<BuildObjects> {
        if let Some((reason, place)) = &build.unknown {
            return Err(EvaluationError::Undetermined(reason.clone())).at(place);
        }
        if let Some(node) = build.kustomization.as_ref().filter(|_| build.is_above_root) {
            self.is_above_root = true;
            objects = self.add_components(node, objects)?;
            self.transform(node, &mut objects)?;
        }
        Ok(objects)
    }

    /// Applies the changes of Flux to built objects.
    pub(super) fn apply_flux(
        &self,
        directory: &Utf8PathBuf,
        objects: &mut [BuildObject],
    ) -> BuildResult {
        let Some(build) = self.wanted.agents.get(directory) else {
            return Ok(());
        };
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
            self.check_unique(objects)?;
        }
        for (field, key, value, place) in &build.common_metadata {
            self.set_all(objects, field, (key, value), place)?;
        }
        Ok(())
    }
}
