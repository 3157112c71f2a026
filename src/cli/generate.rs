//! `sipgen generate`: the main job.

use clap::ValueEnum;
use sipgen::api::names::ClusterKey;
use sipgen::compare::{Change, Changes, in_worktree};
use sipgen::finding::Finding;
use sipgen::git::{Committer, in_shell};
use sipgen::lock::Lock;
use sipgen::report::{self, Document, Results, Text};
use sipgen::source::Files;
use sipgen::{Generated, Options, WriteError};

use super::commit::Commit;
use super::progress::Progress;
use super::{Failure, Outcome, print, print_document, repo, say, staging};

const EXAMPLES: &str = "\
Examples:
  sipgen generate                               write what has changed
  sipgen generate --check --diff                show what would change; for CI and hooks
  sipgen generate --check --format github       the same, as annotations of a pull request
  sipgen generate --rev origin/main --check     judge a revision; the repo may be a bare one
  sipgen generate --only tenant-a/edge
  kustomize build sites/lab | sipgen generate --input -";

/// Generate the overlays of a repo
///
/// Reads the SIPClusters and BareMetalHosts of a repo, decides which host goes to which cluster, and writes
/// kustomize overlays with the hosts' labels and the clusters' services. Hosts that a cluster has, it keeps. All
/// of it is worked out before the first file is touched; with errors in the input, none is.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    from: repo::From,

    /// Write nothing, and exit with 1 if something would change
    ///
    /// Files that differ in nothing but the comment that names their input, as after it was renamed, do not count.
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

    /// Move hosts that no longer match what is asked for, or share a topology domain
    ///
    /// Without it such hosts stay, with a warning. A host that a Machine consumes stays in any case, and so does a machine of
    /// a Provisioning that is provisioned. Use it with
    /// --check --diff first: the summary says what would be moved.
    #[arg(long)]
    rebalance: bool,

    /// Read what is staged, and nothing else
    ///
    /// Inputs, settings, templates and the files of the last run are those of git's index, and so are the files that
    /// changes are told from. What has to be written is written into the worktree, to be staged by `git add`. For
    /// pre-commit hooks, with --exit-code or --check.
    #[arg(long, conflicts_with_all = ["rev", "input"])]
    from_index: bool,

    /// Commit the generated files, and nothing else
    ///
    /// Other changes stay as they are, staged or not. Hooks run and commits are signed as always. A last line of the
    /// message names the revision that the inputs are of. Nothing is ever pushed.
    #[arg(long, conflicts_with = "check")]
    commit: bool,

    /// Commit to this branch, and leave worktree and index alone; implies --commit
    ///
    /// A branch that is not there starts at HEAD; one that is behind HEAD is brought there first. Where there is nothing
    /// to commit because HEAD has the generated files already, the branch is neither made nor moved. A branch whose
    /// inputs are not those of HEAD is refused.
    #[arg(long, value_name = "NAME", conflicts_with = "check")]
    branch: Option<String>,

    /// Accept a repo without SIPClusters, and give all hosts back
    ///
    /// Needed once, while the output directory still has something of a cluster; from then on there is only a warning.
    #[arg(long)]
    allow_empty: bool,

    /// Print the findings on stdout for a program, too; with --check, stale files are among them
    ///
    /// What is said to people goes to stderr in any case.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people only: nothing is printed on stdout
    Text,
    /// Workflow commands of GitHub Actions, which become annotations
    Github,
    /// GitLab's code quality report
    Gitlab,
    /// SARIF 2.1.0, for GitHub's code scanning and for editors
    Sarif,
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    if arguments.diff && arguments.format != Format::Text {
        return Err(Failure("--diff and --format both print on stdout: run sipgen once with each".to_owned()));
    }
    if arguments.from.rev.is_some() && !arguments.check {
        let message = "--rev goes with --check: what is made of a revision belongs into a commit on top of it, and not \
                       into whatever is on the disk; check the revision out to write it";
        return Err(Failure(message.to_owned()));
    }
    if !arguments.from.input.is_empty() && (arguments.commit || arguments.branch.is_some()) {
        let message = "--input and --commit do not go together: a commit names the revision that its inputs are of, and \
                       those of a stream are of none";
        return Err(Failure(message.to_owned()));
    }
    let files = arguments.from.files()?;
    let options = Options {
        keep_going: arguments.keep_going,
        only: arguments.only.iter().cloned().collect(),
        rebalance: arguments.rebalance,
        allow_empty: arguments.allow_empty,
    };
    // What forbids a commit is found before anything is written.
    let committer = arguments.committer(&files)?;
    let may_write = !arguments.check && arguments.branch.is_none();
    // Nothing is read before nobody else writes.
    let lock = may_write.then(|| Lock::exclusive(files.root())).transpose()?;
    let files = if arguments.from_index { Files::staged(files.root())? } else { files };
    let lock = match lock {
        Some(lock) => {
            repo::undo_interrupted(&files)?;
            Some(lock)
        }
        None => repo::lock_to_read(&files)?,
    };
    let progress = Progress::start();
    let mut generated = sipgen::generate(&files, &options, &|stage| progress.show(stage))?;
    let commit = committer.filter(|_| generated.changes.is_some());
    let commit = commit.map(|committer| Commit::new(committer, &generated, &files)).transpose()?;
    let is_idle = commit.as_ref().is_some_and(|commit| commit.is_idle(&generated));
    let writes = may_write && !is_idle;
    // Findings show the lines that were read: some are of files that are about to be written anew.
    let mut told = Told::of(arguments, &generated, &files)?;
    if writes {
        progress.show_writing();
        if !write(&mut generated, &files, arguments.from_index)? {
            told = Told::of(arguments, &generated, &files)?;
        }
    }
    // The hooks of a commit may run sipgen, and a reader of what is printed may take its time.
    drop(lock);
    progress.finish();

    if let Some(changes) = generated.changes.as_ref().filter(|_| arguments.diff) {
        print(report::diff(changes));
    }
    told.results.iter().for_each(print_document);
    say(told.findings);
    say(report::summary(&generated, writes));
    // A comment of another name is no reason to refuse what somebody wants to commit or merge.
    let counts = |change: &Change| !(is_idle || arguments.check && change.is_in_mark_only());
    let changed = generated.changes.as_ref().is_some_and(|changes| changes.files.values().any(counts));
    match (commit, &generated.changes) {
        (Some(commit), Some(_)) => commit.carry_out(&generated, arguments.from_index)?,
        (None, Some(changes)) if arguments.check || arguments.from_index => {
            if arguments.check {
                say(report::stale_files(changes));
                say(report::renamed_inputs(changes, &arguments.writing_command()));
            }
            if changed {
                say(report::how_to_mend(&arguments.remedy(&generated, &files)));
            }
        }
        _ => {}
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

    /// What makes the changes a matter of the past, when they are not, or not yet, in the repo.
    fn remedy(&self, generated: &Generated, files: &Files) -> String {
        let stage = staging::command(files.root(), &generated.site.settings.output);
        match (self.from_index, self.check) {
            (true, false) => format!("not staged yet: say `{stage}`"),
            (true, true) => format!("run `{}`, then `{stage}`", self.writing_command()),
            (false, _) => match &self.from.rev {
                Some(revision) => {
                    format!("check {revision} out, run `{}`, and commit the result", self.writing_command())
                }
                None => format!("run `{}`, and commit the result", self.writing_command()),
            },
        }
    }

    /// The command that writes what this one has checked.
    fn writing_command(&self) -> String {
        let repo = self.from.repo.as_ref().map(|directory| format!(" --repo {}", in_shell(directory.as_str())));
        let only: String = self.only.iter().map(|cluster| format!(" --only {cluster}")).collect();
        let flags = [
            (" --from-index", self.from_index),
            (" --keep-going", self.keep_going),
            (" --rebalance", self.rebalance),
            (" --allow-empty", self.allow_empty),
        ];
        let flags: String = flags.into_iter().filter(|(_, is_given)| *is_given).map(|(flag, _)| flag).collect();
        let inputs = self.from.input.iter().map(|input| match input.as_str() {
            "-" => " --input -".to_owned(),
            file => format!(" --input {}", in_shell(file)),
        });
        format!("sipgen generate{}{}{only}{flags}", repo.unwrap_or_default(), inputs.collect::<String>())
    }
}

/// Carries the changes out, unless somebody else's files are in the way, or are not what this run has read; then it adds
/// findings and returns `false`.
fn write(generated: &mut Generated, files: &Files, from_index: bool) -> Result<bool, Failure> {
    let Some(changes) = &generated.changes else { return Ok(true) };
    let output = &generated.site.settings.output;
    let now = if from_index { &Files::staged(files.root())? } else { files };
    if let Some(changed) = generated.site.state.changed_since(now, output)? {
        return Err(WriteError::Changed(changed).into());
    }
    if !from_index {
        sipgen::write_output(files.root(), output, changes)?;
        return Ok(true);
    }
    let disk = Files::on_disk(files.root());
    let (changes, found): (Changes, _) = in_worktree(&disk, output, changes)?;
    if found.is_empty() {
        sipgen::write_output(files.root(), output, &changes)?;
        return Ok(true);
    }
    generated.findings.extend(found);
    generated.changes = None;
    Ok(false)
}

/// Findings in words.
struct Told {
    findings: Text,
    /// The same for a program, if one asks.
    results: Option<Document>,
}

impl Told {
    fn of(arguments: &Arguments, generated: &Generated, repo: &Files) -> Result<Self, Failure> {
        let findings = report::findings(&generated.findings, repo);
        if arguments.format == Format::Text {
            return Ok(Self { findings, results: None });
        }
        let remedy = arguments.remedy(generated, repo);
        let stale = if arguments.check { report::stale(generated, &remedy) } else { Vec::new() };
        let results = Results::new(&generated.findings, &stale, repo, &repo::place_in_git(repo.root())?);
        let results = match arguments.format {
            Format::Text => None,
            Format::Github => Some(report::github(&results)),
            Format::Gitlab => Some(report::gitlab(&results)?),
            Format::Sarif => Some(report::sarif(&results)?),
        };
        Ok(Self { findings, results })
    }
}
