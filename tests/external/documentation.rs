//! The site of `docs/`, built by mdBook, and its pages whose commands need more programs than git.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;
use walkdir::WalkDir;

use crate::support::pages::{Page, Root, pages};
use crate::support::{repo_path, run};

#[test]
fn the_commands_of_the_pages_do_what_the_pages_say() {
    let failures: Vec<String> = pages()
        .iter()
        .filter(|page| page.is_followed() && page.needs_programs())
        .filter_map(|page| page.run().err())
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// The README, both tutorials and how-to pages behind them need no more than they name: git with its own defaults,
/// sipgen, and a shell.
#[test]
fn readers_need_only_git_and_sipgen() {
    let readme = fs::read_to_string(repo_path("README.md")).unwrap();
    // The clone has the fixture, and the program is compiled already.
    let clone = "```sh\nmkdir fixtures\ncp -r /fixtures/quickstart fixtures\n```\n";
    let seen = "\n```sh\ngrep -q tenant-a target/quickstart.html\n```\n";
    let readme = readme.replace("cargo run --quiet --locked --", "sipgen");
    let readme = Page { path: repo_path("README.md"), text: format!("{clone}{readme}{seen}") };
    let followed = [
        "start/sipcluster.md",
        "start/cluster-api.md",
        "how-to/flux.md",
        "how-to/review.md",
        "how-to/labels.md",
        "how-to/load-balancers.md",
        "how-to/capacity.md",
    ];
    let page = |name: &str| {
        let path = repo_path("docs").join(name);
        Page { text: fs::read_to_string(&path).unwrap(), path }
    };
    let pages: Vec<Page> = std::iter::once(readme).chain(followed.map(page)).collect();
    let failures: Vec<String> = std::thread::scope(|scope| {
        let runs: Vec<_> =
            pages.iter().map(|page| scope.spawn(|| page.run_in(Root::Container).err())).collect();
        runs.into_iter().filter_map(|run| run.join().unwrap()).collect()
    });
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// mdBook warns about, for example, unclosed HTML tags, which hide the text behind them.
#[test]
fn the_site_is_built_without_a_warning_and_its_links_lead_somewhere() {
    let site = tempfile::tempdir().unwrap();
    let built = run(Command::new("mdbook")
        .args(["build", "--dest-dir"])
        .arg(site.path())
        .arg(repo_path("")))
    .expect(0);
    for level in ["WARN", "ERROR"] {
        assert!(!built.stderr.contains(level), "{}", built.stderr);
    }

    let site = site.path().canonicalize().unwrap();
    let pages: BTreeMap<PathBuf, String> = WalkDir::new(&site)
        .into_iter()
        .map(|entry| entry.unwrap().into_path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "html"))
        .map(|path| (path.clone(), fs::read_to_string(path).unwrap()))
        .collect();
    let identifiers: BTreeMap<&PathBuf, BTreeSet<&str>> =
        pages.iter().map(|(path, page)| (path, attributes(page, "id").collect())).collect();
    let mut broken = Vec::new();
    let mut checked = 0;
    // The page for missing pages has absolute links, which fit the site's root only.
    for (path, page) in pages.iter().filter(|(path, _)| !path.ends_with("404.html")) {
        let links = attributes(page, "href").chain(attributes(page, "src"));
        for target in links.filter(|target| !target.contains(':')) {
            checked += 1;
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file = match file {
                "" => path.clone(),
                file => path.with_file_name(file),
            };
            let leads = file.canonicalize().is_ok_and(|file| {
                file.starts_with(&site)
                    && (anchor.is_empty() || identifiers[&file].contains(anchor))
            });
            if !leads {
                broken.push(format!("{}: {target}", shown(path, &site)));
            }
        }
    }
    assert!(broken.is_empty(), "broken links:\n{}", broken.join("\n"));
    assert!(checked > 2000, "only {checked} links were found");
}

fn shown(path: &Path, site: &Path) -> String {
    path.strip_prefix(site).unwrap().display().to_string()
}

/// The values of an attribute in a page.
fn attributes<'a>(page: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let attribute = Regex::new(&format!(r#"\s{name}="([^"]*)""#)).unwrap();
    let values: Vec<&str> =
        attribute.captures_iter(page).map(|found| found.get(1).unwrap().as_str()).collect();
    values.into_iter()
}
