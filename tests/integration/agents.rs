//! What tells Flux and Argo CD to apply the output, and what guards hosts against them.

use std::collections::BTreeSet;

use insta::assert_snapshot;

use crate::support::programs::string;
use crate::support::scenes::agents::{ARGOCD, FLUX};
use crate::support::{Repo, assert_says, documents};

/// The files of an agent, one after the other.
fn files(repo: &Repo, agent: &str) -> String {
    let files = repo.files(&format!("overlays/agents/{agent}"));
    files.into_iter().map(|(path, text)| format!(">>> {path}\n{text}")).collect()
}

#[test]
fn the_objects_for_flux() {
    assert_snapshot!(files(
        &Repo::of_everything(
            "gitops: flux\nflux:\n  path: fleet/base\n  interval: 30m\n  retryInterval: 1m\n  timeout: 5m\n  wait: true\n  \
             sourceRef: {kind: OCIRepository, name: fleet, namespace: sources}\n  \
             decryption: {provider: sops, secretRef: {name: sops-age}}\n  serviceAccountName: fleet\n"
        ),
        "flux"
    ));
}

#[test]
fn the_objects_for_argo_cd() {
    assert_snapshot!(files(
        &Repo::of_everything(
            "gitops: argocd\nargocd:\n  repoURL: git@git.example.com:fleet.git\n  targetRevision: main\n  project: base\n  \
             path: fleet/base\n  destination: {name: base-cluster}\n"
        ),
        "argocd"
    ));
}

#[test]
fn hosts_without_a_namespace_get_one_by_their_application() {
    let file = "overlays/agents/argocd/hosts.yaml";
    let source =
        "sources:\n- {kustomization: inventory, namespace: lab}\n- {paths: [clusters/**]}\n";
    for (namespace, settings, expected) in [
        ("  namespace: metal\n", "", None),
        ("", "", Some("    namespace: \"default\"\n")),
        ("", source, Some("    namespace: \"lab\"\n")),
    ] {
        let repo = Repo::of_hosts(1);
        repo.replace("inventory/hosts.yaml", "  namespace: metal\n", namespace);
        repo.write("sipgen.yaml", &format!("{ARGOCD}{settings}"));
        repo.generate(&["--allow-empty"]).expect(0);
        let text = repo.read(file);
        let (_, destination) = text.split_once("  destination:\n").unwrap();
        let (destination, _) = destination.split_once("  project:").unwrap();
        match expected {
            Some(expected) => assert!(destination.contains(expected), "{text}"),
            None => assert!(!destination.contains("namespace"), "{text}"),
        }
    }
}

#[test]
fn without_an_agent_there_are_no_objects_for_one() {
    assert!(!Repo::of_everything("").exists("overlays/agents"));
}

/// The annotations of agents at the hosts of a cluster.
fn guards(repo: &Repo, file: &str) -> BTreeSet<(String, String)> {
    let hosts = documents(&repo.read(file));
    assert!(!hosts.is_empty());
    let annotations =
        hosts.iter().flat_map(|host| host["metadata"]["annotations"].as_mapping().unwrap());
    let of_agent = annotations.filter(|(key, _)| !string(key).starts_with("sip.airshipit.org/"));
    of_agent.map(|(key, value)| (string(key), string(value))).collect()
}

#[test]
fn hosts_are_guarded_against_the_agent_there_is_and_without_a_choice_against_both() {
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let flux = [
        pair("kustomize.toolkit.fluxcd.io/prune", "disabled"),
        pair("kustomize.toolkit.fluxcd.io/ssa", "Merge"),
    ];
    let sync_options = |merge: &str| {
        pair("argocd.argoproj.io/sync-options", &format!("{merge}Prune=false,Delete=false"))
    };
    let last_applied = pair("kubectl.kubernetes.io/last-applied-configuration", "");
    let merge = "ServerSideApply=true,Validate=false,ClientSideApplyMigration=false,";
    for (settings, with_flux, with_argocd) in
        [(FLUX, true, false), (ARGOCD, false, true), ("", true, true)]
    {
        let repo = Repo::of_everything(settings);
        let expected = |flux: &[(String, String)],
                        argocd: &[(String, String)]|
         -> BTreeSet<(String, String)> {
            let flux = flux.iter().filter(|_| with_flux).cloned();
            flux.chain(argocd.iter().filter(|_| with_argocd).cloned()).collect()
        };
        for file in ["tenant-b.live/hosts.yaml", "released/hosts.yaml"] {
            let file = format!("overlays/hosts/observed/{file}");
            let argocd = [sync_options(merge), last_applied.clone()];
            assert_eq!(guards(&repo, &file), expected(&flux, &argocd), "{settings}{file}");
        }
        let file = "overlays/hosts/declared/sites/lab/tenant-a.edge.yaml";
        assert_eq!(
            guards(&repo, file),
            expected(&flux[..1], &[sync_options("")]),
            "{settings}{file}"
        );
    }
}

#[test]
fn a_cluster_that_is_left_as_it_is_keeps_its_objects() {
    let repo = Repo::of_everything(FLUX);
    let before = repo.on_disk("overlays/agents");
    repo.replace(crate::support::EDGE, "nodePort: 30443", "nodePort: 3");

    repo.generate(&["--keep-going"]).expect(1);

    assert_eq!(repo.on_disk("overlays/agents"), before);
}

#[test]
fn the_agent_is_not_changed_for_another_in_one_run() {
    for (settings, other, agent) in [(FLUX, ARGOCD, "Flux"), (ARGOCD, FLUX, "Argo CD")] {
        let repo = Repo::of_everything(settings);
        repo.commit();
        repo.write("sipgen.yaml", other);
        assert_says(
            &repo.refused(),
            &[
                &format!("the output is for {agent}, and the agent cannot change in one run"),
                "--> sipgen.yaml",
                "then remove `gitops`, generate, and",
            ],
        );

        repo.write("sipgen.yaml", "");
        repo.generate(&[]).expect(0);
        repo.write("sipgen.yaml", other);
        repo.generate(&[]).expect(0);
    }
}

// Settings

#[track_caller]
fn refused(settings: &str, parts: &[&str]) {
    let repo = Repo::generated("quickstart");
    repo.write("sipgen.yaml", settings);
    assert_says(&repo.refused(), parts);
}

#[test]
fn settings_of_agents_that_they_would_not_take_are_refused() {
    for (settings, parts) in [
        (
            "gitops: fleet\n",
            &["unknown variant `fleet`, expected `flux` or `argocd`", "--> sipgen.yaml:1:"][..],
        ),
        (
            "gitops: {argocd: {}}\n",
            &["gitops: invalid type: map, expected a text", "--> sipgen.yaml:1:"],
        ),
        (
            "gitops: flux\nflux: {interval: 10 minutes}\n",
            &["flux.interval: invalid duration `10 minutes`", "--> sipgen.yaml:2:"],
        ),
        ("gitops: flux\nflux: {timeout: 0s}\n", &["flux.timeout: `0s` must be greater than 0"]),
        ("flux: {intervall: 1m}\n", &["flux.intervall: unknown field `intervall`"]),
        ("flux: {namespace: a.b}\n", &["flux.namespace: `a.b` has a dot"]),
        (
            "flux: {sourceRef: {kind: HelmRepository}}\n",
            &["flux.sourceRef.kind: unknown variant `HelmRepository`"],
        ),
        ("flux: {sourceRef: {name: A}}\n", &["flux.sourceRef.name: `A`"]),
        (
            "flux: {decryption: {provider: vault}}\n",
            &["flux.decryption.provider: unknown variant `vault`"],
        ),
        (
            "flux: {path: ../x}\n",
            &["`flux.path: ../x` is not a directory inside the agent's source"],
        ),
        (
            "flux: {name: a.b}\n",
            &["flux.name: `a.b` is not a name of at most 20 lowercase letters, digits and dashes"],
        ),
        (
            "argocd: {name: xxxxxxxxxxxxxxxxxxxxx}\n",
            &["argocd.name: `xxxxxxxxxxxxxxxxxxxxx` is not a name of at most 20"],
        ),
        ("flux: {name: ''}\n", &["flux.name: `` is not a name of at most 20"]),
        ("gitops: argocd\n", &["`gitops: argocd` requires `argocd.repoURL`", "--> sipgen.yaml"]),
        (
            "argocd: {repoURL: \"https://u:not-a-secret@a.example/b\"}\n",
            &["argocd.repoURL: the URL has a user or password"],
        ),
        (
            "argocd: {destination: {name: a, server: b}}\n",
            &["argocd.destination: write either `server` or `name`"],
        ),
        (
            "argocd: {targetRevision: a b}\n",
            &["argocd.targetRevision: the text is empty, or has whitespace"],
        ),
        (
            "hosts: {form: patch}\n",
            &["hosts.form: unknown variant `patch`, expected `overlay` or `component`"],
        ),
    ] {
        refused(settings, parts);
    }
}

#[test]
fn a_password_in_the_url_of_the_repo_is_not_shown() {
    let repo = Repo::generated("quickstart");
    repo.write(
        "sipgen.yaml",
        "gitops: argocd\nargocd: {repoURL: \"https://u:not-a-secret@git.example.com/x\"}\n",
    );

    assert!(!repo.refused().contains("not-a-secret"));
}
