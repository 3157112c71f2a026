//! Changes line by line.

use std::fmt::{self, Display, Write};

use anstyle::Style;
use camino::Utf8Path;
use similar::{ChangeTag, TextDiff};

use super::comparison::FileLines;
use super::{ADDED, FAINT, REMOVED, STRONG, styled};
use crate::compare::{Change, Changes};

/// How many unchanged lines a diff shows around a change.
const CONTEXT: usize = 3;

/// How a text gets its style.
type Paint = fn(Style, &dyn Display) -> String;

/// Changes as a unified diff, as `git apply` takes it.
pub fn diff(changes: &Changes) -> String {
    changes.files.iter().map(|(path, change)| of_file(path, change, |style, text| styled(style, text))).collect()
}

/// The unified diff of each file, without styles.
pub(super) fn by_file(changes: &Changes) -> Vec<FileLines> {
    let plain: Paint = |_, text| text.to_string();
    let file = |(path, change): (&camino::Utf8PathBuf, &Change)| FileLines {
        file: path.to_string(),
        diff: of_file(path, change, plain),
    };
    changes.files.iter().map(file).collect()
}

fn of_file(path: &Utf8Path, change: &Change, paint: Paint) -> String {
    let (before, after) = change.texts();
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write_diff(&mut out, path, before, after, paint);
    out
}

fn write_diff<'a>(
    out: &mut String,
    path: &Utf8Path,
    before: Option<&'a str>,
    after: Option<&'a str>,
    paint: Paint,
) -> fmt::Result {
    let name = |side: &str| quoted(&format!("{side}/{path}"));
    writeln!(out, "{}", paint(STRONG, &format_args!("diff --git {} {}", name("a"), name("b"))))?;
    match (before, after) {
        (None, _) => writeln!(out, "{}", paint(STRONG, &"new file mode 100644"))?,
        (_, None) => writeln!(out, "{}", paint(STRONG, &"deleted file mode 100644"))?,
        _ => {}
    }
    let name = |side: &str, text: Option<&str>| match text {
        None => "/dev/null".to_owned(),
        // With blanks in it, a name needs an end.
        Some(_) if path.as_str().contains(' ') => format!("{}\t", name(side)),
        Some(_) => name(side),
    };
    // As git cuts lines: a carriage return alone ends none.
    let lines = |text: Option<&'a str>| text.unwrap_or_default().split_inclusive('\n').collect::<Vec<&str>>();
    let (old, new) = (lines(before), lines(after));
    let diff = TextDiff::from_slices(&old, &new);
    for (index, hunk) in diff.unified_diff().context_radius(CONTEXT).iter_hunks().enumerate() {
        if index == 0 {
            writeln!(out, "{}", paint(STRONG, &format_args!("--- {}", name("a", before))))?;
            writeln!(out, "{}", paint(STRONG, &format_args!("+++ {}", name("b", after))))?;
        }
        writeln!(out, "{}", paint(FAINT, &hunk.header()))?;
        for change in hunk.iter_changes() {
            let (sign, style) = match change.tag() {
                ChangeTag::Equal => (' ', Style::new()),
                ChangeTag::Insert => ('+', ADDED),
                ChangeTag::Delete => ('-', REMOVED),
            };
            let line = change.value();
            writeln!(out, "{}", paint(style, &format_args!("{sign}{}", line.strip_suffix('\n').unwrap_or(line))))?;
            if !line.ends_with('\n') {
                writeln!(out, "\\ No newline at end of file")?;
            }
        }
    }
    Ok(())
}

/// A name as git writes it: in quotes, with escapes, if it has characters that would end it or cannot be seen.
fn quoted(name: &str) -> String {
    if !name.chars().any(|c| c.is_control() || matches!(c, '"' | '\\')) {
        return name.to_owned();
    }
    let mut quoted = String::from('"');
    for c in name.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\t' => quoted.push_str("\\t"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            c if c.is_control() => {
                let bytes = c.encode_utf8(&mut [0; 4]).bytes().map(|byte| format!("\\{byte:03o}")).collect::<String>();
                quoted.push_str(&bytes);
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
