//! What snapshots of real base clusters have in them: `fixtures/traps` has a file for each way in which a host can be
//! written, and a cluster that wants every one of them with its address.

use std::process::Command;

use crate::support::scenes::traps::repo_with;
use crate::support::{Repo, assert_says, host, live_host, run, text};

/// Every host of the fixture with its address.
const HOSTS: [(&str, &str); 9] = [
    ("windows", "198.51.100.11"),
    ("utf-16", "198.51.100.12"),
    ("list", "198.51.100.13"),
    ("json", "198.51.100.14"),
    ("anchor", "198.51.100.15"),
    ("merged", "198.51.100.16"),
    ("both", "198.51.100.17"),
    ("live", "198.51.100.18"),
    ("annotated", "198.51.100.19"),
];

#[test]
fn a_host_is_read_whatever_way_it_is_written() {
    let repo = Repo::of_fixture("traps");

    let run = repo.generate(&[]).expect(0);

    let mut expected: Vec<String> =
        HOSTS.iter().map(|(name, _)| format!("Worker metal/{name}")).collect();
    expected.sort();
    assert_eq!(repo.hosts_of("metal", "lab"), expected);
    let proxy = repo.read("overlays/clusters/metal/lab/loadbalancer-worker/haproxy.cfg");
    for (name, address) in HOSTS {
        assert!(
            proxy.contains(&format!("{address}:30080")),
            "{name} is not at {address}:\n{proxy}"
        );
    }
    assert!(!run.stderr.contains("warning"), "{}", run.stderr);
}

#[test]
fn the_hardware_of_a_host_is_that_of_its_hardware_data_first() {
    let repo = Repo::of_fixture("traps");

    let said = run(&mut repo.sipgen(&["explain", "metal/live"])).expect(0).stdout;

    insta::assert_snapshot!(said.split_once("  hardware").unwrap().1, @"
    , from its HardwareData
        boot MAC    00:00:5e:00:53:12
        CPU         64  x86_64  Example CPU @ 2.10GHz
        memory      128 GiB
        NIC         eno1  00:00:5e:00:54:49  198.51.100.18  0x8086 0x1572  25 Gbit/s  PXE
        NIC         eno2  00:00:5e:00:54:4a  0x8086 0x1572  25 Gbit/s
        disk        /dev/disk/by-path/pci-0000:01:00.0-scsi-0:2:0:0  479 GB  SSD  EXAMPLE  EXAMPLE480
        system      Example Inc.  R1  EX123
        BIOS        Example  1.2.3
        hostname    localhost.localdomain
    ");
}

#[test]
fn the_hardware_of_a_host_may_stand_in_its_annotation() {
    let repo = Repo::of_fixture("traps");

    let run = run(&mut repo.sipgen(&["explain", "metal/annotated", "--format", "json"])).expect(0);

    let said: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let host = &said["host"];
    assert_eq!(host["hardwareFrom"], "baremetalhost.metal3.io/status");
    assert_eq!(host["bootMACAddress"], "00:00:5e:00:53:13");
    assert_eq!(host["hardware"]["cpu"]["count"], 64);
    assert_eq!(host["hardware"]["nics"][0]["ip"], "198.51.100.19");
    assert!(
        host["facts"].as_array().unwrap().iter().any(|fact| fact == "is in the state `available`"),
        "{said}"
    );
}

#[test]
fn a_status_in_an_annotation_counts_where_there_is_no_other() {
    let annotation = |state: &str| {
        format!(
            "  annotations:\n    baremetalhost.metal3.io/status: '{{\"provisioning\": {{\"state\": \"{state}\"}}}}'\n"
        )
    };
    let repo = repo_with(&annotation("provisioned"));
    let both = repo_with(&annotation("provisioned"));
    both.write(
        "snapshot/live.yaml",
        &(host("a1", "  uid: x\n") + "status: {provisioning: {state: available}}\n"),
    );

    assert_says(&repo.generate(&[]).expect(1).stderr, &["1 in the state `provisioned` (metal/a1)"]);
    both.generate(&[]).expect(0);
}

#[test]
fn hardware_is_found_under_the_namespace_that_a_kustomization_gives() {
    let repo = Repo::empty();
    let hardware = "apiVersion: metal3.io/v1alpha1\nkind: HardwareData\nmetadata: {name: a1}\n\
                    spec: {hardware: {cpu: {count: 64}, nics: null}}\n";
    repo.write("inventory/hosts.yaml", &host("a1", "").replace("  namespace: metal\n", ""));
    repo.write("inventory/hardware.yaml", hardware);
    repo.write(
        "inventory/kustomization.yaml",
        "namespace: site\nresources: [hosts.yaml, hardware.yaml]\n",
    );
    repo.want("metal/lab", 1);

    let run = run(&mut repo.sipgen(&["explain", "site/a1"])).expect(0);

    assert_says(&run.stdout, &["hardware, from its HardwareData", "CPU         64"]);
}

#[test]
fn hardware_that_cannot_be_read_leaves_the_host_as_it_is() {
    let repo = repo_with("");
    repo.write(
        "snapshot/hardware.yaml",
        "apiVersion: metal3.io/v1alpha1\nkind: HardwareData\nmetadata:\n  name: a1\n  namespace: metal\n\
         spec:\n  hardware:\n    cpu:\n      count: [64]\n",
    );

    repo.generate(&[]).expect(0);
    let run = run(&mut repo.sipgen(&["explain", "metal/a1"])).expect(0);

    assert_says(
        &run.stderr,
        &[
            "warning[SIP0323]: the hardware details in the HardwareData cannot be read",
            "hardware.yaml:9",
        ],
    );
}

#[test]
fn validate_tells_of_hardware_that_cannot_be_read_however_it_is_written() {
    let head = "apiVersion: metal3.io/v1alpha1\nkind: HardwareData\nmetadata: {name: a1, namespace: metal}\n";
    for (file, text, line) in [
        ("h.yaml", format!("{head}spec:\n  hardware:\n    ramMebibytes: lots\n"), 6),
        ("h.yaml", format!("{head}spec:\n  hardware: {{ramMebibytes: lots, nics: {{a: b}}}}\n"), 5),
        ("h.yaml", format!("{head}spec: {{hardware: {{nics: {{a: b}}}}}}\n"), 4),
        ("h.yaml", format!("{head}spec:\n  hardware: none\n"), 5),
        ("h.yaml", format!("{head}spec: none\n"), 4),
        (
            "h.json",
            "{\"apiVersion\": \"metal3.io/v1alpha1\", \"kind\": \"HardwareData\",\n\
             \"metadata\": {\"name\": \"a1\", \"namespace\": \"metal\"},\n\
             \"spec\": {\"hardware\": {\"ramMebibytes\": \"lots\"}}}"
                .to_owned(),
            3,
        ),
    ] {
        let repo = repo_with("");
        repo.write(&format!("snapshot/{file}"), &text);

        let said = run(&mut repo.sipgen(&["validate"])).expect(0).stdout;

        let at = format!("--> snapshot/{file}:{line}:");
        assert_says(
            &said,
            &["warning[SIP0323]: the hardware details in the HardwareData cannot be read", &at],
        );
    }
}

#[test]
fn a_label_that_is_null_is_empty_as_on_the_live_host() {
    let repo = repo_with("  labels:\n    rack: ~\n");
    let cluster = "clusters/metal.lab.yaml";
    repo.replace(cluster, "labelSelector: {}", "labelSelector: {matchLabels: {rack: \"\"}}");

    let run = repo.generate(&[]).expect(0);

    assert_says(&run.stderr, &["warning[SIP0320]", "the API server stores as an empty string"]);
    assert_eq!(repo.hosts_of("metal", "lab"), ["Worker metal/a1"]);
}

#[test]
fn many_hosts_with_one_mistake_are_one_warning() {
    let repo = Repo::empty();
    let hosts: String = (0..30)
        .map(|number| live_host(&format!("a{number}"), "  labels:\n    rack: 008\n"))
        .collect();
    repo.write("inventory/hosts.yaml", &hosts);
    repo.want("metal/lab", 1);

    let run = repo.generate(&[]).expect(0);

    assert_eq!(run.stderr.matches("warning[SIP0320]").count(), 1, "{}", run.stderr);
    assert_says(
        &run.stderr,
        &["the label rack of 30 hosts is `008` without quotes", "and 20 more places"],
    );
}

#[test]
fn the_empty_label_that_vino_copies_is_no_topology_domain() {
    let repo = Repo::empty();
    let labels = "  labels:\n    rack: \"\"\n";
    let empty = live_host("a1", labels) + &live_host("a2", labels);
    repo.write("inventory/hosts.yaml", &empty);
    repo.want("metal/lab", 2);
    repo.replace(
        "clusters/metal.lab.yaml",
        "labelSelector: {}",
        "topologyKey: rack, labelSelector: {}",
    );

    assert_says(
        &repo.refused(),
        &["error[SIP0261]: no host available to Worker of `metal/lab` has a value for `rack`"],
    );

    // Beside a host whose rack is known, the two are assigned with a warning.
    let other = live_host("b1", "  labels:\n    rack: r1\n");
    repo.write("inventory/hosts.yaml", &(empty + &other));
    repo.replace("clusters/metal.lab.yaml", "active: 2", "active: 3");
    let run = repo.generate(&[]).expect(0);
    assert_says(&run.stderr, &["warning[SIP0502]"]);
    let all = ["Worker metal/a1", "Worker metal/a2", "Worker metal/b1"];
    assert_eq!(repo.hosts_of("metal", "lab"), all);
}

#[test]
fn a_mac_address_is_a_number_to_tools_of_yaml_1_1() {
    let python = "import sys, yaml; print(yaml.safe_load(sys.stdin)['mac'])";
    let read_by_python = |mac: &str| {
        let script = format!("printf 'mac: %s' {mac} | python3 -c \"{python}\"");
        text(&Command::new("sh").args(["-c", &script]).output().unwrap().stdout).trim().to_owned()
    };
    for (mac, is_number) in
        [("52:54:00:12:34:56", true), ("08:00:27:12:34:56", false), ("00:00:5e:00:53:01", false)]
    {
        let repo = repo_with("");
        repo.replace(
            "inventory/hosts.yaml",
            "  online: true\n",
            &format!("  online: true\n  bootMACAddress: {mac}\n"),
        );

        let run = repo.generate(&[]).expect(0);

        assert_eq!(run.stderr.contains("warning[SIP0320]"), is_number, "{mac}: {}", run.stderr);
        assert_eq!(read_by_python(mac) != mac, is_number, "{mac}");
    }
}

#[test]
fn wrong_types_and_missing_names_are_named_at_their_line() {
    for (from, to, said) in [
        (
            "  name: a1\n",
            "  name: [a1]\n",
            "the BareMetalHost cannot be read: metadata.name: invalid type",
        ),
        ("  name: a1\n", "", "the BareMetalHost has no name"),
        (
            "  online: true\n",
            "  bmc: none\n",
            "the BareMetalHost cannot be read: spec.bmc: invalid type",
        ),
        (
            "  online: true\n",
            "  bootMACAddress: {a: b}\n",
            "the BareMetalHost cannot be read: spec.bootMACAddress",
        ),
    ] {
        let repo = repo_with("");
        repo.replace("inventory/hosts.yaml", from, to);

        assert_says(&repo.refused(), &[said, "--> inventory/hosts.yaml:"]);
    }
}
