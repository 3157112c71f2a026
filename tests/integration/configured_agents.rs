//! Flux and Argo CD as repos configure them: what keeps them from applying the output, and what they read otherwise than
//! it seems.

use sipgen::finding::{Code, Finding};
use sipgen::load::Files;
use sipgen::{Generated, Options, generate};

const REQUEST: &str = "\
apiVersion: airship.airshipit.org/v1
kind: SIPCluster
metadata: {name: edge, namespace: tenant-a}
spec:
  nodes:
    Worker: {labelSelector: {matchLabels: {for: edge}}, count: {active: 1, standby: 0}}
";
const HOST: &str = "\
apiVersion: metal3.io/v1alpha1
kind: BareMetalHost
metadata: {name: r1, namespace: metal, labels: {for: edge}}
spec: {online: true}
";
const URL: &str = "https://git.example.com/platform/fleet.git";

/// A site with one declared host, its settings, and further files.
fn site(settings: &str, more: &[(&str, &str)]) -> Generated {
    let own = [
        ("clusters/edge.yaml", REQUEST),
        ("inventory/kustomization.yaml", "resources: [hosts.yaml]\n"),
        ("inventory/hosts.yaml", HOST),
        ("sipgen.yaml", settings),
    ];
    let files = own.iter().chain(more).map(|(path, text)| ((*path).into(), text.as_bytes().to_vec()));
    generate(&Files::in_memory(files), &Options::default(), &|_| {}).unwrap()
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

fn codes(generated: &Generated) -> Vec<Code> {
    generated.findings.iter().map(|finding| finding.code).collect()
}

fn only(generated: &Generated, code: Code) -> &Finding {
    assert_eq!(codes(generated), [code], "{:?}", generated.findings);
    &generated.findings[0]
}

fn help(finding: &Finding) -> &str {
    finding.help.as_deref().unwrap()
}

#[test]
fn a_source_with_directory_reads_files_where_there_is_a_kustomization() {
    // `ExplicitType` of Argo CD takes any `directory`, an empty one, too.
    for directory in ["{recurse: true}", "{}", "{jsonnet: {}}"] {
        let application = application(&format!("path: inventory, directory: {directory}"));
        let generated = site(&argocd(""), &[("argocd/hosts.yaml", &application)]);
        let finding = only(&generated, Code::UnlistedHostsApplied);
        assert!(finding.message.contains("as plain files, because of its `directory`"), "{}", finding.message);
        assert!(help(finding).starts_with("remove `directory` from its source"), "{}", help(finding));
    }
    let generated = site(&argocd(""), &[("argocd/hosts.yaml", &application("path: inventory"))]);
    only(&generated, Code::RenderedUnlabelled);
}

#[test]
fn a_generated_kustomization_is_never_read_as_files() {
    for path in ["overlays/hosts/declared/inventory", "overlays/hosts/observed/tenant-a.edge", "overlays/agents/argocd"]
    {
        let source = |directory: &str| application(&format!("path: {path}{directory}"));
        let generated = site(&argocd(""), &[("argocd/x.yaml", &source(", directory: {recurse: true}"))]);
        assert!(only(&generated, Code::ReadAsFiles).is_error());
        let generated = site(&argocd(""), &[("argocd/x.yaml", &source(""))]);
        assert!(!codes(&generated).contains(&Code::ReadAsFiles), "{path}");
    }
}

#[test]
fn a_remedy_names_the_namespace_that_depends_on_looks_in() {
    for (namespace, depends_on) in [
        ("flux-system", "`dependsOn: [{name: sipgen.services}]`"),
        ("tenants", "`dependsOn: [{name: sipgen.services, namespace: flux-system}]`"),
    ] {
        let object = flux_kustomization(namespace, "path: ./inventory");
        let generated = site("gitops: flux\n", &[("flux/hosts.yaml", &object)]);
        let finding = only(&generated, Code::RenderedUnlabelled);
        assert!(help(finding).contains(depends_on), "{}", help(finding));
    }
}

#[test]
fn components_that_agents_add_are_included() {
    let flux = |path: &str| flux_kustomization("flux-system", &format!("path: ./inventory, components: [{path}]"));
    let argo = |path: &str| application(&format!("path: inventory, kustomize: {{components: [{path}]}}"));
    let form = "hosts: {form: component}\n";
    for (settings, object) in
        [(format!("gitops: flux\n{form}"), &flux as &dyn Fn(&str) -> String), (argocd("") + form, &argo)]
    {
        let run = |path: &str| site(&settings, &[("agent/hosts.yaml", &object(path))]);
        assert_eq!(codes(&run("../overlays/hosts/declared/inventory")), [], "{settings}");
        assert!(codes(&run("../overlays/hosts/declared/other")).contains(&Code::NothingToList), "{settings}");
        assert!(codes(&run("../common")).contains(&Code::NotIncluded), "{settings}");
    }
    // One that is an overlay is no component.
    let object = flux("../overlays/hosts/declared/inventory");
    let generated = site("gitops: flux\n", &[("agent/hosts.yaml", &object)]);
    assert!(codes(&generated).contains(&Code::ComponentWithoutForm));
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
    for spec in ["  ignore: |\n    /*\n    !/flux\n    !/inventory\n", "  sparseCheckout: [./inventory, flux]\n"] {
        let generated = run("gitops: flux\n", &[("flux/source.yaml", &source(spec))]);
        only(&generated, Code::OutputNotInSource);
        let other = source(spec).replace("name: flux-system", "name: other");
        assert_eq!(codes(&run("gitops: flux\n", &[("flux/source.yaml", &other)])), []);
    }
    for spec in ["", "  ignore: |\n    /*\n    !/overlays/\n", "  sparseCheckout: [./overlays/]\n"] {
        assert_eq!(codes(&run("gitops: flux\n", &[("flux/source.yaml", &source(spec))])), [], "{spec}");
    }
    for (file, text) in [(".sourceignore", "overlays/\n"), ("overlays/.sourceignore", "*\n")] {
        let generated = run("gitops: flux\n", &[(file, text)]);
        let found = generated.findings.iter().find(|finding| finding.code == Code::OutputNotInSource);
        let lines = help(found.unwrap()).split_once('\n').unwrap().1.to_owned();
        if file == ".sourceignore" {
            assert_eq!(codes(&run("gitops: flux\n", &[(file, &format!("{text}{lines}\n"))])), []);
        }
    }
    // The patterns of the object come last.
    let keeps = source("  ignore: |\n    !/overlays\n");
    assert_eq!(codes(&run("gitops: flux\n", &[(".sourceignore", "/*\n"), ("flux/source.yaml", &keeps)])), []);
    assert_eq!(codes(&run("", &[(".sourceignore", "/*\n")])), []);
}

#[test]
fn encrypted_secrets_in_a_build_of_hosts_need_the_decryption_of_the_repo() {
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: bmc, namespace: metal}\n\
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
    let lines = help(only(&generated, Code::AgentCannotApply)).split_once('\n').unwrap().1.to_owned();
    let settings = format!("gitops: flux\nflux:\n  {lines}\n");
    let generated = site(&settings, &files);
    assert_eq!(codes(&generated), [], "{settings}");
    let hosts = generated.tree.iter().find(|(path, _)| path.as_str() == "agents/flux/hosts.yaml").unwrap().1;
    assert!(hosts.contains("decryption:") && hosts.contains("sops-age"), "{hosts}");
    // One that the repo's own object applies needs none of ours.
    let applied = flux_kustomization("flux-system", &format!("path: overlays/hosts/declared/inventory, {own}"));
    let generated = site("gitops: flux\n", &[&files[..2], &[("flux.yaml", applied.as_str())]].concat());
    assert!(!codes(&generated).contains(&Code::AgentCannotApply), "{:?}", generated.findings);
}

#[test]
fn a_project_must_allow_hosts_and_their_namespaces() {
    let project = |spec: &str| {
        format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: AppProject\nmetadata: {{name: fleet, namespace: argocd}}\nspec:\n{spec}"
        )
    };
    let run = |spec: &str| site(&argocd("  project: fleet\n"), &[("argocd/project.yaml", &project(spec))]);
    let all = "  destinations: [{server: '*', namespace: '*'}]\n";
    let closed = "  destinations:\n  - {server: https://kubernetes.default.svc, namespace: tenant-a}\n";
    for (spec, word) in [
        (format!("{all}  namespaceResourceWhitelist: [{{group: apps, kind: Deployment}}]\n"), "the kind BareMetalHost"),
        (format!("{all}  namespaceResourceBlacklist: [{{group: metal3.io, kind: '*'}}]\n"), "the kind BareMetalHost"),
        (closed.to_owned(), "the namespace `metal`"),
        ("  destinations: [{name: staging, namespace: '*'}]\n".to_owned(), "the namespaces `metal`, `tenant-a`"),
    ] {
        let generated = run(&spec);
        let finding = only(&generated, Code::AgentCannotApply);
        assert!(finding.message.contains(word), "{}", finding.message);
    }
    for spec in [
        all.to_owned(),
        all.replace("server", "name"),
        format!("{all}  namespaceResourceWhitelist: [{{group: '*', kind: '*'}}]\n"),
    ] {
        assert_eq!(codes(&run(&spec)), [], "{spec}");
    }
    // What the help says to add makes it right.
    let lines = help(only(&run(closed), Code::AgentCannotApply)).split_once("destinations:\n").unwrap().1.to_owned();
    assert_eq!(codes(&run(&format!("{closed}  {lines}\n"))), []);
    let other = site(&argocd(""), &[("argocd/project.yaml", &project(closed))]);
    assert_eq!(codes(&other), []);
}

#[test]
fn application_sets_apply_what_their_generators_say() {
    let set = |generators: &str, path: &str, destination: &str| {
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
        ("{clusters: {values: {dir: inventory}}}".to_owned(), "{{values.dir}}", "name: '{{name}}'", unlabelled.clone()),
        (
            "{clusters: {selector: {matchLabels: {a: b}}}}".to_owned(),
            "{{name}}",
            "name: '{{name}}'",
            vec![Code::SetAside],
        ),
        (
            format!("{{matrix: {{generators: [{{{list}}}, {{git: {{directories: [{{path: inv*}}]}}}}]}}}}"),
            "{{path.basename}}",
            "server: '{{server}}'",
            unlabelled.clone(),
        ),
        ("{git: {files: [{path: 'sites/*/config.json'}]}}".to_owned(), "{{hosts.dir}}", here, unlabelled.clone()),
        ("{plugin: {}}".to_owned(), "{{dir}}", here, vec![Code::SetAside]),
        ("{plugin: {}}".to_owned(), "x-{{dir}}", here, vec![]),
    ] {
        let text = set(&generators, path, destination);
        let config = ("sites/lab/config.json", "{\"hosts\": {\"dir\": \"inventory\"}}");
        let generated = site(&argocd(""), &[("argocd/sites.yaml", &text), config]);
        assert_eq!(codes(&generated), expected, "{text}: {:?}", generated.findings);
    }
}
