//! `sipgen snapshot`: on a real API server, and on one that fails as a real one will not on demand.

#![allow(clippy::unwrap_used, clippy::panic)]

mod access;
mod examples;
mod failing;
mod live;
mod sites;
mod stub;
#[path = "../support/mod.rs"]
mod support;
