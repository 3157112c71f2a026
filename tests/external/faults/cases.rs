//! Repos in which a run has something to do.

use crate::support::{Repo, host, live_host};

/// A repo, and a run that changes it.
pub(crate) struct Case {
    pub name: &'static str,
    pub repo: Repo,
    pub arguments: &'static [&'static str],
}

impl Case {
    fn new(name: &'static str, arguments: &'static [&'static str], repo: Repo) -> Self {
        repo.git(&["config", "user.name", "Tess Ter"]);
        repo.git(&["config", "user.email", "tess@example.com"]);
        Self { name, repo, arguments }
    }
}

/// A repo with one cluster of observed hosts that is to give some of them back, which is committed.
pub(crate) fn giving_back() -> Repo {
    let repo = Repo::empty();
    repo.git(&["config", "user.name", "Tess Ter"]);
    repo.git(&["config", "user.email", "tess@example.com"]);
    repo.write(
        "snapshot/hosts.yaml",
        &(1..=6).map(|number| live_host(&format!("host-{number}"), "")).collect::<String>(),
    );
    repo.want("alpha/one", 4);
    repo.want("beta/two", 2);
    repo.generate(&[]).expect(0);
    repo.commit();
    repo.want("alpha/one", 3);
    repo.commit();
    repo
}

/// A repo with declared hosts of two racks and observed ones, and three clusters with some of them, generated and
/// committed.
fn site() -> Repo {
    let repo = Repo::empty();
    let in_rack = |number: usize| {
        host(
            &format!("host-{number}"),
            &format!("  labels:\n    example.com/rack: r{}\n", number % 2),
        )
    };
    repo.write("inventory/hosts.yaml", &(1..=8).map(in_rack).collect::<String>());
    repo.write("inventory/kustomization.yaml", "resources: [hosts.yaml]\n");
    repo.write(
        "snapshot/hosts.yaml",
        &(11..=18).map(|number| live_host(&format!("host-{number}"), "")).collect::<String>(),
    );
    repo.want("alpha/one", 4);
    repo.want("beta/two", 4);
    repo.want("beta/three", 3);
    repo.generate(&[]).expect(0);
    repo.commit();
    repo
}

fn changed(repo: Repo, change: impl FnOnce(&Repo)) -> Repo {
    change(&repo);
    repo
}

fn rename(repo: &Repo, from: &str, to: &str, workers: usize) {
    repo.want_no_more(from);
    repo.want(to, workers);
}

/// Two clusters whose selectors were exchanged, and so are their hosts.
fn exchange() -> Repo {
    let repo = site();
    let want = |cluster: &str, rack: &str| {
        let (namespace, name) = cluster.split_once('/').unwrap();
        repo.write(
            &format!("clusters/{namespace}.{name}.yaml"),
            &format!(
                "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {{namespace: {namespace}, name: {name}}}\n\
                 spec: {{nodes: {{Worker: {{labelSelector: {{matchLabels: {{example.com/rack: {rack}}}}}, \
                 count: {{active: 4}}}}}}}}\n"
            ),
        );
    };
    repo.want_no_more("beta/three");
    want("alpha/one", "r0");
    want("beta/two", "r1");
    repo.generate(&["--rebalance"]).expect(0);
    repo.commit();
    want("alpha/one", "r1");
    want("beta/two", "r0");
    repo
}

/// Runs that write.
pub(crate) fn generating() -> Vec<Case> {
    let scale = |workers: [usize; 3]| {
        changed(site(), |repo| {
            for (cluster, workers) in
                ["alpha/one", "beta/two", "beta/three"].into_iter().zip(workers)
            {
                repo.want(cluster, workers);
            }
        })
    };
    vec![
        Case::new("create", &[], Repo::of_fixture("quickstart")),
        Case::new("create several", &[], Repo::of_fixture("multi-cluster")),
        Case::new("scale up", &[], scale([6, 5, 5])),
        Case::new("scale down", &[], scale([1, 1, 1])),
        Case::new("hand over", &[], scale([1, 8, 1])),
        Case::new("hand over backwards", &[], scale([8, 1, 1])),
        Case::new(
            "rename",
            &[],
            changed(site(), |repo| rename(repo, "alpha/one", "alpha/zero", 4)),
        ),
        Case::new(
            "rename backwards",
            &[],
            changed(site(), |repo| rename(repo, "beta/two", "beta/a", 4)),
        ),
        Case::new(
            "another namespace",
            &[],
            changed(site(), |repo| rename(repo, "alpha/one", "omega/one", 4)),
        ),
        Case::new("delete", &[], changed(site(), |repo| repo.want_no_more("beta/two"))),
        Case::new(
            "delete all",
            &["--allow-empty"],
            changed(site(), |repo| repo.remove_all("clusters")),
        ),
        Case::new("exchange", &["--rebalance"], exchange()),
        Case::new("create outputs", &[], Repo::of_fixture("outputs")),
        Case::new(
            "hosts and outputs change",
            &[],
            changed(Repo::generated("outputs"), |repo| {
                repo.replace("clusters/edge.yaml", "active: 1", "active: 2");
                repo.replace("sipgen.yaml", "  - {name: facts", "  # - {name: facts");
            }),
        ),
        Case::new(
            "services go",
            &[],
            changed(Repo::generated("quickstart"), |repo| {
                repo.write("sites/lab/clusters/edge.yaml", "");
                repo.want("tenant-a/edge", 3);
            }),
        ),
        Case::new(
            "staged",
            &["--from-index"],
            changed(scale([2, 6, 2]), |repo| {
                repo.git(&["add", "clusters"]);
            }),
        ),
    ]
}
