//! The tests of `integration::refusing_settings` that need another program.

use crate::support::assert_says;
use crate::support::scenes::refusing_settings::with_template;

#[test]
fn a_template_with_a_variable_for_flux() {
    let repo = with_template("loadbalancer/haproxy.cfg", "global\n  log ${SYSLOG}\n");

    assert_says(
        &repo.refused(),
        &[
            "the template own/loadbalancer/haproxy.cfg renders `${`, which Flux reads as a variable",
            "--> own/loadbalancer/haproxy.cfg:2:7",
            "write it there without `${`",
        ],
    );
}
