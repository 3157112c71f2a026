//! Generated files in the worktree that differ from the committed ones, or that git ignores.
//!
//! Releases of hosts whose assignment was never committed are dropped from the plan.
//! A released observed host is normally written once more without labels, until a snapshot shows it
//! free. If the run that assigned it was never committed, no agent has set labels, so there is
//! nothing to remove.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};

use crate::base::api::names::HostKey;
use crate::base::finding::{Code, Finding};
use crate::base::layout;
use crate::base::text::in_shell;
use crate::base::tree::Tree;
use crate::input::git::{Checkout, Commits};
use crate::input::load::{EntryKind, Files};
use crate::output::compare::{Change, OutputChanges};
use crate::plan::Plan;
use crate::site::Site;

/// Returns the files to create or update whose new text is the committed one: somebody edited or
/// deleted them, or generated them from other inputs. Empty without a git repo.
pub(crate) fn edited(repo: &Files, changes: &OutputChanges) -> BTreeSet<Utf8PathBuf> {
    let has_changes = !changes.files.is_empty() && repo.are_on_disk();
    let Some(head) = has_changes.then(|| Commits::checked_out(repo.root())).flatten() else {
        return BTreeSet::new();
    };
    let is_committed = |(path, change): &(&Utf8PathBuf, &Change)| {
        change.texts().1.is_some_and(|after| head.have(path, Some(after)))
    };
    changes.files.iter().filter(is_committed).map(|(path, _)| path.clone()).collect()
}

/// Reports a generated file and a file of a build of hosts that git ignores. Tracked files are never
/// ignored.
pub(crate) fn ignored(repo: &Files, site: &Site, tree: &Tree) -> Vec<Finding> {
    let checkout = if repo.are_on_disk() { Checkout::around(repo.root()).ok() } else { None };
    // Nothing of a trial below an ignored directory is meant to be committed.
    let Some(checkout) = checkout.flatten().filter(|checkout| !checkout.is_ignored()) else {
        return Vec::new();
    };
    let output = ignored_output(&checkout, site, tree).into_iter();
    output.chain(ignored_input(&checkout, repo, site)).collect()
}

/// Reports a generated file that no commit has: a clone would assign hosts anew.
fn ignored_output(checkout: &Checkout, site: &Site, tree: &Tree) -> Option<Finding> {
    let previous = site.state.files.values().flatten().map(|file| &**file);
    let mut files: Vec<&Utf8Path> = tree.keys().map(AsRef::as_ref).chain(previous).collect();
    // The records of assignments first.
    files.sort_unstable_by_key(|file| (!file.starts_with(layout::HOSTS), *file));
    let files: Vec<Utf8PathBuf> =
        files.into_iter().map(|file| site.settings.output.join(file)).collect();
    let file = checkout.ignored(files.iter().map(Utf8PathBuf::as_path)).ok()??;
    let message = format!("git ignores `{file}`, so no commit has this generated file");
    Some(Finding::new(Code::IgnoredOutput, message).help(tracking_help(file)))
}

/// Reports a file of a build of hosts that no commit has.
fn ignored_input(checkout: &Checkout, repo: &Files, site: &Site) -> Option<Finding> {
    let roots = site.inventory.roots.values();
    let built: BTreeSet<&Utf8Path> =
        roots.flat_map(|root| site.builds.made_of(&root.directory)).collect();
    let output = &site.settings.output;
    let entries = site.builds.entries_naming(
        |path| !path.starts_with(output) && repo.kind(path) == Some(EntryKind::File),
        |kustomization| kustomization.parent().is_some_and(|parent| built.contains(parent)),
    );
    let file = checkout.ignored(entries.iter().filter_map(|it| it.path.as_deref())).ok()??;
    let message = format!("no agent can build hosts: git ignores `{file}`, so no commit has it");
    let by = entries.iter().filter(|entry| entry.path.as_deref() == Some(file));
    let places = by.map(|entry| entry.place.clone());
    Some(Finding::new(Code::AgentCannotApply, message).at_each(places).help(tracking_help(file)))
}

fn tracking_help(file: &Utf8Path) -> String {
    let find = format!("run `git check-ignore --verbose {}`", in_shell(file.as_str()));
    format!("{find}, and remove that pattern")
}

/// Returns the hosts that a plan releases and that no commit assigns or releases; empty without a
/// git repo.
pub(crate) fn never_committed(repo: &Files, site: &Site, plan: &Plan) -> BTreeSet<HostKey> {
    let output = &site.settings.output;
    let is_new = |host: &&HostKey| !site.state.released.contains_key(*host);
    let is_unlabelled = |host: &&HostKey| {
        site.inventory.host(host).is_some_and(|host| host.assignment.claims.is_empty())
    };
    let hosts: Vec<&HostKey> = plan.released.keys().filter(is_new).filter(is_unlabelled).collect();
    let has_new = !hosts.is_empty() && repo.are_on_disk();
    let Some(history) = has_new.then(|| Commits::maybe_applied(repo.root())).flatten() else {
        return BTreeSet::new();
    };
    let released = output.join(layout::released_directory()).join(layout::OBSERVED_HOSTS);
    let is_uncommitted = |host: &&HostKey| {
        let held = site.state.held.get(*host).into_iter().flatten();
        let mut files = held.map(|held| &*held.origin.file).chain([released.as_path()]);
        !files.any(|file| history.mention(file, host.name.as_str()))
    };
    hosts.into_iter().filter(is_uncommitted).cloned().collect()
}
