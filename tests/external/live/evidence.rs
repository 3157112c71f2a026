//! Manifests that are no proof of a host: what sipgen refuses, and what the real agents would make of it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::live::hosts::{self, Maker};
use crate::live::site::{Agent, Site};

const CLUSTER: &str = "evidence-tenant/edge";

/// A snapshot as `kubectl get -o yaml` takes it, without the managers and without Flux's labels.
fn take_plain_snapshot(site: &Site) {
    let plain = site.hosts().into_values().map(|mut host| {
        let metadata = host["metadata"].as_object_mut().unwrap();
        metadata.remove("managedFields");
        let labels = metadata["labels"].as_object_mut().unwrap();
        labels.retain(|key, _| !key.contains("fluxcd.io"));
        host
    });
    let list = json!({"apiVersion": "v1", "kind": "List", "items": plain.collect::<Vec<Value>>()});
    site.repo.write(
        "snapshot/hosts.yaml",
        &yaml_serde::to_string(&list).unwrap(),
    );
}

fn names(site: &Site) -> BTreeSet<String> {
    site.hosts().into_keys().collect()
}

/// Every host that exists has the spec of its manifest.
#[track_caller]
fn all_have_specs(site: &Site) {
    for (name, host) in site.hosts() {
        assert!(host["spec"]["bmc"].is_object(), "{name}: {host:#}");
    }
}

/// One host is applied, one forgotten beside it, one in a build that nothing applies, one in documentation: only the
/// first is ever touched, and no other is created.
#[test]
fn only_what_an_agent_applies_is_labelled() {
    let site = Site::new("evidence-flux");
    let (agent, namespace) = (Agent::Flux, site.namespace.clone());
    let manifest = |number| hosts::manifest(Maker::Declared, &namespace, number);
    let write = |file: &str, text: &str| site.repo.write(file, text);
    write("sipgen.yaml", &agent.settings(&namespace));
    for number in 1..=2 {
        write(&format!("metal/{number}.yaml"), &manifest(number));
    }
    write("metal/kustomization.yaml", "resources: [1.yaml]\n");
    write("lab/3.yaml", &manifest(3));
    write("lab/kustomization.yaml", "resources: [3.yaml]\n");
    write("docs/4.yaml", &manifest(4));
    let overlay = "./overlays/hosts/declared/metal";
    write(
        "flux.yaml",
        &format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: metal, namespace: \
             {namespace}}}\nspec: {{interval: 10m, path: {overlay}, prune: true, sourceRef: {{kind: GitRepository, name: \
             flux-system}}}}\n"
        ),
    );
    site.want(CLUSTER, "declared", 1);

    let refused = site.repo.generate(&[]).expect(1).stderr;
    assert!(
        refused.contains("SIP0305") && refused.contains("metal/2.yaml"),
        "{refused}"
    );
    assert!(!site.repo.exists("overlays"));

    write(
        "metal/kustomization.yaml",
        "# - 2.yaml\nresources: [1.yaml]\n",
    );
    site.repo.generate(&[]).expect(1);
    site.repo.remove("metal/2.yaml");
    let warned = site.repo.generate(&[]).expect(0).stderr;
    assert!(
        warned.contains("lab/kustomization.yaml") && warned.contains("docs/4.yaml"),
        "{warned}"
    );
    site.kustomization("metal", overlay);
    site.sync_all(agent);
    site.point_flux();
    site.sync_all(agent);
    assert_eq!(names(&site), BTreeSet::from(["declared-1".to_owned()]));
    all_have_specs(&site);
    let labels = &site.hosts()["declared-1"]["metadata"]["labels"];
    assert_eq!(labels["sip.airshipit.org/cluster-name"], "edge");

    site.want(CLUSTER, "declared", 3);
    site.repo.generate(&[]).expect(1);
    site.sync_all(agent);
    assert_eq!(names(&site), BTreeSet::from(["declared-1".to_owned()]));
    all_have_specs(&site);
    site.remove_flux();
}

/// The Kustomization that the Flux Operator makes of `sync` applies a host in full. An object with labels alone would
/// erase its spec, as the end shows.
#[test]
fn a_host_below_the_sync_path_of_a_flux_instance_is_left_alone() {
    let site = Site::new("evidence-operator");
    let (agent, namespace) = (Agent::Flux, site.namespace.clone());
    site.repo.write("sipgen.yaml", &agent.settings(&namespace));
    site.repo.write(
        "clusters/prod/metal/1.yaml",
        &hosts::manifest(Maker::Declared, &namespace, 1),
    );
    site.repo.write(
        "flux-instance.yaml",
        &format!(
            "apiVersion: fluxcd.controlplane.io/v1\nkind: FluxInstance\nmetadata: {{name: flux, namespace: {namespace}}}\n\
             spec: {{sync: {{kind: GitRepository, url: 'https://git.example.com/fleet.git', ref: refs/heads/main, path: \
             clusters/prod, name: flux-system}}}}\n"
        ),
    );
    site.kustomization("flux-system", "./clusters/prod");
    site.sync_all(agent);
    hosts::report(site.server, &namespace, "declared-1", "available");
    take_plain_snapshot(&site);
    site.want(CLUSTER, "declared", 1);

    let refused = site.repo.generate(&[]).expect(1).stderr;
    assert!(refused.contains("SIP0615"), "{refused}");
    assert!(!site.repo.exists("overlays"));
    site.sync_all(agent);
    all_have_specs(&site);

    // The object that it would be.
    site.repo
        .write("by-hand/kustomization.yaml", "resources: [host.yaml]\n");
    site.repo.write(
        "by-hand/host.yaml",
        &format!(
            "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata:\n  name: declared-1\n  namespace: {namespace}\n  \
             labels: {{sip.airshipit.org/cluster-name: edge}}\n  annotations: {{kustomize.toolkit.fluxcd.io/ssa: Merge, \
             kustomize.toolkit.fluxcd.io/prune: disabled}}\n"
        ),
    );
    site.patch_kustomization(
        "flux-system",
        &json!({"spec": {"path": "./by-hand", "prune": false}}),
    );
    site.sync_all(agent);
    let host = site.hosts()["declared-1"].clone();
    assert!(host["spec"]["bmc"].is_null(), "{host:#}");
    site.delete_kustomizations(&["--all"]);
}

/// Argo CD applies a host from a Helm chart. It is not written with labels only, and keeps its spec.
#[test]
fn a_host_of_a_chart_is_left_alone() {
    let site = Site::new("evidence-chart");
    let (agent, namespace) = (Agent::Argocd, site.namespace.clone());
    let manifest = hosts::manifest(Maker::AsAgent, &namespace, 1);
    hosts::make(site.server, Maker::AsAgent, agent.manager(), &manifest);
    hosts::report(site.server, &namespace, "as-agent-1", "available");
    site.repo.write("sipgen.yaml", &agent.settings(&namespace));
    site.repo.write(
        "charts/hosts/Chart.yaml",
        "apiVersion: v2\nname: hosts\nversion: 1.0.0\n",
    );
    site.repo
        .write("charts/hosts/templates/hosts.yaml", &manifest);
    site.repo.write(
        "application.yaml",
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: hosts, namespace: argocd}\nspec:\n  project: \
         default\n  source: {repoURL: 'git@git.example.com:fleet', path: charts/hosts}\n  destination: {server: \
         'https://kubernetes.default.svc'}\n  syncPolicy: {syncOptions: [ServerSideApply=true]}\n",
    );
    take_plain_snapshot(&site);
    site.want(CLUSTER, "apply", 1);

    let refused = site.repo.generate(&[]).expect(1).stderr;
    assert!(refused.contains("applied in full"), "{refused}");
    assert!(!site.repo.exists("overlays"));
    all_have_specs(&site);
}
