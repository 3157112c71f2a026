//! What sipgen does with git: what it reads there, and what hooks make of it.

mod attributes;
mod index;
mod line_ends;
mod renamed_inputs;
mod repos;
mod revert;
mod submodules;
