//! What sipgen makes of kustomizations in memory, held against the real kustomize: thousands of made-up trees.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::Stdio;
use std::thread;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value as Json, json};
use sipgen::base::api::kustomization::Kustomization;
use sipgen::base::finding::Origin;
use sipgen::input::kustomize::{Builds, EvaluationError};
use sipgen::input::load::Files;
use yaml_serde::Value;

use crate::support::{documents, text, tool};

/// How many trees are tried.
const TREES: u64 = 3000;

/// The files of a repo whose outermost kustomization is in `top`.
pub(super) type Tree = BTreeMap<String, String>;

/// Generates a repo in memory, of a tree and further files.
pub fn generated_from(tree: &Tree, more: &[(&str, &str)]) -> sipgen::GeneratedSite {
    let own = tree.iter().map(|(path, text)| (path.as_str(), text.as_str()));
    let files = own.chain(more.iter().copied());
    let files = files.map(|(path, text)| (Utf8PathBuf::from(path), text.as_bytes().to_vec()));
    let options = sipgen::Options::default();
    sipgen::generate(&Files::in_memory(files), &options, &|_| {}).unwrap()
}

#[test]
fn builds_in_memory_are_those_of_kustomize() {
    let trees: Vec<Tree> = (0..TREES).map(|seed| Maker::new(seed).tree()).collect();
    // kustomize takes most of the time, on one core.
    let real: Vec<Result<Vec<Value>, String>> = thread::scope(|scope| {
        let parts: Vec<_> = trees
            .chunks(trees.len().div_ceil(2))
            .map(|part| scope.spawn(|| real_builds(part, None)))
            .collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    let (mut built, mut refused, mut left) = (0, 0, 0);
    let mut different: Vec<(usize, String)> = Vec::new();
    for (tree, real) in trees.iter().zip(&real) {
        match (in_memory(tree, &BTreeMap::new()), real) {
            (Err(EvaluationError::Beyond(_)), _) => left += 1,
            (Err(EvaluationError::Refused(_)), Err(_)) => refused += 1,
            (Ok(ours), Ok(real)) if sorted(&ours) == sorted(real) => built += 1,
            (ours, real) => {
                let size = tree.values().map(String::len).sum();
                let ours = ours.map(|ours| sorted(&ours).join("---\n"));
                let real = real.as_ref().map(|real| sorted(real).join("---\n"));
                let files: String =
                    tree.iter().map(|(path, text)| format!("==> {path}\n{text}\n")).collect();
                let shown = |build: Result<String, String>| {
                    build.unwrap_or_else(|error| format!("fails: {error}"))
                };
                let ours = shown(ours.map_err(|error| error.to_string()));
                different.push((
                    size,
                    format!(
                        "{files}\nsipgen:\n{ours}\n\nkustomize:\n{}",
                        shown(real.map_err(Clone::clone))
                    ),
                ));
            }
        }
    }
    different.sort();
    let smallest = different.first().map(|(_, shown)| shown.as_str()).unwrap_or_default();
    assert!(
        different.is_empty(),
        "{} of {TREES} trees are built otherwise; the smallest:\n{smallest}",
        different.len()
    );
    // The trees are of use only if most of them can be built, and some cannot.
    println!("{built} built, {refused} refused by both, {left} left to kustomize");
    assert!(
        built > TREES / 2 && refused > TREES / 20 && left < TREES / 50,
        "{built} {refused} {left}"
    );
}

/// Kustomizations that `Unmarshal`, `EnforceFields` and `CheckEmpty` of kustomize judge, each behind `resources` that has
/// hosts.
const SPELLINGS: &[&str] = &[
    "",
    "foo: 1",
    "x-foo: 1",
    "n: x",
    "\"n\": x",
    "namespace: n",
    "namespace: \"n\"",
    "namespace: 'on'",
    "namespace: on",
    "namespace: Yes",
    "namespace: !!str n",
    "namespace: ! off",
    "namespace: true",
    "namespace: True",
    "namespace: 012",
    "namespace: 0o14",
    "namespace: 1_0",
    "namespace: 1e3",
    "namespace: .5",
    "namespace: 2020-01-01",
    "namespace: ~",
    "namespace: Null",
    "namespace: |-\n  n",
    "NameSpace: metal",
    "namePrefix: 0x1f",
    "nameSuffix: -1",
    "commonAnnotations: {a: \"-1\"}",
    "kind: Foo",
    "kind: kustomization",
    "Kind: Kustomization",
    "apiVersion: kustomize.config.k8s.io/v1",
    "apiVersion: kustomize.config.k8s.io/v1alpha1",
    "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization",
    "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization",
    "metadata: {name: x}",
    "metadata: {name: x, foo: y}",
    "metadata: x",
    "labels: [{pairs: {a: b}, includeSelectors: yes}]",
    "labels: [{pairs: {a: b}, includeSelectors: \"true\"}]",
    "labels: [{pairs: {a: n}}]",
    "labels: [{pairs: {a: 1}}]",
    "labels: [{pairs: {y: b}}]",
    "labels: [{pairs: {\"y\": b}}]",
    "labels: [{pairs: {\"true\": b}}]",
    "labels: [{Pairs: {a: b}, foo: c}]",
    "labels: {a: b}",
    "commonAnnotations: {a: 2020-01-01}",
    "commonAnnotations: {off: x}",
    "commonAnnotations: {<<: {a: b}, c: d}",
    "components: [n]",
    "patches: [p.yaml]",
    "patches: [{path: p.yaml, foo: 1}]",
    "patches: [{Target: {Kind: BareMetalHost}, Patch: '[{\"op\": \"add\", \"path\": \"/spec/x\", \"value\": 1}]'}]",
    "patches: [{target: {kind: BareMetalHost, fieldSpec: x}, patch: '[]'}]",
    "patches: [{target: {kind: BareMetalHost}, patch: '{}'}]",
    "patches: [{patch: '{}'}]",
    "patches: [{target: {kind: BareMetalHost}, patch: '[{op: add, path: /spec/x, value: 1}]'}]",
    "patches: [{target: {kind: BareMetalHost}, patch: '- {op: add, path: /spec/x, value: off}'}]",
    "patches: [{target: {kind: BareMetalHost, name: a}, patch: '- {op: add, path: /metadata/annotations/x, value: a}'}]",
    "patchesJson6902: [{target: {kind: BareMetalHost, name: a}, patch: '- {op: add, path: /metadata/annotations/x, value: a}'}]",
    "patches: [{target: {kind: BareMetalHost, name: a}, patch: '- {op: test, path: /metadata/annotations, value: null}'}]",
    "patches: [{target: {kind: BareMetalHost, name: a}, patch: '- {op: remove, path: /metadata/annotations}'}]",
    "patches: [{target: {kind: BareMetalHost, name: a}, patch: '- {op: add, path: /metadata/labels/x, value: a}'}]",
    "replicas: [{name: x, count: \"1\"}]",
    "images: [{name: x, newTag: 1.0}]",
    "images: [{name: x, newTag: \"1.0\"}]",
    "configMapGenerator: [{name: x, literals: [a=b], needsHash: false}]",
    "configMapGenerator: [{name: x, literals: [a=b], options: {disableNameSuffixHash: y}}]",
    "generatorOptions: {labels: {a: 1}}",
    "sortOptions: {order: legacy, legacySortOptions: {orderFirst: [a]}}",
    "buildMetadata: [originAnnotations]",
    "secretGenerator: []\nvars: []\ncrds: []\nopenapi: {}",
];

#[test]
fn what_kustomize_refuses_to_read_is_refused() {
    let host = "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {name: a, namespace: metal}\n\
                spec: {online: true}\n";
    let request = "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {name: edge, namespace: metal}\n\
                   spec:\n  nodes: {Worker: {labelSelector: {}, count: {active: 0}}}\n";
    let of_top = |resources: &str, more: &str| -> Tree {
        let file = |path: &str, text: String| (path.to_owned(), text);
        BTreeMap::from([
            file("top/kustomization.yaml", format!("{resources}\n{more}\n")),
            file("top/hosts.yaml", host.to_owned()),
        ])
    };
    let mut trees: Vec<Tree> =
        SPELLINGS.iter().map(|more| of_top("resources: [hosts.yaml]", more)).collect();
    trees.push(of_top("Resources: [hosts.yaml]", ""));
    trees.push(of_top("resources: hosts.yaml", ""));
    trees.push(of_top("resources: [hosts.yaml, 1]", ""));
    for inner in [
        "kind: Kustomization\n",
        "namespace: ''\nresources:\n",
        "resources: []\n",
        "foo: x\n",
        "",
        "# nothing yet\n",
        "---\n",
        "null\n",
    ] {
        let mut tree = of_top("resources: [hosts.yaml, inner]", "");
        tree.insert("top/inner/kustomization.yaml".to_owned(), inner.to_owned());
        trees.push(tree);
    }
    let real = real_builds(&trees, None);
    assert!(real.iter().filter(|build| build.is_err()).count() > 30);
    let mut different = Vec::new();
    for (tree, real) in trees.iter().zip(real) {
        let generated = generated_from(tree, &[("clusters/edge.yaml", request)]);
        let errors: Vec<_> =
            generated.findings.iter().filter(|finding| finding.is_error()).collect();
        if errors.is_empty() == real.is_err() {
            different.push(format!("{tree:#?}\nsipgen: {errors:#?}\nkustomize: {real:?}"));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

#[test]
fn a_kustomization_that_reaches_no_host_may_be_refused() {
    let files = [
        (
            "clusters/edge.yaml",
            "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {name: edge, namespace: \
          metal}\nspec:\n  nodes: {Worker: {labelSelector: {}, count: {active: 0}}}\n",
        ),
        ("apps/kustomization.yaml", "resources: [app.yaml]\nfoo: bar\n"),
        ("apps/app.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"),
        ("hosts/kustomization.yaml", "resources: [h.yaml]\ncomponents: [../fix]\n"),
        (
            "hosts/h.yaml",
            "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {name: a, namespace: metal}\n\
          spec: {online: true}\n",
        ),
        (
            "fix/kustomization.yaml",
            "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnamespace: metal\n",
        ),
    ];
    let run = |changed: Option<(&str, &str)>| {
        let files = files.iter().map(|(path, text)| match changed {
            Some((other, text)) if other == *path => {
                (Utf8PathBuf::from(*path), text.as_bytes().to_vec())
            }
            _ => (Utf8PathBuf::from(*path), text.as_bytes().to_vec()),
        });
        sipgen::generate(&Files::in_memory(files), &sipgen::Options::default(), &|_| {})
            .unwrap()
            .findings
    };
    assert_eq!(run(None), []);
    // A component is of the build that lists it.
    let component =
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Component\nnamespace: metal\n";
    let findings = run(Some(("fix/kustomization.yaml", component)));
    let [finding] = &findings[..] else { panic!("{findings:?}") };
    assert_eq!(finding.code, sipgen::base::finding::Code::BuildRefused);
    assert!(
        finding.message.contains("`kustomize build hosts` fails: `apiVersion` must be"),
        "{}",
        finding.message
    );
}

/// The builds of trees by kustomize, or why it fails.
pub(super) fn real_builds(
    trees: &[Tree],
    substitute: Option<&BTreeMap<String, String>>,
) -> Vec<Result<Vec<Value>, String>> {
    let mut command = tool("kustomize-builds");
    let mut program =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut requests = program.stdin.take().unwrap();
    let lines: Vec<String> = trees
        .iter()
        .map(|files| {
            json!({"files": files, "directory": "top", "substitute": substitute}).to_string()
        })
        .collect();
    let writer =
        thread::spawn(move || lines.iter().for_each(|line| writeln!(requests, "{line}").unwrap()));
    let output = program.wait_with_output().unwrap();
    writer.join().unwrap();
    let answers = text(&output.stdout);
    let answers: Vec<Json> =
        answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), trees.len());
    let read = |answer: Json| match answer["error"].as_str() {
        Some(error) => Err(error.to_owned()),
        None => Ok(documents(answer["output"].as_str().unwrap_or_default())),
    };
    answers.into_iter().map(read).collect()
}

pub fn in_memory(
    tree: &Tree,
    variables: &BTreeMap<String, String>,
) -> Result<Vec<Value>, EvaluationError> {
    let files =
        tree.iter().map(|(path, text)| (Utf8PathBuf::from(path), text.clone().into_bytes()));
    let repo = Files::in_memory(files);
    let is_kustomization = |path: &&String| path.ends_with("kustomization.yaml");
    let kustomizations = tree.keys().filter(is_kustomization).map(|path| {
        let kustomization: Kustomization = yaml_serde::from_str(&tree[path]).unwrap();
        (Origin::for_file(Utf8Path::new(path).into(), &tree[path]), kustomization)
    });
    let (builds, findings) = Builds::new(kustomizations.collect());
    assert!(findings.is_empty(), "{findings:?}");
    let root = builds.roots_of(Utf8Path::new("top"))[0];
    builds.built(&repo, root, variables.clone())
}

/// Objects in an order of their own, without what means nothing to an API server.
pub fn sorted(objects: &[Value]) -> Vec<String> {
    let mut all: Vec<String> =
        objects.iter().map(|object| yaml_serde::to_string(&bare(object)).unwrap()).collect();
    all.sort();
    all
}

fn bare(value: &Value) -> Value {
    match value {
        Value::Mapping(mapping) => {
            let mut fields: Vec<(Value, Value)> =
                mapping.iter().map(|(key, value)| (key.clone(), bare(value))).collect();
            let is_empty = |key: &Value, value: &Value| {
                matches!(key.as_str(), Some("labels" | "annotations"))
                    && value.as_mapping().is_some_and(|it| it.is_empty())
            };
            // Nothing here reads which pods a Service selects.
            fields.retain(|(key, value)| {
                !value.is_null() && !is_empty(key, value) && key.as_str() != Some("selector")
            });
            // No API server takes a name or label that is no string.
            for (_, value) in fields.iter_mut().filter(|(key, _)| key == "metadata") {
                strings(value);
            }
            fields.sort_by_key(|(key, _)| key.as_str().map(str::to_owned));
            Value::Mapping(fields.into_iter().collect())
        }
        Value::Sequence(items) => Value::Sequence(items.iter().map(bare).collect()),
        other => other.clone(),
    }
}

fn strings(value: &mut Value) {
    match value {
        Value::Mapping(mapping) => mapping.values_mut().for_each(strings),
        Value::Bool(is_set) => *value = Value::from(is_set.to_string()),
        _ => {}
    }
}

/// Makes up trees of kustomizations: the same ones for the same seed.
struct Maker {
    state: u64,
    files: Tree,
    /// The objects so far: the index of the kind, the name, and the namespace, which may be empty.
    objects: Vec<(usize, String, &'static str)>,
}

const NAMES: [&str; 4] = ["r1", "r2", "r1-bmc", "net"];
const KINDS: [(&str, &str); 5] = [
    ("metal3.io/v1alpha1", "BareMetalHost"),
    ("v1", "Secret"),
    ("v1", "ConfigMap"),
    ("airship.airshipit.org/v1", "SIPCluster"),
    ("v1", "Service"),
];

/// Fields of objects that are names of others.
const REFERENCES: [&str; 7] = [
    "- {kind: Secret, version: v1, fieldSpecs: [{kind: BareMetalHost, path: spec/bmc/credentialsName}]}\n",
    "- {kind: Secret, fieldSpecs: [{path: /spec/bmc/credentialsName}, {path: spec/taints/effect}]}\n",
    "- {group: metal3.io, kind: BareMetalHost, fieldSpecs: [{path: metadata/labels/rack}]}\n",
    "- {kind: ConfigMap, fieldSpecs: [{path: 'spec/taints[]/effect', group: metal3.io, create: true}]}\n",
    "- {group: other, kind: Secret, fieldSpecs: [{path: spec/bmc/credentialsName}]}\n",
    "- {fieldSpecs: [{kind: Secret, path: metadata/labels/rack}]}\n",
    "- {kind: Secret, fieldSpecs: [{path: spec/online/name}]}\n",
];

impl Maker {
    fn new(seed: u64) -> Self {
        Maker {
            state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d,
            files: Tree::new(),
            objects: Vec::new(),
        }
    }

    fn below(&mut self, limit: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % limit
    }

    fn one_in(&mut self, odds: usize) -> bool {
        self.below(odds) == 0
    }

    fn of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        let index = self.below(all.len());
        all[index]
    }

    fn tree(mut self) -> Tree {
        let depth = 1 + self.below(3);
        let bases: Vec<String> =
            (0..1 + self.below(2)).map(|index| format!("base{index}")).collect();
        let (mut listed, mut below): (Vec<String>, Vec<_>) = (Vec::new(), Vec::new());
        for (index, base) in bases.iter().enumerate() {
            let mut objects = String::new();
            let count = 1 + self.below(4);
            let mut seen: Vec<(usize, usize)> = Vec::new();
            for _ in 0..count {
                let (kind, name) = (self.below(KINDS.len()), self.below(NAMES.len()));
                if !seen.contains(&(kind, name)) {
                    seen.push((kind, name));
                    objects.push_str(&self.object(kind, NAMES[name], index));
                }
            }
            self.files.insert(format!("{base}/objects.yaml"), objects);
            self.kustomization(base, &["objects.yaml".to_owned()], false);
            listed.push(format!("../{base}"));
            // The next base sees nothing of it.
            below.append(&mut self.objects);
        }
        self.objects = below;
        for level in 1..depth {
            let directory = format!("mid{level}");
            self.kustomization(&directory, &listed, false);
            listed = vec![format!("../{directory}")];
        }
        self.kustomization("top", &listed, false);
        self.files
    }

    fn object(&mut self, kind: usize, name: &str, base: usize) -> String {
        let index = kind;
        let (version, kind) = KINDS[kind];
        let name = if base == 0 || self.one_in(4) { name.to_owned() } else { format!("{name}-b") };
        let mut metadata = format!("name: {name}");
        let namespace = self.of(&["", "", "metal", "default", "other"]);
        if !namespace.is_empty() {
            metadata += &format!("\n  namespace: {namespace}");
        }
        self.objects.push((index, name, namespace));
        if self.one_in(2) {
            metadata += self.of(&[
                "\n  labels: {rack: r1, site: a}",
                "\n  labels: {rack: '2'}",
                "\n  labels: {}",
            ]);
        }
        if self.one_in(4) {
            metadata += self.of(&[
                "\n  annotations: {note: a}",
                "\n  annotations: {config.kubernetes.io/local-config: 'true'}",
            ]);
        }
        let body = match kind {
            "BareMetalHost" => self.of(&[
                "spec: {online: true, bmc: {address: 'redfish://10.0.0.1/a', credentialsName: r1-bmc}, rootDeviceHints: {minSizeGigabytes: 5}}",
                "spec: {online: false, bootMACAddress: 'aa:bb:cc:dd:ee:ff', taints: [{key: a, effect: r2}], raid: null}",
                "spec:\n  online: true\n  bmc:\n    address: 'ipmi://10.0.0.2:6230'\n    credentialsName: r2\nstatus: {provisioning: {state: available}}",
            ]),
            "Secret" => self.of(&["data: {username: YQ==, networkData: Yg==}", "type: Opaque\nstringData: {networkData: 'links: []'}"]),
            "ConfigMap" => self.of(&["data: {rack: r9, address: 'redfish://10.9.9.9/x', size: '7'}", "data: {a: b}"]),
            "Service" => self.of(&["spec: {type: NodePort, selector: {app: a}, ports: [{port: 80, nodePort: 30080}]}"]),
            _ => self.of(&[
                "spec: {nodes: {Worker: {labelSelector: {matchLabels: {rack: r1}}, count: {active: 1, standby: 0}}}}",
                "spec: {services: {loadBalancer: [{image: haproxy, nodePort: 30001}]}}",
            ]),
        };
        format!("---\napiVersion: {version}\nkind: {kind}\nmetadata:\n  {metadata}\n{body}\n")
    }

    /// Writes a kustomization, or a component with components of its own.
    fn kustomization(&mut self, directory: &str, resources: &[String], is_component: bool) {
        let mut text = String::new();
        if is_component {
            text += "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n";
        }
        text += "resources:\n";
        for resource in resources {
            text += &format!("- {resource}\n");
        }
        if resources.is_empty() {
            text = text.replace("resources:\n", "");
        }
        if self.one_in(3) {
            text += self.of(&["namespace: metal\n", "namespace: tenant\n", "namespace: default\n"]);
        }
        if self.one_in(5) {
            text += self.of(&["namePrefix: a-\n", "namePrefix: lab-\n"]);
        }
        if self.one_in(6) {
            text += self.of(&["nameSuffix: -z\n", "nameSuffix: -b\n"]);
        }
        if self.one_in(4) {
            text += self.of(&[
                "labels:\n- pairs: {rack: r5, site: b}\n",
                "labels:\n- pairs: {site: c}\n  includeSelectors: true\n- pairs: {site: d}\n",
                "commonLabels: {site: e}\n",
            ]);
        }
        if self.one_in(5) {
            text += self.of(&[
                "commonAnnotations: {note: b}\n",
                "commonAnnotations: {config.kubernetes.io/local-config: 'false'}\n",
            ]);
        }
        if self.one_in(2) {
            let patches: Vec<String> =
                (0..1 + self.below(2)).map(|index| self.patch(directory, index)).collect();
            text += &format!("patches:\n{}", patches.concat());
        }
        if self.one_in(6) {
            let patch = self.merge_patch();
            text += &match self.below(2) {
                0 => format!("patchesStrategicMerge:\n- |-\n{}", indented(&patch, 2)),
                _ => {
                    self.files.insert(format!("{directory}/merge.yaml"), patch);
                    "patchesStrategicMerge: [merge.yaml]\n".to_owned()
                }
            };
        }
        if self.one_in(8) {
            let (target, kind) = self.plain_target();
            let operations = self.operations(Some(kind));
            text += &format!(
                "patchesJson6902:\n- target: {target}\n  patch: |-\n{}",
                indented(&operations, 4)
            );
        }
        if self.one_in(5) {
            text += &self.generators();
        }
        if self.one_in(5) {
            text += &self.replacements(directory);
        }
        if self.one_in(8) {
            let references: Vec<&str> =
                (0..1 + self.below(3)).map(|_| self.of(&REFERENCES)).collect();
            let file = format!("nameReference:\n{}", references.concat());
            self.files.insert(format!("{directory}/names.yaml"), file);
            text += "configurations: [names.yaml]\n";
        }
        if self.one_in(if is_component { 6 } else { 3 }) && directory.len() < 12 {
            let component = format!("{directory}-c");
            let own = if self.one_in(3) {
                let (kind, name) = (self.below(KINDS.len()), self.below(NAMES.len()));
                let object = self.object(kind, &format!("{}-c", NAMES[name]), 0);
                self.files.insert(format!("{component}/own.yaml"), object);
                vec!["own.yaml".to_owned()]
            } else {
                Vec::new()
            };
            self.kustomization(&component, &own, true);
            text += &format!("components: [../{component}]\n");
        }
        // kustomize takes none that says nothing.
        if text.lines().all(|line| line.starts_with("apiVersion") || line.starts_with("kind")) {
            text += "commonAnnotations: {note: c}\n";
        }
        self.files.insert(format!("{directory}/kustomization.yaml"), text);
    }

    /// The kind, name and namespace of an object, which is mostly there.
    fn known(&mut self) -> (usize, String, &'static str) {
        if self.one_in(25) || self.objects.is_empty() {
            let kind = self.below(KINDS.len());
            return (kind, self.of(&NAMES).to_owned(), self.of(&["", "metal"]));
        }
        let index = self.below(self.objects.len());
        self.objects[index].clone()
    }

    fn merge_patch(&mut self) -> String {
        let (kind, name, namespace) = self.known();
        let (version, kind) = KINDS[kind];
        let namespace =
            if namespace.is_empty() { String::new() } else { format!(", namespace: {namespace}") };
        let labels = self.of(&[
            "",
            ", labels: {<<: {rack: r7}}",
            ", labels: {rack: null, x: y}",
            ", annotations: {note: p}",
            ", labels: {$patch: replace, z: z}",
        ]);
        let is_odd = self.one_in(8);
        let body = match kind {
            "BareMetalHost" => self.of(&[
                "spec: {bmc: {address: 'redfish://10.7.7.7/p'}}",
                "spec: {rootDeviceHints: {$patch: replace, deviceName: /dev/sda}, online: true}",
                "spec: {rootDeviceHints: null, taints: [{key: p}]}",
                "spec: {bmc: {$patch: delete}, new: {a: null, b: {$patch: delete}, c: [1, null]}}",
                "spec: {online: false, bootMACAddress: '00:00:00:00:00:02'}",
                if is_odd { "spec: {online: {a: b}}" } else { "$patch: delete" },
            ]),
            "Secret" => self.of(&[
                "data: {username: Yw==}",
                "stringData: {networkData: 'links: [a]'}",
                "data: null",
            ]),
            "ConfigMap" => self.of(&[
                "data: {rack: r8}",
                "data: {$patch: replace, rack: r8}",
                "$patch: delete",
            ]),
            "Service" => self.of(&["spec: {type: LoadBalancer}", "spec: {selector: {app: b}}"]),
            _ => self.of(&[
                "spec: {nodes: {Worker: {count: {active: 2}}}}",
                "spec: {services: {loadBalancer: [{image: other}]}}",
                "spec: {nodes: {Worker: null, ControlPlane: {count: {active: 1, standby: 0}}}}",
            ]),
        };
        let object = format!(
            "apiVersion: {version}\nkind: {kind}\nmetadata: {{name: {name}{namespace}{labels}}}\n{body}\n"
        );
        // A list of patches is as good.
        if !labels.contains("x: y") {
            return object;
        }
        let item = indented(&object, 2);
        format!("apiVersion: v1\nkind: List\nitems:\n- {}\n", item.trim())
    }

    /// Operations that mostly apply to objects of a kind, or to any.
    fn operations(&mut self, kind: Option<&str>) -> String {
        let any = [
            "- {op: add, path: /metadata/labels, value: {<<: {rack: j1}}}\n",
            "- {op: add, path: /metadata/annotations, value: {note: y}}\n",
            "- {op: copy, from: /metadata/name, path: /metadata/copied}\n",
            "- {op: add, path: /extra, value: [{a: 0o17}, 1_000]}\n- {op: add, path: /extra/-1, value: 3}\n- {op: remove, path: /extra/0}\n",
            "- {op: replace, path: /metadata/namespace, value: other}\n",
        ];
        let of_kind: &[&str] = match kind {
            Some("BareMetalHost") => &[
                "- {op: replace, path: /spec/online, value: false}\n",
                "- {op: add, path: /spec/bmc, value: {address: 'redfish://10.5.5.5/j'}}\n- {op: move, from: /spec/bmc, path: /spec/moved}\n",
                "- {op: add, path: /spec/taints, value: []}\n- {op: add, path: /spec/taints/-, value: {key: j}}\n",
                "- {op: test, path: /spec/online, value: true}\n",
                "- {op: replace, path: /spec/bootMACAddress, value: '00:00:00:00:00:01'}\n",
                "- {op: replace, path: /metadata/name, value: renamed}\n",
            ],
            Some("Secret" | "ConfigMap") => &[
                "- {op: add, path: /data, value: {networkData: Yg==}}\n",
                "- {op: remove, path: /data}\n",
            ],
            Some("SIPCluster") => &[
                "- {op: add, path: /spec/nodes, value: {}}\n",
                "- {op: remove, path: /spec/services}\n",
            ],
            _ => &[],
        };
        let all: Vec<&str> =
            any.into_iter().chain(of_kind.iter().copied()).chain(of_kind.iter().copied()).collect();
        (0..1 + self.below(2)).map(|_| self.of(&all)).collect()
    }

    fn plain_target(&mut self) -> (String, &'static str) {
        let (kind, name, namespace) = self.known();
        let (version, kind) = KINDS[kind];
        let group = version.split_once('/').map_or("", |(group, _)| group);
        let target = match self.below(3) {
            0 => format!("{{kind: {kind}, name: {name}}}"),
            1 => format!("{{group: '{group}', kind: {kind}, name: {name}}}"),
            _ if namespace.is_empty() => {
                format!("{{kind: {kind}, name: {name}, namespace: default}}")
            }
            _ => format!("{{kind: {kind}, name: {name}, namespace: {namespace}}}"),
        };
        (target, kind)
    }

    fn target(&mut self) -> (String, Option<&'static str>) {
        if self.one_in(2) {
            let (target, kind) = self.plain_target();
            return (target, Some(kind));
        }
        let any = [
            ("{kind: BareMetalHost}", Some("BareMetalHost")),
            ("{kind: BareMetalHost, name: r.*}", Some("BareMetalHost")),
            ("{kind: BareMetalHost|Secret, name: r.*}", None),
            ("{name: '.*-bmc'}", None),
            ("{labelSelector: rack=r1}", None),
            ("{labelSelector: 'rack in (r1,r7), site'}", None),
            ("{annotationSelector: note=a}", None),
            ("{namespace: metal}", None),
            ("{namespace: default, kind: Secret}", Some("Secret")),
            ("{group: metal3.io}", Some("BareMetalHost")),
            ("{version: v1}", None),
            ("{}", None),
        ];
        let (target, kind) = any[self.below(any.len())];
        (target.to_owned(), kind)
    }

    fn patch(&mut self, directory: &str, index: usize) -> String {
        let options = if self.one_in(6) { "  options: {allowNameChange: true}\n" } else { "" };
        match self.below(4) {
            0 => format!("- patch: |-\n{}{options}", indented(&self.merge_patch(), 4)),
            1 => {
                let patch = self.merge_patch();
                self.files.insert(format!("{directory}/patch{index}.yaml"), patch);
                format!("- path: patch{index}.yaml\n{options}")
            }
            2 => {
                let ((target, _), patch) = (self.target(), self.merge_patch());
                format!("- target: {target}\n  patch: |-\n{}{options}", indented(&patch, 4))
            }
            _ => {
                let (target, kind) = self.target();
                let mut operations = self.operations(kind);
                // `patchesJson6902` applies this only to objects with annotations.
                if index % 2 == 1 {
                    operations += "- {op: add, path: /metadata/annotations/x, value: j}\n";
                }
                if self.one_in(3) {
                    self.files.insert(format!("{directory}/operations{index}.yaml"), operations);
                    return format!("- target: {target}\n  path: operations{index}.yaml\n");
                }
                format!("- target: {target}\n  patch: |-\n{}", indented(&operations, 4))
            }
        }
    }

    fn generators(&mut self) -> String {
        let mut list = self.of(&["secretGenerator", "configMapGenerator"]);
        let (kind, mut name, mut namespace) = self.known();
        let mut behavior = self.of(&["  behavior: merge\n", "  behavior: replace\n"]);
        match KINDS[kind].1 {
            "Secret" => list = "secretGenerator",
            "ConfigMap" => list = "configMapGenerator",
            _ => {
                (name, namespace) = (format!("made{}", self.below(3)), self.of(&["", "metal"]));
                behavior = self.of(&["", "  behavior: create\n"]);
                self.objects.push((
                    if list == "secretGenerator" { 1 } else { 2 },
                    name.clone(),
                    namespace,
                ));
            }
        }
        let namespace = if namespace.is_empty() {
            String::new()
        } else {
            format!("  namespace: {namespace}\n")
        };
        let literal = self.of(&[
            "networkData=links",
            "rack=r4",
            "a='b <&>'",
            "long=0123456789012345678901234567890123456789012345678901234567890123456789",
        ]);
        let options = self.of(&[
            "",
            "generatorOptions: {disableNameSuffixHash: true}\n",
            "generatorOptions: {labels: {rack: g1}, annotations: {note: g}, immutable: true}\n",
        ]);
        let local = self.of(&[
            "",
            "  options: {labels: {rack: g2}}\n",
            "  options: {disableNameSuffixHash: true}\n",
        ]);
        format!(
            "{list}:\n- name: {name}\n{namespace}{behavior}{local}  literals: [\"{literal}\"]\n{options}"
        )
    }

    fn replacements(&mut self, directory: &str) -> String {
        let (kind, name, _) = self.known();
        let kind = KINDS[kind].1;
        let field = match kind {
            "ConfigMap" => self.of(&["data.rack", "metadata.name", "metadata.name"]),
            "BareMetalHost" => self.of(&[
                "spec.bmc.address, options: {delimiter: /, index: 2}",
                "spec.online",
                "metadata.name",
                "spec.online",
                "metadata.name",
                "spec.bmc",
                "'spec.taints.[key=a].effect'",
            ]),
            _ => "metadata.name",
        };
        let source = format!("{{kind: {kind}, name: {name}, fieldPath: {field}}}");
        let (target, _) = self.plain_target();
        let select = self
            .of(&[
                target.as_str(),
                &target,
                "{kind: BareMetalHost}",
                "{namespace: metal}",
                "{labelSelector: rack=r1}",
            ])
            .to_owned();
        let reject = self.of(&[
            "",
            "",
            "    reject: [{name: r1}]\n",
            "    reject: [{labelSelector: site=a}]\n",
        ]);
        let paths = self.of(&[
            "[metadata.labels.rack]",
            "[metadata.labels.rack]",
            "[metadata.name]",
            "[metadata.annotations.note, metadata.labels.rack]",
            "[metadata.labels.rack]",
            "[metadata.annotations.note]",
            "[spec.bmc.address]",
            "[spec.bmc.credentialsName, metadata.annotations.note]",
            "['spec.taints.[key=a].effect']",
            "[spec.taints.*.key]",
            "[spec.taints.0.key]",
            "[spec.rootDeviceHints.minSizeGigabytes]",
            "['metadata.labels.[example.org/rack]']",
        ]);
        let options = self.of(&[
            "",
            "    options: {create: true}\n",
            "    options: {create: true}\n",
            "    options: {create: true}\n",
            "    options: {create: true}\n",
            "    options: {create: true, delimiter: '-', index: 0}\n",
            "    options: {delimiter: '/', index: 2}\n",
            "    options: {delimiter: '-', index: -1}\n",
        ]);
        let entry = format!(
            "source: {source}\n  targets:\n  - select: {select}\n{reject}    fieldPaths: {paths}\n{options}"
        );
        if self.one_in(4) {
            self.files.insert(format!("{directory}/replacement.yaml"), entry.replace("\n  ", "\n"));
            return "replacements: [{path: replacement.yaml}]\n".to_owned();
        }
        format!("replacements:\n- {entry}")
    }
}

fn indented(text: &str, by: usize) -> String {
    text.lines().map(|line| format!("{}{line}\n", " ".repeat(by))).collect()
}
