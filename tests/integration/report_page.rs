//! `sipgen report`: the page is written with care, and works in a real browser.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::support::{EDGE, Repo, Run, assert_says, edge_with, fixtures, host, run, run_tool, text};

/// Where `tests/tools/install` puts what the browser's tests need.
const INSTALLED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/target/tools/browser");

fn report(repo: &Repo, arguments: &[&str]) -> Run {
    let all: Vec<&str> = ["report"].into_iter().chain(arguments.iter().copied()).collect();
    run(&mut repo.sipgen(&all))
}

/// The page of a repo, whose input may have errors.
fn page(repo: &Repo) -> String {
    report(repo, &["--html", "-"]).stdout
}

/// Node.js: the machine's, if it is new enough, or the one that was installed.
fn node() -> Command {
    let installed = Path::new(INSTALLED).join("node/bin/node");
    Command::new(if installed.is_file() { installed } else { "node".into() })
}

/// Opens a repo's page in Chromium and has a script of `tests/browser` check it.
#[track_caller]
fn in_the_browser(script: &str, repo: &Repo) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("site.html");
    fs::write(&file, page(repo)).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser").join(script);

    let output = run_tool(node().arg(script).arg(INSTALLED).arg(&file));

    assert!(
        output.status.success(),
        "{}{}\nif a tool is missing: `tests/tools/install` installs what the tests need",
        text(&output.stdout),
        text(&output.stderr)
    );
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
    repo.write("hosts.yaml", &(host("host-1", &labels) + &host("host-2", "")));
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
    let path = Path::new(INSTALLED).join("node/bin");
    let path = format!("{}:{}", path.display(), std::env::var("PATH").unwrap_or_default());

    let output = run_tool(Command::new(compiler).env("PATH", path).args(["--project", "src/report/page"]));

    assert!(output.status.success(), "{}", text(&output.stdout));
}

#[test]
fn the_same_input_gives_the_same_page() {
    let (one, other) = (Repo::generated("multi-cluster"), Repo::generated("multi-cluster"));

    assert!(page(&one) == page(&other));
}

#[test]
fn a_page_is_written_where_it_is_asked_for_and_nothing_else_is() {
    let repo = Repo::of_fixture("quickstart");
    let elsewhere = tempfile::tempdir().unwrap();
    let file = elsewhere.path().join("site.html");

    report(&repo, &["--html", file.to_str().unwrap()]).expect(0);

    assert_eq!(fs::read_to_string(&file).unwrap(), page(&repo));
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 1);
}

#[test]
fn a_page_is_replaced_and_one_that_stays_the_same_is_not_touched() {
    let repo = Repo::of_fixture("quickstart");
    report(&repo, &["--html", "site.html"]).expect(0);
    let first = repo.on_disk("")["site.html"].clone();

    report(&repo, &["--html", "site.html"]).expect(0);
    assert_eq!(repo.on_disk("")["site.html"], first);

    repo.replace(EDGE, "name: edge", "name: verge");
    report(&repo, &["--html", "site.html"]).expect(0);
    let second = repo.read("site.html");
    assert!(second.contains("verge") && second.as_bytes() != first.content);
}

#[test]
fn what_is_no_page_of_ours_is_not_replaced() {
    let repo = Repo::of_fixture("quickstart");
    repo.write("notes.html", "<!doctype html>\n<p>mine</p>\n");
    repo.write("empty.html", "");
    symlink("notes.html", repo.path().join("link.html")).unwrap();
    for (file, reason) in [
        ("notes.html", "is not a page that sipgen made"),
        ("empty.html", "is not a page that sipgen made"),
        ("link.html", "is no plain file"),
        ("sites", "is no plain file"),
        ("nowhere/site.html", "there is no directory nowhere"),
        ("sites/", "is no plain file"),
        ("", "names no file"),
    ] {
        let run = report(&repo, &["--html", file]).expect(2);

        assert_says(&run.stderr, &[file, reason]);
    }
    assert_eq!(repo.read("notes.html"), "<!doctype html>\n<p>mine</p>\n");
    assert_eq!(repo.read("empty.html"), "");
}

#[test]
fn errors_are_told_by_the_page_and_by_the_exit_code() {
    let repo = edge_with("active: 2", "active: 200");

    let run = report(&repo, &["--html", "-"]).expect(1);

    assert_says(&run.stderr, &["error"]);
    assert_says(&run.stdout, &["\"active\":200", "\"error\":true", EDGE]);
}

#[test]
fn no_secret_is_in_a_page() {
    for fixture in ["quickstart", "observed", "jump-host"] {
        assert!(fixtures().join(fixture).is_dir());
        let page = page(&Repo::of_fixture(fixture));

        assert!(page.contains("</html>") && !page.contains("not-a-secret"), "{fixture}");
    }
}
