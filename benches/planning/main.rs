//! How long planning alone takes, without parsing and writing, held against the parsing of the inventory.
//!
//! `cargo bench --bench planning` prints a table; `benches/README.md` says what is in it.

// The table is this program's result, and there is no other way to hand it over.
#![allow(clippy::print_stdout, clippy::print_stderr)]

#[path = "../site/objects.rs"]
#[allow(dead_code, reason = "shared with the benchmark of whole sites, which uses more of it")]
mod objects;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::hint::black_box;
use std::io;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use camino::Utf8Path;
use serde::Deserialize;
use sipgen::base::api::host::BareMetalHost;
use sipgen::input::load::Files;
use sipgen::input::settings::Settings;
use sipgen::plan::{PlanChanges, plan};
use sipgen::site::Site;

const HOSTS_PER_RACK: usize = 20;
const ROUNDS: usize = 5;

fn main() -> ExitCode {
    // Without `--bench` these are the arguments of `cargo test`, which only wants to know that this compiles.
    if !std::env::args().any(|argument| argument == "--bench") {
        return ExitCode::SUCCESS;
    }
    match measure() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A site to plan.
struct Case {
    name: String,
    hosts: String,
    clusters: String,
    /// How many errors the plan has.
    errors: usize,
    /// Number of hosts whose parsing is the row's measure; the rows that have one are compared with each other.
    parsed: Option<usize>,
}

impl Case {
    fn new(name: impl Into<String>, hosts: String, clusters: String) -> Self {
        let name = name.into();
        Self { name, hosts, clusters, errors: 0, parsed: None }
    }
}

fn measure() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let large = arguments.iter().any(|argument| argument == "--large");
    let only = arguments.iter().find(|argument| !argument.starts_with("--"));
    println!("{:<34} {:>10} {:>18} {:>10}", "site", "parsing", "planning", "10 x size");
    let scales = [1_000, 10_000, 100_000, 1_000_000];
    let scales = &scales[..if large { 4 } else { 3 }];
    // A case is made when its turn comes, because the text of the largest site takes a gigabyte.
    let mut cases: Vec<(bool, Box<dyn Fn() -> Case>)> = Vec::new();
    for &hosts in scales {
        let clusters = hosts / 50;
        let case = move || Case {
            parsed: Some(hosts),
            ..Case::new(
                format!("{hosts} hosts, {clusters} clusters"),
                competing_hosts(hosts),
                competing_clusters(clusters, hosts),
            )
        };
        cases.push((hosts > 1_000, Box::new(case)));
    }
    for &hosts in scales {
        let count = hosts / 50;
        let case = move || {
            let name = format!("{hosts} hosts, {} machines", count * MACHINES);
            Case::new(name, machines(hosts), provisionings(count))
        };
        cases.push((hosts > 1_000, Box::new(case)));
    }
    for &hosts in scales {
        let clusters = hosts / 20;
        let case = move || Case {
            errors: 2 * clusters,
            ..Case::new(
                format!("{hosts} hosts, {clusters} starved"),
                competing_hosts(hosts),
                starved_clusters(clusters, hosts),
            )
        };
        cases.push((hosts > 1_000, Box::new(case)));
    }
    let length = 2_000;
    cases.push((
        false,
        Box::new(move || {
            let name = format!("a chain of {length} clusters");
            Case::new(name, chain_hosts(length), chain_clusters(length))
        }),
    ));
    for (hosts, clusters, wanted, keys) in [
        (5_000, 200, 24, "rack, feed"),
        (30_000, 10_000, 3, "rack, feed"),
        (500, 20, 20, "rack, feed, switch"),
    ] {
        let case = move || {
            Case::new(
                format!("{hosts} hosts, {clusters} by {keys}"),
                crossing_hosts(hosts),
                crossing_clusters(clusters, wanted, keys),
            )
        };
        cases.push((false, Box::new(case)));
    }
    let mut smaller: Option<Duration> = None;
    for (has_smaller, case) in cases {
        let case = case();
        if only.is_some_and(|only| !case.name.contains(only.as_str())) {
            continue;
        }
        let planning = planning(&case.hosts, &case.clusters, case.errors)?;
        let parsing = match case.parsed.filter(|_| only.is_none()) {
            Some(hosts) => {
                let parsing = parsing(hosts)?.as_secs_f64();
                format!(
                    "{parsing:>8.2} s {:>8.4} s ({:.2}x)",
                    planning.as_secs_f64(),
                    planning.as_secs_f64() / parsing
                )
            }
            None => format!("{:>10} {:>8.4} s        ", "", planning.as_secs_f64()),
        };
        let growth = smaller.filter(|_| has_smaller).map_or("-".to_owned(), |smaller| {
            format!("{:.1}x", planning.as_secs_f64() / smaller.as_secs_f64())
        });
        println!("{:<34} {parsing} {growth:>9}", case.name);
        smaller = Some(planning);
    }
    Ok(())
}

/// Merely deserialising hosts with a full status, on one thread.
fn parsing(hosts: usize) -> io::Result<Duration> {
    #[derive(Deserialize)]
    struct List {
        items: Vec<BareMetalHost>,
    }
    let mut total = Duration::ZERO;
    for rack in 0..hosts / HOSTS_PER_RACK {
        let mut text = b"items:\n".to_vec();
        for host in 0..HOSTS_PER_RACK {
            objects::Host::new(rack * HOSTS_PER_RACK + host).write_manifest(&mut text)?;
        }
        let text = String::from_utf8(text).map_err(io::Error::other)?;
        let start = Instant::now();
        let list: List = yaml_serde::from_str(&text).map_err(io::Error::other)?;
        total += start.elapsed();
        black_box(list.items);
    }
    Ok(total)
}

/// Plans a site of these documents; the median of several rounds.
fn planning(hosts: &str, clusters: &str, errors: usize) -> io::Result<Duration> {
    let directory = tempfile::tempdir()?;
    let root =
        Utf8Path::from_path(directory.path()).ok_or_else(|| io::Error::other("not UTF-8"))?;
    fs::create_dir(root.join("hosts"))?;
    fs::write(root.join("hosts/hosts.yaml"), hosts)?;
    fs::write(root.join("hosts/kustomization.yaml"), "resources: [hosts.yaml]\n")?;
    fs::write(root.join("clusters.yaml"), clusters)?;
    let (site, found) =
        Site::read(&Files::on_disk(root), Settings::default()).map_err(io::Error::other)?;
    if let Some(finding) = found.iter().find(|finding| finding.is_error()) {
        return Err(io::Error::other(finding.message.clone()));
    }
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let (plan, found) = plan(&site, &BTreeSet::new(), &BTreeSet::new(), PlanChanges::default());
        times.push(start.elapsed());
        if found.iter().filter(|finding| finding.is_error()).count() != errors {
            return Err(io::Error::other("the plan is not what it should be"));
        }
        black_box(plan);
    }
    times.sort();
    Ok(times[ROUNDS / 2])
}

/// How many machines a Provisioning asks for: some by their MAC addresses, the others by what they have.
const MACHINES: usize = 40;

/// Hosts of five sizes; of fifty in a row, the first ten are named by a Provisioning.
fn machines(hosts: usize) -> String {
    let mut text = String::new();
    for host in 0..hosts {
        let (cpu, memory) =
            [(16, 65_536), (32, 131_072), (48, 131_072), (64, 262_144), (96, 524_288)][host % 5];
        push_host(
            &mut text,
            &format!("h{host}"),
            &format!("bpa.akraino.org/sriov: \"{}\"", host % 3 == 0),
        );
        let _ = write!(
            text,
            "status:\n  provisioning: {{state: provisioned}}\n  hardware:\n    cpu: {{count: {cpu}}}\n    ramMebibytes: \
             {memory}\n    nics: [{{mac: \"{}\", ip: \"{}\"}}]\n",
            mac(host),
            std::net::Ipv4Addr::from_bits(0x0a00_0001 + u32::try_from(host).unwrap_or_default())
        );
    }
    text
}

fn mac(host: usize) -> String {
    format!("52:54:00:{:02x}:{:02x}:{:02x}", host >> 16 & 0xff, host >> 8 & 0xff, host & 0xff)
}

/// Provisionings of ten named machines and thirty of several sizes.
fn provisionings(count: usize) -> String {
    let mut text = String::new();
    for number in 0..count {
        let _ = write!(
            text,
            "---\napiVersion: bpa.akraino.org/v1alpha1\nkind: Provisioning\nmetadata: {{name: p{number}, namespace: \
             tenants, labels: {{cluster: c{number}}}}}\nspec:\n  masters:\n"
        );
        for machine in 0..MACHINES {
            if machine == 3 {
                text.push_str("  workers:\n");
            }
            let asked = match machine {
                0..10 => format!("mac-address: \"{}\"", mac(number * 50 + machine)),
                10..20 => format!("cpu: {}, sriov: true", [8, 32][machine % 2]),
                _ => {
                    format!("cpu: {}, memory: {}Gi", [1, 16, 40][machine % 3], [8, 64][machine % 2])
                }
            };
            let _ = writeln!(text, "  - m{machine}: {{{asked}}}");
        }
    }
    text
}

fn push_host(text: &mut String, name: &str, labels: &str) {
    let _ = write!(
        text,
        "---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata:\n  name: {name}\n  namespace: metal\n  \
         labels: {{{labels}}}\nspec: {{}}\n"
    );
}

fn push_cluster(text: &mut String, name: &str, nodes: &str) {
    let _ = write!(
        text,
        "---\napiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {{name: {name}, namespace: tenants}}\n\
         spec:\n  nodes:\n{nodes}"
    );
}

fn node_set(role: &str, selector: &str, topology: &str, count: usize) -> String {
    format!(
        "    {role}: {{labelSelector: {selector}{topology}, count: {{active: {count}, standby: 1}}}}\n"
    )
}

/// Hosts of two flavors, half of them with fast disks, every tenth with a GPU, fifty racks a zone.
fn competing_hosts(hosts: usize) -> String {
    let mut text = String::new();
    for host in 0..hosts {
        let (rack, slot) = (host / HOSTS_PER_RACK, host % HOSTS_PER_RACK);
        let flavor = if slot < 4 { "control-plane" } else { "worker" };
        let disk = if slot.is_multiple_of(2) { "ssd" } else { "hdd" };
        let gpu = if slot % 10 == 7 { ", gpu: a" } else { "" };
        let labels =
            format!("flavor: {flavor}, disk: {disk}, rack: r{rack}, zone: z{}{gpu}", rack / 50);
        push_host(&mut text, &format!("r{rack}s{slot}"), &labels);
    }
    text
}

/// Clusters of twenty hosts whose selectors overlap: what a broad one takes, a narrow one may need.
fn competing_clusters(clusters: usize, hosts: usize) -> String {
    let zones = hosts.div_ceil(50 * HOSTS_PER_RACK);
    let mut text = String::new();
    for cluster in 0..clusters {
        let zone = cluster % zones;
        let workers = match cluster % 5 {
            0 => "{matchExpressions: [{key: flavor, operator: Exists}]}".to_owned(),
            1 => "{matchLabels: {flavor: worker}}".to_owned(),
            2 => "{matchLabels: {flavor: worker, disk: ssd}}".to_owned(),
            3 => "{matchLabels: {flavor: worker}, matchExpressions: [{key: gpu, operator: DoesNotExist}]}".to_owned(),
            _ => format!("{{matchLabels: {{zone: z{zone}}}, matchExpressions: [{{key: gpu, operator: Exists}}]}}"),
        };
        let count = if cluster % 5 == 4 { 3 } else { 16 };
        let nodes = node_set(
            "ControlPlane",
            "{matchLabels: {flavor: control-plane}}",
            ", topologyKey: rack",
            2,
        ) + &node_set("Worker", &workers, "", count);
        push_cluster(&mut text, &format!("c{cluster:05}"), &nodes);
    }
    text
}

/// Clusters that ask for more than there is, every one of them.
fn starved_clusters(clusters: usize, hosts: usize) -> String {
    let mut text = String::new();
    for cluster in 0..clusters {
        let nodes = node_set(
            "ControlPlane",
            "{matchLabels: {flavor: control-plane}}",
            ", topologyKey: rack",
            hosts / 2,
        ) + &node_set("Worker", "{matchLabels: {flavor: worker}}", "", hosts * 2);
        push_cluster(&mut text, &format!("c{cluster:05}"), &nodes);
    }
    text
}

/// Racks of twenty hosts, whose power feeds and switches go across the racks.
fn crossing_hosts(hosts: usize) -> String {
    let mut text = String::new();
    for host in 0..hosts {
        let rack = host / HOSTS_PER_RACK;
        let (feed, switch) = ((host * 7 + rack * 3) % 60, (host * 11 + rack * 5) % 40);
        push_host(
            &mut text,
            &format!("h{host}"),
            &format!("rack: r{rack}, feed: f{feed}, switch: s{switch}"),
        );
    }
    text
}

/// Clusters whose hosts are to be apart by all of these keys.
fn crossing_clusters(clusters: usize, wanted: usize, keys: &str) -> String {
    let mut text = String::new();
    for cluster in 0..clusters {
        let nodes = node_set("Worker", "{}", &format!(", topologyKeys: [{keys}]"), wanted - 1);
        push_cluster(&mut text, &format!("c{cluster:05}"), &nodes);
    }
    text
}

/// One host for each link of a chain.
fn chain_hosts(length: usize) -> String {
    let mut text = String::new();
    (0..length)
        .for_each(|link| push_host(&mut text, &format!("h{link}"), &format!("link: l{link}")));
    text
}

/// Every cluster can use the host of its link and the next one, and takes the first; the last cluster can use the
/// first host only, so that all others have to move on by one.
fn chain_clusters(length: usize) -> String {
    let mut text = String::new();
    for link in 0..length {
        let links =
            if link + 1 == length { "l0".to_owned() } else { format!("l{link}, l{}", link + 1) };
        let selector =
            format!("{{matchExpressions: [{{key: link, operator: In, values: [{links}]}}]}}");
        let nodes = format!(
            "    Worker: {{labelSelector: {selector}, count: {{active: 1, standby: 0}}}}\n"
        );
        push_cluster(&mut text, &format!("c{link:05}"), &nodes);
    }
    text
}
