//! What `git revert` does to generated files, and what the next run makes of that.

use crate::support::scenes::git::{identify, quickstart, want_more};
use crate::support::{EDGE, Repo, assert_says, labels_of, live_host};

/// A history: a repo whose files are generated and committed, and a change of its inputs.
type History = (&'static str, fn() -> Repo, fn(&Repo));

const HISTORIES: [History; 9] = [
    ("a cluster grows", quickstart, want_more),
    ("a cluster shrinks", quickstart, |repo| {
        repo.replace(EDGE, crate::support::scenes::git::ONE_WORKER, "active: 0\n        standby: 1")
    }),
    ("a cluster is deleted", declared, |repo| repo.want_no_more("tenant/one")),
    ("a cluster is new", declared, |repo| repo.want("tenant/aaa", 1)),
    ("a cluster hands hosts to another", declared, |repo| {
        repo.want("tenant/one", 1);
        repo.want("tenant/two", 3);
    }),
    ("observed hosts are added", observed, |repo| repo.want("tenant/one", 2)),
    ("observed hosts are given back", observed, |repo| repo.want("tenant/one", 0)),
    ("a cluster of observed hosts is deleted", observed, |repo| repo.want_no_more("tenant/one")),
    ("a snapshot proves that hosts are free", released, |repo| repo.observe("")),
];

fn declared() -> Repo {
    let repo = Repo::of_hosts(5);
    identify(&repo);
    repo.want("tenant/one", 3);
    repo.want("tenant/two", 1);
    generate(&repo);
    repo
}

fn observed() -> Repo {
    let repo = Repo::empty();
    identify(&repo);
    repo.observe("");
    repo.want("tenant/one", 1);
    // Or nobody would know whether a repo without clusters is meant.
    repo.want("tenant/idle", 0);
    generate(&repo);
    repo
}

/// Hosts that are given back, and that the snapshot still shows with their labels.
fn released() -> Repo {
    let repo = Repo::empty();
    identify(&repo);
    repo.observe(&labels_of("tenant/one"));
    repo.want("tenant/one", 1);
    generate(&repo);
    repo.want("tenant/one", 0);
    generate(&repo);
    assert!(repo.exists("overlays/hosts/observed/released/hosts.yaml"));
    repo
}

/// Commits the inputs, and then what is generated from them.
fn generate(repo: &Repo) {
    repo.commit();
    repo.generate(&[]).expect(0);
    repo.commit();
}

#[test]
fn when_inputs_and_generated_files_are_reverted_the_next_run_changes_nothing() {
    for (what, start, change) in HISTORIES {
        let repo = start();
        let before = repo.files("overlays");
        change(&repo);
        generate(&repo);
        assert!(repo.files("overlays") != before, "{what}: nothing has changed");

        repo.git(&["revert", "--no-edit", "HEAD", "HEAD~"]);
        let run = repo.generate(&["--exit-code"]);

        assert_eq!(run.code, 0, "{what}: {}", run.stderr);
        assert!(repo.files("overlays") == before, "{what}: it is another tree");
    }
}

#[test]
fn when_only_the_generated_files_are_reverted_the_next_run_makes_them_again() {
    for (what, start, change) in HISTORIES {
        let repo = start();
        change(&repo);
        generate(&repo);
        let after = repo.files("overlays");

        repo.git(&["revert", "--no-edit", "HEAD"]);
        repo.generate(&["--exit-code"]).expect(1);

        assert!(repo.files("overlays") == after, "{what}: it is another tree");
    }
}

#[test]
fn a_cluster_whose_deletion_is_reverted_takes_no_host_from_those_that_came_since() {
    let repo = declared();
    repo.want_no_more("tenant/one");
    generate(&repo);
    repo.want("tenant/new", 1);
    generate(&repo);

    // The inputs of the deletion.
    repo.git(&["revert", "--no-edit", "HEAD~3"]);
    repo.generate(&[]).expect(0);

    assert_eq!(repo.hosts_of("tenant", "new"), ["Worker metal/host-1"]);
    let expected = ["Worker metal/host-2", "Worker metal/host-3", "Worker metal/host-5"];
    assert_eq!(repo.hosts_of("tenant", "one"), expected);
    assert_eq!(repo.hosts_of("tenant", "two"), ["Worker metal/host-4"]);
}

#[test]
fn a_host_that_a_revert_gives_to_two_clusters_is_an_error_that_names_both() {
    let repo = declared();
    repo.want("tenant/one", 2);
    generate(&repo);
    repo.want("tenant/two", 3);
    generate(&repo);
    assert_eq!(repo.hosts_of("tenant", "two").len(), 3);

    repo.git(&["revert", "--no-edit", "HEAD~2", "HEAD~3"]);

    assert_says(
        &repo.refused(),
        &["host metal/host-3 is assigned 2 times", "tenant.one.yaml", "tenant.two.yaml"],
    );
}

#[test]
fn an_observed_host_whose_labels_outlive_the_revert_is_given_back_when_a_snapshot_shows_it() {
    let repo = observed();
    repo.want("tenant/one", 2);
    generate(&repo);
    repo.git(&["revert", "--no-edit", "HEAD", "HEAD~"]);
    repo.generate(&["--exit-code"]).expect(0);
    assert!(!repo.exists("overlays/hosts/observed/released"));

    // The labels that an agent has applied meanwhile, and that no reverted file can take away.
    repo.write(
        "snapshot/hosts.yaml",
        &(live_host("host-1", &labels_of("tenant/one"))
            + &live_host("host-2", &labels_of("tenant/one"))),
    );
    let run = repo.generate(&[]).expect(0);

    assert_says(&run.stderr, &["tenant/one releases metal/host-2"]);
    assert_eq!(repo.hosts_of("tenant", "one"), ["Worker metal/host-1"]);
    assert_says(&repo.read("overlays/hosts/observed/released/hosts.yaml"), &["host-2"]);
}
