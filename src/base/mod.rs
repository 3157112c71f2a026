//! Foundations of all other stages: no I/O, and no meaning for fleets.

pub mod api;
pub mod finding;
pub mod layout;
pub mod text;
pub mod tree;
