//! Mistakes in what no build reaches: examples, templates and test data, as public repos have them beside their sites.

use crate::support::in_memory::{
    REQUEST, generated_of as run, generated_with as site, host_for_edge as host,
};
use sipgen::GeneratedSite;
use sipgen::base::finding::{Code, Finding, Severity};

fn errors(generated: &GeneratedSite) -> Vec<(Code, &str)> {
    let errors = generated.findings.iter().filter(|finding| finding.is_error());
    errors.map(|finding| (finding.code, finding.message.as_str())).collect()
}

fn only(generated: &GeneratedSite, code: Code) -> &Finding {
    let mut found = generated.findings.iter().filter(|finding| finding.code == code);
    let first = found.next().unwrap_or_else(|| panic!("{code}: {:?}", generated.findings));
    assert!(found.next().is_none(), "{:?}", generated.findings);
    assert_eq!(first.severity, Severity::Warning);
    first
}

/// The settings that a remedy says to write.
fn pasted(finding: &Finding) -> String {
    let help = finding.help.clone().unwrap();
    let (_, lines) = help.split_once('\n').unwrap_or_else(|| panic!("no lines to paste in {help}"));
    format!("{lines}\n")
}

#[test]
fn malformed_hosts_that_no_build_reaches_block_nothing_and_the_remedy_works() {
    let broken = format!("{}  online: [\n", host("x"));
    for text in [
        host("NAME"),
        host("${HOST_NAME}"),
        host("'<name>'"),
        host("Not_A_Name"),
        host("node-%%ID%%").replace("node-%%ID%%", "'%ID%'"),
        broken,
        host("x").replace("{online: true}", "[]"),
        host("x").replace("BareMetalHost", "BaremetalHost"),
        host("''"),
    ] {
        let path = "roles/bmo/files/a b/host[1].yaml";
        let generated = site(&[(path, &text)]);
        assert_eq!(errors(&generated), [], "{text}");
        let finding = only(&generated, Code::UnusedObject);
        let silent = site(&[(path, &text), ("sipgen.yaml", &pasted(finding))]);
        assert_eq!(silent.findings, [], "{text}");

        // As sources that are there already, too.
        let settings = "sources:\n- paths: [inventory, clusters, roles]\n  namespace: tenant-a\n"
            .replace(", roles", "");
        let generated = site(&[("sipgen.yaml", &settings), (path, &text)]);
        assert_eq!(generated.findings, [], "{text}");
    }
}

#[test]
fn a_remedy_keeps_the_sources_that_are_there() {
    let settings = "sources:\n  - paths: [\"!old.yaml\"]\n    namespace: tenant-a\n";
    let old = ("old.yaml", "kind: X\n");
    let generated = site(&[("sipgen.yaml", settings), ("bad.yaml", &host("NAME")), old]);
    let lines = pasted(only(&generated, Code::UnusedObject));
    assert_eq!(lines, "paths: [\"!old.yaml\", \"!bad.yaml\"] # of source 1\n");
    let settings = format!("sources:\n  - {}    namespace: tenant-a\n", lines);
    assert_eq!(site(&[("sipgen.yaml", &settings), ("bad.yaml", &host("NAME")), old]).findings, []);
}

#[test]
fn the_same_mistakes_in_a_build_or_in_a_snapshot_are_errors() {
    for (path, text) in [
        ("inventory/hosts.yaml", host("Not_A_Name")),
        ("snapshot/hosts.yaml", host("Not_A_Name")),
        ("elsewhere.yaml", host("Not_A_Name") + "status: {provisioning: {state: available}}\n"),
        ("inventory/hosts.yaml", host("x").replace("{online: true}", "[]")),
        ("snapshot/hosts.yaml", host("x").replace("{online: true}", "[]")),
    ] {
        assert_ne!(errors(&site(&[(path, &text)])), [], "{path}");
    }
    let named = "sources: [{paths: [clusters, inventory, more.yaml]}]\n";
    assert_ne!(errors(&site(&[("sipgen.yaml", named), ("more.yaml", &host("Not_A_Name"))])), []);
    // Nothing else is an inventory.
    assert_ne!(
        errors(&run(&[("clusters/edge.yaml", REQUEST), ("hosts.yaml", &host("Not_A_Name"))])),
        []
    );
}

#[test]
fn malformed_requests_are_errors_wherever_they_lie_unless_they_are_templates_or_left_out() {
    for text in [
        REQUEST.replace("SIPCluster", "SIPcluster"),
        REQUEST.replace("edge, ", "Not_A_Name, "),
        REQUEST.replace("count:", "count"),
        REQUEST.replace("active: 1", "active: x"),
    ] {
        let generated = site(&[("examples/edge.yaml", &text)]);
        assert_ne!(errors(&generated), [], "{text}");
        let settings = "sources: [{paths: [\"!examples/edge.yaml\"]}]\n";
        assert_eq!(
            errors(&site(&[("examples/edge.yaml", &text), ("sipgen.yaml", settings)])),
            [],
            "{text}"
        );
    }
    for name in ["NAME", "CLUSTER_NAME", "'${CLUSTER}'", "'<cluster>'", "'@CLUSTER@'"] {
        let generated =
            site(&[("templates/edge.yaml", &REQUEST.replace("edge, ", &format!("{name}, ")))]);
        assert_eq!(errors(&generated), [], "{name}");
        let text = REQUEST.replace("edge, ", &format!("{name}, "));
        let settings = pasted(only(&generated, Code::UnusedObject));
        assert_eq!(
            site(&[("templates/edge.yaml", &text), ("sipgen.yaml", &settings)]).findings,
            [],
            "{name}"
        );
    }
}

#[test]
fn hosts_of_examples_that_are_there_twice_are_in_no_inventory() {
    let generated = site(&[("examples/a.yaml", &host("lab")), ("examples/b.yaml", &host("lab"))]);
    assert_eq!(errors(&generated), []);
    let names: Vec<&str> =
        generated.site.inventory.hosts.iter().map(|host| host.key.name.as_str()).collect();
    assert_eq!(names, ["real"]);
    let settings = pasted(only(&generated, Code::UnusedObject));
    let one = site(&[
        ("examples/a.yaml", &host("lab")),
        ("examples/b.yaml", &host("lab")),
        ("sipgen.yaml", &settings),
    ]);
    only(&one, Code::HostNotApplied);
    assert_eq!(one.findings.len(), 1, "{:?}", one.findings);
    assert_eq!(one.site.inventory.hosts.len(), 2);
}

#[test]
fn alternatives_of_a_host_that_a_build_reaches_are_ignored() {
    let generated = site(&[("docs/a.yaml", &host("real")), ("docs/b.yaml", &host("real"))]);
    assert_eq!(errors(&generated), []);
    only(&generated, Code::UnusedObject);
    assert!(generated.site.inventory.hosts[0].is_declared());
}

#[test]
fn of_two_requests_the_one_that_is_no_example_counts() {
    for path in ["examples/edge.yaml", "docs/edge.yaml"] {
        let generated = site(&[(path, &REQUEST.replace("active: 1", "active: 9"))]);
        assert_eq!(errors(&generated), [], "{path}");
        let settings = pasted(only(&generated, Code::UnusedObject));
        assert_eq!(site(&[(path, REQUEST), ("sipgen.yaml", &settings)]).findings, []);
    }
    // Nothing tells these apart; the remedy leaves files alone.
    let generated = site(&[("other/edge.yaml", REQUEST)]);
    assert_eq!(errors(&generated).len(), 1);
    let help = generated.findings[0].help.clone().unwrap();
    assert!(help.contains("\nsources: [{paths: [\"!other/edge.yaml\"]}]"), "{help}");
    // The one in a build is the one that an agent applies.
    let kustomization = "resources: [edge.yaml]\n";
    let generated =
        site(&[("other/edge.yaml", REQUEST), ("other/kustomization.yaml", kustomization)]);
    assert_eq!(errors(&generated), []);
    let counts = &generated.site.clusters.values().next().unwrap().origin;
    assert_eq!(*counts.file, *"other/edge.yaml");
}

#[test]
fn a_kustomization_that_reaches_no_host_blocks_nothing() {
    for text in
        ["resources: a.yaml\n", "resources: [\n", "resources: [../../roles]\nnamespace: 5\n"]
    {
        let generated =
            site(&[("roles/test/kustomization.yaml", text), ("roles/test/a.yaml", "kind: X\n")]);
        assert_eq!(errors(&generated), [], "{text}");
        only(&generated, Code::UnusedObject);
    }
    let muted = "findings: {ignore: [{code: SIP0349, reason: test data}]}\n";
    let generated = site(&[("roles/kustomization.yaml", "resources: a\n"), ("sipgen.yaml", muted)]);
    assert_eq!((generated.findings.len(), generated.muted), (0, 1));
    for (path, text) in [
        ("inventory/kustomization.yaml", "resources: hosts.yaml\n"),
        ("site/kustomization.yaml", "resources: [../inventory]\nnamespace: 5\n"),
        ("kustomization.yaml", "resources: [inventory\n"),
    ] {
        assert_ne!(errors(&site(&[(path, text)])), [], "{path}");
    }
}

#[test]
fn kustomize_reads_the_first_document_of_a_kustomization() {
    let generated =
        site(&[("inventory/kustomization.yaml", "resources: [hosts.yaml]\n---\nresources: [x\n")]);
    assert_eq!(generated.findings, []);
    assert!(generated.site.inventory.hosts[0].is_declared());
}

const SECRET: &str = "apiVersion: v1\nkind: Secret\nmetadata: {name: bmc, namespace: tenant-a}\nstringData: {password: x}\n";

#[test]
fn a_secret_that_nothing_uses_is_a_warning_and_the_remedy_works() {
    for path in ["examples/secret.yaml", "apps/grafana/secret.yaml", "templates/a b.yaml"] {
        let generated = site(&[(path, SECRET)]);
        assert_eq!(errors(&generated), [], "{path}");
        let finding = only(&generated, Code::PlaintextSecretAllowed);
        assert!(
            finding.message.contains("no build and no host has a use for it"),
            "{}",
            finding.message
        );
        let settings = pasted(finding);
        assert_eq!(site(&[(path, SECRET), ("sipgen.yaml", &settings)]).findings, [], "{settings}");
        let muted = "findings: {ignore: [{code: SIP0343, reason: samples}]}\n";
        let generated = site(&[(path, SECRET), ("sipgen.yaml", muted)]);
        assert_eq!((generated.findings.len(), generated.muted), (0, 1), "{path}");
    }
}

#[test]
fn a_secret_that_a_build_a_host_or_the_settings_use_is_an_error() {
    let kustomization = ("apps/kustomization.yaml", "resources: [secret.yaml]\n");
    let named = host("real")
        .replace("{online: true}", "{online: true, bmc: {address: x, credentialsName: bmc}}");
    let sources = "sources: [{paths: [inventory, clusters, more]}]\n";
    for files in [
        vec![("apps/secret.yaml", SECRET), kustomization],
        vec![("examples/secret.yaml", SECRET), ("inventory/hosts.yaml", named.as_str())],
        vec![("more/secret.yaml", SECRET), ("sipgen.yaml", sources)],
        vec![("clusters/secret.yaml", SECRET)],
        vec![("snapshot/secret.yaml", SECRET)],
    ] {
        let generated = site(&files);
        let codes: Vec<Code> = errors(&generated).into_iter().map(|(code, _)| code).collect();
        assert_eq!(codes, [Code::PlaintextSecret], "{files:?}");
    }
}

#[test]
fn network_data_that_no_host_names_may_be_there_twice() {
    let secret = |id: &str| {
        format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: net, namespace: tenant-a}}\nstringData:\n  networkData: |\n    \
             networks: [{{id: {id}, type: ipv4, ip_address: 192.0.2.1}}]\n"
        )
    };
    let (one, other) = (secret("a"), secret("b"));
    let files = [("examples/a.yaml", one.as_str()), ("examples/b.yaml", &other)];
    assert_eq!(errors(&site(&files)), []);
    let named = host("real").replace("{online: true}", "{online: true, networkData: {name: net}}");
    let generated = site(&[&files[..], &[("inventory/hosts.yaml", named.as_str())]].concat());
    assert_eq!(errors(&generated)[0].0, Code::NetworkDataDiffers);
}
