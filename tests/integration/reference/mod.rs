//! The pages of all fields, `docs/reference/{sipcluster,provisioning,software,settings}.md`: made of the JSON Schemas
//! that `sipgen schema` prints. `docs/examples` has a complete example of each.

mod examples;
mod fields;

use std::process::Command;

use crate::support::{compare_generated, repo_path, run};

/// A page of fields.
struct Page {
    /// Name of the page in `docs/reference`.
    name: &'static str,
    /// Argument of `sipgen schema`.
    schema: &'static str,
    /// File in `docs/examples`.
    example: &'static str,
    /// Text above the fields.
    introduction: &'static str,
}

const PAGES: [Page; 4] = [
    Page {
        name: "sipcluster",
        schema: "sipcluster",
        example: "sipcluster.yaml",
        introduction: "\
# SIPCluster

A request for the hosts of one cluster, and for its services. `kind: SIPCluster`, `apiVersion: airship.airshipit.org/v1`. \
sipgen finds it in any YAML or JSON file of the repo ([inputs](inputs.md)).",
    },
    Page {
        name: "provisioning",
        schema: "provisioning",
        example: "provisioning.yaml",
        introduction: "\
# Provisioning

A request for the machines of one cluster, and for an installer Job that makes it a Kubernetes cluster. \
`kind: Provisioning`, `apiVersion: bpa.akraino.org/v1alpha1`. \
[How-to: install Kubernetes on provisioned machines](../how-to/provisioning.md).",
    },
    Page {
        name: "software",
        schema: "software",
        example: "software.yaml",
        introduction: "\
# Software

Packages for the machines of a [Provisioning](provisioning.md) with the same label `cluster`. \
`kind: Software`, `apiVersion: bpa.akraino.org/v1alpha1`.",
    },
    Page {
        name: "settings",
        schema: "settings",
        example: "sipgen.yaml",
        introduction: "\
# Settings

`sipgen.yaml` at the repo's root, or in the directory of a [site](../how-to/sites.md). Every key is optional, and most \
repos need two or three.",
    },
];

#[test]
fn the_pages_have_every_field_of_the_schemas() {
    for page in PAGES {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sipgen"));
        let schema = run(command.args(["schema", page.schema])).expect(0).stdout;
        let text = format!(
            "{}\n\n[A complete example](../examples/{}) has every field. This page is generated from `sipgen schema {}`, \
             with which [editors](../how-to/editor.md) check files.\n{}",
            page.introduction,
            page.example,
            page.schema,
            fields::described(&serde_json::from_str(&schema).unwrap()),
        );
        compare_generated(&repo_path(&format!("docs/reference/{}.md", page.name)), &text);
    }
}
