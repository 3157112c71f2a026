//! One SIPCluster, written wrongly in many ways: what sipgen, an editor and an API server say of each.
//!
//! They agree but where the table says why not. sipgen objects when it refuses the cluster or names an unknown field.

use std::fs;

use camino::Utf8Path;
use serde::Deserialize;
use serde_json::{Value, json};
use sipgen::base::finding::Code;
use sipgen::input::load::Files;
use sipgen::input::settings::Settings;
use sipgen::site::Site;

use super::{judges, printed, schema, with};
use crate::support::fixtures;

/// A SIPCluster that has everything, and no mistake.
pub(super) fn valid() -> Value {
    let key =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFJhq2+LVWtIPGH4FYUBEflTDa8pQuv41+ubKxUhAe1L operator";
    json!({
        "apiVersion": "airship.airshipit.org/v1",
        "kind": "SIPCluster",
        "metadata": {
            "name": "edge", "namespace": "tenant", "finalizers": ["sip.airship.airshipit.org/finalizer"],
            "annotations": {"sip.airshipit.org/priority": "10"}
        },
        "spec": {
            "nodes": {
                "ControlPlane": {
                    "labelSelector": {"matchLabels": {"example.com/flavor": "small", "empty": ""}},
                    "topologyKey": "example.com/rack",
                    "count": {"active": 0, "standby": 0}
                },
                "Worker": {
                    "labelSelector": {"matchExpressions": [
                        {"key": "example.com/flavor", "operator": "In", "values": ["large"]},
                        {"key": "example.com/broken", "operator": "DoesNotExist"}
                    ]},
                    "topologyKeys": ["example.com/rack", "feed"],
                    "count": {"active": 0}
                }
            },
            "services": {
                "loadBalancerControlPlane": [{
                    "image": "haproxy:3.0", "nodePort": 30001, "nodeInterfaceId": "oam-ipv4", "replicas": 2,
                    "clusterIP": "192.0.2.10", "nodeLabels": {"kubernetes.io/os": "linux"}
                }],
                "loadBalancerWorker": [{
                    "image": "haproxy:3.0", "nodePortRange": {"start": 30002, "end": 30011},
                    "nodeInterfaceId": "oam-ipv4", "nodePort": 30003
                }],
                "jumpHost": [{
                    "image": "jump", "nodePort": 30000, "nodeInterfaceId": "oam-ipv4", "clusterIP": "2001:db8::10",
                    "bmc": {"proxy": true}, "sshAuthorizedKeys": [key], "nodeSSHPrivateKeys": "keys",
                    "hostKeys": {"volumeClaim": {"storageClassName": "fast"}},
                    "homes": {"volumeClaim": {"storageClassName": "large", "storage": "10Gi"}}
                }],
                "auth": [{
                    "image": "ghcr.io/dexidp/dex:v2.45.0", "nodePort": 30556, "issuerURL": "https://dex.example.com/dex",
                    "caSecret": "dex-ca", "envFrom": ["dex-env"], "replicas": 3,
                    "connectors": [{"type": "ldap", "id": "ldap", "config": {
                        "host": "ldap.example.com:636",
                        "userSearch": {"baseDN": "ou=people,dc=example", "username": "uid"}
                    }}],
                    "staticClients": [{"id": "dashboard", "secretEnv": "DASHBOARD_SECRET",
                        "redirectURIs": ["https://dashboard.example.com/callback"], "trustedPeers": ["kubernetes"]}],
                    "expiry": {"idTokens": "1h30m", "refreshTokens": {"reuseInterval": "0s"}}
                }]
            }
        }
    })
}

/// What sipgen objects to in a SIPCluster, before hosts come into play.
fn sipgen(document: &Value) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("cluster.json"), document.to_string()).unwrap();
    let repo = Files::on_disk(Utf8Path::from_path(directory.path()).unwrap());
    let (_, findings) = Site::read(&repo, Settings::default()).unwrap();
    let objects = |code| code == Code::UnknownField;
    let findings =
        findings.into_iter().filter(|finding| finding.is_error() || objects(finding.code));
    findings.map(|finding| finding.message).collect()
}

/// What is said of a document: `+` for nothing, `-` for an objection; of an API server `~` for a field that it drops,
/// to which `kubectl` objects.
fn marks(sipgen: &[String], editor: &[String], server: &judges::Verdict) -> String {
    let mark = |objections: &[String]| if objections.is_empty() { '+' } else { '-' };
    let server = match mark(&server.errors) {
        '+' if !server.dropped.is_empty() => '~',
        mark => mark,
    };
    [mark(sipgen), mark(editor), server].into_iter().collect()
}

const NODES: &str = "/spec/nodes";
const WORKER: &str = "/spec/nodes/Worker";
const BALANCER: &str = "/spec/services/loadBalancerControlPlane/0";
const WORKERS: &str = "/spec/services/loadBalancerWorker/0";
const JUMP: &str = "/spec/services/jumpHost/0";
const AUTH: &str = "/spec/services/auth/0";
const CLIENT: &str = "/spec/services/auth/0/staticClients/0";
const CONNECTOR: &str = "/spec/services/auth/0/connectors/0";

/// Where the document is changed, what stands there then, and what all three say of it.
fn agreed() -> Vec<(&'static str, String, Value)> {
    let at = |above: &str, below: &str| format!("{above}{below}");
    let long = "x".repeat(64);
    let taken = |pointer: String, value: Value| ("+++", pointer, value);
    let refused = |pointer: String, value: Value| ("---", pointer, value);
    let dropped = |pointer: String, value: Value| ("--~", pointer, value);
    vec![
        taken(at("/metadata", "/labels"), json!({"a": "b"})),
        refused(at("/metadata", "/name"), json!(long)),
        refused(at("/metadata", "/name"), json!("Edge")),
        refused(at("/metadata", "/name"), json!("edge.lab_1")),
        taken(at("/metadata", "/name"), json!("edge.lab-1")),
        // Fields that there are not.
        dropped(at("/spec", "/topologyKey"), json!("rack")),
        dropped(at(WORKER, "/topologykey"), json!("rack")),
        dropped(at(WORKER, "/count/activ"), json!(1)),
        dropped(at("/spec/services", "/jumphost"), json!([])),
        dropped(at(JUMP, "/bmc/Proxy"), json!(true)),
        dropped(at(AUTH, "/caSecrets"), json!("x")),
        dropped(at(AUTH, "/expiry/idToken"), json!("1h")),
        dropped(at(WORKER, "/labelSelector"), json!({"example.com/flavor": "large"})),
        // Types.
        refused("/spec".to_owned(), json!([])),
        refused(NODES.to_owned(), json!([])),
        refused(at(WORKER, "/count"), json!(3)),
        refused(at(WORKER, "/count/active"), json!("3")),
        refused(at(WORKER, "/labelSelector"), json!([])),
        refused(at(WORKER, "/topologyKeys"), json!("rack")),
        refused(at("/spec/services", "/jumpHost"), json!({})),
        refused(at(JUMP, "/bmc"), json!({"proxy": "yes"})),
        refused(at(JUMP, "/sshAuthorizedKeys"), json!("key")),
        refused(at(CONNECTOR, "/config"), json!("host")),
        // Node sets.
        taken(at(WORKER, "/labelSelector"), json!({})),
        taken(at(WORKER, "/labelSelector"), Value::Null),
        taken(at(WORKER, "/topologyKey"), json!("")),
        refused(at(WORKER, "/topologyKey"), json!("a b")),
        refused(at(WORKER, "/topologyKeys"), json!(["rack", "/feed"])),
        refused(at(WORKER, "/count/active"), json!(-1)),
        refused(at(WORKER, "/count/standby"), json!(1_000_001)),
        taken(at(WORKER, "/count/standby"), json!(1_000_000)),
        refused(at(WORKER, "/labelSelector"), json!({"matchLabels": {"a": "x y"}})),
        refused(at(WORKER, "/labelSelector"), json!({"matchLabels": {"a": long}})),
        refused(at(WORKER, "/labelSelector/matchExpressions/0/operator"), json!("in")),
        refused(at(WORKER, "/labelSelector/matchExpressions/0/values"), json!([])),
        refused(at(WORKER, "/labelSelector/matchExpressions/0/values"), Value::Null),
        refused(at(WORKER, "/labelSelector/matchExpressions/0/values"), json!(["x y"])),
        refused(at(WORKER, "/labelSelector/matchExpressions/0/key"), json!("a/b/c")),
        refused(at(WORKER, "/labelSelector/matchExpressions/1/values"), json!(["x"])),
        taken(at(WORKER, "/labelSelector/matchExpressions/1/values"), json!([])),
        // Services.
        taken("/spec/services".to_owned(), Value::Null),
        taken("/spec/services/auth".to_owned(), json!([])),
        refused(at(BALANCER, "/image"), Value::Null),
        refused(at(BALANCER, "/image"), json!("")),
        refused(at(BALANCER, "/image"), json!("ha proxy")),
        refused(at(BALANCER, "/nodePort"), Value::Null),
        refused(at(BALANCER, "/nodePort"), json!(-1)),
        refused(at(BALANCER, "/nodePort"), json!(65536)),
        taken(at(BALANCER, "/nodePort"), json!(32767)),
        refused(at(BALANCER, "/replicas"), json!(0)),
        refused(at(BALANCER, "/replicas"), json!(101)),
        taken(at(BALANCER, "/clusterIP"), json!("")),
        taken(at(WORKERS, "/nodePort"), json!(80)),
        taken(at(WORKERS, "/nodePortRange/end"), json!(30002)),
        refused(at(WORKERS, "/nodePortRange/end"), json!(65536)),
        refused(at(WORKERS, "/nodePortRange/start"), json!(0)),
        refused(at(WORKERS, "/nodePortRange/start"), Value::Null),
        // Jump hosts.
        taken(at(JUMP, "/sshAuthorizedKeys"), Value::Null),
        taken(at(JUMP, "/nodeSSHPrivateKeys"), json!("")),
        refused(at(JUMP, "/nodeSSHPrivateKeys"), json!("No Secret")),
        refused(at(JUMP, "/nodePort"), Value::Null),
        taken(at(JUMP, "/hostKeys"), json!({})),
        taken(at(JUMP, "/hostKeys"), json!({"volumeClaim": {}, "ephemeral": false})),
        taken(at(JUMP, "/hostKeys"), json!({"ephemeral": true})),
        refused(at(JUMP, "/hostKeys"), json!({"volumeClaim": {}, "ephemeral": true})),
        refused(at(JUMP, "/hostKeys"), json!({"volumeClaim": {}, "secretName": "keys"})),
        refused(at(JUMP, "/hostKeys"), json!({"ephemeral": true, "secretName": "keys"})),
        refused(at(JUMP, "/hostKeys"), json!({"secretName": ""})),
        taken(at(JUMP, "/homes"), json!({})),
        taken(at(JUMP, "/homes"), json!({"volumeClaim": {"storage": "500Mi"}})),
        refused(at(JUMP, "/homes"), json!({"volumeClaim": {"storage": "10"}})),
        refused(at(JUMP, "/homes"), json!({"volumeClaim": {"storage": "0Gi"}})),
        refused(at(JUMP, "/hostKeys"), json!({"volumeClaim": {"storageClassName": "Fast"}})),
        // Auth.
        refused(at(AUTH, "/tlsSecret"), json!("other")),
        taken(at(AUTH, "/tlsSecret"), json!("")),
        refused(at(AUTH, "/issuerRef"), json!({"name": "ca"})),
        refused(at(AUTH, "/caSecret"), json!("No Secret")),
        refused(at(AUTH, "/publiclyTrusted"), json!(true)),
        taken(at(AUTH, "/publiclyTrusted"), json!(false)),
        refused(at(AUTH, "/issuerURL"), json!("http://dex.example.com")),
        refused(at(AUTH, "/issuerURL"), json!("https://dex.example.com/dex/")),
        refused(at(AUTH, "/issuerURL"), json!("https://DEX.example.com/dex")),
        refused(at(AUTH, "/issuerURL"), json!("https://user:word@dex.example.com")),
        taken(at(AUTH, "/issuerURL"), json!("https://[2001:db8::10]:30556/dex")),
        refused(at(AUTH, "/envFrom"), json!(["dex-env", "Dex Env"])),
        refused(at(AUTH, "/expiry/idTokens"), json!("1d")),
        refused(at(AUTH, "/expiry/idTokens"), json!("0s")),
        refused(at(AUTH, "/expiry/idTokens"), json!("")),
        taken(at(AUTH, "/expiry/idTokens"), json!("0h0.5s")),
        refused(at(AUTH, "/expiry/refreshTokens/reuseInterval"), json!("soon")),
        refused(at(CONNECTOR, "/type"), json!("")),
        refused(at(CONNECTOR, "/id"), json!("a/b")),
        refused(at(CONNECTOR, "/id"), json!("local")),
        refused(at(CONNECTOR, "/id"), Value::Null),
        refused(at(CLIENT, "/id"), json!("two words")),
        refused(at(CLIENT, "/secret"), json!("hush")),
        refused(at(CLIENT, "/secretEnv"), Value::Null),
        refused(at(CLIENT, "/secretEnv"), json!("$NAME")),
        refused(at(CLIENT, "/redirectURIs"), json!(["dashboard.example.com"])),
        refused(at(CLIENT, "/redirectURIs"), json!(["https://*.example.com/callback"])),
    ]
}

/// The same, where the three differ on purpose, and why.
fn differing() -> Vec<(&'static str, String, Value, &'static str)> {
    let at = |above: &str, below: &str| format!("{above}{below}");
    let served = "the SIP operator could serve it, so an API server takes it";
    let ranged = "only the settings have the base cluster's range of NodePorts";
    let beyond = "it takes more than one field, or more than a pattern, to see it";
    let client = json!({"id": "a", "public": true});
    vec![
        (
            "++-",
            "/metadata/namespace".to_owned(),
            Value::Null,
            "an agent or kubectl adds the namespace",
        ),
        ("-++", at(BALANCER, "/nodePort"), json!(29999), ranged),
        ("-++", at(BALANCER, "/nodePort"), json!(32768), ranged),
        ("-++", at(WORKERS, "/nodePortRange/end"), json!(32768), ranged),
        ("--+", "/spec".to_owned(), Value::Null, served),
        ("--+", NODES.to_owned(), Value::Null, served),
        (
            "--+",
            at(NODES, "/Storage"),
            json!({"labelSelector": {}, "count": {"active": 0}}),
            served,
        ),
        ("--+", at(NODES, "/worker"), json!({"labelSelector": {}, "count": {"active": 0}}), served),
        ("--+", at(WORKER, "/count"), Value::Null, served),
        ("--+", at(WORKER, "/count/active"), Value::Null, served),
        ("--+", at(BALANCER, "/nodePort"), json!(0), served),
        ("--+", at(BALANCER, "/nodeInterfaceId"), Value::Null, served),
        ("--+", at(BALANCER, "/nodeInterfaceId"), json!(""), served),
        ("--+", at(JUMP, "/nodeInterfaceId"), Value::Null, served),
        ("--+", at(BALANCER, "/clusterIP"), json!("vip.example.com"), served),
        ("--+", at(BALANCER, "/nodeLabels"), json!({"kubernetes.io/os": "any os"}), served),
        ("--+", at(BALANCER, "/nodeLabels"), json!({"a b": "linux"}), served),
        ("--+", at(WORKERS, "/nodePortRange"), Value::Null, served),
        ("--+", at(JUMP, "/sshAuthorizedKeys"), json!(["rsa...."]), served),
        ("--+", at(AUTH, "/caSecret"), Value::Null, served),
        ("--+", at(AUTH, "/issuerURL"), Value::Null, served),
        (
            "--+",
            "/metadata/annotations".to_owned(),
            json!({"sip.airshipit.org/priority": "high"}),
            served,
        ),
        (
            "-+-",
            at(WORKERS, "/nodePortRange"),
            json!({"start": 30011, "end": 30002}),
            "JSON Schema compares no fields",
        ),
        (
            "-+-",
            at(AUTH, "/staticClients"),
            json!([client, client]),
            "JSON Schema compares no items",
        ),
        ("--+", at(CONNECTOR, "/type"), json!("ldaps"), "a newer Dex may know more types"),
        (
            "-++",
            at(CONNECTOR, "/config"),
            json!({"host": "a"}),
            "Dex's settings are sipgen's to know",
        ),
        ("-++", at(AUTH, "/envFrom"), json!([]), beyond),
        ("-++", at(CLIENT, "/trustedPeers"), json!(["nobody"]), beyond),
        ("-++", at(AUTH, "/issuerURL"), json!("https://dex.example.com:443/dex"), beyond),
        ("-++", at(AUTH, "/issuerURL"), json!("https://192.0.2.300/dex"), beyond),
        ("-++", at(BALANCER, "/clusterIP"), json!("127.0.0.1"), beyond),
        (
            "--+",
            at(WORKER, "/labelSelector"),
            json!({"matchLabels": {"a b": "c"}}),
            "no pattern holds for keys there",
        ),
    ]
}

#[test]
fn a_mistake_is_one_to_sipgen_to_editors_and_to_api_servers() {
    let agreed = agreed().into_iter().map(|(marks, pointer, value)| (marks, pointer, value, ""));
    let cases: Vec<_> =
        [("+++", "/kind".to_owned(), json!("SIPCluster"), "")].into_iter().chain(agreed).collect();
    judge(cases.into_iter().chain(differing()).collect());
}

fn judge(cases: Vec<(&'static str, String, Value, &'static str)>) {
    let valid = valid();
    let documents: Vec<Value> =
        cases.iter().map(|(_, pointer, value, _)| with(&valid, pointer, value.clone())).collect();
    let by_editor = judges::editor(&schema("sipcluster"), &documents);
    let by_server = judges::server(&printed(&["crd"]), &documents);
    let mut wrong = String::new();
    for (number, (expected, pointer, value, _)) in cases.iter().enumerate() {
        let by_sipgen = sipgen(&documents[number]);
        let marks = marks(&by_sipgen, &by_editor[number], &by_server[number]);
        if marks != *expected {
            wrong += &format!(
                "{pointer} = {value}: {marks}, not {expected}\n  sipgen: {by_sipgen:?}\n  editor: {:?}\n  server: {:?} {:?}\n",
                by_editor[number], by_server[number].errors, by_server[number].dropped
            );
        }
    }
    assert!(wrong.is_empty(), "sipgen, editor, server:\n{wrong}");
}

/// Whose schemas are wrong, if these are: those of what people have.
#[test]
fn the_clusters_of_all_fixtures_are_valid_everywhere() {
    let mut clusters = Vec::new();
    for entry in walkdir::WalkDir::new(fixtures()).into_iter().map(Result::unwrap) {
        let name = entry.path().strip_prefix(fixtures()).unwrap().to_str().unwrap().to_owned();
        // Mistakes, and what only sipgen reads.
        if name.starts_with("findings/")
            || name.starts_with("generation-")
            || !name.ends_with(".yaml")
        {
            continue;
        }
        let Ok(text) = fs::read_to_string(entry.path()) else {
            continue;
        };
        for document in yaml_serde::Deserializer::from_str(&text) {
            let Ok(mut document) = Value::deserialize(document) else {
                break;
            };
            if document["kind"] == "SIPCluster" && document["spec"].is_object() {
                // Some have it of a kustomization.
                document["metadata"]["namespace"] = "tenant".into();
                clusters.push((name.clone(), document));
            }
        }
    }
    assert!(clusters.len() > 20, "{}", clusters.len());
    let documents: Vec<Value> = clusters.iter().map(|(_, document)| document.clone()).collect();
    let by_editor = judges::editor(&schema("sipcluster"), &documents);
    let by_server = judges::server(&printed(&["crd"]), &documents);
    for (((name, _), by_editor), by_server) in clusters.iter().zip(by_editor).zip(by_server) {
        assert_eq!((by_editor, by_server.errors, by_server.dropped), Default::default(), "{name}");
    }
}
