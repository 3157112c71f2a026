//! `sipgen generate`: the main job.

use camino::Utf8PathBuf;
use sipgen::api::names::ClusterKey;
use sipgen::compare::{Changes, in_worktree};
use sipgen::finding::Finding;
use sipgen::git::Committer;
use sipgen::source::Files;
use sipgen::{Generated, Options, report};

use super::commit::{self, Commit};
use super::progress::Progress;
use super::{Failure, Outcome, print, repo, say};

/// Generate the overlays of a repo
///
/// Reads the SIPClusters and BareMetalHosts of a repo, decides which host goes to which cluster, and writes
/// kustomize overlays with the hosts' labels and the clusters' services. Hosts that a cluster has, it keeps. All
/// of it is worked out before the first file is touched; with errors in the input, none is.
///
/// In a pre-commit hook or in CI, where the overlays are part of the commit:
///
///     sipgen generate --check --diff
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The repo's directory; by default the root of the git repo around the working directory
    #[arg(long, value_name = "DIR")]
    repo: Option<Utf8PathBuf>,

    /// Write nothing, and exit with 1 if something would change
    #[arg(long)]
    check: bool,

    /// Exit with 1 if something has changed
    #[arg(long)]
    exit_code: bool,

    /// Print the changes as a unified diff
    #[arg(long)]
    diff: bool,

    /// Leave clusters with errors as they are, and generate the others
    ///
    /// Errors that are about no cluster, such as a host that is there twice, stop the run all the same.
    #[arg(long)]
    keep_going: bool,

    /// Generate this cluster only; may be given several times
    ///
    /// All others stay as they are, hosts and services alike.
    #[arg(long, value_name = "NS/NAME")]
    only: Vec<ClusterKey>,

    /// Move hosts that no longer match their labelSelector, or share a topology domain
    ///
    /// Without it such hosts stay, with a warning. A host that a Machine consumes stays in any case. Use it with
    /// --check --diff first: the summary says what would be moved.
    #[arg(long)]
    rebalance: bool,

    /// Read what is staged, and nothing else
    ///
    /// Inputs, settings, templates and the files of the last run are those of git's index, and so are the files that
    /// changes are told from. What has to be written is written into the worktree, to be staged by `git add`. For
    /// pre-commit hooks, with --exit-code or --check.
    #[arg(long)]
    from_index: bool,

    /// Commit the generated files, and nothing else
    ///
    /// Other changes stay as they are, staged or not. Hooks run and commits are signed as always. A last line of the
    /// message names the revision that the inputs are of. Nothing is ever pushed.
    #[arg(long, conflicts_with = "check")]
    commit: bool,

    /// Commit to this branch, and leave worktree and index alone; implies --commit
    ///
    /// A branch that is not there starts at HEAD; one that is behind HEAD is brought there first.
    #[arg(long, value_name = "NAME", conflicts_with = "check")]
    branch: Option<String>,

    /// Accept a repo without SIPClusters, and give all hosts back
    #[arg(long)]
    allow_empty: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let repo = repo::find(arguments.repo.as_deref())?;
    let files = if arguments.from_index { Files::staged(repo.root())? } else { repo };
    let options = Options {
        keep_going: arguments.keep_going,
        only: arguments.only.iter().cloned().collect(),
        rebalance: arguments.rebalance,
        allow_empty: arguments.allow_empty,
    };
    // What forbids a commit is found before anything is written.
    let committer = arguments.committer(&files)?;
    let progress = Progress::start();
    let mut generated = sipgen::generate(&files, &options, &|stage| progress.show(stage))?;
    let commit = committer.filter(|_| generated.changes.is_some());
    let commit = commit.map(|committer| Commit::new(committer, &generated, &files)).transpose()?;
    let is_idle = commit.as_ref().is_some_and(|commit| commit.is_idle(&generated));
    let writes = !arguments.check && arguments.branch.is_none() && !is_idle;
    if writes {
        progress.show_writing();
        write(&mut generated, &files, arguments.from_index)?;
    }
    progress.finish();

    if let Some(changes) = generated.changes.as_ref().filter(|_| arguments.diff) {
        print(report::diff(changes));
    }
    say(report::findings(&generated.findings, &files));
    say(report::summary(&generated, writes));
    let changed = !is_idle && generated.changes.as_ref().is_some_and(|changes| !changes.files.is_empty());
    match commit.filter(|_| generated.changes.is_some()) {
        Some(commit) => commit.carry_out(&generated, arguments.from_index)?,
        None if arguments.from_index && changed => say(unstaged(&generated, &files, writes)),
        None => {}
    }
    let failed = generated.findings.iter().any(Finding::is_error);
    let refused = failed || changed && (arguments.check || arguments.exit_code);
    Ok(if refused { Outcome::No } else { Outcome::Yes })
}

impl Arguments {
    fn committer(&self, files: &Files) -> Result<Option<Committer>, Failure> {
        let commits = self.commit || self.branch.is_some();
        let committer = commits.then(|| Committer::new(files.root(), self.branch.as_deref()));
        Ok(committer.transpose()?)
    }
}

/// Carries the changes out, unless somebody else's files are in the way.
fn write(generated: &mut Generated, files: &Files, from_index: bool) -> Result<(), Failure> {
    let Some(changes) = &generated.changes else { return Ok(()) };
    if !from_index {
        return Ok(sipgen::write(files.root(), changes)?);
    }
    let disk = Files::on_disk(files.root());
    let (changes, found): (Changes, _) = in_worktree(&disk, &generated.site.settings.output, changes)?;
    if found.is_empty() {
        return Ok(sipgen::write(files.root(), &changes)?);
    }
    generated.findings.extend(found);
    generated.changes = None;
    Ok(())
}

/// What makes changes to the index a matter of the past.
fn unstaged(generated: &Generated, files: &Files, written: bool) -> String {
    let stage = commit::how_to_stage(files.root(), &generated.site.settings.output);
    if written {
        format!("not staged yet: say `{stage}`\n")
    } else {
        format!("not staged: say `sipgen generate --from-index`, then `{stage}`\n")
    }
}
