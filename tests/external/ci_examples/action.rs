//! The action at the root of sipgen's repo: how it installs sipgen, and the modes that only read.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::artefacts::artefacts;
use crate::ci_examples::runner::{Job, action};
use crate::support::{EDGE, Repo, assert_says, python_tool, run, run_tool, text, tool};

/// A job for a pull request in a directory.
fn job(checkout: &Path) -> Job<'_> {
    Job::new(checkout, "pull_request", &json!({}))
}

fn steps() -> Vec<Value> {
    action()["runs"]["steps"].as_array().unwrap().clone()
}

#[test]
fn the_action_is_valid_with_its_scripts() {
    let valid = run_tool(
        python_tool("check-jsonschema")
            .args(["--builtin-schema", "vendor.github-actions"])
            .arg(crate::support::repo_path("action.yml")),
    );
    assert!(valid.status.success(), "{}", text(&valid.stdout));

    for step in steps() {
        let script = step["run"].as_str().unwrap();
        // A branch's name would become part of the script.
        assert!(!script.contains("${{"), "{script}");
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("script.sh");
        fs::write(&file, format!("#!/bin/bash\nset -eo pipefail\n{script}\n")).unwrap();

        let checked = run_tool(tool("shellcheck").arg(&file));

        assert!(checked.status.success(), "{}", text(&checked.stdout));
    }
}

#[test]
fn only_the_steps_that_write_have_the_token() {
    let with_token: Vec<Value> = steps()
        .into_iter()
        .filter(|step| step["env"].to_string().contains("token"))
        .map(|step| step["name"].clone())
        .collect();

    assert_eq!(with_token, ["Comment", "Push"]);
}

#[test]
fn the_check_refuses_stale_overlays_with_an_annotation() {
    let repo = Repo::of_fixture("quickstart");

    let stale = job(repo.path()).uses(&[]).expect(1);
    assert_says(&stale.stdout, &["::error file=sites/lab/clusters/edge.yaml,line="]);

    repo.generate(&[]).expect(0);
    job(repo.path()).uses(&[("mode", "check")]).expect(0);
}

#[test]
fn each_line_of_the_arguments_is_one_argument() {
    let repo = Repo::of_fixture("quickstart");

    for (arguments, code) in [
        ("--allow-empty\n\n  --only=tenant-a/edge  \n", 1),
        ("--only\ntenant-a/edge", 1),
        ("--only tenant-a/edge", 2),
        ("$(touch made)\n; touch made", 2),
    ] {
        job(repo.path()).uses(&[("arguments", arguments)]).expect(code);
    }

    assert!(!repo.exists("made"));
}

#[test]
fn a_directory_of_the_checkout_can_be_checked() {
    let checkout = tempfile::tempdir().unwrap();
    let repo = Repo::generated("quickstart");
    fs::rename(repo.path(), checkout.path().join("a fleet")).unwrap();
    let mut job = job(checkout.path());

    job.uses(&[("directory", "a fleet")]).expect(0);
    job.uses(&[("directory", "another")]).expect(2);
}

#[test]
fn the_plan_is_an_output_and_in_the_summary() {
    let repo = Repo::generated("quickstart");
    repo.replace(EDGE, "nodePort: 30443", "nodePort: 30444");
    repo.generate(&[]).expect(0);
    repo.commit();
    let mut job = job(repo.path());

    job.uses(&[("mode", "plan")]).expect(0);

    assert_eq!(job.output("plan"), "changes");
    let plan = fs::read_to_string(job.output("plan-file")).unwrap();
    assert!(plan.starts_with("<!-- sipgen -->\n"), "{plan}");
    assert_says(&plan, &["tenant-a/edge", "30444"]);
    assert_eq!(job.file("summary"), plan);

    job.uses(&[("mode", "plan"), ("base", "HEAD")]).expect(0);
    assert_eq!(job.output("plan"), "none");

    job.uses(&[("mode", "plan"), ("base", "unknown")]).expect(2);
    assert_eq!(job.output("plan"), "");
}

#[test]
fn the_report_for_code_scanning_has_findings_and_does_not_fail() {
    let repo = Repo::of_fixture("quickstart");
    let mut job = job(repo.path());

    job.uses(&[("mode", "sarif")]).expect(0);

    let report = fs::read_to_string(job.output("sarif-file")).unwrap();
    assert_says(&report, &["\"ruleId\": \"SIP0009\""]);
    let unknown = [("mode", "sarif"), ("arguments", "--unknown")];
    job.uses(&unknown).expect(1);
    assert_eq!(job.output("sarif-file"), "");
}

#[test]
fn an_unknown_mode_is_refused() {
    let repo = Repo::generated("quickstart");

    let refused = job(repo.path()).uses(&[("mode", "Check")]).expect(1);

    assert_says(&refused.stdout, &["::error::unknown mode `Check`; use "]);
}

const WHEEL: &str = r##"
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as wheel:
    script = zipfile.ZipInfo("sipgen-0.1.0.data/scripts/sipgen")
    script.external_attr = 0o100755 << 16
    wheel.writestr(script, "#!/bin/sh\necho \"from the wheel: $*\"\n")
    wheel.writestr("sipgen-0.1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: sipgen\nVersion: 0.1.0\n")
    wheel.writestr("sipgen-0.1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr("sipgen-0.1.0.dist-info/RECORD", "")
"##;

/// Writes the wheel of a sipgen that prints its arguments.
pub(crate) fn wheel(directory: &Path) -> PathBuf {
    let wheel = directory.join("sipgen-0.1.0-py3-none-any.whl");
    run(Command::new("python3").args(["-c", WHEEL]).arg(&wheel)).expect(0);
    wheel
}

/// Returns a PATH with pip, which a distribution may have in a package of its own.
pub(crate) fn path_with_pip() -> String {
    let pip = python_tool("pip");
    let tools = Path::new(pip.get_program()).parent().unwrap();
    format!("{}:{}", tools.display(), std::env::var("PATH").unwrap())
}

#[test]
fn the_wheel_is_installed_once_a_job_and_is_on_the_path() {
    let directory = tempfile::tempdir().unwrap();
    let wheel = wheel(directory.path());
    let package = wheel.to_str().unwrap();
    let mut job = job(directory.path());
    job.set("PATH", &path_with_pip());

    let first = job.uses(&[("package", package)]).expect(0);
    fs::remove_file(&wheel).unwrap();
    let again = job.uses(&[("package", package)]).expect(0);

    let mut which = Command::new("sh");
    which.args(["-c", "command -v kustomize || command -v kubectl"]);
    let has_kustomize = which.env("PATH", path_with_pip()).output().unwrap();
    let build = if has_kustomize.status.success() { " --build --base HEAD^1" } else { "" };
    let check = format!("from the wheel: generate --check --format github{build}\n");
    assert_eq!(first.stdout, format!("from the wheel: --version\n{check}"));
    assert_eq!(again.stdout, check);
    assert_eq!(job.file("path").lines().count(), 1);
}

#[test]
fn the_action_installs_the_wheel_of_its_version() {
    let repo = Repo::of_fixture("quickstart");
    let action = action();
    let package = [("package", action["inputs"]["package"]["default"].as_str().unwrap())];
    let mut job = job(repo.path());
    job.set("PATH", &path_with_pip());
    job.set("PIP_NO_INDEX", "1");
    job.set("PIP_FIND_LINKS", artefacts().to_str().unwrap());

    let stale = job.uses(&package).expect(1);
    assert_says(
        &stale.stdout,
        &[
            &format!("sipgen {}\n", env!("CARGO_PKG_VERSION")),
            "::error file=sites/lab/clusters/edge.yaml,line=",
        ],
    );

    repo.generate(&[]).expect(0);
    job.uses(&package).expect(0);
}

#[test]
fn a_package_that_cannot_be_installed_fails_the_job() {
    let repo = Repo::generated("quickstart");

    let failed = job(repo.path()).uses(&[("package", "./missing.whl")]);

    assert_ne!(failed.code, 0, "{}", failed.stdout);
}
