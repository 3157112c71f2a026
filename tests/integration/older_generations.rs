//! SIPClusters of older generations, and hosts that older operators labelled: they are understood as today's, and
//! findings point at what people wrote.

use crate::support::{Repo, assert_says};

const GENERATIONS: [(&str, &str, &str); 3] = [
    ("generation-2020-11", "site/sipcluster.yaml", "November 2020"),
    ("generation-2021-01", "edge.yaml", "January 2021"),
    ("generation-2021-03", "clusters/edge.yaml", "March 2021"),
];
const NOVEMBER: &str = "site/sipcluster.yaml";
const JANUARY: &str = "edge.yaml";
const MARCH: &str = "clusters/edge.yaml";

/// A fixture with a text of a file replaced.
#[track_caller]
fn with(fixture: &str, file: &str, from: &str, to: &str) -> Repo {
    let repo = Repo::of_fixture(fixture);
    repo.replace(file, from, to);
    repo
}

/// The line, from 1, of a text in a file.
#[track_caller]
fn line(repo: &Repo, file: &str, text: &str) -> usize {
    let found = repo.read(file).lines().position(|line| line.contains(text));
    found.unwrap_or_else(|| panic!("{file} has no {text:?}")) + 1
}

#[test]
fn every_generation_is_read_with_one_warning_a_cluster() {
    for (fixture, file, generation) in GENERATIONS {
        let repo = Repo::of_fixture(fixture);

        let said = repo.generate(&[]).expect(0).stderr;

        assert_says(
            &said,
            &[
                &format!("of the generation of {generation}"),
                "`sipgen migrate`",
                &format!("--> {file}:"),
            ],
        );
        assert_eq!(said.matches("SIP0104").count(), 1, "{said}");
        assert!(!said.contains("SIP0103"), "{said}");
    }
}

#[test]
fn two_constraints_hold_at_once() {
    let repo = Repo::generated("generation-2020-11");

    let before = repo.hosts_of("edge", "sipcluster-edge");
    assert_eq!(before.len(), 5, "{before:?}");
    assert!(before.contains(&"ControlPlane edge/rdm9-master-0".to_owned()), "{before:?}");

    // The only other host for the control plane now stands in the same rack.
    let repo = with(
        "generation-2020-11",
        "site/hosts/hosts.yaml",
        "sip.airshipit.org/rack: r9",
        "sip.airshipit.org/rack: r8",
    );
    let at = line(&repo, NOVEMBER, "      master:") + 6;
    assert_says(
        &repo.refused(),
        &["error[SIP0501]", "ControlPlane", &format!("--> {NOVEMBER}:{at}:11")],
    );
}

#[test]
fn a_load_balancer_of_old_is_one_for_the_control_plane() {
    for (fixture, file, _) in GENERATIONS {
        let repo = Repo::generated(fixture);
        let services = repo.files("overlays/clusters");
        let has = |part: &str| services.keys().any(|path| path.contains(part));

        assert!(
            has("/loadbalancer-controlplane/haproxy.cfg") && has("/jumphost/"),
            "{file}: {:?}",
            services.keys()
        );
        assert!(!has("/loadbalancer-worker/"), "{file}: {:?}", services.keys());
    }
}

#[test]
fn a_finding_points_at_what_is_written_and_not_at_what_is_read() {
    for (fixture, file, from, to, code) in [
        (
            "generation-2020-11",
            NOVEMBER,
            "              active: 2 #",
            "              active: -2 #",
            "SIP0209",
        ),
        (
            "generation-2020-11",
            NOVEMBER,
            "                - 30443",
            "                - 7000",
            "SIP0209",
        ),
        (
            "generation-2020-11",
            NOVEMBER,
            "            clusterIp: 192.0.2.10 #<",
            "            clusterIp: no-address #<",
            "SIP0209",
        ),
        ("generation-2020-11", NOVEMBER, "sshKey: ssh-ed25519", "sshKey: rsa", "SIP0120"),
        (
            "generation-2021-01",
            JANUARY,
            "        nodePort: 30022",
            "        nodePort: 22",
            "SIP0209",
        ),
        ("generation-2021-01", JANUARY, "sshkey: \"ssh-ed25519", "sshkey: \"rsa", "SIP0120"),
        (
            "generation-2021-01",
            JANUARY,
            "        caSecret: edge-oidc-ca",
            "        caSecret: Edge CA",
            "SIP0120",
        ),
        (
            "generation-2021-03",
            MARCH,
            "        nodePort: 30000",
            "        nodePort: 8080",
            "SIP0209",
        ),
    ] {
        let to = to.replace("                - ", "              - ");
        let repo = with(fixture, file, from.trim_start(), to.trim_start());
        let at = line(&repo, file, to.trim_start());

        assert_says(&repo.refused(), &[&format!("error[{code}]"), &format!("--> {file}:{at}:")]);
    }
}

#[test]
fn a_finding_of_rendering_points_at_what_is_written() {
    let repo = with("generation-2021-01", "inventory/snapshot.yaml", "id: oam-ipv4", "id: storage");
    let said = repo.refused();

    assert_says(&said, &["oam-ipv4", &format!("--> {JANUARY}:")]);
    assert!(!said.contains(&format!("--> {JANUARY}:1:")), "{said}");
}

#[test]
fn an_older_field_without_a_meaning_is_refused_where_it_stands() {
    for (fixture, file, from, to, code) in [
        ("generation-2020-11", NOVEMBER, "['per-node']", "['per-room']", "SIP0240"),
        (
            "generation-2020-11",
            NOVEMBER,
            "- kubernetes.io/os=linux",
            "- airship-masters",
            "SIP0240",
        ),
        ("generation-2020-11", NOVEMBER, "- 30443", "- 30443\n              - 30444", "SIP0240"),
        ("generation-2020-11", NOVEMBER, "jumppod:", "dnspod:", "SIP0240"),
        ("generation-2021-01", JANUARY, "serviceType: loadbalancer", "serviceType: dns", "SIP0240"),
        ("generation-2021-01", JANUARY, "'vino.airshipit.org/flavor=worker'", "worker", "SIP0240"),
        (
            "generation-2021-03",
            MARCH,
            "spreadTopology: PerHost",
            "spreadTopology: PerHost\n        topologyKey: x",
            "SIP0121",
        ),
        (
            "generation-2021-03",
            MARCH,
            "spreadTopology: PerHost",
            "spreadTopology: [PerHost]",
            "SIP0240",
        ),
    ] {
        let repo = with(fixture, file, from, to);

        let said = repo.refused();
        assert_says(&said, &[&format!("error[{code}]"), &format!("--> {file}:")]);
        assert!(!said.contains(&format!("{code}]: the SIPCluster")), "{said}");
    }
}

#[test]
fn two_older_fields_of_one_meaning_are_named_as_they_are_written() {
    let both = "spreadTopology: PerHost\n        scheduling-constraints: [per-rack]";
    let repo = with("generation-2021-03", MARCH, "spreadTopology: PerHost", both);

    let message = "`scheduling-constraints` is another form of `spreadTopology`, and both are set";
    assert_says(&repo.refused(), &[message, "spreadTopology: PerHost", "(the `spreadTopology`)"]);
}

#[test]
fn a_service_without_a_port_is_refused_at_the_service() {
    let repo = with("generation-2021-01", JANUARY, "        nodePort: 30022\n", "");
    let at = line(&repo, JANUARY, "- serviceType: jumphost");

    assert_says(&repo.refused(), &["error[SIP0208]", &format!("--> {JANUARY}:{at}:9")]);
}

#[test]
fn a_private_key_in_an_older_field_is_not_shown() {
    let key = "-----BEGIN OPENSSH PRIVATE KEY----- c2VjcmV0";
    let repo =
        with("generation-2021-01", JANUARY, "sshkey: \"ssh-ed25519", &format!("sshkey: \"{key} "));

    let said = repo.refused();
    assert_says(&said, &["error[SIP0235]"]);
    assert!(!said.contains("c2VjcmV0"), "{said}");
}

#[test]
fn an_unknown_field_of_an_older_service_is_a_warning_at_its_place() {
    let repo = with(
        "generation-2021-01",
        JANUARY,
        "          sshkey:",
        "          colour: red\n          sshkey:",
    );
    repo.replace(JANUARY, "        nodelabels:", "        nodelable: x\n        nodelabels:");
    let (one, two) = (line(&repo, JANUARY, "colour"), line(&repo, JANUARY, "nodelable"));

    let said = repo.generate(&[]).expect(0).stderr;

    assert_says(&said, &[&format!("--> {JANUARY}:{one}:11"), &format!("--> {JANUARY}:{two}:9")]);
    assert_eq!(said.matches("SIP0103").count(), 2, "{said}");
}

#[test]
fn the_settings_say_which_label_is_a_rack() {
    let repo = with(
        "generation-2021-03",
        "inventory/hosts.yaml",
        "airshipit.org/rack",
        "topology.example.com/rack",
    );
    assert_says(
        &repo.refused(),
        &["error[SIP0240]", "no host has any of", "`topology: {rack: KEY}`"],
    );

    repo.write("sipgen.yaml", "topology: {rack: topology.example.com/rack}\n");
    repo.generate(&[]).expect(0);

    repo.write("sipgen.yaml", "topology: {rack: not a label}\n");
    assert_says(&repo.refused(), &["SIP0002", "`topology.rack: not a label`"]);
}

#[test]
fn two_known_labels_for_racks_are_ambiguous() {
    let both = "    vino.airshipit.org/rack: x\n    airshipit.org/rack: a\n";
    let repo =
        with("generation-2021-03", "inventory/hosts.yaml", "    airshipit.org/rack: a\n", both);

    assert_says(
        &repo.refused(),
        &["error[SIP0240]", "hosts have vino.airshipit.org/rack and airshipit.org/rack"],
    );
}

#[test]
fn older_labels_of_an_observed_host_stay_and_the_command_to_take_them_off_is_told() {
    let repo = Repo::of_fixture("generation-2021-01");

    let said = repo.generate(&[]).expect(0).stderr;

    let command =
        "kubectl label baremetalhost -n edge vino-kvm1-control-plane-0 sip.airshipit.org/cluster-";
    assert_says(&said, &["SIP0521", "--> inventory/snapshot.yaml:11:32", command]);
    let hosts = repo.read("overlays/hosts/observed/edge.edge/hosts.yaml");
    assert!(!hosts.contains("null") && !hosts.contains("sip.airshipit.org/cluster:"), "{hosts}");
}

/// A repo with one observed host that bears older labels, and with clusters that want a worker each.
fn labelled(labels: &str, clusters: &[&str]) -> Repo {
    let repo = Repo::empty();
    let labels: String =
        labels.lines().map(|label| format!("    sip.airshipit.org/{label}\n")).collect();
    repo.write(
        "hosts.yaml",
        &(crate::support::live_host("one", &format!("  labels:\n{labels}"))
            + &crate::support::live_host("two", "")),
    );
    clusters.iter().for_each(|cluster| repo.want(cluster, 1));
    repo
}

#[test]
fn a_name_without_namespace_means_the_cluster_beside_the_host_or_else_the_only_one() {
    let labels = "cluster: edge\nnode-type: Worker";

    let only = labelled(labels, &["elsewhere/edge", "metal/other"]);
    only.generate(&[]).expect(0);
    assert_eq!(only.hosts_of("elsewhere", "edge"), ["Worker metal/one"]);

    let beside = labelled(labels, &["elsewhere/edge", "metal/edge"]);
    beside.generate(&[]).expect(0);
    assert_eq!(beside.hosts_of("metal", "edge"), ["Worker metal/one"]);

    let exact =
        labelled("cluster: elsewhere_edge\nnode-type: Worker", &["elsewhere/edge", "metal/edge"]);
    exact.generate(&[]).expect(0);
    assert_eq!(exact.hosts_of("elsewhere", "edge"), ["Worker metal/one"]);
}

#[test]
fn a_host_whose_older_labels_name_nobody_in_particular_is_given_to_nobody() {
    for (labels, clusters, why) in [
        ("cluster: edge\nnode-type: Worker", &["a/edge", "b/edge"][..], "may be a/edge or b/edge"),
        ("cluster: core\nnode-type: Worker", &["a/edge"], "the repo has no such SIPCluster"),
        ("cluster: edge", &["a/edge"], "no label says in which role"),
        ("cluster: edge\nnode-type: storage", &["a/edge"], "no label says in which role"),
        (
            "cluster: edge\nworkload-cluster: core\nnode-type: Worker",
            &["a/edge", "a/core"],
            "sip.airshipit.org/cluster=edge and sip.airshipit.org/workload-cluster=core contradict each other",
        ),
        (
            "cluster: edge\nsip-scheduled: \"false\"\nnode-type: Worker",
            &["a/edge"],
            "contradict each other",
        ),
        // Labels of today that are incomplete.
        (
            "cluster-namespace: a\ncluster-name: edge\nnode-type: worker",
            &["a/edge"],
            "name no cluster and role",
        ),
        ("cluster-namespace: a\ncluster-name: edge", &["a/edge"], "name no cluster and role"),
    ] {
        let repo = labelled(labels, clusters);
        let run = repo.generate(&["--keep-going"]);

        assert_says(&run.stderr, &["warning[SIP0520]", why, "--> hosts.yaml:"]);
        for cluster in clusters {
            let (namespace, name) = cluster.split_once('/').unwrap();
            assert!(
                !repo.hosts_of(namespace, name).contains(&"Worker metal/one".to_owned()),
                "{labels}"
            );
        }
    }
}

#[test]
fn a_host_that_the_operator_of_2020_has_given_back_is_free() {
    for labels in [
        "sip-scheduled: \"false\"",
        "sip-scheduled: \"false\"\nworkload-cluster: core\nnode-type: worker",
        "scheduled: \"false\"\nworkload-cluster: core\nnode-type: worker",
    ] {
        let repo = labelled(labels, &["a/edge", "b/core"]);
        repo.replace("clusters/b.core.yaml", "active: 1", "active: 0");

        let said = repo.generate(&[]).expect(0).stderr;

        assert_eq!(repo.hosts_of("a", "edge"), ["Worker metal/one"], "{labels}");
        assert!(!said.contains("SIP0520") && !said.contains("SIP0521"), "{said}");
    }
}

#[test]
fn a_host_of_a_role_that_is_not_wanted_is_not_called_adopted() {
    let repo = labelled("cluster: edge\nnode-type: ControlPlane", &["a/edge"]);

    let said = repo.generate(&[]).expect(0).stderr;

    assert!(!said.contains("SIP0521"), "{said}");
}

#[test]
fn todays_labels_count_before_older_ones() {
    let today = "cluster-namespace: b\ncluster-name: edge\nnode-type: Worker\ncluster: a_edge";
    let repo = labelled(today, &["a/edge", "b/edge"]);

    let said = repo.generate(&[]).expect(0).stderr;

    assert_eq!(repo.hosts_of("b", "edge"), ["Worker metal/one"]);
    assert!(!said.contains("SIP0521"), "{said}");
}
