//! The hosts of a site, joined from manifests, snapshots, HardwareData and network data.
//!
//! * `assemble`: every host once, from `host_document`s that `join` joins to a `host`.
//! * `appliers`: which agent applies a host.
//! * `networks`: its addresses, found by `network_index`. `network_files` reads those in files that are no manifests, `decryption` what is
//!   encrypted, `keyless` finds Secrets without network data, and `network_remedy` says how a host gets some.
//! * `usage`: what says that a host is in use; `undecided` are values that only Flux knows.
//! * `hardware`: what inspection found; `machine`: what of it decides whether a host can be a node.
//! * `hosts_by_mac`: index of hosts by MAC address; `topology_labels`: labels of their racks and servers.
//! * `mismatch`: the requirement of a label selector that no host meets.

pub(crate) mod appliers;
mod assemble;
pub(crate) mod decryption;
pub mod hardware;
pub mod host;
pub(crate) mod host_document;
pub(crate) mod hosts_by_mac;
mod join;
pub mod keyless;
pub mod machine;
pub mod mismatch;
pub(crate) mod network_files;
pub(crate) mod network_index;
pub(crate) mod network_remedy;
pub mod networks;
pub(crate) mod topology_labels;
pub mod undecided;
pub mod usage;

pub use assemble::Inventory;
pub(crate) use assemble::{assemble, natural};
pub use host::{Host, Standing};
