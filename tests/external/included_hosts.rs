//! Builds that change generated hosts, judged as the real kustomize builds them.

use std::collections::BTreeMap;

use yaml_serde::Value;

use crate::support::{
    Repo, assert_says, documents, host, kustomize_build, live_host, run_tool, text, tool,
};

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
fn assigned(repo: &Repo, directory: &str) -> Option<BTreeMap<String, Vec<String>>> {
    let objects = documents(&kustomize_build(repo.path().join(directory)));
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

/// Whether the assigned host of a build has the labels and options of the plan.
fn is_kept(repo: &Repo, directory: &str, planned: &BTreeMap<String, Vec<String>>) -> bool {
    assigned(repo, directory).is_some_and(|built| {
        planned.iter().all(|(key, options)| {
            let has = |option| built.get(key).is_some_and(|built| built.contains(option));
            options.iter().all(has)
        })
    })
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
        let planned = assigned(&repo, "site").unwrap();
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
                let is_kept = is_kept(&repo, "site", &planned);

                let run = repo.generate(&[]);

                assert_eq!(run.code == 0, is_kept, "{form}, {files:?}: {}", run.stderr);
                if !is_kept {
                    assert_says(&run.stderr, &["error[SIP0610]", "host, such as metal/h1"]);
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
    let told = repo.generate(&["--check"]).expect(0).stderr;
    assert_says(
        &told,
        &[
            "warning[SIP0624]: `kustomize build site` may change generated hosts, but only kustomize",
            "--> site/kustomization.yaml:2:",
            "`sipgen generate --check --build`",
        ],
    );

    let refused = repo.generate(&["--check", "--build"]).expect(1).stderr;

    assert_says(
        &refused,
        &["error[SIP0714]", "`kustomize build site` differs", "the host `metal/h1` 0 times"],
    );
}

/// The annotation of Flux that guards hosts, in a path of a JSON patch.
const GUARD: &str = "/metadata/annotations/kustomize.toolkit.fluxcd.io~1prune";

/// Fields of agents' objects: those of Flux, those of Argo CD, and the `kustomize edit` that has their effect.
fn agents_fields() -> Vec<(String, String, Vec<String>)> {
    let field = |flux: &str, argocd: &str, edit: &[&str]| {
        let edit = edit.iter().map(|argument| (*argument).to_owned()).collect();
        (flux.to_owned(), argocd.to_owned(), edit)
    };
    let patch = |operation: &str| {
        let patch = format!("- {{op: {operation}}}");
        let list = format!("patches: [{{target: {{name: h1}}, patch: '{patch}'}}]");
        field(&list, &list, &["add", "patch", "--name", "h1", "--patch", &patch])
    };
    let other = "sip.airshipit.org/cluster-name";
    vec![
        field("targetNamespace: metal", "namespace: metal", &["set", "namespace", "metal"]),
        field("targetNamespace: other", "namespace: other", &["set", "namespace", "other"]),
        field("namePrefix: a-", "namePrefix: a-", &["set", "nameprefix", "--", "a-"]),
        field("nameSuffix: -a", "nameSuffix: -a", &["set", "namesuffix", "--", "-a"]),
        field(
            "commonMetadata: {annotations: {a: b}}",
            "commonAnnotations: {a: b}",
            &["add", "annotation", "a:b"],
        ),
        field(
            &format!("commonMetadata: {{labels: {{{other}: x}}}}"),
            &format!("commonLabels: {{{other}: x}}"),
            &["add", "label", &format!("{other}:x")],
        ),
        patch(&format!("remove, path: {GUARD}")),
        patch(&format!("replace, path: {GUARD}, value: enabled")),
        patch(&format!("test, path: {GUARD}, value: disabled")),
        patch("replace, path: /metadata/labels/sip.airshipit.org~1node-type, value: X"),
        patch("test, path: /metadata/labels/sip.airshipit.org~1node-type, value: Worker"),
    ]
}

#[test]
fn fields_of_agents_objects_count_as_kustomize_edit_writes_them() {
    for form in ["overlay", "component", "observed"] {
        let (repo, site) = including(form);
        let planned = assigned(&repo, "site").unwrap();
        let generated = match form {
            "overlay" => "overlays/hosts/declared/inventory",
            "component" => "site",
            _ => "overlays/hosts/observed/vino.one",
        };
        let (mut refused, mut kept) = (0, 0);
        // A namespace of the kustomization itself, which the agent replaces.
        for (directory, own) in [("site", ""), ("site", "namespace: other\n"), (generated, "")] {
            if form == "component" && !own.is_empty() {
                continue;
            }
            repo.write(SITE, &format!("{site}{own}"));
            for (flux, argocd, edit) in agents_fields() {
                let objects = [
                    format!(
                        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n\
                         metadata: {{name: hosts, namespace: flux-system}}\nspec:\n  path: {directory}\n  \
                         sourceRef: {{kind: GitRepository, name: flux-system}}\n  {flux}\n"
                    ),
                    format!(
                        "apiVersion: argoproj.io/v1alpha1\nkind: Application\n\
                         metadata: {{name: hosts, namespace: argocd}}\nspec:\n  \
                         destination: {{server: 'https://kubernetes.default.svc'}}\n  \
                         source: {{repoURL: x, path: {directory}, kustomize: {{{argocd}}}}}\n"
                    ),
                ];
                let file = format!("{directory}/kustomization.yaml");
                let before = repo.read(&file);
                let output = run_tool(
                    tool("kustomize")
                        .arg("edit")
                        .args(&edit)
                        .current_dir(repo.path().join(directory)),
                );
                assert!(output.status.success(), "{edit:?}: {}", text(&output.stderr));
                let is_kept = is_kept(&repo, directory, &planned);
                repo.write(&file, &before);

                for object in objects {
                    repo.write("agents/hosts.yaml", &object);
                    let run = repo.generate(&[]);

                    assert_eq!(run.code == 0, is_kept, "{form}, {own}{object}: {}", run.stderr);
                    if is_kept {
                        kept += 1;
                    } else {
                        let place = if own.is_empty() { "--> agents/hosts.yaml" } else { "--> " };
                        let host = "such as metal/h1";
                        assert_says(&run.stderr, &["error[SIP0610]", host, place]);
                        refused += 1;
                    }
                }
                repo.remove("agents/hosts.yaml");
            }
        }
        assert!(refused >= 20 && kept >= 10, "{form}: {refused} refused, {kept} kept");
    }
}
