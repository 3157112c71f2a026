//! Foundations of all other stages: no I/O, and no meaning for fleets.

pub mod api;
pub mod finding;
pub(crate) mod grouping;
pub mod layout;
pub mod text;
pub mod tree;
