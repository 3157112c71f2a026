//! How jump hosts get at the BMC credentials of hosts in other namespaces, and that no value of a Secret is written.

use crate::support::{Repo, assert_says};

const SETTINGS: &str = "sipgen.yaml";

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
