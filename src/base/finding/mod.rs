//! Findings: a mistake in the input, its place and its fix.

mod code;
pub mod position;
mod texts;

use schemars::JsonSchema;
use serde::Serialize;

use crate::base::api::names::ClusterKey;
use crate::base::grouping::grouped_in_order;
use crate::base::text::credentials::masked;
use crate::base::text::visible::visible;

pub use code::{Code, ErrorScope, UnknownCode};
pub(crate) use position::{ComponentLevel, DocumentBuilds, ForeignValue, below, shown_route};
pub use position::{DocumentField, Origin, Place, Position, RouteMapping, RouteStep};
pub(crate) use texts::{each_text, each_text_in};

/// Severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    /// The affected clusters are not generated.
    Error,
    /// A likely mistake; nothing is blocked.
    Warning,
}

impl Severity {
    /// Returns the severity as a noun.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// A mistake in the input.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// Kind of the mistake.
    pub code: Code,
    /// Severity by the catalogue.
    pub severity: Severity,
    /// The fact, in one sentence without a final period.
    pub message: String,
    /// Places: first the one to fix, then related ones with an explanation.
    pub places: Vec<(Place, Option<String>)>,
    /// Advice, in one sentence or a few lines.
    pub help: Option<String>,
    /// Clusters that it concerns; empty for the whole run.
    pub clusters: Vec<ClusterKey>,
}

impl Finding {
    /// Creates a finding with the severity of its code.
    ///
    /// All texts of a finding are safe for any output, including formats for programs: hidden
    /// characters are escaped, and credentials are masked.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: code.severity(),
            message: escaped(&message.into()),
            places: Vec::new(),
            help: None,
            clusters: Vec::new(),
        }
    }

    /// Adds the place to fix.
    pub fn at(self, place: Place) -> Self {
        self.with(place, None)
    }

    /// Adds a related place with an explanation.
    pub fn see(self, place: Place, what: impl Into<String>) -> Self {
        self.with(place, Some(escaped(&what.into())))
    }

    /// Adds places to fix.
    pub fn at_each(self, places: impl IntoIterator<Item = Place>) -> Self {
        places.into_iter().fold(self, Finding::at)
    }

    /// Adds related places, each with an explanation.
    pub fn see_each<T: Into<String>>(self, places: impl IntoIterator<Item = (Place, T)>) -> Self {
        places.into_iter().fold(self, |finding, (place, what)| finding.see(place, what))
    }

    /// Adds a place. For one in a kustomization, also adds the overridden place in the manifest,
    /// where users look first.
    fn with(mut self, place: Place, what: Option<String>) -> Self {
        let own = place.instead_of().cloned();
        self.places.push((place, what));
        let own =
            own.map(|own| (own, Some("what the manifest itself says does not count".to_owned())));
        self.places.extend(own);
        self
    }

    /// Sets the advice.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        let lines: Vec<String> = help.into().lines().map(escaped).collect();
        self.help = Some(lines.join("\n"));
        self
    }

    /// Adds a cluster that it concerns.
    pub fn for_cluster(self, cluster: &ClusterKey) -> Self {
        let is_known = self.clusters.contains(cluster);
        self.for_clusters((!is_known).then_some(cluster))
    }

    /// Adds clusters that it concerns.
    pub fn for_clusters<'k>(mut self, clusters: impl IntoIterator<Item = &'k ClusterKey>) -> Self {
        self.clusters.extend(clusters.into_iter().cloned());
        self
    }

    /// Returns whether the finding names clusters exactly as its code requires. An error without
    /// clusters stops the whole run.
    fn has_its_scope(&self) -> bool {
        match self.code.scope() {
            ErrorScope::Run => self.clusters.is_empty(),
            ErrorScope::Cluster => !self.clusters.is_empty(),
            ErrorScope::Either => true,
        }
    }

    /// Returns whether it is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// Escapes hidden characters and masks credentials of one line.
fn escaped(words: &str) -> String {
    visible(&masked(words)).into_owned()
}

/// Merges findings that differ only in their clusters, such as an error in a shared template.
pub fn merge(findings: Vec<Finding>) -> Vec<Finding> {
    let alike = grouped_in_order(findings.into_iter().map(|finding| {
        // All findings of a run pass here, so every test checks this.
        debug_assert!(finding.has_its_scope(), "the scope of {finding:?}");
        ((finding.message.clone(), finding.places.clone()), finding)
    }));
    let merged = alike.into_iter().filter_map(|(_, alike)| {
        alike.into_iter().reduce(|mut merged, other| {
            let more: Vec<ClusterKey> =
                other.clusters.into_iter().filter(|it| !merged.clusters.contains(it)).collect();
            merged.clusters.extend(more);
            merged
        })
    });
    merged.collect()
}
