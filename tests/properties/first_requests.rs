//! An example of a request that says that hosts are free finds a placement on them.

use proptest::prelude::*;
use sipgen::input::load::Files;
use sipgen::setup::example::{Example, Fit};
use sipgen::site::inventory::hardware::HardwareByHost;
use sipgen::{GeneratedSite, Options, generate};

const KEYS: [&str; 5] = [
    "example.com/rack",
    "topology.example.com/rack",
    "topology.kubernetes.io/zone",
    "example.com/role",
    "flavor",
];
const VALUES: [&str; 8] =
    ["r1", "r2", "r3", "", "on", "worker", "control-plane", "controller-worker"];

#[derive(Debug, Clone)]
struct Host {
    namespace: &'static str,
    labels: Vec<(&'static str, &'static str)>,
    /// Fields of the spec that say who uses it.
    usage: &'static str,
}

fn host() -> impl Strategy<Value = Host> {
    let label = (proptest::sample::select(&KEYS[..]), proptest::sample::select(&VALUES[..]));
    let usage = prop_oneof![
        5 => Just(""),
        1 => Just("  consumerRef: {kind: Metal3Machine, name: other, namespace: metal}\n"),
        1 => Just("  externallyProvisioned: true\n"),
    ];
    (prop_oneof![Just("metal"), Just("tenant-a")], prop::collection::vec(label, 0..4), usage)
        .prop_map(|(namespace, labels, usage)| Host { namespace, labels, usage })
}

fn inventory(hosts: &[Host]) -> String {
    let manifest = |(index, host): (usize, &Host)| {
        let mut keys = std::collections::BTreeMap::new();
        keys.extend(host.labels.iter().copied());
        let labels: String =
            keys.iter().map(|(key, value)| format!("    {key}: \"{value}\"\n")).collect();
        format!(
            "---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata:\n  name: h{index}\n  \
             namespace: {}\n  labels:\n    any: \"\"\n{labels}spec:\n  online: true\n{}",
            host.namespace, host.usage
        )
    };
    hosts.iter().enumerate().map(manifest).collect()
}

fn generated(files: &[(&str, &str)]) -> GeneratedSite {
    let files = files.iter().map(|(path, text)| ((*path).into(), text.as_bytes().to_vec()));
    let options = Options { allow_empty: true, ..Options::default() };
    generate(&Files::in_memory(files), &options, &|_| {}).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn examples_find_a_placement(hosts in prop::collection::vec(host(), 0..12)) {
        let inventory = inventory(&hosts);
        let files = [("hosts/kustomization.yaml", "resources: [hosts.yaml]\n"), ("hosts/hosts.yaml", inventory.as_str())];
        let fit = Fit::new(&generated(&files), &HardwareByHost::new());
        for example in [Example::Sipcluster, Example::ClusterApi] {
            let manifest = example.manifest(&fit).unwrap();
            let is_free = hosts.iter().any(|host| host.usage.is_empty());
            prop_assert_eq!(manifest.lines().next().unwrap().contains("free in `"), is_free, "{}", manifest);
            let all = [&files[..], &[("edge.yaml", manifest.as_str())]].concat();
            let generated = generated(&all);
            let errors: Vec<_> = generated.findings.iter().filter(|finding| finding.is_error()).collect();
            let is_placed = errors.is_empty() && generated.changes.is_some();
            prop_assert_eq!(is_placed, is_free, "{:?}\n{}\n{}", errors, manifest, inventory);
            if is_placed {
                prop_assert_eq!(generated.plan.clusters.len(), 1, "{}", manifest);
                prop_assert!(generated.plan.clusters.values().all(|placement| placement.iter().count() > 0));
            }
        }
    }
}
