//! Inventories that are refused: what a user reads, and that no file changes.

use insta::assert_snapshot;

use crate::support::{Repo, assert_says, host};

const RACK_A: &str = "sites/lab/hosts/rack-a.yaml";
const RACK_C: &str = "sites/lab/hosts/rack-c.yaml";
const HOSTS: &str = "sites/lab/hosts/kustomization.yaml";
const SNAPSHOT: &str = "snapshot/hosts.yaml";
const C1: &str = "  name: lab-c1\n  namespace: tenant-a\n";

/// The quickstart after its first run.
fn quickstart() -> Repo {
    Repo::generated("quickstart")
}

/// A BareMetalHost that the repo does not make.
fn observed(name: &str) -> String {
    format!(
        "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata:\n  name: {name}\n  namespace: tenant-a\n  resourceVersion: '1'\n"
    )
}

fn labels_of(cluster: &str) -> String {
    format!(
        "  labels:\n    sip.airshipit.org/cluster-namespace: tenant-a\n    sip.airshipit.org/cluster-name: {cluster}\n    \
         sip.airshipit.org/node-type: Worker\n"
    )
}

#[test]
fn a_host_of_an_unknown_version() {
    let repo = quickstart();
    repo.replace(
        RACK_C,
        "v1alpha1\nkind: BareMetalHost\nmetadata:\n  name: lab-c1\n",
        "v1beta1\nkind: BareMetalHost\nmetadata:\n  name: lab-c1\n",
    );

    let told = "error[SIP0114]: the BareMetalHost has the unknown apiVersion metal3.io/v1beta1";
    assert_says(&repo.refused(), &[told, "write `apiVersion: metal3.io/v1alpha1`"]);
}

#[test]
fn a_host_declared_twice() {
    let repo = quickstart();
    repo.replace(RACK_C, C1, "  name: lab-a1\n  namespace: tenant-a\n");

    assert_snapshot!(repo.refused(), @"
    error[SIP0301]: host tenant-a/lab-a1 is declared twice
      --> sites/lab/hosts/rack-c.yaml:6:9
       |
     6 |   name: lab-a1
       |         ^^^^^^
      --> sites/lab/hosts/rack-a.yaml:6:9  (the other one)
       |
     6 |   name: lab-a1
       |         ------
      help: take one of them out of the kustomization; a manifest and one snapshot of the same host are fine

    1 error: no files written
    ");
}

#[test]
fn a_host_twice_in_the_snapshot() {
    let repo = quickstart();
    repo.write(SNAPSHOT, &format!("{}---\n{}", observed("vm-1"), observed("vm-1")));

    let message = repo.refused();

    assert_says(
        &message,
        &[
            "error[SIP0301]: host tenant-a/vm-1 is in the snapshot twice",
            "--> snapshot/hosts.yaml:11:9\n",
            "--> snapshot/hosts.yaml:4:9  (the other one)",
            "keep one of the two documents",
        ],
    );
}

#[test]
fn network_data_that_cannot_be_read() {
    for (values, reason) in [
        (
            "stringData:\n  networkData: \"networks: Hunter2\"\n",
            "is not network data in JSON or YAML",
        ),
        (
            "stringData:\n  networkData: |\n    networks: [Hunter2\n",
            "is not network data in JSON or YAML",
        ),
        ("data:\n  networkData: Hunter2!!\n", "is not base64 of a text"),
    ] {
        let repo = quickstart();
        let text = repo.read(RACK_A);
        let (before, rest) = text.split_once("stringData:\n  networkData: |\n").unwrap();
        let (_, after) = rest.split_once("    services: []\n").unwrap();
        repo.write(RACK_A, &format!("{before}{values}{after}"));

        let message = repo.refused();

        let holder = "host tenant-a/lab-a1 has network data in the Secret tenant-a/lab-a1-network-data, which";
        assert_says(
            &message,
            &[&format!("error[SIP0334]: {holder} {reason}\n"), "networkData: …\n"],
        );
        assert!(!message.contains("Hunter2"), "{message}");
    }
}

#[test]
fn a_file_of_a_generator_that_is_not_there() {
    let repo = Repo::empty();
    repo.write(
        "hosts/hosts.yaml",
        &(host("host-1", "") + "  networkData: {name: host-1-network-data}\n"),
    );
    let generator =
        "secretGenerator:\n- name: host-1-network-data\n  files: [networkData=net.json]\n";
    repo.write(
        "hosts/kustomization.yaml",
        &format!("namespace: metal\nresources: [hosts.yaml]\n{generator}"),
    );
    repo.want("tenant-a/edge", 1);

    let message = repo.refused();

    let holder = "what a kustomization generates as metal/host-1-network-data";
    let said = format!(
        "error[SIP0334]: host metal/host-1 has network data in {holder}, which needs hosts/net.json"
    );
    assert_says(&message, &[&said, "--> hosts/kustomization.yaml:5:"]);
}

#[test]
fn values_of_other_secrets_are_not_judged() {
    let repo = quickstart();
    let other = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: token, namespace: tenant-a}\ndata: {value: Hunter2!!}\n";
    repo.write(RACK_A, &(repo.read(RACK_A).trim_end().to_owned() + "\n" + other));

    assert!(!crate::support::run(&mut repo.sipgen(&["validate"])).stdout.contains("SIP0334"));
}

#[test]
fn a_malformed_address_in_network_data() {
    let repo = quickstart();
    repo.replace(RACK_A, "ip_address: 198.51.100.11\n", "ip_address: 198.51.100.300\n");

    assert_snapshot!(repo.refused(), @"
    error[SIP0334]: the network data of host tenant-a/lab-a1 has the ip_address `198.51.100.300` in network `oam-ipv4`, which is not an IP address
      --> sites/lab/hosts/rack-a.yaml:28:3
       |
    28 |   networkData: …
       |   ^^^^^^^^^^^
      help: fix the address in the Secret; `<no value>` or no ip_address means that it has none

    error[SIP0311]: host tenant-a/lab-a1 of tenant-a/edge has network data in the Secret tenant-a/lab-a1-network-data, which has the ip_address `198.51.100.300` in network `oam-ipv4`, which is not an IP address, so loadbalancer-controlplane-edge cannot reach it
      --> sites/lab/hosts/rack-a.yaml:18:3
       |
    18 |   networkData:
       |   ^^^^^^^^^^^
      --> sites/lab/clusters/edge.yaml:30:26  (the service uses `oam-ipv4`)
       |
    30 |         nodeInterfaceId: oam-ipv4
       |                          --------
      help: the cluster has the host already, so it is not replaced: fix its network data, or nodeInterfaceId

    error[SIP0311]: host tenant-a/lab-a1 of tenant-a/edge has network data in the Secret tenant-a/lab-a1-network-data, which has the ip_address `198.51.100.300` in network `oam-ipv4`, which is not an IP address, so jumphost-edge cannot reach it
      --> sites/lab/hosts/rack-a.yaml:18:3
       |
    18 |   networkData:
       |   ^^^^^^^^^^^
      --> sites/lab/clusters/edge.yaml:42:26  (the service uses `oam-ipv4`)
       |
    42 |         nodeInterfaceId: oam-ipv4
       |                          --------
      help: the cluster has the host already, so it is not replaced: fix its network data, or nodeInterfaceId

    3 errors in tenant-a/edge: no files written
    ");
}

#[test]
fn an_address_in_network_data_that_no_other_machine_reaches() {
    for address in ["0.0.0.0/24", "127.0.0.1", "224.0.0.1", "255.255.255.255", "'::1'"] {
        let repo = quickstart();
        repo.replace(RACK_A, "ip_address: 198.51.100.11\n", &format!("ip_address: {address}\n"));

        let said = repo.refused();

        assert_says(
            &said,
            &[
                "error[SIP0334]: the network data of host tenant-a/lab-a1",
                "--> sites/lab/hosts/rack-a.yaml:28:3",
            ],
        );
        assert_says(&said, &["by which no other machine reaches the host"]);
    }
}

#[test]
fn network_data_of_another_shape() {
    let repo = quickstart();
    repo.replace(
        RACK_A,
        "      - id: oam-ipv4\n        type: ipv4\n        link: eno1\n",
        "      - [\n",
    );

    assert_says(
        &repo.refused(),
        &["host tenant-a/lab-a1", "tenant-a/lab-a1-network-data", "is not network data"],
    );
}

#[test]
fn one_secret_twice_with_different_network_data() {
    let repo = quickstart();
    repo.replace(
        RACK_C,
        "  name: lab-c1-network-data\n  namespace",
        "  name: lab-a1-network-data\n  namespace",
    );

    assert_says(
        &repo.refused(),
        &[
            "the Secret tenant-a/lab-a1-network-data is duplicated with different network data",
            "--> sites/lab/hosts/rack-c.yaml:28:3\n",
            "--> sites/lab/hosts/rack-a.yaml:28:3  (the other one)",
        ],
    );
}

#[test]
fn an_outermost_kustomization_above_the_output_directory() {
    let repo = quickstart();
    repo.write("kustomization.yaml", "resources:\n  - sites/lab\n");

    assert_snapshot!(repo.refused(), @"
    error[SIP0306]: kustomization.yaml renders hosts and lies above the output directory overlays: an overlay below its own base is a cycle
      --> kustomization.yaml:1:1
       |
     1 | resources:
       | ^^^^^^^^^
      help: move what it lists into a directory of its own, beside overlays; or set `hosts: {form: component}`, which has no base

    1 error: no files written
    ");
}

#[test]
fn an_output_directory_inside_the_inventory() {
    let repo = quickstart();
    repo.write("sipgen.yaml", "output: sites/lab/overlays\n");

    assert_says(
        &repo.refused(),
        &[
            "sites/lab/kustomization.yaml renders hosts and lies above the output directory sites/lab/overlays",
            "--> sites/lab/kustomization.yaml",
            "move sites/lab/overlays out of sites/lab: set `output` in sipgen.yaml to another directory",
        ],
    );
}

#[test]
fn a_live_copy_that_a_kustomization_renders() {
    for (field, value) in
        [("uid", "8cc96106"), ("resourceVersion", "\"53444\""), ("managedFields", "[]")]
    {
        let repo = quickstart();
        repo.replace(RACK_C, C1, &format!("{C1}  {field}: {value}\n"));

        assert_says(
            &repo.refused(),
            &[
                &format!(
                    "host tenant-a/lab-c1 has metadata.{field}, so it is a live object's copy"
                ),
                "but sites/lab/kustomization.yaml renders it as a manifest",
                "--> sites/lab/hosts/rack-c.yaml:8:",
                "set `inventory: {mode: observed}` in sipgen.yaml",
            ],
        );
    }
}

#[test]
fn a_host_that_two_builds_render() {
    let repo = quickstart();
    repo.write("other/kustomization.yaml", "resources:\n  - ../sites/lab/hosts\n");

    let message = repo.refused();

    assert_says(
        &message,
        &[
            "error[SIP0304]: host tenant-a/lab-a1 is rendered by two kustomizations, which would overwrite each other",
            "--> sites/lab/hosts/rack-a.yaml:6:9",
            "--> other/kustomization.yaml:1:1  (one)",
            "--> sites/lab/kustomization.yaml:4:1  (the other)",
            "make one of them a resource of the other",
        ],
    );
}

/// A quickstart with a file that two builds give different namespaces.
fn in_two_namespaces(text: &str) -> Repo {
    let repo = quickstart();
    for namespace in ["one", "two"] {
        repo.write(
            &format!("{namespace}/kustomization.yaml"),
            &format!("namespace: {namespace}\nresources:\n  - ../shared\n"),
        );
    }
    repo.write("shared/kustomization.yaml", "resources:\n  - shared.yaml\n");
    repo.write("shared/shared.yaml", text);
    repo
}

#[test]
fn a_host_that_two_builds_give_different_namespaces() {
    let repo = in_two_namespaces(
        "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {name: shared}\nspec: {online: true}\n",
    );

    assert_says(
        &repo.refused(),
        &[
            "the BareMetalHost shared gets the namespace one from one kustomization and two from another",
            "--> shared/shared.yaml:3:",
            "--> one/kustomization.yaml:1:12  (gives it one)",
            "--> two/kustomization.yaml:1:12  (gives it two)",
        ],
    );
}

#[test]
fn a_cluster_that_two_builds_give_different_namespaces_is_two_clusters() {
    let repo = in_two_namespaces(
        "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {name: shared}\nspec: {nodes: {}}\n",
    );

    let run = repo.generate(&[]).expect(0);

    assert_says(&run.stderr, &["3 clusters"]);
    for namespace in ["one", "two"] {
        assert!(repo.exists(&format!("overlays/tenants/{namespace}/shared")));
    }
    // Other differences between the builds count as well.
    let both = "resources:\n  - ../shared\n";
    repo.write("one/kustomization.yaml", both);
    repo.write("two/kustomization.yaml", &format!("namespace: two\n{both}"));
    assert_says(&repo.generate(&["--allow-empty"]).stderr, &["3 clusters"]);
    assert!(repo.exists("overlays/tenants/default/shared"));
}

#[test]
fn a_cycle_of_kustomizations() {
    let repo = quickstart();
    repo.write("ring/a/kustomization.yaml", "resources:\n  - ../b\n  - hosts.yaml\n");
    repo.write("ring/a/hosts.yaml", &crate::support::host("vm-1", ""));
    repo.write("ring/b/kustomization.yaml", "resources:\n  - ../a\n");

    assert_says(
        &repo.refused(),
        &[
            "`ring/a/kustomization.yaml` lists itself, directly or through other kustomizations",
            "--> ring/a/kustomization.yaml:2:5",
            "remove one of the references; kustomize cannot build a cycle",
        ],
    );
}

#[test]
fn a_cycle_below_an_outermost_kustomization() {
    let repo = quickstart();
    repo.write("ring/kustomization.yaml", "resources:\n  - a\n");
    repo.write("ring/a/kustomization.yaml", "resources:\n  - ../b\n  - hosts.yaml\n");
    repo.write("ring/a/hosts.yaml", &crate::support::host("vm-1", ""));
    repo.write("ring/b/kustomization.yaml", "resources:\n  - ../a\n");

    assert_says(&repo.refused(), &["lists itself", "kustomize cannot build a cycle"]);
}

#[test]
fn a_prefix_over_the_names_of_hosts() {
    for field in ["namePrefix: site1-", "nameSuffix: -site1"] {
        let repo = quickstart();
        repo.replace(HOSTS, "resources:\n", &format!("{field}\nresources:\n"));

        assert_says(
            &repo.refused(),
            &[
                "error[SIP0108]: a build renames the Secret `lab-a1-bmc-credentials`",
                "bmc.credentialsName of hosts still names `lab-a1-bmc-credentials`",
                "--> sites/lab/hosts/kustomization.yaml",
                "remove namePrefix, nameSuffix or the hash",
            ],
        );
    }
}

/// kustomize changes the Secrets, and nothing else of the build.
#[test]
fn secrets_that_a_build_renames_beside_unchanged_hosts() {
    let repo = Repo::of_hosts(0);
    let host = crate::support::host("n1", "")
        + "  bmc: {address: 'ipmi://192.0.2.1', credentialsName: n1-bmc}\n";
    repo.write("inventory/hosts.yaml", &host);
    repo.write("inventory/kustomization.yaml", "resources: [hosts.yaml, ../secrets]\n");
    repo.write("secrets/kustomization.yaml", "namePrefix: z-\nresources: [s.yaml]\n");
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: n1-bmc, namespace: metal}\n";
    repo.write("secrets/s.yaml", secret);
    repo.want("tenant-a/edge", 1);

    assert_says(&repo.refused(), &["error[SIP0108]: a build renames the Secret `n1-bmc`"]);
}

#[test]
fn labels_that_say_another_cluster_than_the_output() {
    let repo = quickstart();
    repo.write(SNAPSHOT, &format!("{}{}", observed("lab-a2"), labels_of("other")));

    assert_snapshot!(repo.refused(), @r#"
    error[SIP0508]: host tenant-a/lab-a2 is assigned to tenant-a/edge, but has the labels of tenant-a/other
      --> overlays/hosts/declared/sites/lab/tenant-a.edge.yaml:32:9
       |
    32 |   name: "lab-a2"
       |         ^^^^^^^^
      --> snapshot/hosts.yaml:9:37  (the labels of tenant-a/other)
       |
     9 |     sip.airshipit.org/cluster-name: other
       |                                     -----
      help: if tenant-a/other uses it, remove the entry from overlays/hosts/declared/sites/lab/tenant-a.edge.yaml, or with its last entry the file, and commit; otherwise take a new snapshot, or fix the labels

    1 error in tenant-a/edge, tenant-a/other: no files written
    "#);
}

#[test]
fn labels_of_two_clusters_on_one_host() {
    let repo = quickstart();
    repo.replace(
        RACK_C,
        "  name: lab-c2\n  namespace: tenant-a\n  labels:\n",
        &format!("  name: lab-c2\n  namespace: tenant-a\n{}", labels_of("edge")),
    );
    repo.write(SNAPSHOT, &format!("{}{}", observed("lab-c2"), labels_of("other")));

    assert_says(
        &repo.refused(),
        &[
            "error[SIP0508]: host tenant-a/lab-c2 has the labels of tenant-a/edge and of tenant-a/other",
            "--> sites/lab/hosts/rack-c.yaml:63:37",
            "--> snapshot/hosts.yaml:9:37  (those of tenant-a/other)",
            "remove the labels of tenant-a/edge or those of tenant-a/other: a host belongs to one cluster",
        ],
    );
}

#[test]
fn broken_yaml_in_a_file_with_hosts() {
    let repo = quickstart();
    repo.replace(RACK_C, "  name: lab-c2\n", "  name: \"lab-c2\n");

    assert_says(
        &repo.refused(),
        &["the BareMetalHost cannot be read: ", "--> sites/lab/hosts/rack-c.yaml:"],
    );
}

#[test]
fn a_host_with_a_field_of_another_type() {
    let repo = quickstart();
    repo.replace(
        RACK_C,
        "  networkData:\n    name: lab-c1-network-data\n",
        "  networkData: lab-c1-network-data\n",
    );

    assert_says(
        &repo.refused(),
        &["the BareMetalHost cannot be read: ", "--> sites/lab/hosts/rack-c.yaml:18:"],
    );
}

#[test]
fn a_snapshot_in_json_that_was_cut_off() {
    let repo = Repo::generated("declared-and-snapshot");
    let text = repo.read("snapshot/hosts.json");
    repo.write("snapshot/hosts.json", &text[..text.len() / 2]);

    assert_says(&repo.refused(), &["cannot be read", "--> snapshot/hosts.json:"]);
}

#[test]
fn a_snapshot_in_yaml_that_was_cut_off_before_its_kind() {
    let repo = Repo::generated("observed");
    let text = repo.read("inventory/dump.yaml");
    let half = text[..text.len() / 2].rfind("\n- apiVersion").unwrap();
    repo.write("inventory/dump.yaml", &text[..=half]);

    assert_says(&repo.refused(), &["--> inventory/dump.yaml:"]);
}

#[test]
fn a_kustomization_that_cannot_be_read() {
    let repo = quickstart();
    for (text, says, at) in [
        ("resources: rack-a.yaml\n", "`resources` must be a list, found a string", "1:12"),
        ("resources: [rack-a.yaml]\n\nnamespace: 5\n", "`namespace` must be a string", "3:12"),
        ("resources:\n- rack-a.yaml\n- 5\n", "`resources[1]` must be a string", "3:3"),
        ("resources: [rack-a.yaml]\nlabels:\n- pairs: [a]\n", "`labels[0].pairs` must be", "3:3"),
        ("resources: [rack-a.yaml]\npatches:\n- path: [a]\n", "`patches[0].path` must be", "3:3"),
        ("resources: [rack-a.yaml]\nsortOptions: [x]\n", "`sortOptions` must be", "2:"),
    ] {
        repo.write(HOSTS, text);
        let place = format!("--> sites/lab/hosts/kustomization.yaml:{at}");
        assert_says(&repo.refused(), &["the kustomization cannot be read: ", says, &place]);
    }
}

#[test]
fn a_host_whose_name_leads_out_of_the_output_directory() {
    for (namespace, name) in
        [("../../x", "a"), ("tenant-a", "../../x"), ("tenant-a", "a/b"), ("tenant-a", "a\\nb")]
    {
        let repo = quickstart();
        repo.write(
            SNAPSHOT,
            &format!(
                "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {{name: \"{name}\", namespace: \"{namespace}\"}}\n"
            ),
        );

        assert_says(&repo.refused(), &["--> snapshot/hosts.yaml:3:", "Kubernetes refuses it"]);
    }
}

#[test]
fn a_host_without_name() {
    let repo = quickstart();
    repo.write(
        SNAPSHOT,
        "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nspec: {online: true}\n",
    );

    assert_says(
        &repo.refused(),
        &["the BareMetalHost has no name", "--> snapshot/hosts.yaml:1:1", "write metadata.name"],
    );
}

#[test]
fn an_observed_host_where_all_are_said_to_be_declared() {
    let repo = quickstart();
    repo.write("sipgen.yaml", "inventory: {mode: declared}\n");
    repo.write(SNAPSHOT, &format!("{}spec: {{online: true}}\n", observed("vm-1")));

    assert_says(
        &repo.refused(),
        &[
            "no kustomization renders host `tenant-a/vm-1`, but `inventory.mode` is `declared`",
            "--> snapshot/hosts.yaml:4:9",
            "list its file in a kustomization.yaml",
        ],
    );
}

#[test]
fn manifests_that_are_said_to_be_observed() {
    let repo = quickstart();
    repo.write("sipgen.yaml", "inventory: {mode: observed}\n");

    assert_says(
        &repo.refused(),
        &[
            "host tenant-a/lab-a1 is a manifest that sites/lab/kustomization.yaml renders, so it cannot be observed",
            "--> sites/lab/hosts/rack-a.yaml:6:9",
            "remove `inventory.mode: observed` from sipgen.yaml",
        ],
    );
}

#[test]
fn credentials_in_another_namespace_than_the_cluster() {
    let repo = Repo::generated("multi-cluster");
    repo.remove("sipgen.yaml");

    let message = repo.refused();

    assert_says(
        &message,
        &[
            "error[SIP0315]: the jump host of tenant-a/core cannot read the BMC credentials of 7 of its hosts",
            "--> tenants/tenant-a/core.yaml:46:",
            "(the Secret that is in the host's namespace)",
            "write `credentials: external-secrets` into sipgen.yaml",
        ],
    );
}

#[test]
fn a_name_that_is_a_number_needs_quotes() {
    for (from, to, told) in [
        ("name: host-1", "name: 123", Some("error[SIP0106]: the name of host metal/123 is `123`")),
        ("name: host-1", "name: \"123\"", None),
        (
            "namespace: metal",
            "namespace: 7",
            Some("error[SIP0106]: the namespace of host 7/host-1"),
        ),
        (
            "name: host-1",
            "name: yes",
            Some("warning[SIP0320]: the name of host metal/yes is `yes`"),
        ),
    ] {
        let repo = Repo::of_hosts(1);
        repo.replace("inventory/hosts.yaml", from, to);
        repo.want("metal/one", 1);
        let run = repo.generate(&[]);
        match told {
            Some(told) => assert_says(&run.stderr, &[told, "help: quote the value"]),
            None => assert_eq!(run.code, 0, "{}", run.stderr),
        }
        assert!(!run.stderr.contains("SIP0714"), "{}", run.stderr);
    }
    // A build that gives it another name makes a text of it.
    let repo = Repo::of_hosts(1);
    repo.replace("inventory/hosts.yaml", "name: host-1", "name: 123");
    repo.write("inventory/kustomization.yaml", "namePrefix: r-\nresources: [hosts.yaml]\n");
    repo.want("metal/one", 1);
    let run = repo.generate(&[]).expect(0);
    assert!(!run.stderr.contains("SIP0106"), "{}", run.stderr);
}
