//! The same words in the summary of `sipgen generate`.

use super::*;

#[test]
fn the_summary_of_a_run_names_the_dangers_first() {
    let run = with_all_kinds_of_changes().generate(&[]).expect(0);

    insta::assert_snapshot!(run.stderr.split_once("danger: ").unwrap().1);
}
