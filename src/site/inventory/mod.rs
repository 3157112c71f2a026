//! The hosts of a site, joined from manifests, snapshots, HardwareData and network data.
//!
//! * `assemble`: every host once; `join` makes a `host` from its `host_document`s.
//! * `evidence`: proof that labels of a host arrive; `appliers`: agents that apply a host.
//! * `apply_options`: options by which agents lose labels or replace hosts.
//! * `networks`: network data of hosts, found by `network_index`; `network_remedy` explains how to
//!   add some. `addresses`: addresses from other sources.
//! * `usage`: evidence that a host is in use; `undecided`: values that only Flux knows.
//! * `hardware`: results of inspection; `machine`: their part that decides about nodes;
//!   `requirements`: what node sets require of it.
//! * `identity`: hosts of one machine, hosts by MAC address; `registration`: mistakes in BMC and boot
//!   MAC addresses.
//! * `topology_labels`: labels of racks and servers.
//! * `maintenance`: marks of hosts that get no new assignment.
//! * `mismatch`: the requirement of a label selector that no host meets.

pub(crate) mod addresses;
pub(crate) mod appliers;
pub(crate) mod apply_options;
mod assemble;
mod evidence;
pub mod hardware;
pub mod host;
pub(crate) mod host_document;
pub(crate) mod identity;
mod join;
pub mod machine;
pub mod maintenance;
pub mod mismatch;
pub(crate) mod network_index;
pub(crate) mod network_remedy;
pub mod networks;
pub(crate) mod registration;
pub mod requirements;
pub(crate) mod topology_labels;
pub mod undecided;
pub mod usage;

pub use assemble::Inventory;
pub(crate) use assemble::{assemble, natural};
pub use evidence::Evidence;
pub use host::Host;
