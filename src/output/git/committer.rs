//! Commits generated files, and nothing else.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;

use camino::{Utf8Path, Utf8PathBuf};
use git2::{Oid, Repository, RepositoryState, Tree};
use tempfile::TempDir;

use super::branch::Branch;
use super::content::{self, Content, Owns};
use crate::git::GitError;
use crate::git::index::{self, Entries};
use crate::git::open::{self, Opened};
use crate::git::program::Program;
use crate::layout;
use crate::load;
use crate::output::lock::Lock;

/// Names the revision that a commit's files were made from.
const TRAILER: &str = "Sipgen-Inputs";

/// The end of a message about a branch that somebody else has moved.
const MOVED: &str = "nothing was committed, and git's index is as it was; run this again";

/// A repo that can take a commit, as far as can be known beforehand.
pub struct Committer {
    opened: Opened,
    program: Program,
    /// Where HEAD is: what a commit is made from, and what it must still be on when the branch moves.
    at: Position,
    /// The branch, when it is not the one that is checked out.
    branch: Option<Branch>,
    /// Keeps other runs from committing; none when nothing but a branch is moved, which git does by itself.
    _lock: Option<Lock>,
}

/// What HEAD is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Position {
    /// The commit; none when there is none yet.
    commit: Option<Oid>,
    /// The full name of the branch; none when HEAD is detached.
    reference: Option<String>,
}

/// Where the inputs of a run are.
#[derive(Debug, Clone, Copy)]
pub struct Inputs<'a> {
    /// The output directories, where none are.
    pub outputs: &'a [&'a Utf8Path],
    /// The repo's own templates.
    pub templates: &'a [&'a Utf8Path],
    /// Whether they were read from the index.
    pub staged: bool,
}

/// A commit that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    /// The commit's abbreviated id.
    pub id: String,
    /// The branch; none when HEAD is detached.
    pub branch: Option<String>,
}

impl Committer {
    /// Finds out whether generated files can be committed in the repo around `root`, to the branch that is checked out
    /// or to `branch`. Changes nothing.
    ///
    /// # Errors
    ///
    /// When the repo is in the middle of a merge or the like, or is a bare one; when a hook of git runs this; when
    /// nobody is known who commits; when the branch is checked out, or would have to be merged.
    pub fn new(root: &Utf8Path, branch: Option<&str>) -> Result<Self, GitError> {
        let opened = open::expect(root)?;
        let program = Program::new(&opened)?;
        let lock = match branch {
            Some(_) => None,
            None => {
                is_no_hook(&opened)?;
                let lock = lock(&opened)?;
                index::clean_up(&opened)?;
                is_at_rest(&opened)?;
                index::expect_unlocked(&opened)?;
                Some(lock)
            }
        };
        let at = position(&opened.repo, &program)?;
        let branch = branch
            .map(|name| Branch::find(&opened.repo, &program, name, at.commit))
            .transpose()?;
        for who in ["GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"] {
            program.output(&["var", who], "").map_err(|_| {
                GitError::new(
                    "git does not know who commits; say `git config user.name NAME` and `git config user.email ADDRESS`",
                )
            })?;
        }
        Ok(Self {
            opened,
            program,
            at,
            branch,
            _lock: lock,
        })
    }

    /// The branch that a commit would go to; none when it is the one that is checked out.
    pub fn branch(&self) -> Option<&Branch> {
        self.branch.as_ref()
    }

    /// What a commit would change below output directories for each to have its files, by path relative to it.
    ///
    /// # Errors
    ///
    /// When the repo cannot be read. When the branch has other inputs than HEAD.
    pub fn content(
        &self,
        outputs: &[(&Utf8Path, &BTreeMap<Utf8PathBuf, String>)],
    ) -> Result<Content, GitError> {
        self.content_of(outputs, layout::is_ours)
    }

    /// Returns the content of a commit that gives `directory` the files of a snapshot, by path relative to it.
    ///
    /// # Errors
    ///
    /// When the repo cannot be read. When the branch has other files than HEAD beside the snapshot.
    pub fn snapshot_content(
        &self,
        directory: &Utf8Path,
        files: &BTreeMap<Utf8PathBuf, String>,
    ) -> Result<Content, GitError> {
        self.content_of(&[(directory, files)], layout::is_snapshot)
    }

    fn content_of(
        &self,
        directories: &[(&Utf8Path, &BTreeMap<Utf8PathBuf, String>)],
        owns: Owns,
    ) -> Result<Content, GitError> {
        if let Some(branch) = &self.branch {
            let generated: Vec<&Utf8Path> = directories
                .iter()
                .map(|(directory, _)| *directory)
                .collect();
            branch.expect_inputs_of(
                &self.opened.repo,
                self.at.commit,
                &self.opened.prefix,
                &generated,
            )?;
        }
        let parent = self.parent_tree()?;
        Content::new(
            &self.opened.repo,
            parent.as_ref(),
            &self.opened.prefix,
            directories,
            owns,
        )
    }

    /// Commits, with a trailer that names the revision of the inputs behind the message, if they are of one.
    ///
    /// On the branch that is checked out, this is what `git commit` does: hooks run, and git signs if it is set up to. The
    /// index is as it was afterwards, but for generated files. On another branch no hook runs, and neither worktree nor
    /// index nor HEAD change.
    ///
    /// # Errors
    ///
    /// When a hook or git refuses, or HEAD is no longer what the commit was made from: then the index is as it was.
    pub fn commit(
        &self,
        content: &Content,
        message: &str,
        inputs: Option<Inputs<'_>>,
    ) -> Result<Committed, GitError> {
        let mut message = format!("{}\n", message.trim_end());
        if let (Some(head), Some(inputs)) = (self.at.commit, inputs) {
            let uncommitted = if self.are_uncommitted(inputs)? {
                " with uncommitted changes"
            } else {
                ""
            };
            // Writing to a String cannot fail.
            let _ = write!(message, "\n{TRAILER}: {head}{uncommitted}\n");
        }
        let tree = content
            .tree
            .ok_or_else(|| GitError::new("there is nothing to commit"))?;
        let (commit, branch) = match &self.branch {
            Some(branch) => {
                let commit = self.commit_tree(&tree.to_string(), &message, branch.parent)?;
                branch.advance(&self.program, &commit)?;
                (commit, Some(branch.name.clone()))
            }
            None => (self.commit_here(content, tree, &message)?, self.at.branch()),
        };
        Ok(Committed {
            id: self
                .program
                .output(&["rev-parse", "--short", &commit], "")?,
            branch,
        })
    }

    /// Puts the generated files into the index as HEAD has them, if they are not there: a run that was killed, or somebody
    /// else, has left others. Returns how many that were.
    ///
    /// # Errors
    ///
    /// When git's index cannot be written.
    pub fn stage_committed(&self, content: &Content) -> Result<usize, GitError> {
        let (None, Some(tree)) = (&self.branch, self.parent_tree()?) else {
            return Ok(0);
        };
        let wanted = content.entries_of(&self.opened, &tree)?;
        let now = index::entries(&self.opened, wanted.keys())?;
        let stale: Entries = wanted
            .into_iter()
            .filter(|(path, entry)| now.get(path) != Some(entry))
            .collect();
        index::put(
            &self.opened,
            &self.program,
            self.directory()?.path(),
            &stale,
        )?;
        Ok(stale.len())
    }

    /// Makes a commit that no branch has yet.
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
        // Unlike `git commit`, this plumbing signs only when told to.
        let signs = self.program.output(
            &["config", "--type=bool", "--default=false", "commit.gpgSign"],
            "",
        )?;
        if signs == "true" {
            arguments.push("-S");
        }
        self.program.output(&arguments, message)
    }

    /// Commits on top of the HEAD that the files were made from, and on no other.
    ///
    /// `git commit` takes whatever HEAD is when it starts for the parent, and would undo what somebody else has committed
    /// meanwhile. So its parts are done one by one. The index comes before the branch: when a run is killed in between,
    /// the generated files are staged, and nobody's next commit undoes them.
    fn commit_here(&self, content: &Content, tree: Oid, message: &str) -> Result<String, GitError> {
        self.expect_unmoved()?;
        let directory = self.directory()?;
        // What is committed: nobody's staged changes are in it.
        let index = directory.path().join("index");
        self.program
            .output_of(&index, &["read-tree", &tree.to_string()], "")?;
        // Fails when other files have changed, which is no failure here.
        let _ = self
            .program
            .output_of(&index, &["update-index", "-q", "--refresh"], "");
        let hook = |name: &str, arguments: &[&str]| match self
            .program
            .run_hook(name, arguments, &index)?
            .success()
        {
            true => Ok(()),
            false => Err(GitError::new(format!(
                "git has not committed: the hook {name} refuses, and said why above; the generated files are in the \
                 worktree, and git's index is as it was"
            ))),
        };
        hook("pre-commit", &[])?;
        let message = self.edited(message, directory.path(), hook)?;
        let tree = self.program.output_of(&index, &["write-tree"], "")?;
        if self
            .parent_tree()?
            .is_some_and(|parent| parent.id().to_string() == tree)
        {
            return Err(GitError::new(
                "git has not committed: the hook pre-commit has left nothing to commit",
            ));
        }
        let commit = self.commit_tree(&tree, &message, self.at.commit)?;
        self.publish(content, &commit, &message, directory.path())?;
        // As after `git commit`, it has nothing to say any more.
        let _ = self
            .program
            .run_hook("post-commit", &[], &self.opened.repo.path().join("index"));
        Ok(commit)
    }

    /// The message that hooks make of a message.
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
        let name = path
            .to_str()
            .ok_or_else(|| GitError::new("the repo's path is not UTF-8"))?;
        hook("prepare-commit-msg", &[name, "message"])?;
        hook("commit-msg", &[name])?;
        let message = self.program.output(
            &["stripspace"],
            &String::from_utf8_lossy(&fs::read(&path).map_err(cannot)?),
        )?;
        if message.is_empty() {
            return Err(GitError::new(
                "git has not committed: a hook has left no message",
            ));
        }
        Ok(message + "\n")
    }

    /// Stages the generated files as they were committed, and moves the branch; neither when HEAD is not what it was.
    fn publish(
        &self,
        content: &Content,
        commit: &str,
        message: &str,
        directory: &Path,
    ) -> Result<(), GitError> {
        let tree = self
            .opened
            .repo
            .find_commit(Oid::from_str(commit)?)?
            .tree()?;
        let staged = content.entries_of(&self.opened, &tree)?;
        let before = index::entries(&self.opened, staged.keys())?;
        let staged: Entries = staged
            .into_iter()
            .filter(|(path, entry)| before.get(path) != Some(entry))
            .collect();
        self.expect_unmoved()?;
        is_at_rest(&self.opened)?;
        index::put(&self.opened, &self.program, directory, &staged)?;
        let moved = self
            .expect_unmoved()
            .and_then(|()| self.advance(commit, message));
        let moved = moved.and_then(|()| {
            let now = position(&self.opened.repo, &self.program)?;
            if now.reference == self.at.reference {
                return Ok(());
            }
            let name = self.at.branch().unwrap_or_default();
            Err(GitError::new(format!(
                "branch {name} has the commit, but is no longer the one that is checked out"
            )))
        });
        moved.or_else(|error| {
            self.unstage(&staged, &before, directory)?;
            Err(error)
        })
    }

    /// Takes back what was staged for a commit that HEAD has not got, unless HEAD has it from elsewhere or somebody has
    /// staged something else.
    fn unstage(
        &self,
        staged: &Entries,
        before: &Entries,
        directory: &Path,
    ) -> Result<(), GitError> {
        let head = position(&self.opened.repo, &self.program)?.commit;
        let tree = head
            .map(|head| self.opened.repo.find_commit(head)?.tree())
            .transpose()?;
        let now = index::entries(&self.opened, staged.keys())?;
        let is_left = |(path, entry): &(&Utf8PathBuf, &Option<(u32, Oid)>)| {
            let in_head = tree.as_ref().and_then(|tree| content::entry_of(tree, path));
            now.get(*path) == Some(*entry) && in_head != **entry
        };
        let left = staged.iter().filter(is_left);
        let back: Entries = left
            .filter_map(|(path, _)| Some((path.clone(), *before.get(path)?)))
            .collect();
        index::put(&self.opened, &self.program, directory, &back)
    }

    /// Moves the branch that is checked out from the commit that it was on.
    fn advance(&self, commit: &str, message: &str) -> Result<(), GitError> {
        let before = self.at.commit.unwrap_or(Oid::ZERO_SHA1).to_string();
        let reference = self.at.reference.as_deref().unwrap_or("HEAD");
        let kind = if self.at.commit.is_some() {
            "commit"
        } else {
            "commit (initial)"
        };
        let log = format!("{kind}: {}", message.lines().next().unwrap_or_default());
        let moved = self
            .program
            .output(&["update-ref", "-m", &log, reference, commit, &before], "");
        // Of the two reasons that git may have, it names neither in words of ours.
        moved
            .map(|_| ())
            .or_else(|error| self.expect_unmoved().and(Err(error)))
    }

    /// Makes sure that HEAD is what the commit was made from.
    fn expect_unmoved(&self) -> Result<(), GitError> {
        let now = position(&self.opened.repo, &self.program)?;
        if now == self.at {
            return Ok(());
        }
        let what = if now.reference == self.at.reference {
            "HEAD has moved"
        } else {
            "another branch was checked out"
        };
        Err(GitError::new(format!(
            "{what} while this run was at work; {MOVED}"
        )))
    }

    /// A directory for what is to be gone when the run ends; the next run removes it if this one cannot.
    fn directory(&self) -> Result<TempDir, GitError> {
        let directory = tempfile::Builder::new()
            .prefix(index::OURS)
            .tempdir_in(self.opened.repo.path());
        directory.map_err(|error| GitError::new(format!("cannot write into the repo: {error}")))
    }

    fn parent_tree(&self) -> Result<Option<Tree<'_>>, GitError> {
        let parent = self
            .branch
            .as_ref()
            .map_or(self.at.commit, |branch| branch.parent);
        Ok(parent
            .map(|parent| self.opened.repo.find_commit(parent)?.tree())
            .transpose()?)
    }

    /// Whether inputs differ from what HEAD has of them.
    fn are_uncommitted(&self, inputs: Inputs<'_>) -> Result<bool, GitError> {
        let status = [
            // Or git would write into its index what it has seen.
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
                let is_staged = fields
                    .next()
                    .is_some_and(|changes| !changes.starts_with('.'));
                let is_submodule = fields
                    .next()
                    .is_some_and(|submodule| submodule.starts_with('S'));
                (is_staged || !inputs.staged)
                    && (is_submodule || fields.last().is_some_and(is_input))
            }
            Some(("u", _)) => true,
            _ => false,
        }))
    }
}

impl Inputs<'_> {
    fn has(&self, path: &Utf8Path) -> bool {
        let is_below = |directories: &[&Utf8Path]| {
            directories
                .iter()
                .any(|directory| path.starts_with(directory))
        };
        is_below(self.templates) || load::may_hold_resources(path) && !is_below(self.outputs)
    }
}

impl Position {
    /// The name of the branch; none when HEAD is detached.
    fn branch(&self) -> Option<String> {
        let name = self.reference.as_deref()?;
        Some(name.strip_prefix("refs/heads/").unwrap_or(name).to_owned())
    }
}

/// Where HEAD is now.
fn position(repo: &Repository, program: &Program) -> Result<Position, GitError> {
    let commit = match repo.head() {
        Ok(head) => Some(head.peel_to_commit()?.id()),
        Err(error) if error.code() == git2::ErrorCode::UnbornBranch => None,
        Err(error) => return Err(error.into()),
    };
    Ok(Position {
        commit,
        reference: program
            .output(&["symbolic-ref", "--quiet", "HEAD"], "")
            .ok(),
    })
}

/// Keeps other runs from committing in the same worktree.
fn lock(opened: &Opened) -> Result<Lock, GitError> {
    let directory = Utf8Path::from_path(opened.repo.path());
    let directory = directory.ok_or_else(|| GitError::new("the repo's path is not UTF-8"))?;
    Lock::exclusive(directory).map_err(|error| GitError::new(error.to_string()))
}

/// Makes sure that git does not run this for a commit of its own.
fn is_no_hook(opened: &Opened) -> Result<(), GitError> {
    match opened.index_of_environment() {
        None => Ok(()),
        Some(_) => Err(GitError::new(
            "git runs this as a hook, and is about to commit by itself; use `sipgen generate --from-index --exit-code` here",
        )),
    }
}

/// Whether nobody else is at work on the branch that is checked out.
fn is_at_rest(opened: &Opened) -> Result<(), GitError> {
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
            "the repo is in the middle of {busy}, which has to end before this can commit"
        )));
    }
    Ok(())
}
