//! Hosts that fall ill, and recover.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::load_balancers::hosts::{ApiServer, certificate};
use crate::load_balancers::network::{add_address, everywhere};
use crate::load_balancers::pod::{Pod, wait_until};
use crate::load_balancers::{CONTROL_PLANE, SOON, Site, WORKER, output};
use crate::support::Repo;
use crate::support::api_server::ApiServer as KubeApiServer;
use crate::support::programs::generated;

/// More than the four failed checks that take a host out, each with the time until it fails.
const TAKEN_OUT: Duration = Duration::from_secs(60);

#[test]
fn the_sessions_of_a_host_that_is_ill_are_closed_and_new_ones_go_to_others() {
    everywhere(&[CONTROL_PLANE, WORKER], |haproxy, balancer| {
        let mut site = Site::start(haproxy, balancer);
        let mut streams = [site.pod.connect().unwrap(), site.pod.connect().unwrap()];
        let (ill, host) = &mut site.hosts[0];
        let of_ill = streams
            .iter_mut()
            .position(|stream| stream.ask("hello").unwrap().starts_with(*ill))
            .unwrap();
        host.fall_ill();

        let closed = streams[of_ill].ends_within(TAKEN_OUT);
        let reached: BTreeSet<String> = (0..4).map(|_| site.pod.host().unwrap()).collect();

        assert!(closed);
        assert!(!reached.contains(*ill), "{reached:?}");
        assert!(streams[1 - of_ill].ask("hello").is_ok(), "the other host's session");
    });
}

/// An API server without the role `system:public-info-viewer` answers 403.
#[test]
fn an_api_server_that_forbids_the_check_is_down() {
    everywhere(&[CONTROL_PLANE], |haproxy, balancer| {
        let repo = generated("load-balancers");
        let certificate = certificate(repo.path());
        let mut host = ApiServer::start("cp-2", "198.51.100.12", &certificate);
        host.answer_readyz(403);
        let pod = Pod::start(haproxy, &output(&repo, "tenant-a/edge", balancer));

        assert!(wait_until(TAKEN_OUT, || !is_up(&pod, "cp-2")));
    });
}

/// The real API server, as it is by default, and with `--anonymous-auth=false`, which answers 401.
#[test]
fn an_api_server_without_anonymous_requests_is_up() {
    everywhere(&[CONTROL_PLANE], |haproxy, balancer| {
        let hosts = [
            ("cp-1", "198.51.100.11", " 200", "--anonymous-auth=true"),
            ("cp-2", "198.51.100.12", " 401", "--anonymous-auth=false"),
        ];
        let servers = hosts.map(|(_, address, _, argument)| {
            add_address(address.parse().unwrap());
            KubeApiServer::serve(address, 6443, &[argument]).unwrap()
        });
        let repo = generated("load-balancers");
        let pod = Pod::start(haproxy, &output(&repo, "tenant-a/edge", balancer));

        for (name, _, status, _) in hosts {
            let is_checked = || {
                let metrics = pod.get("metrics", "/metrics").unwrap().1;
                metrics.lines().any(|line| {
                    line.contains("server_check_code")
                        && line.contains(name)
                        && line.ends_with(status)
                })
            };
            assert!(wait_until(TAKEN_OUT, is_checked), "{name}\n{}", servers[0].said());
            assert!(is_up(&pod, name), "{name}");
        }
    });
}

/// Whether HAProxy sends connections to a host.
fn is_up(pod: &Pod, name: &str) -> bool {
    let metrics = pod.get("metrics", "/metrics").unwrap().1;
    let server = format!("server=\"metal:{name}.");
    metrics.lines().any(|line| line.contains(&server) && line.ends_with("state=\"UP\"} 1"))
}

#[test]
fn a_check_by_connection_does_not_ask_the_api_server() {
    let repo = Repo::of_fixture("load-balancers");
    let port = "nodePort: 30643\n";
    let request = repo.read("site/edge.yaml");
    assert!(request.contains(port));
    repo.write(
        "site/edge.yaml",
        &request.replace(port, &format!("{port}        healthCheck: tcp\n")),
    );
    repo.generate(&[]).expect(0);

    let directory = output(&repo, "tenant-a/edge", CONTROL_PLANE);

    let configuration = std::fs::read_to_string(directory.join("haproxy.cfg")).unwrap();
    assert!(!configuration.contains("readyz") && !configuration.contains("ssl"), "{configuration}");
    assert!(configuration.contains("default-server check inter 5s"), "{configuration}");
    assert!(configuration.contains("balance leastconn"), "{configuration}");
}

#[test]
fn a_host_that_recovers_gets_connections_again() {
    everywhere(&[CONTROL_PLANE, WORKER], |haproxy, balancer| {
        let mut site = Site::start(haproxy, balancer);
        let (name, mut host) = site.hosts.remove(0);
        let metric = format!("server=\"metal:{name}.rack-a\",state=\"UP\"}} 0");
        host.fall_ill();
        let is_out = || site.pod.get("metrics", "/metrics").unwrap().1.contains(&metric);
        assert!(wait_until(TAKEN_OUT, is_out), "{name} is not taken out");

        host.recover();

        assert!(wait_until(SOON, || site.pod.host().is_some_and(|host| host == name)));
    });
}

/// The options of the kernel, because 90 s are too long to wait for. Its defaults would take 735 s.
#[test]
fn a_peer_that_vanishes_is_found_out_after_90_seconds() {
    everywhere(&[CONTROL_PLANE, WORKER], |haproxy, balancer| {
        let site = Site::start(haproxy, balancer);

        let calls = site.pod.traced(|| {
            site.pod.host().unwrap();
        });

        let taken: Vec<&str> = calls
            .lines()
            .filter(|call| call.contains("accept4"))
            .filter_map(|call| call.rsplit_once(" = "))
            .map(|(_, socket)| socket.trim())
            .collect();
        let made: Vec<&str> = calls
            .lines()
            .filter_map(|call| call.split_once(" connect(")?.1.split(',').next())
            .collect();
        let has_options = |socket: &&str| {
            let options = [
                ("SOL_SOCKET, SO_KEEPALIVE", 1),
                ("SOL_TCP, TCP_KEEPIDLE", 60),
                ("SOL_TCP, TCP_KEEPINTVL", 10),
                ("SOL_TCP, TCP_KEEPCNT", 3),
            ];
            options.iter().all(|(option, value)| {
                calls.contains(&format!(" setsockopt({socket}, {option}, [{value}], 4"))
            })
        };
        assert!(taken.iter().any(has_options), "client: {calls}");
        assert!(made.iter().any(has_options), "server: {calls}");
    });
}
