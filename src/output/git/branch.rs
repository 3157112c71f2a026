//! Which branch can take a commit without anybody's worktree noticing.

use camino::Utf8Path;
use git2::{Oid, ReferenceType, Repository};

use crate::git::GitError;
use crate::git::program::Program;
use crate::text::in_shell;

/// A branch that nobody has checked out, and that may not be there yet.
pub struct Branch {
    pub(super) name: String,
    tip: Option<Oid>,
    /// What its next commit stands on.
    pub(super) parent: Option<Oid>,
}

/// Where a branch is that takes a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It is not there yet.
    New,
    /// HEAD has all of it, and more.
    Behind,
    /// It has all of HEAD.
    Ahead,
}

impl Branch {
    /// Finds a branch that takes a commit: one that is new, that `head` has all of, or that has all of `head`.
    pub(super) fn find(
        repo: &Repository,
        program: &Program,
        name: &str,
        head: Option<Oid>,
    ) -> Result<Self, GitError> {
        if !git2::Branch::name_is_valid(name)? {
            return Err(GitError::new(format!("{name:?} is no name for a branch")));
        }
        let reference = reference(name);
        expect_not_checked_out(program, name)?;
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
            (Some(tip), Some(head)) if tip == head || repo.graph_descendant_of(head, tip)? => {
                Some(head)
            }
            (Some(tip), Some(head)) if repo.graph_descendant_of(tip, head)? => Some(tip),
            _ => {
                return Err(GitError::new(format!(
                    "branch {name} and HEAD have both gone on since they parted; rebase {name} onto HEAD, or delete it \
                     by `git branch -D {}`, and it starts anew at HEAD",
                    in_shell(name)
                )));
            }
        };
        Ok(Self {
            name: name.to_owned(),
            tip,
            parent,
        })
    }

    /// The branch's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where the branch is, seen from HEAD.
    pub fn standing(&self) -> Standing {
        match self.tip {
            None => Standing::New,
            tip if tip == self.parent => Standing::Ahead,
            Some(_) => Standing::Behind,
        }
    }

    /// Makes sure that the branch has the inputs that `head` has below `place`: files that were made from others would
    /// undo what its own call for.
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
                delta
                    .new_file()
                    .path()
                    .map(|path| path.to_string_lossy().into_owned())
            })
            .filter(|path| differs(Utf8Path::new(path)))
            .collect();
        let Some(first) = paths.first() else {
            return Ok(());
        };
        let name = &self.name;
        Err(GitError::new(format!(
            "branch {name} has changes of its own beside generated files: {} not as in HEAD, {first} first; what is \
             made from HEAD would undo what they call for: check {name} out by `git switch {}`, and generate there by \
             `sipgen generate --commit`",
            if paths.len() == 1 {
                "1 file is".to_owned()
            } else {
                format!("{} files are", paths.len())
            },
            in_shell(name)
        )))
    }

    /// Moves the branch to a commit, unless somebody else has moved it meanwhile.
    pub(super) fn advance(&self, program: &Program, commit: &str) -> Result<(), GitError> {
        expect_not_checked_out(program, &self.name)?;
        let before = self.tip.unwrap_or(Oid::ZERO_SHA1).to_string();
        program.output(
            &[
                "update-ref",
                "-m",
                "sipgen generate",
                &reference(&self.name),
                commit,
                &before,
            ],
            "",
        )?;
        Ok(())
    }
}

/// Makes sure that no worktree has the branch.
fn expect_not_checked_out(program: &Program, name: &str) -> Result<(), GitError> {
    let worktrees = program.output(&["worktree", "list", "--porcelain"], "")?;
    let checked_out = format!("branch {}", reference(name));
    let is_there = |worktree: &&str| worktree.lines().any(|line| line == checked_out);
    let Some(worktree) = worktrees.split("\n\n").find(is_there) else {
        return Ok(());
    };
    let place = worktree
        .lines()
        .find_map(|line| line.strip_prefix("worktree "))
        .unwrap_or_default();
    Err(GitError::new(format!(
        "branch {name} is checked out in {place}, which would not notice its new commit; name another branch, or commit \
         there by `sipgen generate --commit`"
    )))
}

fn reference(branch: &str) -> String {
    format!("refs/heads/{branch}")
}
