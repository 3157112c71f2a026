//! `sipgen capacity`: each number, held against `sipgen what-if`.

use std::fs;

use serde_json::Value;

use crate::support::{Repo, assert_says, compare_schema, fixture_names, run};

fn capacity(repo: &Repo, arguments: &[&str]) -> Value {
    let arguments = [&["capacity", "--format", "json"], arguments].concat();
    let run = run(&mut repo.sipgen(&arguments));
    serde_json::from_str(&run.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", run.stdout, run.stderr))
}

#[track_caller]
fn what_if(repo: &Repo, hypothesis: &[&str]) -> Value {
    let arguments = [&["what-if", "--format", "json"], hypothesis].concat();
    let run = run(&mut repo.sipgen(&arguments));
    serde_json::from_str(&run.stdout)
        .unwrap_or_else(|error| panic!("{hypothesis:?}: {error}: {}", run.stderr))
}

/// Returns whether every cluster can be served under a hypothesis.
#[track_caller]
fn is_served(repo: &Repo, hypothesis: &[&str]) -> bool {
    what_if(repo, hypothesis)["isServed"].as_bool().unwrap()
}

fn number(value: &Value) -> usize {
    value.as_u64().unwrap().try_into().unwrap()
}

/// Every fixture of one site that can be served: one host more than fits is one too many.
#[test]
fn node_sets_grow_as_far_as_what_if_serves_them() {
    let mut tried = 0;
    for fixture in fixture_names() {
        let repo = Repo::of_fixture(&fixture);
        if run(&mut repo.sipgen(&["generate"])).code != 0
            || run(&mut repo.sipgen(&["what-if", "--add", "1"])).code != 0
        {
            continue;
        }
        let answer = capacity(&repo, &[]);
        for growth in answer["nodeSets"].as_array().unwrap() {
            let cluster = &growth["cluster"];
            let node_set = growth["nodeSet"].as_str().or(growth["role"].as_str());
            let fit = number(&growth["fit"]);
            let grown = |more: usize| {
                let scale = format!(
                    "{}/{}:{}=+{more}",
                    cluster["namespace"].as_str().unwrap(),
                    cluster["name"].as_str().unwrap(),
                    node_set.unwrap()
                );
                what_if(&repo, &["--scale", &scale])
            };
            assert_eq!(grown(fit)["isServed"], true, "{fixture}: {growth}");
            let too_many = grown(fit + 1);
            assert_eq!(too_many["isServed"], false, "{fixture}: {growth}");
            for scarce in growth["scarce"].as_array().unwrap() {
                let why = scarce["why"].as_str().unwrap();
                let findings = too_many["findings"].to_string();
                assert!(findings.contains(why), "{fixture}: {why}: {findings}");
            }
            tried += 1;
        }
    }
    assert!(tried > 20, "{tried}");
}

const SMALL: &str = "\
apiVersion: airship.airshipit.org/v1
kind: SIPCluster
metadata: {name: small, namespace: tenant-b}
spec:
  nodes:
    Worker:
      labelSelector: {matchLabels: {hardware.example.com/flavor: worker}}
      count: {active: 1, standby: 0}
";

/// Alone and in a mix with a cluster that wants hosts of the same kind.
#[test]
fn copies_fit_as_far_as_what_if_serves_them() {
    let repo = Repo::generated("multi-cluster");
    let directory = tempfile::tempdir().unwrap();
    let request = |name: &str, clusters: &[(&str, usize, usize)]| {
        let file = directory.path().join(name);
        let copies = clusters.iter().flat_map(|(of, count, copies)| {
            (0..*copies).map(move |copy| {
                let text = SMALL.replace("small", &format!("{of}-{copy}"));
                format!("---\n{}", text.replace("active: 1", &format!("active: {count}")))
            })
        });
        fs::write(&file, copies.collect::<String>()).unwrap();
        file.into_os_string().into_string().unwrap()
    };
    let file = request("each.yaml", &[("one", 1, 1), ("two", 2, 1)]);
    let shares = ["--mix", "tenant-b/one-0=2", "--mix", "tenant-b/two-0"];
    let answer = capacity(&repo, &[&["--cluster", &file], &shares[..]].concat());

    for (fit, clusters) in [
        (&answer["clusters"][0]["fit"], [("one", 1, 1), ("two", 2, 0)]),
        (&answer["clusters"][1]["fit"], [("one", 1, 0), ("two", 2, 1)]),
        (&answer["mix"]["fit"], [("one", 1, 2), ("two", 2, 1)]),
    ] {
        let fit = number(fit);
        assert!(fit > 0, "{answer}");
        let serves = |sets: usize| {
            let file = request(
                "more.yaml",
                &clusters.map(|(of, count, copies)| (of, count, copies * sets)),
            );
            is_served(&repo, &["--cluster", &file])
        };
        assert!(serves(fit) && !serves(fit + 1), "{clusters:?}: {answer}");
    }
}

const APART: &str = "\
apiVersion: airship.airshipit.org/v1
kind: SIPCluster
metadata: {name: small, namespace: tenant-b}
spec:
  nodes:
    ControlPlane:
      labelSelector: {matchLabels: {hardware.example.com/flavor: control-plane}}
      topologyKey: topology.example.com/rack
      count: {active: 3, standby: 0}
";

#[test]
fn a_purchase_is_enough_and_one_host_less_is_not() {
    let repo = Repo::generated("multi-cluster");
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("small.yaml");
    fs::write(&file, APART).unwrap();
    let file = file.to_str().unwrap();

    let answer = capacity(&repo, &["--cluster", file]);

    let purchase = &answer["purchase"];
    assert_eq!((&purchase["hosts"], &purchase["isMinimal"]), (&2.into(), &true.into()));
    let [kind] = purchase["kinds"].as_array().unwrap().as_slice() else {
        panic!("{purchase}");
    };
    let labels = kind["labels"].as_object().unwrap().iter();
    let labels = labels.map(|(key, value)| format!("{key}={}", value.as_str().unwrap()));
    let labels = labels.collect::<Vec<_>>().join(",");
    let racks = kind["domains"]["topology.example.com/rack"].as_array().unwrap();
    let racks: Vec<&str> = racks.iter().map(|rack| rack.as_str().unwrap()).collect();
    let serves = |count: &str, racks: &[&str]| {
        let spread = format!("topology.example.com/rack={}", racks.join(","));
        let bought = ["--add", count, "--labels", &labels, "--spread", &spread];
        is_served(&repo, &[&["--cluster", file], &bought[..]].concat())
    };
    assert!(serves("2", &racks), "{purchase}");
    for rack in racks {
        assert!(!serves("1", &[rack]), "{purchase}");
    }
    let said = run(&mut repo.sipgen(&["capacity", "--cluster", file])).expect(0).stdout;
    assert_says(
        &said,
        &[
            "tenant-b/small ControlPlane lacks 2 hosts",
            "2 hosts; one less does not suffice",
            "2 hosts in metal3: hardware.example.com/flavor=control-plane; topology.example.com/rack: a3, a4",
        ],
    );
}

#[test]
fn no_purchase_helps_against_a_quota() {
    let repo = Repo::generated("multi-cluster");
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("small.yaml");
    fs::write(&file, SMALL).unwrap();
    let settings = repo.read("sipgen.yaml");
    repo.write(
        "sipgen.yaml",
        &format!("{settings}\nquotas: [{{namespace: tenant-b, hosts: 4}}]\n"),
    );

    let said = run(&mut repo.sipgen(&["capacity", "--cluster", file.to_str().unwrap()]));

    assert_says(
        &said.stdout,
        &[
            "tenant-b/small Worker lacks 1 host: the quota is 4 hosts for tenant-b",
            "no purchase was found that changes this",
        ],
    );
}

#[test]
fn a_loss_is_absorbed_if_what_if_serves_it() {
    let repo = Repo::generated("multi-cluster");
    for label in ["topology.example.com/rack", "hardware.example.com/flavor"] {
        let answer = capacity(&repo, &["--by", label]);
        let losses = answer["losses"].as_array().unwrap();
        assert!(losses.len() > 1, "{answer}");
        for loss in losses {
            let Some(domain) = loss["domain"].as_str() else {
                continue;
            };
            let absorbed = loss["lacking"].as_array().unwrap().is_empty();
            let hypothesis = format!("{label}={domain}");
            assert_eq!(absorbed, is_served(&repo, &["--without", &hypothesis]), "{loss}");
        }
    }
}

#[test]
fn its_text_says_what_fits_and_what_is_scarce() {
    let repo = Repo::generated("multi-cluster");

    let said = run(&mut repo.sipgen(&["capacity"])).expect(0).stdout;

    assert_says(
        &said,
        &[
            "0  tenant-a/core  ControlPlane: 8 hosts match its selector, 5 of them assigned to a cluster already, 1 ",
            "1  tenant-b/lab Worker         its selector matches only 4 of all hosts",
            "if all hosts of one topology.example.com/rack are lost",
            "quorum lost: tenant-b/lab; tenant-a/core Worker lacks 1 host",
        ],
    );
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
}

#[test]
fn mistakes_are_said() {
    let repo = Repo::generated("multi-cluster");
    for (arguments, message) in [
        (&["tenant-a/none"][..], "no cluster without errors is called `tenant-a/none`"),
        (&["--by", "example.com/none"], "no host has the label `example.com/none`"),
        (&["core"], "core"),
        (&["--cluster", "/dev/null"], "no hosts are requested in /dev/null"),
    ] {
        let run = run(&mut repo.sipgen(&[&["capacity"], arguments].concat())).expect(2);
        assert_says(&run.stderr, &[message]);
    }
}

#[test]
fn a_request_with_a_mistake_is_no_question() {
    let repo = Repo::generated("multi-cluster");
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("small.yaml");
    fs::write(&file, SMALL.replace("active: 1", "active: some")).unwrap();

    let run = run(&mut repo.sipgen(&["capacity", "--cluster", file.to_str().unwrap()])).expect(1);

    assert_says(&run.stderr, &["small.yaml:8:"]);
    assert_eq!(run.stdout, "");
}

#[test]
fn its_schema_is_the_documented_one() {
    compare_schema("capacity", &schemars::schema_for!(sipgen::ask::capacity::Capacity));
}

#[test]
fn nothing_to_count_is_an_answer_too() {
    for repo in [
        crate::support::scenes::provisionings::with_spec(
            "  masters: [{head: {mac-address: '00:00:5e:00:53:01'}}]\n",
        ),
        Repo::of_hosts(1),
    ] {
        let said = crate::support::run(&mut repo.sipgen(&["capacity"])).stdout;

        assert_says(&said, &["nothing can grow"]);
    }
}
