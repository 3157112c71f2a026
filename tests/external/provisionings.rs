//! The tests of `integration::provisionings` that need another program.

use crate::support::scenes::provisionings::{machines, validate, with_spec};

#[test]
fn a_label_that_a_kustomization_changes_counts_however_it_does() {
    let json = r#"[{"op": "replace", "path": "/metadata/labels/cluster", "value": "harbour"}]"#;
    let merge = "{apiVersion: bpa.akraino.org/v1alpha1, kind: Provisioning, metadata: {name: p, namespace: lab, labels: \
                 {cluster: harbour}}}";
    for changed in [
        "labels: [{pairs: {cluster: harbour}}]".to_owned(),
        "commonLabels: {cluster: harbour}".to_owned(),
        format!("patches: [{{target: {{kind: Provisioning}}, patch: '{json}'}}]"),
        format!("patches: [{{patch: '{merge}'}}]"),
        "patches: [{path: merge.yaml}]".to_owned(),
        "patches: [{path: json.yaml, target: {kind: Provisioning, name: p}}]".to_owned(),
        format!("patchesStrategicMerge: ['{merge}']"),
    ] {
        let repo = with_spec("  masters: [{head: {mac-address: '00:00:5e:00:53:01'}}]\n");
        // As inputs they would be requests of their own.
        for (file, text) in [("merge.yaml", merge), ("json.yaml", json)] {
            if changed.contains(file) {
                repo.write(&format!("clusters/{file}"), text);
            }
        }
        repo.write("clusters/kustomization.yaml", &format!("resources: [depot.yaml]\n{changed}\n"));
        // The real one gives it the label, too.
        assert!(
            crate::support::kustomize_build(repo.path().join("clusters"))
                .contains("cluster: harbour"),
            "{changed}"
        );
        assert_eq!(machines(&repo, "lab/harbour"), ["head lab/depot-01"], "{changed}");

        repo.write(
            "sipgen.yaml",
            "sources:\n  - kustomization: clusters\n  - paths: [inventory/**]\n",
        );
        assert_eq!(machines(&repo, "lab/harbour"), ["head lab/depot-01"]);
    }
    for harmless in [
        "labels: [{pairs: {cluster: depot, site: lab}}]",
        "patches: [{target: {kind: BareMetalHost}, patch: '- {op: add, path: /metadata/labels/cluster, value: x}'}]",
    ] {
        let repo = with_spec("  masters: [{head: {mac-address: '00:00:5e:00:53:01'}}]\n");
        repo.write(
            "clusters/kustomization.yaml",
            &format!("resources: [depot.yaml]\n{harmless}\n"),
        );
        validate(&repo, &["--strict"]).expect(0);
    }
}
