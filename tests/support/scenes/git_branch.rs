//! What the tests of `git::branch` begin with.

use crate::support::Repo;
use crate::support::scenes::git::{quickstart, want_more};

/// The quickstart, whose cluster wants one host more than was generated, in a commit.
pub fn stale() -> Repo {
    let repo = quickstart();
    want_more(&repo);
    repo.commit();
    repo
}
