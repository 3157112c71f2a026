//! Evaluation of builds in memory: the objects that an agent applies.
//!
//! kustomize takes minutes for the hosts of a fleet. This evaluates only the files below
//! kustomizations that change more than namespaces. Steps and their order are those of kustomize
//! 5.8, and tests compare the results with it.
//!
//! - `object`: an object during a build, and its ids
//! - `patches`: patches; `merge` and `json_patch` apply the two forms, `selector` matches their
//!   targets
//! - `replacement`: values copied from object to object
//! - `references`: references by name, which follow renamed objects
//! - `generated`: generated ConfigMaps and Secrets
//! - `variables`: Flux's post-build substitution

mod generated;
mod json_patch;
mod merge;
mod object;
mod patches;
mod references;
mod replacement;
mod selector;
mod variables;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use rayon::prelude::*;
use yaml_serde::{Mapping, Value};

use super::{Builds, Node, Reach, join};
use crate::api::kustomization::{Kustomization, has};
use crate::finding::{Code, Delivered, Finding, Origin, Place, Step};
use crate::load::{Document, Files, objects};
use crate::text::yaml;
use generated::GeneratedKind;
use object::{Behavior, Object};
use references::{Configuration, NameReference};
use replacement::Replacement;
pub(crate) use variables::Variables;

/// Limits on nested kustomizations and on objects handled per build. A build beyond them is left to
/// kustomize.
const MAX_DEPTH: usize = 100;
const MAX_STEPS: usize = 2_000_000;

/// The result of evaluating builds.
#[derive(Debug, Default)]
pub(crate) struct Evaluated {
    /// Documents as builds deliver them, per file in file order.
    pub(crate) delivered: BTreeMap<Arc<Utf8Path>, Vec<AsDelivered>>,
    /// Documents that were read, delivered or not, each with the roots that were evaluated.
    pub(crate) read: HashMap<Origin, Vec<usize>>,
    /// Roots whose builds could not be evaluated.
    pub(crate) unknown: HashSet<usize>,
    /// Secrets that builds rename.
    pub(crate) renamed: Vec<Renaming>,
    /// Builds that kustomize would refuse, and builds that are left to kustomize.
    pub(crate) findings: Vec<Finding>,
}

/// A Secret that a build renames.
#[derive(Debug)]
pub(crate) struct Renaming {
    /// Root of the build.
    pub(crate) root: usize,
    /// Name in its file or generator.
    pub(crate) from: String,
    /// Name in the build.
    pub(crate) to: String,
    /// Place that sets the new name.
    pub(crate) place: Place,
}

/// A document as a build delivers it.
#[derive(Debug)]
pub(crate) struct AsDelivered {
    origin: Origin,
    object: Mapping,
    text: Arc<str>,
}

/// The files to evaluate.
pub(crate) struct Wanted<'a> {
    /// Files with objects that sipgen reads.
    pub(crate) files: &'a HashSet<Arc<Utf8Path>>,
    /// Files among them for which a failed evaluation is an error.
    pub(crate) vital: &'a HashSet<Arc<Utf8Path>>,
    /// Files among them with requests. Builds that give them several namespaces make several
    /// requests of each.
    pub(crate) requests: &'a HashSet<Arc<Utf8Path>>,
    /// Output directory. Its components are not part of the evaluated builds.
    pub(crate) output: &'a Utf8Path,
    /// Flux's substitution variables, by the directory that Flux builds.
    pub(crate) variables: &'a BTreeMap<Utf8PathBuf, Variables>,
}

/// The reason why a build has no result in memory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotBuilt {
    /// kustomize fails as well.
    #[error("`kustomize build` fails: {0}")]
    Refused(String),
    /// Only kustomize can build it.
    #[error("only kustomize can build it: {0}")]
    Beyond(String),
}

/// A failed build, with the place of the cause.
struct Failure {
    problem: NotBuilt,
    place: Box<Place>,
    /// Set if another finding reports it already.
    is_known: bool,
}

impl Failure {
    fn at(place: &Place) -> impl Fn(NotBuilt) -> Self {
        let place = Box::new(place.clone());
        move |problem| Failure {
            problem,
            place: place.clone(),
            is_known: false,
        }
    }
}

impl Renaming {
    fn of(object: &Object, root: usize) -> Option<Self> {
        let (first, last) = (object.original_id(), object.id());
        let is_secret = last.group.is_empty() && last.kind == "Secret";
        (is_secret && first.name != last.name).then(|| Renaming {
            root,
            place: object.origin_of_name(),
            from: first.name,
            to: last.name,
        })
    }
}

impl AsDelivered {
    /// Returns the document, to be decoded like any other.
    pub(crate) fn document(&self) -> Document<'_> {
        let text = self.text.get(self.origin.range()).unwrap_or_default();
        Document::of_value(
            self.origin.clone(),
            Value::Mapping(self.object.clone()),
            text,
        )
    }
}

impl Kustomization {
    /// Returns whether it changes objects by more than a namespace.
    fn changes_objects(&self) -> bool {
        let is_text = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
        let is_map =
            |map: &Option<BTreeMap<String, Value>>| map.as_ref().is_some_and(|map| !map.is_empty());
        has(&self.labels)
            || is_map(&self.common_labels)
            || is_map(&self.common_annotations)
            || is_text(&self.name_prefix)
            || is_text(&self.name_suffix)
            || has(&self.patches)
            || has(&self.patches_strategic_merge)
            || has(&self.patches_json6902)
            || has(&self.replacements)
            || has(&self.transformers)
            || has(&self.configurations)
            || [&self.secret_generator, &self.config_map_generator]
                .into_iter()
                .flatten()
                .flatten()
                .any(|generator| generator.overrides())
    }
}

impl Builds {
    /// Evaluates the builds of the wanted files that change more than namespaces.
    pub(crate) fn evaluate(&self, repo: &Files, wanted: &Wanted<'_>) -> Evaluated {
        let touched = self.touched(wanted);
        let concerned: HashSet<&Utf8PathBuf> = touched
            .files
            .iter()
            .copied()
            .filter(|file| wanted.files.contains(file.as_path()))
            .collect();
        let roots: BTreeSet<usize> = concerned
            .iter()
            .flat_map(|file| self.reach(file))
            .map(|reach| reach.root)
            .collect();
        if roots.is_empty() {
            return Evaluated::default();
        }
        let files: BTreeSet<&Utf8PathBuf> = roots
            .iter()
            .flat_map(|root| {
                touched
                    .below
                    .get(self.roots[*root].directory.as_path())
                    .into_iter()
                    .flatten()
            })
            .copied()
            .collect();
        let read = |file: &&Utf8PathBuf| Some(((*file).clone(), ParsedFile::new(repo, file)?));
        // Files are parsed once, even if several roots build them.
        let read: HashMap<Utf8PathBuf, ParsedFile> = files.par_iter().filter_map(read).collect();
        let mut evaluated = Evaluated::default();
        let mut objects: HashMap<Origin, Vec<(Object, Vec<usize>)>> = HashMap::new();
        for root in roots {
            let mut run = Evaluation {
                builds: self,
                repo,
                wanted,
                touched: &touched.files,
                read: &read,
                steps: 0,
                inside: Vec::new(),
                references: Vec::new(),
            };
            let made = match run.build(&self.roots[root].directory) {
                Ok(made) => made,
                Err(failure) => {
                    evaluated.unknown.insert(root);
                    let of_root = touched.below.get(self.roots[root].directory.as_path());
                    let is_vital = |file: &Utf8PathBuf| wanted.vital.contains(file.as_path());
                    if of_root.into_iter().flatten().any(|file| is_vital(file)) {
                        evaluated.findings.extend(self.failed(root, failure));
                    }
                    continue;
                }
            };
            for file in touched
                .below
                .get(self.roots[root].directory.as_path())
                .into_iter()
                .flatten()
            {
                for (origin, _) in read.get(*file).into_iter().flat_map(|read| &read.documents) {
                    evaluated.read.entry(origin.clone()).or_default().push(root);
                }
            }
            evaluated
                .renamed
                .extend(made.iter().filter_map(|object| Renaming::of(object, root)));
            for object in made
                .into_iter()
                .filter(|object| object.generated != Some(Behavior::Create))
            {
                if !wanted.files.contains(&object.origin.file) {
                    continue;
                }
                // Roots that deliver equal objects share one document.
                let others = objects.entry(object.origin.clone()).or_default();
                match others
                    .iter_mut()
                    .find(|(other, _)| other.value == object.value)
                {
                    Some((_, roots)) => roots.push(root),
                    None => others.push((object, vec![root])),
                }
            }
        }
        let mut delivered: Vec<(Object, Vec<usize>)> = objects.into_values().flatten().collect();
        let order = |object: &Object| {
            (
                object.origin.file.clone(),
                object.origin.range().start,
                object.origin.steps_into(),
            )
        };
        delivered.sort_by(|(a, of_a), (b, of_b)| (order(a), of_a).cmp(&(order(b), of_b)));
        for (object, roots) in delivered {
            let Some(read) = read.get(&*object.origin.file) else {
                continue;
            };
            let file = object.origin.file.clone();
            let Object {
                origin,
                value,
                changes: given,
                levels,
                ..
            } = object;
            let origin = origin.delivered_as(Delivered {
                roots,
                is_evaluated: true,
                given,
                levels,
            });
            let text = read.text.clone();
            evaluated
                .delivered
                .entry(file)
                .or_default()
                .push(AsDelivered {
                    origin,
                    object: value,
                    text,
                });
        }
        evaluated.findings = deduplicated(evaluated.findings);
        evaluated
    }

    /// Returns the objects that `kustomize build` of a root would print, in no particular order.
    ///
    /// # Errors
    ///
    /// Returns why kustomize would fail, or why only kustomize can build it.
    pub fn built(&self, repo: &Files, root: usize) -> Result<Vec<Value>, NotBuilt> {
        let is_of_root = |reaches: &[Reach]| reaches.iter().any(|reach| reach.root == root);
        let files: HashSet<&Utf8PathBuf> = self
            .reached
            .iter()
            .filter(|(_, reaches)| is_of_root(reaches))
            .map(|(file, _)| file)
            .collect();
        let read = files
            .iter()
            .filter_map(|file| Some(((*file).clone(), ParsedFile::new(repo, file)?)))
            .collect();
        let all = files.iter().map(|file| Arc::from(file.as_path())).collect();
        let none = BTreeMap::new();
        let wanted = Wanted {
            files: &all,
            vital: &all,
            requests: &all,
            output: Utf8Path::new("overlays"),
            variables: &none,
        };
        let mut run = Evaluation {
            builds: self,
            repo,
            wanted: &wanted,
            touched: &files,
            read: &read,
            steps: 0,
            inside: Vec::new(),
            references: Vec::new(),
        };
        let objects = run
            .build(&self.root(root).directory)
            .map_err(|failure| failure.problem)?;
        Ok(objects
            .into_iter()
            .map(|object| Value::Mapping(object.value))
            .collect())
    }

    /// Returns the files that a kustomization changes by more than a namespace, and those with
    /// requests that get several namespaces.
    fn touched(&self, wanted: &Wanted<'_>) -> Touched<'_> {
        let mut listing: HashMap<&Utf8PathBuf, Vec<&Utf8PathBuf>> = HashMap::new();
        for (directory, node) in &self.nodes {
            for listed in node.listed() {
                listing.entry(listed).or_default().push(directory);
            }
        }
        // A component changes the kustomizations that list it. A path outside the repo may be a
        // remote component.
        let changes = |(directory, node): &(&Utf8PathBuf, &Node)| {
            let is_foreign = |path: &String| {
                let directory = node.file.parent().unwrap_or(Utf8Path::new(""));
                join(directory, path).is_none_or(|path| {
                    !self.nodes.contains_key(&path) && !path.starts_with(wanted.output)
                })
            };
            wanted.variables.contains_key(directory.as_path())
                || node.kustomization.changes_objects()
                || node
                    .kustomization
                    .components
                    .iter()
                    .flatten()
                    .any(is_foreign)
        };
        let several_namespaces = wanted.requests.iter().filter_map(|file| {
            let (file, reaches) = self.reached.get_key_value(&**file)?;
            let namespaces: BTreeSet<Option<&str>> = reaches
                .iter()
                .map(|reach| reach.effect.namespace_name())
                .collect();
            (namespaces.len() > 1).then_some(file)
        });
        let mut pending: Vec<&Utf8PathBuf> = self
            .nodes
            .iter()
            .filter(changes)
            .map(|(directory, _)| directory)
            .chain(several_namespaces)
            .collect();
        let mut entered: HashSet<&Utf8PathBuf> = HashSet::new();
        let mut files: HashSet<&Utf8PathBuf> = HashSet::new();
        while let Some(path) = pending.pop() {
            if !entered.insert(path) {
                continue;
            }
            let Some(node) = self.nodes.get(path) else {
                files.insert(path);
                continue;
            };
            pending.extend(node.listed());
            if node.is_component() {
                // A component also changes the resources of the kustomizations that include it.
                pending.extend(listing.get(path).into_iter().flatten());
            }
        }
        let mut below: HashMap<&Utf8Path, Vec<&Utf8PathBuf>> = HashMap::new();
        let mut sorted: Vec<&Utf8PathBuf> = files.iter().copied().collect();
        sorted.sort();
        for file in sorted {
            let roots: BTreeSet<usize> = self.reach(file).iter().map(|reach| reach.root).collect();
            for root in roots {
                below
                    .entry(&self.roots[root].directory)
                    .or_default()
                    .push(file);
            }
        }
        Touched { files, below }
    }

    fn failed(&self, root: usize, failure: Failure) -> Option<Finding> {
        let Failure {
            problem,
            place,
            is_known,
        } = failure;
        let root = &self.roots[root];
        let directory = if root.directory.as_str().is_empty() {
            "."
        } else {
            root.directory.as_str()
        };
        (!is_known).then(|| match problem {
            NotBuilt::Refused(why) => {
                Finding::new(Code::BuildRefused, format!("`kustomize build {directory}` fails: {why}")).at(*place).help(
                    format!("run `kustomize build {directory}` and fix its error; agents apply nothing of it until then"),
                )
            }
            NotBuilt::Beyond(why) => Finding::new(
                Code::NotEvaluated,
                format!("only kustomize can build the hosts and requests of `{}`: {why}", root.file),
            )
            .at(*place)
            .help(format!(
                "add `- kustomization: {directory}` to `sources`, and sipgen runs kustomize for it"
            )),
        })
    }
}

/// The files that kustomizations change, in total and per root.
struct Touched<'a> {
    files: HashSet<&'a Utf8PathBuf>,
    below: HashMap<&'a Utf8Path, Vec<&'a Utf8PathBuf>>,
}

/// Removes duplicates: roots that share a kustomization fail for the same reason.
fn deduplicated(findings: Vec<Finding>) -> Vec<Finding> {
    let mut kept: Vec<Finding> = Vec::new();
    for finding in findings {
        if !kept
            .iter()
            .any(|other| other.code == finding.code && other.places == finding.places)
        {
            kept.push(finding);
        }
    }
    kept
}

/// A file with its objects.
struct ParsedFile {
    text: Arc<str>,
    documents: Vec<(Origin, Mapping)>,
    /// Set if the file has content that could not be parsed into objects.
    is_partial: bool,
}

impl ParsedFile {
    fn new(repo: &Files, file: &Utf8Path) -> Option<Self> {
        let text: Arc<str> = Arc::from(repo.text(file)?);
        let mut documents = Vec::new();
        let mut is_partial = false;
        for document in objects(&Arc::from(file), &text) {
            match document.parse::<Value>() {
                Ok(Value::Mapping(object)) if document.kind().is_some() => {
                    documents.push((document.origin.clone(), object))
                }
                Ok(Value::Null) => {}
                _ => is_partial = true,
            }
        }
        Some(ParsedFile {
            text,
            documents,
            is_partial,
        })
    }
}

/// The evaluation of one build.
struct Evaluation<'a> {
    builds: &'a Builds,
    repo: &'a Files,
    wanted: &'a Wanted<'a>,
    touched: &'a HashSet<&'a Utf8PathBuf>,
    read: &'a HashMap<Utf8PathBuf, ParsedFile>,
    steps: usize,
    /// Directories on the path to the one that is being built.
    inside: Vec<Utf8PathBuf>,
    /// References that the kustomizations so far configure.
    references: Vec<NameReference>,
}

/// The accumulated objects of a build.
#[derive(Default)]
struct Objects {
    list: Vec<Object>,
    /// Set if the real build has more objects, which are unknown here.
    are_partial: bool,
}

impl Evaluation<'_> {
    /// Builds a directory and returns its final objects.
    fn build(&mut self, directory: &Utf8PathBuf) -> Result<Vec<Object>, Failure> {
        let mut objects = self.accumulate(directory, Objects::default())?.list;
        // Hash suffixes come last, because patches and replacements may change the hashed data.
        for object in objects.iter_mut().filter(|object| object.needs_hash) {
            let name = format!("{}-{}", object.name(), generated::hash(object));
            object.keep_id();
            object.restore("name", &name);
        }
        references::update(&mut objects, &self.references).or_else(|(index, problem)| {
            let origin = &objects[index].origin;
            let matters =
                self.wanted.vital.contains(&origin.file) || matches!(problem, NotBuilt::Refused(_));
            if matters {
                Err(Failure::at(&origin.start())(problem))
            } else {
                Ok(())
            }
        })?;
        objects.iter_mut().for_each(Object::spell_annotations);
        if let Some(variables) = self.wanted.variables.get(directory) {
            objects
                .iter_mut()
                .for_each(|object| variables.replace_in(object));
        }
        // kustomize drops objects with this annotation from its output.
        objects.retain(|object| {
            let local = object.text(&[
                "metadata",
                "annotations",
                "config.kubernetes.io/local-config",
            ]);
            local.is_empty() || local == "false"
        });
        Ok(objects)
    }

    /// Adds a kustomization's objects to the accumulated ones, and transforms them. Only a
    /// component starts with a non-empty accumulation.
    fn accumulate(
        &mut self,
        directory: &Utf8PathBuf,
        mut objects: Objects,
    ) -> Result<Objects, Failure> {
        let Some(node) = self.builds.nodes.get(directory) else {
            return Ok(objects);
        };
        self.inside.push(directory.clone());
        // A cycle is reported by `Builds::new`.
        if self.inside.len() > MAX_DEPTH || self.inside[..self.inside.len() - 1].contains(directory)
        {
            let place = Place::File(node.file.clone());
            let problem = NotBuilt::Beyond("its kustomizations are nested too deeply".to_owned());
            return Err(Failure {
                is_known: true,
                ..Failure::at(&place)(problem)
            });
        }
        let kustomization = &node.kustomization;
        objects.are_partial |= kustomization.is_partly_unknown();
        for entry in kustomization
            .resources
            .iter()
            .chain(&kustomization.bases)
            .flatten()
        {
            // A remote base has no path in the repo.
            let Some(path) = &join(directory, entry) else {
                objects.are_partial = true;
                continue;
            };
            let place = || {
                node.place_of_listed(path)
                    .unwrap_or_else(|| Place::File(node.file.clone()))
            };
            if let Some(resource) = self.builds.nodes.get(path) {
                if resource.is_component() {
                    let why = format!("`{path}` is a component, but is listed in `resources`");
                    return Err(Failure::at(&place())(NotBuilt::Refused(why)));
                }
                let more = self.accumulate(path, Objects::default())?;
                self.append(&mut objects, more);
            } else if self.touched.contains(path) {
                let more = self.objects_in_file(path);
                self.append(&mut objects, more);
            } else {
                objects.are_partial |= path.starts_with(self.wanted.output);
            }
            if self.steps > MAX_STEPS {
                return Err(Failure::at(&place())(NotBuilt::Beyond(
                    "it has too many objects".to_owned(),
                )));
            }
        }
        // Checked once for the whole list, because a check per file would be quadratic.
        self.check_unique(&objects)?;
        self.generate(node, directory, &mut objects)?;
        for entry in kustomization.components.iter().flatten() {
            let Some(path) =
                join(directory, entry).filter(|path| self.builds.nodes.contains_key(path))
            else {
                let is_ours =
                    join(directory, entry).is_some_and(|path| path.starts_with(self.wanted.output));
                if is_ours {
                    objects.note_level(directory);
                } else {
                    let place = node.origin.at(["components"]);
                    self.leave_to_kustomize(
                        &objects,
                        &place,
                        format!("the component `{entry}` is not in the repo"),
                    )?;
                    objects.are_partial = true;
                }
                continue;
            };
            objects = self.accumulate(&path, objects)?;
        }
        objects.note_level(directory);
        self.configure(node, directory, &objects)?;
        self.transform(node, directory, &mut objects)?;
        self.inside.pop();
        Ok(objects)
    }

    fn objects_in_file(&self, file: &Utf8PathBuf) -> Objects {
        let Some(read) = self.read.get(file) else {
            return Objects {
                list: Vec::new(),
                are_partial: true,
            };
        };
        let list = read
            .documents
            .iter()
            .map(|(origin, value)| Object::new(origin.clone(), value.clone()))
            .collect();
        Objects {
            list,
            are_partial: read.is_partial,
        }
    }

    fn append(&mut self, objects: &mut Objects, more: Objects) {
        self.steps += more.list.len() + 1;
        objects.are_partial |= more.are_partial;
        objects.list.extend(more.list);
    }

    /// Refuses duplicate ids.
    fn check_unique(&self, objects: &Objects) -> Result<(), Failure> {
        let mut seen = HashSet::with_capacity(objects.list.len());
        for object in &objects.list {
            let id = object.id();
            let shown = id.shown();
            if !seen.insert(id) {
                let problem = NotBuilt::Refused(format!("duplicate {shown}"));
                let failure = Failure::at(&object.origin.start())(problem);
                // Duplicate hosts and requests have a finding of their own.
                return Err(Failure {
                    is_known: self.wanted.vital.contains(&object.origin.file),
                    ..failure
                });
            }
        }
        Ok(())
    }

    /// Leaves the build to kustomize if it has objects that matter here.
    fn leave_to_kustomize(
        &self,
        objects: &Objects,
        place: &Place,
        why: String,
    ) -> Result<(), Failure> {
        let matters = objects
            .list
            .iter()
            .any(|object| self.wanted.vital.contains(&object.origin.file));
        if matters {
            Err(Failure::at(place)(NotBuilt::Beyond(why)))
        } else {
            Ok(())
        }
    }

    /// Adds the objects of a kustomization's generators.
    fn generate(
        &mut self,
        node: &Node,
        directory: &Utf8Path,
        objects: &mut Objects,
    ) -> Result<(), Failure> {
        let kustomization = &node.kustomization;
        let lists = [
            (
                "configMapGenerator",
                GeneratedKind::ConfigMap,
                &kustomization.config_map_generator,
            ),
            (
                "secretGenerator",
                GeneratedKind::Secret,
                &kustomization.secret_generator,
            ),
        ];
        for (field, made, generators) in lists {
            for (index, generator) in generators.iter().flatten().enumerate() {
                let place = node.origin.at([Step::from(field), index.into()]);
                let read = |path: &str| self.repo.read(&join(directory, path)?).ok();
                let global = kustomization.generator_options.as_ref();
                let object = generated::object(&node.origin, made, generator, global, read);
                let new = match object {
                    Ok(new) => new,
                    // Without its files, only the object's existence is known.
                    Err(NotBuilt::Beyond(_)) => {
                        objects.are_partial = true;
                        continue;
                    }
                    Err(problem) => return Err(Failure::at(&place)(problem)),
                };
                let id = new.id();
                let behavior = new.generated.unwrap_or(Behavior::Create);
                let mut old = objects
                    .list
                    .iter_mut()
                    .filter(|object| object.ids().contains(&id));
                match (old.next(), old.next(), behavior) {
                    (None, _, Behavior::Create) => objects.list.push(new),
                    (Some(old), None, Behavior::Merge | Behavior::Replace) => {
                        generated::absorb(old, new, behavior, &place);
                    }
                    // The object may be among the unknown ones.
                    (None, ..) if objects.are_partial => {}
                    (None, ..) => {
                        let why = format!("the {} to {behavior} is missing", id.shown());
                        return Err(Failure::at(&place)(NotBuilt::Refused(why)));
                    }
                    (Some(_), ..) => {
                        let why = format!("the {} exists already", id.shown());
                        return Err(Failure::at(&place)(NotBuilt::Refused(why)));
                    }
                }
            }
        }
        Ok(())
    }

    /// Notes the references that a kustomization configures.
    fn configure(
        &mut self,
        node: &Node,
        directory: &Utf8Path,
        objects: &Objects,
    ) -> Result<(), Failure> {
        let paths = node.kustomization.configurations.iter().flatten();
        for (index, path) in paths.enumerate() {
            let text = join(directory, path).and_then(|path| self.repo.text(&path));
            let read = text.and_then(|text| yaml::from_str::<Configuration>(&text).ok());
            let is_vital = |object: &&Object| self.wanted.vital.contains(&object.origin.file);
            let mut vital = objects.list.iter().filter(is_vital);
            match read {
                Some(read) if !vital.any(|object| read.changes(object)) => {
                    // kustomize merges equal references, so none is followed twice.
                    for reference in read
                        .name_reference
                        .into_iter()
                        .flat_map(NameReference::split)
                    {
                        if !self.references.contains(&reference) {
                            self.references.push(reference);
                        }
                    }
                }
                _ => self.leave_to_kustomize(
                    objects,
                    &node.origin.at([Step::from("configurations"), index.into()]),
                    format!("`{path}` configures which fields transformers change"),
                )?,
            }
        }
        Ok(())
    }

    /// Transforms the objects in kustomize's order.
    fn transform(
        &self,
        node: &Node,
        directory: &Utf8Path,
        objects: &mut Objects,
    ) -> Result<(), Failure> {
        let kustomization = &node.kustomization;
        if kustomization
            .openapi
            .as_ref()
            .is_some_and(|openapi| openapi.contains_key("path"))
        {
            self.leave_to_kustomize(
                objects,
                &node.origin.at(["openapi"]),
                "`openapi` sets a custom schema for merge patches".to_owned(),
            )?;
        }
        // The order of kustomize's built-in transformers.
        self.apply_merge_patches(node, directory, objects)?;
        self.apply_patches(node, directory, objects)?;
        set_namespace(node, objects);
        self.check_unique(objects)?;
        set_affixes(node, objects);
        self.set_labels(node, objects)?;
        let annotations = kustomization.common_annotations.iter().flatten();
        for (name, value) in annotations.filter_map(|(name, value)| Some((name, value.as_str()?))) {
            let place = node.origin.at(["commonAnnotations", name]);
            objects
                .list
                .iter_mut()
                .for_each(|object| object.set(&["metadata", "annotations", name], value, &place));
        }
        self.apply_json_patches(node, directory, objects)?;
        self.replace(node, directory, objects)?;
        if has(&kustomization.transformers) {
            let why = format!("the `transformers` of `{}` may change anything", node.file);
            self.leave_to_kustomize(objects, &node.origin.at(["transformers"]), why)?;
        }
        self.check_unique(objects)
    }

    fn set_labels(&self, node: &Node, objects: &mut Objects) -> Result<(), Failure> {
        let kustomization = &node.kustomization;
        let lists = kustomization
            .labels
            .iter()
            .flatten()
            .enumerate()
            .map(|(index, labels)| {
                (
                    vec![Step::from("labels"), index.into(), "pairs".into()],
                    labels.pairs.as_ref(),
                )
            });
        let common = (
            vec![Step::from("commonLabels")],
            kustomization.common_labels.as_ref(),
        );
        // Labels in selectors are skipped: no kind that sipgen reads has such selectors.
        for (route, pairs) in lists.chain([common]) {
            for (name, value) in pairs
                .into_iter()
                .flatten()
                .filter_map(|(name, value)| Some((name, value.as_str()?)))
            {
                let place = node
                    .origin
                    .at(route.iter().cloned().chain([Step::from(name.as_str())]));
                objects
                    .list
                    .iter_mut()
                    .for_each(|object| object.set(&["metadata", "labels", name], value, &place));
            }
        }
        if kustomization
            .labels
            .iter()
            .flatten()
            .any(|labels| has(&labels.fields))
        {
            self.leave_to_kustomize(
                objects,
                &node.origin.at(["labels"]),
                "its labels have custom `fields`".to_owned(),
            )?;
        }
        Ok(())
    }

    fn replace(
        &self,
        node: &Node,
        directory: &Utf8Path,
        objects: &mut Objects,
    ) -> Result<(), Failure> {
        for (index, entry) in node.kustomization.replacements.iter().flatten().enumerate() {
            let place = node.origin.at([Step::from("replacements"), index.into()]);
            let failed = Failure::at(&place);
            let mut read: Vec<Value> = vec![entry.clone()];
            if let Some(path) = entry.get("path").and_then(Value::as_str) {
                let text = join(directory, path).and_then(|path| self.repo.text(&path));
                let file = text.and_then(|text| yaml::from_str(&text).ok());
                read = match file {
                    Some(Value::Sequence(replacements)) => replacements,
                    Some(replacement @ Value::Mapping(_)) => vec![replacement],
                    _ => {
                        return Err(failed(NotBuilt::Refused(format!(
                            "`{path}` has no replacements"
                        ))));
                    }
                };
            }
            for replacement in read {
                let replacement: Replacement = yaml_serde::from_value(replacement)
                    .map_err(|error| failed(NotBuilt::Refused(error.to_string())))?;
                match replacement.apply(&mut objects.list, &place) {
                    Ok(()) => {}
                    Err(NotBuilt::Refused(why)) if !objects.are_partial => {
                        return Err(failed(NotBuilt::Refused(why)));
                    }
                    Err(NotBuilt::Refused(why) | NotBuilt::Beyond(why)) => {
                        let is_vital =
                            |object: &&Object| self.wanted.vital.contains(&object.origin.file);
                        if objects
                            .list
                            .iter()
                            .filter(is_vital)
                            .any(|object| replacement.may_be_for(object))
                        {
                            return Err(failed(NotBuilt::Beyond(why)));
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

/// Sets the namespace of all namespaced objects.
fn set_namespace(node: &Node, objects: &mut Objects) {
    let Some(namespace) = node
        .kustomization
        .namespace
        .as_deref()
        .filter(|namespace| !namespace.is_empty())
    else {
        return;
    };
    let place = node.origin.at(["namespace"]);
    for object in &mut objects.list {
        object.keep_id();
        let id = object.id();
        if !id.is_cluster_scoped() {
            object.set(&["metadata", "namespace"], namespace, &place);
        } else if id.kind == "Namespace" {
            object.set(&["metadata", "name"], namespace, &place);
        }
    }
}

/// Adds the name prefix and suffix to all names.
fn set_affixes(node: &Node, objects: &mut Objects) {
    let own = &node.kustomization;
    let affixes = [
        ("namePrefix", &own.name_prefix),
        ("nameSuffix", &own.name_suffix),
    ];
    for (field, affix) in affixes {
        let Some(affix) = affix.as_deref().filter(|affix| !affix.is_empty()) else {
            continue;
        };
        let place = node.origin.at([field]);
        for object in &mut objects.list {
            let first = object.original_id();
            let keeps_name = matches!(
                first.kind.as_str(),
                "CustomResourceDefinition" | "Namespace"
            ) || first.kind == "APIService"
                && first.group == "apiregistration.k8s.io";
            // kustomize exempts these kinds from prefixes and suffixes.
            if keeps_name {
                continue;
            }
            object.keep_id();
            let name = object.name();
            let name = if field == "namePrefix" {
                object.prefixes.push(affix.to_owned());
                format!("{affix}{name}")
            } else {
                object.suffixes.push(affix.to_owned());
                format!("{name}{affix}")
            };
            object.set(&["metadata", "name"], &name, &place);
        }
    }
}

impl Objects {
    fn note_level(&mut self, directory: &Utf8PathBuf) {
        self.list
            .iter_mut()
            .for_each(|object| object.note_level(directory));
    }
}

impl Kustomization {
    /// Returns whether its build has objects that only external programs produce.
    fn is_partly_unknown(&self) -> bool {
        has(&self.generators) || has(&self.helm_charts) || has(&self.helm_chart_inflation_generator)
    }
}
