//! What a plan and the changes of files mean for clusters.

pub mod effects;
pub mod lint;
pub(crate) mod uncommitted;
