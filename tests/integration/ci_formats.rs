//! What `sipgen generate` prints for GitHub, GitLab and code scanning.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::support::scenes::ci_formats::with_impossible_clusters;
use crate::support::{EDGE, Repo, assert_says};

/// A workflow command as GitHub's runner reads it.
#[derive(Debug)]
struct Annotation {
    command: String,
    properties: BTreeMap<String, String>,
    message: String,
}

impl Annotation {
    /// Reads a line: from `::` to the next `::` are the command and its properties, which are cut at commas.
    fn read(line: &str) -> Self {
        let rest =
            line.strip_prefix("::").unwrap_or_else(|| panic!("no workflow command: {line:?}"));
        let (head, message) = rest.split_once("::").unwrap();
        let (command, properties) = head.split_once(' ').unwrap();
        let property = |text: &str| {
            let (name, value) = text.split_once('=').unwrap();
            (name.to_owned(), unescape(&value.replace("%3A", ":").replace("%2C", ",")))
        };
        Self {
            command: command.to_owned(),
            properties: properties.split(',').map(property).collect(),
            message: unescape(message),
        }
    }
}

fn unescape(text: &str) -> String {
    text.replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")
}

fn annotations(stdout: &str) -> Vec<Annotation> {
    stdout.lines().map(Annotation::read).collect()
}

fn issues(stdout: &str) -> Vec<Value> {
    serde_json::from_str(stdout).unwrap()
}

mod github {
    use super::*;

    #[test]
    fn an_error_stands_at_the_line_that_it_is_about() {
        let repo = Repo::of_fixture("quickstart");
        repo.replace(EDGE, "nodePort: 30443", "nodePort: 80");

        let run = repo.generate(&["--format", "github"]).expect(1);

        let line =
            repo.read(EDGE).lines().position(|line| line.contains("nodePort: 80")).unwrap() + 1;
        let [annotation] = annotations(&run.stdout).try_into().unwrap();
        assert_eq!(annotation.command, "error");
        assert_eq!(annotation.properties["file"], EDGE);
        assert_eq!(annotation.properties["line"], line.to_string());
        assert_says(
            &annotation.message,
            &["nodePort 80 is outside the NodePorts", "\nchoose one of"],
        );
    }

    #[test]
    fn no_name_breaks_out_of_its_command() {
        let repo = Repo::of_hosts(1);
        let file = "clusters/a,b::c 100%,\u{fc}.yaml";
        repo.write(file, "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {namespace: t, name: \"a\\n::error::b%0A\"}\nspec: {}\n");

        let run = repo.generate(&["--format", "github"]).expect(1);

        let annotations = annotations(&run.stdout);
        assert!(
            annotations.iter().all(|annotation| annotation.command == "error"),
            "{}",
            run.stdout
        );
        assert!(
            annotations.iter().any(|annotation| annotation.properties["file"] == file),
            "{}",
            run.stdout
        );
    }

    #[test]
    fn of_each_severity_ten_are_shown_and_the_rest_is_counted() {
        let repo = with_impossible_clusters(13);

        let run = repo.generate(&["--format", "github"]).expect(1);

        let annotations = annotations(&run.stdout);
        let (last, shown) = annotations.split_last().unwrap();
        assert_eq!(shown.len(), 10);
        assert!(shown.iter().all(|annotation| annotation.command == "error"));
        assert_eq!(
            (last.command.as_str(), last.message.as_str()),
            ("notice", "3 more errors: see the log of this step")
        );
    }

    #[test]
    fn stale_files_stand_at_their_cluster_with_the_command_that_mends_them() {
        let repo = Repo::of_hosts(3);
        repo.want("tenant/one", 1);
        repo.generate(&[]).expect(0);
        repo.want("tenant/one", 2);

        let run = repo.generate(&["--check", "--keep-going", "--format", "github"]).expect(1);

        let annotations = annotations(&run.stdout);
        let one = annotations
            .iter()
            .find(|annotation| annotation.properties["file"] == "clusters/tenant.one.yaml");
        let one = one.unwrap();
        assert_eq!(
            (one.properties["line"].as_str(), one.properties["title"].as_str()),
            ("3", "SIP0009")
        );
        let says = [
            "1 generated file of tenant/one is stale",
            "tenant.one.yaml (to be changed)",
            "run `sipgen generate --keep-going`",
        ];
        assert_says(&one.message, &says);
    }

    #[test]
    fn the_files_of_a_cluster_that_is_gone_stand_where_they_lie() {
        let repo = Repo::generated("quickstart");
        repo.remove(EDGE);
        repo.write("sites/lab/clusters/kustomization.yaml", "resources: []\n");

        let run = repo.generate(&["--check", "--allow-empty", "--format", "github"]).expect(1);

        let stale = annotations(&run.stdout)
            .into_iter()
            .find(|found| found.message.contains("tenant-a/edge"));
        assert_says(&stale.unwrap().properties["file"], &["overlays/clusters/tenant-a/edge/"]);
    }

    #[test]
    fn paths_count_from_the_root_of_the_git_repo() {
        let repo = Repo::empty();
        repo.write(
            "sites/lab one/clusters/c.yaml",
            "kind: SIPCluster\napiVersion: airship.airshipit.org/v1\n",
        );

        let run = repo.generate(&["--repo", "sites/lab one", "--format", "github"]).expect(1);

        let [annotation] = annotations(&run.stdout).try_into().unwrap();
        assert_eq!(annotation.properties["file"], "sites/lab one/clusters/c.yaml");
    }

    #[test]
    fn what_concerns_the_whole_repo_has_a_file_nevertheless() {
        let run = Repo::of_hosts(1).generate(&["--format", "github"]).expect(0);

        let [annotation] = annotations(&run.stdout).try_into().unwrap();
        assert_eq!(annotation.properties["file"], "sipgen.yaml");
    }
}

mod gitlab {
    use super::*;

    #[test]
    fn it_is_a_code_quality_report() {
        let repo = Repo::of_fixture("quickstart");
        repo.replace(EDGE, "nodePort: 30443", "nodePort: 80");

        let run = repo.generate(&["--format", "gitlab"]).expect(1);

        let [issue] = issues(&run.stdout).try_into().unwrap();
        let line =
            repo.read(EDGE).lines().position(|line| line.contains("nodePort: 80")).unwrap() + 1;
        assert_eq!(issue["location"], serde_json::json!({"path": EDGE, "lines": {"begin": line}}));
        assert_eq!(
            (issue["severity"].as_str(), issue["check_name"].as_str()),
            (Some("critical"), Some("SIP0209"))
        );
        assert_says(
            issue["description"].as_str().unwrap(),
            &["nodePort 80 is outside", ": choose one of"],
        );
    }

    fn fingerprints(repo: &Repo) -> Vec<String> {
        let issues = issues(&repo.generate(&["--check", "--format", "gitlab"]).expect(1).stdout);
        issues.iter().map(|issue| issue["fingerprint"].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn fingerprints_are_unique_and_know_a_finding_again_when_lines_have_moved() {
        let repo = with_impossible_clusters(12);
        repo.write("clusters/bad.yaml", "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {namespace: t, name: b}\nspec: {nodes: 3}\n");
        // Nothing is told of shortages beside a document that may hide hosts.
        let torn = Repo::empty();
        torn.write(
            "clusters/torn.yaml",
            "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {namespace: t\n",
        );
        let all = || [fingerprints(&repo), fingerprints(&torn)].concat();
        let before = all();

        for repo in [&repo, &torn] {
            for file in repo.files("clusters").keys() {
                let text = repo.read(&format!("clusters/{file}"));
                repo.write(&format!("clusters/{file}"), &format!("# One.\n\n# Two.\n{text}"));
            }
        }

        assert_eq!(all(), before);
        assert_eq!(before.iter().collect::<BTreeSet<_>>().len(), before.len());
        assert!(before.len() > 3, "{before:?}");
    }

    #[test]
    fn of_a_repo_that_is_up_to_date_it_is_empty() {
        let run =
            Repo::generated("quickstart").generate(&["--check", "--format", "gitlab"]).expect(0);

        assert_eq!(issues(&run.stdout), Vec::<Value>::new());
    }

    #[test]
    fn stale_files_are_issues() {
        let run =
            Repo::of_fixture("quickstart").generate(&["--check", "--format", "gitlab"]).expect(1);

        let paths: Vec<Value> =
            issues(&run.stdout).iter().map(|issue| issue["location"]["path"].clone()).collect();
        assert_eq!(paths, [EDGE, "overlays/crds/dex/crds.yaml"]);
    }
}

#[test]
fn people_read_the_same_whatever_is_printed_for_programs() {
    let repo = Repo::of_fixture("quickstart");
    let plain = repo.generate(&["--check"]).expect(1);

    for format in ["text", "github", "gitlab", "sarif"] {
        let run = repo.generate(&["--check", "--format", format]).expect(1);

        assert_eq!(run.stderr, plain.stderr);
        assert_eq!(run.stdout.is_empty(), format == "text");
    }
}

#[test]
fn a_check_names_the_stale_files_and_the_command_that_writes_them() {
    let repo = Repo::of_hosts(3);
    repo.want("tenant/one", 1);
    repo.generate(&[]).expect(0);
    repo.want_no_more("tenant/one");
    repo.want("tenant/two", 1);

    let run = repo.generate(&["--check", "--only", "tenant/two"]).expect(1);
    insta::assert_snapshot!(run.stderr, @"
    warning[SIP0522]: tenant/two has 1 host of namespace `metal`, which Cluster API cannot claim
      --> clusters/tenant.two.yaml:3:37
       |
     3 | metadata: {namespace: tenant, name: two}
       |                                     ^^^
      help: Machines claim hosts of their own namespace only: keep hosts and Cluster in one namespace, by the request's `metadata.namespace` or that of the BareMetalHosts

    tenant/two adds metal/host-2
    1 cluster: 1 host assigned, 1 added, 0 released
    1 host added: state unknown, no snapshot shows it
    5 files would be written: 4 created, 1 changed, 0 deleted
      changed  overlays/hosts/declared/inventory/kustomization.yaml
      created  overlays/hosts/declared/inventory/tenant.two.yaml
      created  overlays/tenants/tenant/two/cluster-api/kustomization.yaml
      created  overlays/tenants/tenant/two/endpoints/endpoints.yaml
      created  overlays/tenants/tenant/two/endpoints/kustomization.yaml
    help: run `sipgen generate --only tenant/two`, and commit the result
    ");

    let run = repo.generate(&["--check", "--repo", "."]).expect(1);
    insta::assert_snapshot!(run.stderr, @"
    warning[SIP0522]: tenant/two has 1 host of namespace `metal`, which Cluster API cannot claim
      --> clusters/tenant.two.yaml:3:37
       |
     3 | metadata: {namespace: tenant, name: two}
       |                                     ^^^
      help: Machines claim hosts of their own namespace only: keep hosts and Cluster in one namespace, by the request's `metadata.namespace` or that of the BareMetalHosts

    danger: cluster tenant/one is deleted, with its 1 host
    danger: 1 host moves from tenant/one to tenant/two: metal/host-1
    tenant/one is deleted; hands over metal/host-1
    tenant/two takes over metal/host-1
    1 cluster: 1 host assigned, 1 added, 1 released
    9 files would be written: 4 created, 1 changed, 4 deleted
      changed  overlays/hosts/declared/inventory/kustomization.yaml
      deleted  overlays/hosts/declared/inventory/tenant.one.yaml
      created  overlays/hosts/declared/inventory/tenant.two.yaml
      deleted  overlays/tenants/tenant/one/cluster-api/kustomization.yaml
      deleted  overlays/tenants/tenant/one/endpoints/endpoints.yaml
      deleted  overlays/tenants/tenant/one/endpoints/kustomization.yaml
      created  overlays/tenants/tenant/two/cluster-api/kustomization.yaml
      created  overlays/tenants/tenant/two/endpoints/endpoints.yaml
      created  overlays/tenants/tenant/two/endpoints/kustomization.yaml
    help: run `sipgen generate --repo .`, and commit the result
    ");
}

#[test]
fn a_check_counts_the_stale_files_that_it_does_not_name() {
    let run = Repo::of_fixture("quickstart").generate(&["--check"]).expect(1);

    assert_eq!(
        run.stderr.lines().filter(|line| line.starts_with("  created  overlays/")).count(),
        20
    );
    assert_says(&run.stderr, &["\n  … and 32 more\n"]);
}

#[test]
fn a_diff_and_a_report_do_not_share_stdout() {
    let run = Repo::of_fixture("quickstart")
        .generate(&["--check", "--diff", "--format", "sarif"])
        .expect(2);

    assert_says(&run.stderr, &["conflicting --diff and --format: both print to stdout"]);
}
