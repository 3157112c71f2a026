//! Node sets that cannot be filled: the constraint that decides, how many hosts are missing, and why the others
//! were refused.

use insta::assert_snapshot;

use crate::support::{Repo, assert_says};

const EDGE: &str = "sites/lab/clusters/edge.yaml";
const RACK_C: &str = "sites/lab/hosts/rack-c.yaml";
const C1: &str = "  name: lab-c1\n  namespace: tenant-a\n";
const C1_LABELS: &str =
    "  labels:\n    hardware.example.com/flavor: control-plane\n    topology.example.com/rack: c\n";
const C1_NETWORK: &str = "      - id: oam-ipv4\n        type: ipv4\n        link: eno1\n        ip_address: 198.51.100.31\n";

/// The quickstart after its first run, and now the cluster wants a third control-plane host: only lab-c1 is left.
fn one_host_left() -> Repo {
    let repo = Repo::generated("quickstart");
    repo.replace(EDGE, "active: 2", "active: 3");
    repo
}

/// What sipgen says when lab-c1 cannot be taken.
#[track_caller]
fn refused_for_lab_c1(repo: &Repo, reason: &str) {
    let message = repo.refused();

    assert_says(
        &message,
        &[
            "error[SIP0501]: 1 of the 3 ControlPlane hosts of tenant-a/edge cannot be found",
            "--> sites/lab/clusters/edge.yaml:16:7",
            &format!("1 {reason} (tenant-a/lab-c1)"),
            "1 error in tenant-a/edge: no files written",
        ],
    );
}

#[test]
fn the_third_host_is_taken_when_nothing_is_wrong_with_it() {
    let repo = one_host_left();

    repo.generate(&[]).expect(0);

    assert!(repo.hosts_of("tenant-a", "edge").contains(&"ControlPlane tenant-a/lab-c1".to_owned()));
}

/// The quickstart after its first run, with a second cluster that has no hosts yet.
fn with_a_second_cluster(selector: &str, active: usize) -> Repo {
    let repo = Repo::generated("quickstart");
    let kustomization = "sites/lab/clusters/kustomization.yaml";
    repo.replace(kustomization, "  - edge.yaml\n", "  - edge.yaml\n  - more.yaml\n");
    repo.write(
        "sites/lab/clusters/more.yaml",
        &format!(
            "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {{name: more, namespace: tenant-a}}\n\
             spec:\n  nodes:\n    ControlPlane:\n      labelSelector: {selector}\n      count: {{active: {active}}}\n"
        ),
    );
    repo
}

#[test]
fn a_selector_that_matches_nothing() {
    let repo = with_a_second_cluster("{matchLabels: {hardware.example.com/flavor: gold}}", 3);

    assert_snapshot!(repo.refused(), @"
    error[SIP0501]: 3 of the 3 ControlPlane hosts of tenant-a/more cannot be found: its selector matches no host
      --> sites/lab/clusters/more.yaml:7:66
       |
     7 | …tor: {matchLabels: {hardware.example.com/flavor: gold}}
       |                                                   ^^^^
      --> sites/lab/clusters/more.yaml:8:7  (3 are wanted)
       |
     8 |       count: {active: 3}
       |       -----
      help: hosts have `hardware.example.com/flavor` with the values `control-plane`, `worker`
            the node set has 0 of 3, and 0 more are free
            6 other hosts cannot serve it:
                6 not matching `hardware.example.com/flavor=gold` of the selector (tenant-a/lab-a1, tenant-a/lab-a2, tenant-a/lab-b1, …)

    1 error in tenant-a/more: no files written
    ");
}

#[test]
fn a_label_that_hosts_have_under_another_prefix() {
    let repo =
        with_a_second_cluster("{matchLabels: {vino.airshipit.org/flavor: control-plane}}", 3);

    assert_snapshot!(repo.refused(), @"
    error[SIP0501]: 3 of the 3 ControlPlane hosts of tenant-a/more cannot be found: its selector matches no host (none has a label vino.airshipit.org/flavor; did you mean hardware.example.com/flavor?)
      --> sites/lab/clusters/more.yaml:7:37
       |
     7 |       labelSelector: {matchLabels: {vino.airshipit.org/flavor: control-plane}}
       |                                     ^^^^^^^^^^^^^^^^^^^^^^^^^
      --> sites/lab/clusters/more.yaml:8:7  (3 are wanted)
       |
     8 |       count: {active: 3}
       |       -----
      help: hosts have the label `hardware.example.com/flavor`, with the values `control-plane`, `worker`: did you mean that?
            the node set has 0 of 3, and 0 more are free
            6 other hosts cannot serve it:
                6 not matching `vino.airshipit.org/flavor=control-plane` of the selector (tenant-a/lab-a1, tenant-a/lab-a2, tenant-a/lab-b1, …)

    1 error in tenant-a/more: no files written
    ");
}

#[test]
fn a_label_that_no_host_has_under_any_prefix() {
    let repo = with_a_second_cluster("{matchLabels: {example.com/size: big}}", 3);

    let message = repo.refused();

    assert_says(&message, &["its selector matches no host (none has a label example.com/size)\n"]);
}

#[test]
fn a_selector_that_no_longer_matches_the_hosts_that_the_cluster_keeps() {
    let repo = one_host_left();
    repo.replace(
        EDGE,
        "hardware.example.com/flavor: control-plane",
        "vino.airshipit.org/flavor: control-plane",
    );

    let message = repo.refused();

    assert_says(
        &message,
        &["its selector matches no host", "did you mean hardware.example.com/flavor?"],
    );
}

#[test]
fn too_few_racks() {
    let repo = Repo::generated("quickstart");
    repo.replace(RACK_C, "topology.example.com/rack: c", "topology.example.com/rack: b");
    repo.replace(EDGE, "active: 2", "active: 3");

    assert_snapshot!(repo.refused(), @"
    error[SIP0501]: 1 of the 3 ControlPlane hosts of tenant-a/edge cannot be found: its topologyKey wants every host in another domain of topology.example.com/rack, and 3 that match are in 2
      --> sites/lab/clusters/edge.yaml:16:7
       |
    16 |       count:
       |       ^^^^^
      help: the node set has 2 of 3, and 0 more are free
            1 other host matches, in 1 domain of topology.example.com/rack (b), 1 of which it already uses
            4 other hosts cannot serve it:
                3 not matching `hardware.example.com/flavor=control-plane` of the selector (tenant-a/lab-a2, tenant-a/lab-b2, tenant-a/lab-c2)
                1 in a domain of topology.example.com/rack where the cluster has a host of this role already (tenant-a/lab-c1)

    1 error in tenant-a/edge: no files written
    ");
}

#[test]
fn too_few_hosts() {
    let repo = one_host_left();
    repo.replace(EDGE, "active: 3", "active: 12");

    let message = repo.refused();

    assert_says(
        &message,
        &["9 of the 12 ControlPlane hosts", "its selector matches only 3 of all hosts"],
    );
}

/// A cluster like another one is refused without a search. It must not take over the other's names, nor
/// the numbers from before a cluster between them was served.
#[test]
fn equal_clusters_are_refused_each_in_its_own_name_and_by_what_is_left_then() {
    let repo = Repo::empty();
    let host = |at: usize| {
        format!(
            "---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {{name: h{at}, namespace: metal, \
             labels: {{flavor: a}}}}\nspec: {{}}\nstatus: {{provisioning: {{state: available}}}}\n"
        )
    };
    let cluster = |(name, wanted): (&str, usize)| {
        format!(
            "---\napiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {{name: {name}, namespace: t}}\n\
             spec:\n  nodes:\n    Worker: {{labelSelector: {{matchLabels: {{flavor: a}}}}, count: {{active: {wanted}, \
             standby: 0}}}}\n"
        )
    };
    let clusters = [("c1", 9), ("c2", 9), ("c3", 4), ("c4", 9)];
    repo.write("hosts.yaml", &(0..6).map(host).collect::<String>());
    repo.write("clusters.yaml", &clusters.into_iter().map(cluster).collect::<String>());

    let message = repo.refused();

    assert_says(
        &message,
        &[
            "3 of the 9 Worker hosts of t/c1 cannot be found",
            "3 of the 9 Worker hosts of t/c2 cannot be found",
            "7 of the 9 Worker hosts of t/c4 cannot be found: there are only 6 hosts; 2 node sets compete for the same hosts: together they \
             miss 13, and 6 are available",
            "competing node sets, with the hosts that they miss: t/c3 Worker (4), t/c4 Worker (9)",
        ],
    );
}

#[test]
fn a_repo_without_hosts() {
    let repo = Repo::generated("quickstart");
    repo.write("sites/lab/hosts/kustomization.yaml", "resources: []\n");
    for rack in ["a", "b", "c"] {
        repo.remove(&format!("sites/lab/hosts/rack-{rack}.yaml"));
    }

    let message = repo.refused();

    assert_says(
        &message,
        &["2 of the 2 Worker hosts of tenant-a/edge", "the repo has no BareMetalHost"],
    );
}

#[test]
fn a_host_in_use() {
    let repo = one_host_left();
    repo.replace(
        RACK_C,
        "  networkData:\n    name: lab-c1-network-data\n",
        "  networkData:\n    name: lab-c1-network-data\n  consumerRef: {kind: Metal3Machine, name: other-x1}\n",
    );

    refused_for_lab_c1(&repo, "in use (consumerRef)");
}

#[test]
fn a_host_that_is_being_deleted() {
    let repo = one_host_left();
    repo.replace(RACK_C, C1, &format!("{C1}  deletionTimestamp: \"2026-03-09T09:04:01Z\"\n"));

    refused_for_lab_c1(&repo, "being deleted");
}

/// Gives lab-c1 a status, as a snapshot beside its manifest does.
fn lab_c1_with_status(status: &str) -> Repo {
    let repo = one_host_left();
    let host = "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {name: lab-c1, namespace: tenant-a}\n";
    repo.write("snapshot/hosts.yaml", &format!("{host}status: {status}\n"));
    repo
}

#[test]
fn a_host_in_error() {
    for status in [
        "{errorMessage: power supply failed}",
        "{errorType: registration error}",
        "{operationalStatus: error, provisioning: {state: available}}",
    ] {
        refused_for_lab_c1(&lab_c1_with_status(status), "in an error");
    }
}

#[test]
fn a_host_in_a_state_that_is_not_free() {
    for state in [
        "provisioned",
        "externally provisioned",
        "registering",
        "inspecting",
        "preparing",
        "deprovisioning",
    ] {
        let repo = lab_c1_with_status(&format!(
            "{{operationalStatus: OK, provisioning: {{state: {state}}}}}"
        ));

        refused_for_lab_c1(&repo, &format!("in the state `{state}`"));
    }
}

#[test]
fn a_host_that_an_annotation_reserves() {
    for annotation in [
        "baremetalhost.metal3.io/paused",
        "baremetalhost.metal3.io/detached",
        "capm3.metal3.io/unhealthy",
        "capi.metal3.io/unhealthy",
    ] {
        let repo = one_host_left();
        repo.replace(RACK_C, C1, &format!("{C1}  annotations: {{{annotation}: \"\"}}\n"));

        refused_for_lab_c1(&repo, &format!("with the annotation {annotation}"));
    }
}

#[test]
fn a_host_without_network_data() {
    let repo = one_host_left();
    repo.replace(RACK_C, "  networkData:\n    name: lab-c1-network-data\n", "");

    refused_for_lab_c1(&repo, "without network data");
}

#[test]
fn network_data_in_a_secret_that_is_not_there() {
    let repo = one_host_left();
    repo.replace(
        RACK_C,
        "  networkData:\n    name: lab-c1-network-data\n",
        "  networkData: {name: lost}\n",
    );

    refused_for_lab_c1(&repo, "with network data in a Secret that is not in the repo");
}

#[test]
fn network_data_that_is_encrypted() {
    let repo = one_host_left();
    let text = repo.read(RACK_C);
    let start = text.find("  networkData: |\n").unwrap();
    let end = text.find("    services: []\n").unwrap() + "    services: []\n".len();
    let encrypted = "  networkData: ENC[AES256_GCM,data:2jCk1Q==,iv:r0Y=,tag:9w==,type:str]\n";
    repo.write(RACK_C, &format!("{}{encrypted}{}", &text[..start], &text[end..]));

    refused_for_lab_c1(&repo, "with network data that is encrypted");
}

#[test]
fn no_network_of_the_name_that_a_service_uses() {
    let repo = one_host_left();
    repo.replace(RACK_C, C1_NETWORK, &C1_NETWORK.replace("oam-ipv4", "storage"));

    refused_for_lab_c1(&repo, "without a network `oam-ipv4` in the network data");
}

#[test]
fn a_network_without_a_static_address() {
    let dhcp = "      - id: oam-ipv4\n        type: ipv4_dhcp\n        link: eno1\n";
    for network in [dhcp, &C1_NETWORK.replace("198.51.100.31", "<no value>")] {
        let repo = one_host_left();
        repo.replace(RACK_C, C1_NETWORK, network);

        refused_for_lab_c1(&repo, "without an address in the network `oam-ipv4`");
    }
}

#[test]
fn a_host_that_labels_give_to_a_cluster_of_another_repo() {
    let repo = one_host_left();
    let labels = "    sip.airshipit.org/cluster-namespace: elsewhere\n    sip.airshipit.org/cluster-name: other\n    \
                  sip.airshipit.org/node-type: Worker\n";
    repo.replace(RACK_C, C1_LABELS, &format!("{C1_LABELS}{labels}"));

    refused_for_lab_c1(&repo, "with other assignment labels");
}

#[test]
fn a_host_that_labels_of_2020_say_is_taken() {
    for label in ["sip-scheduled: \"true\"", "workload-cluster: old", "cluster: old"] {
        let repo = one_host_left();
        repo.replace(RACK_C, C1_LABELS, &format!("{C1_LABELS}    sip.airshipit.org/{label}\n"));

        refused_for_lab_c1(&repo, "with other assignment labels");
    }
}

#[test]
fn hosts_that_another_cluster_of_the_repo_has() {
    let repo =
        with_a_second_cluster("{matchLabels: {hardware.example.com/flavor: control-plane}}", 2);

    assert_snapshot!(repo.refused(), @"
    error[SIP0501]: 1 of the 2 ControlPlane hosts of tenant-a/more cannot be found: 3 hosts match its selector, 2 of them assigned to a cluster already
      --> sites/lab/clusters/more.yaml:8:7
       |
     8 |       count: {active: 2}
       |       ^^^^^
      help: the node set has 0 of 2, and 1 more is free
            5 other hosts cannot serve it:
                3 not matching `hardware.example.com/flavor=control-plane` of the selector (tenant-a/lab-a2, tenant-a/lab-b2, tenant-a/lab-c2)
                2 assigned to a cluster already (tenant-a/lab-a1, tenant-a/lab-b1)

    1 error in tenant-a/more: no files written
    ");
}

#[test]
fn a_host_with_an_empty_topology_label_is_the_last_choice_and_worth_a_word() {
    for label in ["    topology.example.com/rack: \"\"\n", ""] {
        let repo = one_host_left();
        repo.replace(
            RACK_C,
            C1_LABELS,
            &format!("  labels:\n    hardware.example.com/flavor: control-plane\n{label}"),
        );

        let run = repo.generate(&[]).expect(0);

        assert_says(
            &run.stderr,
            &["tenant-a/lab-c1 is assigned", "although it has no label topology.example.com/rack"],
        );
    }
}

#[test]
fn many_reasons_at_once_are_counted_the_commonest_first() {
    let repo = Repo::generated("multi-cluster");
    repo.replace("tenants/tenant-a/core.yaml", "        active: 3\n", "        active: 9\n");

    assert_snapshot!(repo.refused(), @"
    warning[SIP0522]: tenant-a/core and 2 more clusters have 14 hosts of namespace `metal3`, which Cluster API cannot claim
      --> tenants/tenant-a/core.yaml:6:9
       |
     6 |   name: core
       |         ^^^^
      help: Machines claim hosts of their own namespace only: keep hosts and Cluster in one namespace, by the request's `metadata.namespace` or that of the BareMetalHosts

    error[SIP0501]: 6 of the 10 Worker hosts of tenant-a/core cannot be found: its selector matches only 7 of all hosts
      --> tenants/tenant-a/core.yaml:29:7
       |
    29 |       count:
       |       ^^^^^
      help: the node set has 4 of 10, and 0 more are free
            3 other hosts match, in 3 domains of topology.example.com/rack (a3, a4, a11), 3 of which it already uses
            20 other hosts cannot serve it:
                8 not matching `hardware.example.com/flavor=worker` of the selector (metal3/a3u6, metal3/a3u8, metal3/a4u6, …)
                5 not matching `hardware.example.com/disk notin (hdd)` of the selector (metal3/a3u16, metal3/a4u12, metal3/a11u16, …)
                4 not matching `!hardware.example.com/gpu` of the selector (metal3/a3u14, metal3/a4u16, metal3/a11u10, …)
                1 being deleted (metal3/a11u12)
                1 in an error (metal3/a4u10)
                1 without a network `oam-ipv4` in the network data (metal3/a3u10)

    1 error in tenant-a/core: no files written
    ");
}

#[test]
fn a_host_that_the_cluster_has_already_and_that_loses_its_address() {
    let repo = Repo::generated("quickstart");
    repo.replace("sites/lab/hosts/rack-a.yaml", "        ip_address: 198.51.100.11\n", "");

    assert_snapshot!(repo.refused(), @"
    error[SIP0311]: host tenant-a/lab-a1 of tenant-a/edge has no address in its network `oam-ipv4`, so loadbalancer-controlplane-edge cannot reach it
      --> sites/lab/hosts/rack-a.yaml:18:3
       |
    18 |   networkData:
       |   ^^^^^^^^^^^
      --> sites/lab/clusters/edge.yaml:30:26  (the service uses `oam-ipv4`)
       |
    30 |         nodeInterfaceId: oam-ipv4
       |                          --------
      help: the cluster has the host already, so it is not replaced: fix its network data, or nodeInterfaceId

    error[SIP0311]: host tenant-a/lab-a1 of tenant-a/edge has no address in its network `oam-ipv4`, so jumphost-edge cannot reach it
      --> sites/lab/hosts/rack-a.yaml:18:3
       |
    18 |   networkData:
       |   ^^^^^^^^^^^
      --> sites/lab/clusters/edge.yaml:42:26  (the service uses `oam-ipv4`)
       |
    42 |         nodeInterfaceId: oam-ipv4
       |                          --------
      help: the cluster has the host already, so it is not replaced: fix its network data, or nodeInterfaceId

    2 errors in tenant-a/edge: no files written
    ");
}

// Remedies for hosts without network data

#[test]
fn a_host_without_network_data_gets_a_remedy_that_fits_the_repo() {
    let repo = one_host_left();
    repo.replace(RACK_C, "  networkData:\n    name: lab-c1-network-data\n", "");
    // Nothing in the repo has it, as in repos that leave addresses to DHCP.
    repo.replace(RACK_C, "name: lab-c1-network-data\n", "name: something-else\n");
    repo.replace(RACK_C, "  networkData: |\n", "  other: |\n");
    let add = format!(
        "add a Secret with the key `networkData` to {RACK_C}, and name it in host tenant-a/lab-c1"
    );
    assert_says(&repo.refused(), &[&add]);
}

#[test]
fn an_observed_host_without_network_data_gets_it_where_it_is_made() {
    let repo = one_host_left();
    let host = "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata:\n  name: live-1\n  namespace: tenant-a\n";
    repo.write(
        "snapshot/hosts.yaml",
        &format!("{host}{C1_LABELS}spec: {{online: true}}\nstatus: {{provisioning: {{state: available}}}}\n"),
    );
    repo.replace(RACK_C, C1_LABELS, "");

    let message = repo.refused();

    assert_says(
        &message,
        &["kubectl patch baremetalhost -n tenant-a live-1 --type merge -p", "sipgen snapshot"],
    );
}

#[test]
fn a_secret_without_the_key_is_not_called_missing() {
    let repo = one_host_left();
    repo.replace(RACK_C, "  networkData: |\n", "  networkdata: |\n");

    let message = repo.refused();

    assert_says(
        &message,
        &[
            "1 with network data in a Secret that has no key `networkData` (tenant-a/lab-c1)",
            "put the network data of the Secret tenant-a/lab-c1-network-data under the key `networkData`; it has \
             `networkdata`",
        ],
    );
    assert!(!message.contains("not in the repo"), "{message}");
}

/// Gives the first host of the rack its address by annotation.
fn annotate_address(repo: &Repo) {
    repo.replace_behind(
        RACK_C,
        "kind: BareMetalHost",
        "metadata:\n",
        "metadata:\n  annotations: {sip.airshipit.org/addresses: \"oam-ipv4=198.51.100.7\"}\n",
    );
}

#[test]
fn network_data_of_another_format_is_called_that_and_the_help_works() {
    const NMSTATE: &str = "interfaces: [{name: oam, ipv4: {enabled: true, address: [{ip: 198.51.100.7, prefix-length: 24}]}}]";
    for key in ["nmstate", "networkData"] {
        let repo = one_host_left();
        let secret = "  name: lab-c1-network-data\n";
        let text = repo.read(RACK_C);
        let start = text.find("  networkData: |\n").unwrap();
        let end = text[start..].find("\n---").map_or(text.len(), |end| start + end);
        let text = format!("{}  {key}: '{NMSTATE}'{}", &text[..start], &text[end..]);
        assert!(text.contains(secret));
        repo.write(RACK_C, &text);

        let message = repo.refused();

        assert_says(
            &message,
            &[
                "1 with network data in the format of nmstate (tenant-a/lab-c1)",
                "leave it for the program that does, and give host tenant-a/lab-c1 its addresses by the annotation \
                 `sip.airshipit.org/addresses: NETWORK=ADDRESS`",
            ],
        );
        assert!(!message.contains("under the key `networkData`; it has"), "{message}");

        annotate_address(&repo);
        let run = repo.generate(&[]).expect(0);
        assert!(!run.stderr.contains("nmstate"), "{}", run.stderr);
    }
}

#[test]
fn a_warning_tells_of_network_data_of_another_format() {
    let repo = Repo::generated("quickstart");
    repo.replace(RACK_C, "  networkData: |\n", "  nmstate: |\n");

    let message = run_validate(&repo);

    assert_says(
        &message,
        &[
            "warning[SIP0341]",
            "2 hosts have network data in another format than OpenStack's network_data.json",
            "leave it for the program that does",
        ],
    );
}

/// Where the network data is, and what the host says, decide nothing else.
#[test]
fn network_data_of_another_format_or_elsewhere_is_no_matter_for_a_host_with_an_annotation() {
    let generator = "secretGenerator:\n- name: lab-c1-network-data\n  namespace: tenant-a\n  literals: ['nmstate=interfaces: []']\n  \
                     options: {disableNameSuffixHash: true}\n";
    for (generator, why) in [
        (generator, "1 with network data in the format of nmstate (tenant-a/lab-c1)"),
        ("", "1 with network data in a Secret that is not in the repo (tenant-a/lab-c1)"),
    ] {
        let repo = one_host_left();
        let listed = repo.read("sites/lab/hosts/kustomization.yaml");
        repo.write("sites/lab/hosts/kustomization.yaml", &(listed + generator));
        repo.replace_behind(
            RACK_C,
            "kind: Secret",
            "name: lab-c1-network-data",
            "name: lab-c1-other",
        );
        assert_says(&repo.refused(), &[why]);

        annotate_address(&repo);
        let run = repo.generate(&[]).expect(0);
        assert!(!run.stderr.contains("SIP0341"), "{}", run.stderr);
    }
}

fn run_validate(repo: &Repo) -> String {
    let run = crate::support::run(&mut repo.sipgen(&["validate"]));
    run.stdout + &run.stderr
}
