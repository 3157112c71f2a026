//! The Job's second container: it saves the kubeconfig of the new cluster as a Secret, with a token that allows this alone.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;
use yaml_serde::Value;

use super::built;
use crate::support::api_server::ApiServer;
use crate::support::programs::{object, sequence, string, succeed};
use crate::support::{Repo, assert_says, documents, run_tool, text, tool};

const KUBECONFIG: &str =
    "apiVersion: v1\nkind: Config\nusers: [{name: admin, user: {token: s3cr3t}}]\n";

/// The files of the container `save-kubeconfig`, by volume.
struct Pod {
    directory: TempDir,
    job: Value,
}

impl Pod {
    fn new(build: &str) -> Self {
        let pod = Self { directory: tempfile::tempdir().unwrap(), job: object(build, "Job") };
        for mount in sequence(&pod.container()["volumeMounts"]) {
            fs::create_dir(pod.path(&string(&mount["name"]))).unwrap();
        }
        pod
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.directory.path().join(name)
    }

    fn container(&self) -> &Value {
        let containers = sequence(&self.job["spec"]["template"]["spec"]["containers"]);
        assert_eq!(containers.len(), 1);
        assert_eq!(containers[0]["name"], "save-kubeconfig");
        &containers[0]
    }

    /// Writes what the installer writes.
    fn install(&self, kubeconfig: &str) {
        let artifacts = self.path("tmp/artifacts");
        fs::create_dir_all(&artifacts).unwrap();
        fs::write(artifacts.join("admin.conf"), kubeconfig).unwrap();
    }

    fn run(&self, server: &str) -> Output {
        let (host, port) = server.trim_start_matches("https://").rsplit_once(':').unwrap();
        let mut sandbox = tool("bwrap");
        sandbox.args(["--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev"]);
        sandbox.args(["--tmpfs", "/run", "--tmpfs", "/work"]);
        for mount in sequence(&self.container()["volumeMounts"]) {
            let is_read_only = mount.get("readOnly").and_then(Value::as_bool) == Some(true);
            sandbox
                .arg(if is_read_only { "--ro-bind" } else { "--bind" })
                .arg(self.path(&string(&mount["name"])))
                // /var/run is a link here.
                .arg(string(&mount["mountPath"]).replace("/var/run/", "/run/"));
        }
        for variable in sequence(&self.container()["env"]) {
            sandbox.args(["--setenv", &string(&variable["name"]), &string(&variable["value"])]);
        }
        sandbox.args(["--setenv", "KUBERNETES_SERVICE_HOST", host]);
        sandbox.args(["--setenv", "KUBERNETES_SERVICE_PORT", port, "--"]);
        sandbox.args(sequence(&self.container()["command"]).iter().map(string));
        run_tool(&mut sandbox)
    }
}

fn config(server: &ApiServer, field: &str) -> String {
    let mut command = server.kubectl("admin");
    command.args([
        "config",
        "view",
        "--raw",
        "-o",
        &format!("jsonpath={{.clusters[0].cluster.{field}}}"),
    ]);
    succeed(&mut command)
}

fn can(server: &ApiServer, token: &str, request: &[&str]) -> Output {
    let mut command: Command = tool("kubectl");
    command.env_remove("KUBECONFIG").arg("--kubeconfig=/dev/null");
    command.args(["--server", &config(server, "server"), "--certificate-authority"]);
    command.arg(config(server, "certificate-authority")).args(["--token", token, "-n", "lab"]);
    run_tool(command.args(request))
}

#[test]
fn the_job_saves_the_kubeconfig_and_its_token_allows_nothing_else() {
    let server = ApiServer::start();
    let repo = Repo::of_fixture("provisioning");
    let build = built(&repo);
    server.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: lab}\n");
    server.apply("apiVersion: v1\nkind: Secret\nmetadata: {name: other, namespace: lab}\n");
    let is_access = |object: &&Value| {
        ["ServiceAccount", "Role", "RoleBinding"].contains(&string(&object["kind"]).as_str())
    };
    for object in documents(&build).iter().filter(is_access) {
        server.apply(&yaml_serde::to_string(object).unwrap());
    }
    let account = string(&object(&build, "Job")["spec"]["template"]["spec"]["serviceAccountName"]);
    let mut create = server.kubectl("admin");
    let token = succeed(create.args(["create", "token", &account, "-n", "lab"])).trim().to_owned();
    let pod = Pod::new(&build);
    fs::write(pod.path("service-account/token"), &token).unwrap();
    fs::copy(
        Path::new(&config(&server, "certificate-authority")),
        pod.path("service-account/ca.crt"),
    )
    .unwrap();
    let address = config(&server, "server");

    // Nothing was installed.
    let output = pod.run(&address);
    assert!(!output.status.success());
    assert_says(&text(&output.stderr), &["no kubeconfig at /tmp/artifacts/admin.conf"]);

    // A first installation creates the Secret, a second one changes it.
    for kubeconfig in [KUBECONFIG, &KUBECONFIG.replace("s3cr3t", "n3w")] {
        pod.install(kubeconfig);
        let output = pod.run(&address);
        let said = text(&output.stdout) + &text(&output.stderr);
        assert!(output.status.success(), "{said}");
        assert_eq!(said, "saved the kubeconfig of depot as Secret lab/depot-kubeconfig\n");
        let mut get = server.kubectl("admin");
        get.args([
            "get",
            "secret",
            "depot-kubeconfig",
            "-n",
            "lab",
            "-o",
            "go-template={{.data.value | base64decode}}",
        ]);
        assert_eq!(succeed(&mut get), kubeconfig);
    }

    // The token is for one Secret, and not even for reading that.
    for request in [
        ["get", "secret", "depot-kubeconfig"].as_slice(),
        &["get", "secrets"],
        &["get", "secret", "other"],
        &["create", "secret", "generic", "another", "--from-literal=a=b"],
        &["patch", "secret", "other", "-p", "{\"stringData\":{\"a\":\"b\"}}"],
        &["delete", "secret", "depot-kubeconfig"],
    ] {
        let output = can(&server, &token, request);
        assert!(!output.status.success(), "{request:?}");
        assert_says(&text(&output.stderr), &["orbidden"]);
    }

    // A refused token ends the Job with an error that has neither the token nor the kubeconfig.
    fs::write(pod.path("service-account/token"), "reader-token").unwrap();
    let output = pod.run(&address);
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(!output.status.success(), "{said}");
    assert_says(&said, &["403"]);
    assert!(!said.contains("n3w") && !said.contains("reader-token"), "{said}");
}

#[test]
fn only_the_container_without_privileges_has_the_token() {
    let job = object(&built(&Repo::of_fixture("provisioning")), "Job");
    let pod = &job["spec"]["template"]["spec"];

    assert_eq!(pod["automountServiceAccountToken"], false);
    let installer = &sequence(&pod["initContainers"])[0];
    let mounts = |container: &Value| -> Vec<String> {
        sequence(&container["volumeMounts"]).iter().map(|mount| string(&mount["name"])).collect()
    };
    assert_eq!(installer["name"], "kubespray");
    assert!(!mounts(installer).contains(&"service-account".to_owned()));
    let saving = &sequence(&pod["containers"])[0];
    assert!(!mounts(saving).contains(&"ssh-key".to_owned()));
    assert_eq!(saving["securityContext"].get("privileged"), None);
    assert_eq!(saving["securityContext"]["allowPrivilegeEscalation"], false);
}

#[test]
fn without_the_setting_the_job_is_the_installer_alone() {
    let repo = Repo::of_fixture("provisioning");
    repo.write("sipgen.yaml", "provisioning: {kubeconfigSecret: false}\n");
    let build = built(&repo);

    let job = object(&build, "Job");
    let pod = &job["spec"]["template"]["spec"];

    assert_eq!(pod.get("initContainers"), None);
    assert_eq!(sequence(&pod["containers"])[0]["name"], "kubespray");
    assert!(!build.contains("kind: Role") && !build.contains("ServiceAccount\n"));
}
