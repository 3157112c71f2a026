//! A repo with sipgen's output, and an agent that applies it to the API server.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value;

use crate::support::Repo;
use crate::support::api_server::ApiServer;
use crate::support::argocd::ArgoCd;
use crate::support::flux::Flux;
use crate::support::programs::succeed;

/// An agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Agent {
    Flux,
    Argocd,
}

impl Agent {
    /// The manager under whose name it applies.
    pub(crate) fn manager(self) -> &'static str {
        match self {
            Self::Flux => "kustomize-controller",
            Self::Argocd => "argocd-controller",
        }
    }

    /// The end of the names of what is this agent's.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Flux => "flux",
            Self::Argocd => "argocd",
        }
    }

    /// Its part of the settings; Flux has its objects in a namespace.
    pub(crate) fn settings(self, namespace: &str) -> String {
        match self {
            Self::Flux => format!("gitops: flux\nflux: {{namespace: {namespace}}}\n"),
            Self::Argocd => {
                "gitops: argocd\nargocd: {repoURL: 'https://git.example.com/fleet.git'}\n"
                    .to_owned()
            }
        }
    }
}

const KUSTOMIZATIONS: &str = "kustomizations.kustomize.toolkit.fluxcd.io";

/// The controller of all tests.
static FLUX: LazyLock<Flux<'static>> = LazyLock::new(|| Flux::start(ApiServer::shared()));

/// A site: a repo, and namespaces of its own on the API server.
pub(crate) struct Site {
    pub(crate) server: &'static ApiServer,
    pub(crate) repo: Repo,
    /// The namespace of the hosts, and of Flux's objects.
    pub(crate) namespace: String,
    argocd: ArgoCd<'static>,
}

impl Site {
    /// A site whose namespace nobody else has.
    pub(crate) fn new(namespace: &str) -> Self {
        let server = ApiServer::shared();
        let site = Self {
            server,
            repo: Repo::empty(),
            namespace: namespace.to_owned(),
            argocd: ArgoCd::new(server),
        };
        site.make_namespace(namespace);
        site
    }

    pub(crate) fn make_namespace(&self, namespace: &str) {
        self.server
            .apply(&format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {namespace}}}\n"));
    }

    /// Points Flux at the output, as the README says.
    pub(crate) fn point_flux(&self) {
        self.kustomization("sipgen", "./overlays/agents/flux");
    }

    /// Makes a Kustomization.
    pub(crate) fn kustomization(&self, name: &str, path: &str) {
        self.server.apply(&format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}, namespace: {}}}\n\
             spec: {{interval: 10m, path: {path}, prune: true, sourceRef: {{kind: GitRepository, name: flux-system}}}}\n",
            self.namespace
        ));
    }

    pub(crate) fn kustomizations(&self) -> Vec<String> {
        FLUX.kustomizations(&self.namespace).into_keys().collect()
    }

    pub(crate) fn patch_kustomization(&self, name: &str, patch: &Value) {
        let mut command = self.server.kubectl("human");
        command.args([
            "--namespace",
            &self.namespace,
            "patch",
            KUSTOMIZATIONS,
            name,
            "--type=merge",
        ]);
        succeed(command.args(["--patch", &patch.to_string()]));
    }

    pub(crate) fn delete_kustomizations(&self, which: &[&str]) {
        let mut command = self.server.kubectl("human");
        command
            .args(["--namespace", &self.namespace, "delete", "--timeout=60s", KUSTOMIZATIONS])
            .args(which);
        succeed(&mut command);
    }

    pub(crate) fn delete_host(&self, name: &str) {
        let mut command = self.server.kubectl("human");
        succeed(command.args([
            "--namespace",
            &self.namespace,
            "delete",
            "--timeout=60s",
            "baremetalhost",
            name,
        ]));
    }

    /// Commits what the repo has, and has the agent apply it; returns what it cannot apply, by its object.
    #[track_caller]
    pub(crate) fn sync(&self, agent: Agent) -> BTreeMap<String, String> {
        self.repo.commit();
        match agent {
            Agent::Flux => FLUX.sync(&self.repo, &self.namespace),
            Agent::Argocd => self.argocd.sync(&self.repo),
        }
    }

    /// The same, for what can be applied.
    #[track_caller]
    pub(crate) fn sync_all(&self, agent: Agent) {
        let failures = self.sync(agent);
        assert!(failures.is_empty(), "{failures:#?}");
    }

    /// Commits what the repo has, and has the agent's objects apply it that are there, without the parent that made them;
    /// returns what cannot be applied.
    #[track_caller]
    pub(crate) fn sync_without_parent(&self, agent: Agent) -> BTreeMap<String, String> {
        self.repo.commit();
        match agent {
            Agent::Flux => FLUX.sync(&self.repo, &self.namespace),
            Agent::Argocd => self.argocd.sync_known(&self.repo),
        }
    }

    /// Has the agent apply once more what it applied last; returns what it cannot apply.
    #[track_caller]
    pub(crate) fn resync(&self, agent: Agent) -> BTreeMap<String, String> {
        match agent {
            Agent::Flux => FLUX.reconcile(&self.repo, &self.namespace),
            Agent::Argocd => self.argocd.sync(&self.repo),
        }
    }

    /// Deletes every object of Flux, the parent first.
    pub(crate) fn remove_flux(&self) {
        self.delete_kustomizations(&["sipgen"]);
        self.delete_kustomizations(&["--all"]);
    }

    /// Deletes every Application, with what its finalizer says.
    pub(crate) fn remove_applications(&self) {
        self.argocd.remove_all();
    }

    /// Deletes every Application and nothing else, as `argocd app delete --cascade=false` does.
    pub(crate) fn forget_applications(&self) {
        self.argocd.remove_finalizers();
        self.argocd.remove_all();
    }

    pub(crate) fn remove_finalizers(&self) {
        self.argocd.remove_finalizers();
    }

    /// The live hosts, by name.
    pub(crate) fn hosts(&self) -> BTreeMap<String, Value> {
        let list = self.server.get(&["--namespace", &self.namespace, "baremetalhosts"]);
        let items = list["items"].as_array().unwrap().iter();
        items
            .map(|host| (host["metadata"]["name"].as_str().unwrap().to_owned(), host.clone()))
            .collect()
    }

    /// Takes a snapshot of the hosts into the repo.
    pub(crate) fn take_snapshot(&self) {
        let list = self.server.get(&["--namespace", &self.namespace, "baremetalhosts"]);
        self.repo.write("snapshot/hosts.yaml", &yaml_serde::to_string(&list).unwrap());
    }

    /// Writes a SIPCluster that wants workers of a pool, and makes its namespace.
    pub(crate) fn want(&self, cluster: &str, pool: &str, workers: usize) {
        let (namespace, name) = cluster.split_once('/').unwrap();
        self.make_namespace(namespace);
        self.repo.write(
            &format!("clusters/{namespace}.{name}.yaml"),
            &format!(
                "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {{namespace: {namespace}, name: \
                 {name}}}\nspec: {{nodes: {{Worker: {{labelSelector: {{matchLabels: {{pool: {pool}}}}}, count: {{active: \
                 {workers}}}}}}}}}\n"
            ),
        );
    }

    pub(crate) fn want_no_more(&self, cluster: &str) {
        self.repo.remove(&format!("clusters/{}.yaml", cluster.replace('/', ".")));
    }
}
