//! The tests of `integration::ci_formats` that need another program.

use std::path::Path;

use serde_json::Value;

use crate::support::scenes::ci_formats::with_impossible_clusters;
use crate::support::{Repo, python_tool, run_tool, text};

/// The results of a SARIF log that is valid by the standard's schema.
#[track_caller]
fn sarif_results(stdout: &str) -> Vec<Value> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), stdout).unwrap();
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/schemas/sarif.json");
    let mut validator = python_tool("check-jsonschema");
    let output = run_tool(validator.arg("--schemafile").arg(schema).arg(file.path()));
    assert!(output.status.success(), "{}\n{stdout}", text(&output.stdout));
    let log: Value = serde_json::from_str(stdout).unwrap();
    log["runs"][0]["results"].as_array().unwrap().clone()
}

mod sarif {
    use super::*;

    #[test]
    fn it_is_valid_whatever_is_found() {
        let fine = Repo::generated("quickstart");
        assert_eq!(
            sarif_results(&fine.generate(&["--check", "--format", "sarif"]).expect(0).stdout),
            Vec::<Value>::new()
        );

        let warned = Repo::of_fixture("quickstart");
        warned.write("overlays/of-somebody-else.txt", "");
        let warnings = sarif_results(&warned.generate(&["--format", "sarif"]).expect(0).stdout);
        let stale = sarif_results(
            &Repo::of_fixture("quickstart")
                .generate(&["--check", "--format", "sarif"])
                .expect(1)
                .stdout,
        );
        let errors = sarif_results(
            &with_impossible_clusters(2).generate(&["--format", "sarif"]).expect(1).stdout,
        );

        for (results, rule) in [(warnings, "SIP0006"), (stale, "SIP0009"), (errors, "SIP0501")] {
            assert!(results.iter().any(|result| result["ruleId"] == rule), "{rule}: {results:#?}");
        }
    }

    #[test]
    fn a_result_has_its_place_and_those_of_its_story() {
        let repo = Repo::of_hosts(1);
        repo.want("tenant/one", 1);
        repo.write("more sites/grün.yaml", &repo.read("clusters/tenant.one.yaml"));

        let results = sarif_results(&repo.generate(&["--format", "sarif"]).expect(1).stdout);

        let twice = results
            .iter()
            .find(|result| result["message"]["text"].as_str().unwrap().contains("two SIPClusters"));
        let twice = twice.unwrap();
        let place = &twice["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "more%20sites/gr%C3%BCn.yaml");
        assert_eq!(place["region"]["startLine"], 3);
        let other = &twice["relatedLocations"][0];
        assert_eq!(
            other["physicalLocation"]["artifactLocation"]["uri"],
            "clusters/tenant.one.yaml"
        );
        assert_eq!(other["message"]["text"], "the other one");
    }

    #[test]
    fn no_name_becomes_a_link() {
        let repo = Repo::of_hosts(1);
        repo.write("c.yaml", "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {namespace: t, name: \"[see](https://evil.example)\"}\nspec: {}\n");

        let results = sarif_results(&repo.generate(&["--format", "sarif"]).expect(1).stdout);

        let text = results[0]["message"]["text"].as_str().unwrap();
        assert!(text.contains("[see]") && !text.contains("]("), "{text}");
    }
}
