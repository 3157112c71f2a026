//! Addresses of hosts that pools of Metal3's IPAM keep.

use crate::support::{Repo, assert_says};

/// A cluster with a load balancer, whose hosts have no network data.
fn repo(pre_allocations: &str) -> Repo {
    let repo = Repo::empty();
    let hosts = (1..=3).map(|number| {
        format!(
            "---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {{name: m{number}, namespace: tenant-a}}\n\
             spec: {{online: true}}\nstatus: {{provisioning: {{state: available}}}}\n"
        )
    });
    repo.write("inventory/hosts.yaml", &hosts.collect::<String>());
    repo.write(
        "inventory/pool.yaml",
        &format!(
            "apiVersion: ipam.metal3.io/v1alpha1\nkind: IPPool\nmetadata: {{name: provisioning, namespace: tenant-a}}\nspec:\n  \
             namePrefix: p\n  preAllocations: {pre_allocations}\n"
        ),
    );
    repo.write(
        "clusters/edge.yaml",
        "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {name: edge, namespace: tenant-a}\nspec:\n  nodes:\n    \
         ControlPlane: {labelSelector: {}, count: {active: 2}}\n  services:\n    loadBalancerControlPlane:\n    \
         - {image: \"haproxy:3.0.11\", nodeInterfaceId: provisioning, nodePort: 30443}\n",
    );
    repo
}

fn haproxy(repo: &Repo) -> String {
    repo.read("overlays/clusters/tenant-a/edge/loadbalancer-controlplane/haproxy.cfg")
}

#[test]
fn a_service_reaches_hosts_by_the_addresses_that_a_pool_keeps_for_them() {
    let repo = repo(
        "{m1-provisioning: 192.0.2.11, m3-provisioning: 192.0.2.13, m2-other: 192.0.2.12, \"xm2-provisioning\": 192.0.2.14}",
    );

    repo.generate(&[]).expect(0);

    assert_eq!(
        repo.hosts_of("tenant-a", "edge"),
        ["ControlPlane tenant-a/m1", "ControlPlane tenant-a/m3"],
        "the pool keeps no address for m2"
    );
    assert_says(&haproxy(&repo), &["192.0.2.11", "192.0.2.13"]);
}

#[test]
fn a_pool_of_another_namespace_keeps_no_addresses() {
    let repo = repo("{m1-provisioning: 192.0.2.11, m2-provisioning: 192.0.2.12}");
    let text = repo.read("inventory/pool.yaml");
    repo.write(
        "inventory/pool.yaml",
        &text.replace("namespace: tenant-a", "namespace: tenant-b"),
    );

    let run = repo.generate(&[]).expect(1);

    assert_says(
        &run.stderr,
        &["2 of the 2 ControlPlane hosts", "without network data"],
    );
}

#[test]
fn network_data_comes_before_a_pool() {
    let repo = repo("{m1-provisioning: 192.0.2.11, m2-provisioning: 192.0.2.12}");
    repo.write(
        "inventory/m1-network-data.json",
        "{\"links\": [], \"networks\": [{\"id\": \"provisioning\", \"type\": \"ipv4\", \"link\": \"a\", \"ip_address\": \"198.51.100.7\", \
         \"netmask\": \"255.255.255.0\"}]}",
    );

    repo.generate(&[]).expect(0);

    let text = haproxy(&repo);
    assert_says(&text, &["198.51.100.7", "192.0.2.12"]);
    assert!(!text.contains("192.0.2.11"), "{text}");
}
