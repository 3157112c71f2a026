//! Node sets whose hosts are all in one domain: the smallest that has enough.

use crate::spreading::{by_rack, request, scaled, with_racks};
use crate::support::{Repo, assert_says, run};

const PACKED: &str = "      sameDomain: {topologyKey: example.com/rack}\n";

#[test]
fn the_smallest_sufficient_domain_is_chosen_and_large_ones_stay_whole() {
    let repo = with_racks(&[("a", 6), ("b", 3), ("c", 4)]);

    assert_eq!(scaled(&repo, "one", 3, PACKED), [3]);
    assert!(repo.hosts_of("tenants", "one").contains(&"Worker metal/b1".to_owned()));
    assert_eq!(scaled(&repo, "two", 3, PACKED), [3]);
    assert!(repo.hosts_of("tenants", "two").contains(&"Worker metal/c1".to_owned()));
    assert_eq!(scaled(&repo, "three", 6, PACKED), [6]);
}

#[test]
fn assigned_hosts_decide_where_a_node_set_grows() {
    let repo = with_racks(&[("a", 6), ("b", 3)]);
    assert_eq!(scaled(&repo, "one", 2, PACKED), [2]);
    assert_eq!(scaled(&repo, "one", 3, PACKED), [3]);
    request(&repo, "one", 4, PACKED);

    assert_says(
        &repo.refused(),
        &[
            "1 of the 4 Worker hosts of tenants/one cannot be found",
            "`sameDomain` wants all hosts in one domain of example.com/rack, and b can have 3 at most",
        ],
    );
    let explained = run(&mut repo.sipgen(&["explain", "metal/a1"]));
    assert_says(&explained.stdout, &["is not in example.com/rack=b, where the other hosts"]);
}

#[test]
fn a_cluster_that_takes_any_hosts_gives_way_to_one_that_needs_a_whole_domain() {
    // The first cluster in order would take hosts of the only rack that suffices for the second.
    let repo = with_racks(&[("a", 4), ("b", 2)]);
    let spread = "      topologySpreadConstraints: [{topologyKey: example.com/rack, maxSkew: 2}]\n";
    request(&repo, "one", 2, spread);
    request(&repo, "two", 4, PACKED);
    repo.generate(&[]).expect(0);

    assert_eq!(by_rack(&repo, "one"), [2]);
    assert_eq!(by_rack(&repo, "two"), [4]);
}

#[test]
fn a_domain_that_is_too_small_is_named_with_its_size() {
    let repo = with_racks(&[("a", 2), ("b", 3)]);
    request(&repo, "one", 5, PACKED);

    assert_says(&repo.refused(), &["2 of the 5 Worker hosts", "and b can have 3 at most"]);
    let capacity = run(&mut repo.sipgen(&["capacity"]));
    assert_says(
        &capacity.stdout,
        &["2 hosts; one less does not suffice", "2 hosts in metal: example.com/rack=b"],
    );
}

/// Each of these would refuse the workers by itself.
#[test]
fn what_refuses_a_node_set_hides_no_other_that_lacks_hosts() {
    let skew = "      topologySpreadConstraints: [{topologyKey: example.com/rack, maxSkew: 1}]\n";
    for constraint in [PACKED, skew] {
        let repo = with_racks(&[("a", 1), ("b", 4)]);
        request(&repo, "one", 5, constraint);
        let masters = "    ControlPlane: {count: {active: 1, standby: 0}, labelSelector: {matchLabels: {rare: x}}}\n";
        repo.replace("one.yaml", "    Worker:", &format!("{masters}    Worker:"));
        let refused = repo.refused();
        let lacks = |what: &str| format!("{what} hosts of tenants/one cannot be found");
        assert_says(&refused, &[&lacks("1 of the 1 ControlPlane"), "of the 5 Worker hosts"]);
    }
}

#[test]
fn hosts_outside_of_the_domain_are_reported_and_rebalanced() {
    let repo = with_racks(&[("a", 3), ("b", 3)]);
    assert_eq!(scaled(&repo, "one", 3, ""), [2, 1]);
    request(&repo, "one", 3, PACKED);

    let check = repo.generate(&[]).expect(0);
    assert_says(&check.stderr, &["is in another topology domain than other hosts of the node set"]);
    assert_eq!(by_rack(&repo, "one"), [2, 1]);
    repo.generate(&["--rebalance"]).expect(0);
    assert_eq!(by_rack(&repo, "one"), [3]);

    let repo = with_racks(&[("a", 3), ("b", 3)]);
    assert_eq!(scaled(&repo, "one", 3, ""), [2, 1]);
    assert_eq!(scaled(&repo, "one", 2, PACKED), [2]);
}

const SKEWED: &str =
    "      topologySpreadConstraints: [{topologyKey: example.com/rack, maxSkew: 2}]\n";

/// The hosts of a rack in another namespace, where Cluster API does not look for them.
fn elsewhere(repo: &Repo, hosts: &[&str]) {
    for host in hosts {
        let own = format!("{{name: {host}, namespace: metal,");
        let other = own.replace("metal", "tenants");
        let text = repo.read("snapshot/hosts.yaml");
        let text = match text.contains(&own) {
            true => text.replace(&own, &other),
            false => text.replace(&other, &own),
        };
        repo.write("snapshot/hosts.yaml", &text);
    }
}

/// By their labels and sizes, the domains are equal.
#[test]
fn the_domain_with_preferred_hosts_is_chosen() {
    for constraint in [PACKED, SKEWED] {
        let preferred = |racks: &[(&str, usize)], own: &[&str], workers: usize| {
            let repo = with_racks(racks);
            elsewhere(&repo, own);
            request(&repo, "one", workers, constraint);
            repo.generate(&[]).expect(0);
            repo.hosts_of("tenants", "one").join(" ")
        };
        let racks = [("a", 2), ("b", 2)];
        assert_eq!(preferred(&racks, &["b1", "b2"], 2), "Worker tenants/b1 Worker tenants/b2");
        assert_eq!(preferred(&racks, &["a1", "a2"], 2), "Worker tenants/a1 Worker tenants/a2");
        // A larger domain has them, and those that are not needed do not count.
        let racks = [("a", 2), ("b", 3)];
        assert_eq!(
            preferred(&racks, &["b2", "b3"], 2),
            "Worker tenants/b2 Worker tenants/b3",
            "{constraint}"
        );
    }
    let repo = with_racks(&[("a", 2), ("b", 2)]);
    elsewhere(&repo, &["b2"]);
    assert_eq!(scaled(&repo, "one", 2, PACKED), [2]);
    assert!(repo.hosts_of("tenants", "one").contains(&"Worker metal/b1".to_owned()));
}

/// Neither the names of the domains nor the use of their hosts leaves a node set short.
#[test]
fn of_domains_with_equally_many_hosts_the_one_with_room_for_all_grows() {
    for racks in [[("a", 1), ("b", 3)], [("a", 3), ("b", 1)]] {
        let grown = if racks[0].1 == 1 { [1, 2] } else { [2, 1] };
        let repo = with_racks(&racks);
        assert_eq!(scaled(&repo, "one", 2, ""), [1, 1]);
        assert_eq!(scaled(&repo, "one", 3, PACKED), grown);
        repo.generate(&["--rebalance"]).expect(0);
        assert_eq!(by_rack(&repo, "one"), [3]);

        let repo = with_racks(&racks);
        assert_eq!(scaled(&repo, "one", 2, ""), [1, 1]);
        request(&repo, "one", 3, PACKED);
        repo.generate(&["--rebalance"]).expect(0);
        assert_eq!(by_rack(&repo, "one"), [3]);

        let repo = with_racks(&racks);
        assert_eq!(scaled(&repo, "one", 2, ""), [1, 1]);
        request(&repo, "one", 2, PACKED);
        repo.generate(&["--rebalance"]).expect(0);
        assert_eq!(by_rack(&repo, "one"), [2]);
    }
    // A host in use stays, so the others come to it where there is room.
    for (used, room, racks) in [("a1", 3, "a"), ("b1", 3, "b"), ("a1", 1, "a+b")] {
        let repo = with_racks(&[("a", room), ("b", 3)]);
        assert_eq!(scaled(&repo, "one", 2, ""), [1, 1]);
        let consumer = "consumerRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: Metal3Machine, \
                        namespace: tenants, name: m}";
        let text = repo.read("snapshot/hosts.yaml");
        let (before, behind) = text.split_once(&format!("{{name: {used},")).unwrap();
        let behind = behind.replacen("{online: true}", &format!("{{online: true, {consumer}}}"), 1);
        repo.write("snapshot/hosts.yaml", &format!("{before}{{name: {used},{behind}"));
        request(&repo, "one", 2, PACKED);
        repo.generate(&["--rebalance"]).expect(0);
        let hosts = repo.hosts_of("tenants", "one").join(" ");
        for rack in ["a", "b"] {
            assert_eq!(hosts.contains(&format!("metal/{rack}")), racks.contains(rack), "{hosts}");
        }
    }
}

/// ViNO copies a label that the node lacks as `""`.
#[test]
fn hosts_with_an_empty_label_are_in_no_domain() {
    for constraint in [PACKED, SKEWED] {
        let repo = with_racks(&[("a", 2), ("b", 2)]);
        let hosts = repo.read("snapshot/hosts.yaml");
        repo.write("snapshot/hosts.yaml", &hosts.replace("rack: a}", "rack: \"\"}"));
        assert_eq!(scaled(&repo, "one", 2, constraint), [2]);
        assert!(repo.hosts_of("tenants", "one").contains(&"Worker metal/b1".to_owned()));
        request(&repo, "one", 3, constraint);

        let lacks = "not match `example.com/rack` of the selector";
        assert_says(&repo.refused(), &["2 not matching `example.com/rack` of the selector"]);
        assert_says(&run(&mut repo.sipgen(&["explain", "metal/a1"])).stdout, &[lacks]);
        let status = run(&mut repo.sipgen(&["status"])).stdout;
        assert_says(&status, &["         2         2     0  flavor=worker,example.com/rack"]);
    }
}

#[test]
fn contradictory_and_invalid_domains_are_reported_at_their_field() {
    let repo = with_racks(&[("a", 2)]);
    for (fields, message) in [
        ("      sameDomain: {topologyKey: 'a b'}\n", "`a b` is not a valid label key"),
        (
            "      topologyKey: example.com/rack\n      sameDomain: {topologyKey: example.com/rack}\n",
            "another constraint on topology names `example.com/rack` as well",
        ),
        (
            "      topologySpreadConstraints: [{topologyKey: example.com/rack}]\n      sameDomain: {topologyKey: example.com/rack}\n",
            "another constraint on topology names `example.com/rack` as well",
        ),
    ] {
        request(&repo, "one", 1, fields);
        let line = repo.read("one.yaml").lines().position(|line| line.contains("sameDomain"));
        assert_says(&repo.refused(), &[message, &format!("one.yaml:{}:", line.unwrap() + 1)]);
    }
}

#[test]
fn a_constraint_of_the_site_is_not_for_node_sets_in_one_domain() {
    let repo = with_racks(&[("a", 3), ("b", 3)]);
    repo.write(
        "sipgen.yaml",
        "topology: {defaultConstraints: [{topologyKey: example.com/rack}]}\n",
    );

    assert_eq!(scaled(&repo, "one", 3, PACKED), [3]);
}

#[test]
fn a_drain_never_splits_a_node_set() {
    let repo = with_racks(&[("a", 2), ("b", 3)]);
    assert_eq!(scaled(&repo, "one", 2, PACKED), [2]);
    assert!(repo.hosts_of("tenants", "one").contains(&"Worker metal/a1".to_owned()));

    let drained = run(&mut repo.sipgen(&["drain", "example.com/rack=a"])).expect(1);

    assert_says(&drained.stdout, &["no order of moves keeps every constraint"]);
    assert!(!drained.stdout.contains("metal/b"), "{}", drained.stdout);
}

#[test]
fn copies_are_counted_by_the_domains_that_have_room_for_one() {
    let racks: Vec<(String, usize)> = (0..40).map(|rack| (format!("r{rack:02}x"), 5)).collect();
    let racks: Vec<(&str, usize)> =
        racks.iter().map(|(name, hosts)| (name.as_str(), *hosts)).collect();
    let repo = with_racks(&racks);
    request(&repo, "one", 3, PACKED);
    repo.generate(&[]).expect(0);

    let capacity = run(&mut repo.sipgen(&["capacity"])).expect(0);

    // Two hosts of each rack are left over: 39 racks have room for one more.
    assert_says(
        &capacity.stdout,
        &[
            "39  tenants/one",
            "no choice of hosts meets the constraints on topology domains for 40 node sets together",
        ],
    );
    assert!(!capacity.stdout.contains("not proven"), "{}", capacity.stdout);
}
