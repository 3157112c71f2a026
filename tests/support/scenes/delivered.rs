//! What the tests of `delivered` begin with.

use crate::support::Repo;

/// A repo with two hosts of two racks in `base`, which `site` builds with more, and a cluster that wants both racks.
pub fn with_site(kustomization: &str) -> Repo {
    let repo = Repo::empty();
    let host = |name: &str, rack: &str| {
        format!(
            "---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\n\
             metadata:\n  name: {name}\n  labels:\n    rack: {rack}\n\
             spec: {{online: false, bmc: {{address: 'redfish://10.0.0.{}/a', credentialsName: {name}-bmc}}}}\n",
            &name[1..]
        )
    };
    repo.write("base/hosts.yaml", &(host("h1", "r1") + &host("h2", "r2")));
    repo.write("base/kustomization.yaml", "namespace: metal\nresources: [hosts.yaml]\n");
    repo.write("site/kustomization.yaml", &format!("resources: [../base]\n{kustomization}"));
    repo.write(
        "clusters/one.yaml",
        "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {name: one, namespace: vino}\n\
         spec:\n  nodes:\n    Worker:\n      labelSelector: {}\n      topologyKey: rack\n      count: {active: 2, standby: 0}\n",
    );
    repo
}
