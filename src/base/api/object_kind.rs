//! The identity of the kinds that sipgen owns or plans with.

/// The identity of a kind.
#[derive(Debug, PartialEq, Eq)]
pub struct ObjectKind {
    /// The kind's name.
    pub kind: &'static str,
    /// The API group.
    pub group: &'static str,
    /// The API group and the version that sipgen reads.
    pub api_version: &'static str,
    /// The domain of the API group. No other group in this domain has a kind with a similar name.
    pub domain: &'static str,
    /// Fields that only this kind has. Empty if no other group has a kind of this name.
    pub distinctive_fields: &'static [&'static str],
    /// The label with the name of the object's cluster. Without one, the object's name is the
    /// cluster's.
    pub cluster_label: Option<&'static str>,
}

impl ObjectKind {
    /// Returns whether other groups have a kind of this name.
    pub fn has_common_name(&self) -> bool {
        !self.distinctive_fields.is_empty()
    }

    /// Returns a word that every text with such an object contains and few other texts do.
    pub fn mark(&self) -> &'static str {
        if self.has_common_name() { self.group } else { self.kind }
    }
}
