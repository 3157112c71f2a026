//! The table of the documentation that is made of what the tests saw.

use std::fs;
use std::path::Path;

const BEGIN: &str = "<!-- life cycle: written by the tests -->\n";
const END: &str = "<!-- end of life cycle -->";

/// Compares a table with the one in the documentation. With SIPGEN_UPDATE_DOCS in the environment, it is written and not
/// compared.
pub(crate) fn compare(table: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/concepts/gitops.md");
    let documented = fs::read_to_string(&file).unwrap();
    let (before, rest) = documented.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let right = format!("{before}{BEGIN}\n{table}\n{END}{after}");
    if std::env::var_os("SIPGEN_UPDATE_DOCS").is_some() {
        fs::write(file, right).unwrap();
        return;
    }
    assert!(
        documented == right,
        "run SIPGEN_UPDATE_DOCS=1 cargo test --test external live; the table is now\n{table}"
    );
}
