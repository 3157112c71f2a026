//! How the hosts of a node set are spread over racks, when it grows and when it shrinks.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::support::{Repo, assert_says, codes, live_host, run};

/// A repo with hosts in racks, by name, and the rack label in the settings.
pub(crate) fn with_racks(racks: &[(&str, usize)]) -> Repo {
    let repo = Repo::empty();
    let mut hosts = String::new();
    for (rack, count) in racks {
        for number in 1..=*count {
            let _ = write!(
                hosts,
                "---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {{name: {rack}{number}, \
                 namespace: metal, labels: {{flavor: worker, example.com/rack: {rack}}}}}\nspec: {{online: true}}\n\
                 status: {{provisioning: {{state: available}}}}\n"
            );
        }
    }
    repo.write("snapshot/hosts.yaml", &hosts);
    repo.write("sipgen.yaml", "topology: {rack: example.com/rack}\n");
    repo
}

/// Writes a request for workers.
pub(crate) fn request(repo: &Repo, cluster: &str, workers: usize, fields: &str) {
    repo.write(
        &format!("{cluster}.yaml"),
        &format!(
            "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {{name: {cluster}, namespace: tenants}}\n\
             spec:\n  nodes:\n    Worker:\n      labelSelector: {{matchLabels: {{flavor: worker}}}}\n{fields}\
             \x20     count: {{active: {workers}, standby: 0}}\n"
        ),
    );
}

/// The number of hosts of a cluster in each rack, the first letter of their names.
pub(crate) fn by_rack(repo: &Repo, cluster: &str) -> Vec<usize> {
    let mut racks: BTreeMap<char, usize> = BTreeMap::new();
    for host in repo.hosts_of("tenants", cluster) {
        let name = host.rsplit('/').next().unwrap();
        *racks.entry(name.chars().next().unwrap()).or_default() += 1;
    }
    racks.into_values().collect()
}

pub(crate) fn scaled(repo: &Repo, cluster: &str, workers: usize, fields: &str) -> Vec<usize> {
    request(repo, cluster, workers, fields);
    repo.generate(&[]).expect(0);
    by_rack(repo, cluster)
}

const REQUIRED: &str = "      topologySpreadConstraints: [{topologyKey: example.com/rack}]\n";

#[test]
fn a_node_set_without_constraints_is_even_whether_it_grows_or_shrinks() {
    let repo = with_racks(&[("a", 4), ("b", 4), ("c", 4)]);

    for (workers, racks) in [
        (9, vec![3, 3, 3]),
        (6, vec![2, 2, 2]),
        (4, vec![2, 1, 1]),
        (3, vec![1, 1, 1]),
        (5, vec![2, 2, 1]),
        (1, vec![1]),
        (12, vec![4, 4, 4]),
    ] {
        assert_eq!(scaled(&repo, "one", workers, ""), racks, "{workers} workers");
    }
}

#[test]
fn racks_with_few_hosts_leave_the_others_as_even_as_possible() {
    let repo = with_racks(&[("a", 1), ("b", 6), ("c", 6)]);

    assert_eq!(scaled(&repo, "one", 9, ""), [1, 4, 4]);
    assert_eq!(scaled(&repo, "one", 5, ""), [1, 2, 2]);
}

#[test]
fn clusters_that_compete_are_even_together() {
    let repo = with_racks(&[("a", 2), ("b", 2), ("c", 2)]);
    request(&repo, "one", 3, "");
    request(&repo, "two", 3, "");
    repo.generate(&[]).expect(0);

    assert_eq!(by_rack(&repo, "one"), [1, 1, 1]);
    assert_eq!(by_rack(&repo, "two"), [1, 1, 1]);
}

#[test]
fn a_required_skew_is_kept_and_its_shortage_names_the_emptiest_rack() {
    let repo = with_racks(&[("a", 1), ("b", 6), ("c", 6)]);

    assert_eq!(scaled(&repo, "one", 5, REQUIRED), [1, 2, 2]);
    request(&repo, "one", 6, REQUIRED);

    assert_says(
        &repo.refused(),
        &[
            "1 of the 6 Worker hosts of tenants/one cannot be found",
            "`maxSkew: 1` over example.com/rack admits 5 in all, because a can have 1 host",
        ],
    );
}

#[test]
fn a_rack_whose_hosts_others_have_counts_as_in_kubernetes() {
    let repo = with_racks(&[("a", 1), ("b", 3)]);
    repo.write(
        "first.yaml",
        "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\n\
         metadata: {name: first, namespace: tenants, annotations: {sip.airshipit.org/priority: \"1\"}}\n\
         spec: {nodes: {Worker: {labelSelector: {matchLabels: {example.com/rack: a}}, count: {active: 1, standby: 0}}}}\n",
    );

    assert_eq!(scaled(&repo, "two", 1, REQUIRED), [1]);
    request(&repo, "two", 2, REQUIRED);

    assert_says(
        &repo.refused(),
        &["over example.com/rack admits 1 in all, because a can have 0 hosts"],
    );
}

#[test]
fn hosts_that_stay_may_exceed_a_skew_and_no_other_joins_them() {
    let repo = with_racks(&[("a", 3), ("b", 3)]);
    let only_a = "      topologySpreadConstraints: [{topologyKey: example.com/rack, maxSkew: 3}]\n";
    repo.write(
        "one.yaml",
        "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {name: one, namespace: tenants}\n\
         spec: {nodes: {Worker: {labelSelector: {matchLabels: {example.com/rack: a}}, count: {active: 3, standby: 0}}}}\n",
    );
    repo.generate(&[]).expect(0);
    assert_eq!(by_rack(&repo, "one"), [3]);

    assert_eq!(scaled(&repo, "one", 4, REQUIRED), [3, 1]);
    assert_eq!(scaled(&repo, "one", 5, only_a), [3, 2]);
}

#[test]
fn only_rebalance_moves_hosts_for_evenness_and_none_in_use() {
    let repo = with_racks(&[("a", 4), ("b", 4)]);
    request(&repo, "one", 4, "");
    repo.replace("one.yaml", "flavor: worker", "example.com/rack: a");
    repo.generate(&[]).expect(0);
    request(&repo, "one", 4, "");
    repo.generate(&[]).expect(0);
    assert_eq!(by_rack(&repo, "one"), [4]);
    for host in ["a2", "a3", "a4"] {
        let machine = format!(
            "spec: {{consumerRef: {{kind: Metal3Machine, name: m-{host}, namespace: tenants}}, "
        );
        repo.replace_behind("snapshot/hosts.yaml", &format!("name: {host},"), "spec: {", &machine);
    }

    repo.generate(&["--rebalance"]).expect(0);

    assert_eq!(by_rack(&repo, "one"), [3, 1]);
    assert!(!repo.hosts_of("tenants", "one").contains(&"Worker metal/a1".to_owned()));
}

#[test]
fn several_hosts_per_domain_are_allowed_up_to_the_limit() {
    let repo = with_racks(&[("a", 3), ("b", 3), ("c", 3)]);
    let two = "      topologyKey: example.com/rack\n      maxPerDomain: 2\n";

    assert_eq!(scaled(&repo, "one", 5, two), [2, 2, 1]);
    assert_eq!(scaled(&repo, "one", 6, two), [2, 2, 2]);
    request(&repo, "one", 7, two);

    assert_says(
        &repo.refused(),
        &[
            "its topologyKey allows 2 hosts in a domain of example.com/rack, and 9 that match are in 3",
        ],
    );
}

#[test]
fn constraints_of_the_site_are_for_node_sets_without_their_own() {
    let repo = with_racks(&[("a", 1), ("b", 6)]);
    repo.write(
        "sipgen.yaml",
        "topology: {defaultConstraints: [{topologyKey: example.com/rack, maxSkew: 2}]}\n",
    );

    request(&repo, "one", 5, "");
    assert_says(&repo.refused(), &["`maxSkew: 2` over example.com/rack admits 4 in all"]);
    let own = "      topologySpreadConstraints: [{topologyKey: example.com/rack, whenUnsatisfiable: ScheduleAnyway}]\n";
    assert_eq!(scaled(&repo, "one", 5, own), [1, 4]);
}

/// Whatever its value is, the other racks suffice.
#[test]
fn a_rack_that_only_flux_knows_is_no_rack() {
    let repo = with_racks(&[("a", 2), ("b", 2), ("c", 1)]);
    repo.replace("snapshot/hosts.yaml", "example.com/rack: c", "example.com/rack: '${RACK}'");
    let even = "      topologySpreadConstraints: [{topologyKey: example.com/rack, maxSkew: 1}]\n";

    request(&repo, "one", 4, even);

    repo.generate(&[]).expect(0);
}

#[test]
fn a_constraint_on_a_label_that_no_host_has_is_blamed_itself_and_not_the_selector() {
    let own = |field: &str| (String::new(), format!("      {field}\n"));
    let of_site = "topology: {defaultConstraints: [{topologyKey: example.com/room}]}\n".to_owned();
    for (settings, field) in [
        own("topologySpreadConstraints: [{topologyKey: example.com/room}]"),
        own("topologySpreadConstraints: [{topologyKey: example.com/room, maxSkew: 3}]"),
        own("sameDomain: {topologyKey: example.com/room}"),
        (of_site, String::new()),
    ] {
        let repo = with_racks(&[("a", 2), ("b", 2)]);
        repo.write("sipgen.yaml", &settings);
        request(&repo, "edge", 2, &field);

        let said = repo.generate(&[]).expect(1).stderr;

        assert_eq!(codes(&said), ["SIP0501"], "{settings}{field}: {said}");
        let cause = "its constraint on topology domains matches no host (none has a label example.com/room)";
        assert_says(&said, &[cause]);
        assert!(!said.contains("labelSelector:"), "{said}");
    }
}

#[test]
fn hosts_that_a_new_constraint_leaves_without_a_domain_are_told_from_unselected_ones() {
    let repo = with_racks(&[("a", 2)]);
    request(&repo, "one", 2, "");
    repo.generate(&[]).expect(0);
    repo.write(
        "sipgen.yaml",
        "topology: {defaultConstraints: [{topologyKey: example.com/room, maxSkew: 2}]}\n",
    );

    let run = repo.generate(&[]).expect(0);

    assert_says(&run.stderr, &["has no label `example.com/room`, which limits"]);
    assert!(!run.stderr.contains("matches the selector"), "{}", run.stderr);
}

#[test]
fn invalid_constraints_are_reported_at_their_field() {
    let repo = with_racks(&[("a", 2)]);
    for (constraint, message, field) in [
        ("topologyKey: example.com/rack, maxSkew: 0", "`maxSkew: 0` is not a valid number", "0"),
        ("topologyKey: 'a b'", "`a b` is not a valid label key", "'a b'"),
        (
            "topologyKey: example.com/rack, whenUnsatisfiable: Never",
            "unknown `whenUnsatisfiable: Never`",
            "Never",
        ),
        (
            "topologyKey: example.com/rack, minDomains: 2, whenUnsatisfiable: ScheduleAnyway",
            "`minDomains` has no effect",
            "2",
        ),
    ] {
        request(&repo, "one", 1, &format!("      topologySpreadConstraints: [{{{constraint}}}]\n"));
        let column = repo.read("one.yaml").lines().nth(7).unwrap().rfind(field).unwrap() + 1;
        assert_says(&repo.refused(), &[message, &format!("one.yaml:8:{column}")]);
    }
}

#[test]
fn a_host_that_would_exceed_the_skew_is_explained() {
    let repo = with_racks(&[("a", 3), ("b", 1)]);
    assert_eq!(scaled(&repo, "one", 3, REQUIRED), [2, 1]);

    let explained = run(&mut repo.sipgen(&["explain", "metal/a3"]));

    assert_says(
        &explained.stdout,
        &["is in example.com/rack=a, where one more host of its role exceeds the maxSkew"],
    );
}

#[test]
fn a_node_set_within_a_quota_is_even_as_well() {
    let repo = with_racks(&[("a", 5), ("b", 5), ("c", 5)]);
    let settings = repo.read("sipgen.yaml");
    repo.write("sipgen.yaml", &format!("{settings}quotas: [{{namespace: tenants, labels: {{example.com/rack: a}}, hosts: 4}}]\n"));

    assert_eq!(scaled(&repo, "one", 9, ""), [3, 3, 3]);
    assert_eq!(scaled(&repo, "one", 4, ""), [2, 1, 1]);
    assert_eq!(scaled(&repo, "one", 6, ""), [2, 2, 2]);
    let status = run(&mut repo.sipgen(&["status", "--cluster", "tenants/one"]));
    assert_says(&status.stdout, &["Worker over example.com/rack: a 2, b 2, c 2"]);
}

/// The label of a host may change after the host was assigned.
#[test]
fn a_domain_with_more_hosts_than_it_may_have_gives_none() {
    let hosts = |hosts: &[[&str; 3]]| -> String {
        let host = |[name, rack, feed]: &[&str; 3]| {
            live_host(name, &format!("  labels: {{rack: {rack}, feed: {feed}}}\n"))
        };
        hosts.iter().map(host).collect()
    };
    let repo = Repo::empty();
    let want = |count: usize| {
        repo.write(
            "web.yaml",
            &format!(
                "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {{name: web, namespace: metal}}\nspec:\n  \
                 nodes:\n    Worker: {{labelSelector: {{}}, topologyKeys: [rack, feed], count: {{active: {count}}}}}\n"
            ),
        );
    };
    repo.write("snapshot/hosts.yaml", &hosts(&[["a", "r1", "f2"], ["b", "r2", "f3"]]));
    want(2);
    repo.generate(&[]).expect(0);
    let moved = [["a", "r1", "f2"], ["b", "r1", "f3"]];
    let free = [["c", "r2", "f1"], ["d", "r3", "f1"], ["e", "r1", "f1"], ["g", "r2", "f4"]];
    repo.write("snapshot/hosts.yaml", &hosts(&[&moved[..], &free].concat()));
    want(5);
    assert_says(&repo.refused(), &["of the 5 Worker hosts of metal/web cannot be found"]);
}
