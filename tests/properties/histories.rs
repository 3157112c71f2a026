//! What holds for every site, however it came to be: properties over made-up sites and their histories.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use camino::Utf8Path;
use proptest::prelude::*;
use proptest::sample::Index;
use sipgen::base::api::assignment::LEGACY_LABELS;
use sipgen::base::finding::Severity;
use sipgen::input::load::Files;
use sipgen::{Options, generate};
use tempfile::TempDir;
use yaml_serde::Value;

use crate::site_model::strategies::{
    adopting_history, cluster_key, history, host, layout, node_set, racked_history, scarce_history,
    site, step,
};
use crate::site_model::{
    Cluster, Entry, History, Host, Key, Layout, Place, ROLES, ROOTS, Site, Tree, WORKER,
    for_every_run,
};

const ASSIGNMENT_LABELS: [&str; 3] = [
    "sip.airshipit.org/cluster-namespace",
    "sip.airshipit.org/cluster-name",
    "sip.airshipit.org/node-type",
];

fn cases(cases: u32) -> ProptestConfig {
    // What fails is printed in full; a file of seeds would only repeat it.
    ProptestConfig {
        cases,
        failure_persistence: None,
        max_shrink_time: 20_000,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn the_grouping_of_files_and_documents_changes_nothing(
        history in history(), one in layout(), other in layout(), next in step(),
    ) {
        let mut played = None;
        for_every_run(&history, |run| {
            if run.has_written() {
                played = Some((run.site.clone(), run.after.clone()));
            }
            Ok(())
        })?;
        let Some((mut site, before)) = played else { return Ok(()) };

        site.evolve(&next, &before);

        let trees = [one, other, Layout::default()].map(|layout| generated_from(&site, &before, &layout));
        prop_assert_eq!(&trees[0], &trees[1]);
        prop_assert_eq!(&trees[0], &trees[2]);
    }

    #[test]
    fn a_second_run_changes_nothing(history in prop_oneof![history(), adopting_history()]) {
        for_every_run(&history, |run| {
            if run.has_written() {
                let again = generate(&Files::on_disk(run.repo), &run.options, &|_| {}).unwrap();
                prop_assert_eq!(again.changes, Some(sipgen::output::compare::OutputChanges::default()));
            }
            Ok(())
        })?;
    }

    #[test]
    fn no_host_stands_in_two_places(history in history()) {
        for_every_run(&history, |run| {
            let mut places: BTreeMap<&Key, Vec<&str>> = BTreeMap::new();
            for entry in &run.after.entries {
                places.entry(&entry.host).or_default().push(&entry.file);
            }
            for (host, files) in places {
                prop_assert_eq!(files.len(), 1, "{} is in {:?}", host, files);
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_declared_host_is_only_patched_and_only_by_its_own_root(history in history()) {
        for_every_run(&history, |run| {
            // The file of a cluster that is left as it was may name a host that has left its root since.
            let planned: BTreeSet<&Key> = run.planned().map(|cluster| &cluster.key).collect();
            let is_planned = |entry: &&Entry| entry.assignment().is_none_or(|(cluster, _)| planned.contains(&cluster));
            for Entry { host, place, file, .. } in run.after.entries.iter().filter(is_planned) {
                let root = run.site.host(host).and_then(|host| host.root).map(|root| ROOTS[root].to_owned());
                match place {
                    _ if !run.has_written() => {}
                    Place::Declared(of) => prop_assert_eq!(Some(of), root.as_ref(), "{} in {}", host, file),
                    Place::Observed | Place::Released => prop_assert_eq!(root, None, "{} in {}", host, file),
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_healthy_host_that_its_cluster_still_wants_stays_with_it(history in history()) {
        for_every_run(&history, |run| {
            for cluster in run.planned().filter(|_| run.has_written()) {
                for role in ROLES {
                    let mut had = run.before.hosts_of(&cluster.key, role);
                    // A host that is being deleted or has failed gives way to a spare one.
                    had.retain(|host| run.site.host(host).is_some_and(|host| !host.is_lost()));
                    let also_labelled = run.site.adoptable(&cluster.key, role, run.before).count();
                    if had.len() + also_labelled <= cluster.wanted(role) {
                        let has = run.after.hosts_of(&cluster.key, role);
                        for host in had {
                            prop_assert!(has.contains(&host), "{} lost {} as {}", cluster.key, host, role);
                        }
                    }
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_host_that_is_added_meets_every_rule(history in history()) {
        for_every_run(&history, |run| {
            for cluster in &run.site.clusters {
                for role in ROLES {
                    for host in run.added(&cluster.key, role) {
                        let host_of_site = run.site.host(&host).unwrap();
                        let refusal = host_of_site.refusal(run.site, run.before, cluster, role);
                        prop_assert_eq!(refusal, None, "{} as {} of {}", host, role, cluster.key);
                    }
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_host_that_is_added_has_its_topology_domain_for_itself(history in racked_history()) {
        for_every_run(&history, |run| {
            for cluster in &run.site.clusters {
                for (role, node_set) in &cluster.node_sets {
                    let Some(key) = node_set.topology_key.filter(|key| !key.is_empty()) else { continue };
                    let all = run.after.hosts_of(&cluster.key, role);
                    let domain = |host: &Key| run.site.host(host).and_then(|host| host.domain(key));
                    for added in run.added(&cluster.key, role) {
                        // Whatever its domain is, a host without the label may be in it.
                        let Some(own) = domain(&added) else { continue };
                        let beside = all.iter().filter(|other| **other != added && domain(other) == Some(own));
                        prop_assert_eq!(beside.count(), 0, "{} of {} beside {}", role, cluster.key, added);
                    }
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_cluster_gets_exactly_the_hosts_it_wants_or_nothing_is_written(history in history()) {
        for_every_run(&history, |run| {
            let has_error = run.generated.findings.iter().any(|finding| finding.is_error());
            if has_error && !run.options.keep_going {
                prop_assert!(!run.has_written());
            }
            if !run.has_written() {
                prop_assert!(has_error);
                prop_assert_eq!(&run.after.files, &run.before.files);
                return Ok(());
            }
            for cluster in run.planned() {
                for role in ROLES {
                    let hosts = run.after.hosts_of(&cluster.key, role);
                    prop_assert_eq!(hosts.len(), cluster.wanted(role), "{} of {}", role, cluster.key);
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_cluster_that_cannot_be_placed_keeps_its_files(history in history()) {
        for_every_run(&History { keep_going: true, ..history }, |run| {
            let planned: BTreeSet<&Key> = run.planned().map(|cluster| &cluster.key).collect();
            for Cluster { key, .. } in run.site.clusters.iter().filter(|cluster| !planned.contains(&cluster.key)) {
                prop_assert_eq!(files_of(key, &run.after), files_of(key, run.before), "{}", key);
            }
            Ok(())
        })?;
    }

    #[test]
    fn an_observed_host_that_is_given_back_is_written_once_more_without_labels(history in scarce_history()) {
        for_every_run(&history, |run| {
            for host in run.site.hosts.iter().filter(|host| !host.is_declared() && run.has_written()) {
                if run.before.holder(&host.key).is_some() && run.after.holder(&host.key).is_none() {
                    let labels = run.after.entries.iter().find(|entry| entry.host == host.key).map(|e| &e.labels);
                    prop_assert!(run.after.is_released(&host.key), "{}", host.key);
                    prop_assert_eq!(labels, Some(&BTreeMap::new()), "{}", host.key);
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn no_other_cluster_gets_an_observed_host_before_it_is_seen_free(history in scarce_history()) {
        for_every_run(&history, |run| {
            for host in &run.site.hosts {
                let has_now = run.after.holder(&host.key).map(|(cluster, _)| cluster);
                let had = run.before.holder(&host.key).map(|(cluster, _)| cluster);
                if let (Some(had), Some(now), false) = (had, &has_now, host.is_declared()) {
                    prop_assert_eq!(&had, now, "{} goes from hand to hand", host.key);
                }
                if let (Some(release), Some(now)) = (&host.release, has_now) {
                    let may = release.by == now || release.seen_free;
                    prop_assert!(may, "{} of {} goes to {}", host.key, release.by, now);
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn labels_name_clusters_of_the_repo(history in history()) {
        for_every_run(&history, |run| {
            // A withdrawn cluster of which an error is known, such as a host that is no longer declared, is frozen.
            let frozen: BTreeSet<String> = run.generated.plan.frozen.iter().map(ToString::to_string).collect();
            let errors = run.generated.findings.iter().filter(|finding| finding.severity == Severity::Error);
            let failing: BTreeSet<String> =
                errors.flat_map(|finding| &finding.clusters).map(ToString::to_string).collect();
            for (cluster, _) in run.after.entries.iter().filter_map(Entry::assignment).filter(|_| run.has_written()) {
                let name = cluster.to_string();
                let is_frozen = frozen.contains(&name) && failing.contains(&name);
                prop_assert!(run.site.cluster(&cluster).is_some() || is_frozen, "{}", cluster);
            }
            Ok(())
        })?;
    }

    #[test]
    fn every_file_begins_with_the_mark_of_ownership(history in history()) {
        for_every_run(&history, |run| {
            for (file, text) in &run.after.files {
                let first = text.lines().find(|line| !line.starts_with("#!")).unwrap_or_default();
                prop_assert!(first.starts_with("# Generated by sipgen from "), "{}: {}", file, first);
                prop_assert!(first.ends_with(". Do not edit."), "{}: {}", file, first);
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_lone_cluster_is_placed_whenever_enough_hosts_are_eligible(
        mut site in site(4..26_usize), key in cluster_key(), workers in node_set(),
    ) {
        let cluster = Cluster {
            key,
            node_sets: BTreeMap::from([(WORKER, workers.clone())]),
            control_plane_load_balancer: None,
            worker_load_balancer: Some("oam-ipv4"),
            jump_host: None,
            auth: false,
        };
        // A host that is adopted counts without being eligible, which is another property.
        site.hosts.retain(|host| host.claims().next().is_none());
        site.ask(cluster.clone());
        let nothing = Tree::default();
        let is_eligible = |host: &&Host| host.refusal(&site, &nothing, &cluster, WORKER).is_none();
        let eligible: Vec<_> = site.hosts.iter().filter(is_eligible).collect();
        let most = match workers.topology_key.filter(|key| !key.is_empty()) {
            Some(key) => {
                let domains: Vec<_> = eligible.iter().filter_map(|host| host.domain(key)).collect();
                eligible.len() - domains.len() + BTreeSet::from_iter(domains).len()
            }
            None => eligible.len(),
        };

        let repo = TempDir::new().unwrap();
        site.write(repo.path(), &Layout::default());
        let root = Utf8Path::from_path(repo.path()).unwrap();
        let generated = generate(&Files::on_disk(root), &Options::default(), &|_| {}).unwrap();

        prop_assert_eq!(generated.changes.is_some(), workers.wanted() <= most, "{:?}", generated.findings);
    }

    #[test]
    fn no_text_makes_sipgen_panic_or_leave_its_directory(
        history in history(), damages in prop::collection::vec(damage(), 1..6), keep_going: bool,
    ) {
        let mut played = None;
        for_every_run(&history, |run| {
            played = Some((run.site.clone(), run.after.clone()));
            Ok(())
        })?;
        let (site, tree) = played.unwrap();
        let repo = TempDir::new().unwrap();
        write_all(repo.path(), &site, &tree, &Layout::default());
        for damage in &damages {
            damage.to_some_file_below(repo.path());
        }
        let root = Utf8Path::from_path(repo.path()).unwrap();
        let files = Files::on_disk(root);
        let options = Options { keep_going, allow_empty: true, ..Options::default() };

        let generated = generate(&files, &options, &|_| {}).unwrap();

        if let Some(changes) = &generated.changes {
            for file in changes.files.keys() {
                prop_assert!(file.starts_with("overlays") && !file.as_str().contains(".."), "{}", file);
            }
            sipgen::write(files.root(), changes).unwrap();
            let again = generate(&files, &options, &|_| {}).unwrap();
            prop_assert_eq!(again.changes, Some(sipgen::output::compare::OutputChanges::default()));
        }
    }
}

proptest! {
    // The real kustomize takes its time.
    #![proptest_config(cases(6))]

    #[test]
    fn a_build_with_labels_has_every_object_of_its_base_in_full(history in history(), more in host()) {
        let mut site = history.site.clone();
        site.add(more);
        for_every_run(&History { site, keep_going: false, ..history }, |run| {
            let is_last = std::ptr::eq(run.step, run.last_step);
            for root in ROOTS.into_iter().filter(|_| is_last && run.has_written()) {
                let base = run.repo.join(root);
                if !base.join("kustomization.yaml").exists() {
                    continue;
                }
                let overlay = run.repo.join("overlays/hosts/declared").join(root);
                if run.site.hosts.iter().all(|host| host.root.map(|root| ROOTS[root]) != Some(root)) {
                    continue;
                }
                let (base, overlay) = (built(&base), built(&overlay));
                prop_assert_eq!(base.keys().collect::<Vec<_>>(), overlay.keys().collect::<Vec<_>>());
                for (name, object) in &base {
                    prop_assert_eq!(without_assignment(object), without_assignment(&overlay[name]), "{:?}", name);
                }
            }
            Ok(())
        })?;
    }
}

/// Everything that sipgen writes for a site whose last output is a tree.
fn generated_from(site: &Site, before: &Tree, layout: &Layout) -> (BTreeMap<String, String>, bool) {
    let repo = TempDir::new().unwrap();
    write_all(repo.path(), site, before, layout);
    let files = Files::on_disk(Utf8Path::from_path(repo.path()).unwrap());
    let options = Options { keep_going: true, allow_empty: true, ..Options::default() };
    let generated = generate(&files, &options, &|_| {}).unwrap();
    if let Some(changes) = &generated.changes {
        sipgen::write(files.root(), changes).unwrap();
    }
    (Tree::read(repo.path()).files, generated.changes.is_some())
}

fn write_all(repo: &std::path::Path, site: &Site, tree: &Tree, layout: &Layout) {
    site.write(repo, layout);
    for (file, text) in &tree.files {
        let path = repo.join("overlays").join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// The files that belong to a cluster alone.
fn files_of<'a>(cluster: &Key, tree: &'a Tree) -> BTreeMap<&'a String, &'a String> {
    let services = format!("clusters/{}/{}/", cluster.namespace, cluster.name);
    let dotted = format!("{}.{}", cluster.namespace, cluster.name);
    let patches = format!("/{dotted}.yaml");
    let objects = format!("hosts/observed/{dotted}/");
    let is_its_own = |file: &str| {
        file.starts_with(&services) || file.ends_with(&patches) || file.starts_with(&objects)
    };
    tree.files.iter().filter(|(file, _)| is_its_own(file)).collect()
}

/// What a build renders, by kind, namespace and name.
fn built(directory: &Utf8Path) -> BTreeMap<[String; 3], Value> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let key = |object: &Value| {
        [
            text(&object["kind"]),
            text(&object["metadata"]["namespace"]),
            text(&object["metadata"]["name"]),
        ]
    };
    let objects = crate::support::documents(&crate::support::kustomize_build(directory));
    objects.into_iter().map(|object| (key(&object), object)).collect()
}

/// An object without what sipgen may change: assignment labels and annotations.
fn without_assignment(object: &Value) -> Value {
    let mut object = object.clone();
    let metadata = object["metadata"].as_mapping_mut().unwrap();
    metadata.remove("annotations");
    let labels =
        metadata.entry("labels".into()).or_insert(Value::Mapping(yaml_serde::Mapping::new()));
    if let Some(labels) = labels.as_mapping_mut() {
        // A host that is adopted by the labels of an older tool loses those.
        ASSIGNMENT_LABELS.iter().chain(&LEGACY_LABELS).for_each(|label| {
            labels.remove(*label);
        });
    }
    object
}

/// Something that somebody does to a line of a file.
#[derive(Debug, Clone)]
struct Damage {
    file: Index,
    line: Index,
    kind: DamageKind,
}

#[derive(Debug, Clone)]
enum DamageKind {
    Delete,
    Double,
    CutOff,
    Indent,
    /// Another value for the line's key.
    Value(&'static str),
    Insert(String),
    Character(Index, char),
}

fn damage() -> impl Strategy<Value = Damage> {
    let values = vec![
        "",
        "null",
        "-1",
        "[]",
        "{}",
        "[[",
        "99999999999999999999",
        "1e400",
        "\"\\0\"",
        "../../x",
        "a/b",
        ".",
        "&a",
        "*a",
        "!!binary x",
        "|",
        "\"\u{202e}\"",
        "true",
        "{a: &x [*x]}",
        "'",
        "0x1f",
        "~",
        ".inf",
        "A_B",
    ];
    let kind = prop_oneof![
        1 => Just(DamageKind::Delete),
        1 => Just(DamageKind::Double),
        1 => Just(DamageKind::CutOff),
        1 => Just(DamageKind::Indent),
        5 => proptest::sample::select(values).prop_map(DamageKind::Value),
        1 => any::<String>().prop_map(DamageKind::Insert),
        2 => (any::<Index>(), any::<char>()).prop_map(|(at, with)| DamageKind::Character(at, with)),
    ];
    (any::<Index>(), any::<Index>(), kind).prop_map(|(file, line, kind)| Damage {
        file,
        line,
        kind,
    })
}

impl Damage {
    fn to_some_file_below(&self, repo: &std::path::Path) {
        let files: Vec<_> = walkdir::WalkDir::new(repo)
            .sort_by_file_name()
            .into_iter()
            .map(Result::unwrap)
            .filter(|entry| entry.file_type().is_file())
            .collect();
        let path = self.file.get(&files).path();
        let text = fs::read_to_string(path).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        if lines.is_empty() {
            return;
        }
        let at = self.line.index(lines.len());
        match &self.kind {
            DamageKind::Delete => {
                lines.remove(at);
            }
            DamageKind::Double => lines.insert(at, lines[at].clone()),
            DamageKind::CutOff => lines.truncate(at),
            DamageKind::Indent => lines[at].insert(0, ' '),
            DamageKind::Value(value) => {
                let key = lines[at].split_once(':').map_or("key", |(key, _)| key);
                lines[at] = format!("{key}: {value}");
            }
            DamageKind::Insert(text) => lines.insert(at, text.clone()),
            DamageKind::Character(place, with) => {
                let mut characters: Vec<char> = lines[at].chars().collect();
                if !characters.is_empty() {
                    *place.get_mut(&mut characters) = *with;
                }
                lines[at] = characters.into_iter().collect();
            }
        }
        fs::write(path, lines.join("\n") + "\n").unwrap();
    }
}
