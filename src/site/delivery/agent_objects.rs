//! Objects of the repo that configure what Flux or Argo CD applies.

use std::collections::BTreeSet;
use std::sync::Arc;

use camino::Utf8Path;
use yaml_serde::Value;

use super::clusters::ArgocdCluster;
use crate::base::api::flux::{
    FLUX_INSTANCE, FluxInstance, FluxSource, HELM_CHART, HELM_GROUP, HELM_RELEASE, HelmRelease,
    OPERATOR_GROUP, RESOURCE_SET, ResourceSet, SyncObjects,
};
use crate::base::api::gitops::{
    APP_PROJECT, APPLICATION, APPLICATION_SET, ARGOCD_GROUP, AppProject, Application,
    ApplicationSet, BUCKET, FLUX_GROUP, FLUX_KIND, FLUX_SOURCE_GROUP, FluxKustomization,
    GIT_REPOSITORY, OCI_REPOSITORY, SECRET_TYPE,
};
use crate::base::finding::Origin;
use crate::input::kustomize::{self, Builds};
use crate::input::load::{Document, ParseError};

/// An object that configures what an agent applies.
#[derive(Clone)]
pub(crate) struct AgentObject {
    /// Its position in the repo.
    pub(crate) origin: Origin,
    pub(crate) content: AgentObjectContent,
    /// The kustomization that lists such objects beside it, but not its file.
    pub(super) omitted_by: Option<Arc<Utf8Path>>,
}

#[derive(Clone)]
/// The content of such an object.
pub(crate) enum AgentObjectContent {
    /// A Kustomization, or those of a ResourceSet.
    Flux(Vec<FluxKustomization>),
    /// The objects of a FluxInstance.
    Instance(Box<SyncObjects>),
    HelmRelease(Box<HelmRelease>),
    Application(Box<Application>),
    ApplicationSet(Box<ApplicationSet>),
    Source(Box<FluxSource>),
    Cluster(Box<ArgocdCluster>),
    /// The `data` of Argo CD's ConfigMap.
    ArgocdSettings(Box<Value>),
    ArgocdProject(Box<AppProject>),
    /// An object of this kind whose content is unknown, such as a Helm template.
    Unreadable(&'static str),
}

const SECRET: &str = "Secret";
const CONFIG_MAP: &str = "ConfigMap";
/// Name of the ConfigMap with Argo CD's settings.
const ARGOCD_SETTINGS: &str = "argocd-cm";

/// Kinds of such objects, each with a word that its documents contain.
const KINDS: [(&str, &str); 13] = [
    (FLUX_KIND, FLUX_GROUP),
    (HELM_RELEASE, HELM_GROUP),
    (FLUX_INSTANCE, OPERATOR_GROUP),
    (RESOURCE_SET, OPERATOR_GROUP),
    (GIT_REPOSITORY, FLUX_SOURCE_GROUP),
    (OCI_REPOSITORY, FLUX_SOURCE_GROUP),
    (BUCKET, FLUX_SOURCE_GROUP),
    (HELM_CHART, FLUX_SOURCE_GROUP),
    (APPLICATION, ARGOCD_GROUP),
    (APPLICATION_SET, ARGOCD_GROUP),
    (APP_PROJECT, ARGOCD_GROUP),
    (SECRET, SECRET_TYPE),
    (CONFIG_MAP, ARGOCD_SETTINGS),
];

/// Words of which each file with such objects has one: API groups, and a name.
pub(crate) const GROUPS: [&str; 6] =
    [FLUX_GROUP, HELM_GROUP, OPERATOR_GROUP, FLUX_SOURCE_GROUP, ARGOCD_GROUP, ARGOCD_SETTINGS];

/// Objects that other objects depend on.
#[derive(Default)]
pub(super) struct AgentContext {
    /// Sources of Flux in the repo.
    pub(super) sources: Vec<(Origin, FluxSource)>,
    /// Sources that a FluxInstance of the repo makes.
    pub(super) instance_sources: Vec<(Origin, FluxSource)>,
    /// Clusters that Secrets register in Argo CD.
    pub(super) clusters: Vec<ArgocdCluster>,
    /// The `data` of Argo CD's ConfigMaps.
    pub(super) argocd_settings: Vec<(Origin, Value)>,
    pub(super) argocd_projects: Vec<(Origin, AppProject)>,
}

impl AgentContext {
    /// Collects these objects. Patches count only for settings of Argo CD of which the repo has nothing
    /// else: those are usually a patch of Argo CD's own manifests, which another repo has.
    pub(super) fn new(objects: &[AgentObject], builds: &Builds) -> Self {
        let is_patch = |object: &AgentObject| builds.is_patch(&object.origin.file);
        let is_settings =
            |object: &AgentObject| matches!(object.content, AgentObjectContent::ArgocdSettings(_));
        let has_settings = objects.iter().any(|object| is_settings(object) && !is_patch(object));
        let counts =
            |object: &&AgentObject| !is_patch(object) || is_settings(object) && !has_settings;
        let mut context = Self::default();
        for AgentObject { origin, content, .. } in objects.iter().filter(counts) {
            match content {
                AgentObjectContent::Source(source) => {
                    context.sources.push((origin.clone(), (**source).clone()))
                }
                AgentObjectContent::Instance(made) => {
                    context.instance_sources.push((origin.clone(), made.source.clone()))
                }
                AgentObjectContent::Cluster(cluster) => context.clusters.push((**cluster).clone()),
                AgentObjectContent::ArgocdSettings(data) => {
                    context.argocd_settings.push((origin.clone(), (**data).clone()))
                }
                AgentObjectContent::ArgocdProject(project) => {
                    context.argocd_projects.push((origin.clone(), (**project).clone()))
                }
                AgentObjectContent::Flux(_)
                | AgentObjectContent::HelmRelease(_)
                | AgentObjectContent::Application(_)
                | AgentObjectContent::ApplicationSet(_)
                | AgentObjectContent::Unreadable(_) => {}
            }
        }
        context
    }
}

impl AgentObject {
    /// Returns the object in a document, if it configures an agent.
    pub(crate) fn read(document: &Document<'_>) -> Option<Self> {
        let (kind, _) = KINDS
            .into_iter()
            .find(|(kind, group)| is_of_kind(document, kind) && document.mentions(&[group]))?;
        let content = match AgentObjectContent::read(document, kind) {
            Ok(content) => content?,
            // What an object applies that has no directory is known to be nothing.
            Err(_)
                if [SECRET, CONFIG_MAP, APP_PROJECT, GIT_REPOSITORY, OCI_REPOSITORY, BUCKET]
                    .contains(&kind) =>
            {
                return None;
            }
            Err(_) => AgentObjectContent::Unreadable(kind),
        };
        Some(Self { origin: document.origin.clone(), content, omitted_by: None })
    }

    /// Finds the objects in files that kustomizations omit. `objects` are all in the repo's files.
    pub(crate) fn find_omitted(objects: &mut [Self], builds: &Builds) {
        let files: Vec<Arc<Utf8Path>> = objects.iter().map(|it| it.origin.file.clone()).collect();
        let is_listed = |file: &Utf8Path| !builds.reach(file).is_empty();
        let listed: BTreeSet<&Utf8Path> =
            files.iter().filter(|file| is_listed(file)).filter_map(|file| file.parent()).collect();
        for object in objects.iter_mut().filter(|object| !is_listed(&object.origin.file)) {
            object.omitted_by = builds.forgetful(&object.origin.file, &listed);
        }
    }

    /// Returns whether Flux builds kustomizations for it.
    pub(crate) fn is_by_flux(&self) -> bool {
        matches!(self.content, AgentObjectContent::Flux(_) | AgentObjectContent::Instance(_))
    }

    /// Returns whether it has fields that change what it builds, or affects what others apply.
    pub(crate) fn may_change_builds(&self) -> bool {
        let by_flux = |object: &FluxKustomization| {
            let spec = &object.spec;
            let names = [&spec.target_namespace, &spec.name_prefix, &spec.name_suffix];
            let patches = [&spec.patches, &spec.patches_strategic_merge, &spec.patches_json6902];
            let fields = patches.into_iter().chain([&spec.common_metadata]);
            names.into_iter().any(Option::is_some)
                || fields.into_iter().any(Option::is_some)
                || spec.components.is_some()
                || spec.post_build.is_some()
        };
        match &self.content {
            AgentObjectContent::Flux(objects) => objects.iter().any(by_flux),
            AgentObjectContent::Instance(made) => by_flux(&made.kustomization),
            AgentObjectContent::HelmRelease(_)
            | AgentObjectContent::ArgocdSettings(_)
            | AgentObjectContent::ArgocdProject(_)
            | AgentObjectContent::Unreadable(_) => false,
            // Files beside the manifests may change those of Argo CD.
            AgentObjectContent::Application(_)
            | AgentObjectContent::ApplicationSet(_)
            | AgentObjectContent::Source(_)
            | AgentObjectContent::Cluster(_) => true,
        }
    }

    /// Returns whether it applies nothing itself but affects what others apply.
    pub(crate) fn is_context(&self) -> bool {
        matches!(
            self.content,
            AgentObjectContent::Source(_)
                | AgentObjectContent::Cluster(_)
                | AgentObjectContent::ArgocdSettings(_)
                | AgentObjectContent::ArgocdProject(_)
        )
    }
}

/// Returns whether the path is one that Flux completes where it applies the object.
fn has_variable(object: &FluxKustomization) -> bool {
    object.spec.path.as_ref().is_some_and(|path| path.contains("${"))
}

/// Returns whether a document is of a kind. Text that is not YAML is searched for it.
fn is_of_kind(document: &Document<'_>, kind: &str) -> bool {
    match document.broken() {
        Some(_) => document.mentions_kind(&[kind]),
        None => document.kind() == Some(kind),
    }
}

impl AgentObjectContent {
    /// Reads an object of a kind; `None` if it is not about an agent.
    fn read(document: &Document<'_>, kind: &str) -> Result<Option<Self>, ParseError> {
        Ok(Some(match kind {
            FLUX_KIND => match document.parse::<FluxKustomization>()? {
                object if has_variable(&object) => Self::Unreadable(FLUX_KIND),
                object => Self::Flux(vec![object]),
            },
            FLUX_INSTANCE => return Ok(Self::from_instance(&document.parse()?)),
            RESOURCE_SET => document
                .parse::<ResourceSet>()?
                .kustomizations()
                .map_or(Self::Unreadable(RESOURCE_SET), Self::Flux),
            HELM_RELEASE => {
                let release = document.parse::<HelmRelease>()?;
                match release.flux_instance() {
                    Some(instance) => return Ok(Self::from_instance(&instance)),
                    None if release.has_unknown_instance() => Self::Unreadable(HELM_RELEASE),
                    None => Self::HelmRelease(Box::new(release)),
                }
            }
            APPLICATION => Self::Application(Box::new(document.parse()?)),
            APPLICATION_SET => match document.parse::<ApplicationSet>()? {
                set if set.spec.template_patch.is_some()
                    || set.spec.generators.iter().any(|generator| generator.has_template())
                    || set.spec.filled_template(|_| {}).is_none() =>
                {
                    Self::Unreadable(APPLICATION_SET)
                }
                set => Self::ApplicationSet(Box::new(set)),
            },
            APP_PROJECT => Self::ArgocdProject(Box::new(document.parse()?)),
            SECRET => {
                let cluster = ArgocdCluster::from_secret(document.parse()?);
                return Ok(cluster.map(|cluster| Self::Cluster(Box::new(cluster))));
            }
            CONFIG_MAP => {
                let object = document.parse::<Value>()?;
                let name = object.get("metadata").and_then(|metadata| metadata.get("name"));
                let data =
                    object.get("data").filter(|_| name.is_some_and(|it| it == ARGOCD_SETTINGS));
                return Ok(data.map(|data| Self::ArgocdSettings(Box::new(data.clone()))));
            }
            _ => Self::Source(Box::new(document.parse()?)),
        }))
    }

    fn from_instance(instance: &FluxInstance) -> Option<Self> {
        let manifests = instance.sync_manifests()?;
        let made = match instance.sync_patches().as_slice() {
            [] => Some(manifests),
            patches => kustomize::patched(&manifests, patches),
        };
        let made = made.and_then(SyncObjects::from_manifests);
        let known = made.filter(|made| !has_variable(&made.kustomization));
        Some(known.map_or(Self::Unreadable(FLUX_INSTANCE), |made| Self::Instance(Box::new(made))))
    }
}
