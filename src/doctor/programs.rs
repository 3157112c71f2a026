//! sipgen itself and the programs that it runs.

use camino::Utf8Path;

use super::{DoctorCheck, RepoFacts, SiteFacts};
use crate::load::versions::InstalledProgram;
use crate::settings::Settings;

/// Earlier versions of kustomize do not know `buildMetadata`, by which findings name files.
const MINIMUM_KUSTOMIZE: (u32, u32) = (4, 5);

pub(super) fn sipgen() -> DoctorCheck {
    DoctorCheck::ok("sipgen", concat!("version ", env!("CARGO_PKG_VERSION")))
}

pub(super) fn git(facts: &RepoFacts, directory: &Utf8Path) -> DoctorCheck {
    const SUBJECT: &str = "git";
    let Some(top) = &facts.top else {
        let fact =
            format!("`{directory}` is not in a git repo, which records the assignment of hosts");
        return DoctorCheck::failed(SUBJECT, fact).help("run `git init`");
    };
    let top = top.as_str().trim_end_matches('/');
    match &facts.git {
        Some(git) => DoctorCheck::ok(SUBJECT, format!("{}; the repo is `{top}`", shown(git))),
        None => {
            let fact =
                format!("no `git` program is in the PATH; hooks and commits of `{top}` require it");
            DoctorCheck::note(SUBJECT, fact).help("install git")
        }
    }
}

pub(super) fn kustomize(facts: &RepoFacts, sites: &[SiteFacts<'_>]) -> DoctorCheck {
    const SUBJECT: &str = "kustomize";
    let is_built = |settings: &Settings| {
        let mut sources = settings.sources.iter();
        sources.any(|source| source.kustomization.is_some())
    };
    let (major, minor) = MINIMUM_KUSTOMIZE;
    let install = format!("install kustomize {major}.{minor} or later");
    if let Some(check) = not_required(SUBJECT, sites, is_built) {
        return check;
    }
    match &facts.kustomize {
        None => {
            let fact = "no kustomize can be run, and `sources` has a kustomization to build";
            DoctorCheck::failed(SUBJECT, fact)
                .help(format!("{install}, or set SIPGEN_KUSTOMIZE to its path"))
        }
        Some(program) => match &program.version {
            Some(version) if is_below(version, MINIMUM_KUSTOMIZE) => {
                let fact = format!(
                    "`{}` has kustomize {version}; sipgen requires {major}.{minor}",
                    program.name
                );
                DoctorCheck::failed(SUBJECT, fact).help(install)
            }
            Some(version) if program.name != SUBJECT => {
                DoctorCheck::ok(SUBJECT, format!("version {version} of {}", program.name))
            }
            _ => any_version(SUBJECT, program),
        },
    }
}

pub(super) fn sops(facts: &RepoFacts, sites: &[SiteFacts<'_>]) -> DoctorCheck {
    const SUBJECT: &str = "sops";
    let decrypts = |settings: &Settings| settings.sops.decrypt;
    if let Some(check) = not_required(SUBJECT, sites, decrypts) {
        return check;
    }
    match &facts.sops {
        Some(program) => any_version(SUBJECT, program),
        None => {
            let fact = "no sops can be run, and the settings have `sops.decrypt: true`";
            DoctorCheck::failed(SUBJECT, fact).help("install sops, or set SIPGEN_SOPS to its path")
        }
    }
}

/// Returns the check of a program that no site is known to require.
fn not_required(
    subject: &'static str,
    sites: &[SiteFacts<'_>],
    requires: impl Fn(&Settings) -> bool,
) -> Option<DoctorCheck> {
    let mut settings = sites.iter().map(|site| site.settings.as_ref());
    if settings.clone().flatten().any(requires) {
        None
    } else if settings.any(|settings| settings.is_err()) {
        Some(DoctorCheck::note(
            subject,
            "not checked: the settings are invalid",
        ))
    } else {
        Some(DoctorCheck::ok(subject, "not required by the settings"))
    }
}

/// Accepts any version, and warns about a program that prints none.
fn any_version(subject: &'static str, program: &InstalledProgram) -> DoctorCheck {
    if program.version.is_some() {
        return DoctorCheck::ok(subject, shown(program));
    }
    let fact = format!("`{}` prints no version", program.name);
    DoctorCheck::warning(subject, fact).help(format!("run `{} version` to see why", program.name))
}

fn shown(program: &InstalledProgram) -> String {
    match &program.version {
        Some(version) => format!("{} {version}", program.name),
        None => format!("{} of unknown version", program.name),
    }
}

fn is_below(version: &str, minimum: (u32, u32)) -> bool {
    let mut numbers = version
        .split(|c: char| !c.is_ascii_digit())
        .map(|number| number.parse().unwrap_or_default());
    let version = (
        numbers.next().unwrap_or_default(),
        numbers.next().unwrap_or_default(),
    );
    version < minimum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_numbers() {
        for (version, is_older) in [
            ("4.4.1", true),
            ("3.10.0", true),
            ("4.5.0", false),
            ("4.10.0", false),
            ("5.0.0-rc1", false),
        ] {
            assert_eq!(is_below(version, (4, 5)), is_older, "{version}");
        }
    }
}
