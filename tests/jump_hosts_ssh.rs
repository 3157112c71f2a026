//! Operators and a jump host's pod: the real OpenSSH, with exactly the files that were rendered.

#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};

use support::network::{Network, Server};
use support::pod::{PASSWD, Pod, Running, Secrets, secrets_of};
use support::programs::succeed;
use support::{Repo, assert_says, run_tool, text, tool};
use tempfile::TempDir;

/// The nodes of the fixture, the jump host, and nothing else.
const ADDRESSES: [&str; 4] = ["198.51.100.51", "2001:db8:0:a::55", "192.0.2.10", "2001:db8::10"];

/// A key of OpenSSH.
struct Key {
    directory: TempDir,
}

impl Key {
    fn new(kind: &str) -> Self {
        let key = Self { directory: tempfile::tempdir().unwrap() };
        succeed(tool("ssh-keygen").args(["-q", "-N", "", "-C", "operator", "-t", kind, "-f"]).arg(key.path()));
        key
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("key")
    }

    fn public(&self) -> String {
        fs::read_to_string(self.path().with_extension("pub")).unwrap().trim().to_owned()
    }

    fn private(&self) -> String {
        fs::read_to_string(self.path()).unwrap()
    }
}

/// A jump host of the fixture, and an operator before it.
struct Scene {
    network: Network,
    repo: Repo,
    cluster: &'static str,
    secrets: Secrets,
    operator: Key,
    /// The nodes admit this one; the jump host has it.
    node: Key,
    claims: TempDir,
}

impl Scene {
    fn of(cluster: &'static str) -> Self {
        Self::with(cluster, "")
    }

    /// The operator's key has options before it.
    fn with(cluster: &'static str, options: &str) -> Self {
        let repo = Repo::of_fixture("jump-host");
        let operator = Key::new("ed25519");
        let node = Key::new("ed25519");
        let file = format!("clusters/{cluster}.yaml");
        let listed = repo.read(&file).lines().find_map(|line| line.split_once("- ssh-ed25519 ")).unwrap().1.to_owned();
        let key = format!("'{options}{}'", operator.public());
        repo.replace(&file, &format!("ssh-ed25519 {listed}"), &key);
        repo.generate(&[]).expect(0);
        let mut secrets = secrets_of(&repo.path().join("hosts"));
        let entries = [("id_ed25519".to_owned(), node.private()), ("id_ed25519.pub".to_owned(), node.public())];
        secrets.insert(format!("{cluster}-node-ssh"), entries.into());
        let claims = tempfile::tempdir().unwrap();
        Self { network: Network::with(&ADDRESSES), repo, cluster, secrets, operator, node, claims }
    }

    fn pod(&self) -> Pod<'_> {
        let directory = self.repo.path().join(format!("overlays/clusters/depot/{}/jumphost", self.cluster));
        Pod::new(&self.network, &directory, &self.secrets, self.claims.path())
    }

    /// Starts sshd; it serves while the result lives.
    fn start(&self) -> Running {
        self.pod().start(&[], "Server listening on :: port 2222")
    }

    /// A program of OpenSSH on the machine of an operator who has a key.
    fn client(&self, program: &str, key: &Key) -> Command {
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
    fn ssh(&self, command: &str) -> Output {
        run_tool(self.client("ssh", &self.operator).args(["-p", "2222", "jump@192.0.2.10", command]))
    }

    #[track_caller]
    fn session(&self, command: &str) -> String {
        succeed(self.client("ssh", &self.operator).args(["-p", "2222", "jump@192.0.2.10", command]))
    }

    /// A node: an sshd on port 22 of an address, which admits the node key only and says where one is.
    fn node(&self, address: &str, admitted: &Key) -> Server {
        let directory = self.node.directory.path();
        let path = |name: &str| directory.join(name);
        succeed(tool("ssh-keygen").args(["-q", "-N", "", "-t", "ed25519", "-f"]).arg(path("host_key")));
        fs::write(path("authorized_keys"), admitted.public() + "\n").unwrap();
        fs::write(path("passwd"), PASSWD).unwrap();
        for name in ["host_key", "authorized_keys"] {
            fs::set_permissions(path(name), fs::Permissions::from_mode(0o644)).unwrap();
        }
        let configuration = format!(
            "ListenAddress {address}\nPidFile none\nUsePAM no\nHostKey /etc/ssh/host_key\nStrictModes no\n\
             AuthorizedKeysFile /etc/ssh/authorized_keys\nForceCommand echo this is the node {address}\n"
        );
        fs::write(path("sshd_config"), configuration).unwrap();
        let mut sandbox = self.network.tool("bwrap");
        sandbox.args(["--die-with-parent", "--unshare-pid", "--cap-add", "ALL", "--clearenv", "--dev", "/dev"]);
        sandbox.args(["--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib"]);
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
}

// Who may log in

#[test]
fn an_operator_logs_in_with_a_listed_key() {
    let scene = Scene::of("edge");
    let server = scene.start();

    let said = scene.session("id -un; test ! -w /usr/local/bin/host && test -w . && echo at home in $PWD");

    assert_eq!(said, "jump\nat home in /home/jump\n");
    let fingerprint = succeed(tool("ssh-keygen").arg("-lf").arg(scene.operator.path()));
    let fingerprint = fingerprint.split_whitespace().nth(1).unwrap();
    // All operators are one user: the log tells them apart by their keys.
    assert_says(&server.log(), &[&format!("Accepted publickey for jump from 192.0.2.10 "), fingerprint]);
}

#[test]
fn a_key_that_is_not_listed_is_refused() {
    let scene = Scene::of("edge");
    let _server = scene.start();

    for kind in ["ed25519", "rsa"] {
        let other = Key::new(kind);
        let output = run_tool(scene.client("ssh", &other).args(["-p", "2222", "jump@192.0.2.10", "id"]));

        assert_eq!(output.status.code(), Some(255));
        assert_says(&text(&output.stderr), &["Permission denied (publickey)"]);
    }
}

#[test]
fn passwords_are_not_even_asked_for() {
    let scene = Scene::of("edge");
    let _server = scene.start();

    for method in ["password", "keyboard-interactive", "none", "hostbased"] {
        let mut client = scene.client("ssh", &scene.operator);
        client.args(["-o", "BatchMode=no", "-o", &format!("PreferredAuthentications={method}")]);
        let output = run_tool(client.args(["-p", "2222", "jump@192.0.2.10", "id"]));

        assert_eq!(output.status.code(), Some(255), "{method}");
        assert_says(&text(&output.stderr), &["Permission denied (publickey)"]);
    }
}

#[test]
fn root_is_refused_even_with_a_listed_key() {
    let scene = Scene::of("edge");
    let _server = scene.start();

    let output = run_tool(scene.client("ssh", &scene.operator).args(["-p", "2222", "root@192.0.2.10", "id"]));

    assert_eq!(output.status.code(), Some(255));
    assert_says(&text(&output.stderr), &["Permission denied (publickey)"]);
}

/// The base cluster's NodePorts may give all clients one address.
#[test]
fn who_fails_to_log_in_does_not_lock_out_others_of_the_same_address() {
    let scene = Scene::of("edge");
    let _server = scene.start();
    let other = Key::new("ed25519");

    for _ in 0..6 {
        run_tool(scene.client("ssh", &other).args(["-p", "2222", "jump@192.0.2.10", "id"]));
    }

    assert_eq!(scene.session("id -un"), "jump\n");
}

#[test]
fn options_before_a_key_hold() {
    let scene = Scene::with("edge", "command=\"echo only this\",no-port-forwarding ");
    let _server = scene.start();

    assert_eq!(scene.session("id"), "only this\n");
}

#[test]
fn a_jump_host_is_reached_over_ipv6_too() {
    let scene = Scene::of("edge");
    let _server = scene.start();

    succeed(scene.client("ssh", &scene.operator).args(["-p", "2222", "jump@2001:db8::10", "true"]));
}

// What operators reach from there

#[test]
fn a_node_is_reached_by_its_name_with_the_mounted_key() {
    for (cluster, node, address) in [("edge", "depot-1", "198.51.100.51"), ("far", "depot-5", "2001:db8:0:a::55")] {
        let mut scene = Scene::of(cluster);
        scene.keep_host_keys(&Key::new("ed25519").private());
        let _node = scene.node(address, &scene.node);
        let _server = scene.start();

        let said = scene.session(&format!("ssh -o BatchMode=yes {node}"));

        assert_eq!(said, format!("this is the node {address}\n"));
    }
}

#[test]
fn a_node_that_does_not_admit_the_mounted_key_refuses() {
    let scene = Scene::of("edge");
    let _node = scene.node("198.51.100.51", &Key::new("ed25519"));
    let _server = scene.start();

    let output = scene.ssh("ssh -o BatchMode=yes depot-1");

    assert_eq!(output.status.code(), Some(255));
    assert_says(&text(&output.stderr), &["Permission denied"]);
}

#[test]
fn an_operator_jumps_to_a_node_with_a_key_of_their_own() {
    let scene = Scene::of("edge");
    let _node = scene.node("198.51.100.51", &scene.operator);
    let _server = scene.start();

    let mut client = scene.client("ssh", &scene.operator);
    let said = succeed(client.args(["-J", "jump@192.0.2.10:2222", "jump@depot-1", "id"]));

    assert_eq!(said, "this is the node 198.51.100.51\n");
}

#[test]
fn files_are_copied_to_and_fro() {
    let scene = Scene::of("edge");
    let _server = scene.start();
    let file = scene.operator.path().with_extension("pub");
    let back = scene.operator.path().with_extension("back");

    succeed(scene.client("scp", &scene.operator).arg("-P2222").arg(&file).arg("jump@192.0.2.10:copied"));
    succeed(scene.client("scp", &scene.operator).arg("-P2222").arg("jump@192.0.2.10:copied").arg(&back));

    assert_eq!(fs::read(file).unwrap(), fs::read(back).unwrap());
}

#[test]
fn a_session_has_the_host_command() {
    let scene = Scene::of("edge");
    let _server = scene.start();

    let said = scene.session("host list");

    assert_says(
        &said,
        &["NAME     ROLE    ADDRESS        BMC\n", "depot-4  Worker  198.51.100.54  ipmi://203.0.113.24:6230\n"],
    );
}

// What sessions know

#[test]
fn sessions_use_no_proxy_unless_bmcs_are_behind_one() {
    for (cluster, expected) in [("edge", "* *"), ("far", "none none")] {
        let mut scene = Scene::of(cluster);
        scene.keep_host_keys(&Key::new("ed25519").private());
        let proxy = [("https_proxy", "http://192.0.2.1:3128")];
        let _server = scene.pod().start(&proxy, "Server listening on :: port 2222");

        let said = scene.session("echo \"$https_proxy ${NO_PROXY:-none} ${no_proxy:-none}\"");

        assert_eq!(said, format!("http://192.0.2.1:3128 {expected}\n"), "{cluster}");
    }
}

#[test]
fn the_tenants_kubeconfig_is_there_when_cluster_api_has_made_it() {
    let mut scene = Scene::of("edge");
    let entries = [("value".to_owned(), "kind: Config\n".to_owned())];
    scene.secrets.insert("edge-kubeconfig".to_owned(), entries.into());
    let _server = scene.start();

    assert_eq!(scene.session("cat $KUBECONFIG"), "kind: Config\n");
}

#[test]
fn a_cluster_without_kubeconfig_has_a_jump_host_that_says_so() {
    let scene = Scene::of("edge");
    let _server = scene.start();

    assert_eq!(scene.session("test -e $KUBECONFIG || echo $KUBECONFIG"), "/run/sipgen/kubeconfig/value\n");
}

// Host keys

impl Scene {
    fn keep_host_keys(&mut self, key: &str) {
        let entries = [("ssh_host_ed25519_key".to_owned(), key.to_owned())];
        self.secrets.insert("far-jumphost-keys".to_owned(), entries.into());
    }

    /// The host keys that a pod shows, after it has been started anew.
    fn shown_host_keys(&self) -> Vec<String> {
        let _server = self.start();
        let mut scan = self.network.tool("ssh-keyscan");
        let keys = succeed(scan.args(["-p", "2222", "-T", "60", "192.0.2.10"]));
        let mut keys: Vec<String> = keys.lines().map(str::to_owned).collect();
        keys.sort();
        keys
    }
}

#[test]
fn host_keys_in_a_volume_survive_a_restart() {
    let scene = Scene::of("edge");

    let first = scene.shown_host_keys();

    assert_eq!(first.len(), 2, "{first:?}");
    assert_eq!(scene.shown_host_keys(), first);
}

#[test]
fn a_host_key_of_the_volume_that_was_not_finished_is_made_anew() {
    let scene = Scene::of("edge");
    let first = scene.shown_host_keys();
    let file = scene.claims.path().join("jumphost-edge/ssh_host_rsa_key");
    fs::remove_file(&file).unwrap();
    fs::write(&file, "").unwrap();

    let second = scene.shown_host_keys();

    assert_eq!(second.len(), 2);
    assert_eq!(first[0], second[0], "the other key is kept");
    assert_ne!(first[1], second[1]);
}

#[test]
fn host_keys_in_a_secret_are_those_that_are_shown() {
    let mut scene = Scene::of("far");
    let key = Key::new("ed25519");
    let public = key.public().rsplit_once(' ').unwrap().0.to_owned();
    // As Secrets are often filled: without the last newline, or on Windows.
    for private in [key.private(), key.private().trim_end().to_owned(), key.private().replace('\n', "\r\n")] {
        scene.keep_host_keys(&private);

        assert_eq!(scene.shown_host_keys(), [format!("[192.0.2.10]:2222 {public}")]);
    }
}

#[test]
fn a_secret_without_a_usable_host_key_ends_the_pod_with_a_message() {
    let mut scene = Scene::of("far");
    let start = |scene: &Scene| {
        let pod = scene.pod();
        let output = run_tool(&mut pod.tool(&["timeout", "120", "/bin/sh", "/etc/opt/sip/start"], &[]));
        assert_eq!(output.status.code(), Some(1));
        text(&output.stderr)
    };

    scene.keep_host_keys("not a key");
    assert_says(&start(&scene), &["ssh_host_ed25519_key is no private key, or one with a passphrase"]);

    scene.secrets.insert("far-jumphost-keys".to_owned(), [("id_rsa".to_owned(), "x".to_owned())].into());
    assert_says(&start(&scene), &["There is no host key. In a Secret its entry is called ssh_host_ed25519_key"]);
}

#[test]
fn ephemeral_host_keys_are_others_after_a_restart() {
    let scene = Scene::of("lab");

    let first = scene.shown_host_keys();

    assert_eq!(first.len(), 2);
    assert_ne!(scene.shown_host_keys(), first);
}

#[test]
fn nobody_but_sshd_can_read_the_host_keys() {
    let scene = Scene::of("edge");
    let _server = scene.start();

    let modes = scene.session("stat -c %a /run/sipgen/host-keys/*_key");

    assert_eq!(modes, "600\n600\n");
}
