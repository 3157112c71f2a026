//! Identity of the kinds of objects that sipgen owns or plans with.

/// Identity of a kind of objects.
#[derive(Debug, PartialEq, Eq)]
pub struct ObjectKind {
    /// The kind.
    pub kind: &'static str,
    /// Its API group.
    pub group: &'static str,
    /// Its group with the version that is read.
    pub api_version: &'static str,
    /// Domain of the group. No other group below it has a kind of a similar name.
    pub domain: &'static str,
    /// Fields that only this kind has. Empty if no other group has a kind of this name.
    pub distinctive_fields: &'static [&'static str],
    /// Label that names the object's cluster; without one, the object's name is the cluster's.
    pub cluster_label: Option<&'static str>,
}

impl ObjectKind {
    /// Returns whether other groups have a kind of this name.
    pub fn has_common_name(&self) -> bool {
        !self.distinctive_fields.is_empty()
    }

    /// Returns a word that a text with such an object contains and few other texts do.
    pub fn mark(&self) -> &'static str {
        if self.has_common_name() {
            self.group
        } else {
            self.kind
        }
    }
}
