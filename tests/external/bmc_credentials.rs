//! How jump hosts get at the BMC credentials of hosts in other namespaces, and that no value of a Secret is written.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::api_server::ApiServer;
use crate::support::programs::{sequence, string, succeed};
use crate::support::{Repo, assert_says, documents, kustomize_build, run_tool, tool};
use tempfile::TempDir;
use yaml_serde::Value;

const SETTINGS: &str = "sipgen.yaml";
const CLUSTER: &str = "tenants/edge.yaml";

/// The objects of a kind that kustomize builds from the services of the fixture's cluster.
fn built(repo: &Repo, kind: &str) -> Vec<Value> {
    let objects = documents(&kustomize_build(repo.path().join("overlays/clusters/tenant-a/edge")));
    objects.into_iter().filter(|object| object["kind"].as_str() == Some(kind)).collect()
}

/// The Secrets that a jump host reads credentials from, by the host, all of which its Role allows.
fn readable(repo: &Repo) -> BTreeMap<String, String> {
    let is_list = |map: &&Value| map["metadata"]["name"] == "jumphost-edge.hosts";
    let list = built(repo, "ConfigMap").iter().find(is_list).unwrap()["data"]["hosts"].clone();
    let lines = list.as_str().unwrap().lines().filter(|line| !line.starts_with('#'));
    let hosts = lines.map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let by_host: BTreeMap<_, _> =
        hosts.map(|host| (text(&host["name"]), text(&host["secret"]))).collect();
    let role = built(repo, "Role").remove(0);
    let allowed: BTreeSet<String> =
        sequence(&role["rules"][0]["resourceNames"]).iter().map(string).collect();
    assert_eq!(allowed, by_host.values().cloned().collect());
    by_host
}

#[test]
fn each_secret_of_another_namespace_is_copied_once_from_the_store_that_reads_its_namespace() {
    let repo = Repo::generated("external-secrets");

    let copies = built(&repo, "ExternalSecret").into_iter().map(|copy| {
        let spec = &copy["spec"];
        let keys: BTreeSet<String> =
            sequence(&spec["data"]).iter().map(|item| string(&item["remoteRef"]["key"])).collect();
        let store = format!(
            "{} {}",
            string(&spec["secretStoreRef"]["kind"]),
            string(&spec["secretStoreRef"]["name"])
        );
        (
            string(&copy["metadata"]["namespace"]),
            store,
            keys.into_iter().collect::<Vec<_>>().join(" "),
        )
    });
    let expected =
        [("ClusterSecretStore bmc-east", "bmc-of-rack-1"), ("SecretStore bmc-west", "w1.bmc")];
    let expected =
        expected.map(|(store, key)| ("tenant-a".to_owned(), store.to_owned(), key.to_owned()));
    assert_eq!(copies.collect::<Vec<_>>(), expected);
}

#[test]
fn a_copy_has_the_keys_that_the_jump_host_reads() {
    let repo = Repo::generated("external-secrets");

    for copy in built(&repo, "ExternalSecret") {
        let pairs = sequence(&copy["spec"]["data"])
            .iter()
            .map(|item| (string(&item["secretKey"]), string(&item["remoteRef"]["property"])));
        let expected = ["username", "password"].map(|key| (key.to_owned(), key.to_owned()));
        assert_eq!(pairs.collect::<Vec<_>>(), expected);
    }
}

#[test]
fn the_jump_host_reads_the_copies_and_the_secrets_of_its_own_namespace() {
    let repo = Repo::generated("external-secrets");
    let targets: BTreeSet<String> = built(&repo, "ExternalSecret")
        .iter()
        .map(|copy| string(&copy["spec"]["target"]["name"]))
        .collect();

    let readable = readable(&repo);

    assert_eq!(readable["own-1"], "own-1-bmc");
    assert_eq!(readable["metal-east.e1"], readable["metal-east.e2"]);
    let of_others = readable.iter().filter(|(host, _)| host.starts_with("metal-"));
    assert_eq!(of_others.map(|(_, secret)| secret.clone()).collect::<BTreeSet<_>>(), targets);
}

#[test]
fn two_jump_hosts_of_a_cluster_have_copies_of_their_own() {
    let repo = Repo::of_fixture("external-secrets");
    let entry = repo.read(CLUSTER).split_once("    jumpHost:\n").unwrap().1.to_owned();
    let second = entry.replace("nodePort: 30022", "nodePort: 30023");
    repo.write(CLUSTER, &(repo.read(CLUSTER) + &second));
    repo.generate(&[]).expect(0);

    let copies = built(&repo, "ExternalSecret");

    let names: BTreeSet<String> =
        copies.iter().map(|copy| string(&copy["metadata"]["name"])).collect();
    assert_eq!((copies.len(), names.len()), (4, 4));
}

#[test]
fn without_hosts_of_other_namespaces_nothing_is_copied() {
    let repo = Repo::of_fixture("quickstart");
    repo.write(SETTINGS, "credentials: external-secrets\n");

    repo.generate(&[]).expect(0);

    assert!(!repo.exists("overlays/clusters/tenant-a/edge/jumphost/externalsecrets.yaml"));
}

#[test]
fn a_namespace_that_no_store_reads() {
    let repo = Repo::generated("external-secrets");
    repo.replace(SETTINGS, "    metal-west: {kind: SecretStore, name: bmc-west}\n", "");

    assert_says(
        &repo.refused(),
        &[
            "error[SIP0315]: the jump host of tenant-a/edge cannot read the BMC credentials of 1 of its hosts, which are in \
             other namespaces, such as metal-west/w1",
            "--> tenants/edge.yaml:14:9",
            "--> hosts/west.yaml:11:22  (the Secret that is in the host's namespace)",
            "name the store that reads metal-west under `externalSecrets.stores` in sipgen.yaml",
        ],
    );
}

#[test]
fn a_store_for_what_is_no_namespace() {
    let repo = Repo::generated("external-secrets");
    repo.replace(SETTINGS, "metal-west:", "metal.west:");

    assert_says(
        &repo.refused(),
        &["`metal.west` has a dot, which a namespace must not have", "--> sipgen.yaml:6:5"],
    );
}

#[test]
fn two_hosts_that_a_jump_host_would_call_by_one_name() {
    let repo = Repo::of_fixture("external-secrets");
    repo.replace("hosts/own.yaml", "  name: own-1\n", "  name: metal-east.e1\n");

    assert_says(
        &repo.refused(),
        &[
            "the hosts metal-east/e1 and tenant-a/metal-east.e1 would both be named metal-east.e1 on jumphost-edge",
            "--> hosts/own.yaml:4:",
            "rename one of them",
        ],
    );
}

#[test]
fn a_secret_whose_name_is_none() {
    let repo = Repo::of_fixture("external-secrets");
    repo.replace("hosts/own.yaml", "credentialsName: own-1-bmc", "credentialsName: Own_1");

    let run = repo.generate(&[]).expect(0);

    assert_says(
        &run.stderr,
        &[
            "the credentialsName of host tenant-a/own-1 is not a valid name of a Secret",
            "hosts/own.yaml:11:",
        ],
    );
}

#[test]
fn no_value_of_a_secret_is_written_in_any_mode() {
    for mode in ["reference", "external-secrets", "none"] {
        let repo = Repo::of_fixture("quickstart");
        repo.write(SETTINGS, &format!("credentials: {mode}\n"));
        repo.generate(&[]).expect(0);

        for (file, text) in repo.files("overlays") {
            // As the site has it, and as it is decoded.
            assert!(
                !text.contains("bm90LWEtc2VjcmV0") && !text.contains("not-a-secret"),
                "{mode}: {file}"
            );
        }
    }
}

/// A jump host's own account on a real API server, and the program that reads Secrets with it.
struct Account {
    server: &'static ApiServer,
    directory: TempDir,
}

impl Account {
    fn new(repo: &Repo) -> Self {
        let server = ApiServer::shared();
        server.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: depot}\n");
        let account = Self { server, directory: tempfile::tempdir().unwrap() };
        account.apply(repo);
        let mut token = server.kubectl("admin");
        let token = succeed(token.args(["create", "token", "jumphost-edge", "--namespace=depot"]));
        fs::write(account.path("token"), token).unwrap();
        let certificate = server.logs().join("certificates/apiserver.crt");
        fs::copy(certificate, account.path("ca.crt")).unwrap();
        fs::create_dir(account.path("bmc")).unwrap();
        fs::write(account.path("kubelets"), "").unwrap();
        account
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn apply(&self, repo: &Repo) {
        self.server
            .apply(&kustomize_build(repo.path().join("overlays/clusters/depot/edge/jumphost")));
    }

    /// What it gets for hosts with these Secrets, by the Secret.
    fn credentials(&self, secrets: &[&str]) -> BTreeMap<String, serde_json::Value> {
        let line = |name: &&str| {
            format!("{{\"name\": {name:?}, \"address\": \"192.0.2.1\", \"secret\": {name:?}}}\n")
        };
        fs::write(self.path("list"), secrets.iter().map(line).collect::<String>()).unwrap();
        let kubeconfig = fs::read_to_string(self.server.kubeconfig("admin")).unwrap();
        let port =
            kubeconfig.split_once("https://127.0.0.1:").unwrap().1.split('\'').next().unwrap();
        let mut refresh = tool("python3");
        refresh
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("templates/jumphost/shared/refresh"))
            .arg("--once");
        for (name, value) in [
            ("KUBERNETES_SERVICE_HOST", "127.0.0.1"),
            ("KUBERNETES_SERVICE_PORT", port),
            ("NAMESPACE", "depot"),
        ] {
            refresh.env(name, value);
        }
        for (name, file) in [
            ("HOSTS", "list"),
            ("ETC_HOSTS", "kubelets"),
            ("SHARED_ETC_HOSTS", "etc-hosts"),
            ("BMC_CREDENTIALS", "bmc"),
        ] {
            refresh.env(format!("SIPGEN_{name}"), self.path(file));
        }
        succeed(refresh.env("SIPGEN_API_ACCESS", self.directory.path()));
        let read = |name: &&str| {
            let text = fs::read_to_string(self.path("bmc").join(name)).unwrap();
            ((*name).to_owned(), serde_json::from_str(&text).unwrap())
        };
        secrets.iter().map(read).collect()
    }
}

#[test]
fn a_real_api_server_gives_a_jump_host_the_secrets_of_its_hosts_and_no_other() {
    let repo = Repo::of_fixture("jump-host");
    repo.replace_behind(
        "hosts/hosts.yaml",
        "name: depot-1\n",
        "credentialsName: depot-bmc",
        "credentialsName: one-bmc",
    );
    repo.replace_behind("hosts/hosts.yaml", "name: depot-1\n", "pool: edge", "pool: spare");
    repo.replace("clusters/edge.yaml", "active: 4", "active: 3");
    repo.generate(&[]).expect(0);
    let account = Account::new(&repo);
    for name in ["depot-bmc", "one-bmc", "edge-node-ssh"] {
        account.server.apply(&format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}, namespace: depot}}\n\
             stringData: {{username: admin, password: of-{name}}}\n"
        ));
    }
    let forbidden = |name: &str| serde_json::json!({"problem": format!("the API server answers 403 for the Secret {name}")});
    let of =
        |name: &str| serde_json::json!({"username": "admin", "password": format!("of-{name}")});

    let before = account.credentials(&["depot-bmc", "one-bmc", "edge-node-ssh"]);
    repo.replace_behind("hosts/hosts.yaml", "name: depot-1\n", "pool: spare", "pool: edge");
    repo.replace("clusters/edge.yaml", "active: 3", "active: 4");
    repo.generate(&[]).expect(0);
    account.apply(&repo);
    let after = account.credentials(&["depot-bmc", "one-bmc", "edge-node-ssh"]);

    assert_eq!(before["depot-bmc"], of("depot-bmc"));
    assert_eq!(before["one-bmc"], forbidden("one-bmc"));
    assert_eq!(after["one-bmc"], of("one-bmc"));
    for credentials in [before, after] {
        assert_eq!(credentials["edge-node-ssh"], forbidden("edge-node-ssh"));
    }
    for what in [
        "list secrets",
        "watch secrets",
        "get configmaps",
        "create pods",
        "update secrets/depot-bmc",
    ] {
        let mut can_i = account.server.kubectl("admin");
        can_i.args([
            "auth",
            "can-i",
            "--namespace=depot",
            "--as=system:serviceaccount:depot:jumphost-edge",
        ]);
        assert_eq!(run_tool(can_i.args(what.split(' '))).status.code(), Some(1), "{what}");
    }
}
