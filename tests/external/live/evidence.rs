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
    site.repo.write("snapshot/hosts.yaml", &yaml_serde::to_string(&list).unwrap());
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
    assert!(refused.contains("SIP0305") && refused.contains("metal/2.yaml"), "{refused}");
    assert!(!site.repo.exists("overlays"));

    write("metal/kustomization.yaml", "# - 2.yaml\nresources: [1.yaml]\n");
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
    site.repo.write("clusters/prod/metal/1.yaml", &hosts::manifest(Maker::Declared, &namespace, 1));
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
    site.repo.write("by-hand/kustomization.yaml", "resources: [host.yaml]\n");
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

fn application(source: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: hosts, namespace: argocd}}\nspec:\n  \
         project: default\n  source: {{repoURL: 'git@git.example.com:fleet', {source}}}\n  destination: {{server: \
         'https://kubernetes.default.svc'}}\n  syncPolicy: {{syncOptions: [ServerSideApply=true]}}\n"
    )
}

/// Objects that make an agent render hosts by another program, each with the file that has the host.
fn rendering_objects(namespace: &str) -> [(Agent, &'static str, &'static str, String); 3] {
    let release = format!(
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: hosts, namespace: {namespace}}}\nspec:\n  \
         interval: 10m\n  chart: {{spec: {{chart: ./charts/hosts, sourceRef: {{kind: GitRepository, name: flux-system}}}}}}\n"
    );
    let template = "charts/hosts/templates/hosts.yaml";
    [
        (Agent::Argocd, "chart", template, application("path: charts/hosts")),
        (
            Agent::Argocd,
            "plugin",
            "made/hosts.yaml",
            application("path: made, plugin: {name: any}"),
        ),
        (Agent::Flux, "release", template, release),
    ]
}

/// An agent applies a host that a chart or a plugin renders. It is not written with labels only, and keeps its spec.
#[test]
fn a_host_that_another_program_renders_is_left_alone() {
    for form in ["chart", "plugin", "release"] {
        let site = Site::new(&format!("evidence-{form}"));
        let namespace = site.namespace.clone();
        let objects = rendering_objects(&namespace).into_iter();
        let mut objects = objects.filter(|(_, name, ..)| *name == form);
        let (agent, _, file, object) = objects.next().unwrap();
        let manifest = hosts::manifest(Maker::AsAgent, &namespace, 1);
        let manager = match form {
            "release" => "helm-controller",
            _ => agent.manager(),
        };
        hosts::make(site.server, Maker::AsAgent, manager, &manifest);
        hosts::report(site.server, &namespace, "as-agent-1", "available");
        site.repo.write("sipgen.yaml", &agent.settings(&namespace));
        site.repo.write("charts/hosts/Chart.yaml", "apiVersion: v2\nname: hosts\nversion: 1.0.0\n");
        site.repo.write(file, &manifest);
        site.repo.write("object.yaml", &object);
        take_plain_snapshot(&site);
        site.want(CLUSTER, "apply", 1);

        let refused = site.repo.generate(&[]).expect(1).stderr;
        assert!(refused.contains("applied in full"), "{form}: {refused}");
        assert!(!site.repo.exists("overlays"));
        all_have_specs(&site);
    }
}

/// Argo CD applies a host of a Jsonnet file, which sipgen does not evaluate; JSON is Jsonnet. The managers in a snapshot
/// prove whose host it is, and it keeps its spec.
#[test]
fn a_host_of_a_jsonnet_file_is_left_alone() {
    let site = Site::new("evidence-jsonnet");
    let (agent, namespace) = (Agent::Argocd, site.namespace.clone());
    let manifest = hosts::manifest(Maker::AsAgent, &namespace, 1);
    hosts::make(site.server, Maker::AsAgent, agent.manager(), &manifest);
    hosts::report(site.server, &namespace, "as-agent-1", "available");
    let host: Value = yaml_serde::from_str(&manifest).unwrap();
    site.repo.write("sipgen.yaml", &agent.settings(&namespace));
    site.repo.write("made/hosts.jsonnet", &host.to_string());
    site.repo.write("object.yaml", &application("path: made, directory: {jsonnet: {}}"));
    site.take_snapshot();
    site.want(CLUSTER, "apply", 1);

    let refused = site.repo.generate(&[]).expect(1).stderr;
    for said in ["applied in full", "made/hosts.jsonnet", "by Jsonnet"] {
        assert!(refused.contains(said), "{said}: {refused}");
    }
    assert!(!site.repo.exists("overlays"));
    all_have_specs(&site);
}

/// A ResourceSet makes Flux apply the overlay of one of two racks: hosts of the other are not assigned, and the labels
/// arrive on those of the first.
#[test]
fn what_a_resource_set_makes_flux_apply_is_labelled() {
    let site = Site::new("evidence-set");
    let (agent, namespace) = (Agent::Flux, site.namespace.clone());
    let write = |file: &str, text: &str| site.repo.write(file, text);
    write("sipgen.yaml", &agent.settings(&namespace));
    for (rack, number) in [("a", 1), ("b", 2)] {
        let manifest = hosts::manifest(Maker::Declared, &namespace, number);
        write(&format!("racks/{rack}/hosts.yaml"), &manifest);
        write(&format!("racks/{rack}/kustomization.yaml"), "resources: [hosts.yaml]\n");
    }
    write(
        "set.yaml",
        &format!(
            "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\nmetadata: {{name: racks, namespace: {namespace}}}\n\
             spec:\n  inputs: [{{rack: a}}]\n  resources:\n    - apiVersion: kustomize.toolkit.fluxcd.io/v1\n      kind: \
             Kustomization\n      metadata: {{name: 'rack-<< inputs.rack >>', namespace: {namespace}}}\n      spec: {{path: \
             './overlays/hosts/declared/racks/<< inputs.rack >>', prune: true, sourceRef: {{kind: GitRepository, name: \
             flux-system}}}}\n"
        ),
    );
    site.want(CLUSTER, "declared", 2);
    let short = site.repo.generate(&[]).expect(1).stderr;
    assert!(short.contains("racks/b/kustomization.yaml") && short.contains("SIP0357"), "{short}");

    site.want(CLUSTER, "declared", 1);
    site.repo.generate(&[]).expect(0);
    site.kustomization("rack-a", "./overlays/hosts/declared/racks/a");
    site.sync_all(agent);
    site.point_flux();
    site.sync_all(agent);

    assert_eq!(names(&site), BTreeSet::from(["declared-1".to_owned()]));
    all_have_specs(&site);
    let labels = &site.hosts()["declared-1"]["metadata"]["labels"];
    assert_eq!(labels["sip.airshipit.org/cluster-name"], "edge");
    site.remove_flux();
}

/// Flux only creates a host with `ssa: IfNotPresent`. It is refused if it is assigned, and its label would not arrive,
/// as the end shows.
#[test]
fn a_host_that_flux_only_creates_gets_no_label() {
    let site = Site::new("evidence-options");
    let (agent, namespace) = (Agent::Flux, site.namespace.clone());
    let write = |file: &str, text: &str| site.repo.write(file, text);
    write("sipgen.yaml", &agent.settings(&namespace));
    write("metal/1.yaml", &hosts::manifest(Maker::Declared, &namespace, 1));
    let only_created = hosts::manifest(Maker::Declared, &namespace, 2)
        .replace("annotations: {", "annotations: {kustomize.toolkit.fluxcd.io/ssa: IfNotPresent, ");
    write("metal/2.yaml", &only_created);
    write("metal/kustomization.yaml", "resources: [1.yaml, 2.yaml]\n");
    site.want(CLUSTER, "declared", 2);
    let refused = site.repo.generate(&[]).expect(1).stderr;
    assert!(refused.contains("SIP0625") && refused.contains("metal/2.yaml"), "{refused}");

    site.want(CLUSTER, "declared", 1);
    site.repo.generate(&[]).expect(0);
    site.point_flux();
    site.sync_all(agent);
    let label = |number: usize| {
        let host = &site.hosts()[&format!("declared-{number}")];
        host["metadata"]["labels"]["sip.airshipit.org/cluster-name"].clone()
    };
    assert_eq!((label(1), label(2)), (json!("edge"), Value::Null));

    // The patch that it would be.
    write(
        "by-hand/kustomization.yaml",
        &format!(
            "resources: [../metal]\npatches:\n- patch: |\n    apiVersion: metal3.io/v1alpha1\n    kind: BareMetalHost\n    \
             metadata: {{name: declared-2, namespace: {namespace}, labels: {{sip.airshipit.org/cluster-name: edge}}}}\n"
        ),
    );
    site.kustomization("by-hand", "./by-hand");
    site.sync_all(agent);
    assert_eq!(label(2), Value::Null);
    all_have_specs(&site);
    site.patch_kustomization("by-hand", &json!({"spec": {"prune": false}}));
    site.sync_all(agent);
    site.remove_flux();
}
