//! Dex, and the tenant's API server that takes its tokens.

#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::collections::BTreeMap;

use support::programs::*;
use support::{documents, kustomize_build};
use yaml_serde::Value;

// The tenant's API server

/// What a KubeadmControlPlane becomes in an overlay with the component of the quickstart's cluster.
fn with_component(version: &str, api_server: &str) -> Vec<Value> {
    let repo = generated("quickstart");
    repo.write(
        "tenant/kubeadm-control-plane.yaml",
        &format!(
            "apiVersion: controlplane.cluster.x-k8s.io/{version}\nkind: KubeadmControlPlane\nmetadata:\n  name: edge\n  \
             namespace: tenant-a\nspec:\n  version: v1.33.0\n  kubeadmConfigSpec:\n    clusterConfiguration:\n      \
             apiServer:\n{api_server}    files:\n    - path: /etc/motd\n      content: hello\n"
        ),
    );
    let lists = "resources:\n  - kubeadm-control-plane.yaml\ncomponents:\n  - ../overlays/clusters/tenant-a/edge/auth/kubeadm\n";
    repo.write("tenant/kustomization.yaml", &kustomization("Kustomization", None, lists));
    documents(&kustomize_build(repo.path().join("tenant")))
}

const OIDC: [(&str, &str); 5] = [
    ("oidc-ca-file", "/etc/kubernetes/pki/oidc-ca.crt"),
    ("oidc-client-id", "kubernetes"),
    ("oidc-groups-claim", "groups"),
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
    let built = with_component("v1beta1", "        extraArgs:\n          audit-log-maxage: \"30\"\n");

    let arguments = &built[0]["spec"]["kubeadmConfigSpec"]["clusterConfiguration"]["apiServer"]["extraArgs"];
    let arguments = arguments.as_mapping().unwrap().iter().map(|(name, value)| (string(name), string(value)));
    assert_eq!(arguments.collect::<BTreeMap<_, _>>(), expected_arguments());
}

#[test]
fn a_v1beta2_control_plane_gets_the_oidc_arguments_beside_its_own() {
    let own = "        extraArgs:\n        - name: audit-log-maxage\n          value: \"30\"\n";
    let built = with_component("v1beta2", own);

    let arguments = &built[0]["spec"]["kubeadmConfigSpec"]["clusterConfiguration"]["apiServer"]["extraArgs"];
    let arguments = sequence(arguments).iter().map(|argument| (string(&argument["name"]), string(&argument["value"])));
    assert_eq!(arguments.collect::<BTreeMap<_, _>>(), expected_arguments());
}

#[test]
fn a_control_plane_without_arguments_gets_them_too() {
    for version in ["v1beta1", "v1beta2"] {
        let built = with_component(version, "        timeoutForControlPlane: 4m0s\n");

        let arguments = &built[0]["spec"]["kubeadmConfigSpec"]["clusterConfiguration"]["apiServer"]["extraArgs"];
        let number = arguments.as_mapping().map_or(sequence(arguments).len(), |arguments| arguments.len());
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

        assert_eq!(built.iter().map(identity).collect::<Vec<_>>(), ["KubeadmControlPlane tenant-a/edge"], "{version}");
    }
}
