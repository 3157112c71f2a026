//! The table of labeled hosts that the tests saw.

use std::fs;
use std::path::Path;

const HEADING: &str = "# Labeled hosts after each step, by the maker of the hosts\n\n";

/// Compares a table with the recorded one. With SIPGEN_UPDATE_DOCS in the environment, it is written and not compared.
pub(crate) fn compare(table: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/external/live/life_cycle.md");
    let right = format!("{HEADING}{table}");
    if std::env::var_os("SIPGEN_UPDATE_DOCS").is_some() {
        fs::write(file, right).unwrap();
        return;
    }
    assert!(
        fs::read_to_string(&file).unwrap() == right,
        "run SIPGEN_UPDATE_DOCS=1 cargo test --test external live; the table is now\n{table}"
    );
}
