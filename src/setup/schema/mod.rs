//! Schemas of requests and settings, for editors and API servers.
//!
//! * [`sipcluster`], [`provisioning`], [`software`], [`settings`]: JSON Schemas (draft 2020-12) for
//!   editors.
//! * [`sipcluster_crd`], [`provisioning_crd`], [`software_crd`]: CustomResourceDefinitions.
//!
//! All are generated from the types in [`crate::base::api`] and [`crate::input::settings`]. `editor` and
//! `definition` adapt them; `legacy` adds SIPCluster fields of older generations.
//!
//! They differ on purpose. An editor's schema is as strict as possible. An API server stores
//! SIPClusters of all generations, and must accept any that the SIP operator could have served.

mod definition;
mod editor;
mod legacy;

pub use definition::{provisioning_crd, sipcluster_crd, software_crd};
pub use editor::{provisioning, settings, sipcluster, software};

/// Joins the lines of each paragraph.
fn unwrapped(text: &str) -> String {
    let paragraphs = text.split("\n\n").map(|paragraph| paragraph.replace('\n', " "));
    paragraphs.collect::<Vec<_>>().join("\n\n")
}
