//! Dex, and the tenant's API server that takes its tokens.

use std::collections::BTreeMap;

use yaml_serde::Value;

use crate::support::programs::*;
use crate::support::{documents, kustomize_build};

// The tenant's API server

/// What a KubeadmControlPlane becomes in an overlay with the component of the quickstart's cluster.
fn with_component(version: &str, api_server: &str) -> Vec<Value> {
    with_component_of("quickstart", "tenant-a/edge/auth/kubeadm", version, api_server)
}

/// The same with another component.
fn with_component_of(
    fixture: &str,
    component: &str,
    version: &str,
    api_server: &str,
) -> Vec<Value> {
    let repo = generated(fixture);
    repo.write(
        "tenant/kubeadm-control-plane.yaml",
        &format!(
            "apiVersion: controlplane.cluster.x-k8s.io/{version}\nkind: KubeadmControlPlane\nmetadata:\n  name: edge\n  \
             namespace: tenant-a\nspec:\n  version: v1.33.0\n  kubeadmConfigSpec:\n    clusterConfiguration:\n      \
             apiServer:\n{api_server}    preKubeadmCommands:\n    - hostname\n    files:\n    - path: /etc/motd\n      content: hello\n"
        ),
    );
    let lists = format!(
        "resources:\n  - kubeadm-control-plane.yaml\ncomponents:\n  - ../overlays/clusters/{component}\n"
    );
    repo.write("tenant/kustomization.yaml", &kustomization("Kustomization", None, &lists));
    documents(&kustomize_build(repo.path().join("tenant")))
}

const OIDC: [(&str, &str); 6] = [
    ("oidc-ca-file", "/etc/kubernetes/pki/oidc-ca.crt"),
    ("oidc-client-id", "kubernetes"),
    ("oidc-groups-claim", "groups"),
    ("oidc-groups-prefix", "oidc:"),
    ("oidc-issuer-url", "https://192.0.2.10:30556/dex"),
    ("oidc-username-claim", "email"),
];

/// The arguments, with the one that the KubeadmControlPlane had before.
fn expected_arguments() -> BTreeMap<String, String> {
    let all = OIDC.into_iter().chain([("audit-log-maxage", "30")]);
    all.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[test]
fn a_v1beta1_control_plane_gets_the_oidc_arguments_beside_its_own() {
    let built =
        with_component("v1beta1", "        extraArgs:\n          audit-log-maxage: \"30\"\n");

    let arguments =
        &built[0]["spec"]["kubeadmConfigSpec"]["clusterConfiguration"]["apiServer"]["extraArgs"];
    let arguments =
        arguments.as_mapping().unwrap().iter().map(|(name, value)| (string(name), string(value)));
    assert_eq!(arguments.collect::<BTreeMap<_, _>>(), expected_arguments());
}

#[test]
fn a_v1beta2_control_plane_gets_the_oidc_arguments_beside_its_own() {
    let own = "        extraArgs:\n        - name: audit-log-maxage\n          value: \"30\"\n";
    let built = with_component("v1beta2", own);

    let arguments =
        &built[0]["spec"]["kubeadmConfigSpec"]["clusterConfiguration"]["apiServer"]["extraArgs"];
    let arguments = sequence(arguments)
        .iter()
        .map(|argument| (string(&argument["name"]), string(&argument["value"])));
    assert_eq!(arguments.collect::<BTreeMap<_, _>>(), expected_arguments());
}

#[test]
fn a_control_plane_without_arguments_gets_them_too() {
    for version in ["v1beta1", "v1beta2"] {
        let built = with_component(version, "        timeoutForControlPlane: 4m0s\n");

        let arguments = &built[0]["spec"]["kubeadmConfigSpec"]["clusterConfiguration"]["apiServer"]
            ["extraArgs"];
        let number =
            arguments.as_mapping().map_or(sequence(arguments).len(), |arguments| arguments.len());
        assert_eq!(number, OIDC.len(), "{version}: {arguments:?}");
    }
}

#[test]
fn a_control_plane_gets_the_ca_of_dex_from_its_secret_beside_its_own_files() {
    for version in ["v1beta1", "v1beta2"] {
        let built = with_component(version, "        timeoutForControlPlane: 4m0s\n");

        let files = sequence(&built[0]["spec"]["kubeadmConfigSpec"]["files"]);
        let paths: Vec<String> = files.iter().map(|file| string(&file["path"])).collect();
        assert_eq!(paths, ["/etc/motd", "/etc/kubernetes/pki/oidc-ca.crt"], "{version}");
        let secret = &files[1]["contentFrom"]["secret"];
        assert_eq!(
            (string(&secret["name"]), string(&secret["key"])),
            ("auth-edge-tls".to_owned(), "ca.crt".to_owned())
        );
    }
}

#[test]
fn the_component_adds_no_object_of_its_own() {
    for version in ["v1beta1", "v1beta2"] {
        let built = with_component(version, "        timeoutForControlPlane: 4m0s\n");

        assert_eq!(
            built.iter().map(identity).collect::<Vec<_>>(),
            ["KubeadmControlPlane tenant-a/edge"],
            "{version}"
        );
    }
}

const STRUCTURED: &str = "tenant-a/edge/auth/kubeadm-structured";

#[test]
fn a_control_plane_reads_the_structured_configuration_beside_its_own_arguments() {
    let own = "        extraArgs:\n          audit-log-maxage: \"30\"\n";
    let v1beta1 = with_component_of("quickstart", STRUCTURED, "v1beta1", own);
    let own = "        extraArgs:\n        - name: audit-log-maxage\n          value: \"30\"\n";
    let v1beta2 = with_component_of("quickstart", STRUCTURED, "v1beta2", own);

    let file = "/etc/kubernetes/pki/authentication-configuration.yaml";
    let arguments =
        &v1beta1[0]["spec"]["kubeadmConfigSpec"]["clusterConfiguration"]["apiServer"]["extraArgs"];
    assert_eq!(string(&arguments["authentication-config"]), file);
    assert_eq!(string(&arguments["audit-log-maxage"]), "30");
    let arguments =
        &v1beta2[0]["spec"]["kubeadmConfigSpec"]["clusterConfiguration"]["apiServer"]["extraArgs"];
    let arguments = sequence(arguments)
        .iter()
        .map(|argument| (string(&argument["name"]), string(&argument["value"])));
    let expected = [("audit-log-maxage", "30"), ("authentication-config", file)];
    assert_eq!(
        arguments.collect::<BTreeMap<_, _>>(),
        expected.map(|(a, b)| (a.to_owned(), b.to_owned())).into()
    );
}

#[test]
fn a_control_plane_completes_the_structured_configuration_after_its_own_commands() {
    for version in ["v1beta1", "v1beta2"] {
        let built = with_component_of(
            "quickstart",
            STRUCTURED,
            version,
            "        timeoutForControlPlane: 4m0s\n",
        );

        let spec = &built[0]["spec"]["kubeadmConfigSpec"];
        let commands: Vec<String> =
            sequence(&spec["preKubeadmCommands"]).iter().map(string).collect();
        let script = "/etc/kubernetes/oidc/write-authentication-configuration";
        assert_eq!(commands, ["hostname".to_owned(), format!("sh {script}")], "{version}");
        let paths: Vec<String> =
            sequence(&spec["files"]).iter().map(|file| string(&file["path"])).collect();
        let expected = [
            "/etc/motd",
            "/etc/kubernetes/oidc/authentication-configuration.yaml",
            "/etc/kubernetes/oidc/ca.crt",
            script,
        ];
        assert_eq!(paths, expected, "{version}");
        assert_eq!(built.len(), 1, "{version}");
    }
}

#[test]
fn a_certificate_that_every_machine_trusts_needs_no_authority_on_them() {
    for component in ["kubeadm", "kubeadm-structured"] {
        let component = format!("tenant-c/web/auth/{component}");
        let built = with_component_of(
            "auth",
            &component,
            "v1beta1",
            "        timeoutForControlPlane: 4m0s\n",
        );

        let text = yaml_serde::to_string(&built[0]).unwrap();
        assert!(!text.contains("ca.crt") && !text.contains("oidc-ca-file"), "{text}");
        assert!(text.contains("https://dex.tenant-c.example.com"), "{text}");
    }
}

// The pods

/// The Deployment of one of the fixture's clusters.
fn deployment(cluster: &str) -> Value {
    let repo = &GENERATED["auth"];
    object(
        &kustomize_build(repo.path().join(format!("overlays/clusters/{cluster}/auth"))),
        "Deployment",
    )
}

#[test]
fn a_pod_has_the_secrets_that_it_is_given() {
    let spec = &deployment("tenant-a/edge")["spec"]["template"]["spec"];

    let container = &spec["containers"][0];
    assert_eq!(string(&container["envFrom"][0]["secretRef"]["name"]), "edge-dex");
    let tls =
        sequence(&spec["volumes"]).iter().find(|volume| string(&volume["name"]) == "tls").unwrap();
    assert_eq!(string(&tls["secret"]["secretName"]), "edge-dex-tls");
}

#[test]
fn one_pod_has_no_disruption_budget_and_two_have_one() {
    for (cluster, replicas, budgets) in [("tenant-b/core", 1, 0), ("tenant-a/edge", 2, 1)] {
        let build = kustomize_build(
            GENERATED["auth"].path().join(format!("overlays/clusters/{cluster}/auth")),
        );

        assert_eq!(
            object(&build, "Deployment")["spec"]["replicas"].as_u64(),
            Some(replicas),
            "{cluster}"
        );
        let is_budget = |object: &&Value| string(&object["kind"]) == "PodDisruptionBudget";
        assert_eq!(documents(&build).iter().filter(is_budget).count(), budgets, "{cluster}");
    }
}

#[test]
fn a_certificate_is_asked_of_the_issuer_that_was_named() {
    let build = |cluster: &str| {
        kustomize_build(GENERATED["auth"].path().join(format!("overlays/clusters/{cluster}/auth")))
    };

    let web = &object(&build("tenant-c/web"), "Certificate")["spec"];

    assert_eq!(string(&web["issuerRef"]["kind"]), "ClusterIssuer");
    assert_eq!(string(&web["issuerRef"]["name"]), "letsencrypt");
    assert_eq!(string(&web["dnsNames"][0]), "dex.tenant-c.example.com");
    let kinds: Vec<String> =
        documents(&build("tenant-a/edge")).iter().map(|object| string(&object["kind"])).collect();
    assert!(
        !kinds.contains(&"Certificate".to_owned()) && !kinds.contains(&"Issuer".to_owned()),
        "{kinds:?}"
    );
}
