//! What tells Flux and Argo CD which directories to apply: the part of it that decides which hosts they reach.

use schemars::JsonSchema;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

/// The agent that applies what is in git.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Agent {
    /// Flux, by its Kustomizations.
    Flux,
    /// Argo CD, by its Applications.
    Argocd,
}

impl Agent {
    /// Every agent.
    pub const ALL: [Self; 2] = [Self::Flux, Self::Argocd];

    /// The agent's own name.
    pub fn title(self) -> &'static str {
        match self {
            Self::Flux => "Flux",
            Self::Argocd => "Argo CD",
        }
    }

    /// The manager under whose name the API server knows what the agent applied.
    pub fn manager(self) -> &'static str {
        match self {
            Self::Flux => "kustomize-controller",
            Self::Argocd => "argocd-controller",
        }
    }
}

/// The API group of Flux's Kustomizations, which share their kind with the files of kustomize.
pub const FLUX_GROUP: &str = "kustomize.toolkit.fluxcd.io";
/// The API group and version of those that we write.
pub const FLUX_API_VERSION: &str = "kustomize.toolkit.fluxcd.io/v1";
/// Their kind.
pub const FLUX_KIND: &str = "Kustomization";
/// Label: the name of the Kustomization that applied an object last.
pub const FLUX_NAME: &str = "kustomize.toolkit.fluxcd.io/name";
/// Label: the namespace of that Kustomization.
pub const FLUX_NAMESPACE: &str = "kustomize.toolkit.fluxcd.io/namespace";
/// Annotation: the Application that applied an object last, and the object, as `APPLICATION:GROUP/KIND:NAMESPACE/NAME`.
pub const TRACKING_ID: &str = "argocd.argoproj.io/tracking-id";
/// The API group of Argo CD.
pub const ARGOCD_GROUP: &str = "argoproj.io";
/// The API group and version of the Applications that we write.
pub const ARGOCD_API_VERSION: &str = "argoproj.io/v1alpha1";
/// What Argo CD applies.
pub const APPLICATION: &str = "Application";
/// What makes Applications.
pub const APPLICATION_SET: &str = "ApplicationSet";

/// The name of an agent's object.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Named {
    /// Its own name; empty where it has none.
    #[serde(default)]
    pub name: String,
    /// Its namespace, before any kustomization.
    #[serde(default)]
    pub namespace: Option<String>,
}

/// A Kustomization of Flux.
#[derive(Debug, Clone, Deserialize)]
pub struct FluxKustomization {
    /// Its name.
    #[serde(default)]
    pub metadata: Named,
    /// What is applied.
    pub spec: FluxKustomizationSpec,
}

/// What a Kustomization of Flux applies.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FluxKustomizationSpec {
    /// The directory in its source; the source's root without one.
    #[serde(default)]
    pub path: Option<String>,
    /// The namespace that everything gets.
    #[serde(default)]
    pub target_namespace: Option<String>,
    /// What every name gets in front.
    #[serde(default)]
    pub name_prefix: Option<String>,
    /// What every name gets at its end.
    #[serde(default)]
    pub name_suffix: Option<String>,
    /// The source.
    #[serde(default)]
    pub source_ref: FluxSourceRef,
    /// Whether nothing is applied for now.
    #[serde(default)]
    pub suspend: bool,
    /// How another cluster is reached, to which it is applied.
    #[serde(default)]
    pub kube_config: Option<IgnoredAny>,
}

/// A source of Flux, as a Kustomization names it.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct FluxSourceRef {
    /// Its kind.
    #[serde(default)]
    pub kind: Option<String>,
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// Its namespace; that of the Kustomization without one.
    #[serde(default)]
    pub namespace: Option<String>,
}

/// An Application of Argo CD.
#[derive(Debug, Clone, Deserialize)]
pub struct Application {
    /// Its name.
    #[serde(default)]
    pub metadata: Named,
    /// What is applied.
    pub spec: ApplicationSpec,
}

/// What an Application applies: one source, or several.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct ApplicationSpec {
    /// The only source.
    #[serde(default)]
    pub source: Option<ApplicationSource>,
    /// Several sources.
    #[serde(default)]
    pub sources: Option<Vec<ApplicationSource>>,
    /// The cluster that it is applied to.
    #[serde(default)]
    pub destination: ApplicationDestination,
}

/// A cluster, as an Application names it.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct ApplicationDestination {
    /// The address of its API server.
    #[serde(default)]
    pub server: Option<String>,
    /// Its name.
    #[serde(default)]
    pub name: Option<String>,
}

/// A directory that an Application applies.
#[derive(Debug, Clone, Deserialize)]
pub struct ApplicationSource {
    /// The URL of its repo.
    #[serde(rename = "repoURL", default)]
    pub repo_url: String,
    /// The directory in its repo; none for Helm charts from elsewhere.
    #[serde(default)]
    pub path: Option<String>,
    /// How a directory without kustomization is read.
    #[serde(default)]
    pub directory: Option<DirectorySource>,
    /// What is added to a kustomization.
    #[serde(default)]
    pub kustomize: Option<KustomizeSource>,
}

/// How a directory without kustomization is read.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct DirectorySource {
    /// Whether the directories below it count.
    #[serde(default)]
    pub recurse: bool,
    /// A glob that files must match.
    #[serde(default)]
    pub include: Option<String>,
    /// A glob that files must not match.
    #[serde(default)]
    pub exclude: Option<String>,
}

/// What an Application adds to a kustomization.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KustomizeSource {
    /// The namespace that everything gets.
    #[serde(default)]
    pub namespace: Option<String>,
    /// What every name gets in front.
    #[serde(default)]
    pub name_prefix: Option<String>,
    /// What every name gets at its end.
    #[serde(default)]
    pub name_suffix: Option<String>,
}

/// An ApplicationSet of Argo CD.
#[derive(Debug, Clone, Deserialize)]
pub struct ApplicationSet {
    /// Its name.
    #[serde(default)]
    pub metadata: Named,
    /// What makes Applications, and of which form.
    pub spec: ApplicationSetSpec,
}

/// What makes Applications, and of which form.
#[derive(Debug, Clone, Deserialize)]
pub struct ApplicationSetSpec {
    /// Where parameters come from.
    #[serde(default)]
    pub generators: Vec<Generator>,
    /// An Application with parameters in it.
    pub template: ApplicationTemplate,
}

/// An Application with parameters in it.
#[derive(Debug, Clone, Deserialize)]
pub struct ApplicationTemplate {
    /// What is applied.
    #[serde(default)]
    pub spec: ApplicationSpec,
}

/// A generator of parameters; of those that there are, the one that names directories of a repo.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Generator {
    /// The directories of a repo.
    #[serde(default)]
    pub git: Option<GitGenerator>,
    /// Generators whose parameters are combined.
    #[serde(default)]
    pub matrix: Option<Generators>,
    /// Generators whose parameters are merged.
    #[serde(default)]
    pub merge: Option<Generators>,
}

/// Generators in another one.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Generators {
    /// They.
    #[serde(default)]
    pub generators: Vec<Generator>,
}

/// The directories of a repo that match.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct GitGenerator {
    /// Globs of directories.
    #[serde(default)]
    pub directories: Vec<GitDirectory>,
}

/// A glob of directories.
#[derive(Debug, Clone, Deserialize)]
pub struct GitDirectory {
    /// The glob, as Go's `path.Match` has them.
    pub path: String,
    /// Whether what matches is left out.
    #[serde(default)]
    pub exclude: bool,
}
