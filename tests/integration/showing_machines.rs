//! Provisionings in `explain`, `status` and the report: machines by their names, and many of them in few lines.

use std::fmt::Write;

use serde_json::Value;

use crate::support::{Repo, assert_says, run};

const PRESS: &str = "clusters/press.yaml";

#[track_caller]
fn said(repo: &Repo, arguments: &[&str], code: i32) -> String {
    run(&mut repo.sipgen(arguments)).expect(code).stdout
}

#[track_caller]
fn json(repo: &Repo, arguments: &[&str]) -> Value {
    let all: Vec<&str> = arguments.iter().copied().chain(["--format", "json"]).collect();
    serde_json::from_str(&run(&mut repo.sipgen(&all)).stdout).unwrap()
}

/// A Provisioning `metal/NAME` with a machine for the control plane and some workers of which the same is asked.
fn provisioning(name: &str, workers: usize, asked: &str) -> String {
    let mut text = format!(
        "apiVersion: bpa.akraino.org/v1alpha1\nkind: Provisioning\n\
         metadata: {{name: provisioning-{name}, namespace: metal, labels: {{cluster: {name}}}}}\n\
         spec:\n  masters:\n    - head: {{cpu: 1}}\n  workers:\n"
    );
    (1..=workers).for_each(|number| writeln!(text, "    - body-{number}: {{{asked}}}").unwrap());
    text
}

/// A repo with observed hosts `host-1`, `host-2`, …, all alike, of 8 CPUs and 16 GiB.
fn of_inspected_hosts(count: usize) -> Repo {
    let host = |number: usize| {
        let (high, low) = (number / 256, number % 256);
        let mac = format!("02:00:00:00:{high:02x}:{low:02x}");
        format!(
            "---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\n\
             metadata: {{name: host-{number}, namespace: metal, uid: u-{number}, resourceVersion: \"1\"}}\n\
             spec: {{online: true, bootMACAddress: \"{mac}\", bmc: {{address: \"ipmi://203.0.{high}.{low}\"}}}}\n\
             status: {{provisioning: {{state: provisioned}}, hardware: {{cpu: {{count: 8}}, ramMebibytes: 16384, \
             nics: [{{name: eno1, mac: \"{mac}\", ip: 10.0.{high}.{low}}}]}}}}\n"
        )
    };
    let repo = Repo::empty();
    repo.write("inventory/hosts.yaml", &(1..=count).map(host).collect::<String>());
    repo
}

#[test]
fn a_cluster_is_explained_machine_by_machine() {
    let repo = Repo::of_fixture("provisioning");

    insta::assert_snapshot!(said(&repo, &["explain", "lab/press"], 0));
    insta::assert_snapshot!(said(&repo, &["explain", "lab/depot"], 0));
}

#[test]
fn a_master_that_runs_workloads_too_is_shown_as_such() {
    let repo = Repo::of_fixture("provisioning");
    assert_says(&said(&repo, &["explain", "lab/press"], 0), &["    head-1 (also Worker)  lab/"]);
    assert_says(
        &said(&repo, &["status", "--cluster", "lab/press"], 0),
        &["ControlPlane       1        -     1  also Worker, 1 added"],
    );
    let explained = json(&repo, &["explain", "lab/press"]);
    let of_all = |sets: &Value| -> Vec<bool> {
        sets.as_array().unwrap().iter().map(|set| set["workerToo"] == Value::Bool(true)).collect()
    };
    assert_eq!(of_all(&explained["cluster"]["nodeSets"]), [true, false, false, false]);

    // Without workers, the masters run workloads.
    let depot = "clusters/depot.yaml";
    assert!(!said(&repo, &["explain", "lab/depot"], 0).contains("also"));
    let (head, tail) = repo
        .read(depot)
        .split_once("  workers:\n")
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .unwrap();
    repo.write(depot, &(head + &tail[tail.find("  PodSubnet").unwrap()..]));
    let status = json(&repo, &["status"]);
    let depot = status["clusters"]
        .as_array()
        .unwrap()
        .iter()
        .find(|cluster| cluster["name"] == "depot")
        .unwrap();
    assert!(!of_all(&depot["nodeSets"]).contains(&false), "{depot}");
}

#[test]
fn machines_that_are_there_stay() {
    let said = said(&Repo::generated("provisioning"), &["explain", "lab/press"], 0);

    assert!(said.contains("  stays  for QuickAssist\n") && !said.contains("picked"), "{said}");
}

#[test]
fn free_hosts_with_an_operating_system_are_free_in_every_table() {
    let repo = of_inspected_hosts(4);
    repo.write("clusters/big.yaml", &provisioning("big", 2, "cpu: 1"));
    repo.generate(&[]).expect(0);

    let status = json(&repo, &["status"]);

    assert_eq!(status["spare"][0]["free"], 1, "{status}");
    assert_eq!(status["hardware"][0]["free"], 1, "{status}");
}

#[test]
fn a_host_is_told_which_machine_it_is_and_why_the_others_do_not_have_it() {
    let repo = Repo::generated("provisioning");

    insta::assert_snapshot!(said(&repo, &["explain", "lab/depot-06"], 0));
}

#[test]
fn the_machines_of_a_large_cluster_that_do_not_have_a_host_are_told_together() {
    let repo = of_inspected_hosts(210);
    repo.write("clusters/big.yaml", &provisioning("big", 200, "cpu: 8"));

    let said = said(&repo, &["explain", "metal/host-1"], 0);

    assert_says(
        &said,
        &[
            "head (ControlPlane) of metal/big (picked)",
            "metal/big 200 Worker machines  is assigned",
        ],
    );
}

#[test]
fn machines_that_lack_a_host_for_the_same_reasons_are_told_once() {
    let repo = of_inspected_hosts(30);
    repo.write("clusters/big.yaml", &provisioning("big", 20, "cpu: 16"));

    let findings = said(&repo, &["validate"], 1);
    assert_eq!(findings.matches("error[SIP0501]").count(), 1, "{findings}");
    let message = "no host can be found for 20 Worker machines (body-1, body-2, body-3, body-4, …) of metal/big";
    assert_says(&findings, &[message, "none meets the requirements", "30 with fewer than 16 CPUs"]);

    let explained = said(&repo, &["explain", "metal/big"], 1);
    let why = "    no host for body-1, body-2, body-3 and 17 more, because\n";
    assert_says(
        &explained,
        &["ControlPlane: has 0 machines of 1", "head     not placed", "body-20  no host", why],
    );
    assert_eq!(explained.matches("30 with fewer than 16 CPUs").count(), 1, "{explained}");
}

#[test]
fn a_machine_that_stays_although_its_host_has_too_little_says_so() {
    let repo = of_inspected_hosts(3);
    repo.write("clusters/big.yaml", &provisioning("big", 1, "cpu: 8"));
    repo.generate(&[]).expect(0);
    repo.replace("clusters/big.yaml", "cpu: 8", "cpu: 9");

    let said = said(&repo, &["explain", "metal/big"], 0);

    assert_says(&said, &["stays, although it has 8 CPUs, and 9 are asked for  for 9 CPUs"]);
}

#[test]
fn programs_are_told_what_is_asked_and_what_there_is() {
    let explained = json(&Repo::of_fixture("provisioning"), &["explain", "lab/press"]);
    let cluster = &explained["cluster"];
    let body = &cluster["nodeSets"][1];

    assert_eq!(
        (&cluster["kind"], &cluster["provisioning"]),
        (&"Provisioning".into(), &"provisioning-press".into())
    );
    assert_eq!((&body["role"], &body["node"]), (&"Worker".into(), &"body-1".into()));
    assert_eq!((&body["asked"]["cpu"], &body["asked"]["sriov"]), (&64.into(), &true.into()));
    let machine = &body["hosts"][0]["machine"];
    assert_eq!((&machine["cpu"], &machine["address"]), (&72.into(), &"198.51.100.15".into()));
}

#[test]
fn a_site_is_shown_with_both_kinds_of_clusters() {
    let repo = Repo::of_fixture("provisioning");
    repo.want("lab/tenant", 1);

    insta::assert_snapshot!(said(&repo, &["status"], 0));
    insta::assert_snapshot!(said(&repo, &["status", "--cluster", "lab/press"], 0));
}

#[test]
fn two_hundred_machines_take_two_lines() {
    let repo = of_inspected_hosts(210);
    repo.write("clusters/big.yaml", &provisioning("big", 200, "cpu: 8"));
    repo.write("clusters/more.yaml", &provisioning("more", 9, "cpu: 9"));

    let said = said(&repo, &["status"], 1);

    assert!(said.lines().count() < 30, "{said}");
    assert_says(
        &said,
        &[
            "Worker           200        -   200  200 added",
            "no host for body-1, body-2, body-3, body-4 and 5 more",
        ],
    );
    assert_says(
        &said,
        &["8 CPUs  (200 machines of metal/big)", "9 CPUs  (9 machines of metal/more)"],
    );
}

#[test]
fn programs_are_told_the_kinds_and_the_names() {
    let repo = Repo::of_fixture("provisioning");
    repo.want("lab/tenant", 1);

    let picture = json(&repo, &["status"]);

    let kinds: Vec<(&Value, &Value)> =
        picture["clusters"].as_array().unwrap().iter().map(|c| (&c["name"], &c["kind"])).collect();
    let expected = [("depot", "Provisioning"), ("press", "Provisioning"), ("tenant", "SIPCluster")];
    assert!(
        kinds
            .iter()
            .zip(expected)
            .all(|((name, kind), is)| (name.as_str(), kind.as_str()) == (Some(is.0), Some(is.1)))
    );
    let spare = picture["spare"].as_array().unwrap();
    // Machines that name their hosts want no other ones.
    assert!(!picture["spare"].to_string().contains("depot"), "{spare:?}");
    let of_roles =
        spare.iter().find(|spare| !spare["nodeSets"].as_array().unwrap().is_empty()).unwrap();
    assert_eq!(of_roles["nodeSets"][0][1], "Worker");
    let of_machines = spare.iter().find(|spare| spare["asked"]["qat"] == true).unwrap();
    assert_eq!(
        (&of_machines["machines"][0][2], &of_machines["matching"]),
        (&"body-2".into(), &1.into())
    );
}

#[test]
fn a_provisioning_with_errors_and_one_that_is_gone_are_still_known_by_their_kind() {
    let repo = Repo::generated("provisioning");
    repo.replace("clusters/depot.yaml", "10.244.64.0/18", "nowhere");
    repo.remove(PRESS);

    let picture = json(&repo, &["status"]);

    let clusters = picture["clusters"].as_array().unwrap();
    assert_eq!(clusters.len(), 2);
    assert!(clusters.iter().all(|cluster| cluster["kind"] == "Provisioning"), "{clusters:?}");
}
