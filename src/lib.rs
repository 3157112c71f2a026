//! Turns bare-metal tenant-cluster requests into GitOps manifests.
pub mod api;
pub mod finding;
pub mod layout;
pub mod plan;
pub mod render;
pub mod site;
pub mod source;
