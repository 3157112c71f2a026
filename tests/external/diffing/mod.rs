//! The tests of `integration::diffing` that need another program.

mod json;
mod restarts;
