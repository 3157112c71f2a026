//! The comment on a pull request.

use super::*;
use crate::support::assert_says;

const MOST: usize = 65_000;

fn markdown(repo: &Repo, arguments: &[&str]) -> String {
    let text = repo.diff(&[&["--format", "markdown"], arguments].concat()).stdout;
    assert!(text.len() <= MOST, "{} bytes", text.len());
    text
}

#[test]
fn it_names_the_dangers_first_and_folds_the_details() {
    let text = markdown(&with_all_kinds_of_changes(), &["--base", "HEAD"]);

    insta::assert_snapshot!(text);
}

#[test]
fn its_first_line_is_a_marker_by_which_a_workflow_finds_it() {
    for text in
        [markdown(&with_all_kinds_of_changes(), &[]), markdown(&Repo::generated("quickstart"), &[])]
    {
        assert_eq!(text.lines().next(), Some("<!-- sipgen -->"));
    }
}

#[test]
fn it_says_that_nothing_changes() {
    let text = markdown(&Repo::generated("quickstart"), &[]);

    assert_eq!(text, "<!-- sipgen -->\n## sipgen: no changes\n");
}

#[test]
fn it_has_the_errors() {
    let repo = Repo::generated("quickstart");
    repo.replace(EDGE, "active: 1", "active: 99");

    let text = markdown(&repo, &[]);

    assert_says(
        &text,
        &["## sipgen: 1 error", "```text\nerror[SIP", "--> sites/lab/clusters/edge.yaml:"],
    );
}

#[test]
fn the_lines_are_folded_below() {
    let text = markdown(&with_all_kinds_of_changes(), &["--lines"]);

    assert_says(&text, &["<details><summary>Line by line: ", "```diff\ndiff --git a/overlays/"]);
}

#[test]
fn five_hundred_clusters_find_room_and_what_does_not_is_counted() {
    let repo = Repo::of_hosts(500);
    for cluster in 0..500 {
        repo.want(
            &format!("{}/{}", "tenant".repeat(10), format!("c{cluster}-").repeat(9) + "x"),
            1,
        );
    }

    let text = markdown(&repo, &["--lines"]);

    assert!(text.len() > MOST / 2, "{} bytes", text.len());
    assert_says(
        &text,
        &["## sipgen: 500 clusters change", "Omitted to keep the comment short: ", "the lines of "],
    );
    assert_whole(&text);
}

#[test]
fn five_hundred_deleted_clusters_find_room() {
    let repo = Repo::of_hosts(500);
    let hosts = repo.read("inventory/hosts.yaml");
    repo.want("tenant/stays", 0);
    for cluster in 0..499 {
        repo.want(&format!("tenant/c{cluster}"), 1);
    }
    repo.generate(&[]).expect(0);
    let consumer = "m".repeat(250);
    repo.write(
        "inventory/hosts.yaml",
        &hosts.replace("spec:\n", &format!("spec:\n  consumerRef: {{name: {consumer}}}\n")),
    );
    for cluster in 0..499 {
        repo.want_no_more(&format!("tenant/c{cluster}"));
    }

    let text = markdown(&repo, &[]);

    assert_says(
        &text,
        &["## sipgen: 998 dangers, 499 clusters change", "Omitted to keep the comment short: "],
    );
    assert_whole(&text);
}

#[test]
fn one_cluster_with_thousands_of_hosts_finds_room() {
    let repo = Repo::of_hosts(3000);
    repo.want("tenant/one", 3000);

    let text = markdown(&repo, &["--lines"]);

    assert_says(&text, &["+ 3000 Worker hosts: metal/host-1, metal/host-2", "  … and "]);
    assert_whole(&text);
}

/// Every fold and every block of code that begins has its end.
#[track_caller]
fn assert_whole(text: &str) {
    let (outside, ends) = read(text);
    assert!(ends, "a block of code has no end");
    assert_eq!(outside.matches("<details").count(), outside.matches("</details>").count());
}

/// Consumers may be called anything: their names come from a snapshot, which no API server has seen.
#[test]
fn names_from_the_input_cannot_leave_their_place() {
    for hostile in [
        "@everyone",
        "`@everyone`",
        "``` @everyone",
        "x | y | z",
        "</details><script>alert(1)</script>",
        "-->\n# heading",
        "a\n\n```\n@everyone",
        "\u{202e}desrever",
        "![](https://example.com/x.png)",
    ] {
        let repo = crate::support::edge_with("standby: 1", "standby: 0");
        consume(&repo, RACK_B, "lab-b2", &format!("Metal3Machine tenant-a/{hostile}"));
        consume(&repo, "sites/lab/hosts/rack-a.yaml", "lab-a2", "Metal3Machine tenant-a/edge-8");

        let text = markdown(&repo, &["--lines"]);

        assert!(
            !outside_of_code(&text).contains(['@', '|', '!', '#']),
            "{hostile:?}:\n{}",
            outside_of_code(&text)
        );
        for tag in ["script", "heading", "everyone", "example.com", "z`"] {
            assert!(!outside_of_code(&text).contains(tag), "{hostile:?}:\n{text}");
        }
        assert!(!text.contains('\u{202e}'));
        assert_whole(&text);
    }
}

/// What is neither in a block of code nor in a span of it, nor sipgen's own first lines and marks.
fn outside_of_code(text: &str) -> String {
    read(text).0
}

/// What is outside of code, and whether every block of code has its end.
fn read(text: &str) -> (String, bool) {
    let mut out = String::new();
    let mut fence: Option<String> = None;
    for line in text.lines().skip(2) {
        let ticks: String = line.chars().take_while(|c| *c == '`').collect();
        match &fence {
            Some(open) if line == open => fence = None,
            Some(_) => {}
            None if ticks.len() >= 3 => fence = Some(ticks),
            None => out += &(without_spans(&line.replace("[!CAUTION]", "")) + "\n"),
        }
    }
    (out, fence.is_none())
}

/// As CommonMark has it: a span ends with as many backticks as it began with.
fn without_spans(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(start) = rest.find('`') {
        let (before, at) = rest.split_at(start);
        out += before;
        let length = at.chars().take_while(|c| *c == '`').count();
        let inside = &at[length..];
        let fence = "`".repeat(length);
        let end = inside.match_indices(&fence).map(|(index, _)| index).find(|index| {
            !inside[..*index].ends_with('`') && !inside[index + length..].starts_with('`')
        });
        match end {
            Some(end) => rest = &inside[end + length..],
            None => {
                out += &at[..length];
                rest = inside;
            }
        }
    }
    out + rest
}

#[test]
fn hostile_messages_stay_in_their_block() {
    let repo = Repo::of_hosts(1);
    repo.want("tenant/one", 1);
    repo.write(
        "clusters/bad.yaml",
        "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {name: \"@everyone ``` </details>\"}\n",
    );

    let text = markdown(&repo, &[]);

    assert_says(&text, &["## sipgen: 1 error"]);
    assert!(!outside_of_code(&text).contains("everyone"), "{text}");
}
