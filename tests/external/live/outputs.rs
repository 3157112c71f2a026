//! Objects of `examples/outputs` on an API server with the definitions of its kinds.

use std::collections::BTreeMap;

use serde_json::json;
use yaml_serde::Value;

use crate::support::api_server::{ApiServer, fed};
use crate::support::{Repo, assert_says, copy, documents, kustomize_build, repo_path, run, text};

const NAMESPACE: &str = "tenant-a";
/// A text that no snapshot may have.
const CANARY: &str = "c4nary";

/// Definitions beside those of every API server.
const DEFINITIONS: [&str; 4] = [
    "tests/support/crds/firmware.yaml",
    "tests/support/crds/networks.yaml",
    "target/tools/crds/dnsendpoints.externaldns.k8s.io.yaml",
    "target/tools/crds/monitoring.coreos.com_scrapeconfigs.yaml",
];

/// Creates or changes objects as an agent does, who may not write unknown fields; returns what the server says.
fn applied(server: &ApiServer, objects: &str) -> Result<String, String> {
    let mut command = server.kubectl("kustomize-controller");
    command.args(["apply", "--server-side", "--validate=strict", "--filename=-"]);
    let output = fed(&mut command, objects);
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

/// The hosts of the quickstart, as Metal3 knows them after their inspection.
fn inspect(server: &ApiServer, repo: &Repo) -> usize {
    let hosts = documents(&kustomize_build(repo.path().join("sites/lab/hosts")));
    let hosts = hosts.iter().filter(|object| object["kind"] == "BareMetalHost");
    let setting = |values: [&str; 2]| json!({"attribute_type": "Enumeration", "allowable_values": values, "read_only": false, "unique": false});
    let schema = json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "FirmwareSchema",
        "metadata": {"name": "schema-1", "namespace": NAMESPACE, "annotations": {"note": CANARY}},
        "spec": {"hardwareVendor": CANARY, "hardwareModel": CANARY, "schema": {
            "ProcTurboMode": setting(["Enabled", "Disabled"]), "SriovGlobalEnable": setting(["Enabled", "Disabled"])
        }}
    });
    server.apply(&schema.to_string());
    let mut names = Vec::new();
    for host in hosts {
        let name = host["metadata"]["name"].as_str().unwrap();
        server.apply(&yaml_serde::to_string(host).unwrap());
        let available = json!({"errorCount": 0, "errorMessage": "", "hardwareProfile": "", "operationalStatus": "OK", "poweredOn": true, "provisioning": {"ID": "", "state": "available"}});
        patch_status(server, "baremetalhost", name, &available);
        server.apply(&firmware(name, "{}"));
        report(server, name, "Enabled");
        names.push(name.to_owned());
    }
    server.apply(&firmware("no-host", "{}"));
    report(server, "no-host", "Enabled");
    names.len()
}

fn firmware(host: &str, settings: &str) -> String {
    format!(
        "apiVersion: metal3.io/v1alpha1\nkind: HostFirmwareSettings\nmetadata: {{name: {host}, namespace: {NAMESPACE}}}\n\
         spec: {{settings: {settings}}}\n"
    )
}

/// Sets what Metal3 reports of a host's firmware.
fn report(server: &ApiServer, host: &str, value: &str) {
    let settings = json!({"ProcTurboMode": value, "Note": CANARY});
    let schema = json!({"name": "schema-1", "namespace": NAMESPACE});
    patch_status(
        server,
        "hostfirmwaresettings",
        host,
        &json!({"schema": schema, "settings": settings}),
    );
}

fn patch_status(server: &ApiServer, kind: &str, name: &str, status: &serde_json::Value) {
    let mut command = server.kubectl("baremetal-operator");
    command.args(["--namespace", NAMESPACE, "patch", kind, name, "--subresource=status"]);
    let patch = json!({"status": status}).to_string();
    run(command.args(["--type=merge", "--patch", &patch])).expect(0);
}

#[test]
fn every_object_of_the_examples_is_accepted_and_no_field_that_its_kind_lacks() {
    let server = ApiServer::shared();
    server.define(DEFINITIONS.map(repo_path));
    for namespace in [NAMESPACE, "monitoring"] {
        server
            .apply(&format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {namespace}}}\n"));
    }
    let repo = Repo::of_fixture("quickstart");
    let inspected = inspect(server, &repo);
    let snapshot = |arguments: &[&str]| {
        let mut command = repo.sipgen(&["snapshot", "--namespace", NAMESPACE, "--kubeconfig"]);
        run(command.arg(server.kubeconfig("human")).args(arguments))
    };

    // Without an output of firmware settings, no snapshot needs their schemas.
    snapshot(&[]).expect(0);
    assert_eq!(repo.files("snapshot").len(), 1);
    copy(&repo_path("examples/outputs"), repo.path());
    snapshot(&[]).expect(0);
    let files = repo.files("snapshot");
    let known = &files["tenant-a.firmware.yaml"];
    assert!(!known.contains(CANARY) && !known.contains("unique"), "{known}");
    let kinds =
        |kind: &str| documents(known).iter().filter(|object| object["kind"] == kind).count();
    assert_eq!((kinds("FirmwareSchema"), kinds("HostFirmwareSettings")), (1, inspected), "{known}");
    report(server, "lab-a1", "Disabled");
    snapshot(&["--check"]).expect(0);

    // Metal3 refuses what the schema lacks, and the API server a boolean.
    let template = "my-templates/outputs/firmware/settings.yaml";
    repo.replace(template, "ProcTurboMode", "ProcTurboMod");
    assert_says(&repo.refused(), &["did you mean `ProcTurboMode`?", "settings.yaml:9:5"]);
    repo.replace(template, "ProcTurboMod", "ProcTurboMode");
    let said = applied(server, &firmware("lab-a1", "{ProcTurboMode: Off}")).unwrap_err();
    assert_says(&said, &["spec.settings.ProcTurboMode: Invalid value: \"boolean\""]);

    repo.generate(&[]).expect(0);
    let outputs =
        ["firmware", "rack-networks", "dns"].map(|name| format!("clusters/tenant-a/edge/{name}"));
    let outputs = outputs.into_iter().chain(["site/monitoring".to_owned()]);
    let rendered: String = outputs
        .map(|output| {
            format!("---\n{}", kustomize_build(repo.path().join("overlays").join(output)))
        })
        .collect();
    let said = applied(server, &rendered).unwrap();
    let objects = documents(&rendered);
    assert_eq!(said.matches(" serverside-applied").count(), objects.len(), "{said}");
    let by_kind: BTreeMap<&str, &Value> =
        objects.iter().map(|object| (object["kind"].as_str().unwrap(), object)).collect();
    let kinds: Vec<&str> = by_kind.keys().copied().collect();
    assert_eq!(
        kinds,
        [
            "DNSEndpoint",
            "HostFirmwareComponents",
            "HostFirmwareSettings",
            "HostUpdatePolicy",
            "Metal3DataTemplate",
            "ScrapeConfig"
        ]
    );
    for object in by_kind.into_values() {
        let mut wrong = object.clone();
        wrong["spec"]["wrongField"] = "x".into();
        let said = applied(server, &yaml_serde::to_string(&wrong).unwrap()).unwrap_err();
        assert_says(&said, &[".spec.wrongField: field not declared in schema"]);
    }
}
