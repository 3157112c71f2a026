//! Changes line by line.

use std::fmt::{self, Write};

use anstyle::{AnsiColor, Style};
use camino::Utf8Path;
use similar::{ChangeTag, TextDiff};

use super::{FAINT, STRONG, styled};
use crate::compare::{Change, Changes};

const ADDED: Style = AnsiColor::Green.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();

/// How many unchanged lines a diff shows around a change.
const CONTEXT: usize = 3;

/// Changes as a unified diff, as `git apply` takes it.
pub fn diff(changes: &Changes) -> String {
    let mut out = String::new();
    for (path, change) in &changes.files {
        let (before, after) = match change {
            Change::Create { after } => (None, Some(after.as_str())),
            Change::Update { before, after } => (Some(before.as_str()), Some(after.as_str())),
            Change::Delete { before } => (Some(before.as_str()), None),
        };
        let _ = write_diff(&mut out, path, before, after);
    }
    out
}

fn write_diff<'a>(out: &mut String, path: &Utf8Path, before: Option<&'a str>, after: Option<&'a str>) -> fmt::Result {
    writeln!(out, "{}", styled(STRONG, format_args!("diff --git a/{path} b/{path}")))?;
    match (before, after) {
        (None, _) => writeln!(out, "{}", styled(STRONG, "new file mode 100644"))?,
        (_, None) => writeln!(out, "{}", styled(STRONG, "deleted file mode 100644"))?,
        _ => {}
    }
    let name = |side: &str, text: Option<&str>| text.map_or("/dev/null".to_owned(), |_| format!("{side}/{path}"));
    writeln!(out, "{}", styled(STRONG, format_args!("--- {}", name("a", before))))?;
    writeln!(out, "{}", styled(STRONG, format_args!("+++ {}", name("b", after))))?;
    // As git cuts lines: a carriage return alone ends none.
    let lines = |text: Option<&'a str>| text.unwrap_or_default().split_inclusive('\n').collect::<Vec<&str>>();
    let (before, after) = (lines(before), lines(after));
    let diff = TextDiff::from_slices(&before, &after);
    for hunk in diff.unified_diff().context_radius(CONTEXT).iter_hunks() {
        writeln!(out, "{}", styled(FAINT, hunk.header()))?;
        for change in hunk.iter_changes() {
            let (sign, style) = match change.tag() {
                ChangeTag::Equal => (' ', Style::new()),
                ChangeTag::Insert => ('+', ADDED),
                ChangeTag::Delete => ('-', REMOVED),
            };
            let line = change.value();
            writeln!(out, "{}", styled(style, format_args!("{sign}{}", line.strip_suffix('\n').unwrap_or(line))))?;
            if !line.ends_with('\n') {
                writeln!(out, "\\ No newline at end of file")?;
            }
        }
    }
    Ok(())
}
