//! `--commit` and `--branch` of `sipgen generate`.

use camino::Utf8Path;
use sipgen::base::text::counted;
use sipgen::base::tree::Tree;
use sipgen::output::commit::{
    BranchPosition, CommitDifference, CommitInputs, Committer, DifferenceExtent, NewCommit,
};
use sipgen::output::compare::Change;
use sipgen::review::effects::{Review, StateBefore};
use sipgen::{GeneratedSite, report};

use super::repo::Runs;
use super::{CommandError, say};

/// Pending commit of generated files.
pub(super) struct Commit {
    committer: Committer,
    content: CommitDifference,
    /// All generated files, by site.
    outputs: Vec<Tree>,
}

impl Commit {
    /// Computes the content of the commit for all sites.
    pub(super) fn new(committer: Committer, runs: &Runs<'_>) -> Result<Self, CommandError> {
        let outputs = runs
            .iter()
            .map(|(site, generated)| generated.output(&site.files))
            .collect::<Result<Vec<Tree>, _>>()?;
        let directories =
            runs.iter().map(|(_, generated)| generated.site.settings.output.as_path());
        let by_directory: Vec<_> = directories.zip(&outputs).collect();
        let content = committer.content(&by_directory)?;
        Ok(Self { committer, content, outputs })
    }

    /// Reports whether only the comments that name the inputs would change. Such a change is worth
    /// no commit, and no uncommitted file either.
    pub(super) fn is_idle(&self, runs: &Runs<'_>) -> bool {
        let changes = runs
            .iter()
            .flat_map(|(_, run)| &run.changes)
            .flat_map(|changes| changes.files.values());
        self.content.differs() == DifferenceExtent::InMarksOnly
            && changes.into_iter().all(Change::is_in_mark_only)
    }

    /// Commits the changes, and reports the result.
    pub(super) fn carry_out(self, runs: &Runs<'_>, staged: bool) -> Result<(), CommandError> {
        match self.content.differs() {
            DifferenceExtent::Not => {
                let staged = self.committer.stage_committed(&self.content)?;
                say(format_args!("no commit: {}\n", self.location()));
                if staged > 0 {
                    say(format_args!(
                        "git's index: {} reset to the committed state\n",
                        counted(staged, "file")
                    ));
                }
            }
            DifferenceExtent::InMarksOnly => say(format_args!(
                "no commit: only comments that name the inputs would change{}\n",
                self.left_alone()
            )),
            DifferenceExtent::Really => {
                let settings = || runs.iter().map(|(_, run)| &run.site.settings);
                let outputs: Vec<&Utf8Path> =
                    settings().map(|settings| settings.output.as_path()).collect();
                let templates: Vec<&Utf8Path> =
                    settings().filter_map(|settings| settings.templates.as_deref()).collect();
                let inputs = CommitInputs { outputs: &outputs, templates: &templates, staged };
                let message = message(&self.content, runs, &self.outputs);
                let NewCommit { id, branch } =
                    self.committer.commit(&self.content, &message, Some(inputs))?;
                let place = branch
                    .map_or("a detached HEAD".to_owned(), |branch| format!("branch {branch}"));
                say(format_args!(
                    "committed {} as {id} on {place}\n",
                    counted(self.content.paths().len(), "file")
                ));
            }
        }
        Ok(())
    }

    /// States where the generated files are already committed, and whether the branch was moved.
    fn location(&self) -> String {
        match self.committer.branch() {
            None => "the generated files are already committed".to_owned(),
            Some(branch) if branch.standing() == BranchPosition::Ahead => {
                format!("branch `{}` already has the generated files", branch.name())
            }
            Some(_) => format!("HEAD already has the generated files{}", self.left_alone()),
        }
    }

    /// States what was not done to the branch, because there is nothing to commit.
    fn left_alone(&self) -> String {
        self.committer.branch().map_or_else(String::new, |branch| match branch.standing() {
            BranchPosition::New => format!("; branch `{}` was not created", branch.name()),
            BranchPosition::Behind => {
                format!("; branch `{}` was not moved and is behind HEAD", branch.name())
            }
            BranchPosition::Ahead => format!("; branch `{}` is unchanged", branch.name()),
        })
    }
}

/// Formats the commit message.
fn message(content: &CommitDifference, runs: &Runs<'_>, outputs: &[Tree]) -> String {
    let review = |generated: &GeneratedSite, later: &Tree| {
        let output = &generated.site.settings.output;
        let clusters = content.clusters(output);
        let before = StateBefore { clusters: &clusters, inventory: None, output: None };
        let mut changes = content.changes();
        changes.files.retain(|path, _| path.starts_with(output));
        Review::between(&changes, &before, later, &generated.site)
    };
    match (runs.as_slice(), outputs) {
        ([(site, only)], [later]) if site.name.is_empty() => {
            report::commit_message(&review(only, later))
        }
        (runs, outputs) => {
            let reviews: Vec<_> = runs
                .iter()
                .zip(outputs)
                .map(|((site, run), later)| (site.name.as_str(), review(run, later)))
                .collect();
            report::commit_message_of_sites(&reviews)
        }
    }
}
