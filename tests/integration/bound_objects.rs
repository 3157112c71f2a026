//! Components of clusters that are included where they do not bind what they should, or by an agent.

use crate::support::Repo;
use crate::support::in_memory::generated_of;
use sipgen::base::finding::{Code, Finding};

const HOSTS: &str = "\
apiVersion: metal3.io/v1alpha1
kind: BareMetalHost
metadata: {name: h1, namespace: m}
spec: {online: true, bootMACAddress: '00:00:5e:00:53:01', bmc: {address: 'redfish://203.0.113.1/x', credentialsName: x}}
---
apiVersion: metal3.io/v1alpha1
kind: BareMetalHost
metadata: {name: h2, namespace: m}
spec: {online: true, bootMACAddress: '00:00:5e:00:53:02', bmc: {address: 'redfish://203.0.113.2/x', credentialsName: x}}
";

fn request(name: &str, nodes: &str) -> String {
    format!(
        "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {{name: {name}, namespace: m}}\nspec: {{nodes: \
         {{{nodes}}}}}\n"
    )
}

fn template(name: &str, more: &str, spec: &str) -> String {
    format!(
        "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: Metal3MachineTemplate\nmetadata: {{name: {name}, \
         namespace: m{more}}}\nspec: {{template: {{spec: {{image: {{url: u, checksum: c}}{spec}}}}}}}\n"
    )
}

/// A Cluster with one control-plane Machine, without its template.
fn cluster() -> String {
    let object = |group: &str, kind: &str, spec: &str| {
        format!(
            "---\napiVersion: {group}/v1beta1\nkind: {kind}\nmetadata: {{name: e, namespace: m}}\nspec: {spec}\n"
        )
    };
    let reference =
        |group: &str, kind: &str| format!("{{apiVersion: {group}/v1beta1, kind: {kind}, name: e}}");
    let (control_plane, metal3) =
        ("controlplane.cluster.x-k8s.io", "infrastructure.cluster.x-k8s.io");
    [
        object(
            "cluster.x-k8s.io",
            "Cluster",
            &format!("{{controlPlaneRef: {}}}", reference(control_plane, "KubeadmControlPlane")),
        ),
        object(
            control_plane,
            "KubeadmControlPlane",
            &format!(
                "{{replicas: 1, version: v1.34.0, rolloutStrategy: {{rollingUpdate: {{maxSurge: 0}}}}, machineTemplate: \
                 {{infrastructureRef: {}}}}}",
                reference(metal3, "Metal3MachineTemplate")
            ),
        ),
    ]
    .concat()
}

/// The messages about objects that are not bound.
fn unbound(files: &[(&str, &str)]) -> Vec<String> {
    let hosts =
        [("metal/hosts.yaml", HOSTS), ("metal/kustomization.yaml", "resources: [hosts.yaml]\n")];
    let generated = generated_of(&[&hosts[..], files].concat());
    let errors: Vec<&Finding> = generated.findings.iter().filter(|it| it.is_error()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let unbound = generated.findings.iter().filter(|it| it.code == Code::Unpinned);
    unbound.map(|finding| finding.message.clone()).collect()
}

#[test]
fn each_tenant_needs_a_kustomization_of_its_own() {
    let nodes = "Worker: {count: {active: 1}, labelSelector: {}}";
    let component = |cluster: &str| format!("../overlays/tenants/m/{cluster}/cluster-api");
    let one = format!("resources: [e.yaml]\ncomponents: ['{}']\n", component("e"));
    let both = format!(
        "resources: [e.yaml, f.yaml]\ncomponents: ['{}', '{}']\n",
        component("e"),
        component("f")
    );
    for (kustomization, count) in [(&one, 0), (&both, 1)] {
        let messages = unbound(&[
            ("requests.yaml", &(request("e", nodes) + "---\n" + &request("f", nodes))),
            ("tenant/e.yaml", &template("e-workers", "", "")),
            ("tenant/f.yaml", &template("f-workers", "", "")),
            ("tenant/kustomization.yaml", kustomization),
        ]);
        assert_eq!(messages.len(), count, "{messages:?}");
        assert!(messages.iter().all(|it| it.contains("undoes") && it.contains("of m/e")));
    }
    // The namespace may be that of an Application's destination.
    let unnamed = template("e-workers", "", "").replace("namespace: m", "");
    for (template, count) in
        [(&unnamed, 0), (&template("e-workers", "", "").replace("namespace: m", "namespace: n"), 1)]
    {
        let messages = unbound(&[
            ("requests.yaml", &request("e", nodes)),
            ("tenant/e.yaml", template),
            ("tenant/kustomization.yaml", &one),
        ]);
        assert_eq!(messages.len(), count, "{messages:?}");
        assert!(messages.iter().all(|it| it.contains("n/e-workers, of another namespace")));
    }
}

#[test]
fn a_template_says_of_which_role_its_hosts_are() {
    let (workers, both) = (
        "Worker: {count: {active: 1}, labelSelector: {}}",
        "ControlPlane: {count: {active: 1}, labelSelector: {}}, Worker: {count: {active: 1}, labelSelector: {}}",
    );
    let label = "sip.airshipit.org/node-type: Worker";
    let labelled = format!(", labels: {{{label}}}");
    let misspelled = labelled.replace("Worker", "worker");
    let selecting = format!(", hostSelector: {{matchLabels: {{{label}}}}}");
    for (nodes, more, spec, is_reported) in [
        (workers, "", "", false),
        (both, "", "", true),
        (both, &*labelled, "", false),
        (both, &*misspelled, "", true),
        (both, "", &*selecting, false),
    ] {
        let messages = unbound(&[
            ("request.yaml", &request("e", nodes)),
            ("tenant/e.yaml", &template("e", more, spec)),
            (
                "tenant/kustomization.yaml",
                "resources: [e.yaml]\ncomponents: [../overlays/tenants/m/e/cluster-api]\n",
            ),
        ]);
        let is_found =
            messages.iter().any(|it| it.contains("may select hosts of both roles of m/e"));
        assert_eq!(is_found, is_reported, "{nodes} {more} {spec}: {messages:?}");
    }
}

#[test]
fn agents_include_components_and_undo_what_they_set() {
    let component = "components: [../overlays/tenants/m/e/cluster-api]";
    let patch = "patches: [{target: {kind: Metal3MachineTemplate}, patch: '[{\"op\": \"add\", \"path\": \
                 \"/spec/template/spec/hostSelector\", \"value\": {\"matchLabels\": {\"size\": \"big\"}}}]'}]";
    let nodes = "Worker: {count: {active: 1}, labelSelector: {}}";
    for agent in ["flux", "argocd"] {
        let object = |fields: &[&str]| {
            let fields = fields.join(", ");
            match agent {
                "flux" => format!(
                    "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: tenant, namespace: \
                     flux-system}}\nspec: {{path: ./tenant, sourceRef: {{kind: GitRepository, name: flux-system}}, \
                     {fields}}}\n"
                ),
                _ => format!(
                    "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: tenant, namespace: argocd}}\n\
                     spec:\n  destination: {{server: 'https://kubernetes.default.svc'}}\n  source: {{repoURL: \
                     'https://git.example.com/x.git', path: tenant, kustomize: {{{fields}}}}}\n"
                ),
            }
        };
        let settings = match agent {
            "flux" => "gitops: flux\n",
            _ => "gitops: argocd\nargocd: {repoURL: 'https://git.example.com/x.git'}\n",
        };
        let listed = format!("resources: [e.yaml]\n{component}\n");
        for (kustomization, fields, is_undone) in [
            ("resources: [e.yaml]\n", vec![component], false),
            ("resources: [e.yaml]\n", vec![component, patch], true),
            (&*listed, vec![patch], true),
        ] {
            let messages = unbound(&[
                ("sipgen.yaml", settings),
                ("request.yaml", &request("e", nodes)),
                ("agents/tenant.yaml", &object(&fields)),
                ("tenant/e.yaml", &template("e", "", "")),
                ("tenant/kustomization.yaml", kustomization),
            ]);
            let is_found =
                messages.iter().any(|it| it.contains("undoes what the component of m/e"));
            assert_eq!(is_found, is_undone, "{agent} {kustomization} {fields:?}: {messages:?}");
        }
    }
}

#[test]
fn templates_of_a_cluster_beside_a_sipcluster_select_its_hosts() {
    let cluster = cluster();
    let component = "components: [../overlays/tenants/m/e/cluster-api]\n";
    let selecting = ", hostSelector: {matchLabels: {sip.airshipit.org/cluster-name: e}}";
    for (spec, listed, is_reported) in
        [("", "", true), ("", component, false), (selecting, "", false)]
    {
        let repo = Repo::empty();
        repo.write("metal/hosts.yaml", HOSTS);
        repo.write("metal/kustomization.yaml", "resources: [hosts.yaml]\n");
        repo.write(
            "request.yaml",
            &request("e", "ControlPlane: {count: {active: 1}, labelSelector: {}}"),
        );
        let role = ", labels: {sip.airshipit.org/node-type: ControlPlane}";
        repo.write(
            "tenant/cluster.yaml",
            &(cluster.clone() + "---\n" + &template("e", role, spec)),
        );
        repo.write("tenant/kustomization.yaml", &format!("resources: [cluster.yaml]\n{listed}"));
        repo.generate(&[]).expect(0);
        let said = repo.generate(&[]).expect(0).stderr;
        assert_eq!(said.contains("SIP0905"), is_reported, "{spec} {listed}: {said}");
    }
}

#[test]
fn a_patch_of_a_template_is_no_second_template() {
    let patch = template("e", "", ", hostSelector: {matchLabels: {size: big}}");
    let generated = generated_of(&[
        ("sipgen.yaml", "requests: {clusterAPI: {clusters: all}}\n"),
        ("metal/hosts.yaml", &HOSTS.replace("namespace: m}", "namespace: m, labels: {size: big}}")),
        ("metal/kustomization.yaml", "resources: [hosts.yaml]\n"),
        ("tenant/cluster.yaml", &(cluster() + "---\n" + &template("e", "", ""))),
        ("tenant/patch.yaml", &patch),
        ("tenant/kustomization.yaml", "resources: [cluster.yaml]\npatches: [{path: patch.yaml}]\n"),
    ]);
    assert!(generated.findings.is_empty(), "{:?}", generated.findings);
}
