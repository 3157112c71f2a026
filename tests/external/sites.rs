//! The tests of `integration::sites` that need another program.

use crate::support::scenes::sites::{SETTINGS, SITES, monorepo, overlay, sipgen};
use crate::support::{Repo, assert_says, built_host, documents, is_labelled, kustomize_build};

fn application(name: &str, path: &str, server: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: {name}, namespace: argocd}}\n\
         spec:\n  project: default\n  destination: {{server: \"{server}\"}}\n\
         \x20 source: {{repoURL: \"https://git.example.com/fleet.git\", path: {path}}}\n"
    )
}

#[test]
fn one_run_generates_all_sites_over_common_bases() {
    let repo = monorepo(SETTINGS);

    let said = repo.generate(&[]).expect(0).stderr;

    assert_says(
        &said,
        &["site production", "site staging", "2 sites: 2 clusters, 2 hosts assigned"],
    );
    for site in SITES {
        let built = kustomize_build(repo.path().join(overlay(site)));
        let labelled = documents(&built).into_iter().filter(is_labelled).count();
        assert_eq!((documents(&built).len(), labelled), (3, 1), "{site}");
        let agents =
            kustomize_build(repo.path().join(format!("overlays/clusters/{site}/agents/flux")));
        let paths: Vec<String> = documents(&agents)
            .iter()
            .filter_map(|object| Some(object["spec"]["path"].as_str()?.to_owned()))
            .collect();
        assert!(!paths.is_empty());
        for path in paths {
            assert!(path.starts_with(&format!("./overlays/clusters/{site}/")), "{path}");
            assert!(repo.path().join(&path).join("kustomization.yaml").exists(), "{path}");
        }
    }
    let again = repo.generate(&["--check"]).expect(0).stderr;
    assert!(!again.contains("would be written"), "{again}");
}

#[test]
fn applications_find_their_site_by_path_and_destination() {
    let servers = ["https://production.example.com", "https://staging.example.com"];
    let repo = monorepo("sites: [\"clusters/*\"]\ngitops: argocd\n");
    for (site, server) in SITES.into_iter().zip(servers) {
        repo.remove_all(&format!("clusters/{site}"));
        repo.write(
            &format!("clusters/{site}/kustomization.yaml"),
            &format!("resources: [../../infrastructure/{site}, ../../tenants/{site}]\n"),
        );
        repo.write(
            &format!("clusters/{site}/sipgen.yaml"),
            &format!(
                "argocd: {{repoURL: \"https://git.example.com/fleet.git\", destination: {{server: \"{server}\"}}}}\n"
            ),
        );
        // One Argo CD for both, in a directory of its own.
        repo.write(
            &format!("argocd/{site}.yaml"),
            &application(site, &format!("clusters/{site}"), server),
        );
    }
    let clash = repo.generate(&[]).expect(1).stderr;
    assert_says(
        &clash,
        &["SIP0142", "the sites `production` and `staging`", "argocd: {name: sipgen-staging}"],
    );
    assert!(!repo.exists("overlays"));

    let settings = repo
        .read("clusters/staging/sipgen.yaml")
        .replace("argocd: {", "argocd: {name: sipgen-staging, ");
    repo.write("clusters/staging/sipgen.yaml", &settings);
    let said = repo.generate(&[]).expect(0).stderr;

    for site in SITES {
        let warning =
            format!("Application argocd/{site} applies clusters/{site}, where 3 declared hosts");
        assert_eq!(said.matches(&warning).count(), 1, "{said}");
        let path = format!("overlays/clusters/{site}/hosts/declared/clusters/{site}");
        assert_says(&said, &[&path]);
        assert_eq!(
            documents(&kustomize_build(repo.path().join(&path)))
                .iter()
                .filter(|host| is_labelled(host))
                .count(),
            1
        );
    }
}

#[test]
fn a_patched_base_is_another_one_for_each_site() {
    let repo = monorepo(SETTINGS);
    repo.write(
        "infrastructure/production/kustomization.yaml",
        "namespace: bare-metal\nresources: [../base]\n",
    );

    repo.generate(&[]).expect(0);

    let labelled = |site: &str, namespace: &str| {
        let object = built_host(repo.path().join(overlay(site)), "node-1");
        assert_eq!(object["metadata"]["namespace"].as_str(), Some(namespace));
        is_labelled(&object)
    };
    assert!(labelled("production", "bare-metal") && labelled("staging", "metal"));
}

#[test]
fn init_prepares_a_repo_of_several_base_clusters() {
    let repo = monorepo("");
    let said = sipgen(&repo, &["init"]).expect(0).stderr;

    assert_says(&said, &["2 sites, each with its own Flux bootstrap"]);
    assert_says(
        &repo.read("sipgen.yaml"),
        &["sites:\n  - \"clusters/production\"\n  - \"clusters/staging\"\n", "gitops: flux"],
    );
    assert_says(
        &repo.read(".gitattributes"),
        &["/overlays/clusters/production/**", "/overlays/clusters/staging/hosts/**"],
    );
    repo.generate(&[]).expect(0);
    assert!(repo.exists(&overlay("staging")) && repo.exists(&overlay("production")));
    let again = sipgen(&repo, &["init"]).expect(0).stderr;
    assert!(
        !again.contains("add these lines")
            && !again.lines().any(|line| line.starts_with("created")),
        "{again}"
    );

    // Directories of the usual name decide nothing.
    let repo = Repo::of_hosts(1);
    for site in SITES {
        repo.write(
            &format!("clusters/{site}/kustomization.yaml"),
            "resources: [../../inventory]\n",
        );
    }
    let said = sipgen(&repo, &["init"]).expect(0).stderr;
    assert_says(&said, &["it may have several sites"]);
    assert_says(
        &repo.read("sipgen.yaml"),
        &["# sites:\n#   - \"clusters/production\"\n#   - \"clusters/staging\"\n"],
    );
}
