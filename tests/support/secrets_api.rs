//! The API server that jump hosts ask for Secrets: a stub that judges by the rendered Role.

use std::fs;
use std::path::Path;

use serde_json::json;
use tempfile::TempDir;
use yaml_serde::Value;

use super::documents;
use super::network::{Network, Server};
use super::pod::Secrets;
use super::programs::{sequence, string};
use super::redfish::Certificate;

const ADDRESS: &str = "127.0.0.1";
const PORT: u16 = 6443;
/// What the kubelet mounts as the token of the pod's service account.
pub const TOKEN: &str = "token-of-the-pod";

pub struct SecretsApi {
    server: Server,
    certificate: Certificate,
    directory: TempDir,
}

impl SecretsApi {
    pub fn start(network: &Network) -> Self {
        let (certificate, directory) = (Certificate::of(ADDRESS), tempfile::tempdir().unwrap());
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/secrets-api.py");
        let mut command = network.tool("python3");
        command.arg(script).arg(ADDRESS).arg(PORT.to_string());
        command
            .args([certificate.path("certificate"), certificate.path("key")])
            .arg(directory.path().join("state"));
        let server = Server::start(&mut command, &directory.path().join("log"), "ready");
        Self { server, certificate, directory }
    }

    /// Applies what a build says of the pod's rights, beside some Secrets.
    pub fn apply(&self, build: &str, secrets: &Secrets) {
        let objects = documents(build);
        let of_kind = |kind: &str| {
            objects.iter().filter(move |object| object["kind"] == kind).collect::<Vec<_>>()
        };
        let deployment = of_kind("Deployment")[0];
        let namespace = string(&deployment["metadata"]["namespace"]);
        let account = deployment["spec"]["template"]["spec"].get("serviceAccountName").map(string);
        let is_for_pod = |subject: &Value| {
            subject["kind"] == "ServiceAccount"
                && subject["namespace"] == namespace.as_str()
                && Some(string(&subject["name"])) == account
        };
        let bound = of_kind("RoleBinding")
            .into_iter()
            .filter(|of| sequence(&of["subjects"]).iter().any(is_for_pod));
        let roles: Vec<&Value> = bound.map(|binding| &binding["roleRef"]["name"]).collect();
        let rules: Vec<&Value> = of_kind("Role")
            .into_iter()
            .filter(|role| roles.contains(&&role["metadata"]["name"]))
            .flat_map(|role| sequence(&role["rules"]))
            .collect();
        let state =
            json!({"token": TOKEN, "namespace": namespace, "rules": rules, "secrets": secrets});
        let staged = self.directory.path().join("staged");
        fs::write(&staged, state.to_string()).unwrap();
        fs::rename(staged, self.directory.path().join("state")).unwrap();
    }

    /// The certificate of the authority that the pod trusts.
    pub fn certificate(&self) -> String {
        self.certificate.text()
    }

    /// The variables by which every container finds it.
    pub fn environment() -> [(&'static str, String); 2] {
        [
            ("KUBERNETES_SERVICE_HOST", ADDRESS.to_owned()),
            ("KUBERNETES_SERVICE_PORT", PORT.to_string()),
        ]
    }

    /// What it was asked, with its answer, each as `PATH STATUS`.
    pub fn asked(&self) -> Vec<String> {
        self.server
            .log()
            .lines()
            .filter_map(|line| line.strip_prefix("asked ").map(str::to_owned))
            .collect()
    }
}
