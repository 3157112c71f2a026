//! The table of what was measured, with the targets below.

use std::time::Duration;

use crate::instructions::Counted;
use crate::measure::Run;
use crate::synthetic::Scale;

/// What was measured at one size; times and peaks are medians.
#[derive(Debug)]
pub(crate) struct Measured {
    /// The site's size.
    pub(crate) scale: Scale,
    /// Bytes of the inventory's files.
    pub(crate) inventory_bytes: u64,
    /// Deserialising those bytes, on one thread.
    pub(crate) baseline: Duration,
    /// The first generation.
    pub(crate) generate: Run,
    /// The check of an unchanged repo.
    pub(crate) check: Run,
    /// Capacity, and the loss of each rack.
    pub(crate) capacity: Run,
    /// The moves that empty a rack.
    pub(crate) drain: Run,
    /// Files below `overlays/`.
    pub(crate) files_written: usize,
}

/// Prints the column heads.
pub(crate) fn print_head() {
    print_line([
        "hosts/clusters",
        "inventory",
        "baseline",
        "generate",
        "--check",
        "capacity",
        "drain",
        "10 x size",
        "peak memory",
        "files",
    ]);
}

/// Prints what was measured at one size. Growth is told against the next smaller size, which is a tenth.
pub(crate) fn print_row(measured: &Measured, smaller: Option<&Measured>) {
    let Measured { scale, baseline, generate, check, capacity, drain, .. } = measured;
    let inventory = measured.inventory_bytes;
    let against_baseline =
        |run: &Run| format!("{} ({:.2}x)", seconds(run.wall), ratio(run.wall, *baseline));
    let against_check =
        |run: &Run| format!("{} ({:.2}x)", seconds(run.wall), ratio(run.wall, check.wall));
    // The check parses the same inventory, and may be the hungrier of the two: it reads the output too.
    let peak = generate.peak_bytes.max(check.peak_bytes);
    print_line([
        &format!("{}/{}", scale.hosts, scale.clusters),
        &megabytes(inventory),
        &seconds(*baseline),
        &against_baseline(generate),
        &against_baseline(check),
        &against_check(capacity),
        &against_check(drain),
        &smaller.map_or_else(
            || "-".to_owned(),
            |smaller| format!("{:.1}x", ratio(generate.wall, smaller.generate.wall)),
        ),
        &format!("{} ({:.2}x)", megabytes(peak), peak as f64 / inventory as f64),
        &measured.files_written.to_string(),
    ]);
}

/// Prints what is aimed at.
pub(crate) fn print_targets() {
    print_line([
        "target", "", "", "<= 0.4x", "<= 0.25x", "<= 3x", "<= 2x", "<= 11x", "<= 0.5x", "",
    ]);
}

/// Prints the column heads of the table of instructions.
pub(crate) fn print_head_of_counts() {
    println!("instructions for each byte of the inventory; serde_json: of the inventory as JSON");
    print_cells(["hosts/clusters", "program", "generate", "--check", "yaml_serde", "serde_json"]);
}

/// Prints the instructions of one size, a line for each program.
pub(crate) fn print_counts(scale: Scale, inventory_bytes: u64, counted: &Counted) {
    let each = |count: u64, bytes: u64| format!("{:.1}", count as f64 / bytes as f64);
    for (program, generate, check) in &counted.programs {
        print_cells([
            &format!("{}/{}", scale.hosts, scale.clusters),
            program,
            &each(*generate, inventory_bytes),
            &each(*check, inventory_bytes),
            &each(counted.yaml, inventory_bytes),
            &each(counted.json.0, counted.json.1),
        ]);
    }
}

/// Prints the targets of the table of instructions.
pub(crate) fn print_targets_of_counts() {
    print_cells(["target", "", "<= 110", "<= 80", "", ""]);
}

fn print_cells([scale, program, generate, check, yaml, json]: [&str; 6]) {
    println!("{scale:<15} {program:<24}{generate:>10}{check:>10}{yaml:>12}{json:>12}");
}

fn print_line(cells: [&str; 10]) {
    let [scale, inventory, baseline, generate, check, capacity, drain, growth, peak, files] = cells;
    println!(
        "{scale:<15}{inventory:>10}{baseline:>11}{generate:>18}{check:>18}{capacity:>18}{drain:>18}{growth:>11}{peak:>19}{files:>8}"
    );
}

fn seconds(duration: Duration) -> String {
    format!("{:.3} s", duration.as_secs_f64())
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

fn ratio(duration: Duration, reference: Duration) -> f64 {
    duration.as_secs_f64() / reference.as_secs_f64()
}
