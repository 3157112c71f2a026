//! Findings: errors and warnings about the input, with places and help.

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

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Forbids writing what the finding concerns.
    Error,
    /// Forbids nothing.
    Warning,
}

/// An error or warning about the input.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The kind of finding.
    pub code: Code,
    /// The severity, from the catalogue.
    pub severity: Severity,
    /// The message: one sentence without a final period.
    pub message: String,
    /// The places. The first one is to be fixed; others give context and have a note.
    pub places: Vec<(Place, Option<String>)>,
    /// The fix, in one sentence or a few lines.
    pub help: Option<String>,
    /// The clusters that it concerns; empty if it concerns the whole run.
    pub clusters: Vec<ClusterKey>,
}

impl Finding {
    /// Creates a finding with the severity of its code.
    ///
    /// Messages reach every output format, including those for programs, so hidden characters are
    /// escaped and credentials masked here.
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

    /// Adds the place to fix.
    pub fn at(self, place: Place) -> Self {
        self.with(place, None)
    }

    /// Adds a place for context, with a note.
    pub fn see(self, place: Place, what: impl Into<String>) -> Self {
        self.with(place, Some(said(&what.into())))
    }

    /// Adds a place. For a place in a kustomization, also adds the overridden one in the manifest,
    /// where readers look first.
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

    /// Sets the help.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        let lines: Vec<String> = help.into().lines().map(said).collect();
        self.help = Some(lines.join("\n"));
        self
    }

    /// Adds a cluster that it concerns.
    pub fn of(mut self, cluster: &ClusterKey) -> Self {
        self.clusters.push(cluster.clone());
        self
    }

    /// Returns whether the finding names clusters as its code requires. An error without them stops
    /// the whole run.
    fn has_its_scope(&self) -> bool {
        match self.code.scope() {
            Scope::Run => self.clusters.is_empty(),
            Scope::Cluster => !self.clusters.is_empty(),
            Scope::Either => true,
        }
    }

    /// Returns whether the finding is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// Escapes and masks a text for one line of output.
fn said(words: &str) -> String {
    visible(&masked(words)).into_owned()
}

/// Merges findings with equal message and places, such as an error in a template that several
/// clusters use.
pub fn merge(findings: Vec<Finding>) -> Vec<Finding> {
    let mut merged: Vec<Finding> = Vec::new();
    // Found by hash, because a run may have thousands of findings.
    let mut known: HashMap<u64, Vec<usize>> = HashMap::new();
    let hasher = RandomState::new();
    for finding in findings {
        // Every finding of a run passes here, so every test checks its scope.
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
