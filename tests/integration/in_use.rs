//! Hosts that are in use by what their manifests or snapshots say, beside a status.

use crate::support::{Repo, assert_says, host, run};

const HOSTS: &str = "inventory/hosts.yaml";
const REUSED: &str = "  labels: {infrastructure.cluster.x-k8s.io/node-reuse: edge-kcp}\n";

/// Fields of a spec that say that a host is in use, with the rule that refuses it and the reason in words.
const FIELDS: [(&str, &str, &str); 5] = [
    (
        "externallyProvisioned: true",
        "in use (externallyProvisioned)",
        "is in use: spec.externallyProvisioned is true",
    ),
    // As in the host of a bootstrap cluster that was written into git when it was pivoted.
    (
        "image: {url: \"http://images.example.com/node.qcow2\", checksum: abc}",
        "in use (image)",
        "is in use: it has spec.image",
    ),
    (
        "customDeploy: {method: install_coreos}",
        "in use (customDeploy)",
        "is in use: it has spec.customDeploy",
    ),
    (
        "consumerRef: {kind: Metal3Machine, name: edge-x1, namespace: metal}",
        "in use (consumerRef)",
        "is in use by Metal3Machine metal/edge-x1",
    ),
    ("consumerRef: {}", "in use (consumerRef)", "is in use by object without a name in metal"),
];

fn with_field(name: &str, metadata: &str, field: &str) -> String {
    format!("{}  {field}\n", host(name, metadata))
}

/// A repo of one host, and a cluster that wants one.
fn one_host(text: &str) -> Repo {
    let repo = Repo::of_hosts(1);
    repo.write(HOSTS, text);
    repo.want("metal/one", 1);
    repo
}

fn explained(repo: &Repo, what: &str) -> String {
    run(&mut repo.sipgen(&["explain", what])).stdout
}

#[test]
fn a_host_is_in_use_by_its_manifest() {
    for (field, rule, reason) in FIELDS {
        let repo = one_host(&with_field("host-1", "", field));

        assert_says(
            &repo.refused(),
            &["1 of the 1 Worker hosts of metal/one cannot be found", &format!("1 {rule}")],
        );
        assert_says(&explained(&repo, "metal/host-1"), &[reason]);
    }
    let repo = one_host(&host("host-1", REUSED));
    assert_says(&repo.refused(), &["1 kept for a Machine (label node-reuse)"]);
    let reason =
        "is kept for Machines of edge-kcp by the label infrastructure.cluster.x-k8s.io/node-reuse";
    assert_says(&explained(&repo, "metal/host-1"), &[reason]);
}

#[test]
fn a_host_is_in_use_by_its_snapshot_whatever_its_manifest_says() {
    for (field, rule, _) in FIELDS {
        let repo = one_host(&host("host-1", ""));
        let live = with_field("host-1", "", field) + "status: {provisioning: {state: available}}\n";
        repo.write("snapshot/hosts.yaml", &live);

        assert_says(&repo.refused(), &[&format!("1 {rule}")]);
    }
    let repo = one_host(&host("host-1", ""));
    repo.write("snapshot/hosts.yaml", &host("host-1", REUSED));
    assert_says(&repo.refused(), &["1 kept for a Machine (label node-reuse)"]);
}

#[test]
fn fields_without_a_value_say_nothing() {
    for field in [
        "externallyProvisioned: false",
        "externallyProvisioned:",
        "image: {}",
        "image: {url: \"\"}",
        "image: null",
        "customDeploy: {}",
        "consumerRef: null",
    ] {
        let repo = one_host(&with_field("host-1", "", field));
        repo.generate(&[]).expect(0);
        assert_eq!(repo.hosts_of("metal", "one"), ["Worker metal/host-1"], "{field}");
    }
}

#[test]
fn a_host_that_its_cluster_has_stays_when_it_comes_into_use_and_is_given_back_last() {
    let fields = FIELDS.map(|(field, ..)| (String::new(), field));
    let all = fields.into_iter().chain([(REUSED.to_owned(), "online: true")]);
    for (metadata, field) in all {
        let repo = Repo::of_hosts(3);
        repo.want("metal/one", 3);
        repo.generate(&[]).expect(0);

        // As baremetal-operator and Cluster API write it while the tenant's cluster is installed.
        let text = host("host-1", "") + &host("host-2", "") + &host("host-3", &metadata);
        let text = if field == "online: true" { text } else { format!("{text}  {field}\n") };
        repo.write(HOSTS, &text);
        repo.generate(&[]).expect(0);
        assert_eq!(repo.hosts_of("metal", "one").len(), 3, "{field}");

        repo.want("metal/one", 1);
        repo.generate(&[]).expect(0);
        assert_eq!(repo.hosts_of("metal", "one"), ["Worker metal/host-3"], "{field}");

        repo.want("metal/one", 0);
        let run = repo.generate(&[]).expect(0);
        assert_says(
            &run.stderr,
            &["danger: metal/one releases 1 host in use: metal/host-3", "SIP0505"],
        );
    }
}

#[test]
fn a_host_that_a_snapshot_shows_provisioned_is_given_back_last() {
    let repo = Repo::of_hosts(2);
    repo.want("metal/one", 2);
    repo.generate(&[]).expect(0);
    repo.write(
        "snapshot/hosts.yaml",
        &format!("{}status: {{provisioning: {{state: provisioned}}}}\n", host("host-2", "")),
    );
    repo.want("metal/one", 1);
    repo.generate(&[]).expect(0);
    assert_eq!(repo.hosts_of("metal", "one"), ["Worker metal/host-2"]);
}

#[test]
fn the_plan_says_that_the_state_of_a_host_without_a_snapshot_is_unknown() {
    let repo = Repo::of_hosts(2);
    repo.want("metal/one", 2);
    let unknown = "2 hosts added: state unknown, no snapshot shows them";
    assert_says(&repo.generate(&["--check"]).expect(1).stderr, &[unknown]);
    assert_says(&run(&mut repo.sipgen(&["diff"])).stdout, &[unknown]);
    assert_says(&explained(&repo, "metal/host-1"), &["has no known state: no snapshot shows it"]);

    repo.write(
        "snapshot/hosts.yaml",
        &format!("{}status: {{provisioning: {{state: available}}}}\n", host("host-2", "")),
    );
    let one = "1 host added: state unknown, no snapshot shows it";
    assert_says(&repo.generate(&[]).expect(0).stderr, &[one]);
    assert!(!explained(&repo, "metal/host-2").contains("no known state"));
    assert!(!repo.generate(&[]).expect(0).stderr.contains("unknown"));
}

#[test]
fn a_host_that_cluster_api_could_not_claim_is_reported() {
    let repo = Repo::of_hosts(2);
    repo.want("tenant/one", 1);
    let elsewhere =
        "SIP0522]: tenant/one has 1 host of namespace `metal`, which Cluster API cannot claim";
    assert_says(&run(&mut repo.sipgen(&["diff"])).stderr, &[elsewhere]);
    assert_says(&repo.generate(&[]).expect(0).stderr, &[elsewhere]);
    // As long as nothing is done about it.
    assert_says(&repo.generate(&[]).expect(0).stderr, &[elsewhere]);

    // All such clusters are one finding, without that in the namespace of its hosts.
    repo.write(
        "inventory/hosts.yaml",
        &(1..=4).map(|n| host(&format!("host-{n}"), "")).collect::<String>(),
    );
    repo.want("metal/two", 1);
    repo.want("other/three", 2);
    let said = repo.generate(&[]).expect(0).stderr;
    assert_says(&said, &["other/three and 1 more cluster have 3 hosts of namespace `metal`"]);
    assert_eq!(said.matches("SIP0522").count(), 1, "{said}");

    // A host that is in use was claimed, and an installer of its own claims none.
    repo.want_no_more("other/three");
    let mut used = host("host-1", "  uid: a\n");
    used.push_str("status: {provisioning: {state: provisioned}}\n");
    let used = used.replace(
        "spec:",
        "spec:\n  consumerRef: {kind: Metal3Machine, name: m, namespace: tenant}",
    );
    repo.write("snapshot/hosts.yaml", &used);
    let said = repo.generate(&[]).expect(0).stderr;
    assert!(!said.contains("SIP0522"), "{said}");
}

/// A host whose file is no input would be replaced while its machine still runs in the cluster.
#[test]
fn an_assigned_host_in_use_may_not_be_excluded() {
    let spare = host("host-2", "");
    for (field, rule, _) in FIELDS {
        for is_listed in [true, false] {
            let repo = one_host(&host("host-1", ""));
            repo.write("inventory/spare.yaml", &spare);
            repo.write("inventory/kustomization.yaml", "resources: [hosts.yaml, spare.yaml]\n");
            repo.generate(&[]).expect(0);
            let before = repo.files("overlays");

            repo.write(HOSTS, &with_field("host-1", "", field));
            if !is_listed {
                repo.write("inventory/kustomization.yaml", "resources: [spare.yaml]\n");
                let refused = repo.refused();
                assert_says(&refused, &["does not list inventory/hosts.yaml"]);
                // What the help says must be safe to do.
                assert!(
                    !refused.contains("sources: [{paths: [\"!inventory/hosts.yaml\"]}]"),
                    "{refused}"
                );
            }
            repo.write("sipgen.yaml", "sources: [{paths: [\"!inventory/hosts.yaml\"]}]\n");

            let how = if is_listed { "declares it" } else { "says that it is in use" };
            assert_says(&repo.refused(), &["error[SIP0014]", how]);
            assert!(repo.files("overlays") == before, "{rule}");
        }
    }
    // A machine that left, and whose file is kept.
    let repo = one_host(&host("host-1", ""));
    repo.write("inventory/spare.yaml", &spare);
    repo.write("inventory/kustomization.yaml", "resources: [hosts.yaml, spare.yaml]\n");
    repo.generate(&[]).expect(0);
    repo.write("archive/host-1.yaml", &host("host-1", ""));
    repo.remove(HOSTS);
    repo.write("inventory/kustomization.yaml", "resources: [spare.yaml]\n");
    repo.write("sipgen.yaml", "sources: [{paths: [\"!archive/**\"]}]\n");
    assert_says(&repo.generate(&[]).expect(0).stderr, &["SIP0506"]);
}
