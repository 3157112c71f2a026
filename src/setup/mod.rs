//! Preparation of a repo: requests, files beside the inputs, snapshots, schemas.

pub mod doctor;
pub mod example;
pub mod init;
pub(crate) mod migrate;
pub mod schema;
pub mod snapshot;
