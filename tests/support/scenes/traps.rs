//! What the tests of `traps` begin with.

use crate::support::{Repo, host};

/// A declared host whose metadata has more lines, and a cluster that takes it.
pub fn repo_with(metadata: &str) -> Repo {
    let repo = Repo::empty();
    repo.write("inventory/hosts.yaml", &host("a1", metadata));
    repo.write("inventory/kustomization.yaml", "resources: [hosts.yaml]\n");
    repo.want("metal/lab", 1);
    repo
}
