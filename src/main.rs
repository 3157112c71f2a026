//! The `sipgen` program: see [`cli`].

mod cli;

use std::process::ExitCode;

/// A tenth of a run's instructions are allocations, and this allocator takes half as many as that
/// of glibc. That of musl, with which static binaries are linked, lets threads wait for each other.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::run()
}
