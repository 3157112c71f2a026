//! Git hooks and CI jobs that run sipgen.

use camino::{Utf8Path, Utf8PathBuf};

use super::{DoctorCheck, RepoFacts};
use crate::init;
use crate::load::{Files, ReadError};

const PROGRAM: &str = "sipgen";
/// Programs that read the configuration that `sipgen init` writes. The hooks that they install name
/// them.
const FRAMEWORKS: [&str; 2] = ["pre-commit", "prek"];
/// Starts of lines that are comments in scripts and pipelines.
const COMMENTS: [&str; 4] = ["#", "//", "/*", "*"];

/// Other managers of hooks, each with the files that configure it.
const MANAGERS: [(&str, &[&str]); 2] = [
    ("husky", &[".husky/pre-commit"]),
    (
        "lefthook",
        &[
            "lefthook.yml",
            "lefthook.yaml",
            ".lefthook.yml",
            ".lefthook.yaml",
        ],
    ),
];

/// The file that GitLab CI starts from, and the directory of what it may include.
const GITLAB: (&str, &str) = (".gitlab-ci.yml", ".gitlab");
/// Files and directories of other CI systems.
const CI: [&str; 13] = [
    ".github/workflows",
    ".forgejo/workflows",
    ".gitea/workflows",
    ".circleci",
    ".buildkite",
    ".tekton",
    ".woodpecker",
    ".woodpecker.yml",
    ".woodpecker.yaml",
    ".drone.yml",
    "Jenkinsfile",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
];

/// Checks whether a git hook runs sipgen.
pub(super) fn hook(top: &Files, facts: &RepoFacts) -> DoctorCheck {
    const SUBJECT: &str = "hook";
    let hook = facts.hook.as_ref();
    let text = hook.map_or("", |hook| hook.text.as_str());
    if mentions(text) {
        return DoctorCheck::ok(SUBJECT, "the git hook `pre-commit` runs sipgen");
    }
    for (manager, files) in MANAGERS {
        let configured = files.iter().map(Utf8Path::new);
        let mut configured = configured.filter_map(|file| Some((file, top.text(file)?)));
        let is_manager = hook.is_some_and(|hook| {
            text.contains(manager) || hook.file.to_string_lossy().contains(manager)
        });
        if let Some((file, _)) = configured.clone().find(|(_, text)| mentions(text)) {
            return DoctorCheck::ok(SUBJECT, format!("`{file}` runs sipgen"));
        }
        if is_manager || configured.next().is_some() {
            let fact = format!("{manager} manages the git hooks, and does not run sipgen");
            return DoctorCheck::note(SUBJECT, fact).help(format!(
                "let its hook `pre-commit` run `{}`",
                init::HOOK_COMMAND
            ));
        }
    }
    let config = init::HOOK_FILE;
    let is_configured = top
        .text(config.into())
        .is_some_and(|text| init::has_hook(&text));
    let is_installed = FRAMEWORKS.iter().any(|name| text.contains(name));
    match (is_configured, is_installed) {
        (true, true) => DoctorCheck::ok(SUBJECT, format!("`{config}` runs sipgen")),
        (true, false) => {
            let fact =
                format!("`{config}` has a hook of sipgen, which is not installed in this clone");
            DoctorCheck::warning(SUBJECT, fact).help("run `pre-commit install`")
        }
        (false, _) => {
            DoctorCheck::warning(SUBJECT, "no git hook runs sipgen").help("run `sipgen init`")
        }
    }
}

/// Checks whether a CI job runs sipgen.
pub(super) fn ci(top: &Files) -> Result<DoctorCheck, ReadError> {
    const SUBJECT: &str = "CI";
    let mut files: Vec<Utf8PathBuf> = vec![GITLAB.0.into()];
    for path in CI.map(Utf8Path::new) {
        files.extend(top.files_below(path)?);
        files.push(path.to_owned());
    }
    // Jobs below `.gitlab` run only if the pipeline includes their file.
    let pipeline = top.text(GITLAB.0.into()).unwrap_or_default();
    let jobs = top.files_below(GITLAB.1.into())?;
    files.extend(
        jobs.into_iter()
            .filter(|job| pipeline.contains(job.as_str())),
    );
    let runs = |file: &&Utf8PathBuf| top.text(file).is_some_and(|text| mentions(&text));
    Ok(match files.iter().find(runs) {
        Some(file) => DoctorCheck::ok(SUBJECT, format!("`{file}` runs sipgen")),
        None => DoctorCheck::warning(SUBJECT, "no CI job of this repo runs sipgen")
            .help("run `sipgen init`, with `--ci` if the CI system is not detected"),
    })
}

/// Returns whether a script mentions sipgen outside its comments.
fn mentions(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim_start);
    let is_comment = |line: &str| COMMENTS.iter().any(|start| line.starts_with(start));
    lines.any(|line| line.contains(PROGRAM) && !is_comment(line))
}
