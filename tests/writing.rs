//! What a run writes into a repo, and what it leaves alone.

#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use support::Repo;

#[test]
fn a_second_run_touches_nothing() {
    for fixture in support::fixture_names() {
        let repo = Repo::of_fixture(&fixture);
        repo.generate(&[]).expect(0);
        let before = repo.on_disk("");
        let second = repo.generate(&["--exit-code"]).expect(0);
        assert!(second.stderr.contains("no file changes"), "{}", second.stderr);
        assert_eq!(repo.on_disk(""), before, "{fixture}");
    }
}
