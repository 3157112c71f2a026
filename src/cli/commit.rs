//! `--commit` and `--branch` of `sipgen generate`.

use sipgen::compare::Change;
use sipgen::finding::counted;
use sipgen::git::{Committed, Committer, Content, Differs, Inputs, Standing};
use sipgen::review::{Before, Review};
use sipgen::source::Files;
use sipgen::{Generated, report};

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
        let changes = generated.changes.iter().flat_map(|changes| changes.files.values());
        self.content.differs() == Differs::InMarksOnly && changes.into_iter().all(Change::is_in_mark_only)
    }

    /// Commits what is worth a commit, and says what came of it.
    pub(super) fn carry_out(self, generated: &Generated, staged: bool) -> Result<(), Failure> {
        match self.content.differs() {
            Differs::Not => {
                let staged = self.committer.stage_committed(&self.content)?;
                say(format_args!("no commit: {}\n", self.who_has_them()));
                if staged > 0 {
                    say(format_args!(
                        "git's index had {} otherwise, and now has what is committed\n",
                        counted(staged, "file")
                    ));
                }
            }
            Differs::InMarksOnly => say(format_args!(
                "no commit: only the comments that say what files were made from would change{}\n",
                self.left_alone()
            )),
            Differs::Really => {
                let settings = &generated.site.settings;
                let inputs = Inputs { output: &settings.output, templates: settings.templates.as_deref(), staged };
                let Committed { id, branch } =
                    self.committer.commit(&self.content, &message(&self.content, generated), Some(inputs))?;
                let place = branch.map_or("a detached HEAD".to_owned(), |branch| format!("branch {branch}"));
                say(format_args!("committed {} as {id} on {place}\n", counted(self.content.paths().len(), "file")));
            }
        }
        Ok(())
    }

    /// Who has the generated files already, and what was not done to the branch for that reason.
    fn who_has_them(&self) -> String {
        match self.committer.branch() {
            None => "the generated files are committed already".to_owned(),
            Some(branch) if branch.standing() == Standing::Ahead => {
                format!("branch {} has the generated files already", branch.name())
            }
            Some(_) => format!("HEAD has the generated files already{}", self.left_alone()),
        }
    }

    /// What was not done to the branch, as there is no commit for it.
    fn left_alone(&self) -> String {
        self.committer.branch().map_or_else(String::new, |branch| match branch.standing() {
            Standing::New => format!("; branch {} was not made", branch.name()),
            Standing::Behind => format!("; branch {} was not moved, and is behind HEAD", branch.name()),
            Standing::Ahead => format!("; branch {} is as it was", branch.name()),
        })
    }
}

/// What the commit says of itself.
fn message(content: &Content, generated: &Generated) -> String {
    let before = Before { clusters: content.clusters(), inventory: None, output: None };
    report::commit_message(&Review::between(&content.changes(), &before, &generated.site))
}
