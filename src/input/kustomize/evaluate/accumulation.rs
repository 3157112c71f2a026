//! The accumulation of a build's objects, kustomization by kustomization.

use std::collections::{HashMap, HashSet};

use camino::{Utf8Path, Utf8PathBuf};
use yaml_serde::Value;

use super::generated;
use super::listed::ListedTarget;
use super::object::{Behavior, BuildObject, Id, scalar_text, value_at};
use super::overlay::OverlayBase;
use super::references::{self, Configuration, NameReference};
use super::resource_file::no_resource;
use super::{
    BuildEvaluation, BuildFailure, BuildObjects, BuildResult, EvaluationError, FailureAt,
    StepResult, defer, refuse,
};
use crate::base::api::host;
use crate::base::api::kustomization::LOCAL_CONFIG;
use crate::base::finding::{ComponentLevel, Place, RouteStep};
use crate::base::layout::declared_directory;
use crate::base::text::credentials::masked_value;
use crate::base::text::yaml;
use crate::input::kustomize::{BuildNode, join};
use crate::input::load::json_values;

/// Limit on nested kustomizations. A build beyond it is left to kustomize.
const MAX_DEPTH: usize = 100;
/// The work that a kustomization makes, whatever it has, in steps of a patch.
const STEPS_PER_KUSTOMIZATION: usize = 30;

impl BuildEvaluation<'_> {
    /// Builds a directory and returns its final objects.
    pub(super) fn build(&mut self, directory: &Utf8PathBuf) -> BuildResult<Vec<BuildObject>> {
        let mut objects = BuildObjects::default();
        self.accumulate(directory, &mut objects)?;
        if let Some(output) = self.wanted.output {
            // What the overlay of hosts patches.
            objects.note_level(&output.join(declared_directory(directory)));
            if !self.wanted.vital.is_empty() {
                self.overlay_base = OverlayBase::new(&objects);
            }
        }
        if let Some(build) = self.wanted.agents.get(directory) {
            self.apply_agent_above(build, &mut objects)?;
        }
        self.resolve_vars(&objects)?;
        self.check_sort_order(directory)?;
        let mut objects = objects.list;
        // Hash suffixes come last, because patches and replacements may change the hashed data.
        for object in objects.iter_mut().filter(|object| object.needs_hash) {
            let name = format!("{}-{}", object.name(), generated::hash(object));
            object.keep_id();
            object.restore("name", &name);
        }
        references::update(&mut objects, &self.references).or_else(|(index, problem)| {
            let object = &objects[index];
            let matters = self.is_vital(object) || matches!(problem, EvaluationError::Refused(_));
            if matters { Err(problem).at(&object.origin.start()) } else { Ok(()) }
        })?;
        objects.iter_mut().for_each(BuildObject::spell_annotations);
        self.apply_flux(directory, &mut objects)?;
        // kustomize drops objects with this annotation from its output. A request for sipgen alone is one.
        let is_request = |object: &BuildObject| {
            let kind = object.kind();
            kind != host::KIND && self.wanted.vital_kinds.contains(&kind.as_str())
        };
        objects.retain(|object| {
            let local = value_at(&object.value, &["metadata", "annotations", LOCAL_CONFIG]);
            local.is_none_or(|value| scalar_text(value).as_deref() == Some("false"))
                || is_request(object)
        });
        for object in &objects {
            if let Some(why) = no_resource(&object.value) {
                let problem = match object.unsubstituted.is_empty() {
                    true => EvaluationError::Refused(why),
                    false => EvaluationError::Unapplied(format!("without its variables, {why}")),
                };
                return Err(problem).at(&object.origin.start());
            }
        }
        Ok(objects)
    }

    /// Adds a kustomization's objects to the accumulated ones, and transforms them. Only a
    /// component starts with a non-empty accumulation.
    fn accumulate(&mut self, directory: &Utf8PathBuf, objects: &mut BuildObjects) -> BuildResult {
        let Some(node) = self.builds.nodes.get(directory) else { return Ok(()) };
        let file = Place::File(node.origin.file.clone());
        // A cycle is reported by `Builds::new`.
        if self.inside.len() >= MAX_DEPTH || self.inside.contains(directory) {
            let problem =
                EvaluationError::Beyond("its kustomizations are nested too deeply".to_owned());
            return Err(BuildFailure { is_known: true, ..problem.into() }).at(&file);
        }
        self.inside.push(directory.clone());
        self.budget.step(STEPS_PER_KUSTOMIZATION).at(&file)?;
        let (kustomization, given) = (&node.kustomization, objects.list.len());
        objects.are_partial |= kustomization.made_elsewhere().next().is_some();
        let lists = [("resources", &kustomization.resources), ("bases", &kustomization.bases)];
        for (list, entries) in lists {
            for (place, entry) in node.listed_in(list, entries) {
                self.add_resource(node, entry, objects).at(&place)?;
            }
        }
        // Checked once for the whole list, because a check per file would be quadratic. Most components
        // add nothing.
        if objects.list.len() > given {
            self.check_unique(&objects.list)?;
        }
        self.check_files(node, objects)?;
        self.generate(node, objects)?;
        for node in [Some(node), self.added_by_agent(directory)].into_iter().flatten() {
            self.add_components(node, objects)?;
        }
        if !node.is_component() || !node.components.is_empty() {
            objects.note_level(directory);
        }
        self.configure(node, objects)?;
        self.transform(node, objects)?;
        self.collect_vars(node, objects)?;
        self.inside.pop();
        Ok(())
    }

    /// Adds the objects of an entry of `resources`.
    fn add_resource(
        &mut self,
        node: &BuildNode,
        entry: &str,
        objects: &mut BuildObjects,
    ) -> BuildResult {
        self.budget.step(1)?;
        let mut more = BuildObjects::default();
        match self.listed(node, entry)? {
            ListedTarget::Kustomization(path) => {
                self.check_listed(&path, false)?;
                self.accumulate(&path, &mut more)?;
            }
            ListedTarget::File(path) => more = self.objects_in_file(&path)?,
            ListedTarget::Unknown => more.are_partial = true,
        }
        self.budget.step(more.list.len())?;
        objects.are_partial |= more.are_partial;
        objects.list.extend(more.list);
        for var in more.vars {
            self.budget.step(objects.vars.len())?;
            objects.add_var(var)?;
        }
        Ok(())
    }

    /// Refuses an unknown order of objects. Only that of the outermost kustomization counts.
    fn check_sort_order(&self, directory: &Utf8PathBuf) -> BuildResult {
        let node = self.builds.nodes.get(directory);
        let options = node.and_then(|node| Some((node, node.kustomization.sort_options.as_ref()?)));
        let Some((node, options)) = options else { return Ok(()) };
        let order = options.get("order").and_then(Value::as_str);
        let why = match order.unwrap_or_default() {
            "legacy" => return Ok(()),
            "fifo" if options.get("legacySortOptions").is_none_or(Value::is_null) => return Ok(()),
            "fifo" => "`legacySortOptions` requires `order: legacy`".to_owned(),
            other => format!("`order` must be `fifo` or `legacy`, found `{other}`"),
        };
        refuse(why).at(&node.origin.at(["sortOptions"]))
    }

    /// Adds the components of a kustomization, which also transform its objects.
    pub(super) fn add_components(
        &mut self,
        node: &BuildNode,
        objects: &mut BuildObjects,
    ) -> BuildResult {
        let own = &node.kustomization;
        for (place, entry) in node.listed_in("components", &own.components) {
            if own.ignores_missing_components && self.is_missing(node, entry) {
                continue;
            }
            self.add_component(node, entry, objects).at(&place)?;
        }
        Ok(())
    }

    /// Applies an entry of `components`.
    fn add_component(
        &mut self,
        node: &BuildNode,
        entry: &str,
        objects: &mut BuildObjects,
    ) -> BuildResult {
        self.budget.step(1 + objects.list.len())?;
        match self.listed(node, entry)? {
            ListedTarget::Kustomization(path) => {
                self.check_listed(&path, true)?;
                self.accumulate(&path, objects)
            }
            ListedTarget::File(path) => {
                let why = format!("`{path}` is a file, but is listed in `components`");
                Ok(refuse(why)?)
            }
            ListedTarget::Unknown => {
                if let Some(component) = self.in_output(node, entry) {
                    objects.note_level(&node.directory);
                    self.component_bases.push((component, OverlayBase::new(objects)));
                } else {
                    // A link that matters has a finding of its own.
                    let path = join(&node.directory, entry);
                    if !path.is_some_and(|path| self.repo.has_link(&path)) {
                        let entry = masked_value(entry);
                        let why = format!("the component `{entry}` is not in the repo");
                        self.leave_to_kustomize(objects, why)?;
                    }
                    objects.are_partial = true;
                }
                Ok(())
            }
        }
    }

    /// Refuses a kustomization in the wrong list, and one whose directory contains a kustomization
    /// that leads to it.
    fn check_listed(&self, path: &Utf8Path, is_among_components: bool) -> StepResult {
        let is_component = self.builds.nodes.get(path).is_some_and(BuildNode::is_component);
        let inside = |directory: &&Utf8PathBuf| *directory != path && directory.starts_with(path);
        match self.inside.iter().find(inside) {
            _ if is_component && !is_among_components => {
                refuse(format!("`{path}` is a component, but is listed in `resources`"))
            }
            _ if is_among_components && !is_component => {
                refuse(format!("`{path}` is a Kustomization, but is listed in `components`"))
            }
            Some(lower) => refuse(format!("`{path}` contains `{lower}`, which lists it")),
            None => Ok(()),
        }
    }

    /// Returns the objects of a file. Those of one that was not read are unknown.
    fn objects_in_file(&self, file: &Utf8PathBuf) -> BuildResult<BuildObjects> {
        let Some(read) = self.read.get(file) else {
            return Ok(BuildObjects { are_partial: true, ..BuildObjects::default() });
        };
        if let Some((why, place)) = &read.refused {
            let is_known = read.is_reported || self.wanted.unreadable.contains(file.as_path());
            let problem = EvaluationError::Refused(format!("`{file}`: {why}"));
            return Err(BuildFailure { is_known, ..problem.into() }).at(place);
        }
        self.budget.allocate(read.bytes)?;
        if let Some(second) = read.objects.get(1)
            && self.wanted.vital.contains(file.as_path())
            && json_values(&read.text).is_some()
        {
            let why = format!("it drops all but the first JSON object of `{file}`");
            return defer(why).at(&second.origin.start());
        }
        let (list, are_partial) = (read.objects.clone(), read.is_partial);
        Ok(BuildObjects { list, are_partial, vars: Vec::new() })
    }

    /// Refuses duplicate ids.
    pub(super) fn check_unique(&self, objects: &[BuildObject]) -> BuildResult {
        let mut seen: HashMap<Id, &BuildObject> = HashMap::with_capacity(objects.len());
        if let Some(first) = objects.first() {
            self.budget.step(objects.len()).at(&first.origin.start())?;
        }
        for object in objects {
            let id = object.id();
            let Some(other) = seen.get(&id) else {
                seen.insert(id, object);
                continue;
            };
            // Two documents of one host or request have a finding of their own, unless an agent's object
            // makes them one.
            let is_host_or_request = |object: &BuildObject| {
                self.is_vital(object) && self.wanted.vital_kinds.contains(&id.kind.as_str())
            };
            let is_known = other.origin != object.origin
                && is_host_or_request(object)
                && is_host_or_request(other)
                && object.original_id().name == other.original_id().name
                && !self.repo_namespaces(object).is_disjoint(&self.repo_namespaces(other));
            let by_agent = [object, other].into_iter().find_map(|it| self.name_by_agent(it));
            let problem = EvaluationError::Refused(format!("duplicate {}", id.shown()));
            let failure = BuildFailure { is_known, ..problem.into() };
            return Err(failure).at(&by_agent.unwrap_or_else(|| object.origin.start()));
        }
        Ok(())
    }

    /// Returns the namespaces that the repo's builds give an object.
    fn repo_namespaces(&self, object: &BuildObject) -> HashSet<String> {
        let own = object.original_id().effective_namespace().to_owned();
        let reaches = self.builds.reach(&object.origin.file).iter();
        let given =
            reaches.map(|reach| reach.namespace.as_ref().map_or(&own, |(it, _)| it).clone());
        let given: HashSet<String> = given.collect();
        if given.is_empty() { HashSet::from([own]) } else { given }
    }

    /// Returns the place of the last change of an object's name or namespace by an agent's object.
    fn name_by_agent(&self, object: &BuildObject) -> Option<Place> {
        let is_by_agent = |place: &&Place| {
            let mut agents = self.wanted.agents.values();
            agents.any(|build| build.source().1 == place.file().as_ref())
        };
        let names = ["name", "namespace"].map(|key| [RouteStep::from("metadata"), key.into()]);
        let is_name = |route: &[RouteStep]| names.iter().any(|name| name.starts_with(route));
        let changes = object.changes.iter().rev().filter(|change| is_name(&change.route));
        changes.map(|change| &change.place).find(is_by_agent).cloned()
    }

    /// Leaves the build to kustomize if it has objects that matter here.
    pub(super) fn leave_to_kustomize(&self, objects: &BuildObjects, why: String) -> StepResult {
        let matters = objects.list.iter().any(|object| self.is_vital(object));
        if matters { defer(why) } else { Ok(()) }
    }

    /// Returns whether a failure that concerns an object is an error.
    pub(super) fn is_vital(&self, object: &BuildObject) -> bool {
        self.wanted.vital.contains(&object.origin.file)
    }

    /// Adds the objects of a kustomization's generators.
    fn generate(&mut self, node: &BuildNode, objects: &mut BuildObjects) -> BuildResult {
        for (list, index, generator) in node.kustomization.all_generators() {
            let place = node.origin.at([RouteStep::from(list), index.into()]);
            let new = match self.generated(node, list, generator) {
                Ok(new) => new,
                // Without its files, only the object's existence is known.
                Err(EvaluationError::Beyond(_)) => {
                    objects.are_partial = true;
                    continue;
                }
                failed => return failed.map(|_| ()).at(&place),
            };
            let id = new.id();
            let behavior = new.generated.unwrap_or(Behavior::Create);
            let mut old = objects.list.iter_mut().filter(|object| object.ids().contains(&id));
            let why = match (old.next(), old.next(), behavior) {
                (None, _, Behavior::Create) => {
                    objects.list.push(new);
                    continue;
                }
                (Some(old), None, Behavior::Merge | Behavior::Replace) => {
                    generated::absorb(old, new, behavior, &place);
                    continue;
                }
                // The object may be among the unknown ones.
                (None, ..) if objects.are_partial => continue,
                (None, ..) => format!("the {} to {behavior} is missing", id.shown()),
                (Some(_), ..) => format!("the {} exists already", id.shown()),
            };
            return refuse(why).at(&place);
        }
        Ok(())
    }

    /// Notes the references that a kustomization configures.
    fn configure(&mut self, node: &BuildNode, objects: &BuildObjects) -> BuildResult {
        let paths = &node.kustomization.configurations;
        for (place, path) in node.listed_in("configurations", paths) {
            let text = self.text_of(node, path).at(&place)?;
            let read = text.and_then(|text| yaml::from_str::<Configuration>(&text).ok());
            let mut vital = objects.list.iter().filter(|object| self.is_vital(object));
            match read {
                Some(read) if !vital.any(|object| read.changes(object)) => {
                    self.kinds_with_replicas.extend(read.kinds_with_replicas());
                    // kustomize merges equal references, so none is followed twice.
                    for reference in read.name_reference.into_iter().flat_map(NameReference::split)
                    {
                        if !self.references.contains(&reference) {
                            self.references.push(reference);
                        }
                    }
                }
                _ => {
                    let why = format!("`{path}` configures which fields transformers change");
                    self.leave_to_kustomize(objects, why).at(&place)?;
                }
            }
        }
        Ok(())
    }
}

impl BuildObjects {
    /// Records the names and namespaces of objects where a kustomization's components run.
    fn note_level(&mut self, directory: &Utf8PathBuf) {
        for object in &mut self.list {
            let Id { name, namespace, .. } = object.id();
            let namespace = (!namespace.is_empty()).then_some(namespace);
            // A kustomization may list thousands of components.
            object.levels.pop_if(|level| level.directory == *directory);
            object.levels.push(ComponentLevel { directory: directory.clone(), name, namespace });
        }
    }
}
