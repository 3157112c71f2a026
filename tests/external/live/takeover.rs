//! A base cluster that the SIP operator ran, taken over as docs/operations/from-sip-operator.md says.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::live::site::{Agent, Site};
use crate::support::api_server::fed;
use crate::support::programs::succeed;
use crate::support::{Repo, kustomize_build, text};

/// The operator's field manager: the name of its program.
const OPERATOR: &str = "manager";
const SERVICES: [&str; 3] = ["loadbalancer-controlplane", "loadbalancer-worker", "jumphost"];

/// The repo and the live objects of the SIP operator's own sample. Its hosts and services work, and the operator is
/// stopped.
///
/// No two sites have a namespace or a NodePort in common.
fn operated(namespace: &str, ports: &str, agent: Agent) -> Site {
    let site = Site::new(namespace);
    let here = |text: &str| {
        text.replace("sip-system", namespace)
            .replace("ort: 300", &format!("ort: {ports}"))
            .replace("start: 300", &format!("start: {ports}"))
            .replace("end: 300", &format!("end: {ports}"))
    };
    site.repo.write("sipgen.yaml", &agent.settings(namespace));
    for (file, text) in Repo::of_fixture("sip-operator").files("site") {
        site.repo.write(&format!("site/{file}"), &here(&text));
    }
    let scenes =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/scenes/sip-operator-live");
    for file in SERVICES
        .map(|service| format!("{service}.yaml"))
        .iter()
        .map(String::as_str)
        .chain(["hosts.yaml", "sipcluster.yaml"])
    {
        let objects = here(&fs::read_to_string(scenes.join(file)).unwrap());
        let mut create = site.server.kubectl("human");
        create.args(["create", "--field-manager", OPERATOR, "-f", "-"]);
        let created = fed(&mut create, &objects);
        assert!(created.status.success(), "{file}: {}", text(&created.stderr));
    }
    site.take_snapshot();
    site.repo.generate(&[]).expect(0);
    if agent == Agent::Flux {
        site.point_flux();
    }
    site
}

/// Objects of a kind, by name.
fn live(site: &Site, kind: &str) -> BTreeMap<String, Value> {
    let list = site.server.get(&["--namespace", &site.namespace, kind]);
    let items = list["items"].as_array().unwrap().iter();
    items
        .map(|item| (item["metadata"]["name"].as_str().unwrap().to_owned(), item.clone()))
        .collect()
}

/// Deletes the Deployments as the guide says. The garbage collector, which no bench has, would keep their ReplicaSets and
/// remove the finalizer.
fn orphan_deployments(site: &Site) {
    let human = || {
        let mut command = site.server.kubectl("human");
        command.args(["--namespace", &site.namespace]);
        command
    };
    succeed(human().args([
        "delete",
        "deployments",
        "--cascade=orphan",
        "--wait=false",
        "--selector",
        "app.kubernetes.io/part-of=sip",
    ]));
    for (name, deployment) in live(site, "deployments") {
        assert_eq!(deployment["metadata"]["finalizers"][0], "orphan");
        let patch = r#"{"metadata":{"finalizers":null}}"#;
        succeed(human().args(["patch", "deployment", &name, "--type=merge", "--patch", patch]));
    }
}

/// What clients of the Services depend on.
fn addresses(site: &Site) -> BTreeMap<String, Value> {
    let of = |service: Value| {
        let ports = service["spec"]["ports"].as_array().unwrap().iter();
        let node_ports: Vec<Value> =
            ports.map(|port| serde_json::json!([port["port"], port["nodePort"]])).collect();
        serde_json::json!([service["metadata"]["uid"], service["spec"]["clusterIP"], node_ports])
    };
    live(site, "services").into_iter().map(|(name, service)| (name, of(service))).collect()
}

/// The operator's labels of each host.
fn assignments(site: &Site) -> BTreeMap<String, Vec<Value>> {
    let labels = |host: &Value| {
        let label =
            |key: &str| host["metadata"]["labels"][format!("sip.airshipit.org/{key}")].clone();
        ["cluster-namespace", "cluster-name", "node-type"].map(label).to_vec()
    };
    site.hosts().iter().map(|(name, host)| (name.clone(), labels(host))).collect()
}

#[test]
fn the_api_server_accepts_our_objects_as_updates_of_the_operators() {
    let site = operated("update", "300", Agent::Flux);

    let build = kustomize_build(site.repo.path().join("overlays/clusters/update/sip-cluster"));
    let updates: Vec<String> = build
        .split("---\n")
        .filter(|object| object.contains("kind: Deployment") || object.contains("kind: Service\n"))
        .map(str::to_owned)
        .collect();

    assert_eq!(updates.len(), 2 * SERVICES.len());
    let mut replace = site.server.kubectl("human");
    replace.args(["replace", "--dry-run=server", "-f", "-"]);
    let replaced = fed(&mut replace, &updates.join("---\n"));
    assert!(replaced.status.success(), "{}", text(&replaced.stderr));
}

#[test]
fn services_and_hosts_stay_through_the_take_over() {
    for (agent, namespace, ports) in
        [(Agent::Flux, "takeover", "311"), (Agent::Argocd, "takeover-b", "312")]
    {
        let site = operated(namespace, ports, agent);
        let (addresses_before, assigned) = (addresses(&site), assignments(&site));
        assert_eq!(assigned.values().filter(|labels| !labels[0].is_null()).count(), 4);

        orphan_deployments(&site);
        site.sync_all(agent);

        assert_eq!(assignments(&site), assigned, "{agent:?}");
        assert_eq!(addresses(&site), addresses_before, "{agent:?}");
        let deployments = live(&site, "deployments");
        assert_eq!(deployments.len(), SERVICES.len());
        for (name, deployment) in deployments {
            let pod = deployment["spec"]["template"]["spec"].to_string();
            for left in [
                "node-role.kubernetes.io/master\":\"\"",
                "ssh-perms",
                &format!("\"secretName\":\"{name}\""),
            ] {
                assert!(!pod.contains(left), "{agent:?}: {name} has {left}: {pod}");
            }
        }
    }
}

/// Why the guide has the Deployments deleted: an agent removes only fields that it applied itself.
#[test]
fn without_the_deletion_the_jump_host_is_refused_and_load_balancers_keep_the_operators_secret() {
    let site = operated("merged", "313", Agent::Flux);

    let failures = site.sync(Agent::Flux);

    let refused = &failures["sipgen.services.merged.sip-cluster"];
    assert!(
        refused.contains("jumphost-sip-cluster") && refused.contains("Duplicate value: \"ssh\""),
        "{failures:#?}"
    );
    let others = kustomize_build(
        site.repo.path().join("overlays/clusters/merged/sip-cluster/loadbalancer-worker"),
    );
    let mut apply = site.server.kubectl("kustomize-controller");
    apply.args([
        "apply",
        "--server-side",
        "--force-conflicts",
        "--field-manager=kustomize-controller",
        "-f",
        "-",
    ]);
    let applied = fed(&mut apply, &others);
    assert!(applied.status.success(), "{}", text(&applied.stderr));
    let name = "loadbalancer-worker-sip-cluster";
    let volumes = &live(&site, "deployments")[name]["spec"]["template"]["spec"]["volumes"];
    let secrets: Vec<&Value> =
        volumes.as_array().unwrap().iter().map(|volume| &volume["secret"]["secretName"]).collect();
    assert!(secrets.contains(&&serde_json::json!(name)), "{volumes}");
}
