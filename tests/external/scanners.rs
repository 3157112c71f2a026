//! Scanners of workflows, images and Kubernetes objects find nothing but what is rejected here, each with its reason.
//! ssh-audit scans the running sshd in `jump_hosts_ssh`.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::support::programs::generated;
use crate::support::{kustomize_build, repo_path, run_tool, scanner, text};

/// A check, where it fails, and why that stays.
type Rejected = (&'static str, &'static str, &'static str);

const ZIZMOR_REJECTED: [Rejected; 1] = [(
    "github-env",
    "action.yml",
    "it adds the directory that it has installed sipgen into to the PATH of later steps",
)];

const HADOLINT_REJECTED: [Rejected; 2] = [
    ("DL3008", "images/jump-host/Containerfile", DEBIAN_PACKAGES),
    ("DL3008", "images/sipgen/Containerfile", DEBIAN_PACKAGES),
];
const DEBIAN_PACKAGES: &str = "Debian deletes a version from its mirrors with the next one";

const CHECKOV_REJECTED: [Rejected; 17] = [
    ("CKV2_K8S_2", "RoleBinding", DEX_RIGHTS),
    ("CKV2_K8S_4", "RoleBinding", DEX_RIGHTS),
    ("CKV2_K8S_5", "RoleBinding", DEX_RIGHTS),
    (
        "CKV2_K8S_6",
        "Pod",
        "the installer listens to nobody, and connects to machines in any network",
    ),
    ("CKV_K8S_11", "Deployment", "throttling delays all connections"),
    ("CKV_K8S_11", "Job", NO_LIMITS),
    ("CKV_K8S_13", "Deployment", "a pod that is killed for its memory drops all connections"),
    ("CKV_K8S_13", "Job", NO_LIMITS),
    ("CKV_K8S_15", "Deployment", NO_PULL),
    ("CKV_K8S_15", "Job", NO_PULL),
    ("CKV_K8S_38", "Deployment", "Dex keeps its state in the API server"),
    ("CKV_K8S_40", "Deployment", "the images have these users"),
    ("CKV_K8S_43", "Deployment", USERS_IMAGE),
    ("CKV_K8S_43", "Job", USERS_IMAGE),
    ("CKV_K8S_49", "Role", DEX_RIGHTS),
    ("CKV_K8S_8", "Deployment", SIDECARS),
    ("CKV_K8S_9", "Deployment", SIDECARS),
];
const DEX_RIGHTS: &str =
    "Dex may do anything with its own group of custom resources, and nothing else";
const USERS_IMAGE: &str = "requests and settings name images, with a digest if they like";
const NO_LIMITS: &str = "an installation that is killed leaves half a cluster";
const NO_PULL: &str = "a registry that is down stops no restart";
const SIDECARS: &str = "containers beside sshd serve nobody";

/// Compares what a scanner has found with what is rejected.
#[track_caller]
fn assert_rejected(found: &BTreeSet<(String, String)>, rejected: &[Rejected]) {
    let rejected: BTreeSet<(String, String)> = rejected
        .iter()
        .map(|(check, place, _)| ((*check).to_owned(), (*place).to_owned()))
        .collect();
    let new: Vec<_> = found.difference(&rejected).collect();
    let gone: Vec<_> = rejected.difference(found).collect();
    assert!(new.is_empty() && gone.is_empty(), "new: {new:?}\ngone: {gone:?}");
}

fn parsed(output: &[u8]) -> Value {
    serde_json::from_slice(output).unwrap_or_else(|error| panic!("{error}: {}", text(output)))
}

/// Returns the files of a directory of this repo, with their path in it.
pub(crate) fn files(directory: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(repo_path(directory)).unwrap();
    let files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    assert!(!files.is_empty());
    files
}

#[test]
fn zizmor_accepts_the_workflows_and_the_action() {
    let mut zizmor = scanner("zizmor");
    zizmor.args(["--offline", "--persona=auditor", "--no-progress", "--no-exit-codes"]);
    zizmor.args(["--format=json"]).current_dir(repo_path("")).arg("action.yml");

    let output = run_tool(zizmor.args(files("examples/github")).args(files(".github/workflows")));

    assert!(output.status.success(), "{}", text(&output.stderr));
    let findings = parsed(&output.stdout);
    let place = |finding: &Value| {
        let file = &finding["locations"][0]["symbolic"]["key"]["Local"]["verbatim_path"];
        (finding["ident"].as_str().unwrap().to_owned(), file.as_str().unwrap().to_owned())
    };
    assert_rejected(&findings.as_array().unwrap().iter().map(place).collect(), &ZIZMOR_REJECTED);
}

#[test]
fn hadolint_accepts_the_images() {
    let images = ["images/jump-host/Containerfile", "images/sipgen/Containerfile"];
    let mut hadolint = scanner("hadolint");
    hadolint.args(["--format=json", "--no-fail"]).current_dir(repo_path("")).args(images);

    let findings = parsed(&run_tool(&mut hadolint).stdout);

    let text_at = |finding: &Value, field: &str| finding[field].as_str().unwrap().to_owned();
    let place = |finding: &Value| (text_at(finding, "code"), text_at(finding, "file"));
    assert_rejected(&findings.as_array().unwrap().iter().map(place).collect(), &HADOLINT_REJECTED);
}

#[test]
fn checkov_accepts_the_rendered_services() {
    let directory = tempfile::tempdir().unwrap();
    for (fixture, cluster) in [("quickstart", "tenant-a/edge"), ("provisioning", "lab/depot")] {
        let repo = generated(fixture);
        let built = kustomize_build(repo.path().join("overlays/clusters").join(cluster));
        fs::write(directory.path().join(format!("{fixture}.yaml")), built).unwrap();
    }
    let mut checkov = scanner("checkov");
    checkov.args(["--framework=kubernetes", "--skip-download", "--output=json", "--directory=."]);

    // Checkov reads no directory whose name starts with a dot.
    let report = parsed(&run_tool(checkov.current_dir(directory.path())).stdout);

    assert_eq!(report["summary"]["parsing_errors"], 0);
    let failed = report["results"]["failed_checks"].as_array().unwrap();
    let place = |check: &Value| {
        let kind = check["resource"].as_str().unwrap().split('.').next().unwrap();
        (check["check_id"].as_str().unwrap().to_owned(), kind.to_owned())
    };
    assert_rejected(&failed.iter().map(place).collect(), &CHECKOV_REJECTED);
}

/// Every image and action that runs somewhere is named by what it is, not by a tag that moves.
#[test]
fn images_are_named_by_digest() {
    let directories =
        ["examples/gitlab", "examples/kubernetes", "images/jump-host", "images/sipgen"];
    let mut images = 0;
    for file in directories.into_iter().flat_map(files) {
        for line in fs::read_to_string(&file).unwrap().lines() {
            let image = line.trim().strip_prefix("image: ");
            let base = line.strip_prefix("ARG ").and_then(|line| line.split_once('='));
            let base = base.filter(|(name, _)| *name != "TARGETARCH").map(|(_, image)| image);
            if let Some(image) = image.or(base).filter(|image| !image.starts_with("$[[")) {
                assert!(image.contains("@sha256:"), "{}: {line}", file.display());
                images += 1;
            }
        }
    }
    assert!(images >= 6, "{images}");
}
