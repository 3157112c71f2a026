//! The tests of `integration::refusing_services` that need another program.

use crate::support::{assert_says, edge_with};

#[test]
fn a_value_that_flux_would_replace() {
    for (from, to, place) in [
        (
            "image: docker.io/library/haproxy:3.0",
            "image: \"haproxy:${VERSION}\"",
            "edge.yaml:29:16",
        ),
        ("operator@lab.example.com", "operator@${DOMAIN}", "edge.yaml:48:13"),
    ] {
        let repo = edge_with(from, to);

        assert_says(
            &repo.refused(),
            &["the text has `${`", "Flux", &format!("--> sites/lab/clusters/{place}")],
        );
    }
}
