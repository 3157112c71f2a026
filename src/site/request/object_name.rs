//! Names of a cluster's objects in its namespace.

use sha2::{Digest, Sha256};

use crate::base::api::names::ClusterKey;

/// Returns the name of a cluster's object, without dots.
///
/// A cluster's name that is too long is shortened and extended by a hash of the original, so that
/// long names stay distinct.
pub(super) fn object_name(prefix: &str, cluster: &ClusterKey, longest: usize) -> String {
    let name = cluster.name.as_str();
    let plain = format!("{prefix}-{name}");
    if plain.len() <= longest && !name.contains('.') {
        return plain;
    }
    shortened(&format!("{prefix}-{}", name.replace('.', "-")), name, longest)
}

/// Shortens a text and appends a hash of `whole`, which keeps it unique.
pub(crate) fn shortened(text: &str, whole: &str, longest: usize) -> String {
    let hash = format!("{:.8x}", Sha256::digest(whole.as_bytes()));
    let short: String = text.chars().take(longest - hash.len() - 1).collect();
    // Without a `.` at the cut, because a DNS label must not start with `-`.
    format!("{}-{hash}", short.trim_end_matches(['-', '.']))
}
