//! Flux: the real kustomize-controller, with a git repo's commits as the artifacts of a GitRepository.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::Repo;
use super::api_server::{ApiServer, free_ports};
use super::daemon::Daemon;
use super::programs::succeed;

const KUSTOMIZATIONS: &str = "kustomizations.kustomize.toolkit.fluxcd.io";
const PATIENCE: Duration = Duration::from_secs(120);

/// Flux on an API server.
pub struct Flux<'a> {
    server: &'a ApiServer,
    controller: Daemon,
    /// Where the artifacts are served from.
    artifacts: PathBuf,
    address: String,
}

impl<'a> Flux<'a> {
    /// Starts it. One is enough for all scenarios: it looks at every namespace.
    pub fn start(server: &'a ApiServer) -> Self {
        let artifacts = server.logs().join("artifacts");
        let temporary = server.logs().join("flux");
        fs::create_dir(&artifacts).unwrap();
        fs::create_dir(&temporary).unwrap();
        let address = serve_files(artifacts.clone());
        let controller = Daemon::start("kustomize-controller", server.logs(), |command| {
            let [metrics, health] = free_ports();
            command
                .env("KUBECONFIG", server.kubeconfig("kustomize-controller"))
                .env("TMPDIR", temporary);
            command.env("RUNTIME_NAMESPACE", "flux-system");
            command.args([
                "--watch-all-namespaces",
                "--enable-leader-election=false",
                "--requeue-dependency=1s",
            ]);
            command.args(["--interval-jitter-percentage=0", "--concurrent=20"]);
            command
                .arg(format!("--metrics-addr=127.0.0.1:{metrics}"))
                .arg(format!("--health-addr=127.0.0.1:{health}"));
        });
        Self { server, controller, artifacts, address }
    }

    /// Publishes the last commit of a repo as the GitRepository `flux-system` of a namespace; returns its revision.
    pub fn publish(&self, repo: &Repo, namespace: &str) -> String {
        let commit = repo.git(&["rev-parse", "HEAD"]).trim().to_owned();
        let file = format!("{namespace}-{commit}.tar.gz");
        let path = self.artifacts.join(&file);
        repo.git(&["archive", "--format=tar.gz", "--output", path.to_str().unwrap(), "HEAD"]);
        let content = fs::read(&path).unwrap();
        let digest: String =
            Sha256::digest(&content).iter().map(|byte| format!("{byte:02x}")).collect();
        let revision = format!("main@sha1:{commit}");
        let then = "2026-01-01T00:00:00Z";
        self.server.apply(&format!(
            "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {{name: flux-system, namespace: \
             {namespace}}}\nspec: {{interval: 1h, url: 'https://git.example.com/fleet.git'}}\n"
        ));
        let ready = json!({"type": "Ready", "status": "True", "reason": "Succeeded", "message": "", "observedGeneration": 1,
                           "lastTransitionTime": then});
        let artifact = json!({"path": file, "url": format!("http://{}/{file}", self.address), "revision": revision,
                              "digest": format!("sha256:{digest}"), "lastUpdateTime": then, "size": content.len()});
        let status = json!({"status": {"observedGeneration": 1, "conditions": [ready], "artifact": artifact}});
        let mut command = self.server.kubectl("admin");
        command.args([
            "--namespace",
            namespace,
            "patch",
            "gitrepository",
            "flux-system",
            "--subresource=status",
        ]);
        succeed(command.args(["--type=merge", "--patch", &status.to_string()]));
        revision
    }

    /// The Kustomizations of a namespace, by name.
    pub fn kustomizations(&self, namespace: &str) -> BTreeMap<String, Value> {
        let list = self.server.get(&["--namespace", namespace, KUSTOMIZATIONS]);
        let items = list["items"].as_array().unwrap().iter();
        items
            .map(|item| (item["metadata"]["name"].as_str().unwrap().to_owned(), item.clone()))
            .collect()
    }

    /// Publishes the last commit, and waits until every Kustomization of the namespace has applied it or cannot;
    /// returns what those say that cannot, by name.
    #[track_caller]
    pub fn sync(&self, repo: &Repo, namespace: &str) -> BTreeMap<String, String> {
        let revision = self.publish(repo, namespace);
        self.settle(namespace, &revision)
    }

    /// Has every Kustomization of the namespace apply once more what is published, and waits for it.
    #[track_caller]
    pub fn reconcile(&self, repo: &Repo, namespace: &str) -> BTreeMap<String, String> {
        let requested = format!("{:?}", Instant::now());
        let mut command = self.server.kubectl("admin");
        command.args([
            "--namespace",
            namespace,
            "annotate",
            "--overwrite",
            "--all",
            KUSTOMIZATIONS,
        ]);
        succeed(command.arg(format!("reconcile.fluxcd.io/requestedAt={requested}")));
        let handled =
            |object: &Value| object["status"]["lastHandledReconcileAt"] == requested.as_str();
        let deadline = Instant::now() + PATIENCE;
        while !self.kustomizations(namespace).values().all(handled) {
            assert!(
                Instant::now() < deadline,
                "Flux does not reconcile:\n{}",
                self.controller.said()
            );
            sleep(Duration::from_millis(200));
        }
        let commit = repo.git(&["rev-parse", "HEAD"]);
        self.settle(namespace, &format!("main@sha1:{}", commit.trim()))
    }

    /// Waits until every Kustomization of the namespace has applied a revision or cannot.
    #[track_caller]
    pub fn settle(&self, namespace: &str, revision: &str) -> BTreeMap<String, String> {
        let deadline = Instant::now() + PATIENCE;
        let mut settled = 0;
        loop {
            let all = self.kustomizations(namespace);
            let states: BTreeMap<&String, State> =
                all.iter().map(|(name, object)| (name, State::of(object, revision))).collect();
            let is_settled = states.keys().all(|name| is_settled(name, &states, &all));
            // Objects that the others wait for come and go, so one look is not enough.
            settled = if is_settled { settled + 1 } else { 0 };
            if settled == 2 {
                return states
                    .into_iter()
                    .filter_map(|(name, state)| Some((name.clone(), state.failure()?)))
                    .collect();
            }
            let message =
                || format!("{states:#?}\n{}{}", self.controller.said(), self.server.said());
            assert!(Instant::now() < deadline, "Flux has not settled:\n{}", message());
            sleep(Duration::from_millis(300));
        }
    }
}

/// Returns whether the state of a Kustomization is final: applied, failed, or blocked by one that failed.
fn is_settled(
    name: &String,
    states: &BTreeMap<&String, State>,
    all: &BTreeMap<String, Value>,
) -> bool {
    match states.get(name) {
        Some(State::Applied | State::Failed(_)) => true,
        Some(State::Blocked(_)) => {
            let dependencies = all[name]["spec"]["dependsOn"].as_array().into_iter().flatten();
            let mut names =
                dependencies.map(|dependency| dependency["name"].as_str().unwrap().to_owned());
            names.any(|name| {
                !matches!(states.get(&name), Some(State::Applied)) && is_settled(&name, states, all)
            })
        }
        Some(State::Waits(_)) | None => false,
    }
}

/// How far a Kustomization is.
#[derive(Debug)]
enum State {
    Applied,
    Failed(String),
    /// It depends on another one that is not ready.
    Blocked(String),
    Waits(String),
}

impl State {
    fn of(object: &Value, revision: &str) -> Self {
        let status = &object["status"];
        let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
        let ready = conditions
            .into_iter()
            .find(|condition| condition["type"] == "Ready")
            .unwrap_or_default();
        let message = ready["message"].as_str().unwrap_or_default().to_owned();
        if object["spec"]["suspend"] == true {
            return Self::Applied;
        }
        let is_current = ready["observedGeneration"] == object["metadata"]["generation"];
        if !object["metadata"]["deletionTimestamp"].is_null() || !is_current {
            return Self::Waits(message);
        }
        match (ready["status"].as_str(), ready["reason"].as_str()) {
            (Some("True"), _) if status["lastAppliedRevision"] == revision => Self::Applied,
            (Some("False"), Some("DependencyNotReady")) => Self::Blocked(message),
            (Some("False"), Some("ArtifactFailed")) => Self::Failed(message),
            (Some("False"), _) if status["lastAttemptedRevision"] == revision => {
                Self::Failed(message)
            }
            _ => Self::Waits(message),
        }
    }

    fn failure(self) -> Option<String> {
        match self {
            Self::Failed(message) | Self::Blocked(message) => Some(message),
            Self::Applied | Self::Waits(_) => None,
        }
    }
}

/// Serves the files of a directory by HTTP on loopback for as long as the test program runs; returns its address.
fn serve_files(directory: PathBuf) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    spawn(move || {
        for stream in listener.incoming().flatten() {
            let directory = directory.clone();
            spawn(move || answer(&stream, &directory));
        }
    });
    address
}

/// Answers one request.
fn answer(mut stream: &TcpStream, directory: &Path) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    let name = first.split(' ').nth(1).unwrap_or_default().trim_start_matches('/');
    let (code, body) = match fs::read(directory.join(name)) {
        Ok(body) => ("200 OK", body),
        Err(_) => ("404 Not Found", Vec::new()),
    };
    write!(
        stream,
        "HTTP/1.1 {code}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    )?;
    stream.write_all(&body)
}
