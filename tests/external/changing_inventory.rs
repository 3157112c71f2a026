//! The tests of `integration::changing_inventory` that need another program.

use crate::support::scenes::changing_inventory::{PATCHES, no_longer_listed};
use crate::support::{Repo, assert_says, built_host, host, is_labelled};

#[test]
fn a_host_that_has_left_the_inventory_is_replaced() {
    let repo = Repo::of_hosts(3);
    repo.want("tenant/one", 2);
    repo.generate(&[]).expect(0);

    repo.write("inventory/hosts.yaml", &(host("host-2", "") + &host("host-3", "")));
    let run = repo.generate(&[]).expect(0);

    insta::assert_snapshot!(run.stderr, @r#"
    warning[SIP0506]: host metal/host-1 of tenant/one is missing from the inventory
      --> overlays/hosts/declared/inventory/tenant.one.yaml:6:9
       |
     6 |   name: "host-1"
       |         ^^^^^^^^
      help: it leaves the overlay and is replaced; its BareMetalHost is not deleted, and neither are its Secrets that left the same build: if the machine is gone, delete them all

    warning[SIP0522]: tenant/one has 2 hosts of namespace `metal`, which Cluster API cannot claim
      --> clusters/tenant.one.yaml:3:37
       |
     3 | metadata: {namespace: tenant, name: one}
       |                                     ^^^
      help: Machines claim hosts of their own namespace only: keep hosts and Cluster in one namespace, by the request's `metadata.namespace` or that of the BareMetalHosts

    danger: tenant/one loses 1 host that is no longer in the inventory and may be in use: metal/host-1
    tenant/one replaces metal/host-1 by metal/host-3
    1 cluster: 2 hosts assigned, 1 added, 0 released
    1 host added: state unknown, no snapshot shows it
    1 file written: 0 created, 1 changed, 0 deleted
    "#);
    assert_eq!(repo.hosts_of("tenant", "one"), ["Worker metal/host-2", "Worker metal/host-3"]);
    crate::support::kustomize_build(repo.path().join(PATCHES));
}

#[test]
fn a_host_that_becomes_declared_is_patched_and_no_longer_applied_in_part() {
    let repo = Repo::empty();
    repo.observe("");
    repo.want("vino/one", 2);
    repo.generate(&[]).expect(0);

    repo.write("inventory/hosts.yaml", &host("host-2", ""));
    repo.write("inventory/kustomization.yaml", "resources: [hosts.yaml]\n");
    repo.generate(&[]).expect(0);

    assert!(is_labelled(&built_host(repo.path().join(PATCHES), "host-2")));
    assert!(!repo.read("overlays/hosts/observed/vino.one/hosts.yaml").contains("host-2"));
    assert!(!repo.exists("overlays/hosts/observed/released"));
}

#[test]
fn a_host_that_is_no_longer_declared_is_not_released_by_a_deleted_cluster() {
    let repo = no_longer_listed();

    repo.want_no_more("tenant/one");
    for arguments in [&["--allow-empty"][..], &["--allow-empty", "--keep-going"]] {
        let run = repo.generate(arguments).expect(1);
        assert_says(&run.stderr, &["host metal/host-1 of tenant/one was declared by this repo"]);
    }
    assert!(!repo.exists("overlays/hosts/observed"));

    repo.write("inventory/kustomization.yaml", "resources: [hosts.yaml]\n");
    repo.generate(&["--allow-empty"]).expect(0);
    assert!(!is_labelled(&built_host(repo.path().join(PATCHES), "host-1")));
}

#[test]
fn a_declared_host_stays_with_the_cluster_that_its_live_labels_name() {
    let repo = Repo::generated("declared-and-snapshot");

    let host = built_host(repo.path().join(PATCHES), "bay3-left");
    assert_eq!(host["metadata"]["labels"]["sip.airshipit.org/cluster-name"], "lab");
    assert_eq!(host["metadata"]["labels"]["sip.airshipit.org/node-type"], "ControlPlane");
}

#[test]
fn secrets_that_leave_with_an_assigned_host_are_guarded_before() {
    let repo = Repo::empty();
    let names = |host: &str| {
        format!(
            "  bmc: {{address: \"\", credentialsName: {host}.bmc}}\n  networkData: {{name: {host}-net}}\n"
        )
    };
    let secret = |name: &str| {
        format!(
            "---\napiVersion: v1\nkind: Secret\nmetadata: {{name: {name}, namespace: metal, annotations: {{note: kept}}}}\n"
        )
    };
    let with_secrets = |name: &str| {
        host(name, "")
            + &names(name)
            + &secret(&format!("{name}.bmc"))
            + &secret(&format!("{name}-net"))
    };
    repo.write(
        "inventory/hosts.yaml",
        &(with_secrets("host-1") + &with_secrets("host-2") + &secret("host-1xbmc")),
    );
    repo.write("inventory/kustomization.yaml", "resources: [hosts.yaml]\n");
    repo.want("tenant/one", 1);
    repo.generate(&[]).expect(0);
    assert_eq!(repo.hosts_of("tenant", "one"), ["Worker metal/host-1"]);

    let guarded = || -> Vec<String> {
        let build = crate::support::kustomize_build(repo.path().join(PATCHES));
        let secrets = crate::support::documents(&build)
            .into_iter()
            .filter(|object| object["kind"] == "Secret");
        let guarded = secrets.filter(|secret| {
            let annotations = &secret["metadata"]["annotations"];
            assert_eq!(annotations["note"], "kept");
            annotations
                .get("kustomize.toolkit.fluxcd.io/prune")
                .is_some_and(|prune| prune == "disabled")
                && annotations
                    .get("argocd.argoproj.io/sync-options")
                    .is_some_and(|options| options == "Prune=false,Delete=false")
        });
        guarded.map(|secret| secret["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(guarded(), ["host-1-net", "host-1.bmc"]);

    // Agents look at the live object, so the guard counts although the Secret is in no build any more.
    repo.write("inventory/hosts.yaml", &with_secrets("host-2"));
    assert_says(&repo.generate(&[]).expect(0).stderr, &["its Secrets that left the same build"]);
    assert_eq!(guarded(), ["host-2-net", "host-2.bmc"]);

    // Nobody has the host: its Secrets may go with it.
    repo.want("tenant/one", 0);
    repo.generate(&[]).expect(0);
    assert_eq!(guarded(), [] as [&str; 0]);
}
