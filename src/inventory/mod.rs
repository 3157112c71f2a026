//! The hosts of a site, joined from manifests, snapshots, HardwareData and network data.
//!
//! * `assemble`: every host once; `join` joins its `host_document`s to a `host`.
//! * `appliers`: the agent that applies a host.
//! * `networks`: addresses of hosts, indexed by `network_index`. `network_files` reads plain files,
//!   `decryption` decrypts, `keyless` finds Secrets without network data, and `network_remedy`
//!   suggests how to add it.
//! * `usage`: evidence that a host is in use; `undecided`: values that only Flux knows.
//! * `hardware`: inspected hardware; `machine`: the properties that decide whether a host can be a
//!   node.
//! * `mismatch`: the requirement of a labelSelector that no host meets.

pub(crate) mod appliers;
mod assemble;
pub(crate) mod decryption;
pub mod hardware;
pub mod host;
pub(crate) mod host_document;
mod join;
pub mod keyless;
pub mod machine;
pub mod mismatch;
pub(crate) mod network_files;
pub(crate) mod network_index;
pub(crate) mod network_remedy;
pub mod networks;
pub mod undecided;
pub mod usage;

pub use assemble::Inventory;
pub(crate) use assemble::{assemble, natural};
pub use host::{Host, Standing};
