//! The same words in the summary of `sipgen generate` and in messages of commits.

use camino::Utf8Path;
use sipgen::input::load::Files;
use sipgen::review::effects::Review;
use sipgen::{Options, report};

use super::*;
use crate::support::assert_says;

/// The message of a commit of what is not yet generated.
fn message(repo: &Repo) -> String {
    let files = Files::on_disk(Utf8Path::from_path(repo.path()).unwrap());
    let options = Options::default().allow_empty(true);
    let generated = sipgen::generate(&files, &options, &|_| {}).unwrap();
    report::commit_message(&Review::new(
        &generated.changes.unwrap(),
        &generated.tree,
        &generated.site,
    ))
}

fn subject(repo: &Repo) -> String {
    message(repo).lines().next().unwrap().to_owned()
}

#[test]
fn the_summary_of_a_run_names_the_dangers_first() {
    let run = with_all_kinds_of_changes().generate(&[]).expect(0);

    insta::assert_snapshot!(run.stderr.split_once("danger: ").unwrap().1);
}

#[test]
fn a_commit_of_many_changes() {
    insta::assert_snapshot!(message(&with_all_kinds_of_changes()));
}

#[test]
fn the_subject_of_one_cluster_names_it() {
    assert_eq!(
        subject(&Repo::of_fixture("quickstart")),
        "tenant-a/edge: add 4 hosts, create 4 services"
    );
    assert_eq!(
        subject(&crate::support::edge_with("standby: 1", "standby: 0")),
        "tenant-a/edge: release 1 host, change 2 services"
    );
}

#[test]
fn the_subject_of_a_deleted_cluster_says_so() {
    let repo = Repo::of_hosts(1);
    repo.want("tenant/one", 1);
    repo.generate(&[]).expect(0);
    repo.want_no_more("tenant/one");

    assert_eq!(subject(&repo), "tenant/one: delete, release 1 host");
}

#[test]
fn the_subject_of_several_clusters_counts_them() {
    assert_eq!(
        subject(&Repo::of_fixture("multi-cluster")),
        "3 clusters: add 14 hosts, create 9 services"
    );
}

#[test]
fn a_subject_is_short_whatever_a_cluster_is_called() {
    let repo = Repo::of_hosts(1);
    repo.want(&format!("{}/{}", "n".repeat(63), "c".repeat(63)), 1);

    assert_eq!(subject(&repo), "1 cluster: add 1 host");
}

#[test]
fn a_message_is_narrow_and_has_no_line_that_git_takes_for_a_trailer_or_a_comment() {
    let repo = Repo::of_hosts(300);
    repo.want("tenant/one", 300);
    for message in [message(&repo), message(&with_all_kinds_of_changes())] {
        assert!(message.lines().next().unwrap().len() <= 72);
        assert_eq!(message.lines().nth(1), Some(""));
        for line in message.lines() {
            assert!(line.len() <= 72 || !line.contains(", "), "{line:?}");
            assert!(!line.starts_with('#'), "{line:?}");
        }
        repo.write("message", &message);
        assert_eq!(repo.git(&["interpret-trailers", "--parse", "message"]), "");
    }
}

#[test]
fn a_commit_of_what_clusters_share_has_a_subject_too() {
    let repo = Repo::of_hosts(1);
    repo.want("tenant/one", 0);
    repo.generate(&[]).expect(0);
    repo.write("more/hosts.yaml", &crate::support::host("other-1", ""));
    repo.write("more/kustomization.yaml", "resources: [hosts.yaml]\n");

    let message = message(&repo);

    assert_says(
        &message,
        &[
            "update shared files\n\noutside of clusters\n    + declared hosts through hosts/declared/more",
        ],
    );
}
