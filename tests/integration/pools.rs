//! IPPools: what they keep, which of their documents count, and which of them are missing.

use std::fs;
use std::os::unix::fs::symlink;

use crate::addresses::{CLUSTER, haproxy, repo};
use crate::support::{Repo, assert_says};

const POOL: &str = "inventory/pool.yaml";
const COMPONENT: &str = "overlays/tenants/tenant-a/edge/cluster-api/kustomization.yaml";

/// Returns a pool with a spec.
fn pool(spec: &str) -> String {
    format!(
        "apiVersion: ipam.metal3.io/v1alpha1\nkind: IPPool\nmetadata: {{name: provisioning, namespace: tenant-a}}\n{spec}"
    )
}

/// Returns a repo whose hosts have addresses by annotation: 192.0.2.11 and so on.
fn annotated(pool: &str) -> Repo {
    let repo = repo("{}");
    for number in 1..=3 {
        repo.replace(
            "inventory/hosts.yaml",
            &format!("{{name: m{number}, namespace: tenant-a"),
            &format!(
                "{{name: m{number}, namespace: tenant-a, annotations: {{sip.airshipit.org/addresses: provisioning=192.0.2.1{number}}}"
            ),
        );
    }
    repo.write(POOL, pool);
    repo
}

#[test]
fn no_host_has_an_address_that_a_pool_cannot_give_it() {
    let range = "{start: 192.0.2.10, end: 192.0.2.50}";
    let outside = Some("is in none of its ranges");
    let shared = Some("is kept for another claim, too");
    for (ranges, address, more, says) in [
        (range, "192.0.2.10", "", None),
        (range, "192.0.2.50", ", printer: 192.0.2.14", None),
        (range, "192.0.2.9", "", outside),
        (range, "192.0.2.51", "", outside),
        (range, "203.0.113.77", "", outside),
        (range, "\"2001:db8::12\"", "", outside),
        ("{start: 192.0.2.50, end: 192.0.2.1}, {subnet: 192.0.2.12/30}", "192.0.2.40", "", outside),
        ("{subnet: 192.0.2.0/26}", "192.0.2.70", "", outside),
        ("{start: \"${START}\", end: 192.0.2.50}", "203.0.113.77", "", None),
        (range, "192.0.2.14", ", printer: 192.0.2.14", shared),
        (range, "192.0.2.14", ", m1-oam: \"192.0.2.14\"", shared),
    ] {
        let entries = format!(
            "{{m1-provisioning: {address}, m2-provisioning: 192.0.2.13, m3-provisioning: 192.0.2.15{more}}}"
        );
        let repo = repo(&entries);
        repo.replace(POOL, "namePrefix: p\n", &format!("namePrefix: p\n  pools: [{ranges}]\n"));

        let said = repo.generate(&[]).expect(0).stderr;

        let servers = haproxy(&repo);
        let is_used = servers.contains(&format!("{}:", address.trim_matches('"')));
        assert_eq!(is_used, says.is_none(), "{ranges} {address}{more}\n{said}");
        match says {
            Some(why) => assert_says(&said, &["SIP0335", why, "--> inventory/pool.yaml:7:"]),
            None => assert!(!said.contains("SIP0335"), "{said}"),
        }
    }
}

#[test]
fn a_pool_without_fields_keeps_addresses_and_one_that_is_not_read_is_an_error() {
    for spec in [
        "",
        "spec:\n",
        "spec: null\n",
        "spec: {}\n",
        "spec:\n  preAllocations:\n    # m9-provisioning: 192.0.2.19\n",
        "spec: {preAllocations: null, pools: null, prefix: null, gateway: null, clusterName: null}\n",
        "spec: {pools: [{start: null, end: null, subnet: 192.0.2.0/24, prefix: null}]}\n",
    ] {
        let repo = annotated(&pool(spec));
        repo.generate(&[]).expect(0);
        assert_says(&repo.read(COMPONENT), &["\"m1-provisioning\": \"192.0.2.11\""]);
    }
    for (field, spec) in [
        ("spec", "spec: text\n"),
        ("spec.prefix", "spec: {prefix: \"24\"}\n"),
        ("spec.pools", "spec: {pools: {start: 192.0.2.1}}\n"),
        ("spec.pools", "spec: {pools: [192.0.2.1]}\n"),
        ("spec.preAllocations", "spec: {preAllocations: []}\n"),
        ("spec.preAllocations", "spec: {preAllocations: {a: [192.0.2.1]}}\n"),
    ] {
        let said = annotated(&pool(spec)).refused();
        assert_says(&said, &["SIP0101", "the IPPool cannot be read", field, POOL]);
    }
    // Other API groups have pools, too.
    let other = pool("spec: {pools: text}\n").replace("ipam.metal3.io", "example.com");
    annotated(&other).generate(&[]).expect(0);
}

/// A way in which a file stops being one that is read.
type Hide = fn(&Repo);

#[test]
fn a_pool_whose_file_is_not_read_keeps_its_addresses() {
    let hidden: [(&str, Hide); 8] = [
        ("SIP0017", |repo| repo.write(POOL, "")),
        ("SIP0017", |repo| repo.write(POOL, "hello\n")),
        ("SIP0017", |repo| repo.write(POOL, "a: {b: c}\n")),
        ("SIP0017", |repo| {
            repo.write(
                POOL,
                "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 9\n",
            );
        }),
        ("SIP0017", |repo| repo.replace(POOL, "io/v1alpha1", "io.v1alpha1")),
        ("SIP0017", |repo| {
            fs::remove_file(repo.path().join(POOL)).unwrap();
            symlink("nowhere.yaml", repo.path().join(POOL)).unwrap();
        }),
        ("SIP0101", |repo| {
            repo.write(POOL, &format!("<<<<<<< HEAD\n{}=======\n", repo.read(POOL)))
        }),
        ("SIP0101", |repo| repo.replace(POOL, "prefix: 24", "prefix: x")),
    ];
    let repo = annotated(&pool("spec: {prefix: 24}\n"));
    repo.generate(&[]).expect(0);
    repo.commit();
    let (before, text) = (repo.files("overlays"), repo.read(POOL));
    for (code, hide) in hidden {
        hide(&repo);
        let said = repo.generate(&[]).expect(1).stderr;
        assert_says(&said, &[code, POOL]);
        if code == "SIP0017" {
            assert_says(
                &said,
                &["IPPool `provisioning` with addresses of `tenant-a/edge` is missing"],
            );
        }
        assert_eq!(repo.files("overlays"), before, "{said}");
        fs::remove_file(repo.path().join(POOL)).unwrap();
        repo.write(POOL, &text);
    }
    fs::remove_file(repo.path().join(POOL)).unwrap();
    repo.generate(&[]).expect(0);
    assert!(!repo.read(COMPONENT).contains("IPPool"), "a deleted pool keeps nothing");
}

/// The component must not lose what the agent wrote to the live pool: it would be removed there.
#[test]
fn a_live_copy_of_a_pool_changes_nothing() {
    let manifest = pool("spec: {pools: [{start: 192.0.2.10, end: 192.0.2.50}]}\n");
    for request in [None, Some(CLUSTER)] {
        for file in ["asnap/pool.yaml", "zsnap/pool.yaml"] {
            for live in [
                "pools: [{start: 192.0.2.10, end: 192.0.2.50}], preAllocations: {m1-provisioning: 192.0.2.11, m2-provisioning: 192.0.2.12}",
                "pools: [{start: 192.0.2.10, end: 192.0.2.50}], preAllocations: {m1-provisioning: 192.0.2.40}",
                "pools: [{start: 192.0.2.10, end: 192.0.2.50}], preAllocations: {m9-provisioning: 192.0.2.11}",
                "pools: [{start: 192.0.2.60, end: 192.0.2.70}]",
            ] {
                let live = pool(&format!("spec: {{{live}}}\n"));
                let repo = annotated(&manifest);
                if let Some(request) = request {
                    repo.write("clusters/edge.yaml", request);
                }
                repo.generate(&[]).expect(0);
                repo.commit();
                let before = repo.files("overlays");
                assert_says(&repo.read(COMPONENT), &["\"m1-provisioning\": \"192.0.2.11\""]);

                repo.write(file, &live.replace("{name:", "{uid: u, name:"));
                repo.generate(&[]).expect(0);
                assert_eq!(repo.files("overlays"), before, "{file}: {live}");

                // If git has no manifest, the live pool counts.
                if live.contains("m2-provisioning") {
                    fs::remove_file(repo.path().join(POOL)).unwrap();
                    repo.generate(&[]).expect(0);
                    assert_eq!(repo.files("overlays"), before, "{file}: {live}");
                }
            }
        }
    }
    // Entries that the component wrote follow their hosts.
    let repo = annotated(&manifest);
    repo.generate(&[]).expect(0);
    repo.commit();
    let live = manifest.replace("{pools", "{preAllocations: {m1-provisioning: 192.0.2.11}, pools");
    repo.write(POOL, &live.replace("{name:", "{uid: u, name:"));
    repo.replace("inventory/hosts.yaml", "=192.0.2.11", "=192.0.2.21");
    repo.generate(&[]).expect(0);
    assert_says(&repo.read(COMPONENT), &["\"m1-provisioning\": \"192.0.2.21\""]);
    // A build may render a manifest that was copied from a live object.
    let repo = annotated(&manifest.replace("{name:", "{uid: u, name:"));
    repo.write("inventory/kustomization.yaml", "resources: [hosts.yaml, pool.yaml]\n");
    repo.write(
        "zsnap/pool.yaml",
        &pool("spec: {pools: [{start: 192.0.2.60, end: 192.0.2.70}]}\n")
            .replace("{name:", "{uid: u, name:"),
    );
    repo.generate(&[]).expect(0);
    assert_says(&repo.read(COMPONENT), &["\"m1-provisioning\": \"192.0.2.11\""]);
}

/// Metal3 gives a Machine the address that its claim has, whichever object the claim is named after.
#[test]
fn a_service_uses_the_address_that_the_claims_of_a_host_have() {
    let data = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: Metal3Data\n\
                metadata: {name: edge-0, namespace: tenant-a}\nspec: {claim: {name: cp-x7k2p}}\n---\n";
    let given = |claim: &str, address: &str| {
        format!(
            "apiVersion: ipam.metal3.io/v1alpha1\nkind: IPAddress\nmetadata: {{name: a-{claim}, namespace: tenant-a}}\n\
             spec: {{address: {address}, pool: {{name: provisioning}}, claim: {{name: {claim}}}}}\n---\n"
        )
    };
    let (own, of_data, other) = ("m1-provisioning", "edge-0-provisioning", "edge-9-provisioning");
    let (same, different) = ("192.0.2.11", "192.0.2.40");
    let without_service = "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {name: edge, namespace: tenant-a}\n\
         spec: {nodes: {ControlPlane: {labelSelector: {}, count: {active: 1}}}}\n";
    // What is said of a SIPCluster with a load balancer, of one without, and of a Cluster.
    let cases = [
        ("", String::new(), [None; 3]),
        ("m1-provisioning: 192.0.2.11", String::new(), [None; 3]),
        (
            "m1-provisioning: 192.0.2.40",
            String::new(),
            [Some("it keeps 192.0.2.40 for it"), None, Some("it keeps 192.0.2.40 for it")],
        ),
        ("edge-0-provisioning: 192.0.2.11", data.to_owned(), [None; 3]),
        (
            "edge-0-provisioning: 192.0.2.40",
            data.to_owned(),
            [Some("it keeps 192.0.2.40 for it"), None, None],
        ),
        ("", given(own, same), [None; 3]),
        ("", given(own, different), [Some("the claim `m1-provisioning` has 192.0.2.40"); 3]),
        ("", data.to_owned() + &given(of_data, same), [None; 3]),
        (
            "",
            data.to_owned() + &given(of_data, different),
            [Some("the claim `edge-0-provisioning` has 192.0.2.40"), None, None],
        ),
        ("", given(of_data, different), [None; 3]),
        ("", given(other, same), [None; 3]),
        (
            "",
            data.to_owned() + &given(other, same),
            [Some("the claim `edge-9-provisioning` has the address"); 3],
        ),
    ];
    for (kept, objects, said) in cases {
        for (request, says) in [None, Some(without_service), Some(CLUSTER)].into_iter().zip(said) {
            let repo = annotated(&pool("spec: {pools: [{subnet: 192.0.2.0/24}]}\n"));
            if let Some(request) = request {
                repo.write("clusters/edge.yaml", request);
            }
            repo.generate(&[]).expect(0);
            repo.commit();
            let used = "{online: true, consumerRef: {kind: Metal3Machine, name: cp-x7k2p, namespace: tenant-a}}";
            repo.replace_behind("inventory/hosts.yaml", "name: m1", "{online: true}", used);
            repo.replace_behind("inventory/hosts.yaml", "name: m1", "available", "provisioned");
            repo.replace(POOL, "spec: {", &format!("spec: {{preAllocations: {{{kept}}}, "));
            repo.write("inventory/given.yaml", &objects);

            let run = repo.generate(&[]).expect(i32::from(says.is_some()));

            let which = format!("{kept} {objects} {request:?}");
            assert_eq!(run.stderr.contains("SIP0354"), says.is_some(), "{which}\n{}", run.stderr);
            assert_says(&run.stderr, says.as_slice());
        }
    }
}

#[test]
fn an_address_that_a_claim_requests_is_kept_for_no_host() {
    let has = "the claim `printer` has the address";
    for (kind, group, pool_field, pool_name, address, says) in [
        ("IPClaim", "ipam.metal3.io/v1alpha1", "pool", "provisioning", "192.0.2.11", Some(has)),
        (
            "IPAddressClaim",
            "ipam.cluster.x-k8s.io/v1beta2",
            "poolRef",
            "provisioning",
            "192.0.2.11",
            Some(has),
        ),
        ("IPClaim", "ipam.metal3.io/v1alpha1", "pool", "provisioning", "192.0.2.40", None),
        ("IPClaim", "ipam.metal3.io/v1alpha1", "pool", "provisioning", "${PRINTER}", None),
        ("IPClaim", "ipam.metal3.io/v1alpha1", "pool", "other", "192.0.2.11", None),
        ("IPClaim", "example.com/v1", "pool", "provisioning", "192.0.2.11", None),
    ] {
        let repo = annotated(&pool("spec: {pools: [{subnet: 192.0.2.0/24}]}\n"));
        repo.write(
            "inventory/claim.yaml",
            &format!(
                "apiVersion: {group}\nkind: {kind}\nmetadata: {{name: printer, namespace: tenant-a, annotations: {{ipAddress: \"{address}\"}}}}\n\
                 spec: {{{pool_field}: {{name: {pool_name}}}}}\n"
            ),
        );
        let run = repo.generate(&[]).expect(i32::from(says.is_some()));
        assert_says(&run.stderr, says.as_slice());
    }
}

#[test]
fn an_entry_of_the_user_whose_value_is_unknown_stays() {
    for (value, is_reported) in [("${N1}", false), ("x${N1}", false), ("text", true)] {
        let repo = annotated(&pool(&format!(
            "spec: {{preAllocations: {{m1-provisioning: \"{value}\"}}}}\n"
        )));
        let said = repo.generate(&[]).expect(0).stderr;
        assert_eq!(said.contains("SIP0335"), is_reported, "{value} {said}");
        let component = repo.read(COMPONENT);
        assert!(!component.contains("m1-provisioning"), "{value} {component}");
        assert_says(&component, &["\"m2-provisioning\": \"192.0.2.12\""]);
    }
}

#[test]
fn of_two_pools_of_one_name_the_one_that_a_build_renders_counts() {
    for other in ["aside/pool.yaml", "old/pool.yaml"] {
        for (is_right, says) in [(true, "SIP0349"), (false, "SIP0354")] {
            let mut specs = ["192.0.2.0/24", "10.0.0.0/24"]
                .map(|it| pool(&format!("spec: {{pools: [{{subnet: {it}}}]}}\n")));
            specs.rotate_left(usize::from(!is_right));
            let repo = annotated(&specs[0]);
            repo.write("inventory/kustomization.yaml", "resources: [hosts.yaml, pool.yaml]\n");
            repo.write(other, &specs[1]);
            let run = repo.generate(&[]).expect(i32::from(!is_right));
            assert_says(
                &run.stderr,
                &[says, &format!("--> {other}:3:")][..if is_right { 2 } else { 1 }],
            );
        }
    }
}

#[test]
fn of_two_pools_that_builds_render_under_one_name_neither_counts() {
    for (other, second) in [
        ("second/pool.yaml", "resources: [pool.yaml]\n"),
        ("second/pool.yaml", "namespace: tenant-a\nresources: [pool.yaml]\n"),
    ] {
        let spec = |subnet: &str| pool(&format!("spec: {{pools: [{{subnet: {subnet}}}]}}\n"));
        let repo = annotated(&spec("192.0.2.0/24"));
        repo.write("inventory/kustomization.yaml", "resources: [hosts.yaml, pool.yaml]\n");
        repo.write(other, &spec("10.0.0.0/24"));
        repo.write("second/kustomization.yaml", second);
        let run = repo.generate(&[]).expect(1);
        let says = "error[SIP0201]: there are two IPPools tenant-a/provisioning";
        assert_says(&run.stderr, &[says, &format!("--> {other}:3:"), &format!("--> {POOL}:3:")]);
        // The same name in another namespace is another pool.
        repo.write("second/kustomization.yaml", "namespace: other\nresources: [pool.yaml]\n");
        repo.generate(&[]).expect(0);
    }
}

#[test]
fn a_pool_keeps_no_address_for_hosts_of_two_clusters() {
    for (owner, is_shared) in [("", true), ("clusterName: edge, ", false)] {
        let repo =
            annotated(&pool(&format!("spec: {{{owner}pools: [{{subnet: 192.0.2.0/24}}]}}\n")));
        repo.replace("inventory/hosts.yaml", "provisioning=192.0.2.12", "provisioning=192.0.2.11");
        repo.write("clusters/edge.yaml", CLUSTER);
        repo.write("clusters/far.yaml", &CLUSTER.replace("edge", "far").replace("cp", "far-cp"));
        let run = repo.generate(&[]).expect(i32::from(is_shared));
        let says = "cannot keep 192.0.2.11 for the claim `m2-provisioning` of tenant-a/far: it is to keep the address for the claim \
                    `m1-provisioning` of tenant-a/edge, too";
        assert_eq!(run.stderr.contains(says), is_shared, "{}", run.stderr);
    }
}
