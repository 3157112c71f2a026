//! What is generated for load balancers, in the hands of the real HAProxy.

#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use support::programs::*;
use support::{Repo, kustomize_build, tool};

#[test]
fn haproxy_takes_every_configuration() {
    for file in files_named("haproxy.cfg") {
        succeed(tool("haproxy").arg("-c").arg("-f").arg(file));
    }
}

#[test]
fn haproxy_takes_the_configuration_of_a_cluster_without_hosts() {
    let repo = Repo::of_fixture("quickstart");
    for (counts, none) in [
        ("active: 2\n        standby: 0", "active: 0\n        standby: 0"),
        ("active: 1\n        standby: 1", "active: 0\n        standby: 0"),
    ] {
        repo.replace("sites/lab/clusters/edge.yaml", counts, none);
    }
    repo.generate(&[]).expect(0);

    for balancer in ["loadbalancer-controlplane", "loadbalancer-worker"] {
        let file = repo.path().join(format!("overlays/clusters/tenant-a/edge/{balancer}/haproxy.cfg"));
        succeed(tool("haproxy").arg("-c").arg("-f").arg(file));
    }
}

/// The name of the ConfigMap in a build of a load balancer, to which its Deployment must refer.
fn configuration_of(repo: &Repo) -> String {
    let build = kustomize_build(repo.path().join("overlays/clusters/tenant-a/edge/loadbalancer-controlplane"));
    let name = string(&object(&build, "ConfigMap")["metadata"]["name"]);
    let volumes = object(&build, "Deployment")["spec"]["template"]["spec"]["volumes"].clone();
    let mounted: Vec<String> = sequence(&volumes).iter().map(|volume| string(&volume["configMap"]["name"])).collect();
    assert_eq!(mounted, [name.as_str()]);
    name
}

#[test]
fn a_changed_configuration_has_a_new_name_so_that_haproxy_is_started_anew() {
    let repo = generated("quickstart");
    let before = configuration_of(&repo);
    repo.replace("sites/lab/hosts/rack-a.yaml", "ip_address: 198.51.100.11\n", "ip_address: 198.51.100.111\n");
    repo.generate(&[]).expect(0);

    let after = configuration_of(&repo);

    assert_ne!(before, after);
}
