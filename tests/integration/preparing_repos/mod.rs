//! What `sipgen init` makes of repos of many kinds.

mod agents;
mod directories;
mod existing_files;
mod forges;
mod new_repos;
