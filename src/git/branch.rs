//! Which branch can take a commit without anybody's worktree noticing.

use git2::{Oid, ReferenceType, Repository};

use super::program::Program;
use super::{GitError, in_shell};

/// A branch that nobody has checked out, and that may not be there yet.
pub(super) struct Branch {
    pub(super) name: String,
    tip: Option<Oid>,
    /// What its next commit stands on.
    pub(super) parent: Option<Oid>,
}

impl Branch {
    /// Finds a branch that takes a commit: one that is new, that `head` has all of, or that has all of `head`.
    pub(super) fn find(repo: &Repository, program: &Program, name: &str, head: Option<Oid>) -> Result<Self, GitError> {
        if !git2::Branch::name_is_valid(name)? {
            return Err(GitError::new(format!("{name:?} is no name for a branch")));
        }
        let reference = reference(name);
        let worktrees = program.output(&["worktree", "list", "--porcelain"], "")?;
        let checked_out = format!("branch {reference}");
        if let Some(worktree) =
            worktrees.split("\n\n").find(|worktree| worktree.lines().any(|line| line == checked_out))
        {
            let place = worktree.lines().find_map(|line| line.strip_prefix("worktree ")).unwrap_or_default();
            return Err(GitError::new(format!(
                "branch {name} is checked out in {place}, which would not notice its new commit; name another branch, \
                 or commit there by `sipgen generate --commit`"
            )));
        }
        let tip = match repo.find_reference(&reference) {
            Ok(found) if found.kind() == Some(ReferenceType::Symbolic) => {
                return Err(GitError::new(format!(
                    "branch {name} is a symbolic reference; name the branch that it leads to"
                )));
            }
            Ok(found) => Some(found.peel_to_commit()?.id()),
            Err(error) if error.code() == git2::ErrorCode::NotFound => None,
            Err(error) => return Err(error.into()),
        };
        let parent = match (tip, head) {
            (None, head) => head,
            (tip, None) => tip,
            (Some(tip), Some(head)) if tip == head || repo.graph_descendant_of(head, tip)? => Some(head),
            (Some(tip), Some(head)) if repo.graph_descendant_of(tip, head)? => Some(tip),
            _ => {
                return Err(GitError::new(format!(
                    "branch {name} and HEAD have both gone on since they parted; rebase {name} onto HEAD, or delete it \
                     by `git branch -D {}`, and it starts anew at HEAD",
                    in_shell(name)
                )));
            }
        };
        Ok(Self { name: name.to_owned(), tip, parent })
    }

    /// Moves the branch to a commit, unless somebody else has moved it meanwhile.
    pub(super) fn advance(&self, program: &Program, commit: &str) -> Result<(), GitError> {
        let before = self.tip.unwrap_or(Oid::ZERO_SHA1).to_string();
        program.output(&["update-ref", "-m", "sipgen generate", &reference(&self.name), commit, &before], "")?;
        Ok(())
    }
}

fn reference(branch: &str) -> String {
    format!("refs/heads/{branch}")
}
