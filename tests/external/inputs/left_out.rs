//! The tests of `integration::inputs::left_out` that need another program.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::support::scenes::inputs::{built, piped, sipgen};
use crate::support::{self, Repo, Run, assert_says, documents, host};

const WEST: &str = "sites/west/cluster.yaml";

#[test]
fn one_site_of_a_repo_with_two_does_not_delete_the_other() {
    let repo = Repo::generated("kustomize-namespaces");
    let before = repo.on_disk("");
    let east = built(&repo, "sites/east");
    for arguments in
        [&["generate", "--input", "-"][..], &["generate", "--input", "-", "--keep-going"]]
    {
        let run = piped(&repo, arguments, &east).expect(1);
        assert_says(
            &run.stderr,
            &["error[SIP0013]", "west-infra/edge is", &format!("{WEST}:5:9"), "--input"],
        );
    }
    assert_says(
        &piped(&repo, &["validate", "--input", "-"], &east).expect(1).stdout,
        &["error[SIP0013]"],
    );
    assert!(repo.on_disk("") == before);
    piped(
        &repo,
        &["generate", "--check", "--input", "-"],
        &(east + "---\n" + &built(&repo, "sites/west")),
    )
    .expect(0);
}

#[test]
fn one_site_alone_can_be_generated_by_its_name() {
    let repo = Repo::of_fixture("kustomize-namespaces");
    repo.write("sipgen.yaml", "gitops: flux\n");
    repo.generate(&[]).expect(0);
    let before = repo.on_disk("overlays");
    let east = built(&repo, "sites/east");
    piped(&repo, &["generate", "--input", "-", "--only", "east-infra/edge"], &east).expect(0);
    assert!(repo.on_disk("overlays") == before);
}

#[test]
fn sources_that_name_one_site_alone_do_not_delete_the_other() {
    for sources in ["kustomization: sites/west", "paths: [sites/west]"] {
        let repo = Repo::generated("kustomize-namespaces");
        repo.write("sipgen.yaml", &format!("sources: [{{{sources}}}]\n"));
        let run = sipgen(&repo, &["generate"]).expect(1);
        assert_says(
            &run.stderr,
            &["error[SIP0013]", "east-infra/edge is", "--> sites/east/cluster.yaml:6:9"],
        );
        repo.remove("sites/east/cluster.yaml");
        repo.replace("sites/east/kustomization.yaml", "  - cluster.yaml\n", "");
        sipgen(&repo, &["generate"]).expect(0);
        assert!(!repo.exists("overlays/clusters/east-infra"), "{sources}");
    }
}

#[test]
fn a_partial_inventory_replaces_no_host_that_the_repo_still_declares() {
    let rack = "sites/lab/hosts/rack-a.yaml";
    let says = ["error[SIP0014]", "the repo still declares it", &format!("--> {rack}:")];
    let repo = Repo::generated("quickstart");
    let before = repo.on_disk("overlays");
    let whole = built(&repo, "sites/lab");
    let of_rack: Vec<String> = documents(&repo.read(rack))
        .iter()
        .filter(|document| document["kind"] == "BareMetalHost")
        .map(|document| format!("name: {}\n", document["metadata"]["name"].as_str().unwrap()))
        .collect();
    let is_of_rack = |document: &&str| {
        document.contains("kind: BareMetalHost")
            && of_rack.iter().any(|name| document.contains(name.as_str()))
    };
    let partial: Vec<&str> =
        whole.split("---\n").filter(|document| !is_of_rack(document)).collect();
    let run = piped(&repo, &["generate", "--input", "-"], &partial.join("---\n")).expect(1);
    assert_says(&run.stderr, &says);
    assert!(!run.stderr.contains("SIP0506"), "{}", run.stderr);

    repo.write("sipgen.yaml", &format!("sources: [{{paths: [sites, '!{rack}']}}]\n"));
    for arguments in [&["generate"][..], &["generate", "--keep-going"]] {
        let run = sipgen(&repo, arguments).expect(1);
        assert_says(&run.stderr, &says);
        assert!(!run.stderr.contains("SIP0506"), "{}", run.stderr);
        assert!(repo.on_disk("overlays") == before);
    }
    // One whose manifest is gone from the repo is replaced, as ever.
    repo.remove(rack);
    repo.replace("sites/lab/hosts/kustomization.yaml", "  - rack-a.yaml\n", "");
    assert_says(&sipgen(&repo, &["generate", "--check"]).stderr, &["SIP0506"]);
}

/// Runs sipgen as a user for whom permissions count: for root, they do not.
fn as_somebody(repo: &Repo, arguments: &[&str]) -> Run {
    const NOBODY: u32 = 65534;
    let mut command = repo.sipgen(arguments);
    if std::fs::metadata(repo.path()).unwrap().uid() == 0 {
        let root = repo.path().to_str().unwrap();
        let owned = Command::new("chown")
            .args(["-R", &format!("{NOBODY}:{NOBODY}"), root])
            .status()
            .unwrap();
        assert!(owned.success(), "chown {root}");
        command.uid(NOBODY).gid(NOBODY).env("HOME", root);
    }
    support::run(&mut command)
}

/// A repo with a directory that nobody may read, and what an agent is told of it.
fn with_private(object: &str, settings: &str) -> Repo {
    let repo = Repo::of_hosts(2);
    repo.want("tenant-a/edge", 1);
    repo.write("private/hosts.yaml", &host("secret-1", ""));
    repo.write("agents.yaml", object);
    repo.write("sipgen.yaml", settings);
    std::fs::set_permissions(repo.path().join("private"), std::fs::Permissions::from_mode(0o000))
        .unwrap();
    repo
}

#[test]
fn a_directory_that_nobody_may_read_is_reported_and_what_agents_apply_there() {
    let flux = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n\
                metadata: {name: private, namespace: flux-system}\n\
                spec: {path: ./private, sourceRef: {kind: GitRepository, name: flux-system}}\n";
    let argocd = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: private, namespace: argocd}\n\
                  spec:\n  destination: {server: \"https://kubernetes.default.svc\"}\n  \
                  source: {repoURL: \"https://git.example.com/fleet.git\", path: private, directory: {recurse: true}}\n";
    let of_argocd = "gitops: argocd\nargocd: {repoURL: \"https://git.example.com/fleet.git\"}\n";
    for (object, settings) in [(flux, "gitops: flux\n"), (argocd, of_argocd)] {
        // It could have inputs.
        let repo = with_private(object, settings);
        let said = as_somebody(&repo, &["generate"]).expect(2).stderr;
        assert_says(&said, &["private", "Permission denied", "sources: [{paths: [\"!private\"]}]"]);

        // Left out, it may still have hosts that the agent applies.
        let excluded = format!("{settings}sources: [{{paths: [\"!private\"]}}]\n");
        let repo = with_private(object, &excluded);
        let said = as_somebody(&repo, &["generate"]).expect(0).stderr;
        assert_says(
            &said,
            &["warning[SIP0624]", "applies private", "Permission denied", "agents.yaml:"],
        );
        let muted =
            format!("{excluded}findings: {{ignore: [{{code: SIP0624, reason: no hosts}}]}}\n");
        let repo = with_private(object, &muted);
        assert!(!as_somebody(&repo, &["generate"]).expect(0).stderr.contains("SIP0624"));
    }
}
