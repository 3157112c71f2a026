//! Hosts that fall ill, and recover.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::load_balancers::hosts::{ApiServer, certificate};
use crate::load_balancers::network::everywhere;
use crate::load_balancers::pod::{Pod, wait_until};
use crate::load_balancers::{CONTROL_PLANE, SOON, Site, WORKER, output};
use crate::support::Repo;
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

/// An API server with `--anonymous-auth=false` answers 401, one without the role
/// `system:public-info-viewer` 403.
#[test]
fn an_api_server_without_anonymous_requests_is_up() {
    everywhere(&[CONTROL_PLANE], |haproxy, balancer| {
        let repo = generated("load-balancers");
        let certificate = certificate(repo.path());
        let mut hosts = [("cp-1", "198.51.100.11", 401), ("cp-2", "198.51.100.12", 403)]
            .map(|(name, address, status)| (ApiServer::start(name, address, &certificate), status));
        hosts.iter_mut().for_each(|(host, status)| host.answer_readyz(*status));
        let pod = Pod::start(haproxy, &output(&repo, "tenant-a/edge", balancer));
        let is_up = |name: &str| {
            let metric = format!("server=\"metal:{name}.rack-a\",state=\"UP\"}} 1");
            pod.get("metrics", "/metrics").unwrap().1.contains(&metric)
        };

        assert!(wait_until(TAKEN_OUT, || !is_up("cp-2")), "403 is no answer to count on");
        let checked = || {
            let metrics = pod.get("metrics", "/metrics").unwrap().1;
            metrics.lines().any(|line| {
                line.contains("server_check_code")
                    && line.contains("cp-1")
                    && line.ends_with(" 401")
            })
        };
        assert!(wait_until(TAKEN_OUT, checked));
        assert!(is_up("cp-1"), "401 is all that such an API server says");
    });
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
