//! Generated files: rendered, compared with the disk, written and committed.
//!
//! - `render`: renders plans
//! - `compare`: the difference between rendered files and the disk
//! - `write`: applies such a difference completely or not at all
//! - `lock`: excludes other writers of the same directory
//! - `commit`: commits generated files

pub mod commit;
pub mod compare;
pub mod lock;
pub mod render;
pub mod write;
