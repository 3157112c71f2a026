//! The ways in: files of the repo, revisions, rendered streams, sources, and what holds network data.

mod left_out;
mod network_data;
mod revisions;
mod sources;
mod streams;
