//! Services that are refused: what a user reads, and that no file changes.

use insta::assert_snapshot;

use crate::support::{EDGE, Repo, assert_says, edge_with, edge_with_behind};

/// The quickstart after its first run, with a second cluster that has services only.
fn with_a_second_cluster(services: &str) -> Repo {
    let repo = Repo::generated("quickstart");
    repo.write(
        "sites/lab/clusters/more.yaml",
        &format!(
            "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata:\n  name: core\n  \
             namespace: tenant-b\nspec:\n  nodes: {{}}\n  services:\n{services}"
        ),
    );
    repo
}

fn load_balancer(node_port: &str) -> String {
    format!(
        "    loadBalancerControlPlane:\n      - {{image: \"haproxy:3.0\", nodeInterfaceId: oam-ipv4, nodePort: {node_port}}}\n"
    )
}

#[test]
fn a_node_port_that_two_services_of_a_cluster_ask_for() {
    let repo = edge_with("nodePort: 30022", "nodePort: 30443");

    assert_snapshot!(repo.refused(), @"
    error[SIP0401]: jumphost-edge of tenant-a/edge asks for NodePort 30443, which loadbalancer-controlplane-edge of tenant-a/edge uses
      --> sites/lab/clusters/edge.yaml:44:19
       |
    44 |         nodePort: 30443
       |                   ^^^^^
      --> sites/lab/clusters/edge.yaml:32:19  (asked for here first)
       |
    32 |         nodePort: 30443
       |                   -----
      help: NodePorts are unique in the base cluster: choose another one

    1 error in tenant-a/edge: no files written
    ");
}

#[test]
fn a_node_port_that_goes_from_one_service_to_another_is_warned_of() {
    let repo = Repo::of_fixture("quickstart");
    let edge = repo.read(EDGE);
    let (before, entry) = edge.split_once("    jumpHost:\n").unwrap();
    let (entry, after) = entry.split_once("    auth:\n").unwrap();
    let second = entry.replace("nodePort: 30022", "nodePort: 30023");
    repo.write(EDGE, &format!("{before}    jumpHost:\n{entry}{second}    auth:\n{after}"));
    repo.generate(&[]).expect(0);
    repo.write(EDGE, &format!("{before}    jumpHost:\n{second}    auth:\n{after}"));

    let run = repo.generate(&["--check"]).expect(1);

    assert_says(
        &run.stderr,
        &[
            "warning[SIP0402]: NodePort 30023 would move from clusters/tenant-a/edge/jumphost2 to jumphost-edge",
            "--> sites/lab/clusters/edge.yaml:44:19",
            "remove the other Service first",
        ],
    );
}

#[test]
fn a_node_port_that_a_service_keeps_or_gives_up_is_not_warned_of() {
    let repo = Repo::generated("quickstart");
    repo.replace(EDGE, "nodePort: 30022", "nodePort: 30024");

    let run = repo.generate(&[]).expect(0);

    assert!(!run.stderr.contains("warning"), "{}", run.stderr);
}

#[test]
fn a_node_port_that_another_cluster_has() {
    let repo = with_a_second_cluster(&load_balancer("30443"));

    let message = repo.refused();

    assert_says(
        &message,
        &[
            "loadbalancer-controlplane-core of tenant-b/core asks for NodePort 30443, which \
             loadbalancer-controlplane-edge of tenant-a/edge uses",
            "--> sites/lab/clusters/more.yaml:10:",
            "--> sites/lab/clusters/edge.yaml:32:19  (asked for here first)",
            "choose another one",
        ],
    );
}

#[test]
fn ranges_of_node_ports_that_overlap() {
    let range = "    loadBalancerWorker:\n      - {image: \"haproxy:3.0\", nodeInterfaceId: oam-ipv4, nodePortRange: {start: 30081, end: 30090}}\n";
    let repo = with_a_second_cluster(range);

    let message = repo.refused();

    assert_says(
        &message,
        &["asks for NodePorts 30081-30082, which loadbalancer-worker-edge of tenant-a/edge uses"],
    );
}

#[test]
fn a_node_port_inside_a_range() {
    let repo = with_a_second_cluster(&load_balancer("30082"));

    let message = repo.refused();

    assert_says(
        &message,
        &["asks for NodePort 30082, which loadbalancer-worker-edge of tenant-a/edge uses"],
    );
}

#[test]
fn a_node_port_out_of_range() {
    for port in ["29999", "32768", "0", "-1", "95979"] {
        let repo = edge_with("nodePort: 30022", &format!("nodePort: {port}"));

        let message = repo.refused();

        assert_says(
            &message,
            &[
                &format!("nodePort {port} is outside the NodePorts 30000-32767"),
                "--> sites/lab/clusters/edge.yaml:44:",
                "choose one of 30000 to 32767",
            ],
        );
    }
}

#[test]
fn a_node_port_in_the_range_of_the_settings() {
    let repo = edge_with("nodePort: 30022", "nodePort: 8022");
    repo.replace(EDGE, "start: 30080\n          end: 30082", "start: 8403\n          end: 8405");
    for (from, to) in [("nodePort: 30443", "nodePort: 8443"), ("nodePort: 30556", "nodePort: 8556")]
    {
        repo.replace(EDGE, from, to);
    }
    repo.write("sipgen.yaml", "services: {nodePortRange: 8000+1000}\n");

    repo.generate(&[]).expect(0);

    let cluster = "overlays/clusters/tenant-a/edge";
    let service = repo.read(&format!("{cluster}/jumphost/service.yaml"));
    assert_says(&service, &["nodePort: 8022\n"]);
    // Clients use 8404, the port of the metrics otherwise.
    let configuration = repo.read(&format!("{cluster}/loadbalancer-worker/haproxy.cfg"));
    assert_says(
        &configuration,
        &["listen port-8404\n", "frontend metrics\n  mode http\n  bind :::8406 v4v6\n"],
    );
    let policy = repo.shared("clusters/tenant-a/edge/loadbalancer-worker") + "/networkpolicy.yaml";
    assert_says(&repo.read(&policy), &["- port: 8000\n          endPort: 9000\n"]);

    repo.write("sipgen.yaml", "services: {nodePortRange: 20000-22767}\n");
    assert_says(
        &repo.refused(),
        &["nodePort 8022 is outside the NodePorts 20000-22767", "choose one of 20000 to 22767"],
    );

    repo.write("sipgen.yaml", "services: {nodePortRange: 30000..32767}\n");
    assert_says(
        &repo.refused(),
        &["invalid range of NodePorts `30000..32767`", "--> sipgen.yaml:1"],
    );
}

#[test]
fn a_range_of_node_ports_that_is_none() {
    for (range, part) in [
        (
            "start: 30082\n          end: 30080",
            "the nodePortRange ends at 30080 before it starts at 30082",
        ),
        ("start: 80\n          end: 30080", "NodePort 80 is outside the NodePorts 30000-32767"),
        (
            "start: 30080\n          end: 9223372036854775807",
            "NodePort 9223372036854775807 is outside",
        ),
    ] {
        let repo = edge_with("start: 30080\n          end: 30082", range);

        assert_says(&repo.refused(), &[part, "--> sites/lab/clusters/edge.yaml:3"]);
    }
}

#[test]
fn a_service_without_node_port() {
    let repo = edge_with("        nodePort: 30022\n", "");

    assert_says(
        &repo.refused(),
        &[
            "the service has no nodePort",
            "--> sites/lab/clusters/edge.yaml:41:",
            "write a nodePort",
        ],
    );
}

#[test]
fn an_ssh_key_that_is_none() {
    let key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFJhq2+LVWtIPGH4FYUBEflTDa8pQuv41+ubKxUhAe1L operator@lab.example.com";
    for bad in ["ssh-ed25519 AAAA", "\"\"", "operator", &format!("\"{key}\\n{key}\"")] {
        let repo = edge_with(key, bad);

        assert_says(
            &repo.refused(),
            &[
                "the SSH key is not an OpenSSH public key",
                "--> sites/lab/clusters/edge.yaml:48:",
                "paste the one line of a `.pub` file",
            ],
        );
    }
}

#[test]
fn a_service_without_image() {
    let missing = "the service has no container image";
    let unfit = "`image` is no reference that container runtimes accept";
    let with_blank = "the name of the container image contains a space";
    for (image, says) in [
        ("", missing),
        ("        image: \"\"\n", missing),
        ("        image: not an image\n", with_blank),
        ("        image: https://registry.example.com/dex:1\n", unfit),
        ("        image: registry.example.com/Dex:1\n", unfit),
        ("        image: \"registry.example.com/dex:\"\n", unfit),
        ("        image: registry.example.com//dex:1\n", unfit),
        ("        image: registry.example.com/a..b:1\n", unfit),
        (&format!("        image: dex:{}\n", "1".repeat(129)), unfit),
    ] {
        let repo = edge_with_behind(
            "auth:",
            "      - image: ghcr.io/dexidp/dex:v2.45.0\n        nodeInterfaceId: oam-ipv4\n",
            &format!("      - nodeInterfaceId: oam-ipv4\n{image}"),
        );

        assert_says(
            &repo.refused(),
            &[
                says,
                "--> sites/lab/clusters/edge.yaml:5",
                "write `image: ghcr.io/dexidp/dex:v2.45.1`",
            ],
        );
    }
}

#[test]
fn an_address_that_is_none() {
    for address in ["192.0.2.300", "192.0.2.10/24", "vip.example.com"] {
        let repo = edge_with_behind(
            "jumpHost:",
            "clusterIP: 192.0.2.10",
            &format!("clusterIP: {address}"),
        );

        assert_says(
            &repo.refused(),
            &[
                &format!("`{address}` is not a reachable IP address"),
                "--> sites/lab/clusters/edge.yaml:43:",
                "write the base cluster's",
            ],
        );
    }
}

#[test]
fn a_service_without_interface() {
    let repo = edge_with_behind("jumpHost:", "        nodeInterfaceId: oam-ipv4\n", "");

    assert_says(
        &repo.refused(),
        &[
            "the service has no nodeInterfaceId",
            "--> sites/lab/clusters/edge.yaml:41:",
            "write the id of a network",
        ],
    );
}

#[test]
fn a_secret_whose_name_is_none() {
    for (field, name, line) in
        [("nodeSSHPrivateKeys", "edge-node-ssh", 49), ("caSecret", "edge-oidc-ca", 57)]
    {
        let repo = edge_with(&format!("{field}: {name}"), &format!("{field}: ../{name}"));

        assert_says(
            &repo.refused(),
            &[
                "invalid name of a Secret: it is not a DNS name",
                &format!("--> sites/lab/clusters/edge.yaml:{line}:"),
            ],
        );
    }
}

#[test]
fn host_keys_from_several_places() {
    for both in [
        "secretName: keys, ephemeral: true",
        "secretName: keys, volumeClaim: {}",
        "volumeClaim: {}, ephemeral: true",
    ] {
        let repo =
            edge_with("hostKeys:\n          volumeClaim: {}", &format!("hostKeys: {{{both}}}"));

        assert_says(
            &repo.refused(),
            &[
                "error[SIP0209]: the jump host has several sources of host keys",
                "--> sites/lab/clusters/edge.yaml:50:9",
                "choose one of secretName, volumeClaim and `ephemeral: true`",
            ],
        );
    }
}

#[test]
fn host_keys_in_what_cannot_be_named_so() {
    for (place, says) in [
        ("secretName: A_b", "invalid name of a Secret: it is not a DNS name"),
        ("secretName: ''", "invalid name of a Secret: it is not a DNS name"),
        ("volumeClaim: {storageClassName: a/b}", "`a/b` is not a DNS name"),
    ] {
        let repo =
            edge_with("hostKeys:\n          volumeClaim: {}", &format!("hostKeys: {{{place}}}"));

        assert_says(&repo.refused(), &[says, "edge.yaml:50:"]);
    }
}

#[test]
fn homes_in_a_volume_that_cannot_be() {
    for (claim, says) in [
        ("{storageClassName: Fast}", "error[SIP0120]: `Fast` is not a DNS name"),
        ("{storage: 10}", "storage"),
        ("{storage: 10GB}", "`10GB` is not the size of a volume, such as `500Mi` or `10Gi`"),
        ("{storage: 0Gi}", "`0Gi` is not the size of a volume"),
        ("{size: 10Gi}", "`size`"),
    ] {
        let repo = edge_with(
            "nodeSSHPrivateKeys: edge-node-ssh",
            &format!("homes: {{volumeClaim: {claim}}}"),
        );

        let said = repo.generate(&[]).stderr;

        assert_says(&said, &[says, "edge.yaml:49:"]);
    }
}

#[test]
fn a_private_key_is_not_shown_whatever_field_it_was_pasted_into() {
    let key =
        "\"-----BEGIN OPENSSH PRIVATE KEY-----\\nc2VjcmV0\\n-----END OPENSSH PRIVATE KEY-----\"";
    for (from, to) in [
        ("nodeSSHPrivateKeys: edge-node-ssh", format!("nodeSSHPrivateKeys: {key}")),
        ("caSecret: edge-oidc-ca", format!("caSecret: {key}")),
        ("nodePort: 30556", format!("nodePort: 30556\n        nodeLabels: {{a: {key}}}")),
    ] {
        let message = edge_with(from, &to).refused();

        assert!(!message.contains("c2VjcmV0"), "{message}");
        assert_says(
            &message,
            &["a private key must not be in git", "--> sites/lab/clusters/edge.yaml:"],
        );
    }
}

#[test]
fn a_character_that_cannot_be_seen() {
    for character in ["\\x7F", "\\u200E\\u0085", "\\uFEFF", "\\u2028", "\\e"] {
        let from = "operator@lab.example.com";
        let line = format!(
            "- \"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFJhq2+LVWtIPGH4FYUBEflTDa8pQuv41+ubKxUhAe1L a{character}\""
        );
        let repo = edge_with(from, &format!("{from}\n          {line}"));

        let message = repo.refused();

        assert_says(
            &message,
            &["has an invisible character", "--> sites/lab/clusters/edge.yaml:49:"],
        );
    }
}

#[test]
fn an_address_of_the_base_cluster_that_nobody_reaches() {
    for address in ["0.0.0.0", "\"::\"", "127.0.0.1", "224.0.0.1"] {
        let repo = edge_with("clusterIP: 192.0.2.10", &format!("clusterIP: {address}"));

        assert_says(&repo.refused(), &["is not a reachable IP address"]);
    }
}
