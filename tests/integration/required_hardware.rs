//! Requirements of node sets on inspected hardware.

use crate::support::{Repo, assert_says, run};

/// Inspected hardware with a number of CPUs, and memory in GiB.
fn inspected(cpus: u64, memory: u64) -> String {
    format!("{{cpu: {{count: {cpus}, arch: x86_64}}, ramMebibytes: {}}}", memory * 1024)
}

/// Writes hosts, each with its hardware; empty for a host that nobody inspected.
fn with_hosts(repo: &Repo, hosts: &[(&str, &str)]) {
    let hosts = hosts.iter().map(|(name, hardware)| {
        let hardware =
            if hardware.is_empty() { String::new() } else { format!(", hardware: {hardware}") };
        format!(
            "---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\n\
             metadata: {{name: {name}, namespace: metal, labels: {{flavor: worker}}}}\nspec: {{online: true}}\n\
             status: {{provisioning: {{state: available}}{hardware}}}\n"
        )
    });
    repo.write("snapshot/hosts.yaml", &hosts.collect::<String>());
}

/// A field of an older SIPCluster.
const OLDER: &str = "  config: {cluster-name: one}\n";

/// Writes a request for workers with hardware.
fn request(repo: &Repo, cluster: &str, workers: usize, hardware: &str) {
    repo.write(
        &format!("{cluster}.yaml"),
        &format!(
            "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {{name: {cluster}, namespace: tenants}}\n\
             spec:\n  nodes:\n    Worker:\n      labelSelector: {{matchLabels: {{flavor: worker}}}}\n      hardware: {hardware}\n\
             \x20     count: {{active: {workers}, standby: 0}}\n"
        ),
    );
}

const ROOMY: &str = "{cpu: {count: 64, arch: aarch64, model: 'Ampere(R) Altra(R)', flags: [asimd]}, ramMebibytes: 262144, \
    storage: [{name: /dev/nvme0n1, type: NVME, sizeBytes: 1920383410176}, {name: /dev/nvme1n1, type: NVME, sizeBytes: 1920383410176}], \
    nics: [{mac: '52:54:00:00:00:01', speedGbps: 25, model: '0x8086 0x1572'}], \
    systemVendor: {manufacturer: HPE, productName: ProLiant RL300 Gen11}, \
    firmware: {bios: {vendor: HPE, version: '1.60'}}}";

#[test]
fn a_node_set_gets_hosts_with_the_hardware_that_it_requires() {
    let small = inspected(8, 32);
    for (hardware, is_met) in [
        ("{cpu: {count: 64}}", true),
        ("{cpu: {count: 65}}", false),
        ("{cpu: {arch: arm64}}", true),
        ("{cpu: {arch: amd64, count: 9}}", false),
        ("{cpu: {model: '*altra*'}}", true),
        ("{cpu: {model: altra}}", false),
        ("{cpu: {flags: [ASIMD]}}", true),
        ("{cpu: {flags: [sve]}}", false),
        ("{memory: 256Gi}", true),
        ("{memory: 257Gi}", false),
        ("{memory: 34359738369}", true),
        ("{storage: [{count: 2, minSize: 1.9T, type: NVME}]}", true),
        ("{storage: [{count: 3}]}", false),
        ("{storage: [{count: 2, minSize: 1788Gi}]}", true),
        ("{storage: [{minSize: 1789Gi}]}", false),
        ("{storage: [{}, {}]}", true),
        ("{storage: [{type: NVME}, {minSize: 1T}, {minSize: 10G}]}", false),
        ("{storage: [{type: SSD}]}", false),
        ("{nics: [{minSpeedGbps: 25, sriov: true}]}", true),
        ("{nics: [{minSpeedGbps: 26}]}", false),
        ("{nics: [{count: 2}]}", false),
        ("{systemVendor: {manufacturer: hpe, productName: 'proliant rl300*'}}", true),
        ("{systemVendor: {productName: ProLiant}}", false),
        ("{firmware: {bios: {vendor: HPE, version: 1.6*}}}", true),
        ("{firmware: {bios: {version: '1.6'}}}", false),
    ] {
        let repo = Repo::empty();
        with_hosts(&repo, &[("a", &small), ("b", ROOMY), ("c", "")]);
        request(&repo, "one", 1, hardware);
        let run = repo.generate(&[]).expect(if is_met { 0 } else { 1 });
        let hosts = repo.hosts_of("tenants", "one");
        assert_eq!(hosts.is_empty(), !is_met, "{hardware}: {hosts:?} {}", run.stderr);
        assert!(hosts.iter().all(|host| host == "Worker metal/b"), "{hardware}: {hosts:?}");

        let current = repo.read("one.yaml");
        let older = current.replace("spec:\n", &format!("spec:\n{OLDER}"));
        for (request, build) in [(older, ""), (current, "labels: [{pairs: {a: b}}]\n")] {
            repo.write("one.yaml", &request);
            repo.write("kustomization.yaml", &format!("resources: [one.yaml]\n{build}"));
            repo.generate(&[]).expect(if is_met { 0 } else { 1 });
            assert_eq!(repo.hosts_of("tenants", "one"), hosts, "{hardware} {build}");
        }
    }
}

#[test]
fn hardware_data_counts_before_the_status_of_a_host() {
    let repo = Repo::empty();
    with_hosts(&repo, &[("a", &inspected(64, 256))]);
    request(&repo, "one", 1, "{cpu: {count: 64}}");
    repo.write(
        "snapshot/data.yaml",
        "apiVersion: metal3.io/v1alpha1\nkind: HardwareData\nmetadata: {name: a, namespace: metal}\n\
         spec: {hardware: {cpu: {count: 8}}}\n",
    );

    assert_says(&repo.refused(), &["1 host matches its selector, with fewer than 64 CPUs"]);

    repo.replace("snapshot/data.yaml", "count: 8", "count: 64");
    repo.replace("snapshot/hosts.yaml", "count: 64", "count: 8");
    repo.generate(&[]).expect(0);
}

#[test]
fn a_shortage_names_the_hardware_and_each_host_says_what_it_lacks() {
    let repo = Repo::empty();
    let nvme = |disks: usize| {
        let disk = "{type: NVME, sizeBytes: 1920383410176}";
        format!("{{cpu: {{count: 32}}, storage: [{}]}}", vec![disk; disks].join(", "))
    };
    let hosts =
        [("a", nvme(1)), ("b", nvme(2)), ("c", nvme(3)), ("d", nvme(1)), ("e", String::new())];
    let hosts: Vec<(&str, &str)> =
        hosts.iter().map(|(name, text)| (*name, text.as_str())).collect();
    with_hosts(&repo, &hosts);
    request(&repo, "one", 4, "{storage: [{count: 2, minSize: 900Gi, type: NVME}]}");

    assert_says(
        &repo.refused(),
        &[
            "2 of the 4 Worker hosts of tenants/one cannot be found",
            "5 hosts match its selector, 2 of them with fewer than 2 NVME disks of 900Gi or more, 1 without hardware details",
        ],
    );

    let explain = |host: &str| run(&mut repo.sipgen(&["explain", host])).stdout;
    assert_says(&explain("metal/a"), &["has 1 NVME disk of 900Gi or more, and 2 are asked for"]);
    assert_says(&explain("metal/e"), &["has no hardware details that say what it has"]);
}

#[test]
fn the_smallest_sufficient_hosts_are_taken_and_large_ones_stay_free() {
    let repo = Repo::empty();
    let (small, medium, large) = (inspected(8, 32), inspected(32, 128), inspected(64, 512));
    with_hosts(
        &repo,
        &[("a", &large), ("b", &medium), ("c", &small), ("d", &medium), ("e", &large)],
    );
    request(&repo, "one", 2, "{cpu: {count: 16}}");
    repo.generate(&[]).expect(0);
    assert_eq!(repo.hosts_of("tenants", "one"), ["Worker metal/b", "Worker metal/d"]);

    // A later cluster that needs the large ones still finds them, and both keep their hosts.
    request(&repo, "two", 2, "{memory: 512Gi}");
    request(&repo, "three", 1, "{memory: 1Gi}");
    repo.generate(&[]).expect(0);
    assert_eq!(repo.hosts_of("tenants", "two"), ["Worker metal/a", "Worker metal/e"]);
    assert_eq!(repo.hosts_of("tenants", "three"), ["Worker metal/c"]);
}

#[test]
fn a_host_that_another_node_set_gives_up_is_not_left_for_a_larger_one() {
    // `two` can only have the medium hosts; it comes second, so `one` makes room for it.
    let repo = Repo::empty();
    let (medium, large) = (inspected(32, 128), inspected(64, 512));
    let special = "{cpu: {count: 32, arch: aarch64}, ramMebibytes: 131072}";
    with_hosts(&repo, &[("a", &large), ("b", special), ("c", &medium), ("d", &large)]);
    request(&repo, "one", 1, "{cpu: {count: 16}}");
    request(&repo, "two", 1, "{cpu: {arch: arm64}}");
    repo.generate(&[]).expect(0);
    assert_eq!(repo.hosts_of("tenants", "one"), ["Worker metal/c"]);
    assert_eq!(repo.hosts_of("tenants", "two"), ["Worker metal/b"]);
}

#[test]
fn evenness_over_racks_counts_more_than_size_and_size_decides_in_a_rack() {
    let (small, large) = (inspected(32, 128), inspected(64, 512));
    let racks = [
        ("a1", &large),
        ("a2", &small),
        ("a3", &small),
        ("b1", &large),
        ("b2", &large),
        ("c1", &small),
    ];
    let sizes: Vec<(&str, &str)> =
        racks.iter().map(|(name, size)| (*name, size.as_str())).collect();
    for (workers, expected) in [(2, "a2 c1"), (3, "a2 b1 c1"), (5, "a2 a3 b1 b2 c1")] {
        let repo = Repo::empty();
        with_hosts(&repo, &sizes);
        for (name, _) in racks {
            let labels = format!("{{name: {name}, namespace: metal, labels: {{");
            let rack = format!("example.com/rack: {}, ", &name[..1]);
            repo.replace("snapshot/hosts.yaml", &labels, &format!("{labels}{rack}"));
        }
        repo.write("sipgen.yaml", "topology: {rack: example.com/rack}\n");
        request(&repo, "one", workers, "{cpu: {count: 32}}");
        repo.generate(&[]).expect(0);
        let hosts = repo.hosts_of("tenants", "one").join(" ").replace("Worker metal/", "");
        assert_eq!(hosts, expected);
    }
}

#[test]
fn racks_without_required_hardware_do_not_count_for_a_skew() {
    let repo = Repo::empty();
    let (small, large) = (inspected(8, 32), inspected(64, 512));
    with_hosts(
        &repo,
        &[("a1", &large), ("a2", &large), ("b1", &large), ("b2", &large), ("c1", &small)],
    );
    for name in ["a1", "a2", "b1", "b2", "c1"] {
        let labels = format!("{{name: {name}, namespace: metal, labels: {{");
        let rack = format!("example.com/rack: {}, ", &name[..1]);
        repo.replace("snapshot/hosts.yaml", &labels, &format!("{labels}{rack}"));
    }
    let spread =
        "{cpu: {count: 64}}\n      topologySpreadConstraints: [{topologyKey: example.com/rack}]";
    request(&repo, "one", 4, spread);

    repo.generate(&[]).expect(0);

    assert_eq!(repo.hosts_of("tenants", "one").len(), 4);
}

#[test]
fn a_proven_host_is_taken_before_a_smaller_one_of_unknown_state() {
    let repo = Repo::empty();
    with_hosts(&repo, &[("a", &inspected(8, 32)), ("b", &inspected(64, 512))]);
    repo.replace_behind(
        "snapshot/hosts.yaml",
        "name: a,",
        "provisioning: {state: available}, ",
        "",
    );
    request(&repo, "one", 1, "{cpu: {count: 1}}");
    repo.generate(&[]).expect(0);

    assert_eq!(repo.hosts_of("tenants", "one"), ["Worker metal/b"]);
}

#[test]
fn an_assigned_host_stays_when_it_no_longer_meets_the_requirements() {
    let repo = Repo::empty();
    with_hosts(&repo, &[("a", &inspected(8, 32)), ("b", &inspected(64, 512))]);
    request(&repo, "one", 1, "{cpu: {count: 8}}");
    repo.generate(&[]).expect(0);
    assert_eq!(repo.hosts_of("tenants", "one"), ["Worker metal/a"]);

    for hardware in ["{cpu: {count: 16}}", "{storage: [{}]}"] {
        request(&repo, "one", 1, hardware);
        let run = repo.generate(&[]).expect(0);
        assert_eq!(repo.hosts_of("tenants", "one"), ["Worker metal/a"]);
        assert_says(&run.stderr, &["no longer meets its requirements"]);
    }
    request(&repo, "one", 1, "{cpu: {count: 16}}");
    repo.generate(&["--rebalance"]).expect(0);
    assert_eq!(repo.hosts_of("tenants", "one"), ["Worker metal/b"]);
}

/// Each is an error with this text, at its line.
const INVALID: [(&str, &str); 26] = [
    ("{cpus: {count: 1}}", "unknown field `cpus`"),
    ("{cpu: {cuont: 1}}", "write `count`"),
    ("{colour: red}", "write one of `cpu`"),
    ("{storage: [{minsize: 1Gi}]}", "write `minSize`"),
    ("{storage: [{serialNumber: x}]}", "unknown field `serialNumber`"),
    ("{firmware: {bios: {versoin: x}}}", "write `version`"),
    ("{cpu: {count: -1}}", "`count: -1` is not a valid number"),
    ("{cpu: {count: 0}}", "`count: 0` is not a valid number"),
    ("{cpu: {count: 1000001}}", "write 1 to 1000000"),
    ("{cpu: {count: 18446744073709551616}}", "count"),
    ("{cpu: {count: .nan}}", "`count` must be a whole number"),
    ("{cpu: {count: 1.5}}", "`count` must be a whole number"),
    ("{cpu: {arch: ''}}", "requires nothing"),
    ("{cpu: {model: '**'}}", "requires nothing"),
    ("{cpu: {flags: [a b]}}", "not a single word"),
    ("{cpu: [1]}", "`cpu` must be a mapping, found a list"),
    ("{memory: 1Gb}", "`memory: 1Gb` is not an amount of bytes"),
    ("{memory: -1Gi}", "is not an amount of bytes"),
    ("{memory: 0}", "is not an amount of bytes"),
    ("{memory: 99999999999Ei}", "is not an amount of bytes"),
    ("{storage: [{minSize: 16Ei}]}", "is not an amount of bytes"),
    ("{storage: [{type: nvme}]}", "write `HDD`, `SSD` or `NVME`"),
    ("{storage: [null]}", "an item of `storage` must be a mapping, found null"),
    ("{storage: [{count: 0}]}", "`count: 0` is not a valid number"),
    ("{nics: [{minSpeedGbps: 0}]}", "`minSpeedGbps: 0` is not a valid number"),
    ("{nics: [{}, {}, {}, {}, {}, {}, {}, {}, {}]}", "`nics` has more than 8 entries"),
];

#[test]
fn invalid_requirements_are_errors_at_their_line() {
    for (hardware, message) in INVALID {
        let repo = Repo::empty();
        with_hosts(&repo, &[("a", ROOMY)]);
        request(&repo, "one", 1, hardware);

        let stderr = repo.refused();

        assert_says(&stderr, &[message, "one.yaml:8"]);
        assert!(!stderr.contains("ignored"), "{stderr}");
    }
}

#[test]
fn empty_members_require_nothing() {
    for hardware in
        ["{}", "null", "{cpu: null, memory: null, storage: null, nics: [], firmware: {bios: null}}"]
    {
        let repo = Repo::empty();
        with_hosts(&repo, &[("a", "")]);
        request(&repo, "one", 1, hardware);
        repo.generate(&[]).expect(0);
        assert_eq!(repo.hosts_of("tenants", "one"), ["Worker metal/a"], "{hardware}");
    }
}

#[test]
fn node_sets_of_cluster_api_require_hardware_by_an_annotation() {
    let annotate = |repo: &Repo, value: &str| {
        let annotations = format!("annotations: {{sip.airshipit.org/hardware: {value}}}\n");
        repo.replace_behind(
            "clusters/edge/workers.yaml",
            "kind: MachineDeployment",
            "metadata:\n",
            &format!("metadata:\n  {annotations}"),
        );
    };
    let repo = Repo::of_fixture("capm3");
    annotate(&repo, r#"'{"cpu": {"count": 16}, "storage": [{"type": "NVME"}]}'"#);

    assert_says(&repo.refused(), &["without hardware details"]);

    for host in ["m7", "m8"] {
        repo.write(
            &format!("hardware/{host}.yaml"),
            &format!(
                "apiVersion: metal3.io/v1alpha1\nkind: HardwareData\nmetadata: {{name: {host}, namespace: tenant-a}}\n\
                 spec: {{hardware: {{cpu: {{count: 16}}, storage: [{{type: NVME, sizeBytes: 1}}]}}}}\n"
            ),
        );
    }
    repo.generate(&[]).expect(0);
    let hosts = repo.hosts_of("tenant-a", "edge");
    let workers: Vec<&str> = hosts.iter().filter_map(|host| host.strip_prefix("Worker ")).collect();
    assert_eq!(workers, ["tenant-a/m7", "tenant-a/m8"]);

    for (value, message) in [
        (r#"'{"cpus": 1}'"#, "unknown field `cpus`, expected one of `cpu`, `memory`"),
        (r#"'{"cpu": {"count": NaN}}'"#, "is not a mapping of requirements in JSON"),
        (
            r#"'{"cpu": {"count": 18446744073709551616}}'"#,
            "is not a mapping of requirements in JSON",
        ),
        (r#"'{"cpu": {"count": 1}, "cpu": {"count": 2}}'"#, "duplicate field `cpu`"),
        (r#"'[]'"#, "a list is in the place of a mapping"),
        (r#"'{"cpu": [32]}'"#, "a list is in the place of a mapping"),
        (r#"'null'"#, "is not a mapping of requirements in JSON"),
        (r#"'{"storage": [null]}'"#, "is not a mapping of requirements in JSON"),
        (
            r#"'{"storage": [{"minSize": "9X"}]}'"#,
            "storage[0].minSize: `minSize: 9X` is not an amount of bytes",
        ),
        (r#"'{"cpu": {"count": -1}}'"#, "cpu.count: `count: -1` is not a valid number"),
    ] {
        let repo = Repo::of_fixture("capm3");
        annotate(&repo, value);
        assert_says(&repo.refused(), &[message, "SIP0903"]);
    }
}

#[test]
fn a_misspelled_annotation_for_hardware_is_refused() {
    let repo = Repo::of_fixture("capm3");
    repo.replace_behind(
        "clusters/edge/workers.yaml",
        "kind: MachineDeployment",
        "metadata:\n",
        "metadata:\n  annotations: {sip.airshipit.org/hardwares: '{}'}\n",
    );

    assert_says(&repo.refused(), &["write `sip.airshipit.org/hardware`"]);
}

#[test]
fn what_is_to_be_bought_names_the_hardware() {
    let repo = Repo::empty();
    with_hosts(&repo, &[("w1", &inspected(32, 128)), ("w2", &inspected(8, 32))]);
    request(
        &repo,
        "one",
        3,
        "{cpu: {count: 16, arch: amd64}, memory: 64Gi, storage: [{count: 2, minSize: 900Gi, type: NVME}]}",
    );

    let capacity = run(&mut repo.sipgen(&["capacity"]));

    assert_says(
        &capacity.stdout,
        &[
            "3 hosts; one less does not suffice",
            "3 hosts in metal: flavor=worker; 16 CPUs, 64 GiB, amd64, 2 NVME disks of 900Gi or more",
        ],
    );
}

#[test]
fn contradictory_requirements_are_not_to_be_bought() {
    let repo = Repo::empty();
    with_hosts(&repo, &[("w1", &inspected(32, 128))]);
    request(&repo, "one", 2, "{storage: [{count: 1000000}]}");

    let capacity = run(&mut repo.sipgen(&["capacity"]));

    assert_says(&capacity.stdout, &["tenants/one Worker lacks 2 hosts"]);
    assert!(!capacity.stdout.contains("does not suffice"), "{}", capacity.stdout);
}
