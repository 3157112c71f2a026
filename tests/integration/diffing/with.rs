//! `sipgen diff --with`: resources that two open changes claim.

use super::*;
use crate::support::assert_says;

/// A repo with four hosts, and a branch for each cluster that takes a host; the last one is checked
/// out.
fn with_branches(clusters: &[(&str, usize)]) -> Repo {
    let repo = Repo::of_hosts(4);
    repo.want("tenant/one", 1);
    repo.generate(&[]).expect(0);
    repo.commit();
    repo.git(&["branch", "--force", "base"]);
    for (cluster, workers) in clusters {
        let (_, name) = cluster.split_once('/').unwrap();
        repo.git(&["checkout", "--quiet", "-b", name, "base"]);
        repo.want(cluster, *workers);
        repo.generate(&[]).expect(0);
        repo.commit();
    }
    repo
}

#[test]
fn two_branches_that_take_the_same_host_are_reported() {
    let repo = with_branches(&[("tenant/two", 1), ("tenant/three", 1)]);

    let run = repo.diff(&["--base", "base", "--with", "two"]).expect(1);

    assert!(
        run.stdout.starts_with(
            "danger: branch two also claims host metal/host-2: for tenant/three here, for tenant/two there\n"
        ),
        "{}",
        run.stdout
    );
    assert_says(
        &run.stdout,
        &[
            "    if two is merged first: tenant/three gets metal/host-3 instead of metal/host-2\n",
            "    if this change is merged first: tenant/two gets metal/host-3 instead of metal/host-2\n",
            "+ tenant/three created\n",
        ],
    );
}

#[test]
fn the_outcome_is_that_of_the_real_merge() {
    let repo = with_branches(&[("tenant/two", 1), ("tenant/three", 1)]);
    repo.git(&["checkout", "--quiet", "two"]);
    repo.git(&["checkout", "--quiet", "three", "--", "clusters"]);
    repo.generate(&[]).expect(0);

    assert_eq!(repo.hosts_of("tenant", "two"), ["Worker metal/host-2"]);
    assert_eq!(repo.hosts_of("tenant", "three"), ["Worker metal/host-3"]);
}

#[test]
fn a_shortage_after_the_other_change_is_reported() {
    let repo = with_branches(&[("tenant/two", 2), ("tenant/three", 3)]);

    let run = repo.diff(&["--base", "base", "--head", "three", "--with", "two"]).expect(1);

    assert_says(
        &run.stdout,
        &[
            "if two is merged first: tenant/three does not get metal/host-2",
            "if this change is merged first: tenant/two does not get metal/host-2",
        ],
    );
}

#[test]
fn files_that_are_not_committed_count() {
    let repo = with_branches(&[("tenant/two", 1)]);
    repo.git(&["checkout", "--quiet", "base"]);
    repo.want("tenant/three", 1);

    let run = repo.diff(&["--base", "base", "--with", "two"]).expect(1);

    assert_says(
        &run.stdout,
        &[
            "branch two also claims host metal/host-2: for tenant/three here, for tenant/two there\n",
        ],
    );
    assert_eq!(repo.git(&["diff", "--cached", "--name-only"]), "");
}

#[test]
fn nothing_is_written_to_the_repo() {
    let repo = with_branches(&[("tenant/two", 1)]);
    repo.git(&["checkout", "--quiet", "base"]);
    repo.want("tenant/three", 1);
    let before = repo.on_disk(".git");

    repo.diff(&["--base", "base", "--with", "two"]).expect(1);

    assert!(before == repo.on_disk(".git"), "a file in .git changed");
}

#[test]
fn two_branches_that_create_one_cluster_conflict_in_its_file() {
    let repo = with_branches(&[("tenant/two", 1)]);
    repo.git(&["checkout", "--quiet", "-b", "again", "base"]);
    repo.want("tenant/two", 2);
    repo.generate(&[]).expect(0);
    repo.commit();

    let run = repo.diff(&["--base", "base", "--with", "two"]).expect(1);

    assert_says(
        &run.stdout,
        &[
            "danger: branch two also claims the cluster name tenant/two\n",
            "danger: branch two conflicts with this change in clusters/tenant.two.yaml\n",
            "    the effect of either merge is unknown until the conflicts in inputs are resolved\n",
        ],
    );
}

#[test]
fn two_branches_that_use_one_node_port_are_reported() {
    let repo = Repo::generated("quickstart");
    repo.commit();
    repo.git(&["branch", "--force", "base"]);
    repo.git(&["checkout", "--quiet", "-b", "one"]);
    let cluster = |name: &str| {
        let text = repo.read(EDGE).replace("name: edge", &format!("name: {name}"));
        let text: String = text.split("\n---").next().unwrap().replace("30022", "30122");
        text.replace("30000", "30122")
    };
    repo.write("sites/lab/clusters/one.yaml", &cluster("one"));
    repo.commit();
    repo.git(&["checkout", "--quiet", "-b", "two", "base"]);
    repo.write("sites/lab/clusters/two.yaml", &cluster("two"));
    repo.commit();

    let run = repo.diff(&["--base", "base", "--with", "one"]).expect(1);

    assert_says(
        &run.stdout,
        &["branch one also claims NodePort 30122: for tenant-a/two here, for tenant-a/one there\n"],
    );
}

#[test]
fn independent_branches_are_named() {
    let repo = with_branches(&[("tenant/two", 1)]);
    repo.git(&["checkout", "--quiet", "-b", "docs", "base"]);
    repo.write("README.md", "a page\n");
    repo.commit();

    let run = repo.diff(&["--base", "base", "--with", "two"]).expect(0);

    assert_eq!(run.stdout.lines().next(), Some("branch two and this change are independent"));
}

#[test]
fn a_branch_without_commits_of_its_own_is_skipped() {
    let repo = with_branches(&[("tenant/two", 1)]);

    let run = repo.diff(&["--base", "base", "--with", "base", "--with", "two"]).expect(1);

    assert_says(
        &run.stderr,
        &[
            "note: `base` has no commits that the base lacks.\n",
            "note: `two` has no commits that this change lacks.\n",
        ],
    );
}

#[test]
fn an_unknown_branch_is_refused() {
    let repo = with_branches(&[("tenant/two", 1)]);

    let run = repo.diff(&["--base", "base", "--with", "nowhere"]).expect(2);

    assert_says(&run.stderr, &["there is no revision `nowhere` here"]);
}

#[test]
fn markdown_and_json_have_the_same_conflicts() {
    let repo = with_branches(&[("tenant/two", 1), ("tenant/three", 1)]);
    let with = |format: &str| {
        let arguments = ["--base", "base", "--with", "two", "--format", format];
        repo.diff(&arguments).expect(1).stdout
    };

    assert_says(
        &with("markdown"),
        &[
            "## sipgen: conflicts with 1 open change, ",
            "> [!CAUTION]\n> - branch `two` also claims host `metal/host-2`: for `tenant/three` here, for `tenant/two` there\n",
            "> - if `two` is merged first: `tenant/three` gets `metal/host-3` instead of `metal/host-2`\n",
        ],
    );
    let json: serde_json::Value = serde_json::from_str(&with("json")).unwrap();
    assert_eq!(
        json["openChanges"][0]["claims"][0],
        serde_json::json!({
            "kind": "host",
            "name": "metal/host-2",
            "here": {"namespace": "tenant", "name": "three"},
            "there": {"namespace": "tenant", "name": "two"},
        })
    );
}

#[test]
fn an_error_of_its_own_is_not_blamed_on_the_other_change() {
    let repo = with_branches(&[("tenant/two", 1)]);
    repo.git(&["checkout", "--quiet", "-b", "big", "base"]);
    repo.want("tenant/big", 9);
    repo.commit();

    let run = repo.diff(&["--base", "base", "--with", "two"]).expect(1);

    assert!(!run.stdout.contains("tenant/big cannot"), "{}", run.stdout);
    assert!(!run.stdout.contains("hosts of tenant/big"), "{}", run.stdout);
}
