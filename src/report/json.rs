//! JSON formats of `sipgen validate` and `sipgen diff`, and of findings in other formats.

use schemars::JsonSchema;
use serde::Serialize;

use super::lines::{self, FileLines};
use crate::ask::difference::Difference;
use crate::base::api::names::ClusterKey;
use crate::base::finding::{Finding, Severity};
use crate::input::load::{Files, Texts};
use crate::review::effects::Review;

/// Versions of the JSON formats of [`Validation`] and [`DiffReport`].
const VALIDATION_VERSION: u32 = 1;
const DIFF_VERSION: u32 = 1;

/// Output of `sipgen validate --format json`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Validation {
    /// Version of this format. Within a version, fields are only added.
    #[schemars(extend("const" = VALIDATION_VERSION))]
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
            version: VALIDATION_VERSION,
            errors,
            warnings: findings.len() - errors,
            muted,
            findings: Problem::all(by_severity, files, usize::MAX),
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
    /// Converts findings about `files`, with at most so many positions of each.
    pub(super) fn all<'f>(
        findings: impl IntoIterator<Item = &'f Finding>,
        files: &Files,
        most_places: usize,
    ) -> Vec<Self> {
        let mut texts = Texts::new(files);
        findings.into_iter().map(|finding| Self::new(finding, &mut texts, most_places)).collect()
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

/// Output of `sipgen diff --format json`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Comparison")]
pub struct DiffReport {
    /// Version of this format. Within a version, fields are only added.
    #[schemars(extend("const" = DIFF_VERSION))]
    pub version: u32,
    /// Earlier revision as given on the command line; null for the output directory on disk.
    pub base: Option<String>,
    /// Later revision as given on the command line; null for the files on disk.
    pub head: Option<String>,
    /// Remarks on how the comparison was made, in sentences.
    pub notes: Vec<String>,
    /// Errors and warnings of the later state.
    pub findings: Vec<Problem>,
    /// Changes; null if errors prevent generation.
    pub review: Option<Review>,
    /// Changes that the base had not generated and that are included now; null if there are none.
    /// Their dangers are also listed in `review`.
    pub brought: Option<Review>,
    /// Set if the overlays of the later state differ from what its inputs generate; null without a
    /// base, because `review` then shows that.
    pub stale: Option<Stale>,
    /// Unified diffs of the changed files; null unless requested.
    pub lines: Option<Vec<FileLines>>,
}

/// Overlays that differ from what the inputs generate.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct Stale {
    /// Number of files.
    pub files: usize,
}

impl DiffReport {
    /// Converts a difference. `head` are the files of the later state.
    pub fn new(
        base: Option<&str>,
        revision: Option<&str>,
        difference: &Difference,
        head: &Files,
        lines: bool,
    ) -> Self {
        let changes = difference.known.as_ref().map(|(changes, _)| changes).filter(|_| lines);
        Self {
            version: DIFF_VERSION,
            base: base.map(str::to_owned),
            head: revision.map(str::to_owned),
            notes: difference.notes.clone(),
            findings: Problem::all(&difference.findings, head, usize::MAX),
            review: difference.known.as_ref().map(|(_, review)| review.clone()),
            brought: difference.brought.clone(),
            stale: (difference.stale > 0).then_some(Stale { files: difference.stale }),
            lines: changes.map(lines::by_file),
        }
    }
}
