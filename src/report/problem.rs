//! Findings as programs read them: part of what `sipgen diff` and `sipgen validate` print as JSON.

use schemars::{JsonSchema, Schema, schema_for};
use serde::Serialize;

use crate::api::names::ClusterKey;
use crate::finding::{Code, Finding, Severity};
use crate::load::{Files, Texts};

/// The version of [`Validation`] as JSON.
const VERSION: u32 = 1;

/// What `sipgen validate --format json` prints.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Validation {
    /// The version of this form. Within a version fields are only added.
    #[schemars(extend("const" = VERSION))]
    pub version: u32,
    /// How many errors there are; the exit code is 1 if there is one.
    pub errors: usize,
    /// How many warnings there are.
    pub warnings: usize,
    /// How many warnings are not told, because the settings mute them.
    pub muted: usize,
    /// What is wrong with the input, the errors first.
    pub findings: Vec<Problem>,
}

impl Validation {
    /// Puts the findings of a run over `files` into the form that is printed.
    pub fn new(findings: &[Finding], muted: usize, files: &Files) -> Self {
        let mut texts = Texts::new(files);
        let mut by_severity: Vec<&Finding> = findings.iter().collect();
        by_severity.sort_by_key(|finding| finding.severity);
        let errors = findings.iter().filter(|finding| finding.is_error()).count();
        Self {
            version: VERSION,
            errors,
            warnings: findings.len() - errors,
            muted,
            findings: by_severity
                .into_iter()
                .map(|finding| Problem::new(finding, &mut texts))
                .collect(),
        }
    }

    /// The schema of the JSON.
    pub fn schema() -> Schema {
        schema_for!(Validation)
    }
}

/// Something that is wrong with the input.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// What kind of mistake it is: `SIP0101`.
    pub code: &'static str,
    /// How much it matters.
    pub severity: ProblemSeverity,
    /// What kind of mistake that is, in a few words.
    pub title: &'static str,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
    /// Where: the first place is the one to mend.
    pub places: Vec<ProblemPlace>,
    /// The clusters that it concerns; none when it concerns the whole run.
    pub clusters: Vec<ClusterKey>,
}

/// How much a problem matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ProblemSeverity {
    /// Nothing is generated for what it concerns.
    Error,
    /// Worth knowing; stops nothing.
    Warning,
}

/// A place in the input.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProblemPlace {
    /// Relative to the repo's root.
    pub file: String,
    /// From 1.
    pub line: Option<usize>,
    /// From 1, in characters.
    pub column: Option<usize>,
    /// The line that the place ends on; null where the end is not known.
    pub end_line: Option<usize>,
    /// The column behind the last character of the place; null where the end is not known.
    pub end_column: Option<usize>,
    /// What is there.
    pub what: Option<String>,
}

impl Problem {
    pub(super) fn new(finding: &Finding, texts: &mut Texts<'_>) -> Self {
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
            severity: finding.severity.into(),
            title: finding.code.title(),
            message: finding.message.clone(),
            help: finding.help.clone(),
            places: finding.places.iter().map(&mut place).collect(),
            clusters: finding.clusters.clone(),
        }
    }
}

impl From<Severity> for ProblemSeverity {
    fn from(severity: Severity) -> Self {
        match severity {
            Severity::Error => ProblemSeverity::Error,
            Severity::Warning => ProblemSeverity::Warning,
        }
    }
}

/// What the catalogue says of a code, as `sipgen explain --format json` prints it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedCode {
    /// The code: `SIP0101`.
    pub code: &'static str,
    /// How much a finding with it matters.
    pub severity: ProblemSeverity,
    /// What it is about, as all codes of its hundred.
    pub area: &'static str,
    /// What is wrong, in a few words.
    pub title: &'static str,
    /// What is wrong, why it matters and how to mend it: Markdown.
    pub explanation: &'static str,
}

impl From<Code> for ExplainedCode {
    fn from(code: Code) -> Self {
        Self {
            code: code.id(),
            severity: code.severity().into(),
            area: code.area(),
            title: code.title(),
            explanation: code.explanation(),
        }
    }
}
