//! What is generated, and how its parts fit together.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use yaml_serde::Value;

use crate::load_balancers::network::haproxies;
use crate::load_balancers::output;
use crate::support::programs::*;
use crate::support::{Repo, assert_says, edge_with_behind, kustomize_build, tool};

/// Not even a warning is allowed.
fn assert_taken(file: &Path) {
    for haproxy in haproxies() {
        succeed(tool(haproxy.to_str().unwrap()).args(["-c", "-dW", "-f"]).arg(file));
    }
}

#[test]
fn haproxy_takes_every_configuration_without_a_warning() {
    for file in files_named("haproxy.cfg") {
        assert_taken(&file);
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
        assert_taken(&output(&repo, "tenant-a/edge", balancer).join("haproxy.cfg"));
    }
}

/// The name of the ConfigMap in a build of a load balancer, to which its Deployment must refer.
fn configuration_of(repo: &Repo) -> String {
    let build = kustomize_build(output(repo, "tenant-a/edge", "loadbalancer-controlplane"));
    let name = string(&object(&build, "ConfigMap")["metadata"]["name"]);
    let volumes = object(&build, "Deployment")["spec"]["template"]["spec"]["volumes"].clone();
    let mounted: Vec<String> =
        sequence(&volumes).iter().map(|volume| string(&volume["configMap"]["name"])).collect();
    assert_eq!(mounted, [name.as_str()]);
    name
}

#[test]
fn a_changed_configuration_has_a_new_name_so_that_haproxy_is_started_anew() {
    let repo = generated("quickstart");
    let before = configuration_of(&repo);
    repo.replace(
        "sites/lab/hosts/rack-a.yaml",
        "ip_address: 198.51.100.11\n",
        "ip_address: 198.51.100.111\n",
    );
    repo.generate(&[]).expect(0);

    let after = configuration_of(&repo);

    assert_ne!(before, after);
}

/// What kustomize makes of the load balancers of all fixtures.
fn builds() -> Vec<String> {
    let directories =
        files_named("haproxy.cfg").into_iter().map(|file| PathBuf::from(file.parent().unwrap()));
    directories.map(kustomize_build).collect()
}

fn names(values: &Value, field: &str) -> BTreeSet<String> {
    sequence(values).iter().map(|value| string(&value[field])).collect()
}

#[test]
fn the_service_exposes_every_port_of_the_pod_but_that_of_metrics() {
    for build in builds() {
        let container =
            object(&build, "Deployment")["spec"]["template"]["spec"]["containers"][0].clone();
        let service = object(&build, "Service");

        let mut exposed = names(&service["spec"]["ports"], "name");

        assert!(exposed.insert("metrics".to_owned()), "{build}");
        assert_eq!(exposed, names(&container["ports"], "name"));
    }
}

/// Replicas and disruption budget of a build.
fn availability(build: &str) -> (u64, Option<Value>) {
    let replicas = object(build, "Deployment")["spec"]["replicas"].as_u64().unwrap();
    let budget =
        build.contains("kind: PodDisruptionBudget").then(|| object(build, "PodDisruptionBudget"));
    (replicas, budget.map(|budget| budget["spec"]["maxUnavailable"].clone()))
}

#[test]
fn a_single_replica_has_no_disruption_budget_so_that_its_node_can_be_drained() {
    let repo = generated("load-balancers");

    let of = |balancer| availability(&kustomize_build(output(&repo, "tenant-a/edge", balancer)));

    assert_eq!(of("loadbalancer-controlplane"), (2, Some(1.into())));
    assert_eq!(of("loadbalancer-worker"), (1, None));
    assert_eq!(of("loadbalancer-worker2"), (3, Some(1.into())));
}

#[test]
fn a_disruption_budget_counts_the_pods_of_its_own_load_balancer() {
    for build in builds().iter().filter(|build| availability(build).1.is_some()) {
        let selected = object(build, "PodDisruptionBudget")["spec"]["selector"].clone();

        assert_eq!(selected, object(build, "Deployment")["spec"]["selector"]);
    }
}

#[test]
fn a_range_of_ports_whose_configuration_fits_no_config_map_is_refused() {
    let repo = Repo::of_fixture("load-balancers");
    let hosts = repo.read("site/hosts.yaml");
    let worker: Vec<&str> = hosts
        .split("---\n")
        .filter(|document| document.contains("name: worker-1.rack-a"))
        .collect();
    let more = |number: u16| {
        let number = number.to_string();
        worker.iter().map(move |document| {
            let named = document
                .replace("worker-1.rack-a", &format!("worker-{number}"))
                .replace("rack: a", &format!("rack: r{number}"))
                .replace("00:00:5e:00:53:15", &format!("00:00:5e:01:{}:00", &number[1..]))
                .replace("203.0.113.21", &format!("203.0.113.{number}"));
            format!("---\n{}", named.replace("198.51.100.21", &format!("198.51.100.{number}")))
        })
    };
    let all: String = [hosts.clone()].into_iter().chain((101..=106).flat_map(more)).collect();
    repo.write("site/hosts.yaml", &all);
    repo.replace_behind("site/edge.yaml", "Worker:", "active: 2", "active: 8");
    repo.replace(
        "site/edge.yaml",
        "start: 30080\n          end: 30089",
        "start: 30700\n          end: 32767",
    );

    let message = repo.refused();

    assert_says(
        &message,
        &[
            "the ConfigMap loadbalancer-worker-edge would have ",
            "--> site/edge.yaml:34:9",
            "ask for fewer ports",
        ],
    );
}

#[test]
fn replicas_that_are_no_number_of_pods_are_refused() {
    for replicas in ["0", "-1", "101", "9223372036854775807"] {
        let repo = edge_with_behind(
            "loadBalancerWorker",
            "nodePortRange:\n",
            &format!("replicas: {replicas}\n        nodePortRange:\n"),
        );

        let message = repo.refused();

        assert_says(
            &message,
            &[
                &format!("`replicas` must be from 1 to 100, found `{replicas}`"),
                "--> sites/lab/clusters/edge.yaml:37:19",
                "write 1 to 100, or omit it for 2",
            ],
        );
    }
}
