//! Commands that users are told to run, as a shell takes them.

use camino::Utf8Path;

/// The command that stages what lies below `output` in the repo at `root`.
pub(super) fn staging(root: &Utf8Path, output: &Utf8Path) -> String {
    let is_here = root.canonicalize().is_ok_and(|root| std::env::current_dir().is_ok_and(|here| here == root));
    let git = if is_here { "git".to_owned() } else { format!("git -C {}", word(root.as_str())) };
    format!("{git} add {}", word(output.as_str()))
}

/// A word as a shell takes it.
pub(super) fn word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./:@%+=,-".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
