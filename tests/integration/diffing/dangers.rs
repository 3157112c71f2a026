//! What can hurt somebody, and what cannot.

use super::*;
use crate::support::{assert_says, edge_with};

/// The codes of the dangers of what is not yet generated, and the words.
fn dangers(repo: &Repo, arguments: &[&str]) -> Vec<(String, String)> {
    let run = repo.diff(&[&["--format", "json"], arguments].concat());
    let comparison: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let dangers = comparison["review"]["dangers"].as_array().unwrap();
    dangers.iter().map(|danger| (text(&danger["code"]), text(&danger["message"]))).collect()
}

#[track_caller]
fn assert_only(dangers: &[(String, String)], code: &str, message: &str) {
    assert_eq!(dangers, [(code.to_owned(), message.to_owned())]);
}

#[test]
fn a_cluster_that_disappears() {
    let repo = Repo::of_hosts(3);
    repo.want("tenant/one", 2);
    repo.want("tenant/two", 1);
    repo.generate(&[]).expect(0);

    repo.want_no_more("tenant/one");

    assert_only(
        &dangers(&repo, &[]),
        "cluster-deleted",
        "cluster tenant/one is deleted, with its 2 hosts",
    );
}

#[test]
fn a_host_in_use_that_is_given_back() {
    let repo = edge_with("standby: 1", "standby: 0");
    consume(&repo, RACK_B, "lab-b2", "Metal3Machine tenant-a/edge-7");
    consume(&repo, "sites/lab/hosts/rack-a.yaml", "lab-a2", "Metal3Machine tenant-a/edge-8");

    let message =
        "tenant-a/edge releases 1 host in use: tenant-a/lab-b2 by Metal3Machine tenant-a/edge-7";
    assert_only(&dangers(&repo, &[]), "consumed-host-given-back", message);
}

#[test]
fn a_host_in_use_that_the_new_inventory_no_longer_has() {
    let repo = Repo::generated("quickstart");
    consume(&repo, RACK_B, "lab-b2", "Metal3Machine tenant-a/edge-7");
    repo.commit();

    repo.replace(RACK_B, "name: lab-b2\n", "name: lab-b9\n");

    let message =
        "tenant-a/edge releases 1 host in use: tenant-a/lab-b2 by Metal3Machine tenant-a/edge-7";
    assert_only(&dangers(&repo, &["--base", "HEAD"]), "consumed-host-given-back", message);
}

#[test]
fn a_host_that_vanishes_from_the_inventory_when_nobody_knows_whether_it_was_in_use() {
    let repo = Repo::of_hosts(2);
    repo.want("tenant/one", 1);
    repo.generate(&[]).expect(0);
    repo.write("inventory/hosts.yaml", &crate::support::host("host-2", ""));

    let message = "tenant/one loses 1 host that is no longer in the inventory and may be in use: metal/host-1";
    assert_only(&dangers(&repo, &[]), "assigned-host-vanished", message);
    assert_says(&repo.generate(&[]).expect(0).stderr, &[&format!("danger: {message}\n")]);
}

#[test]
fn a_host_in_use_that_loses_the_labels_of_a_reverted_time() {
    let repo = Repo::empty();
    repo.observe(&crate::support::labels_of("tenant/one"));
    consume(&repo, "snapshot/hosts.yaml", "host-2", "Metal3Machine tenant/one-1");
    repo.want("tenant/one", 0);

    let message = "tenant/one releases 1 host in use: metal/host-2 by Metal3Machine tenant/one-1";
    assert_only(&dangers(&repo, &[]), "consumed-host-given-back", message);
}

#[test]
fn of_a_host_without_snapshot_it_is_said_that_its_use_is_not_known() {
    let repo = edge_with("standby: 1", "standby: 0");

    let unknown = "1 host released may be in use: the repo has no snapshot of it\n";
    assert!(repo.diff(&[]).stdout.ends_with(unknown), "{}", repo.diff(&[]).stdout);
    assert_says(&repo.diff(&["--format", "markdown"]).stdout, &[unknown.trim_end()]);
    let json = repo.diff(&["--format", "json"]).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["review"]["totals"]["hostsOfUnknownUse"], 1);
    assert_eq!(json["review"]["clusters"][0]["hosts"]["givenBack"][0]["useKnown"], false);
}

#[test]
fn of_a_host_with_a_snapshot_its_use_is_known() {
    let repo = Repo::empty();
    repo.observe("");
    repo.want("tenant/one", 1);
    repo.generate(&[]).expect(0);
    repo.want("tenant/one", 0);

    let plan = repo.diff(&[]).expect(1).stdout;

    assert_says(&plan, &["1 host released"]);
    assert!(!plan.contains("may be in use"), "{plan}");
}

#[test]
fn a_free_host_that_is_given_back_is_none() {
    assert_eq!(dangers(&edge_with("standby: 1", "standby: 0"), &[]), []);
}

#[test]
fn a_control_plane_endpoint_that_changes_and_its_node_port_is_not_told_twice() {
    for (from, to, before, after) in [
        ("nodePort: 30443", "nodePort: 30444", "192.0.2.10:30443", "192.0.2.10:30444"),
        (
            "clusterIP: 192.0.2.10\n        nodePort: 30443",
            "clusterIP: 192.0.2.11\n        nodePort: 30443",
            "192.0.2.10:30443",
            "192.0.2.11:30443",
        ),
    ] {
        let message =
            format!("the control-plane endpoint of tenant-a/edge changes from {before} to {after}");
        assert_only(
            &dangers(&edge_with(from, to), &[]),
            "control-plane-endpoint-changes",
            &message,
        );
    }
}

#[test]
fn a_node_port_that_changes() {
    let message = "the NodePort of jumphost in tenant-a/edge changes from 30022 to 30023";
    assert_only(
        &dangers(&edge_with("nodePort: 30022", "nodePort: 30023"), &[]),
        "node-port-changes",
        message,
    );
}

#[test]
fn a_range_of_node_ports_that_shrinks_but_not_one_that_grows() {
    let message = "the NodePort of loadbalancer-worker in tenant-a/edge changes from 30080-30082 to 30080-30081";
    assert_only(
        &dangers(&edge_with("end: 30082", "end: 30081"), &[]),
        "node-port-changes",
        message,
    );

    assert_eq!(dangers(&edge_with("end: 30082", "end: 30084"), &[]), []);
}

#[test]
fn a_selector_that_changes() {
    let repo = Repo::generated("quickstart");
    repo.replace(
        "overlays/clusters/tenant-a/edge/loadbalancer-worker/kustomization.yaml",
        "      app.kubernetes.io/instance: \"loadbalancer-worker-edge\"\n",
        "",
    );

    let message = "spec.selector of Deployment loadbalancer-worker-edge in tenant-a/edge changes, which the API server \
                   rejects: delete the object first with `kubectl delete --cascade=orphan`, which keeps its pods running";
    assert_only(&dangers(&repo, &[]), "immutable-field-changes", message);
}

#[test]
fn an_issuer_that_changes() {
    let message = "the issuer of tenant-a/edge changes from https://192.0.2.10:30556/dex to https://192.0.2.10:30557/dex";
    assert_only(
        &dangers(&edge_with("nodePort: 30556", "nodePort: 30557"), &[]),
        "issuer-changes",
        message,
    );
}

#[test]
fn a_service_that_goes_with_its_node_port() {
    let repo = Repo::generated("quickstart");
    let text = repo.read(EDGE);
    repo.write(EDGE, text.split_once("    auth:\n").unwrap().0);

    let message = "the issuer of tenant-a/edge is removed: https://192.0.2.10:30556/dex";
    assert_only(&dangers(&repo, &[]), "issuer-changes", message);
}

#[test]
fn a_host_that_goes_to_another_cluster() {
    let repo = Repo::of_hosts(2);
    repo.want("tenant/one", 1);
    repo.want("tenant/two", 1);
    repo.generate(&[]).expect(0);
    repo.commit();

    swap_hosts(&repo);

    let told: Vec<String> = dangers(&repo, &["--base", "HEAD"])
        .into_iter()
        .map(|(code, words)| format!("{code}: {words}"))
        .collect();
    assert_eq!(
        told,
        [
            "host-moves: 1 host moves from tenant/one to tenant/two: metal/host-1",
            "host-moves: 1 host moves from tenant/two to tenant/one: metal/host-2"
        ]
    );
    let plan = repo.diff(&["--base", "HEAD"]).expect(1).stdout;
    assert_says(
        &plan,
        &[
            "+ Worker host metal/host-2 moves from tenant/two",
            "- Worker host metal/host-1 moves to tenant/two",
        ],
    );
}

#[test]
fn a_host_in_use_that_goes_to_another_cluster() {
    let repo = Repo::of_hosts(2);
    repo.want("tenant/one", 1);
    repo.want("tenant/two", 1);
    repo.generate(&[]).expect(0);
    consume(&repo, "inventory/hosts.yaml", "host-1", "Metal3Machine tenant/one-1");
    repo.commit();

    swap_hosts(&repo);

    let dangers = dangers(&repo, &["--base", "HEAD"]);
    assert_eq!(dangers[0].0, "consumed-host-moves");
    assert_says(
        &dangers[0].1,
        &["moves from tenant/one to tenant/two: metal/host-1 by Metal3Machine tenant/one-1"],
    );
    assert_eq!(dangers.len(), 2);
}

/// What somebody does who edits the memory of who has which host.
fn swap_hosts(repo: &Repo) {
    let file = |cluster: &str| format!("overlays/hosts/declared/inventory/tenant.{cluster}.yaml");
    repo.replace(&file("one"), "host-1", "host-x");
    repo.replace(&file("two"), "host-2", "host-1");
    repo.replace(&file("one"), "host-x", "host-2");
}

#[test]
fn a_directory_of_hosts_that_goes() {
    let repo = Repo::of_hosts(1);
    repo.write("snapshot/hosts.yaml", &crate::support::live_host("seen-1", ""));
    repo.want("tenant/one", 0);
    repo.generate(&[]).expect(0);

    repo.remove("inventory/kustomization.yaml");

    let dangers = dangers(&repo, &[]);
    assert_eq!(dangers[0].0, "root-deleted");
    assert_says(&dangers[0].1, &["overlays/hosts/declared/inventory is deleted"]);
}

#[test]
fn agents_objects_that_go_and_take_services_along_that_stay() {
    const FLUX: &str = "gitops: flux\nflux: {sourceRef: {kind: GitRepository, name: fleet}";
    const ARGOCD: &str = "gitops: argocd\nargocd: {repoURL: 'https://git.example.com/fleet.git'}\n";
    let flux = FLUX.to_owned() + "}\n";
    for (before, after, directory) in [
        (flux.as_str(), "", "flux"),
        (&flux, &(FLUX.to_owned() + ", namespace: elsewhere}\n"), "flux"),
        (ARGOCD, "", "argocd"),
    ] {
        let repo = Repo::of_fixture("quickstart");
        repo.write("sipgen.yaml", before);
        repo.generate(&[]).expect(0);

        repo.write("sipgen.yaml", after);

        let message = format!(
            "1 object is removed from overlays/agents/{directory}, which deletes the services applied by it: \
             detach it first"
        );
        assert_only(&dangers(&repo, &[]), "agent-objects-deleted", &message);
    }
}

#[test]
fn an_agents_object_that_goes_with_its_services_is_none() {
    let repo = with_all_kinds_of_changes();
    repo.write("sipgen.yaml", "gitops: flux\n");
    repo.generate(&[]).expect(0);
    let edge = repo.read(EDGE);
    repo.write(
        EDGE,
        &(edge.split_once("  services:\n").unwrap().0.to_owned() + "  services: {}\n"),
    );
    repo.want_no_more("tenant-c/new");

    let dangers = dangers(&repo, &[]);

    assert!(dangers.iter().any(|(code, _)| code == "cluster-deleted"), "{dangers:?}");
    assert!(dangers.iter().all(|(code, _)| code != "agent-objects-deleted"), "{dangers:?}");
    assert_says(&repo.diff(&[]).stdout, &["- service loadbalancer-worker"]);
}

#[test]
fn a_directory_of_hosts_that_is_applied_in_another_way() {
    const COMPONENT: &str = "hosts: {form: component}\n";
    for (before, after, message, line) in [
        ("", COMPONENT, "becomes a component: stop applying it", "now a component"),
        (COMPONENT, "", "becomes an overlay: remove it from kustomizations", "now an overlay"),
    ] {
        let repo = Repo::of_hosts(1);
        repo.want("tenant/one", 1);
        repo.write("sipgen.yaml", before);
        repo.generate(&[]).expect(0);

        repo.write("sipgen.yaml", after);

        let dangers = dangers(&repo, &[]);
        assert_eq!((dangers.len(), dangers[0].0.as_str()), (1, "root-changes-form"));
        assert_says(&dangers[0].1, &["overlays/hosts/declared/inventory ", message]);
        assert_says(
            &repo.diff(&[]).stdout,
            &[&format!("~ declared hosts through hosts/declared/inventory: {line}\n")],
        );
    }
}

#[test]
fn an_output_directory_that_moves() {
    let repo = Repo::generated("quickstart");

    repo.write("sipgen.yaml", "output: deploy\n");
    repo.git(&["mv", "overlays", "deploy"]);

    let message = "the output moves from overlays to deploy: update the paths of agents";
    assert_only(&dangers(&repo, &["--base", "HEAD"]), "output-moves", message);
    let plan = repo.diff(&["--base", "HEAD"]).expect(1).stdout;
    assert_says(&plan, &["created, ", " deleted\n"]);
    assert!(!plan.contains("no changes"), "{plan}");
}

#[test]
fn a_new_cluster_is_none() {
    assert_eq!(dangers(&Repo::of_fixture("multi-cluster"), &[]), []);
}
