//! Hosts that are marked for maintenance.

use crate::support::{Repo, Run, assert_says, run};

const MARK: &str = "maintenance:\n  - labels: {example.com/rack: r1}\n    reason: new power supplies\n    until: 2026-12-24\n";

/// Two days before and after the end of [`MARK`].
const BEFORE: &str = "1797897600";
const AFTER: &str = "1798243200";

/// The hosts `h1` and `h2` in rack 1, and `h3` and `h4` in rack 2. Machines consume some of them.
fn write_hosts(repo: &Repo, consumed: &[u8]) {
    let hosts = (1..=4_u8).map(|number| {
        let rack = number.div_ceil(2);
        let (consumer, state) = if consumed.contains(&number) {
            let consumer = format!(
                "  consumerRef: {{kind: Metal3Machine, name: edge-{number}, namespace: metal}}\n"
            );
            (consumer, "provisioned")
        } else {
            (String::new(), "available")
        };
        format!(
            "---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata:\n  name: h{number}\n  namespace: metal\n  \
             labels:\n    example.com/rack: r{rack}\nspec:\n  online: true\n{consumer}status: {{provisioning: {{state: {state}}}}}\n"
        )
    });
    repo.write("inventory/hosts.yaml", &hosts.collect::<String>());
}

fn want(repo: &Repo, workers: usize) {
    repo.write(
        "edge.yaml",
        &format!(
            "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {{name: edge, namespace: metal}}\nspec:\n  \
             nodes:\n    Worker:\n      labelSelector: {{}}\n      count: {{active: {workers}}}\n"
        ),
    );
}

fn repo(workers: usize) -> Repo {
    let repo = Repo::empty();
    write_hosts(&repo, &[]);
    want(&repo, workers);
    repo
}

fn edge(repo: &Repo) -> Vec<String> {
    repo.hosts_of("metal", "edge")
}

fn generate_at(repo: &Repo, time: &str) -> Run {
    run(repo.sipgen(&["generate"]).env("SOURCE_DATE_EPOCH", time))
}

#[test]
fn marked_hosts_get_no_new_assignment_and_say_why() {
    let repo = repo(3);
    repo.write("sipgen.yaml", MARK);

    let shortage = generate_at(&repo, BEFORE).expect(1);

    assert_says(
        &shortage.stderr,
        &[
            "1 of the 3 Worker hosts of metal/edge cannot be found",
            "2 in maintenance: new power supplies (until 2026-12-24)",
        ],
    );
    want(&repo, 2);
    repo.generate(&[]).expect(0);
    assert_eq!(edge(&repo), ["Worker metal/h3", "Worker metal/h4"]);
    let explained = run(&mut repo.sipgen(&["explain", "metal/h1"])).expect(0);
    assert_says(&explained.stdout, &["is in maintenance: new power supplies (until 2026-12-24)"]);
    let status = run(&mut repo.sipgen(&["status"])).expect(0);
    assert_says(&status.stdout, &["2 in maintenance"]);
}

#[test]
fn an_annotation_and_the_name_mark_single_hosts() {
    let repo = repo(2);
    let hosts = repo.read("inventory/hosts.yaml").replacen(
        "  name: h1\n",
        "  name: h1\n  annotations: {sip.airshipit.org/maintenance: \"loud fan\"}\n",
        1,
    );
    repo.write("inventory/hosts.yaml", &hosts);
    repo.write("sipgen.yaml", "maintenance: [{hosts: [metal/h3], reason: firmware}]\n");
    repo.generate(&[]).expect(0);
    assert_eq!(edge(&repo), ["Worker metal/h2", "Worker metal/h4"]);
    let explained = run(&mut repo.sipgen(&["explain", "metal/h1"])).expect(0);
    assert_says(&explained.stdout, &["is in maintenance: loud fan"]);
}

#[test]
fn an_assigned_host_stays_with_one_warning_and_rebalance_replaces_it() {
    let repo = repo(2);
    repo.generate(&[]).expect(0);
    assert_eq!(edge(&repo), ["Worker metal/h1", "Worker metal/h2"]);
    repo.write("sipgen.yaml", "maintenance: [{hosts: [metal/h1, metal/h2], reason: firmware}]\n");
    let before = repo.files("overlays");

    let run = repo.generate(&[]).expect(0);

    assert_eq!(repo.files("overlays"), before);
    assert_says(
        &run.stderr,
        &[
            "SIP0518",
            "metal/edge keeps 2 hosts in maintenance (firmware): metal/h1, metal/h2",
            "run `sipgen drain`",
        ],
    );
    assert_eq!(run.stderr.matches("SIP0518").count(), 1, "{}", run.stderr);
    repo.generate(&["--rebalance"]).expect(0);
    assert_eq!(edge(&repo), ["Worker metal/h3", "Worker metal/h4"]);
}

#[test]
fn rebalance_never_moves_a_marked_host_in_use() {
    let repo = repo(1);
    repo.generate(&[]).expect(0);
    write_hosts(&repo, &[1]);
    repo.write("sipgen.yaml", MARK);
    repo.generate(&["--rebalance"]).expect(0);
    assert_eq!(edge(&repo), ["Worker metal/h1"]);
}

/// The previous output has one host more than the cluster wants, as after a step of a drain.
#[test]
fn a_replaced_host_goes_first_and_is_held_while_a_machine_consumes_it() {
    let repo = repo(3);
    repo.generate(&[]).expect(0);
    assert_eq!(edge(&repo), ["Worker metal/h1", "Worker metal/h2", "Worker metal/h3"]);
    repo.write("sipgen.yaml", "maintenance: [{hosts: [metal/h1], reason: firmware}]\n");
    want(&repo, 2);
    write_hosts(&repo, &[1]);

    let held = repo.generate(&[]).expect(0);

    assert_eq!(edge(&repo), ["Worker metal/h1", "Worker metal/h2", "Worker metal/h3"]);
    assert_says(
        &held.stderr,
        &["SIP0908", "kubectl annotate machine -n metal edge-1 cluster.x-k8s.io/delete-machine="],
    );
    assert!(!held.stderr.contains("SIP0518"), "{}", held.stderr);

    write_hosts(&repo, &[]);
    repo.generate(&[]).expect(0);
    assert_eq!(edge(&repo), ["Worker metal/h2", "Worker metal/h3"]);
}

#[test]
fn an_expired_mark_keeps_its_effect_and_the_output_does_not_depend_on_the_date() {
    let repo = repo(2);
    repo.write("sipgen.yaml", MARK);
    let before = generate_at(&repo, BEFORE).expect(0);
    assert!(!before.stderr.contains("SIP0347"), "{}", before.stderr);
    let files = repo.files("overlays");

    let after = generate_at(&repo, AFTER).expect(0);

    assert_says(
        &after.stderr,
        &[
            "SIP0347",
            "maintenance mark 1 (`new power supplies`) expired on 2026-12-24",
            "sipgen.yaml:4:",
        ],
    );
    assert_eq!(repo.files("overlays"), files);
    assert_says(
        &generate_at(&repo, "today").expect(2).stderr,
        &["invalid SOURCE_DATE_EPOCH `today`"],
    );
}

#[test]
fn invalid_marks_are_refused() {
    for (mark, said) in [
        ("{labels: {a: b}}", "missing field `reason`"),
        ("{labels: {a: b}, reason: ' '}", "`reason` of maintenance mark 1 is empty"),
        ("{reason: r}", "the mark selects no host"),
        ("{labels: {'/': b}, reason: r}", "is not a label that a host can have"),
        ("{hosts: [h1], reason: r}", "write NAMESPACE/HOST"),
        (
            "{labels: {a: b}, reason: r, until: 2026-02-30}",
            "`2026-02-30` is not a date; write YYYY-MM-DD",
        ),
        ("{labels: {a: b}, reason: r, unitl: 2026-02-20}", "unitl"),
    ] {
        let repo = repo(1);
        repo.write("sipgen.yaml", &format!("maintenance: [{mark}]\n"));
        let refused = repo.refused();
        assert_says(&refused, &[said, "sipgen.yaml:1"]);
    }
}
