//! Results: findings and stale files, prepared for machine formats.

use std::collections::HashMap;
use std::sync::Arc;

use camino::Utf8Path;
use sha2::{Digest, Sha256};

use super::one_line;
use crate::base::finding::{Code, Finding, Position, Severity};
use crate::input::load::{Files, Texts};
use crate::input::settings;

/// Maximum number of related positions of a result.
const PLACES_SHOWN: usize = 10;

/// Finding with a single main position, as CI formats require.
#[derive(Debug)]
pub(super) struct LocatedFinding {
    pub(super) code: Code,
    pub(super) severity: Severity,
    /// Message on one line.
    pub(super) message: String,
    /// Lines of the help.
    pub(super) help: Vec<String>,
    /// Position relative to the git repo's root.
    pub(super) place: Position,
    /// Related positions, with their remarks.
    pub(super) story: Vec<(Position, Option<String>)>,
    /// Number of omitted positions.
    pub(super) more_places: usize,
    /// Identity of the result. It is stable when lines are added above.
    pub(super) fingerprint: String,
}

/// Findings and stale files, errors first.
#[derive(Debug)]
pub struct CiResults(pub(super) Vec<LocatedFinding>);

impl CiResults {
    /// Prepares findings and [`stale`](super::stale()) files.
    ///
    /// The root of `files` is the directory `below` of the git repo.
    pub fn new(findings: &[Finding], stale: &[Finding], files: &Files, below: &Utf8Path) -> Self {
        let mut all: Vec<&Finding> = findings.iter().chain(stale).collect();
        // Stale files come last, because input errors have to be fixed first.
        all.sort_by_key(|finding| (finding.severity, finding.code == Code::Stale));
        let mut texts = Texts::new(files);
        let mut known = HashMap::new();
        Self(
            all.into_iter().map(|finding| locate(finding, &mut texts, below, &mut known)).collect(),
        )
    }
}

fn locate(
    finding: &Finding,
    texts: &mut Texts<'_>,
    below: &Utf8Path,
    known: &mut HashMap<String, usize>,
) -> LocatedFinding {
    let mut spot = |place| {
        let position = texts.position(place);
        Position { file: path(below, &position.file), ..position }
    };
    let mut places = finding.places.iter();
    // Forges show only results in files, so run-wide findings are placed in sipgen.yaml.
    let whole_repo = || Position {
        file: path(below, Utf8Path::new(settings::FILE)),
        line: None,
        column: None,
        end_column: None,
    };
    let place = places.next().map_or_else(whole_repo, |(place, _)| spot(place));
    let story = places
        .by_ref()
        .take(PLACES_SHOWN)
        .map(|(place, what)| (spot(place), what.as_deref().map(one_line)))
        .collect();
    let message = one_line(&finding.message);

    let identity =
        [finding.code.id(), place.file.as_str(), &without_positions(&message)].join("\0");
    let ordinal = known.entry(identity.clone()).or_default();
    *ordinal += 1;
    let fingerprint = format!("{:.32x}", Sha256::digest(format!("{identity}\0{ordinal}")));
    LocatedFinding {
        code: finding.code,
        severity: finding.severity,
        message,
        help: finding.help.iter().flat_map(|help| help.lines()).map(one_line).collect(),
        place,
        story,
        more_places: places.len(),
        fingerprint,
    }
}

fn path(below: &Utf8Path, file: &Utf8Path) -> Arc<Utf8Path> {
    Arc::from(below.join(file))
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
