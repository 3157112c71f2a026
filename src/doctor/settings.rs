//! Invalid settings, and settings without effect.

use std::collections::BTreeSet;

use super::{CheckState, DoctorCheck, SiteFacts};
use crate::finding::{Code, Finding, Place, RouteStep};
use crate::generate::GeneratedSite;
use crate::settings::{self, Settings};
use crate::sites::Sites;
use crate::text::counted;

const SUBJECT: &str = "settings";

/// Warnings of a run about settings without effect, with the setting.
const IDLE: [(Code, &str); 6] = [
    (Code::IdleGlob, "sources"),
    (Code::IdleReservation, "reservations"),
    (Code::IdleMaintenance, "maintenance"),
    (Code::ExpiredMaintenance, "maintenance"),
    (Code::NoTemplates, "templates"),
    (Code::TemplateUnused, "templates"),
];

/// Checks whether the settings of a site are valid.
pub(super) fn validity(site: &SiteFacts<'_>) -> DoctorCheck {
    match &site.settings {
        Ok(settings) if site.files.kind(&settings.file).is_some() => {
            DoctorCheck::ok(SUBJECT, format!("`{}` is valid", settings.file))
        }
        Ok(_) => DoctorCheck::note(
            SUBJECT,
            format!("no `{}`: the defaults apply", settings::FILE),
        )
        .help("run `sipgen init`"),
        Err(findings) => {
            let count = counted(findings.len(), "error");
            let first = findings.first();
            let message = first.map_or("", |finding| finding.message.as_str());
            let place = first.and_then(|finding| Some(finding.places.first()?.0.clone()));
            DoctorCheck {
                place,
                ..DoctorCheck::failed(SUBJECT, format!("{count}: {message}"))
                    .help("run `sipgen validate`")
            }
        }
    }
}

/// Checks `sites`, and finds settings that have no effect in any site.
pub(super) fn site_checks(sites: &Sites, all: &[SiteFacts<'_>]) -> Vec<DoctorCheck> {
    let entries = sites.findings.iter();
    let entries = entries.filter(|finding| finding.code == Code::NoSuchSite);
    let mut checks: Vec<DoctorCheck> = entries
        .map(|finding| DoctorCheck::from_finding(CheckState::Failed, SUBJECT, finding))
        .collect();
    let read: Vec<(&Settings, Vec<UnusedSetting>)> = all
        .iter()
        .filter_map(|site| {
            let (Ok(settings), Ok(run)) = (&site.settings, site.run) else {
                return None;
            };
            Some((settings, unused(settings, run, &sites.muted_codes)))
        })
        .collect();
    let is_complete = sites.others.is_empty() && read.len() == all.len();
    for UnusedSetting { key, place, check } in read.iter().flat_map(|(_, unused)| unused) {
        let file = place.file();
        // Sites share the settings of the root's file, and one that uses a setting is enough.
        let is_used = |(settings, unused): &(&Settings, Vec<UnusedSetting>)| {
            settings.place([(*key).into()]).file() == file
                && !unused.iter().any(|other| other.place == *place)
        };
        let may_be_used = !is_complete && **file == *settings::FILE;
        let is_known = || {
            checks
                .iter()
                .any(|known| known.place.as_ref() == Some(place))
        };
        if !may_be_used && !read.iter().any(is_used) && !is_known() {
            checks.push(check.clone());
        }
    }
    checks
}

/// A setting without effect in a site.
struct UnusedSetting {
    /// The top-level setting.
    key: &'static str,
    place: Place,
    check: DoctorCheck,
}

/// Finds the settings of a site without effect in its run.
fn unused(
    settings: &Settings,
    run: &GeneratedSite,
    muted_of_repo: &BTreeSet<Code>,
) -> Vec<UnusedSetting> {
    let mut unused = Vec::new();
    for finding in &run.findings {
        let key = IDLE.iter().find(|(code, _)| *code == finding.code);
        let place = finding.places.first();
        unused.extend(key.zip(place).map(|((_, key), (place, _))| UnusedSetting {
            key,
            place: place.clone(),
            check: DoctorCheck::from_finding(CheckState::Warning, SUBJECT, finding),
        }));
    }
    let mut add = |key: &'static str, route: Vec<RouteStep>, fact: String, help: &str| {
        let place = settings.place(route);
        let check = DoctorCheck::warning(SUBJECT, fact)
            .at(place.clone())
            .help(help);
        unused.push(UnusedSetting { key, place, check });
    };
    let namespaces = run.site.clusters.keys().map(|cluster| &cluster.namespace);
    let namespaces: BTreeSet<_> = namespaces.collect();
    let quotas = settings.quotas.iter().enumerate();
    for (index, quota) in quotas.filter(|(_, quota)| !namespaces.contains(&quota.namespace)) {
        add(
            "quotas",
            vec!["quotas".into(), index.into(), "namespace".into()],
            format!(
                "quota {} is of the namespace `{}`, which has no cluster",
                index + 1,
                quota.namespace
            ),
            "fix the namespace, or remove the quota",
        );
    }
    // After an error, most warnings are not looked for.
    let is_complete = !run.findings.iter().any(Finding::is_error);
    let is_muted = |code| run.muted_codes.contains(code) || muted_of_repo.contains(code);
    let ignored = settings.findings.ignore.iter().enumerate();
    for (index, ignored) in ignored.filter(|(_, ignored)| is_complete && !is_muted(&ignored.code)) {
        let code = ignored.code;
        let route = [
            "findings".into(),
            "ignore".into(),
            index.into(),
            "code".into(),
        ];
        add(
            "findings",
            route.to_vec(),
            format!("`findings.ignore` has {code}, which nothing here causes"),
            "remove the entry",
        );
    }
    unused
}
