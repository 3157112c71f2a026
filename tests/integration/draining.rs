//! `sipgen drain`: the moves that empty hosts.

use std::fmt::Write;

use serde_json::Value;

use crate::support::{Repo, Run, assert_says, compare_schema, live_host, run};

/// A worker host: name, rack, flavor, and the cluster that has it.
type Host<'a> = (&'a str, &'a str, &'a str, Option<&'a str>);

/// A cluster: name, role, accepted flavors, topology key, number of hosts.
type Cluster<'a> = (&'a str, &'a str, &'a str, &'a str, usize);

const RACK: &str = "example.com/rack";

/// A label whose value every host has alone.
const HOST: &str = "kubernetes.io/hostname";

/// A repo whose hosts have their clusters by labels, generated and committed.
fn site(hosts: &[Host<'_>], clusters: &[Cluster<'_>], consumed: &[&str]) -> Repo {
    let mut text = String::new();
    for (name, rack, flavor, owner) in hosts {
        let role = |owner: &str| {
            let cluster = clusters.iter().find(|cluster| cluster.0 == owner).unwrap();
            cluster.1.to_owned()
        };
        let owner = owner.map_or(String::new(), |owner| {
            format!(
                ", sip.airshipit.org/cluster-namespace: t, sip.airshipit.org/cluster-name: {owner}, \
                 sip.airshipit.org/node-type: {}",
                role(owner)
            )
        });
        let consumer = if consumed.contains(name) {
            format!(
                "consumerRef: {{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: Metal3Machine, \
                 name: machine-{name}, namespace: t}}"
            )
        } else {
            String::new()
        };
        let _ = write!(
            text,
            "---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {{name: {name}, namespace: metal, \
             labels: {{{RACK}: {rack}, {HOST}: {name}, example.com/flavor: {flavor}{owner}}}}}\nspec: {{{consumer}}}\nstatus: {{provisioning: {{state: available}}}}\n"
        );
    }
    let repo = Repo::empty();
    repo.write("hosts.yaml", &text);
    for (name, role, flavors, key, count) in clusters {
        let request = format!(
            "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {{name: {name}, namespace: t}}\n\
             spec:\n  nodes:\n    {role}:\n      labelSelector: {{matchExpressions: [{{key: example.com/flavor, \
             operator: In, values: [{flavors}]}}]}}\n      topologyKeys: [{key}]\n      count: {{active: {count}, standby: 0}}\n"
        );
        repo.write(&format!("{name}.yaml"), &request);
    }
    run(&mut repo.sipgen(&["generate"])).expect(0);
    repo
}

fn drain(repo: &Repo, arguments: &[&str]) -> Run {
    run(&mut repo.sipgen(&[&["drain"], arguments].concat()))
}

#[track_caller]
fn json(repo: &Repo, arguments: &[&str]) -> Value {
    let run = drain(repo, &[arguments, &["--format", "json"]].concat());
    serde_json::from_str(&run.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", run.stdout, run.stderr))
}

/// The moves of each step, as `cluster: from -> to`.
fn steps(answer: &Value) -> Vec<Vec<String>> {
    let name = |value: &Value| value["name"].as_str().unwrap().to_owned();
    let line = |made: &Value| {
        let (cluster, from, to) = (&made["cluster"], &made["from"], &made["to"]);
        format!("{}: {} -> {}", name(cluster), name(from), name(to))
    };
    let steps = answer["steps"].as_array().unwrap().iter();
    steps.map(|step| step["moves"].as_array().unwrap().iter().map(line).collect()).collect()
}

#[test]
fn a_rack_is_emptied_into_free_hosts() {
    let repo = site(
        &[
            ("a1", "a", "big", Some("edge")),
            ("a2", "a", "big", Some("edge")),
            ("a3", "a", "big", None),
            ("b1", "b", "big", None),
            ("b2", "b", "big", None),
        ],
        &[("edge", "Worker", "big", HOST, 2)],
        &[],
    );

    let answer = json(&repo, &["rack=a"]);
    assert_eq!(steps(&answer), [["edge: a1 -> b1"], ["edge: a2 -> b2"]]);
    assert_eq!(answer["verdict"], "planned");
    assert_eq!(answer["unused"][0]["name"], "a3");
    let answer = json(&repo, &["rack=a", "--at-once", "2"]);
    assert_eq!(steps(&answer), [["edge: a1 -> b1", "edge: a2 -> b2"]]);

    let text = drain(&repo, &["rack=a"]).expect(0).stdout;
    assert_says(
        &text,
        &[
            "2 moves in 2 steps; fewer are impossible",
            "step 1\n  t/edge Worker: metal/a1 -> metal/b1\n",
            "unused, and no target of a move\n  metal/a3\n",
        ],
    );
}

#[test]
fn a_control_plane_moves_one_member_per_step() {
    let repo = site(
        &[
            ("a1", "a", "big", Some("edge")),
            ("b1", "b", "big", Some("edge")),
            ("c1", "c", "big", Some("edge")),
            ("a2", "a", "big", None),
            ("b2", "b", "big", None),
            ("d2", "d", "big", None),
        ],
        &[("edge", "ControlPlane", "big", RACK, 3)],
        &[],
    );

    let answer = json(&repo, &["metal/a1", "metal/b1", "--at-once", "3"]);
    assert_eq!(steps(&answer), [["edge: a1 -> a2"], ["edge: b1 -> b2"]]);
}

#[test]
fn another_cluster_makes_room() {
    let repo = site(
        &[
            ("gpu", "a", "gpu", Some("learn")),
            ("big", "b", "big", Some("edge")),
            ("small", "c", "small", None),
        ],
        &[("edge", "Worker", "big, small", HOST, 1), ("learn", "Worker", "gpu, big", HOST, 1)],
        &[],
    );

    let answer = json(&repo, &["flavor=gpu"]);
    assert_eq!(steps(&answer), [["edge: big -> small"], ["learn: gpu -> big"]]);
    let text = drain(&repo, &["flavor=gpu"]).expect(0).stdout;
    assert_says(
        &text,
        &["t/edge Worker: metal/big -> metal/small\n    because t/learn Worker needs metal/big"],
    );
}

/// The domain of the free host is taken, and the host in it may not stay there.
#[test]
fn another_host_of_the_node_set_makes_room() {
    let repo = site(
        &[
            ("x", "a", "big", Some("edge")),
            ("w", "b", "big", Some("edge")),
            ("y", "c", "big", Some("lab")),
            ("z", "b", "big", None),
        ],
        &[("edge", "Worker", "big", RACK, 2), ("lab", "Worker", "big", HOST, 1)],
        &[],
    );

    let answer = json(&repo, &["metal/x"]);
    assert_eq!(steps(&answer), [["lab: y -> z"], ["edge: x -> y"]]);
    assert_eq!(answer["hasFewestMoves"], true);
}

/// The free host would exceed the quota of large hosts.
#[test]
fn another_cluster_makes_room_in_a_quota() {
    let repo = site(
        &[
            ("x", "a", "small", Some("edge")),
            ("big", "b", "big", Some("lab")),
            ("free", "c", "big", None),
            ("mini", "d", "mini", None),
        ],
        &[("edge", "Worker", "small, big", HOST, 1), ("lab", "Worker", "big, mini", HOST, 1)],
        &[],
    );
    repo.write(
        "sipgen.yaml",
        "quotas: [{namespace: t, labels: {example.com/flavor: big}, hosts: 1}]\n",
    );

    let answer = json(&repo, &["metal/x"]);
    let steps = steps(&answer).concat();
    assert_eq!(steps[0], "lab: big -> mini");
    assert_eq!(steps.len(), 2, "{steps:?}");
}

#[test]
fn too_few_hosts_are_proven() {
    let repo = site(
        &[
            ("a1", "a", "big", Some("edge")),
            ("a2", "a", "big", Some("edge")),
            ("b1", "b", "big", None),
        ],
        &[("edge", "Worker", "big", HOST, 2)],
        &[],
    );

    let run = drain(&repo, &["rack=a"]).expect(1);
    assert_says(
        &run.stdout,
        &[
            "the hosts cannot be emptied: the other hosts do not suffice",
            "t/edge Worker lacks 1 host: ",
        ],
    );
    let answer = json(&repo, &["rack=a"]);
    assert_eq!(answer["verdict"], "impossible");
    assert_eq!(answer["lacking"][0]["hosts"], 1);
}

/// The free host is in the rack of one host and on the feed of the other, so that it can only
/// replace both at once.
#[test]
fn a_placement_without_an_order_of_moves() {
    let repo = site(
        &[
            ("x", "a, example.com/feed: one", "big", Some("edge")),
            ("w", "b, example.com/feed: two", "small", Some("edge")),
            ("y", "c, example.com/feed: three", "big", Some("lab")),
            ("free", "a, example.com/feed: two", "only", None),
        ],
        &[
            ("edge", "Worker", "big, small, only", "example.com/rack, example.com/feed", 2),
            ("lab", "Worker", "big, small", HOST, 1),
        ],
        &[],
    );

    let answer = json(&repo, &["metal/x"]);
    assert_eq!(answer["verdict"], "noOrder");
    let text = drain(&repo, &["metal/x"]).expect(1).stdout;
    assert_says(&text, &["no order of moves keeps every constraint"]);
}

/// The only other hosts with what the machine requires are named by MAC address, or needed by others.
#[test]
fn machines_without_another_host_cannot_be_emptied() {
    let repo = Repo::generated("provisioning");
    for host in ["lab/depot-05", "lab/depot-07", "lab/depot-08"] {
        assert_eq!(json(&repo, &[host])["verdict"], "impossible", "{host}");
    }
}

/// Too large for the search that proves the number of moves.
#[test]
fn chains_of_moves_on_a_large_site() {
    let names: Vec<(String, String)> = (0..20)
        .flat_map(|rack| {
            (0..10).map(move |host| (format!("r{rack:02}-{host}"), format!("r{rack:02}")))
        })
        .collect();
    let teams: Vec<String> = (0..20).map(|team| format!("c{team:02}")).collect();
    let hosts: Vec<Host<'_>> = names
        .iter()
        .enumerate()
        .map(|(at, (name, rack))| {
            let (rack_number, host) = (at / 10, at % 10);
            // Each rack has two hosts with GPUs and four large ones, all assigned, and four small ones.
            match host {
                0..6 if rack_number < 10 => {
                    let team = &teams[host];
                    (
                        name.as_str(),
                        rack.as_str(),
                        if host < 2 { "gpu" } else { "big" },
                        Some(team.as_str()),
                    )
                }
                0..6 => {
                    let team = &teams[10 + (at % 10)];
                    (name.as_str(), rack.as_str(), "big", Some(team.as_str()))
                }
                _ => (name.as_str(), rack.as_str(), "small", None),
            }
        })
        .collect();
    let clusters: Vec<Cluster<'_>> = (0..6)
        .map(|team| (teams[team].as_str(), "Worker", "gpu, big", RACK, 10))
        .chain((10..16).map(|team| (teams[team].as_str(), "Worker", "big, small", RACK, 10)))
        .collect();
    let repo = site(&hosts, &clusters, &[]);

    let answer = json(&repo, &["metal/r00-0"]);
    assert_eq!((&answer["moves"], &answer["hasFewestMoves"]), (&2.into(), &true.into()));
    let answer = json(&repo, &["flavor=gpu,rack in (r00, r01)"]);
    assert_eq!(answer["verdict"], "planned");
    let steps = steps(&answer);
    assert_eq!(steps.concat().len(), 8, "{steps:?}");
    // A host that a step releases has no other cluster before the next step.
    for step in &steps {
        let hosts = |at: usize| {
            let of = move |line: &String| line.split(' ').nth(at).unwrap().to_owned();
            step.iter().map(of).collect::<std::collections::BTreeSet<String>>()
        };
        assert!(hosts(1).is_disjoint(&hosts(3)), "{step:?}");
    }
}

#[test]
fn the_machine_to_delete_is_named() {
    let repo = site(
        &[("a1", "a", "big", Some("edge")), ("b1", "b", "big", None)],
        &[("edge", "Worker", "big", HOST, 1)],
        &["a1"],
    );

    let text = drain(&repo, &["metal/a1"]).expect(0).stdout;
    assert_says(
        &text,
        &["kubectl annotate machine -n t machine-a1 cluster.x-k8s.io/delete-machine="],
    );
}

#[test]
fn hosts_of_a_cluster_with_errors_cannot_move() {
    let repo = site(
        &[("a1", "a", "big", Some("edge")), ("b1", "b", "big", None)],
        &[("edge", "Worker", "big", HOST, 1)],
        &[],
    );
    repo.replace("edge.yaml", "active: 1", "active: some");

    let run = drain(&repo, &["metal/a1"]).expect(1);
    assert_says(&run.stdout, &["metal/a1 of t/edge cannot move: errors in the cluster's request"]);
}

/// The hosts of the only cluster, each with its role.
fn hosts(repo: &Repo) -> Vec<String> {
    repo.hosts_of("t", "edge")
}

/// Steps are written until nothing is left to do. What each of them leaves is what the files ask for.
#[test]
fn a_drain_is_carried_out_step_by_step() {
    let repo = site(
        &[
            ("a1", "a", "w", Some("edge")),
            ("a2", "a", "w", Some("edge")),
            ("b1", "b", "w", Some("edge")),
            ("b2", "b", "w", None),
            ("c1", "c", "w", None),
        ],
        &[("edge", "Worker", "w", HOST, 3)],
        &[],
    );
    repo.write(
        "sipgen.yaml",
        "maintenance:\n  - {labels: {example.com/rack: a}, reason: new power feed}\n",
    );
    let is_clean = || {
        run(&mut repo.sipgen(&["validate"])).expect(0);
        run(&mut repo.sipgen(&["generate", "--check"])).expect(0);
    };
    is_clean();
    let planned = json(&repo, &[]);
    assert_eq!(planned["moves"], 2, "{planned}");

    repo.generate(&["--drain"]).expect(0);

    assert_eq!(hosts(&repo), ["Worker metal/a2", "Worker metal/b1", "Worker metal/b2"]);
    is_clean();
    assert_eq!(json(&repo, &[])["moves"], 1);
    repo.generate(&["--drain"]).expect(0);
    assert_eq!(hosts(&repo), ["Worker metal/b1", "Worker metal/b2", "Worker metal/c1"]);
    is_clean();
    let done = drain(&repo, &[]).expect(0).stdout;
    assert_says(&done, &["no move needed: no cluster has these hosts"]);
    // Nothing is left to do.
    repo.generate(&["--drain"]).expect(0);
    assert_eq!(hosts(&repo).len(), 3);
}

#[test]
fn several_hosts_of_a_cluster_may_move_at_once() {
    let repo = site(
        &[
            ("a1", "a", "w", Some("edge")),
            ("a2", "a", "w", Some("edge")),
            ("b1", "b", "w", None),
            ("b2", "b", "w", None),
        ],
        &[("edge", "Worker", "w", HOST, 2)],
        &[],
    );
    repo.write(
        "sipgen.yaml",
        "maintenance:\n  - {labels: {example.com/rack: a}, reason: new power feed}\n",
    );

    repo.generate(&["--drain=2"]).expect(0);

    assert_eq!(hosts(&repo), ["Worker metal/b1", "Worker metal/b2"]);
}

/// The replacement joins first. A plain run undoes nothing, and releases the host once it is unused.
#[test]
fn a_host_that_a_machine_uses_keeps_its_labels_beside_its_replacement() {
    let used = [("a1", "a", "w", Some("edge")), ("b1", "b", "w", None)];
    let clusters = [("edge", "Worker", "w", RACK, 1)];
    let repo = site(&used, &clusters, &["a1"]);
    repo.write("sipgen.yaml", "maintenance:\n  - {hosts: [metal/a1], reason: broken fan}\n");

    let step = repo.generate(&["--drain"]).expect(0);

    assert_says(&step.stderr, &["SIP0908", "kubectl annotate machine -n t machine-a1"]);
    let both = ["Worker metal/a1", "Worker metal/b1"];
    assert_eq!(hosts(&repo), both);
    run(&mut repo.sipgen(&["generate", "--check"])).expect(0);
    repo.generate(&["--drain"]).expect(0);
    assert_eq!(hosts(&repo), both);
    let waiting = drain(&repo, &[]).expect(0).stdout;
    assert_says(&waiting, &["replaced, and waiting for a snapshot that shows them unused"]);

    let text = repo.read("hosts.yaml");
    let (before, rest) = text.split_once("consumerRef: ").unwrap();
    let (_, after) = rest.split_once('}').unwrap();
    repo.write("hosts.yaml", &format!("{before}{after}"));
    repo.generate(&[]).expect(0);
    assert_eq!(hosts(&repo), ["Worker metal/b1"]);
}

#[test]
fn a_drain_without_marks_or_without_a_plan_writes_nothing() {
    let repo = site(
        &[("a1", "a", "w", Some("edge")), ("b1", "b", "x", None)],
        &[("edge", "Worker", "w", RACK, 1)],
        &[],
    );
    let before = repo.git(&["status", "--porcelain"]);

    let unmarked = repo.generate(&["--drain"]).expect(2);

    assert_says(&unmarked.stderr, &["no host is in maintenance"]);
    repo.write("sipgen.yaml", "maintenance:\n  - {hosts: [metal/a1], reason: broken fan}\n");
    let impossible = repo.generate(&["--drain"]).expect(1);
    assert_says(
        &impossible.stderr,
        &[
            "the hosts cannot be emptied",
            "t/edge Worker lacks 1 host",
            "\nto buy, if no other host moves\n",
            "1 host; one less does not suffice",
            "1 host in metal: example.com/flavor=w; example.com/rack: ",
        ],
    );
    let after = repo.git(&["status", "--porcelain"]);
    assert_eq!(after.replace("?? sipgen.yaml\n", ""), before);
}

#[test]
fn unused_hosts_need_no_move() {
    let repo = site(
        &[("a1", "a", "big", Some("edge")), ("b1", "b", "big", None)],
        &[("edge", "Worker", "big", HOST, 1)],
        &[],
    );

    let text = drain(&repo, &["metal/b1"]).expect(0).stdout;
    assert_says(&text, &["no move needed: no cluster has these hosts"]);
    assert_eq!(repo.files("overlays"), {
        run(&mut repo.sipgen(&["generate"])).expect(0);
        repo.files("overlays")
    });
}

#[test]
fn unknown_hosts_are_refused() {
    let repo = Repo::generated("multi-cluster");
    for (hosts, message) in [
        ("metal3/none", "the site has no host `metal3/none`"),
        ("rack=none", "no host matches `rack=none`"),
        ("colour=red", "no host has the label `colour`"),
    ] {
        let run = drain(&repo, &[hosts]).expect(2);
        assert_says(&run.stderr, &[message]);
    }
    drain(&repo, &[]).expect(2);
    drain(&repo, &["metal3/none", "--at-once", "0"]).expect(2);
}

#[test]
fn its_schema_is_the_documented_one() {
    compare_schema("drain", &schemars::schema_for!(sipgen::ask::drain::Drain));
}

/// The rack of a drained host stays, so the skew between racks counts it.
#[test]
fn the_only_host_of_a_rack_is_bound_by_the_skew_between_racks() {
    let hosts = [("a", "r1"), ("b", "r2"), ("c", "r3"), ("d", "r3")];
    let repo = Repo::empty();
    let host =
        |(name, rack): (&str, &str)| live_host(name, &format!("  labels: {{rack: {rack}}}\n"));
    repo.write("snapshot/hosts.yaml", &hosts.map(host).concat());
    repo.want("metal/one", 3);
    let constraint = "topologySpreadConstraints: [{topologyKey: rack, maxSkew: 1}], labelSelector";
    repo.replace("clusters/metal.one.yaml", "labelSelector", constraint);
    repo.generate(&[]).expect(0);
    repo.commit();

    let answer = json(&repo, &["metal/a"]);

    assert_eq!(answer["verdict"], "impossible", "{answer}");
    assert_eq!(answer["lacking"].as_array().unwrap().len(), 1, "{answer}");
}
