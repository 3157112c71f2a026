//! How a site changes, and what sipgen makes of each change.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8Path;
use proptest::sample::Index;
use proptest::test_runner::TestCaseResult;
use sipgen::input::load::Files;
use sipgen::{GeneratedSite, Options, generate};
use tempfile::TempDir;

use super::{
    Claim, Cluster, Condition, Host, Key, Layout, NAMESPACE_OF_SECOND_ROOT, Place, Site, Tree,
};

/// A site's first day, and what happens to it after. After every step sipgen runs.
#[derive(Debug, Clone)]
pub struct History {
    pub site: Site,
    pub steps: Vec<Step>,
    /// Whether what can be written of a failing step is written. If not, people take such a step back.
    pub keep_going: bool,
}

#[derive(Debug, Clone)]
pub enum Step {
    /// A cluster is asked for, or asked for differently.
    Ask(Cluster),
    Withdraw(Index),
    Scale {
        cluster: Index,
        role: &'static str,
        active: usize,
        standby: Option<usize>,
    },
    AddHost(Box<Host>),
    RemoveHost(Index),
    Become(Index, Condition),
    /// Somebody takes all assignment labels off a host by hand.
    TakeLabelsOff(Index),
    /// A manifest of an observed host comes into the repo.
    Declare(Index),
    /// A host's manifest leaves the repo, a snapshot of the host stays or comes.
    Undeclare(Index),
    /// The GitOps agent applies the repo.
    Apply,
    /// The snapshot is taken anew.
    Refresh,
    /// Both, one after the other.
    Settle,
}

/// An observed host that a cluster has given back, as the base cluster knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    pub by: Key,
    /// Whether the labels have been taken off since.
    pub applied: bool,
    /// Whether a snapshot taken after that shows no labels.
    pub seen_free: bool,
}

/// One run of sipgen over a changed site.
pub struct Run<'a> {
    pub repo: &'a Utf8Path,
    pub site: &'a Site,
    pub step: &'a Step,
    pub last_step: &'a Step,
    pub options: Options,
    pub generated: GeneratedSite,
    pub before: &'a Tree,
    /// The same as before if nothing was written.
    pub after: Tree,
}

impl Run<'_> {
    pub fn has_written(&self) -> bool {
        self.generated.changes.is_some()
    }

    /// The clusters that were planned, not left as they were.
    pub fn planned(&self) -> impl Iterator<Item = &Cluster> {
        let frozen: BTreeSet<String> =
            self.generated.plan.frozen.iter().map(ToString::to_string).collect();
        self.site.clusters.iter().filter(move |cluster| !frozen.contains(&cluster.key.to_string()))
    }

    /// The hosts that were added to a role of a cluster: it had them neither by the output nor by labels.
    pub fn added(&self, cluster: &Key, role: &str) -> Vec<Key> {
        let had = self.before.hosts_of(cluster, role);
        let labelled: Vec<&Key> =
            self.site.adoptable(cluster, role, self.before).map(|host| &host.key).collect();
        let mut hosts = self.after.hosts_of(cluster, role);
        hosts.retain(|host| !had.contains(host) && !labelled.contains(&host));
        hosts
    }
}

/// Plays a history, and checks every run of sipgen in it.
pub fn for_every_run(
    history: &History,
    mut check: impl FnMut(&Run<'_>) -> TestCaseResult,
) -> TestCaseResult {
    let directory = TempDir::new().unwrap();
    let repo = Utf8Path::from_path(directory.path()).unwrap();
    let files = Files::on_disk(repo);
    let options =
        Options { keep_going: history.keep_going, allow_empty: true, ..Options::default() };
    let mut site = history.site.clone();
    let mut before = Tree::default();
    for step in &history.steps {
        let mut changed = site.clone();
        changed.evolve(step, &before);
        changed.write(repo.as_std_path(), &Layout::default());
        let generated = generate(&files, &options, &|_| {}).unwrap();
        if let Some(changes) = &generated.changes {
            sipgen::write(files.root(), changes).unwrap();
        }
        let after = Tree::read(repo.as_std_path());
        let last_step = history.steps.last().unwrap();
        let run = Run {
            repo,
            site: &changed,
            step,
            last_step,
            options: options.clone(),
            generated,
            before: &before,
            after,
        };
        check(&run)?;
        let (written, after) = (run.has_written(), run.after);
        if written {
            changed.note_releases(&before, &after);
            site = changed;
            before = after;
        }
    }
    Ok(())
}

impl Site {
    /// Adds a host, unless there is one of that name.
    pub fn add(&mut self, host: Host) {
        if self.host(&host.key).is_none() && self.hosts.len() < 100 {
            self.hosts.push(host);
        }
    }

    /// Asks for a cluster, in place of what was asked for it before.
    pub fn ask(&mut self, cluster: Cluster) {
        self.clusters.retain(|other| other.key != cluster.key);
        self.clusters.push(cluster);
    }

    /// Does what a step says, as far as there is something to do it to.
    pub fn evolve(&mut self, step: &Step, tree: &Tree) {
        match step {
            Step::Ask(cluster) => self.ask(cluster.clone()),
            Step::AddHost(host) => self.add((**host).clone()),
            Step::Withdraw(at) if !self.clusters.is_empty() => {
                self.clusters.remove(at.index(self.clusters.len()));
            }
            Step::Scale { cluster, role, active, standby } if !self.clusters.is_empty() => {
                let at = cluster.index(self.clusters.len());
                if let Some(node_set) = self.clusters[at].node_sets.get_mut(role) {
                    (node_set.active, node_set.standby) = (*active, *standby);
                }
            }
            Step::Apply => self.hosts.iter_mut().for_each(|host| host.apply(tree)),
            Step::Refresh => self.hosts.iter_mut().for_each(Host::refresh),
            Step::Settle => {
                [Step::Apply, Step::Refresh].iter().for_each(|step| self.evolve(step, tree))
            }
            Step::RemoveHost(at) if !self.hosts.is_empty() => {
                self.hosts.remove(at.index(self.hosts.len()));
            }
            Step::Become(at, condition) => {
                if let Some(host) = self.host_at(at) {
                    host.live.condition = condition.clone();
                }
            }
            Step::TakeLabelsOff(at) => {
                if let Some(host) = self.host_at(at) {
                    host.lose_labels();
                }
            }
            Step::Declare(at) => {
                if let Some(host) = self.host_at(at).filter(|host| !host.is_declared()) {
                    host.root = Some(usize::from(host.key.namespace == NAMESPACE_OF_SECOND_ROOT));
                    host.release = None;
                }
            }
            Step::Undeclare(at) => {
                if let Some(host) = self.host_at(at).filter(|host| host.is_declared()) {
                    host.root = None;
                    host.manifest_claim = None;
                    host.snapshot.get_or_insert_with(|| host.live.clone());
                }
            }
            Step::Withdraw(_) | Step::Scale { .. } | Step::RemoveHost(_) => {}
        }
    }

    fn host_at(&mut self, at: &Index) -> Option<&mut Host> {
        if self.hosts.is_empty() { None } else { Some(at.get_mut(&mut self.hosts)) }
    }

    /// Notes which observed hosts clusters have given back, and forgets what is assigned anew.
    fn note_releases(&mut self, before: &Tree, after: &Tree) {
        for host in &mut self.hosts {
            match (before.holder(&host.key), after.holder(&host.key)) {
                (_, Some(_)) => host.release = None,
                (Some((by, _)), None) if !host.is_declared() => {
                    // An agent applies the newest state only. So a live host that still shows an earlier release
                    // never got the labels in between; and one that once showed them has lost them by hand.
                    let showed =
                        host.snapshot.as_ref().is_some_and(|snapshot| !snapshot.is_unclaimed());
                    let applied =
                        host.live.is_unclaimed() && (!host.live.given_back.is_empty() || showed);
                    host.release = Some(Release { by, applied, seen_free: false });
                }
                _ => {}
            }
        }
    }
}

impl Host {
    /// What the agent makes of the live host.
    fn apply(&mut self, tree: &Tree) {
        let Some(entry) = tree.entries.iter().find(|entry| entry.host == self.key) else {
            if let Some(claim) = self.manifest_claim.clone().filter(|_| self.is_declared()) {
                self.live.claim = Some(claim);
            } else if self.is_declared() && !self.live.claimed_by_others {
                self.live.claim = None;
            }
            return;
        };
        match entry.assignment() {
            Some((cluster, role)) => {
                self.live.claim = Some(Claim::Cluster(cluster, role));
                self.live.given_back = BTreeMap::new();
            }
            None => {
                if entry.place == Place::Released {
                    let ours = entry
                        .annotations
                        .iter()
                        .filter(|(key, _)| key.starts_with("sip.airshipit.org/"));
                    self.live.given_back =
                        ours.map(|(key, value)| (key.clone(), value.clone())).collect();
                }
                if !self.live.claimed_by_others {
                    self.live.claim = None;
                }
                self.note_applied();
            }
        }
    }

    fn lose_labels(&mut self) {
        self.live.claim = None;
        self.live.claimed_by_others = false;
        self.note_applied();
    }

    fn note_applied(&mut self) {
        if let Some(release) = &mut self.release {
            release.applied = true;
        }
    }

    fn refresh(&mut self) {
        if self.snapshot.is_some() {
            self.snapshot = Some(self.live.clone());
        }
        if let Some(release) = &mut self.release {
            release.seen_free = release.applied && self.live.is_unclaimed();
        }
    }
}
