//! The tests of `integration::losses` that need another program.

use std::fs;

use crate::support::scenes::losses::{CLUSTER, generated};

#[test]
fn a_file_that_a_kustomization_lists_is_read_whatever_it_is_called() {
    for name in ["clusters/web.txt", "clusters/web", "clusters/web.yaml.disabled"] {
        let repo = generated();
        fs::rename(repo.path().join(CLUSTER), repo.path().join(name)).unwrap();
        let listed = name.rsplit('/').next().unwrap();
        repo.write("clusters/kustomization.yaml", &format!("resources: [db.yaml, {listed}]\n"));

        assert!(
            crate::support::kustomize_build(repo.path().join("clusters")).contains("name: web"),
            "{name}"
        );
        repo.generate(&["--check"]).expect(0);
    }
}
