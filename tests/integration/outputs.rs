//! Outputs: manifests that templates of the repo's own render per cluster, per host and per site.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value as Json, json};
use yaml_serde::Value;

use crate::support::{Repo, assert_says, documents, host, labels_of, live_host, repo_path, run};

const CONFIG_MAP: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {namespace: {{ cluster.namespace }}, name: NAME}\n";

/// A template of a ConfigMap with a name by an expression, in the namespace of its cluster.
fn config_map(name: &str) -> String {
    CONFIG_MAP.replace("NAME", &format!("{{{{ {name} }}}}"))
}

/// A repo with three hosts, two clusters and these outputs, whose templates are by path below `own/outputs`.
fn repo_with(outputs: &str, templates: &[(&str, &str)]) -> Repo {
    let repo = Repo::of_hosts(3);
    repo.want("tenant/edge", 1);
    repo.want("tenant/lab", 1);
    repo.write("sipgen.yaml", &format!("templates: own\noutputs:\n{outputs}"));
    for (file, text) in templates {
        repo.write(&format!("own/outputs/{file}"), text);
    }
    repo
}

/// A repo whose output `x` of a scope has one template.
fn repo_of(scope: &str, file: &str, template: &str) -> Repo {
    repo_with(&format!("- {{name: x, scope: {scope}}}\n"), &[(&format!("x/{file}"), template)])
}

/// Labels the request of a cluster.
fn label(repo: &Repo, cluster: &str, labels: &str) {
    let file = format!("clusters/{}.yaml", cluster.replace('/', "."));
    repo.replace(&file, "metadata: {", &format!("metadata: {{labels: {labels}, "));
}

fn below(repo: &Repo, directory: &str) -> Vec<String> {
    if !repo.exists(directory) {
        return Vec::new();
    }
    repo.files(directory).into_keys().collect()
}

fn resources(repo: &Repo, directory: &str) -> Vec<String> {
    let text = repo.read(&format!("{directory}/kustomization.yaml"));
    let resources = documents(&text)[0].get("resources").unwrap().as_sequence().unwrap().clone();
    resources.iter().map(|entry| entry.as_str().unwrap().to_owned()).collect()
}

#[test]
fn each_scope_has_its_files_in_a_directory_that_kustomize_builds() {
    let repo = Repo::of_fixture("outputs");

    repo.generate(&[]).expect(0);

    let edge = "overlays/clusters/metal/edge";
    assert_eq!(resources(&repo, edge), ["facts", "cards"]);
    assert_eq!(resources(&repo, &format!("{edge}/facts")), ["facts.yaml"]);
    assert_eq!(resources(&repo, &format!("{edge}/cards")), ["card_metal.node-1.yaml"]);
    assert_eq!(
        below(&repo, &format!("{edge}/facts")),
        ["facts.yaml", "hosts.ini", "kustomization.yaml"]
    );
    let card = documents(&repo.read(&format!("{edge}/cards/card_metal.node-1.yaml")));
    let data = serde_json::to_value(card[0].get("data").unwrap()).unwrap();
    assert_eq!(data, json!({"role": "Worker", "rack": "a", "note": "on", "bmc": "203.0.113.1"}));
    // The second cluster has another label.
    assert_eq!(resources(&repo, "overlays/clusters/metal/lab"), ["cards"]);
    assert_eq!(resources(&repo, "overlays/site/fleet"), ["summary.yaml"]);
    let targets: Json =
        yaml_serde::from_str(&repo.read("overlays/site/fleet/targets.yml")).unwrap();
    assert_eq!(targets.as_array().unwrap().len(), 2);
    assert_eq!(targets[0]["targets"], json!(["203.0.113.1"]));
    let summary = repo.read("overlays/site/fleet/summary.yaml");
    assert!(summary.contains("unassigned: \"1\""), "{summary}");
}

#[test]
fn a_second_run_touches_no_file() {
    let repo = Repo::of_fixture("outputs");
    repo.generate(&[]).expect(0);
    let before = repo.on_disk("overlays");

    let run = repo.generate(&[]).expect(0);

    assert_says(&run.stderr, &["no file changes"]);
    assert!(repo.on_disk("overlays") == before, "{}", repo.git(&["status", "--porcelain"]));
    repo.generate(&["--check"]).expect(0);
}

#[test]
fn what_a_machine_changes_in_a_hosts_labels_and_status_changes_no_output_but_its_use() {
    let repo = repo_of("site", "all.yml", "- {{ unassigned|tojson }}\n- {{ clusters|tojson }}\n");
    repo.generate(&[]).expect(0);
    let before = repo.read("overlays/site/x/all.yml");
    for state in ["available", "inspecting", "preparing"] {
        let labels = labels_of("tenant/edge") + "    cluster.x-k8s.io/cluster-name: edge\n";
        let host = live_host("host-1", &labels).replace("available", state);
        repo.write("snapshot/hosts.yaml", &host);
        repo.generate(&[]).expect(0);
        assert_eq!(repo.read("overlays/site/x/all.yml"), before, "{state}");
    }

    let claimed = "spec:\n  consumerRef: {kind: Metal3Machine, namespace: tenant, name: m}";
    let host = live_host("host-1", "").replace("spec:", claimed);
    repo.write("snapshot/hosts.yaml", &host);
    repo.generate(&[]).expect(0);
    assert!(repo.read("overlays/site/x/all.yml").contains("inUse"));
}

#[test]
fn the_labels_of_an_assignment_are_no_labels_of_an_observed_host() {
    let repo = repo_of("cluster", "all.yml", "{{ cluster.hosts|tojson }}\n");
    repo.remove_all("inventory");
    repo.want_no_more("tenant/lab");
    let own = "    example.com/note: a\n";
    let observe = |labels: &str| {
        repo.write("snapshot/hosts.yaml", &live_host("host-1", &format!("{labels}{own}")));
        repo.generate(&[]).expect(0);
        repo.read("overlays/clusters/tenant/edge/x/all.yml")
    };

    let before = observe("  labels:\n");
    assert_says(&before, &["example.com/note"]);
    let labels = labels_of("tenant/edge") + "    cluster.x-k8s.io/cluster-name: edge\n";
    assert_eq!(observe(&labels), before);
}

#[test]
fn hostile_values_stay_what_they_are_in_yaml_for_other_programs() {
    let each =
        "{% for key, value in cluster.annotations|items %}\n{{ key }}: {{ value }}\n{% endfor %}\n";
    let repo = repo_of("cluster", "a.yml", each);
    let annotations: Vec<String> = HOSTILE
        .iter()
        .enumerate()
        .map(|(index, value)| format!("a{index}: {}", serde_json::to_string(value).unwrap()))
        .collect();
    let annotations = format!("metadata: {{annotations: {{{}}}, ", annotations.join(", "));
    repo.replace("clusters/tenant.edge.yaml", "metadata: {", &annotations);
    repo.replace("clusters/tenant.lab.yaml", "metadata: {", "metadata: {annotations: {a: b}, ");

    repo.generate(&[]).expect(0);

    let text = repo.read("overlays/clusters/tenant/edge/x/a.yml");
    let values: Json = yaml_serde::from_str(&text).unwrap();
    for (index, value) in HOSTILE.iter().enumerate() {
        assert_eq!(values[format!("a{index}")], json!(value), "{text}");
    }
}

#[test]
fn an_output_that_leaves_the_settings_is_deleted_and_the_diff_counts_its_objects() {
    let repo = Repo::generated("outputs");
    repo.replace(
        "sipgen.yaml",
        "  - {name: cards, scope: host}\n  - {name: fleet, scope: site}\n",
        "",
    );

    let diff = repo.sipgen(&["diff"]).output().unwrap();
    let diff = String::from_utf8(diff.stdout).unwrap();
    repo.generate(&[]).expect(0);

    assert_says(
        &diff,
        &[
            "- output cards: 1 object deleted",
            "- output fleet: 2 objects deleted",
            "3 outputs deleted",
        ],
    );
    assert!(!repo.exists("overlays/site"), "{:?}", below(&repo, "overlays/site"));
    assert!(!repo.exists("overlays/clusters/metal/edge/cards"));
    assert!(!repo.exists("overlays/clusters/metal/lab"), "nothing is left for this cluster");
    assert_eq!(resources(&repo, "overlays/clusters/metal/edge"), ["facts"]);
}

#[test]
fn a_change_of_the_firmware_of_a_host_in_use_is_a_danger() {
    let firmware = "apiVersion: metal3.io/v1alpha1\nkind: HostFirmwareSettings\n\
                    metadata: {name: {{ host.name }}, namespace: {{ host.namespace }}}\nspec: {settings: {Turbo: \"on\"}}\n";
    let repo = repo_of("host", "a.yaml", firmware);
    let claimed = "spec:\n  consumerRef: {kind: Metal3Machine, namespace: tenant, name: m1}";
    let host = live_host("host-1", &labels_of("tenant/edge")).replace("spec:", claimed);
    repo.write("snapshot/hosts.yaml", &host);
    repo.generate(&[]).expect(0);
    repo.commit();
    repo.write("own/outputs/x/a.yaml", &firmware.replace("\"on\"", "\"off\""));

    let diff = String::from_utf8(repo.sipgen(&["diff"]).output().unwrap().stdout).unwrap();

    let said = "the output x changes the firmware of 1 host in use, at their next preparation or reboot: metal/host-1";
    assert_says(&diff, &[said, "Metal3Machine tenant/m1"]);
    // The second cluster's host is free.
    assert!(!diff.contains("host-2 "), "{diff}");
}

#[test]
fn a_changed_template_is_a_change_of_the_output() {
    let repo = Repo::generated("outputs");
    repo.replace("my-templates/outputs/cards/card.yaml", "  rack: {{ host.rack }}\n", "");

    let diff = String::from_utf8(repo.sipgen(&["diff"]).output().unwrap().stdout).unwrap();

    assert_says(&diff, &["output cards: 1 object changed", "2 outputs changed"]);
    assert!(!diff.contains("service"), "{diff}");
}

#[test]
fn agents_apply_outputs_and_delete_what_leaves_them() {
    let objects_of = |agent: &str, file: &str| -> Json {
        let repo = Repo::of_fixture("outputs");
        repo.replace("sipgen.yaml", "templates:", &format!("{agent}\ntemplates:"));
        repo.generate(&[]).expect(0);
        let objects = documents(&repo.read(&format!("overlays/agents/{file}")));
        serde_json::to_value(&objects[0]).unwrap()
    };

    let site = objects_of("gitops: flux", "flux/site.yaml");
    assert_eq!(site["metadata"]["name"], "sipgen.site.fleet");
    assert_eq!(site["spec"]["path"], "./overlays/site/fleet");
    assert_eq!(site["spec"]["prune"], true);
    // A cluster without services has an object for its outputs.
    let lab = objects_of("gitops: flux", "flux/metal.lab.yaml");
    assert_eq!(lab["spec"]["path"], "./overlays/clusters/metal/lab");

    let argocd = "gitops: argocd\nargocd: {repoURL: https://git.example.com/a}";
    let site = objects_of(argocd, "argocd/site.yaml");
    assert_eq!(site["spec"]["source"]["path"], "overlays/site/fleet");
    assert_eq!(site["spec"]["syncPolicy"]["automated"]["prune"], true);
}

#[test]
fn each_directory_of_manifests_is_a_kustomization() {
    let repo = repo_with(
        "- {name: x, scope: cluster}\n",
        &[
            ("x/a/b/c.yaml", &config_map("cluster.name ~ '-c'")),
            ("x/a/d.yaml", &config_map("cluster.name ~ '-d'")),
            ("x/e/f.txt", "text\n"),
            ("x/g/h.yaml", &config_map("cluster.name ~ '-h'")),
            (
                "x/g/kustomization.yaml",
                "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: g\nresources: {{ files }}\n",
            ),
        ],
    );

    repo.generate(&[]).expect(0);

    let x = "overlays/clusters/tenant/edge/x";
    assert_eq!(resources(&repo, x), ["a", "g"]);
    assert_eq!(resources(&repo, &format!("{x}/a")), ["b", "d.yaml"]);
    assert_eq!(resources(&repo, &format!("{x}/a/b")), ["c.yaml"]);
    assert_eq!(resources(&repo, &format!("{x}/g")), ["h.yaml"]);
    assert!(!repo.exists(&format!("{x}/e/kustomization.yaml")));
}

#[test]
fn a_file_of_a_host_has_a_name_of_its_own_of_at_most_255_bytes() {
    let repo = repo_of("host", "a.yml", "{{ host.name }}\n");
    let long = ["x".repeat(60).as_str(); 4].join(".");
    let hosts = host("b.c", "")
        + &host("c", "").replace("namespace: metal", "namespace: b")
        + &host(&long, "")
        + &host(&format!("{long}.y"), "");
    repo.write("inventory/hosts.yaml", &hosts);
    repo.want_no_more("tenant/lab");
    repo.want("tenant/edge", 4);

    repo.generate(&[]).expect(0);

    let files = repo.files("overlays/clusters/tenant/edge/x");
    let names: BTreeSet<&str> = files.values().filter_map(|text| text.lines().nth(1)).collect();
    assert_eq!(names.len(), 4, "{files:?}");
}

#[test]
fn expressions_select_clusters() {
    let expression = "{key: tier, operator: NotIn, values: [test, lab]}";
    let repo = repo_with(
        &format!(
            "- {{name: x, scope: cluster, clusterSelector: {{matchExpressions: [{expression}]}}}}\n"
        ),
        &[("x/a.yaml", &config_map("cluster.name"))],
    );
    label(&repo, "tenant/edge", "{tier: prod}");
    label(&repo, "tenant/lab", "{tier: test}");

    repo.generate(&[]).expect(0);

    assert!(repo.exists("overlays/clusters/tenant/edge/x/a.yaml"));
    assert!(!repo.exists("overlays/clusters/tenant/lab"));
}

/// A repo whose output has a shared file and one of each cluster, which are in different namespaces.
fn repo_with_shared_files() -> Repo {
    let rules = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: rules}\n";
    let repo = repo_with(
        "- {name: x, scope: cluster}\n",
        &[
            ("x/shared/rules.yaml", rules),
            ("x/a.yaml", &config_map("cluster.name")),
            (
                "x/kustomization.yaml",
                "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n\
                 namespace: {{ cluster.namespace }}\nresources: {{ files }}\n",
            ),
        ],
    );
    repo.want_no_more("tenant/lab");
    repo.want("other/lab", 1);
    repo
}

#[test]
fn files_that_do_not_depend_on_a_cluster_are_written_once_and_pruned() {
    let repo = repo_with_shared_files();

    repo.generate(&[]).expect(0);

    let files = below(&repo, "overlays/shared/outputs-x");
    let [kustomization, rules] = files.as_slice() else { panic!("{files:?}") };
    let (hash, _) = rules.split_once("/rules.yaml").unwrap();
    assert_eq!(*kustomization, format!("{hash}/kustomization.yaml"));
    assert_eq!(resources(&repo, &format!("overlays/shared/outputs-x/{hash}")), ["rules.yaml"]);
    let reference = format!("../../../../shared/outputs-x/{hash}");
    for cluster in ["tenant/edge", "other/lab"] {
        let directory = format!("overlays/clusters/{cluster}/x");
        assert_eq!(resources(&repo, &directory), [reference.as_str(), "a.yaml"]);
        assert!(!repo.exists(&format!("{directory}/shared")));
    }
    repo.generate(&["--check"]).expect(0);

    repo.write(
        "own/outputs/x/shared/rules.yaml",
        &config_map("\"other\"").replace("{{ cluster.namespace }}", "z"),
    );
    repo.generate(&[]).expect(0);
    let later = below(&repo, "overlays/shared/outputs-x");
    assert!(later.len() == 2 && !later.contains(rules), "{later:?}");

    repo.replace("sipgen.yaml", "outputs:\n- {name: x, scope: cluster}\n", "outputs: []\n");
    repo.generate(&[]).expect(0);
    assert!(!repo.exists("overlays/shared"));
}

#[test]
fn objects_of_shared_files_are_checked_like_others() {
    let repo = repo_with_shared_files();
    let shared = "own/outputs/x/shared/rules.yaml";

    repo.write(shared, "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n");
    assert_says(
        &repo.refused(),
        &["own/outputs/x/shared/rules.yaml renders an object of kind Namespace"],
    );

    // Both clusters would apply it.
    repo.remove("own/outputs/x/kustomization.yaml");
    repo.write(shared, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n");
    assert_says(&repo.refused(), &["would both have ConfigMap `b/a`"]);
}

#[test]
fn an_output_lists_no_shared_files_of_a_service() {
    let repo = repo_with_shared_files();
    let other = "resources: [../../../../shared/auth/0123456789]\n";
    repo.replace("own/outputs/x/kustomization.yaml", "resources: {{ files }}\n", other);

    assert_says(
        &repo.refused(),
        &["lists ../../../../shared/auth/0123456789, which no template renders"],
    );
}

#[test]
fn the_labels_of_a_request_decide_which_outputs_its_cluster_gets() {
    let repo = repo_with(
        "- {name: x, scope: cluster, clusterSelector: {matchLabels: {tier: prod, zone: a}}}\n",
        &[("x/a.yaml", &config_map("cluster.name"))],
    );
    label(&repo, "tenant/edge", "{tier: prod, zone: a, more: b}");
    label(&repo, "tenant/lab", "{tier: prod}");

    repo.generate(&[]).expect(0);

    assert!(repo.exists("overlays/clusters/tenant/edge/x/a.yaml"));
    assert!(!repo.exists("overlays/clusters/tenant/lab"));
}

#[test]
fn an_output_whose_name_begins_like_a_service_is_an_output() {
    let repo = repo_with(
        "- {name: auth-notes, scope: cluster}\n",
        &[("auth-notes/a.yaml", &config_map("cluster.name"))],
    );

    let diff = repo.sipgen(&["diff"]).output().unwrap();
    let diff = String::from_utf8(diff.stdout).unwrap();
    assert_says(&diff, &["+ output auth-notes: 1 object created"]);
    assert!(!diff.contains("service"), "{diff}");

    // The files of a cluster with an error stay, and so would definitions that they require.
    repo.generate(&[]).expect(0);
    repo.generate(&["--only", "tenant/lab"]).expect(0);
    assert!(!repo.exists("overlays/crds"));
}

#[test]
fn outputs_of_the_site_stay_while_a_cluster_is_left_out() {
    let repo = repo_of("site", "a.yml", "{{ clusters|map(attribute='name')|list }}\n");
    repo.generate(&[]).expect(0);
    let before = repo.read("overlays/site/x/a.yml");
    repo.want("tenant/new", 1);

    repo.generate(&["--only", "tenant/new"]).expect(0);
    assert_eq!(repo.read("overlays/site/x/a.yml"), before);

    repo.generate(&[]).expect(0);
    assert!(repo.read("overlays/site/x/a.yml").contains("\"new\""));
}

#[test]
fn a_host_that_moves_is_in_the_output_of_its_new_cluster_only() {
    let repo = repo_of("host", "a.yaml", &config_map("host.name"));
    repo.generate(&[]).expect(0);
    let hosts = |cluster: &str| {
        let files = below(&repo, &format!("overlays/clusters/tenant/{cluster}/x")).into_iter();
        files.filter(|file| file.starts_with("a_")).collect::<Vec<_>>()
    };
    assert_eq!(hosts("edge"), ["a_metal.host-1.yaml"]);
    repo.want("tenant/edge", 0);
    repo.want("tenant/lab", 2);

    repo.generate(&[]).expect(0);

    assert_eq!(hosts("edge"), Vec::<String>::new());
    assert_eq!(hosts("lab").len(), 2);
    assert!(!repo.exists("overlays/clusters/tenant/edge/x"));
}

/// The labels and annotations of the hosts of a cluster, as the output has them.
fn host_metadata(repo: &Repo, cluster: &str) -> Vec<yaml_serde::Value> {
    let patches = repo.read(&format!("overlays/hosts/declared/inventory/{cluster}.yaml"));
    documents(&patches).into_iter().map(|host| host["metadata"].clone()).collect()
}

#[test]
fn outputs_add_labels_and_annotations_to_hosts_and_take_them_back() {
    let added = "- name: nodes\n  scope: host\n  clusterSelector: {matchLabels: {tier: prod}}\n  \
                 labels: {e.com/of: '{{ cluster.name }}-{{ host.name }}', e.com/none: '{{ host.rack }}', \
                 topology.kubernetes.io/zone: '{{ host.labels | length }}'}\n  \
                 annotations: {e.com/note: \"{{ 'a: b #' }}\\n{{ host.role }}\"}\n";
    let repo = repo_with(added, &[]);
    repo.replace("sipgen.yaml", "templates: own\n", "");
    label(&repo, "tenant/edge", "{tier: prod}");

    repo.generate(&[]).expect(0);

    let [assigned] = host_metadata(&repo, "tenant.edge").try_into().unwrap();
    let name = assigned["name"].as_str().unwrap();
    assert_eq!(assigned["labels"]["e.com/of"], format!("edge-{name}").as_str());
    assert_eq!(assigned["labels"]["sip.airshipit.org/cluster-name"], "edge");
    assert!(assigned["labels"].get("e.com/none").is_none(), "{assigned:?}");
    assert_eq!(assigned["annotations"]["e.com/note"], "a: b #\nWorker");
    assert_eq!(assigned["annotations"]["kustomize.toolkit.fluxcd.io/prune"], "disabled");
    let zone = assigned["labels"]["topology.kubernetes.io/zone"].clone();
    let [other] = host_metadata(&repo, "tenant.lab").try_into().unwrap();
    assert!(other["labels"].get("e.com/of").is_none(), "{other:?}");

    // No template has the labels that outputs add as values, so the next run changes nothing.
    let hosts = (1..=3).map(|number| host(&format!("host-{number}"), "  labels: {e.com/of: x}\n"));
    repo.write("inventory/hosts.yaml", &hosts.collect::<String>());
    repo.generate(&[]).expect(0);
    let [assigned] = host_metadata(&repo, "tenant.edge").try_into().unwrap();
    assert_eq!(assigned["labels"]["topology.kubernetes.io/zone"], zone);
    assert_eq!(assigned["labels"]["e.com/of"], format!("edge-{name}").as_str());
    repo.generate(&["--check"]).expect(0);

    repo.write("sipgen.yaml", "templates: own\noutputs: [{name: x, scope: site}]\n");
    repo.write("own/outputs/x/a.yml", "a: b\n");
    repo.generate(&[]).expect(0);
    let [assigned] = host_metadata(&repo, "tenant.edge").try_into().unwrap();
    assert!(assigned["labels"].get("topology.kubernetes.io/zone").is_none(), "{assigned:?}");
    assert!(assigned["annotations"].get("e.com/note").is_none(), "{assigned:?}");
}

#[test]
fn a_diff_names_labels_and_annotations_that_change_on_hosts_that_stay() {
    let outputs = |metadata: &str| format!("outputs: [{{name: nodes, scope: host, {metadata}}}]\n");
    let repo = repo_with("", &[]);
    let kept = "labels: {e.com/rack: a, e.com/kept: k}, annotations: {e.com/gone: x}";
    repo.write("sipgen.yaml", &outputs(kept));
    repo.generate(&[]).expect(0);
    repo.commit();
    let edge = host_metadata(&repo, "tenant.edge")[0]["name"].as_str().unwrap().to_owned();
    let changed = "labels: {e.com/rack: b, e.com/kept: k, e.com/new: '{{ cluster.name }}'}";
    repo.write("sipgen.yaml", &format!("gitops: flux\n{}", outputs(changed)));
    let diff = |arguments: &[&str]| run(repo.sipgen(&["diff"]).args(arguments)).stdout;

    let text = diff(&[]);
    let json: Json = serde_json::from_str(&diff(&["--format", "json"])).unwrap();

    for line in [
        "~ label e.com/rack",
        "+ label e.com/new",
        "- annotation e.com/gone",
        "- annotation argocd.argoproj.io/sync-options",
    ] {
        assert_says(&text, &[&format!("{line} of 1 host: metal/{edge}")]);
    }
    assert_says(&text, &["2 hosts with other labels or annotations"]);
    assert!(!text.contains("e.com/kept") && !text.contains("no host"), "{text}");
    let metadata = &json["review"]["clusters"][0]["hosts"]["metadata"];
    assert_eq!(metadata.as_array().unwrap().len(), 4, "{metadata}");
    let rack = json!({"field": "labels", "key": "e.com/rack", "state": "changed", "hosts": [{"namespace": "metal", "name": edge}]});
    assert!(metadata.as_array().unwrap().contains(&rack), "{metadata}");

    // The labels of a host that arrives or moves are no news beside its assignment.
    repo.generate(&[]).expect(0);
    repo.commit();
    repo.want("tenant/edge", 2);
    let text = diff(&[]);
    assert_says(&text, &["+ 1 Worker host: "]);
    assert!(!text.contains("label"), "{text}");
}

#[test]
fn values_that_no_host_can_have_are_errors_at_their_template() {
    for (labels, said) in [
        ("{e.com/a: '{{ host.adresses }}'}", "undefined value"),
        ("{e.com/a: '{{ host.name'}", "syntax error"),
        ("{e.com/a: 'a b'}", "renders `a b`, which no label can have"),
        ("{e.com/a: '{{ \"a\" * 99999999 }}'}", "more than 16 MiB"),
    ] {
        let repo = repo_with(&format!("- {{name: x, scope: host, labels: {labels}}}\n"), &[]);
        let report = repo.generate(&[]).expect(1).stderr;
        assert_says(&report, &[said, "sipgen.yaml:3:", "in output x"]);
        assert!(!repo.exists("overlays"), "{labels}");
    }
}

#[test]
fn a_label_that_chooses_hosts_cannot_follow_from_the_plan() {
    let used = "reservations: [{labels: {e.com/a: b}, for: [tenant]}]\n";
    let quota = "quotas: [{namespace: tenant, labels: {e.com/a: b}, hosts: 3}]\n";
    let topology = "topology: {defaultConstraints: [{topologyKey: e.com/a, whenUnsatisfiable: ScheduleAnyway}]}\n";
    for settings in [used, quota, topology] {
        let repo = repo_with("- {name: x, scope: host, labels: {e.com/a: b}}\n", &[]);
        let outputs = repo.read("sipgen.yaml");
        repo.write("sipgen.yaml", &(outputs + settings));
        let report = repo.generate(&[]).expect(1).stderr;
        assert_says(&report, &["an output sets the label `e.com/a`, by which"]);
        assert!(!repo.exists("overlays"), "{settings}");
    }
}

#[test]
fn mistakes_in_the_settings_are_errors_at_their_line() {
    let template = config_map("cluster.name");
    for (outputs, line, said) in [
        ("- {name: X, scope: site}\n", 3, "`name` of output 1 `X` is not a DNS label"),
        ("- {name: a.b, scope: site}\n", 3, "is not a DNS label"),
        ("- {name: ../x, scope: site}\n", 3, "is not a DNS label"),
        (
            "- {name: x, scope: site}\n- {name: x, scope: host}\n",
            4,
            "is also that of an earlier output",
        ),
        (
            "- {name: auth, scope: cluster}\n",
            3,
            "`name` of output 1 is `auth`, like built-in files",
        ),
        ("- {name: jumphost2, scope: cluster}\n", 3, "is `jumphost2`, like built-in files"),
        ("- {name: loadbalancer, scope: cluster}\n", 3, "like built-in files"),
        ("- {name: installer, scope: cluster}\n", 3, "like built-in files"),
        (
            "- {name: x, scope: site, labels: {a: b}}\n",
            3,
            "`labels` of output 1 requires `scope: host`",
        ),
        ("- {name: x, scope: host, labels: {a/b/c: d}}\n", 3, "which Kubernetes does not allow"),
        (
            "- {name: x, scope: host, annotations: {reboot.metal3.io: ''}}\n- {name: z, scope: host}\n",
            3,
            "has the key `reboot.metal3.io`",
        ),
        (
            "- {name: x, scope: host, annotations: {baremetalhost.metal3.io/paused: ''}}\n",
            3,
            "programs act on hosts by keys of `baremetalhost.metal3.io`",
        ),
        (
            "- {name: x, scope: host, labels: {kustomize.toolkit.fluxcd.io/prune: enabled}}\n",
            3,
            "programs act on hosts by keys of `kustomize.toolkit.fluxcd.io`",
        ),
        (
            "- {name: x, scope: host, labels: {cluster.x-k8s.io/cluster-name: a}}\n",
            3,
            "programs act on hosts by keys of `cluster.x-k8s.io`",
        ),
        (
            "- {name: x, scope: host, labels: {e.com/a: b}}\n- {name: z, scope: host, labels: {e.com/a: c}}\n",
            4,
            "has the key `e.com/a`, like output `x`",
        ),
        (
            "- {name: y, scope: cluster}\n",
            3,
            "output `y` has no templates: `own/outputs/y` has no files",
        ),
        (
            "- {name: x, scope: rack}\n",
            3,
            "unknown variant `rack`, expected one of `cluster`, `host`, `site`",
        ),
        ("- {name: x}\n", 3, "missing field `scope`"),
        ("- {name: x, scope: site, selector: {}}\n", 3, "unknown field `selector`"),
        (
            "- {name: x, scope: site, clusterSelector: {matchLabels: {a/b/c: d}}}\n",
            3,
            "`clusterSelector` of output 1 is invalid: `a/b/c: d` is not a valid label",
        ),
        (
            "- {name: x, scope: site, clusterSelector: {tier: prod}}\n",
            3,
            "unknown field `tier` in a label selector",
        ),
        (
            "- {name: x, scope: site, clusterSelector: {matchExpressions: [{key: a, operator: In}]}}\n",
            3,
            "the operator In needs values",
        ),
    ] {
        let repo = repo_with(outputs, &[("x/a.yaml", &template), ("auth/a.yaml", &template)]);

        let said_by_sipgen = repo.refused();

        assert_says(&said_by_sipgen, &[said, &format!("--> sipgen.yaml:{line}")]);
    }
    let repo = repo_with("- {name: x, scope: site}\n", &[]);
    repo.replace("sipgen.yaml", "templates: own\n", "");
    assert_says(&repo.refused(), &["`outputs` requires `templates`", "--> sipgen.yaml:1"]);
    let repo = repo_with("- {name: x, scope: site, labels: {a: b}}\n", &[]);
    assert_says(&repo.refused(), &["help: write `{name: nodes, scope: host, labels:"]);
}

#[test]
fn a_template_of_no_output_is_a_warning_that_names_what_was_meant() {
    let repo = repo_of("cluster", "a.yaml", &config_map("cluster.name"));
    for (file, help) in [
        ("own/outputs/xx/b.yaml", "did you mean own/outputs/x/?"),
        ("own/outputs/monitoring/b.yaml", "add `{name: monitoring, scope: cluster}` to `outputs`"),
        ("own/outputs/b.yaml", "move it to own/outputs/NAME/"),
    ] {
        repo.write(file, "a: b\n");
        let run = repo.generate(&[]).expect(0);
        assert_says(
            &run.stderr,
            &[&format!("warning[SIP0701]: {file} belongs to no output"), help],
        );
        repo.remove(file);
    }
}

#[test]
fn sites_may_share_templates_of_outputs_that_only_some_have() {
    let repo = Repo::empty();
    repo.write("sipgen.yaml", "sites: [a, b]\ntemplates: own\n");
    repo.write("a/sipgen.yaml", "outputs: [{name: x, scope: site}]\n");
    repo.write("own/outputs/x/a.yml", "{{ site.directory }}\n");
    for site in ["a", "b"] {
        repo.write(&format!("{site}/hosts.yaml"), &live_host(&format!("host-{site}"), ""));
        let request = "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {namespace: t, name: NAME}\n\
                       spec: {nodes: {Worker: {labelSelector: {}, count: {active: 1}}}}\n";
        repo.write(&format!("{site}/edge.yaml"), &request.replace("NAME", &format!("edge-{site}")));
    }

    let run = repo.generate(&[]).expect(0);

    assert!(!run.stderr.contains("SIP0701"), "{}", run.stderr);
    assert!(repo.read("overlays/a/site/x/a.yml").ends_with("\"a\"\n"));
    assert!(!repo.exists("overlays/b/site"));
}

#[test]
fn links_and_texts_of_another_encoding_are_errors() {
    let repo = repo_of("cluster", "a.yaml", &config_map("cluster.name"));
    symlink("a.yaml", repo.path().join("own/outputs/x/b.yaml")).unwrap();
    assert_says(&repo.refused(), &["SIP0702", "own/outputs/x/b.yaml is a symbolic link"]);
    repo.remove("own/outputs/x/b.yaml");

    fs::write(repo.path().join("own/outputs/x/b.txt"), b"one\ntwo \xff\n").unwrap();
    assert_says(&repo.refused(), &["SIP0702", "it is not UTF-8", "--> own/outputs/x/b.txt:2"]);
    repo.remove("own/outputs/x/b.txt");

    repo.write("own/outputs/x/b.json", "{}\n");
    assert_says(&repo.refused(), &["SIP0702", "cannot be JSON", "--> own/outputs/x/b.json"]);
    repo.remove("own/outputs/x/b.json");

    repo.write("own/outputs/x/sub/kustomization.yml", "resources: []\n");
    assert_says(&repo.refused(), &["SIP0702", "another name than kustomization.yaml"]);
}

#[test]
fn objects_whose_deletion_deletes_more_are_refused_in_every_scope() {
    for (api_version, kind, said) in [
        ("metal3.io/v1alpha1", "BareMetalHost", "deleting a host powers its machine off"),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "deletes all objects of its kind"),
        ("v1", "Namespace", "deletes all objects in it"),
    ] {
        let object = format!(
            "apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: a, namespace: b, annotations: {{}}}}\n"
        );
        for scope in ["cluster", "host", "site"] {
            let said_by_sipgen = repo_of(scope, "a.yaml", &object).refused();
            assert!(said_by_sipgen.contains("SIP0703"), "{scope}: {said_by_sipgen}");
            let list = "apiVersion: v1\nkind: List\nmetadata: {name: a, namespace: b}\nitems:\n- "
                .to_owned()
                + &object.trim_end().replace('\n', "\n  ");
            assert_says(&repo_of(scope, "a.yaml", &list).refused(), &["a list of kind List"]);
            if kind != "CustomResourceDefinition" {
                let file = "--> own/outputs/x/a.yaml";
                assert_says(&said_by_sipgen, &[&format!("an object of kind {kind}"), said, file]);
            }
        }
    }
}

#[test]
fn invalid_objects_are_errors_of_their_template() {
    let object =
        |metadata: &str| format!("apiVersion: example.com/v1\nkind: Thing\nmetadata: {metadata}\n");
    for (template, said) in [
        (object("{name: a}"), "the Thing `a` without a namespace"),
        (object("{name: A, namespace: b}"), "the Thing `A`, whose name"),
        (object("{name: ../a, namespace: b}"), "the Thing `../a`, whose name"),
        (object("{name: a, namespace: B}"), "whose namespace `B`"),
        (
            object("{name: a, namespace: b}") + "data: {{ 'x' * 1048576 }}\n",
            "bytes; the limit is 1048576",
        ),
        (
            "apiVersion: v1\nkind: ConfigMapList\nmetadata: {name: ''}\nitems: []\n".to_owned(),
            "a list of kind ConfigMapList",
        ),
        ("a: b\n".to_owned(), "is not an object"),
        ("a: [\n".to_owned(), "is not YAML"),
        ("name: {{ cluster.nmae }}\n".to_owned(), "undefined value"),
    ] {
        let said_by_sipgen = repo_of("cluster", "a.yaml", &template).refused();
        assert_says(&said_by_sipgen, &[said, "--> own/outputs/x/a.yaml"]);
    }
    // A kustomization of its own may set namespaces, and lists kinds without any.
    let repo = repo_of("cluster", "a.yaml", &object("{name: a}"));
    let kustomization = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: {{ cluster.name }}\nresources: {{ files }}\n";
    let without_kind = "namespace: {{ cluster.name }}\nresources: {{ files }}\n";
    for kustomization in [kustomization, without_kind] {
        repo.write("own/outputs/x/kustomization.yaml", kustomization);
        repo.generate(&[]).expect(0);
        assert_eq!(resources(&repo, "overlays/clusters/tenant/lab/x"), ["a.yaml"]);
    }
}

#[test]
fn two_directories_with_one_object_are_an_error() {
    let same = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: same, namespace: x}\n";
    let said = repo_of("cluster", "a.yaml", same).refused();
    assert_says(
        &said,
        &[
            "overlays/clusters/tenant/edge/x/a.yaml and overlays/clusters/tenant/lab/x/a.yaml would both have ConfigMap `x/same`",
            "--> own/outputs/x/a.yaml",
        ],
    );
    let outputs = "- {name: x, scope: host}\n- {name: y, scope: site}\n";
    let said = repo_with(outputs, &[("x/a.yaml", same), ("y/b.yaml", same)]).refused();
    assert_says(&said, &["would both have ConfigMap `x/same`"]);

    // One cluster has it already, and the other is new.
    let repo = repo_of("cluster", "a.yaml", same);
    repo.want_no_more("tenant/lab");
    repo.generate(&[]).expect(0);
    repo.want("tenant/lab", 1);
    assert_says(&repo.refused(), &["would both have ConfigMap `x/same`"]);
}

#[test]
fn a_kustomization_lists_files_of_its_output_only() {
    for entry in [
        "../../../../hosts/declared/inventory",
        "../jumphost",
        "https://example.com/x",
        "/etc",
        "gone.yaml",
    ] {
        let repo = repo_of("cluster", "a.yaml", &config_map("cluster.name"));
        let kustomization = format!(
            "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a.yaml, \"{entry}\"]\n"
        );
        repo.write("own/outputs/x/kustomization.yaml", &kustomization);

        let said = repo.refused();

        assert_says(
            &said,
            &[
                "SIP0703",
                &format!("lists {entry}, which no template renders"),
                "--> own/outputs/x/kustomization.yaml",
            ],
        );
    }
}

#[test]
fn a_kustomization_that_kustomize_cannot_build_is_refused() {
    let head =
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a.yaml]\n";
    let patch = "apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: NAME, namespace: tenant}\n    data: {a: b}\n";
    let patched =
        |name: &str| format!("{head}patches:\n- patch: |-\n    {}", patch.replace("NAME", name));
    for (kustomization, says) in [
        (patched("{{ cluster.name }}"), None),
        (patched("other"), Some("other")),
        (
            head.replace("v1beta1", "v1alpha1").replace("Kustomization", "Component"),
            Some("is a component"),
        ),
        (head.to_owned() + "configMapGenerator: [{name: b, files: [gone]}]\n", Some("gone")),
    ] {
        let repo = repo_of("cluster", "a.yaml", &config_map("cluster.name"));
        repo.write("own/outputs/x/kustomization.yaml", &kustomization);
        match says {
            None => drop(repo.generate(&[]).expect(0)),
            Some(says) => assert_says(
                &repo.refused(),
                &["SIP0703", says, "--> own/outputs/x/kustomization.yaml"],
            ),
        }
    }
}

#[test]
fn the_help_for_a_missing_namespace_fits_the_scope() {
    let object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\n";
    for (scope, name, help) in [
        ("cluster", "{{ cluster.name }}", "`namespace: {{ cluster.namespace }}`"),
        ("site", "facts", "`namespace: NAMESPACE`"),
    ] {
        let said = repo_of(scope, "a.yaml", &object.replace("NAME", name)).refused();
        assert_says(&said, &["without a namespace", help]);
    }
}

#[test]
fn an_unreadable_template_is_no_missing_one() {
    let repo = Repo::of_hosts(1);
    repo.want("tenant/edge", 1);
    repo.write("sipgen.yaml", "templates: own\n");
    fs::create_dir_all(repo.path().join("own/jumphost")).unwrap();
    fs::write(repo.path().join("own/jumphost/deployment.yaml"), b"\xff").unwrap();
    let said = repo.refused();
    assert_says(&said, &["is not UTF-8"]);
    assert!(!said.contains("has no files"), "{said}");
}

const HOSTILE: [&str; 14] = [
    "\"",
    "'",
    "\\",
    "a: b",
    "- a",
    "# a",
    "{{ 1 }}",
    "{% if %}",
    "on",
    "1e3",
    "~",
    "a\nb: c",
    "---\nkind: Secret",
    "\u{1f600}é",
];

#[test]
fn hostile_values_stay_what_they_are_in_every_scope() {
    let escaped = |value: &str| serde_json::to_string(value).unwrap();
    let annotations: Vec<String> = HOSTILE
        .iter()
        .enumerate()
        .map(|(index, value)| format!("a{index}: {}", escaped(value)))
        .collect();
    let annotations = annotations.join(", ");
    let data = "data: {{ cluster.annotations|block(2) }}\n";
    let each = "data:\n{% for key, value in cluster.annotations|items %}\n  {{ key }}: {{ value }}\n{% endfor %}\n";
    let scopes = [
        ("cluster", config_map("cluster.name") + data, "clusters/tenant/edge/x/a.yaml"),
        ("cluster", config_map("cluster.name") + each, "clusters/tenant/edge/x/a.yaml"),
        ("host", config_map("host.name") + each, "clusters/tenant/edge/x/a_metal.host-1.yaml"),
        (
            "site",
            "{% set cluster = clusters[0] %}\n".to_owned() + &config_map("cluster.name") + each,
            "site/x/a.yaml",
        ),
    ];
    for (scope, template, file) in scopes {
        let repo = repo_of(scope, "a.yaml", &template);
        let request = "clusters/tenant.edge.yaml";
        repo.replace(
            request,
            "metadata: {",
            &format!("metadata: {{annotations: {{{annotations}}}, "),
        );

        repo.generate(&[]).expect(0);

        let objects = documents(&repo.read(&format!("overlays/{file}")));
        assert_eq!(objects.len(), 1, "{scope}");
        let data = objects[0].get("data").unwrap();
        for (index, value) in HOSTILE.iter().enumerate() {
            let key = format!("a{index}");
            assert_eq!(data.get(&key).and_then(Value::as_str), Some(*value), "{scope} {key}");
        }
    }
}

#[test]
fn a_variable_of_flux_and_a_credential_are_refused() {
    let with = |text: &str| {
        repo_of(
            "host",
            "a.yaml",
            &(config_map("host.name") + &format!("data: {{a: \"{text}\"}}\n")),
        )
    };
    assert_says(&with("${X}").refused(), &["SIP0704", "--> own/outputs/x/a.yaml:4"]);
    assert_says(&with("https://me:geheim1234@example.com/").refused(), &["SIP0709"]);
}

#[test]
fn the_address_of_a_bmc_has_neither_user_nor_query() {
    let repo = repo_of("host", "a.txt", "{{ host.bmc|tojson }} {{ host|tojson }}\n");
    repo.write(
        "inventory/hosts.yaml",
        &host("host-1", "").replace("spec:", "spec:\n  bmc: {address: \"redfish+https://198.51.100.7:8443/redfish/v1/Systems/1?token=geheim\", credentialsName: c}"),
    );
    repo.want_no_more("tenant/lab");
    repo.generate(&[]).expect(0);

    let text = repo.read("overlays/clusters/tenant/edge/x/a_metal.host-1.txt");

    assert!(!text.contains("geheim") && !text.contains("credentialsName"), "{text}");
    assert_says(&text, &["\"198.51.100.7\"", "\"8443\"", "redfish/v1/Systems/1"]);
}

#[test]
fn templates_for_hosts_have_common_limits() {
    let repo = repo_of("host", "a.txt", "");
    let hosts: String = (1..=40).map(|number| host(&format!("host-{number}"), "")).collect();
    repo.write("inventory/hosts.yaml", &hosts);
    repo.want_no_more("tenant/lab");
    repo.want("tenant/edge", 40);
    for (template, said) in [
        ("{{ 'x' * 2000000 }}", "it makes more than 64 MiB for the hosts of a cluster"),
        (
            "{% for i in range(300) %}{% for j in range(500) %}{{ j }}{% endfor %}{% endfor %}",
            "it takes more than 20000000 steps for the hosts of a cluster",
        ),
        (
            "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
            "it takes more than 2000000 steps",
        ),
    ] {
        repo.write("own/outputs/x/a.txt", template);
        let said_by_sipgen = repo.refused();
        assert_says(&said_by_sipgen, &["SIP0702", said, "--> own/outputs/x/a.txt"]);
    }
}

#[test]
fn the_schema_describes_every_value() {
    let repo = Repo::of_fixture("quickstart");
    repo.write(
        "sipgen.yaml",
        "templates: own\noutputs: [{name: h, scope: host}, {name: s, scope: site}]\n",
    );
    repo.write(
        "own/outputs/h/a.yml",
        "{{ {'version': version, 'site': site, 'cluster': cluster, 'host': host}|tojson }}\n",
    );
    repo.write("own/outputs/s/a.yml", "{{ {'version': version, 'site': site, 'clusters': clusters, 'unassigned': unassigned}|tojson }}\n");
    repo.generate(&[]).expect(0);
    let schema = run(&mut repo.sipgen(&["schema", "output-values"])).expect(0).stdout;
    let schema: Json = serde_json::from_str(&schema).unwrap();
    let described = run(&mut repo.sipgen(&["template", "values", "outputs"])).expect(0).stdout;

    for file in ["clusters/tenant-a/edge/h/a_tenant-a.lab-a1.yml", "site/s/a.yml"] {
        let values: Json = yaml_serde::from_str(&repo.read(&format!("overlays/{file}"))).unwrap();
        assert_eq!(values["version"], 1);
        let mut names = BTreeSet::new();
        compare(&schema, &values, "", &mut names);
        for name in names {
            assert!(described.contains(&name), "`{name}` is not among\n{described}");
        }
    }
}

/// Asserts that a schema has every field of a value; collects the names of the fields.
fn compare(schema: &Json, value: &Json, name: &str, names: &mut BTreeSet<String>) {
    let schema = match schema["anyOf"].as_array() {
        Some(either) => &either[0],
        None => schema,
    };
    match value {
        Json::Object(fields) => {
            let Some(properties) = schema["properties"].as_object() else {
                assert!(schema["additionalProperties"].is_object(), "{name}: {schema}");
                return;
            };
            for (field, value) in fields {
                let path = if name.is_empty() { field.clone() } else { format!("{name}.{field}") };
                let schema = properties.get(field).unwrap_or_else(|| panic!("{path}: {schema}"));
                assert!(schema["description"].is_string(), "{path}");
                compare(schema, value, &path, names);
                names.insert(path);
            }
        }
        Json::Array(items) => {
            for item in items {
                compare(&schema["items"], item, &format!("{name}[]"), names);
            }
        }
        _ => {}
    }
}

/// The examples of `docs/how-to/outputs.md` in the repo of the tutorial.
#[test]
fn the_examples_render_objects_of_their_hosts() {
    let repo = Repo::of_fixture("quickstart");
    crate::support::copy(&repo_path("examples/outputs"), repo.path());

    let run = repo.generate(&[]).expect(0);

    assert!(!run.stderr.contains("SIP07"), "{}", run.stderr);
    let edge = "overlays/clusters/tenant-a/edge";
    let hosts: BTreeSet<String> = repo
        .hosts_of("tenant-a", "edge")
        .iter()
        .map(|host| host.rsplit('/').next().unwrap().to_owned())
        .collect();
    for directory in ["settings", "update-policy"] {
        let files = repo.files(&format!("{edge}/firmware"));
        let named: BTreeSet<String> = files
            .iter()
            .filter(|(file, _)| file.starts_with(directory))
            .map(|(_, text)| documents(text)[0]["metadata"]["name"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(named, hosts, "{directory}");
    }
    let zone = &documents(&repo.read(&format!("{edge}/dns/endpoints.yaml")))[0];
    assert_eq!(zone["spec"]["endpoints"].as_sequence().unwrap().len(), hosts.len() + 1);
    let racks = documents(&repo.read(&format!("{edge}/rack-networks/data-templates.yaml")));
    let racks: Vec<&str> =
        racks.iter().map(|rack| rack["metadata"]["name"].as_str().unwrap()).collect();
    assert_eq!(racks, ["edge-rack-a", "edge-rack-b"]);
    let inventory: Json =
        yaml_serde::from_str(&repo.read(&format!("{edge}/inventory/hosts.yml"))).unwrap();
    assert_eq!(
        inventory["all"]["children"]["workers"]["hosts"]["lab-a2"]["ansible_host"],
        "198.51.100.12"
    );
    let targets = &documents(&repo.read("overlays/site/monitoring/redfish.yaml"))[0];
    assert_eq!(targets["spec"]["staticConfigs"].as_sequence().unwrap().len(), 6);
    assert!(!repo.exists(&format!("{edge}/inventory/kustomization.yaml")));
}

#[test]
fn no_template_of_the_repo_makes_a_secret_or_a_build_that_fails() {
    let secret = CONFIG_MAP.replace("NAME", "x").replace("ConfigMap", "Secret");
    let plain = format!("{secret}stringData: {{password: hunter2}}\n");
    let encrypted =
        format!("{secret}stringData: {{password: 'ENC[AES256_GCM,data:x,type:str]'}}\n");
    let service =
        CONFIG_MAP.replace("NAME", "loadbalancer-worker-edge").replace("ConfigMap", "Service");
    let service = service + "spec: {ports: [{port: 1}]}\n";
    let twice = |text: &str| format!("{text}---\n{text}");
    let policy = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    let lists_hosts =
        "resources: [deployment.yaml, service.yaml, ../../../../../sites/lab/hosts]\n";
    for (file, text, says) in [
        ("outputs/x/a.yaml", plain.as_str(), Some("has a Secret with values in plain text")),
        ("outputs/x/a.yaml", &encrypted, None),
        ("outputs/x/a.yaml", &service, Some("duplicate Service")),
        ("loadbalancer/service.yaml", &twice(policy), Some("duplicate ConfigMap")),
        ("loadbalancer/kustomization.yaml", lists_hosts, Some("sites/lab/hosts, which has hosts")),
    ] {
        let repo = Repo::of_fixture("quickstart");
        repo.write("sipgen.yaml", "templates: own\noutputs: [{name: x, scope: cluster}]\n");
        repo.write("own/outputs/x/b.yaml", &CONFIG_MAP.replace("NAME", "b"));
        repo.write(&format!("own/{file}"), text);
        let run = repo.generate(&[]).expect(i32::from(says.is_some()));
        assert_says(&run.stderr, &says.map_or_else(Vec::new, |says| vec![says, file]));
        assert_eq!(repo.exists("overlays"), says.is_none(), "{}", run.stderr);
    }
}
