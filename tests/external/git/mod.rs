//! The tests of `integration::git` that need another program.

mod branch;
mod commit;
mod hooks;
