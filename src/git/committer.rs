//! Commits generated files, and nothing else.

use std::collections::BTreeMap;
use std::fmt::Write;

use camino::{Utf8Path, Utf8PathBuf};
use git2::{Oid, Repository, RepositoryState, Tree};

use super::GitError;
use super::branch::Branch;
use super::content::Content;
use super::open::{self, Opened};
use super::program::Program;
use crate::source;

/// Names the revision that a commit's files were made from.
const TRAILER: &str = "Sipgen-Inputs";

/// A repo that can take a commit, as far as can be known beforehand.
pub struct Committer {
    opened: Opened,
    program: Program,
    head: Option<Oid>,
    /// The branch, when it is not the one that is checked out.
    branch: Option<Branch>,
}

/// Where the inputs of a run are.
#[derive(Debug, Clone, Copy)]
pub struct Inputs<'a> {
    /// The output directory, where none are.
    pub output: &'a Utf8Path,
    /// The repo's own templates.
    pub templates: Option<&'a Utf8Path>,
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
        let head = head(&opened.repo)?;
        let branch = branch.map(|name| Branch::find(&opened.repo, &program, name, head)).transpose()?;
        if branch.is_none() {
            is_at_rest(&opened)?;
        }
        for who in ["GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"] {
            program.output(&["var", who], "").map_err(|_| {
                GitError::new(
                    "git does not know who commits; say `git config user.name NAME` and `git config user.email ADDRESS`",
                )
            })?;
        }
        Ok(Self { opened, program, head, branch })
    }

    /// The branch that a commit would go to; none when it is the one that is checked out.
    pub fn branch(&self) -> Option<&Branch> {
        self.branch.as_ref()
    }

    /// What a commit would change below `output` for it to have `files`, by path relative to it.
    ///
    /// # Errors
    ///
    /// When the repo cannot be read. When the branch has other inputs than HEAD.
    pub fn content(&self, output: &Utf8Path, files: &BTreeMap<Utf8PathBuf, String>) -> Result<Content, GitError> {
        if let Some(branch) = &self.branch {
            branch.expect_inputs_of(&self.opened.repo, self.head, &self.opened.prefix, output)?;
        }
        let parent = self.parent_tree()?;
        Content::new(&self.opened.repo, parent.as_ref(), &self.opened.prefix, output, files)
    }

    /// Commits, with a trailer that names the revision of the inputs behind the message.
    ///
    /// On the branch that is checked out, this is an ordinary commit: hooks run, and git signs if it is set up to. The
    /// index is as it was afterwards, but for the files that were committed. On another branch no hook runs, and
    /// neither worktree nor index nor HEAD change.
    ///
    /// # Errors
    ///
    /// When a hook or git refuses: then the index is as it was. Or when the index cannot be written afterwards.
    pub fn commit(&self, content: &Content, message: &str, inputs: Inputs<'_>) -> Result<Committed, GitError> {
        let mut message = format!("{}\n", message.trim_end());
        if let Some(head) = self.head {
            let uncommitted = if self.are_uncommitted(inputs)? { " with uncommitted changes" } else { "" };
            // Writing to a String cannot fail.
            let _ = write!(message, "\n{TRAILER}: {head}{uncommitted}\n");
        }
        let tree = content.tree.ok_or_else(|| GitError::new("there is nothing to commit"))?.to_string();
        let (commit, branch) = match &self.branch {
            Some(branch) => (self.commit_aside(branch, &tree, &message)?, Some(branch.name.clone())),
            None => (self.commit_here(content, &tree, &message)?, self.checked_out()),
        };
        Ok(Committed { id: self.program.output(&["rev-parse", "--short", &commit], "")?, branch })
    }

    /// Puts a commit on a branch that is not checked out.
    fn commit_aside(&self, branch: &Branch, tree: &str, message: &str) -> Result<String, GitError> {
        let mut arguments = vec!["commit-tree", tree, "-F", "-"];
        let parent = branch.parent.map(|parent| parent.to_string());
        if let Some(parent) = &parent {
            arguments.extend(["-p", parent]);
        }
        // Unlike `git commit`, this plumbing signs only when told to.
        let signs = self.program.output(&["config", "--type=bool", "--default=false", "commit.gpgSign"], "")?;
        if signs == "true" {
            arguments.push("-S");
        }
        let commit = self.program.output(&arguments, message)?;
        branch.advance(&self.program, &commit)?;
        Ok(commit)
    }

    /// Has git commit an index of its own, which nobody's staged changes are in.
    fn commit_here(&self, content: &Content, tree: &str, message: &str) -> Result<String, GitError> {
        if head(&self.opened.repo)? != self.head {
            // The commit would undo what somebody else has committed meanwhile.
            return Err(GitError::new("HEAD has moved meanwhile; run this again"));
        }
        let directory = tempfile::Builder::new().prefix("sipgen-").tempdir_in(self.opened.repo.path());
        let directory = directory.map_err(|error| GitError::new(format!("cannot write into the repo: {error}")))?;
        let index = directory.path().join("index");
        let done = self.program.run_aloud(&["read-tree", tree], &index, "")?.success()
            && self
                .program
                .run_aloud(&["commit", "--quiet", "--cleanup=whitespace", "--file=-"], &index, message)?
                .success();
        if !done {
            return Err(GitError::new(
                "git has not committed, and said why above; the generated files are in the worktree, and git's index is as it was",
            ));
        }
        let commit = self.program.output(&["rev-parse", "HEAD"], "")?;
        self.stage(content, &commit).map_err(|error| {
            GitError::new(format!(
                "the commit is made, but git's index does not know its files ({error}); `git add` them"
            ))
        })?;
        Ok(commit)
    }

    /// Stages the committed files as they were committed: a hook may have changed them.
    fn stage(&self, content: &Content, commit: &str) -> Result<(), GitError> {
        let tree = self.opened.repo.find_commit(Oid::from_str(commit)?)?.tree()?;
        let mut lines = String::new();
        for path in content.paths() {
            let _ = match tree.get_path(path.as_std_path()) {
                Ok(entry) => write!(lines, "{:o} {}\t{path}\0", entry.filemode(), entry.id()),
                Err(_) => write!(lines, "0 {}\t{path}\0", Oid::ZERO_SHA1),
            };
        }
        self.program.output(&["update-index", "-z", "--index-info"], &lines)?;
        // Fails when other files have changed, which is no failure here.
        let _ = self.program.output(&["update-index", "-q", "--refresh"], "");
        Ok(())
    }

    fn parent_tree(&self) -> Result<Option<Tree<'_>>, GitError> {
        let parent = self.branch.as_ref().map_or(self.head, |branch| branch.parent);
        Ok(parent.map(|parent| self.opened.repo.find_commit(parent)?.tree()).transpose()?)
    }

    fn checked_out(&self) -> Option<String> {
        self.program.output(&["symbolic-ref", "--quiet", "--short", "HEAD"], "").ok()
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
                let is_staged = fields.next().is_some_and(|changes| !changes.starts_with('.'));
                let is_submodule = fields.next().is_some_and(|submodule| submodule.starts_with('S'));
                (is_staged || !inputs.staged) && (is_submodule || fields.last().is_some_and(is_input))
            }
            Some(("u", _)) => true,
            _ => false,
        }))
    }
}

impl Inputs<'_> {
    fn has(&self, path: &Utf8Path) -> bool {
        let is_template = self.templates.is_some_and(|templates| path.starts_with(templates));
        is_template || source::may_hold_resources(path) && !path.starts_with(self.output)
    }
}

/// The commit that is checked out; none when there is none yet.
fn head(repo: &Repository) -> Result<Option<Oid>, GitError> {
    match repo.head() {
        Ok(head) => Ok(Some(head.peel_to_commit()?.id())),
        Err(error) if error.code() == git2::ErrorCode::UnbornBranch => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Whether nobody else is at work on the branch that is checked out.
fn is_at_rest(opened: &Opened) -> Result<(), GitError> {
    let busy = match opened.repo.state() {
        RepositoryState::Clean | RepositoryState::Bisect => None,
        RepositoryState::Merge => Some("a merge"),
        RepositoryState::Revert | RepositoryState::RevertSequence => Some("a revert"),
        RepositoryState::CherryPick | RepositoryState::CherryPickSequence => Some("a cherry-pick"),
        RepositoryState::Rebase | RepositoryState::RebaseInteractive | RepositoryState::RebaseMerge => Some("a rebase"),
        RepositoryState::ApplyMailbox | RepositoryState::ApplyMailboxOrRebase => Some("`git am`"),
    };
    if let Some(busy) = busy {
        return Err(GitError::new(format!(
            "the repo is in the middle of {busy}, which has to end before this can commit"
        )));
    }
    if opened.index_of_environment().is_some() {
        return Err(GitError::new(
            "git runs this as a hook, and is about to commit by itself; use `sipgen generate --from-index --exit-code` here",
        ));
    }
    if opened.repo.path().join("index.lock").exists() {
        return Err(GitError::new(format!(
            "another git is at work here; if it has died, delete {}",
            opened.repo.path().join("index.lock").display()
        )));
    }
    Ok(())
}
