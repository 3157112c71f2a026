//! Placements that a strategy without foresight misses, and what becomes of hosts that no longer fit.

use crate::support::{Repo, assert_says, run};

/// A repo with one of the fixtures whose placement takes foresight, generated.
fn placed(story: &str) -> Repo {
    Repo::generated(&format!("placement-{story}"))
}

/// A status that is not that of a free host, in the place of the one of a host.
fn set_state(repo: &Repo, host: &str, status: &str) {
    let behind = format!("      name: {host}\n");
    repo.replace_behind("hosts.yaml", &behind, "      operationalStatus: OK\n", status);
}

/// Changes the provisioning state of a host.
fn set_provisioning(repo: &Repo, host: &str, from: &str, to: &str) {
    repo.replace_behind(
        "hosts.yaml",
        &format!("      name: {host}\n"),
        &format!("state: {from}\n"),
        &format!("state: {to}\n"),
    );
}

/// The fixture with machines without its SIPCluster, and with an operating system on more hosts.
fn of_machines_alone() -> Repo {
    let repo = Repo::of_fixture("placement-machines");
    repo.remove("tenant-a-web.yaml");
    for host in ["n1", "n4"] {
        set_provisioning(&repo, host, "available", "provisioned");
    }
    repo
}

#[test]
fn a_broad_cluster_leaves_the_narrow_worker_pool_to_the_one_that_needs_it() {
    let repo = placed("narrow-pool");

    assert_eq!(repo.hosts_of("tenant-a", "web"), ["Worker metal3/w3", "Worker metal3/w4"]);
    assert_eq!(repo.hosts_of("tenant-b", "render"), ["Worker metal3/w1", "Worker metal3/w2"]);
}

#[test]
fn the_only_host_of_a_rack_is_left_to_the_cluster_that_needs_two_racks() {
    let repo = placed("crowded-rack");

    assert_eq!(repo.hosts_of("tenant-a", "batch").len(), 1);
    let core = repo.hosts_of("tenant-b", "core");
    assert_eq!(core[0], "ControlPlane metal3/m1");
    assert_eq!(core.len(), 2);
}

#[test]
fn hosts_are_chosen_by_inspected_hardware_the_smallest_first() {
    let repo = placed("hardware");

    assert_eq!(repo.hosts_of("tenant-a", "store"), ["Worker metal3/n2"]);
    assert_eq!(repo.hosts_of("tenant-b", "arm"), ["Worker metal3/n4"]);
    assert_says(
        &run(&mut repo.sipgen(&["status"])).stdout,
        &["1     1  64c-512g-x86_64-2nvme", "1     0  80c-256g-aarch64", "1     1  unknown"],
    );
    assert_says(
        &run(&mut repo.sipgen(&["status", "--format", "json"])).stdout,
        &["\"hardware\": \"32c-128g-x86_64-2nvme\"", "\"hardware\": \"unknown\""],
    );
    assert_says(
        &run(&mut repo.sipgen(&["status", "--cluster", "tenant-a/store"])).stdout,
        &["metal3/n2  32c-128g-x86_64-2nvme  Worker of tenant-a/store"],
    );
}

#[test]
fn two_tenants_make_room_for_a_third() {
    let repo = placed("two-tenants");

    assert_eq!(repo.hosts_of("tenant-a", "edge"), ["Worker metal3/n2"]);
    assert_eq!(repo.hosts_of("tenant-b", "edge"), ["Worker metal3/n3"]);
    assert_eq!(repo.hosts_of("tenant-c", "edge"), ["Worker metal3/n1"]);
}

#[test]
fn an_upgrade_that_needs_a_standby_gets_its_fourth_rack() {
    let repo = placed("standby");

    let core = repo.hosts_of("tenant-b", "core");
    assert_eq!(core.len(), 4);
    assert!(core.contains(&"ControlPlane metal3/a-r4".to_owned()), "{core:?}");
}

#[test]
fn an_adopted_cluster_keeps_its_hosts_and_gets_the_third_rack() {
    let repo = placed("adopted");

    assert_eq!(
        repo.hosts_of("tenant-b", "legacy"),
        ["ControlPlane metal3/a-r3", "ControlPlane metal3/b-r1", "ControlPlane metal3/c-r2"]
    );
    assert_eq!(repo.hosts_of("tenant-a", "batch"), ["Worker metal3/d-r2"]);
}

#[test]
fn a_host_that_is_given_back_goes_to_the_tenant_that_waits_for_it_once_it_is_seen_free() {
    let repo = placed("handed-on");
    let labels = "        sip.airshipit.org/cluster-name: old\n        sip.airshipit.org/cluster-namespace: tenant-a\n        \
                  sip.airshipit.org/node-type: Worker\n";
    repo.replace("hosts.yaml", "      labels:\n", &format!("      labels:\n{labels}"));
    repo.replace("tenant-a-old.yaml", "active: 2", "active: 1");
    repo.replace("tenant-b-new.yaml", "active: 0", "active: 1");

    assert_says(
        &repo.generate(&["--keep-going"]).expect(1).stderr,
        &["1 of the 1 Worker hosts of tenant-b/new"],
    );
    assert_eq!(repo.hosts_of("tenant-a", "old"), ["Worker metal3/h1"]);

    repo.replace_behind("hosts.yaml", "      name: h2\n", labels, "");
    repo.generate(&[]).expect(0);
    assert_eq!(repo.hosts_of("tenant-b", "new"), ["Worker metal3/h2"]);
}

#[test]
fn the_cluster_of_higher_priority_is_served_first() {
    let repo = Repo::of_fixture("placement-handed-on");
    repo.replace("tenant-b-new.yaml", "active: 0", "active: 1");
    repo.replace(
        "tenant-b-new.yaml",
        "metadata:\n",
        "metadata:\n  annotations:\n    sip.airshipit.org/priority: \"10\"\n",
    );

    repo.generate(&["--keep-going"]).expect(1);

    assert_eq!(repo.hosts_of("tenant-b", "new"), ["Worker metal3/h1"]);
    assert!(repo.hosts_of("tenant-a", "old").is_empty());
}

#[test]
fn a_priority_that_is_no_number_is_refused() {
    let repo = placed("handed-on");
    repo.replace(
        "tenant-b-new.yaml",
        "metadata:\n",
        "metadata:\n  annotations:\n    sip.airshipit.org/priority: high\n",
    );

    assert_says(
        &repo.refused(),
        &["the priority `high` is not an integer", "tenant-b-new.yaml:6:33"],
    );
}

#[test]
fn a_shortage_among_rivals_names_them_and_counts() {
    let repo = placed("handed-on");
    repo.remove_all("overlays/hosts/observed/tenant-a.old");
    repo.replace("tenant-b-new.yaml", "active: 0", "active: 1");

    insta::assert_snapshot!(repo.refused(), @"
    warning[SIP0522]: tenant-a/old has 2 hosts of namespace `metal3`, which Cluster API cannot claim
      --> tenant-a-old.yaml:5:9
       |
     5 |   name: old
       |         ^^^
      help: Machines claim hosts of their own namespace only: keep hosts and Cluster in one namespace, by the request's `metadata.namespace` or that of the BareMetalHosts

    error[SIP0501]: 1 of the 1 Worker hosts of tenant-b/new cannot be found: 2 node sets compete for the same hosts: together they miss 3, and 2 are available
      --> tenant-b-new.yaml:13:7
       |
    13 |       count:
       |       ^^^^^
      help: the node set has 0 of 1, and 0 more are free
            competing node sets, with the hosts that they miss: tenant-a/old Worker (2), tenant-b/new Worker (1)
            2 other hosts cannot serve it:
                2 assigned to a cluster already (metal3/h1, metal3/h2)

    1 error in tenant-b/new: no files written
    ");
}

mod scaling_down {
    use super::*;

    /// Four hosts for one cluster, of which it is to keep fewer.
    fn standby_core() -> Repo {
        placed("standby")
    }

    fn core(repo: &Repo) -> Vec<String> {
        repo.hosts_of("tenant-b", "core")
    }

    #[test]
    fn gives_back_by_name_from_the_end_where_hosts_are_equally_good() {
        let repo = standby_core();
        let before = core(&repo);

        repo.replace("tenant-b-core.yaml", "standby: 1", "standby: 0");
        repo.generate(&[]).expect(0);

        assert_eq!(core(&repo), before[..3]);
    }

    #[test]
    fn gives_back_a_failed_host_first() {
        let repo = standby_core();
        set_state(
            &repo,
            "b-r1",
            "      errorType: provisioning error\n      errorMessage: no luck\n",
        );

        repo.replace("tenant-b-core.yaml", "standby: 1", "standby: 0");
        repo.generate(&[]).expect(0);

        assert!(!core(&repo).contains(&"ControlPlane metal3/b-r1".to_owned()));
    }

    #[test]
    fn gives_back_a_host_that_no_longer_matches_before_others() {
        let repo = standby_core();
        repo.replace_behind("hosts.yaml", "      name: b-r1\n", "flavor: any", "flavor: other");

        repo.replace("tenant-b-core.yaml", "standby: 1", "standby: 0");
        repo.generate(&[]).expect(0);

        assert!(!core(&repo).contains(&"ControlPlane metal3/b-r1".to_owned()));
    }

    #[test]
    fn gives_back_a_host_that_doubles_a_domain_before_others() {
        let repo = standby_core();
        repo.replace_behind("hosts.yaml", "      name: c-r2\n", "rack: r2", "rack: r1");

        repo.replace("tenant-b-core.yaml", "standby: 1", "standby: 0");
        repo.generate(&[]).expect(0);

        assert!(!core(&repo).contains(&"ControlPlane metal3/c-r2".to_owned()));
    }

    #[test]
    fn gives_back_a_host_that_a_machine_consumes_last_and_with_a_word() {
        let repo = standby_core();
        let last = core(&repo)[3].rsplit('/').next().unwrap().to_owned();
        let consumed = "    spec:\n      consumerRef: {kind: Metal3Machine, name: core-9, namespace: metal3}\n";
        repo.replace_behind(
            "hosts.yaml",
            &format!("      name: {last}\n"),
            "    spec:\n",
            consumed,
        );

        repo.replace("tenant-b-core.yaml", "standby: 1", "standby: 0");
        repo.generate(&[]).expect(0);
        assert!(core(&repo).contains(&format!("ControlPlane metal3/{last}")), "{:?}", core(&repo));

        repo.replace("tenant-b-core.yaml", "active: 3", "active: 0");
        let run = repo.generate(&[]).expect(0);
        assert_says(
            &run.stderr,
            &[&format!("releases host metal3/{last}, which Metal3Machine metal3/core-9 consumes")],
        );
    }
}

mod a_host_that_is_lost {
    use super::*;

    /// One cluster with two hosts, and two that nobody has.
    fn with_spare_hosts() -> Repo {
        let repo = Repo::of_fixture("placement-narrow-pool");
        repo.remove("tenant-a-web.yaml");
        repo.generate(&[]).expect(0);
        repo
    }

    #[test]
    fn is_replaced_by_a_spare_one() {
        let repo = with_spare_hosts();
        repo.replace(
            "tenant-b-render.yaml",
            "hardware.example.com/gpu: \"yes\"",
            "hardware.example.com/flavor: worker",
        );
        set_state(&repo, "w1", "      errorType: inspection error\n      errorMessage: no luck\n");

        repo.generate(&[]).expect(0);

        let hosts = repo.hosts_of("tenant-b", "render");
        assert_eq!(hosts.len(), 2);
        assert!(!hosts.contains(&"Worker metal3/w1".to_owned()), "{hosts:?}");
    }

    #[test]
    fn stays_with_a_warning_when_there_is_no_spare_one() {
        let repo = placed("narrow-pool");
        set_state(&repo, "w1", "      errorType: inspection error\n      errorMessage: no luck\n");

        let run = repo.generate(&[]).expect(0);

        assert_says(
            &run.stderr,
            &["host metal3/w1 (Worker of tenant-b/render) has failed", "no other host can take"],
        );
        assert_eq!(repo.hosts_of("tenant-b", "render"), ["Worker metal3/w1", "Worker metal3/w2"]);
    }

    #[test]
    fn stays_when_its_error_passes_by_itself() {
        let repo = with_spare_hosts();
        repo.replace(
            "tenant-b-render.yaml",
            "hardware.example.com/gpu: \"yes\"",
            "hardware.example.com/flavor: worker",
        );
        set_state(
            &repo,
            "w1",
            "      errorType: power management error\n      errorMessage: no answer\n",
        );

        repo.generate(&[]).expect(0);

        assert_eq!(repo.hosts_of("tenant-b", "render"), ["Worker metal3/w1", "Worker metal3/w2"]);
    }
}

mod rebalancing {
    use super::*;

    /// A host of the cluster no longer matches, and there is another one that does.
    fn unbalanced() -> Repo {
        let repo = Repo::of_fixture("placement-crowded-rack");
        repo.remove("tenant-a-batch.yaml");
        repo.generate(&[]).expect(0);
        repo.replace_behind("hosts.yaml", "      name: m2\n", "flavor: any", "flavor: other");
        repo
    }

    #[test]
    fn is_not_done_unasked_but_advised() {
        let repo = unbalanced();

        let run = repo.generate(&[]).expect(0);

        assert_says(&run.stderr, &["no longer matches the selector", "--rebalance"]);
        assert_eq!(
            repo.hosts_of("tenant-b", "core"),
            ["ControlPlane metal3/m1", "ControlPlane metal3/m2"]
        );
    }

    #[test]
    fn shows_what_it_would_move_and_moves_it() {
        let repo = unbalanced();

        let run = repo.generate(&["--rebalance", "--check"]).expect(1);
        assert_says(&run.stderr, &["tenant-b/core replaces metal3/m2 by metal3/m3"]);

        repo.generate(&["--rebalance"]).expect(0);
        assert_eq!(
            repo.hosts_of("tenant-b", "core"),
            ["ControlPlane metal3/m1", "ControlPlane metal3/m3"]
        );
    }

    #[test]
    fn leaves_a_host_that_a_machine_consumes() {
        let repo = unbalanced();
        let consumed = "    spec:\n      consumerRef: {kind: Metal3Machine, name: core-9, namespace: metal3}\n";
        repo.replace_behind("hosts.yaml", "      name: m2\n", "    spec:\n", consumed);

        repo.generate(&["--rebalance"]).expect(0);

        assert_eq!(
            repo.hosts_of("tenant-b", "core"),
            ["ControlPlane metal3/m1", "ControlPlane metal3/m2"]
        );
    }
}

#[test]
fn hosts_are_spread_over_racks_where_nobody_asks_for_it() {
    let repo = Repo::of_fixture("placement-standby");
    repo.replace("tenant-a-batch.yaml", "active: 1", "active: 4");
    repo.replace("tenant-b-core.yaml", "active: 3", "active: 0");
    repo.replace("tenant-b-core.yaml", "standby: 1", "standby: 0");

    repo.generate(&[]).expect(0);

    assert_eq!(
        repo.hosts_of("tenant-a", "batch"),
        ["Worker metal3/a-r4", "Worker metal3/b-r1", "Worker metal3/c-r2", "Worker metal3/d-r3"]
    );
}

#[test]
fn machines_and_node_sets_share_one_inventory() {
    let repo = placed("machines");

    assert_eq!(
        repo.hosts_of("tenant-a", "web"),
        ["ControlPlane metal3/n1", "ControlPlane metal3/n4"]
    );
    assert_eq!(
        repo.hosts_of("lab", "vran"),
        [
            "ControlPlane metal3/n3",
            "ControlPlane metal3/n5",
            "Worker metal3/n2",
            "Worker metal3/n6"
        ]
    );
}

#[test]
fn a_machine_takes_the_smallest_host_that_suffices() {
    let repo = of_machines_alone();
    repo.replace("lab-vran.yaml", "        cpu: 32\n        memory: 100Gi\n", "        cpu: 8\n");
    repo.generate(&[]).expect(0);

    let labels = repo.read("overlays/hosts/observed/lab.vran/hosts.yaml");
    let node_of = |host: &str| {
        let document =
            labels.split("---\n").find(|document| document.contains(&format!("name: \"{host}\"")));
        document.map(|document| {
            document
                .split("bpa.akraino.org/node: ")
                .nth(1)
                .unwrap()
                .lines()
                .next()
                .unwrap()
                .to_owned()
        })
    };
    assert_eq!(node_of("n1").as_deref(), Some("\"du-1\""), "the smaller one of those with SR-IOV");
    assert_eq!(
        node_of("n2").as_deref(),
        Some("\"du-2\""),
        "n3 and n5 are named, and n6 has SR-IOV that nobody asked for"
    );
}

#[test]
fn a_host_that_one_cluster_has_is_not_given_to_a_machine_that_names_it() {
    let repo = Repo::of_fixture("placement-machines");
    let vran = repo.read("lab-vran.yaml");
    repo.remove("lab-vran.yaml");
    repo.generate(&[]).expect(0);
    repo.write("lab-vran.yaml", &vran.replace("00:00:5E:00:53:13", "00:00:5E:00:53:11"));

    let run = repo.generate(&[]).expect(1);

    assert_says(
        &run.stderr,
        &[
            "error[SIP0540]: head-1 (ControlPlane) of lab/vran is host metal3/n1 by its MAC address, which is assigned to \
             tenant-a/web",
            "--> lab-vran.yaml:14:22",
        ],
    );
    assert_eq!(
        repo.hosts_of("tenant-a", "web"),
        ["ControlPlane metal3/n1", "ControlPlane metal3/n4"]
    );
}

#[test]
fn a_machine_keeps_its_host_when_its_role_and_its_needs_change_and_loses_it_when_it_names_another()
{
    let repo = placed("machines");
    let hosts = || repo.hosts_of("lab", "vran");

    repo.replace("lab-vran.yaml", "        cpu: 16\n        sriov: true\n", "        cpu: 2\n");
    repo.replace(
        "lab-vran.yaml",
        "  workers:\n    - du-1:\n        cpu: 2\n",
        "    - du-1:\n        cpu: 2\n  workers:\n",
    );
    repo.generate(&[]).expect(0);
    assert_eq!(
        hosts(),
        [
            "ControlPlane metal3/n3",
            "ControlPlane metal3/n5",
            "ControlPlane metal3/n6",
            "Worker metal3/n2"
        ]
    );

    repo.replace(
        "lab-vran.yaml",
        "        cpu: 32\n        memory: 100Gi\n",
        "        mac-address: 00:00:5e:00:53:16\n",
    );
    repo.replace("lab-vran.yaml", "        cpu: 2\n", "        mac-address: 00:00:5e:00:53:12\n");
    repo.generate(&[]).expect(0);
    assert_eq!(
        hosts(),
        [
            "ControlPlane metal3/n2",
            "ControlPlane metal3/n3",
            "ControlPlane metal3/n5",
            "Worker metal3/n6"
        ],
        "du-1 and du-2 have changed their hosts"
    );
}

#[test]
fn a_machine_that_is_provisioned_keeps_its_host_when_that_has_failed_or_is_too_small() {
    let repo = of_machines_alone();
    repo.generate(&[]).expect(0);
    let hosts = repo.hosts_of("lab", "vran");
    assert!(hosts.contains(&"Worker metal3/n1".to_owned()), "{hosts:?}");
    let ready = "      operationalStatus: OK\n      errorMessage: \"\"\n";
    let failed = "      operationalStatus: error\n      errorType: registration error\n      errorMessage: bad password\n";
    repo.replace_behind("hosts.yaml", "      name: n1\n", ready, failed);
    set_provisioning(&repo, "n1", "provisioned", "externally provisioned");
    repo.replace("lab-vran.yaml", "        cpu: 16\n", "        cpu: 24\n");

    let run = repo.generate(&["--rebalance"]).expect(0);

    assert_says(&run.stderr, &["metal3/n1", "it stays: it is provisioned, and may be running"]);
    assert_eq!(repo.hosts_of("lab", "vran"), hosts);

    set_provisioning(&repo, "n1", "externally provisioned", "available");
    repo.generate(&[]).expect(0);
    assert!(
        !repo.hosts_of("lab", "vran").contains(&"Worker metal3/n1".to_owned()),
        "nothing runs there yet"
    );
}

#[test]
fn a_host_that_a_cluster_names_is_kept_for_it_while_it_is_left_out_or_has_errors() {
    let one = "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {name: NAME, namespace: tenant-a}\nspec:\n  \
               nodes:\n    Worker: {labelSelector: {}, count: {active: 3, standby: 0}}\n";
    for (cpu, args) in
        [("cpu: 16", ["--only", "tenant-a/all"].as_slice()), ("cpu: -16", &["--keep-going"])]
    {
        let repo = Repo::of_fixture("placement-machines");
        repo.remove("tenant-a-web.yaml");
        set_provisioning(&repo, "n2", "provisioned", "available");
        repo.replace("lab-vran.yaml", "cpu: 16", cpu);
        repo.write("all.yaml", &one.replace("NAME", "all"));

        repo.generate(args);

        assert_eq!(
            repo.hosts_of("tenant-a", "all"),
            ["Worker metal3/n1", "Worker metal3/n2", "Worker metal3/n4"],
            "{cpu}: n3 is named, and n5"
        );
    }
}

#[test]
fn a_host_that_goes_from_one_cluster_to_a_machine_of_another_takes_two_runs() {
    let repo = placed("machines");
    repo.remove("tenant-a-web.yaml");
    repo.generate(&["--keep-going"]).expect(0);
    let vran = repo.read("lab-vran.yaml");
    repo.write("lab-vran.yaml", &vran.replace("cluster: vran", "cluster: other"));

    let run = repo.generate(&[]).expect(1);

    assert_says(
        &run.stderr,
        &["lab/vran has not yet released", "an observed host moves between clusters in two runs"],
    );
    repo.generate(&["--keep-going"]).expect(1);
    assert!(repo.hosts_of("lab", "vran").is_empty());
}

/// Gives the Provisioning of `placement-machines` other workers.
fn with_workers(repo: &Repo, workers: &str) {
    let (before, _) = repo
        .read("lab-vran.yaml")
        .split_once("  workers:\n")
        .map(|(a, b)| (a.to_owned(), b.len()))
        .unwrap();
    repo.write("lab-vran.yaml", &format!("{before}  workers:\n{workers}"));
}

#[test]
fn a_machine_that_is_renamed_keeps_its_host() {
    let repo = placed("machines");
    let labels = || {
        let text = repo.read("overlays/hosts/observed/lab.vran/hosts.yaml");
        let mut hosts: Vec<String> = text.split("---\n").map(str::to_owned).collect();
        hosts.sort();
        hosts
    };
    let renamed = [("du-1", "z-1"), ("du-2", "a-1"), ("head-2", "head-0")];
    let mut expected = labels();
    for (was, is) in renamed {
        repo.replace("lab-vran.yaml", &format!("- {was}:"), &format!("- {is}:"));
        expected
            .iter_mut()
            .for_each(|host| *host = host.replace(&format!("\"{was}\""), &format!("\"{is}\"")));
    }

    let said = repo.generate(&[]).expect(0).stderr;

    assert_says(&said, &["0 added, 0 released"]);
    assert_eq!(labels(), expected);
}

#[test]
fn a_host_of_a_name_that_is_gone_goes_to_no_machine_that_asks_for_more_nor_when_it_has_failed() {
    let repo = of_machines_alone();
    with_workers(&repo, "    - du-1: {cpu: 16, sriov: true}\n");
    repo.generate(&[]).expect(0);
    assert!(repo.hosts_of("lab", "vran").contains(&"Worker metal3/n1".to_owned()));

    with_workers(&repo, "    - du-9: {cpu: 17, sriov: true}\n");
    assert_says(&repo.generate(&["--check"]).expect(1).stderr, &["1 added, 1 released"]);

    with_workers(&repo, "    - du-9: {cpu: 16, sriov: true}\n");
    assert_says(&repo.generate(&["--check"]).expect(1).stderr, &["0 added, 0 released"]);
    set_state(&repo, "n1", "      operationalStatus: error\n      errorType: provisioning error\n");
    assert_says(&repo.generate(&["--check"]).expect(1).stderr, &["1 added, 1 released"]);
}

#[test]
fn a_host_of_a_name_that_is_gone_goes_to_the_machine_that_can_be_no_other() {
    let repo = of_machines_alone();
    with_workers(&repo, "    - du-2: {cpu: 32}\n");
    repo.generate(&[]).expect(0);
    assert!(repo.hosts_of("lab", "vran").contains(&"Worker metal3/n2".to_owned()));
    for host in ["n4", "n6"] {
        set_provisioning(&repo, host, "provisioned", "available");
    }

    with_workers(&repo, "    - a-1: {cpu: 1}\n    - b-1: {cpu: 32}\n");
    repo.generate(&[]).expect(0);

    let labels = repo.read("overlays/hosts/observed/lab.vran/hosts.yaml");
    let host_of_b = labels.split("---\n").find(|document| document.contains("\"b-1\"")).unwrap();
    assert!(host_of_b.contains("name: \"n2\""), "{labels}");
}

#[test]
fn a_host_with_the_labels_of_a_cluster_and_no_machine_is_adopted_by_one_that_lacks_a_host() {
    let repo = Repo::of_fixture("placement-machines");
    repo.remove("tenant-a-web.yaml");
    let labels = "        sip.airshipit.org/cluster-namespace: lab\n        sip.airshipit.org/cluster-name: vran\n        \
                  sip.airshipit.org/node-type: Worker\n";
    let rack = "        topology.example.com/rack: c\n";
    repo.replace_behind("hosts.yaml", "      name: n6\n", rack, &format!("{rack}{labels}"));
    set_provisioning(&repo, "n6", "provisioned", "available");

    let run = repo.generate(&[]).expect(0);

    assert!(
        repo.hosts_of("lab", "vran").contains(&"Worker metal3/n6".to_owned()),
        "{}",
        run.stderr
    );
    assert_says(&run.stderr, &["0 released"]);
}

#[test]
fn a_machine_takes_no_host_without_an_operating_system_and_a_sipcluster_none_with_one() {
    let repo = of_machines_alone();
    for host in ["n1", "n2", "n4", "n6"] {
        set_provisioning(&repo, host, "provisioned", "available");
    }
    let said = repo.generate(&[]).expect(1).stderr;
    assert_says(&said, &["error[SIP0501]", "without an operating system (state `available`)"]);

    set_provisioning(&repo, "n5", "provisioned", "available");
    let said = repo.generate(&[]).expect(1).stderr;
    assert_says(
        &said,
        &[
            "error[SIP0540]: head-2 (ControlPlane) of lab/vran is host metal3/n5 by its MAC address, which has no installed \
             operating system: it is in the state `available`",
        ],
    );
}

#[test]
fn a_host_that_a_machine_of_cluster_api_consumes_is_not_for_a_provisioning() {
    let repo = of_machines_alone();
    for host in ["n1", "n6"] {
        repo.replace_behind(
            "hosts.yaml",
            &format!("      name: {host}\n"),
            "      online: true\n",
            "      online: true\n      consumerRef: {kind: Metal3Machine, namespace: other, name: worker-1}\n",
        );
    }

    let said = repo.generate(&[]).expect(1).stderr;

    assert_says(&said, &["error[SIP0501]", "in use (consumerRef)"]);
}

#[test]
fn a_machine_keeps_a_host_without_an_operating_system_with_a_warning_until_it_is_rebalanced() {
    let repo = of_machines_alone();
    repo.generate(&[]).expect(0);
    let before = repo.hosts_of("lab", "vran");
    assert!(before.contains(&"Worker metal3/n2".to_owned()));
    set_provisioning(&repo, "n2", "provisioned", "available");

    let run = repo.generate(&[]).expect(0);

    assert_says(
        &run.stderr,
        &[
            "warning[SIP0515]: host metal3/n2 (du-2 (Worker) of lab/vran) has no operating system yet",
            "0 added, 0 released",
        ],
    );
    assert_eq!(repo.hosts_of("lab", "vran"), before);

    set_provisioning(&repo, "n2", "available", "provisioning");
    let run = repo.generate(&["--rebalance"]).expect(0);
    assert_says(&run.stderr, &["wait until Metal3 has provisioned it", "0 added, 0 released"]);

    set_provisioning(&repo, "n2", "provisioning", "available");
    repo.generate(&["--rebalance"]).expect(0);
    assert!(!repo.hosts_of("lab", "vran").contains(&"Worker metal3/n2".to_owned()));
}

#[test]
fn a_host_of_unknown_state_is_for_the_machine_that_names_it_and_for_no_other() {
    let repo = of_machines_alone();
    repo.replace(
        "lab-vran.yaml",
        "        cpu: 32\n        memory: 100Gi\n",
        "        cpu: 1\n        labelSelector: {matchLabels: {topology.example.com/rack: b}}\n",
    );
    repo.generate(&[]).expect(0);
    assert!(repo.hosts_of("lab", "vran").contains(&"ControlPlane metal3/n3".to_owned()));
    set_provisioning(&repo, "n4", "provisioned", "inspecting");
    repo.replace("lab-vran.yaml", "    - head-1:\n        mac-address: 00:00:5E:00:53:13\n", "");
    repo.remove_all("overlays");

    let said = repo.generate(&[]).expect(1).stderr;

    assert_says(&said, &["not known to have an operating system"]);
}

#[test]
fn a_machine_takes_a_host_with_the_cpus_that_it_requires() {
    let repo = of_machines_alone();
    let xeon = "        cpu:\n          model: Intel(R) Xeon(R) Gold 6252N CPU @ 2.30GHz\n          flags: [fpu, avx512f]\n";
    let epyc = "        cpu:\n          model: AMD EPYC 7313P\n          flags: [fpu, avx2]\n";
    for (host, cpus) in [("n2", epyc), ("n4", xeon), ("n6", epyc)] {
        repo.replace_behind("hosts.yaml", &format!("      name: {host}\n"), "        cpu:\n", cpus);
    }
    with_workers(&repo, "    - du-1: {cpu: 1, cpuModel: xeon*gold, cpuFlags: [avx512f]}\n");
    repo.generate(&[]).expect(0);
    assert!(repo.hosts_of("lab", "vran").contains(&"Worker metal3/n4".to_owned()));

    with_workers(
        &repo,
        "    - du-1: {cpu: 1, cpuFlags: [avx512f]}\n    - du-2: {cpu: 1, cpuFlags: [avx512f]}\n",
    );
    let said = repo.generate(&[]).expect(1).stderr;
    assert_says(&said, &["error[SIP0501]", "without avx512f", "without known CPU features"]);

    with_workers(
        &repo,
        "    - du-1: {mac-address: 00:00:5e:00:53:16, cpuModel: Xeon, cpuArch: aarch64}\n",
    );
    let said = repo.generate(&[]).expect(0).stderr;
    assert_says(
        &said,
        &[
            "has the CPU model `AMD EPYC 7313P`, and `Xeon` is asked for",
            "architecture `x86_64`, and `aarch64`",
        ],
    );

    with_workers(&repo, "    - du-1: {cpuFlags: [\"avx 512\"]}\n");
    let said = repo.generate(&[]).expect(1).stderr;
    assert_says(
        &said,
        &["`du-1` requires a CPU feature that is not a single word", "such as `avx512f`"],
    );
}
