//! How Flux and Argo CD are recognised.

use crate::support::assert_says;
use crate::support::scenes::preparing_repos::{init, newcomer, settings};
use crate::support::scenes::preparing_repos_agents::{APPLICATION, FLUX_SOURCE};

#[test]
fn of_several_sources_the_one_of_this_repo_is_taken() {
    let repo = newcomer();
    repo.write("a.yaml", FLUX_SOURCE);
    let own = FLUX_SOURCE
        .replace("name: flux-system", "name: hardware")
        .replace("platform/fleet", "platform/hardware");
    repo.write("b.yaml", &own);
    repo.git(&["remote", "add", "origin", "https://git.example.com/platform/hardware.git"]);

    init(&repo, &[]).expect(0);

    assert_eq!(settings(&repo)["flux"]["sourceRef"]["name"], "hardware");
}

#[test]
fn without_a_source_in_the_repo_the_one_is_taken_that_is_used() {
    let repo = newcomer();
    repo.write(
        "flux.yaml",
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: lab, namespace: fleet}\n\
         spec: {path: sites/lab, sourceRef: {kind: OCIRepository, name: fleet}}\n",
    );

    init(&repo, &[]).expect(0);

    let source = yaml_serde::from_str::<yaml_serde::Value>(
        "{kind: OCIRepository, name: fleet, namespace: fleet}",
    );
    assert_eq!(settings(&repo)["flux"]["sourceRef"], source.unwrap());
}

#[test]
fn argo_cd_is_recognised_with_its_url_of_this_repo() {
    let repo = newcomer();
    repo.write(
        "apps/a-chart.yaml",
        &APPLICATION
            .replace("path: apps", "chart: dex")
            .replace("git.example.com", "charts.example"),
    );
    repo.write("apps/other.yaml", &APPLICATION.replace("platform/fleet", "aaa/other"));
    repo.write("apps/lab.yaml", APPLICATION);
    repo.git(&["remote", "add", "origin", "git@git.example.com:platform/fleet.git"]);

    init(&repo, &[]).expect(0);

    let settings = settings(&repo);
    assert_eq!(settings["gitops"], "argocd");
    assert_eq!(settings["argocd"]["repoURL"], "https://git.example.com/platform/fleet.git");
    assert_eq!(settings["argocd"]["targetRevision"], "stable");
    assert_eq!(settings["argocd"]["project"], "hardware");
}

#[test]
fn an_application_set_tells_the_url_too() {
    let repo = newcomer();
    let generator = "{git: {repoURL: \"https://git.example.com/platform/fleet.git\", revision: main, directories: []}}";
    repo.write("set.yaml", &format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {{name: a}}\nspec:\n  generators: [{generator}]\n  \
         template: {{spec: {{source: {{repoURL: \"{{{{.url}}}}\", path: x}}}}}}\n"
    ));

    init(&repo, &[]).expect(0);

    assert_eq!(settings(&repo)["argocd"]["repoURL"], "https://git.example.com/platform/fleet.git");
}

#[test]
fn an_existing_setting_is_not_contradicted() {
    let repo = newcomer();
    repo.write("flux.yaml", FLUX_SOURCE);
    repo.write("sipgen.yaml", "# Ours.\n");

    let run = init(&repo, &[]).expect(0);

    assert_says(&run.stderr, &["Add to sipgen.yaml, at the end:\n\ngitops: flux\n"]);
    assert_eq!(repo.read("sipgen.yaml"), "# Ours.\n");
}

#[test]
fn no_name_breaks_out_of_the_settings() {
    let repo = newcomer();
    repo.write(
        "flux.yaml",
        &FLUX_SOURCE.replace("name: flux-system", "name: \"a\\noutput: .git\\n#\\e[2J\""),
    );

    let run = init(&repo, &[]).expect(0);

    let settings = settings(&repo);
    assert_eq!(settings["flux"]["sourceRef"]["name"], "a\noutput: .git\n#\u{1b}[2J");
    assert_eq!(settings["output"], yaml_serde::Value::Null);
    assert!(!run.stderr.contains('\u{1b}'));
}

#[test]
fn no_password_of_a_remote_is_written_or_printed() {
    let repo = newcomer();
    repo.write("argo.yaml", &APPLICATION.replace("repoURL", "ignored"));
    repo.git(&[
        "remote",
        "add",
        "origin",
        "https://ci:not-a-secret@git.example.com/platform/fleet.git",
    ]);

    let run = init(&repo, &[]).expect(0);

    assert_eq!(settings(&repo)["argocd"]["repoURL"], "https://git.example.com/platform/fleet.git");
    assert!(
        !repo
            .files("")
            .values()
            .chain([&run.stderr, &run.stdout])
            .any(|text| text.contains("ci:not-a-secret"))
    );
}

#[test]
fn applications_outside_of_argocd_say_where_they_are() {
    let repo = newcomer();
    repo.write(
        "apps.yaml",
        &APPLICATION.replace("namespace: argocd", "namespace: openshift-gitops"),
    );
    repo.git(&["remote", "add", "origin", "git@git.example.com:platform/fleet.git"]);

    init(&repo, &[]).expect(0);

    assert_eq!(settings(&repo)["argocd"]["namespace"], "openshift-gitops");
}

#[test]
fn what_applications_say_differently_is_a_comment() {
    let repo = newcomer();
    repo.write("apps.yaml", APPLICATION);
    repo.write("more.yaml", &APPLICATION.replace("stable", "trunk").replace("hardware", "apps"));
    repo.git(&["remote", "add", "origin", "git@git.example.com:platform/fleet.git"]);

    init(&repo, &[]).expect(0);

    let argocd = &settings(&repo)["argocd"];
    assert_eq!((argocd.get("targetRevision"), argocd.get("project")), (None, None));
    let text = repo.read("sipgen.yaml");
    assert_says(
        &text,
        &["leaves this open", "# targetRevision: stable or trunk", "# project: apps or hardware"],
    );
}

#[test]
fn flux_decrypts_as_the_repo_does_and_artifacts_leave_their_path_open() {
    let kustomization = |name: &str, kind: &str, decryption: &str| {
        format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}, namespace: fleet}}\n\
             spec: {{path: sites, sourceRef: {{kind: {kind}, name: fleet}}{decryption}}}\n"
        )
    };
    for kind in ["OCIRepository", "Bucket", "ExternalArtifact"] {
        let repo = newcomer();
        let decryption = ", decryption: {provider: sops, secretRef: {name: sops-age}}";
        repo.write("a.yaml", &kustomization("a", kind, decryption));
        repo.write("b.yaml", &kustomization("b", kind, ""));

        init(&repo, &[]).expect(0);

        let flux = &settings(&repo)["flux"];
        assert_eq!((&flux["sourceRef"]["kind"], flux.get("path")), (&kind.into(), None));
        assert_eq!(flux["decryption"]["secretRef"]["name"], "sops-age");
        assert_says(
            &repo.read("sipgen.yaml"),
            &["# path: the path of this repo's root in the artifact"],
        );
    }
    // Of two sources, neither is taken.
    let repo = newcomer();
    repo.write("a.yaml", &kustomization("a", "OCIRepository", ""));
    repo.write("b.yaml", &kustomization("b", "Bucket", ""));

    init(&repo, &[]).expect(0);

    assert_eq!(settings(&repo).get("gitops"), None);
    assert_says(&repo.read("sipgen.yaml"), &["Bucket fleet or OCIRepository fleet"]);
}
