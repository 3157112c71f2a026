//! The tests of `integration::inputs` that need another program.

mod encrypted;
mod left_out;
mod network_data;
mod sources;
mod streams;
