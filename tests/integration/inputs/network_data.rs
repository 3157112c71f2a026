use crate::support::scenes::inputs::{balanced, networks, sipgen};
use crate::support::scenes::inputs_network_data::naming_network_data;
use crate::support::{assert_says, host};

fn manifest(kind: &str, field: &str, address: &str) -> String {
    format!(
        "apiVersion: v1\nkind: {kind}\nmetadata: {{namespace: metal, name: host-1-network-data}}\n{field}:\n  \
         networkData: '{}'\n",
        networks(address).trim_end()
    )
}

#[test]
fn a_config_map_holds_network_data_as_a_secret_does() {
    let repo = naming_network_data();
    repo.refused();
    repo.write("inventory/network.yaml", &manifest("ConfigMap", "data", "192.0.2.31"));
    repo.generate(&[]).expect(0);
    assert_says(&balanced(&repo), &["192.0.2.31"]);
}

#[test]
fn a_plain_file_beside_the_host_is_network_data() {
    for file in [
        "inventory/host-1-network-data.yaml",
        "inventory/host-1-network-data.json",
        "inventory/host-1/network_data.json",
        "inventory/network_data.json",
    ] {
        let repo = naming_network_data();
        repo.write(file, &networks("192.0.2.32"));
        repo.generate(&[]).expect(0);
        assert_says(&balanced(&repo), &["192.0.2.32"]);
        repo.replace("inventory/hosts.yaml", "  networkData: {name: host-1-network-data}\n", "");
        repo.generate(&[]).expect(0);
        assert_says(&balanced(&repo), &["192.0.2.32"]);
    }
}

#[test]
fn a_file_that_several_hosts_could_mean_is_nobodys() {
    let repo = naming_network_data();
    let both = repo.read("inventory/hosts.yaml") + &host("host-2", "");
    repo.write("inventory/hosts.yaml", &both);
    repo.write("inventory/network_data.json", &networks("192.0.2.32"));
    repo.refused();
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
    repo.write("inventory/secret.yaml", &manifest("Secret", "stringData", "192.0.2.35"));
    repo.write("inventory/host-1-network-data.json", &networks("192.0.2.36"));
    let said = repo.refused();
    assert_says(
        &said,
        &[
            "error[SIP0331]",
            "the Secret metal/host-1-network-data",
            "inventory/host-1-network-data.json",
        ],
    );
    repo.write("inventory/host-1-network-data.json", &networks("192.0.2.35"));
    repo.generate(&[]).expect(0);
    repo.write("inventory/map.yaml", &manifest("ConfigMap", "data", "192.0.2.37"));
    assert_says(&repo.refused(), &["error[SIP0331]", "the ConfigMap metal/host-1-network-data"]);
}
