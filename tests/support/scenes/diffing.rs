//! What the tests of `diffing` begin with.

use crate::support::{EDGE, Repo, Run, run};

impl Repo {
    /// Runs `sipgen diff` in the repo.
    pub fn diff(&self, arguments: &[&str]) -> Run {
        let all: Vec<&str> = ["diff"].into_iter().chain(arguments.iter().copied()).collect();
        run(&mut self.sipgen(&all))
    }
}

/// The hosts of the rack `b`, which the quickstart's cluster has two of.
pub const RACK_B: &str = "sites/lab/hosts/rack-b.yaml";

/// The quickstart and two more clusters, generated and committed; then, not yet generated: one cluster is deleted
/// and one is new, and `tenant-a/edge` loses a host, gives back one that is in use, gets another endpoint, another
/// image and no jump host.
pub fn with_all_kinds_of_changes() -> Repo {
    let repo = Repo::of_fixture("quickstart");
    repo.write(
        "inventory/hosts.yaml",
        &(1..=3)
            .map(|n| crate::support::host(&format!("host-{n}"), "  labels: {pool: spare}\n"))
            .collect::<String>(),
    );
    repo.write("inventory/kustomization.yaml", "resources: [hosts.yaml]\n");
    want_spare(&repo, "tenant-b/core", 2);
    repo.generate(&[]).expect(0);
    repo.commit();

    repo.want_no_more("tenant-b/core");
    want_spare(&repo, "tenant-c/new", 1);
    consume(&repo, RACK_B, "lab-b2", "Metal3Machine tenant-a/edge-workers-7");
    consume(
        &repo,
        "sites/lab/hosts/rack-a.yaml",
        "lab-a2",
        "Metal3Machine tenant-a/edge-workers-8",
    );
    repo.replace("sites/lab/hosts/rack-a.yaml", "name: lab-a1\n", "name: lab-a9\n");
    repo.replace(EDGE, "standby: 1", "standby: 0");
    repo.replace(EDGE, "nodePort: 30443", "nodePort: 30444");
    repo.replace(EDGE, "haproxy:3.0", "haproxy:3.1");
    let with_jump_host = repo.read(EDGE);
    let (before, rest) = with_jump_host.split_once("    jumpHost:\n").unwrap();
    let (_, auth) = rest.split_once("    auth:\n").unwrap();
    repo.write(EDGE, &format!("{before}    auth:\n{auth}"));
    repo
}

/// Has a host be used by `KIND NAMESPACE/NAME`.
pub fn consume(repo: &Repo, file: &str, host: &str, consumer: &str) {
    let (kind, name) = consumer.split_once(' ').unwrap();
    let (namespace, name) = name.split_once('/').unwrap();
    let reference = format!(
        "spec:\n  consumerRef: {{kind: {kind:?}, namespace: {namespace:?}, name: {name:?}}}\n"
    );
    repo.replace_behind(file, &format!("name: {host}\n"), "spec:\n", &reference);
}

/// Requests hosts of the spare pool.
fn want_spare(repo: &Repo, cluster: &str, workers: usize) {
    repo.want(cluster, workers);
    let file = format!("clusters/{}.yaml", cluster.replace('/', "."));
    repo.replace(&file, "labelSelector: {}", "labelSelector: {matchLabels: {pool: spare}}");
}
