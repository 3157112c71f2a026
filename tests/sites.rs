//! Repos of several base clusters: `clusters/staging` and `clusters/production` over common bases, as monorepos of Flux and
//! Argo CD have them.

#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use support::{Repo, Run, assert_says, built_host, documents, host, is_labelled, kustomize_build, run};

const SITES: [&str; 2] = ["production", "staging"];

/// A monorepo as `flux bootstrap` makes it: each cluster's directory says which directories are applied to it, and those
/// stand on common bases. Hosts and clusters have the same names in both.
fn monorepo(settings: &str) -> Repo {
    let repo = Repo::empty();
    let hosts: String = (1..=3).map(|number| host(&format!("node-{number}"), "")).collect();
    repo.write("infrastructure/base/hosts.yaml", &hosts);
    repo.write("infrastructure/base/kustomization.yaml", "resources: [hosts.yaml]\n");
    repo.write("tenants/base/edge.yaml", &edge(1));
    repo.write("tenants/base/kustomization.yaml", "resources: [edge.yaml]\n");
    for site in SITES {
        repo.write(&format!("infrastructure/{site}/kustomization.yaml"), "namespace: metal\nresources: [../base]\n");
        repo.write(&format!("tenants/{site}/kustomization.yaml"), "namespace: tenant-a\nresources: [../base]\n");
        let sync = flux("flux-system", &format!("./clusters/{site}"));
        repo.write(&format!("clusters/{site}/flux-system/gotk-sync.yaml"), &sync);
        repo.write(&format!("clusters/{site}/flux-system/kustomization.yaml"), "resources: [gotk-sync.yaml]\n");
        for part in ["infrastructure", "tenants"] {
            repo.write(&format!("clusters/{site}/{part}.yaml"), &flux(part, &format!("./{part}/{site}")));
        }
    }
    if !settings.is_empty() {
        repo.write("sipgen.yaml", settings);
    }
    repo.commit();
    repo
}

/// The usual settings.
const SETTINGS: &str = "sites: [\"clusters/*\"]\ngitops: flux\n";

fn edge(workers: usize) -> String {
    format!(
        "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {{name: edge}}\n\
         spec:\n  nodes: {{Worker: {{labelSelector: {{}}, count: {{active: {workers}}}}}}}\n"
    )
}

fn with_load_balancer(name: &str, port: u16) -> String {
    edge(1).replace("name: edge", &format!("name: {name}"))
        + &format!(
            "  services:\n    loadBalancerControlPlane:\n    - {{image: \"registry.example.com/haproxy:2.4\", \
             clusterIP: 192.0.2.9, nodePort: {port}, nodeInterfaceId: oam-ipv4}}\n"
        )
}

fn flux(name: &str, path: &str) -> String {
    format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n\
         metadata: {{name: {name}, namespace: flux-system}}\n\
         spec: {{interval: 10m, path: {path}, prune: true, sourceRef: {{kind: GitRepository, name: flux-system}}}}\n"
    )
}

fn application(name: &str, path: &str, server: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: {name}, namespace: argocd}}\n\
         spec:\n  project: default\n  destination: {{server: \"{server}\"}}\n\
         \x20 source: {{repoURL: \"https://git.example.com/fleet.git\", path: {path}}}\n"
    )
}

fn overlay(site: &str) -> String {
    format!("overlays/clusters/{site}/hosts/declared/infrastructure/{site}")
}

fn sipgen(repo: &Repo, arguments: &[&str]) -> Run {
    run(&mut repo.sipgen(arguments))
}

#[test]
fn one_run_generates_all_sites_over_common_bases() {
    let repo = monorepo(SETTINGS);

    let said = repo.generate(&[]).expect(0).stderr;

    assert_says(&said, &["site production", "site staging", "2 sites: 2 clusters, 2 hosts assigned"]);
    for site in SITES {
        let built = kustomize_build(repo.path().join(overlay(site)));
        let labelled = documents(&built).into_iter().filter(is_labelled).count();
        assert_eq!((documents(&built).len(), labelled), (3, 1), "{site}");
        let agents = kustomize_build(repo.path().join(format!("overlays/clusters/{site}/agents/flux")));
        let paths: Vec<String> =
            documents(&agents).iter().filter_map(|object| Some(object["spec"]["path"].as_str()?.to_owned())).collect();
        assert!(!paths.is_empty());
        for path in paths {
            assert!(path.starts_with(&format!("./overlays/clusters/{site}/")), "{path}");
            assert!(repo.path().join(&path).join("kustomization.yaml").exists(), "{path}");
        }
    }
    let again = repo.generate(&["--check"]).expect(0).stderr;
    assert!(!again.contains("would be written"), "{again}");
}

#[test]
fn what_agents_apply_is_right_for_a_site_in_a_subdirectory() {
    let repo = monorepo("");
    for site in SITES {
        repo.write(&format!("clusters/{site}/kustomization.yaml"), "resources: [infrastructure.yaml, tenants.yaml]\n");
        repo.write(&format!("clusters/{site}/sipgen.yaml"), "gitops: flux\n");
    }
    repo.generate(&[]).expect(0);

    for site in SITES {
        let agents = repo.read(&format!("clusters/{site}/overlays/agents/flux/services.yaml"));
        assert_says(&agents, &[&format!("\"./clusters/{site}/overlays/agents/flux/services\"")]);
        assert_says(&agents, &[&format!("# Generated by sipgen from clusters/{site}/sipgen.yaml.")]);
    }
}

#[test]
fn a_site_can_be_taken_alone_by_its_name_or_directory() {
    let all = monorepo(SETTINGS);
    all.generate(&[]).expect(0);
    for arguments in [["--site", "staging"], ["--site", "clusters/staging"]] {
        let repo = monorepo(SETTINGS);

        let said = repo.generate(&arguments).expect(0).stderr;

        assert!(!said.contains("production"), "{said}");
        assert!(!repo.exists("overlays/clusters/production"));
        assert_eq!(repo.files("overlays/clusters/staging"), all.files("overlays/clusters/staging"));
    }
    let by_directory = monorepo(SETTINGS);
    let directory = by_directory.path().join("clusters/staging");
    run(std::process::Command::new(env!("CARGO_BIN_EXE_sipgen")).arg("generate").arg("--repo").arg(directory))
        .expect(0);
    assert_eq!(by_directory.files("overlays"), {
        let mut files = all.files("overlays");
        files.retain(|file, _| file.contains("staging"));
        files
    });

    let unknown = all.generate(&["--site", "stagign"]).expect(2).stderr;
    assert_says(&unknown, &["there is no site `stagign`; the repo has production, staging"]);
    let only = Repo::of_fixture("quickstart").generate(&["--site", "lab"]).expect(2).stderr;
    assert_says(&only, &["the repo is one site"]);
}

#[test]
fn an_error_in_one_site_leaves_every_file_of_all_as_it_was() {
    let repo = monorepo(SETTINGS);
    repo.generate(&[]).expect(0);
    repo.commit();
    let before = repo.on_disk("overlays");
    // Of three hosts, four cannot be taken; the other site would get one more.
    repo.write("tenants/production/edge.yaml", &edge(4).replace("name: edge", "name: wide"));
    repo.write("tenants/production/kustomization.yaml", "namespace: tenant-a\nresources: [../base, edge.yaml]\n");
    repo.write("tenants/base/edge.yaml", &edge(2));

    let said = repo.generate(&[]).expect(1).stderr;

    assert_eq!(repo.on_disk("overlays"), before);
    assert_says(&said, &["no file was changed in any site", "errors in: production"]);

    let said = repo.generate(&["--keep-going"]).expect(1).stderr;
    assert_says(&said, &["errors in: production"]);
    assert_eq!(
        repo.read(&format!("{}/tenant-a.edge.yaml", overlay("staging"))).matches("kind: BareMetalHost").count(),
        2
    );

    // What concerns no cluster leaves the whole site as it is.
    let repo = monorepo(SETTINGS);
    repo.write("clusters/production/broken.yaml", "kind: BareMetalHost\nmetadata: {name: [}\n");
    repo.generate(&["--keep-going"]).expect(1);
    assert!(repo.exists(&overlay("staging")) && !repo.exists("overlays/clusters/production"));
}

#[test]
fn names_hosts_and_node_ports_clash_within_a_base_cluster_only() {
    let repo = monorepo(SETTINGS);
    for site in SITES {
        repo.write(&format!("clusters/{site}/lb.yaml"), &with_load_balancer("lb", 30_001));
    }
    repo.remove("tenants/base/edge.yaml");
    repo.write("tenants/base/kustomization.yaml", "resources: []\n");
    let both = repo.generate(&["--check"]).expect(1).stderr;
    assert!(!both.contains("30001"), "{both}");

    repo.write("clusters/staging/other.yaml", &with_load_balancer("other", 30_001));
    let clash = repo.generate(&["--check"]).expect(1).stderr;
    assert_says(&clash, &["30001", "errors in: ", "staging"]);
    repo.write("clusters/staging/other.yaml", &with_load_balancer("lb", 30_002));
    let twice = repo.generate(&["--check"]).expect(1).stderr;
    assert_says(&twice, &["there are two SIPClusters default/lb", "clusters/staging/other.yaml"]);
    assert_eq!(twice.matches("SIP0201").count(), 1, "{twice}");
    assert_says(&twice, &["errors in: staging"]);
}

#[test]
fn inputs_are_what_builds_reach() {
    let repo = monorepo(SETTINGS);
    // Nothing of staging lists it: a host of production alone.
    repo.write("infrastructure/production/extra.yaml", &host("only-production", ""));
    repo.write("infrastructure/production/kustomization.yaml", "namespace: metal\nresources: [../base, extra.yaml]\n");
    repo.write("attic/old-host.yaml", &host("node-9", ""));

    let said = sipgen(&repo, &["status", "--format", "json"]).expect(0).stdout;

    let status: serde_json::Value = serde_json::from_str(&said).unwrap();
    let text = |site: &str| status["sites"][site]["hosts"].to_string();
    assert!(text("production").contains("only-production") && !text("staging").contains("only-production"));
    assert!(text("staging").contains("node-1") && !said.contains("node-9"));
}

#[test]
fn a_request_of_no_site_is_reported() {
    let repo = monorepo(SETTINGS);
    repo.write("tenants/forgotten/edge.yaml", &edge(1));

    let said = sipgen(&repo, &["validate"]).expect(0).stdout;

    assert_says(&said, &["SIP0141", "tenants/forgotten/edge.yaml"]);
    assert!(!said.contains("tenants/base/edge.yaml"), "{said}");
}

#[test]
fn an_entry_of_sites_that_names_nothing_stops_the_run() {
    for entry in ["clusters/prodution", "clsters/*", "../elsewhere", "/etc", "clusters/["] {
        let repo = monorepo(&format!("sites: [clusters/staging, \"{entry}\"]\noutput: overlays\n"));

        let said = repo.generate(&[]).expect(1).stderr;

        assert_says(&said, &["SIP0140", entry, "sipgen.yaml:1"]);
        assert!(!repo.exists("overlays"), "{entry}");
    }
}

#[test]
fn a_directory_with_settings_is_a_site_where_the_root_has_none() {
    let repo = monorepo("");
    for site in SITES {
        repo.write(&format!("clusters/{site}/sipgen.yaml"), "output: ../out\n");
    }
    let refused = repo.generate(&[]).expect(1).stderr;
    assert_says(&refused, &["SIP0002", "clusters/production/sipgen.yaml:1", "clusters/staging/sipgen.yaml:1"]);

    for site in SITES {
        repo.write(&format!("clusters/{site}/sipgen.yaml"), "output: generated\n");
        repo.write(&format!("clusters/{site}/kustomization.yaml"), "resources: [flux-system, infrastructure.yaml]\n");
    }
    // A workflow of this name is none.
    repo.write(".github/workflows/sipgen.yaml", "on: push\n");
    repo.generate(&[]).expect(0);
    for site in SITES {
        assert!(repo.exists(&format!("clusters/{site}/generated/hosts/declared/infrastructure/{site}")), "{site}");
    }
    assert!(!repo.exists("overlays"));
}

#[test]
fn settings_of_a_site_replace_those_of_the_root_one_by_one() {
    let repo = monorepo(&format!(
        "{SETTINGS}flux: {{name: fleet}}\nfindings: {{ignore: [{{code: SIP0618, reason: later}}]}}\n"
    ));
    repo.write("clusters/staging/sipgen.yaml", "flux: {name: stage, interval: 1h}\n");

    let said = repo.generate(&[]).expect(0).stderr;

    assert!(!said.contains("SIP0618"), "{said}");
    let object = |site: &str| repo.read(&format!("overlays/clusters/{site}/agents/flux/services.yaml"));
    assert_says(&object("production"), &["\"fleet.services\"", "\"10m\""]);
    assert_says(&object("staging"), &["\"stage.services\"", "\"1h\""]);

    repo.write("clusters/staging/sipgen.yaml", "sites: [x]\n");
    assert_says(
        &repo.generate(&[]).expect(1).stderr,
        &["SIP0002", "clusters/staging/sipgen.yaml:1", "at the repo's root"],
    );
    repo.write("clusters/staging/sipgen.yaml", "flux: {path: clusters/lab}\n");
    assert_says(
        &repo.generate(&[]).expect(1).stderr,
        &["SIP0002", "`flux.path: clusters/lab` does not end with clusters/staging"],
    );
    repo.write("clusters/staging/sipgen.yaml", "flux: {path: fleet/clusters/staging}\n");
    for part in ["infrastructure", "tenants"] {
        let path = format!("./fleet/{part}/staging");
        repo.write(&format!("clusters/staging/{part}.yaml"), &flux(part, &path));
    }
    repo.generate(&[]).expect(0);
    assert_says(&object("staging"), &["./fleet/overlays/clusters/staging/agents/flux/services"]);
}

#[test]
fn beside_sites_a_directory_has_one_for_each_site() {
    let repo = monorepo(&format!("{SETTINGS}output: generated\nsnapshot: {{directory: live}}\n"));
    for site in SITES {
        repo.write(&format!("live/clusters/{site}/hosts.yaml"), &host("observed", ""));
    }

    repo.generate(&[]).expect(0);

    assert!(!repo.exists("overlays"));
    let status = sipgen(&repo, &["status", "--format", "json"]).expect(0).stdout;
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    for site in SITES {
        assert!(repo.exists(&format!("generated/clusters/{site}/hosts/declared/infrastructure/{site}")));
        assert_eq!(status["sites"][site]["hosts"].as_array().unwrap().len(), 4, "{status}");
    }
}

#[test]
fn applications_find_their_site_by_path_and_destination() {
    let servers = ["https://production.example.com", "https://staging.example.com"];
    let repo = monorepo("sites: [\"clusters/*\"]\ngitops: argocd\n");
    for (site, server) in SITES.into_iter().zip(servers) {
        repo.remove_all(&format!("clusters/{site}"));
        repo.write(
            &format!("clusters/{site}/kustomization.yaml"),
            &format!("resources: [../../infrastructure/{site}, ../../tenants/{site}]\n"),
        );
        repo.write(
            &format!("clusters/{site}/sipgen.yaml"),
            &format!(
                "argocd: {{repoURL: \"https://git.example.com/fleet.git\", destination: {{server: \"{server}\"}}}}\n"
            ),
        );
        // One Argo CD for both, in a directory of its own.
        repo.write(&format!("argocd/{site}.yaml"), &application(site, &format!("clusters/{site}"), server));
    }
    let clash = repo.generate(&[]).expect(1).stderr;
    assert_says(&clash, &["SIP0142", "the sites production and staging", "argocd: {name: sipgen-staging}"]);
    assert!(!repo.exists("overlays"));

    let settings = repo.read("clusters/staging/sipgen.yaml").replace("argocd: {", "argocd: {name: sipgen-staging, ");
    repo.write("clusters/staging/sipgen.yaml", &settings);
    let said = repo.generate(&[]).expect(0).stderr;

    for site in SITES {
        let warning = format!("Application argocd/{site} applies clusters/{site}, where 3 declared hosts");
        assert_eq!(said.matches(&warning).count(), 1, "{said}");
        let path = format!("overlays/clusters/{site}/hosts/declared/clusters/{site}");
        assert_says(&said, &[&path]);
        assert_eq!(
            documents(&kustomize_build(repo.path().join(&path))).iter().filter(|host| is_labelled(host)).count(),
            1
        );
    }
}

#[test]
fn every_command_works_at_the_root() {
    let repo = monorepo(SETTINGS);
    repo.generate(&["--commit"]).expect(0);
    assert_says(
        &repo.git(&["log", "-1", "--format=%B"]),
        &["update production, staging", "site production", "site staging"],
    );
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    repo.write("tenants/staging/more.yaml", &edge(1).replace("name: edge", "name: more"));
    repo.write("tenants/staging/kustomization.yaml", "namespace: tenant-a\nresources: [../base, more.yaml]\n");
    repo.git(&["add", "--all"]);

    let diff = sipgen(&repo, &["diff"]).expect(1).stdout;
    let (production, staging) = diff.split_once("site staging").unwrap();
    assert!(production.contains("no changes") && staging.contains("tenant-a/more"), "{diff}");
    let since = sipgen(&repo, &["diff", "--base", "HEAD", "--format", "json"]).expect(1).stdout;
    let since: serde_json::Value = serde_json::from_str(&since).unwrap();
    assert_eq!(since["sites"]["production"]["review"]["clusters"].as_array().unwrap().len(), 0);
    assert_eq!(since["sites"]["staging"]["review"]["clusters"].as_array().unwrap().len(), 1);
    let markdown = sipgen(&repo, &["diff", "--base", "HEAD", "--format", "markdown"]).expect(1).stdout;
    assert_says(&markdown, &["## sipgen: `production`: nothing changes", "## sipgen: `staging`: 1 cluster changes"]);
    assert_eq!(markdown.matches("<!-- sipgen -->").count(), 1);

    let stale = repo.generate(&["--from-index", "--check", "--format", "github"]).expect(1);
    assert_says(&stale.stdout, &["tenants/staging/more.yaml"]);
    assert_says(&stale.stderr, &["git", "add overlays/clusters/staging"]);
    sipgen(&repo, &["validate", "--from-index"]).expect(0);
    repo.generate(&["--rev", "HEAD", "--check"]).expect(0);

    let explained = sipgen(&repo, &["explain", "tenant-a/more"]).expect(0).stdout;
    assert!(explained.contains("site staging") && !explained.contains("site production"), "{explained}");
    assert_says(&sipgen(&repo, &["explain", "metal/node-1"]).expect(0).stdout, &["site production", "site staging"]);
    assert_says(&sipgen(&repo, &["explain", "metal/no"]).expect(2).stderr, &["metal/no"]);
    assert_says(&sipgen(&repo, &["status", "--cluster", "tenant-a/more"]).expect(0).stdout, &["site staging"]);
    sipgen(&repo, &["status", "--cluster", "tenant-a/none"]).expect(2);
    let page = repo.path().join("page.html");
    sipgen(&repo, &["report", "--html", page.to_str().unwrap()]).expect(0);
    assert!(repo.exists("page.production.html") && repo.exists("page.staging.html") && !repo.exists("page.html"));
    assert_says(&sipgen(&repo, &["inventory", "tenant-a/edge"]).expect(2).stderr, &["production", "staging", "--site"]);
    assert_says(&sipgen(&repo, &["snapshot"]).expect(2).stderr, &["name its site by --site", "production, staging"]);

    repo.generate(&["--only", "tenant-a/more"]).expect(0);
    assert_says(&repo.generate(&["--only", "tenant-a/none"]).expect(2).stderr, &["there is no cluster tenant-a/none"]);
    let stream = repo.path().join("stream.yaml");
    std::fs::write(&stream, edge(1)).unwrap();
    let refused = repo.generate(&["--input", stream.to_str().unwrap()]).expect(2).stderr;
    assert_says(&refused, &["--input is of one base cluster", "production, staging"]);
}

#[test]
fn a_sipcluster_of_a_common_base_is_migrated_once() {
    let repo = monorepo(SETTINGS);
    let older = "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {name: edge}\nspec:\n  \
                 nodes:\n    Worker:\n      vmFlavor: 'example.com/flavor=worker'\n      count: {active: 0}\n";
    repo.write("tenants/base/edge.yaml", older);

    let said = sipgen(&repo, &["migrate"]).expect(0).stderr;

    assert_says(&said, &["1 SIPCluster rewritten in 1 file"]);
    assert!(!repo.read("tenants/base/edge.yaml").contains("vmFlavor"));
    assert_says(&sipgen(&repo, &["migrate", "--check"]).expect(0).stderr, &["no SIPCluster is of an older generation"]);
}

#[test]
fn a_site_that_was_generated_by_itself_keeps_its_hosts() {
    let repo = Repo::of_hosts(4);
    repo.want("tenant-a/edge", 2);
    let sites = repo.path().join("sites/lab");
    std::fs::create_dir_all(&sites).unwrap();
    for moved in ["inventory", "clusters"] {
        if repo.exists(moved) {
            std::fs::rename(repo.path().join(moved), sites.join(moved)).unwrap();
        }
    }
    // The directory is no site yet, and so it is the root of everything.
    run(std::process::Command::new(env!("CARGO_BIN_EXE_sipgen")).args(["generate", "--repo"]).arg(&sites)).expect(0);
    let of =
        |repo: &Repo, root: &str| repo.read(&format!("sites/lab/overlays/hosts/declared/{root}/tenant-a.edge.yaml"));
    let before = of(&repo, "inventory");
    repo.write("sipgen.yaml", "sites: [sites/lab]\n");
    let elsewhere = repo.generate(&[]).expect(1).stderr;
    assert_says(&elsewhere, &["SIP0008", "outside the output directory overlays/sites/lab"]);
    repo.write("sites/lab/sipgen.yaml", "output: overlays\n");

    let said = repo.generate(&[]).expect(0).stderr;

    let hosts =
        |text: &str| text.lines().filter(|line| line.contains("name: \"host-")).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(hosts(&of(&repo, "sites/lab/inventory")), hosts(&before), "{said}");
    assert!(!repo.exists("sites/lab/overlays/hosts/declared/inventory"));
    assert_says(&said, &["2 hosts assigned, 0 added"]);
}

#[test]
fn output_of_a_repo_that_was_one_site_is_not_forgotten() {
    let repo = Repo::of_hosts(2);
    repo.want("tenant-a/edge", 1);
    repo.generate(&[]).expect(0);
    repo.write("lab/kustomization.yaml", "resources: [../inventory]\n");
    repo.write("sipgen.yaml", "sites: [lab]\n");

    let said = repo.generate(&[]).expect(1).stderr;

    assert_says(&said, &["SIP0008", "outside of every site", "git mv"]);
    assert!(!repo.exists("overlays/lab"));
}

#[test]
fn a_patched_base_is_another_one_for_each_site() {
    let repo = monorepo(SETTINGS);
    repo.write("infrastructure/production/kustomization.yaml", "namespace: bare-metal\nresources: [../base]\n");

    repo.generate(&[]).expect(0);

    let labelled = |site: &str, namespace: &str| {
        let object = built_host(repo.path().join(overlay(site)), "node-1");
        assert_eq!(object["metadata"]["namespace"].as_str(), Some(namespace));
        is_labelled(&object)
    };
    assert!(labelled("production", "bare-metal") && labelled("staging", "metal"));
}

#[test]
fn init_prepares_a_repo_of_several_base_clusters() {
    let repo = monorepo("");
    let said = sipgen(&repo, &["init"]).expect(0).stderr;

    assert_says(&said, &["2 sites, in each of which Flux was bootstrapped"]);
    assert_says(
        &repo.read("sipgen.yaml"),
        &["sites:\n  - \"clusters/production\"\n  - \"clusters/staging\"\n", "gitops: flux"],
    );
    assert_says(
        &repo.read(".gitattributes"),
        &["/overlays/clusters/production/**", "/overlays/clusters/staging/hosts/**"],
    );
    assert_says(&repo.read("SIPGEN.md"), &["`overlays/<site>/agents/flux`"]);
    repo.generate(&[]).expect(0);
    assert!(repo.exists(&overlay("staging")) && repo.exists(&overlay("production")));
    let again = sipgen(&repo, &["init"]).expect(0).stderr;
    assert!(!again.contains("add these lines") && !again.contains("created"), "{again}");

    // Directories of the usual name decide nothing.
    let repo = Repo::of_hosts(1);
    for site in SITES {
        repo.write(&format!("clusters/{site}/kustomization.yaml"), "resources: [../../inventory]\n");
    }
    let said = sipgen(&repo, &["init"]).expect(0).stderr;
    assert_says(&said, &["whether the repo is several sites is for you to say"]);
    assert_says(&repo.read("sipgen.yaml"), &["# sites:\n#   - \"clusters/production\"\n#   - \"clusters/staging\"\n"]);
}

#[test]
fn a_base_among_the_clusters_is_taken_out() {
    let repo = monorepo("sites: [\"clusters/*\", \"!clusters/base\"]\n");
    repo.write("clusters/base/kustomization.yaml", "resources: [host.yaml]\n");
    repo.write("clusters/base/host.yaml", &host("of-base", ""));
    repo.write(
        "infrastructure/staging/kustomization.yaml",
        "namespace: metal\nresources: [../base, ../../clusters/base]\n",
    );

    let said = sipgen(&repo, &["status", "--format", "json"]).expect(0).stdout;

    let status: serde_json::Value = serde_json::from_str(&said).unwrap();
    let sites = status["sites"].as_object().unwrap();
    assert_eq!(sites.keys().collect::<Vec<_>>(), SITES);
    assert!(sites["staging"].to_string().contains("of-base") && !sites["production"].to_string().contains("of-base"));
}

#[test]
fn a_site_within_another_is_no_part_of_it() {
    let repo = monorepo("sites: [\"clusters/*\", clusters/staging/edge]\n");
    repo.write("clusters/staging/edge/kustomization.yaml", "resources: [host.yaml]\n");
    repo.write("clusters/staging/edge/host.yaml", &host("of-edge", ""));

    // By default, the output of the inner one would lie in that of the outer one.
    let refused = repo.generate(&[]).expect(1).stderr;
    assert_says(
        &refused,
        &["the output directory overlays/clusters/staging of the site staging has overlays/clusters/staging/edge"],
    );
    assert!(!repo.exists("overlays"));

    repo.write("clusters/staging/edge/sipgen.yaml", "output: ../generated\n");
    assert_says(&repo.generate(&[]).expect(1).stderr, &["SIP0002", "clusters/staging/edge/sipgen.yaml:1"]);
    repo.write("clusters/staging/edge/sipgen.yaml", "output: generated\n");
    let status = sipgen(&repo, &["status", "--format", "json"]);
    let status: serde_json::Value = serde_json::from_str(&status.stdout).unwrap();
    assert!(status["sites"]["edge"]["hosts"].to_string().contains("of-edge"));
    assert!(!status["sites"]["staging"]["hosts"].to_string().contains("of-edge"));
}

#[test]
fn the_output_of_one_site_is_no_base_of_another() {
    let repo = monorepo(SETTINGS);
    repo.generate(&[]).expect(0);
    repo.write(
        "infrastructure/staging/kustomization.yaml",
        "namespace: metal\nresources: [../base, ../../overlays/clusters/production/hosts/declared/infrastructure/production]\n",
    );
    let before = repo.files("overlays");

    let said = repo.generate(&[]).expect(1).stderr;

    assert_says(&said, &["which the site staging builds, lists overlays/clusters/production/hosts"]);
    assert_says(&said, &["no file was changed in any site"]);
    assert_eq!(repo.files("overlays"), before);
}

#[test]
fn an_agent_that_applies_the_whole_repo_brings_nothing_of_other_sites() {
    let repo = monorepo(SETTINGS);
    repo.write("clusters/production/only.yaml", &host("of-production", ""));
    repo.write("clusters/staging/all.yaml", &flux("all", "./clusters"));

    let status = sipgen(&repo, &["status", "--format", "json"]);

    let status: serde_json::Value = serde_json::from_str(&status.stdout).unwrap();
    assert!(status["sites"]["production"]["hosts"].to_string().contains("of-production"));
    assert!(!status["sites"]["staging"]["hosts"].to_string().contains("of-production"));
}

#[test]
fn a_link_is_no_site_and_a_cycle_ends() {
    let repo = monorepo("sites: [\"clusters/*\"]\n");
    std::os::unix::fs::symlink("staging", repo.path().join("clusters/linked")).unwrap();
    repo.write("infrastructure/base/kustomization.yaml", "resources: [hosts.yaml, ../staging]\n");

    let said = repo.generate(&[]).expect(1).stderr;

    assert!(!said.contains("site linked"), "{said}");
    assert_says(&said, &["has itself among its resources"]);
    repo.write("sipgen.yaml", "sites: [clusters/linked]\n");
    assert_says(&repo.generate(&[]).expect(1).stderr, &["SIP0140"]);
}

/// Hosts with their own machines.
fn machines(count: usize, first: usize) -> String {
    let machine = |number: usize| {
        format!(
            "---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {{name: m{number}, namespace: metal}}\n\
             spec:\n  online: true\n  bootMACAddress: \"02:00:5E:10:00:0{number}\"\n  \
             bmc: {{address: \"redfish://192.0.2.{number}/redfish/v1/Systems/1\", credentialsName: m-bmc}}\n"
        )
    };
    (first..first + count).map(machine).collect()
}

/// A repo of two sites, each with these hosts.
fn with_machines(production: &str, staging: &str) -> Repo {
    let repo = Repo::empty();
    repo.write("sipgen.yaml", "sites: [\"clusters/*\"]\n");
    for (site, hosts) in [("production", production), ("staging", staging)] {
        repo.write(&format!("clusters/{site}/hosts/kustomization.yaml"), "resources: [hosts.yaml]\n");
        repo.write(&format!("clusters/{site}/hosts/hosts.yaml"), hosts);
        let edge = edge(1).replace("name: edge", "name: edge, namespace: tenant-a");
        repo.write(&format!("clusters/{site}/edge.yaml"), &edge);
    }
    repo.commit();
    repo
}

#[test]
fn one_machine_in_two_sites_is_a_warning_of_the_whole_run() {
    let repo = with_machines(&machines(2, 1), &machines(2, 3));
    assert!(!repo.generate(&[]).expect(0).stderr.contains("SIP0143"));

    // By the address of its BMC, by its MAC address, and by both: one machine.
    let (other_mac, other_bmc) =
        (machines(1, 1).replace("10:00:01", "10:00:09"), machines(1, 1).replace("192.0.2.1/", "192.0.2.9/"));
    for (staging, by) in [
        (other_mac, "the BMC address `redfish://192.0.2.1/redfish/v1/Systems/1`"),
        // Addresses are the same in any case.
        (
            other_bmc
                .to_lowercase()
                .replace("credentialsname", "credentialsName")
                .replace("bootmacaddress", "bootMACAddress")
                .replace("baremetalhost", "BareMetalHost")
                .replace("apiversion", "apiVersion"),
            "the boot MAC address `02:00:5e:10:00:01`",
        ),
        (machines(1, 1), "two base clusters control one machine"),
    ] {
        repo.write("clusters/staging/hosts/hosts.yaml", &staging);
        let said = repo.generate(&[]).expect(0).stderr;
        assert_says(
            &said,
            &["warning[SIP0143]", "`metal/m1` of the site `production`", "clusters/staging/hosts/hosts.yaml", by],
        );
        assert_eq!(said.matches("SIP0143").count(), 1, "{said}");
        assert_says(&sipgen(&repo, &["validate"]).expect(0).stdout, &["SIP0143"]);
        // One site alone has nothing to be compared with.
        assert!(!repo.generate(&["--site", "staging"]).expect(0).stderr.contains("SIP0143"));
    }
    repo.write("clusters/staging/hosts/hosts.yaml", &machines(2, 1));
    assert_says(&repo.generate(&[]).expect(0).stderr, &["2 machines are hosts of both the site `production`"]);
    for site in SITES {
        let settings = "findings: {ignore: [{code: SIP0143, reason: simulated}]}\n";
        repo.write(&format!("clusters/{site}/sipgen.yaml"), settings);
        assert!(!repo.generate(&[]).expect(0).stderr.contains("SIP0143"), "muted by {site}");
        repo.remove(&format!("clusters/{site}/sipgen.yaml"));
    }
}

#[test]
fn a_killed_run_of_one_site_is_undone_when_another_is_written() {
    let repo = monorepo(SETTINGS);
    repo.generate(&[]).expect(0);
    let whole = repo.files("overlays");
    let output = "overlays/clusters/production";
    let hosts = repo.files(&format!("{output}/hosts"));
    let (file, before) = hosts.iter().find(|(file, _)| file.ends_with("tenant-a.edge.yaml")).unwrap();
    let entry = serde_json::json!({format!("hosts/{file}"): {"before": before, "after": null}});
    let head = repo.git(&["rev-parse", "HEAD"]);
    let journal = serde_json::json!({"head": head.trim(), "hosts": entry, "directories": []}).to_string();
    repo.remove(&format!("{output}/hosts/{file}"));
    repo.write(&format!("{output}/.sipgen-journal.tmp"), &journal);

    // Who reads the other site alone is not concerned; who reads both is.
    sipgen(&repo, &["status", "--site", "staging"]).expect(0);
    assert_says(&sipgen(&repo, &["status"]).expect(2).stderr, &[output, "half written"]);
    repo.generate(&["--site", "staging"]).expect(0);

    assert!(repo.files("overlays") == whole);
}

#[test]
fn what_generated_applications_apply_is_of_the_site() {
    let settings =
        "sites: [\"clusters/*\"]\ngitops: argocd\nargocd: {repoURL: \"https://git.example.com/fleet.git\"}\n";
    for (generators, path) in [
        (
            "[{git: {directories: [{path: 'infrastructure/*'}, {path: infrastructure/base, exclude: true}]}}]",
            "{{path}}",
        ),
        ("[{git: {files: [{path: 'config/*.json'}]}}]", "infrastructure/{{site}}"),
        ("[{list: {elements: [{site: production}]}}]", "infrastructure/{{site}}"),
        ("[{clusters: {selector: {matchLabels: {kind: base}}}}]", "infrastructure/{{metadata.labels.site}}"),
    ] {
        let repo = Repo::empty();
        repo.write("sipgen.yaml", settings);
        repo.write("infrastructure/base/hosts.yaml", &host("node-1", ""));
        repo.write("infrastructure/base/kustomization.yaml", "resources: [hosts.yaml]\n");
        repo.write("infrastructure/production/kustomization.yaml", "resources: [../base]\n");
        repo.write("config/production.json", "{\"site\": \"production\"}");
        let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: base, namespace: argocd, labels: \
                      {argocd.argoproj.io/secret-type: cluster, kind: base, site: production}}\n\
                      stringData: {name: in-cluster, server: \"https://kubernetes.default.svc\"}\n";
        repo.write("argocd/clusters.yaml", secret);
        let edge = edge(1).replace("name: edge", "name: edge, namespace: tenant-a");
        repo.write("clusters/production/edge.yaml", &edge);
        repo.write(
            "clusters/production/sites.yaml",
            &format!(
                "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {{name: sites, namespace: argocd}}\n\
                 spec:\n  generators: {generators}\n  template:\n    spec:\n      \
                 destination: {{server: \"https://kubernetes.default.svc\"}}\n      \
                 source: {{repoURL: \"https://git.example.com/fleet.git\", path: \"{path}\"}}\n"
            ),
        );
        repo.commit();

        let said = repo.generate(&[]).expect(0).stderr;

        assert_says(&said, &["1 host assigned"]);
    }
}
