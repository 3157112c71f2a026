//! Answers about a site agree with each other, and with the site once it is changed as they say.

use serde_json::{Value, json};

use crate::support::{Repo, Run, assert_says, run};

const EDGE: &str = "sites/lab/clusters/edge.yaml";

#[track_caller]
fn ask(repo: &Repo, arguments: &[&str]) -> Value {
    let run = run(&mut repo.sipgen(&[arguments, &["--format", "json"]].concat()));
    serde_json::from_str(&run.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", run.stdout, run.stderr))
}

fn text(repo: &Repo, arguments: &[&str]) -> Run {
    run(&mut repo.sipgen(arguments))
}

/// A host in a state in which it is free, with more metadata and labels.
fn host(name: &str, metadata: &str, labels: &Value) -> String {
    format!(
        "---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {{name: {name}, namespace: m, labels: \
         {labels}{metadata}}}\nspec: {{online: true}}\nstatus: {{provisioning: {{state: available}}}}\n"
    )
}

fn request(name: &str, selector: &str, count: usize) -> String {
    format!(
        "---\napiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {{name: {name}, namespace: t}}\nspec:\n  \
         nodes:\n    Worker:\n      labelSelector: {selector}\n      topologyKey: rack\n      \
         count: {{active: {count}, standby: 0}}\n"
    )
}

/// The manifests of the hosts of a purchase.
fn bought(purchase: &Value) -> String {
    let mut text = String::new();
    for (number, kind) in purchase["kinds"].as_array().unwrap().iter().enumerate() {
        for at in 0..kind["hosts"].as_u64().unwrap() {
            let name = format!("bought-{number}-{at}");
            let mut labels = kind["labels"].clone();
            for (key, values) in kind["domains"].as_object().unwrap() {
                let value = &values[usize::try_from(at).unwrap()];
                labels[key] = if value.is_null() { name.clone().into() } else { value.clone() };
            }
            text += &host(&name, "", &labels);
        }
    }
    text
}

/// A rack that is drained is no place for new hosts: `drain` would empty them as well.
#[test]
fn what_a_drain_buys_makes_it_possible() {
    let repo = Repo::empty();
    let hosts = ["a", "b", "c"].map(|rack| host(rack, "", &json!({"rack": rack, "flavor": "w"})));
    repo.write("hosts.yaml", &hosts.concat());
    repo.write("edge.yaml", &request("edge", "{matchLabels: {flavor: w}}", 2));
    run(&mut repo.sipgen(&["generate"])).expect(0);
    let drained = ["drain", "rack in (a, c)"];
    let answer = ask(&repo, &drained);
    assert_eq!(answer["verdict"], "impossible", "{answer}");
    assert_eq!(answer["purchase"]["hosts"], 1, "{answer}");

    repo.write("bought.yaml", &bought(&answer["purchase"]));

    assert_eq!(ask(&repo, &drained)["verdict"], "planned");
    let answer = ask(&Repo::generated("multi-cluster"), &["drain", "rack=a3"]);
    let racks = answer["purchase"]["kinds"].to_string();
    assert!(racks.contains("a12") && !racks.contains("\"a3\""), "{answer}");
}

/// A reservation for the original by name is none for its copies.
#[test]
fn copies_take_no_host_that_is_reserved_for_the_original() {
    let repo = Repo::empty();
    let reserved = ", annotations: {sip.airshipit.org/reserved-for: t/edge}";
    let hosts = [("a", ""), ("b", ""), ("c", reserved), ("d", reserved)];
    let hosts = hosts.map(|(name, metadata)| host(name, metadata, &json!({"rack": name})));
    let hosts: String = hosts.concat();
    repo.write("hosts.yaml", &hosts);
    repo.write("edge.yaml", &request("edge", "{}", 1));
    run(&mut repo.sipgen(&["generate"])).expect(0);

    let answer = ask(&repo, &["capacity"]);

    let fit = answer["clusters"][0]["fit"].as_u64().unwrap();
    assert_eq!(answer["nodeSets"][0]["fit"], 3, "{answer}");
    let copies = |count: u64| (0..count).map(|at| request(&format!("copy-{at}"), "{}", 1));
    repo.write("copies.yaml", &copies(fit).collect::<String>());
    run(&mut repo.sipgen(&["validate"])).expect(0);
    repo.write("copies.yaml", &copies(fit + 1).collect::<String>());
    run(&mut repo.sipgen(&["validate"])).expect(1);
}

#[test]
fn a_node_set_that_is_short_today_does_not_grow_and_is_shorter_after_a_loss() {
    let repo = Repo::of_fixture("quickstart");
    repo.replace(EDGE, "active: 2", "active: 4");

    let answer = ask(&repo, &["capacity"]);

    for growth in answer["nodeSets"].as_array().unwrap() {
        assert_eq!(growth["fit"], 0, "{growth}");
        assert_eq!(growth["isShort"], true, "{growth}");
        assert!(!growth["scarce"].as_array().unwrap().is_empty(), "{growth}");
    }
    for loss in answer["losses"].as_array().unwrap() {
        let lacking = &loss["lacking"][0];
        assert_eq!((&lacking["hosts"], &lacking["today"]), (&2.into(), &1.into()), "{loss}");
    }
    for command in ["capacity", "status"] {
        let said = text(&repo, &[command]).stdout;
        assert_says(&said, &["tenant-a/edge ControlPlane lacks 1 more host"]);
        assert!(!said.contains("every lost host can be replaced"), "{said}");
    }
    let lost = ask(&repo, &["what-if", "--without", "rack=a"]);
    assert_eq!(lost["clusters"][0]["nodeSets"][0]["lacks"], 2, "{lost}");
    let said = text(&repo, &["what-if", "--without", "rack=a"]).stdout;
    assert_says(&said, &["tenant-a/edge ControlPlane: lacks 2 of 4 hosts"]);
}

/// The host has another obstacle than the topology key, which therefore is none.
#[test]
fn a_shortage_names_the_network_and_not_the_topology_key() {
    for key in ["      topologyKey: topology.example.com/rack\n", ""] {
        let repo = Repo::of_fixture("quickstart");
        repo.replace(EDGE, "active: 2", "active: 3");
        repo.replace(
            EDGE,
            "control-plane\n      topologyKey: topology.example.com/rack\n",
            &format!("control-plane\n{key}"),
        );
        repo.replace("sites/lab/hosts/rack-c.yaml", "id: oam-ipv4", "id: other");

        assert_says(
            &repo.refused(),
            &[
                "1 of the 3 ControlPlane hosts of tenant-a/edge cannot be found: 3 hosts match its selector, 1 of them \
                 without a network `oam-ipv4` in the network data\n",
            ],
        );
    }
}

/// Only both changes together would help.
#[test]
fn a_shortage_names_two_rules_that_refuse_the_same_host() {
    let repo = Repo::of_fixture("quickstart");
    repo.replace(EDGE, "active: 2", "active: 3");
    repo.replace("sites/lab/hosts/rack-c.yaml", "id: oam-ipv4", "id: other");
    repo.replace(
        "sites/lab/hosts/rack-c.yaml",
        "topology.example.com/rack: c",
        "topology.example.com/rack: b",
    );

    assert_says(
        &repo.refused(),
        &[
            "3 hosts match its selector, 1 of them without a network `oam-ipv4` in the network data and in a topology \
             domain of another host\n",
        ],
    );
}

#[test]
fn each_host_that_matches_is_counted_once() {
    let repo = Repo::empty();
    let text = |name: &str, metadata: &str, spec: &str| {
        format!(
            "---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {{name: {name}, namespace: m, labels: {{rack: {name}}}{metadata}}}\n\
             spec: {{online: true{spec}}}\n"
        )
    };
    let (marked, used) =
        (", annotations: {baremetalhost.metal3.io/paused: ''}", ", image: {url: u}");
    let hosts = [
        text("a", "", ""),
        text("b", marked, ""),
        text("c", marked, used),
        text("d", marked, used),
    ];
    repo.write("metal/hosts.yaml", &hosts.concat());
    repo.write("metal/kustomization.yaml", "resources: [hosts.yaml]\n");
    repo.write("clusters/edge.yaml", &request("edge", "{}", 4));

    let sentence = "4 hosts match its selector, 1 of them with the annotation baremetalhost.metal3.io/paused, 2 for several reasons\n";
    assert_says(&repo.refused(), &[sentence]);
}

#[test]
fn hosts_that_a_variable_decides_about_match_only_by_their_labels() {
    let repo = Repo::empty();
    let host = |name: &str, role: &str| {
        format!(
            "---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {{name: {name}, namespace: m, labels: \
             {{cluster-role: {role}, rack: {name}}}}}\nspec: {{online: true, bmc: {{address: \"${{BMC}}\", credentialsName: x}}}}\n"
        )
    };
    let hosts = [host("cp-1", "cp"), host("cp-2", "cp"), host("worker-1", "worker")];
    repo.write("metal/hosts.yaml", &hosts.concat());
    repo.write("metal/kustomization.yaml", "resources: [hosts.yaml]\n");
    let selector = "{matchLabels: {cluster-role: cp}}";
    repo.write("clusters/edge.yaml", &request("edge", selector, 2));

    assert_says(
        &repo.refused(),
        &[
            "2 of the 2 Worker hosts of t/edge cannot be found: 2 hosts match its selector, 2 of them that the variable \
             `BMC` decides about",
            "1 not matching `cluster-role=cp` of the selector (m/worker-1)",
        ],
    );
}

#[test]
fn a_host_whose_selected_label_is_a_variable_does_not_match_in_any_answer() {
    let repo = Repo::empty();
    let host = |name: &str, role: &str| {
        format!(
            "---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {{name: {name}, namespace: m, labels: \
             {{cluster-role: {role}, rack: {name}}}}}\nspec: {{online: true}}\n"
        )
    };
    let hosts = [host("cp-1", "cp"), host("any-1", "'${ROLE}'"), host("worker-1", "worker")];
    repo.write("metal/hosts.yaml", &hosts.concat());
    repo.write("metal/kustomization.yaml", "resources: [hosts.yaml]\n");
    repo.write("clusters/edge.yaml", &request("edge", "{matchLabels: {cluster-role: cp}}", 2));

    assert_says(
        &repo.refused(),
        &[
            "its selector matches only 1 of all hosts",
            "1 that the variable `ROLE` decides about (m/any-1)",
        ],
    );
    let status = text(&repo, &["status"]).stdout;
    assert_says(&status, &["       1         0     1  cluster-role=cp"]);
}

#[test]
fn hosts_on_standby_are_named_if_the_node_set_would_be_filled_without_them() {
    for (standby, aside) in [(1, " (1 of them standby)"), (2, " (2 of them standby)"), (0, "")] {
        let repo = Repo::empty();
        let hosts = ["a", "b"].map(|name| host(name, "", &json!({"rack": name})));
        repo.write("hosts.yaml", &hosts.concat());
        let count = format!("active: {}, standby: {standby}", 3 - standby);
        let active = request("edge", "{}", 3).replace("active: 3, standby: 0", &count);
        repo.write("edge.yaml", &active);

        let said = format!("1 of the 3 Worker hosts{aside} of t/edge cannot be found");
        assert_says(&repo.refused(), &[&said]);
    }
}

/// Equal limits: neither a higher quota nor more hosts alone would help.
#[test]
fn a_shortage_names_a_quota_and_the_number_of_hosts_together() {
    let repo = Repo::empty();
    let host = |name: &str| host(name, "", &json!({"rack": name}));
    repo.write("hosts.yaml", &[host("a"), host("b")].concat());
    repo.write("edge.yaml", &request("edge", "{}", 3));
    let refused = |quota: usize| {
        let quota = format!("quotas: [{{namespace: t, hosts: {quota}}}]\n");
        repo.write("sipgen.yaml", &quota);
        repo.refused()
    };

    let equal = refused(2);
    assert_says(&equal, &["the quota is 2 hosts for t, and only 2 hosts can serve it"]);
    let fewer = refused(1);
    assert_says(&fewer, &["the quota is 1 host for t\n"]);
    let more = refused(3);
    assert!(!more.contains("quota"), "{more}");
}

/// The names of fixtures with hosts and clusters.
const FIXTURES: [&str; 6] =
    ["quickstart", "multi-cluster", "cluster-api", "capm3", "provisioning", "observed"];

/// Text, page and JSON have the same numbers, and `status` those of `capacity`.
#[test]
fn every_format_has_the_same_numbers() {
    let mut rows = 0;
    for fixture in FIXTURES {
        let repo = Repo::of_fixture(fixture);
        let json = ask(&repo, &["capacity"]);
        let said = |arguments: &[&str]| text(&repo, arguments).stdout;
        let plain = said(&["capacity", "--all"]);
        let page = said(&["report", "-"]);
        // A row of the page is a JSON object without nested ones.
        let mut expect = |line: String, entry: (String, String)| {
            rows += 1;
            let mut objects = page.split('}').map(|object| format!("{object}}}"));
            let is_entry = |object: &String| object.contains(&entry.0) && object.contains(&entry.1);
            assert!(objects.any(|object| is_entry(&object)), "{fixture}: {entry:?}");
            assert!(plain.contains(&line), "{fixture}: {line}\n{plain}");
        };
        for (list, part) in [("clusters", false), ("nodeSets", true)] {
            for row in json[list].as_array().unwrap() {
                let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                let cluster = &row["cluster"];
                let mut name =
                    format!("{}/{}", word(&cluster["namespace"]), word(&cluster["name"]));
                if part {
                    let role = word(&row["role"]);
                    let node_set = row["nodeSet"].as_str();
                    let part = node_set.map_or(role.clone(), |name| format!("{name} ({role})"));
                    name = format!("{name} {part}");
                }
                let fit = row["fit"].as_u64().unwrap();
                expect(
                    format!("\n  {fit:>4}  {name} "),
                    (format!("{{\"fit\":{fit},"), format!("\"name\":\"{name}\"")),
                );
            }
        }
        for loss in json["losses"].as_array().unwrap() {
            let Some(rack) = loss["domain"].as_str() else {
                continue;
            };
            let (hosts, assigned) = (&loss["hosts"], &loss["assigned"]);
            let (hosts, assigned) = (hosts.as_u64().unwrap(), assigned.as_u64().unwrap());
            let line = plain.lines().find(|line| {
                let words: Vec<&str> = line.split_whitespace().take(3).collect();
                words == [rack, &hosts.to_string(), &assigned.to_string()]
            });
            expect(
                line.unwrap_or(rack).to_owned(),
                (
                    format!("{{\"assigned\":{assigned},\"hosts\":{hosts},"),
                    format!("\"rack\":\"{rack}\"}}"),
                ),
            );
            let lost = ask(
                &repo,
                &["what-if", "--without", &format!("{}={rack}", json["by"].as_str().unwrap())],
            );
            for lacking in loss["lacking"].as_array().unwrap() {
                let mut clusters = lost["clusters"].as_array().unwrap().iter();
                let cluster = clusters.find(|impact| impact["cluster"] == lacking["cluster"]);
                let mut node_sets = cluster.unwrap()["nodeSets"].as_array().unwrap().iter();
                let node_set = node_sets.find(|node_set| {
                    ["role", "nodeSet"].iter().all(|field| node_set[field] == lacking[field])
                });
                assert_eq!(node_set.unwrap()["lacks"], lacking["hosts"], "{fixture}: {rack}");
            }
        }
        let status = ask(&repo, &["status"]);
        assert_eq!(status["short"], json["lacking"], "{fixture}");
    }
    assert!(rows > 30, "{rows}");
}
