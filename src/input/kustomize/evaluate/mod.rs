//! Evaluation of builds in memory: the objects that an agent applies.
//!
//! kustomize takes minutes for the hosts of a fleet. Every build with hosts or requests is checked
//! for what kustomize checks, but objects keep their values only below kustomizations that change
//! more than namespaces. Steps and their order are those of kustomize 5.8, and tests compare the
//! results with it.
//!
//! - `accumulation`: the objects of each kustomization; `resource_file` reads them, `listed` finds
//!   the files by the rules of kustomize's loader
//! - `transformation`: the transformers of a kustomization, in their order
//! - `object`: an object during a build, and its ids; `index` finds objects by id
//! - `patches`: patches; `merge_patch` and `json_patch` apply the two forms, `selector` matches their
//!   targets
//! - `replacement`: values copied from object to object; `field_path`: paths to fields
//! - `references`: references by name, which follow renamed objects
//! - `generated`: generated ConfigMaps and Secrets
//! - `vars`: variables of kustomizations
//! - `agent_build`: changes of agents' objects to a build
//! - `variables`: Flux's post-build substitution; `envsubst` and `go_yaml` read text as Flux does
//! - `overlay`: the objects that overlays and components of the output patch, before and after it
//! - `budget`: bounds; `failure`: reasons why a build has no result

mod accumulation;
mod agent_build;
mod budget;
mod envsubst;
mod failure;
mod field_path;
mod generated;
mod go_yaml;
mod index;
mod json_patch;
mod listed;
mod merge_patch;
mod object;
mod overlay;
mod patches;
mod references;
mod replacement;
mod resource_file;
mod selector;
mod touched;
mod transformation;
mod variables;
mod vars;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use rayon::prelude::*;
use yaml_serde::{Mapping, Value};

use super::{BuildRoot, Builds};
use crate::base::api::kustomization::{Kustomization, is_kustomization};
use crate::base::api::last_wins::DecodedKustomization;
use crate::base::finding::{DocumentBuilds, Finding, ForeignValue, Origin, Place, RouteStep};
use crate::base::grouping::grouped;
use crate::base::text::yaml;
use crate::input::load::{Document, Files};
pub(crate) use agent_build::AgentBuild;
use budget::{BuildBudget, MAX_TOO_LARGE};
pub use failure::EvaluationError;
use failure::{BuildFailure, BuildResult, FailureAt, StepResult, defer, refuse};
use index::ObjectIndex;
pub(crate) use listed::is_remote;
use object::{Behavior, Id};
pub(crate) use object::{BuildObject, is_cluster_scoped};
pub(crate) use overlay::{OverlayBase, OverlayBases, OverlayBuild, PatchFile};
pub(crate) use patches::patched;
use references::NameReference;
use resource_file::ResourceFile;
pub(crate) use variables::SubstitutionVariables;
use vars::Var;

/// The result of evaluating builds.
#[derive(Debug, Default)]
pub(crate) struct EvaluationResult {
    /// Documents as builds deliver them, per file in file order.
    pub(crate) delivered: BTreeMap<Arc<Utf8Path>, Vec<DeliveredDocument>>,
    /// Documents that were read, delivered or not, each with the roots that were evaluated.
    pub(crate) read: HashMap<Origin, Vec<usize>>,
    /// Roots whose builds could not be evaluated.
    pub(crate) unknown: HashSet<usize>,
    /// Secrets that builds rename.
    pub(crate) renamed: Vec<Renaming>,
    /// Objects that overlays of the output patch.
    pub(crate) overlay_bases: OverlayBases,
    /// Builds that kustomize would refuse, and builds that are left to kustomize.
    pub(crate) findings: Vec<Finding>,
}

/// A Secret that a build renames.
#[derive(Debug)]
pub(crate) struct Renaming {
    /// Root of the build.
    pub(crate) root: usize,
    /// Set if a generator makes the Secret, with a hash in its name.
    pub(crate) is_generated: bool,
    /// Name in its file or generator.
    pub(crate) from: String,
    /// Name in the build.
    pub(crate) to: String,
    /// Place that sets the new name.
    pub(crate) place: Place,
}

/// A document as a build delivers it.
#[derive(Debug)]
pub(crate) struct DeliveredDocument {
    origin: Origin,
    object: Mapping,
    text: Arc<str>,
}

/// The objects that a build delivers.
pub(crate) struct DeliveredBuild {
    pub(crate) objects: Vec<BuildObject>,
    index: ObjectIndex,
}

/// The files to evaluate.
#[derive(Default)]
pub(crate) struct EvaluatedFiles<'a> {
    /// Files with objects that sipgen reads.
    pub(crate) files: HashSet<Arc<Utf8Path>>,
    /// Files among them for which a failed build is an error.
    pub(crate) vital: HashSet<Arc<Utf8Path>>,
    /// Kinds of hosts and requests. Two objects in vital files have findings of their own, and builds
    /// leave out no request.
    pub(crate) vital_kinds: &'a [&'a str],
    /// Files that have findings of their own because they cannot be parsed.
    pub(crate) unreadable: HashSet<Arc<Utf8Path>>,
    /// Set if kustomize refuses files outside of the kustomization's directory, as it does by
    /// default. Flux does not.
    pub(crate) is_restricted: bool,
    /// Files among them to evaluate even if builds change only their namespaces: those with hosts that
    /// kustomize leaves out, requests that get several namespaces, and agents' objects.
    pub(crate) remade: HashSet<Arc<Utf8Path>>,
    /// Output directory if what it will have is not part of the evaluated builds.
    pub(crate) output: Option<&'a Utf8Path>,
    /// Changes of agents' objects to builds, by the directory of the root.
    pub(crate) agents: BTreeMap<Utf8PathBuf, AgentBuild>,
}

impl Renaming {
    fn from_object(object: &BuildObject, root: usize) -> Option<Self> {
        let (first, last) = (object.original_id(), object.id());
        let is_secret = last.group.is_empty() && last.kind == "Secret";
        (is_secret && first.name != last.name).then(|| Renaming {
            root,
            is_generated: object.generated.is_some(),
            place: object.place_of(&["metadata".into(), "name".into()]),
            from: first.name,
            to: last.name,
        })
    }
}

impl DeliveredBuild {
    /// Returns the host that has or had a name in the build.
    pub(crate) fn host(&self, name: &str, namespace: Option<&str>) -> Option<&BuildObject> {
        let id = Id::host(name, namespace);
        let all = self.index.with_id(&id).filter_map(|at| self.objects.get(at));
        all.max_by_key(|object| object.id() == id)
    }

    /// Returns the host that a document became.
    pub(crate) fn host_in_document(&self, origin: &Origin) -> Option<&BuildObject> {
        let key = document_key(origin);
        self.objects.iter().find(|object| document_key(&object.origin) == key)
    }
}

/// File, start and steps of a document, in this order.
type DocumentKey = (Arc<Utf8Path>, usize, Vec<RouteStep>);

fn document_key(origin: &Origin) -> DocumentKey {
    (origin.file.clone(), origin.range.start, origin.shape.steps_into())
}

impl BuildObject {
    /// Returns the last other namespace that it had, if any.
    pub(crate) fn former_namespace(&self) -> Option<String> {
        let now = self.id().namespace;
        self.ids().into_iter().rev().map(|id| id.namespace).find(|other| *other != now)
    }

    /// Returns the place outside of a directory that last changed a field or a part of it.
    pub(crate) fn changed_at(&self, route: &[&str], apart: &Utf8Path) -> Option<Place> {
        let is_field = |change: &&ForeignValue| {
            let mut steps = change.route.iter().zip(route);
            steps.all(|(step, key)| *step == RouteStep::from(*key))
                && !change.place.file().starts_with(apart)
        };
        self.changes.iter().rev().find(is_field).map(|change| change.place.clone())
    }
}

impl DeliveredDocument {
    /// Returns the document, to be decoded like any other.
    pub(crate) fn document(&self) -> Document<'_> {
        let text = self.text.get(self.origin.range.clone()).unwrap_or_default();
        Document::from_value(self.origin.clone(), Value::Mapping(self.object.clone()), text)
    }
}

impl Builds {
    /// Evaluates the builds of the wanted files that change more than namespaces, and checks those
    /// of all vital files.
    pub(crate) fn evaluate(&self, repo: &Files, wanted: &EvaluatedFiles<'_>) -> EvaluationResult {
        let touched = self.touched(wanted);
        let changed = touched.iter().filter(|file| wanted.files.contains(file.as_path()));
        let roots_of = |file: &Utf8Path| self.reach(file).iter().map(|reach| reach.root);
        let changed: BTreeSet<usize> = changed.flat_map(|file| roots_of(file)).collect();
        let vital = wanted.vital.iter().flat_map(|file| roots_of(file));
        let roots: BTreeSet<usize> = vital.chain(changed.clone()).collect();
        let reached = self
            .reached
            .iter()
            .flat_map(|(file, reaches)| reaches.iter().map(move |reach| (reach.root, file)));
        let reached: BTreeSet<_> = reached.filter(|(root, _)| roots.contains(root)).collect();
        let files: BTreeSet<&Utf8PathBuf> = reached.iter().map(|(_, file)| *file).collect();
        let below = grouped(reached);
        let read = |file: &&Utf8PathBuf| {
            ResourceFile::read(repo, file, wanted.vital_kinds, touched.contains(*file))
        };
        // Files are parsed once, even if several roots build them.
        let read: HashMap<Utf8PathBuf, ResourceFile> = files.par_iter().filter_map(read).collect();
        let mut budget = BuildBudget::default();
        let mut too_large = 0;
        let mut evaluated = EvaluationResult::default();
        let mut objects: BTreeMap<DocumentKey, Vec<(BuildObject, Vec<usize>)>> = BTreeMap::new();
        for root in roots {
            let root_files = below.get(&root).map(Vec::as_slice).unwrap_or_default();
            let mut run = BuildEvaluation::new(self, repo, wanted, &read, &budget);
            let made = match run.build(&self.roots[root].directory) {
                Ok(made) => made,
                Err(mut failure) => {
                    if matches!(failure.problem, EvaluationError::TooLarge(_)) {
                        too_large += 1;
                        failure.is_known |= too_large > MAX_TOO_LARGE;
                        // Other builds must not lack what this one has used up.
                        if too_large <= MAX_TOO_LARGE {
                            budget = BuildBudget::default();
                        }
                    }
                    if changed.contains(&root) {
                        evaluated.unknown.insert(root);
                    }
                    let is_vital = |file: &&Utf8PathBuf| wanted.vital.contains(file.as_path());
                    if root_files.iter().any(is_vital) {
                        let directory = &self.roots[root].directory;
                        let agent = wanted.agents.get(directory).map(AgentBuild::source);
                        evaluated.findings.extend(failure.finding(directory, agent));
                    }
                    continue;
                }
            };
            for file in root_files.iter().filter(|file| touched.contains(*file)) {
                for object in read.get(*file).into_iter().flat_map(|read| &read.objects) {
                    evaluated.read.entry(object.origin.clone()).or_default().push(root);
                }
            }
            let bases = &mut evaluated.overlay_bases;
            bases.roots.extend(run.overlay_base.map(|base| (root, base)));
            for (component, base) in run.component_bases {
                bases.components.entry(component).or_default().extend(base);
            }
            evaluated
                .renamed
                .extend(made.iter().filter_map(|object| Renaming::from_object(object, root)));
            for object in
                made.into_iter().filter(|object| object.generated != Some(Behavior::Create))
            {
                let file = object.origin.file.as_ref();
                if !wanted.files.contains(file) || !touched.contains(&file.to_path_buf()) {
                    continue;
                }
                // Roots that deliver equal objects share one document.
                let others = objects.entry(document_key(&object.origin)).or_default();
                match others.iter_mut().find(|(other, _)| other.value == object.value) {
                    Some((_, roots)) => roots.push(root),
                    None => others.push((object, vec![root])),
                }
            }
        }
        for ((file, ..), objects) in objects {
            let Some(read) = read.get(&*file) else { continue };
            let delivered = objects.into_iter().map(|(object, roots)| {
                let BuildObject { origin, value, changes: given, levels, unsubstituted, .. } =
                    object;
                let is_evaluated = true;
                let builds = DocumentBuilds { roots, is_evaluated, given, levels, unsubstituted };
                let (origin, text) = (origin.delivered_as(builds), read.text.clone());
                DeliveredDocument { origin, object: value, text }
            });
            evaluated.delivered.entry(file).or_default().extend(delivered);
        }
        // Roots that share a kustomization fail for the same reason.
        let mut seen = HashSet::new();
        evaluated.findings.retain(|finding| seen.insert((finding.code, finding.places.clone())));
        evaluated
    }

    /// Returns the objects that `kustomize build` of a root would print, in no particular order.
    /// With variables, Flux's substitution follows.
    ///
    /// # Errors
    ///
    /// Returns why kustomize would fail, or why only kustomize can build it.
    pub fn built(
        &self,
        repo: &Files,
        root: usize,
        variables: BTreeMap<String, String>,
    ) -> Result<Vec<Value>, EvaluationError> {
        let BuildRoot { directory, file } = self.root(root);
        let (origin, place) = (self.nodes[directory].origin.clone(), Place::File(file.clone()));
        let nothing = Ok(Kustomization::default());
        let mut agent =
            AgentBuild::new(String::new(), origin, directory.clone(), nothing, place.clone());
        let values = variables.into_iter().map(|(name, it)| (name, Some((it, place.clone()))));
        let variables = SubstitutionVariables { values: values.collect(), ..Default::default() };
        agent.variables = Some(variables).filter(|it| !it.values.is_empty());
        let is_restricted = true;
        let objects = self
            .objects_of(repo, directory, Some(&agent), is_restricted, |_| true)
            .map_err(|failure| failure.problem)?;
        Ok(objects.into_iter().map(|object| Value::Mapping(object.value)).collect())
    }

    /// Returns the objects that a directory's build delivers, in no particular order. `agent` has the
    /// changes of the object that applies it. Files outside of a kustomization's directory are refused
    /// if `is_restricted` is set. The objects of the files that `is_vital` selects must be known.
    fn objects_of(
        &self,
        repo: &Files,
        directory: &Utf8PathBuf,
        agent: Option<&AgentBuild>,
        is_restricted: bool,
        is_vital: impl Fn(&Utf8Path) -> bool,
    ) -> BuildResult<Vec<BuildObject>> {
        let below: Vec<Utf8PathBuf> = self.below(directory).into_keys().collect();
        let read = |file: &Utf8PathBuf| ResourceFile::read(repo, file, &[], true);
        let read = below.par_iter().filter_map(read).collect();
        let vital = below.iter().filter(|file| is_vital(file));
        let wanted = EvaluatedFiles {
            vital: vital.map(|file| Arc::from(file.as_path())).collect(),
            is_restricted,
            agents: agent.map(|build| (directory.clone(), build.clone())).into_iter().collect(),
            ..EvaluatedFiles::default()
        };
        let budget = BuildBudget::default();
        BuildEvaluation::new(self, repo, &wanted, &read, &budget).build(directory)
    }

    /// Evaluates the build of a directory as an agent applies it. The objects of the files that
    /// `is_vital` selects must be known.
    ///
    /// # Errors
    ///
    /// Returns a finding if kustomize or the agent would fail, or only they know the result.
    pub(crate) fn delivered_by(
        &self,
        repo: &Files,
        directory: &Utf8PathBuf,
        agent: Option<&AgentBuild>,
        is_vital: impl Fn(&Utf8Path) -> bool,
    ) -> Result<DeliveredBuild, Option<Finding>> {
        let delivered = |objects| DeliveredBuild { index: ObjectIndex::new(&objects), objects };
        let objects = self.objects_of(repo, directory, agent, false, is_vital);
        objects.map(delivered).map_err(|failure| match failure.problem {
            EvaluationError::Refused(_) | EvaluationError::Unapplied(_) => {
                failure.finding(directory, agent.map(AgentBuild::source))
            }
            EvaluationError::Beyond(_)
            | EvaluationError::TooLarge(_)
            | EvaluationError::Undetermined(_) => Some(failure.uncompared(directory)),
        })
    }

    /// Returns the builds with the kustomizations of files that the repo does not have yet.
    pub(crate) fn with_files<'f>(
        &self,
        files: impl Iterator<Item = (&'f Utf8Path, &'f str)>,
    ) -> Self {
        let own = self.nodes.values().map(|node| (node.origin.clone(), node.kustomization.clone()));
        Self::new(own.chain(files.filter_map(kustomization_of)).collect()).0
    }

    /// Returns the builds of files in memory that kustomize refuses, each with the reason. Only those
    /// in directories that `asks` selects are evaluated.
    pub(crate) fn refused(
        files: Vec<(Utf8PathBuf, String)>,
        asks: impl Fn(&Utf8Path) -> bool,
    ) -> Vec<(Utf8PathBuf, String)> {
        let texts = files.iter().map(|(path, text)| (path.as_path(), text.as_str()));
        let builds = Self::default().with_files(texts);
        let files = files.into_iter().map(|(path, text)| (path, text.into_bytes()));
        let repo = Files::in_memory(files);
        let roots = builds.roots().enumerate().filter(|(_, root)| asks(&root.directory));
        let refused =
            roots.filter_map(|(index, root)| match builds.built(&repo, index, BTreeMap::new()) {
                Err(EvaluationError::Refused(why)) => Some((root.directory.clone(), why)),
                _ => None,
            });
        refused.collect()
    }
}

/// Returns the kustomization in a file, if it is one.
fn kustomization_of((path, text): (&Utf8Path, &str)) -> Option<(Origin, Kustomization)> {
    let DecodedKustomization(decoded, _) =
        is_kustomization(path).then(|| yaml::from_str(text).ok()).flatten()?;
    Some((Origin::for_file(Arc::from(path), text), decoded.ok()?))
}

/// The evaluation of one build.
struct BuildEvaluation<'a> {
    builds: &'a Builds,
    repo: &'a Files,
    wanted: &'a EvaluatedFiles<'a>,
    read: &'a HashMap<Utf8PathBuf, ResourceFile>,
    budget: &'a BuildBudget,
    /// Directories on the path to the one that is being built.
    inside: Vec<Utf8PathBuf>,
    /// References that the kustomizations so far configure.
    references: Vec<NameReference>,
    /// Kinds with replicas that the kustomizations so far configure.
    kinds_with_replicas: Vec<String>,
    /// Set above the root, where the overlay of its hosts was applied.
    is_above_root: bool,
    /// The objects at the end of the build.
    overlay_base: Option<OverlayBase>,
    /// The components of the output, with the objects where they are listed if hosts are among them.
    component_bases: Vec<(Utf8PathBuf, Option<OverlayBase>)>,
}

/// The accumulated objects of a build.
#[derive(Debug, Clone, Default)]
struct BuildObjects {
    list: Vec<BuildObject>,
    /// Set if the real build has more objects, which are unknown here.
    are_partial: bool,
    vars: Vec<Var>,
}

impl<'a> BuildEvaluation<'a> {
    fn new(
        builds: &'a Builds,
        repo: &'a Files,
        wanted: &'a EvaluatedFiles<'a>,
        read: &'a HashMap<Utf8PathBuf, ResourceFile>,
        budget: &'a BuildBudget,
    ) -> Self {
        BuildEvaluation {
            builds,
            repo,
            wanted,
            read,
            budget,
            inside: Vec::new(),
            references: Vec::new(),
            kinds_with_replicas: Vec::new(),
            is_above_root: false,
            overlay_base: None,
            component_bases: Vec::new(),
        }
    }
}
