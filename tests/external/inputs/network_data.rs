//! The tests of `integration::inputs::network_data` that need another program.

use crate::support::assert_says;
use crate::support::scenes::inputs::{balanced, networks, sipgen};
use crate::support::scenes::inputs_network_data::naming_network_data;

#[test]
fn a_generator_makes_the_secret_that_a_host_names() {
    for (generator, options) in [
        (
            "files: [networkData=host-1/net.json]",
            "generatorOptions: {disableNameSuffixHash: true}\n",
        ),
        ("files: [networkData=host-1/net.json]", ""),
        ("files: [host-1/networkData]", ""),
        (
            "literals: ['networkData={\"networks\": [{\"id\": \"oam\", \"ip_address\": \"192.0.2.33\"}]}']",
            "",
        ),
    ] {
        let repo = naming_network_data();
        repo.write("inventory/host-1/net.json", &networks("192.0.2.33"));
        repo.write("inventory/host-1/networkData", &networks("192.0.2.33"));
        repo.write(
            "inventory/kustomization.yaml",
            &format!(
                "namespace: metal\nresources: [hosts.yaml]\nsecretGenerator:\n  - name: host-1-network-data\n    \
                 {generator}\n{options}"
            ),
        );
        repo.generate(&[]).expect(0);
        assert_says(&balanced(&repo), &["192.0.2.33"]);
        // As the real kustomize has it.
        repo.write("sipgen.yaml", "sources: [{paths: [clusters]}, {kustomization: inventory}]\n");
        sipgen(&repo, &["generate", "--check"]).expect(0);
    }
}
