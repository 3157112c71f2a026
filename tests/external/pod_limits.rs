//! Limits of what a pod takes from its node, and its protection from other pods.

use yaml_serde::Value;

use crate::support::programs::{generated, sequence, string};
use crate::support::{documents, kustomize_build};

/// The pods of the services of a cluster and of an installer, by the names of their owners.
fn pods() -> Vec<(String, Value)> {
    let mut pods = Vec::new();
    for (fixture, cluster) in [
        ("quickstart", "tenant-a/edge"),
        ("jump-host", "depot/far"),
        ("jump-host", "depot/lab"),
        ("provisioning", "lab/depot"),
    ] {
        let repo = generated(fixture);
        let built = kustomize_build(repo.path().join("overlays/clusters").join(cluster));
        let owners =
            documents(&built).into_iter().filter(|object| object["spec"].get("template").is_some());
        pods.extend(owners.map(|owner| {
            let name = format!("{fixture}: {}", string(&owner["metadata"]["name"]));
            (name, owner["spec"]["template"]["spec"].clone())
        }));
    }
    assert!(pods.len() >= 7, "{}", pods.len());
    pods
}

fn containers(pod: &Value) -> impl Iterator<Item = &Value> {
    sequence(&pod["initContainers"]).iter().chain(sequence(&pod["containers"]))
}

#[test]
fn every_empty_directory_has_a_limit() {
    let mut directories = 0;
    for (name, pod) in pods() {
        for volume in sequence(&pod["volumes"]) {
            if let Some(directory) = volume.get("emptyDir") {
                assert!(directory["sizeLimit"].is_string(), "{name}: {volume:?}");
                directories += 1;
            }
        }
    }
    assert!(directories >= 5, "{directories}");
}

/// The kubelet evicts pods without requests first.
#[test]
fn every_container_has_requests() {
    for (name, pod) in pods() {
        for container in containers(&pod) {
            for resource in ["cpu", "memory"] {
                let request = &container["resources"]["requests"][resource];
                assert!(request.is_string(), "{name}: {:?}: {resource}", container["name"]);
            }
        }
    }
}

/// A writable container of operators could otherwise fill the disk of its node.
#[test]
fn containers_of_jump_hosts_have_a_limit_of_disk() {
    let (_, pod) = pods().into_iter().find(|(name, _)| name.contains("jumphost-far")).unwrap();

    for container in containers(&pod) {
        let limit = &container["resources"]["limits"]["ephemeral-storage"];
        assert!(limit.is_string(), "{:?}", container["name"]);
    }
}

#[test]
fn an_installer_that_hangs_ends() {
    let repo = generated("provisioning");
    let built = kustomize_build(repo.path().join("overlays/clusters/lab/depot"));
    let job = documents(&built).into_iter().find(|object| object["kind"] == "Job").unwrap();

    let seconds = job["spec"]["activeDeadlineSeconds"].as_u64().unwrap();

    // An installation takes hours.
    assert!((3 * 3600..=24 * 3600).contains(&seconds), "{seconds}");
    assert_eq!(job["spec"]["backoffLimit"], 0);
}
