//! Selection of a branch for a commit that leaves every worktree unchanged.

use camino::Utf8Path;
use git2::{Oid, ReferenceType, Repository};

use crate::base::text::in_shell;
use crate::input::git::GitError;
use crate::input::git::program::Program;

/// A branch that no worktree has checked out, and that may not exist yet.
pub struct TargetBranch {
    pub(super) name: String,
    tip: Option<Oid>,
    /// Parent of the next commit.
    pub(super) parent: Option<Oid>,
}

/// The position of a branch relative to HEAD.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchPosition {
    /// The branch does not exist yet.
    New,
    /// HEAD contains the branch.
    Behind,
    /// The branch contains HEAD.
    Ahead,
}

impl TargetBranch {
    /// Finds the branch for a commit. It must be new, an ancestor of `head`, or a descendant of
    /// `head`.
    pub(super) fn find(
        repo: &Repository,
        program: &Program,
        name: &str,
        head: Option<Oid>,
    ) -> Result<Self, GitError> {
        if !git2::Branch::name_is_valid(name)? {
            return Err(GitError::new(format!("invalid branch name {name:?}")));
        }
        let reference = reference(name);
        expect_not_checked_out(program, name)?;
        let tip = match repo.find_reference(&reference) {
            Ok(found) if found.kind() == Some(ReferenceType::Symbolic) => {
                return Err(GitError::new(format!(
                    "branch `{name}` is a symbolic reference; use the branch that it points to"
                )));
            }
            Ok(found) => Some(found.peel_to_commit()?.id()),
            Err(error) if error.code() == git2::ErrorCode::NotFound => None,
            Err(error) => return Err(error.into()),
        };
        let parent = match (tip, head) {
            (None, head) => head,
            (tip, None) => tip,
            (Some(tip), Some(head)) if tip == head || repo.graph_descendant_of(head, tip)? => {
                Some(head)
            }
            (Some(tip), Some(head)) if repo.graph_descendant_of(tip, head)? => Some(tip),
            _ => {
                return Err(GitError::new(format!(
                    "branch `{name}` and HEAD have diverged; rebase `{name}` onto HEAD, or delete it \
                     with `git branch -D {}` to start again at HEAD",
                    in_shell(name)
                )));
            }
        };
        Ok(Self { name: name.to_owned(), tip, parent })
    }

    /// Returns the name of the branch.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the branch's position relative to HEAD.
    pub fn standing(&self) -> BranchPosition {
        match self.tip {
            None => BranchPosition::New,
            tip if tip == self.parent => BranchPosition::Ahead,
            Some(_) => BranchPosition::Behind,
        }
    }

    /// Checks that the branch has the same inputs below `place` as `head`. Files generated from
    /// other inputs would revert the branch's own changes.
    pub(super) fn expect_inputs_of(
        &self,
        repo: &Repository,
        head: Option<Oid>,
        place: &Utf8Path,
        outputs: &[&Utf8Path],
    ) -> Result<(), GitError> {
        let tree = |commit: Option<Oid>| commit.map(|id| repo.find_commit(id)?.tree()).transpose();
        let (ours, theirs) = (tree(head)?, tree(self.parent)?);
        let diff = repo.diff_tree_to_tree(ours.as_ref(), theirs.as_ref(), None)?;
        let outputs: Vec<_> = outputs.iter().map(|output| place.join(output)).collect();
        let is_output = |path: &Utf8Path| outputs.iter().any(|output| path.starts_with(output));
        let differs = |path: &Utf8Path| path.starts_with(place) && !is_output(path);
        let paths: Vec<String> = diff
            .deltas()
            .filter_map(|delta| {
                delta.new_file().path().map(|path| path.to_string_lossy().into_owned())
            })
            .filter(|path| differs(Utf8Path::new(path)))
            .collect();
        let Some(first) = paths.first() else {
            return Ok(());
        };
        let name = &self.name;
        Err(GitError::new(format!(
            "branch `{name}` has changes of its own besides generated files: {} different from HEAD, `{first}` first; files \
             generated from HEAD would revert them; check it out with `git switch {}`, and run \
             `sipgen generate --commit` there",
            if paths.len() == 1 {
                "1 file is".to_owned()
            } else {
                format!("{} files are", paths.len())
            },
            in_shell(name)
        )))
    }

    /// Moves the branch to a commit, unless it has moved meanwhile.
    pub(super) fn advance(&self, program: &Program, commit: &str) -> Result<(), GitError> {
        expect_not_checked_out(program, &self.name)?;
        // git refuses the update unless the branch is still here; zero means that it must not
        // exist.
        let before = self.tip.unwrap_or(Oid::ZERO_SHA1).to_string();
        program.output(
            &["update-ref", "-m", "sipgen generate", &reference(&self.name), commit, &before],
            "",
        )?;
        Ok(())
    }
}

/// Checks that no worktree has the branch checked out.
fn expect_not_checked_out(program: &Program, name: &str) -> Result<(), GitError> {
    let worktrees = program.output(&["worktree", "list", "--porcelain"], "")?;
    let checked_out = format!("branch {}", reference(name));
    let is_there = |worktree: &&str| worktree.lines().any(|line| line == checked_out);
    let Some(worktree) = worktrees.split("\n\n").find(is_there) else {
        return Ok(());
    };
    let place =
        worktree.lines().find_map(|line| line.strip_prefix("worktree ")).unwrap_or_default();
    Err(GitError::new(format!(
        "branch `{name}` is checked out in `{place}`, whose files would not follow the commit; use another branch, or \
         run `sipgen generate --commit` there"
    )))
}

fn reference(branch: &str) -> String {
    format!("refs/heads/{branch}")
}
