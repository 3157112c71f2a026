//! The output on a real API server, applied by the real agents.

#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../support/mod.rs"]
mod support;

use support::Repo;
use support::api_server::ApiServer;
use support::argocd::ArgoCd;
use support::flux::Flux;

#[test]
fn starts() {
    let start = std::time::Instant::now();
    let server = ApiServer::shared();
    eprintln!("{:?}", start.elapsed());
    let repo = Repo::of_fixture("quickstart");
    repo.write("sipgen.yaml", "gitops: argocd\nargocd: {repoURL: 'https://git.example.com/fleet.git'}\n");
    repo.generate(&[]).expect(0);
    server.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: tenant-a}\n");
    server.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: flux-system}\n");
    let start = std::time::Instant::now();
    let argo = ArgoCd::new(server);
    eprintln!("{:?}", argo.sync(&repo));
    eprintln!("{:?}", start.elapsed());
    repo.write("sipgen.yaml", "gitops: flux\n");
    repo.remove_all("overlays");
    repo.generate(&[]).expect(0);
    repo.commit();
    server.apply("apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: sipgen, namespace: flux-system}\nspec: {interval: 10m, path: ./overlays/agents/flux, prune: true, sourceRef: {kind: GitRepository, name: flux-system}}\n");
    let start = std::time::Instant::now();
    let flux = Flux::start(server);
    eprintln!("{:?}", flux.sync(&repo, "flux-system"));
    eprintln!("{:?}", start.elapsed());
}
