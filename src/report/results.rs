//! Results: findings and stale files, prepared for machine formats.

use std::collections::HashMap;

use camino::Utf8Path;
use sha2::{Digest, Sha256};

use super::json::{Problem, ProblemPlace};
use crate::base::finding::{Code, Finding};
use crate::input::load::{Files, Texts};
use crate::input::settings;

/// Maximum number of related positions of a result.
const PLACES_SHOWN: usize = 10;

/// Problem with a single main position, as CI formats require. Files are relative to the git repo's
/// root.
#[derive(Debug)]
pub(super) struct CiResult {
    /// The problem, with the related positions only.
    pub(super) problem: Problem,
    /// Main position.
    pub(super) place: ProblemPlace,
    /// Number of omitted positions.
    pub(super) more_places: usize,
    /// Identity of the result. It is stable when lines are added above.
    pub(super) fingerprint: String,
}

/// Findings and stale files, errors first.
#[derive(Debug)]
pub struct CiResults(pub(super) Vec<CiResult>);

impl CiResults {
    /// Prepares findings and [`stale`](super::stale()) files.
    ///
    /// The root of `files` is the directory `below` of the git repo.
    pub fn new(findings: &[Finding], stale: &[Finding], files: &Files, below: &Utf8Path) -> Self {
        let mut all: Vec<&Finding> = findings.iter().chain(stale).collect();
        // Stale files come last, because input errors have to be fixed first.
        all.sort_by_key(|finding| (finding.severity, finding.code == Code::Stale));
        let mut texts = Texts::new(files);
        let mut known: HashMap<String, usize> = HashMap::new();
        let result = |finding: &Finding| {
            let mut problem = Problem::new(finding, &mut texts, 1 + PLACES_SHOWN);
            if problem.places.is_empty() {
                // Forges show only results in files, so run-wide findings are placed in sipgen.yaml.
                let file = settings::FILE.to_owned();
                problem.places.push(ProblemPlace { file, ..ProblemPlace::default() });
            }
            for place in &mut problem.places {
                place.file = below.join(&place.file).into_string();
            }
            let place = problem.places.remove(0);
            let message = without_positions(&problem.message);
            let identity = [problem.code, &place.file, &message].join("\0");
            let ordinal = known.entry(identity.clone()).or_default();
            *ordinal += 1;
            let fingerprint = format!("{:.32x}", Sha256::digest(format!("{identity}\0{ordinal}")));
            let more_places = finding.places.len().saturating_sub(1 + PLACES_SHOWN);
            CiResult { problem, place, more_places, fingerprint }
        };
        Self(all.into_iter().map(result).collect())
    }
}

/// Removes line and column numbers, which parsers add, from a message.
fn without_positions(message: &str) -> String {
    let mut words: Vec<&str> = Vec::new();
    for word in message.split(' ') {
        let is_position = matches!(words.last(), Some(&("line" | "column")));
        if !(is_position && word.starts_with(|first: char| first.is_ascii_digit())) {
            words.push(word);
        }
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_known_again_wherever_it_has_moved() {
        let at = |line, column| {
            without_positions(&format!(
                "host-1: unknown field `a` at line {line} column {column}, of 3"
            ))
        };

        assert_eq!(at(1, 20), at(345, 6));
        assert!(at(1, 2).starts_with("host-1: unknown") && at(1, 2).ends_with("of 3"));
    }
}
