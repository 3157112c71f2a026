//! Hosts of one machine, hosts that Metal3 does not register, and the choice among free hosts.

use crate::support::{Repo, assert_says, host, live_host, run};

/// A declared host with a spec.
fn declared(name: &str, mac: &str, bmc: &str) -> String {
    host(name, "")
        + &format!(
            "  bootMACAddress: \"{mac}\"\n  bmc: {{address: \"{bmc}\", credentialsName: x}}\n"
        )
}

/// A live host that is ready, with its hardware.
fn inspected(name: &str, mac: &str, hardware: &str) -> String {
    host(name, &format!("  uid: uid-{name}\n"))
        + &format!(
            "  bootMACAddress: \"{mac}\"\nstatus: {{provisioning: {{state: available}}, hardware: {hardware}}}\n"
        )
}

fn repo_of(hosts: &[String]) -> Repo {
    let repo = Repo::of_hosts(0);
    repo.write("inventory/hosts.yaml", &hosts.concat());
    repo
}

fn snapshot_of(hosts: &[String]) -> Repo {
    let repo = Repo::empty();
    repo.write("snapshot/hosts.yaml", &hosts.concat());
    repo
}

#[test]
fn of_hosts_with_one_boot_mac_address_in_any_spelling_one_is_assigned() {
    let repo = repo_of(&[
        declared("n1", "00:00:5E:00:53:0A", "redfish://203.0.113.1/x"),
        declared("n2", "00:00:5e:00:53:0a", "redfish://203.0.113.2/x"),
        declared("n3", "00:00:5e:00:53:0b", "redfish://203.0.113.3/x"),
    ]);
    repo.want("metal/one", 3);
    assert_says(
        &repo.refused(),
        &[
            "warning[SIP0308]: 2 hosts share the boot MAC address `00:00:5e:00:53:0a`",
            "1 on the machine of another host (metal/n2)",
        ],
    );

    repo.want("metal/one", 2);
    repo.generate(&[]).expect(0);
    assert_eq!(repo.hosts_of("metal", "one"), ["Worker metal/n1", "Worker metal/n3"]);
    // Its machine has a host that is assigned, whatever the order of names.
    repo.replace("inventory/hosts.yaml", "00:00:5e:00:53:0b", "00:00:5e:00:53:0c");
    repo.replace("inventory/hosts.yaml", "name: n2", "name: a2");
    assert!(!repo.generate(&[]).expect(0).stderr.contains("adds"));
}

/// The free description of a machine that runs an operating system is not free.
#[test]
fn of_hosts_with_one_machine_the_one_that_runs_counts() {
    for state in ["provisioned", "externally provisioned", "provisioning", "deprovisioning"] {
        for running in ["n1", "n2"] {
            let hosts = ["n1", "n2"].map(|name| {
                let host = inspected(name, "00:00:5e:00:53:0a", "{}");
                let state = if name == running { state } else { "available" };
                host.replace("state: available", &format!("state: {state}"))
            });
            let repo = snapshot_of(&hosts);
            repo.want("metal/one", 1);
            let twin = if running == "n1" { "n2" } else { "n1" };
            let on_another = format!("1 on the machine of another host (metal/{twin})");
            assert_says(&repo.refused(), &["warning[SIP0308]", &on_another]);
        }
    }
}

#[test]
fn hosts_with_one_serial_number_or_network_card_are_one_machine() {
    let serial = |serial: &str| format!("{{systemVendor: {{serialNumber: {serial}}}}}");
    let card = |mac: &str| format!("{{nics: [{{mac: \"{mac}\"}}]}}");
    for (one, other, identity, assigned) in [
        (["", &serial("S1")], ["", &serial("S1")], "the serial number `S1`", 1),
        // A serial number may be that of the chassis.
        (
            ["00:00:5e:00:53:01", &serial("S1")],
            ["00:00:5e:00:53:02", &serial("S1")],
            "the serial number `S1`",
            2,
        ),
        (
            ["00:00:5e:00:53:01", &card("00:00:5E:00:53:07")],
            ["00:00:5e:00:53:02", &card("00-00-5e-00-53-07")],
            "the MAC address `00:00:5e:00:53:07`",
            1,
        ),
        (
            ["00:00:5e:00:53:01", "{}"],
            ["00:00:5e:00:53:02", &card("00:00:5e:00:53:01")],
            "the MAC address `00:00:5e:00:53:01`",
            1,
        ),
        // The USB interface of a BMC.
        (
            ["00:00:5e:00:53:01", &card("be:3a:f2:b6:05:9f")],
            ["00:00:5e:00:53:02", &card("be:3a:f2:b6:05:9f")],
            "",
            2,
        ),
        (["00:00:5e:00:53:01", &serial("Default string")], ["", &serial("Default string")], "", 2),
    ] {
        let repo =
            snapshot_of(&[inspected("n1", one[0], one[1]), inspected("n2", other[0], other[1])]);
        repo.want("metal/one", 2);
        let run = repo.generate(&[]);
        assert_eq!(run.code, if assigned == 2 { 0 } else { 1 }, "{identity}: {}", run.stderr);
        let warning = format!("warning[SIP0308]: 2 hosts share {identity}");
        assert_eq!(
            run.stderr.contains(&warning) && !identity.is_empty(),
            !identity.is_empty(),
            "{}",
            run.stderr
        );
        assert_eq!(run.stderr.contains("SIP0308"), !identity.is_empty(), "{}", run.stderr);
    }
}

/// Metal3 moves hardware from the status of hosts to HardwareData.
#[test]
fn hardware_data_tells_that_hosts_are_one_machine() {
    let data = |name: &str, hardware: &str| {
        format!(
            "---\napiVersion: metal3.io/v1alpha1\nkind: HardwareData\nmetadata: {{name: {name}, namespace: metal}}\n\
             spec: {{hardware: {hardware}}}\n"
        )
    };
    let hosts = [inspected("n1", "", "{}"), inspected("n2", "", "{}")];
    let repo = snapshot_of(&hosts);
    repo.want("metal/one", 2);
    for (hardware, shared) in [
        ("{systemVendor: {serialNumber: S1}}", "the serial number `S1`"),
        ("{nics: [{name: a, mac: '00:00:5e:00:53:01'}]}", "the MAC address `00:00:5e:00:53:01`"),
    ] {
        let both = data("n1", hardware) + &data("n2", hardware);
        repo.write("snapshot/hardware.yaml", &both);
        let refused = repo.refused();
        let says = format!("2 hosts share {shared}");
        assert_says(&refused, &["SIP0308", &says, "1 on the machine of another host"]);
    }
    let other = data("n1", "{systemVendor: {serialNumber: S1}}")
        + &data("n2", "{systemVendor: {serialNumber: S2}}");
    repo.write("snapshot/hardware.yaml", &other);
    repo.generate(&[]).expect(0);
}

#[test]
fn two_spellings_of_one_bmc_are_one_and_the_second_host_is_chosen_last() {
    let repo = repo_of(&[
        declared("n1", "00:00:5e:00:53:01", "ipmi://203.0.113.9?privilegelevel=OPERATOR"),
        declared("n2", "00:00:5e:00:53:02", "203.0.113.9:623"),
        declared("n3", "00:00:5e:00:53:03", "redfish://203.0.113.3/x"),
    ]);
    repo.want("metal/one", 2);
    assert_says(
        &repo.generate(&[]).expect(0).stderr,
        &["warning[SIP0308]: 2 hosts share the BMC address `ipmi://203.0.113.9"],
    );
    assert_eq!(repo.hosts_of("metal", "one"), ["Worker metal/n1", "Worker metal/n3"]);
    // It is better than none: only the address may be wrong.
    repo.want("metal/one", 3);
    repo.generate(&[]).expect(0);
}

#[test]
fn addresses_of_bmcs_are_judged_as_metal3_does() {
    for (address, says) in [
        ("ipmi://203.0.113.9?privilegelevel=OPERATOR", None),
        ("ipmi:203.0.113.4:6233", None),
        ("libvirt://192.168.122.1:6233/?abc=def", None),
        (
            "redfish://bmc_4.example.com/redfish/v1/Systems/1",
            Some("its host is neither an IP address nor a DNS name"),
        ),
        ("https://203.0.113.5/redfish/v1/Systems/1", Some("Metal3 has no driver `https`")),
    ] {
        let repo = repo_of(&[declared("n1", "00:00:5e:00:53:01", address)]);
        repo.want("metal/one", 1);
        let told = repo.generate(&[]).expect(0).stderr;
        let expected = says.map(|says| {
            format!("warning[SIP0314]: the BMC address of host metal/n1 is invalid: {says}")
        });
        assert_eq!(told.contains("SIP0314"), expected.is_some(), "{address}: {told}");
        assert!(told.contains(&expected.unwrap_or_default()), "{address}: {told}");
        assert!(!told.contains("bmc_4"), "{told}");
    }
}

#[test]
fn a_host_that_the_api_server_refuses_for_its_boot_mac_address_is_not_assigned() {
    for (mac, is_free) in [
        ("00:00:5e:00:53:01", true),
        ("CHANGEME", false),
        ("00-00-5e-00-53-01", false),
        ("00005e005301", false),
        ("00:00:00:00:00:00", false),
        ("01:00:5e:00:53:01", false),
    ] {
        let repo = repo_of(&[declared("n1", mac, "redfish://203.0.113.1/x")]);
        repo.want("metal/one", 1);
        let run = repo.generate(&[]);
        assert_eq!(run.code, if is_free { 0 } else { 1 }, "{mac}: {}", run.stderr);
        let warning = "warning[SIP0353]: host metal/n1 has no valid boot MAC address";
        assert_eq!(run.stderr.contains(warning), !is_free, "{mac}: {}", run.stderr);
    }
    for (bmc, is_told) in
        [("redfish://203.0.113.1/x", true), ("idrac-virtualmedia://203.0.113.1/x", false)]
    {
        let repo = repo_of(&[declared("n1", "", bmc)]);
        repo.want("metal/one", 1);
        let told = repo.generate(&[]).expect(0).stderr;
        assert_eq!(
            told.contains("host metal/n1 has no boot MAC address"),
            is_told,
            "{bmc}: {told}"
        );
    }
}

#[test]
fn a_host_without_a_boolean_power_state_is_told() {
    for (online, is_refused) in [
        ("online: true", false),
        ("online: False", false),
        ("online: ${ONLINE}", false),
        ("online: \"true\"", true),
        ("online: 1", true),
        ("online:", true),
        ("description: x", true),
    ] {
        let host = declared("n1", "00:00:5e:00:53:01", "redfish://203.0.113.1/x");
        let repo = repo_of(&[host.replace("online: true", online)]);
        repo.want("metal/one", 1);
        let told = repo.generate(&[]).expect(0).stderr;
        let warning = "warning[SIP0353]: host metal/n1 has neither true nor false in `spec.online`";
        assert_eq!(told.contains(warning), is_refused, "{online}: {told}");
    }
    let live = live_host("n1", "").replace("  online: true\n", "");
    let repo = snapshot_of(&[live]);
    repo.want("metal/one", 1);
    let told = repo.generate(&[]).expect(0).stderr;
    assert!(!told.contains("SIP0353"), "{told}");
}

// `validation.IsQualifiedName` and `IsValidLabelValue` of Kubernetes.
#[test]
fn labels_that_the_api_server_refuses_are_told() {
    let long = "x".repeat(64);
    for (key, value, is_refused) in [
        ("rack", "a_1.b", false),
        ("rack", "", false),
        ("rack", "a b", true),
        ("rack", "-a", true),
        ("rack", "a/b", true),
        ("rack", "é", true),
        ("rack", long.as_str(), true),
        ("example.com/rack", "a", false),
        ("a b", "a", true),
        ("a/b/c", "a", true),
        ("Example.com/x", "a", true),
    ] {
        let host = declared("n1", "00:00:5e:00:53:01", "redfish://203.0.113.1/x");
        let labels = format!("metadata:\n  labels: {{'{key}': '{value}'}}\n");
        let repo = repo_of(&[host.replace("metadata:\n", &labels)]);
        repo.want("metal/one", 1);
        let told = repo.generate(&[]).expect(0).stderr;
        let warning = "warning[SIP0353]: host metal/n1 has a label that the API server refuses";
        assert_eq!(told.contains(warning), is_refused, "{key}: {value}: {told}");
    }
}

#[test]
fn a_live_host_without_a_state_is_not_free_and_a_manifest_is() {
    let live = |name: &str, status: &str| host(name, &format!("  uid: uid-{name}\n")) + status;
    let unregistered = [
        live("n1", ""),
        live("n2", "status: {operationalStatus: \"\", provisioning: {state: \"\"}}\n"),
    ];
    for hosts in &unregistered {
        let repo = snapshot_of(std::slice::from_ref(hosts));
        repo.want("metal/one", 1);
        assert_says(&repo.refused(), &["1 not registered yet (no provisioning state)"]);
    }
    let repo = Repo::of_hosts(1);
    repo.want("metal/one", 1);
    repo.generate(&[]).expect(0);
}

#[test]
fn a_live_host_and_the_own_namespace_are_preferred_and_never_required() {
    let elsewhere = |host: String| host.replace("namespace: metal", "namespace: other");
    let repo = Repo::of_hosts(0);
    let hosts = [host("a", ""), elsewhere(host("b", ""))].concat();
    repo.write("inventory/hosts.yaml", &hosts);
    repo.write("snapshot/hosts.yaml", &live_host("z", ""));
    repo.want("other/one", 1);
    repo.generate(&[]).expect(0);
    assert_eq!(repo.hosts_of("other", "one"), ["Worker metal/z"]);

    repo.want("other/one", 2);
    repo.generate(&[]).expect(0);
    assert_eq!(repo.hosts_of("other", "one"), ["Worker metal/z", "Worker other/b"]);

    repo.want("other/one", 3);
    repo.generate(&[]).expect(0);
}

#[test]
fn a_host_that_its_agent_would_not_label_is_taken_last() {
    let ignored = "  annotations: {kustomize.toolkit.fluxcd.io/ssa: Ignore}\n";
    let repo = Repo::of_hosts(0);
    let hosts = [host("a", ignored), host("b", "")].concat();
    repo.write("inventory/hosts.yaml", &hosts);
    repo.want("metal/one", 1);
    repo.generate(&[]).expect(0);
    assert_eq!(repo.hosts_of("metal", "one"), ["Worker metal/b"]);

    repo.want("metal/one", 2);
    let refused = repo.generate(&[]).expect(1).stderr;
    assert_says(&refused, &["SIP0625", "ssa: Ignore"]);
}

#[test]
fn a_preferred_host_is_left_to_the_cluster_that_needs_it() {
    let repo = Repo::of_hosts(1);
    repo.write("snapshot/hosts.yaml", &live_host("z", "  labels: {only: here}\n"));
    repo.want("metal/one", 1);
    repo.want("metal/two", 1);
    repo.replace(
        "clusters/metal.two.yaml",
        "labelSelector: {}",
        "labelSelector: {matchLabels: {only: here}}",
    );
    repo.generate(&[]).expect(0);
    assert_eq!(repo.hosts_of("metal", "one"), ["Worker metal/host-1"]);
    assert_eq!(repo.hosts_of("metal", "two"), ["Worker metal/z"]);
}

#[test]
fn a_host_that_is_being_deleted_keeps_its_labels_while_it_is_used() {
    let used = "  consumerRef: {kind: Metal3Machine, name: m, namespace: metal}\n";
    let state = "status: {provisioning: {state: available}}\n";
    let deleted = "  deletionTimestamp: \"2026-01-01T00:00:00Z\"\n";
    for (consumer, stays) in [(used, true), ("", false)] {
        let repo = snapshot_of(&[live_host("host-1", ""), live_host("host-2", "")]);
        repo.want("metal/one", 1);
        repo.generate(&[]).expect(0);
        let hosts = [host("host-1", deleted) + consumer + state, live_host("host-2", "")];
        repo.write("snapshot/hosts.yaml", &hosts.concat());

        let told = repo.generate(&[]).expect(0).stderr;
        let expected = if stays { "host-1" } else { "host-2" };
        assert_eq!(repo.hosts_of("metal", "one"), [format!("Worker metal/{expected}")]);
        assert_eq!(
            told.contains(
                "it keeps its labels until a snapshot shows it unused: a Machine consumes it"
            ),
            stays,
            "{told}"
        );
        // A smaller request does not release it either.
        repo.want("metal/one", 0);
        let told = repo.generate(&[]).expect(0).stderr;
        assert_eq!(told.contains("SIP0908"), stays, "{told}");
        assert_eq!(repo.hosts_of("metal", "one").is_empty(), !stays);
    }
}

#[test]
fn systems_of_one_bmc_are_apart_beside_an_address_without_a_system() {
    let bmc = "redfish://203.0.113.1/redfish/v1/Systems";
    let repo = repo_of(&[
        declared("n1", "00:00:5e:00:53:01", &format!("{bmc}/1")),
        declared("n2", "00:00:5e:00:53:02", &format!("{bmc}/2")),
        declared("n3", "00:00:5e:00:53:03", "ipmi://203.0.113.1"),
    ]);
    repo.want("metal/one", 2);

    let said = repo.generate(&[]).expect(0).stderr;

    assert_eq!(said.matches("SIP0308]: 2 hosts share").count(), 2, "{said}");
    assert_eq!(repo.hosts_of("metal", "one"), ["Worker metal/n1", "Worker metal/n2"]);
}

#[test]
fn a_host_that_metal3_detached_is_not_free_whatever_its_annotations() {
    let repo = snapshot_of(&[
        inspected("n1", "00:00:5e:00:53:01", "{}")
            .replace("{provisioning", "{operationalStatus: detached, provisioning"),
        inspected("n2", "00:00:5e:00:53:02", "{}"),
    ]);
    repo.want("metal/one", 1);
    repo.generate(&[]).expect(0);
    assert_eq!(repo.hosts_of("metal", "one"), ["Worker metal/n2"]);
    let explained = run(&mut repo.sipgen(&["explain", "metal/n1"])).expect(0).stdout;
    assert_says(&explained, &["has `operationalStatus: detached`"]);
    repo.want("metal/one", 2);
    assert_says(&repo.refused(), &["with `operationalStatus: detached` (metal/n1)"]);
}

#[test]
fn a_host_that_metal3_cannot_register_is_taken_last() {
    let mut hosts = vec![
        declared("a1", "00:00:5e:00:53:01", "https://203.0.113.1/redfish/v1/Systems/1"),
        declared("a2", "00:00:5e:00:53:02", "redfish://bmc_4.example.com/x"),
        declared("a3", "00:00:5e:00:53:03", ""),
        host("a4", ""),
        declared("b1", "00:00:5e:00:53:05", "redfish://203.0.113.5/x"),
    ];
    let repo = repo_of(&hosts);
    repo.want("metal/one", 1);
    repo.generate(&[]).expect(0);
    assert_eq!(repo.hosts_of("metal", "one"), ["Worker metal/b1"]);

    let valid = |name: &str| declared(name, "00:00:5e:00:53:06", "redfish://203.0.113.6/x");
    for (right, mistaken) in [
        ("  online: true\n", ""),
        ("online: true", "online: \"true\""),
        ("online: true\n", "online: true\n  networkData: {name: x, namespace: other}\n"),
        ("  namespace: metal\n", "  namespace: metal\n  labels: {a: \"x y\"}\n"),
    ] {
        let mistaken = valid("a5").replacen(right, mistaken, 1);
        assert_ne!(mistaken, valid("a5"), "{right}");
        let repo = repo_of(&[mistaken, hosts[4].clone()]);
        repo.want("metal/one", 1);
        repo.generate(&[]).expect(0);
        assert_eq!(repo.hosts_of("metal", "one"), ["Worker metal/b1"], "{right}");
    }

    // It is better than none: a snapshot may show it tomorrow.
    hosts.pop();
    let repo = repo_of(&hosts);
    repo.want("metal/one", 4);
    repo.generate(&[]).expect(0);
}

#[test]
fn machines_are_known_by_every_source_of_their_cards() {
    let details = |name: &str, mac: &str| {
        let annotations = "  annotations:\n    inspect.metal3.io: disabled\n    inspect.metal3.io/hardwaredetails: \
                           '{\"systemVendor\":{\"serialNumber\":\"S1\"},\"nics\":[]}'\n";
        host(name, annotations) + &format!("  bootMACAddress: \"{mac}\"\n")
    };
    let same_serial = [
        details("n1", "00:00:5e:00:53:01"),
        details("n2", "00:00:5e:00:53:01").replace("53:01", "53:02"),
    ];
    let repo = repo_of(&same_serial);
    repo.want("metal/one", 1);
    assert_says(&repo.generate(&[]).expect(0).stderr, &["2 hosts share the serial number `S1`"]);

    // The live object of n1 has the boot MAC address that the manifest of n2 has.
    let repo = repo_of(&[
        declared("n1", "00:00:5e:00:53:01", "redfish://203.0.113.1/x"),
        declared("n2", "00:00:5e:00:53:02", "redfish://203.0.113.2/x"),
    ]);
    let live = live_host("n1", "  uid: uid-n1\n") + "  bootMACAddress: \"00:00:5e:00:53:02\"\n";
    repo.write("snapshot/hosts.yaml", &live);
    repo.want("metal/one", 2);
    assert_says(&repo.refused(), &["2 hosts share the MAC address `00:00:5e:00:53:02`"]);
}

#[test]
fn a_copy_that_nothing_applies_does_not_take_the_machine() {
    let repo = repo_of(&[declared("z1", "00:00:5e:00:53:01", "redfish://203.0.113.1/x")]);
    repo.write(
        "examples/host.yaml",
        &declared("a1", "00:00:5e:00:53:01", "redfish://203.0.113.1/x"),
    );
    repo.want("metal/one", 1);
    repo.generate(&[]).expect(0);
    assert_eq!(repo.hosts_of("metal", "one"), ["Worker metal/z1"]);
}

#[test]
fn names_and_references_that_the_webhook_refuses_are_told() {
    let good = declared("n1", "00:00:5e:00:53:01", "redfish://203.0.113.1/x");
    let elsewhere =
        |namespace: &str| format!("{good}  networkData: {{name: data, namespace: {namespace}}}\n");
    let named = |name: &str| good.replace("name: n1", &format!("name: {name}"));
    for (host, says) in [
        (named("4c4c4544-0044-4a10-8052-b4c04f365731"), Some("has a UUID as the name")),
        (named("4c4c454400444a108052b4c04f365731"), Some("has a UUID as the name")),
        (named("4c4c4544-0044-4a10-8052-b4c04f36573"), None),
        (elsewhere("other"), Some("has network data in another namespace")),
        (elsewhere("metal"), None),
        (good.replace(", credentialsName: x", ""), Some("has no credentialsName for the BMC")),
    ] {
        let repo = repo_of(&[host]);
        let told = run(&mut repo.sipgen(&["validate"])).stdout;
        assert_eq!(told.contains("SIP0353"), says.is_some(), "{told}");
        assert!(told.contains(says.unwrap_or_default()), "{told}");
    }
}

#[test]
fn a_manifest_that_changes_what_the_webhook_keeps_is_told() {
    let (mac, bmc) = ("00:00:5e:00:53:01", "redfish://203.0.113.1/x");
    let available = "operationalStatus: OK, provisioning: {state: available}";
    for (live_mac, live_bmc, status, is_told) in [
        (mac, bmc, available, false),
        ("00:00:5E:00:53:01", bmc, available, false),
        ("00:00:5e:00:53:02", bmc, available, true),
        (mac, "redfish://203.0.113.2/x", available, true),
        (
            mac,
            "redfish://203.0.113.2/x",
            "operationalStatus: detached, provisioning: {state: available}",
            false,
        ),
        (
            mac,
            "redfish://203.0.113.2/x",
            "operationalStatus: OK, provisioning: {state: registering}",
            false,
        ),
        (
            "00:00:5e:00:53:02",
            bmc,
            "operationalStatus: detached, provisioning: {state: available}",
            true,
        ),
    ] {
        let repo = repo_of(&[declared("n1", mac, bmc)]);
        let live = declared("n1", live_mac, live_bmc)
            .replace("\nspec:", "\n  uid: 11111111-0000-0000-0000-000000000001\nspec:");
        repo.write("live.yaml", &format!("{live}status: {{{status}}}\n"));
        let told = run(&mut repo.sipgen(&["validate"])).stdout;
        let says =
            "SIP0353]: host metal/n1 has another boot MAC or BMC address than the live object";
        assert_eq!(told.contains(says), is_told, "{live_mac} {live_bmc} {status}: {told}");
    }
}
