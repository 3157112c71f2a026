//! What a repo may hold without being refused: other tools' files, and every way in which YAML can be written.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::support::{Repo, assert_says};

const EDGE: &str = "sites/lab/clusters/edge.yaml";
const RACK_A: &str = "sites/lab/hosts/rack-a.yaml";
const RACKS: [&str; 3] = [RACK_A, "sites/lab/hosts/rack-b.yaml", "sites/lab/hosts/rack-c.yaml"];

const NO_CHANGES: &str = "1 cluster: 4 hosts assigned, 0 added, 0 released\nno file changes\n";

/// What `change` does to the input changes nothing in the output.
#[track_caller]
fn same_output(change: impl FnOnce(&Repo)) {
    assert_eq!(said_of(change), NO_CHANGES);
}

/// The same, with a warning.
#[track_caller]
fn same_output_but(warning: &str, change: impl FnOnce(&Repo)) {
    let said = said_of(change);
    assert!(said.ends_with(NO_CHANGES), "{said}");
    assert_says(&said, &[warning]);
}

/// What a second run says of a changed input, from which nothing may be stale.
#[track_caller]
fn said_of(change: impl FnOnce(&Repo)) -> String {
    let repo = Repo::generated("quickstart");
    change(&repo);
    repo.generate(&["--exit-code"]).expect(0).stderr
}

/// Writes every file of hosts anew.
fn rewrite_hosts(repo: &Repo, rewrite: impl Fn(&str) -> String) {
    for rack in RACKS {
        repo.write(rack, &rewrite(&repo.read(rack)));
    }
}

/// The objects of a file.
fn objects(text: &str) -> Vec<yaml_serde::Value> {
    crate::support::documents(text)
}

#[test]
fn helm_templates_that_look_like_ours() {
    same_output(|repo| {
        let host = "kind: BareMetalHost\nmetadata:\n  name: {{ .Values.name }}\n";
        repo.write(
            "charts/a/templates/host.yaml",
            &format!("apiVersion: metal3.io/v1alpha1\n{host}"),
        );
        repo.write(
            "charts/a/templates/hosts.yaml",
            &format!("{{{{- range .Values.hosts }}}}\n---\napiVersion: metal3.io/v1alpha1\n{host}{{{{- end }}}}\n"),
        );
        repo.write(
            "charts/a/templates/cluster.yaml",
            "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata:\n  name: \"{{ .Release.Name }}\"\nspec:\n  \
             nodes: \"{{ toYaml .Values.nodes }}\"\n",
        );
    });
}

#[test]
fn templates_with_braces_that_happen_to_be_yaml() {
    same_output(|repo| {
        repo.write(
            "skeleton/kustomization.yaml",
            "resources:\n  - host.yaml\nnamePrefix: {{ site }}\n",
        );
        repo.write(
            "charts/a/templates/host.yaml",
            "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata:\n  name: {{ name }}\n  labels: &labels {a: b}\n\
             spec:\n  unused: *labels\n",
        );
    });
}

#[test]
fn yaml_of_other_tools() {
    same_output(|repo| {
        repo.write("mkdocs.yaml", "theme: !!python/name:material.x\n");
        repo.write("broken.yaml", "a: [\n");
        repo.write("notes.yaml", "just a text about SIPCluster and BareMetalHost\n");
        repo.write("list.yaml", "- BareMetalHost\n- SIPCluster\n");
        repo.write("empty.yaml", "");
        repo.write("binary.yaml", "\u{0}\u{1}\u{2}");
        repo.write("crd.yaml", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec: {names: {kind: BareMetalHost}}\n");
        repo.write(
            "other.yaml",
            "apiVersion: example.com/v1\nkind: SIPCluster\nmetadata: {name: Not/Ours}\n",
        );
        repo.write("package.json", "{\"kind\": 1, \"description\": \"BareMetalHost\"}");
    });
}

#[test]
fn documents_of_comments_only() {
    same_output(|repo| {
        rewrite_hosts(repo, |text| {
            format!("# kind: BareMetalHost\n---\n# nothing\n---\n\n{text}\n---\n# {{\n---\n")
        });
    });
}

#[test]
fn line_ends_of_windows() {
    same_output(|repo| {
        rewrite_hosts(repo, |text| text.replace('\n', "\r\n"));
        repo.write(EDGE, &repo.read(EDGE).replace('\n', "\r\n"));
    });
}

#[test]
fn a_byte_order_mark() {
    same_output(|repo| {
        rewrite_hosts(repo, |text| format!("\u{feff}{text}"));
        repo.write(EDGE, &format!("\u{feff}{}", repo.read(EDGE)));
    });
}

#[test]
fn no_line_end_at_the_end() {
    same_output(|repo| rewrite_hosts(repo, |text| text.trim_end().to_owned()));
}

#[test]
fn mac_addresses_without_quotes() {
    same_output_but("warning[SIP0320]", |repo| {
        rewrite_hosts(repo, |text| {
            text.replace(
                "bootMACAddress: \"00:00:5e:00:53:15\"",
                "bootMACAddress: 52:54:00:12:34:56",
            )
        })
    });
}

/// Whether hosts with an unquoted label are found by a selector that has its value like this.
fn selected_by_label(label: &str, in_selector: &str) {
    let repo = Repo::generated("quickstart");
    rewrite_hosts(&repo, |text| {
        text.replace(
            "    topology.example.com/rack:",
            &format!("    example.com/x: {label}\n    topology.example.com/rack:"),
        )
    });
    let selector = "          hardware.example.com/flavor: control-plane\n";
    repo.replace(EDGE, selector, &format!("{selector}          example.com/x: {in_selector}\n"));
    repo.replace(EDGE, "active: 2", "active: 3");

    let run = repo.generate(&[]).expect(0);

    assert_says(&run.stderr, &["tenant-a/edge adds tenant-a/lab-c1"]);
}

#[test]
fn labels_that_look_like_other_types() {
    for value in ["yes", "on", "008", "8", "1e3", "0x1f", "true", "1.0"] {
        selected_by_label(value, &format!("\"{value}\""));
    }
}

#[test]
fn a_selector_whose_values_look_like_other_types() {
    for value in ["yes", "008", "8", "1e3", "true"] {
        selected_by_label(value, value);
    }
}

#[test]
fn anchors_and_merge_keys() {
    same_output(|repo| {
        rewrite_hosts(repo, |text| {
            let text = text.replace(
                "  bmc:\n",
                "  bmc: &bmc\n    <<: {disableCertificateVerification: true}\n",
            );
            text.replacen("  name: lab-", "  name: &name lab-", 1)
        });
    });
}

#[test]
fn anchors_beside_labels_that_look_like_other_types() {
    same_output_but("warning[SIP0320]", |repo| {
        rewrite_hosts(repo, |text| {
            let labels = "  labels: &labels\n    example.com/x: 008\n    example.com/y: 8\n    example.com/z: true\n";
            text.replace("  labels:\n", labels).replace("spec:\n", "spec:\n  unused: *labels\n")
        });
    });
}

#[test]
fn hosts_in_json() {
    same_output(|repo| {
        rewrite_hosts(repo, |text| {
            let items: Vec<serde_json::Value> = objects(text)
                .into_iter()
                .map(|object| serde_json::to_value(object).unwrap())
                .collect();
            serde_json::json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
        });
    });
}

#[test]
fn hosts_in_lists_and_lists_of_lists() {
    same_output(|repo| {
        rewrite_hosts(repo, |text| {
            let list = |items: Vec<yaml_serde::Value>| {
                let mut list: yaml_serde::Value =
                    yaml_serde::from_str("{apiVersion: v1, kind: List}").unwrap();
                list["items"] = items.into();
                list
            };
            let mut items = objects(text);
            let last = list(items.split_off(3));
            items.push(last);
            yaml_serde::to_string(&list(items)).unwrap()
        });
    });
}

#[test]
fn network_data_in_base64() {
    same_output(|repo| {
        rewrite_hosts(repo, |text| {
            let documents = objects(text).into_iter().map(|mut object| {
                if let Some(data) =
                    object.get("stringData").and_then(|data| data["networkData"].as_str())
                {
                    let encoded = BASE64_STANDARD.encode(data);
                    object["data"] =
                        yaml_serde::from_str(&format!("networkData: {encoded}")).unwrap();
                    object["stringData"] = yaml_serde::Value::Null;
                }
                yaml_serde::to_string(&object).unwrap()
            });
            documents.collect::<Vec<_>>().join("---\n")
        });
    });
}

#[test]
fn encrypted_secrets_that_nothing_needs() {
    same_output(|repo| {
        rewrite_hosts(repo, |text| {
            text.replace("tmD3Og==,iv:x", "Zm9v,iv:YQ==")
                .replace("RHVtbXkgdmFsdWU=,iv:x", "Zm9v,iv:YQ==")
        });
        repo.write(
            "secret.yaml",
            "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\ndata: ENC[x]\nsops: {mac: ENC[x]}\n",
        );
    });
}

#[test]
fn hosts_that_are_not_yet_registered() {
    same_output(|repo| {
        repo.write(
            "snapshot/new.yaml",
            "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {name: new, namespace: tenant-a, resourceVersion: '1'}\nspec: {online: true}\n",
        );
    });
}

#[test]
fn a_node_port_beside_a_range_of_them() {
    same_output(|repo| {
        repo.replace(
            EDGE,
            "        nodePortRange:\n",
            "        nodePort: 30022\n        nodePortRange:\n",
        )
    });
}

#[test]
fn what_the_operator_wrote_into_a_cluster() {
    same_output(|repo| {
        repo.replace(
            EDGE,
            "  name: edge\n",
            "  name: edge\n  generation: 3\n  resourceVersion: \"81\"\n",
        );
        let conditions = "status:\n  conditions:\n  - type: Ready\n    status: \"True\"\n    reason: ReconciliationSucceeded\n    observedGeneration: 3\n";
        repo.write(EDGE, &format!("{}{conditions}", repo.read(EDGE)));
    });
}

#[test]
fn kinds_that_are_like_ours_and_somebody_elses() {
    let crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: \
               sipclusters.airship.airshipit.org\nspec:\n  names:\n    kind: SIPcluster\n";
    let metal3 = [
        "HardwareData",
        "HostFirmwareSettings",
        "PreprovisioningImage",
        "BMCEventSubscription",
        "DataImage",
    ];
    let object = |api_version: &str, kind: &str| {
        format!(
            "apiVersion: {api_version}\nkind: {kind}\nmetadata:\n  name: other\n  namespace: tenant-a\n---\n"
        )
    };
    let mut others: String = metal3.iter().map(|kind| object("metal3.io/v1alpha1", kind)).collect();
    others.push_str(&object("airship.airshipit.org/v1", "Vino"));
    others.push_str(&object("telephony.example.com/v1", "SIPCluster"));
    others.push_str(&object("telephony.example.com/v1", "SipCluster"));
    others.push_str(&object("metalkube.org/v1alpha1", "BareMetalHost"));
    same_output(|repo| {
        repo.write("others.yaml", &format!("{others}{crd}"));
        repo.write(
            "chart/templates/host.yaml",
            &object("metal3.io/v1alpha1", "BaremetalHost").replace("other", "{{ x }}"),
        );
    });
}

#[test]
fn files_that_git_ignores() {
    same_output(|repo| {
        repo.write(".gitignore", "scratch/\n");
        repo.write("scratch/broken.yaml", "kind: SIPCluster\na: [\n");
    });
}

#[test]
fn two_hosts_with_one_bmc_address_are_worth_a_warning() {
    let repo = Repo::generated("quickstart");
    repo.replace(RACK_A, "203.0.113.12", "203.0.113.11");

    let run = repo.generate(&[]).expect(0);

    assert_says(
        &run.stderr,
        &[
            "warning[SIP0308]: 2 hosts share the BMC address `redfish+https://203.0.113.11/redfish/v1/Systems/1`",
            "--> sites/lab/hosts/rack-a.yaml:15:14  (tenant-a/lab-a1)",
            "--> sites/lab/hosts/rack-a.yaml:68:14  (tenant-a/lab-a2)",
        ],
    );
}

#[test]
fn a_password_in_the_address_of_a_bmc_is_warned_of_and_never_shown() {
    let repo = Repo::generated("quickstart");
    for bmc in ["203.0.113.11", "203.0.113.12"] {
        repo.replace(RACK_A, bmc, &format!("root:hunter2@{bmc}"));
    }

    let run = repo.generate(&[]).expect(0);

    assert_says(
        &run.stderr,
        &[
            "warning[SIP0318]: 2 hosts have credentials in the BMC address",
            "--> sites/lab/hosts/rack-a.yaml:15:14  (tenant-a/lab-a1)",
            "--> sites/lab/hosts/rack-a.yaml:68:14  (tenant-a/lab-a2)",
        ],
    );
    assert!(!run.stderr.contains("hunter2") && !run.stderr.contains("root:"), "{}", run.stderr);
    assert_eq!(run.stderr.matches("SIP0318]").count(), 1, "{}", run.stderr);
}

#[test]
fn two_addresses_on_networks_of_one_id_are_worth_a_warning_unless_they_are_dual_stack() {
    let warning = "warning[SIP0317]: host tenant-a/lab-a1 has several networks `oam-ipv4`, with different addresses";
    for (address, is_warned_of) in
        [("198.51.100.99", true), ("'2001:db8::99'", false), ("198.51.100.11", false)]
    {
        let repo = Repo::generated("quickstart");
        let first = "        ip_address: 198.51.100.11\n";
        repo.replace(
            RACK_A,
            first,
            &format!("{first}      - id: oam-ipv4\n        ip_address: {address}\n"),
        );

        let said = repo.generate(&[]).expect(0).stderr;

        assert_eq!(said.contains(warning), is_warned_of, "{said}");
    }
}
