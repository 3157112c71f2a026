//! Provisioning and Software, in all shapes in which they are found.

use serde::Deserialize;
use serde_json::{Value, json};
use sipgen::base::api::provisioning::{Provisioning, Software};

use super::{judges, printed, schema, with};

fn provisioning() -> Value {
    json!({
        "apiVersion": "bpa.akraino.org/v1alpha1",
        "kind": "Provisioning",
        "metadata": {"name": "depot", "namespace": "default", "labels": {"cluster": "depot", "owner": "lab"}},
        "spec": {
            "masters": [{"head-1": {"mac-address": "52:54:00:00:00:01"}}, {"head-2": {"cpu": 8, "memory": "16Gi"}}],
            "workers": [{"body-1": {"mac-address": "52:54:00:00:00:11", "sriov": true, "qat": false}}],
            "KUDPlugins": ["onap4k8s"],
            "PodSubnet": "10.244.64.0/18"
        }
    })
}

fn software() -> Value {
    json!({
        "apiVersion": "bpa.akraino.org/v1alpha1",
        "kind": "Software",
        "metadata": {"name": "tools", "namespace": "default", "labels": {"cluster": "depot"}},
        "spec": {"masterSoftware": ["htop", {"jq": {"version": "1.5+dfsg-1ubuntu0.1"}}], "workerSoftware": ["curl"]}
    })
}

/// Whether the type reads a document, whether an editor is content, and what an API server says, as marks.
fn marks<T: for<'de> Deserialize<'de>>(name: &str, documents: &[Value]) -> Vec<String> {
    let by_editor = judges::editor(&schema(name), documents);
    let by_server = judges::server(&printed(&["crd", name]), documents);
    let mut marks = Vec::new();
    for ((document, by_editor), by_server) in documents.iter().zip(by_editor).zip(by_server) {
        let is_read = yaml_serde::from_str::<T>(&document.to_string()).is_ok();
        let is_stored = by_server.errors.is_empty();
        let mark = |good: bool| if good { '+' } else { '-' };
        let server = if is_stored && !by_server.dropped.is_empty() { '~' } else { mark(is_stored) };
        marks.push([mark(is_read), mark(by_editor.is_empty()), server].into_iter().collect());
    }
    marks
}

#[track_caller]
fn judge<T: for<'de> Deserialize<'de>>(name: &str, base: &Value, cases: &[(&str, &str, Value)]) {
    let documents: Vec<Value> =
        cases.iter().map(|(_, pointer, value)| with(base, pointer, value.clone())).collect();
    for ((expected, pointer, value), found) in cases.iter().zip(marks::<T>(name, &documents)) {
        assert_eq!(found, *expected, "read, editor, server: {pointer} = {value}");
    }
}

#[test]
fn a_provisioning_is_read_leniently_and_written_strictly() {
    judge::<Provisioning>(
        "provisioning",
        &provisioning(),
        &[
            ("+++", "/kind", json!("Provisioning")),
            ("+++", "/spec/workers", Value::Null),
            ("+++", "/spec/workers", json!([])),
            ("+++", "/metadata/labels/cluster-type", json!("virtlet-vm")),
            (
                "+++",
                "/spec/masters/0/head-1",
                json!({"labelSelector": {"matchLabels": {"rack": "r1"}}}),
            ),
            ("+++", "/spec/masters/1/head-2/memory", json!(17_179_869_184_i64)),
            ("+++", "/spec/PodSubnet", json!("fd00:10:244::/56")),
            ("+++", "/spec/KUDPlugins", json!(["a-new-plugin"])),
            // What only an editor asks for.
            ("+-+", "/metadata/labels", Value::Null),
            ("+-+", "/spec/masters", Value::Null),
            ("+-+", "/spec/masters/0", json!({"head-1": {}, "head-3": {}})),
            ("+-+", "/spec/masters/0", json!({})),
            // The placeholder of the public demo.
            ("+-+", "/spec/masters/0/head-1/mac-address", json!("<first-interface>")),
            ("+-+", "/spec/masters/1/head-2/cpu", json!(-1)),
            ("+-+", "/spec/PodSubnet", json!("10.244.64.0")),
            ("+-+", "/spec/KUDPlugins", json!(["ovn; reboot"])),
            ("+++", "/spec/masters/1/head-2/memory", json!("128974848000m")),
            ("+++", "/spec/masters/1/head-2/memory", json!("1.5Gi")),
            ("+++", "/spec/masters/1/head-2/memory", json!("")),
            ("+-+", "/spec/masters/1/head-2/memory", json!("not-a-quantity")),
            ("+-+", "/spec/masters/1/head-2/memory", json!("16 Gi")),
            ("+-+", "/spec/masters/1/head-2/memory", json!("-1Gi")),
            // Every way in which people write MAC addresses.
            ("+++", "/spec/masters/0/head-1/mac-address", json!("52-54-00-00-00-0A")),
            ("+++", "/spec/masters/0/head-1/mac-address", json!("5254.0000.000a")),
            ("+++", "/spec/masters/0/head-1/mac-address", json!("52540000000a")),
            ("+++", "/spec/masters/0/head-1/mac-address", json!("")),
            ("+-+", "/spec/masters/0/head-1/mac-address", json!("52:54:00-00:00:0a")),
            ("+-+", "/spec/masters/0/head-1/mac-address", json!("52:54:00:00:00")),
            // The names of nodes and of the cluster.
            ("+++", "/spec/masters/0", json!({"Head_1.a": {}})),
            ("+-+", "/spec/masters/0", json!({"head 1": {}})),
            ("+-+", "/spec/workers", json!([{"": {}}])),
            ("+-+", "/metadata/labels/cluster", json!("Depot")),
            ("+-+", "/metadata/labels/cluster", json!("d".repeat(49))),
            // A field that there is not.
            ("+-~", "/spec/masters/0/head-1/macaddress", json!("52:54:00:00:00:01")),
            ("+-~", "/spec/plugins", json!([])),
            // Types.
            ("---", "/spec/masters", json!({"head-1": {}})),
            ("---", "/spec/masters/0", json!("head-1")),
            ("---", "/spec/masters/1/head-2/cpu", json!("eight")),
            ("---", "/spec/workers/0/body-1/sriov", json!("yes")),
            ("---", "/spec/KUDPlugins", json!("ovn4nfv")),
        ],
    );
}

#[test]
fn a_package_of_software_is_a_name_or_has_a_version() {
    judge::<Software>(
        "software",
        &software(),
        &[
            ("+++", "/spec/masterSoftware", Value::Null),
            ("+++", "/spec/workerSoftware", json!([{"git": {}}])),
            ("+++", "/spec/workerSoftware", json!([{"git": {"version": 2}}])),
            ("+-+", "/spec/workerSoftware", json!([{"git": {}, "curl": {}}])),
            ("+-+", "/spec/workerSoftware", json!([""])),
            ("+++", "/spec/workerSoftware", json!(["g++", "libc6:i386", "python3.11"])),
            ("+-+", "/spec/workerSoftware", json!(["--allow-downgrades"])),
            ("+-+", "/spec/workerSoftware", json!([{"curl-": {}}])),
            ("+-+", "/metadata/labels", Value::Null),
            // A definition cannot tell two types of one field apart.
            ("--+", "/spec/workerSoftware", json!([["curl"]])),
            ("--+", "/spec/workerSoftware", json!([{"curl": "7.68"}])),
            ("---", "/spec/workerSoftware", json!("curl")),
            ("+-~", "/spec/software", json!(["curl"])),
        ],
    );
}
