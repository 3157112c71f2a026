//! The tests of `integration::report_page` that need another program.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::scenes::report_page::page;
use crate::support::{Repo, live_host, run, run_tool, text};

/// Where `tests/tools/install` puts what the browser's tests need.
const INSTALLED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/target/tools/browser");

/// Node.js: the machine's, if it is new enough, or the one that was installed.
fn node() -> Command {
    let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/node/bin/node");
    Command::new(if installed.is_file() { installed } else { "node".into() })
}

/// Opens a repo's page in Chromium and has a script of `tests/browser` check it.
#[track_caller]
fn in_the_browser(script: &str, repo: &Repo) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("site.html");
    fs::write(&file, page(repo)).unwrap();
    let status = directory.path().join("status.json");
    let shown = run(&mut repo.sipgen(&["status", "--format", "json"]));
    fs::write(&status, shown.stdout).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser").join(script);

    let mut node = node();
    node.env("SIPGEN_STATUS", status);
    let output = run_tool(node.arg(script).arg(INSTALLED).arg(&file));

    assert!(
        output.status.success(),
        "{}{}\nif a tool is missing: `tests/tools/install` installs what the tests need",
        text(&output.stdout),
        text(&output.stderr)
    );
}

#[test]
fn the_verdict_has_the_numbers_of_the_status() {
    let repo = Repo::generated("multi-cluster");
    in_the_browser("verdict.mjs", &repo);

    repo.replace("tenants/tenant-a/core.yaml", "        active: 3\n", "        active: 9\n");
    in_the_browser("verdict.mjs", &repo);
}

/// On each side of a week, by the clock of the reader.
#[test]
fn the_verdict_says_how_old_the_snapshot_is() {
    let repo = Repo::of_fixture("observed");
    let mut commit = Command::new("git");
    commit
        .args(["-c", "user.name=test", "-c", "user.email=test@example.com"])
        .args(["commit", "--quiet", "--amend", "--no-edit", "--date", "2026-03-01T12:00:00Z"])
        .env("GIT_COMMITTER_DATE", "2026-03-01T12:00:00Z")
        .current_dir(repo.path());
    assert!(run_tool(&mut commit).status.success());

    in_the_browser("snapshot_age.mjs", &repo);
}

#[test]
fn nothing_is_cut_off_and_no_box_scrolls_inside_the_page() {
    let repo = Repo::generated("multi-cluster");
    repo.replace("tenants/tenant-a/core.yaml", "        active: 3\n", "        active: 9\n");
    let long = "a-host-with-a-name-that-is-longer-than-a-box.rack-3.west.example.com";
    repo.write("more/hosts.yaml", &live_host(long, ""));

    in_the_browser("layout.mjs", &repo);
}

/// The page lists 200 findings, and counts all.
#[test]
fn the_verdict_counts_errors_that_the_page_does_not_list() {
    let repo = Repo::of_hosts(1);
    for number in 0..230 {
        repo.want(&format!("metal/cluster-{number}"), 1);
    }

    in_the_browser("many_errors.mjs", &repo);
}

#[test]
fn filters_show_what_is_asked_for() {
    in_the_browser("filters.mjs", &Repo::of_fixture("multi-cluster"));
}

#[test]
fn keys_lead_everywhere() {
    in_the_browser("keyboard.mjs", &Repo::of_fixture("multi-cluster"));
}

#[test]
fn the_table_can_be_sorted() {
    in_the_browser("table.mjs", &Repo::of_fixture("multi-cluster"));
}

#[test]
fn capacity_and_resilience_are_shown() {
    in_the_browser("capacity.mjs", &Repo::generated("multi-cluster"));
}

#[test]
fn a_slider_shows_the_steps_of_a_drain() {
    let repo = Repo::generated("multi-cluster");
    let settings = repo.read("sipgen.yaml");
    let marks = "maintenance:\n  - {hosts: [metal3/a3u14, metal3/a12u10], reason: broken fan}\n";
    repo.write("sipgen.yaml", &(settings + marks));

    in_the_browser("drain.mjs", &repo);
}

#[test]
fn machines_are_found_by_their_names() {
    let repo = Repo::of_fixture("provisioning");
    repo.want("lab/tenant", 1);

    in_the_browser("machines.mjs", &repo);
}

#[test]
fn where_all_clusters_are_of_one_kind_there_is_no_choice_of_kinds() {
    in_the_browser("one_kind.mjs", &Repo::of_fixture("multi-cluster"));
}

#[test]
fn light_and_dark_follow_the_system_or_the_reader() {
    in_the_browser("themes.mjs", &Repo::of_fixture("multi-cluster"));
}

#[test]
fn everybody_can_read_it() {
    let repo = Repo::generated("multi-cluster");
    // Hosts of every state, a cluster that lacks hosts, and findings.
    repo.replace("tenants/tenant-a/core.yaml", "        active: 3\n", "        active: 9\n");
    repo.replace("tenants/tenant-b/lab.yaml", "        active: 2\n", "        active: 1\n");

    in_the_browser("accessibility.mjs", &repo);

    let repo = Repo::of_fixture("provisioning");
    repo.replace("clusters/press.yaml", "qat: true", "cpu: 500");
    repo.want("lab/tenant", 1);
    in_the_browser("accessibility.mjs", &repo);
}

#[test]
fn names_from_the_input_stay_text() {
    let repo = Repo::empty();
    let hostile = r#"</script><img src=x onerror="document.title='taken'">"#;
    let labels = format!("  labels:\n    example.com/rack: '{}'\n", hostile.replace('\'', "''"));
    repo.write("hosts.yaml", &(live_host("host-1", &labels) + &live_host("host-2", "")));
    repo.write(
        "cluster.yaml",
        "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {namespace: a, name: b}\n\
         spec: {nodes: {Worker: {labelSelector: {}, topologyKey: example.com/rack, count: {active: 1}}}}\n",
    );

    in_the_browser("hostile_names.mjs", &repo);
}

#[test]
fn ten_thousand_hosts_are_no_burden() {
    let repo = Repo::of_hosts(10_000);
    repo.want("tenant/batch", 500);

    in_the_browser("ten_thousand_hosts.mjs", &repo);
}

#[test]
fn the_scripts_are_sound() {
    let compiler = Path::new(INSTALLED).join("node_modules/.bin/tsc");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/node/bin");
    let path = format!("{}:{}", path.display(), std::env::var("PATH").unwrap_or_default());

    let output =
        run_tool(Command::new(compiler).env("PATH", path).args(["--project", "src/report/page"]));

    assert!(output.status.success(), "{}", text(&output.stdout));
}
