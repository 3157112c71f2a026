//! What is generated for jump hosts, in the hands of the real OpenSSH, dash and Python.

#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use support::programs::*;
use support::{Repo, documents, kustomize_build, run_tool, text, tool};
use tempfile::TempDir;
use yaml_serde::Value;

/// A directory that a user without any rights owns, and the number of that user: sshd runs as an ordinary user,
/// and what it checks is other than for root.
struct Unprivileged {
    directory: TempDir,
    user: u32,
}

impl Unprivileged {
    const NOBODY: u32 = 65534;

    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let own = fs::metadata(directory.path()).unwrap().uid();
        let user = if own == 0 { Self::NOBODY } else { own };
        if own == 0 {
            chown(directory.path(), Some(user), Some(user)).unwrap();
        }
        Self { directory, user }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    /// A program that runs as this user.
    fn tool(&self, program: impl AsRef<Path>) -> Command {
        let root = fs::metadata("/proc/self").unwrap().uid() == 0;
        if !root {
            return tool(program.as_ref().to_str().unwrap());
        }
        let mut command = tool("setpriv");
        command.args(["--reuid", &self.user.to_string(), "--regid", &self.user.to_string(), "--clear-groups", "--"]);
        command.arg(program.as_ref());
        command
    }

    /// A file of this user.
    fn file(&self, name: &str, text: &[u8], mode: u32) -> PathBuf {
        let path = self.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        if self.user == Self::NOBODY {
            chown(&path, Some(self.user), Some(self.user)).unwrap();
        }
        path
    }
}

/// sshd asks to be called by its whole path.
fn sshd() -> PathBuf {
    let places = ["/usr/sbin/sshd", "/usr/local/sbin/sshd", "/sbin/sshd"].map(PathBuf::from);
    let found = places.into_iter().find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("sshd must be installed (Debian: apt-get install openssh-server)"))
}

#[test]
fn sshd_takes_every_configuration_as_an_ordinary_user() {
    let user = Unprivileged::new();
    let keys: Vec<PathBuf> = ["ed25519", "rsa"]
        .map(|kind| {
            let key = user.path().join(kind);
            succeed(user.tool("ssh-keygen").args(["-q", "-N", "", "-t", kind, "-f"]).arg(&key));
            key
        })
        .into();
    for file in files_named("sshd_config") {
        let configuration = user.file("sshd_config", &fs::read(&file).unwrap(), 0o400);
        let authorized = fs::read(file.with_file_name("authorized_keys")).unwrap();
        let authorized = user.file("authorized_keys", &authorized, 0o444);
        let mut command = user.tool(sshd());
        command.arg("-t").arg("-f").arg(&configuration);
        keys.iter().for_each(|key| {
            command.arg("-h").arg(key);
        });
        command.arg("-o").arg(format!("AuthorizedKeysFile={}", authorized.display()));

        succeed(&mut command);
        fs::remove_file(configuration).unwrap();
        fs::remove_file(authorized).unwrap();
    }
}

#[test]
fn sshd_admits_keys_only() {
    let repo = &GENERATED["quickstart"];
    let user = Unprivileged::new();
    let key = user.path().join("key");
    succeed(user.tool("ssh-keygen").args(["-q", "-N", "", "-t", "ed25519", "-f"]).arg(&key));
    let text = repo.read("overlays/clusters/tenant-a/edge/jumphost/sshd_config");
    let configuration = user.file("sshd_config", text.as_bytes(), 0o400);

    let effective = succeed(user.tool(sshd()).arg("-T").arg("-f").arg(configuration).arg("-h").arg(key));

    for line in [
        "port 2222",
        "authenticationmethods publickey",
        "passwordauthentication no",
        "kbdinteractiveauthentication no",
        "permitrootlogin no",
        "authorizedkeysfile /etc/ssh/authorized_keys",
    ] {
        assert!(effective.lines().any(|effective| effective == line), "{line} is not in\n{effective}");
    }
}

/// What the ssh client makes of a configuration: the address of a host.
fn address_by_ssh(configuration: &Path, host: &str) -> String {
    let effective = succeed(tool("ssh").arg("-G").arg("-F").arg(configuration).arg(host));
    let line = effective.lines().find_map(|line| line.strip_prefix("hostname "));
    line.unwrap_or_else(|| panic!("no hostname in\n{effective}")).to_owned()
}

#[test]
fn ssh_finds_each_host_by_its_name() {
    let quickstart = [
        ("lab-a1", "198.51.100.11"),
        ("lab-b1", "198.51.100.21"),
        ("lab-a2", "198.51.100.12"),
        ("lab-b2", "198.51.100.22"),
    ];
    let ipv6 = [("d1-north", "2001:db8:0:a::11"), ("d2-south", "2001:db8:0:a::22")];
    for (fixture, cluster, hosts) in [("quickstart", "tenant-a/edge", &quickstart[..]), ("ipv6", "v6/edge", &ipv6)] {
        let file = format!("overlays/clusters/{cluster}/jumphost/ssh_config");
        for (host, address) in hosts {
            assert_eq!(address_by_ssh(&GENERATED[fixture].path().join(&file), host), *address, "{host}");
        }
    }
}

#[test]
fn ssh_and_the_pods_host_aliases_agree_on_every_host() {
    let mut hosts = 0;
    for file in files_named("ssh_config") {
        let deployment = fs::read_to_string(file.with_file_name("deployment.yaml")).unwrap();
        for alias in sequence(&object(&deployment, "Deployment")["spec"]["template"]["spec"]["hostAliases"]) {
            for name in sequence(&alias["hostnames"]) {
                assert_eq!(address_by_ssh(&file, &string(name)), string(&alias["ip"]), "{file:?}");
                hosts += 1;
            }
        }
    }
    assert!(hosts > 20, "{hosts}");
}

#[test]
fn every_authorized_key_is_one_for_openssh() {
    for file in files_named("authorized_keys") {
        let content = fs::read_to_string(&file).unwrap();
        let keys = content.lines().filter(|line| !line.starts_with('#')).count();
        assert!(keys > 0, "{file:?}");

        let fingerprints = succeed(tool("ssh-keygen").arg("-l").arg("-f").arg(&file));

        assert_eq!(fingerprints.lines().count(), keys, "{file:?}\n{fingerprints}");
    }
}

#[test]
fn dash_takes_every_start_script() {
    for file in files_named("start") {
        succeed(tool("dash").arg("-n").arg(file));
    }
}

#[test]
fn the_host_tool_is_no_newer_than_the_python_of_the_jump_hosts_image() {
    let parse = "import ast, sys; ast.parse(open(sys.argv[1]).read(), feature_version=(3, 6))";
    for file in files_named("host") {
        succeed(tool("python3").arg("-c").arg(parse).arg(file));
    }
}

#[test]
fn host_list_shows_every_host_with_its_role_address_and_bmc() {
    let directory = GENERATED["quickstart"].path().join("overlays/clusters/tenant-a/edge/jumphost");

    let mut tool = tool("python3");
    let list = succeed(tool.arg(directory.join("host")).arg("list").env("SIPGEN_HOSTS", directory.join("hosts")));

    let rows: Vec<Vec<&str>> = list.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["NAME", "ROLE", "ADDRESS", "BMC"]);
    assert_eq!(rows[1], ["lab-a1", "ControlPlane", "198.51.100.11", "https://203.0.113.11/redfish/v1/Systems/1"]);
    assert_eq!(rows.len(), 5, "{list}");
}

#[test]
fn host_list_reads_the_hosts_of_every_jump_host() {
    for file in files_named("hosts") {
        let mut tool = tool("python3");
        let list = succeed(tool.arg(file.with_file_name("host")).arg("list").env("SIPGEN_HOSTS", &file));

        let ssh_config = fs::read_to_string(file.with_file_name("ssh_config")).unwrap();
        let hosts = ssh_config.lines().filter_map(|line| line.strip_prefix("Host ")).filter(|host| *host != "*");
        let listed = list.lines().skip(1).map(|line| line.split_whitespace().next().unwrap());
        assert_eq!(listed.collect::<Vec<_>>(), hosts.collect::<Vec<_>>(), "{file:?}");
    }
}

// Redfish

/// A request that a BMC got: method and path, who asked, and the body.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Request {
    what: String,
    user: String,
    body: String,
}

/// A small Redfish service over HTTP with the systems 1 and 2, for the user `admin` with a password.
struct Bmc {
    port: u16,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Bmc {
    fn start(password: &'static str, reset_types: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let bmc = Self { port: listener.local_addr().unwrap().port(), requests: Arc::default() };
        let requests = bmc.requests.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                answer(stream.unwrap(), password, reset_types, &requests);
            }
        });
        bmc
    }

    /// What was asked for that changes anything.
    fn orders(&self) -> Vec<Request> {
        let requests = self.requests.lock().unwrap().clone();
        requests.into_iter().filter(|request| request.what.starts_with("POST ")).collect()
    }
}

fn answer(mut stream: TcpStream, password: &str, reset_types: &str, requests: &Mutex<Vec<Request>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let what = line.rsplit_once(" HTTP/").unwrap().0.to_owned();
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_lowercase(), value.to_owned());
    }
    let mut body = vec![0; headers.get("content-length").map_or(0, |length| length.parse().unwrap())];
    reader.read_exact(&mut body).unwrap();
    let basic = headers.get("authorization").and_then(|value| value.strip_prefix("Basic ")).unwrap_or_default();
    let user = text(&STANDARD.decode(basic).unwrap());

    let system = what.strip_prefix("GET /redfish/v1/Systems/").filter(|system| ["1", "2"].contains(system));
    let (status, answer) = match system {
        _ if user != format!("admin:{password}") => ("401 Unauthorized", "{}".to_owned()),
        _ if what == "GET /redfish/v1/Systems" => {
            ("200 OK", r#"{"Members": [{"@odata.id": "/redfish/v1/Systems/1"}]}"#.to_owned())
        }
        Some(system) => {
            let target = format!("/redfish/v1/Systems/{system}/Actions/Vendor.Reset");
            let reset = format!(r##"{{"target": "{target}", "ResetType@Redfish.AllowableValues": [{reset_types}]}}"##);
            ("200 OK", format!(r##"{{"Actions": {{"#ComputerSystem.Reset": {reset}}}}}"##))
        }
        None if what.ends_with("/Actions/Vendor.Reset") => ("204 No Content", String::new()),
        None => ("404 Not Found", "{}".to_owned()),
    };
    requests.lock().unwrap().push(Request { what, user, body: text(&body) });
    let length = answer.len();
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{answer}").unwrap();
}

const BOTH: &str = r#""ForceRestart", "GracefulRestart""#;

/// The quickstart, generated with two of its hosts behind one BMC.
fn behind(bmc: &Bmc, paths: [&str; 2]) -> Repo {
    let repo = Repo::of_fixture("quickstart");
    for (address, path) in
        ["redfish+https://203.0.113.11/redfish/v1/Systems/1", "redfish+https://203.0.113.12/redfish/v1/Systems/1"]
            .into_iter()
            .zip(paths)
    {
        repo.replace("sites/lab/hosts/rack-a.yaml", address, &format!("redfish+http://127.0.0.1:{}{path}", bmc.port));
    }
    repo.generate(&[]).expect(0);
    repo
}

/// Lays out the credentials as the kubelet does by the jump host's Deployment, from the Secrets of the site.
fn mounted_credentials(repo: &Repo) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let secrets: BTreeMap<String, Value> = documents(&kustomize_build(repo.path().join("sites/lab")))
        .into_iter()
        .filter(|object| object["kind"].as_str() == Some("Secret"))
        .map(|secret| (string(&secret["metadata"]["name"]), secret))
        .collect();
    let deployment = repo.read("overlays/clusters/tenant-a/edge/jumphost/deployment.yaml");
    for volume in sequence(&object(&deployment, "Deployment")["spec"]["template"]["spec"]["volumes"]) {
        for source in sequence(&volume["projected"]["sources"]) {
            for item in sequence(&source["secret"]["items"]) {
                let path = directory.path().join(string(&item["path"]));
                let encoded = string(&secrets[&string(&source["secret"]["name"])]["data"][&item["key"]]);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, STANDARD.decode(encoded).unwrap()).unwrap();
            }
        }
    }
    directory
}

/// Runs `host reboot NAME` as the jump host of the quickstart's cluster would; gives how it ended and what it said.
fn reboot(repo: &Repo, host: &str) -> (bool, String) {
    let directory = repo.path().join("overlays/clusters/tenant-a/edge/jumphost");
    let credentials = mounted_credentials(repo);
    let mut command = tool("python3");
    command.arg(directory.join("host")).args(["reboot", host]).env("NO_PROXY", "*").env("no_proxy", "*");
    command.env("SIPGEN_HOSTS", directory.join("hosts")).env("SIPGEN_BMC_CREDENTIALS", credentials.path());
    let output = run_tool(&mut command);
    (output.status.success(), text(&output.stdout) + &text(&output.stderr))
}

#[test]
fn host_reboot_restarts_the_system_that_the_hosts_bmc_address_names_with_the_credentials_of_its_secret() {
    let bmc = Bmc::start("not-a-secret", BOTH);
    let repo = behind(&bmc, ["/redfish/v1/Systems/1", "/redfish/v1/Systems/2"]);

    let (success, said) = reboot(&repo, "lab-a2");

    assert!(success, "{said}");
    let order = Request {
        what: "POST /redfish/v1/Systems/2/Actions/Vendor.Reset".to_owned(),
        user: "admin:not-a-secret".to_owned(),
        body: r#"{"ResetType": "GracefulRestart"}"#.to_owned(),
    };
    assert_eq!(bmc.orders(), [order]);
}

#[test]
fn host_reboot_finds_the_only_system_of_a_bmc_whose_address_names_none() {
    let bmc = Bmc::start("not-a-secret", BOTH);
    let repo = behind(&bmc, ["", "/redfish/v1/Systems/2"]);

    let (success, said) = reboot(&repo, "lab-a1");

    assert!(success, "{said}");
    let orders: Vec<String> = bmc.orders().into_iter().map(|order| order.what).collect();
    assert_eq!(orders, ["POST /redfish/v1/Systems/1/Actions/Vendor.Reset"]);
}

#[test]
fn host_reboot_says_that_the_bmc_refuses_the_credentials() {
    let bmc = Bmc::start("another password", BOTH);
    let repo = behind(&bmc, ["/redfish/v1/Systems/1", "/redfish/v1/Systems/2"]);

    let (success, said) = reboot(&repo, "lab-a1");

    assert!(!success);
    assert!(said.starts_with("host: lab-a1: the BMC refuses the user name or the password"), "{said}");
    assert!(!said.contains("not-a-secret"), "{said}");
}

#[test]
fn host_reboot_gives_no_order_that_the_bmc_does_not_offer() {
    let bmc = Bmc::start("not-a-secret", r#""ForceRestart""#);
    let repo = behind(&bmc, ["/redfish/v1/Systems/1", "/redfish/v1/Systems/2"]);

    let (success, said) = reboot(&repo, "lab-a1");

    assert!(!success);
    assert!(said.contains("does not offer GracefulRestart, only ForceRestart"), "{said}");
    assert!(bmc.orders().is_empty());
}

#[test]
fn host_reboot_of_an_unknown_host_says_how_to_see_the_known_ones() {
    let (success, said) = reboot(&GENERATED["quickstart"], "lab-z9");

    assert!(!success);
    assert!(said.contains("lab-z9: there is no such host; \"host list\" shows them"), "{said}");
}
