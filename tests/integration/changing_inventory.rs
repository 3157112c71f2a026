//! What becomes of a cluster's hosts when the inventory changes under it, or knew them before it did.

use crate::support::scenes::changing_inventory::{PATCHES, no_longer_listed};
use crate::support::{Repo, assert_says, host, labels_of, live_host};

#[test]
fn a_host_that_has_left_the_inventory_and_cannot_be_replaced_is_an_error() {
    let repo = Repo::of_hosts(2);
    repo.want("tenant/one", 2);
    repo.generate(&[]).expect(0);

    repo.write("inventory/hosts.yaml", &host("host-2", ""));
    let message = repo.refused();

    assert_says(&message, &["host metal/host-1 of tenant/one is missing from the inventory"]);
    assert_says(&message, &["1 of the 2 Worker hosts of tenant/one cannot be found"]);
}

#[test]
fn a_host_that_an_agent_recreated_without_a_spec_is_no_host() {
    let repo = Repo::empty();
    repo.observe("");
    repo.want("tenant/one", 1);
    repo.generate(&[]).expect(0);
    assert_eq!(repo.hosts_of("tenant", "one"), ["Worker metal/host-1"]);

    let shell = format!(
        "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata:\n  name: host-1\n  namespace: metal\n{}",
        labels_of("tenant/one")
    );
    repo.write("snapshot/hosts.yaml", &(shell + &live_host("host-2", "")));
    let run = repo.generate(&[]).expect(0);

    assert_says(
        &run.stderr,
        &["warning[SIP0344]: host `metal/host-1` has no spec", "danger: tenant/one loses 1 host"],
    );
    assert_says(&run.stderr, &["kubectl delete baremetalhost -n metal host-1"]);
    assert_eq!(repo.hosts_of("tenant", "one"), ["Worker metal/host-2"]);
    // Nothing applies labels to the shell again.
    assert!(!repo.files("overlays/hosts").values().any(|text| text.contains("host-1")));
}

#[test]
fn a_host_that_is_no_longer_declared_is_not_made_an_observed_one() {
    let repo = Repo::of_fixture("declared-and-snapshot");
    repo.write("sipgen.yaml", "gitops: flux\n");
    repo.generate(&[]).expect(0);
    let before = repo.on_disk("overlays");
    let (kept, removed) = split_at_host(&repo.read("inventory/hosts.yaml"), "bay1-right");
    assert!(removed.contains("name: bay1-right\n"));

    repo.write("inventory/hosts.yaml", &kept);

    insta::assert_snapshot!(repo.refused(), @r#"
    error[SIP0512]: host metal/bay1-right of metal/lab was declared by this repo, but no kustomization renders it now
       --> overlays/hosts/declared/inventory/metal.lab.yaml:18:9
        |
     18 |   name: "bay1-right"
        |         ^^^^^^^^^^^^
       --> snapshot/hosts.json:182:25  (what is left of it)
        |
    182 |                 "name": "bay1-right"
        |                         ------------
      help: restore its manifest, or list it in the kustomization again: it stays declared for as long as a cluster has it. The agent applied it in full, and an object with labels alone would erase its spec. If the machine is gone, delete the BareMetalHost and remove it from the snapshot

    1 error in metal/lab: no files written
    "#);
    repo.generate(&["--keep-going"]).expect(1);
    assert!(repo.on_disk("overlays") == before);
}

/// The documents of a text of YAML without the one that names a host, and that one.
fn split_at_host(text: &str, name: &str) -> (String, String) {
    let is_it = |document: &&str| document.contains(&format!("  name: {name}\n"));
    let (its, others): (Vec<&str>, Vec<&str>) = text.split("---\n").partition(is_it);
    (others.join("---\n"), its.concat())
}

#[test]
fn hosts_that_no_kustomization_lists_any_more_are_not_made_observed_ones() {
    let repo = no_longer_listed();

    let message = repo.refused();
    repo.generate(&["--keep-going"]).expect(1);

    for name in ["host-1", "host-2"] {
        assert_says(
            &message,
            &[&format!("host metal/{name} of tenant/one was declared by this repo")],
        );
    }
    assert_says(&message, &["list it in the kustomization again", "2 errors in tenant/one"]);
    assert!(!repo.exists("overlays/hosts/observed"));
    assert_eq!(repo.hosts_of("tenant", "one"), ["Worker metal/host-1", "Worker metal/host-2"]);
}

#[test]
fn a_host_that_is_no_longer_declared_is_not_released_by_a_cluster_that_wants_less() {
    let repo = no_longer_listed();

    repo.want("tenant/one", 0);
    assert_says(
        &repo.refused(),
        &["host metal/host-1 of tenant/one was declared", "host metal/host-2 of tenant/one"],
    );
    repo.generate(&["--keep-going"]).expect(1);

    assert!(!repo.exists("overlays/hosts/observed"));
}

#[test]
fn a_cluster_that_is_left_out_keeps_the_patch_of_a_host_that_is_no_longer_declared() {
    let repo = Repo::of_hosts(2);
    repo.want("tenant/one", 1);
    repo.want("tenant/two", 1);
    repo.generate(&[]).expect(0);

    repo.write("inventory/hosts.yaml", &host("host-2", ""));
    repo.write("snapshot/hosts.yaml", &live_host("host-1", ""));
    let run = repo.generate(&["--only", "tenant/two"]).expect(0);

    assert_says(&run.stderr, &["patches host metal/host-1", "help: restore its manifest"]);
    assert_eq!(repo.hosts_of("tenant", "one"), ["Worker metal/host-1"]);
    assert!(!repo.exists("overlays/hosts/observed"));
}

#[test]
fn a_host_whose_manifest_had_its_labels_patched_away_is_not_made_an_observed_one() {
    let repo = Repo::of_hosts(1);
    repo.write(
        "inventory/hosts.yaml",
        &(host("host-1", "") + &host("host-2", &labels_of("tenant/one"))),
    );
    repo.want("tenant/one", 1);
    repo.generate(&[]).expect(0);
    repo.want("tenant/one", 0);
    repo.generate(&[]).expect(0);
    assert!(repo.read(&format!("{PATCHES}/released.yaml")).contains("host-2"));

    repo.write("inventory/hosts.yaml", &host("host-1", ""));
    repo.write("snapshot/hosts.yaml", &live_host("host-2", ""));

    assert_says(
        &repo.refused(),
        &["host metal/host-2 was declared by this repo", "--> snapshot/hosts.yaml:5:9"],
    );
}

#[test]
fn an_observed_host_stays_with_the_cluster_that_its_labels_name() {
    let repo = Repo::of_fixture("observed");

    let run = repo.generate(&[]).expect(0);

    assert_says(&run.stderr, &["adopts vino/vino-pool-kvm3-control-plane-0"]);
    let hosts = repo.hosts_of("vino", "edge");
    assert!(
        hosts.contains(&"ControlPlane vino/vino-pool-kvm3-control-plane-0".to_owned()),
        "{hosts:?}"
    );
}

#[test]
fn an_observed_host_with_the_labels_of_somebody_else_is_left_alone() {
    let repo = Repo::generated("observed");

    let files = repo.files("overlays/hosts");
    assert!(files.values().all(|text| !text.contains("vino-pool-kvm2-worker-0")));
}

#[test]
fn an_adopted_host_stays_when_the_snapshot_no_longer_shows_its_labels() {
    let repo = Repo::empty();
    repo.observe(&labels_of("vino/one"));
    repo.want("vino/one", 1);
    repo.generate(&[]).expect(0);

    repo.observe("");
    repo.generate(&["--exit-code"]).expect(0);

    assert_eq!(repo.hosts_of("vino", "one"), ["Worker metal/host-2"]);
}

#[test]
fn secrets_of_a_cluster_that_is_left_as_it_is_stay_guarded() {
    let repo = Repo::of_hosts(2);
    let text = repo
        .read("inventory/hosts.yaml")
        .replace("  online: true\n", "  online: true\n  networkData: {name: net}\n");
    repo.write("inventory/hosts.yaml", &text);
    repo.want("tenant/one", 1);
    repo.want("tenant/two", 1);
    repo.generate(&[]).expect(0);
    let before = repo.read(&format!("{PATCHES}/kustomization.yaml"));
    assert_says(&before, &["net"]);

    repo.generate(&["--only", "tenant/two"]).expect(0);
    assert_eq!(repo.read(&format!("{PATCHES}/kustomization.yaml")), before);
    repo.want_no_more("tenant/two");
    repo.generate(&["--only", "tenant/one"]).expect(0);
    assert_says(&repo.read(&format!("{PATCHES}/kustomization.yaml")), &["net"]);
}
