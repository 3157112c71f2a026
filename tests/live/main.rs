//! The output on a real API server, applied by the real agents.

#![allow(clippy::unwrap_used, clippy::panic)]

mod agents;
mod hosts;
mod life_cycle;
mod observed;
mod site;
#[path = "../support/mod.rs"]
mod support;
mod table;
