//! What the tests of `changing_inventory` begin with.

use crate::support::Repo;

pub const PATCHES: &str = "overlays/hosts/declared/inventory";

/// A repo whose only cluster, `tenant/one`, has two declared hosts that no kustomization reaches any more.
pub fn no_longer_listed() -> Repo {
    let repo = Repo::of_hosts(2);
    repo.want("tenant/one", 2);
    repo.generate(&[]).expect(0);
    repo.write("inventory/kustomization.yaml", "resources: []\n");
    repo
}
