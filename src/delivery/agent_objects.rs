//! Objects of the repo that configure what Flux or Argo CD applies.

use super::clusters::Cluster;
use crate::api::gitops::{
    APP_PROJECT, APPLICATION, APPLICATION_SET, ARGOCD_GROUP, AppProject, Application,
    ApplicationSet, BUCKET, FLUX_GROUP, FLUX_KIND, FLUX_SOURCE_GROUP, FluxKustomization,
    FluxSource, GIT_REPOSITORY, OCI_REPOSITORY, SECRET_TYPE,
};
use crate::finding::Origin;
use crate::kustomize::Builds;
use crate::load::Document;

/// An object that configures what an agent applies.
#[derive(Clone)]
pub(crate) struct AgentObject {
    /// Its position in the repo.
    pub(crate) origin: Origin,
    pub(super) content: Content,
}

#[derive(Clone)]
pub(super) enum Content {
    Flux(FluxKustomization),
    Application(Application),
    ApplicationSet(Box<ApplicationSet>),
    Project(Box<AppProject>),
    Source(Box<FluxSource>),
    Cluster(Box<Cluster>),
}

impl AgentObject {
    /// Returns the Kustomization, if it is one of Flux.
    pub(crate) fn flux(&self) -> Option<&FluxKustomization> {
        match &self.content {
            Content::Flux(kustomization) => Some(kustomization),
            _ => None,
        }
    }
}

/// Objects that other objects depend on.
#[derive(Default)]
pub(super) struct Context {
    pub(super) projects: Vec<(Origin, AppProject)>,
    pub(super) sources: Vec<(Origin, FluxSource)>,
    pub(super) clusters: Vec<Cluster>,
}

impl Context {
    /// Collects these objects, except patches.
    pub(super) fn of(objects: &[AgentObject], builds: &Builds) -> Self {
        let mut context = Self::default();
        for AgentObject { origin, content } in objects
            .iter()
            .filter(|object| !builds.is_patch(&object.origin.file))
        {
            match content {
                Content::Project(project) => {
                    context.projects.push((origin.clone(), (**project).clone()))
                }
                Content::Source(source) => {
                    context.sources.push((origin.clone(), (**source).clone()))
                }
                Content::Cluster(cluster) => context.clusters.push((**cluster).clone()),
                Content::Flux(_) | Content::Application(_) | Content::ApplicationSet(_) => {}
            }
        }
        context
    }
}

impl AgentObject {
    /// Returns the object in a document, if it configures an agent. An unreadable one is skipped:
    /// the agent will report it.
    pub(crate) fn read(document: &Document<'_>) -> Option<Self> {
        let content = match document.kind()? {
            FLUX_KIND if document.mentions(&[FLUX_GROUP]) => Content::Flux(document.parse().ok()?),
            APPLICATION if document.mentions(&[ARGOCD_GROUP]) => {
                Content::Application(document.parse().ok()?)
            }
            APPLICATION_SET if document.mentions(&[ARGOCD_GROUP]) => {
                Content::ApplicationSet(Box::new(document.parse().ok()?))
            }
            APP_PROJECT if document.mentions(&[ARGOCD_GROUP]) => {
                Content::Project(Box::new(document.parse().ok()?))
            }
            GIT_REPOSITORY | OCI_REPOSITORY | BUCKET if document.mentions(&[FLUX_SOURCE_GROUP]) => {
                Content::Source(Box::new(document.parse().ok()?))
            }
            "Secret" if document.mentions(&[SECRET_TYPE]) => {
                Content::Cluster(Box::new(Cluster::of(document.parse().ok()?)?))
            }
            _ => return None,
        };
        Some(Self {
            origin: document.origin.clone(),
            content,
        })
    }

    /// Returns whether it applies nothing itself but affects what others apply.
    pub(crate) fn is_context(&self) -> bool {
        matches!(self.content, Content::Source(_) | Content::Cluster(_))
    }
}
