//! Documents of sipgen's kinds that seem to be templates of other tools, because they have double
//! braces and cannot be parsed.
//!
//! Most of them are templates, such as Helm charts. But a request with a typo would vanish with its
//! cluster, and a Software with its packages.

use serde::de::IgnoredAny;

use crate::base::api::names::ObjectName;
use crate::base::api::provisioning::{self as api, CLUSTER, SOFTWARE_KIND};
use crate::base::finding::Origin;
use crate::base::text::static_regex;
use crate::input::load::{Document, ParseError};

/// A suspected template, or a request whose name or namespace is a placeholder.
pub(crate) struct SuspectedTemplate {
    pub(crate) origin: Origin,
    /// The kind and cluster, for a suspected Provisioning or Software.
    pub(crate) asked: Option<SuspectedObject>,
}

/// The object that a suspected template would be.
pub(crate) struct SuspectedObject {
    pub(crate) kind: &'static str,
    /// Cluster name, if it needs no rendering.
    pub(crate) cluster: Option<ObjectName>,
    /// Parse error, if the document is not valid YAML. Its braces may then be unrelated to
    /// templates.
    pub(crate) broken: Option<ParseError>,
}

impl SuspectedTemplate {
    /// Describes a document as a template. Kinds of the Binary Provisioning Agent are recorded.
    pub(crate) fn new(document: &Document<'_>) -> Self {
        let kinds = [api::KIND, SOFTWARE_KIND];
        let kind = kinds
            .into_iter()
            .find(|kind| document.mentions(&[api::GROUP]) && document.mentions_kind(&[kind]));
        let cluster = || document.scalar_of(CLUSTER)?.parse().ok();
        let asked = kind.map(|kind| SuspectedObject {
            kind,
            cluster: cluster(),
            broken: document.parse::<IgnoredAny>().err(),
        });
        Self { origin: document.origin.clone(), asked }
    }

    /// Returns whether it would be a Software.
    pub(crate) fn is_software(&self) -> bool {
        self.asked.as_ref().is_some_and(|asked| asked.kind == SOFTWARE_KIND)
    }
}

/// Returns whether a text looks like a placeholder that shell, sed, Jinja or a person replaces.
pub(crate) fn is_placeholder(text: &str) -> bool {
    // Fast for names of objects.
    let is_of_name = |byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.');
    if text.bytes().all(is_of_name) {
        return false;
    }
    let placeholder = static_regex!(concat!(
        r"(?s)\$\{[^}]+\}|\$\([^)]+\)|\{\{.+?\}\}|\{%.+?%\}",
        r"|<[\w. -]+>|@[\w. -]+@|%[\w. -]+%|__[\w. -]+__",
        r"|^\$[A-Z0-9_-]+$|^[A-Z0-9_-]*(?:NAME|_)[A-Z0-9_-]*$",
    ));
    placeholder.is_match(text)
}
