//! `sipgen snapshot`: on a real API server, and on one that fails as a real one will not on demand.

mod access;
mod examples;
mod failing;
mod live;
mod sites;
mod stub;
