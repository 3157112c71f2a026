//! SIPClusters that are refused: what a user reads, and that no file changes.

use insta::assert_snapshot;

use crate::support::{EDGE, Repo, assert_says, edge_with, edge_with_behind};

/// Where a second cluster is written; no kustomization lists it.
const MORE: &str = "sites/lab/clusters/more.yaml";

/// The quickstart after its first run, with a second cluster that asks for nothing.
fn with_a_second_cluster(namespace: &str, name: &str) -> Repo {
    let repo = Repo::generated("quickstart");
    repo.write(
        MORE,
        &format!(
            "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata:\n  name: {name}\n  \
             namespace: {namespace}\nspec:\n  nodes: {{}}\n"
        ),
    );
    repo
}

#[test]
fn a_repo_without_clusters() {
    let repo = Repo::generated("quickstart");
    repo.remove_all("sites/lab/clusters");
    repo.replace("sites/lab/kustomization.yaml", "  - clusters/\n", "");

    let message = repo.refused();

    assert_says(
        &message,
        &[
            "error[SIP0003]: no SIPCluster (airship.airshipit.org/v1), Provisioning (bpa.akraino.org/v1alpha1) or opted-in Cluster (cluster.x-k8s.io) found in ",
            "pass --allow-empty",
            "no files written",
        ],
    );
}

#[test]
fn an_unknown_operator_in_a_selector() {
    let selector = "          hardware.example.com/flavor: worker\n";
    let more = "        matchExpressions:\n          - {key: example.com/disk, operator: Contains, values: [ssd]}\n";
    let repo = edge_with(selector, &format!("{selector}{more}"));

    assert_snapshot!(repo.refused(), @"
    error[SIP0209]: unknown operator `Contains` in a label selector
      --> sites/lab/clusters/edge.yaml:24:47
       |
    24 |           - {key: example.com/disk, operator: Contains, values: [ssd]}
       |                                               ^^^^^^^^
      help: use In, NotIn, Exists or DoesNotExist

    1 error in tenant-a/edge: no files written
    ");
}

#[test]
fn a_malformed_selector() {
    for (selector, parts) in [
        (
            "matchExpressions: [{key: a, operator: In}]",
            ["the operator In needs values", "list at least one"],
        ),
        (
            "matchExpressions: [{key: a, operator: NotIn, values: []}]",
            ["the operator NotIn needs values", "values"],
        ),
        (
            "matchExpressions: [{key: a, operator: Exists, values: [b]}]",
            ["Exists takes no values", "remove `values`"],
        ),
        (
            "matchExpressions: [{key: a b, operator: Exists}]",
            ["`a b` is not a valid label key", "write `prefix/name`"],
        ),
        (
            "matchExpressions: [{key: a, operator: In, values: [b c]}]",
            ["`b c` is not a valid label value", "63 characters"],
        ),
        ("matchLabels: {a b: c}", ["`a b: c` is not a valid label", "keys are `prefix/name`"]),
        ("matchLabels: {a: b c}", ["`a: b c` is not a valid label", "values have at most 63"]),
    ] {
        let repo =
            edge_with("matchLabels:\n          hardware.example.com/flavor: worker", selector);

        let message = repo.refused();

        assert_says(&message, &parts);
        assert_says(
            &message,
            &["--> sites/lab/clusters/edge.yaml:21:", "1 error in tenant-a/edge: no files written"],
        );
    }
}

#[test]
fn a_flat_selector() {
    let repo = edge_with(
        "matchLabels:\n          hardware.example.com/flavor: worker",
        "hardware.example.com/flavor: worker",
    );

    assert_snapshot!(repo.refused(), @"
    error[SIP0209]: unknown field `hardware.example.com/flavor` in a label selector: the selector would match everything
      --> sites/lab/clusters/edge.yaml:21:9
       |
    21 |         hardware.example.com/flavor: worker
       |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^
      help: a label goes under `matchLabels`: `labelSelector: {matchLabels: {hardware.example.com/flavor: …}}`

    1 error in tenant-a/edge: no files written
    ");
}

#[test]
fn a_topology_key_that_no_label_can_have() {
    let repo = edge_with("topologyKey: topology.example.com/rack", "topologyKey: per rack");

    let message = repo.refused();

    assert_says(
        &message,
        &["`per rack` is not a valid label key", "--> sites/lab/clusters/edge.yaml:15:"],
    );
}

#[test]
fn two_clusters_of_one_namespace_and_name() {
    let repo = with_a_second_cluster("tenant-a", "edge");
    repo.replace(
        "sites/lab/clusters/kustomization.yaml",
        "  - edge.yaml\n",
        "  - edge.yaml\n  - more.yaml\n",
    );

    assert_snapshot!(repo.refused(), @r#"
    error[SIP0201]: there are two SIPClusters tenant-a/edge
      --> sites/lab/clusters/more.yaml:4:9
       |
     4 |   name: edge
       |         ^^^^
      --> sites/lab/clusters/edge.yaml:7:9  (the other one)
       |
     7 |   name: edge
       |         ----
      help: if this one is an example, keep it; to exclude it, write in sipgen.yaml:
            sources: [{paths: ["!sites/lab/clusters/more.yaml"]}]
            otherwise give it another name or namespace

    1 error in tenant-a/edge: no files written
    "#);
}

#[test]
fn an_unknown_role() {
    let repo = edge_with("    Worker:\n", "    Workers:\n");

    assert_snapshot!(repo.refused(), @"
    error[SIP0209]: `Workers` is not a role: the roles are ControlPlane and Worker
      --> sites/lab/clusters/edge.yaml:19:5
       |
    19 |     Workers:
       |     ^^^^^^^
      help: name the node set ControlPlane or Worker

    1 error in tenant-a/edge: no files written
    ");
}

#[test]
fn a_negative_count() {
    let repo = edge_with("standby: 1", "standby: -1");

    assert_says(
        &repo.refused(),
        &[
            "`standby: -1` is not a valid number of hosts",
            "--> sites/lab/clusters/edge.yaml:26:",
            "write 0 to 1000000",
        ],
    );
}

#[test]
fn a_missing_count() {
    for count in ["", "      count: {}\n", "      count:\n"] {
        let repo = edge_with("      count:\n        active: 1\n        standby: 1\n", count);

        assert_says(
            &repo.refused(),
            &["the Worker node set has no count", "write `count: {active: N, standby: N}`"],
        );
    }
}

#[test]
fn a_count_of_standby_alone_is_valid_as_in_the_published_definition() {
    let repo = edge_with(
        "      count:\n        active: 1\n        standby: 1\n",
        "      count:\n        standby: 1\n",
    );
    repo.generate(&[]).expect(0);
    let workers =
        repo.hosts_of("tenant-a", "edge").into_iter().filter(|host| host.starts_with("Worker"));
    assert_eq!(workers.count(), 1);

    // With a slip in the other count, it would give hosts back.
    let slip = edge_with(
        "        active: 1\n        standby: 1\n",
        "        actve: 1\n        standby: 1\n",
    );
    assert_says(
        &slip.refused(),
        &["error[SIP0345]: a SIPCluster has the unknown field `actve`", "write `active`"],
    );
}

#[test]
fn a_field_in_the_wrong_case_is_refused_and_removes_nothing() {
    for (field, wrong) in [
        ("loadBalancerControlPlane", "loadbalancerControlPlane"),
        ("jumpHost", "jumphost"),
        ("nodeInterfaceId", "nodeInterfaceID"),
        ("topologyKey", "topologykey"),
        ("  services:", "  Services:"),
        ("\nspec:", "\nSpec:"),
    ] {
        let message = edge_with(field, wrong).refused();
        let [right, wrong] = [field, wrong].map(|name| name.trim_matches([' ', ':', '\n']));
        assert_says(
            &message,
            &[
                "error[SIP0345]",
                &format!("a SIPCluster has the unknown field `{wrong}`"),
                &format!("write `{right}`"),
            ],
        );
    }
}

#[test]
fn a_count_that_is_no_number() {
    for count in ["99999999999999999999", "-99999999999999999999"] {
        let beyond = edge_with("active: 2", &format!("active: {count}"));
        let expected =
            ["error[SIP0120]: `active` is too large", "sites/lab/clusters/edge.yaml:17:17"];
        assert_says(&beyond.refused(), &expected);
    }

    for count in ["two", "1.5"] {
        let repo = edge_with("active: 2", &format!("active: {count}"));

        let expected = "`active` must be a whole number, found a ";
        assert_says(
            &repo.refused(),
            &["SIP0120", expected, "--> sites/lab/clusters/edge.yaml:17:17"],
        );
    }
}

#[test]
fn a_count_beyond_all_hosts() {
    let repo = edge_with("active: 2", "active: 9223372036854775807");
    assert_says(&repo.refused(), &["`active: 9223372036854775807` is not a valid number of hosts"]);

    let repo = edge_with("active: 2", "active: 999999");
    assert_says(
        &repo.refused(),
        &["of the 999999 ControlPlane hosts of tenant-a/edge cannot be found"],
    );
}

#[test]
fn a_name_that_leads_out_of_the_output_directory() {
    for (namespace, name) in [
        ("../../x", "a"),
        ("tenant-a", "../../x"),
        ("..", "a"),
        ("a/b", "c"),
        ("tenant-a", "A"),
        ("a.b", "c"),
    ] {
        let repo = with_a_second_cluster(namespace, name);

        let message = repo.refused();

        assert_says(&message, &["--> sites/lab/clusters/more.yaml:", "Kubernetes refuses it"]);
    }
}

#[test]
fn a_namespace_that_leads_out_and_that_a_kustomization_gives() {
    let repo = Repo::generated("quickstart");
    repo.replace(
        "sites/lab/clusters/kustomization.yaml",
        "resources:\n",
        "namespace: ../../x\nresources:\n",
    );

    let message = repo.refused();

    assert_says(
        &message,
        &["the namespace `../../x` has a dot", "--> sites/lab/clusters/kustomization.yaml"],
    );
}

#[test]
fn a_cluster_without_name() {
    let repo = edge_with("  name: edge\n", "");

    let message = repo.refused();

    assert_says(
        &message,
        &[
            "the SIPCluster has no name",
            "--> sites/lab/clusters/edge.yaml:6:",
            "write metadata.name",
            "1 error: ",
        ],
    );
}

#[test]
fn a_name_too_long_for_a_label() {
    let name = format!("{}.{}", "a".repeat(40), "b".repeat(40));
    let repo = with_a_second_cluster("tenant-a", &name);

    assert_says(
        &repo.refused(),
        &["has more than 63 characters, the limit of label values", "choose a shorter name"],
    );
}

#[test]
fn an_unknown_version_of_the_api() {
    let repo = edge_with("airship.airshipit.org/v1", "airship.airshipit.org/v2");

    assert_says(
        &repo.refused(),
        &[
            "the unknown apiVersion airship.airshipit.org/v2",
            "write `apiVersion: airship.airshipit.org/v1`",
        ],
    );
}

#[test]
fn a_cluster_of_january_2021() {
    let repo = Repo::generated("quickstart");
    repo.write(
        MORE,
        "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {name: old, namespace: tenant-a}\nspec:\n  \
         cluster-name: subcluster-1\n  nodes:\n    worker:\n      vm-flavor: 'airshipit.org/vino-flavor=worker'\n      \
         spreadTopology: per-rack\n      count: {active: 1, standby: 0}\n",
    );

    assert_says(&repo.refused(), &["generation", "--> sites/lab/clusters/more.yaml:"]);
}

#[test]
fn a_cluster_of_november_2020() {
    let repo = Repo::generated("quickstart");
    repo.write(
        MORE,
        "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {name: old, namespace: tenant-a}\nspec:\n  \
         nodes:\n    worker:\n      vm-flavor: 'airshipit.org/vino-flavor=worker'\n      \
         scheduling-constraints: [per-node]\n      count: {active: 1, standby: 0}\n  infra:\n    \
         loadbalancer: {optional: {clusterIp: 1.2.3.4}, image: haproxy, nodeLabels: [a], nodePort: 30000}\n",
    );

    assert_says(&repo.refused(), &["generation", "--> sites/lab/clusters/more.yaml:"]);
}

#[test]
fn a_cluster_of_march_2021_whose_spread_would_be_ignored() {
    let repo = edge_with_behind(
        "Worker:",
        "topologyKey: topology.example.com/rack",
        "spreadTopology: PerRack",
    );

    assert_says(
        &repo.refused(),
        &[
            "error[SIP0240]",
            "the label of a host's rack is unknown",
            "--> sites/lab/clusters/edge.yaml:23:23",
        ],
    );
}

#[test]
fn a_misspelled_field_is_refused_with_the_probable_one() {
    let repo = edge_with_behind(
        "Worker:",
        "topologyKey: topology.example.com/rack",
        "topolgyKey: topology.example.com/rack",
    );
    let parts = [
        "error[SIP0345]: a SIPCluster has the unknown field `topolgyKey`",
        "--> sites/lab/clusters/edge.yaml:23:7",
        "write `topologyKey`, or remove `topolgyKey`",
    ];
    assert_says(&repo.refused(), &parts);

    // A field that resembles none may be somebody's note.
    let repo = edge_with_behind("Worker:", "topologyKey:", "colour: red\n      topologyKey:");
    let said = repo.generate(&[]).expect(0).stderr;
    assert_says(&said, &["warning[SIP0103]", "the unknown field `colour`"]);
}

#[test]
fn broken_yaml_in_a_file_with_a_cluster() {
    let repo = with_a_second_cluster("tenant-a", "more");
    repo.replace(MORE, "  nodes: {}\n", "  nodes: }\n");

    assert_snapshot!(repo.refused(), @"
    error[SIP0101]: the SIPCluster cannot be read: did not find expected node content, while parsing a block node
      --> sites/lab/clusters/more.yaml:7:10
       |
     7 |   nodes: …
       |          ^
      help: fix the YAML syntax, or the type of the field

    1 error: no files written
    ");
}

#[test]
fn broken_yaml_in_a_later_document_of_a_file() {
    let repo = with_a_second_cluster("tenant-a", "more");
    repo.replace(MORE, "  nodes: {}\n", "  nodes: [\n  services: {}\n");
    repo.write(MORE, &format!("a: 1\n---\n{}", repo.read(MORE)));

    let message = repo.refused();

    assert_says(
        &message,
        &["the SIPCluster cannot be read: ", "--> sites/lab/clusters/more.yaml:11:"],
    );
    assert!(!message.contains(" at line "), "a line of the document, not of the file:\n{message}");
}

#[test]
fn broken_yaml_whose_kind_is_written_in_another_way() {
    for kind in ["kind: \"SIPCluster\"", "kind: SIPCluster # one", "\"kind\": \"SIPCluster\""] {
        let repo = with_a_second_cluster("tenant-a", "more");
        repo.write(MORE, &format!("apiVersion: airship.airshipit.org/v1\n{kind}\n\tspec: [\n"));

        assert_says(&repo.refused(), &["cannot be read: ", "--> sites/lab/clusters/more.yaml:"]);
    }
}

#[test]
fn all_errors_of_a_run_are_reported() {
    let repo = edge_with("    Worker:\n", "    Workers:\n");
    repo.replace(EDGE, "nodePort: 30022", "nodePort: 22");
    repo.replace(EDGE, "caSecret: edge-oidc-ca", "caSecret: \"\"");
    let kustomization = "sites/lab/clusters/kustomization.yaml";
    repo.replace(kustomization, "  - edge.yaml\n", "  - edge.yaml\n  - more.yaml\n");
    repo.write(
        MORE,
        "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {name: more}\nspec: {nodes: {x: {}}}\n",
    );

    assert_snapshot!(repo.refused(), @"
    error[SIP0209]: `Workers` is not a role: the roles are ControlPlane and Worker
      --> sites/lab/clusters/edge.yaml:19:5
       |
    19 |     Workers:
       |     ^^^^^^^
      help: name the node set ControlPlane or Worker

    error[SIP0209]: nodePort 22 is outside the NodePorts 30000-32767
      --> sites/lab/clusters/edge.yaml:44:19
       |
    44 |         nodePort: 22
       |                   ^^
      help: choose one of 30000 to 32767, or write the base cluster's own range into sipgen.yaml: `services: {nodePortRange: FIRST-LAST}`

    error[SIP0237]: the auth service has no issuer of its certificate
      --> sites/lab/clusters/edge.yaml:53:9
       |
    53 |       - image: ghcr.io/dexidp/dex:v2.45.0
       |         ^^^^^
      help: name the Secret with the certificate authority's `tls.crt` and `tls.key`; or an issuer of cert-manager as issuerRef; or the Secret with the certificate itself as tlsSecret

    error[SIP0209]: `x` is not a role: the roles are ControlPlane and Worker
      --> sites/lab/clusters/more.yaml:4:16
       |
     4 | spec: {nodes: {x: {}}}
       |                ^
      help: name the node set ControlPlane or Worker

    4 errors in default/more, tenant-a/edge: no files written
    ");
}

/// A cluster that no reader knows for one would be gone, and its hosts given back.
#[test]
fn a_cluster_whose_kind_or_group_is_misspelt() {
    let right = "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\n";
    let json = "{\"apiVersion\": \"airship.airshipit.org/v1\", \"kind\": \"SIPClusters\", \"metadata\": {\"name\": \"x\"}}";
    for (wrong, place) in [
        ("apiVersion: airship.airshipit.org/v1\nkind: SIPcluster\n", "edge.yaml:2:7\n"),
        ("apiVersion: airship.airshipit.org/v1\nkind: SipCluster\n", "edge.yaml:2:7\n"),
        ("apiVersion: airship.airshipit.org/v1\nkind: 'SIPClusters'\n", "edge.yaml:2:7\n"),
        ("apiVersion: airship.airship.org/v1\nkind: SIPCluster\n", "edge.yaml:1:13\n"),
        ("apiVersion: airshipit.org/v1\nkind: SIPCluster\n", "edge.yaml:1:13\n"),
        ("apiVersion: airship.airship.org/v1\nkind: SIPcluster\n", "edge.yaml:2:7\n"),
        ("kind: SIPCluster\n", "edge.yaml:"),
    ] {
        let repo = Repo::generated("quickstart");
        let text = repo.read("sites/lab/clusters/edge.yaml");
        let start = text.find(right).unwrap();
        repo.write("sites/lab/clusters/edge.yaml", &text[start..].replace(right, wrong));

        assert_says(&repo.refused(), &["error[SIP0114]: ", place, "kind", "released"]);
    }
    let repo = Repo::generated("quickstart");
    repo.write("clusters/list.json", &format!("{{\"kind\": \"List\", \"items\": [{json}]}}"));
    repo.write(
        "hosts/rack.yaml",
        "apiVersion: metal3.io/v1alpha1\nkind: BaremetalHost\nmetadata: {name: x}\n",
    );
    repo.write(
        "hosts/other.yaml",
        "apiVersion: metal3.oi/v1alpha1\nkind: BareMetalHost\nmetadata: {name: y}\n",
    );

    assert_says(
        &repo.refused(),
        &["list.json:1:", "unknown kind `SIPClusters`", "rack.yaml:2:7\n", "other.yaml:1:13\n"],
    );
}
