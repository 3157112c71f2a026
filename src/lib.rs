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

mod generate;
pub mod report;

// Stages that the program, the benchmarks and the tests use. They are not part of the API and change
// without notice.
#[doc(hidden)]
pub mod ask;
#[doc(hidden)]
pub mod base;
#[doc(hidden)]
pub mod input;
#[doc(hidden)]
pub mod output;
#[doc(hidden)]
pub mod plan;
#[doc(hidden)]
pub mod review;
#[doc(hidden)]
pub mod setup;
#[doc(hidden)]
pub mod site;

#[doc(inline)]
pub use base::api::date::Date;
#[doc(inline)]
pub use base::api::names::ClusterKey;
#[doc(inline)]
pub use base::finding::{Code, ErrorScope, Finding, Place, Severity};
pub use generate::{
    CheckedBuilds, Error, GeneratedSite, Options, Stage, check_builds, generate, generate_sites,
};
#[doc(inline)]
pub use input::load::{Files, ReadError};
#[doc(inline)]
pub use output::compare::{Change, OutputChanges};
#[doc(inline)]
pub use output::write::{
    JournalScope, WriteError, is_interrupted, undo_interrupted, write, write_output,
};
pub use setup::migrate::{MigratedDocument, Migration, migrate};
