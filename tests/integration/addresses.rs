//! Addresses of hosts that are not in their network data.

use crate::support::{Repo, assert_says, run};

/// A cluster with a load balancer, whose hosts have no network data.
pub(crate) fn repo(pre_allocations: &str) -> Repo {
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

/// A Cluster of Cluster API with one host.
pub(crate) const CLUSTER: &str = "
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: edge, namespace: tenant-a, annotations: {sip.airshipit.org/assign-hosts: 'true'}}
spec:
  controlPlaneRef: {kind: KubeadmControlPlane, name: cp}
  infrastructureRef: {kind: Metal3Cluster, name: edge}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: Metal3Cluster
metadata: {name: edge, namespace: tenant-a}
spec: {controlPlaneEndpoint: {host: 192.0.2.1, port: 6443}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: KubeadmControlPlane
metadata: {name: cp, namespace: tenant-a}
spec:
  replicas: 1
  rolloutStrategy: {rollingUpdate: {maxSurge: 0}}
  machineTemplate: {infrastructureRef: {kind: Metal3MachineTemplate, name: cp}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: Metal3MachineTemplate
metadata: {name: cp, namespace: tenant-a}
spec: {template: {spec: {image: {url: u, checksum: c}}}}
";

pub(crate) fn haproxy(repo: &Repo) -> String {
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
    repo.write("inventory/pool.yaml", &text.replace("namespace: tenant-a", "namespace: tenant-b"));

    let run = repo.generate(&[]).expect(1);

    assert_says(&run.stderr, &["2 of the 2 ControlPlane hosts", "without network data"]);
}

#[test]
fn a_pool_must_not_keep_another_address_than_network_data_have() {
    let repo = repo("{m1-provisioning: 192.0.2.11, m2-provisioning: 192.0.2.12}");
    with_network_data(&repo, "198.51.100.7");
    assert_says(&repo.refused(), &["SIP0354", "cannot keep 198.51.100.7", "it keeps 192.0.2.11"]);
    let status = run(&mut repo.sipgen(&["status"])).stdout;
    assert_says(&status, &["1 error"]);

    repo.replace("inventory/pool.yaml", "192.0.2.11", "198.51.100.7");
    repo.generate(&[]).expect(0);

    assert_says(&haproxy(&repo), &["198.51.100.7", "192.0.2.12"]);
}

/// Gives the host `m1` of [`repo`] network data with an address.
fn with_network_data(repo: &Repo, address: &str) {
    let host = "metadata: {name: m1, namespace: tenant-a}\nspec: {online: true";
    repo.replace("inventory/hosts.yaml", host, &format!("{host}, networkData: {{name: m1}}"));
    repo.write(
        "inventory/m1.yaml",
        &format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: m1, namespace: tenant-a}}\nstringData:\n  networkData: \
             '{{\"links\": [], \"networks\": [{{\"id\": \"provisioning\", \"type\": \"ipv4\", \"link\": \"a\", \
             \"ip_address\": \"{address}\", \"netmask\": \"255.255.255.0\"}}]}}'\n"
        ),
    );
}

/// Makes a host of [`repo`] one that a Machine uses, with the Machine's data.
fn with_machine(repo: &Repo, host: &str, machine: &str, data: &str) {
    let hosts = repo.read("inventory/hosts.yaml");
    let name = format!("metadata: {{name: {host}, namespace: tenant-a}}\nspec: {{online: true}}");
    assert!(hosts.contains(&name));
    let used = name.replace(
        "online: true",
        &format!("online: true, consumerRef: {{kind: Metal3Machine, name: {machine}, namespace: tenant-a}}"),
    );
    repo.write("inventory/hosts.yaml", &hosts.replace(&name, &used));
    repo.write(
        &format!("inventory/{data}.yaml"),
        &format!(
            "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: Metal3Data\nmetadata: {{name: {data}, namespace: tenant-a}}\n\
             spec:\n  index: 0\n  claim: {{name: {machine}}}\n  template: {{name: edge}}\n"
        ),
    );
}

fn given(repo: &Repo, claim: &str, address: &str, cluster_api: bool) {
    let (version, end) = if cluster_api {
        ("ipam.cluster.x-k8s.io/v1beta1", "Ref")
    } else {
        ("ipam.metal3.io/v1alpha1", "")
    };
    repo.write(
        &format!("inventory/{claim}.yaml"),
        &format!(
            "apiVersion: {version}\nkind: IPAddress\nmetadata: {{name: p-{claim}, namespace: tenant-a}}\nspec:\n  \
             address: {address}\n  prefix: 24\n  pool{end}: {{name: provisioning}}\n  claim{end}: {{name: {claim}}}\n"
        ),
    );
}

/// Labels assign the hosts, because a host that a Machine uses is never taken otherwise.
fn assigned(repo: &Repo) {
    let hosts = repo.read("inventory/hosts.yaml");
    let labelled = hosts.replace(
        ", namespace: tenant-a}\nspec",
        ", namespace: tenant-a, labels: {sip.airshipit.org/cluster-namespace: tenant-a, sip.airshipit.org/cluster-name: edge, \
         sip.airshipit.org/node-type: ControlPlane}}\nspec",
    );
    repo.write("inventory/hosts.yaml", &labelled);
    repo.replace("clusters/edge.yaml", "active: 2", "active: 3");
}

#[test]
fn the_address_that_a_machine_claimed_counts_before_the_one_that_a_pool_keeps() {
    for cluster_api in [false, true] {
        let repo = repo(
            "{m1-provisioning: 192.0.2.11, m2-provisioning: 192.0.2.12, m3-provisioning: 192.0.2.13}",
        );
        with_machine(&repo, "m1", "edge-abc", "edge-0");
        with_machine(&repo, "m2", "edge-def", "edge-1");
        assigned(&repo);
        given(&repo, "edge-0-provisioning", "198.51.100.1", cluster_api);
        // By name of the host; and one that a former Machine left.
        given(&repo, "m2-provisioning", "198.51.100.2", cluster_api);
        given(&repo, "m3-provisioning", "198.51.100.3", cluster_api);

        repo.generate(&[]).expect(0);

        let text = haproxy(&repo);
        assert_says(&text, &["198.51.100.1", "198.51.100.2", "192.0.2.13"]);
        let explained =
            crate::support::run(&mut repo.sipgen(&["explain", "tenant-a/m1"])).expect(0);
        assert_says(
            &explained.stdout,
            &[
                "has the address 198.51.100.1 on `provisioning` by an IPAddress that its Machine claimed",
            ],
        );
    }
}

#[test]
fn an_annotation_counts_before_every_other_source_but_network_data() {
    let repo = repo("{m1-provisioning: 192.0.2.11, m2-provisioning: 192.0.2.12}");
    repo.replace(
        "inventory/hosts.yaml",
        "{name: m1,",
        "{name: m1, annotations: {sip.airshipit.org/addresses: \"oam=2001:db8::1, provisioning=192.0.2.21\"},",
    );
    assert_says(&repo.refused(), &["SIP0354", "cannot keep 192.0.2.21", "it keeps 192.0.2.11"]);
    // A service of another network uses neither.
    repo.replace("clusters/edge.yaml", "nodeInterfaceId: provisioning", "nodeInterfaceId: oam");
    repo.replace("clusters/edge.yaml", "active: 2", "active: 1");
    repo.generate(&[]).expect(0);
    assert_says(&haproxy(&repo), &["[2001:db8::1]:6443"]);
    repo.replace("clusters/edge.yaml", "nodeInterfaceId: oam", "nodeInterfaceId: provisioning");
    repo.replace("clusters/edge.yaml", "active: 1", "active: 2");

    repo.replace("inventory/hosts.yaml", "=192.0.2.21", "=192.0.2.21/24");
    let run = repo.generate(&[]).expect(0);
    assert_says(&run.stderr, &["SIP0335", "no IP address without prefix length"]);
    assert_says(&haproxy(&repo), &["192.0.2.11"]);
}

#[test]
fn inspected_addresses_count_only_if_the_settings_say_so() {
    let repo = repo("{}");
    repo.replace("clusters/edge.yaml", "nodeInterfaceId: provisioning", "nodeInterfaceId: eno1");
    let data = (1..=2).map(|number| {
        format!(
            "---\napiVersion: metal3.io/v1alpha1\nkind: HardwareData\nmetadata: {{name: m{number}, namespace: tenant-a}}\nspec:\n  \
             hardware:\n    nics:\n    - {{name: eno1, ip: 192.0.2.3{number}}}\n    - {{name: eno1, ip: \"2001:db8::3\"}}\n"
        )
    });
    repo.write("inventory/hardware.yaml", &data.collect::<String>());
    repo.generate(&[]).expect(1);

    repo.write("sipgen.yaml", "inventory: {inspectedAddresses: true}\n");
    repo.generate(&[]).expect(0);
    assert_says(&haproxy(&repo), &["192.0.2.31", "192.0.2.32"]);
}

/// So that Metal3 gives a Machine the address that the load balancer has.
#[test]
fn a_pool_keeps_the_addresses_that_users_fixed() {
    let repo = repo("{m2-provisioning: 192.0.2.12}");
    with_network_data(&repo, "198.51.100.7");
    repo.generate(&[]).expect(0);
    let component = repo.read("overlays/tenants/tenant-a/edge/cluster-api/kustomization.yaml");
    assert_says(
        &component,
        &[
            "kind: IPPool\n      name: \"provisioning\"",
            "preAllocations:\n          \"m1-provisioning\": \"198.51.100.7\"",
        ],
    );
    assert!(!component.contains("m2-provisioning"), "the pool keeps it already");
}

/// Metal3 gives a claim nothing if its address is in no range.
#[test]
fn a_pool_keeps_only_addresses_of_its_ranges() {
    for (ranges, address, is_kept) in [
        ("{start: 198.51.100.7, end: 198.51.100.9}", "198.51.100.7", true),
        ("{start: 198.51.100.7, end: 198.51.100.9}", "198.51.100.9", true),
        ("{start: 198.51.100.7, end: 198.51.100.9}", "198.51.100.10", false),
        ("{start: 198.51.100.7, end: 198.51.100.9}", "198.51.100.6", false),
        ("{subnet: 198.51.100.0/29}", "198.51.100.7", true),
        ("{subnet: 198.51.100.0/29}", "198.51.100.8", false),
        ("{subnet: 198.51.100.0/24, start: 198.51.100.9}", "198.51.100.7", false),
        ("{start: 192.0.2.1, end: 192.0.2.9}, {subnet: 198.51.100.0/24}", "198.51.100.7", true),
    ] {
        let repo = repo("{}");
        repo.replace("clusters/edge.yaml", "active: 2", "active: 1");
        repo.replace(
            "inventory/pool.yaml",
            "  namePrefix: p\n",
            &format!("  namePrefix: p\n  pools: [{ranges}]\n"),
        );
        with_network_data(&repo, address);

        let run = repo.generate(&[]);

        if is_kept {
            run.expect(0);
            let component =
                repo.read("overlays/tenants/tenant-a/edge/cluster-api/kustomization.yaml");
            assert_says(&component, &[&format!("\"m1-provisioning\": \"{address}\"")]);
        } else {
            assert_says(
                &run.expect(1).stderr,
                &[
                    "SIP0354",
                    &format!("cannot keep {address} for host tenant-a/m1"),
                    "none of its ranges has the address",
                    "--> inventory/pool.yaml:6",
                ],
            );
        }
    }
}

/// Two claims of one address: Metal3 gives it to the first, and to the other nothing.
#[test]
fn a_pool_keeps_an_address_for_one_host_only() {
    let repo = repo("{}");
    for name in ["m1", "m2"] {
        repo.replace(
            "inventory/hosts.yaml",
            &format!("{{name: {name},"),
            &format!(
                "{{name: {name}, annotations: {{sip.airshipit.org/addresses: provisioning=198.51.100.7}},"
            ),
        );
    }

    let said =
        ["SIP0354", "cannot keep 198.51.100.7 for host tenant-a/m2", "`m1-provisioning`, too"];
    assert_says(&repo.generate(&[]).expect(1).stderr, &said);
    assert!(!repo.exists("overlays"));
}

#[test]
fn a_pool_gives_a_host_no_other_address_than_it_keeps() {
    let address = |claim: &str, address: &str| {
        format!(
            "apiVersion: ipam.metal3.io/v1alpha1\nkind: IPAddress\nmetadata: {{name: a, namespace: tenant-a}}\n\
             spec: {{address: {address}, pool: {{name: provisioning}}, claim: {{name: {claim}}}}}\n"
        )
    };
    let ranges = "  pools: [{start: 192.0.2.1, end: 192.0.2.99}]\n";
    let own = "{m1-provisioning: 192.0.2.7}";
    let printer = "{m1-provisioning: 192.0.2.7, printer: 192.0.2.7}";
    for (kept, ranges, given, says) in [
        (own, ranges, String::new(), None),
        (own, ranges, address("m1-provisioning", "192.0.2.7"), None),
        (printer, ranges, String::new(), Some("it keeps the address for the claim `printer`")),
        (
            own,
            "  pools: [{start: 192.0.2.9, end: 192.0.2.99}]\n",
            String::new(),
            Some("none of its ranges has the address"),
        ),
        (
            own,
            ranges,
            address("m1-provisioning", "192.0.2.8"),
            Some("the claim `m1-provisioning` has 192.0.2.8"),
        ),
        (own, ranges, address("printer", "192.0.2.7"), Some("the claim `printer` has the address")),
    ] {
        let repo = Repo::empty();
        repo.write("clusters/edge.yaml", CLUSTER);
        repo.write(
            "inventory/pool.yaml",
            &format!(
                "apiVersion: ipam.metal3.io/v1alpha1\nkind: IPPool\nmetadata: {{name: provisioning, namespace: tenant-a}}\n\
                 spec:\n  namePrefix: p\n{ranges}  preAllocations: {kept}\n"
            ),
        );
        repo.write(
            "inventory/hosts.yaml",
            "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {name: m1, namespace: tenant-a, annotations: \
             {sip.airshipit.org/addresses: provisioning=192.0.2.7}}\nspec: {online: true}\n\
             status: {provisioning: {state: available}}\n",
        );
        if !given.is_empty() {
            repo.write("inventory/address.yaml", &given);
        }

        let run = repo.generate(&[]).expect(i32::from(says.is_some()));

        if let Some(reason) = says {
            let headline = "cannot keep 192.0.2.7 for host tenant-a/m1";
            assert_says(&run.stderr, &["SIP0354", headline, reason]);
        }
    }
}

const SOURCES: [&str; 4] = ["annotation", "inspection", "network data", "pool"];

/// Gives host m1 an address by a source.
fn write_address(repo: &Repo, source: &str, address: &str) {
    let hosts = "inventory/hosts.yaml";
    match source {
        "annotation" => {
            let given =
                format!("annotations: {{sip.airshipit.org/addresses: \"provisioning={address}\"}}");
            repo.replace(
                hosts,
                "{name: m1, namespace: tenant-a}",
                &format!("{{name: m1, namespace: tenant-a, {given}}}"),
            );
        }
        "inspection" => {
            repo.write("sipgen.yaml", "inventory: {inspectedAddresses: true}\n");
            let found = format!(
                "status: {{hardware: {{nics: [{{name: provisioning, ip: \"{address}\"}}]}}, "
            );
            repo.replace_behind(hosts, "name: m1", "status: {", &found);
        }
        "network data" => {
            let secret = format!(
                "---\napiVersion: v1\nkind: Secret\nmetadata: {{name: n, namespace: tenant-a}}\nstringData:\n  \
                 networkData: '{{\"networks\": [{{\"id\": \"provisioning\", \"ip_address\": \"{address}\"}}]}}'\n"
            );
            let named = "{online: true, networkData: {name: n}}";
            repo.replace_behind(hosts, "name: m1", "{online: true}", named);
            repo.write(hosts, &(repo.read(hosts) + &secret));
        }
        _ => {
            let entry = format!("preAllocations: {{m1-provisioning: \"{address}\", ");
            repo.replace("inventory/pool.yaml", "preAllocations: {", &entry);
        }
    }
}

#[test]
fn an_address_that_nobody_reaches_is_none_whatever_its_source() {
    for bad in
        ["169.254.3.7", "127.0.0.1", "0.0.0.0", "224.0.0.1", "255.255.255.255", "fe80::3", "::1"]
    {
        for source in SOURCES {
            let repo = repo("{m2-provisioning: 192.0.2.12}");
            write_address(&repo, source, bad);
            repo.generate(&[]).expect(1);
            repo.replace("clusters/edge.yaml", "active: 2", "active: 1");
            if source != "network data" {
                repo.generate(&[]).expect(0);
                let text = haproxy(&repo);
                let mut servers = text.lines().filter(|line| line.trim().starts_with("server"));
                assert!(!servers.any(|line| line.contains(bad)), "{source}: {bad}: {text}");
            }
        }
    }
}

#[test]
fn hosts_of_any_clusters_have_no_address_in_common_whatever_its_source_and_spelling() {
    for source in SOURCES {
        for address in ["192.0.2.12", "::ffff:192.0.2.12"] {
            let repo = repo("{m2-provisioning: 192.0.2.12}");
            let edge = repo.read("clusters/edge.yaml").replace("active: 2", "active: 1");
            repo.write("clusters/edge.yaml", &edge);
            let far = edge.replace("name: edge", "name: far").replace("30443", "30444");
            repo.write("clusters/far.yaml", &far);
            // The pool keeps one address for one claim only.
            write_address(&repo, source, if source == "pool" { "192.0.2.13" } else { address });
            let said = repo.generate(&[]).stderr;
            let says = "2 hosts have the address 192.0.2.12 on `provisioning`";
            assert_eq!(said.contains(says), source != "pool", "{source}: {said}");
        }
    }
}

#[test]
fn an_address_of_a_service_or_a_bmc_is_no_address_of_a_host_whatever_its_source() {
    for source in SOURCES {
        let repo = repo("{m2-provisioning: 192.0.2.12}");
        write_address(&repo, source, "192.0.2.11");
        let said = repo.generate(&[]).expect(0).stderr;
        assert!(!said.contains("SIP0312") && !said.contains("SIP0325"), "{source}: {said}");

        repo.replace(
            "clusters/edge.yaml",
            "nodePort: 30443",
            "nodePort: 30443, clusterIP: 192.0.2.11",
        );
        for (bmc, is_shared) in [
            ("redfish://192.0.2.11/redfish/v1/Systems/1", true),
            ("ipmi://192.0.2.11:623", true),
            ("redfish://192.0.2.13/redfish/v1/Systems/1", false),
        ] {
            let bmc = format!("{{bmc: {{address: \"{bmc}\"}}, online: true}}");
            let hosts = repo.read("inventory/hosts.yaml");
            repo.replace_behind("inventory/hosts.yaml", "name: m3", "{online: true}", &bmc);
            let said = repo.generate(&[]).expect(0).stderr;
            assert_says(
                &said,
                &[
                    "SIP0312",
                    "clusterIP `192.0.2.11` of `tenant-a/edge` is the address of host `tenant-a/m1`",
                ],
            );
            let shared =
                "host tenant-a/m1 has the address 192.0.2.11 of the BMC of host tenant-a/m3";
            assert_eq!(said.contains(shared), is_shared, "{source}: {said}");
            repo.write("inventory/hosts.yaml", &hosts);
        }
    }
}

#[test]
fn no_host_has_the_address_of_its_pools_gateway_or_at_an_end_of_its_network() {
    let with_gateway = |pre_allocations: &str| {
        let repo = repo(pre_allocations);
        repo.replace(
            "inventory/pool.yaml",
            "namePrefix: p\n",
            "namePrefix: p\n  gateway: 192.0.2.1\n  prefix: 24\n",
        );
        repo
    };
    let gateway = "is the address of a gateway";
    for (address, says) in
        [("192.0.2.1", gateway), ("192.0.2.255", "is the first or last address of its network")]
    {
        let kept = format!(
            "{{m1-provisioning: {address}, m2-provisioning: 192.0.2.12, m3-provisioning: 192.0.2.13}}"
        );
        let repo = with_gateway(&kept);
        let said = repo.generate(&[]).expect(0).stderr;
        assert_says(&said, &["SIP0335", says, "--> inventory/pool.yaml:8:"]);
        assert!(!haproxy(&repo).contains(&format!("{address}:")));
    }
    let kept = "{m2-provisioning: 192.0.2.12, m3-provisioning: 192.0.2.13}";
    // An IPAddress says itself what its network is.
    for (address, is_told) in [("198.51.100.255", true), ("198.51.100.1", false)] {
        let repo = repo(kept);
        assigned(&repo);
        given(&repo, "m1-provisioning", address, false);
        let said = repo.generate(&[]).stderr;
        assert_eq!(said.contains("SIP0335"), is_told, "{said}");
    }
    let repo = with_gateway(kept);
    repo.replace(
        "inventory/hosts.yaml",
        "{name: m1, ",
        "{name: m1, annotations: {sip.airshipit.org/addresses: provisioning=192.0.2.1}, ",
    );
    assert_says(
        &repo.generate(&[]).expect(0).stderr,
        &["SIP0335", gateway, "--> inventory/hosts.yaml:"],
    );
    assert!(!haproxy(&repo).contains("192.0.2.1:"));
    let repo = with_gateway(kept);
    with_network_data(&repo, "192.0.2.1");
    assert_says(&repo.refused(), &["SIP0354", gateway, "--> inventory/pool.yaml:4:"]);
    let repo = with_gateway(kept);
    with_network_data(&repo, "192.0.2.0");
    assert_says(&repo.refused(), &["SIP0334", "is the first or last address of its network"]);
}

#[test]
fn no_host_has_the_virtual_address_of_an_api() {
    for (address, replicas, is_reported) in
        [("192.0.2.1", 3, true), ("192.0.2.1", 1, false), ("192.0.2.2", 3, false)]
    {
        let repo = repo("{}");
        repo.write(
            "clusters/edge.yaml",
            &CLUSTER.replace("replicas: 1", &format!("replicas: {replicas}")),
        );
        repo.replace(
            "inventory/hosts.yaml",
            "{name: m1, ",
            &format!(
                "{{name: m1, annotations: {{sip.airshipit.org/addresses: provisioning={address}}}, "
            ),
        );
        let said = repo.generate(&[]).expect(0).stderr;
        let says = "warning[SIP0312]: controlPlaneEndpoint `192.0.2.1` of `tenant-a/edge` is the address of host `tenant-a/m1`";
        assert_eq!(said.contains(says), is_reported, "{address} {replicas} {said}");
    }
}

#[test]
fn no_pool_gives_the_virtual_address_of_an_api_to_a_machine() {
    for (range, kept, is_reported) in [
        ("{start: 192.0.2.1, end: 192.0.2.9}", "{}", true),
        ("{subnet: 192.0.2.0/24}", "{}", true),
        ("{start: 192.0.2.1, end: 192.0.2.9}", "{api: 192.0.2.1}", false),
        ("{start: 192.0.2.2, end: 192.0.2.9}", "{}", false),
        ("{start: \"${FIRST}\", end: 192.0.2.9}", "{}", false),
    ] {
        let repo = repo(kept);
        let pools = format!("namePrefix: p\n  pools: [{range}]\n");
        repo.replace("inventory/pool.yaml", "namePrefix: p\n", &pools);
        repo.write("clusters/edge.yaml", &CLUSTER.replace("replicas: 1", "replicas: 3"));
        let said = repo.generate(&[]).expect(0).stderr;
        let says = "warning[SIP0312]: controlPlaneEndpoint `192.0.2.1` of `tenant-a/edge` is in a range of the IPPool";
        assert_eq!(said.contains(says), is_reported, "{range} {kept} {said}");
    }
}

#[test]
fn without_ipv6_a_load_balancer_has_ipv4_servers_only() {
    for (address, settings, server) in [
        ("2001:db8::1", "{}", Some("[2001:db8::1]:6443")),
        ("2001:db8::1", "services: {ipv6: false}", None),
        ("::ffff:192.0.2.7", "services: {ipv6: false}", Some(" 192.0.2.7:6443")),
    ] {
        let repo = repo("{m2-provisioning: 192.0.2.12}");
        repo.write("sipgen.yaml", &format!("{settings}\n"));
        repo.replace(
            "inventory/hosts.yaml",
            "{name: m1, ",
            &format!("{{name: m1, annotations: {{sip.airshipit.org/addresses: \"provisioning={address}\"}}, "),
        );
        let run = repo.generate(&[]).expect(i32::from(server.is_none()));
        match server {
            Some(server) => assert_says(&haproxy(&repo), &[server]),
            None => assert_says(
                &run.stderr,
                &[
                    "error[SIP0311]: host tenant-a/m1 has the IPv6 address 2001:db8::1",
                    "`services.ipv6: false`",
                ],
            ),
        }
    }
}

#[test]
fn network_data_with_an_unknown_variable_of_flux_is_unknown() {
    for address in ["${N1}", "192.0.2.${N1}", "${N1}/24"] {
        let repo = Repo::of_hosts(1);
        let text = crate::support::host("host-1", "") + "  networkData: {name: nd}\n";
        repo.write(
            "inventory/hosts.yaml",
            &(text
                + "---\napiVersion: v1\nkind: Secret\nmetadata: {name: nd, namespace: metal}\nstringData:\n  networkData: |\n    \
                   networks:\n    - {id: oam, type: ipv4, ip_address: \""
                + address
                + "\"}\n"),
        );
        repo.want("metal/edge", 1);
        let said = repo.generate(&[]).expect(0).stderr;
        assert!(!said.contains("SIP0334"), "{said}");
        repo.replace(
            "clusters/metal.edge.yaml",
            "spec: {",
            "spec: {services: {loadBalancerWorker: [{image: \"haproxy:3.0.11\", nodeInterfaceId: oam, nodePortRange: {start: 30080, end: 30080}}]}, ",
        );
        assert_says(
            &repo.refused(),
            &["which has a variable of Flux in network `oam`, whose value is unknown"],
        );
    }
}
