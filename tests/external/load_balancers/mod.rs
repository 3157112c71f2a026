//! Load balancers, in the hands of the real HAProxy: run as generated, between clients and hosts.

mod configuration;
mod connection;
mod health;
mod hosts;
mod metrics;
mod network;
mod pod;
mod stopping;
mod traffic;

use std::path::Path;
use std::time::Duration;

use crate::support::Repo;
use crate::support::programs::generated;
use hosts::{ApiServer, Host, Worker, certificate};
use pod::Pod;

const CONTROL_PLANE: &str = "loadbalancer-controlplane";
const WORKER: &str = "loadbalancer-worker";

/// Longer than anything takes that is not meant to wait, on a machine that is busy otherwise.
const SOON: Duration = Duration::from_secs(20);

/// A load balancer of the fixture `load-balancers`, and the hosts behind it, by their names.
struct Site {
    pod: Pod,
    hosts: Vec<(&'static str, Box<dyn Host>)>,
    _repo: Repo,
}

impl Site {
    fn start(haproxy: &Path, balancer: &str) -> Self {
        let repo = generated("load-balancers");
        let certificate = certificate(repo.path());
        let api_server = |name, address| ApiServer::start(name, address, &certificate);
        let worker = |name, address| Worker::start(name, address, 30080..=30089);
        let hosts: Vec<(_, Box<dyn Host>)> = match balancer {
            CONTROL_PLANE => vec![
                ("cp-1", Box::new(api_server("cp-1", "198.51.100.11"))),
                ("cp-2", Box::new(api_server("cp-2", "198.51.100.12"))),
            ],
            _ => vec![
                ("worker-1", Box::new(worker("worker-1", "198.51.100.21"))),
                ("worker-2", Box::new(worker("worker-2", "198.51.100.22"))),
            ],
        };
        let pod = Pod::start(haproxy, &output(&repo, "tenant-a/edge", balancer));
        Self { pod, hosts, _repo: repo }
    }
}

/// The directory of a load balancer in the output.
fn output(repo: &Repo, cluster: &str, balancer: &str) -> std::path::PathBuf {
    repo.path().join("overlays/clusters").join(cluster).join(balancer)
}
