//! GitHub Actions workflow commands, shown as annotations of a pull request's files.

use super::json::ProblemPlace;
use super::results::{CiResult, CiResults};
use super::{ReportDocument, one_line};
use crate::base::text::{counted, joined};

/// Maximum number of annotations of one severity that GitHub keeps per step.
const ANNOTATIONS_KEPT: usize = 10;

/// Formats results as workflow commands, errors first, up to GitHub's limit. The last line counts
/// the omitted ones.
pub fn github(CiResults(results): &CiResults) -> ReportDocument {
    let mut out = String::new();
    let mut left_out = Vec::new();
    for same_severity in results.chunk_by(|a, b| a.problem.severity == b.problem.severity) {
        let command = same_severity[0].problem.severity.word();
        for result in same_severity.iter().take(ANNOTATIONS_KEPT) {
            let ProblemPlace { file, line, column, .. } = &result.place;
            let mut properties = format!("file={}", property(file));
            for (name, number) in [("line", line), ("col", column)] {
                properties.extend(number.map(|number| format!(",{name}={number}")));
            }
            let (code, data) = (result.problem.code, data(&text(result)));
            out += &format!("::{command} {properties},title={code}::{data}\n");
        }
        if let Some(more @ 1..) = same_severity.len().checked_sub(ANNOTATIONS_KEPT) {
            left_out.push(counted(more, &format!("more {command}")));
        }
    }
    if !left_out.is_empty() {
        let left_out = left_out.join(" and ");
        out += &format!("::notice title=sipgen::{left_out}: see the log of this step\n");
    }
    ReportDocument::escaped(out)
}

/// Returns the lines of an annotation.
fn text(CiResult { problem, more_places, .. }: &CiResult) -> String {
    let mut lines = vec![problem.message.clone()];
    for ProblemPlace { file, line, what, .. } in &problem.places {
        let line = line.map_or(String::new(), |line| format!(":{line}"));
        let what = what.as_ref().map_or(String::new(), |what| format!(" ({what})"));
        lines.push(one_line(&format!("  {file}{line}{what}")));
    }
    let more = format!("  and {}", counted(*more_places, "more place"));
    lines.extend((*more_places > 0).then_some(more));
    lines.extend(problem.help.clone());
    lines.join("\n")
}

/// Escapes the data of a workflow command, whose lines GitHub shows separately. `##` is escaped
/// too, because Azure Pipelines reads `##[…]` as a command.
fn data(text: &str) -> String {
    joined(text.replace('%', "%25").lines().map(one_line), "%0A").replace("##", "#%23")
}

/// Escapes a property of a workflow command.
fn property(text: &str) -> String {
    data(&one_line(text)).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_can_end_the_command_that_it_stands_in() {
        assert_eq!(property("a,line=1::b\r\n%0A"), "a%2Cline=1%3A%3Ab\\r\\n%250A");
        assert_eq!(data("50%\n::error::no\u{1b}[2J"), "50%25%0A::error::no\\u{1b}[2J");
    }
}
