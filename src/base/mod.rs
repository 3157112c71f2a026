//! What every other stage builds on, without I/O and without a meaning for fleets.

pub mod api;
pub mod finding;
pub mod layout;
pub mod text;
pub mod tree;
