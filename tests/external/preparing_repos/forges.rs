//! The tests of `integration::preparing_repos::forges` that need another program.

use crate::support::scenes::preparing_repos::{init, newcomer};
use crate::support::{python_tool, run_tool, text, tool};

#[test]
fn what_a_job_says_is_valid_in_its_place() {
    let repo = newcomer();
    init(&repo, &["--ci", "github"]).expect(0);
    init(&repo, &["--ci", "gitlab"]).expect(0);

    let output = run_tool(tool("actionlint").current_dir(repo.path()));
    assert!(output.status.success(), "{}", text(&output.stdout));
    let mut schema = python_tool("check-jsonschema");
    schema.args(["--builtin-schema", "vendor.gitlab-ci", ".gitlab-ci.yml", ".gitlab/sipgen.yml"]);
    let output = run_tool(schema.current_dir(repo.path()));
    assert!(output.status.success(), "{}", text(&output.stdout));
}
