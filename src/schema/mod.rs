//! Schemas of the kinds that people write, for editors and for API servers.
//!
//! * [`sipcluster`], [`provisioning`], [`software`], [`settings`]: JSON Schemas (draft 2020-12) for
//!   editors.
//! * [`sipcluster_crd`], [`provisioning_crd`], [`software_crd`]: CustomResourceDefinitions;
//!   [`yaml`] writes them.
//!
//! All of them are generated from the types in [`crate::api`] and [`crate::settings`]. `editor` and
//! `definition` adapt them to their readers; `legacy` has the fields that only older generations of
//! SIPCluster have.
//!
//! The two differ on purpose. An editor says as much as can be said of a file before sipgen reads
//! it. An API server has objects of all generations of SIPCluster, and refuses none that the SIP
//! operator could have served.

mod definition;
mod editor;
mod legacy;

pub use definition::{provisioning_crd, sipcluster_crd, software_crd, yaml};
pub use editor::{provisioning, settings, sipcluster, software};
