//! Hosts in maintenance, by a mark in the settings or an annotation.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::base::api::date::Date;
use crate::base::api::host::MAINTENANCE;
use crate::base::api::names::HostKey;
use crate::base::finding::{Code, Finding, Place};
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
    /// Returns the mark of a host. The settings outrank the annotation, because they have the end.
    /// `annotated` is the value of the annotation, with its place.
    pub(super) fn for_host(
        host: &HostKey,
        labels: &BTreeMap<String, String>,
        annotated: Option<(&str, Place)>,
        settings: &Settings,
        findings: &mut Vec<Finding>,
    ) -> Option<Self> {
        let annotated = annotated.and_then(|(reason, place)| {
            let reason = reason.trim();
            if reason.is_empty() {
                let message =
                    format!("the annotation `{MAINTENANCE}` of host {host} has no reason");
                findings.push(Finding::new(Code::InvalidMark, message).at(place).help(format!(
                    "write the reason as its value, such as `{MAINTENANCE}: \"new memory\"`"
                )));
                return None;
            }
            Some(Self { reason: reason.into(), until: None, place })
        });
        let mut marks = settings.maintenance.iter().enumerate();
        let Some((index, mark)) = marks.find(|(_, mark)| mark.marks(host, labels)) else {
            return annotated;
        };
        let place = settings.place(["maintenance".into(), index.into(), "reason".into()]);
        Some(Self { reason: mark.reason.trim().into(), until: mark.until, place })
    }
}

/// Reports marks whose end is before today. They keep their effect.
pub(crate) fn expired_marks(settings: &Settings, today: Date) -> Vec<Finding> {
    let expired = |(index, mark): (usize, &Maintenance)| {
        let until = mark.until.filter(|until| *until < today)?;
        let (number, reason) = (index + 1, mark.reason.trim());
        let message = format!(
            "maintenance mark {number} (`{reason}`) expired on {until} and still has its effect"
        );
        let place = settings.place(["maintenance".into(), index.into(), "until".into()]);
        let help = "remove the mark if the hosts may be used again, or set `until` to a later date";
        Some(Finding::new(Code::IdleMark, message).at(place).help(help))
    };
    settings.maintenance.iter().enumerate().filter_map(expired).collect()
}
