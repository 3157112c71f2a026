//! The `git add` command that messages suggest.

use camino::Utf8Path;
use sipgen::base::text::in_shell;

/// Returns the command that stages output directories of the repo at `root`.
pub(super) fn command<'a>(root: &Utf8Path, outputs: impl Iterator<Item = &'a Utf8Path>) -> String {
    let is_here = root
        .canonicalize()
        .is_ok_and(|root| std::env::current_dir().is_ok_and(|here| here == root));
    let git =
        if is_here { "git".to_owned() } else { format!("git -C {}", in_shell(root.as_str())) };
    let outputs: String = outputs.map(|output| format!(" {}", in_shell(output.as_str()))).collect();
    format!("{git} add{outputs}")
}
