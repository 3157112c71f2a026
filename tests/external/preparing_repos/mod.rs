//! The tests of `integration::preparing_repos` that need another program.

mod agents;
mod forges;
