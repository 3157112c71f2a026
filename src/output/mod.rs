//! Generated files: rendered, compared with the disk, and written.
//!
//! - `render`: renders plans
//! - `compare`: the difference between rendered files and the disk
//! - `write`: applies such a difference completely or not at all
//! - `lock`: excludes other writers of the same directory

pub mod compare;
pub mod lock;
pub mod render;
pub mod write;
