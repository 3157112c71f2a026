//! The tests of `integration::agents` that need another program.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use yaml_serde::Value;

use crate::support::programs::{sequence, string, succeed};
use crate::support::scenes::agents::{ARGOCD, FLUX, path};
use crate::support::{Repo, documents, kustomize_build};

/// A fixture's repo with more settings, generated.
fn with(fixture: &str, settings: &str) -> Repo {
    let repo = Repo::of_fixture(fixture);
    let own = if repo.exists("sipgen.yaml") { repo.read("sipgen.yaml") } else { String::new() };
    repo.write("sipgen.yaml", &(own + settings));
    repo.generate(&[]).expect(0);
    repo
}

/// An agent's objects, as the agent's own build of their directory has them, by name.
fn objects(repo: &Repo, agent: &str) -> BTreeMap<String, Value> {
    let build = kustomize_build(repo.path().join("overlays/agents").join(agent));
    let objects = documents(&build).into_iter().filter(|object| object["kind"] != "ConfigMap");
    objects.map(|object| (string(&object["metadata"]["name"]), object)).collect()
}

fn depends_on(object: &Value) -> BTreeSet<String> {
    sequence(&object["spec"]["dependsOn"])
        .iter()
        .map(|dependency| string(&dependency["name"]))
        .collect()
}

#[test]
fn every_object_is_one_that_its_agent_takes() {
    let builds = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut validator = Command::new(root.join("target/tools/venv/bin/python"));
    validator.arg(root.join("tests/tools/validate-manifests"));
    let mut count = 0;
    for (agent, settings) in [("flux", FLUX), ("argocd", ARGOCD)] {
        for (number, repo) in
            [Repo::of_everything(settings), with("auth", settings)].iter().enumerate()
        {
            let build = kustomize_build(repo.path().join("overlays/agents").join(agent));
            let file = builds.path().join(format!("{agent}-{number}.yaml"));
            count += documents(&build).len();
            std::fs::write(&file, build).unwrap();
            validator.arg(file);
        }
    }

    let said = succeed(&mut validator);

    assert_eq!(said.trim(), format!("{count} objects valid"));
    assert!(count > 12, "{count}");
}

#[test]
fn everything_that_is_to_be_applied_is_applied_once() {
    for (agent, settings) in [("flux", FLUX), ("argocd", ARGOCD)] {
        let repo = Repo::of_everything(settings);
        let mut applied: Vec<String> = objects(&repo, agent).values().map(path).collect();
        applied.sort();
        // Which applies nothing that anybody needs.
        let is_after_services =
            applied.first().is_some_and(|path| path == "overlays/agents/flux/services");
        assert_eq!(is_after_services, agent == "flux");
        assert!(
            !is_after_services || repo.exists("overlays/agents/flux/services/kustomization.yaml")
        );
        applied.retain(|path| path != "overlays/agents/flux/services");
        assert_eq!(
            applied,
            [
                "overlays/clusters/tenant-a/edge",
                "overlays/crds/dex",
                "overlays/hosts/declared/sites/lab",
                "overlays/hosts/observed/released",
                "overlays/hosts/observed/tenant-b.live",
            ]
        );
        for directory in applied {
            assert!(repo.exists(&format!("{directory}/kustomization.yaml")), "{directory}");
        }
    }
}

#[test]
fn flux_applies_a_tenants_services_before_its_own_observed_hosts() {
    let objects = objects(&Repo::of_everything(FLUX), "flux");

    let after = |name: &str| depends_on(&objects[name]).into_iter().collect::<Vec<_>>();
    assert!(after("sipgen.crds.dex").is_empty());
    assert_eq!(after("sipgen.services.tenant-a.edge"), ["sipgen.crds.dex"]);
    assert!(
        after("sipgen.declared.sites.lab").is_empty(),
        "a tenant's services hold up no other tenant's hosts"
    );
    assert_eq!(after("sipgen.services"), ["sipgen.services.tenant-a.edge"]);
    assert!(
        after("sipgen.released").is_empty(),
        "a tenant's hosts hold up no other tenant's release"
    );
    // What depends on an object that is not there waits for ever.
    for object in objects.values() {
        assert!(depends_on(object).iter().all(|name| objects.contains_key(name)), "{object:?}");
    }
}

#[test]
fn only_services_are_deleted_with_their_object() {
    for (name, object) in objects(&Repo::of_everything(FLUX), "flux") {
        let are_services = name.starts_with("sipgen.services");
        assert_eq!(object["spec"]["prune"], Value::from(are_services), "{name}");
        assert!(object["spec"].get("deletionPolicy").is_none(), "{name}");
        assert!(object["spec"].get("targetNamespace").is_none(), "{name}");
    }
    for (name, object) in objects(&Repo::of_everything(ARGOCD), "argocd") {
        let are_services = name.starts_with("sipgen.services.");
        let policy = &object["spec"]["syncPolicy"];
        let options: BTreeSet<String> =
            sequence(&policy["syncOptions"]).iter().map(string).collect();
        assert_eq!(policy["automated"]["prune"], Value::from(are_services), "{name}");
        assert_eq!(object["metadata"].get("finalizers").is_some(), are_services, "{name}");
        for guard in ["Prune=false", "Delete=false"] {
            assert_eq!(options.contains(guard), !are_services, "{name}: {guard}");
        }
    }
}

/// Argo CD reads it in Applications only: an annotation of a host says nothing to it.
#[test]
fn argo_cd_merges_observed_hosts_and_takes_over_nothing_that_kubectl_applied() {
    for (name, object) in objects(&Repo::of_everything(ARGOCD), "argocd") {
        let is_partial = name.starts_with("sipgen.observed.") || name == "sipgen.released";
        let options: BTreeSet<String> =
            sequence(&object["spec"]["syncPolicy"]["syncOptions"]).iter().map(string).collect();
        for option in ["ServerSideApply=true", "Validate=false", "ClientSideApplyMigration=false"] {
            assert_eq!(options.contains(option), is_partial, "{name}: {option}");
        }
    }
}

#[test]
fn with_the_last_cluster_its_objects_go_and_the_directory_stays_for_the_agent_to_see_that() {
    for (agent, settings) in [("flux", FLUX), ("argocd", ARGOCD)] {
        let repo = with("observed", settings);
        assert!(!objects(&repo, agent).is_empty());
        repo.remove("clusters/edge.yaml");

        repo.generate(&["--allow-empty"]).expect(0);

        let mut left = objects(&repo, agent);
        // What the repo's own objects depend on is there as long as the directory.
        assert_eq!(left.remove("sipgen.services").is_some(), agent == "flux");
        assert_eq!(left.into_keys().collect::<Vec<_>>(), ["sipgen.released"]);
    }
}

#[test]
fn a_root_that_an_object_of_the_repo_applies_gets_none_of_ours() {
    for path in ["./overlays/hosts/declared/sites/lab", "./sites/lab"] {
        let repo = Repo::of_fixture("quickstart");
        repo.write("sipgen.yaml", FLUX);
        repo.write("agent/lab.yaml", &flux_kustomization(path, ""));

        repo.generate(&[]).expect(0);

        let names: Vec<String> = objects(&repo, "flux").into_keys().collect();
        assert_eq!(
            names,
            ["sipgen.crds.dex", "sipgen.services", "sipgen.services.tenant-a.edge"],
            "{path}"
        );
    }
}

#[test]
fn in_component_form_the_repo_itself_applies_its_hosts() {
    let repo = with("quickstart", &format!("{FLUX}hosts: {{form: component}}\n"));

    let names: Vec<String> = objects(&repo, "flux").into_keys().collect();

    assert_eq!(names, ["sipgen.crds.dex", "sipgen.services", "sipgen.services.tenant-a.edge"]);
}

#[test]
fn names_are_short_enough_for_a_label_however_long_those_of_clusters_are() {
    let repo = Repo::of_hosts(2);
    let (namespace, name) = ("n".repeat(63), format!("{}.{}", "c".repeat(63), "c".repeat(63)));
    repo.observe("");
    repo.remove("inventory/kustomization.yaml");
    repo.remove("inventory/hosts.yaml");
    repo.write("sipgen.yaml", FLUX);
    let long = |name: &str| {
        format!(
            "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {{namespace: {namespace}, name: {name}}}\n\
             spec: {{nodes: {{Worker: {{labelSelector: {{}}, count: {{active: 1}}}}}}}}\n"
        )
    };
    // Labels of hosts have 63 characters at most, and so has a cluster's name that hosts bear.
    let short: String = name.chars().take(63).collect();
    let other: String = format!("{}d", &short[..62]);
    repo.write("clusters/a.yaml", &long(&short));
    repo.write("clusters/b.yaml", &long(&other));

    repo.generate(&[]).expect(0);

    let names: BTreeSet<String> = objects(&repo, "flux").into_keys().collect();
    assert_eq!(names.len(), 3);
    assert!(names.iter().all(|name| name.len() <= 63), "{names:?}");
}

/// Two sites may share a namespace of Flux, or an Argo CD.
#[test]
fn objects_of_sites_with_different_names_have_different_names() {
    for (agent, settings) in [
        ("flux", "gitops: flux\nflux: {name: north}\n"),
        ("argocd", "gitops: argocd\nargocd: {repoURL: x, name: north}\n"),
    ] {
        let build = kustomize_build(
            Repo::of_everything(settings).path().join("overlays/agents").join(agent),
        );
        for object in documents(&build) {
            let name = string(&object["metadata"]["name"]);
            assert!(name == "north" || name.starts_with("north."), "{name}");
            for dependency in depends_on(&object) {
                assert!(dependency.starts_with("north."), "{name} {dependency}");
            }
        }
    }
}

#[test]
fn released_hosts_wait_for_nobody() {
    let repo = Repo::of_hosts(4);
    repo.remove("inventory/kustomization.yaml");
    repo.write("sipgen.yaml", &format!("{FLUX}inventory: {{mode: observed}}\n"));
    repo.want("tenant-a/giver", 2);
    repo.want("tenant-b/keeper", 2);
    repo.generate(&[]).expect(0);
    repo.commit();
    repo.want("tenant-a/giver", 1);
    repo.generate(&[]).expect(0);

    let objects = objects(&repo, "flux");

    assert!(objects.contains_key("sipgen.observed.tenant-b.keeper"));
    assert!(objects.contains_key("sipgen.observed.tenant-a.giver"));
    assert!(
        depends_on(&objects["sipgen.released"]).is_empty(),
        "no tenant's hosts hold up another's release"
    );
}

fn flux_kustomization(path: &str, more: &str) -> String {
    format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n\
         metadata: {{name: lab, namespace: flux-system}}\nspec:\n  interval: 1h\n  path: {path}\n  prune: true\n{more}  \
         sourceRef: {{kind: GitRepository, name: flux-system}}\n"
    )
}
