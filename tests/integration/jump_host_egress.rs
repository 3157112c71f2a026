//! `services.jumpHostEgress`: what the pods of jump hosts may connect to.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use crate::support::{Repo, assert_says, documents};

const DIRECTORY: &str = "overlays/clusters/depot/edge/jumphost";

fn networks(rule: &yaml_serde::Value) -> BTreeSet<String> {
    let peers = rule["to"].as_sequence().unwrap().iter();
    let networks = peers.filter_map(|peer| peer.get("ipBlock")?["cidr"].as_str());
    networks.map(str::to_owned).collect()
}

#[test]
fn a_jump_host_reaches_its_hosts_their_bmcs_and_the_networks_of_the_setting() {
    let repo = Repo::of_fixture("jump-host");
    repo.generate(&[]).expect(0);
    let hosts = repo.read(&format!("{DIRECTORY}/hosts"));
    let hosts: Vec<Json> =
        hosts.lines().skip(2).filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert!(hosts.len() >= 4, "{hosts:?}");

    let policy = &documents(&repo.read(&format!("{DIRECTORY}/egress.yaml")))[0];

    let rules = policy["spec"]["egress"].as_sequence().unwrap();
    let dns: Vec<_> =
        ["UDP", "TCP"].iter().map(|it| format!("port: 53\nprotocol: {it}\n")).collect();
    let ports = rules[0]["ports"].as_sequence().unwrap().iter();
    assert_eq!(ports.map(|port| yaml_serde::to_string(port).unwrap()).collect::<Vec<_>>(), dns);
    assert!(rules[0].get("to").is_none());
    let anywhere = networks(&rules[1]);
    assert!(rules[1].get("ports").is_none());
    // Beside those, the pods of the namespace, which serve the cluster.
    let peers = rules[1]["to"].as_sequence().unwrap();
    assert_eq!(yaml_serde::to_string(&peers[0]).unwrap(), "podSelector: {}\n");
    assert_eq!(peers.len(), anywhere.len() + 1);
    let mut expected: BTreeSet<String> =
        hosts.iter().map(|host| format!("{}/32", host["address"].as_str().unwrap())).collect();
    // The clusterIP of the jump host, and the setting.
    expected.extend(["192.0.2.10/32", "192.0.2.0/24"].map(str::to_owned));
    assert_eq!(anywhere, expected);
    let bmcs: Vec<(u64, BTreeSet<String>)> = rules[2..]
        .iter()
        .map(|rule| (rule["ports"][0]["port"].as_u64().unwrap(), networks(rule)))
        .collect();
    let one = |network: &str| BTreeSet::from([network.to_owned()]);
    assert_eq!(bmcs, [(443, one("203.0.113.21/32")), (8000, one("203.0.113.22/32"))]);
}

#[test]
fn a_bmc_with_a_name_has_no_address_to_list() {
    let repo = Repo::of_fixture("jump-host");
    let hosts = repo.read("hosts/hosts.yaml").replace("203.0.113.22:8000", "bmc.example.com");
    repo.write("hosts/hosts.yaml", &hosts);

    repo.generate(&[]).expect(0);

    let policy = repo.read(&format!("{DIRECTORY}/egress.yaml"));
    assert!(policy.contains("203.0.113.21/32") && !policy.contains("203.0.113.22"), "{policy}");
}

#[test]
fn egress_is_not_limited_without_the_setting_or_without_policies() {
    for settings in ["", "services: {networkPolicies: false, jumpHostEgress: []}\n"] {
        let repo = Repo::of_fixture("jump-host");
        repo.write("sipgen.yaml", &format!("secrets: {{plaintext: warning}}\n{settings}"));

        repo.generate(&[]).expect(0);

        assert!(!repo.exists(&format!("{DIRECTORY}/egress.yaml")), "{settings}");
    }
}

#[test]
fn an_address_that_is_no_network_is_refused() {
    for network in ["192.0.2.1/24", "192.0.2.0", "kubernetes.default"] {
        let repo = Repo::of_fixture("jump-host");
        repo.write("sipgen.yaml", &format!("services: {{jumpHostEgress: [{network}]}}\n"));

        let refused = repo.generate(&[]).expect(1);

        assert_says(&refused.stderr, &[&format!("`{network}` is not a network"), "sipgen.yaml:1"]);
    }
}
