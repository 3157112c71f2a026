//! Installers in the hands of agents.

use super::built;
use crate::support::programs::{object, string};
use crate::support::{Repo, copy, documents, fixtures};

#[test]
fn flux_does_not_wait_for_an_installer_but_for_other_services() {
    let repo = Repo::of_fixture("quickstart");
    copy(&fixtures().join("provisioning"), &repo.path().join("bpa"));
    repo.write("sipgen.yaml", "gitops: flux\nflux: {wait: true}\n");
    repo.generate(&[]).expect(0);

    let agents = repo.files("overlays/agents/flux");
    let waits = |file: &str| {
        let services = documents(&agents[file])
            .into_iter()
            .find(|object| string(&object["metadata"]["name"]).contains(".services."));
        services.unwrap()["spec"]["wait"].as_bool().unwrap()
    };
    assert!(waits("tenant-a.edge.yaml"));
    assert!(!waits("lab.depot.yaml"));
}

/// An agent gives a Job its name and never changes it: what would change it there must not be in the build.
#[test]
fn the_job_has_nothing_that_an_agent_would_run_it_again_for() {
    let build = built(&Repo::of_fixture("provisioning"));

    let job = object(&build, "Job");

    assert_eq!(job["spec"].get("ttlSecondsAfterFinished"), None);
    assert_eq!(job["metadata"].get("annotations"), None);
    assert_eq!(job["spec"]["backoffLimit"], 0);
    assert_eq!(job["spec"]["template"]["spec"]["restartPolicy"], "Never");
}
