//! Hosts on the API server, and who makes and uses them.

use serde_json::{Value, json};

use crate::support::api_server::{ApiServer, fed};
use crate::support::programs::succeed;
use crate::support::text;

/// A way in which a host is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Maker {
    /// `kubectl apply`.
    Apply,
    /// `kubectl create`, as a controller makes hosts.
    Create,
    /// Server-side apply under a name of its own.
    ServerSide,
    /// Server-side apply under the name of the agent, so that the host must be left alone.
    AsAgent,
    /// The agent, from a manifest in the repo.
    Declared,
}

pub(crate) const MAKERS: [Maker; 5] =
    [Maker::Apply, Maker::Create, Maker::ServerSide, Maker::AsAgent, Maker::Declared];

impl Maker {
    /// The prefix of the names of its hosts and clusters.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Apply => "apply",
            Self::Create => "create",
            Self::ServerSide => "server-side",
            Self::AsAgent => "as-agent",
            Self::Declared => "declared",
        }
    }

    pub(crate) fn host(self, number: usize) -> String {
        format!("{}-{number}", self.name())
    }
}

/// A host's manifest. Hosts that a maker's cluster may have bear its name; so do those that the agent's namesake makes,
/// after `kubectl apply`.
pub(crate) fn manifest(maker: Maker, namespace: &str, number: usize) -> String {
    let group = MAKERS.iter().position(|other| *other == maker).unwrap();
    let pool = if maker == Maker::AsAgent { Maker::Apply } else { maker }.name();
    format!(
        "---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata:\n  name: {}\n  namespace: {namespace}\n  \
         labels: {{pool: {pool}, own: label}}\n  annotations: {{example.com/own: annotation}}\nspec:\n  online: true\n  \
         bootMACAddress: 00:00:00:00:0{group}:0{number}\n  bmc: {{address: 'redfish://192.0.{group}.{number}/1', \
         credentialsName: bmc-{number}}}\n",
        maker.host(number)
    )
}

/// Makes a host, or makes it once more as its maker would: nothing of it has changed since.
#[track_caller]
pub(crate) fn make(server: &ApiServer, maker: Maker, agent: &str, manifest: &str) {
    let mut command = server.kubectl("human");
    match maker {
        Maker::Apply => command.args(["apply"]),
        Maker::Create => command.args(["create"]),
        Maker::ServerSide => command.args(["apply", "--server-side", "--field-manager=vino"]),
        Maker::AsAgent => command.args(["apply", "--server-side", "--field-manager", agent]),
        Maker::Declared => return,
    };
    let output = fed(command.arg("--filename=-"), manifest);
    assert!(output.status.success(), "{maker:?}: {}", text(&output.stderr));
}

/// Reports a host as Metal3 does.
#[track_caller]
pub(crate) fn report(server: &ApiServer, namespace: &str, name: &str, state: &str) {
    let status = json!({
        "errorCount": 0, "errorMessage": "", "operationalStatus": "OK", "poweredOn": true,
        "provisioning": {"ID": "", "state": state}, "provisioningFailCount": 0
    });
    patch(
        server,
        "baremetal-operator",
        namespace,
        name,
        &["--subresource=status"],
        &json!({ "status": status }),
    );
}

/// Takes a host as Cluster API's Metal3 provider does.
#[track_caller]
pub(crate) fn consume(server: &ApiServer, namespace: &str, name: &str) {
    let consumer = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "Metal3Machine", "name": name,
        "namespace": namespace
    });
    let spec = json!({
        "consumerRef": consumer, "online": true, "image": {"url": "http://192.0.2.200/image"},
        "userData": {"name": "user-data", "namespace": namespace}
    });
    let labels = json!({"cluster.x-k8s.io/cluster-name": "tenant"});
    let manager = ["--field-manager=capm3"];
    patch(
        server,
        "human",
        namespace,
        name,
        &manager,
        &json!({"metadata": {"labels": labels}, "spec": spec}),
    );
    report(server, namespace, name, "provisioned");
}

/// Gives a host back as Cluster API's Metal3 provider does.
#[track_caller]
pub(crate) fn deprovision(server: &ApiServer, namespace: &str, name: &str) {
    let spec = json!({"consumerRef": null, "image": null, "userData": null});
    let labels = json!({"cluster.x-k8s.io/cluster-name": null});
    let manager = ["--field-manager=capm3"];
    patch(
        server,
        "human",
        namespace,
        name,
        &manager,
        &json!({"metadata": {"labels": labels}, "spec": spec}),
    );
    report(server, namespace, name, "available");
}

#[track_caller]
fn patch(
    server: &ApiServer,
    user: &str,
    namespace: &str,
    name: &str,
    more: &[&str],
    patch: &Value,
) {
    let mut command = server.kubectl(user);
    command
        .args(["--namespace", namespace, "patch", "baremetalhost", name, "--type=merge"])
        .args(more);
    succeed(command.args(["--patch", &patch.to_string()]));
}
