//! The tests of `integration::inputs::left_out` that need another program.

use crate::support::scenes::inputs::{built, piped, sipgen};
use crate::support::{Repo, assert_says, documents};

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
    let repo = Repo::of_fixture("kustomize-namespaces");
    repo.write("sipgen.yaml", "gitops: flux\n");
    repo.generate(&[]).expect(0);
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
fn a_partial_inventory_replaces_no_host_that_the_repo_still_declares() {
    let rack = "sites/lab/hosts/rack-a.yaml";
    let says = ["error[SIP0014]", "the repo still declares it", &format!("--> {rack}:")];
    let repo = Repo::generated("quickstart");
    let before = repo.on_disk("overlays");
    let whole = built(&repo, "sites/lab");
    let of_rack: Vec<String> = documents(&repo.read(rack))
        .iter()
        .filter(|document| document["kind"] == "BareMetalHost")
        .map(|document| format!("name: {}\n", document["metadata"]["name"].as_str().unwrap()))
        .collect();
    let is_of_rack = |document: &&str| {
        document.contains("kind: BareMetalHost") && of_rack.iter().any(|name| document.contains(name.as_str()))
    };
    let partial: Vec<&str> = whole.split("---\n").filter(|document| !is_of_rack(document)).collect();
    let run = piped(&repo, &["generate", "--input", "-"], &partial.join("---\n")).expect(1);
    assert_says(&run.stderr, &says);
    assert!(!run.stderr.contains("SIP0506"), "{}", run.stderr);

    repo.write("sipgen.yaml", &format!("sources: [{{paths: [sites, '!{rack}']}}]\n"));
    for arguments in [&["generate"][..], &["generate", "--keep-going"]] {
        let run = sipgen(&repo, arguments).expect(1);
        assert_says(&run.stderr, &says);
        assert!(!run.stderr.contains("SIP0507"), "{}", run.stderr);
        assert!(repo.on_disk("overlays") == before);
    }
    // One whose manifest is gone from the repo is replaced, as ever.
    repo.remove(rack);
    repo.replace("sites/lab/hosts/kustomization.yaml", "  - rack-a.yaml\n", "");
    assert_says(&sipgen(&repo, &["generate", "--check"]).stderr, &["SIP0506"]);
}
