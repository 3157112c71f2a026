//! Holds sipgen against models and oracles, for made-up sites, random histories and hostile texts.
//!
//! `broken_builds`, `evaluating`, `substitution`, `spellings` and `leaks` compare with the real kustomize, Flux and PyYAML; the other modules need no program but
//! git.

#![allow(unreachable_pub, clippy::unwrap_used, clippy::panic)]

mod broken_builds;
mod crossing;
mod evaluating;
mod first_requests;
mod fuzzing;
mod histories;
mod leaks;
mod machine_histories;
mod nesting;
mod oracle;
mod oracle_capacity;
mod oracle_drain;
mod oracle_hardware;
mod oracle_machines;
mod replayed_answers;
mod site_model;
mod spellings;
mod substitution;
#[path = "../support/mod.rs"]
mod support;
#[path = "../../fuzz/targets.rs"]
mod targets;
mod unread_texts;
