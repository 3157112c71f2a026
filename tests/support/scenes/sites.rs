//! What the tests of `sites` begin with.

use crate::support::{Repo, Run, host, run};

pub const SITES: [&str; 2] = ["production", "staging"];

/// A monorepo as `flux bootstrap` makes it: each cluster's directory says which directories are applied to it, and those
/// stand on common bases. Hosts and clusters have the same names in both.
pub fn monorepo(settings: &str) -> Repo {
    let repo = Repo::empty();
    let hosts: String = (1..=3).map(|number| host(&format!("node-{number}"), "")).collect();
    repo.write("infrastructure/base/hosts.yaml", &hosts);
    repo.write("infrastructure/base/kustomization.yaml", "resources: [hosts.yaml]\n");
    repo.write("tenants/base/edge.yaml", &edge(1));
    repo.write("tenants/base/kustomization.yaml", "resources: [edge.yaml]\n");
    for site in SITES {
        repo.write(
            &format!("infrastructure/{site}/kustomization.yaml"),
            "namespace: metal\nresources: [../base]\n",
        );
        repo.write(
            &format!("tenants/{site}/kustomization.yaml"),
            "namespace: tenant-a\nresources: [../base]\n",
        );
        let sync = flux("flux-system", &format!("./clusters/{site}"));
        repo.write(&format!("clusters/{site}/flux-system/gotk-sync.yaml"), &sync);
        repo.write(
            &format!("clusters/{site}/flux-system/kustomization.yaml"),
            "resources: [gotk-sync.yaml]\n",
        );
        for part in ["infrastructure", "tenants"] {
            repo.write(
                &format!("clusters/{site}/{part}.yaml"),
                &flux(part, &format!("./{part}/{site}")),
            );
        }
    }
    if !settings.is_empty() {
        repo.write("sipgen.yaml", settings);
    }
    repo.commit();
    repo
}

/// The usual settings.
pub const SETTINGS: &str = "sites: [\"clusters/*\"]\ngitops: flux\n";

pub fn edge(workers: usize) -> String {
    format!(
        "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {{name: edge}}\n\
         spec:\n  nodes: {{Worker: {{labelSelector: {{}}, count: {{active: {workers}}}}}}}\n"
    )
}

pub fn flux(name: &str, path: &str) -> String {
    format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n\
         metadata: {{name: {name}, namespace: flux-system}}\n\
         spec: {{interval: 10m, path: {path}, prune: true, sourceRef: {{kind: GitRepository, name: flux-system}}}}\n"
    )
}

pub fn overlay(site: &str) -> String {
    format!("overlays/clusters/{site}/hosts/declared/infrastructure/{site}")
}

pub fn sipgen(repo: &Repo, arguments: &[&str]) -> Run {
    run(&mut repo.sipgen(arguments))
}
