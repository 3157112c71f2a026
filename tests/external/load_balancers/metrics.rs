//! What probes and Prometheus see.

use std::io::{self, ErrorKind, Read};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::load_balancers::network::{POD, add_address, everywhere};
use crate::load_balancers::pod::{Pod, wait_until};
use crate::load_balancers::{CONTROL_PLANE, SOON, Site, WORKER, output};
use crate::support::programs::{generated, succeed};

/// A load balancer whose hosts do not exist.
fn without_hosts(haproxy: &Path, balancer: &str) -> Pod {
    let repo = generated("load-balancers");
    Pod::start(haproxy, &output(&repo, "tenant-a/edge", balancer))
}

#[test]
fn probes_do_not_depend_on_hosts_as_a_new_cluster_needs_its_load_balancer_first() {
    everywhere(&[CONTROL_PLANE, WORKER], |haproxy, balancer| {
        let pod = without_hosts(haproxy, balancer);
        let is_up = |line: &str| {
            line.starts_with("haproxy_server_status") && line.ends_with("state=\"UP\"} 1")
        };
        let all_out = || !pod.get("metrics", "/metrics").unwrap().1.lines().any(is_up);
        assert!(wait_until(3 * SOON, all_out), "servers that do not exist are up");

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
            for server in site
                .hosts
                .iter()
                .zip(["a", "b"])
                .map(|((name, _), rack)| format!("metal:{name}.rack-{rack}"))
            {
                let series = format!(
                    "haproxy_server_status{{proxy=\"{port}\",server=\"{server}\",state=\"UP\"}} 1"
                );
                assert!(metrics.contains(&series), "{series} is not in:\n{metrics}");
            }
        }
    });
}

#[test]
fn a_load_balancer_that_is_full_refuses_connections_and_still_answers_probes() {
    everywhere(&[WORKER], |haproxy, balancer| {
        // A connection takes a file of the client and one of the host, both of which are this process.
        succeed(Command::new("prlimit").args([
            "--nofile=20000:",
            "--pid",
            &std::process::id().to_string(),
        ]));
        let accepted = Arc::new(AtomicUsize::new(0));
        for address in ["198.51.100.21", "198.51.100.22"] {
            add_address(address.parse().unwrap());
            let host = TcpListener::bind((address, 30080)).unwrap();
            let accepted = accepted.clone();
            let accept = move |stream: io::Result<TcpStream>| {
                accepted.fetch_add(1, Ordering::Relaxed);
                stream.unwrap()
            };
            thread::spawn(move || host.incoming().map(accept).collect::<Vec<TcpStream>>());
        }
        let pod = without_hosts(haproxy, balancer);
        let connect = || TcpStream::connect((POD[0], pod.port("port-30080"))).unwrap();
        let mut taken = Vec::new();
        for count in (100..=8000).step_by(100) {
            // The queue of a host that accepts nothing for a while is full after 128, and a session
            // that cannot connect ends.
            taken.extend((0..100).map(|_| connect()));
            assert!(wait_until(SOON, || accepted.load(Ordering::Relaxed) >= count));
        }
        // Of the backend, as the frontend counts connections that wait for a thread, and the limit does not yet.
        let full = "haproxy_backend_current_sessions{proxy=\"port-30080\"} 8000\n";
        assert!(wait_until(SOON, || pod.get("metrics", "/metrics").unwrap().1.contains(full)));

        let mut one_more = connect();
        one_more.set_read_timeout(Some(SOON)).unwrap();
        let end = one_more.read(&mut [0]).map_err(|error| error.kind());
        let statuses = ["readinessProbe", "livenessProbe"].map(|probe| pod.probe(probe));

        assert!(matches!(end, Ok(0) | Err(ErrorKind::ConnectionReset)), "{end:?}");
        assert_eq!(statuses, [200, 200]);
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
