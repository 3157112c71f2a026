//! The tests of `integration::preparing_repos::agents` that need another program.

use crate::support::assert_says;
use crate::support::scenes::preparing_repos::{init, newcomer, settings};
use crate::support::scenes::preparing_repos_agents::{APPLICATION, FLUX_SOURCE};

#[test]
fn flux_is_recognised_with_its_source() {
    let repo = newcomer();
    repo.write("clusters/lab/flux-system/gotk-sync.yaml", FLUX_SOURCE);

    let run = init(&repo, &[]).expect(0);

    assert_says(&run.stderr, &["Flux was detected by `clusters/lab/flux-system/gotk-sync.yaml`"]);
    let settings = settings(&repo);
    assert_eq!(settings["gitops"], "flux");
    let source = &settings["flux"]["sourceRef"];
    assert_eq!(
        (source["name"].as_str(), source["namespace"].as_str()),
        (Some("flux-system"), Some("flux-system"))
    );
    assert_says(&repo.read("sipgen.yaml"), &["Point it at `agents` in the output directory"]);
}

#[test]
fn flux_is_recognised_by_what_bootstrap_writes() {
    let repo = newcomer();
    repo.write(
        "clusters/lab/flux-system/gotk-components.yaml",
        "# Flux\n---\napiVersion: v1\nkind: Namespace\n",
    );

    init(&repo, &[]).expect(0);

    assert_eq!(settings(&repo)["gitops"], "flux");
}

#[test]
fn of_two_agents_a_person_has_to_choose() {
    let repo = newcomer();
    repo.write("flux.yaml", FLUX_SOURCE);
    repo.write("argo.yaml", APPLICATION);

    init(&repo, &[]).expect(0);

    assert_eq!(settings(&repo)["gitops"], yaml_serde::Value::Null);
    assert_says(
        &repo.read("sipgen.yaml"),
        &["manifests of both Flux and Argo CD", "# gitops: flux", "# gitops: argocd"],
    );
    repo.generate(&[]).expect(0);
}

#[test]
fn argos_other_projects_are_no_agent() {
    let repo = newcomer();
    repo.write(
        "workflow.yaml",
        "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: a}\nspec: {}\n",
    );

    init(&repo, &[]).expect(0);

    assert_says(&repo.read("sipgen.yaml"), &["no manifests of Flux or Argo CD"]);
}
