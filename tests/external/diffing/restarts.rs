//! The restarts and immutable fields in `diff`, compared with kustomize's builds before and after.

use std::collections::{BTreeMap, BTreeSet};

use yaml_serde::Value;

use crate::support::programs::{identity, string};
use crate::support::{EDGE, Repo, documents, kustomize_build};

const SERVICES: [&str; 4] =
    ["auth", "jumphost", "loadbalancer-controlplane", "loadbalancer-worker"];
const CLUSTER: &str = "overlays/clusters/tenant-a/edge";

/// Fields that the API server does not let change, of the kinds that services have.
const IMMUTABLE: [(&str, &str); 3] = [
    ("Deployment", "selector"),
    ("PersistentVolumeClaim", "storageClassName"),
    ("RoleBinding", "roleRef"),
];

/// The objects of each service that exists.
fn builds(repo: &Repo) -> BTreeMap<&'static str, BTreeMap<String, Value>> {
    let existing = SERVICES
        .into_iter()
        .filter(|service| repo.exists(&format!("{CLUSTER}/{service}/kustomization.yaml")));
    existing
        .map(|service| {
            let build = kustomize_build(repo.path().join(CLUSTER).join(service));
            let objects = documents(&build);
            (service, objects.into_iter().map(|object| (identity(&object), object)).collect())
        })
        .collect()
}

/// The pod templates of a build.
fn templates(objects: &BTreeMap<String, Value>) -> Vec<&Value> {
    let deployments = objects.values().filter(|object| object["kind"] == "Deployment");
    deployments.map(|deployment| &deployment["spec"]["template"]).collect()
}

/// The objects with a changed immutable field, as `KIND FIELD`.
fn immutable(
    before: &BTreeMap<String, Value>,
    after: &BTreeMap<String, Value>,
) -> BTreeSet<String> {
    let mut changed = BTreeSet::new();
    for (key, before) in before {
        let Some(after) = after.get(key) else {
            continue;
        };
        for (kind, field) in IMMUTABLE {
            let value = |object: &Value| {
                let spec = object.get("spec").and_then(|spec| spec.get(field));
                spec.or(object.get(field)).cloned()
            };
            if before["kind"].as_str() == Some(kind) && value(before) != value(after) {
                changed.insert(format!("{kind} {field}"));
            }
        }
    }
    changed
}

/// Holds what `diff` says of a change against what kustomize builds.
fn compare(repo: &Repo, name: &str) {
    let before = builds(repo);
    let run = repo.diff(&["--format", "json"]);
    let diff: serde_json::Value = serde_json::from_str(&run.stdout)
        .unwrap_or_else(|error| panic!("{name}: {error}\n{}", run.stderr));
    repo.generate(&[]).expect(0);
    let after = builds(repo);

    let said: BTreeMap<&str, &serde_json::Value> = diff["review"]["clusters"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|cluster| cluster["services"].as_array().unwrap())
        .map(|service| (service["service"].as_str().unwrap(), service))
        .collect();
    for (service, before) in &before {
        let Some(after) = after.get(service) else {
            continue;
        };
        let said = said.get(service);
        let restarts = said.is_some_and(|said| said["restarts"].as_bool().unwrap());
        assert_eq!(restarts, templates(before) != templates(after), "{name}: {service} restarts");
        let fields = said.into_iter().flat_map(|said| said["immutable"].as_array().unwrap());
        let fields: BTreeSet<String> = fields
            .map(|field| {
                let path = field["field"].as_str().unwrap();
                format!("{} {}", field["kind"].as_str().unwrap(), path.trim_start_matches("spec."))
            })
            .collect();
        assert_eq!(fields, immutable(before, after), "{name}: {service}");
        let changed = before != after;
        assert!(!changed || said.is_some(), "{name}: {service} changes");
    }
}

#[test]
fn pods_restart_where_their_built_template_changes() {
    let repo = Repo::generated("quickstart");
    let request = repo.read(EDGE);
    for (from, to) in [
        ("haproxy:3.0", "haproxy:3.1"),
        ("jump-host:1.8.2", "jump-host:1.8.3"),
        ("nodePort: 30443", "nodePort: 30444\n        replicas: 3"),
        ("nodePort: 30443", "nodePort: 30443\n        nodeLabels: {zone: a}"),
        ("end: 30082", "end: 30081"),
        ("standby: 1", "standby: 2"),
        ("nodePort: 30556", "nodePort: 30557\n        replicas: 1"),
        ("caSecret: edge-oidc-ca", "caSecret: other"),
        ("operator@lab.example.com", "other@lab.example.com"),
        ("nodeSSHPrivateKeys: edge-node-ssh", "nodeSSHPrivateKeys: other"),
        (
            "volumeClaim: {}",
            "volumeClaim: {storageClassName: fast}\n        homes: {volumeClaim: {}}",
        ),
    ] {
        repo.write(EDGE, &request.replace(from, to));
        compare(&repo, to);
        repo.write(EDGE, &request);
        compare(&repo, &format!("not {to}"));
    }
}

#[test]
fn pods_restart_where_settings_and_templates_change_what_is_built() {
    let repo = Repo::generated("quickstart");
    repo.write("own/partials/unused", "");
    for settings in [
        "services: {priorityClassName: high}\n",
        "services: {networkPolicies: false}\n",
        "services: {ipv6: false}\n",
        "services: {kubernetesVersion: \"1.34\"}\n",
        "credentials: none\n",
        "templates: own\n",
    ] {
        repo.write("sipgen.yaml", settings);
        compare(&repo, settings);
    }
    for (template, from, to) in [
        ("auth/shared/deployment.yaml", "cpu: 50m", "cpu: 60m"),
        ("auth/shared/deployment.yaml", "# Not the image's", "# Never the image's"),
        ("auth/shared/rbac.yaml", "- delete", "- patch"),
        ("jumphost/shared/start", "set -eu", "set -e -u"),
        ("jumphost/shared/networkpolicy.yaml", "port: ssh", "port: 2222"),
        ("loadbalancer/haproxy.cfg", "retries 1", "retries 2"),
        ("loadbalancer/service.yaml", "type: NodePort", "type: LoadBalancer"),
        ("loadbalancer/kustomization.yaml", "component: loadbalancer", "component: other"),
        (
            "loadbalancer/kustomization.yaml",
            "patches:",
            "images: [{name: docker.io/library/haproxy, newTag: \"3.1\"}]\npatches:",
        ),
        ("partials/placement.yaml", "effect: NoSchedule", "effect: NoExecute"),
    ] {
        let text = sipgen::output::render::templates::embedded(template).unwrap();
        let changed = text.replace(from, to);
        assert_ne!(text, changed, "{template} has no {from}");
        repo.write(&format!("own/{template}"), &changed);
        compare(&repo, &format!("{template}: {to}"));
    }
}

#[test]
fn what_one_cluster_binds_and_mounts_is_its_own_in_a_build_of_several() {
    let repo = Repo::generated("multi-cluster");
    let clusters: BTreeSet<String> = repo
        .files("overlays/clusters")
        .into_keys()
        .map(|path| path.splitn(3, '/').take(2).collect::<Vec<_>>().join("/"))
        .collect();
    assert!(clusters.len() > 1, "{clusters:?}");
    let lines: String =
        clusters.iter().map(|cluster| format!("- overlays/clusters/{cluster}\n")).collect();
    repo.write("kustomization.yaml", &format!("resources:\n{lines}"));

    let together: BTreeMap<String, Value> = documents(&kustomize_build(repo.path()))
        .into_iter()
        .map(|object| (identity(&object), object))
        .collect();

    let apart: BTreeMap<String, Value> = clusters
        .iter()
        .flat_map(|cluster| {
            documents(&kustomize_build(repo.path().join("overlays/clusters").join(cluster)))
        })
        .map(|object| (identity(&object), object))
        .collect();
    assert!(together == apart, "a reference leads to another cluster");
    let names = |kind: &str| {
        let objects = together.values().filter(|object| object["kind"].as_str() == Some(kind));
        objects.map(|object| string(&object["metadata"]["name"])).collect::<BTreeSet<_>>()
    };
    assert!(names("Deployment").contains("jumphost2-edge"), "{:?}", names("Deployment"));
}
