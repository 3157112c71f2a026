//! Hosts that fall ill, and recover.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::load_balancers::network::everywhere;
use crate::load_balancers::pod::wait_until;
use crate::load_balancers::{CONTROL_PLANE, SOON, Site, WORKER};

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
