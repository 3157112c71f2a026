//! Generates GitOps manifests from bare-metal cluster requests.
//!
//! A git repo holds SIPClusters, Provisionings and a snapshot of its BareMetalHosts. [`generate`]
//! reads both, assigns hosts to clusters and computes the changes of the repo's overlays;
//! [`write_output()`] writes them. Data flows one way:
//!
//! ```text
//!  files, git,
//!  streams, builds     pure: no I/O, no clock, no randomness                 files
//! ┌────────┐ documents ┌──────┐ Site ┌──────┐ Plan ┌────────┐ Tree ┌─────────┐ Changes ┌───────┐
//! │ load   │ ────────► │ site │ ───► │ plan │ ───► │ render │ ───► │ compare │ ──────► │ write │
//! └────────┘           └──────┘      └──────┘      └────────┘      └─────────┘         └───────┘
//! ```
//!
//! ```
//! use sipgen::{Options, generate, load::Files, report};
//!
//! let repo = Files::on_disk("fixtures/quickstart");
//! let generated = generate(&repo, &Options::default(), &|_stage| {})?;
//! let changes = generated.changes.as_ref().ok_or("the input has errors")?;
//! assert!(changes.files.keys().any(|file| file == "overlays/clusters/tenant-a/edge/jumphost/deployment.yaml"));
//! assert!(report::summary(&generated, false).to_string().contains("4 hosts assigned"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod api;
mod decode;
pub mod delivery;
pub mod difference;
pub mod finding;
mod generate;
pub mod git;
pub mod init;
pub mod inventory;
pub mod kustomize;
pub mod layout;
pub mod lint;
pub mod load;
mod migrate;
pub mod output;
pub mod overview;
pub mod plan;
pub mod render;
pub mod report;
pub mod request;
pub mod review;
pub mod schema;
pub mod settings;
pub mod site;
pub mod sites;
pub mod snapshot;
pub mod text;
mod uncommitted;

pub use generate::{Error, Generated, Options, Stage, generate, generate_sites};
pub use migrate::{Migration, migrate, migrate_sites};
pub use output::write::{
    WriteError, is_interrupted, undo_interrupted, undo_interrupted_snapshot, write, write_output,
    write_snapshot,
};
