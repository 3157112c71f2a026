//! Difference in the JSON format of `sipgen diff`.

use schemars::JsonSchema;
use serde::Serialize;

use super::lines::{self, FileLines};
use super::problem::Problem;
use crate::ask::difference::Difference;
use crate::input::load::Files;
use crate::review::effects::Review;

/// Version of the JSON format of [`DiffReport`].
const VERSION: u32 = 1;

/// Output of `sipgen diff --format json`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Comparison")]
pub struct DiffReport {
    /// Version of this format. Within a version, fields are only added.
    #[schemars(extend("const" = VERSION))]
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
            version: VERSION,
            base: base.map(str::to_owned),
            head: revision.map(str::to_owned),
            notes: difference.notes.clone(),
            findings: Problem::all(&difference.findings, head),
            review: difference.known.as_ref().map(|(_, review)| review.clone()),
            brought: difference.brought.clone(),
            stale: (difference.stale > 0).then_some(Stale { files: difference.stale }),
            lines: changes.map(lines::by_file),
        }
    }
}
