//! The plan in words.

use super::*;
use crate::support::{assert_says, edge_with, host, live_host};

#[test]
fn it_names_the_dangers_first_and_then_cluster_by_cluster_what_changes() {
    let run = with_all_kinds_of_changes().diff(&[]).expect(1);

    insta::assert_snapshot!(run.stdout);
}

#[test]
fn of_an_up_to_date_repo_there_are_no_changes() {
    let run = Repo::generated("quickstart").diff(&[]).expect(0);

    assert_eq!(run.stdout, "no changes\n");
}

#[test]
fn it_writes_nothing() {
    let repo = with_all_kinds_of_changes();
    let before = repo.on_disk("");

    repo.diff(&["--lines"]).expect(1);
    repo.diff(&["--base", "HEAD"]).expect(1);

    assert!(repo.on_disk("") == before, "files have changed");
}

#[test]
fn two_runs_say_the_same() {
    let repo = with_all_kinds_of_changes();
    for format in ["text", "markdown", "json"] {
        let arguments = ["--base", "HEAD", "--lines", "--format", format];

        assert_eq!(repo.diff(&arguments).stdout, repo.diff(&arguments).stdout);
    }
}

#[test]
fn against_the_last_commit_it_says_what_generating_says() {
    let repo = with_all_kinds_of_changes();

    let pending = repo.diff(&["--lines"]).expect(1).stdout;

    assert_eq!(repo.diff(&["--lines", "--base", "HEAD"]).expect(1).stdout, pending);
}

#[test]
fn scaling_up_adds_hosts() {
    let repo = edge_with("standby: 1", "standby: 2");

    let run = repo.diff(&[]).expect(1);

    insta::assert_snapshot!(run.stdout, @"
    ~ tenant-a/edge
        + 1 Worker host: tenant-a/lab-c2
        ~ service jumphost: hosts; no restart
        ~ service loadbalancer-worker: hosts; its pods restart
    1 cluster changed; 1 host added; 2 services changed
    6 files changed
    1 host added: state unknown, no snapshot shows it
    ");
}

#[test]
fn hosts_are_listed_as_people_count() {
    let repo = Repo::of_hosts(11);
    repo.want("tenant/one", 11);

    let run = repo.diff(&[]).expect(1);

    assert_says(&run.stdout, &["metal/host-9, metal/host-10, metal/host-11"]);
}

#[test]
fn a_host_that_is_being_deleted_is_replaced_and_the_reason_is_told() {
    let repo = Repo::empty();
    repo.observe("");
    repo.want("tenant/one", 1);
    repo.generate(&[]).expect(0);
    let deleted = live_host("host-1", "  deletionTimestamp: 2026-01-01T00:00:00Z\n");
    repo.write("snapshot/hosts.yaml", &(deleted + &live_host("host-2", "")));

    let run = repo.diff(&[]).expect(1);

    assert_says(
        &run.stdout,
        &["~ Worker host metal/host-1 is replaced by metal/host-2: it is being deleted"],
    );
    assert_says(&run.stdout, &["host metal/host-1 is released by tenant/one"]);
}

#[test]
fn a_host_that_has_failed_is_replaced_and_the_reason_is_told() {
    let repo = Repo::empty();
    repo.observe("");
    repo.want("tenant/one", 1);
    repo.generate(&[]).expect(0);
    let failed = host("host-1", "")
        + "status: {errorType: registration error, errorMessage: no BMC, provisioning: {state: available}}\n";
    repo.write("snapshot/hosts.yaml", &(failed + &live_host("host-2", "")));

    let run = repo.diff(&[]).expect(1);

    assert_says(
        &run.stdout,
        &["~ Worker host metal/host-1 is replaced by metal/host-2: it has failed"],
    );
}

#[test]
fn a_host_that_has_left_the_inventory_is_replaced_and_the_reason_is_told() {
    let repo = Repo::of_hosts(2);
    repo.want("tenant/one", 1);
    repo.generate(&[]).expect(0);
    repo.write("inventory/hosts.yaml", &host("host-2", ""));

    let run = repo.diff(&[]).expect(1);

    let replaced =
        "~ Worker host metal/host-1 is replaced by metal/host-2: it is no longer in the inventory";
    assert_says(&run.stdout, &[replaced]);
}

#[test]
fn a_host_with_the_labels_of_its_cluster_is_adopted_not_added() {
    let repo = Repo::empty();
    repo.observe(&crate::support::labels_of("tenant/one"));
    repo.want("tenant/one", 2);

    let run = repo.diff(&[]).expect(1);

    assert_says(
        &run.stdout,
        &["+ 1 Worker host: metal/host-1", "+ 1 Worker host, by existing labels: metal/host-2"],
    );
}

#[test]
fn hosts_that_are_patched_in_a_component_are_told_by_the_names_that_the_inventory_has() {
    let repo = Repo::of_fixture("kustomize-namespaces");
    repo.write("sipgen.yaml", "hosts: {form: component}\n");

    let run = repo.diff(&[]).expect(1);

    assert_says(
        &run.stdout,
        &["+ 1 Worker host: east-infra/node-2\n", "+ 1 Worker host: west-infra/node-2\n"],
    );
    assert_says(&run.stdout, &["; 6 hosts added; "]);
}

#[test]
fn the_objects_of_an_agent_are_told_beside_the_clusters() {
    let repo = Repo::generated("quickstart");
    repo.write("sipgen.yaml", "gitops: flux\n");

    let run = repo.diff(&[]).expect(1);

    assert_says(&run.stdout, &["outside of clusters\n", "    + agent objects in agents/flux\n"]);
}

#[test]
fn of_a_service_it_says_what_changes() {
    for (from, to, told) in [
        (
            "image: ghcr.io/dexidp/dex:v2.45.0",
            "image: ghcr.io/dexidp/dex:v2.45.1",
            "service auth: image; its pods restart",
        ),
        ("operator@lab", "somebody@lab", "service jumphost: authorized keys; its pods restart"),
        ("end: 30082", "end: 30085", "service loadbalancer-worker: ports; its pods restart"),
        ("proxy: false", "proxy: true", "service jumphost: configuration; its pods restart"),
        ("caSecret: edge-oidc-ca", "caSecret: other-ca", "service auth: configuration; no restart"),
    ] {
        let run = edge_with(from, to).diff(&[]).expect(1);

        let is_alone = run.stdout.contains(&format!("~ tenant-a/edge: {told}\n"));
        let is_listed = run.stdout.contains(&format!("    ~ {told}\n"));
        assert!(is_alone || is_listed, "{told}: {}", run.stdout);
        let of_services = run.stdout.lines().filter(|line| line.contains("restart"));
        assert_eq!(of_services.count(), 1, "{}", run.stdout);
    }
}

#[test]
fn the_endpoints_of_two_jump_hosts_are_told_apart() {
    let repo = Repo::generated("quickstart");
    let edge = repo.read(EDGE);
    let (before, rest) = edge.split_once("    jumpHost:\n").unwrap();
    let end = rest
        .match_indices("\n    ")
        .find(|(at, _)| !rest[at + 5..].starts_with([' ', '-']))
        .unwrap()
        .0
        + 1;
    let second = rest[..end].replace("nodePort: 30022", "nodePort: 30023");
    let with_second = format!("{before}    jumpHost:\n{}{second}{}", &rest[..end], &rest[end..]);
    repo.write(EDGE, &with_second);
    repo.generate(&[]).expect(0);
    repo.write(
        EDGE,
        &with_second.replace("nodePort: 30022", "nodePort: 30122").replace("30023", "30123"),
    );

    let plan = repo.diff(&[]).expect(1).stdout;

    assert_says(
        &plan,
        &[
            "~ jump-host endpoint of jumphost: 192.0.2.10:30022 -> 192.0.2.10:30122\n",
            "~ jump-host endpoint of jumphost2: 192.0.2.10:30023 -> 192.0.2.10:30123\n",
        ],
    );
}

#[test]
fn replicas_are_told_from_other_changes() {
    let repo = Repo::generated("quickstart");
    repo.replace_behind(
        EDGE,
        "loadBalancerWorker",
        "nodePortRange",
        "replicas: 1\n        nodePortRange",
    );

    let run = repo.diff(&[]).expect(1);

    assert_says(&run.stdout, &["    ~ service loadbalancer-worker: replicas; no restart\n"]);
}

#[test]
fn a_sipcluster_that_only_goes_to_another_file_changes_nothing() {
    let repo = Repo::of_hosts(1);
    repo.want("tenant/one", 1);
    repo.generate(&[]).expect(0);
    repo.git(&["add", "--all"]);
    repo.git(&["mv", "clusters/tenant.one.yaml", "clusters/renamed.yaml"]);

    let run = repo.diff(&[]).expect(0);

    assert_eq!(run.stdout, "no changes\n");
    assert_says(
        &run.stderr,
        &["Only the comment", "4 files", "run `sipgen generate` to update it"],
    );
}

#[test]
fn a_renamed_input_makes_no_stale_overlays_and_no_stale_base() {
    let repo = Repo::of_hosts(1);
    repo.want("tenant/one", 1);
    repo.generate(&[]).expect(0);
    repo.commit();
    repo.git(&["mv", "clusters/tenant.one.yaml", "clusters/renamed.yaml"]);
    repo.commit();
    repo.write("notes", "mine\n");
    repo.commit();

    for base in ["HEAD~", "HEAD~2"] {
        assert_eq!(repo.diff(&["--base", base]).expect(0).stdout, "no changes\n");
    }
}

#[test]
fn with_errors_in_the_input_nothing_is_said_but_the_errors() {
    let repo = edge_with("active: 1", "active: 9");

    let run = repo.diff(&[]).expect(1);

    assert_eq!(run.stdout, "");
    assert_says(&run.stderr, &["error[SIP", "sites/lab/clusters/edge.yaml:"]);
}

#[test]
fn with_keep_going_the_clusters_without_errors_are_compared() {
    let repo = Repo::of_hosts(3);
    repo.want("tenant/one", 1);
    repo.want("tenant/two", 1);
    repo.generate(&[]).expect(0);
    repo.commit();
    repo.want("tenant/one", 9);
    repo.want("tenant/two", 2);

    for arguments in [vec!["--keep-going"], vec!["--keep-going", "--base", "HEAD"]] {
        let run = repo.diff(&arguments).expect(1);

        assert_says(&run.stdout, &["~ tenant/two\n", "+ 1 Worker host: metal/host-3"]);
        assert!(!run.stdout.contains("tenant/one"), "{}", run.stdout);
        assert_says(&run.stderr, &["of tenant/one cannot be found"]);
    }
}

#[test]
fn a_repo_whose_last_cluster_goes_is_compared_when_that_is_meant() {
    let repo = Repo::of_hosts(1);
    repo.want("tenant/one", 1);
    repo.generate(&[]).expect(0);
    repo.want_no_more("tenant/one");

    repo.diff(&[]).expect(1);
    let run = repo.diff(&["--allow-empty"]).expect(1);

    assert_says(
        &run.stdout,
        &["cluster tenant/one is deleted, with its 1 host", "- tenant/one deleted"],
    );
}

#[test]
fn it_can_be_read_by_head_without_a_word() {
    let repo = Repo::of_fixture("quickstart");
    let command = format!("{} diff --lines | head -n 1", env!("CARGO_BIN_EXE_sipgen"));

    let run =
        run(std::process::Command::new("bash").args(["-c", &command]).current_dir(repo.path()));

    assert_eq!((run.stderr.as_str(), run.stdout.lines().count()), ("", 1));
}
