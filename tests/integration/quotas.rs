//! The most hosts that the clusters of a namespace may have.

use crate::support::{Repo, assert_says, run};

/// Hosts `h1` to `h6`, of which the first three are big.
fn repo(quotas: &str) -> Repo {
    let repo = Repo::empty();
    let hosts = (1..=6).map(|number| {
        let size = if number <= 3 { "big" } else { "small" };
        host(number, size, "available", "")
    });
    repo.write("inventory/hosts.yaml", &hosts.collect::<String>());
    repo.write("sipgen.yaml", &format!("quotas:\n{quotas}"));
    repo
}

fn host(number: u8, size: &str, state: &str, status: &str) -> String {
    format!(
        "---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata:\n  name: h{number}\n  namespace: metal\n  \
         uid: 00000000-0000-0000-0000-00000000000{number}\n  labels: {{size: {size}}}\n\
         spec: {{online: true}}\nstatus: {{provisioning: {{state: {state}}}{status}}}\n"
    )
}

fn want(repo: &Repo, cluster: &str, selector: &str, workers: usize) {
    let (namespace, name) = cluster.split_once('/').unwrap();
    repo.write(
        &format!("clusters/{namespace}.{name}.yaml"),
        &format!(
            "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {{name: {name}, namespace: {namespace}}}\nspec:\n  \
             nodes:\n    Worker:\n      labelSelector: {selector}\n      count: {{active: {workers}}}\n"
        ),
    );
}

const TWO_BIG: &str = "- {namespace: tenant-a, labels: {size: big}, hosts: 2}\n";
const BIG: &str = "{matchLabels: {size: big}}";

#[test]
fn a_namespace_gets_no_more_hosts_than_its_quota_and_the_proof_names_who_has_them() {
    let repo = repo(TWO_BIG);
    want(&repo, "tenant-a/core", BIG, 1);
    repo.generate(&[]).expect(0);
    want(&repo, "tenant-a/edge", BIG, 2);

    let refused = repo.generate(&[]).expect(1);

    assert_says(
        &refused.stderr,
        &[
            "SIP0501",
            "tenant-a/edge cannot be found: the quota is 2 hosts with size=big for tenant-a (tenant-a/core has 1)",
        ],
    );
    want(&repo, "tenant-a/edge", BIG, 1);
    want(&repo, "tenant-b/lab", BIG, 1);
    repo.generate(&[]).expect(0);
    let status = run(&mut repo.sipgen(&["status"])).expect(0);
    assert_says(
        &status.stdout,
        &["2 of 2 hosts with size=big for tenant-a (tenant-a/core has 1, tenant-a/edge has 1)"],
    );
    let json = run(&mut repo.sipgen(&["status", "--format", "json"])).expect(0);
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["quotas"][0]["usedBy"][1][1], 1);
}

/// The node set that could have any host leaves those that count to the one that needs them.
#[test]
fn a_placement_within_the_quota_is_found_if_there_is_one() {
    let repo = repo(TWO_BIG);
    want(&repo, "tenant-a/core", "{}", 4);
    want(&repo, "tenant-a/edge", BIG, 1);
    repo.generate(&[]).expect(0);
    let core = repo.hosts_of("tenant-a", "core");
    let big = core.iter().filter(|host| {
        ["Worker metal/h1", "Worker metal/h2", "Worker metal/h3"].contains(&host.as_str())
    });
    assert_eq!((core.len(), big.count()), (4, 1), "{core:?}");
    want(&repo, "tenant-a/edge", BIG, 2);
    repo.generate(&[]).expect(1);
}

#[test]
fn assigned_hosts_stay_beyond_a_quota_and_a_failed_one_is_replaced_within() {
    let repo = repo("- {namespace: tenant-a, hosts: 3}\n");
    want(&repo, "tenant-a/edge", BIG, 2);
    repo.generate(&[]).expect(0);
    let before = repo.hosts_of("tenant-a", "edge");
    assert_eq!(before, ["Worker metal/h1", "Worker metal/h2"]);

    repo.write("sipgen.yaml", "quotas:\n- {namespace: tenant-a, hosts: 1}\n");
    let run = repo.generate(&[]).expect(0);
    assert_says(
        &run.stderr,
        &[
            "SIP0517",
            "the clusters of tenant-a have 2 of the 1 host for tenant-a (tenant-a/edge has 2)",
        ],
    );
    assert_eq!(repo.hosts_of("tenant-a", "edge"), before);

    let hosts = repo.read("inventory/hosts.yaml");
    let failed = host(2, "big", "available", ", errorType: registration error, errorMessage: x");
    let hosts = hosts.replace(&host(2, "big", "available", ""), &failed);
    assert!(hosts.contains("errorType"));
    repo.write("inventory/hosts.yaml", &hosts);
    repo.generate(&[]).expect(0);
    assert_eq!(
        repo.hosts_of("tenant-a", "edge"),
        ["Worker metal/h1", "Worker metal/h3"],
        "one host for another"
    );
}

#[test]
fn a_quota_with_a_label_that_no_host_can_have_is_refused() {
    let repo = repo("- {namespace: tenant-a, labels: {\"si ze\": big}, hosts: 3}\n");
    want(&repo, "tenant-a/edge", BIG, 1);
    let run = repo.generate(&[]).expect(1);
    assert_says(&run.stderr, &["SIP0002", "sipgen.yaml:2", "`labels` of quota 1 has `si ze: big`"]);
}
