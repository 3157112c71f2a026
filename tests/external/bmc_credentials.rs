//! The tests of `integration::bmc_credentials` that need another program.

use std::collections::{BTreeMap, BTreeSet};

use yaml_serde::Value;

use crate::support::programs::{sequence, string};
use crate::support::{Repo, documents, kustomize_build};

const CLUSTER: &str = "tenants/edge.yaml";

/// The objects of a kind that kustomize builds from the services of the fixture's cluster.
fn built(repo: &Repo, kind: &str) -> Vec<Value> {
    let objects = documents(&kustomize_build(repo.path().join("overlays/clusters/tenant-a/edge")));
    objects.into_iter().filter(|object| object["kind"].as_str() == Some(kind)).collect()
}

/// The Secrets that a jump host mounts credentials from, by the directory of a host.
fn mounted(deployment: &Value) -> BTreeMap<String, String> {
    let volumes = sequence(&deployment["spec"]["template"]["spec"]["volumes"]);
    let sources = volumes.iter().flat_map(|volume| sequence(&volume["projected"]["sources"]));
    let by_directory = sources.flat_map(|source| {
        let name = string(&source["secret"]["name"]);
        let paths = sequence(&source["secret"]["items"]).iter().map(|item| string(&item["path"]));
        paths.map(move |path| (path.rsplit_once('/').unwrap().0.to_owned(), name.clone())).collect::<Vec<_>>()
    });
    by_directory.collect()
}

#[test]
fn each_secret_of_another_namespace_is_copied_once_from_the_store_that_reads_its_namespace() {
    let repo = Repo::generated("external-secrets");

    let copies = built(&repo, "ExternalSecret").into_iter().map(|copy| {
        let spec = &copy["spec"];
        let keys: BTreeSet<String> =
            sequence(&spec["data"]).iter().map(|item| string(&item["remoteRef"]["key"])).collect();
        let store = format!("{} {}", string(&spec["secretStoreRef"]["kind"]), string(&spec["secretStoreRef"]["name"]));
        (string(&copy["metadata"]["namespace"]), store, keys.into_iter().collect::<Vec<_>>().join(" "))
    });
    let expected = [("ClusterSecretStore bmc-east", "bmc-of-rack-1"), ("SecretStore bmc-west", "w1.bmc")];
    let expected = expected.map(|(store, key)| ("tenant-a".to_owned(), store.to_owned(), key.to_owned()));
    assert_eq!(copies.collect::<Vec<_>>(), expected);
}

#[test]
fn a_copy_has_the_keys_that_the_jump_host_reads() {
    let repo = Repo::generated("external-secrets");

    for copy in built(&repo, "ExternalSecret") {
        let pairs = sequence(&copy["spec"]["data"])
            .iter()
            .map(|item| (string(&item["secretKey"]), string(&item["remoteRef"]["property"])));
        let expected = ["username", "password"].map(|key| (key.to_owned(), key.to_owned()));
        assert_eq!(pairs.collect::<Vec<_>>(), expected);
    }
}

#[test]
fn the_jump_host_mounts_the_copies_and_the_secrets_of_its_own_namespace() {
    let repo = Repo::generated("external-secrets");
    let targets: BTreeSet<String> =
        built(&repo, "ExternalSecret").iter().map(|copy| string(&copy["spec"]["target"]["name"])).collect();

    let mounted = mounted(&built(&repo, "Deployment")[0]);

    assert_eq!(mounted["own-1"], "own-1-bmc");
    assert_eq!(mounted["metal-east.e1"], mounted["metal-east.e2"]);
    let of_others = mounted.iter().filter(|(host, _)| host.starts_with("metal-"));
    assert_eq!(of_others.map(|(_, secret)| secret.clone()).collect::<BTreeSet<_>>(), targets);
}

#[test]
fn two_jump_hosts_of_a_cluster_have_copies_of_their_own() {
    let repo = Repo::of_fixture("external-secrets");
    let entry = repo.read(CLUSTER).split_once("    jumpHost:\n").unwrap().1.to_owned();
    let second = entry.replace("nodePort: 30022", "nodePort: 30023");
    repo.write(CLUSTER, &(repo.read(CLUSTER) + &second));
    repo.generate(&[]).expect(0);

    let copies = built(&repo, "ExternalSecret");

    let names: BTreeSet<String> = copies.iter().map(|copy| string(&copy["metadata"]["name"])).collect();
    assert_eq!((copies.len(), names.len()), (4, 4));
}
