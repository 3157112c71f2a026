//! The complete examples of `docs/examples`: they have every field, and sipgen generates with them.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::support::{Repo, repo_file};

/// Each schema in `docs/schemas`, and its example.
const EXAMPLES: [(&str, &str); 4] = [
    ("sipcluster.json", "sipcluster.yaml"),
    ("provisioning.json", "provisioning.yaml"),
    ("software.json", "software.yaml"),
    ("sipgen.json", "sipgen.yaml"),
];

fn is_active(field: &Value) -> bool {
    let description = field["description"].as_str().unwrap_or_default();
    field["deprecated"] != true && !description.starts_with("Rejected")
}

/// Adds the names of all fields in a schema that are not deprecated.
fn add_fields<'a>(schema: &'a Value, fields: &mut BTreeSet<&'a str>) {
    match schema {
        Value::Object(parts) => {
            for (key, part) in parts {
                if key == "properties" {
                    let named = part.as_object().unwrap().iter();
                    fields.extend(
                        named.filter(|(_, field)| is_active(field)).map(|(name, _)| name.as_str()),
                    );
                }
                add_fields(part, fields);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| add_fields(item, fields)),
        _ => {}
    }
}

#[test]
fn an_example_has_every_field() {
    for (schema, example) in EXAMPLES {
        let schema: Value =
            serde_json::from_str(&repo_file(&format!("docs/schemas/{schema}"))).unwrap();
        let mut fields = BTreeSet::new();
        for (name, definition) in schema["$defs"].as_object().unwrap() {
            // The status is no input.
            if !name.contains("Status") && !name.starts_with("io.k8s") {
                add_fields(definition, &mut fields);
            }
        }
        if schema["properties"]["kind"].is_null() {
            add_fields(&schema["properties"], &mut fields);
            fields.extend(schema["properties"].as_object().unwrap().keys().map(String::as_str));
        }
        let text = repo_file(&format!("docs/examples/{example}"));
        let missing: Vec<_> =
            fields.into_iter().filter(|field| !text.contains(&format!("{field}:"))).collect();
        assert!(missing.is_empty(), "{example} lacks {missing:?}");
    }
}

#[test]
fn the_complete_sipcluster_is_generated_without_a_warning() {
    let repo = Repo::of_fixture("quickstart");
    repo.write("sites/lab/clusters/edge.yaml", &repo_file("docs/examples/sipcluster.yaml"));

    let run = repo.generate(&[]).expect(0);

    assert!(!run.stderr.contains("warning"), "{}", run.stderr);
    for service in ["auth", "jumphost", "loadbalancer-controlplane", "loadbalancer-worker"] {
        assert!(repo.path().join("overlays/clusters/tenant-a/edge").join(service).is_dir());
    }
}

#[test]
fn the_complete_provisioning_and_its_software_are_generated() {
    let repo = Repo::of_fixture("provisioning");
    repo.write("sipgen.yaml", "provisioning: {installer: kud}\n");
    repo.write(
        "clusters/depot.yaml",
        &format!(
            "{}---\n{}",
            repo_file("docs/examples/provisioning.yaml"),
            repo_file("docs/examples/software.yaml")
        ),
    );
    std::fs::remove_file(repo.path().join("clusters/press.yaml")).unwrap();

    repo.generate(&["--allow-empty"]).expect(0);

    let inventory = repo.read("overlays/clusters/lab/depot/installer/hosts.ini");
    assert!(inventory.contains("master-3") && inventory.contains("worker-1"), "{inventory}");
}

#[test]
fn a_site_with_every_setting_is_generated() {
    let repo = Repo::of_fixture("quickstart");
    repo.write("sipgen.yaml", &repo_file("docs/examples/sipgen.yaml"));
    repo.write("my-templates/partials/own.txt", "");
    for output in ["dns", "firmware"] {
        repo.write(&format!("my-templates/outputs/{output}/notes.txt"), "{{ cluster.name }}\n");
    }
    repo.write("sites/old/.keep", "");

    let run = repo.generate(&[]).expect(0);

    assert!(
        repo.read("overlays/hosts/declared/sites/lab/tenant-a.edge.yaml").contains("cluster-role"),
        "{}",
        run.stderr
    );
}
