//! Objects that the SIP operator's own definition takes, of all the generations that it had: ours takes them too, and
//! loses nothing of them.
//!
//! `upstream.yaml` has the shape of the last published definition (May 2021), with the `nodePort` of worker load
//! balancers that a copy of it in the field still has. The objects are drawn from it, and the API server's code
//! first says that they are valid there. What ours refuses beside them could not be served by the operator either: see
//! `only_what_could_never_be_served_is_refused`.

use proptest::collection::{btree_map, vec};
use proptest::option::of;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};

use super::{judges, printed};

const PUBLISHED: &str = include_str!("upstream.yaml");
const DRAWN: usize = 400;

/// A mapping of the fields that are there.
fn fields(given: Vec<(&str, Option<Value>)>) -> Value {
    let there = given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(there.collect::<Map<_, _>>())
}

fn text() -> impl Strategy<Value = Value> {
    prop_oneof![Just(""), Just("oam-ipv4"), Just("${VARIABLE}"), Just("two words"), Just("Größe")]
        .prop_map(Value::from)
}

fn labels() -> impl Strategy<Value = Value> {
    btree_map("[a-z]{1,3}(/[a-z]{1,3})?", "([a-z0-9]([-._a-z0-9]{0,4}[a-z0-9])?)?", 0..3)
        .prop_map(|map| json!(map))
}

/// 0 has the API server choose a port.
fn node_port() -> impl Strategy<Value = Value> {
    prop_oneof![Just(0_i64), 30000..=32767_i64].prop_map(Value::from)
}

fn requirement() -> impl Strategy<Value = Value> {
    let values = vec("[a-z]{0,3}", 1..3);
    prop_oneof![
        (prop_oneof![Just("In"), Just("NotIn")], values)
            .prop_map(|(operator, values)| json!({"key": "example.com/rack", "operator": operator, "values": values})),
        prop_oneof![Just("Exists"), Just("DoesNotExist")]
            .prop_map(|operator| json!({"key": "a", "operator": operator})),
    ]
}

fn selector() -> impl Strategy<Value = Value> {
    (of(labels()), of(vec(requirement(), 0..3))).prop_map(|(labels, expressions)| {
        fields(vec![
            ("matchLabels", labels),
            ("matchExpressions", expressions.map(|list| json!(list))),
        ])
    })
}

fn count() -> impl Strategy<Value = Value> {
    (of(0..9_i64), of(0..9_i64)).prop_map(|(active, standby)| {
        fields(vec![("active", active.map(Into::into)), ("standby", standby.map(Into::into))])
    })
}

fn node_set() -> impl Strategy<Value = Value> {
    let key = prop_oneof![Just(""), Just("airshipit.org/rack"), Just("rack")].prop_map(Value::from);
    (of(selector()), of(key), of(count())).prop_map(|(selector, key, count)| {
        fields(vec![("labelSelector", selector), ("topologyKey", key), ("count", count)])
    })
}

/// What every service has, and what only one kind has.
fn service(own: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    let image = prop_oneof![Just("haproxy:2.3.2"), Just("quay.io/airshipit/jump-host")];
    (image, of(text()), of(text()), of(labels()), own).prop_map(
        |(image, interface, address, labels, own)| {
            let given = vec![
                ("image", Some(image.into())),
                ("nodeInterfaceId", interface),
                ("clusterIP", address),
                ("nodeLabels", labels),
            ];
            let mut service = fields(given);
            if let (Value::Object(service), Value::Object(own)) = (&mut service, own) {
                service.extend(own);
            }
            service
        },
    )
}

fn with_port() -> impl Strategy<Value = Value> {
    service(node_port().prop_map(|port| json!({"nodePort": port})))
}

fn worker_balancer() -> impl Strategy<Value = Value> {
    // The port beside the range was never read.
    service((30000..=32767_i64, 0..20_i64, of(-1..70000_i64)).prop_map(|(start, length, port)| {
        let range = json!({"start": start, "end": (start + length).min(32767)});
        fields(vec![("nodePortRange", Some(range)), ("nodePort", port.map(Into::into))])
    }))
}

fn jump_host() -> impl Strategy<Value = Value> {
    let keys = vec(prop_oneof![Just("rsa...."), Just("ssh-ed25519 AAAA operator"), Just("")], 0..3);
    let bmc = of(any::<bool>()).prop_map(|proxy| fields(vec![("proxy", proxy.map(Into::into))]));
    let own = (node_port(), of(bmc), of(keys)).prop_map(|(port, bmc, keys)| {
        let given = vec![
            ("nodePort", Some(port)),
            ("bmc", bmc),
            ("sshAuthorizedKeys", keys.map(|keys| json!(keys))),
            ("nodeSSHPrivateKeys", Some("ssh-private-keys".into())),
        ];
        fields(given)
    });
    service(own)
}

fn spec() -> impl Strategy<Value = Value> {
    let role = prop_oneof![
        Just("ControlPlane"),
        Just("Worker"),
        Just("master"),
        Just("worker"),
        Just("Storage")
    ];
    let nodes = btree_map(role, node_set(), 0..4).prop_map(|nodes| json!(nodes));
    let services =
        (of(vec(jump_host(), 0..3)), of(vec(with_port(), 0..3)), of(vec(worker_balancer(), 0..3)))
            .prop_map(|(jump_hosts, balancers, workers)| {
                fields(vec![
                    ("jumpHost", jump_hosts.map(|list| json!(list))),
                    ("loadBalancerControlPlane", balancers.map(|list| json!(list))),
                    ("loadBalancerWorker", workers.map(|list| json!(list))),
                ])
            });
    (of(nodes), services)
        .prop_map(|(nodes, services)| fields(vec![("nodes", nodes), ("services", Some(services))]))
}

fn condition() -> impl Strategy<Value = Value> {
    let reason = prop_oneof![
        Just("Progressing"),
        Just("Unschedulable"),
        Just("InfraServiceFailure"),
        Just("UnableToApplyLabels"),
        Just("UnableToDecommission"),
        Just("ReconciliationSucceeded"),
    ];
    let status = prop_oneof![Just("True"), Just("False"), Just("Unknown")];
    (reason, status, of(0..9_i64)).prop_map(|(reason, status, generation)| {
        fields(vec![
            ("type", Some("Ready".into())),
            ("reason", Some(reason.into())),
            ("status", Some(status.into())),
            ("message", Some("".into())),
            ("lastTransitionTime", Some("2021-05-21T12:00:00Z".into())),
            ("observedGeneration", generation.map(Into::into)),
        ])
    })
}

fn named(spec: Value) -> Value {
    json!({
        "apiVersion": "airship.airshipit.org/v1",
        "kind": "SIPCluster",
        "metadata": {
            "name": "lma", "namespace": "lma-infra", "finalizers": ["sip.airship.airshipit.org/finalizer"]
        },
        "spec": spec
    })
}

/// Objects of a strategy: the same ones in every run.
fn drawn(strategy: &impl Strategy<Value = Value>, count: usize) -> Vec<Value> {
    let mut runner = TestRunner::deterministic();
    (0..count).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect()
}

#[track_caller]
fn assert_taken_whole(definition: &str, objects: &[Value]) {
    for (object, verdict) in objects.iter().zip(judges::server(definition, objects)) {
        assert_eq!(verdict.errors, Vec::<String>::new(), "{object:#}");
        assert_eq!(verdict.dropped, Vec::<String>::new(), "{object:#}");
        assert_eq!(verdict.stored.unwrap()["spec"], object["spec"]);
    }
}

#[test]
fn every_object_of_the_published_definition_is_taken_whole() {
    let mut objects = drawn(&spec().prop_map(named), DRAWN);
    // An object without any wish was one, too.
    let mut without_spec = named(Value::Null);
    without_spec.as_object_mut().unwrap().remove("spec");
    objects.push(without_spec);

    assert_taken_whole(PUBLISHED, &objects);
    assert_taken_whole(&printed(&["crd"]), &objects);
}

#[test]
fn what_the_operator_reported_stays_in_the_status() {
    let conditions =
        vec(condition(), 0..2).prop_map(|conditions| json!({"conditions": conditions}));
    let definition = printed(&["crd"]);
    for status in drawn(&conditions, 12) {
        let mut object = named(json!({"services": {}}));
        object["status"] = status;
        let verdict = judges::update(&definition, &object, &object);
        assert_eq!((verdict.errors, verdict.dropped), (vec![], vec![]), "{object:#}");
        assert_eq!(verdict.stored.unwrap()["status"], object["status"]);
    }
}

/// Each of them as its generation's own sample has it, as far as an API server of its time kept it.
#[test]
fn objects_of_older_generations_are_taken_whole() {
    let service =
        json!({"image": "haproxy:2.3.2", "nodePort": 30000, "nodeInterfaceId": "oam-ipv4"});
    let older_nodes = |flavor: &str, topology: Value| {
        let mut node_set = json!({"count": {"active": 2, "standby": 1}});
        node_set[flavor] = "example.com/flavor=worker".into();
        for (field, value) in topology.as_object().unwrap() {
            node_set[field] = value.clone();
        }
        json!({"worker": node_set})
    };
    let optional = |mut service: Value, optional: Value| {
        service["optional"] = optional;
        service["nodeLabels"] = json!(["airship-masters"]);
        service
    };
    let mut jump_host = service.clone();
    jump_host["sshkey"] = "ssh-rsa AAAA".into();
    let mut auth = service.clone();
    auth["caSecret"] = "dex-ca-key-pair".into();
    let selected = json!({"Worker": {
        "labelSelector": {"matchLabels": {"a": "b"}}, "spreadTopology": "PerRack", "count": {"active": 1}
    }});
    let specs = [
        // November 2020.
        json!({
            "nodes": older_nodes("vm-flavor", json!({"scheduling-constraints": ["per-node", "per-rack"]})),
            "infra": {
                "loadbalancer": optional(service.clone(), json!({"clusterIp": "192.0.2.10"})),
                "jumppod": optional(service.clone(), json!({"sshKey": "rsa...."}))
            }
        }),
        // December 2020.
        json!({
            "config": {"cluster-name": "edge"},
            "nodes": older_nodes("vm-flavor", json!({"spreadTopology": "per-rack"})),
            "infra": {"authpod": {"nodePorts": [7023, 7024], "nodelabels": {"a": "b"}}}
        }),
        // January 2021.
        json!({
            "cluster-name": "edge",
            "nodes": older_nodes("vm-flavor", json!({"spreadTopology": "per-node"})),
            "infra": [{"serviceType": "jumphost", "nodePort": 7022, "optional": {"sshkey": "rsa....", "clusterIP": "x"}}]
        }),
        // February 2021.
        json!({
            "clusterName": "edge",
            "nodes": older_nodes("vmFlavor", json!({"spreadTopology": "PerHost"})),
            "services": {"loadBalancer": [service], "jumpHost": [jump_host], "auth": [service]}
        }),
        // March 2021.
        json!({"nodes": selected, "services": {"loadBalancer": [service], "auth": [service]}}),
        // April 2021: worker load balancers with a single port, and the authority of Dex.
        json!({"services": {
            "loadBalancerControlPlane": [service], "loadBalancerWorker": [service], "auth": [auth, auth]
        }}),
    ];
    assert_taken_whole(&printed(&["crd"]), &specs.map(named));
}

/// Where ours is stricter than the published one, no SIP operator could have served the object: Kubernetes takes none of
/// what would have been made of it, or the request means nothing.
#[test]
fn only_what_could_never_be_served_is_refused() {
    let set = |pointer: &str, value: Value| {
        let jump_host = json!({"image": "i", "nodePort": 30000, "nodeSSHPrivateKeys": "keys"});
        let range = json!({"start": 30001, "end": 30002});
        let spec = json!({
            "nodes": {"Worker": {"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]},
                "topologyKey": "rack", "count": {"active": 1}}},
            "services": {"jumpHost": [jump_host], "loadBalancerWorker": [{"image": "i", "nodePortRange": range}]}
        });
        super::with(&named(spec), pointer, value)
    };
    let (worker, jump) = ("/spec/nodes/Worker", "/spec/services/jumpHost/0");
    let range = "/spec/services/loadBalancerWorker/0/nodePortRange";
    let expression = "/spec/nodes/Worker/labelSelector/matchExpressions/0";
    let objects = [
        // No Service has such a port.
        set(&format!("{jump}/nodePort"), json!(65536)),
        set(&format!("{jump}/nodePort"), json!(-1)),
        set(&format!("{range}/start"), json!(0)),
        set(&format!("{range}/end"), json!(70_000)),
        // A Service without ports is none.
        set(&format!("{range}/end"), json!(30000)),
        // No pod runs an image without a name.
        set(&format!("{jump}/image"), json!("")),
        // No Secret has such a name.
        set(&format!("{jump}/nodeSSHPrivateKeys"), json!("No Secret")),
        // No selector is made of it.
        set(&format!("{expression}/operator"), json!("Is")),
        set(&format!("{expression}/values"), json!(["b"])),
        set(&format!("{expression}/key"), json!("a b")),
        set(&format!("{worker}/labelSelector"), json!({"matchLabels": {"a": "b c"}})),
        // No host has such a label.
        set(&format!("{worker}/topologyKey"), json!("a b")),
        set("/metadata/name", json!("x".repeat(64))),
        // No number of hosts.
        set(&format!("{worker}/count/active"), json!(-1)),
        set(&format!("{worker}/count/standby"), json!(1_000_001)),
    ];
    assert!(judges::server(PUBLISHED, &objects).iter().all(|verdict| verdict.errors.is_empty()));
    for (object, verdict) in objects.iter().zip(judges::server(&printed(&["crd"]), &objects)) {
        // Rules are not asked where a value is wrong by itself, which the server says in an error of its own.
        let said = verdict
            .errors
            .iter()
            .filter(|error| !error.contains("some validation rules were not checked"));
        assert_eq!(said.count(), 1, "{object:#}: {:?}", verdict.errors);
    }
}
