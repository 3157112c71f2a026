use crate::support::assert_says;
use crate::support::scenes::inputs::{balanced, networks, sipgen};
use crate::support::scenes::inputs_network_data::naming_network_data;

fn manifest(address: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{namespace: metal, name: host-1-network-data}}\nstringData:\n  \
         networkData: '{}'\n",
        networks(address).trim_end()
    )
}

#[test]
fn a_host_may_name_what_is_generated_with_its_hash() {
    let repo = naming_network_data();
    repo.replace("inventory/hosts.yaml", "host-1-network-data", "host-1-network-data-mk6kd988d6");
    repo.write("inventory/net.json", &networks("192.0.2.34"));
    repo.write(
        "inventory/kustomization.yaml",
        "namespace: metal\nresources: [hosts.yaml]\nsecretGenerator:\n  - name: host-1-network-data\n    files: \
         [networkData=net.json]\n",
    );
    repo.generate(&[]).expect(0);
    assert_says(&balanced(&repo), &["192.0.2.34"]);
}

#[test]
fn a_generator_whose_file_is_missing_is_told() {
    let repo = naming_network_data();
    repo.write(
        "inventory/kustomization.yaml",
        "namespace: metal\nresources: [hosts.yaml]\nsecretGenerator:\n  - {name: host-1-network-data, files: \
         [networkData=gone.json]}\n",
    );
    repo.refused();
    let run = sipgen(&repo, &["explain", "metal/host-1"]);
    assert_says(&run.stdout, &["inventory/gone.json, which is not in the repo"]);
}

#[test]
fn two_places_that_differ_are_an_error_at_both() {
    let repo = naming_network_data();
    repo.write("inventory/secret.yaml", &manifest("192.0.2.35"));
    repo.write("inventory/net.json", &networks("192.0.2.36"));
    repo.write(
        "inventory/kustomization.yaml",
        "namespace: metal\nresources: [hosts.yaml]\nsecretGenerator:\n  - name: host-1-network-data\n    files: \
         [networkData=net.json]\n",
    );
    let said = repo.refused();
    assert_says(
        &said,
        &[
            "error[SIP0331]",
            "the Secret metal/host-1-network-data",
            "what a kustomization generates as metal/host-1-network-data",
        ],
    );
    repo.write("inventory/net.json", &networks("192.0.2.35"));
    repo.generate(&[]).expect(0);
}

/// Metal3 reads Secrets only.
#[test]
fn neither_a_config_map_nor_a_plain_file_is_network_data() {
    for (file, text) in [
        ("inventory/map.yaml", manifest("192.0.2.37").replace("Secret", "ConfigMap")),
        ("inventory/host-1-network-data.json", networks("192.0.2.37")),
    ] {
        let repo = naming_network_data();
        repo.write(file, &text);
        repo.refused();
    }
}
