//! The host tool in the pod of a jump host of the fixture of that name.

use std::fs;
use std::path::Path;
use std::process::Child;

use tempfile::TempDir;

use super::network::{Network, Server};
use super::pod::{Pod, Secrets, secrets_of};
use super::redfish::{Certificate, Emulator};
use super::secrets_api::SecretsApi;
use super::{Repo, Run, run};

/// The password of all BMCs.
pub const PASSWORD: &str = "not-a-secret";

/// The addresses of the fixture's BMCs, and one for whoever else there is.
const ADDRESSES: [&str; 5] =
    ["203.0.113.21", "203.0.113.22", "203.0.113.26", "2001:db8:0:b::25", "192.0.2.10"];

/// The pipe of the log of orders.
const AUDIT: &str = "/tmp/sipgen-audit";

/// A cluster's jump host, in the network of the BMCs.
pub struct Scene {
    pub network: Network,
    pub api: SecretsApi,
    pub secrets: Secrets,
    repo: Repo,
    cluster: &'static str,
    claims: TempDir,
}

impl Scene {
    pub fn of_fixture(cluster: &'static str) -> Self {
        Self::of(Repo::of_fixture("jump-host"), cluster)
    }

    /// A cluster of the namespace `depot`, with Secrets for all that its pod waits for.
    #[track_caller]
    pub fn of(repo: Repo, cluster: &'static str) -> Self {
        repo.generate(&[]).expect(0);
        let mut secrets = secrets_of(&repo.path().join("hosts"));
        for name in ["node-ssh", "jumphost-keys"] {
            secrets.insert(format!("{cluster}-{name}"), Default::default());
        }
        let network = Network::with(&ADDRESSES);
        let api = SecretsApi::start(&network);
        Self { network, api, secrets, repo, cluster, claims: tempfile::tempdir().unwrap() }
    }

    /// The Redfish services of the cluster `edge`.
    pub fn bmcs(&self) -> [Emulator; 2] {
        let certificate = Certificate::of("203.0.113.21");
        [
            Emulator::start(&self.network, "203.0.113.21", 443, Some(&certificate), &["depot-1"]),
            Emulator::start(&self.network, "203.0.113.22", 8000, None, &["depot-2", "depot-3"]),
        ]
    }

    /// A BMC that answers from a table.
    pub fn odd_bmc(&self, address: &str, port: u16, answers: &str) -> Server {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/odd-bmc.py");
        let mut command = self.network.tool("python3");
        command.arg(script).args([address, &port.to_string(), answers]);
        Server::start(&mut command, &self.claims.path().join("odd-bmc.log"), "ready")
    }

    fn pod(&self) -> Pod<'_> {
        let directory =
            self.repo.path().join(format!("overlays/clusters/depot/{}/jumphost", self.cluster));
        Pod::new(&self.network, &self.api, &directory, &self.secrets, self.claims.path())
    }

    /// Runs the host tool in the pod.
    pub fn host(&self, arguments: &[&str]) -> Run {
        self.shell("exec host \"$@\"", arguments)
    }

    /// Runs a script in the pod.
    pub fn shell(&self, script: &str, arguments: &[&str]) -> Run {
        self.shell_with(script, arguments, &[])
    }

    /// Runs a script in the pod, with more in the environment.
    pub fn shell_with(
        &self,
        script: &str,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Run {
        // Orders require their log, which "start" makes and reads.
        let script = format!("mkfifo {AUDIT}; exec 9<> {AUDIT}; {script}");
        let program = [&["sh", "-uc", script.as_str(), "sh"], arguments].concat();
        run(&mut self.pod().tool(&program, environment))
    }

    /// Starts a program in the pod, and hands over to the caller while it runs.
    pub fn while_running<T>(&self, program: &[&str], act: impl FnOnce(&mut Child) -> T) -> T {
        let pod = self.pod();
        let script = format!("mkfifo {AUDIT}; exec 9<> {AUDIT}; exec \"$@\"");
        let program = [&["sh", "-uc", script.as_str(), "sh"], program].concat();
        let mut process = pod.tool(&program, &[]).spawn().unwrap();
        let result = act(&mut process);
        process.kill().unwrap();
        process.wait().unwrap();
        result
    }
}

/// Command lines and environments of the processes that have a text in their command line, as `ps` shows them.
pub fn processes(having: &str) -> Vec<String> {
    let read = |directory: &Path, name: &str| {
        String::from_utf8_lossy(&fs::read(directory.join(name)).unwrap_or_default())
            .replace('\0', " ")
    };
    let directories = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    let commands =
        directories.map(|directory| (read(&directory, "cmdline"), read(&directory, "environ")));
    commands
        .filter(|(line, _)| line.contains(having))
        .map(|(line, environment)| format!("{line} {environment}"))
        .collect()
}
