//! Commits of generated files only.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;

use camino::{Utf8Path, Utf8PathBuf};
use git2::{Oid, Repository, RepositoryState, Tree};
use tempfile::TempDir;

use super::branch::TargetBranch;
use super::content::{self, CommitDifference, IsGenerated};
use crate::base::layout;
use crate::base::tree::Tree as FileTree;
use crate::input::git::GitError;
use crate::input::git::index::{self, Entries};
use crate::input::git::open::{self, OpenedRepo};
use crate::input::git::program::Program;
use crate::input::load;
use crate::output::lock::Lock;

/// Trailer with the revision of the inputs.
const TRAILER: &str = "Sipgen-Inputs";

/// End of a message about a branch that moved during the run.
const MOVED: &str = "nothing was committed and git's index is unchanged; run the command again";

/// A repo that can take a commit, checked in advance.
pub struct Committer {
    opened: OpenedRepo,
    program: Program,
    /// HEAD at the start. The branch is moved only if HEAD is still there.
    at: HeadPosition,
    /// Target branch, if it is not the checked-out one.
    branch: Option<TargetBranch>,
    /// Lock against other runs that commit. `None` if only a branch is moved, which git does
    /// atomically.
    _lock: Option<Lock>,
}

/// The position of HEAD.
#[derive(Debug, Clone, PartialEq, Eq)]
struct HeadPosition {
    /// Commit; `None` before the first one.
    commit: Option<Oid>,
    /// Full name of the branch; `None` if HEAD is detached.
    reference: Option<String>,
}

/// The inputs of a run.
#[derive(Debug, Clone, Copy)]
pub struct CommitInputs<'a> {
    /// Output directories, which have no inputs.
    pub outputs: &'a [&'a Utf8Path],
    /// Directories of the repo's own templates.
    pub templates: &'a [&'a Utf8Path],
    /// Set if the inputs were read from the index.
    pub staged: bool,
}

/// A new commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCommit {
    /// Abbreviated commit id.
    pub id: String,
    /// Branch; `None` if HEAD is detached.
    pub branch: Option<String>,
}

impl Committer {
    /// Checks that generated files can be committed in the repo around `root`, to the checked-out
    /// branch or to `branch`. Changes nothing.
    ///
    /// # Errors
    ///
    /// Fails in a bare repo, during a merge or the like, inside a git hook, and without an author
    /// identity. Fails if `branch` is checked out or has diverged.
    pub fn new(root: &Utf8Path, branch: Option<&str>) -> Result<Self, GitError> {
        let opened = open::expect(root)?;
        let program = Program::new(&opened)?;
        let lock = match branch {
            Some(_) => None,
            None => {
                is_no_hook(&opened)?;
                let lock = lock(&opened)?;
                // In this order: cleaning up frees an `index.lock` that a killed run left.
                index::clean_up(&opened)?;
                is_at_rest(&opened)?;
                index::expect_unlocked(&opened)?;
                Some(lock)
            }
        };
        let at = position(&opened.repo, &program)?;
        let branch = branch
            .map(|name| TargetBranch::find(&opened.repo, &program, name, at.commit))
            .transpose()?;
        for who in ["GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"] {
            program.output(&["var", who], "").map_err(|_| {
                GitError::new(
                    "git has no author identity; run `git config user.name NAME` and `git config user.email ADDRESS`",
                )
            })?;
        }
        Ok(Self { opened, program, at, branch, _lock: lock })
    }

    /// Returns the target branch, or `None` for the checked-out one.
    pub fn branch(&self) -> Option<&TargetBranch> {
        self.branch.as_ref()
    }

    /// Returns the content of a commit that gives each output directory its files, by path relative
    /// to it.
    ///
    /// # Errors
    ///
    /// Fails if the repo cannot be read, or if the branch has other inputs than HEAD.
    pub fn content(
        &self,
        outputs: &[(&Utf8Path, &FileTree)],
    ) -> Result<CommitDifference, GitError> {
        self.content_of(outputs, layout::is_ours)
    }

    /// Returns the content of a commit that gives `directory` the files of a snapshot, by path
    /// relative to it.
    ///
    /// # Errors
    ///
    /// Fails if the repo cannot be read, or if the branch differs from HEAD outside the snapshot.
    pub fn snapshot_content(
        &self,
        directory: &Utf8Path,
        files: &FileTree,
    ) -> Result<CommitDifference, GitError> {
        self.content_of(&[(directory, files)], layout::is_snapshot)
    }

    fn content_of(
        &self,
        directories: &[(&Utf8Path, &FileTree)],
        owns: IsGenerated,
    ) -> Result<CommitDifference, GitError> {
        if let Some(branch) = &self.branch {
            let generated: Vec<&Utf8Path> =
                directories.iter().map(|(directory, _)| *directory).collect();
            branch.expect_inputs_of(
                &self.opened.repo,
                self.at.commit,
                &self.opened.prefix,
                &generated,
            )?;
        }
        let parent = self.parent_tree()?;
        CommitDifference::new(
            &self.opened.repo,
            parent.as_ref(),
            &self.opened.prefix,
            directories,
            owns,
        )
    }

    /// Commits the content. A trailer names the revision of `inputs`.
    ///
    /// On the checked-out branch, this acts like `git commit`: hooks run, and git signs if
    /// configured. The index changes only for generated files. On another branch, no hook runs, and
    /// worktree, index and HEAD stay unchanged.
    ///
    /// # Errors
    ///
    /// Fails if a hook or git refuses, or if HEAD has moved. Then the index is unchanged.
    pub fn commit(
        &self,
        content: &CommitDifference,
        message: &str,
        inputs: Option<CommitInputs<'_>>,
    ) -> Result<NewCommit, GitError> {
        let mut message = format!("{}\n", message.trim_end());
        if let (Some(head), Some(inputs)) = (self.at.commit, inputs) {
            let uncommitted =
                if self.are_uncommitted(inputs)? { " with uncommitted changes" } else { "" };
            // Writing to a String cannot fail.
            let _ = write!(message, "\n{TRAILER}: {head}{uncommitted}\n");
        }
        let tree = content.tree.ok_or_else(|| GitError::new("nothing to commit"))?;
        let (commit, branch) = match &self.branch {
            Some(branch) => {
                let commit = self.commit_tree(&tree.to_string(), &message, branch.parent)?;
                branch.advance(&self.program, &commit)?;
                (commit, Some(branch.name.clone()))
            }
            None => (self.commit_here(content, tree, &message)?, self.at.branch()),
        };
        Ok(NewCommit { id: self.program.output(&["rev-parse", "--short", &commit], "")?, branch })
    }

    /// Stages the generated files as HEAD has them. Returns the number of files that differed, as
    /// left by a killed run or another program.
    ///
    /// # Errors
    ///
    /// Fails if git's index cannot be written.
    pub fn stage_committed(&self, content: &CommitDifference) -> Result<usize, GitError> {
        let (None, Some(tree)) = (&self.branch, self.parent_tree()?) else {
            return Ok(0);
        };
        let wanted = content.entries_of(&self.opened, &tree)?;
        let now = index::entries(&self.opened, wanted.keys())?;
        let stale: Entries =
            wanted.into_iter().filter(|(path, entry)| now.get(path) != Some(entry)).collect();
        index::put(&self.opened, &self.program, self.directory()?.path(), &stale)?;
        Ok(stale.len())
    }

    /// Creates a commit without moving a branch.
    fn commit_tree(
        &self,
        tree: &str,
        message: &str,
        parent: Option<Oid>,
    ) -> Result<String, GitError> {
        let mut arguments = vec!["commit-tree", tree, "-F", "-"];
        let parent = parent.map(|parent| parent.to_string());
        if let Some(parent) = &parent {
            arguments.extend(["-p", parent]);
        }
        // Unlike `git commit`, `git commit-tree` signs only with `-S`.
        let signs = self
            .program
            .output(&["config", "--type=bool", "--default=false", "commit.gpgSign"], "")?;
        if signs == "true" {
            arguments.push("-S");
        }
        self.program.output(&arguments, message)
    }

    /// Commits on top of the HEAD that the files were generated from.
    ///
    /// `git commit` uses the current HEAD as the parent, and would revert newer commits. So its
    /// steps are done one by one. The index is written before the branch moves. If the run is
    /// killed in between, the files are staged, and the next commit does not revert them.
    fn commit_here(
        &self,
        content: &CommitDifference,
        tree: Oid,
        message: &str,
    ) -> Result<String, GitError> {
        self.expect_unmoved()?;
        let directory = self.directory()?;
        // A separate index, so that other staged changes are not committed.
        let index = directory.path().join("index");
        self.program.output_of(&index, &["read-tree", &tree.to_string()], "")?;
        // Fails if other files have changed, which does not matter here.
        let _ = self.program.output_of(&index, &["update-index", "-q", "--refresh"], "");
        let hook = |name: &str, arguments: &[&str]| match self
            .program
            .run_hook(name, arguments, &index)?
            .success()
        {
            true => Ok(()),
            false => Err(GitError::new(format!(
                "git did not commit: the hook `{name}` failed, see its output above; the generated files are in the \
                 worktree, and git's index is unchanged"
            ))),
        };
        hook("pre-commit", &[])?;
        let message = self.edited(message, directory.path(), hook)?;
        let tree = self.program.output_of(&index, &["write-tree"], "")?;
        if self.parent_tree()?.is_some_and(|parent| parent.id().to_string() == tree) {
            return Err(GitError::new(
                "git did not commit: the hook `pre-commit` left nothing to commit",
            ));
        }
        let commit = self.commit_tree(&tree, &message, self.at.commit)?;
        self.publish(content, &commit, &message, directory.path())?;
        // A failing post-commit hook has no effect, as with `git commit`.
        let _ = self.program.run_hook("post-commit", &[], &self.opened.repo.path().join("index"));
        Ok(commit)
    }

    /// Runs the message hooks and returns the resulting message.
    fn edited(
        &self,
        message: &str,
        directory: &Path,
        hook: impl Fn(&str, &[&str]) -> Result<(), GitError>,
    ) -> Result<String, GitError> {
        let cannot =
            |error: io::Error| GitError::new(format!("cannot write into the repo: {error}"));
        let path = directory.join("COMMIT_EDITMSG");
        fs::write(&path, message).map_err(cannot)?;
        let name = path.to_str().ok_or_else(|| GitError::new("the repo's path is not UTF-8"))?;
        hook("prepare-commit-msg", &[name, "message"])?;
        hook("commit-msg", &[name])?;
        let message = self
            .program
            .output(&["stripspace"], &String::from_utf8_lossy(&fs::read(&path).map_err(cannot)?))?;
        if message.is_empty() {
            return Err(GitError::new("git did not commit: a hook left an empty message"));
        }
        Ok(message + "\n")
    }

    /// Stages the generated files as committed and moves the branch, or does neither if HEAD has
    /// moved.
    fn publish(
        &self,
        content: &CommitDifference,
        commit: &str,
        message: &str,
        directory: &Path,
    ) -> Result<(), GitError> {
        let tree = self.opened.repo.find_commit(Oid::from_str(commit)?)?.tree()?;
        let staged = content.entries_of(&self.opened, &tree)?;
        let before = index::entries(&self.opened, staged.keys())?;
        let staged: Entries =
            staged.into_iter().filter(|(path, entry)| before.get(path) != Some(entry)).collect();
        self.expect_unmoved()?;
        is_at_rest(&self.opened)?;
        index::put(&self.opened, &self.program, directory, &staged)?;
        let moved =
            self.expect_unmoved().and_then(|()| self.advance(commit, message)).and_then(|()| {
                let now = position(&self.opened.repo, &self.program)?;
                if now.reference == self.at.reference {
                    return Ok(());
                }
                let name = self.at.branch().unwrap_or_default();
                Err(GitError::new(format!(
                    "branch `{name}` has the commit, but is no longer checked out"
                )))
            });
        moved.or_else(|error| {
            self.unstage(&staged, &before, directory)?;
            Err(error)
        })
    }

    /// Reverts what was staged for a commit that failed. Entries that HEAD has from elsewhere, or
    /// that changed since, stay.
    fn unstage(
        &self,
        staged: &Entries,
        before: &Entries,
        directory: &Path,
    ) -> Result<(), GitError> {
        let head = position(&self.opened.repo, &self.program)?.commit;
        let tree = head.map(|head| self.opened.repo.find_commit(head)?.tree()).transpose()?;
        let now = index::entries(&self.opened, staged.keys())?;
        let is_left = |(path, entry): &(&Utf8PathBuf, &Option<(u32, Oid)>)| {
            // An entry that HEAD has belongs to a commit, whoever made it.
            let in_head = tree.as_ref().and_then(|tree| content::entry_of(tree, path));
            now.get(*path) == Some(*entry) && in_head != **entry
        };
        let left = staged.iter().filter(is_left);
        let back: Entries =
            left.filter_map(|(path, _)| Some((path.clone(), *before.get(path)?))).collect();
        index::put(&self.opened, &self.program, directory, &back)
    }

    /// Moves the checked-out branch from the commit that it was on.
    fn advance(&self, commit: &str, message: &str) -> Result<(), GitError> {
        let before = self.at.commit.unwrap_or(Oid::ZERO_SHA1).to_string();
        let reference = self.at.reference.as_deref().unwrap_or("HEAD");
        let kind = if self.at.commit.is_some() { "commit" } else { "commit (initial)" };
        let log = format!("{kind}: {}", message.lines().next().unwrap_or_default());
        let moved =
            self.program.output(&["update-ref", "-m", &log, reference, commit, &before], "");
        // git's message does not say whether the branch moved, so HEAD is checked again.
        moved.map(|_| ()).or_else(|error| self.expect_unmoved().and(Err(error)))
    }

    /// Checks that HEAD has not moved.
    fn expect_unmoved(&self) -> Result<(), GitError> {
        let now = position(&self.opened.repo, &self.program)?;
        if now == self.at {
            return Ok(());
        }
        let what = if now.reference == self.at.reference {
            "HEAD moved"
        } else {
            "another branch was checked out"
        };
        Err(GitError::new(format!("{what} during this run; {MOVED}")))
    }

    /// Creates a temporary directory in the repo. The next run removes it if this one cannot.
    fn directory(&self) -> Result<TempDir, GitError> {
        let directory =
            tempfile::Builder::new().prefix(index::OURS).tempdir_in(self.opened.repo.path());
        directory.map_err(|error| GitError::new(format!("cannot write into the repo: {error}")))
    }

    fn parent_tree(&self) -> Result<Option<Tree<'_>>, GitError> {
        let parent = self.branch.as_ref().map_or(self.at.commit, |branch| branch.parent);
        Ok(parent.map(|parent| self.opened.repo.find_commit(parent)?.tree()).transpose()?)
    }

    /// Returns whether inputs differ from HEAD.
    fn are_uncommitted(&self, inputs: CommitInputs<'_>) -> Result<bool, GitError> {
        let status = [
            // Otherwise git would refresh its index.
            "--no-optional-locks",
            "status",
            "--porcelain=v2",
            "-z",
            "--untracked-files=all",
            "--no-renames",
            "--ignore-submodules=none",
        ];
        let status = self.program.output(&status, "")?;
        let is_input = |path: &str| {
            let below = Utf8Path::new(path).strip_prefix(&self.opened.prefix).ok();
            below.is_some_and(|path| inputs.has(path))
        };
        Ok(status.split('\0').any(|line| match line.split_once(' ') {
            Some(("?", path)) => !inputs.staged && is_input(path),
            Some(("1", rest)) => {
                let mut fields = rest.splitn(8, ' ');
                let is_staged = fields.next().is_some_and(|changes| !changes.starts_with('.'));
                let is_submodule =
                    fields.next().is_some_and(|submodule| submodule.starts_with('S'));
                (is_staged || !inputs.staged)
                    && (is_submodule || fields.last().is_some_and(is_input))
            }
            Some(("u", _)) => true,
            _ => false,
        }))
    }
}

impl CommitInputs<'_> {
    fn has(&self, path: &Utf8Path) -> bool {
        let is_below = |directories: &[&Utf8Path]| {
            directories.iter().any(|directory| path.starts_with(directory))
        };
        is_below(self.templates) || load::may_hold_resources(path) && !is_below(self.outputs)
    }
}

impl HeadPosition {
    /// Returns the name of the branch, or `None` if HEAD is detached.
    fn branch(&self) -> Option<String> {
        let name = self.reference.as_deref()?;
        Some(name.strip_prefix("refs/heads/").unwrap_or(name).to_owned())
    }
}

/// Reads the position of HEAD.
fn position(repo: &Repository, program: &Program) -> Result<HeadPosition, GitError> {
    let commit = match repo.head() {
        Ok(head) => Some(head.peel_to_commit()?.id()),
        Err(error) if error.code() == git2::ErrorCode::UnbornBranch => None,
        Err(error) => return Err(error.into()),
    };
    Ok(HeadPosition {
        commit,
        reference: program.output(&["symbolic-ref", "--quiet", "HEAD"], "").ok(),
    })
}

/// Locks the worktree against other runs that commit.
fn lock(opened: &OpenedRepo) -> Result<Lock, GitError> {
    let directory = Utf8Path::from_path(opened.repo.path())
        .ok_or_else(|| GitError::new("the repo's path is not UTF-8"))?;
    Lock::exclusive(directory).map_err(|error| GitError::new(error.to_string()))
}

/// Checks that git does not run this as a hook of its own commit.
fn is_no_hook(opened: &OpenedRepo) -> Result<(), GitError> {
    match opened.index_of_environment() {
        None => Ok(()),
        Some(_) => Err(GitError::new(
            "git runs this as a hook and commits by itself; use `sipgen generate --from-index --exit-code` here",
        )),
    }
}

/// Checks that no merge, rebase or similar operation is in progress.
fn is_at_rest(opened: &OpenedRepo) -> Result<(), GitError> {
    let busy = match opened.repo.state() {
        RepositoryState::Clean | RepositoryState::Bisect => None,
        RepositoryState::Merge => Some("a merge"),
        RepositoryState::Revert | RepositoryState::RevertSequence => Some("a revert"),
        RepositoryState::CherryPick | RepositoryState::CherryPickSequence => Some("a cherry-pick"),
        RepositoryState::Rebase
        | RepositoryState::RebaseInteractive
        | RepositoryState::RebaseMerge => Some("a rebase"),
        RepositoryState::ApplyMailbox | RepositoryState::ApplyMailboxOrRebase => Some("`git am`"),
    };
    if let Some(busy) = busy {
        return Err(GitError::new(format!(
            "the repo is in the middle of {busy}; finish it before committing"
        )));
    }
    Ok(())
}
