//! Snapshots of all sites of a repo, each of a context of its own.

use serde_json::{Value, json};

use super::stub::{Answer, Stub, host, page, status};
use crate::support::{Repo, Run, assert_says, run};

const HOSTS: &str = "/apis/metal3.io/v1alpha1/baremetalhosts?&limit=500";

/// An API server with one host.
fn cluster(name: &'static str) -> Stub {
    Stub::start(move |path, _| match path {
        _ if path.starts_with(HOSTS) => page(&[host(name)], None),
        _ if path.contains("/hardwaredata") => page(&[], None),
        _ => status(404, "NotFound"),
    })
}

/// An API server that refuses to list hosts.
fn forbidden() -> Stub {
    Stub::start(|_, _| -> Answer { status(403, "Forbidden") })
}

/// A repo of two sites, with these settings in each, and a kubeconfig with a context for each API server.
fn repo(settings: impl Fn(&str) -> String, clusters: &[(&str, &Stub)]) -> Repo {
    let repo = Repo::empty();
    repo.write("sipgen.yaml", "sites: [\"clusters/*\"]\n");
    for site in ["production", "staging"] {
        repo.write(&format!("clusters/{site}/sipgen.yaml"), &settings(site));
    }
    let server = |stub: &Stub| -> Value {
        let text = std::fs::read_to_string(stub.kubeconfig()).unwrap();
        serde_json::from_str::<Value>(&text).unwrap()["clusters"][0]["cluster"].clone()
    };
    let of_clusters: Vec<Value> = clusters
        .iter()
        .map(|(name, stub)| json!({"name": name, "cluster": server(stub)}))
        .collect();
    let contexts: Vec<Value> = clusters
        .iter()
        .map(|(name, _)| json!({"name": name, "context": {"cluster": name, "user": "nobody"}}))
        .collect();
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "clusters": of_clusters, "contexts": contexts,
        "users": [{"name": "nobody", "user": {}}]
    });
    repo.write(".git/kubeconfig", &kubeconfig.to_string());
    repo.commit();
    repo
}

fn snapshot(repo: &Repo, arguments: &[&str]) -> Run {
    run(repo.sipgen(&["snapshot", "--kubeconfig", ".git/kubeconfig"]).args(arguments))
}

fn context(site: &str) -> String {
    format!("snapshot: {{context: {site}}}\n")
}

#[test]
fn one_command_takes_the_snapshots_of_all_sites() {
    let (production, staging) = (cluster("p1"), cluster("s1"));
    let repo = repo(context, &[("production", &production), ("staging", &staging)]);

    let said = snapshot(&repo, &[]).expect(0).stderr;

    assert_says(&said, &["site production", "site staging", "1 file changed"]);
    for (site, name) in [("production", "p1"), ("staging", "s1")] {
        let text = repo.read(&format!("clusters/{site}/snapshot/metal.yaml"));
        assert!(text.contains(&format!("name: \"{name}\"")), "{site}: {text}");
    }
    assert_says(
        &snapshot(&repo, &["--check"]).expect(0).stderr,
        &["site production", "site staging"],
    );

    repo.write(
        "clusters/staging/snapshot/metal.yaml",
        &repo.read("clusters/production/snapshot/metal.yaml"),
    );
    let run = snapshot(&repo, &["--check", "--allow-removal"]).expect(1);
    assert_says(
        &run.stderr,
        &["site production", "is current", "site staging", "the snapshot is stale"],
    );

    // The context of the settings is that of one site, too, unless another is named.
    snapshot(&repo, &["--site", "staging", "--check", "--allow-removal"]).expect(1);
    snapshot(&repo, &["--site", "staging", "--context", "production", "--check"]).expect(0);
}

#[test]
fn nothing_is_written_where_one_cluster_cannot_be_read() {
    let (production, staging) = (cluster("p1"), forbidden());
    let repo = repo(context, &[("production", &production), ("staging", &staging)]);

    snapshot(&repo, &[]).expect(2);

    assert!(
        !repo.exists("clusters/production/snapshot") && !repo.exists("clusters/staging/snapshot")
    );
}

#[test]
fn sites_without_contexts_of_their_own_are_a_question() {
    let production = cluster("p1");
    let clusters = [("production", &production)];
    for (settings, said) in [
        (&(|_: &str| String::new()) as &dyn Fn(&str) -> String, "missing in: production, staging"),
        (&|_: &str| context("production"), "duplicate `snapshot.context`"),
    ] {
        let repo = repo(settings, &clusters);
        assert_says(&snapshot(&repo, &[]).expect(2).stderr, &[said]);
    }
    let repo = repo(context, &clusters);
    for option in [&["--context", "production"][..], &["--to", "x"], &["--rbac"]] {
        assert_says(
            &snapshot(&repo, option).expect(2).stderr,
            &["choose its site with --site: production, staging"],
        );
    }
    assert_eq!(production.asked(), Vec::<String>::new());
}
