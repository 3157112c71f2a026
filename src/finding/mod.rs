//! Findings: what is wrong with the input, where, and what to do about it.

mod code;
pub mod position;

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use crate::api::names::ClusterKey;
use crate::text::credentials::masked;
use crate::text::visible::visible;

pub use code::{Code, Scope, UnknownCode};
pub(crate) use position::{Delivered, Given, Level};
pub use position::{Moved, Origin, Place, Position, Step};

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing may be written for what the finding concerns.
    Error,
    /// Worth knowing; stops nothing.
    Warning,
}

/// One thing that is wrong with the input.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// What kind of mistake it is.
    pub code: Code,
    /// How much it matters.
    pub severity: Severity,
    /// What is wrong, in one sentence without a full stop.
    pub message: String,
    /// Where: the first place is the one to mend, the others belong to the story.
    pub places: Vec<(Place, Option<String>)>,
    /// What to do, in one sentence or a few lines.
    pub help: Option<String>,
    /// The clusters that it concerns; none when it concerns the whole run.
    pub clusters: Vec<ClusterKey>,
}

impl Finding {
    /// A finding of a kind, as severe as the catalogue has it.
    ///
    /// The words of a finding are for every channel, those of programs included: hidden characters are escapes in them,
    /// and credentials are masked.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: code.severity(),
            message: said(&message.into()),
            places: Vec::new(),
            help: None,
            clusters: Vec::new(),
        }
    }

    /// Adds the place to mend.
    pub fn at(self, place: Place) -> Self {
        self.with(place, None)
    }

    /// Adds a place that belongs to the story, with what is there.
    pub fn see(self, place: Place, what: impl Into<String>) -> Self {
        self.with(place, Some(said(&what.into())))
    }

    /// Adds a place; with one in a kustomization, that in the manifest, which people look at first.
    fn with(mut self, place: Place, what: Option<String>) -> Self {
        let own = place.instead_of().cloned();
        self.places.push((place, what));
        let own = own.map(|own| {
            (
                own,
                Some("what the manifest itself says does not count".to_owned()),
            )
        });
        self.places.extend(own);
        self
    }

    /// Says what to do.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        let lines: Vec<String> = help.into().lines().map(said).collect();
        self.help = Some(lines.join("\n"));
        self
    }

    /// Says which cluster it concerns.
    pub fn of(mut self, cluster: &ClusterKey) -> Self {
        self.clusters.push(cluster.clone());
        self
    }

    /// Returns whether the finding names clusters as its code requires: one without them stops the whole run.
    fn has_its_scope(&self) -> bool {
        match self.code.scope() {
            Scope::Run => self.clusters.is_empty(),
            Scope::Cluster => !self.clusters.is_empty(),
            Scope::Either => true,
        }
    }

    /// Whether it stops what it concerns.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// Words as they may be said, on one line.
fn said(words: &str) -> String {
    visible(&masked(words)).into_owned()
}

/// Makes one of findings that say the same of several clusters, such as an error in a template that they share.
pub fn merge(findings: Vec<Finding>) -> Vec<Finding> {
    let mut merged: Vec<Finding> = Vec::new();
    // By their hash: thousands of findings may say the same of other places.
    let mut known: HashMap<u64, Vec<usize>> = HashMap::new();
    let hasher = RandomState::new();
    for finding in findings {
        // Every finding of a run comes by here, so each test checks this.
        debug_assert!(finding.has_its_scope(), "the scope of {finding:?}");
        let alike = known
            .entry(hasher.hash_one((&finding.message, &finding.places)))
            .or_default();
        let is_same =
            |other: &Finding| other.message == finding.message && other.places == finding.places;
        match alike.iter().find(|at| is_same(&merged[**at])) {
            Some(at) => {
                let more = finding
                    .clusters
                    .into_iter()
                    .filter(|cluster| !merged[*at].clusters.contains(cluster));
                let more: Vec<ClusterKey> = more.collect();
                merged[*at].clusters.extend(more);
            }
            None => {
                alike.push(merged.len());
                merged.push(finding);
            }
        }
    }
    merged
}
