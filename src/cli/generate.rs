//! `sipgen generate`: the main job.

use camino::Utf8PathBuf;
use sipgen::api::names::ClusterKey;
use sipgen::{Options, report};

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

    /// Accept a repo without SIPClusters, and give all hosts back
    #[arg(long)]
    allow_empty: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let repo = repo::find(arguments.repo.as_deref())?;
    let options = Options {
        keep_going: arguments.keep_going,
        only: arguments.only.iter().cloned().collect(),
        rebalance: arguments.rebalance,
        allow_empty: arguments.allow_empty,
    };
    let progress = Progress::start();
    let generated = sipgen::generate(&repo, &options, &|stage| progress.show(stage))?;
    if let Some(changes) = generated.changes.as_ref().filter(|_| !arguments.check) {
        progress.show_writing();
        sipgen::write(repo.root(), changes)?;
    }
    progress.finish();

    if let Some(changes) = generated.changes.as_ref().filter(|_| arguments.diff) {
        print(report::diff(changes));
    }
    say(report::findings(&generated.findings, &repo));
    say(report::summary(&generated, !arguments.check));
    let failed = generated.findings.iter().any(sipgen::finding::Finding::is_error);
    let changed = generated.changes.is_some_and(|changes| !changes.files.is_empty());
    let refused = failed || changed && (arguments.check || arguments.exit_code);
    Ok(if refused { Outcome::No } else { Outcome::Yes })
}
