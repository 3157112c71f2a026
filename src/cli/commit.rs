//! `--commit` and `--branch` of `sipgen generate`.

use camino::Utf8Path;
use sipgen::compare::Change;
use sipgen::finding::counted;
use sipgen::git::{Committed, Committer, Content, Differs, Inputs, in_shell};
use sipgen::source::Files;
use sipgen::{Generated, layout, report};

use super::{Failure, say};

/// A commit of what a run has generated.
pub(super) struct Commit {
    committer: Committer,
    content: Content,
}

impl Commit {
    /// Works out what is to be committed of what was generated from `files`.
    pub(super) fn new(committer: Committer, generated: &Generated, files: &Files) -> Result<Self, Failure> {
        let content = committer.content(&generated.site.settings.output, &generated.output(files)?)?;
        Ok(Self { committer, content })
    }

    /// Whether nothing would change but the comments that say what files were made from: not worth a commit, and not
    /// worth a file that is to be committed some day.
    pub(super) fn is_idle(&self, generated: &Generated) -> bool {
        let in_mark_only = |change: &Change| match change {
            Change::Update { before, after } => layout::differ_in_mark_only(before, after),
            Change::Create { .. } | Change::Delete { .. } => false,
        };
        let changes = generated.changes.iter().flat_map(|changes| changes.files.values());
        self.content.differs() == Differs::InMarksOnly && changes.into_iter().all(in_mark_only)
    }

    /// Commits what is worth a commit, and says what came of it.
    pub(super) fn carry_out(self, generated: &Generated, staged: bool) -> Result<(), Failure> {
        match self.content.differs() {
            Differs::Not => say("no commit: the generated files are committed already\n"),
            Differs::InMarksOnly => {
                say("no commit: only the comments that say what files were made from would change\n")
            }
            Differs::Really => {
                let settings = &generated.site.settings;
                let inputs = Inputs { output: &settings.output, templates: settings.templates.as_deref(), staged };
                let Committed { id, branch } = self.committer.commit(&self.content, &message(generated), inputs)?;
                let place = branch.map_or("a detached HEAD".to_owned(), |branch| format!("branch {branch}"));
                say(format_args!("committed {} as {id} on {place}\n", counted(self.content.paths().len(), "file")));
            }
        }
        Ok(())
    }
}

/// What the commit says of itself.
fn message(generated: &Generated) -> String {
    let summary = report::summary(generated, true);
    format!("Generate {}\n\n{}", generated.site.settings.output, anstream::adapter::strip_str(&summary))
}

/// How the changes get into git's index, in a shell.
pub(super) fn how_to_stage(root: &Utf8Path, output: &Utf8Path) -> String {
    let is_here = root.canonicalize().is_ok_and(|root| std::env::current_dir().is_ok_and(|here| here == root));
    let git = if is_here { "git".to_owned() } else { format!("git -C {}", in_shell(root.as_str())) };
    format!("{git} add {}", in_shell(output.as_str()))
}
