//! What becomes of a run that is killed: nothing half written, and the next run makes the rest.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use crate::support::Repo;

/// Puts files into the output directory, and nothing else.
fn put(repo: &Repo, files: &BTreeMap<String, String>) {
    let output = repo.path().join("overlays");
    if output.exists() {
        fs::remove_dir_all(output).unwrap();
    }
    for (path, text) in files {
        repo.write(&format!("overlays/{path}"), text);
    }
}

/// Every state that a run leaves that is killed between two changes: whole files are renamed into their places
/// in the order of their paths, then others are deleted.
fn interrupted(
    before: &BTreeMap<String, String>,
    after: &BTreeMap<String, String>,
) -> Vec<BTreeMap<String, String>> {
    let written = after.iter().filter(|(path, text)| before.get(*path) != Some(text));
    let deleted = before.keys().filter(|path| !after.contains_key(*path));
    let changes: Vec<(&String, Option<&String>)> = written
        .map(|(path, text)| (path, Some(text)))
        .chain(deleted.map(|path| (path, None)))
        .collect();
    let state = |done: usize| {
        let mut files = before.clone();
        for (path, text) in &changes[..done] {
            match text {
                Some(text) => files.insert((*path).clone(), (*text).clone()),
                None => files.remove(*path),
            };
        }
        files
    };
    (0..=changes.len()).map(state).collect()
}

/// Whatever part of a run's changes was made, the next run makes the same files of it as the whole run did.
#[track_caller]
fn heals_from_everywhere(repo: &Repo, options: &[&str]) {
    let before = repo.files("overlays");
    repo.generate(options).expect(0);
    let after = repo.files("overlays");
    let states = interrupted(&before, &after);
    assert!(states.len() > 2, "there is nothing to interrupt");
    for (done, state) in states.into_iter().enumerate() {
        put(repo, &state);
        repo.generate(options).expect(0);
        assert_eq!(repo.files("overlays"), after, "interrupted after {done} changes");
    }
}

#[test]
fn an_interrupted_first_run_is_healed_by_the_next() {
    heals_from_everywhere(&Repo::of_fixture("multi-cluster"), &[]);
}

#[test]
fn an_interrupted_deletion_of_a_cluster_is_healed_by_the_next_run() {
    let repo = Repo::generated("multi-cluster");
    repo.remove("tenants/tenant-a/edge.yaml");

    heals_from_everywhere(&repo, &[]);
}

#[test]
fn an_interrupted_end_of_all_clusters_is_healed_by_the_next_run() {
    let repo = Repo::generated("observed");
    repo.remove("clusters/edge.yaml");

    heals_from_everywhere(&repo, &["--allow-empty"]);
}

#[test]
fn interrupted_changes_of_outputs_are_healed_by_the_next_run() {
    heals_from_everywhere(&Repo::of_fixture("outputs"), &[]);
    let repo = Repo::generated("outputs");
    repo.replace("clusters/edge.yaml", "active: 1", "active: 2");
    repo.replace("sipgen.yaml", "tier: prod", "tier: test");

    heals_from_everywhere(&repo, &[]);
}

#[test]
fn an_interrupted_move_of_hosts_between_clusters_is_healed_by_the_next_run() {
    // One way or the other, one of the two files is written before its fellow.
    for (giving, taking) in [("tenant/one", "tenant/two"), ("tenant/two", "tenant/one")] {
        let repo = Repo::of_hosts(5);
        repo.want(giving, 4);
        repo.want(taking, 1);
        repo.generate(&[]).expect(0);
        repo.want(giving, 1);
        repo.want(taking, 4);

        heals_from_everywhere(&repo, &[]);
    }
}

#[test]
fn a_host_written_for_its_new_cluster_and_not_yet_removed_from_the_old_one_is_with_the_new_one() {
    let repo = Repo::of_hosts(2);
    repo.want("tenant/old", 2);
    repo.want("tenant/new", 0);
    repo.generate(&[]).expect(0);
    let old_file = "overlays/hosts/declared/inventory/tenant.old.yaml";
    let before = repo.read(old_file);
    repo.want("tenant/old", 1);
    repo.want("tenant/new", 1);
    repo.generate(&[]).expect(0);

    repo.write(old_file, &before);
    repo.generate(&[]).expect(0);

    assert_eq!(repo.hosts_of("tenant", "new"), ["Worker metal/host-2"]);
    assert_eq!(repo.hosts_of("tenant", "old"), ["Worker metal/host-1"]);
}

/// Starts a run, and kills it some time after it has begun to change the output directory.
fn kill(repo: &Repo, begun: &dyn Fn() -> bool, later: Duration) {
    let mut child = repo.sipgen(&["generate"]).stderr(Stdio::null()).spawn().unwrap();
    while !begun() && child.try_wait().unwrap().is_none() {}
    thread::sleep(later);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Times between the first change of a run and its death.
fn moments() -> impl Iterator<Item = Duration> + Clone {
    (0..12).map(|step| Duration::from_micros(step * 250))
}

#[test]
fn a_killed_run_leaves_whole_files_and_the_next_one_makes_the_rest() {
    let repo = Repo::generated("multi-cluster");
    let whole = repo.files("overlays");
    let mut caught = 0;

    // On a busy machine, many a run ends before it is killed.
    for later in moments().cycle().take(120) {
        if caught == 6 {
            break;
        }
        put(&repo, &BTreeMap::new());
        kill(&repo, &|| repo.exists("overlays"), later);

        let left = repo.files("overlays");
        caught += usize::from(left != whole);
        let temporary = |path: &str| path.split('/').any(|name| name.starts_with(".sipgen-"));
        for (path, text) in left.iter().filter(|(path, _)| !temporary(path)) {
            assert_eq!(Some(text), whole.get(path), "{path}");
        }
        repo.generate(&[]).expect(0);
        assert_eq!(repo.files("overlays"), whole);
    }

    assert!(caught > 0, "no run was killed in time");
}

#[test]
fn a_killed_run_forgets_no_host_that_is_given_back() {
    let repo = Repo::empty();
    let hosts: String =
        (1..=400).map(|number| crate::support::live_host(&format!("host-{number}"), "")).collect();
    repo.write("snapshot/hosts.yaml", &hosts);
    let others: Vec<String> = (1..=150).map(|number| format!("beta/cluster-{number}")).collect();
    others.iter().for_each(|cluster| repo.want(cluster, 1));
    repo.want("alpha/one", 2);
    repo.generate(&[]).expect(0);
    let before = repo.files("overlays");
    others.iter().for_each(|cluster| repo.want(cluster, 2));
    repo.want("alpha/one", 1);
    let alpha = repo.path().join("overlays/hosts/observed/alpha.one/hosts.yaml");

    for later in moments() {
        put(&repo, &before);
        let inode = || fs::metadata(&alpha).unwrap().ino();
        let first = inode();
        kill(&repo, &|| inode() != first, later);
        repo.generate(&[]).expect(0);

        let released = repo.read("overlays/hosts/observed/released/hosts.yaml");
        assert!(released.contains("\"host-2\""), "{released}");
    }
}
