//! The catalogue of findings: one case per code.
//!
//! `fixtures/findings/SIPnnnn` is a small repo that has the mistake, and `SIPnnnn.snap` the report of
//! `sipgen validate` on it. Similar repos share a directory of `fixtures/findings/bases`; their own
//! directory then holds only added and changed files.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use sipgen::finding::Code;
use sipgen::report;

use walkdir::WalkDir;

use crate::support::{Repo, compare_generated, copy, fixtures};

/// Declares the cases: the codes per base.
macro_rules! cases {
    ($($base:expr => [$($code:ident)*])*) => {
        /// Every code that has a case, with its base.
        const CASES: &[(&str, Option<&str>)] = &[$($((stringify!($code), $base)),*),*];

        #[allow(non_snake_case)]
        mod validating_the_fixture_reports {
            $($(
                #[test]
                fn $code() {
                    super::assert_fixture_shows(stringify!($code), $base);
                }
            )*)*
        }
    };
}

cases! {
    None => [
        SIP0001 SIP0002 SIP0004 SIP0005 SIP0010 SIP0011 SIP0012 SIP0013 SIP0014 SIP0015 SIP0018 SIP0101
        SIP0102 SIP0103 SIP0104 SIP0105 SIP0106 SIP0107 SIP0108 SIP0109 SIP0110 SIP0111 SIP0113
        SIP0114 SIP0115 SIP0116 SIP0117 SIP0118 SIP0120 SIP0121 SIP0122 SIP0140 SIP0141 SIP0142
        SIP0143 SIP0201 SIP0202 SIP0203 SIP0204 SIP0205 SIP0206 SIP0207 SIP0208 SIP0209 SIP0210
        SIP0211 SIP0212 SIP0213 SIP0214 SIP0215 SIP0216 SIP0217 SIP0218 SIP0219 SIP0220 SIP0221
        SIP0231 SIP0232 SIP0233 SIP0234 SIP0235 SIP0236 SIP0237 SIP0238 SIP0239 SIP0240 SIP0241
        SIP0242 SIP0243 SIP0244 SIP0245 SIP0246 SIP0247 SIP0256 SIP0257 SIP0258 SIP0259 SIP0260 SIP0304 SIP0306 SIP0307 SIP0316 SIP0330
        SIP0331 SIP0332 SIP0333 SIP0344 SIP0345 SIP0401 SIP0403 SIP0508 SIP0520 SIP0521 SIP0610
        SIP0615 SIP0619 SIP0711 SIP0712 SIP0714 SIP0805 SIP0807 SIP0840 SIP0850 SIP0851 SIP0852 SIP0853
    ]
    Some("declared-host") => [
        SIP0303 SIP0320 SIP0321 SIP0322 SIP0323 SIP0324 SIP0325 SIP0335 SIP0336 SIP0337 SIP0338 SIP0339 SIP0346 SIP0347 SIP0348 SIP0349 SIP0350 SIP0351 SIP0352 SIP0357 SIP0501 SIP0502 SIP0509 SIP0517
        SIP0601 SIP0602 SIP0603 SIP0604 SIP0605 SIP0606 SIP0607 SIP0609 SIP0611 SIP0612 SIP0613
        SIP0614 SIP0616 SIP0617 SIP0618 SIP0620 SIP0621 SIP0622 SIP0623 SIP0624 SIP0625 SIP0701 SIP0702
        SIP0703 SIP0704 SIP0705 SIP0706 SIP0709 SIP0713
    ]
    Some("generated-cluster") => [
        SIP0311 SIP0402 SIP0503 SIP0504 SIP0505 SIP0506 SIP0507 SIP0510 SIP0511 SIP0512 SIP0513
        SIP0514 SIP0515 SIP0518 SIP0608 SIP0707
    ]
    Some("provisioning") => [
        SIP0516 SIP0540 SIP0801 SIP0802 SIP0803 SIP0804 SIP0806 SIP0808 SIP0809 SIP0810 SIP0811 SIP0812
        SIP0813 SIP0814 SIP0815 SIP0816 SIP0817 SIP0818 SIP0819 SIP0820 SIP0821 SIP0822 SIP0823
        SIP0824 SIP0826 SIP0827 SIP0828 SIP0829
    ]
    Some("load-balancer") => [
        SIP0250 SIP0251 SIP0252 SIP0253 SIP0254 SIP0255 SIP0340 SIP0341 SIP0342 SIP0343 SIP0410
        SIP0530 SIP0531 SIP0710
    ]
    Some("rack-file") => [
        SIP0301 SIP0302 SIP0305 SIP0308 SIP0309 SIP0310 SIP0312 SIP0313 SIP0314 SIP0315 SIP0317
        SIP0318 SIP0334 SIP0353
    ]
    Some("observed-hosts") => [
        SIP0003 SIP0006 SIP0007 SIP0008 SIP0009 SIP0017 SIP0019 SIP0112
    ]
    Some("metal3-cluster") => [
        SIP0354 SIP0901 SIP0902 SIP0903 SIP0904 SIP0905 SIP0906 SIP0907 SIP0908 SIP0909 SIP0910 SIP0911 SIP0912
    ]
}

/// Codes that `validate` cannot report, with the arguments of the command that does.
const OTHER_COMMANDS: [(Code, &[&str]); 8] = [
    (Code::Untranslatable, &["migrate"]),
    (Code::EmptyInput, &["validate", "--input", "rendered.yaml"]),
    (
        Code::UnknownStanding,
        &["validate", "--input", "rendered.yaml"],
    ),
    (Code::NotMigrated, &["migrate", "--check"]),
    (Code::Stale, &["generate", "--check", "--format", "github"]),
    (Code::FrozenHostGone, WITHOUT_EDGE),
    (Code::StillObserved, WITHOUT_EDGE),
    (Code::PatchMisses, WITHOUT_EDGE),
];

/// Freezes the cluster `tenant-a/edge`.
const WITHOUT_EDGE: &[&str] = &["generate", "--check", "--only", "tenant-a/core"];

/// Adds what a fixture cannot hold: large files, symbolic links, submodules.
fn complete(code: Code, repo: &Repo) {
    if code == Code::LargeBuild {
        let hosts: String = (1..=1001)
            .map(|number| crate::support::host(&format!("n{number:04}"), ""))
            .collect();
        repo.write("inventory/hosts.yaml", &hosts);
        repo.commit();
    }
    if code == Code::ListedUnread {
        std::os::unix::fs::symlink("rack-a.txt", repo.path().join("hosts/rack-a.yaml")).unwrap();
    }
    if code == Code::AppliedUnread {
        // A submodule that is not checked out.
        repo.git(&[
            "update-index",
            "--add",
            "--cacheinfo",
            &format!("160000,{},private", "1".repeat(40)),
        ]);
    }
}

fn catalogue() -> PathBuf {
    fixtures().join("findings")
}

fn base_directory(base: &str) -> PathBuf {
    catalogue().join("bases").join(base)
}

/// Returns the repo of a code: the files of its base, then its own.
fn repo_of(code: Code, base: Option<&str>) -> Repo {
    let repo = Repo::empty();
    let own = catalogue().join(code.id());
    if let Some(base) = base {
        copy(&base_directory(base), repo.path());
    }
    // A base alone shows the mistake of some codes.
    if base.is_none() || own.is_dir() {
        copy(&own, repo.path());
    }
    repo.commit_plainly();
    complete(code, &repo);
    repo
}

/// Returns the report on a code's fixture, with the exit code.
fn report_on_fixture(code: Code, base: Option<&str>) -> String {
    let repo = repo_of(code, base);
    let other = OTHER_COMMANDS.iter().find(|(known, _)| *known == code);
    let arguments: &[&str] = other.map_or(&["validate"], |(_, arguments)| arguments);
    let run = crate::support::run(&mut repo.sipgen(arguments));
    let root = repo.path().to_str().unwrap();
    format!(
        "{}{}exit code {}\n",
        run.stdout,
        if other.is_some() {
            run.stderr
        } else {
            String::new()
        },
        run.code
    )
    .replace(root, "[repo]")
}

#[track_caller]
fn assert_fixture_shows(code: &str, base: Option<&str>) {
    let report = report_on_fixture(code.parse().unwrap(), base);
    assert!(
        report.contains(code),
        "the fixture of {code} does not show it:\n{report}"
    );
    // Hosts of fixtures have boot MAC addresses, so that only one shows their absence.
    let absent = Code::InvalidBootMac.id();
    assert_eq!(report.contains(absent), code == absent, "{report}");
    insta::with_settings!({
        snapshot_path => catalogue(),
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, {
        insta::assert_snapshot!(code, report);
    });
}

#[test]
fn every_code_has_one_case() {
    let mut cases: Vec<&str> = CASES.iter().map(|(code, _)| *code).collect();
    cases.sort_unstable();
    let codes: Vec<&str> = Code::ALL.iter().map(|code| code.id()).collect();
    assert_eq!(cases, codes);
}

fn entries(directory: &Path) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn every_fixture_and_base_is_used() {
    for path in entries(&catalogue()) {
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(
            name == "bases" || name.parse::<Code>().is_ok(),
            "{} belongs to no code",
            path.display()
        );
    }
    let used: BTreeSet<PathBuf> = CASES
        .iter()
        .filter_map(|(_, base)| base.map(base_directory))
        .collect();
    assert_eq!(entries(&catalogue().join("bases")), used);
}

#[test]
fn no_fixture_repeats_a_file_of_its_base() {
    for (code, base) in CASES {
        let Some(base) = base.map(base_directory) else {
            continue;
        };
        for entry in WalkDir::new(&base) {
            let entry = entry.unwrap();
            let own = catalogue()
                .join(code)
                .join(entry.path().strip_prefix(&base).unwrap());
            assert!(
                !own.is_file() || fs::read(&own).unwrap() != fs::read(entry.path()).unwrap(),
                "{} is in the base, too",
                own.display()
            );
        }
    }
}

#[test]
fn each_code_is_explained_with_an_example() {
    for code in Code::ALL {
        let text = code.explanation();
        assert!(
            text.split_whitespace().count() >= 25,
            "{code} is hardly explained: {text}"
        );
        assert!(
            !code.title().ends_with('.') && !code.title().starts_with(char::is_uppercase),
            "{}",
            code.title()
        );
    }
}

const CODES: &str = "<!-- codes -->\n";
const END_OF_CODES: &str = "<!-- end of codes -->";

fn documentation() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/findings.md")
}

/// Replaces the text between two marks.
fn with_part(text: &str, begin: &str, part: &str, end: &str) -> String {
    let (before, rest) = text.split_once(begin).unwrap();
    let (_, after) = rest.split_once(end).unwrap();
    format!("{before}{begin}{part}{end}{after}")
}

#[test]
fn each_page_of_a_code_begins_with_its_title() {
    let pages = documentation().with_extension("");
    let page_of = |code: &Code| pages.join(format!("{code}.md"));
    for code in Code::ALL {
        compare_generated(
            &page_of(code),
            &format!("# {code}: {}\n\n{}", code.title(), code.explanation()),
        );
    }
    assert_eq!(entries(&pages), Code::ALL.iter().map(page_of).collect());
}

#[test]
fn the_documentation_has_every_code_as_the_catalogue_has_it() {
    let documented = fs::read_to_string(documentation()).unwrap();
    let tables = format!("{}\n", report::codes_as_markdown());
    compare_generated(
        &documentation(),
        &with_part(&documented, CODES, &tables, END_OF_CODES),
    );
}

#[test]
fn the_table_of_contents_has_every_code() {
    let file = documentation().with_file_name("../SUMMARY.md");
    let lines: String = Code::ALL
        .iter()
        .map(|code| format!("  - [{code}](reference/findings/{code}.md)\n"))
        .collect();
    let contents = fs::read_to_string(&file).unwrap();
    compare_generated(
        &file,
        &with_part(&contents, "<!-- codes -->\n", &lines, END_OF_CODES),
    );
}
