//! `sipgen example`: the first request of a repo.

use std::process::Command;

use crate::support::scenes::sites::monorepo;
use crate::support::{Repo, assert_says, run};

const KINDS: [&str; 3] = ["sipcluster", "cluster-api", "provisioning"];

#[track_caller]
fn example(repo: &Repo, arguments: &[&str]) -> String {
    let all = [&["example"], arguments].concat();
    run(&mut repo.sipgen(&all)).expect(0).stdout
}

#[test]
fn a_repo_without_requests_is_told_the_command_that_prints_one() {
    let repo = Repo::of_hosts(4);
    let said = repo.generate(&[]).expect(0).stderr;
    assert_says(&said, &["SIP0004", "`sipgen example sipcluster`"]);

    // The shell makes the file before sipgen reads the repo.
    let command = format!("{} example sipcluster > edge.yaml", env!("CARGO_BIN_EXE_sipgen"));
    let mut shell = Command::new("sh");
    run(shell.args(["-c", &command]).current_dir(repo.path())).expect(0);
    repo.generate(&[]).expect(0);
    assert_eq!(repo.hosts_of("metal", "edge").len(), 4);
}

#[test]
fn examples_use_the_labels_of_free_hosts() {
    let repo = Repo::of_fixture("quickstart");
    repo.remove_all("sites/lab/clusters");
    repo.replace("sites/lab/kustomization.yaml", "  - clusters/\n", "");

    let manifest = example(&repo, &["sipcluster"]);

    let label = |value: &str| format!("hardware.example.com/flavor: {value}\n");
    assert_says(
        &manifest,
        &[
            "free in `tenant-a`",
            "namespace: tenant-a\n",
            "topologyKey: topology.example.com/rack ",
            &label("control-plane"),
            &label("worker"),
            "nodeInterfaceId: oam-ipv4",
        ],
    );
}

#[test]
fn a_name_that_a_cluster_has_is_not_used_again() {
    let repo = Repo::of_hosts(3);
    repo.want("metal/edge", 1);
    repo.want("metal/edge-2", 1);
    assert_says(&example(&repo, &["cluster-api"]), &["  name: edge-3\n"]);
}

#[test]
fn an_example_is_within_the_quotas_and_sources_of_its_site() {
    let repo = Repo::of_hosts(4);
    let settings = |hosts: usize| {
        format!(
            "sources: [{{paths: [clusters, inventory]}}]\nquotas: [{{namespace: metal, hosts: {hosts}}}]\n"
        )
    };
    for (kind, quota, hosts) in [("sipcluster", 1, 1), ("sipcluster", 3, 3), ("cluster-api", 3, 3)]
    {
        repo.write("sipgen.yaml", &settings(quota));
        let manifest = example(&repo, &[kind]);
        let place = "in one of the `sources` of sipgen.yaml (clusters, inventory)";
        assert_says(&manifest, &["4 of them are free in `metal`", place]);
        repo.write("clusters/edge.yaml", &manifest);
        repo.generate(&[]).expect(0);
        assert_eq!(repo.hosts_of("metal", "edge").len(), hosts, "{kind} {quota}");
        repo.remove_all("overlays");
        repo.remove("clusters/edge.yaml");
    }
}

#[test]
fn an_example_of_a_provisioning_names_installed_machines() {
    let repo = Repo::of_fixture("provisioning");
    repo.remove_all("clusters");

    repo.write("edge.yaml", &example(&repo, &["provisioning"]));

    repo.generate(&[]).expect(0);
    assert_eq!(repo.hosts_of("lab", "edge").len(), 3);
}

#[test]
fn an_example_of_a_provisioning_names_no_machine_without_an_address() {
    let repo = Repo::of_fixture("provisioning");
    repo.remove_all("clusters");
    for address in ["ip: 198.51.100.11\n", "ip: \"2001:db8::11\"\n"] {
        repo.replace("inventory/hosts.yaml", address, "ip: \"\"\n");
    }

    repo.write("edge.yaml", &example(&repo, &["provisioning"]));

    repo.generate(&[]).expect(0);
    assert_eq!(repo.hosts_of("lab", "edge").len(), 3);
}

#[test]
fn without_a_repo_examples_have_placeholders() {
    let outside = tempfile::tempdir().unwrap();
    for kind in KINDS {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sipgen"));
        let printed = run(command.args(["example", kind]).current_dir(outside.path()));
        assert_says(&printed.expect(0).stdout, &["This repo has n", "replace", "tenant-a"]);
    }
}

#[test]
fn clusters_that_do_not_opt_in_are_named_with_the_line_that_opts_them_in() {
    let repo = Repo::of_fixture("cluster-api");
    repo.remove("edge.yaml");
    let lines = ["`requests: {clusterAPI: {clusters: all}}`", "assign-hosts: \"true\"`"];

    let said = repo.generate(&[]).expect(0).stderr;

    assert_says(&said, &["SIP0004", "not opted in: "]);
    assert_says(&said, &lines);
    assert_says(&run(&mut repo.sipgen(&["init"])).expect(0).stderr, &lines);
    repo.write("sipgen.yaml", "requests: {clusterAPI: {clusters: all}}\n");
    let said = repo.generate(&["--allow-empty"]).stderr;
    assert!(!said.contains("SIP0004"), "{said}");

    let repo = Repo::of_hosts(1);
    let said = repo.generate(&[]).expect(0).stderr;
    assert!(!said.contains("opted in: "), "{said}");
}

/// Uncomments the lines of an example that are YAML.
fn uncommented(manifest: &str) -> String {
    let line = |line: &str| match line.split_once("# ") {
        Some((indent, text)) if indent.trim().is_empty() => {
            let entry = text.trim_start().trim_start_matches("- ");
            let is_yaml = entry.split_once(':').is_some_and(|(key, value)| {
                !key.contains([' ', '`']) && (value.is_empty() || value.starts_with(' '))
            });
            if is_yaml { format!("{indent}{text}\n") } else { format!("{line}\n") }
        }
        _ => format!("{line}\n"),
    };
    manifest.lines().map(line).collect()
}

#[test]
fn examples_are_valid_with_every_line_uncommented() {
    let mut with_services = 0;
    for fixture in [
        "quickstart",
        "load-balancers",
        "jump-host",
        "ipv6",
        "capm3",
        "cluster-api",
        "multi-cluster",
        "observed",
        "provisioning",
    ] {
        for kind in KINDS {
            let repo = Repo::of_fixture(fixture);
            let printed = example(&repo, &[kind]);
            if printed.contains("no free hosts") || printed.contains("none that is free") {
                continue;
            }
            let all = uncommented(&printed);
            with_services += usize::from(all.contains("\n  services:\n"));
            repo.write("more/edge.yaml", &all);
            let run = run(&mut repo.sipgen(&["validate"]));
            assert!(run.code == 0, "{fixture}: {}\n{all}", run.stderr);
            assert!(!run.stderr.contains("SIP0410"), "{}", run.stderr);
        }
    }
    assert!(with_services > 2, "{with_services}");
}

#[test]
fn an_example_names_quotas_that_leave_no_hosts() {
    let repo = Repo::of_hosts(1);
    assert!(example(&repo, &["sipcluster"]).contains("1 of them is free"));
    repo.write("sipgen.yaml", "quotas: [{namespace: metal, hosts: 0}]\n");
    for kind in ["sipcluster", "cluster-api"] {
        assert!(example(&repo, &[kind]).contains("no free hosts within its quotas: "));
    }
    repo.remove("inventory/hosts.yaml");
    repo.write("inventory/kustomization.yaml", "resources: []\n");
    assert!(example(&repo, &["sipcluster"]).contains("no free hosts: "));
}

#[test]
fn examples_avoid_nodeports_and_networks_that_the_repo_lacks() {
    let repo = Repo::of_fixture("quickstart");
    let service = |port: u16| {
        format!(
            "apiVersion: v1\nkind: Service\nmetadata: {{name: a{port}, namespace: b}}\n\
             spec: {{type: NodePort, ports: [{{port: 1, nodePort: {port}}}]}}\n---\n"
        )
    };
    repo.write("apps.yaml", &[30443, 30085].map(service).concat());
    assert_says(
        &example(&repo, &["sipcluster"]),
        &["nodePort: 30444\n", "{start: 30086, end: 30095}"],
    );
    repo.write("sipgen.yaml", "services: {nodePortRange: 31000-31010}\n");
    assert_says(
        &example(&repo, &["sipcluster"]),
        &["nodePort: 31000\n", "{start: 31001, end: 31010}"],
    );

    let without_networks = example(&Repo::of_hosts(3), &["sipcluster"]);
    assert!(!without_networks.contains("services:"), "{without_networks}");
}

#[test]
fn errors_that_leave_hosts_free_do_not_prevent_an_example() {
    let repo = Repo::of_hosts(3);
    repo.write(
        "app/kustomization.yaml",
        "resources: []\nsecretGenerator:\n- {name: web, literals: [password=admin]}\n",
    );
    repo.generate(&["--allow-empty"]).expect(1);
    for kind in ["sipcluster", "cluster-api"] {
        assert_says(&example(&repo, &[kind]), &["3 of them are free"]);
    }
    repo.write("inventory/hosts.yaml", "kind: [\n");
    let refused = run(&mut repo.sipgen(&["example", "sipcluster"])).expect(1);
    assert_eq!(refused.stdout, "");
}

#[test]
fn invalid_settings_fail_instead_of_an_example_that_fits_nothing() {
    let repo = Repo::of_hosts(3);
    repo.write("sipgen.yaml", "outputs: here\n");
    let run = run(&mut repo.sipgen(&["example", "sipcluster"])).expect(1);
    assert_says(&run.stderr, &["SIP0002", "outputs"]);
    assert_eq!(run.stdout, "");
}

#[test]
fn one_of_several_sites_must_be_chosen() {
    let repo = monorepo("sites: [clusters/*]\n");
    let refused = run(&mut repo.sipgen(&["example", "sipcluster"])).expect(2);
    assert_says(&refused.stderr, &["choose a site with --site"]);
}
