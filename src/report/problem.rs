//! Findings in the JSON format of `sipgen diff` and `sipgen validate`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::base::api::names::ClusterKey;
use crate::base::finding::{Finding, Severity};
use crate::input::load::{Files, Texts};

/// Version of the JSON format of [`Validation`].
const VERSION: u32 = 1;

/// Output of `sipgen validate --format json`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Validation {
    /// Version of this format. Within a version, fields are only added.
    #[schemars(extend("const" = VERSION))]
    pub version: u32,
    /// Number of errors; the exit code is 1 if there is one.
    pub errors: usize,
    /// Number of warnings.
    pub warnings: usize,
    /// Number of warnings that the settings mute.
    pub muted: usize,
    /// Findings, errors first.
    pub findings: Vec<Problem>,
}

impl Validation {
    /// Converts the findings of a run over `files`.
    pub fn new(findings: &[Finding], muted: usize, files: &Files) -> Self {
        let mut by_severity: Vec<&Finding> = findings.iter().collect();
        by_severity.sort_by_key(|finding| finding.severity);
        let errors = findings.iter().filter(|finding| finding.is_error()).count();
        Self {
            version: VERSION,
            errors,
            warnings: findings.len() - errors,
            muted,
            findings: Problem::all(by_severity, files),
        }
    }
}

/// An error or a warning.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Problem {
    /// Code of the finding, such as `SIP0101`.
    pub code: &'static str,
    /// Severity of the finding.
    pub severity: Severity,
    /// Title of the code, in a few words.
    pub title: &'static str,
    /// Description of the problem.
    pub message: String,
    /// Suggested fix.
    pub help: Option<String>,
    /// Positions; the first one is the one to fix.
    pub places: Vec<ProblemPlace>,
    /// Clusters that the finding concerns; empty if it concerns the whole run.
    pub clusters: Vec<ClusterKey>,
}

/// Position in the input.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProblemPlace {
    /// Path relative to the repo's root.
    pub file: String,
    /// Line, from 1.
    pub line: Option<usize>,
    /// Column in characters, from 1.
    pub column: Option<usize>,
    /// Last line; null if the end is unknown.
    pub end_line: Option<usize>,
    /// Column after the last character; null if the end is unknown.
    pub end_column: Option<usize>,
    /// Remark on the position.
    pub what: Option<String>,
}

impl Problem {
    /// Converts findings about `files`.
    pub(super) fn all<'f>(
        findings: impl IntoIterator<Item = &'f Finding>,
        files: &Files,
    ) -> Vec<Self> {
        let mut texts = Texts::new(files);
        findings.into_iter().map(|finding| Self::new(finding, &mut texts, usize::MAX)).collect()
    }

    /// Converts a finding, with its first positions.
    pub(super) fn new(finding: &Finding, texts: &mut Texts<'_>, most_places: usize) -> Self {
        let mut place = |(place, what): &(_, Option<String>)| {
            let position = texts.position(place);
            ProblemPlace {
                file: position.file.to_string(),
                line: position.line,
                column: position.column,
                end_line: position.line.filter(|_| position.end_column.is_some()),
                end_column: position.end_column,
                what: what.clone(),
            }
        };
        Self {
            code: finding.code.id(),
            severity: finding.severity,
            title: finding.code.title(),
            message: finding.message.clone(),
            help: finding.help.clone(),
            places: finding.places.iter().take(most_places).map(&mut place).collect(),
            clusters: finding.clusters.clone(),
        }
    }
}
