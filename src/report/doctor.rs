//! The checks of `sipgen doctor`, as text and as JSON.

use std::fmt;

use schemars::{JsonSchema, Schema, schema_for};
use serde::Serialize;

use super::findings::counts;
use super::{ADDED, ERROR, FAINT, ReportText, WARNING, one_line, styled};
use crate::doctor::{CheckState, DoctorCheck};
use crate::load::{Files, Texts};

/// Version of the JSON format of [`Examination`].
const VERSION: u32 = 1;
/// Minimum widths of the columns of states and subjects, in characters.
const STATE: usize = 7;
const SUBJECT: usize = 9;

/// Output of `sipgen doctor --format json`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Examination {
    /// Version of this format. Within a version, fields are only added.
    #[schemars(extend("const" = VERSION))]
    pub version: u32,
    /// Number of failed checks; the exit code is 1 if there is one.
    pub failed: usize,
    /// Number of warnings.
    pub warnings: usize,
    /// Checks in the order of the text output.
    pub checks: Vec<ExaminedCheck>,
}

/// A check with its result.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExaminedCheck {
    /// Site that it concerns; null for the whole repo, and in a repo that is one site.
    pub site: Option<String>,
    /// Subject: sipgen, git, kustomize, sops, settings, hook, CI, agent, snapshot, input or
    /// output. A subject may have several checks.
    pub subject: &'static str,
    /// Its result.
    pub state: CheckState,
    /// The fact.
    pub fact: String,
    /// File of the setting to fix, relative to the repo's root.
    pub file: Option<String>,
    /// Line in that file, from 1.
    pub line: Option<usize>,
    /// Column in characters, from 1.
    pub column: Option<usize>,
    /// The fix.
    pub help: Option<String>,
}

impl Examination {
    /// Converts the checks of a repo and of its sites, by name.
    pub fn new(checks: &[(&str, Vec<DoctorCheck>)], files: &Files) -> Self {
        let mut texts = Texts::new(files);
        let mut examined = Vec::new();
        for (site, checks) in checks {
            for check in checks {
                let position = check.place.as_ref().map(|place| texts.position(place));
                examined.push(ExaminedCheck {
                    site: Some((*site).to_owned()).filter(|site| !site.is_empty()),
                    subject: check.subject,
                    state: check.state,
                    fact: check.fact.clone(),
                    file: position.as_ref().map(|position| position.file.to_string()),
                    line: position.as_ref().and_then(|position| position.line),
                    column: position.and_then(|position| position.column),
                    help: check.help.clone(),
                });
            }
        }
        Self {
            version: VERSION,
            failed: count(checks, CheckState::Failed),
            warnings: count(checks, CheckState::Warning),
            checks: examined,
        }
    }

    /// Returns the JSON Schema.
    pub fn schema() -> Schema {
        schema_for!(Examination)
    }
}

fn count(checks: &[(&str, Vec<DoctorCheck>)], state: CheckState) -> usize {
    let checks = checks.iter().flat_map(|(_, checks)| checks);
    checks.filter(|check| check.state == state).count()
}

/// Formats checks, one per line, with the fixes.
pub fn checks(checks: &[DoctorCheck], files: &Files) -> ReportText {
    let mut texts = Texts::new(files);
    let mut out = ReportText::default();
    for check in checks {
        // Writing to a `ReportText` cannot fail.
        let _ = write_check(&mut out, check, &mut texts);
    }
    out
}

fn write_check(out: &mut ReportText, check: &DoctorCheck, texts: &mut Texts<'_>) -> fmt::Result {
    let (style, state) = match check.state {
        CheckState::Ok => (ADDED, "ok"),
        CheckState::Note => (FAINT, "note"),
        CheckState::Warning => (WARNING, "warning"),
        CheckState::Failed => (ERROR, "failed"),
    };
    writeln!(
        out,
        "{}  {:SUBJECT$}  {}",
        styled(style, format_args!("{state:STATE$}")),
        check.subject,
        one_line(&check.fact)
    )?;
    if let Some(place) = &check.place {
        let position = texts.position(place).to_string();
        writeln!(out, "  {} {}", styled(FAINT, "-->"), one_line(&position))?;
    }
    for line in check.help.iter().flat_map(|help| help.lines()) {
        writeln!(out, "  {} {}", styled(FAINT, "help:"), one_line(line))?;
    }
    Ok(())
}

/// Formats the number of checks on one line.
pub fn tally_of_checks(checks: &[(&str, Vec<DoctorCheck>)]) -> ReportText {
    let counts = counts(&[
        (count(checks, CheckState::Failed), "failed check", ERROR),
        (count(checks, CheckState::Warning), "warning", WARNING),
    ]);
    let words = counts.unwrap_or_else(|| "no problems found".to_owned());
    format!("{words}\n").into()
}
