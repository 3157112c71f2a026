//! Documents of every depth, of everything that YAML and JSON nest: every parser and every lookup of a position ends,
//! on the stack that threads have.

use crate::targets::ALL;

/// The stack of a worker of rayon. An overflow aborts the test's process.
const STACK: usize = 2 << 20;

const HOST: &str = "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {name: No_Name, namespace: metal}\n";
const CLUSTER: &str = "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {name: No_Name, namespace: metal}\n";
const PROVISIONING: &str =
    "apiVersion: bpa.akraino.org/v1alpha1\nkind: Provisioning\nmetadata: {name: No_Name}\n";

/// A field with something nested in it, of every kind of nesting.
fn nested(key: &str, depth: usize) -> Vec<String> {
    let of = |open: &str, inner: &str, close: &str| {
        format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
    };
    let steps = |line: &str| -> String {
        (0..depth).map(|level| format!("{}{line}\n", " ".repeat(level + 1))).collect()
    };
    let aliases: String = (1..depth.min(300))
        .map(|level| format!("  a{level}: &a{level} [*a{}]\n", level - 1))
        .collect();
    vec![
        format!("{key}:\n{}x\n", "- ".repeat(depth)),
        format!("{key}:\n{}\n", "- ".repeat(depth)),
        format!("{key}:\n{}x\n", "? ".repeat(depth)),
        format!("{key}:\n{}x\n", "- ? ".repeat(depth)),
        format!("{key}:\n{}", steps("a:")),
        format!("{key}:\n{}", steps("-")),
        format!("{key}:\n- a:\n  {}x: y\n", "- ".repeat(depth)),
        format!("{key}: {}\n", of("[", "x", "]")),
        format!("{key}: {}\n", of("[", "x", "")),
        format!("{key}: {}\n", of("{a: ", "x", "}")),
        format!("{key}: {}\n", of("[a: {", "x", "}]")),
        format!("{key}: {}\n", of("{? [", "x", "]}")),
        format!("{key}: {}x\n", "!t ".repeat(depth)),
        format!("{key}:\n  a0: &a0 x\n{aliases}"),
    ]
}

fn on_small_stack(run: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .stack_size(STACK)
            .spawn_scoped(scope, run)
            .unwrap()
            .join()
            .unwrap();
    });
}

fn json(depth: usize) -> [String; 3] {
    let of = |open: &str, inner: &str, close: &str| {
        format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
    };
    [
        format!("{{\"kind\": \"BareMetalHost\", \"a\": {}}}", of("[", "1", "]")),
        format!("{{\"kind\": \"BareMetalHost\", \"a\": {}}}", of("{\"a\": ", "1", "}")),
        of("{\"kind\": \"List\", \"items\": [", "{\"kind\": \"BareMetalHost\"}", "]}"),
    ]
}

#[test]
fn every_depth_is_cut_parsed_and_looked_up() {
    let (_, documents) = ALL.iter().find(|(name, _)| *name == "documents").unwrap();
    on_small_stack(|| {
        for depth in (1..300).step_by(9).chain((300..2_000).step_by(170)).chain([2_000, 100_000]) {
            // Lines that are indented so deep are many megabytes.
            let fields =
                if depth > 2_000 { nested("status", 2_000) } else { nested("status", depth) };
            for field in fields {
                documents(format!("{HOST}{field}").as_bytes());
            }
            for text in json(depth) {
                documents(text.as_bytes());
            }
        }
    });
}

#[test]
fn every_parser_and_every_finding_ends() {
    for (name, target) in ALL {
        let head = match name {
            "sip_cluster" => CLUSTER,
            "provisioning" => PROVISIONING,
            "bare_metal_host" | "generated_hosts" => HOST,
            "agent_objects" => {
                "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a}\n"
            }
            "documents" | "ssh_key" | "bmc_address" => continue,
            _ => "",
        };
        let keys: &[&str] = match name {
            "kustomization" => &["resources"],
            "settings" => &["findings"],
            "label_selector" => &["matchLabels"],
            "network_data" => &["networks"],
            "bare_metal_host" => &["status", "spec"],
            _ => &["spec"],
        };
        on_small_stack(|| {
            for depth in [1, 130, 253, 1_001] {
                for text in keys.iter().flat_map(|key| nested(key, depth)) {
                    target(format!("{head}{text}").as_bytes());
                }
                for text in json(depth) {
                    target(text.as_bytes());
                }
            }
        });
    }
}
