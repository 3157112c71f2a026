//! What the tests of `preparing_repos::agents` begin with.

pub const FLUX_SOURCE: &str = "apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1m, url: \"ssh://git@git.example.com/platform/fleet\"}
";
pub const APPLICATION: &str = "apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: lab, namespace: argocd}
spec:
  project: hardware
  source: {repoURL: \"https://git.example.com/platform/fleet.git\", path: apps, targetRevision: stable}
  destination: {server: \"https://kubernetes.default.svc\"}
";
