//! `sipgen validate`, and what its findings look like.

use serde_json::Value;

use crate::support::scenes::validating::{json, validate, with_a_warning};
use crate::support::{EDGE, Repo, assert_says, compare_schema, edge_with};

#[test]
fn a_repo_without_mistakes_is_fine_even_if_nothing_is_generated_yet() {
    let repo = Repo::of_fixture("quickstart");
    let before = repo.on_disk("");

    let run = validate(&repo, &["--strict"]).expect(0);

    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", "no findings\n"));
    assert!(repo.on_disk("") == before);
}

#[test]
fn findings_show_the_lines_to_mend() {
    let repo = edge_with("active: 2", "active: -2 # as many as there are");
    repo.replace(EDGE, "          - ssh-ed25519", "          - not-a-key");

    let run = validate(&repo, &[]).expect(1);

    insta::assert_snapshot!(run.stdout, @"
    error[SIP0209]: `active: -2` is not a valid number of hosts
      --> sites/lab/clusters/edge.yaml:17:17
       |
    17 |         active: -2
       |                 ^^
      help: write 0 to 1000000

    error[SIP0120]: the SSH key is not an OpenSSH public key: it is truncated or corrupted
      --> sites/lab/clusters/edge.yaml:48:13
       |
    48 |           - …
       |             ^
      help: paste the one line of a `.pub` file, such as `ssh-ed25519 AAAA… operator`
    ");
    insta::assert_snapshot!(run.stderr, @"2 errors; run `sipgen explain SIP0209` for details");
}

#[test]
fn a_mistake_is_marked_however_the_line_is_written() {
    for (line, shown) in [
        (
            "active: 2000000000 # \u{202e}x",
            "17 |         active: 2000000000\n   |                 ^^^^^^^^^^\n",
        ),
        ("active:   -2\r", "17 |         active:   -2\n   |                   ^^\n"),
        ("\"active\": \"机架\"", "17 |         \"active\": …\n   |                   ^\n"),
    ] {
        let repo = edge_with("active: 2", line);

        assert_says(&validate(&repo, &[]).expect(1).stdout, &[shown]);
    }
}

#[test]
fn a_value_below_its_key_is_marked_where_it_stands() {
    let repo = Repo::of_fixture("quickstart");
    repo.replace("sites/lab/clusters/edge.yaml", "active: 2", "active:\n          \"2\"");

    let run = validate(&repo, &[]).expect(1);

    assert_says(&run.stdout, &["edge.yaml:18:11\n   |\n18 |           …\n   |           ^\n"]);
}

#[test]
fn a_long_line_is_cut_around_the_mistake() {
    let repo = Repo::of_fixture("quickstart");
    let long = "x".repeat(5000);
    repo.write("more.json", &format!(
        "{{\"apiVersion\": \"airship.airshipit.org/v1\", \"kind\": \"SIPCluster\", \"metadata\": {{\"name\": \"a\", \
         \"namespace\": \"b\", \"annotations\": {{\"x\": \"{long}\"}}}}, \"spec\": {{\"nodes\": {{\"workers\": {{}}}}}}}}"
    ));

    let run = validate(&repo, &[]).expect(1);

    assert_says(&run.stdout, &["`workers` is not a role", " 1 | …", "\"workers\""]);
    assert!(
        run.stdout.lines().filter(|line| line.starts_with(" 1 |")).all(|line| line.len() < 140),
        "{}",
        run.stdout
    );
}

#[test]
fn strict_makes_errors_of_warnings() {
    let repo = with_a_warning();

    let lenient = validate(&repo, &[]).expect(0);
    let strict = validate(&repo, &["--strict"]).expect(1);

    assert_says(&lenient.stdout, &["warning[SIP0308]: "]);
    assert_says(&lenient.stderr, &["1 warning; run `sipgen explain SIP0308` for details"]);
    assert_says(&strict.stdout, &["error[SIP0308]: "]);
    assert_says(&strict.stderr, &["1 error; "]);
    assert_eq!(json(&repo, &["--strict"])["findings"][0]["severity"], "error");
    assert_says(
        &validate(&repo, &["--strict", "--format", "github"]).expect(1).stdout,
        &["::error file="],
    );
}

#[test]
fn a_warning_is_ignored_where_the_settings_say_so_and_why() {
    let repo = with_a_warning();
    repo.write(
        "sipgen.yaml",
        "findings:\n  ignore:\n  - {code: sip0308, reason: one machine of two nodes}\n",
    );

    let run = validate(&repo, &["--strict"]).expect(0);

    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", "no findings (1 warning muted)\n"));
    assert_eq!(json(&repo, &[])["muted"], 1);
    assert!(!repo.generate(&[]).expect(0).stderr.contains("SIP0308"));
}

#[test]
fn settings_that_ignore_what_cannot_be_ignored_are_refused() {
    for (ignored, says) in [
        (
            "{code: SIP0501, reason: x}",
            &["SIP0501 is an error; only warnings can be ignored", "sipgen.yaml:3:12"][..],
        ),
        (
            "{code: SIP0308, reason: \"\"}",
            &["`reason` for ignoring SIP0308 is empty", "sipgen.yaml:3:29"],
        ),
        ("{code: SIP0308}", &["the settings cannot be read: ", "missing field `reason`"]),
        ("{code: SIP0399, reason: x}", &["unknown code `SIP0399`; similar codes are "]),
    ] {
        let repo = with_a_warning();
        repo.write("sipgen.yaml", &format!("findings:\n  ignore:\n  - {ignored}\n"));

        assert_says(&validate(&repo, &[]).expect(1).stdout, says);
    }
}

#[test]
fn what_is_staged_is_judged_by_itself() {
    let repo = edge_with("active: 2", "active: -2");

    validate(&repo, &[]).expect(1);
    validate(&repo, &["--from-index"]).expect(0);
    repo.git(&["add", "--all"]);
    assert_says(
        &validate(&repo, &["--from-index"]).expect(1).stdout,
        &["SIP0209", "17 |         active: -2"],
    );
}

#[test]
fn programs_get_places_with_their_ends() {
    let repo = edge_with("active: 2", "active: -2");

    let document = json(&repo, &[]);

    assert_eq!((&document["errors"], &document["warnings"]), (&1.into(), &0.into()));
    let finding = &document["findings"][0];
    assert_eq!(finding["title"], "a field of a SIPCluster has an invalid value");
    assert_eq!(
        finding["places"][0],
        serde_json::json!({"file": EDGE, "line": 17, "column": 17, "endLine": 17, "endColumn": 19, "what": null})
    );
    let sarif: Value =
        serde_json::from_str(&validate(&repo, &["--format", "sarif"]).stdout).unwrap();
    assert_eq!(
        sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"],
        serde_json::json!({"startLine": 17, "startColumn": 17, "endLine": 17, "endColumn": 19})
    );
}

#[test]
fn its_schema_is_the_documented_one() {
    compare_schema("findings", &schemars::schema_for!(sipgen::report::Validation));
}
