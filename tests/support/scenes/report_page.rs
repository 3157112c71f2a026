//! What the tests of `report_page` begin with.

use crate::support::{Repo, Run, run};

pub fn report(repo: &Repo, arguments: &[&str]) -> Run {
    let all: Vec<&str> = ["report"].into_iter().chain(arguments.iter().copied()).collect();
    run(&mut repo.sipgen(&all))
}

/// The page of a repo, whose input may have errors.
pub fn page(repo: &Repo) -> String {
    report(repo, &["-"]).stdout
}
