//! The tests of `integration::git` that need another program.

mod hooks;
