//! The command by which users stage what was generated.

use camino::Utf8Path;
use sipgen::git::in_shell;

/// The command that stages what lies below `output` in the repo at `root`.
pub(super) fn command(root: &Utf8Path, output: &Utf8Path) -> String {
    let is_here = root.canonicalize().is_ok_and(|root| std::env::current_dir().is_ok_and(|here| here == root));
    let git = if is_here { "git".to_owned() } else { format!("git -C {}", in_shell(root.as_str())) };
    format!("{git} add {}", in_shell(output.as_str()))
}
