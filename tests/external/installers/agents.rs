//! Installers in the hands of agents.

use super::built;
use crate::support::programs::{object, string};
use crate::support::{Repo, copy, documents, fixtures};

#[test]
fn flux_waits_for_an_installer_as_long_as_one_takes() {
    let repo = Repo::of_fixture("quickstart");
    copy(&fixtures().join("provisioning"), &repo.path().join("bpa"));
    repo.write("sipgen.yaml", "gitops: flux\nflux: {wait: true}\n");
    repo.generate(&[]).expect(0);

    let agents = repo.files("overlays/agents/flux");
    let waits = |file: &str| {
        let services = documents(&agents[file])
            .into_iter()
            .find(|object| string(&object["metadata"]["name"]).contains(".services."));
        let spec = services.unwrap()["spec"].clone();
        (spec["wait"].as_bool().unwrap(), spec.get("timeout").map(string))
    };
    assert_eq!(waits("tenant-a.edge.yaml"), (true, None));
    assert_eq!(waits("lab.depot.yaml"), (true, Some("3h".to_owned())));
}

/// An agent gives a Job its name and never changes it: what would change it there must not be in the build.
#[test]
fn the_job_has_nothing_that_an_agent_would_run_it_again_for() {
    let build = built(&Repo::of_fixture("provisioning"));

    let job = object(&build, "Job");

    assert_eq!(job["spec"].get("ttlSecondsAfterFinished"), None);
    let annotations: Vec<_> = job["metadata"]["annotations"].as_mapping().unwrap().keys().collect();
    assert_eq!(annotations, ["bpa.akraino.org/installed"], "the record has no status");
    assert_eq!(job["spec"]["backoffLimit"], 0);
    assert_eq!(job["spec"]["template"]["spec"]["restartPolicy"], "Never");
}
