//! A difference as programs read it.

use schemars::{JsonSchema, Schema, schema_for};
use serde::Serialize;

use super::lines::{self, FileLines};
use super::problem::Problem;
use crate::difference::Difference;
use crate::load::{Files, Texts};
use crate::review::Review;

/// The version of [`Comparison`] as JSON.
const VERSION: u32 = 1;

/// What `sipgen diff --format json` prints.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Comparison {
    /// The version of this form. Within a version fields are only added.
    #[schemars(extend("const" = VERSION))]
    pub version: u32,
    /// The earlier revision, as it was named; null for the output directory as it is.
    pub base: Option<String>,
    /// The later revision, as it was named; null for the files on the disk.
    pub head: Option<String>,
    /// What a reader has to know of how the comparison came about, in whole sentences.
    pub notes: Vec<String>,
    /// What is wrong with the later state.
    pub findings: Vec<Problem>,
    /// What changes; null when errors forbid to generate anything.
    pub review: Option<Review>,
    /// What nobody had generated in the base, and comes along; null when there is nothing of the kind. Its dangers are
    /// among those of `review`, too.
    pub brought: Option<Review>,
    /// Set when the later state's overlays are not what its inputs make; null without a base, where that is what
    /// `review` shows.
    pub stale: Option<Stale>,
    /// The changed files, line by line; null unless asked for.
    pub lines: Option<Vec<FileLines>>,
}

/// Overlays that are not what the inputs make.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stale {
    /// How many files.
    pub files: usize,
}

impl Comparison {
    /// Puts a difference into the form that is printed. `head` are the files of the later state.
    pub fn new(
        base: Option<&str>,
        revision: Option<&str>,
        difference: &Difference,
        head: &Files,
        lines: bool,
    ) -> Self {
        let mut texts = Texts::new(head);
        let changes = difference
            .known
            .as_ref()
            .map(|(changes, _)| changes)
            .filter(|_| lines);
        Self {
            version: VERSION,
            base: base.map(str::to_owned),
            head: revision.map(str::to_owned),
            notes: difference.notes.clone(),
            findings: difference
                .findings
                .iter()
                .map(|finding| Problem::new(finding, &mut texts))
                .collect(),
            review: difference.known.as_ref().map(|(_, review)| review.clone()),
            brought: difference.brought.clone(),
            stale: (difference.stale > 0).then_some(Stale {
                files: difference.stale,
            }),
            lines: changes.map(lines::by_file),
        }
    }

    /// The schema of the JSON.
    pub fn schema() -> Schema {
        schema_for!(Comparison)
    }
}
