//! Generates GitOps manifests from bare-metal cluster requests.
//!
//! A git repo holds SIPClusters, Provisionings and a snapshot of its BareMetalHosts. [`generate()`]
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
//! use sipgen::{Files, Options, generate, report};
//!
//! let repo = Files::on_disk("fixtures/quickstart");
//! let generated = generate(&repo, &Options::default(), &|_stage| {})?;
//! let changes = generated.changes.as_ref().ok_or("the input has errors")?;
//! assert!(changes.files.keys().any(|file| file == "overlays/clusters/tenant-a/edge/jumphost/kustomization.yaml"));
//! assert!(report::summary(&generated, false).to_string().contains("4 hosts assigned"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod decode;
mod generate;
mod migrate;
pub mod report;
mod uncommitted;

// Rooms that the program, the benchmarks and the tests use. They are not part of the API and change
// without notice.
#[doc(hidden)]
pub mod api;
#[doc(hidden)]
pub mod capacity;
#[doc(hidden)]
pub mod delivery;
#[doc(hidden)]
pub mod difference;
#[doc(hidden)]
pub mod doctor;
#[doc(hidden)]
pub mod drain;
#[doc(hidden)]
pub mod example;
#[doc(hidden)]
pub mod finding;
#[doc(hidden)]
pub mod git;
#[doc(hidden)]
pub mod hypothesis;
#[doc(hidden)]
pub mod init;
#[doc(hidden)]
pub mod inventory;
#[doc(hidden)]
pub mod kustomize;
#[doc(hidden)]
pub mod layout;
#[doc(hidden)]
pub mod lint;
#[doc(hidden)]
pub mod load;
#[doc(hidden)]
pub mod output;
#[doc(hidden)]
pub mod overview;
#[doc(hidden)]
pub mod plan;
#[doc(hidden)]
pub mod render;
#[doc(hidden)]
pub mod request;
#[doc(hidden)]
pub mod review;
#[doc(hidden)]
pub mod schema;
#[doc(hidden)]
pub mod settings;
#[doc(hidden)]
pub mod site;
#[doc(hidden)]
pub mod sites;
#[doc(hidden)]
pub mod snapshot;
#[doc(hidden)]
pub mod text;
#[doc(hidden)]
pub mod what_if;

#[doc(inline)]
pub use api::date::Date;
#[doc(inline)]
pub use api::names::ClusterKey;
#[doc(inline)]
pub use finding::{Code, ErrorScope, Finding, Place, Severity};
pub use generate::{
    CheckedBuilds, Error, GeneratedSite, Options, Stage, check_builds, generate, generate_sites,
};
#[doc(inline)]
pub use load::{Files, ReadError};
pub use migrate::{Migration, migrate, migrate_sites};
#[doc(inline)]
pub use output::compare::{Change, OutputChanges};
#[doc(inline)]
pub use output::write::{
    WriteError, is_interrupted, undo_interrupted, undo_interrupted_snapshot, write, write_output,
    write_snapshot,
};
