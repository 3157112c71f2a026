//! What the tests of `gitops_wiring` begin with.

use crate::support::Repo;

pub fn flux(path: &str, more: &str) -> String {
    format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n\
         metadata: {{name: lab, namespace: flux-system}}\nspec:\n  interval: 1h\n  path: {path}\n  prune: true\n{more}  \
         sourceRef: {{kind: GitRepository, name: flux-system}}\n"
    )
}

/// Hosts that no kustomization lists, and a cluster on them.
pub fn of_loose_hosts(object: &str) -> Repo {
    let repo = Repo::of_hosts(1);
    repo.write("sipgen.yaml", "argocd: {repoURL: x}\n");
    repo.remove("inventory/kustomization.yaml");
    repo.want("tenant-a/edge", 1);
    repo.write("agent/lab.yaml", object);
    repo
}

#[track_caller]
pub fn said(repo: &Repo) -> String {
    repo.generate(&[]).expect(0).stderr
}
