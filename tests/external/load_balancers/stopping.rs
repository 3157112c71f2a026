//! Pods that are deleted: by a rolling update, or because their node is drained.

use std::time::{Duration, Instant};

use crate::load_balancers::network::everywhere;
use crate::load_balancers::pod::wait_until;
use crate::load_balancers::{CONTROL_PLANE, SOON, Site, WORKER};

#[test]
fn a_pod_that_stops_takes_connections_for_some_seconds_as_nodes_may_still_send_them() {
    everywhere(&[CONTROL_PLANE, WORKER], |haproxy, balancer| {
        let site = Site::start(haproxy, balancer);
        let start = Instant::now();
        site.pod.stop();

        let refused = wait_until(2 * SOON, || site.pod.host().is_none());

        assert!(refused);
        assert!(start.elapsed() > Duration::from_secs(4), "refused after {:?}", start.elapsed());
    });
}

#[test]
fn a_pod_that_stops_lets_its_connections_end_and_takes_no_new_ones() {
    everywhere(&[CONTROL_PLANE, WORKER], |haproxy, balancer| {
        let mut site = Site::start(haproxy, balancer);
        let mut stream = site.pod.connect().unwrap();
        stream.ask("before").unwrap();
        site.pod.stop();
        assert!(
            wait_until(SOON, || site.pod.connect().is_err()),
            "new connections are still taken"
        );

        let answer = stream.ask("after");
        let running = site.pod.exit().is_none();
        drop(stream);

        assert!(answer.is_ok_and(|answer| answer.ends_with("after")));
        assert!(running);
        assert!(site.pod.ends_within(SOON));
        assert!(site.pod.exit().unwrap().success());
    });
}

#[test]
fn a_pod_that_stops_ends_by_itself_before_its_grace_period_is_over() {
    everywhere(&[CONTROL_PLANE, WORKER], |haproxy, balancer| {
        let mut site = Site::start(haproxy, balancer);
        let mut stream = site.pod.connect().unwrap();
        stream.ask("before").unwrap();
        let start = Instant::now();
        site.pod.stop();

        let grace_period = site.pod.grace_period();
        let ended = site.pod.ends_within(grace_period + SOON);
        let took = start.elapsed();

        assert!(ended);
        assert!(took > grace_period * 3 / 4, "the stream lasted only {took:?}");
        assert!(took < grace_period, "it took {took:?}, and would have been killed");
        assert!(stream.ends_within(SOON));
    });
}
