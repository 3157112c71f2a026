//! Flux and Argo CD as repos configure them: what keeps them from applying the output, and what they read otherwise than
//! it seems.

use crate::support::in_memory::{generated_with, host_for_edge};
use sipgen::GeneratedSite;
use sipgen::base::finding::{Code, Finding};

const URL: &str = "https://git.example.com/platform/fleet.git";

/// A site with one declared host, its settings, and further files.
fn site(settings: &str, more: &[(&str, &str)]) -> GeneratedSite {
    generated_with(&[&[("sipgen.yaml", settings)], more].concat())
}

fn argocd(more: &str) -> String {
    format!("gitops: argocd\nargocd:\n  repoURL: {URL}\n{more}")
}

fn application(source: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: hosts, namespace: argocd}}\nspec:\n  \
         destination: {{server: https://kubernetes.default.svc}}\n  source: {{repoURL: {URL}, {source}}}\n"
    )
}

fn flux_kustomization(namespace: &str, spec: &str) -> String {
    format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n\
         metadata: {{name: hosts, namespace: {namespace}}}\n\
         spec: {{sourceRef: {{kind: GitRepository, name: flux-system, namespace: flux-system}}, {spec}}}\n"
    )
}

fn codes(generated: &GeneratedSite) -> Vec<Code> {
    generated.findings.iter().map(|finding| finding.code).collect()
}

fn only(generated: &GeneratedSite, code: Code) -> &Finding {
    assert_eq!(codes(generated), [code], "{:?}", generated.findings);
    &generated.findings[0]
}

fn help(finding: &Finding) -> &str {
    finding.help.as_deref().unwrap()
}

#[test]
fn a_source_with_directory_reads_files_where_there_is_a_kustomization() {
    for options in [
        "directory: {recurse: true}",
        "directory: {recurse: true}, kustomize: {}",
        "directory: {recurse: true}, kustomize: {images: [], namePrefix: ''}, helm: {}",
        "directory: {include: '*.yaml'}",
        "directory: {jsonnet: {libs: [x]}}",
    ] {
        let application = application(&format!("path: inventory, {options}"));
        let generated = site(&argocd(""), &[("argocd/hosts.yaml", &application)]);
        let finding = only(&generated, Code::UnlistedHostsApplied);
        assert!(
            finding.message.contains("as plain files, because of its `directory`"),
            "{}",
            finding.message
        );
        assert!(
            help(finding).starts_with("remove `directory` from its source"),
            "{}",
            help(finding)
        );
    }
    // `NormalizeSource` of Argo CD drops options that are not set.
    for options in [
        "",
        ", directory: {}",
        ", directory: {jsonnet: {}}",
        ", directory: {recurse: false}, helm: {}",
    ] {
        let application = application(&format!("path: inventory{options}"));
        let generated = site(&argocd(""), &[("argocd/hosts.yaml", &application)]);
        only(&generated, Code::RenderedUnlabelled);
    }
}

#[test]
fn files_beside_a_kustomization_override_its_source() {
    let renamed = vec![Code::RenderedUnlabelled, Code::OutputPatched];
    let unchanged = vec![Code::RenderedUnlabelled];
    let set = application("path: '{{dir}}'").replace("kind: Application", "kind: ApplicationSet");
    let set = set.replace("spec:\n", "spec:\n  generators: [{list: {elements: [{dir: inventory, site: hosts}]}}]\n  template:\n   metadata: {name: '{{site}}'}\n   spec:\n");
    let set =
        set.replace("\n  destination", "\n    destination").replace("\n  source", "\n    source");
    let plain = application("path: inventory");
    let prefixed = application("path: inventory, kustomize: {namePrefix: y-}");
    for (object, file, options, expected) in [
        (&plain, ".argocd-source.yaml", "kustomize: {namePrefix: x-}", &renamed),
        (&plain, ".argocd-source-hosts.yaml", "kustomize: {namePrefix: x-}", &renamed),
        (&set, ".argocd-source-hosts.yaml", "kustomize: {namePrefix: x-}", &renamed),
        (&prefixed, ".argocd-source-hosts.yaml", "kustomize: {images: [a:b]}", &renamed),
        (&prefixed, ".argocd-source.yaml", "kustomize: {namePrefix: null}", &unchanged),
        (&plain, ".argocd-source-other.yaml", "kustomize: {namePrefix: x-}", &unchanged),
        (&plain, ".argocd-source.yaml", "path: elsewhere", &unchanged),
        (
            &plain,
            ".argocd-source.yaml",
            "directory: {recurse: true}",
            &vec![Code::UnlistedHostsApplied],
        ),
    ] {
        let file = format!("inventory/{file}");
        let generated = site(&argocd(""), &[("argocd/hosts.yaml", object), (&file, options)]);
        assert_eq!(&codes(&generated), expected, "{file} {options}: {:?}", generated.findings);
        let message = &generated.findings.last().unwrap().message;
        assert_eq!(message.contains(&file), !file.contains("other"), "{message}");
    }
}

#[test]
fn a_generated_kustomization_is_never_read_as_files() {
    for path in [
        "overlays/hosts/declared/inventory",
        "overlays/hosts/observed/tenant-a.edge",
        "overlays/agents/argocd",
    ] {
        let source = |directory: &str| application(&format!("path: {path}{directory}"));
        let generated =
            site(&argocd(""), &[("argocd/x.yaml", &source(", directory: {recurse: true}"))]);
        assert!(only(&generated, Code::OutputMisapplied).is_error());
        let generated = site(&argocd(""), &[("argocd/x.yaml", &source(""))]);
        assert!(!codes(&generated).contains(&Code::OutputMisapplied), "{path}");
    }
}

/// They are for all Applications, also for sipgen's own.
#[test]
fn settings_of_argo_cd_by_which_labels_never_arrive_are_errors() {
    let exclusions = |rule: &str| format!("resource.exclusions: '[{{{rule}}}]'");
    let inclusions = |rule: &str| format!("resource.inclusions: '[{{{rule}}}]'");
    let ignored = |kind: &str, rule: &str| {
        format!("resource.customizations.ignoreDifferences.{kind}: '{{{rule}}}'")
    };
    let customized = |kind: &str, rule: &str| {
        format!("resource.customizations: '{{{kind}: {{ignoreDifferences: \"{{{rule}}}\"}}}}'")
    };
    let hosts = "metal3.io_BareMetalHost";
    for (data, is_reported) in [
        (exclusions("apiGroups: [metal3.io], kinds: [BareMetalHost]"), true),
        (exclusions("apiGroups: [\"*.io\"], kinds: [\"*\"], clusters: [\"*\"]"), true),
        (
            exclusions("kinds: [BareMetalHost], clusters: [\"https://kubernetes.default.svc\"]"),
            true,
        ),
        (exclusions("apiGroups: [metal3.io], clusters: [\"https://other.example.com\"]"), false),
        (exclusions("apiGroups: [metal3.io], kinds: [HardwareData]"), false),
        (exclusions("apiGroups: [cilium.io], kinds: [CiliumIdentity]"), false),
        (inclusions("apiGroups: [apps], kinds: [Deployment]"), true),
        (inclusions("apiGroups: [\"*\"], kinds: [\"*\"]"), false),
        (ignored(hosts, "jsonPointers: [/metadata/labels]"), true),
        (ignored("all", "jqPathExpressions: [.metadata.labels]"), true),
        (ignored(hosts, "jsonPointers: [/spec/online]"), false),
        (ignored("apps_Deployment", "jsonPointers: [/metadata/labels]"), false),
        (customized("metal3.io/BareMetalHost", "jsonPointers: [/metadata/labels]"), true),
        (customized("\"*/*\"", "jsonPointers: [/metadata/labels]"), true),
        (customized("metal3.io/BareMetalHost", "jsonPointers: [/spec/online]"), false),
        (customized("apps/Deployment", "jsonPointers: [/metadata/labels]"), false),
    ] {
        let settings = |name: &str| {
            format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{{data}}}\n"
            )
        };
        let own = settings("argocd-cm");
        let generated = site(&argocd(""), &[("argocd/cm.yaml", &own)]);
        let has = |generated: &GeneratedSite| codes(generated).contains(&Code::LabelsNotApplied);
        assert_eq!(has(&generated), is_reported, "{data}: {:?}", generated.findings);
        let others = [("argocd/cm.yaml", settings("argocd-cm-2"))];
        assert!(!has(&site(&argocd(""), &[(others[0].0, &others[0].1)])), "{data}");
        assert!(!has(&site("gitops: flux\n", &[("argocd/cm.yaml", &own)])), "{data}");
        // The manifests that Argo CD is installed from are in another repo.
        let kustomization =
            "resources: [https://example.com/argo-cd/install.yaml]\npatches: [{path: cm.yaml}]\n";
        let files =
            [("argocd/cm.yaml", own.as_str()), ("argocd/kustomization.yaml", kustomization)];
        assert_eq!(has(&site(&argocd(""), &files)), is_reported, "{data}");
        // An Application of the repo, whatever sipgen writes.
        let application = application("path: inventory");
        let files = [("argocd/cm.yaml", own.as_str()), ("argocd/hosts.yaml", &application)];
        for gitops in [argocd(""), argocd("").replace("gitops: argocd\n", "")] {
            let generated = site(&gitops, &files);
            let found = codes(&generated);
            let count = found.iter().filter(|code| **code == Code::LabelsNotApplied).count();
            assert_eq!(count, usize::from(is_reported), "{gitops}{data}: {:?}", generated.findings);
        }
    }
}

/// An Application fails as a whole if its project refuses an object of it.
#[test]
fn projects_of_argo_cd_that_refuse_hosts_are_errors() {
    let destinations =
        |namespace: &str| format!("destinations: [{{server: '*', namespace: '{namespace}'}}]");
    let hosts = "{group: metal3.io, kind: BareMetalHost}";
    let others = "{group: apps, kind: '*'}";
    for (spec, is_reported) in [
        (format!("namespaceResourceWhitelist: [{others}]"), true),
        ("namespaceResourceWhitelist: []".to_owned(), true),
        (format!("namespaceResourceWhitelist: [{others}, {hosts}]"), false),
        ("namespaceResourceWhitelist: [{group: '*', kind: '*'}]".to_owned(), false),
        ("namespaceResourceWhitelist: null".to_owned(), false),
        (format!("clusterResourceWhitelist: [{others}]"), false),
        (format!("namespaceResourceBlacklist: [{hosts}]"), true),
        ("namespaceResourceBlacklist: [{group: '*.io', kind: Bare*}]".to_owned(), true),
        (format!("namespaceResourceBlacklist: [{others}]"), false),
        (destinations("*"), false),
        (destinations("tenant-a"), false),
        (destinations("ten*"), false),
        (destinations("tenant-[ab]"), false),
        (destinations("{metal,tenant-a}"), false),
        (destinations("metal-*"), true),
        (destinations("{metal,lab}"), true),
        ("destinations: []".to_owned(), true),
        ("destinations: [{server: '*', namespace: '!tenant-a'}]".to_owned(), true),
        (
            "destinations: [{server: '*', namespace: '*'}, {server: b, namespace: '!tenant-*'}]"
                .to_owned(),
            true,
        ),
        ("destinations: [{server: '*', namespace: '!kube-*'}]".to_owned(), false),
        ("destinations: [{server: 'https://b.example.com', namespace: '*'}]".to_owned(), true),
        ("destinations: [{name: in-cluster, namespace: '*'}]".to_owned(), false),
        ("destinations: [{server: '!https://b.example.com', namespace: '*'}]".to_owned(), false),
        ("sourceRepos: ['*']".to_owned(), false),
        (format!("sourceRepos: ['{URL}']"), false),
        ("sourceRepos: ['https://*.com/other.git']".to_owned(), true),
        (format!("sourceRepos: ['*', '!{URL}']"), true),
        ("sourceRepos: []".to_owned(), true),
    ] {
        let project = |name: &str| {
            format!(
                "apiVersion: argoproj.io/v1alpha1\nkind: AppProject\nmetadata: {{name: {name}}}\nspec: {{{spec}}}\n"
            )
        };
        let own = project("default");
        let has = |files: &[(&str, &str)]| {
            let generated = site(&argocd(""), files);
            codes(&generated).contains(&Code::LabelsNotApplied)
        };
        // sipgen's own Applications, and one of the repo.
        let application = application("path: inventory");
        assert_eq!(has(&[("argocd/project.yaml", &own)]), is_reported, "{spec}");
        let files = [("argocd/project.yaml", own.as_str()), ("argocd/hosts.yaml", &application)];
        assert_eq!(has(&files), is_reported, "{spec}");
        assert!(!has(&[("argocd/project.yaml", &project("other"))]), "{spec}");
        // Each is for one of two base clusters.
        let two = [("a/project.yaml", own.as_str()), ("b/project.yaml", &project("default"))];
        assert!(!has(&two), "{spec}");
    }
}

/// Each would wait for the other.
#[test]
fn nothing_waits_for_what_waits_for_it() {
    let named = |name: &str, spec: &str| {
        flux_kustomization("flux-system", spec)
            .replace("{name: hosts,", &format!("{{name: {name},"))
    };
    for (needed, is_refused) in
        [("hosts", true), ("between", true), ("hosts, namespace: tenants", false), ("other", false)]
    {
        let overlay = "path: ./overlays/hosts/declared/inventory";
        let objects = [
            named("hosts", &format!("{overlay}, dependsOn: [{{name: sipgen.services}}]")),
            named("between", "path: ./other, dependsOn: [{name: hosts}]"),
            named(
                "agents",
                &format!("path: ./overlays/agents/flux, dependsOn: [{{name: {needed}}}]"),
            ),
        ];
        let objects = objects.join("---\n");
        let generated = site("gitops: flux\n", &[("flux/hosts.yaml", &objects)]);
        let expected: &[Code] = if is_refused { &[Code::AgentCannotApply] } else { &[] };
        assert_eq!(codes(&generated), expected, "{needed}: {:?}", generated.findings);
    }
}

/// Files in the output are no inputs.
#[test]
fn own_kustomizations_in_the_output_are_refused_if_an_agent_applies_them() {
    let object = flux_kustomization("flux-system", "path: ./overlays/prod");
    for (lists, is_refused) in [
        ("../../inventory", true),
        ("hosts.yaml", true),
        ("../crds/dex, ../clusters/tenant-a/edge/loadbalancer", false),
    ] {
        let own = format!("resources: [{lists}]\n");
        let files = [
            ("flux/hosts.yaml", object.as_str()),
            ("overlays/prod/kustomization.yaml", &own),
            ("overlays/prod/hosts.yaml", "kind: BareMetalHost\n"),
        ];
        let generated = site("gitops: flux\n", &files);
        let has = codes(&generated).contains(&Code::OutputMisapplied);
        assert_eq!(has, is_refused, "{lists}: {:?}", generated.findings);
        let elsewhere = site("gitops: flux\noutput: sipgen\n", &files);
        assert!(!codes(&elsewhere).contains(&Code::OutputMisapplied), "{:?}", elsewhere.findings);
    }
}

#[test]
fn components_that_agents_add_are_included() {
    let flux = |path: &str| {
        flux_kustomization("flux-system", &format!("path: ./inventory, components: [{path}]"))
    };
    let argo =
        |path: &str| application(&format!("path: inventory, kustomize: {{components: [{path}]}}"));
    let form = "hosts: {form: component}\n";
    for (settings, object) in [
        (format!("gitops: flux\n{form}"), &flux as &dyn Fn(&str) -> String),
        (argocd("") + form, &argo),
    ] {
        let run = |path: &str| site(&settings, &[("agent/hosts.yaml", &object(path))]);
        assert_eq!(codes(&run("../overlays/hosts/declared/inventory")), [], "{settings}");
        assert!(
            codes(&run("../overlays/hosts/declared/other")).contains(&Code::BuildRefused),
            "{settings}"
        );
        assert!(codes(&run("../common")).contains(&Code::NotIncluded), "{settings}");
    }
    // One that is an overlay is no component.
    let object = flux("../overlays/hosts/declared/inventory");
    let generated = site("gitops: flux\n", &[("agent/hosts.yaml", &object)]);
    assert!(codes(&generated).contains(&Code::ComponentMisplaced));
}

#[test]
fn a_source_of_flux_must_have_the_output() {
    let source = |spec: &str| {
        format!(
            "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\n\
             metadata: {{name: flux-system, namespace: flux-system}}\nspec:\n  url: {URL}\n{spec}"
        )
    };
    let run = |settings: &str, files: &[(&str, &str)]| site(settings, files);
    for spec in [
        "  ignore: |\n    /*\n    !/flux\n    !/inventory\n",
        "  sparseCheckout: [./inventory, flux]\n",
        // The shared files that services refer to.
        "  sparseCheckout: [overlays/agents, overlays/clusters, overlays/hosts, inventory]\n",
        "  ignore: |\n    /overlays/shared/\n",
        // The base of an overlay, and a file of it.
        "  ignore: |\n    /*\n    !/flux\n    !/overlays\n",
        "  ignore: |\n    /inventory/*.yaml\n    !/inventory/kustomization.yaml\n",
        "  sparseCheckout: [./overlays/]\n",
    ] {
        let generated = run("gitops: flux\n", &[("flux/source.yaml", &source(spec))]);
        only(&generated, Code::OutputNotInSource);
        let other = source(spec).replace("name: flux-system", "name: other");
        assert_eq!(codes(&run("gitops: flux\n", &[("flux/source.yaml", &other)])), []);
    }
    for spec in [
        "",
        "  ignore: |\n    /*\n    !/overlays/\n    !/inventory\n",
        "  sparseCheckout: [./overlays/, inventory]\n",
        "  sparseCheckout: [overlays/agents, overlays/hosts, inventory]\n",
        "  sparseCheckout: []\n",
    ] {
        assert_eq!(
            codes(&run("gitops: flux\n", &[("flux/source.yaml", &source(spec))])),
            [],
            "{spec}"
        );
    }
    for (file, text) in [(".sourceignore", "overlays/\n"), ("overlays/.sourceignore", "*\n")] {
        let generated = run("gitops: flux\n", &[(file, text)]);
        let found =
            generated.findings.iter().find(|finding| finding.code == Code::OutputNotInSource);
        let lines = help(found.unwrap()).split_once('\n').unwrap().1.to_owned();
        if file == ".sourceignore" {
            assert_eq!(codes(&run("gitops: flux\n", &[(file, &format!("{text}{lines}\n"))])), []);
        }
    }
    // The patterns of the object come last.
    let keeps = source("  ignore: |\n    !/overlays\n    !/inventory\n");
    assert_eq!(
        codes(&run("gitops: flux\n", &[(".sourceignore", "/*\n"), ("flux/source.yaml", &keeps)])),
        []
    );
    assert_eq!(codes(&run("", &[(".sourceignore", "/*\n")])), []);
    // The repo's own objects need the same files, without `gitops`.
    let overlay = flux_kustomization("flux-system", "path: ./overlays/hosts/declared/inventory");
    let added = "path: ./inventory, components: [../overlays/hosts/declared/inventory]";
    for (settings, object) in
        [("", overlay), ("hosts: {form: component}\n", flux_kustomization("flux-system", added))]
    {
        for kept in ["!/inventory", "!/overlays"] {
            let ignored = format!("/*\n!/flux\n{kept}\n");
            let generated =
                run(settings, &[(".sourceignore", &ignored), ("flux/hosts.yaml", &object)]);
            let lines = help(only(&generated, Code::OutputNotInSource)).split_once('\n').unwrap();
            let ignored = format!("{ignored}{}\n", lines.1);
            let files = [(".sourceignore", ignored.as_str()), ("flux/hosts.yaml", &object)];
            assert_eq!(codes(&run(settings, &files)), [], "{ignored}");
        }
    }
}

#[test]
fn encrypted_secrets_in_a_build_of_hosts_need_the_decryption_of_the_repo() {
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: bmc, namespace: tenant-a}\n\
                  data: {password: 'ENC[AES256_GCM,data:YQ==,iv:YQ==,tag:YQ==,type:str]'}\n\
                  sops: {mac: 'ENC[AES256_GCM,data:YQ==,iv:YQ==,tag:YQ==,type:str]', version: 3.9.0}\n";
    let own = "decryption: {provider: sops, secretRef: {name: sops-age}}";
    let top = flux_kustomization("flux-system", &format!("path: ./flux, {own}"));
    let files = [
        ("inventory/kustomization.yaml", "resources: [hosts.yaml, secret.yaml]\n"),
        ("inventory/secret.yaml", secret),
        ("flux/kustomization.yaml", "resources: [top.yaml]\n"),
        ("flux/top.yaml", &top),
    ];
    let generated = site("gitops: flux\n", &files);
    let lines =
        help(only(&generated, Code::AgentCannotApply)).split_once('\n').unwrap().1.to_owned();
    let settings = format!("gitops: flux\nflux:\n  {lines}\n");
    let generated = site(&settings, &files);
    assert_eq!(codes(&generated), [], "{settings}");
    let hosts = generated
        .tree
        .iter()
        .find(|(path, _)| path.as_str() == "agents/flux/hosts.yaml")
        .unwrap()
        .1;
    assert!(hosts.contains("decryption:") && hosts.contains("sops-age"), "{hosts}");
    // One that the repo's own object applies needs none of ours.
    let applied = flux_kustomization(
        "flux-system",
        &format!("path: overlays/hosts/declared/inventory, {own}"),
    );
    let generated =
        site("gitops: flux\n", &[&files[..2], &[("flux.yaml", applied.as_str())]].concat());
    assert!(!codes(&generated).contains(&Code::AgentCannotApply), "{:?}", generated.findings);
}

// `DisabledPluginConfig` of kustomize, which Flux builds with.
#[test]
fn a_build_that_needs_a_program_is_none_of_flux() {
    let ksops = "apiVersion: viaduct.ai/v1\nkind: ksops\nmetadata:\n  name: bmc\n  annotations: \
                 {config.kubernetes.io/function: 'exec: {path: ksops}'}\nfiles: [./secret.enc.yaml]\n";
    let builtin = "apiVersion: builtin\nkind: NamespaceTransformer\nmetadata: {name: n, namespace: tenant-a}\n";
    for (field, config, refused) in [
        ("helmCharts: [{name: podinfo, repo: https://example.com, version: 1.0.0}]", "", true),
        ("helmChartInflationGenerator: [{chartName: podinfo}]", "", true),
        ("generators: [config.yaml]", ksops, true),
        ("generators: [config.yaml]", &format!("{builtin}---\n{ksops}"), true),
        ("generators: ['{apiVersion: viaduct.ai/v1, kind: ksops, metadata: {name: x}}']", "", true),
        ("transformers: [config.yaml]", ksops, true),
        ("validators: [config.yaml]", ksops, true),
        ("validators: [config.yaml]", builtin, false),
        ("generators: []", "", false),
    ] {
        let kustomization = format!("resources: [hosts.yaml]\n{field}\n");
        let files = [
            ("inventory/kustomization.yaml", kustomization.as_str()),
            ("inventory/config.yaml", config),
        ];
        let own = flux_kustomization("flux-system", "path: ./overlays/hosts/declared/inventory");
        for (settings, object, agent_refuses) in [
            ("gitops: flux\n", "", refused),
            ("", own.as_str(), refused),
            (&argocd(""), "", false),
            (&argocd(""), &own, refused),
        ] {
            let files = [&files[..], &[("flux/hosts.yaml", object)]].concat();
            let generated = site(settings, &files);
            let is_told = codes(&generated).contains(&Code::AgentCannotApply);
            assert_eq!(is_told, agent_refuses, "{settings} {field}: {:?}", generated.findings);
        }
    }
}

#[test]
fn application_sets_apply_what_their_generators_say() {
    let set = |generators: &str, path: &str, destination: &str| {
        let generators = generators.replace("{git: {", &format!("{{git: {{repoURL: {URL}, "));
        format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {{name: sites, namespace: argocd}}\n\
             spec:\n  generators: [{generators}]\n  template:\n    spec:\n      destination: {{{destination}}}\n      \
             source: {{repoURL: {URL}, path: '{path}'}}\n"
        )
    };
    let here = "server: https://kubernetes.default.svc";
    let list = "list: {elements: [{dir: inventory, server: 'https://kubernetes.default.svc'}, \
                {dir: inventory, server: 'https://other.example.com'}]}";
    let unlabelled = vec![Code::RenderedUnlabelled];
    for (generators, path, destination, expected) in [
        (format!("{{{list}}}"), "{{dir}}", "server: '{{server}}'", unlabelled.clone()),
        (format!("{{{list}}}"), "{{ .dir }}", "server: '{{ .server }}'", unlabelled.clone()),
        ("{list: {elements: [{dir: elsewhere}]}}".to_owned(), "{{dir}}", here, vec![]),
        ("{clusters: {}}".to_owned(), "inventory", "server: '{{server}}'", unlabelled.clone()),
        (
            "{clusters: {values: {dir: inventory}}}".to_owned(),
            "{{values.dir}}",
            "name: '{{name}}'",
            unlabelled.clone(),
        ),
        (
            "{clusters: {selector: {matchLabels: {a: b}}}}".to_owned(),
            "{{name}}",
            "name: '{{name}}'",
            vec![Code::SetAside],
        ),
        (
            format!(
                "{{matrix: {{generators: [{{{list}}}, {{git: {{directories: [{{path: inv*}}]}}}}]}}}}"
            ),
            "{{path.basename}}",
            "server: '{{server}}'",
            unlabelled.clone(),
        ),
        (
            "{git: {files: [{path: 'sites/*/config.json'}]}}".to_owned(),
            "{{hosts.dir}}",
            here,
            unlabelled.clone(),
        ),
        // The name of a file of parameters, and those in a directory, do not matter.
        (
            "{git: {files: [{path: 'sites/**/values'}]}}".to_owned(),
            "{{dir}}",
            here,
            unlabelled.clone(),
        ),
        (
            "{git: {files: [{path: 'sites/**/values'}, {path: '**/deep/*', exclude: true}]}}"
                .to_owned(),
            "{{dir}}",
            here,
            vec![],
        ),
        (
            "{git: {directories: [{path: names/*}]}}".to_owned(),
            "{{path.basename}}",
            here,
            unlabelled.clone(),
        ),
        (
            "{list: {elementsYaml: '[{dir: inventory}]'}}".to_owned(),
            "{{dir}}",
            here,
            unlabelled.clone(),
        ),
        (
            "{list: {elementsYaml: '{{ .all | toJson }}'}}".to_owned(),
            "{{dir}}",
            here,
            vec![Code::SetAside],
        ),
        // A later generator of a matrix has the parameters of those before it.
        (
            "{matrix: {generators: [{list: {elements: [{dir: inventory}, {dir: none}]}}, \
             {git: {directories: [{path: '{{dir}}'}]}}]}}"
                .to_owned(),
            "{{path}}",
            here,
            unlabelled.clone(),
        ),
        (
            "{git: {directories: [{path: inv*}], values: {dir: '{{path}}'}}}".to_owned(),
            "{{values.dir}}",
            here,
            unlabelled.clone(),
        ),
        (
            "{list: {elements: [{dir: inventory, e: a}]}, selector: {matchLabels: {e: a}}}"
                .to_owned(),
            "{{dir}}",
            here,
            unlabelled.clone(),
        ),
        (
            "{list: {elements: [{dir: inventory, e: a}]}, selector: {matchLabels: {e: b}}}"
                .to_owned(),
            "{{dir}}",
            here,
            vec![],
        ),
        // Directories of another repo.
        (
            "{ git: {repoURL: 'https://git.example.com/other.git', directories: [{path: inv*}]}}"
                .to_owned(),
            "{{path}}",
            here,
            vec![Code::SetAside],
        ),
        ("{plugin: {}}".to_owned(), "{{dir}}", here, vec![Code::SetAside]),
        ("{plugin: {}}".to_owned(), "x-{{dir}}", here, vec![]),
    ] {
        let text = set(&generators, path, destination);
        let config = ("sites/lab/config.json", "{\"hosts\": {\"dir\": \"inventory\"}}");
        let parameters = ("sites/lab/deep/values", "dir: inventory\n");
        let name = ("names/inventory/README", "Our hosts.\n");
        let files = [("argocd/sites.yaml", text.as_str()), config, parameters, name];
        let generated = site(&argocd(""), &files);
        assert_eq!(codes(&generated), expected, "{text}: {:?}", generated.findings);
    }

    // A patch of the Applications, or a template of a generator, may change everything that they apply.
    let patched = set(&format!("{{{list}}}"), "{{dir}}", here) + "  templatePatch: '{spec: {}}'\n";
    let own =
        "{list: {elements: [{dir: inventory}], template: {spec: {source: {path: '{{dir}}'}}}}}";
    for text in [patched, set(own, "other", here)] {
        let generated = site(&argocd(""), &[("argocd/sites.yaml", &text)]);
        assert!(codes(&generated).contains(&Code::DirectoryUnread), "{:?}", generated.findings);
    }
}

// `GetSources` of Argo CD.
#[test]
fn an_application_has_one_of_its_fields_for_sources() {
    let own = application("path: inventory");
    let sources = format!("  sources: [{{repoURL: {URL}, path: elsewhere}}]\n");
    let hydrator =
        format!("  sourceHydrator: {{drySource: {{repoURL: {URL}, path: elsewhere}}}}\n");
    for (more, expected) in
        [("", vec![Code::RenderedUnlabelled]), (&sources, vec![]), (&hydrator, vec![])]
    {
        let application = format!("{own}{more}");
        let generated = site(&argocd(""), &[("argocd/hosts.yaml", &application)]);
        assert_eq!(codes(&generated), expected, "{application}: {:?}", generated.findings);
    }
}

// `setAppNamespace` of Argo CD: only objects without a namespace get that of the destination.
#[test]
fn hosts_without_a_namespace_get_that_of_the_destination() {
    let hosts = host_for_edge("real");
    let without = hosts.replace("  namespace: tenant-a\n", "");
    let object = |namespace: &str| {
        let field = format!("destination: {{namespace: {namespace}, ");
        application("path: overlays/hosts/declared/inventory").replace("destination: {", &field)
    };
    let plain = "resources: [hosts.yaml]\n";
    let set = "resources: [hosts.yaml]\nnamespace: tenant-a\n";
    for (hosts, kustomization, sources, namespace, is_moved) in [
        (&hosts, plain, "", "metal", false),
        (&without, plain, "", "metal", true),
        (&without, plain, "", "default", false),
        (&without, set, "", "metal", false),
        (&without, plain, "sources: [{paths: ['**'], namespace: metal}]\n", "metal", false),
        (&without, plain, "sources: [{paths: ['**'], namespace: other}]\n", "metal", true),
    ] {
        let object = object(namespace);
        let files = [
            ("inventory/hosts.yaml", hosts.as_str()),
            ("inventory/kustomization.yaml", kustomization),
            ("argocd/hosts.yaml", &object),
        ];
        let generated = site(&argocd(sources), &files);
        let found = generated.findings.iter().find(|finding| finding.code == Code::OutputPatched);
        assert_eq!(found.is_some(), is_moved, "{object}{sources}: {:?}", generated.findings);
        if let Some(found) = found {
            assert!(found.message.contains("gives the namespace metal"), "{}", found.message);
            assert!(help(found).contains("`namespace: metal`"), "{}", help(found));
        }
    }
}

#[test]
fn an_object_that_takes_guards_from_generated_hosts_is_refused() {
    const OVERLAY: &str = "path: overlays/hosts/declared/inventory";
    let annotations = |text: &str| {
        application(&format!(
            "{OVERLAY}, kustomize: {{commonAnnotations: {{{text}}}, forceCommonAnnotations: true}}"
        ))
    };
    let patches = |target: &str| {
        let merge = "'{kind: BareMetalHost, metadata: {name: a, annotations: {kustomize.toolkit.fluxcd.io/prune: null}}}'";
        let fields =
            format!("{OVERLAY}, patches: [{{target: {{name: {target}}}, patch: {merge}}}]");
        flux_kustomization("flux-system", &fields)
    };
    let metadata = |text: &str| {
        flux_kustomization(
            "flux-system",
            &format!("{OVERLAY}, commonMetadata: {{annotations: {{{text}}}}}"),
        )
    };
    let argocd = argocd("");
    for (settings, object, is_changed) in [
        (argocd.as_str(), annotations("a: b"), false),
        (&argocd, annotations("argocd.argoproj.io/sync-options: ServerSideApply=true"), true),
        ("gitops: flux\n", patches("other"), false),
        ("gitops: flux\n", patches("real"), true),
        ("gitops: flux\n", metadata("a: b"), false),
        ("gitops: flux\n", metadata("kustomize.toolkit.fluxcd.io/prune: enabled"), true),
    ] {
        let generated = site(settings, &[("agents/hosts.yaml", &object)]);
        let found = generated.findings.iter().find(|finding| finding.code == Code::OutputPatched);
        assert_eq!(found.is_some(), is_changed, "{object}: {:?}", generated.findings);
        if let Some(found) = found {
            assert!(
                found.message.contains("1 generated host, such as tenant-a/real"),
                "{}",
                found.message
            );
            let (place, _) = &found.places[0];
            assert_eq!(place.file().as_str(), "agents/hosts.yaml");
        }
    }
}

// `SecureJoin` of kustomize-controller.
#[test]
fn a_path_above_the_source_is_one_of_the_source() {
    for path in ["../inventory", "/../inventory", "./a/../../inventory/"] {
        let object = flux_kustomization("flux-system", &format!("path: {path}"));
        let generated = site("gitops: flux\n", &[("flux.yaml", &object)]);
        assert_eq!(codes(&generated), [Code::RenderedUnlabelled], "{path}");
    }
    // Flux refuses a file.
    let object = flux_kustomization("flux-system", "path: inventory/hosts.yaml");
    assert_eq!(codes(&site("gitops: flux\n", &[("flux.yaml", &object)])), []);
}

/// A GitRepository of Flux in `flux-system`.
fn git_repository(name: &str, spec: &str) -> String {
    format!(
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\n\
         metadata: {{name: {name}, namespace: flux-system}}\nspec: {{url: \"{URL}\", {spec}}}\n"
    )
}

// `reconcileInclude` and `Storage.CopyToPath` of source-controller 1.7, and `GetToPath` of its API.
#[test]
fn an_include_decides_which_repo_a_path_is_of() {
    let of = |source: &str, path: &str| {
        format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n\
             metadata: {{name: hosts, namespace: flux-system}}\n\
             spec: {{sourceRef: {{kind: GitRepository, name: {source}}}, path: {path}}}\n"
        )
    };
    // Another source that has a copy of this repo applies this repo's hosts.
    for (include, path, found) in [
        (
            "{repository: {name: flux-system}, toPath: vendor/fleet}",
            "./vendor/fleet/inventory",
            true,
        ),
        (
            "{repository: {name: flux-system}, fromPath: ./inventory, toPath: hosts/}",
            "./hosts",
            true,
        ),
        ("{repository: {name: flux-system}}", "flux-system/inventory", true),
        ("{repository: {name: flux-system}, toPath: vendor}", "./vendor/other", false),
        ("{repository: {name: other}, toPath: vendor}", "./vendor/inventory", false),
    ] {
        let source = git_repository("platform", &format!("include: [{include}]"));
        let object = of("platform", path);
        let generated =
            site("gitops: flux\n", &[("flux/source.yaml", &source), ("flux/hosts.yaml", &object)]);
        assert_eq!(
            codes(&generated).contains(&Code::RenderedUnlabelled),
            found,
            "{include}: {:?}",
            generated.findings
        );
    }
    // What is copied into this repo is another repo's, whatever lies here under that name.
    let source =
        git_repository("flux-system", "include: [{repository: {name: shared}, toPath: inventory}]");
    let object = of("flux-system", "./inventory");
    let generated =
        site("gitops: flux\n", &[("flux/source.yaml", &source), ("flux/hosts.yaml", &object)]);
    let finding = only(&generated, Code::SetAside);
    assert!(
        finding.message.contains("of another repo, which its source includes there"),
        "{}",
        finding.message
    );
    // The settings may name the source that includes this repo.
    let source =
        git_repository("platform", "include: [{repository: {name: fleet}, toPath: fleet}]");
    let object = of("platform", "./fleet/inventory");
    let settings = "gitops: flux\nflux: {sourceRef: {name: platform}, path: fleet}\n";
    let generated = site(settings, &[("flux/source.yaml", &source), ("flux/hosts.yaml", &object)]);
    only(&generated, Code::RenderedUnlabelled);
}

#[test]
fn an_include_must_not_go_where_the_output_is() {
    for (include, is_over) in [
        ("{repository: {name: shared}, toPath: overlays}", true),
        ("{repository: {name: shared}, toPath: ./overlays/agents/}", true),
        ("{repository: {name: overlays}}", true),
        ("{repository: {name: overlays}, toPath: vendor}", false),
        ("{repository: {name: shared}}", false),
    ] {
        let source = git_repository("flux-system", &format!("include: [{include}]"));
        let generated = site("gitops: flux\n", &[("flux/source.yaml", &source)]);
        let expected = if is_over { vec![Code::OutputNotInSource] } else { vec![] };
        assert_eq!(codes(&generated), expected, "{include}: {:?}", generated.findings);
    }
    let source =
        git_repository("other", "include: [{repository: {name: shared}, toPath: overlays}]");
    assert_eq!(codes(&site("gitops: flux\n", &[("flux/source.yaml", &source)])), []);
}

// `SourceIgnoreFilter` in the reconcilers of OCIRepository and Bucket of source-controller 1.7.
#[test]
fn other_kinds_of_sources_leave_out_files_too() {
    let source = |kind: &str, name: &str, spec: &str| {
        format!(
            "apiVersion: source.toolkit.fluxcd.io/v1\nkind: {kind}\n\
             metadata: {{name: {name}, namespace: flux-system}}\nspec:\n  interval: 1m\n{spec}"
        )
    };
    let left_out = "  ignore: |\n    /*\n    !/flux\n";
    for (kind, spec, is_left_out) in [
        ("OCIRepository", left_out, true),
        ("OCIRepository", "  url: oci://registry.example.com/fleet\n", false),
        ("Bucket", left_out, true),
        ("Bucket", "  prefix: flux/\n", true),
        ("Bucket", "  prefix: over\n", true),
        ("Bucket", "  prefix: ''\n", false),
    ] {
        let settings =
            format!("gitops: flux\nflux: {{sourceRef: {{kind: {kind}, name: fleet}}}}\n");
        let generated = site(&settings, &[("flux/source.yaml", &source(kind, "fleet", spec))]);
        let expected = if is_left_out { vec![Code::OutputNotInSource] } else { vec![] };
        assert_eq!(codes(&generated), expected, "{kind} {spec}: {:?}", generated.findings);
        // Another object of the same name is another source.
        let other =
            source(if kind == "Bucket" { "OCIRepository" } else { "Bucket" }, "fleet", spec);
        assert_eq!(codes(&site(&settings, &[("flux/source.yaml", &other)])), []);
    }
}

#[test]
fn a_kustomization_from_an_artifact_of_this_repo_applies_its_hosts() {
    for kind in ["OCIRepository", "Bucket", "ExternalArtifact"] {
        let object = flux_kustomization("flux-system", "path: ./inventory").replace(
            "kind: GitRepository, name: flux-system",
            &format!("kind: {kind}, name: fleet"),
        );
        let files = [("flux/hosts.yaml", object.as_str())];
        // Only the settings can tell what is in an artifact.
        let generated = site("gitops: flux\n", &files);
        let finding = only(&generated, Code::SetAside);
        assert!(
            help(finding).contains("write its source into `flux.sourceRef`"),
            "{}",
            help(finding)
        );
        let settings =
            format!("gitops: flux\nflux: {{sourceRef: {{kind: {kind}, name: fleet}}}}\n");
        let generated = site(&settings, &files);
        only(&generated, Code::RenderedUnlabelled);
        let (_, written) = generated
            .tree
            .iter()
            .find(|(path, _)| path.as_str() == "agents/flux/services.yaml")
            .unwrap();
        assert!(
            written.contains(&format!("kind: \"{kind}\"")) && written.contains("name: \"fleet\""),
            "{written}"
        );
    }
}

/// A Secret by which Argo CD knows a cluster.
fn cluster_secret(name: &str, server: &str, labels: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: {name}\n  namespace: argocd\n  \
         labels: {{argocd.argoproj.io/secret-type: cluster, {labels}}}\nstringData:\n  name: {name}\n  \
         server: {server}\n  config: '${{ARGOCD_CONFIG}}'\n"
    )
}

// `applicationset/generators/cluster.go` of Argo CD 3.1.
#[test]
fn cluster_generators_are_decided_by_secrets_of_the_repo() {
    let base = cluster_secret("base", "https://base.example.com", "env: prod, dir: inventory");
    let other = cluster_secret("other", "https://other.example.com", "env: test, dir: elsewhere");
    let encoded = "apiVersion: v1\nkind: Secret\nmetadata: {name: b, labels: {argocd.argoproj.io/secret-type: cluster, \
                   env: prod, dir: inventory}}\ndata: {name: YmFzZQ==, server: aHR0cHM6Ly9iYXNlLmV4YW1wbGUuY29t}\n";
    let run = |selector: &str, path: &str, destination: &str, secret: &str, settings: &str| {
        let set = format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {{name: sites, namespace: argocd}}\n\
             spec:\n  generators: [{{clusters: {{{selector}}}}}]\n  template:\n    spec:\n      \
             destination: {{{destination}}}\n      source: {{repoURL: {URL}, path: '{path}'}}\n"
        );
        let files = [
            ("argocd/sites.yaml", set.as_str()),
            ("argocd/clusters.yaml", secret),
            ("argocd/other.yaml", &other),
        ];
        codes(&site(&argocd(settings), &files))
    };
    let by_server = "  destination: {server: https://base.example.com}\n";
    let by_name = "  destination: {name: base}\n";
    let label = "{{metadata.labels.dir}}";
    let unlabelled = vec![Code::RenderedUnlabelled];
    for secret in [base.as_str(), encoded] {
        for selector in [
            "selector: {matchLabels: {env: prod}}",
            "selector: {matchExpressions: [{key: env, operator: In, values: [prod, stage]}]}",
            "selector: {matchExpressions: [{key: env, operator: NotIn, values: [test]}]}",
            "selector: {matchExpressions: [{key: dir, operator: Exists}]}",
            "",
        ] {
            for (destination, settings) in [
                ("server: '{{server}}'", by_server),
                ("name: '{{name}}'", by_name),
                // Either names the same cluster.
                ("server: '{{server}}'", by_name),
                ("name: '{{ .name }}'", by_server),
            ] {
                let found = run(selector, label, destination, secret, settings);
                assert_eq!(found, unlabelled, "{selector} {destination} {settings}");
            }
        }
        // The base cluster is not selected.
        let selector = "selector: {matchLabels: {env: test}}";
        assert_eq!(run(selector, label, "server: '{{server}}'", secret, by_server), []);
    }
    let selector =
        "selector: {matchLabels: {env: prod}}, values: {path: '{{metadata.labels.dir}}'}";
    assert_eq!(
        run(selector, "{{values.path}}", "server: '{{server}}'", &base, by_server),
        unlabelled
    );
    // What no Secret here decides stays a question.
    let selector = "selector: {matchLabels: {env: stage}}";
    assert_eq!(run(selector, label, "server: '{{server}}'", &base, by_server), [Code::SetAside]);
}

#[test]
fn a_source_of_flux_without_submodules_lacks_their_hosts() {
    let source = |spec: &str| {
        format!(
            "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\n\
             metadata: {{name: flux-system, namespace: flux-system}}\nspec: {{url: {URL}{spec}}}\n"
        )
    };
    let modules =
        "[submodule \"hosts\"]\n\tpath = inventory\n\turl = https://git.example.com/hosts.git\n";
    let run = |modules: &str, spec: &str| {
        site("gitops: flux\n", &[(".gitmodules", modules), ("flux/source.yaml", &source(spec))])
    };
    for spec in ["", ", recurseSubmodules: false"] {
        assert!(
            help(only(&run(modules, spec), Code::OutputNotInSource))
                .contains("recurseSubmodules: true")
        );
    }
    assert_eq!(codes(&run(modules, ", recurseSubmodules: true")), []);
    assert_eq!(codes(&run(&modules.replace("= inventory", "= other"), "")), []);
}

#[test]
fn the_source_of_a_flux_instance_is_the_one_of_the_settings() {
    let instance = |sync: &str| {
        format!(
            "apiVersion: fluxcd.controlplane.io/v1\nkind: FluxInstance\n\
             metadata: {{name: flux, namespace: flux-system}}\n\
             spec: {{sync: {{{sync}, url: x, ref: y, path: clusters}}}}\n"
        )
    };
    for (sync, reference) in [
        ("kind: OCIRepository", "{kind: OCIRepository, name: flux-system}"),
        ("kind: GitRepository, name: fleet", "{kind: GitRepository, name: fleet}"),
    ] {
        let files = [("flux/instance.yaml", &*instance(sync))];
        let generated = site("gitops: flux\n", &files);
        assert!(
            help(only(&generated, Code::AgentCannotApply))
                .ends_with(&format!("sourceRef: {reference}"))
        );
        let settings = format!("gitops: flux\nflux: {{sourceRef: {reference}}}\n");
        assert_eq!(codes(&site(&settings, &files)), []);
    }
    assert_eq!(
        codes(&site("gitops: flux\n", &[("flux/instance.yaml", &instance("kind: GitRepository"))])),
        []
    );
}

#[test]
fn argo_cd_builds_what_has_a_kustomization_and_refuses_absolute_paths() {
    let chart = ("inventory/Chart.yaml", "apiVersion: v2\nname: x\nversion: 1.0.0\n");
    let object = application("path: inventory");
    only(&site(&argocd(""), &[("a/a.yaml", &object), chart]), Code::RenderedUnlabelled);

    let object = application("path: /overlays/hosts/declared/inventory");
    let generated = site(&argocd(""), &[("a/a.yaml", &object)]);
    assert_eq!(codes(&generated), []);
    let mut files = generated.tree.keys().map(|file| file.to_string());
    assert!(
        files.any(|file| file.starts_with("agents/argocd/hosts")),
        "{:?}",
        generated.tree.keys()
    );
}

#[test]
fn an_application_set_matches_files_as_git_does() {
    let set = |files: &str, path: &str| {
        format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {{name: hosts, namespace: argocd}}\nspec:\n  \
             generators: [{{git: {{repoURL: {URL}, revision: HEAD, files: [{{path: '{files}'}}]}}}}]\n  template:\n    \
             metadata: {{name: '{{{{path.basename}}}}'}}\n    spec:\n      \
             destination: {{server: https://kubernetes.default.svc}}\n      \
             source: {{repoURL: {URL}, path: '{path}'}}\n"
        )
    };
    let more = [("inventory/config.yaml", "a: b\n"), ("other/config.yaml", "a: b\n")];
    let run = |files: &str, path: &str| {
        site(&argocd(""), &[&[("a/a.yaml", &*set(files, path))], &more[..]].concat())
    };
    // A wildcard matches a slash.
    let one = run("inv*config.yaml", "{{path}}");
    assert!(help(only(&one, Code::RenderedUnlabelled)).starts_with("write `path: "));
    // A fixed path in place of the parameter would be that of both Applications.
    let several = run("*config.yaml", "{{path}}");
    assert!(
        help(only(&several, Code::RenderedUnlabelled)).starts_with("a template makes the path")
    );
    let twice = run("*config.yaml", "overlays/hosts/declared/inventory");
    assert!(codes(&twice).contains(&Code::TwoAppliers), "{:?}", twice.findings);
}
