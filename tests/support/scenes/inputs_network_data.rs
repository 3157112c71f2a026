//! What the tests of `inputs::network_data` begin with.

use crate::support::scenes::inputs::want_balanced;
use crate::support::{Repo, host};

/// A repo with one declared host that names the network data `host-1-network-data`, which is not there yet.
pub fn naming_network_data() -> Repo {
    let repo = Repo::empty();
    repo.write(
        "inventory/hosts.yaml",
        &(host("host-1", "") + "  networkData: {name: host-1-network-data}\n"),
    );
    repo.write("inventory/kustomization.yaml", "resources: [hosts.yaml]\n");
    want_balanced(&repo);
    repo
}
