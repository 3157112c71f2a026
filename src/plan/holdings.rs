//! Who has which host before anything is chosen: first by the last run's output, then by labels.
//!
//! | the output says | the inventory's labels say | the host |
//! | --- | --- | --- |
//! | cluster A | nothing, or A | stays with A |
//! | nothing | A, and A is in this repo | is adopted by A |
//! | nothing | A, by labels of 2020 or early 2021 | is adopted by A, with a warning: those name no namespace |
//! | nothing | A, and A is not in this repo | belongs to somebody else |
//! | A | B | conflict |
//! | released | A | is still being given back |
//!
//! A snapshot may be older than the output: that labels are missing in it means nothing.

use std::collections::{BTreeMap, BTreeSet};

use kube::core::SelectorExt;

use super::{Assigned, How, Placement, eligibility, giving_back, renaming, standing};
use crate::api::assignment::{self, Claim};
use crate::api::names::{ClusterKey, HostKey, NodeName, Part, Role};
use crate::finding::{Code, Finding, Origin, Place, Step};
use crate::inventory::usage::Usage;
use crate::inventory::{Host, Standing};
use crate::layout;
use crate::output::state::Held;
use crate::request::{Cluster, NodeSet};
use crate::site::{HostLeftOut, Site};

/// Who has which host.
pub(super) struct Holdings<'a> {
    /// The hosts of each cluster, in the inventory's order.
    by_cluster: BTreeMap<&'a ClusterKey, Vec<Holding<'a>>>,
    /// Who keeps each host that somebody keeps.
    pub(super) kept: BTreeMap<usize, Vec<(&'a ClusterKey, &'a Part, &'a Origin)>>,
    /// What speaks against hosts that stay.
    pub(super) flaws: BTreeMap<usize, Flaw>,
    /// The hosts that clusters have and are not to keep, with how they had them.
    pub(super) given_back: Vec<(&'a ClusterKey, usize, How)>,
    /// Whether a machine keeps a host under another name.
    pub(super) renamed: bool,
}

/// A host that a cluster has.
#[derive(Clone, Copy)]
pub(super) struct Holding<'a> {
    /// Index into the inventory's hosts.
    pub(super) host: usize,
    part: &'a Part,
    how: How,
    origin: &'a Origin,
}

/// Reads who has which host. Clusters that the repo no longer asks for give all back, unless they are frozen.
pub(super) fn read<'a>(
    site: &'a Site,
    frozen: &BTreeSet<ClusterKey>,
) -> (Holdings<'a>, Vec<Finding>) {
    let mut findings = Vec::new();
    let mut holdings = Holdings {
        by_cluster: BTreeMap::new(),
        kept: BTreeMap::new(),
        flaws: BTreeMap::new(),
        given_back: Vec::new(),
        renamed: false,
    };
    for (key, entries) in &site.state.held {
        let Some(host) = site.inventory.index(key) else {
            findings.extend(
                entries
                    .iter()
                    .filter_map(|held| vanished(key, held, site, frozen)),
            );
            continue;
        };
        let host_there = &site.inventory.hosts[host];
        findings.extend(
            entries
                .iter()
                .filter_map(|held| standing::changed(host_there, held, site, frozen)),
        );
        for held in one_each(entries) {
            let holding = Holding {
                host,
                part: &held.part,
                how: How::Stays,
                origin: &held.origin,
            };
            findings.extend(conflict(host_there, held, site, frozen));
            if frozen.contains(&held.cluster) {
                findings.extend(patch_without_host(key, held, site));
                holdings.kept.entry(host).or_default().push((
                    &held.cluster,
                    &held.part,
                    &held.origin,
                ));
            } else if site.clusters.contains_key(&held.cluster) {
                holdings
                    .by_cluster
                    .entry(&held.cluster)
                    .or_default()
                    .push(holding);
            } else {
                holdings.given_back.push((&held.cluster, host, How::Stays));
            }
        }
    }
    for (index, host) in site.inventory.hosts.iter().enumerate() {
        findings.extend(standing::no_longer_patched(host, site));
        findings.extend(standing::applied_while_given_back(host, site, frozen));
        let in_output =
            site.state.held.contains_key(&host.key) || site.state.unlabelled.contains(&host.key);
        if in_output {
            continue;
        }
        match adopter(host, site) {
            Adopter::Nobody => {}
            Adopter::Cluster(cluster, part, origin) if !frozen.contains(cluster) => {
                findings.extend(standing::applied_in_full(host, cluster, origin));
                findings.extend(by_older_labels(host, cluster, part, origin));
                let holding = Holding {
                    host: index,
                    part,
                    how: How::Adopted,
                    origin,
                };
                holdings
                    .by_cluster
                    .entry(cluster)
                    .or_default()
                    .push(holding);
            }
            Adopter::Cluster(..) => {}
            Adopter::Several(finding) => {
                findings.extend(
                    Some(finding).filter(|finding| concerns_planned(finding, site, frozen)),
                );
            }
        }
    }
    (holdings, findings)
}

impl<'a> Holdings<'a> {
    /// Decides which of its hosts a cluster keeps: as many as it wants. The rest is given back, a host that is in use
    /// last of all, and of the others those with the worst [`Flaw`] first, then those that only
    /// labels gave it, then by name from the end. With `inherit`, machines keep their hosts under other names.
    pub(super) fn keep(
        &mut self,
        cluster: &'a Cluster,
        site: &'a Site,
        inherit: bool,
    ) -> (Placement, Vec<Finding>) {
        let mut placement = Placement::new();
        let mut findings = Vec::new();
        let holdings = self.by_cluster.remove(&cluster.key).unwrap_or_default();
        let mut holdings = by_part(holdings, cluster);
        self.renamed |= inherit && renaming::inherit(&mut holdings, cluster, site);
        for (part, holdings) in holdings {
            let node_set = cluster.node_sets.get(part);
            let wanted = node_set.map_or(0, NodeSet::wanted);
            let is_another = |holding: &Holding<'_>| is_another_than_named(node_set, holding.host);
            let (others, own): (Vec<_>, Vec<_>) = holdings.into_iter().partition(is_another);
            let mut own = by_worth(own, node_set, site);
            let surplus: Vec<Holding<'_>> = own
                .drain(wanted.min(own.len())..)
                .map(|(_, holding)| holding)
                .collect();
            for (flaw, holding) in own {
                let assigned = Assigned {
                    host: holding.host,
                    how: holding.how,
                };
                placement.entry(part.clone()).or_default().push(assigned);
                self.kept.entry(holding.host).or_default().push((
                    &cluster.key,
                    part,
                    holding.origin,
                ));
                self.flaws.extend(flaw.map(|flaw| (holding.host, flaw)));
            }
            for holding in surplus.into_iter().chain(others) {
                self.given_back
                    .push((&cluster.key, holding.host, holding.how));
                findings.extend(in_use_given_back(
                    &site.inventory.hosts[holding.host],
                    part,
                    cluster,
                ));
            }
        }
        placement.values_mut().for_each(|assigned| assigned.sort());
        (placement, findings)
    }

    /// Gives a host back after all: another one takes its place.
    pub(super) fn give_back(&mut self, cluster: &'a ClusterKey, host: usize, how: How) {
        self.kept.remove(&host);
        self.flaws.remove(&host);
        self.given_back.push((cluster, host, how));
    }

    /// Who keeps each host.
    pub(super) fn kept_by(&self) -> BTreeMap<usize, &'a ClusterKey> {
        let first = |(host, keepers): (&usize, &Vec<(&'a ClusterKey, &Part, &Origin)>)| {
            Some((*host, keepers.first()?.0))
        };
        self.kept.iter().filter_map(first).collect()
    }

    /// The hosts that stay although something speaks against them.
    pub(super) fn flawed(&self, site: &Site, rebalance: bool) -> Vec<Finding> {
        let describe = |(host, flaw): (&usize, &Flaw)| {
            let (cluster, part, _) = *self.kept.get(host)?.first()?;
            let host = &site.inventory.hosts[*host];
            let in_use = eligibility::in_use_as(host, part);
            let help = match (flaw, in_use) {
                (
                    Flaw::Failed | Flaw::NotSelected | Flaw::Insufficient | Flaw::SharesDomain,
                    Some(why),
                ) => {
                    format!("it stays: {why}")
                }
                (Flaw::NotSelected | Flaw::Insufficient | Flaw::SharesDomain, None)
                    if !rebalance =>
                {
                    "it stays; `--rebalance` moves such hosts where that is possible".to_owned()
                }
                _ => "it stays: no other host can take its place".to_owned(),
            };
            let labels = host.origin.at(["metadata", "labels"]);
            let (code, place, asked_for) = match flaw {
                Flaw::SharesDomain => (Code::Flawed, labels, Some("topologyKey")),
                Flaw::NotSelected => (Code::Flawed, labels, Some("labelSelector")),
                Flaw::Insufficient => (Code::Flawed, host.origin.name(), Some("")),
                Flaw::Failed => (
                    Code::Failing,
                    host.live_place(["status", "errorMessage"]),
                    None,
                ),
                Flaw::Deleting => (
                    Code::Failing,
                    host.live_place(["metadata", "deletionTimestamp"]),
                    None,
                ),
            };
            let message = format!("host {} ({part} of {cluster}) {}", host.key, flaw.words());
            let mut finding = Finding::new(code, message).at(place);
            let request = site
                .clusters
                .get(cluster)
                .and_then(|request| request.cluster.as_ref());
            if let (Some(field), Some(request)) = (asked_for, request) {
                let asked = request
                    .node_sets
                    .get(part)
                    .map(|set| set.route.clone())
                    .unwrap_or_default();
                let field = Some(field)
                    .filter(|field| !field.is_empty())
                    .map(Step::from);
                let place = request.origin.at(asked.into_iter().chain(field));
                let asks = if part.node.is_some() {
                    "what is asked of it"
                } else {
                    "what the node set asks for"
                };
                finding = finding.see(place, asks);
            }
            Some(finding.help(help).of(cluster))
        };
        self.flaws.iter().filter_map(describe).collect()
    }

    /// The hosts that more than one node set keeps. A run that was killed between two files leaves such, but
    /// then all except one of them give the host back.
    pub(super) fn contested(&self, site: &Site) -> Vec<Finding> {
        let contested = self.kept.iter().filter(|(_, keepers)| keepers.len() > 1);
        let describe = |(host, keepers): (&usize, &Vec<(&ClusterKey, &Part, &Origin)>)| {
            let key = &site.inventory.hosts[*host].key;
            let finding = Finding::new(Code::AssignedTwice, format!("host {key} is assigned {} times", keepers.len()))
                .help("a host has one role in one cluster: remove all entries but one from the generated files");
            keepers
                .iter()
                .fold(finding, |finding, (cluster, part, origin)| {
                    finding
                        .see(origin.name(), format!("as {part} of {cluster}"))
                        .of(cluster)
                })
        };
        contested.map(describe).collect()
    }
}

/// A cluster's holdings by the parts that they are for, in the order of the parts. Of a Provisioning, a host that a machine
/// names is for that machine, whatever it was for; any other is for the machine of its name, whose role may be another
/// one by now.
fn by_part<'a>(
    holdings: Vec<Holding<'a>>,
    cluster: &'a Cluster,
) -> BTreeMap<&'a Part, Vec<Holding<'a>>> {
    let of_machines = || {
        cluster
            .node_sets
            .iter()
            .filter(|(part, _)| part.node.is_some())
    };
    let named: BTreeMap<usize, &Part> = of_machines()
        .filter_map(|(part, set)| Some((set.machine.as_ref()?.named?.1, part)))
        .collect();
    let by_name: BTreeMap<&NodeName, &Part> = of_machines()
        .filter_map(|(part, _)| Some((part.node.as_ref()?, part)))
        .collect();
    let mut by_part: BTreeMap<&Part, Vec<Holding<'_>>> = BTreeMap::new();
    for holding in holdings {
        let same_name = holding
            .part
            .node
            .as_ref()
            .and_then(|node| by_name.get(node));
        let part = named
            .get(&holding.host)
            .or(same_name)
            .copied()
            .unwrap_or(holding.part);
        by_part.entry(part).or_default().push(holding);
    }
    by_part
}

/// Whether a node set names another host than this one.
fn is_another_than_named(node_set: Option<&NodeSet>, host: usize) -> bool {
    let named = node_set.and_then(|node_set| node_set.machine.as_ref()?.named);
    named.is_some_and(|(_, named)| named != host)
}

/// What speaks against a host that stays; the worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Flaw {
    /// Another host of the node set is in its topology domain.
    SharesDomain,
    /// The node set's labelSelector no longer matches it.
    NotSelected,
    /// It has less than is asked of the machine that it is.
    Insufficient,
    /// It has an error that does not pass by itself.
    Failed,
    /// Its deletion was asked for.
    Deleting,
}

impl Flaw {
    /// The flaw, in words that complete the sentence "the host …".
    pub(super) fn words(self) -> &'static str {
        match self {
            Flaw::SharesDomain => "shares its topology domain with another one of the node set",
            Flaw::NotSelected => "is no longer what the labelSelector asks for",
            Flaw::Insufficient => "has less than is asked of it now",
            Flaw::Failed => "has failed",
            Flaw::Deleting => "is being deleted",
        }
    }
}

/// What speaks against a host for a node set, whichever others that has.
pub(super) fn own_flaw(host: &Host, node_set: Option<&NodeSet>) -> Option<Flaw> {
    if host.deleting {
        return Some(Flaw::Deleting);
    }
    if host.failed {
        return Some(Flaw::Failed);
    }
    // Of a host that is named by its MAC address, reading has told already what it lacks.
    let is_named = |set: &NodeSet| {
        set.machine
            .as_ref()
            .is_some_and(|machine| machine.named.is_some())
    };
    let selected = node_set.is_none_or(|set| is_named(set) || set.selector.matches(&host.labels));
    let machine = node_set.and_then(|node_set| node_set.machine.as_ref());
    let suffices = machine.is_none_or(|asked| eligibility::insufficient(host, asked).is_none());
    (!selected)
        .then_some(Flaw::NotSelected)
        .or((!suffices).then_some(Flaw::Insufficient))
}

/// The hosts of a node set with their flaws, those first that are kept longest.
fn by_worth<'a>(
    mut holdings: Vec<Holding<'a>>,
    node_set: Option<&NodeSet>,
    site: &Site,
) -> Vec<(Option<Flaw>, Holding<'a>)> {
    let hosts = &site.inventory.hosts;
    let own_flaw = |host: &Host| own_flaw(host, node_set);
    let worth = |flaw: Option<Flaw>, holding: &Holding<'_>| {
        let host = &hosts[holding.host];
        let is_in_use = eligibility::in_use_as(host, holding.part).is_some();
        (
            !is_in_use,
            flaw,
            !eligibility::is_provisioned(host),
            holding.how,
            holding.host,
        )
    };
    holdings.sort_by_key(|holding| worth(own_flaw(&hosts[holding.host]), holding));
    let mut domains = BTreeSet::new();
    let mut flawed: Vec<(Option<Flaw>, Holding<'_>)> = Vec::with_capacity(holdings.len());
    for holding in holdings {
        let host = &hosts[holding.host];
        let keys = node_set.iter().flat_map(|node_set| &node_set.topology_keys);
        let own = keys.filter_map(|key| Some((key, eligibility::domain(host, key)?)));
        let shares = own.filter(|domain| !domains.insert(*domain)).count() > 0;
        flawed.push((
            own_flaw(host).or(shares.then_some(Flaw::SharesDomain)),
            holding,
        ));
    }
    flawed.sort_by_key(|(flaw, holding)| worth(*flaw, holding));
    flawed
}

/// A host that is given back although it is in use.
fn in_use_given_back(host: &Host, part: &Part, cluster: &Cluster) -> Option<Finding> {
    let usage = host.usage.as_ref()?;
    let what = match usage {
        Usage::Consumer(consumer) => format!("{consumer} consumes"),
        other => other.to_string(),
    };
    let (machine, help) = match &part.node {
        None => (
            String::new(),
            "it has no other host to give back; scale the tenant's machines down before, or want more hosts",
        ),
        Some(node) => (
            format!(", its machine {node},"),
            "see to it that nothing needs the host any more before this is applied, or ask for the machine as before",
        ),
    };
    Some(
        Finding::new(
            Code::InUseGivenBack,
            format!(
                "{} gives host {}{machine} back, which {what}",
                cluster.key, host.key
            ),
        )
        .at(cluster.origin.at(wanted_at(cluster, part)))
        .see(host.live_place(usage.route()), "in use here")
        .help(help)
        .of(&cluster.key),
    )
}

/// Where a cluster says how many hosts it wants for a part, or which.
fn wanted_at(cluster: &Cluster, part: &Part) -> Vec<Step> {
    match cluster.node_sets.get(part) {
        Some(set) if set.machine.is_some() => set.route.clone(),
        // Of a machine that is no longer there, the list that it would be in.
        _ if cluster.installation.is_some() => match part.role {
            Role::ControlPlane => vec!["spec".into(), "masters".into()],
            Role::Worker => vec!["spec".into(), "workers".into()],
        },
        _ => vec![
            "spec".into(),
            "nodes".into(),
            part.role.as_str().into(),
            "count".into(),
        ],
    }
}

/// A host that is adopted by labels of an older generation, which name no namespace.
fn by_older_labels(
    host: &Host,
    cluster: &ClusterKey,
    part: &Part,
    origin: &Origin,
) -> Option<Finding> {
    let label = host.by_older_labels?;
    let message = format!(
        "{cluster} adopts host {} ({part}) by labels of an older generation",
        host.key
    );
    let help = match giving_back::older_labels_that_stay(host) {
        Some(command) => {
            format!(
                "it gets today's labels beside them; when nothing needs the older ones any more, take them off:\n{command}"
            )
        }
        None => "today's labels take their place".to_owned(),
    };
    let place = origin.at(["metadata", "labels", label]);
    Some(
        Finding::new(Code::AdoptedByOlderLabels, message)
            .at(place)
            .help(help)
            .of(cluster),
    )
}

/// Without repetitions of one cluster and role, which a host has that moved from one file to another.
fn one_each(entries: &[Held]) -> impl Iterator<Item = &Held> {
    let mut seen = BTreeSet::new();
    entries
        .iter()
        .filter(move |held| seen.insert((&held.cluster, &held.part)))
}

/// Whether one of the clusters that a finding is of is to be planned.
fn concerns_planned(finding: &Finding, site: &Site, frozen: &BTreeSet<ClusterKey>) -> bool {
    finding
        .clusters
        .iter()
        .any(|cluster| site.clusters.contains_key(cluster) && !frozen.contains(cluster))
}

fn vanished(
    host: &HostKey,
    held: &Held,
    site: &Site,
    frozen: &BTreeSet<ClusterKey>,
) -> Option<Finding> {
    if frozen.contains(&held.cluster) {
        return patch_without_host(host, held, site);
    }
    let gone = || {
        Finding::new(Code::HostGone, format!("host {host} of {} is no longer in the inventory", held.cluster))
            .at(held.origin.name())
            .help(if standing::was_declared(held, site) {
                "it leaves the overlay and is replaced; its BareMetalHost is not deleted, and neither are its Secrets that \
                 left the same build: if the machine is gone, delete them all"
            } else {
                "it leaves the overlay and is replaced; its BareMetalHost is not deleted"
            })
            .of(&held.cluster)
    };
    let finding = || {
        site.left_out
            .get(host)
            .map_or_else(gone, |left_out| still_declared(host, held, left_out))
    };
    site.clusters.contains_key(&held.cluster).then(finding)
}

/// A host that is not among the inputs is not gone when its build renders it all the same, and then without labels.
fn still_declared(host: &HostKey, held: &Held, left_out: &HostLeftOut) -> Finding {
    Finding::new(
        Code::HostLeftOut,
        format!("host {host} of {} is not in the input, but the repo still declares it", held.cluster),
    )
    .at(left_out.origin.name())
    .see(held.origin.name(), "the cluster has it")
    .help(
        "hand over the whole inventory, or list its file in `sources`; if the host is to go, remove its manifest from \
         the repo",
    )
    .of(&held.cluster)
}

/// A frozen cluster has a patch for a host that the patched build no longer renders.
fn patch_without_host(host: &HostKey, held: &Held, site: &Site) -> Option<Finding> {
    let directory = held.origin.file.parent()?;
    let below = directory.strip_prefix(&site.settings.output).ok()?;
    let root = match site.inventory.host(host).map(|host| host.standing) {
        Some(Standing::Declared { root }) => Some(&site.inventory.roots[&root].directory),
        Some(Standing::Observed) => None,
        None => site.left_out.get(host).map(|left_out| &left_out.root),
    };
    let renders = root.is_some_and(|root| layout::declared_directory(root) == *below);
    // Whoever removes the entry of a host that is still there makes it one that the agent may be told to erase.
    let help = match site.inventory.host(host).map(|host| host.standing) {
        Some(Standing::Observed) => standing::STAY_DECLARED,
        _ => {
            "let the cluster be generated again: correct its errors, or do not leave it out by --only"
        }
    };
    (below.starts_with(layout::declared_directory("".into())) && !renders).then(|| {
        Finding::new(Code::FrozenHostGone, format!(
            "{} is left as it is, and patches host {host}, which is no longer there: `kustomize build` of {directory} \
             fails",
            held.cluster
        ))
        .at(held.origin.name())
        .help(help)
        .of(&held.cluster)
    })
}

/// The output has the host with one cluster, labels say another. Those of a declared host that is not in use are
/// overwritten with the next sync, if it is known that they are of an earlier run: the agent set them, or they name a
/// cluster of this repo.
fn conflict(
    host: &Host,
    held: &Held,
    site: &Site,
    frozen: &BTreeSet<ClusterKey>,
) -> Option<Finding> {
    let is_free = host.is_declared() && host.usage.is_none();
    let is_of_earlier_run = |cluster: &ClusterKey, origin: &Origin| {
        let is_ours =
            site.clusters.contains_key(cluster) || giving_back::has_labels_of_agent(site, host);
        is_free && is_ours && *origin != host.origin
    };
    let (other, origin) = host.claims.iter().find_map(|(claim, origin)| match claim {
        Claim::Cluster(cluster, _)
            if *cluster != held.cluster && !is_of_earlier_run(cluster, origin) =>
        {
            Some((cluster, origin))
        }
        _ => None,
    })?;
    let finding = Finding::new(
        Code::LabelsDisagree,
        format!("host {} is with {}, but its labels say {other}", host.key, held.cluster),
    )
    .at(held.origin.name())
    .see(labelled(origin), format!("the labels of {other}"))
    .help(format!(
        "if {other} has it, remove the entry from {}; if not, take a new snapshot, or correct the labels",
        held.origin.file
    ))
    .of(&held.cluster)
    .of(other);
    concerns_planned(&finding, site, frozen).then_some(finding)
}

/// Where labels say which cluster has a host.
pub(super) fn labelled(origin: &Origin) -> Place {
    origin.at(["metadata", "labels", assignment::CLUSTER_NAME])
}

enum Adopter<'a> {
    Nobody,
    Cluster(&'a ClusterKey, &'a Part, &'a Origin),
    Several(Finding),
}

/// The cluster of this repo that a host's labels name. When they stand in the manifest and in the snapshot, the
/// role in the snapshot counts: there the host is in use.
fn adopter<'a>(host: &'a Host, site: &'a Site) -> Adopter<'a> {
    let mut named = Vec::new();
    for (claim, origin) in &host.claims {
        match claim {
            Claim::Cluster(cluster, part) => named.push((cluster, part, origin)),
            // Somebody has the host, and we cannot say who.
            Claim::Older(_) | Claim::Unclear(_) => return Adopter::Nobody,
        }
    }
    let Some((cluster, part, origin)) = named.pop() else {
        return Adopter::Nobody;
    };
    if let Some((other, _, other_origin)) = named.iter().find(|(other, ..)| *other != cluster) {
        let finding = Finding::new(
            Code::SeveralClaims,
            format!(
                "host {} bears the labels of {other} and of {cluster}",
                host.key
            ),
        )
        .at(labelled(other_origin))
        .see(labelled(origin), format!("those of {cluster}"))
        .help(format!(
            "a host belongs to one cluster: take the labels of {other} or those of {cluster} off it"
        ));
        return Adopter::Several(finding.of(other).of(cluster));
    }
    let released_by_it = site
        .state
        .released
        .get(&host.key)
        .is_some_and(|release| release.by.as_ref().is_none_or(|by| by == cluster));
    if released_by_it || !site.clusters.contains_key(cluster) {
        return Adopter::Nobody;
    }
    Adopter::Cluster(cluster, part, origin)
}
