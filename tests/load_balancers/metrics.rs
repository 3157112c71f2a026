//! What probes and Prometheus see.

use std::path::Path;

use crate::network::everywhere;
use crate::pod::{Pod, wait_until};
use crate::support::programs::generated;
use crate::{CONTROL_PLANE, SOON, Site, WORKER, output};

/// A load balancer whose hosts do not exist.
fn without_hosts(haproxy: &Path, balancer: &str) -> Pod {
    let repo = generated("load-balancers");
    Pod::start(haproxy, &output(&repo, "tenant-a/edge", balancer))
}

#[test]
fn probes_do_not_depend_on_hosts_as_a_new_cluster_needs_its_load_balancer_first() {
    everywhere(&[CONTROL_PLANE, WORKER], |haproxy, balancer| {
        let pod = without_hosts(haproxy, balancer);
        let all_out = || !pod.get("metrics", "/metrics").unwrap().1.contains("state=\"UP\"} 1");
        assert!(wait_until(3 * SOON, all_out));

        let statuses = ["readinessProbe", "livenessProbe"].map(|probe| pod.probe(probe));

        assert_eq!(statuses, [200, 200]);
    });
}

#[test]
fn prometheus_sees_every_server_of_every_port() {
    everywhere(&[CONTROL_PLANE, WORKER], |haproxy, balancer| {
        let site = Site::start(haproxy, balancer);

        let (status, metrics) = site.pod.get("metrics", "/metrics").unwrap();

        assert_eq!(status, 200);
        for port in site.pod.client_ports() {
            for server in site.hosts.iter().zip(["a", "b"]).map(|((name, _), rack)| format!("metal:{name}.rack-{rack}")) {
                let series = format!("haproxy_server_status{{proxy=\"{port}\",server=\"{server}\",state=\"UP\"}} 1");
                assert!(metrics.contains(&series), "{series} is not in:\n{metrics}");
            }
        }
    });
}

#[test]
fn nothing_else_is_served_beside_metrics() {
    everywhere(&[CONTROL_PLANE], |haproxy, balancer| {
        let pod = without_hosts(haproxy, balancer);

        for path in ["/", "/stats", "/haproxy?stats", "/;csv", "/metrics/"] {
            assert_eq!(pod.get("metrics", path).unwrap().0, 404, "{path}");
        }
    });
}
