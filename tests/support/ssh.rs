//! Operators with keys, a jump host of the fixture of that name, and nodes behind it: all of them the real OpenSSH.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use super::network::{Network, Server};
use super::pod::{PASSWD, Pod, Running, Secrets, secrets_of};
use super::programs::succeed;
use super::secrets_api::SecretsApi;
use super::{Repo, run_tool, tool};

/// The nodes of the fixture, the jump host, a BMC, and nothing else.
const ADDRESSES: [&str; 5] =
    ["198.51.100.51", "2001:db8:0:a::55", "192.0.2.10", "2001:db8::10", "203.0.113.21"];

/// A key of OpenSSH.
pub struct Key {
    directory: TempDir,
}

impl Key {
    pub fn new(kind: &str) -> Self {
        let key = Self { directory: tempfile::tempdir().unwrap() };
        succeed(
            tool("ssh-keygen")
                .args(["-q", "-N", "", "-C", "operator", "-t", kind, "-f"])
                .arg(key.path()),
        );
        key
    }

    pub fn path(&self) -> PathBuf {
        self.directory.path().join("key")
    }

    pub fn public(&self) -> String {
        fs::read_to_string(self.path().with_extension("pub")).unwrap().trim().to_owned()
    }

    pub fn private(&self) -> String {
        fs::read_to_string(self.path()).unwrap()
    }
}

/// A jump host of the fixture, and an operator before it.
pub struct Scene {
    /// The jump host admits this one.
    pub operator: Key,
    /// The nodes admit this one; the jump host has it.
    pub node: Key,
    /// What its pod may mount.
    pub secrets: Secrets,
    /// What its volumes hold.
    pub claims: TempDir,
    pub network: Network,
    pub api: SecretsApi,
    pub repo: Repo,
    cluster: &'static str,
}

impl Scene {
    pub fn of(cluster: &'static str) -> Self {
        Self::with(cluster, "")
    }

    /// The operator's key has options before it.
    pub fn with(cluster: &'static str, options: &str) -> Self {
        Self::in_repo(Repo::of_fixture("jump-host"), cluster, options)
    }

    /// A cluster of a repo that is like the fixture.
    pub fn in_repo(repo: Repo, cluster: &'static str, options: &str) -> Self {
        let operator = Key::new("ed25519");
        let node = Key::new("ed25519");
        let file = format!("clusters/{cluster}.yaml");
        let listed = repo
            .read(&file)
            .lines()
            .find_map(|line| line.split_once("- ssh-ed25519 "))
            .unwrap()
            .1
            .to_owned();
        let key = format!("'{options}{}'", operator.public());
        repo.replace(&file, &format!("ssh-ed25519 {listed}"), &key);
        repo.generate(&[]).expect(0);
        let mut secrets = secrets_of(&repo.path().join("hosts"));
        let entries = [
            ("id_ed25519".to_owned(), node.private()),
            ("id_ed25519.pub".to_owned(), node.public()),
        ];
        secrets.insert(format!("{cluster}-node-ssh"), entries.into());
        let claims = tempfile::tempdir().unwrap();
        let network = Network::with(&ADDRESSES);
        let api = SecretsApi::start(&network);
        Self { network, api, repo, cluster, secrets, operator, node, claims }
    }

    /// The directory of the jump host.
    pub fn directory(&self) -> PathBuf {
        self.repo.path().join(format!("overlays/clusters/depot/{}/jumphost", self.cluster))
    }

    pub fn pod(&self) -> Pod<'_> {
        let directory = self.directory();
        Pod::new(&self.network, &self.api, &directory, &self.secrets, self.claims.path())
    }

    /// Starts sshd; it serves while the result lives.
    pub fn start(&self) -> Running<'_> {
        self.pod().start(&[], "Server listening on :: port 2222")
    }

    /// A program of OpenSSH on the machine of an operator who has a key.
    pub fn client(&self, program: &str, key: &Key) -> Command {
        let directory = key.directory.path();
        let configuration = directory.join("ssh_config");
        let options = format!(
            "BatchMode yes\nConnectTimeout 60\nIdentitiesOnly yes\nIdentityFile {}\nLogLevel ERROR\n\
             StrictHostKeyChecking accept-new\nUserKnownHostsFile {}\n",
            key.path().display(),
            directory.join("known_hosts").display()
        );
        fs::write(&configuration, options).unwrap();
        let mut command = self.network.tool(program);
        command.arg("-F").arg(configuration);
        command
    }

    /// Runs a command on the jump host.
    pub fn ssh(&self, command: &str) -> Output {
        run_tool(self.client("ssh", &self.operator).args([
            "-p",
            "2222",
            "jump@192.0.2.10",
            command,
        ]))
    }

    #[track_caller]
    pub fn session(&self, command: &str) -> String {
        succeed(self.client("ssh", &self.operator).args(["-p", "2222", "jump@192.0.2.10", command]))
    }

    /// A node that says where one is.
    pub fn node(&self, address: &str, admitted: &Key) -> Server {
        let says = format!("ForceCommand echo this is the node {address}\n");
        node(&self.network, self.node.directory.path(), address, admitted, &says)
    }

    /// Fills the Secret of the cluster `far`.
    pub fn keep_host_keys(&mut self, key: &str) {
        let entries = [("ssh_host_ed25519_key".to_owned(), key.to_owned())];
        self.secrets.insert("far-jumphost-keys".to_owned(), entries.into());
    }

    /// The host keys that a pod shows, after it has been started anew.
    pub fn shown_host_keys(&self) -> Vec<String> {
        let _server = self.start();
        let mut scan = self.network.tool("ssh-keyscan");
        let keys = succeed(scan.args(["-p", "2222", "-T", "60", "192.0.2.10"]));
        let mut keys: Vec<String> = keys.lines().map(str::to_owned).collect();
        keys.sort();
        keys
    }
}

/// A node: an sshd on port 22 of an address, which admits one key only, with its files in a directory.
pub fn node(
    network: &Network,
    directory: &Path,
    address: &str,
    admitted: &Key,
    options: &str,
) -> Server {
    let path = |name: &str| directory.join(name);
    succeed(tool("ssh-keygen").args(["-q", "-N", "", "-t", "ed25519", "-f"]).arg(path("host_key")));
    fs::write(path("authorized_keys"), admitted.public() + "\n").unwrap();
    fs::write(path("passwd"), PASSWD).unwrap();
    for name in ["host_key", "authorized_keys"] {
        fs::set_permissions(path(name), fs::Permissions::from_mode(0o644)).unwrap();
    }
    let configuration = format!(
        "ListenAddress {address}\nPidFile none\nUsePAM no\nHostKey /etc/ssh/host_key\nStrictModes no\n\
         AuthorizedKeysFile /etc/ssh/authorized_keys\n{options}"
    );
    fs::write(path("sshd_config"), configuration).unwrap();
    let mut sandbox = network.tool("bwrap");
    sandbox.args([
        "--die-with-parent",
        "--unshare-pid",
        "--cap-add",
        "ALL",
        "--clearenv",
        "--dev",
        "/dev",
    ]);
    sandbox.args([
        "--ro-bind",
        "/usr",
        "/usr",
        "--symlink",
        "usr/bin",
        "/bin",
        "--symlink",
        "usr/lib",
        "/lib",
    ]);
    sandbox.args(["--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--tmpfs", "/home"]);
    sandbox.args(["--perms", "0755", "--dir", "/etc", "--perms", "0755", "--dir", "/etc/ssh"]);
    sandbox.args(["--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"]);
    sandbox.arg("--ro-bind").arg(path("passwd")).arg("/etc/passwd");
    for name in ["host_key", "authorized_keys", "sshd_config"] {
        sandbox.arg("--ro-bind").arg(path(name)).arg(format!("/etc/ssh/{name}"));
    }
    sandbox.args(["--", "setpriv", "--reuid", "1000", "--regid", "1000", "--clear-groups", "--"]);
    sandbox.args(["/usr/sbin/sshd", "-D", "-e", "-f", "/etc/ssh/sshd_config"]);
    Server::start(&mut sandbox, &path("log"), "Server listening on")
}
