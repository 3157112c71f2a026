//! Argo CD: its Applications are played here, and each sync of one is done by Argo CD's own gitops-engine.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use serde_json::Value;

use super::api_server::{ApiServer, fed};
use super::{Repo, documents, kustomize_build, text, tool};

/// An app of apps, with automated syncs and pruning.
pub struct ArgoCd<'a> {
    server: &'a ApiServer,
    /// The Applications that there are, in the order of their waves.
    known: Mutex<Vec<Application>>,
}

/// An Application, as far as it decides what a sync does.
struct Application {
    name: String,
    path: String,
    wave: i64,
    prunes: bool,
    options: Vec<String>,
    has_finalizer: bool,
}

impl<'a> ArgoCd<'a> {
    pub fn new(server: &'a ApiServer) -> Self {
        Self { server, known: Mutex::default() }
    }

    /// Syncs all Applications that a commit's app of apps has, wave by wave, and removes those that it no longer has;
    /// returns what could not be applied, by Application.
    #[track_caller]
    pub fn sync(&self, repo: &Repo) -> BTreeMap<String, String> {
        let mut applications = applications(repo);
        applications.sort_by_key(|application| application.wave);
        let before = std::mem::replace(&mut *self.known.lock().unwrap(), applications);
        let failures = self.sync_known(repo);
        let now: BTreeSet<String> =
            self.known.lock().unwrap().iter().map(|known| known.name.clone()).collect();
        before
            .iter()
            .filter(|application| !now.contains(&application.name))
            .for_each(|gone| self.delete(gone));
        failures
    }

    /// Syncs the Applications that there are, whatever a commit's app of apps has.
    #[track_caller]
    pub fn sync_known(&self, repo: &Repo) -> BTreeMap<String, String> {
        let known = self.known.lock().unwrap();
        let sync = |application: &Application| {
            let objects = kustomize_build(repo.path().join(&application.path));
            Some((application.name.clone(), self.sync_one(application, &objects).err()?))
        };
        known.iter().filter_map(sync).collect()
    }

    /// Deletes all Applications.
    #[track_caller]
    pub fn remove_all(&self) {
        let known = std::mem::take(&mut *self.known.lock().unwrap());
        known.iter().for_each(|application| self.delete(application));
    }

    /// Takes the finalizers off all Applications.
    pub fn remove_finalizers(&self) {
        self.known
            .lock()
            .unwrap()
            .iter_mut()
            .for_each(|application| application.has_finalizer = false);
    }

    fn sync_one(&self, application: &Application, objects: &str) -> Result<(), String> {
        let has = |option: &str| application.options.iter().any(|own| own == option);
        let mut command = tool("argo-sync");
        command
            .arg("-kubeconfig")
            .arg(self.server.kubeconfig("argocd"))
            .args(["-application", &application.name]);
        command.arg(format!("-server-side={}", has("ServerSideApply=true")));
        command.arg(format!("-validate={}", !has("Validate=false")));
        command.arg(format!("-migrate={}", !has("ClientSideApplyMigration=false")));
        command.arg(format!("-prune={}", application.prunes && !has("Prune=false")));
        let output = fed(&mut command, objects);
        match output.status.code() {
            Some(0) => Ok(()),
            Some(1) => Err(text(&output.stdout)),
            _ => panic!(
                "{command:?}: {}{}\n{}",
                text(&output.stdout),
                text(&output.stderr),
                self.server.said()
            ),
        }
    }

    /// Deletes an Application, and with a finalizer what it applied.
    fn delete(&self, application: &Application) {
        if application.has_finalizer {
            self.sync_one(application, "")
                .unwrap_or_else(|message| panic!("{}: {message}", application.name));
        }
    }
}

fn applications(repo: &Repo) -> Vec<Application> {
    let files = repo.files("overlays/agents/argocd");
    let objects = files
        .values()
        .flat_map(|text| documents(text))
        .map(|object| serde_json::to_value(object).unwrap());
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let words =
        |value: &Value| value.as_array().into_iter().flatten().map(word).collect::<Vec<String>>();
    let applications = objects.filter(|object| object["kind"] == "Application");
    applications
        .map(|object| {
            let (metadata, spec) = (&object["metadata"], &object["spec"]);
            let wave = word(&metadata["annotations"]["argocd.argoproj.io/sync-wave"]);
            Application {
                name: word(&metadata["name"]),
                path: word(&spec["source"]["path"]),
                wave: wave.parse().unwrap_or_default(),
                prunes: spec["syncPolicy"]["automated"]["prune"] == true,
                options: words(&spec["syncPolicy"]["syncOptions"]),
                has_finalizer: !words(&metadata["finalizers"]).is_empty(),
            }
        })
        .collect()
}
