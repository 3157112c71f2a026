//! What the inputs leave out, and the repo still has.

use super::support::{Repo, assert_says, host};
use super::{built, piped, sipgen};

const WEST: &str = "sites/west/cluster.yaml";

#[test]
fn one_site_of_a_repo_with_two_does_not_delete_the_other() {
    let repo = Repo::generated("kustomize-namespaces");
    let before = repo.on_disk("");
    let east = built(&repo, "sites/east");
    for arguments in [&["generate", "--input", "-"][..], &["generate", "--input", "-", "--keep-going"]] {
        let run = piped(&repo, arguments, &east).expect(1);
        assert_says(&run.stderr, &["error[SIP0013]", "west-infra/edge is", &format!("{WEST}:5:9"), "--input"]);
    }
    assert_says(&piped(&repo, &["validate", "--input", "-"], &east).expect(1).stdout, &["error[SIP0013]"]);
    assert!(repo.on_disk("") == before);
    piped(&repo, &["generate", "--check", "--input", "-"], &(east + "---\n" + &built(&repo, "sites/west"))).expect(0);
}

#[test]
fn one_site_alone_can_be_generated_by_its_name() {
    let repo = Repo::generated("kustomize-namespaces");
    let before = repo.on_disk("overlays");
    let east = built(&repo, "sites/east");
    piped(&repo, &["generate", "--input", "-", "--only", "east-infra/edge"], &east).expect(0);
    assert!(repo.on_disk("overlays") == before);
}

#[test]
fn sources_that_name_one_site_alone_do_not_delete_the_other() {
    for sources in ["kustomization: sites/west", "paths: [sites/west]"] {
        let repo = Repo::generated("kustomize-namespaces");
        repo.write("sipgen.yaml", &format!("sources: [{{{sources}}}]\n"));
        let run = sipgen(&repo, &["generate"]).expect(1);
        assert_says(&run.stderr, &["error[SIP0013]", "east-infra/edge is", "--> sites/east/cluster.yaml:6:9"]);
        repo.remove("sites/east/cluster.yaml");
        repo.replace("sites/east/kustomization.yaml", "  - cluster.yaml\n", "");
        sipgen(&repo, &["generate"]).expect(0);
        assert!(!repo.exists("overlays/clusters/east-infra"), "{sources}");
    }
}

#[test]
fn what_was_never_generated_may_be_left_out() {
    let repo = Repo::of_hosts(1);
    repo.want("tenant-a/edge", 1);
    repo.want("tenant-b/core", 1);
    let stream = host("host-1", "") + "---\n" + &repo.read("clusters/tenant-a.edge.yaml");
    piped(&repo, &["generate", "--input", "-"], &stream).expect(0);
    piped(&repo, &["generate", "--check", "--input", "-"], &stream).expect(0);
}
