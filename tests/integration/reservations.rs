//! Hosts that only some tenants may have.

use crate::support::{Repo, assert_says};

const SETTINGS: &str =
    "reservations:\n  - labels: {example.com/hall: \"2\"}\n    for: [tenant-b, tenant-a/core]\n";

/// Hosts `h1` to `h4`, the last two in hall 2.
fn repo() -> Repo {
    let repo = Repo::empty();
    let hosts = (1..=4).map(|number| {
        let hall = if number > 2 { "    example.com/hall: \"2\"\n" } else { "" };
        format!(
            "---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata:\n  name: h{number}\n  namespace: metal\n  \
             labels:\n    example.com/any: \"1\"\n{hall}spec: {{online: true}}\nstatus: {{provisioning: {{state: available}}}}\n"
        )
    });
    repo.write("inventory/hosts.yaml", &hosts.collect::<String>());
    repo
}

fn want(repo: &Repo, cluster: &str, workers: usize) {
    let (namespace, name) = cluster.split_once('/').unwrap();
    repo.write(
        &format!("clusters/{namespace}.{name}.yaml"),
        &format!(
            "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {{name: {name}, namespace: {namespace}}}\nspec:\n  \
             nodes:\n    Worker:\n      labelSelector: {{}}\n      count: {{active: {workers}}}\n"
        ),
    );
}

#[test]
fn reserved_hosts_go_to_their_tenants_only_and_the_shortage_names_the_tenants() {
    let repo = repo();
    repo.write("sipgen.yaml", SETTINGS);
    want(&repo, "tenant-a/edge", 3);

    let run = repo.generate(&[]).expect(1);

    assert_says(
        &run.stderr,
        &[
            "SIP0501",
            "1 of the 3 Worker hosts of tenant-a/edge cannot be found",
            "4 hosts match its selector, 2 of them reserved for tenant-b, tenant-a/core",
            "2 reserved for tenant-b, tenant-a/core",
        ],
    );

    want(&repo, "tenant-a/edge", 2);
    want(&repo, "tenant-a/core", 1);
    want(&repo, "tenant-b/lab", 1);
    repo.generate(&[]).expect(0);
    assert_eq!(repo.hosts_of("tenant-a", "edge"), ["Worker metal/h1", "Worker metal/h2"]);
    assert_eq!(repo.hosts_of("tenant-a", "core"), ["Worker metal/h3"]);
    assert_eq!(repo.hosts_of("tenant-b", "lab"), ["Worker metal/h4"]);
}

/// The tenant with other hosts to choose from leaves those that others need.
#[test]
fn a_placement_is_found_if_there_is_one() {
    let repo = repo();
    repo.write("sipgen.yaml", SETTINGS);
    want(&repo, "tenant-b/lab", 2);
    want(&repo, "tenant-c/edge", 2);
    repo.generate(&[]).expect(0);
    assert_eq!(repo.hosts_of("tenant-b", "lab"), ["Worker metal/h3", "Worker metal/h4"]);
}

#[test]
fn an_annotation_reserves_a_single_host_and_both_must_include_the_cluster() {
    let repo = repo();
    let hosts = repo.read("inventory/hosts.yaml");
    let hosts = hosts
        .replacen(
            "  name: h1\n",
            "  name: h1\n  annotations: {sip.airshipit.org/reserved-for: tenant-a/edge}\n",
            1,
        )
        .replacen(
            "  name: h3\n",
            "  name: h3\n  annotations: {sip.airshipit.org/reserved-for: tenant-b}\n",
            1,
        );
    repo.write("inventory/hosts.yaml", &hosts);
    repo.write("sipgen.yaml", SETTINGS);
    want(&repo, "tenant-a/core", 2);
    repo.generate(&[]).expect(0);
    assert_eq!(
        repo.hosts_of("tenant-a", "core"),
        ["Worker metal/h2", "Worker metal/h4"],
        "h1 and h3 are for others"
    );

    let explained = crate::support::run(&mut repo.sipgen(&["explain", "metal/h3"])).expect(0);
    assert_says(&explained.stdout, &["is reserved for tenant-b"]);
}

#[test]
fn an_assigned_host_stays_when_it_is_reserved_for_others() {
    let repo = repo();
    want(&repo, "tenant-a/edge", 4);
    repo.generate(&[]).expect(0);
    let before = repo.files("overlays");
    repo.write("sipgen.yaml", SETTINGS);

    let run = repo.generate(&[]).expect(0);

    assert_eq!(repo.files("overlays"), before);
    assert_says(&run.stderr, &["host metal/h3 (Worker of tenant-a/edge) is reserved for others"]);
}

#[test]
fn a_reservation_without_labels_or_tenants_is_refused() {
    for (settings, said) in [
        ("[{labels: {}, for: [a]}]", "would reserve every host"),
        ("[{labels: {a: b}, for: []}]", "names no tenant"),
        ("[{labels: {a: b}, for: [A]}]", "write NAMESPACE or NAMESPACE/CLUSTER"),
        ("[{labels: {'/': b}, for: [a]}]", "is not a label that a host can have"),
    ] {
        let repo = repo();
        repo.write("sipgen.yaml", &format!("reservations: {settings}\n"));
        want(&repo, "tenant-a/edge", 1);
        assert_says(&repo.refused(), &[said]);
    }
}
