//! Answers of `sipgen capacity`, `drain` and `what-if`, carried out on the files of made-up sites.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use camino::{Utf8Path, Utf8PathBuf};
use proptest::prelude::*;
use sipgen::ask::capacity::{Capacity, CapacityScope, capacity};
use sipgen::ask::drain::{DrainVerdict, drain, in_maintenance};
use sipgen::ask::overview::Overview;
use sipgen::ask::what_if::what_if;
use sipgen::base::api::names::{ClusterKey, Part};
use sipgen::input::load::Files;
use sipgen::site::hypothesis::Hypothesis;
use sipgen::{GeneratedSite, Options, generate};
use tempfile::TempDir;

use super::oracle::{
    Cluster, Host, Quota, RACK, ROLES, clusters, hosts, place, quotas, write_repo,
};
use super::oracle_capacity::{Taken, bought_hosts, taken};

const GIVEN_BACK: &str = "sip.airshipit.org/given-back";

/// Numbers of hosts that node sets lack.
type Short = BTreeMap<(ClusterKey, Part), usize>;

/// The files of a site, with what they are made of.
struct SiteFiles {
    directory: TempDir,
    hosts: Vec<Host>,
    clusters: Vec<Cluster>,
    quotas: Vec<Quota>,
}

impl SiteFiles {
    /// Writes the site, and what sipgen generates for the clusters that it can serve.
    fn new(hosts: &[Host], clusters: &[Cluster], quotas: &[Quota]) -> Self {
        let site = Self {
            directory: TempDir::new().unwrap(),
            hosts: hosts.to_vec(),
            clusters: clusters.to_vec(),
            quotas: quotas.to_vec(),
        };
        site.write(|_| {});
        site.generate_files(&Options { keep_going: true, ..Options::default() });
        site
    }

    fn root(&self) -> Utf8PathBuf {
        Utf8Path::from_path(self.directory.path()).unwrap().to_owned()
    }

    fn parts(&self) -> SiteParts {
        SiteParts {
            hosts: self.hosts.clone(),
            clusters: self.clusters.clone(),
            quotas: self.quotas.clone(),
        }
    }

    /// Writes the site with a change.
    fn write(&self, change: impl FnOnce(&mut SiteParts)) {
        let mut parts = self.parts();
        change(&mut parts);
        write_repo(&self.root(), &parts.hosts, &parts.clusters, &parts.quotas);
    }

    fn generated(&self) -> GeneratedSite {
        generate(&Files::on_disk(self.root()), &Options::default(), &|_| {}).unwrap()
    }

    fn generate_files(&self, options: &Options) -> GeneratedSite {
        let generated = generate(&Files::on_disk(self.root()), options, &|_| {}).unwrap();
        if let Some(changes) = &generated.changes {
            sipgen::write(&self.root(), changes).unwrap();
        }
        generated
    }

    /// Shows released hosts with their annotation, as a snapshot does once the agent has applied them.
    fn take_snapshot(&self) {
        let released = self.root().join("overlays/hosts/observed/released/hosts.yaml");
        let released = fs::read_to_string(released).unwrap_or_default();
        let file = self.root().join("site.yaml");
        let mut hosts = fs::read_to_string(&file).unwrap();
        for host in released.split("---\n").skip(1) {
            let value = |key: &str| {
                let line = host.lines().find_map(|line| line.trim().strip_prefix(key));
                line.unwrap().trim_matches('"').to_owned()
            };
            let name = format!("{{name: {}, ", value("name: "));
            let annotation = format!("{GIVEN_BACK}: \"{}\", ", value(&format!("{GIVEN_BACK}: ")));
            let at = hosts.find(&name).unwrap();
            let at = at + hosts[at..].find("annotations: {").unwrap() + "annotations: {".len();
            if !hosts[at..].starts_with(&annotation) {
                hosts.insert_str(at, &annotation);
            }
        }
        fs::write(&file, hosts).unwrap();
    }

    fn short(&self) -> Short {
        short(&self.generated())
    }

    /// Returns what is short once the site is written with a change.
    fn short_with(&self, change: impl FnOnce(&mut SiteParts)) -> Short {
        self.write(change);
        let short = self.short();
        self.write(|_| {});
        short
    }
}

/// A word of a message, and the change that makes it untrue.
type Relaxation<'r> = (&'r str, &'r dyn Fn(&mut SiteParts));

struct SiteParts {
    hosts: Vec<Host>,
    clusters: Vec<Cluster>,
    quotas: Vec<Quota>,
}

fn short(generated: &GeneratedSite) -> Short {
    let shortages = generated.plan.shortages.iter();
    let short = shortages.map(|(node_set, shortage)| (node_set.clone(), shortage.short_of()));
    short.collect()
}

fn short_clusters(short: &Short) -> BTreeSet<ClusterKey> {
    short.keys().map(|(cluster, _)| cluster.clone()).collect()
}

fn number(name: &str) -> usize {
    name[1..].parse().unwrap()
}

fn role(part: &Part) -> usize {
    let mut roles = ROLES.iter();
    roles.position(|name| *name == part.role.as_str()).unwrap()
}

/// Buys what is to be bought, and one host less.
fn check_purchase(site: &SiteFiles, answer: &Capacity) -> Result<(), TestCaseError> {
    let Some(purchase) = &answer.purchase else {
        prop_assert!(site.short().is_empty());
        return Ok(());
    };
    if purchase.hosts.is_none() {
        return Ok(());
    }
    if !purchase.is_minimal {
        return Ok(());
    }
    let bought = bought_hosts(&purchase.kinds);
    let short = site.short_with(|parts| parts.hosts.extend(bought.clone()));
    prop_assert!(short.is_empty(), "{:?}: {:?}", purchase, short);
    for without in 0..bought.len() {
        let mut fewer = bought.clone();
        fewer.remove(without);
        let short = site.short_with(|parts| parts.hosts.extend(fewer));
        prop_assert!(!short.is_empty(), "{:?} without {}", purchase, without);
    }
    Ok(())
}

/// Makes the copies that fit, and one more.
fn check_copies(site: &SiteFiles, answer: &Capacity) -> Result<(), TestCaseError> {
    let today = short_clusters(&site.short());
    for copies in &answer.clusters {
        let original = number(copies.cluster.name.as_str());
        let with = |count: usize| {
            let short = site.short_with(|parts| {
                let copy = parts.clusters[original].clone();
                // Reservations name the first three clusters.
                let empty = Cluster { node_sets: [None, None], ..copy.clone() };
                parts.clusters.resize(3, empty);
                parts.clusters.extend(std::iter::repeat_n(copy, count));
            });
            short_clusters(&short)
        };
        prop_assert_eq!(with(copies.fit), today.clone(), "{:?}", copies);
        prop_assert!(with(copies.fit + 1).len() > today.len(), "{:?}", copies);
    }
    Ok(())
}

/// Lets node sets grow as far as they can, and by one more.
fn check_growths(site: &SiteFiles, answer: &Capacity) -> Result<(), TestCaseError> {
    let today = short_clusters(&site.short());
    for growth in &answer.node_sets {
        let cluster = number(growth.cluster.name.as_str());
        let with = |more: usize| {
            let short = site.short_with(|parts| {
                let node_set = &mut parts.clusters[cluster].node_sets[role(&growth.part)];
                node_set.as_mut().unwrap().wanted += more;
            });
            short_clusters(&short)
        };
        let is_short = today.contains(&growth.cluster);
        prop_assert_eq!(growth.is_short, is_short);
        if !is_short {
            prop_assert_eq!(with(growth.fit), today.clone(), "{:?}", growth);
            prop_assert!(with(growth.fit + 1).len() > today.len(), "{:?}", growth);
        }
    }
    Ok(())
}

/// Asks `what-if` about the loss of each rack.
fn check_losses(site: &SiteFiles, answer: &Capacity) -> Result<(), TestCaseError> {
    if answer.by.as_deref() != Some(RACK) {
        return Ok(());
    }
    for loss in &answer.losses {
        let Some(domain) = &loss.domain else { continue };
        let hypothesis = Hypothesis {
            gone: vec![format!("{RACK}={domain}").parse().unwrap()],
            ..Hypothesis::default()
        };
        let files = Files::on_disk(site.root());
        let then = what_if(&files, files.clone(), &hypothesis, &|_| {}).unwrap();
        let lacks: Short = then
            .clusters
            .iter()
            .flat_map(|impact| {
                let node_sets = impact.node_sets.iter().filter(|set| set.lacks > 0);
                node_sets.map(|set| ((impact.cluster.clone(), set.part.clone()), set.lacks))
            })
            .collect();
        let more: Short = loss
            .lacking
            .iter()
            .map(|lacks| ((lacks.cluster.clone(), lacks.part.clone()), lacks.hosts))
            .collect();
        let today = site.short();
        let expected = lacks.iter().filter(|(node_set, hosts)| {
            let today = today.get(node_set).copied().unwrap_or_default();
            **hosts > today
        });
        let expected: Short = expected.map(|(key, hosts)| (key.clone(), *hosts)).collect();
        prop_assert_eq!(&more, &expected, "loss of {}", domain);
        let quorums = loss.control_planes.iter();
        let quorums: BTreeMap<_, _> = quorums.map(|lost| (&lost.cluster, lost.quorum)).collect();
        let impacts = then.clusters.iter();
        let impacts = impacts.filter_map(|impact| Some((&impact.cluster, impact.control_plane?)));
        prop_assert_eq!(quorums, impacts.collect(), "loss of {}", domain);
    }
    Ok(())
}

/// Returns the smallest number of hosts that a cluster lacks, whatever hosts it gets.
fn lacking(parts: &SiteParts, kept: &Taken, cluster: usize) -> usize {
    let node_sets = &parts.clusters[cluster].node_sets;
    let missing = |role: usize| {
        let wanted = node_sets[role].as_ref().map_or(0, |node_set| node_set.wanted);
        wanted - kept.values().filter(|by| **by == (cluster, role)).count()
    };
    let (control_plane, workers) = (missing(0), missing(1));
    let found = (0..=control_plane).flat_map(|a| (0..=workers).map(move |b| (a, b)));
    let can_be_had = found.filter(|(a, b)| {
        let units = std::iter::repeat_n((cluster, 0), *a);
        let units = units.chain(std::iter::repeat_n((cluster, 1), *b));
        let units: Vec<(usize, usize)> = units.collect();
        let mut taken = kept.clone();
        place(&parts.hosts, &parts.clusters, &parts.quotas, &units, &mut taken)
    });
    let most = can_be_had.map(|(a, b)| a + b).max();
    control_plane + workers - most.unwrap_or_default()
}

/// Relaxes each constraint that a shortage names: the cluster lacks fewer hosts.
fn check_causes(site: &SiteFiles) -> Result<(), TestCaseError> {
    let generated = site.generated();
    let all = generated.site.inventory.hosts.len();
    for (node_set, shortage) in &generated.plan.shortages {
        let cause = shortage.constraint(all);
        let (cluster, role) = (number(node_set.0.name.as_str()), role(&node_set.1));
        let kept = taken(&generated);
        let lacks = |relax: &dyn Fn(&mut SiteParts)| {
            let mut parts = site.parts();
            relax(&mut parts);
            lacking(&parts, &kept, cluster)
        };
        let today = lacks(&|_| {});
        let told = short(&generated).into_iter();
        let told = told.filter(|((key, _), _)| *key == node_set.0);
        let told: usize = told.map(|(_, hosts)| hosts).sum();
        prop_assert!((1..=today).contains(&told), "{} of {}: {}", told, today, cause);
        let is_less = |relax: &dyn Fn(&mut SiteParts)| lacks(relax) < today;
        let relaxations: [Relaxation<'_>; 4] = [
            ("topology", &|parts| {
                let node_set = parts.clusters[cluster].node_sets[role].as_mut().unwrap();
                (node_set.by_rack, node_set.by_feed, node_set.skew) = (false, false, None);
            }),
            ("reserved", &|parts| {
                parts.hosts.iter_mut().for_each(|host| host.reserved = None);
            }),
            ("maintenance", &|parts| {
                parts.hosts.iter_mut().for_each(|host| host.marked = false);
            }),
            ("quota", &|parts| parts.quotas.clear()),
        ];
        let named = relaxations.iter().filter(|(word, _)| cause.contains(word));
        let together = |parts: &mut SiteParts| {
            let named = relaxations.iter().filter(|(word, _)| cause.contains(word));
            named.for_each(|(_, relax)| relax(parts));
            // Hosts may lack them beside another cause.
            if cause.contains("hardware details") {
                parts.clusters[cluster].node_sets[role].as_mut().unwrap().hardware = None;
            }
        };
        // Rules that refuse the same host, or a number of hosts beside a quota, only help together.
        // A conflict is one minimal set of several.
        let is_joint = [" and ", "only", "no choice"].iter().any(|word| cause.contains(word));
        for (word, relax) in named.clone() {
            prop_assert!(is_joint || is_less(*relax), "{}: {} is no cause", cause, word);
        }
        // Hosts that clusters have stay assigned.
        let is_relaxable = !cause.contains("only") && !cause.contains("assigned to");
        if named.count() > 1 && is_relaxable {
            prop_assert!(is_less(&together), "{}", cause);
        }
    }
    Ok(())
}

/// Marks hosts, and makes one step after the other until they are empty.
fn check_drain(site: &SiteFiles, drained: u8, at_once: usize) -> Result<(), TestCaseError> {
    let is_drained = |host: usize| drained & (1 << host) != 0;
    site.write(|parts| {
        let hosts = parts.hosts.iter_mut().enumerate();
        hosts.for_each(|(at, host)| host.marked |= is_drained(at));
    });
    let marked = |generated: &GeneratedSite| in_maintenance(&generated.site);
    let first = site.generated();
    let plan = drain(&first, &marked(&first), &[], at_once);
    let today = short_clusters(&short(&first));
    let mut steps = 0;
    loop {
        let now = site.generated();
        prop_assert_eq!(&short_clusters(&short(&now)), &today);
        let next = drain(&now, &marked(&now), &[], at_once);
        prop_assert_eq!(next.verdict, plan.verdict, "after {} steps", steps);
        if next.verdict != DrainVerdict::Planned || next.moves == 0 {
            break;
        }
        prop_assert!(steps < plan.steps.len(), "{:?}", next);
        steps += 1;
        let options = Options { keep_going: true, moves: next.next_moves(), ..Options::default() };
        site.generate_files(&options);
        let after = site.generate_files(&Options { keep_going: true, ..Options::default() });
        let changes = after.changes.as_ref().unwrap();
        prop_assert!(changes.files.is_empty(), "{:?}", changes.files.keys());
        site.take_snapshot();
        site.generate_files(&Options { keep_going: true, ..Options::default() });
    }
    if plan.verdict == DrainVerdict::Planned {
        let left: BTreeSet<usize> = taken(&site.generated()).into_keys().collect();
        prop_assert!(!left.into_iter().any(is_drained));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn what_is_answered_happens_on_files(
        hosts in hosts(), clusters in clusters(), quotas in quotas(), drained in any::<u8>(), at_once in 1..3_usize,
    ) {
        let site = SiteFiles::new(&hosts, &clusters, &quotas);
        let generated = site.generated();
        let by = hosts.iter().any(|host| host.rack.is_some()).then_some(RACK);
        let racks = Overview::new(&generated, by).unwrap();
        let scope = CapacityScope { racks: Some(&racks), ..CapacityScope::default() };
        let answer = capacity(&generated, &scope).unwrap();
        check_purchase(&site, &answer)?;
        check_copies(&site, &answer)?;
        check_growths(&site, &answer)?;
        check_losses(&site, &answer)?;
        check_causes(&site)?;
        check_drain(&site, drained, at_once)?;
    }
}
