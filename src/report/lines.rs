//! Unified diffs of changed files.

use std::borrow::Cow;
use std::mem;

use anstyle::Style;
use camino::{Utf8Path, Utf8PathBuf};
use schemars::JsonSchema;
use serde::Serialize;
use similar::{ChangeTag, TextDiff};

use super::{ADDED, FAINT, REMOVED, ReportText, STRONG};
use crate::base::layout;
use crate::base::text::credentials::masked_line;
use crate::base::text::visible::{escaped, is_hidden};
use crate::input::load::is_of_secret;
use crate::output::compare::{Change, OutputChanges};

/// Unchanged lines around a change.
const CONTEXT: usize = 3;

/// Unified diff of a changed file.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FileLines {
    /// Path relative to the repo's root.
    pub file: String,
    /// Unified diff for `git apply`.
    pub diff: String,
}

/// Formats changes as a unified diff for people. `git apply` accepts it if no character had to be
/// escaped.
pub fn diff(changes: &OutputChanges) -> ReportText {
    let mut out = ReportText::default();
    for (path, change) in &changes.files {
        // Hidden characters of a name are already escaped. A tab ends a name that contains blanks.
        write_diff(path, change, |style, sign, line| {
            out.push_line_of_file(style, sign, line);
        });
    }
    out
}

/// Formats the unified diff of each file for programs.
pub(super) fn by_file(changes: &OutputChanges) -> Vec<FileLines> {
    let file = |(path, change): (&Utf8PathBuf, &Change)| {
        let mut diff = String::new();
        write_diff(path, change, |_, sign, line| {
            diff.extend(sign);
            let line = if sign.is_some() { masked_line(line) } else { line.into() };
            diff.extend([&*line, "\n"]);
        });
        FileLines { file: path.to_string(), diff }
    };
    changes.files.iter().map(file).collect()
}

/// Calls `write` for each line of a diff, without its line feed: a line of the file behind its sign,
/// or one of the diff format itself.
fn write_diff(path: &Utf8Path, change: &Change, mut write: impl FnMut(Style, Option<char>, &str)) {
    let (before, after) = change.texts();
    let name = |side: &str| quoted(&format!("{side}/{path}"));
    write(STRONG, None, &format!("diff --git {} {}", name("a"), name("b")));
    match (before, after) {
        (None, _) => write(STRONG, None, "new file mode 100644"),
        (_, None) => write(STRONG, None, "deleted file mode 100644"),
        _ => {}
    }
    let name = |side: &str, text: Option<&str>| match text {
        None => "/dev/null".to_owned(),
        // A name with blanks is ended by a tab, as git does.
        Some(_) if path.as_str().contains(' ') => format!("{}\t", name(side)),
        Some(_) => name(side),
    };
    // Lines are cut as git cuts them: a carriage return alone ends none.
    let [old, new] = [before, after]
        .map(|text| text.unwrap_or_default().split_inclusive('\n').collect::<Vec<&str>>());
    // A file written by a user may hold a Secret next to the change.
    let own = before.filter(|text| !layout::is_ours(text.as_bytes()));
    let starts: Vec<usize> =
        old.iter().scan(0, |end, line| Some(mem::replace(end, *end + line.len()))).collect();
    let is_secret = |at: Option<usize>| {
        let start = at.and_then(|at| starts.get(at).copied());
        own.zip(start.zip(at))
            .is_some_and(|(text, (start, at))| is_of_secret(text, start..start + old[at].len()))
    };
    let diff = TextDiff::from_slices(&old, &new);
    for (index, hunk) in diff.unified_diff().context_radius(CONTEXT).iter_hunks().enumerate() {
        if index == 0 {
            write(STRONG, None, &format!("--- {}", name("a", before)));
            write(STRONG, None, &format!("+++ {}", name("b", after)));
        }
        write(FAINT, None, &hunk.header().to_string());
        for change in hunk.iter_changes() {
            let (sign, style) = match change.tag() {
                ChangeTag::Equal => (' ', Style::new()),
                ChangeTag::Insert => ('+', ADDED),
                ChangeTag::Delete => ('-', REMOVED),
            };
            let line = change.value();
            let shown = line.strip_suffix('\n').unwrap_or(line);
            write(style, Some(sign), if is_secret(change.old_index()) { "…" } else { shown });
            if !line.ends_with('\n') {
                write(Style::new(), None, "\\ No newline at end of file");
            }
        }
    }
}

/// Quotes and escapes a path as git does, if it has special or hidden characters.
fn quoted(name: &str) -> String {
    let escape = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        _ => c.to_string().bytes().map(|byte| format!("\\{byte:03o}")).collect(),
    };
    match escaped(name, |c| is_hidden(c) || matches!(c, '"' | '\\'), escape) {
        Cow::Borrowed(plain) => plain.to_owned(),
        Cow::Owned(escaped) => format!("\"{escaped}\""),
    }
}
