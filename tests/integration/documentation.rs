//! The pages of `docs/`: what they have readers type is run, and their links lead somewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;
use walkdir::WalkDir;

use crate::support::pages::{Page, pages};
use crate::support::repo_path;

/// Pages with commands that readers follow.
const FOLLOWED: [&str; 2] = ["docs/start/sipcluster.md", "docs/start/cluster-api.md"];

#[test]
fn the_commands_of_the_pages_do_what_the_pages_say() {
    let mut run = BTreeMap::new();
    let mut failures = Vec::new();
    let followed = |page: &&Page| page.is_followed() && !page.needs_programs();
    for page in pages().iter().filter(followed) {
        match page.run() {
            Ok(steps) => drop(run.insert(page.name(), steps)),
            Err(failure) => failures.push(failure),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    for page in FOLLOWED {
        assert!(run[page] >= 8, "{page} has {} steps", run[page]);
    }
}

/// A reader has the repo of a tutorial, and a fixture only if the page names it.
#[test]
fn pages_continue_in_a_repo_that_their_readers_have() {
    let origin = Regex::new("<!-- (after|repo): (.*) -->").unwrap();
    let mut wrong = Vec::new();
    let is_followed = |page: &Page| !page.name().starts_with("docs/reference/findings");
    for page in pages().into_iter().filter(is_followed) {
        for found in origin.captures_iter(&page.text) {
            let named = match &found[1] {
                "after" => format!("](../{}", &found[2]),
                _ => format!("`fixtures/{}`", &found[2]),
            };
            if !page.text.contains(&named) {
                wrong.push(format!("{} does not name {}", page.name(), &found[2]));
            }
        }
        if page.text.contains("<!-- run: ") {
            wrong.push(format!("{} hides a command from its readers", page.name()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_link_leads_to_a_page_and_heading_that_exist() {
    let mut broken = Vec::new();
    let others = [
        "README.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "ARCHITECTURE.md",
        "examples/README.md",
        "fixtures/README.md",
        "release/README.md",
    ];
    let others = others.map(|name| Page {
        path: repo_path(name),
        text: fs::read_to_string(repo_path(name)).unwrap(),
    });
    let of_docs = pages();
    let docs = repo_path("docs");
    for page in of_docs.iter().chain(&others) {
        for (number, target) in links(&page.text) {
            let (path, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let file = match path {
                "" => page.path.clone(),
                path => normalized(&page.path.with_file_name(path)),
            };
            // The site has the files of `docs` only.
            let is_outside = page.path.starts_with(&docs) && !file.starts_with(&docs);
            let is_broken = !file.exists()
                || is_outside
                || !anchor.is_empty()
                    && !anchors(&fs::read_to_string(&file).unwrap()).contains(anchor);
            if is_broken {
                broken.push(format!("{}:{number}: {target}", page.name()));
            }
        }
    }
    assert!(broken.is_empty(), "broken links:\n{}", broken.join("\n"));
}

/// Readers decide by these versions whether sipgen fits their base cluster.
#[test]
fn the_readme_has_the_versions_that_the_tests_run() {
    let readme = fs::read_to_string(repo_path("README.md")).unwrap();
    let modules = fs::read_to_string(repo_path("tests/tools/go/go.mod")).unwrap();
    let install = fs::read_to_string(repo_path("tests/tools/install")).unwrap();
    let sources = [
        (&install, r"kustomize_version=v(\S+)"),
        (&install, r"argoproj/argo-cd/v3@v(\d+\.\d+)"),
        (&modules, r"fluxcd/kustomize-controller v(\S+)"),
        (&modules, r"k8s\.io/kubernetes v(\d+\.\d+)"),
    ];
    for (source, pattern) in sources {
        let version = &Regex::new(pattern).unwrap().captures(source).unwrap()[1];
        assert!(readme.contains(version), "{pattern}: {version}");
    }
}

#[test]
fn the_table_of_contents_lists_every_page() {
    let contents = fs::read_to_string(repo_path("docs/SUMMARY.md")).unwrap();
    let listed: BTreeSet<PathBuf> =
        links(&contents).map(|(_, target)| repo_path("docs").join(target)).collect();
    let all = pages().into_iter().map(|page| page.path);
    let all: BTreeSet<PathBuf> = all.filter(|path| !path.ends_with("SUMMARY.md")).collect();
    let differing: Vec<_> = listed.symmetric_difference(&all).collect();
    assert!(differing.is_empty(), "listed or there, not both: {differing:?}");
}

#[test]
fn pages_that_the_source_names_exist() {
    let name = Regex::new(r"\bdocs/[\w/-]+\.(?:md|json)\b").unwrap();
    for directory in ["src", "examples", "templates", "release"] {
        for file in WalkDir::new(repo_path(directory)) {
            let file = file.unwrap().into_path();
            let Ok(text) = fs::read_to_string(&file) else {
                continue;
            };
            for page in name.find_iter(&text) {
                assert!(
                    repo_path(page.as_str()).is_file(),
                    "{} names {}",
                    file.display(),
                    page.as_str()
                );
            }
        }
    }
}

/// The links of a text outside of its code, each with the number of its line, except those to other sites.
fn links(text: &str) -> impl Iterator<Item = (usize, String)> {
    let link = Regex::new(r"\]\(([^)\s]+)\)").unwrap();
    let code = Regex::new("`[^`]*`").unwrap();
    let mut is_code = false;
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        if is_code {
            continue;
        }
        // The text of a link may be code; its target is not.
        let prose = code.replace_all(line, "");
        for target in link.captures_iter(&prose) {
            if !target[1].contains("://") && !target[1].starts_with("mailto:") {
                found.push((index + 1, target[1].to_owned()));
            }
        }
    }
    found.into_iter()
}

/// The anchors of a page's headings, as GitHub and mdBook form them.
fn anchors(text: &str) -> BTreeSet<String> {
    let link = Regex::new(r"\[([^\]]*)\]\([^)]*\)").unwrap();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut is_code = false;
    let mut anchors = BTreeSet::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        let heading = line.trim_start_matches('#');
        if is_code || heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let heading = link.replace_all(heading.trim(), "$1").to_lowercase();
        let anchor: String = heading
            .chars()
            .filter(|char| char.is_alphanumeric() || " -_".contains(*char))
            .map(|char| if char == ' ' { '-' } else { char })
            .collect();
        let count = seen.entry(anchor.clone()).or_default();
        anchors.insert(match *count {
            0 => anchor,
            count => format!("{anchor}-{count}"),
        });
        *count += 1;
    }
    anchors
}

/// Removes `..` from a path without looking at the disk.
fn normalized(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part.as_os_str().to_str() {
            Some("..") => drop(out.pop()),
            _ => out.push(part),
        }
    }
    out
}
