//! What programs read.

use serde_json::Value;

use super::*;
use crate::support::scenes::diffing_json::json;
use crate::support::{assert_says, compare_schema};

#[test]
fn its_schema_is_the_documented_one() {
    compare_schema("diff", &schemars::schema_for!(sipgen::report::DiffReport));
}

#[test]
fn it_says_all_that_the_plan_says() {
    let mut document = json(&with_all_kinds_of_changes(), &["--base", "HEAD"]);
    document["notes"].take();

    insta::assert_snapshot!(serde_json::to_string_pretty(&document["review"]).unwrap());
}

#[test]
fn it_has_the_findings_with_their_places() {
    let repo = Repo::generated("quickstart");
    repo.replace(EDGE, "active: 1", "active: 99");

    let document = json(&repo, &[]);

    assert_eq!(document["review"], Value::Null);
    let finding = &document["findings"][0];
    assert_eq!(finding["severity"], "error");
    assert_says(
        finding["message"].as_str().unwrap(),
        &["Worker hosts of tenant-a/edge cannot be found"],
    );
    assert_eq!(finding["places"][0]["file"], EDGE);
    assert!(finding["places"][0]["line"].as_u64().is_some_and(|line| line > 1));
    assert_eq!(finding["clusters"][0]["name"], "edge");
}

#[test]
fn it_has_the_lines_when_asked_for() {
    let repo = with_all_kinds_of_changes();

    assert_eq!(json(&repo, &[])["lines"], Value::Null);
    let lines = json(&repo, &["--lines"])["lines"].clone();
    let diffs: String =
        lines.as_array().unwrap().iter().map(|file| file["diff"].as_str().unwrap()).collect();
    assert!(repo.diff(&["--lines"]).stdout.ends_with(&diffs));
}

#[test]
fn it_says_what_was_compared() {
    let repo = with_all_kinds_of_changes();

    let document = json(&repo, &["--base", "HEAD", "--head", "HEAD"]);

    assert_eq!(
        (&document["version"], &document["base"], &document["head"]),
        (&1.into(), &"HEAD".into(), &"HEAD".into())
    );
    assert_eq!(json(&repo, &[])["base"], Value::Null);
}
