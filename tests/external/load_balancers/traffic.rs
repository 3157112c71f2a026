//! Where connections go, and how long they last.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::thread;
use std::time::Duration;

use crate::load_balancers::connection::Connection;
use crate::load_balancers::hosts::{ApiServer, Worker, certificate};
use crate::load_balancers::network::{POD, everywhere};
use crate::load_balancers::pod::Pod;
use crate::load_balancers::{CONTROL_PLANE, Site, WORKER, output};
use crate::support::programs::generated;

#[test]
fn connections_reach_every_host_in_turn() {
    everywhere(&[CONTROL_PLANE, WORKER], |haproxy, balancer| {
        let site = Site::start(haproxy, balancer);

        let reached: Vec<String> = (0..10).map(|_| site.pod.host().unwrap()).collect();

        for (name, _) in &site.hosts {
            assert_eq!(reached.iter().filter(|host| host == name).count(), 5, "{reached:?}");
        }
    });
}

#[test]
fn each_port_of_a_range_leads_to_the_same_port_of_every_worker() {
    everywhere(&[WORKER], |haproxy, balancer| {
        let _site = Site::start(haproxy, balancer);
        let answers = |port: u16| -> BTreeSet<String> {
            let connect = || Connection::plain(POD[0], port).unwrap();
            (0..4).map(|_| connect().ask("hello").unwrap()).collect()
        };

        let reached: Vec<BTreeSet<String>> = (30080..=30089).map(answers).collect();

        let of_port =
            |port: u16| ["worker-1", "worker-2"].map(|name| format!("{name}:{port} hello")).into();
        let expected: Vec<BTreeSet<String>> = (30080..=30089).map(of_port).collect();
        assert_eq!(reached, expected);
    });
}

#[test]
fn workers_with_ipv6_addresses_are_reached_by_clients_of_both_families() {
    everywhere(&["loadbalancer-worker2"], |haproxy, balancer| {
        let repo = generated("load-balancers");
        let _hosts = [("worker-1", "2001:db8:0:a::21"), ("worker-2", "2001:db8:0:a::22")]
            .map(|(name, address)| Worker::start(name, address, [30180]));
        let _pod = Pod::start(haproxy, &output(&repo, "tenant-a/edge", balancer));
        let answer = |to: IpAddr| Connection::plain(to, 30180).unwrap().ask("hello").unwrap();

        let reached: [BTreeSet<String>; 2] = POD.map(|pod| [pod, pod].map(answer).into());

        let both =
            BTreeSet::from(["worker-1:30180 hello", "worker-2:30180 hello"].map(str::to_owned));
        assert_eq!(reached, [both.clone(), both]);
    });
}

#[test]
fn api_servers_with_ipv6_addresses_are_reached() {
    everywhere(&[CONTROL_PLANE], |haproxy, balancer| {
        let repo = generated("ipv6");
        let certificate = certificate(repo.path());
        let _hosts = ["2001:db8:0:a::11", "2001:db8:0:a::21", "2001:db8:0:a::31"]
            .map(|address| ApiServer::start(address, address, &certificate));
        let pod = Pod::start(haproxy, &output(&repo, "v6/edge", balancer));
        let answer = |_| Connection::tls(POD[1], pod.port("kube-apiserver")).unwrap().ask("hello");

        let reached: BTreeSet<String> = (0..6).map(|number| answer(number).unwrap()).collect();

        assert_eq!(reached.len(), 3, "{reached:?}");
    });
}

#[test]
fn a_host_that_refuses_a_connection_does_not_lose_it() {
    everywhere(&[WORKER], |haproxy, balancer| {
        let mut site = Site::start(haproxy, balancer);
        let (ill, host) = &mut site.hosts[0];
        host.fall_ill();

        let reached: BTreeSet<String> = (0..4).map(|_| site.pod.host().unwrap()).collect();

        assert!(!reached.contains(*ill) && reached.len() == 1, "{reached:?}");
    });
}

#[test]
fn a_host_that_is_switched_off_does_not_lose_a_connection_either() {
    everywhere(&[CONTROL_PLANE], |haproxy, balancer| {
        let repo = generated("load-balancers");
        let _host = ApiServer::start("cp-1", "198.51.100.11", &certificate(repo.path()));
        let pod = Pod::start(haproxy, &output(&repo, "tenant-a/edge", balancer));

        let reached = [pod.host(), pod.host()];

        assert_eq!(reached, [Some("cp-1".to_owned()), Some("cp-1".to_owned())]);
    });
}

#[test]
fn a_stream_that_is_silent_for_more_than_a_minute_goes_on() {
    everywhere(&[CONTROL_PLANE, WORKER], |haproxy, balancer| {
        let site = Site::start(haproxy, balancer);
        let mut stream = site.pod.connect().unwrap();
        let before = stream.ask("before").unwrap();

        thread::sleep(Duration::from_secs(65));

        assert_eq!(stream.ask("after").unwrap(), before.replace("before", "after"));
    });
}
