use crate::support::scenes::inputs::sipgen;
use crate::support::{EDGE, Repo, assert_says};

#[test]
fn a_revision_is_judged_by_its_own_files_whatever_is_on_the_disk() {
    let repo = Repo::generated("quickstart");
    repo.replace(EDGE, "active: 2", "active: two");
    sipgen(&repo, &["validate"]).expect(1);
    for command in [
        &["validate", "--rev", "HEAD"][..],
        &["generate", "--rev", "HEAD", "--check"],
        &["status", "--rev", "HEAD"],
    ] {
        sipgen(&repo, command).expect(0);
    }
    sipgen(&repo, &["explain", "tenant-a/edge", "--rev", "HEAD"]).expect(0);
}

#[test]
fn a_stale_revision_is_told_with_the_way_to_mend_it() {
    let repo = Repo::of_fixture("quickstart");
    repo.generate(&[]).expect(0);
    let run = sipgen(&repo, &["generate", "--rev", "HEAD", "--check"]).expect(1);
    assert_says(&run.stderr, &["check out `HEAD`, run `sipgen generate`, and commit the result"]);
}

#[test]
fn a_bare_repo_has_no_files_but_revisions() {
    let repo = Repo::generated("quickstart");
    let bare = tempfile::tempdir().unwrap();
    repo.git(&["clone", "--quiet", "--bare", ".", bare.path().to_str().unwrap()]);
    let at = bare.path().to_str().unwrap();
    sipgen(&repo, &["generate", "--repo", at, "--rev", "HEAD", "--check"]).expect(0);
    let page = repo.path().join("page.html");
    sipgen(&repo, &["report", "--repo", at, "--rev", "HEAD", page.to_str().unwrap()]).expect(0);
    assert_says(
        &sipgen(&repo, &["status", "--repo", at]).expect(2).stderr,
        &["name a revision with --rev"],
    );
}

#[test]
fn nothing_is_written_from_a_revision() {
    let repo = Repo::of_fixture("quickstart");
    let run = sipgen(&repo, &["generate", "--rev", "HEAD"]).expect(2);
    assert_says(&run.stderr, &["--rev requires --check"]);
    assert!(!repo.exists("overlays"));
}
