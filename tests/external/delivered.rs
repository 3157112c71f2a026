//! The tests of `integration::delivered` that need another program.

use crate::support::scenes::delivered::with_site;
use crate::support::{assert_says, built_host, is_labelled};

#[test]
fn a_renamed_host_is_labelled_under_the_name_that_its_component_finds() {
    let repo = with_site("nameSuffix: -lab\ncomponents: [../overlays/hosts/declared/site]\n");
    repo.write("sipgen.yaml", "hosts: {form: component}\n");
    repo.generate(&[]).expect(0);

    assert_says(
        &repo.read("overlays/hosts/declared/site/vino.one.yaml"),
        &["# The host metal/h1-lab", "\"h1\""],
    );
    for host in ["h1-lab", "h2-lab"] {
        assert!(is_labelled(&built_host(repo.path().join("site"), host)));
    }
    repo.generate(&["--check"]).expect(0);
}
