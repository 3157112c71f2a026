//! What the program itself prints: arguments, the names of files, refs and directories.

use std::process::Command;

use super::channels::{Form, acts};
use crate::support::{Repo, run};

/// A name with all that a file system takes.
const NAME: &str =
    "::error::a\n::error::owned\r\u{1b}[2J\u{85}\u{202e}\u{2028}##[x]section_start:1:a\r";

#[track_caller]
fn is_tame(command: &mut Command, form: Form) {
    let arguments = format!("{command:?}");
    let run = run(command);
    for (text, form) in [(&run.stdout, form), (&run.stderr, Form::People)] {
        let form = if text.is_empty() { Form::People } else { form };
        if let Some(acts) = acts(form, text) {
            panic!("{acts}, of {arguments}:\n{text}");
        }
    }
    assert!((0..=2).contains(&run.code), "{arguments}: {}", run.stderr);
}

/// A repo in which whatever can have a name has a hostile one.
fn hostile() -> Repo {
    let repo = Repo::generated("quickstart");
    repo.want("tenant-b/other", 9);
    repo.write(&format!("more/{NAME}/kustomization.yaml"), "resources: [hosts.yaml]\n");
    repo.write(&format!("more/{NAME}/hosts.yaml"), &crate::support::host("declared", ""));
    repo.write(
        &format!("more/{NAME}.yaml"),
        "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nspec: [\n",
    );
    repo.write(&format!("overlays/{NAME}"), "not ours\n");
    repo
}

#[test]
fn of_files_and_directories() {
    let repo = hostile();
    for (arguments, form) in [
        (&["generate", "--check", "--diff"][..], Form::Diff),
        (&["generate", "--check", "--format", "github"], Form::Commands),
        (&["generate", "--check", "--format", "gitlab"], Form::Json),
        (&["generate", "--check", "--format", "sarif"], Form::Json),
        (&["generate", "--from-index", "--check"], Form::People),
        (&["generate", "--keep-going", "--check"], Form::People),
        (&["generate", "--input", NAME], Form::People),
        (&["validate"], Form::People),
        (&["validate", "--format", "json"], Form::Json),
        (&["diff", "--lines"], Form::Diff),
        (&["diff", "--lines", "--format", "json"], Form::Json),
        (&["diff", "--lines", "--format", "markdown"], Form::People),
        (&["status"], Form::People),
        (&["status", "--format", "json"], Form::Json),
        (&["report", "-"], Form::Page),
        (&["init", "--dry-run"], Form::Diff),
        (&["migrate"], Form::Diff),
    ] {
        is_tame(&mut repo.sipgen(arguments), form);
    }
}

#[test]
fn of_arguments() {
    let repo = Repo::generated("quickstart");
    let cluster = format!("tenant-a/{NAME}");
    for arguments in [
        &["generate", "--check", "--only", &cluster][..],
        &["generate", "--rev", NAME, "--check"],
        &["generate", "--repo", NAME],
        &["generate", "--input", NAME],
        &["generate", NAME],
        &["generate", "--format", NAME],
        &["diff", "--base", NAME],
        &["diff", "--base", "HEAD", "--head", NAME],
        &["status", "--rack", NAME],
        &["status", "--cluster", &cluster],
        &["status", "--by", NAME],
        &["explain", &cluster],
        &["explain", NAME],
        &["explain", "SIP\n::error::x"],
        &["template", "show", NAME],
        &["template", "values", NAME],
        &["report", &format!("{NAME}/x")],
        &["migrate", "--site", NAME],
        &[NAME],
    ] {
        is_tame(&mut repo.sipgen(arguments), Form::People);
    }
}

#[test]
fn of_branches_and_revisions() {
    let repo = Repo::generated("quickstart");
    // git takes no control characters in a ref, but these.
    let branch = "##vso\u{202e}\u{200b}\u{feff}x";
    repo.git(&["checkout", "--quiet", "-b", branch]);
    repo.replace("sites/lab/clusters/edge.yaml", "standby: 1", "standby: 0");
    is_tame(&mut repo.sipgen(&["generate", "--check", "--rev", branch]), Form::People);
    is_tame(&mut repo.sipgen(&["diff", "--base", branch, "--format", "markdown"]), Form::People);
    is_tame(&mut repo.sipgen(&["diff", "--base", branch, "--format", "json"]), Form::Json);
}

/// A user's own file is shown line by line: a line that a runner takes for a command has a sign before it that is a
/// blank, and runners do not mind blanks.
#[test]
fn of_a_file_that_is_migrated() {
    let repo = Repo::of_fixture("generation-2021-01");
    let file = repo
        .files("")
        .into_iter()
        .find(|(_, text)| text.contains("kind: SIPCluster"))
        .map(|(path, _)| path)
        .unwrap();
    let text = repo.read(&file);
    let hostile = "# a\n::error::owned\n#\u{1b}[2J\u{202e} ##[error]owned\u{2028}\n#\tx\r\n";
    repo.write(
        &file,
        &text.replace("spec:\n", &format!("spec:\n{}", hostile.replace("::error::owned\n", ""))),
    );
    is_tame(&mut repo.sipgen(&["migrate"]), Form::Diff);
    repo.write(
        &file,
        &text.replace(
            "spec:\n",
            &format!("notes: |\n  a\n  ::error::owned\nspec:\n{hostile}")
                .replace("::error::owned\n#", "#"),
        ),
    );
    let run = run(&mut repo.sipgen(&["migrate"]));
    assert!(acts(Form::Diff, &run.stdout).is_none(), "{}", run.stdout);
}

#[test]
fn colours_are_the_only_escape_sequences() {
    let repo = hostile();
    for arguments in [&["validate"][..], &["status"], &["generate", "--check", "--diff"]] {
        let run = run(repo.sipgen(arguments).env("CLICOLOR_FORCE", "1"));
        let text = format!("{}{}", run.stdout, run.stderr);
        assert!(text.contains("\u{1b}["), "{text}");
        let mut plain = String::new();
        for (index, part) in text.split("\u{1b}[").enumerate() {
            let style = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
            let rest = if index == 0 {
                part
            } else {
                style.strip_prefix('m').unwrap_or_else(|| panic!("{part:?}"))
            };
            plain.push_str(rest);
        }
        assert_eq!(acts(Form::Diff, &plain), None, "{plain}");
    }
}
