//! The rights that `sipgen snapshot --rbac` prints: they suffice, and none of them is too much.

use std::fs;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde::Deserialize;
use yaml_serde::Value;

use crate::support::api_server::ApiServer;
use crate::support::{Repo, Run, run};

/// How long the API server may take to notice that a right has come or gone.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server with hosts in two namespaces, and a repo with what the account needs to reach it.
struct Stage {
    server: ApiServer,
    repo: Repo,
}

impl Stage {
    fn new() -> Self {
        let server = ApiServer::start();
        for namespace in ["sipgen", "one", "two"] {
            server.apply(&format!(
                "apiVersion: v1\nkind: Namespace\nmetadata: {{name: {namespace}}}\n"
            ));
        }
        for namespace in ["one", "two"] {
            server.apply(&format!(
                "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {{namespace: {namespace}, name: h}}\n\
                 spec: {{online: true, networkData: {{name: h-net}}, bmc: {{address: 'redfish://10.0.0.1', credentialsName: h-bmc}}}}\n\
                 ---\napiVersion: v1\nkind: Secret\nmetadata: {{namespace: {namespace}, name: h-net}}\nstringData: {{networkData: '{{}}'}}\n\
                 ---\napiVersion: v1\nkind: Secret\nmetadata: {{namespace: {namespace}, name: h-bmc}}\nstringData: {{password: x}}\n\
                 ---\napiVersion: v1\nkind: Secret\nmetadata: {{namespace: {namespace}, name: other}}\nstringData: {{password: x}}\n"
            ));
        }
        let stage = Self { server, repo: Repo::empty() };
        // The server does not know firmware settings; whoever may list them learns that.
        stage.repo.write("sipgen.yaml", "templates: own\noutputs: [{name: bios, scope: host}]\n");
        stage.repo.write("own/outputs/bios/a.yaml", "kind: HostFirmwareSettings\n");
        stage
            .server
            .apply("apiVersion: v1\nkind: ServiceAccount\nmetadata: {namespace: sipgen, name: sipgen-snapshot}\n");
        let token = run(stage.server.kubectl("admin").args([
            "create",
            "token",
            "sipgen-snapshot",
            "--namespace=sipgen",
        ]));
        let kubeconfig = fs::read_to_string(stage.server.kubeconfig("reader")).unwrap();
        let kubeconfig = kubeconfig.replace("reader-token", token.expect(0).stdout.trim());
        fs::write(stage.account(), kubeconfig).unwrap();
        stage
    }

    /// The kubeconfig of the account.
    fn account(&self) -> PathBuf {
        self.server.kubeconfig("reader").with_file_name("account")
    }

    /// Takes a snapshot with the account's rights.
    fn snapshot(&self, arguments: &[&str]) -> Run {
        let mut command = self.repo.sipgen(&["snapshot", "--kubeconfig"]);
        run(command.arg(self.account()).args(arguments))
    }

    /// Takes snapshots until one ends with a code.
    #[track_caller]
    fn snapshot_ends(&self, arguments: &[&str], code: i32, what: &str) -> Run {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let run = self.snapshot(arguments);
            if run.code == code || Instant::now() > deadline {
                assert_eq!(run.code, code, "{what}: {}", run.stderr);
                return run;
            }
            sleep(Duration::from_millis(200));
        }
    }

    fn rbac(&self, arguments: &[&str]) -> Vec<Value> {
        let arguments: Vec<&str> =
            ["snapshot", "--rbac"].into_iter().chain(arguments.iter().copied()).collect();
        let printed = run(&mut self.repo.sipgen(&arguments)).expect(0).stdout;
        yaml_serde::Deserializer::from_str(&printed)
            .map(|object| Value::deserialize(object).unwrap())
            .collect()
    }

    fn apply(&self, objects: &[Value]) {
        let texts: Vec<String> =
            objects.iter().map(|object| yaml_serde::to_string(object).unwrap()).collect();
        self.server.apply(&texts.join("---\n"));
    }

    fn delete(&self, objects: &[Value]) {
        for object in objects.iter().filter(|object| object["kind"] != "ServiceAccount") {
            let text =
                |field: &str| object["metadata"][field].as_str().unwrap_or("default").to_owned();
            let (kind, name, namespace) =
                (object["kind"].as_str().unwrap(), text("name"), text("namespace"));
            run(self.server.kubectl("admin").args([
                "delete",
                kind,
                &name,
                "--namespace",
                &namespace,
            ]))
            .expect(0);
        }
    }

    /// Proves that the printed rights suffice for a snapshot, and that it says so without any one of
    /// them.
    #[track_caller]
    fn are_needed(&self, objects: &[Value], arguments: &[&str]) {
        self.snapshot_ends(arguments, 2, "without any right");
        self.apply(objects);
        self.snapshot_ends(arguments, 0, "with the rights that are printed");
        let mut tried = 0;
        for (index, object) in objects.iter().enumerate() {
            let rules = object["rules"].as_sequence().cloned().unwrap_or_default();
            for (position, rule) in rules.iter().enumerate() {
                for list in ["resources", "resourceNames"] {
                    for entry in 0..rule[list].as_sequence().map_or(0, Vec::len) {
                        let mut less = object.clone();
                        let entries = less["rules"][position][list].as_sequence_mut().unwrap();
                        let removed = entries.remove(entry);
                        if entries.is_empty() {
                            less["rules"].as_sequence_mut().unwrap().remove(position);
                        }
                        self.apply(&[less]);
                        let what = format!("object {index}, rule {position} without {removed:?}");
                        // Machines and firmware are read if they may be.
                        let optional = [
                            "machines",
                            "metal3machines",
                            "hostfirmwaresettings",
                            "firmwareschemas",
                        ];
                        let is_optional = optional.iter().any(|it| removed == *it);
                        let run =
                            self.snapshot_ends(arguments, if is_optional { 0 } else { 2 }, &what);
                        assert!(run.stderr.contains("forbidden"), "{what}: {}", run.stderr);
                        tried += 1;
                    }
                }
            }
            self.apply(objects);
            self.snapshot_ends(arguments, 0, "with all rights again");
        }
        assert!(tried >= 3, "{tried}");
        self.delete(objects);
    }

    fn may(&self, verb: &str, what: &str) -> bool {
        let account = "--as=system:serviceaccount:sipgen:sipgen-snapshot";
        run(self.server.kubectl("admin").args([
            "auth",
            "can-i",
            verb,
            what,
            "--namespace=one",
            account,
        ]))
        .code
            == 0
    }
}

#[test]
fn the_rights_suffice_and_all_are_needed() {
    let stage = Stage::new();
    // No Secret is named before the first snapshot.
    let without_secrets = stage.rbac(&[]);
    stage.apply(&without_secrets);
    let refused = stage.snapshot_ends(&[], 2, "without Secrets");
    assert!(refused.stderr.contains("cannot get the Secret `one/h-net`"), "{}", refused.stderr);
    assert!(refused.stderr.contains("--any-secret"), "{}", refused.stderr);
    stage.delete(&without_secrets);

    let any = stage.rbac(&["--any-secret"]);
    assert!(any.iter().any(|object| object["kind"] == "ClusterRole"));
    stage.are_needed(&any, &[]);

    stage.repo.remove_all("snapshot");
    let of_one = stage.rbac(&["--namespace=one", "--any-secret"]);
    assert!(of_one.iter().all(|object| object["kind"] != "ClusterRole"));
    stage.are_needed(&of_one, &["--namespace=one"]);

    // A snapshot names the Secrets.
    stage.apply(&any);
    stage.snapshot_ends(&["--allow-removal"], 0, "with any rights");
    stage.delete(&any);
    let named = stage.rbac(&[]);
    assert!(named.iter().any(|object| object["rules"][0]["resourceNames"].is_sequence()));
    stage.are_needed(&named, &[]);
    stage.apply(&named);
    stage.snapshot_ends(&[], 0, "with named Secrets");
    assert!(
        stage.may("get", "secret/h-net")
            && !stage.may("get", "secret/h-bmc")
            && !stage.may("get", "secret/other")
            && !stage.may("list", "secrets")
    );
    for (verb, what) in [
        ("watch", "baremetalhosts.metal3.io"),
        ("update", "baremetalhosts.metal3.io"),
        ("get", "baremetalhosts.metal3.io"),
    ] {
        assert!(!stage.may(verb, what), "{verb} {what}");
    }
}
