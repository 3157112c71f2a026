//! The catalogue of findings: at least one case per code.
//!
//! `fixtures/findings/SIPnnnn` is a small repo that has the mistake, and `SIPnnnn.snap` the report of
//! `sipgen validate` on it. Other mistakes with the same code have a name behind it. Similar repos share a directory of `fixtures/findings/bases`; their own
//! directory then holds only added and changed files.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use sipgen::base::finding::Code;
use sipgen::report;

use walkdir::WalkDir;

use crate::support::{Repo, compare_generated, copy, fixtures};

/// Declares the cases per base.
macro_rules! cases {
    ($($base:expr => [$($case:ident)*])*) => {
        /// Every case, with its base.
        const CASES: &[(&str, Option<&str>)] = &[$($((stringify!($case), $base)),*),*];

        #[allow(non_snake_case)]
        mod validating_the_fixture_reports {
            $($(
                #[test]
                fn $case() {
                    super::assert_fixture_shows(stringify!($case), $base);
                }
            )*)*
        }
    };
}

cases! {
    None => [
        SIP0001 SIP0002 SIP0004 SIP0005 SIP0010 SIP0011 SIP0012 SIP0013 SIP0014 SIP0015 SIP0018 SIP0101
        SIP0114_unknown_version SIP0103 SIP0104 SIP0106_no_name SIP0106 SIP0107 SIP0108 SIP0117_two_kustomizations SIP0117_kustomization_cycle SIP0111 SIP0113
        SIP0114 SIP0117_unbuildable_directory SIP0116 SIP0117 SIP0118 SIP0120 SIP0121 SIP0140 SIP0141 SIP0142
        SIP0143 SIP0201 SIP0209_cluster_name_too_long SIP0209_invalid_priority SIP0208_no_nodes SIP0209_unknown_role SIP0206 SIP0209_invalid_selector SIP0208 SIP0209 SIP0209_invalid_topology_key
        SIP0208_no_image SIP0209_invalid_node_label SIP0208_no_interface SIP0209_invalid_cluster_ip SIP0208_no_node_port SIP0209_invalid_node_port SIP0209_invalid_replicas SIP0120_invalid_reference SIP0219 SIP0120_invalid_authorized_key SIP0209_several_host_keys
        SIP0237_no_issuer SIP0237_invalid_certificate SIP0209_invalid_duration SIP0237_invalid_client SIP0235 SIP0237_unset_variable SIP0237 SIP0238 SIP0238_unlikely_to_work SIP0240 SIP0240_unknown_spread
        SIP0240_unknown_topology SIP0240_unknown_service SIP0240_node_label_without_value SIP0240_several_node_ports SIP0235_credential_in_url SIP0235_token_in_text SIP0256 SIP0256_too_old SIP0219_no_login SIP0259 SIP0260 SIP0304 SIP0306 SIP0307 SIP0316 SIP0330
        SIP0331 SIP0332 SIP0344 SIP0345 SIP0345_near_name SIP0401 SIP0403 SIP0508 SIP0520 SIP0521 SIP0610
        SIP0615 SIP0619 SIP0711 SIP0714 SIP0803_machine_twice SIP0807 SIP0803_node_name_taken SIP0850 SIP0817_pod_subnet_of_public_installer SIP0852 SIP0853
    ]
    Some("declared-host") => [
        SIP0302_live_copy_rendered SIP0320 SIP0320_unquoted_mac SIP0301_hardware SIP0323 SIP0323_hardware_unreadable SIP0325 SIP0335 SIP0336 SIP0336_ambiguous_assignment_labels SIP0338 SIP0339 SIP0346 SIP0347 SIP0349_unused_duplicate SIP0349 SIP0346_invalid_maintenance SIP0347_idle_maintenance SIP0347_expired SIP0357 SIP0501 SIP0502 SIP0508_several_clusters SIP0517 SIP0522
        SIP0606_component_without_form SIP0606_overlay_in_its_base SIP0304_rendered_twice SIP0117_missing_overlay SIP0606_included_twice SIP0606 SIP0607 SIP0609 SIP0611 SIP0613_component_applied SIP0613
        SIP0020 SIP0614 SIP0610_hosts_renamed SIP0617 SIP0618 SIP0613_read_as_files SIP0621 SIP0622 SIP0621_include_over_output SIP0624 SIP0625 SIP0701 SIP0702
        SIP0703 SIP0704 SIP0703_nothing_rendered SIP0703_too_large SIP0709
    ]
    Some("generated-cluster") => [
        SIP0311 SIP0402 SIP0503 SIP0504 SIP0505 SIP0506 SIP0506_unchanged_cluster SIP0510 SIP0511 SIP0512 SIP0513
        SIP0514 SIP0515 SIP0518 SIP0608 SIP0714_unchanged_patch
    ]
    Some("provisioning") => [
        SIP0515_no_operating_system SIP0540 SIP0801 SIP0803_no_masters SIP0803 SIP0803_invalid_node_name SIP0803_invalid_mac SIP0807_ambiguous_mac SIP0803_shared_mac SIP0803_nothing_asked SIP0803_invalid_requirement SIP0812
        SIP0803_no_machine_address SIP0821_invalid_pod_subnet SIP0817_pod_subnet_with_host SIP0821_invalid_plugin SIP0817 SIP0817_unknown_cluster_type SIP0909_software_without_cluster SIP0821 SIP0821_two_versions SIP0817_package_twice
        SIP0112_braces_in_request SIP0826 SIP0827 SIP0817_pod_subnet SIP0817_pod_subnet_of_other_family
    ]
    Some("load-balancer") => [
        SIP0250 SIP0261 SIP0252 SIP0254 SIP0312_cluster_ip SIP0323_network_data SIP0341 SIP0342 SIP0343 SIP0410
        SIP0701_no_templates
    ]
    Some("rack-file") => [
        SIP0301 SIP0302 SIP0305 SIP0308 SIP0331_duplicate_network_data SIP0334_invalid_address SIP0325_network_data SIP0313 SIP0314 SIP0315 SIP0317
        SIP0318 SIP0319 SIP0334 SIP0353
    ]
    Some("observed-hosts") => [
        SIP0003 SIP0006 SIP0007 SIP0008 SIP0009 SIP0017 SIP0019 SIP0112
    ]
    Some("metal3-cluster") => [
        SIP0354 SIP0901 SIP0903_invalid_host_selector SIP0903 SIP0904 SIP0905 SIP0906 SIP0907 SIP0908 SIP0909 SIP0910 SIP0911 SIP0912
    ]
}

/// Cases that `validate` cannot report, with the arguments of the command that does.
const OTHER_COMMANDS: [(&str, &[&str]); 6] = [
    ("SIP0010", &["validate", "--input", "rendered.yaml"]),
    ("SIP0330", &["validate", "--input", "rendered.yaml"]),
    ("SIP0009", &["generate", "--check", "--format", "github"]),
    ("SIP0506_unchanged_cluster", WITHOUT_EDGE),
    ("SIP0514", WITHOUT_EDGE),
    ("SIP0714_unchanged_patch", WITHOUT_EDGE),
];

/// Freezes the cluster `tenant-a/edge`.
const WITHOUT_EDGE: &[&str] = &["generate", "--check", "--only", "tenant-a/core"];

/// Adds what a fixture cannot hold: large files, symbolic links, submodules.
fn complete(code: Code, repo: &Repo) {
    if code == Code::LargeBuild {
        let hosts: String =
            (1..=1001).map(|number| crate::support::host(&format!("n{number:04}"), "")).collect();
        repo.write("inventory/hosts.yaml", &hosts);
        repo.commit();
    }
    if code == Code::IgnoredOutput {
        repo.write(".gitignore", "/overlays/\n");
    }
    if code == Code::ListedUnread {
        std::os::unix::fs::symlink("rack-a.txt", repo.path().join("hosts/rack-a.yaml")).unwrap();
    }
    if code == Code::DirectoryUnread {
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

/// Returns the code of a case.
fn code_of(case: &str) -> Code {
    case.split('_').next().unwrap().parse().unwrap()
}

/// Returns the repo of a case: the files of its base, then its own.
fn repo_of(case: &str, base: Option<&str>) -> Repo {
    let repo = Repo::empty();
    let own = catalogue().join(case);
    if let Some(base) = base {
        copy(&base_directory(base), repo.path());
    }
    // A base alone shows the mistake of some codes.
    if base.is_none() || own.is_dir() {
        copy(&own, repo.path());
    }
    repo.commit_plainly();
    complete(code_of(case), &repo);
    repo
}

/// Returns the report on a case, with the exit code.
fn report_on_fixture(case: &str, base: Option<&str>) -> String {
    let repo = repo_of(case, base);
    let other = OTHER_COMMANDS.iter().find(|(known, _)| *known == case);
    let arguments: &[&str] = other.map_or(&["validate"], |(_, arguments)| arguments);
    let run = crate::support::run(&mut repo.sipgen(arguments));
    let root = repo.path().to_str().unwrap();
    format!(
        "{}{}exit code {}\n",
        run.stdout,
        if other.is_some() { run.stderr } else { String::new() },
        run.code
    )
    .replace(root, "[repo]")
}

#[track_caller]
fn assert_fixture_shows(case: &str, base: Option<&str>) {
    let report = report_on_fixture(case, base);
    assert!(
        report.contains(code_of(case).id()),
        "the fixture {case} does not show its code:\n{report}"
    );
    // Hosts of fixtures have boot MAC addresses, so that only one shows their absence.
    let absent = Code::RefusedHost.id();
    assert_eq!(report.contains(absent), code_of(case).id() == absent, "{report}");
    insta::with_settings!({
        snapshot_path => catalogue(),
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, {
        insta::assert_snapshot!(case, report);
    });
}

#[test]
fn every_code_has_a_case() {
    let cases: BTreeSet<Code> = CASES.iter().map(|(case, _)| code_of(case)).collect();
    assert_eq!(cases, Code::ALL.iter().copied().collect());
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
            name == "bases" || CASES.iter().any(|(case, _)| *case == name),
            "{} belongs to no case",
            path.display()
        );
    }
    let used: BTreeSet<PathBuf> =
        CASES.iter().filter_map(|(_, base)| base.map(base_directory)).collect();
    assert_eq!(entries(&catalogue().join("bases")), used);
}

#[test]
fn no_fixture_repeats_a_file_of_its_base() {
    for (case, base) in CASES {
        let Some(base) = base.map(base_directory) else {
            continue;
        };
        for entry in WalkDir::new(&base) {
            let entry = entry.unwrap();
            let own = catalogue().join(case).join(entry.path().strip_prefix(&base).unwrap());
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
        assert!(text.split_whitespace().count() >= 25, "{code} is hardly explained: {text}");
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
    compare_generated(&documentation(), &with_part(&documented, CODES, &tables, END_OF_CODES));
}

#[test]
fn the_table_of_contents_has_every_code() {
    let file = documentation().with_file_name("../SUMMARY.md");
    let lines: String =
        Code::ALL.iter().map(|code| format!("[{code}](reference/findings/{code}.md)\n")).collect();
    let contents = fs::read_to_string(&file).unwrap();
    compare_generated(&file, &with_part(&contents, "<!-- codes -->\n", &lines, END_OF_CODES));
}
