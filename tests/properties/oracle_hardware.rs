//! Hardware in the model of `oracle`: which hosts suffice, and that the smallest of them are taken.

use std::collections::BTreeSet;

use camino::Utf8Path;
use proptest::prelude::*;
use sipgen::input::load::Files;
use sipgen::{Options, generate};
use tempfile::TempDir;

use super::oracle::{Host, NodeSet, ROLES, clusters, hosts, write_repo};

/// Numbers of CPUs, of disks of type NVME and of other disks: what a host has, or what a node set requires.
#[derive(Debug, Clone, Copy)]
pub struct Hardware {
    cpus: u8,
    nvme: u8,
    disks: u8,
}

impl Hardware {
    /// Whether a host has enough. Disks of type NVME may serve as others, but only once.
    pub fn suffices(self, host: Option<Self>) -> bool {
        host.is_some_and(|host| {
            host.cpus >= self.cpus
                && host.nvme >= self.nvme
                && host.nvme + host.disks >= self.nvme + self.disks
        })
    }

    fn size(self) -> (u8, u8) {
        (self.cpus, self.nvme + 4 * self.disks)
    }

    /// The field of the status of a host.
    pub fn status(self) -> String {
        let nvme = vec!["{type: NVME, sizeBytes: 1000000000}"; self.nvme.into()];
        let disks = vec!["{type: HDD, sizeBytes: 4000000000}"; self.disks.into()];
        let disks = [nvme, disks].concat().join(", ");
        format!(", hardware: {{cpu: {{count: {}}}, storage: [{disks}]}}", self.cpus)
    }

    /// The hardware of words such as `8 CPUs, 1 disk, 2 NVME disks`.
    pub fn described(words: &str) -> Option<Self> {
        let mut hardware = Self { cpus: 0, nvme: 0, disks: 0 };
        for part in words.split(", ").filter(|part| !part.is_empty()) {
            let (count, noun) = part.split_once(' ').unwrap();
            let field = match noun {
                "CPUs" | "CPU" => &mut hardware.cpus,
                "NVME disk" | "NVME disks" => &mut hardware.nvme,
                "disk" | "disks" => &mut hardware.disks,
                other => panic!("{other}"),
            };
            *field = count.parse().unwrap();
        }
        (!words.is_empty()).then_some(hardware)
    }

    /// The field of a node set.
    pub fn request(self) -> String {
        let entry =
            |count: u8, kind: &str| (count > 0).then(|| format!("{{count: {count}{kind}}}"));
        let entries = [entry(self.disks, ""), entry(self.nvme, ", type: NVME")];
        let entries: Vec<String> = entries.into_iter().flatten().collect();
        format!("hardware: {{cpu: {{count: {}}}, storage: [{}]}}, ", self.cpus, entries.join(", "))
    }
}

pub fn hardware() -> impl Strategy<Value = Hardware> + Clone {
    let numbers = (prop::sample::select(vec![4, 8, 16]), 0..3_u8, 0..2_u8);
    numbers.prop_map(|(cpus, nvme, disks)| Hardware { cpus, nvme, disks })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Beside crossing keys and required constraints it is not promised.
    #[test]
    fn the_smallest_sufficient_hosts_of_a_rack_are_taken(hosts in hosts(), mut clusters in clusters()) {
        for set in clusters.iter_mut().flat_map(|cluster| cluster.node_sets.iter_mut().flatten()) {
            (set.skew, set.in_one_rack, set.by_feed) = (None, false, false);
        }
        let directory = TempDir::new().unwrap();
        let root = Utf8Path::from_path(directory.path()).unwrap();
        write_repo(root, &hosts, &clusters, &[]);
        let options = Options { keep_going: true, ..Options::default() };
        let generated = generate(&Files::on_disk(root), &options, &|_| {}).unwrap();

        let number = |host: usize| -> usize {
            generated.site.inventory.hosts[host].key.name.as_str()[1..].parse().unwrap()
        };
        let placements = generated.plan.clusters.iter().flat_map(|(key, placement)| {
            placement.iter().map(move |(part, assigned)| (key, part, assigned))
        });
        let used: BTreeSet<usize> = placements
            .clone()
            .flat_map(|(.., assigned)| assigned.iter().map(|assigned| number(assigned.host)))
            .collect();
        for (key, part, assigned) in placements {
            let cluster: usize = key.name.as_str()[1..].parse().unwrap();
            let role = ROLES.iter().position(|name| *name == part.role.as_str()).unwrap();
            let set: &NodeSet = clusters[cluster].node_sets[role].as_ref().unwrap();
            let size = |host: &Host| host.hardware.map(Hardware::size);
            for own in assigned.iter().filter(|_| set.hardware.is_some()) {
                let own = &hosts[number(own.host)];
                let is_better = |other: &Host| {
                    other.rack == own.rack && set.matches(other) && other.is_for(cluster) && size(other) < size(own)
                };
                let free = hosts.iter().enumerate().filter(|(other, _)| !used.contains(other));
                let better: Vec<(usize, &Host)> = free.filter(|(_, other)| is_better(other)).collect();
                prop_assert!(better.is_empty(), "{own:?} {better:?}");
            }
        }
    }
}
