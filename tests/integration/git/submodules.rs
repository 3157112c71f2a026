//! Inventories that are another repo's.

use camino::Utf8Path;
use sipgen::Options;
use sipgen::input::load::Files;

use crate::support::scenes::git::identify;
use crate::support::{Repo, assert_says, host, run};

/// A repo with a cluster, whose hosts come from a submodule.
struct Site {
    repo: Repo,
    inventory: Repo,
}

fn site() -> Site {
    let inventory = Repo::of_hosts(2);
    inventory.commit();
    let repo = Repo::empty();
    identify(&repo);
    repo.git(&["config", "protocol.file.allow", "always"]);
    add(&repo, &inventory, "metal", "the hosts");
    repo.want("tenant/one", 1);
    repo.generate(&[]).expect(0);
    repo.commit();
    Site { repo, inventory }
}

fn add(repo: &Repo, submodule: &Repo, path: &str, name: &str) {
    let from = submodule.path().to_str().unwrap();
    repo.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        "--name",
        name,
        from,
        path,
    ]);
}

/// The hosts that a revision has.
fn hosts_at(repo: &Repo, revision: &str) -> Result<usize, String> {
    let files = Files::at_revision(Utf8Path::from_path(repo.path()).unwrap(), revision);
    let files = files.map_err(|error| error.to_string())?;
    let generated = sipgen::generate(&files, &Options::default(), &|_| {})
        .map_err(|error| error.to_string())?;
    Ok(generated.site.inventory.hosts.len())
}

#[test]
fn hosts_of_a_submodule_are_read_from_everywhere() {
    let Site { repo, .. } = site();

    assert_eq!(repo.hosts_of("tenant", "one"), ["Worker metal/host-1"]);
    repo.generate(&["--check"]).expect(0);
    repo.generate(&["--from-index", "--check"]).expect(0);
    assert_eq!(hosts_at(&repo, "HEAD"), Ok(2));
}

#[test]
fn in_git_the_recorded_commit_counts() {
    let Site { repo, .. } = site();
    repo.write("metal/inventory/more.yaml", &host("host-3", ""));
    repo.replace("metal/inventory/kustomization.yaml", "[hosts.yaml]", "[hosts.yaml, more.yaml]");
    repo.git(&["-C", "metal", "add", "--all"]);
    repo.git(&["-C", "metal", "commit", "--quiet", "--message", "more"]);
    repo.want("tenant/one", 3);
    repo.git(&["add", "clusters"]);

    let run = repo.generate(&["--from-index", "--check"]).expect(1);

    assert_says(&run.stderr, &["1 of the 3 Worker hosts of tenant/one cannot be found"]);
    repo.git(&["add", "metal"]);
    repo.generate(&["--from-index"]).expect(0);
    assert_eq!(repo.hosts_of("tenant", "one").len(), 3);
    assert_eq!(hosts_at(&repo, "HEAD"), Ok(2));
}

#[test]
fn a_submodule_within_a_submodule_is_read() {
    let Site { repo, inventory } = site();
    let more = Repo::of_hosts(0);
    more.write("inventory/hosts.yaml", &host("host-3", ""));
    more.commit();
    add(&inventory, &more, "racks", "racks");
    inventory.commit();
    repo.git(&["-C", "metal", "pull", "--quiet"]);
    repo.git(&[
        "-C",
        "metal",
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "update",
        "--init",
    ]);
    repo.want("tenant/one", 3);
    repo.generate(&[]).expect(0);
    repo.commit();

    assert_eq!(repo.hosts_of("tenant", "one").len(), 3);
    repo.generate(&["--from-index", "--check"]).expect(0);
    assert_eq!(hosts_at(&repo, "HEAD"), Ok(3));
    assert_eq!(hosts_at(&repo, "HEAD~"), Ok(2));
}

#[test]
fn a_submodule_that_is_not_checked_out_is_an_error_and_not_an_empty_inventory() {
    let Site { repo, inventory: _inventory } = site();
    let clone = tempfile::tempdir().unwrap();
    let path = clone.path().to_str().unwrap();
    repo.git(&["clone", "--quiet", ".", path]);
    let run = |arguments: &[&str]| {
        let arguments = [&["generate", "--check", "--repo", path], arguments].concat();
        crate::support::run(&mut repo.sipgen(&arguments))
    };

    for arguments in [&[][..], &["--from-index"]] {
        let run = run(arguments).expect(1);
        assert_says(
            &run.stderr,
            &[
                "SIP0017",
                "host `metal/host-1` of `tenant/one` is missing",
                "the submodule metal is not checked out",
                "git submodule update --init metal",
            ],
        );
    }
    repo.git(&[
        "-C",
        path,
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "update",
        "--init",
        "metal",
    ]);
    run(&[]).expect(0);
    run(&["--from-index"]).expect(0);
}

/// A generated repo with a submodule `theme` that is not checked out.
fn with_missing_submodule() -> Repo {
    let (repo, theme) = (Repo::generated("quickstart"), Repo::of_hosts(1));
    theme.commit();
    add(&repo, &theme, "theme", "theme");
    repo.commit();
    repo.git(&["submodule", "--quiet", "deinit", "theme"]);
    std::fs::remove_dir_all(repo.path().join(".git/modules")).unwrap();
    repo
}

#[test]
fn a_submodule_that_nobody_needs_may_be_missing() {
    let repo = with_missing_submodule();
    let warned = repo.generate(&["--check"]).expect(0);
    assert_says(&warned.stderr, &["warning[SIP0624]: the submodule theme is not checked out"]);
    run(&mut repo.sipgen(&["init", "--dry-run"])).expect(0);

    repo.git(&["config", "--file", ".gitmodules", "submodule.theme.update", "none"]);
    repo.git(&["add", ".gitmodules"]);

    for arguments in [&["--check"][..], &["--check", "--from-index"]] {
        let run = repo.generate(arguments).expect(0);
        assert!(!run.stderr.contains("theme"), "{}", run.stderr);
    }
}

#[test]
fn a_missing_submodule_that_an_agent_applies_or_snapshots_lie_in_is_an_error() {
    let repo = with_missing_submodule();
    repo.write("sipgen.yaml", "snapshot: {directory: theme/hosts}\n");
    repo.generate(&["--check"]).expect(2);

    let repo = with_missing_submodule();
    repo.write(
        "flux.yaml",
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n\
         metadata: {name: theme, namespace: flux-system}\n\
         spec: {path: ./theme/inventory, sourceRef: {kind: GitRepository, name: flux-system}}\n",
    );
    let refused = repo.generate(&["--check"]).expect(2);
    assert_says(&refused.stderr, &["git submodule update --init theme"]);
}

#[test]
fn a_request_in_a_missing_submodule_is_not_lost() {
    let (repo, requests) = (Repo::of_hosts(2), Repo::empty());
    identify(&repo);
    requests.want("metal/edge", 1);
    requests.commit();
    add(&repo, &requests, "tenants", "tenants");
    repo.generate(&[]).expect(0);
    repo.commit();
    repo.git(&["submodule", "--quiet", "deinit", "tenants"]);
    std::fs::remove_dir_all(repo.path().join(".git/modules")).unwrap();

    let said = repo.generate(&["--allow-empty"]).expect(1).stderr;

    assert_says(&said, &["SIP0017", "cluster `metal/edge` is missing", "update --init tenants"]);
    assert_eq!(said.matches("is not checked out").count(), 1, "one reason, once: {said}");
    assert_eq!(repo.hosts_of("metal", "edge").len(), 1);
}

#[test]
fn a_submodule_of_an_evil_name_speaks_neither_to_the_terminal_nor_to_the_shell() {
    let repo = Repo::generated("quickstart");
    let name = "\u{1b}[2J;touch x";
    repo.git(&[
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("160000,{},{name}", "1".repeat(40)),
    ]);

    for arguments in [&["--check"][..], &["--check", "--from-index"]] {
        let run = repo.generate(arguments).expect(0);
        assert_says(&run.stderr, &["--init '\\u{1b}[2J;touch x'`"]);
    }
}

#[test]
fn a_commit_that_the_submodule_lacks_is_named() {
    let Site { repo, .. } = site();
    let unknown = "1".repeat(40);
    repo.git(&["update-index", "--cacheinfo", &format!("160000,{unknown},metal")]);

    let run = repo.generate(&["--from-index", "--check"]).expect(1);

    assert_says(
        &run.stderr,
        &["the submodule metal is recorded at 1111", "git -C metal fetch origin 1111"],
    );
}

#[test]
fn a_submodule_is_subject_to_its_own_gitignore_only() {
    let Site { repo, inventory } = site();
    inventory.write(".gitignore", "local.yaml\n");
    inventory.write("inventory/hosts.json", r#"{"apiVersion": "v1", "kind": "List", "items": []}"#);
    inventory.commit();
    repo.git(&["-C", "metal", "pull", "--quiet"]);
    repo.write(".gitignore", "inventory/\n");
    repo.write("metal/local.yaml", &host("host-3", ""));
    repo.commit();

    repo.generate(&["--check"]).expect(0);

    repo.generate(&["--from-index", "--check"]).expect(0);
}

#[test]
fn a_missing_submodule_matters_only_where_an_input_or_a_build_could_be_in_it() {
    let repo = with_missing_submodule();
    let with_settings = |settings: &str, code: i32| {
        repo.write("sipgen.yaml", settings);
        repo.git(&["add", "sipgen.yaml"]);
        let runs = [&["--check"][..], &["--check", "--from-index"]]
            .map(|arguments| repo.generate(arguments).expect(code));
        runs.map(|run| run.stderr)
    };

    for said in with_settings("", 0) {
        assert_says(
            &said,
            &["git submodule update --init theme", "sources: [{paths: [\"!theme\"]}]"],
        );
    }
    with_settings("sources: [{paths: [\"!theme\"]}]\n", 0);
    with_settings("sources: [{paths: [\"sites/**/*.yaml\"]}]\n", 0);
    with_settings("sources: [{paths: [\"sites/**/*.yaml\", \"the*/**/*.yaml\"]}]\n", 2);

    // A build of the site's hosts is in it.
    repo.write("sites/lab/kustomization.yaml", "resources: [hosts, ../../theme/inventory]\n");
    repo.git(&["add", "sites"]);
    for said in with_settings("sources: [{paths: [\"!theme\"]}]\n", 2) {
        assert_says(
            &said,
            &["sites/lab/kustomization.yaml lists it", "git submodule update --init theme"],
        );
    }
}
