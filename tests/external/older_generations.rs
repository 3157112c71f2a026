//! The tests of `integration::older_generations` that need another program.

use crate::support::Repo;

#[test]
fn older_labels_in_a_manifest_are_replaced_by_todays() {
    let repo = Repo::generated("generation-2020-11");
    let host = crate::support::built_host(
        repo.path().join("overlays/hosts/declared/site"),
        "rdm8-master-0",
    );
    let labels = &host["metadata"]["labels"];

    assert_eq!(labels["sip.airshipit.org/cluster-name"], "sipcluster-edge");
    assert_eq!(labels["sip.airshipit.org/node-type"], "ControlPlane");
    for older in ["sip-scheduled", "workload-cluster"] {
        assert!(labels.get(format!("sip.airshipit.org/{older}")).is_none(), "{labels:?}");
    }
    let again = repo.generate(&["--exit-code"]).expect(0).stderr;
    assert!(!again.contains("SIP0521"), "it has the host by the output now:\n{again}");
}
