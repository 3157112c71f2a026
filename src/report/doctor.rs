//! The checks of `sipgen doctor`.

use super::findings::counts;
use super::{ADDED, ERROR, FAINT, ReportText, WARNING, one_line, styled};
use crate::setup::doctor::{CheckState, DoctorCheck};

/// Formats checks, one per line, with the fixes.
pub fn checks(checks: &[DoctorCheck]) -> ReportText {
    let mut out = ReportText::default();
    for check in checks {
        let (style, state) = match check.state {
            CheckState::Ok => (ADDED, "ok"),
            CheckState::Warning => (WARNING, "warning"),
            CheckState::Failed => (ERROR, "failed"),
        };
        let state = styled(style, format_args!("{state:7}"));
        let fact = one_line(&check.fact);
        writeln!(out, "{state}  {:8}  {fact}", check.subject);
        if let Some(help) = &check.help {
            writeln!(out, "  {} {}", styled(FAINT, "help:"), one_line(help));
        }
    }
    out
}

/// Formats the numbers of failed checks and warnings on one line.
pub fn tally_of_checks(checks: &[DoctorCheck]) -> ReportText {
    let count = |state| checks.iter().filter(|check| check.state == state).count();
    let counts = counts(&[
        (count(CheckState::Failed), "failed check", ERROR),
        (count(CheckState::Warning), "warning", WARNING),
    ]);
    let words = counts.unwrap_or_else(|| "no problems found".to_owned());
    format!("{words}\n").into()
}
