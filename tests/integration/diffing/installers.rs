//! Provisionings: their machines by names, and installers that run.

use super::*;
use crate::support::assert_says;

const DEPOT: &str = "clusters/depot.yaml";
const PRESS: &str = "clusters/press.yaml";
const HOSTS: &str = "inventory/hosts.yaml";

/// What a diff says, without the hashes at the ends of names.
fn plan(repo: &Repo) -> String {
    let said = repo.diff(&[]).expect(1).stdout;
    let mut out = String::new();
    let mut rest = said.as_str();
    while let Some(at) = ["k8s-", "kud-"].iter().filter_map(|prefix| rest.find(prefix)).min() {
        let name = rest[at..].split([' ', ',', '\n', ';']).next().unwrap();
        let (plain, _) = name.rsplit_once('-').unwrap();
        out.extend([&rest[..at], plain, "-HASH"]);
        rest = &rest[at + name.len()..];
    }
    out + rest
}

#[test]
fn a_provisioning_that_comes_is_told_by_its_machines() {
    insta::assert_snapshot!(plan(&Repo::of_fixture("provisioning")));
}

#[test]
fn an_installer_that_runs_again_says_why() {
    let mut told = String::new();
    for (what, file, from, to) in [
        ("a network and packages", DEPOT, "10.244.64.0/18", "10.244.0.0/18"),
        ("a network", PRESS, "10.245.0.0/16", "10.246.0.0/16"),
        ("a machine less", PRESS, "    - body-2:\n        qat: true\n", ""),
        ("another name", DEPOT, "worker-1:", "worker-one:"),
        ("another address", HOSTS, "ip: 198.51.100.12\n", "ip: 198.51.100.99\n"),
        (
            "an image",
            "sipgen.yaml",
            "",
            "provisioning: {installer: kubespray, image: example.com/kubespray:2}\n",
        ),
        ("another installer", "sipgen.yaml", "", "provisioning: {image: example.com/kud:2}\n"),
        ("variables", "sipgen.yaml", "", "provisioning: {variables: {kube_version: 1.35.4}}\n"),
    ] {
        let repo = Repo::generated("provisioning");
        if from.is_empty() {
            repo.write(file, to)
        } else {
            repo.replace(file, from, to)
        }
        if what.ends_with("packages") {
            repo.replace(DEPOT, "- tmux", "- screen");
        }
        told.push_str(&format!("## {what}\n{}\n", plan(&repo)));
    }

    insta::assert_snapshot!(told);
}

#[test]
fn an_installer_of_which_only_the_inputs_file_moves_does_not_run() {
    let repo = Repo::generated("provisioning");
    let text = repo.read(PRESS);
    repo.remove(PRESS);
    repo.write("clusters/moved.yaml", &text);

    let said = repo.diff(&[]).stdout;

    assert!(!said.contains("danger"), "{said}");
}

#[test]
fn a_machine_in_use_that_is_given_back_is_named() {
    let repo = Repo::generated("provisioning");
    repo.replace_behind(
        HOSTS,
        "name: depot-06\n",
        "    spec:\n",
        "    spec:\n      consumerRef: {kind: Server, namespace: lab, name: old}\n",
    );
    repo.replace(PRESS, "    - body-2:\n        qat: true\n", "");

    let run = repo.diff(&[]).expect(1);

    let danger = "lab/press releases 1 host in use: lab/depot-06 (body-2) by Server lab/old";
    assert_says(
        &run.stdout,
        &[danger, "- Worker machine body-2 on lab/depot-06: Server lab/old uses it"],
    );
    assert_says(
        &run.stderr,
        &[
            "releases host lab/depot-06, its machine body-2, which Server lab/old consumes",
            "or restore the machine",
        ],
    );
}

#[test]
fn a_master_that_begins_or_ends_to_run_workloads_is_named() {
    let both = "    - head-1:\n        memory: 32Gi\n";
    let repo = Repo::generated("provisioning");
    repo.replace(PRESS, both, "");
    assert_says(&plan(&repo), &["; workloads no longer run on head-1; Job"]);

    repo.generate(&[]).expect(0);
    repo.replace(PRESS, "  workers:\n", &format!("  workers:\n{both}"));
    assert_says(&plan(&repo), &["; workloads now run on head-1; Job"]);
    let json: serde_json::Value =
        serde_json::from_str(&repo.diff(&["--format", "json"]).stdout).unwrap();
    let installer = &json["review"]["clusters"][0]["installer"];
    assert_eq!(installer["beginWorkloads"], serde_json::json!(["head-1"]));
    assert_eq!(installer["endWorkloads"], serde_json::json!([]));
}

#[test]
fn a_provisioning_that_goes_takes_its_installer_with_it() {
    let repo = Repo::generated("provisioning");
    repo.remove(PRESS);

    let said = plan(&repo);

    assert_says(
        &said,
        &[
            "danger: cluster lab/press is deleted, with its 4 hosts",
            "- installer: Job k8s-press-HASH",
        ],
    );
    assert!(!said.contains("the installer runs"), "{said}");
}

#[test]
fn a_comment_and_programs_are_told_the_same() {
    let repo = Repo::generated("provisioning");
    repo.replace(PRESS, "10.245.0.0/16", "10.246.0.0/16");

    let markdown = repo.diff(&["--format", "markdown"]).expect(1).stdout;
    let danger = "> - the installer runs again on all 4 machines of `lab/press`";
    assert_says(&markdown, &[danger, "<code>lab/press</code> (Provisioning) changed"]);

    let json: serde_json::Value =
        serde_json::from_str(&repo.diff(&["--format", "json"]).stdout).unwrap();
    let (danger, cluster) = (&json["review"]["dangers"][0], &json["review"]["clusters"][0]);
    assert_eq!((&danger["code"], &danger["machines"]), (&"installer-runs".into(), &4.into()));
    assert_eq!(danger["because"], serde_json::json!(["group_vars/all.yml"]));
    assert_eq!(
        (&cluster["kind"], &cluster["installer"]["runs"]),
        (&"Provisioning".into(), &true.into())
    );
    assert_eq!(json["review"]["totals"]["installersRun"], 1);
}
