//! Machines of Provisionings beside the node sets of SIPClusters: a placement is found exactly when there is one, each
//! machine has what it asks for, and none has a larger host than it need have. Held against an oracle that tries every
//! way.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;

use camino::Utf8Path;
use proptest::prelude::*;
use sipgen::input::load::Files;
use sipgen::{GeneratedSite, Options, generate};
use tempfile::TempDir;

const FLAVOR: &str = "example.com/flavor";

#[derive(Debug, Clone)]
struct Host {
    flavor: u8,
    cpu: u64,
    memory_gib: u64,
    sriov: bool,
    qat: bool,
    has_address: bool,
    state: State,
    has_avx: bool,
}

/// What Metal3 says about the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Available,
    Provisioned,
    Unknown,
}

/// What one unit of a request wants: any host of a flavor, or a machine.
#[derive(Debug, Clone)]
enum Wanted {
    Any { flavor: Option<u8> },
    Named(usize),
    Machine { cpu: u64, memory_gib: u64, sriov: bool, qat: bool, avx: bool, flavor: Option<u8> },
}

#[derive(Debug, Clone)]
enum Request {
    SipCluster { priority: i8, flavor: Option<u8>, count: usize },
    Provisioning { priority: i8, machines: Vec<Wanted> },
}

impl Request {
    fn priority(&self) -> i8 {
        match self {
            Request::SipCluster { priority, .. } | Request::Provisioning { priority, .. } => {
                *priority
            }
        }
    }

    fn wanted(&self) -> Vec<Wanted> {
        match self {
            Request::SipCluster { flavor, count, .. } => {
                vec![Wanted::Any { flavor: *flavor }; *count]
            }
            Request::Provisioning { machines, .. } => machines.clone(),
        }
    }
}

impl Host {
    fn suffices(&self, index: usize, wanted: &Wanted) -> bool {
        let is_of = |flavor: &Option<u8>| flavor.is_none_or(|flavor| flavor == self.flavor);
        match wanted {
            Wanted::Any { flavor } => self.state != State::Provisioned && is_of(flavor),
            Wanted::Named(named) => *named == index && self.state != State::Available,
            Wanted::Machine { cpu, memory_gib, sriov, qat, avx, flavor } => {
                self.state == State::Provisioned
                    && self.has_address
                    && self.cpu >= *cpu
                    && self.memory_gib >= *memory_gib
                    && (self.sriov || !sriov)
                    && (self.qat || !qat)
                    && (self.has_avx || !avx)
                    && is_of(flavor)
            }
        }
    }

    fn size(&self, sriov: bool, qat: bool) -> (usize, u64, u64) {
        let unasked = usize::from(self.sriov && !sriov) + usize::from(self.qat && !qat);
        (unasked, self.cpu, self.memory_gib)
    }
}

fn hosts() -> impl Strategy<Value = Vec<Host>> {
    let sizes = (prop::sample::select(vec![4_u64, 8, 16]), prop::sample::select(vec![16_u64, 64]));
    let devices = (prop::bool::weighted(0.3), prop::bool::weighted(0.3));
    let host = (
        0..2_u8,
        sizes,
        devices,
        prop::bool::weighted(0.9),
        prop_oneof![
            5 => Just(State::Provisioned),
            4 => Just(State::Available),
            1 => Just(State::Unknown),
        ],
        prop::bool::weighted(0.6),
    )
        .prop_map(|(flavor, (cpu, memory_gib), (sriov, qat), has_address, state, has_avx)| Host {
            flavor,
            cpu,
            memory_gib,
            sriov,
            qat,
            has_address,
            state,
            has_avx,
        });
    prop::collection::vec(host, 1..=7)
}

fn requests() -> impl Strategy<Value = Vec<Request>> {
    let flavor = || prop::option::weighted(0.4, 0..2_u8);
    let asked =
        (prop::sample::select(vec![1_u64, 4, 8, 16]), prop::sample::select(vec![1_u64, 16, 64]));
    let devices = (prop::bool::weighted(0.2), prop::bool::weighted(0.2), prop::bool::weighted(0.3));
    let machine =
        (asked, devices, flavor()).prop_map(|((cpu, memory_gib), (sriov, qat, avx), flavor)| {
            Wanted::Machine { cpu, memory_gib, sriov, qat, avx, flavor }
        });
    let machine = prop_oneof![3 => machine, 1 => (0..7_usize).prop_map(Wanted::Named)];
    let provisioning = (-1..2_i8, prop::collection::vec(machine, 1..=4))
        .prop_map(|(priority, machines)| Request::Provisioning { priority, machines });
    let cluster = (-1..2_i8, flavor(), 0..4_usize)
        .prop_map(|(priority, flavor, count)| Request::SipCluster { priority, flavor, count });
    prop::collection::vec(prop_oneof![2 => provisioning, 1 => cluster], 1..=3)
}

/// Leaves out what is a mistake by itself: a name of no host, of one without an address, and one twice.
fn without_mistakes(hosts: &[Host], requests: Vec<Request>) -> Vec<Request> {
    let valid = |request: Request| match request {
        Request::Provisioning { priority, mut machines } => {
            let mut named = BTreeSet::new();
            machines.retain(|machine| match machine {
                Wanted::Named(host) => {
                    hosts.get(*host).is_some_and(|host| host.has_address) && named.insert(*host)
                }
                _ => true,
            });
            (!machines.is_empty()).then_some(Request::Provisioning { priority, machines })
        }
        request => Some(request),
    };
    requests.into_iter().filter_map(valid).collect()
}

/// Whether hosts can be found for all units.
fn place(hosts: &[Host], units: &[Wanted], taken: &mut BTreeSet<usize>) -> bool {
    let Some((wanted, rest)) = units.split_first() else {
        return true;
    };
    for (index, host) in hosts.iter().enumerate() {
        if !host.suffices(index, wanted) || !taken.insert(index) {
            continue;
        }
        if place(hosts, rest, taken) {
            return true;
        }
        taken.remove(&index);
    }
    false
}

/// The requests that can be served: each exactly when it can be together with all that were accepted before it.
fn served(hosts: &[Host], requests: &[Request]) -> BTreeSet<usize> {
    let mut order: Vec<usize> = (0..requests.len()).collect();
    order.sort_by_key(|index| (-requests[*index].priority(), *index));
    let (mut accepted, mut served): (Vec<Wanted>, _) = (Vec::new(), BTreeSet::new());
    for index in order {
        let together: Vec<Wanted> =
            accepted.iter().cloned().chain(requests[index].wanted()).collect();
        if place(hosts, &together, &mut BTreeSet::new()) {
            accepted = together;
            served.insert(index);
        }
    }
    served
}

fn mac(host: usize) -> String {
    format!("52:54:00:00:00:{host:02x}")
}

fn write_repo(directory: &Utf8Path, hosts: &[Host], requests: &[Request]) {
    let mut text = String::new();
    for (index, host) in hosts.iter().enumerate() {
        let Host { flavor, cpu, memory_gib, sriov, qat, has_address, state, has_avx } = host;
        let flags = if *has_avx { "fpu, avx512f" } else { "fpu, avx512cd" };
        let (state, mib) = (
            match state {
                State::Provisioned => "provisioning: {state: provisioned}",
                State::Available => "provisioning: {state: available}",
                State::Unknown => "operationalStatus: OK",
            },
            memory_gib * 1024,
        );
        let address = if *has_address { format!("10.0.0.{}", index + 1) } else { String::new() };
        let _ = write!(
            text,
            "---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata:\n  name: h{index}\n  namespace: metal\n  \
             labels: {{{FLAVOR}: v{flavor}, bpa.akraino.org/sriov: \"{sriov}\", bpa.akraino.org/qat: \"{qat}\"}}\n\
             spec: {{}}\nstatus:\n  {state}\n  hardware:\n    cpu: {{count: {cpu}, flags: [{flags}]}}\n    \
             ramMebibytes: {mib}\n    nics: [{{mac: \"{}\", ip: \"{address}\"}}]\n",
            mac(index)
        );
    }
    let selector = |flavor: &Option<u8>| match flavor {
        Some(flavor) => format!("{{matchLabels: {{{FLAVOR}: v{flavor}}}}}"),
        None => "{}".to_owned(),
    };
    for (index, request) in requests.iter().enumerate() {
        let priority = request.priority();
        let annotations = format!("annotations: {{sip.airshipit.org/priority: \"{priority}\"}}");
        match request {
            Request::SipCluster { flavor, count, .. } => {
                let _ = write!(
                    text,
                    "---\napiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {{name: c{index}, namespace: t, \
                     {annotations}}}\nspec:\n  nodes:\n    Worker: {{labelSelector: {}, count: {{active: {count}, standby: \
                     0}}}}\n",
                    selector(flavor)
                );
            }
            Request::Provisioning { machines, .. } => {
                let _ = write!(
                    text,
                    "---\napiVersion: bpa.akraino.org/v1alpha1\nkind: Provisioning\nmetadata: {{name: p{index}, namespace: \
                     t, labels: {{cluster: c{index}}}, {annotations}}}\nspec:\n  masters:\n"
                );
                for (number, machine) in machines.iter().enumerate() {
                    if number == 1 {
                        text.push_str("  workers:\n");
                    }
                    let asked = match machine {
                        Wanted::Any { .. } => unreachable!("of SIPClusters only"),
                        Wanted::Named(host) => format!("mac-address: \"{}\"", mac(*host)),
                        Wanted::Machine { cpu, memory_gib, sriov, qat, avx, flavor } => format!(
                            "cpu: {cpu}, memory: {memory_gib}Gi, sriov: {sriov}, qat: {qat}, cpuFlags: [{}], labelSelector: {}",
                            if *avx { "avx512f" } else { "" },
                            selector(flavor)
                        ),
                    };
                    let _ = writeln!(text, "  - m{number}: {{{asked}}}");
                }
            }
        }
    }
    // Hosts of unknown state are free, too.
    fs::write(directory.join("sipgen.yaml"), "inventory: {mode: observed}\n").unwrap();
    fs::write(directory.join("site.yaml"), text).unwrap();
}

fn planned(root: &Utf8Path) -> GeneratedSite {
    let options = Options { keep_going: true, ..Options::default() };
    generate(&Files::on_disk(root), &options, &|_| {}).unwrap()
}

/// The hosts of every cluster that is served, by what they are for.
fn placed(generated: &GeneratedSite) -> BTreeMap<String, BTreeSet<(String, usize)>> {
    let index_of = |host: usize| {
        generated.site.inventory.hosts[host].key.name.as_str()[1..].parse::<usize>().unwrap()
    };
    let clusters = generated.plan.clusters.iter().map(|(key, placement)| {
        let hosts = placement.iter().flat_map(|(part, assigned)| {
            let name =
                part.node.as_ref().map_or_else(|| part.role.to_string(), ToString::to_string);
            assigned.iter().map(move |assigned| (name.clone(), index_of(assigned.host)))
        });
        (key.name.to_string(), hosts.collect())
    });
    clusters.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(700))]

    #[test]
    fn machines_and_node_sets_are_served_exactly_when_they_can_be(hosts in hosts(), requests in requests()) {
        let requests = without_mistakes(&hosts, requests);
        prop_assume!(!requests.is_empty());
        let directory = TempDir::new().unwrap();
        let root = Utf8Path::from_path(directory.path()).unwrap();
        write_repo(root, &hosts, &requests);

        let generated = planned(root);

        let errors = generated.findings.iter().filter(|finding| finding.is_error());
        let unserved: BTreeSet<String> = errors.flat_map(|error| &error.clusters).map(ToString::to_string).collect();
        let served = served(&hosts, &requests);
        let expected: BTreeSet<String> =
            (0..requests.len()).filter(|index| !served.contains(index)).map(|index| format!("t/c{index}")).collect();
        prop_assert_eq!(unserved, expected);

        let placed = placed(&generated);
        let taken: Vec<usize> = placed.values().flatten().map(|(_, host)| *host).collect();
        let different: BTreeSet<usize> = taken.iter().copied().collect();
        prop_assert_eq!(different.len(), taken.len(), "a host is taken twice");
        for index in served {
            let hosts_of = placed.get(&format!("c{index}")).cloned().unwrap_or_default();
            let wanted = requests[index].wanted();
            prop_assert_eq!(hosts_of.len(), wanted.len());
            for (name, host) in hosts_of {
                let number = name.strip_prefix('m').map_or(0, |number| number.parse().unwrap());
                prop_assert!(hosts[host].suffices(host, &wanted[number]), "{} has h{}", name, host);
                let Wanted::Machine { sriov, qat, .. } = wanted[number] else { continue };
                let smaller = hosts.iter().enumerate().find(|(other, spare)| {
                    !different.contains(other)
                        && spare.suffices(*other, &wanted[number])
                        && spare.size(sriov, qat) < hosts[host].size(sriov, qat)
                });
                prop_assert!(smaller.is_none(), "{} has h{}, and {:?} is smaller", name, host, smaller);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn more_hosts_and_more_requests_move_no_machine(
        mut hosts in hosts(), requests in requests(), more_hosts in hosts(), more_requests in requests(),
    ) {
        let mut requests = without_mistakes(&hosts, requests);
        prop_assume!(!requests.is_empty());
        let directory = TempDir::new().unwrap();
        let root = Utf8Path::from_path(directory.path()).unwrap();
        write_repo(root, &hosts, &requests);
        let generated = planned(root);
        sipgen::write(root, generated.changes.as_ref().unwrap()).unwrap();
        let before = placed(&generated);

        hosts.extend(more_hosts);
        requests.extend(without_mistakes(&hosts, more_requests));
        write_repo(root, &hosts, &requests);
        let after = placed(&planned(root));

        for (cluster, hosts) in &before {
            prop_assert_eq!(after.get(cluster), Some(hosts));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn other_names_move_no_machine(hosts in hosts(), requests in requests()) {
        let requests = without_mistakes(&hosts, requests);
        prop_assume!(!requests.is_empty());
        let directory = TempDir::new().unwrap();
        let root = Utf8Path::from_path(directory.path()).unwrap();
        write_repo(root, &hosts, &requests);
        let generated = planned(root);
        sipgen::write(root, generated.changes.as_ref().unwrap()).unwrap();
        let before = placed(&generated);

        let text = fs::read_to_string(root.join("site.yaml")).unwrap();
        fs::write(root.join("site.yaml"), text.replace("  - m", "  - renamed-m")).unwrap();
        let mut after = placed(&planned(root));

        for hosts in after.values_mut() {
            *hosts = std::mem::take(hosts).into_iter().map(|(name, host)| (name.replace("renamed-", ""), host)).collect();
        }
        for (cluster, hosts) in &before {
            prop_assert_eq!(after.get(cluster), Some(hosts));
        }
    }
}
