//! What sipgen does with git: what it reads there, what it commits, and what hooks make of it.

mod attributes;
mod branch;
mod commit;
mod index;
mod line_ends;
mod renamed_inputs;
mod repos;
mod revert;
mod submodules;
