//! A real API server: etcd and kube-apiserver on loopback, with the definitions of Metal3, Flux and sipgen.

use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use super::daemon::Daemon;
use super::programs::succeed;
use super::{run_tool, text, tool};

/// Users who may do everything; each has a token, `NAME-token`, and a kubeconfig.
pub const USERS: [&str; 5] =
    ["admin", "human", "baremetal-operator", "kustomize-controller", "argocd"];
/// Somebody who may do nothing until a role says otherwise.
pub const READER: &str = "reader";

const MOST_ATTEMPTS: usize = 3;
const PATIENCE: Duration = Duration::from_secs(180);

/// A running API server, with what it has stored and written in a temporary directory.
pub struct ApiServer {
    directory: TempDir,
    address: String,
    port: u16,
    daemons: Vec<Daemon>,
}

/// A request that the audit policy records: every write, and every read of Secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub user: String,
    pub verb: String,
    pub resource: String,
    pub subresource: String,
    pub namespace: String,
    pub name: String,
    pub code: u64,
}

impl ApiServer {
    /// The one of this test program.
    pub fn shared() -> &'static Self {
        static SHARED: LazyLock<ApiServer> = LazyLock::new(ApiServer::start);
        &SHARED
    }

    /// Starts one. That somebody else takes a free port first is unlikely, and then it tries others.
    pub fn start() -> Self {
        let mut said = String::new();
        for _ in 0..MOST_ATTEMPTS {
            let [port] = free_ports();
            match Self::serve("127.0.0.1", port, &[]) {
                Ok(server) => {
                    server.define_usual();
                    return server;
                }
                Err(message) => said = message,
            }
        }
        panic!("the API server does not start:\n{said}");
    }

    /// Starts one at an address, with further arguments, that knows the kinds of Kubernetes alone.
    pub fn serve(address: &str, port: u16, arguments: &[&str]) -> Result<Self, String> {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
        let [client, peer] = free_ports();
        fs::create_dir(at("certificates")).unwrap();
        succeed(tool("openssl").args(["genrsa", "-out", &at("account.key"), "2048"]));
        let token = |user: &str, groups: &str| format!("{user}-token,{user},{user}{groups}\n");
        let admins = USERS.iter().map(|user| token(user, ",\"system:masters\""));
        fs::write(at("tokens"), admins.chain([token(READER, "")]).collect::<String>()).unwrap();
        fs::write(at("audit.yaml"), AUDIT).unwrap();
        let etcd = Daemon::start("etcd", directory.path(), |command| {
            let (client, peer) =
                (format!("http://127.0.0.1:{client}"), format!("http://127.0.0.1:{peer}"));
            command.args(["--data-dir", &at("etcd"), "--unsafe-no-fsync", "--log-level", "warn"]);
            command.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
            command.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
            command.args(["--initial-cluster", &format!("default={peer}")]);
        });
        let api = Daemon::start("kube-apiserver", directory.path(), |command| {
            command
                .arg(format!("--etcd-servers=http://127.0.0.1:{client}"))
                .arg(format!("--secure-port={port}"));
            command.args(["--bind-address", address, "--advertise-address", address]);
            command.args(["--cert-dir", &at("certificates"), "--token-auth-file", &at("tokens")]);
            command.args(["--service-cluster-ip-range=10.96.0.0/16", "--authorization-mode=RBAC"]);
            command.arg("--service-account-issuer=https://kubernetes.default.svc");
            command.args(["--service-account-key-file", &at("account.key")]);
            command.args(["--service-account-signing-key-file", &at("account.key")]);
            command.args([
                "--disable-admission-plugins=ServiceAccount",
                "--endpoint-reconciler-type=none",
            ]);
            command.args([
                "--audit-policy-file",
                &at("audit.yaml"),
                "--audit-log-path",
                &at("audit.log"),
            ]);
            command.args(arguments);
        });
        let address = address.to_owned();
        let mut server = Self { directory, address, port, daemons: vec![api, etcd] };
        server.wait()?;
        Ok(server)
    }

    /// Waits until it is ready. It makes its certificate itself, so users can only be told of it then.
    fn wait(&mut self) -> Result<(), String> {
        let deadline = Instant::now() + PATIENCE;
        let certificate = self.path("certificates/apiserver.crt");
        loop {
            if certificate.is_file() {
                USERS.iter().chain([&READER]).for_each(|user| self.write_kubeconfig(user));
                let ready = run_tool(self.kubectl("admin").args(["get", "--raw", "/readyz"]));
                if ready.status.success() {
                    return Ok(());
                }
            }
            if self.daemons.iter_mut().any(Daemon::has_ended) || Instant::now() > deadline {
                return Err(self.said());
            }
            sleep(Duration::from_millis(200));
        }
    }

    fn write_kubeconfig(&self, user: &str) {
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: live\ncontexts: [{{name: live, context: {{cluster: live, \
             user: {user}}}}}]\nclusters: [{{name: live, cluster: {{server: 'https://{}:{}', \
             certificate-authority: {}}}}}]\nusers: [{{name: {user}, user: {{token: {user}-token}}}}]\n",
            self.address,
            self.port,
            self.path("certificates/apiserver.crt").display()
        );
        fs::write(self.kubeconfig(user), text).unwrap();
    }

    /// Defines the kinds that most tests need.
    fn define_usual(&self) {
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/crds");
        let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/crds");
        let flux = |kind: &str, group: &str| {
            installed.join(format!("{group}.toolkit.fluxcd.io_{kind}.yaml"))
        };
        let mut files = vec![own.join("baremetalhosts.yaml"), own.join("hardwaredata.yaml")];
        files.push(flux("kustomizations", "kustomize"));
        files.extend(
            ["gitrepositories", "buckets", "ocirepositories"].map(|kind| flux(kind, "source")),
        );
        let sipgen =
            Command::new(env!("CARGO_BIN_EXE_sipgen")).args(["schema", "crd"]).output().unwrap();
        self.apply(&text(&sipgen.stdout));
        self.define(files);
    }

    /// Defines kinds, by the files of their definitions.
    pub fn define(&self, files: impl IntoIterator<Item = PathBuf>) {
        for file in files {
            let text = fs::read_to_string(&file).unwrap_or_else(|error| {
                panic!(
                    "{}: {error}; `tests/tools/install` installs what the tests need",
                    file.display()
                )
            });
            self.apply(&text);
        }
        let mut established = self.kubectl("admin");
        established.args(["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"]);
        succeed(&mut established);
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The directory for logs of whatever runs beside it.
    pub fn logs(&self) -> &Path {
        self.directory.path()
    }

    /// The last lines of the logs, for messages.
    pub fn said(&self) -> String {
        self.daemons.iter().map(Daemon::said).collect()
    }

    /// The file by which a user reaches the server, for kubectl and other clients.
    pub fn kubeconfig(&self, user: &str) -> PathBuf {
        self.path(&format!("kubeconfig-{user}"))
    }

    /// kubectl, as a user.
    pub fn kubectl(&self, user: &str) -> Command {
        let mut command = tool("kubectl");
        command.arg("--kubeconfig").arg(self.kubeconfig(user)).env_remove("KUBECONFIG");
        // kubectl caches an API server's kinds by its port, which an earlier server may have had.
        command.arg("--cache-dir").arg(self.path("kubectl"));
        command
    }

    /// Applies objects server-side, for what no scenario is about.
    #[track_caller]
    pub fn apply(&self, objects: &str) {
        let mut command = self.kubectl("admin");
        command.args(["apply", "--server-side", "--force-conflicts", "--filename=-"]);
        let output = fed(&mut command, objects);
        assert!(output.status.success(), "{}\n{objects}", text(&output.stderr));
    }

    /// Returns the output of `kubectl get`, with field managers.
    #[track_caller]
    pub fn get(&self, arguments: &[&str]) -> Value {
        let mut command = self.kubectl("admin");
        command.arg("get").args(arguments).args(["--output=json", "--show-managed-fields"]);
        serde_json::from_str(&succeed(&mut command)).unwrap()
    }

    /// The recorded requests so far, without rehearsals.
    pub fn requests(&self) -> Vec<Request> {
        let log = fs::read_to_string(self.path("audit.log")).unwrap_or_default();
        let events = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let real = events.filter(|event| !word(&event["requestURI"]).contains("dryRun=All"));
        real.map(|event| {
            let object = &event["objectRef"];
            Request {
                user: word(&event["user"]["username"]),
                verb: word(&event["verb"]),
                resource: word(&object["resource"]),
                subresource: word(&object["subresource"]),
                namespace: word(&object["namespace"]),
                name: word(&object["name"]),
                code: event["responseStatus"]["code"].as_u64().unwrap_or_default(),
            }
        })
        .collect()
    }
}

/// Runs a program with a text as its input.
#[track_caller]
pub fn fed(command: &mut Command, input: &str) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.spawn().unwrap_or_else(|error| {
        panic!("{command:?} cannot be run ({error}); `tests/tools/install` installs what the tests need")
    });
    let mut stdin = process.stdin.take().unwrap();
    std::thread::scope(|scope| {
        // A program that refuses its input early closes it, and says why.
        scope.spawn(move || stdin.write_all(input.as_bytes()));
        process.wait_with_output().unwrap()
    })
}

/// Free ports of the loopback interface, all different.
pub fn free_ports<const N: usize>() -> [u16; N] {
    let listeners = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

/// Every write to what the tests look at.
const AUDIT: &str = "\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  verbs: [create, update, patch, delete, deletecollection]
  resources:
  - {group: metal3.io, resources: [baremetalhosts]}
  - {group: kustomize.toolkit.fluxcd.io, resources: [kustomizations]}
  - {group: '', resources: [configmaps, secrets, services]}
  - {group: apps}
- level: Metadata
  resources: [{group: '', resources: [secrets]}]
- level: None
";
