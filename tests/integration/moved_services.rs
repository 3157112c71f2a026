//! Builds and agents' objects of the repo that move services away from the Secrets that they use, or name directories
//! that the output does not have.

use crate::support::in_memory::{generated_with, host_for_edge};
use sipgen::GeneratedSite;
use sipgen::base::finding::{Code, Finding};

const SERVICES: &str = "\
apiVersion: airship.airshipit.org/v1
kind: SIPCluster
metadata: {name: edge, namespace: tenant-a}
spec:
  nodes:
    ControlPlane: {labelSelector: {matchLabels: {for: edge}}, count: {active: 1}}
  services:
    loadBalancerControlPlane: [{image: 'docker.io/library/haproxy:3.0', nodeInterfaceId: oam, nodePort: 30443}]
    jumpHost:
    - image: 'jump:3.0'
      nodeInterfaceId: oam
      nodePort: 30022
      nodeSSHPrivateKeys: keys
      hostKeys: {ephemeral: true}
      sshAuthorizedKeys: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGKCUQ2QClOCQN0xIeB4VhWUHD1TALbLCAk1LCDbDVu4]
";
const CLUSTER: &str = "overlays/clusters/tenant-a/edge";

/// A site with both services, and the files of the repo that apply them.
fn with_services(agent: &str, files: &[(&str, &str)]) -> GeneratedSite {
    let settings = match agent {
        "flux" => "gitops: flux\n",
        _ => "gitops: argocd\nargocd: {repoURL: 'https://git.example.com/x.git'}\n",
    };
    let host = host_for_edge("real").replace(
        "  labels:",
        "  annotations: {sip.airshipit.org/addresses: oam=192.0.2.11}\n  labels:",
    );
    let own = [
        ("sipgen.yaml", settings),
        ("clusters/edge.yaml", SERVICES),
        ("inventory/hosts.yaml", &host),
    ];
    generated_with(&[&own[..], files].concat())
}

/// An agent's object for a directory, with options of its source.
fn object(agent: &str, directory: &str, options: &str) -> String {
    match agent {
        "flux" => format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: services, namespace: flux-system}}\n\
             spec: {{path: {directory}, sourceRef: {{kind: GitRepository, name: flux-system}}{options}}}\n"
        ),
        _ => format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: services, namespace: argocd}}\nspec:\n  \
             destination: {{server: 'https://kubernetes.default.svc'}}\n  \
             source: {{repoURL: 'https://git.example.com/x.git', path: {directory}, kustomize: {{{options}}}}}\n"
        ),
    }
}

fn find(generated: &GeneratedSite, code: Code) -> Option<&Finding> {
    generated.findings.iter().find(|finding| finding.code == code)
}

#[test]
fn services_stay_in_the_namespace_of_their_secrets() {
    let patch =
        |text: &str| format!("patches: [{{target: {{kind: Deployment}}, patch: '{text}'}}]");
    let moved = patch("- {op: replace, path: /metadata/namespace, value: prod}");
    let scaled = patch("- {op: replace, path: /spec/replicas, value: 2}");
    for (fields, argocd, is_moved) in [
        ("targetNamespace: prod", "namespace: prod", true),
        ("targetNamespace: tenant-a", "namespace: tenant-a", false),
        ("namePrefix: a-", "namePrefix: a-", false),
        ("nameSuffix: -a", "nameSuffix: -a", false),
        ("commonMetadata: {labels: {a: b}}", "commonLabels: {a: b}", false),
        (&moved, &moved, true),
        (&scaled, &scaled, false),
    ] {
        for (directory, uses_secrets) in [
            (CLUSTER, true),
            ("overlays/clusters/tenant-a/edge/jumphost", true),
            ("overlays/clusters/tenant-a/edge/loadbalancer-controlplane", false),
            ("prod", true),
            ("prod/balancers", false),
        ] {
            // kustomize sets the namespace of the directory itself after patches.
            if fields.starts_with("patches") && directory.ends_with("jumphost") {
                continue;
            }
            for (agent, fields) in [("flux", fields), ("argocd", argocd)] {
                let separator = if agent == "flux" { ", " } else { "" };
                let object = object(agent, directory, &format!("{separator}{fields}"));
                let generated = with_services(
                    agent,
                    &[
                        ("agents/services.yaml", &object),
                        (
                            "prod/kustomization.yaml",
                            "resources: [../overlays/clusters/tenant-a/edge]\n",
                        ),
                        (
                            "prod/balancers/kustomization.yaml",
                            "resources: [../../overlays/clusters/tenant-a/edge/loadbalancer-controlplane]\n",
                        ),
                    ],
                );
                let found = find(&generated, Code::OutputPatched);
                assert_eq!(
                    found.is_some(),
                    is_moved && uses_secrets,
                    "{object}{:?}",
                    generated.findings
                );
                if let Some(found) = found {
                    let says = "such as Deployment tenant-a/jumphost-edge to `prod`: the Secret";
                    assert!(found.message.contains(says), "{}", found.message);
                    assert_eq!(found.places[0].0.file().as_str(), "agents/services.yaml");
                }
            }
        }
    }
}

#[test]
fn a_kustomization_may_move_services_with_their_secrets() {
    let namespace = "namespace: prod\nresources: [../overlays/clusters/tenant-a/edge]\n";
    let secrets = "secretGenerator: [{name: keys, literals: [a=b]}, {name: edge-kubeconfig, literals: [a=b]}]\n";
    for (kustomization, is_moved) in [
        (namespace.to_owned(), true),
        (namespace.to_owned() + secrets, false),
        (namespace.replace("namespace: prod\n", "namePrefix: a-\n"), false),
        (namespace.replace("/edge]", "/edge/loadbalancer-controlplane]"), false),
    ] {
        let object = object("flux", "prod", "");
        let files =
            [("agents/services.yaml", &*object), ("prod/kustomization.yaml", &kustomization)];
        for files in [&files[..], &files[1..]] {
            let generated = with_services("flux", files);
            let found = find(&generated, Code::OutputPatched);
            assert_eq!(found.is_some(), is_moved, "{kustomization}{:?}", generated.findings);
            if let Some(found) = found {
                assert_eq!(found.places[0].0.file().as_str(), "prod/kustomization.yaml");
            }
        }
    }
}

#[test]
fn fields_that_break_the_build_of_services_are_reported_at_the_object() {
    for directory in [CLUSTER, "overlays/clusters/tenant-a/edge/jumphost"] {
        for fields in [
            "components: [../nope]",
            "patches: [{patch: '{apiVersion: v1, kind: Service, metadata: {name: nope}}'}]",
        ] {
            for agent in ["flux", "argocd"] {
                let separator = if agent == "flux" { ", " } else { "" };
                let object = object(agent, directory, &format!("{separator}{fields}"));
                let generated = with_services(agent, &[("agents/services.yaml", &object)]);
                let found = find(&generated, Code::BuildRefused)
                    .unwrap_or_else(|| panic!("{object}{:?}", generated.findings));
                let says = format!("`{directory}` does not build with the fields of");
                assert!(found.message.starts_with(&says), "{}", found.message);
                assert_eq!(found.places[0].0.file().as_str(), "agents/services.yaml");
            }
        }
    }
}

#[test]
fn an_object_names_only_directories_that_the_output_may_have() {
    for (directory, may_be) in [
        ("clusters", true),
        ("clusters/tenant-a", true),
        ("clusters/tenant-a/edge", true),
        ("clusters/tenant-a/edge/jumphost", true),
        ("clusters/tenant-a/edge/auth", false),
        ("clusters/tenant-a/edgy", false),
        ("clusters/tenant-b", false),
        ("cluster/tenant-a/edge", false),
        ("crds", true),
        ("crds/dex", true),
        ("crds/cert-manager", false),
        ("hosts/observed/tenant-a.edge", true),
        ("hosts/observed/tenant-a.edgy", false),
        ("hosts/observed/released", true),
        ("hosts/declared/inventory", true),
        ("hosts/declared/inventories", false),
        ("tenants/tenant-a/edge/cluster-api", true),
        ("tenants/tenant-a/edgy", false),
    ] {
        for agent in ["flux", "argocd"] {
            let object = object(agent, &format!("overlays/{directory}"), "");
            let generated = with_services(agent, &[("agents/services.yaml", &object)]);
            let found = find(&generated, Code::BuildRefused);
            assert_eq!(found.is_none(), may_be, "{object}{:?}", generated.findings);
            let warned = find(&generated, Code::DeliveredElsewhere);
            assert!(may_be || warned.is_none(), "{object}{:?}", generated.findings);
        }
    }
}
