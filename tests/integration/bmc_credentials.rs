//! How jump hosts get at the BMC credentials of hosts in other namespaces, and that no value of a Secret is written.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::programs::{sequence, string};
use crate::support::{Repo, assert_says, documents, kustomize_build};
use yaml_serde::Value;

const SETTINGS: &str = "sipgen.yaml";
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

#[test]
fn without_hosts_of_other_namespaces_nothing_is_copied() {
    let repo = Repo::of_fixture("quickstart");
    repo.write(SETTINGS, "credentials: external-secrets\n");

    repo.generate(&[]).expect(0);

    assert!(!repo.exists("overlays/clusters/tenant-a/edge/jumphost/externalsecrets.yaml"));
}

#[test]
fn a_namespace_that_no_store_reads() {
    let repo = Repo::generated("external-secrets");
    repo.replace(SETTINGS, "    metal-west: {kind: SecretStore, name: bmc-west}\n", "");

    assert_says(
        &repo.refused(),
        &[
            "error[SIP0315]: the jump host of tenant-a/edge cannot mount the BMC credentials of 1 of its hosts, which are in \
             other namespaces, such as metal-west/w1",
            "--> tenants/edge.yaml:14:9",
            "--> hosts/west.yaml:11:22  (the Secret that is in the host's namespace)",
            "name the store that reads metal-west under `externalSecrets.stores` in sipgen.yaml",
        ],
    );
}

#[test]
fn a_store_for_what_is_no_namespace() {
    let repo = Repo::generated("external-secrets");
    repo.replace(SETTINGS, "metal-west:", "metal.west:");

    assert_says(&repo.refused(), &["`metal.west` has a dot, which a namespace must not have", "--> sipgen.yaml:6:5"]);
}

#[test]
fn two_hosts_that_a_jump_host_would_call_by_one_name() {
    let repo = Repo::of_fixture("external-secrets");
    repo.replace("hosts/own.yaml", "  name: own-1\n", "  name: metal-east.e1\n");

    assert_says(
        &repo.refused(),
        &[
            "the hosts metal-east/e1 and tenant-a/metal-east.e1 would both be metal-east.e1 on jumphost-edge",
            "--> hosts/own.yaml:4:",
            "rename one of them",
        ],
    );
}

#[test]
fn a_secret_whose_name_is_none() {
    let repo = Repo::of_fixture("external-secrets");
    repo.replace("hosts/own.yaml", "credentialsName: own-1-bmc", "credentialsName: Own_1");

    let run = repo.generate(&[]).expect(0);

    assert_says(
        &run.stderr,
        &["the credentialsName of host tenant-a/own-1 is no name of a Secret", "hosts/own.yaml:11:"],
    );
}

#[test]
fn no_value_of_a_secret_is_written_in_any_mode() {
    for mode in ["reference", "external-secrets", "none"] {
        let repo = Repo::of_fixture("quickstart");
        repo.write(SETTINGS, &format!("credentials: {mode}\n"));
        repo.generate(&[]).expect(0);

        for (file, text) in repo.files("overlays") {
            // As the site has it, and as it is decoded.
            assert!(!text.contains("bm90LWEtc2VjcmV0") && !text.contains("not-a-secret"), "{mode}: {file}");
        }
    }
}
