//! Hosts in maintenance, by a mark in the settings or an annotation.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::base::api::date::Date;
use crate::base::api::host::MAINTENANCE;
use crate::base::api::names::HostKey;
use crate::base::finding::{Code, Finding, Place, RouteStep};
use crate::input::settings::Settings;
use crate::input::settings::maintenance::Maintenance;

/// The mark of a host. The display is its reason, with the expected end.
#[derive(Debug, Clone, derive_more::Display)]
#[display("{reason}{}", until.map(|until| format!(" (until {until})")).unwrap_or_default())]
pub struct MaintenanceMark {
    /// The reason.
    pub reason: Arc<str>,
    /// The expected end.
    pub until: Option<Date>,
    /// The mark in the settings, or the annotation.
    pub place: Place,
}

impl MaintenanceMark {
    /// Returns the first mark of the settings that a host has.
    pub(super) fn from_settings(
        host: &HostKey,
        labels: &BTreeMap<String, String>,
        settings: &Settings,
    ) -> Option<Self> {
        let mut marks = settings.maintenance.iter().enumerate();
        let (index, mark) = marks.find(|(_, mark)| mark.marks(host, labels))?;
        Some(Self {
            reason: mark.reason.trim().into(),
            until: mark.until,
            place: settings.place(["maintenance".into(), index.into(), "reason".into()]),
        })
    }

    /// Reads the annotation of a host.
    pub(super) fn from_annotation(
        host: &HostKey,
        reason: &str,
        place: Place,
    ) -> Result<Self, Finding> {
        if reason.trim().is_empty() {
            let message = format!("the annotation `{MAINTENANCE}` of host {host} has no reason");
            return Err(Finding::new(Code::InvalidMark, message).at(place).help(format!(
                "write the reason as its value, such as `{MAINTENANCE}: \"new memory\"`"
            )));
        }
        Ok(Self { reason: reason.trim().into(), until: None, place })
    }
}

/// Reports labels and hosts of marks in the settings that match no host.
pub(super) fn idle_marks(
    labels: &[&BTreeMap<String, String>],
    is_known: impl Fn(&HostKey) -> bool,
    settings: &Settings,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut report = |number: usize, problem: String, route: Vec<RouteStep>| {
        let message = format!("maintenance mark {number} {problem}");
        findings.push(
            Finding::new(Code::IdleMark, message)
                .at(settings.place(route))
                .help("fix the labels or hosts, or remove the mark"),
        );
    };
    for (index, mark) in settings.maintenance.iter().enumerate() {
        let route = |field: &'static str| vec!["maintenance".into(), index.into(), field.into()];
        let is_idle = !labels.iter().any(|labels| mark.selects(labels));
        if !mark.labels.is_empty() && is_idle {
            report(index + 1, "has labels that no host has".to_owned(), route("labels"));
        }
        let unknown = mark.hosts.iter().enumerate();
        for (at, host) in unknown.filter(|(_, host)| !is_known(host)) {
            let mut route = route("hosts");
            route.push(at.into());
            report(index + 1, format!("names unknown host {host}"), route);
        }
    }
    findings
}

/// Reports marks whose end is before today. They keep their effect.
pub(crate) fn expired_marks(settings: &Settings, today: Date) -> Vec<Finding> {
    let expired = |(index, mark): (usize, &Maintenance)| {
        let until = mark.until.filter(|until| *until < today)?;
        let message = format!(
            "maintenance mark {} (`{}`) expired on {until} and still has its effect",
            index + 1,
            mark.reason.trim()
        );
        let finding = Finding::new(Code::IdleMark, message).at(settings.place([
            "maintenance".into(),
            index.into(),
            "until".into(),
        ]));
        let help = "remove the mark if the hosts may be used again, or set `until` to a later date";
        Some(finding.help(help))
    };
    settings.maintenance.iter().enumerate().filter_map(expired).collect()
}
