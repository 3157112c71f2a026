//! The tests of `integration::options` that need another program.

use crate::support::{Repo, documents};

const PATCHES: &str = "overlays/hosts/declared/inventory";

mod repo_directory {
    use super::*;

    #[test]
    fn it_can_be_a_directory_of_a_git_repo_and_then_the_rest_does_not_count() {
        let repo = Repo::of_hosts(2);
        repo.want("tenant/outside", 1);
        for (path, text) in repo.files("inventory") {
            repo.write(&format!("sites/lab/inventory/{path}"), &text);
        }
        repo.write(
            "sites/lab/clusters/inside.yaml",
            &repo.read("clusters/tenant.outside.yaml").replace("outside", "inside"),
        );
        repo.commit();

        repo.generate(&["--repo", "sites/lab"]).expect(0);

        assert!(!repo.exists("overlays"));
        let written: Vec<String> = repo.files("sites/lab/overlays/hosts").into_keys().collect();
        assert_eq!(
            written,
            ["declared/inventory/kustomization.yaml", "declared/inventory/tenant.inside.yaml"]
        );
        let built = crate::support::kustomize_build(repo.path().join("sites/lab").join(PATCHES));
        assert_eq!(documents(&built).len(), 2);
    }
}
