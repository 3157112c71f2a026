//! Likely mistakes of a site, and effects of changed files on clusters.

pub mod effects;
pub mod lint;
pub(crate) mod uncommitted;
