//! What builds with the components of clusters make of the objects that these bind to hosts: each
//! mistake is one by the real kustomize, too.

use std::collections::BTreeMap;

use yaml_serde::Value;

use crate::support::programs::string;
use crate::support::{Repo, documents, kustomize_build};

/// A namespace, the name of its Cluster, and the network of its hosts.
type Tenant = (&'static str, &'static str, &'static str);

/// The kustomizations of a case by directory. The first is that of the build.
type Kustomizations = Vec<(&'static str, String)>;

const EDGE: Tenant = ("m", "e", "192.0.2");

/// A Cluster with one control-plane Machine, its Metal3Cluster and its template.
fn cluster((namespace, name, _): Tenant) -> String {
    let object = |group: &str, kind: &str, spec: &str| {
        format!(
            "apiVersion: {group}/v1beta1\nkind: {kind}\nmetadata: {{name: {name}, namespace: {namespace}}}\nspec: {spec}\n---\n"
        )
    };
    let reference = |group: &str, kind: &str| {
        format!("{{apiVersion: {group}/v1beta1, kind: {kind}, name: {name}}}")
    };
    let (core, control_plane) = ("cluster.x-k8s.io", "controlplane.cluster.x-k8s.io");
    let metal3 = "infrastructure.cluster.x-k8s.io";
    [
        object(
            core,
            "Cluster",
            &format!(
                "{{controlPlaneRef: {}, infrastructureRef: {}}}",
                reference(control_plane, "KubeadmControlPlane"),
                reference(metal3, "Metal3Cluster")
            ),
        ),
        object(metal3, "Metal3Cluster", "{controlPlaneEndpoint: {host: 198.51.100.1, port: 6443}}"),
        object(
            control_plane,
            "KubeadmControlPlane",
            &format!(
                "{{replicas: 1, version: v1.34.0, rolloutStrategy: {{rollingUpdate: {{maxSurge: 0}}}}, machineTemplate: \
                 {{infrastructureRef: {}}}}}",
                reference(metal3, "Metal3MachineTemplate")
            ),
        ),
        object(metal3, "Metal3MachineTemplate", "{template: {spec: {image: {url: u, checksum: c}}}}"),
    ]
    .concat()
}

/// A repo with two Clusters, a host for each, and pools of the hosts' network.
fn repo_of(tenants: [Tenant; 2]) -> Repo {
    let repo = Repo::empty();
    repo.write(
        "sipgen.yaml",
        "requests: {clusterAPI: {clusters: all, controlPlaneTopologyKey: rack}}\n",
    );
    let (mut hosts, mut pools) = (String::new(), BTreeMap::new());
    for (index, tenant @ (namespace, name, network)) in tenants.into_iter().enumerate() {
        hosts.push_str(&format!(
            "---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata:\n  name: host-{namespace}-{name}\n  \
             namespace: {namespace}\n  labels: {{rack: r{index}, size: big}}\n  annotations: {{sip.airshipit.org/addresses: \
             provisioning={network}.1{index}}}\nspec: {{online: true, bootMACAddress: '00:00:5e:00:53:0{index}', bmc: \
             {{address: 'redfish://203.0.113.{index}/x', credentialsName: x}}}}\n"
        ));
        pools.insert(
            namespace,
            format!(
                "---\napiVersion: ipam.metal3.io/v1alpha1\nkind: IPPool\nmetadata: {{name: provisioning, namespace: \
                 {namespace}}}\nspec: {{namePrefix: p, prefix: 24, pools: [{{start: {network}.10, end: {network}.50}}]}}\n"
            ),
        );
        repo.write(&format!("clusters/{namespace}-{name}.yaml"), &cluster(tenant));
    }
    repo.write("metal/hosts.yaml", &hosts);
    repo.write("metal/kustomization.yaml", "resources: [hosts.yaml]\n");
    repo.write("clusters/pools.yaml", &pools.into_values().collect::<String>());
    repo
}

/// Whether a build gives all objects of the Clusters what they need.
fn is_bound(objects: &[Value], tenants: [Tenant; 2]) -> bool {
    let found = |kind: &str, namespace: &str, name: &str| {
        let is_it = |object: &&Value| {
            object["kind"] == kind
                && object["metadata"]["namespace"] == namespace
                && object["metadata"]["name"] == name
        };
        objects.iter().find(is_it).cloned().unwrap_or_default()
    };
    let texts = |map: &Value| -> BTreeMap<String, String> {
        let pairs = map.as_mapping().into_iter().flatten();
        pairs
            .filter(|(_, value)| !value.is_mapping())
            .map(|(k, v)| (string(k), string(v)))
            .collect()
    };
    tenants.into_iter().enumerate().all(|(index, (namespace, name, network))| {
        let template = found("Metal3MachineTemplate", namespace, name);
        let selector = texts(&template["spec"]["template"]["spec"]["hostSelector"]["matchLabels"]);
        let selects = |key: &str, value: &str| {
            selector.get(&format!("sip.airshipit.org/{key}")).is_some_and(|it| it == value)
        };
        let kept = texts(&found("IPPool", namespace, "provisioning")["spec"]["preAllocations"]);
        let claim = format!("host-{namespace}-{name}-provisioning");
        let is_own =
            |claim: &String| claim == "printer" || claim.contains(&format!("-{namespace}-"));
        let domains = &found("Metal3Cluster", namespace, name)["spec"]["failureDomains"];
        let domains = domains.as_mapping().cloned().unwrap_or_default();
        selects("cluster-name", name)
            && selects("cluster-namespace", namespace)
            && selects("node-type", "ControlPlane")
            && kept.get(&claim) == Some(&format!("{network}.1{index}"))
            && kept.keys().all(is_own)
            // Or those of the user.
            && domains.keys().all(|domain| ["x", &format!("r{index}")].contains(&domain.as_str().unwrap()))
            && !domains.is_empty()
    })
}

#[test]
fn what_components_bind_is_bound_in_the_builds_that_include_them() {
    let neighbour: Tenant = ("m", "f", "192.0.2");
    let namesake: Tenant = ("n", "e", "198.51.100");
    let other: Tenant = ("n", "f", "198.51.100");
    let all =
        "components: [../overlays/tenants/{0}/cluster-api, ../overlays/tenants/{1}/cluster-api]\n";
    let own = "resources: [{files}, pools.yaml]\n";
    let json = |kind: &str, operation: &str| {
        format!("patches: [{{target: {{kind: {kind}}}, patch: '[{operation}]'}}]\n")
    };
    let template = |operation: &str| json("Metal3MachineTemplate", operation);
    let selector = "/spec/template/spec/hostSelector";
    let add =
        |path: &str, value: &str| format!(r#"{{"op": "add", "path": "{path}", "value": {value}}}"#);
    let merged = |kind: &str, spec: &str| {
        let version = if kind == "IPPool" {
            "ipam.metal3.io/v1alpha1"
        } else {
            "infrastructure.cluster.x-k8s.io/v1beta1"
        };
        format!(
            "patches: [{{target: {{kind: {kind}}}, patch: '{{apiVersion: {version}, kind: {kind}, metadata: {{name: x}}, spec: {spec}}}'}}]\n"
        )
    };
    let listed = format!("{own}{all}");
    let component = |listed: &str| {
        format!("apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n{listed}")
    };
    let cases: Vec<(&str, Tenant, Kustomizations)> = vec![
        ("one namespace", neighbour, vec![("clusters", listed.clone())]),
        ("equal names", namesake, vec![("clusters", listed.clone())]),
        ("equal names of pools", other, vec![("clusters", listed.clone())]),
        (
            "another selector",
            neighbour,
            vec![(
                "clusters",
                listed.clone() + &template(&add(selector, r#"{"matchLabels": {"size": "big"}}"#)),
            )],
        ),
        (
            "a further label",
            neighbour,
            vec![(
                "clusters",
                listed.clone()
                    + &template(&add(&format!("{selector}/matchLabels/size"), r#""big""#)),
            )],
        ),
        (
            "a label less",
            neighbour,
            vec![(
                "clusters",
                listed.clone()
                    + &template(&format!(
                        r#"{{"op": "remove", "path": "{selector}/matchLabels/sip.airshipit.org~1node-type"}}"#
                    )),
            )],
        ),
        (
            "another image",
            neighbour,
            vec![(
                "clusters",
                listed.clone() + &template(&add("/spec/template/spec/image/url", r#""v""#)),
            )],
        ),
        (
            "a replaced selector",
            neighbour,
            vec![(
                "clusters",
                listed.clone()
                    + &merged(
                        "Metal3MachineTemplate",
                        "{template: {spec: {hostSelector: {$patch: replace, matchLabels: {size: big}}}}}",
                    ),
            )],
        ),
        (
            "other entries",
            neighbour,
            vec![(
                "clusters",
                listed.clone()
                    + &json("IPPool", &add("/spec/preAllocations", r#"{"printer": "192.0.2.20"}"#)),
            )],
        ),
        (
            "more entries",
            neighbour,
            vec![(
                "clusters",
                listed.clone() + &merged("IPPool", "{preAllocations: {printer: 192.0.2.20}}"),
            )],
        ),
        (
            "other domains",
            neighbour,
            vec![(
                "clusters",
                listed.clone()
                    + &json(
                        "Metal3Cluster",
                        &add("/spec/failureDomains", r#"{"x": {"controlPlane": true}}"#),
                    ),
            )],
        ),
        (
            "a patch above",
            neighbour,
            vec![
                (
                    "up",
                    "resources: [../clusters]\n".to_owned()
                        + &template(&add(selector, r#"{"matchLabels": {"size": "big"}}"#)),
                ),
                ("clusters", listed.clone()),
            ],
        ),
        (
            "nothing above",
            neighbour,
            vec![("up", "resources: [../clusters]\n".to_owned()), ("clusters", listed.clone())],
        ),
        (
            "in a component",
            neighbour,
            vec![("clusters", format!("{own}components: [../part]\n")), ("part", component(all))],
        ),
        (
            "pools elsewhere",
            neighbour,
            vec![
                ("clusters", format!("resources: [{{files}}]\n{all}")),
                ("clusters/pool", "resources: [../pools.yaml]\n".to_owned()),
            ],
        ),
    ];
    let mut wrong = 0;
    for (name, second, files) in cases {
        let tenants = [EDGE, second];
        let repo = repo_of(tenants);
        for (directory, text) in &files {
            let listed = tenants.map(|(namespace, name, _)| format!("{namespace}-{name}.yaml"));
            let text = text.replace("{files}", &listed.join(", "));
            let [first, second] = tenants.map(|(namespace, name, _)| format!("{namespace}/{name}"));
            let text = text.replace("{0}", &first).replace("{1}", &second);
            repo.write(&format!("{directory}/kustomization.yaml"), &text);
        }
        repo.commit();
        let run = repo.generate(&[]).expect(0);
        repo.generate(&["--check"]).expect(0);
        let built = documents(&kustomize_build(repo.path().join(files[0].0)));
        let is_bound = is_bound(&built, tenants);
        assert_eq!(!run.stderr.contains("SIP0905"), is_bound, "{name}: {}\n{built:?}", run.stderr);
        wrong += usize::from(!is_bound);
    }
    assert_eq!(wrong, 8, "cases with a mistake");
}
