//! The schemas in `docs/schemas`, for those who use them by URL.

use std::path::Path;
use std::process::Command;

use crate::support::{compare_generated, run};

/// Each file, and what prints it.
const FILES: [(&str, &[&str]); 7] = [
    ("sipcluster.json", &["sipcluster"]),
    ("provisioning.json", &["provisioning"]),
    ("software.json", &["software"]),
    ("sipgen.json", &["settings"]),
    ("crds/sipclusters.yaml", &["crd"]),
    ("crds/provisionings.yaml", &["crd", "provisioning"]),
    ("crds/software.yaml", &["crd", "software"]),
];

/// With SIPGEN_UPDATE_DOCS in the environment, the files are written and not compared.
#[test]
fn the_committed_schemas_are_those_that_the_program_prints() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schemas");
    for (file, arguments) in FILES {
        let path = directory.join(file);
        let mut command = Command::new(env!("CARGO_BIN_EXE_sipgen"));
        let expected = run(command.arg("schema").args(arguments)).expect(0).stdout;
        compare_generated(&path, &expected);
    }
}
