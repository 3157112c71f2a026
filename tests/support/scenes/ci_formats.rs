//! What the tests of `ci_formats` begin with.

use crate::support::Repo;

/// A repo with clusters of which each asks for more hosts than there are.
pub fn with_impossible_clusters(count: usize) -> Repo {
    let repo = Repo::of_hosts(1);
    for number in 0..count {
        repo.want(&format!("tenant/c{number:02}"), 9);
    }
    repo
}
