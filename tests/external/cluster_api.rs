//! How a tenant's Cluster API manifests take what sipgen knows: built by the real kustomize.

use std::collections::BTreeMap;

use yaml_serde::Value;

use crate::support::programs::string;
use crate::support::{Repo, documents, kustomize_build};

const ENDPOINTS: &str = "overlays/tenants/tenant-a/edge/endpoints/endpoints.yaml";
const REQUEST: &str = "edge.yaml";

/// What kustomize makes of the tenant's manifests, by kind and name.
fn tenant(repo: &Repo) -> BTreeMap<String, Value> {
    let objects = documents(&kustomize_build(repo.path().join("tenant")));
    let name = |object: &Value| {
        format!("{} {}", string(&object["kind"]), string(&object["metadata"]["name"]))
    };
    objects.into_iter().map(|object| (name(&object), object)).collect()
}

fn texts(map: &Value) -> BTreeMap<String, String> {
    map.as_mapping().unwrap().iter().map(|(key, value)| (string(key), string(value))).collect()
}

fn host_selector(template: &Value) -> BTreeMap<String, String> {
    texts(&template["spec"]["template"]["spec"]["hostSelector"]["matchLabels"])
}

/// Writes another API version of Metal3's provider into the tenant's manifests.
fn with_provider(version: &str) -> Repo {
    let repo = Repo::of_fixture("cluster-api");
    for file in ["tenant/cluster.yaml", "tenant/control-plane.yaml", "tenant/workers.yaml"] {
        let group = "infrastructure.cluster.x-k8s.io";
        repo.replace(file, &format!("{group}/v1beta2"), &format!("{group}/{version}"));
    }
    repo.generate(&[]).expect(0);
    repo
}

#[test]
fn each_machine_template_selects_the_hosts_that_the_cluster_has_in_its_role() {
    for version in ["v1beta1", "v1beta2"] {
        let repo = with_provider(version);
        let built = tenant(&repo);

        for (name, role) in [("edge-control-plane", "ControlPlane"), ("edge-workers", "Worker")] {
            let selector = host_selector(&built[&format!("Metal3MachineTemplate {name}")]);
            let hosts =
                documents(&kustomize_build(repo.path().join("overlays/hosts/declared/site")));
            let labels = hosts.iter().filter_map(|host| host["metadata"].get("labels")).map(texts);
            let selected = labels
                .filter(|labels| selector.iter().all(|(key, value)| labels.get(key) == Some(value)))
                .count();
            let wanted = repo
                .hosts_of("tenant-a", "edge")
                .iter()
                .filter(|host| host.starts_with(role))
                .count();
            assert!(wanted > 0 && selected == wanted, "{version} {name}: {selected} of {wanted}");
        }
    }
}

#[test]
fn a_machine_template_keeps_the_labels_that_it_selects_by_itself() {
    let repo = Repo::generated("cluster-api");

    let selector = host_selector(&tenant(&repo)["Metal3MachineTemplate edge-workers"]);

    assert_eq!(selector["hardware.example.com/flavor"], "large");
}

#[test]
fn a_machine_template_without_a_role_takes_no_hosts_of_other_clusters() {
    let repo = Repo::generated("cluster-api");
    repo.replace("tenant/workers.yaml", "    sip.airshipit.org/node-type: Worker\n", "    a: b\n");

    let selector = host_selector(&tenant(&repo)["Metal3MachineTemplate edge-workers"]);

    assert_eq!(selector["sip.airshipit.org/cluster-name"], "edge");
    assert_eq!(selector["sip.airshipit.org/cluster-namespace"], "tenant-a");
    assert!(!selector.contains_key("sip.airshipit.org/node-type"));
}

#[test]
fn the_metal3_cluster_gets_the_endpoint_of_the_load_balancer_before_the_control_plane() {
    for version in ["v1beta1", "v1beta2"] {
        let built = tenant(&with_provider(version));

        let endpoint = &built["Metal3Cluster edge"]["spec"]["controlPlaneEndpoint"];
        assert_eq!(
            (string(&endpoint["host"]).as_str(), endpoint["port"].as_i64()),
            ("192.0.2.10", Some(30443))
        );
    }
}

/// Cluster API makes the objects of a cluster with `spec.topology` from the templates of its class.
#[test]
fn the_templates_of_a_cluster_class_get_hosts_endpoint_and_login() {
    for version in ["v1beta1", "v1beta2"] {
        let repo = with_provider(version);
        let file = "tenant/cluster.yaml";
        let templates = format!(
            "---\napiVersion: infrastructure.cluster.x-k8s.io/{version}\nkind: Metal3ClusterTemplate\n\
             metadata: {{name: class, namespace: tenant-a}}\nspec: {{template: {{spec: {{cloudProviderEnabled: false}}}}}}\n\
             ---\napiVersion: controlplane.cluster.x-k8s.io/{version}\nkind: KubeadmControlPlaneTemplate\n\
             metadata: {{name: class, namespace: tenant-a}}\nspec: {{template: {{spec: {{kubeadmConfigSpec: {{}}}}}}}}\n"
        );
        repo.write(file, &(repo.read(file) + &templates));

        let built = tenant(&repo);

        let of_cluster = &built["Metal3ClusterTemplate class"];
        assert_eq!(
            string(&of_cluster["apiVersion"]),
            format!("infrastructure.cluster.x-k8s.io/{version}")
        );
        let endpoint = &of_cluster["spec"]["template"]["spec"]["controlPlaneEndpoint"];
        assert_eq!(
            (string(&endpoint["host"]).as_str(), endpoint["port"].as_i64()),
            ("192.0.2.10", Some(30443))
        );
        let control_plane = &built["KubeadmControlPlaneTemplate class"]["spec"]["template"]["spec"];
        let arguments =
            &control_plane["kubeadmConfigSpec"]["clusterConfiguration"]["apiServer"]["extraArgs"];
        let issuer = match version {
            "v1beta1" => arguments["oidc-issuer-url"].clone(),
            _ => {
                let mut arguments = arguments.as_sequence().unwrap().iter();
                let issuer = arguments.find(|argument| argument["name"] == "oidc-issuer-url");
                issuer.unwrap()["value"].clone()
            }
        };
        assert_eq!(string(&issuer), "https://192.0.2.10:30556/dex");
        assert!(
            !host_selector(&built["Metal3MachineTemplate edge-workers"]).is_empty(),
            "{version}"
        );
    }
}

#[test]
fn the_endpoint_of_a_metal3_cluster_is_its_own_where_the_request_names_no_address() {
    let repo = Repo::of_fixture("cluster-api");
    repo.replace_behind(
        REQUEST,
        "loadBalancerControlPlane:",
        "        clusterIP: 192.0.2.10\n",
        "",
    );
    let own = "  controlPlaneEndpoint: {host: api.example.com, port: 6443}\n  cloudProviderEnabled";
    repo.replace("tenant/cluster.yaml", "  cloudProviderEnabled", own);
    repo.generate(&[]).expect(0);

    let endpoint = &tenant(&repo)["Metal3Cluster edge"]["spec"]["controlPlaneEndpoint"];

    assert_eq!(string(&endpoint["host"]), "api.example.com");
}

#[test]
fn the_endpoints_are_a_source_for_replacements_and_are_not_applied() {
    let repo = Repo::generated("cluster-api");

    let built = tenant(&repo);

    let expected = [("issuer", "https://192.0.2.10:30556/dex"), ("jump-host", "192.0.2.10:30022")];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(texts(&built["ConfigMap how-to-log-in"]["data"]), BTreeMap::from(expected));
    assert!(!built.contains_key("ConfigMap endpoints-edge"), "{:?}", built.keys());
}

#[test]
fn the_endpoints_say_where_everything_of_the_cluster_is() {
    let repo = Repo::generated("cluster-api");

    let endpoints = texts(&documents(&repo.read(ENDPOINTS))[0]["data"]);

    let expected = [
        ("control-plane-endpoint", "192.0.2.10:30443"),
        ("control-plane-endpoint-host", "192.0.2.10"),
        ("control-plane-endpoint-port", "30443"),
        ("host-selector-cluster-name", "edge"),
        ("host-selector-cluster-namespace", "tenant-a"),
        ("host-selector-node-type-control-plane", "ControlPlane"),
        ("host-selector-node-type-worker", "Worker"),
        ("jump-host-endpoint", "192.0.2.10:30022"),
        ("jump-host-endpoint-host", "192.0.2.10"),
        ("jump-host-endpoint-port", "30022"),
        ("oidc-client-id", "kubernetes"),
        ("oidc-issuer-url", "https://192.0.2.10:30556/dex"),
    ];
    assert_eq!(endpoints, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
}

#[test]
fn endpoints_over_ipv6_have_brackets_only_before_a_port() {
    let repo = Repo::of_fixture("cluster-api");
    repo.replace_behind(REQUEST, "loadBalancerControlPlane:", "192.0.2.10", "2001:db8::10");
    repo.generate(&[]).expect(0);

    let endpoints = texts(&documents(&repo.read(ENDPOINTS))[0]["data"]);

    assert_eq!(endpoints["control-plane-endpoint-host"], "2001:db8::10");
    assert_eq!(endpoints["control-plane-endpoint"], "[2001:db8::10]:30443");
}

#[test]
fn a_cluster_without_services_still_has_its_host_selector() {
    let repo = Repo::of_hosts(1);
    repo.want("tenant/one", 1);
    repo.generate(&[]).expect(0);

    let endpoints = texts(
        &documents(&repo.read("overlays/tenants/tenant/one/endpoints/endpoints.yaml"))[0]["data"],
    );

    let keys: Vec<&str> = endpoints.keys().map(String::as_str).collect();
    let all = ["cluster-name", "cluster-namespace", "node-type-control-plane", "node-type-worker"];
    assert_eq!(keys, all.map(|name| format!("host-selector-{name}")));
}

#[test]
fn what_a_deleted_cluster_had_for_its_tenant_is_deleted() {
    let repo = Repo::of_hosts(2);
    repo.want("tenant/one", 1);
    repo.want("tenant/two", 1);
    repo.generate(&[]).expect(0);

    repo.want_no_more("tenant/one");
    repo.generate(&[]).expect(0);

    assert!(!repo.exists("overlays/tenants/tenant/one"));
    assert!(repo.exists("overlays/tenants/tenant/two"));
}

#[test]
fn machine_templates_of_cluster_api_requests_select_their_assigned_hosts_by_kustomize() {
    let repo = Repo::of_fixture("capm3");
    repo.generate(&[]).expect(0);
    let kustomization = "clusters/edge/kustomization.yaml";
    let text = repo.read(kustomization);
    repo.write(
        kustomization,
        &format!("{text}components:\n  - ../../overlays/tenants/tenant-a/edge/cluster-api\n"),
    );
    let selectors = |repo: &Repo| -> BTreeMap<String, BTreeMap<String, String>> {
        let built = documents(&kustomize_build(repo.path().join("clusters/edge")));
        let templates = built.iter().filter(|object| object["kind"] == "Metal3MachineTemplate");
        let selector =
            |template: &Value| (string(&template["metadata"]["name"]), host_selector(template));
        templates.map(selector).collect()
    };
    let of = |labels: &[(&str, &str)]| -> BTreeMap<String, String> {
        let label = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        labels.iter().map(label).collect()
    };
    let common = [
        ("sip.airshipit.org/cluster-namespace", "tenant-a"),
        ("sip.airshipit.org/cluster-name", "edge"),
    ];
    let control_plane = of(&[
        &common[..],
        &[("example.com/size", "small"), ("sip.airshipit.org/node-type", "ControlPlane")],
    ]
    .concat());
    let workers = of(&[
        &common[..],
        &[("sip.airshipit.org/node-type", "Worker"), ("sip.airshipit.org/node-set", "edge-md")],
    ]
    .concat());
    assert_eq!(
        selectors(&repo),
        BTreeMap::from([
            ("edge-cp".to_owned(), control_plane.clone()),
            ("edge-md.v1".to_owned(), workers.clone())
        ])
    );

    // A prefix is added after the component has run; references need the final names.
    let text = repo.read(kustomization);
    repo.write(kustomization, &format!("{text}namePrefix: x-\n"));
    for file in ["control-plane.yaml", "workers.yaml", "cluster.yaml"] {
        let file = format!("clusters/edge/{file}");
        let text = repo.read(&file);
        let is_reference =
            |line: &str| line.starts_with("    ") && line.trim_start().starts_with("name: ");
        let lines = text.lines().map(|line| {
            if is_reference(line) { line.replace("name: ", "name: x-") } else { line.to_owned() }
        });
        repo.write(&file, &lines.collect::<Vec<_>>().join("\n"));
    }
    repo.replace(
        "clusters/edge/workers.yaml",
        "  clusterName: edge\n  replicas",
        "  clusterName: x-edge\n  replicas",
    );
    // The component moves with the Cluster's name, so its entry goes first.
    let run = repo.generate(&["--allow-empty"]).expect(1);
    assert!(!run.stderr.contains("SIP0905"), "{}", run.stderr);
    crate::support::assert_says(
        &run.stderr,
        &["SIP0117", "tenant-a/edge/cluster-api`, which is to be deleted"],
    );
    repo.replace(kustomization, "tenant-a/edge/", "tenant-a/x-edge/");
    repo.generate(&[]).expect(0);
    let renamed = |labels: &BTreeMap<String, String>, node_set: Option<&str>| {
        let mut labels = labels.clone();
        labels.insert("sip.airshipit.org/cluster-name".to_owned(), "x-edge".to_owned());
        let label = "sip.airshipit.org/node-set".to_owned();
        labels.extend(node_set.map(|name| (label, name.to_owned())));
        labels
    };
    assert_eq!(
        selectors(&repo),
        BTreeMap::from([
            ("x-edge-cp".to_owned(), renamed(&control_plane, None)),
            ("x-edge-md.v1".to_owned(), renamed(&workers, Some("x-edge-md"))),
        ])
    );
}

/// Overlays of one base, with a prefix and configured name references, or with a namespace only.
#[test]
fn clusters_of_one_base_select_hosts_of_their_own_by_kustomize() {
    let repo = Repo::of_fixture("capm3-sylva");
    repo.generate(&[]).expect(0);
    let clusters = [("blue", "blue-cluster", 4), ("green", "cluster", 5)];
    for (directory, cluster, _) in clusters {
        let kustomization = format!("clusters/{directory}/kustomization.yaml");
        let component = format!("workload-{directory}/{cluster}/cluster-api");
        let text = repo.read(&kustomization);
        repo.write(
            &kustomization,
            &format!("{text}components:\n  - ../../overlays/tenants/{component}\n"),
        );
    }
    let run = repo.generate(&[]).expect(0);
    assert!(!run.stderr.contains("SIP0905"), "{}", run.stderr);
    repo.generate(&["--check"]).expect(0);

    let hosts = documents(&kustomize_build(repo.path().join("overlays/hosts/declared/hosts")));
    for (directory, cluster, count) in clusters {
        let built = documents(&kustomize_build(repo.path().join("clusters").join(directory)));
        let templates = built.iter().filter(|object| object["kind"] == "Metal3MachineTemplate");
        let selectors: Vec<BTreeMap<String, String>> = templates.map(host_selector).collect();
        let selected = hosts.iter().filter(|host| {
            let labels = texts(&host["metadata"]["labels"]);
            let is_selected = |selector: &BTreeMap<String, String>| {
                let mut pairs = selector.iter();
                pairs.all(|(key, value)| labels.get(key) == Some(value))
            };
            selectors.iter().any(is_selected)
        });
        let namespaces: Vec<String> =
            selected.map(|host| string(&host["metadata"]["namespace"])).collect();
        assert_eq!(namespaces, vec![format!("workload-{directory}"); count], "{cluster}");
    }
}

#[test]
fn a_metal3_cluster_gets_the_topology_domains_of_its_control_plane_in_both_contracts() {
    for version in ["v1beta1", "v1beta2"] {
        let repo = Repo::of_fixture("capm3");
        let cluster = "clusters/edge/cluster.yaml";
        repo.replace(
            cluster,
            "infrastructure.cluster.x-k8s.io/v1beta2",
            &format!("infrastructure.cluster.x-k8s.io/{version}"),
        );
        repo.generate(&[]).expect(0);
        let kustomization = "clusters/edge/kustomization.yaml";
        let text = repo.read(kustomization);
        let component = "components:\n  - ../../overlays/tenants/tenant-a/edge/cluster-api\n";
        repo.write(kustomization, &format!("{text}{component}"));
        let built = || {
            let objects = documents(&kustomize_build(repo.path().join("clusters/edge")));
            let is_it = |object: &Value| object["kind"] == "Metal3Cluster";
            let cluster = objects.into_iter().find(is_it).unwrap();
            yaml_serde::to_string(&cluster["spec"]["failureDomains"]).unwrap()
        };
        let hosts = documents(&kustomize_build(repo.path().join("overlays/hosts/declared/hosts")));
        let domains: BTreeMap<String, Option<String>> = hosts
            .iter()
            .map(|host| {
                let label = "infrastructure.cluster.x-k8s.io/failure-domain";
                let domain = host["metadata"]["labels"][label].as_str();
                (string(&host["metadata"]["name"]), domain.map(str::to_owned))
            })
            .collect();

        let all = ["r1", "r2", "r3", "r4"];
        for (host, domain) in ["m1", "m2", "m3", "m4"].into_iter().zip(all) {
            assert_eq!(domains[host].as_deref(), Some(domain), "{host}");
        }
        assert_eq!(domains["m6"], None, "a worker");
        let entry = |domain: &&str| match version {
            "v1beta1" => format!("{domain}:\n  controlPlane: true\n"),
            _ => format!("- controlPlane: true\n  name: {domain}\n"),
        };
        assert_eq!(built(), all.iter().map(entry).collect::<String>(), "{version}");
        let after = repo.generate(&["--check"]).expect(0);
        assert!(after.stderr.contains("no file changes"), "{}", after.stderr);

        // Failure domains of one's own stay.
        let own = if version == "v1beta1" { "{hall: {}}" } else { "[{name: hall}]" };
        let text = repo.read(cluster);
        repo.write(
            cluster,
            &text.replace("    port: 6443", &format!("    port: 6443\n  failureDomains: {own}")),
        );
        repo.generate(&[]).expect(0);
        assert!(built().contains("hall") && !built().contains("r1"), "{}", built());
        let patches = repo.read("overlays/hosts/declared/hosts/tenant-a.edge.yaml");
        assert!(!patches.contains("failure-domain"), "{patches}");
    }
}
