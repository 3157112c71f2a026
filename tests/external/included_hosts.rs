//! Builds that change generated hosts, judged as the real kustomize builds them.

use std::collections::BTreeMap;

use yaml_serde::Value;

use crate::support::{Repo, assert_says, documents, host, kustomize_build, live_host};

/// The kustomization that includes generated hosts.
const SITE: &str = "site/kustomization.yaml";

/// A repo with two hosts, one of which is assigned, and the kustomization of its `site` without changes. `form` is
/// `overlay`, `component` or `observed`.
fn including(form: &str) -> (Repo, String) {
    let repo = Repo::empty();
    repo.want("vino/one", 1);
    let directory = if form == "observed" {
        repo.write(
            "snapshot/hosts.yaml",
            &(live_host("h1", "  uid: u1\n") + &live_host("h2", "  uid: u2\n")),
        );
        "resources: [../overlays/hosts/observed/vino.one]\n"
    } else {
        repo.write("inventory/hosts.yaml", &(host("h1", "") + &host("h2", "")));
        repo.write("inventory/kustomization.yaml", "resources: [hosts.yaml]\n");
        "resources: [../overlays/hosts/declared/inventory]\n"
    };
    let site = if form == "component" {
        repo.write("sipgen.yaml", "hosts: {form: component}\n");
        repo.write(
            "inventory/kustomization.yaml",
            "resources: [hosts.yaml]\ncomponents: [../overlays/hosts/declared/site]\n",
        );
        "resources: [../inventory]\n"
    } else {
        directory
    };
    repo.write(
        "later/kustomization.yaml",
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\ncommonLabels: {sip.airshipit.org/node-type: X}\n",
    );
    repo.write(SITE, site);
    repo.generate(&[]).expect(0);
    (repo, site.to_owned())
}

/// The labels and options of agents of the assigned host in a build, if it is there under its name.
fn assigned(repo: &Repo) -> Option<BTreeMap<String, Vec<String>>> {
    let objects = documents(&kustomize_build(repo.path().join("site")));
    let host = objects.into_iter().find(|object| {
        let metadata = &object["metadata"];
        object["kind"] == "BareMetalHost"
            && metadata["namespace"] == "metal"
            && metadata["name"] == "h1"
    })?;
    let pairs = ["labels", "annotations"].map(|field| host["metadata"][field].clone());
    let pairs = pairs.into_iter().filter_map(|pairs| match pairs {
        Value::Mapping(pairs) => Some(pairs),
        _ => None,
    });
    let options = |value: &Value| {
        let text = value.as_str().unwrap();
        text.split(',').map(|option| option.trim().to_owned()).collect()
    };
    let pairs =
        pairs.flatten().map(|(key, value)| (key.as_str().unwrap().to_owned(), options(&value)));
    Some(pairs.collect())
}

/// Kustomizations' fields that change hosts.
const CHANGES: [&str; 19] = [
    "",
    "commonAnnotations: {a: b}\n",
    "labels: [{pairs: {a: b}}]\n",
    "commonAnnotations: {kustomize.toolkit.fluxcd.io/prune: enabled}\n",
    "commonAnnotations: {argocd.argoproj.io/sync-options: 'Delete=false, Prune=false, Replace=false'}\n",
    "commonAnnotations: {argocd.argoproj.io/sync-options: Prune=false}\n",
    "commonLabels: {sip.airshipit.org/cluster-name: other}\n",
    "labels: [{pairs: {sip.airshipit.org/node-type: Worker}}]\n",
    "namespace: metal\n",
    "namespace: other\n",
    "namePrefix: a-\n",
    "nameSuffix: -a\n",
    "components: [../later]\n",
    "patches: [{target: {name: h2}, patch: '- {op: add, path: /metadata/labels, value: {}}'}]\n",
    "patches: [{target: {kind: BareMetalHost}, patch: '- {op: add, path: /metadata/labels, value: {}}'}]\n",
    "patches: [{target: {name: h.}, patch: '{apiVersion: metal3.io/v1alpha1, kind: BareMetalHost, metadata: {name: x, annotations: null}}'}]\n",
    "patches: [{target: {name: h1}, patch: '{apiVersion: metal3.io/v1alpha1, kind: BareMetalHost, metadata: {name: x}, $patch: delete}'}]\n",
    "patches: [{target: {name: h1}, patch: '- {op: replace, path: /metadata/name, value: h3}', options: {allowNameChange: true}}]\n",
    "replacements: [{source: {kind: BareMetalHost, name: h1, fieldPath: metadata.name}, targets: [{select: \
     {name: h1}, fieldPaths: ['metadata.annotations.[kustomize.toolkit.fluxcd.io/prune]']}]}]\n",
];

#[test]
fn what_changes_labels_or_guards_of_generated_hosts_is_refused() {
    for form in ["overlay", "component", "observed"] {
        let (repo, site) = including(form);
        let planned = assigned(&repo).unwrap();
        let mut refused = 0;
        for change in CHANGES {
            // Names that a component's own build gives count before hosts are assigned.
            if form == "component" && (change.starts_with("name") || change.contains("h1")) {
                continue;
            }
            // An outer kustomization, or the one that lists the hosts.
            let outer = format!("resources: [../inner]\n{change}");
            let nested = [(SITE, outer.as_str()), ("inner/kustomization.yaml", &site)];
            let plain = format!("{site}{change}");
            for files in [&[(SITE, plain.as_str())][..], &nested] {
                files.iter().for_each(|(file, text)| repo.write(file, text));
                let is_kept = assigned(&repo).is_some_and(|built| {
                    planned.iter().all(|(key, options)| {
                        let has =
                            |option| built.get(key).is_some_and(|built| built.contains(option));
                        options.iter().all(has)
                    })
                });

                let run = repo.generate(&[]);

                assert_eq!(run.code == 0, is_kept, "{form}, {files:?}: {}", run.stderr);
                if !is_kept {
                    assert_says(
                        &run.stderr,
                        &["error[SIP0610]", "1 generated host, such as metal/h1"],
                    );
                    refused += 1;
                }
                files[1..].iter().for_each(|(file, _)| repo.remove(file));
            }
        }
        assert!(refused >= 10, "{form}: only {refused} changes are refused");
    }
}

#[test]
fn what_only_kustomize_can_build_is_compared_once_it_is_built() {
    let (repo, site) = including("overlay");
    repo.write(SITE, &format!("{site}transformers: [prefix.yaml]\n"));
    repo.write(
        "site/prefix.yaml",
        "apiVersion: builtin\nkind: PrefixTransformer\nmetadata: {name: a}\nprefix: a-\nfieldSpecs: [{path: metadata/name}]\n",
    );
    repo.generate(&["--check"]).expect(0);

    let refused = repo.generate(&["--check", "--build"]).expect(1).stderr;

    assert_says(
        &refused,
        &["error[SIP0714]", "`kustomize build site` differs", "the host `metal/h1` 0 times"],
    );
}
