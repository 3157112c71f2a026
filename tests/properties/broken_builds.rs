//! Mistakes in kustomizations of hosts, alone and combined, judged by the real kustomize: what sipgen accepts builds, and
//! what it refuses does not.

use std::collections::BTreeMap;

use sipgen::base::finding::Code;

use super::evaluating::{Tree, generated_from, real_builds};

/// How many combinations of changes are tried.
const COMBINATIONS: u64 = 900;

/// A change of the repo.
#[derive(Clone, Copy)]
enum Edit {
    /// A file that is listed in `resources`.
    Resource(&'static str, &'static str),
    /// A file that is not.
    File(&'static str, &'static str),
    /// An item of a list of `top/kustomization.yaml`.
    Item(&'static str, &'static str),
    /// Another field of it.
    Field(&'static str, &'static str),
}

use Edit::{Field, File, Item, Resource};

type Mutation = (&'static str, &'static [Edit]);

const CONFIG: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: b}\n";
const OTHER_HOST: &str = "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {name: h1, namespace: other}\n\
                          spec: {online: true}\n";
const COMPONENT: &str =
    "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\ncommonAnnotations: {c: d}\n";
const DEPLOYMENT: &str =
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 1}\n";
const H0: &str = "apiVersion: metal3.io/v1alpha1\n    kind: BareMetalHost\n    metadata: {name: h0, namespace: metal}\n    ";

/// Every change, correct or not: kustomize decides.
const MUTATIONS: &[Mutation] = &[
    ("missing file", &[Item("resources", "no.yaml")]),
    ("missing directory", &[Item("resources", "../no")]),
    ("missing URL-like path", &[Item("resources", "example.org/a/b")]),
    ("absolute file", &[Item("resources", "/etc/hostname")]),
    ("absolute directory", &[Item("resources", "/tmp")]),
    ("absolute component", &[Item("components", "/tmp")]),
    ("absolute patch", &[Item("patches", "{path: /etc/hostname}")]),
    ("absolute replacement", &[Item("replacements", "{path: /etc/hostname}")]),
    ("absolute definition", &[Item("crds", "/etc/hostname")]),
    ("absolute file of data", &[Item("configMapGenerator", "{name: x, files: [a=/etc/hostname]}")]),
    ("absolute schema", &[Field("openapi", "{path: /etc/hostname}")]),
    (
        "directory without kustomization",
        &[File("bare/a.yaml", CONFIG), Item("resources", "../bare")],
    ),
    ("file twice", &[Item("resources", "hosts.yaml")]),
    ("config twice", &[Resource("c1.yaml", CONFIG), Item("resources", "c1.yaml")]),
    ("directory twice", &[Item("resources", "../inner")]),
    ("object in two files", &[Resource("c1.yaml", CONFIG), Resource("c2.yaml", CONFIG)]),
    (
        "host in two files",
        &[Resource(
            "h1.yaml",
            "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {name: h0, namespace: metal}\nspec: {online: true}\n",
        )],
    ),
    (
        "same name, other kind",
        &[
            Resource("c1.yaml", CONFIG),
            Resource("s.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: settings}\n"),
        ],
    ),
    (
        "same name, other namespace",
        &[
            Resource("c1.yaml", CONFIG),
            Resource(
                "c2.yaml",
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: x}\n",
            ),
        ],
    ),
    (
        "same name, other version",
        &[
            Resource("c1.yaml", CONFIG),
            Resource("c2.yaml", "apiVersion: v2\nkind: ConfigMap\nmetadata: {name: settings}\n"),
        ],
    ),
    (
        "default namespace and none",
        &[
            Resource("c1.yaml", CONFIG),
            Resource(
                "c2.yaml",
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: default}\n",
            ),
        ],
    ),
    (
        "cluster-scoped in two namespaces",
        &[Resource(
            "n.yaml",
            "apiVersion: v1\nkind: Namespace\nmetadata: {name: n, namespace: a}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: n, namespace: b}\n",
        )],
    ),
    (
        "object twice in one file",
        &[Resource(
            "n.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: n}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: n}\n",
        )],
    ),
    (
        "component in resources",
        &[File("part/kustomization.yaml", COMPONENT), Item("resources", "../part")],
    ),
    ("component", &[File("part/kustomization.yaml", COMPONENT), Item("components", "../part")]),
    (
        "component twice",
        &[
            File("part/kustomization.yaml", COMPONENT),
            Item("components", "../part"),
            Item("components", "../part"),
        ],
    ),
    (
        "kustomization in components",
        &[
            File("part/kustomization.yaml", "commonAnnotations: {c: d}\n"),
            Item("components", "../part"),
        ],
    ),
    ("file in components", &[Item("components", "hosts.yaml")]),
    ("missing component", &[Item("components", "../no")]),
    (
        "component with a missing file",
        &[
            File(
                "part/kustomization.yaml",
                "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [no.yaml]\n",
            ),
            Item("components", "../part"),
        ],
    ),
    (
        "component with a resource that exists",
        &[
            File(
                "part/kustomization.yaml",
                "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [c.yaml]\n",
            ),
            File(
                "part/c.yaml",
                "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {name: h0, namespace: metal}\n",
            ),
            Item("components", "../part"),
        ],
    ),
    ("empty entry", &[Item("resources", "\"\"")]),
    ("file outside", &[File("out.yaml", CONFIG), Item("resources", "../out.yaml")]),
    ("file below", &[File("top/a/b/out.yaml", CONFIG), Item("resources", "a/b/out.yaml")]),
    ("file by a detour", &[File("top/det.yaml", CONFIG), Item("resources", "../top/det.yaml")]),
    (
        "directory above",
        &[
            File("kustomization.yaml", "resources: [above.yaml]\n"),
            File("above.yaml", CONFIG),
            Item("resources", ".."),
        ],
    ),
    ("empty file", &[Resource("e.yaml", "")]),
    ("only comments", &[Resource("e.yaml", "# a\n# b\n")]),
    ("only separators", &[Resource("e.yaml", "---\n---\n")]),
    ("manifest as an entry", &[Item("resources", "\"kind: Service\\n\"")]),
    ("control character", &[Resource("e.yaml", "\u{1f}\u{8}\n")]),
    ("scalar document", &[Resource("e.yaml", "hello\n")]),
    ("list document", &[Resource("e.yaml", "- a\n- b\n")]),
    ("empty list", &[Resource("e.yaml", "[]\n")]),
    ("empty mapping", &[Resource("e.yaml", "{}\n")]),
    (
        "scalar behind an object",
        &[Resource("e.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: e}\n---\nhello\n")],
    ),
    ("no kind", &[Resource("e.yaml", "apiVersion: v1\nmetadata: {name: e}\n")]),
    ("no apiVersion", &[Resource("e.yaml", "kind: Service\nmetadata: {name: e}\n")]),
    (
        "no name",
        &[Resource("e.yaml", "apiVersion: v1\nkind: Service\nmetadata: {labels: {a: b}}\n")],
    ),
    ("empty name", &[Resource("e.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: ''}\n")]),
    ("null name", &[Resource("e.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: ~}\n")]),
    (
        "number as name",
        &[Resource("e.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: 5}\n")],
    ),
    (
        "list as name",
        &[Resource("e.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: [a]}\n")],
    ),
    ("null kind", &[Resource("e.yaml", "apiVersion: v1\nkind:\nmetadata: {name: e}\n")]),
    ("empty kind", &[Resource("e.yaml", "apiVersion: v1\nkind: ''\nmetadata: {name: e}\n")]),
    ("no metadata", &[Resource("e.yaml", "apiVersion: v1\nkind: Service\n")]),
    ("scalar metadata", &[Resource("e.yaml", "apiVersion: v1\nkind: Service\nmetadata: e\n")]),
    ("values of a chart", &[Resource("e.yaml", "replicas: 3\nimage: x\n")]),
    (
        "List",
        &[Resource(
            "e.yaml",
            "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Service\n  metadata: {name: e}\n",
        )],
    ),
    (
        "List with an object twice",
        &[Resource(
            "e.yaml",
            "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Service, metadata: {name: e}}\n- {apiVersion: v1, kind: Service, metadata: {name: e}}\n",
        )],
    ),
    (
        "List with an item without kind",
        &[Resource(
            "e.yaml",
            "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, metadata: {name: e}}\n",
        )],
    ),
    ("empty List", &[Resource("e.yaml", "apiVersion: v1\nkind: List\nitems: []\n")]),
    ("List without items", &[Resource("e.yaml", "apiVersion: v1\nkind: ServiceList\n")]),
    (
        "ServiceList",
        &[Resource(
            "e.yaml",
            "apiVersion: v1\nkind: ServiceList\nitems:\n- {apiVersion: v1, kind: Service, metadata: {name: e}}\n",
        )],
    ),
    ("tab", &[Resource("e.yaml", "apiVersion: v1\nkind: Service\nmetadata:\n\tname: e\n")]),
    (
        "unclosed bracket",
        &[Resource(
            "e.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: e}\nspec: {ports: [\n",
        )],
    ),
    (
        "wrong indentation",
        &[Resource(
            "e.yaml",
            "apiVersion: v1\nkind: Service\nmetadata:\n  name: e\n   labels: {}\n",
        )],
    ),
    (
        "unclosed quote",
        &[Resource("e.yaml", "apiVersion: v1\nkind: Service\nmetadata:\n  name: \"e\n")],
    ),
    (
        "key twice",
        &[Resource(
            "e.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: e}\nspec: {}\nspec: {}\n",
        )],
    ),
    (
        "nested key twice",
        &[Resource(
            "e.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: e}\nspec:\n  a: 1\n  a: 2\n",
        )],
    ),
    (
        "key twice in a list",
        &[Resource(
            "e.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: e}\nspec:\n- a: 1\n  a: 2\n",
        )],
    ),
    (
        "key twice in an object of a list",
        &[Resource(
            "e.yaml",
            "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Service\n  metadata: {name: e}\n  a: 1\n  a: 1\n",
        )],
    ),
    (
        "number as key",
        &[Resource(
            "e.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: e}\ndata: {1: a}\n",
        )],
    ),
    (
        "boolean as key",
        &[Resource(
            "e.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: e}\ndata: {true: a}\n",
        )],
    ),
    (
        "null as key",
        &[Resource(
            "e.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: e}\ndata: {~: a}\n",
        )],
    ),
    (
        "switch as key",
        &[Resource(
            "e.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: e}\ndata: {on: a}\n",
        )],
    ),
    (
        "not a number",
        &[Resource(
            "e.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: e}\nspec: {a: .nan}\n",
        )],
    ),
    (
        "infinity in a list",
        &[Resource(
            "e.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: e}\nspec: {a: [.inf]}\n",
        )],
    ),
    (
        "anchor",
        &[Resource(
            "e.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: e, labels: &l {a: b}}\nspec: {selector: *l}\n",
        )],
    ),
    (
        "unknown alias",
        &[Resource(
            "e.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: e}\nspec: {selector: *l}\n",
        )],
    ),
    (
        "merge key",
        &[Resource(
            "e.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: e, labels: &l {a: b}}\nspec:\n  <<: *l\n  c: d\n",
        )],
    ),
    (
        "separator with text",
        &[Resource(
            "e.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: e}\n--- x\napiVersion: v1\nkind: Service\nmetadata: {name: f}\n",
        )],
    ),
    (
        "separator with a comment",
        &[Resource(
            "e.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: e}\n--- # x\napiVersion: v1\nkind: Service\nmetadata: {name: f}\n",
        )],
    ),
    (
        "separator of four dashes",
        &[Resource(
            "e.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: e}\n----\napiVersion: v1\nkind: Service\nmetadata: {name: f}\n",
        )],
    ),
    (
        "line breaks of Windows",
        &[Resource(
            "e.yaml",
            "apiVersion: v1\r\nkind: Service\r\nmetadata:\r\n  name: e\r\n---\r\napiVersion: v1\r\nkind: Service\r\nmetadata:\r\n  name: f\r\n",
        )],
    ),
    (
        "JSON",
        &[Resource(
            "e.json",
            "{\"apiVersion\": \"v1\", \"kind\": \"Service\", \"metadata\": {\"name\": \"e\"}}",
        )],
    ),
    (
        "truncated JSON",
        &[Resource(
            "e.json",
            "{\"apiVersion\": \"v1\", \"kind\": \"Service\", \"metadata\": {\"name\": \"e\"",
        )],
    ),
    (
        "key twice in JSON",
        &[Resource(
            "e.json",
            "{\"apiVersion\": \"v1\", \"kind\": \"Service\", \"metadata\": {\"name\": \"e\"}, \"a\": 1, \"a\": 2}",
        )],
    ),
    (
        "directive",
        &[Resource(
            "e.yaml",
            "%YAML 1.2\n---\napiVersion: v1\nkind: Service\nmetadata: {name: e}\n",
        )],
    ),
    (
        "directive behind a comment",
        &[Resource(
            "e.yaml",
            "# c\n%TAG ! tag:example.org,2000:\n---\napiVersion: v1\nkind: Service\nmetadata: {name: e}\n",
        )],
    ),
    (
        "directive behind an object",
        &[Resource(
            "e.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: e}\n---\n%YAML 1.1\n---\napiVersion: v1\nkind: Service\nmetadata: {name: f}\n",
        )],
    ),
    (
        "directive behind the end of an object",
        &[Resource(
            "e.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: e}\n...\n%YAML 1.1\n---\napiVersion: v1\nkind: Service\nmetadata: {name: f}\n",
        )],
    ),
    (
        "percent sign in a text",
        &[Resource(
            "e.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: e}\na: |\n  %YAML 1.1\nb: \"c\n%d\"\n",
        )],
    ),
    (
        "end of a document",
        &[Resource("e.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: e}\n...\n")],
    ),
    (
        "end of no document",
        &[Resource("e.yaml", "...\n---\napiVersion: v1\nkind: Service\nmetadata: {name: e}\n")],
    ),
    (
        "items that are a mapping",
        &[Resource("e.yaml", "apiVersion: v1\nkind: List\nitems: {a: b}\n")],
    ),
    (
        "items that are an empty mapping",
        &[Resource("e.yaml", "apiVersion: v1\nkind: List\nitems: {}\n")],
    ),
    ("items that are a text", &[Resource("e.yaml", "apiVersion: v1\nkind: List\nitems: a\n")]),
    (
        "items of another list that are a mapping",
        &[Resource("e.yaml", "apiVersion: v1\nkind: ServiceList\nitems: {}\n")],
    ),
    (
        "items of another list that are a text",
        &[Resource("e.yaml", "apiVersion: v1\nkind: ServiceList\nitems: a\n")],
    ),
    ("items that are null", &[Resource("e.yaml", "apiVersion: v1\nkind: ServiceList\nitems:\n")]),
    (
        "items of a nested list that are a mapping",
        &[Resource(
            "e.yaml",
            "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: List, items: {a: b}}\n",
        )],
    ),
    (
        "items without kind",
        &[Resource("e.yaml", "items:\n- {apiVersion: v1, kind: Service, metadata: {name: e}}\n")],
    ),
    (
        "merge of a text",
        &[Resource(
            "e.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: e}\nspec:\n  <<: a\n",
        )],
    ),
    (
        "merge of null",
        &[Resource("e.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: e}\nspec:\n  <<:\n")],
    ),
    (
        "merge of a list of texts",
        &[Resource(
            "e.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: e}\nspec:\n  <<: [a]\n",
        )],
    ),
    (
        "merge of an alias of a text",
        &[Resource(
            "e.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: e}\na: &x b\nspec:\n  <<: *x\n",
        )],
    ),
    (
        "merge of an empty list",
        &[Resource(
            "e.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: e}\nspec:\n  <<: []\n",
        )],
    ),
    (
        "escaped slash",
        &[Resource(
            "e.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: e}\na: \"http:\\/\\/x\"\n",
        )],
    ),
    (
        "backslash and slash",
        &[Resource(
            "e.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: e}\na: \"\\\\/\"\nb: '\\/'\nc: \\/\nd: |\n  \"\\/\"\n",
        )],
    ),
    (
        "surrogates in JSON",
        &[Resource(
            "e.yaml",
            "{\"apiVersion\": \"v1\", \"kind\": \"Service\", \"metadata\": {\"name\": \"e\"}, \"a\": \"\\ud83d\\ude00\"}",
        )],
    ),
    (
        "other escape in JSON",
        &[Resource(
            "e.yaml",
            "{\"apiVersion\": \"v1\", \"kind\": \"Service\", \"metadata\": {\"name\": \"e\"}, \"a\": \"\\ud7ff\"}",
        )],
    ),
    (
        "JSON with a trailing comma",
        &[Resource(
            "e.json",
            "{\"apiVersion\": \"v1\", \"kind\": \"Service\", \"metadata\": {\"name\": \"e\",},}",
        )],
    ),
    (
        "template",
        &[Resource(
            "e.yaml",
            "apiVersion: v1\nkind: Service\nmetadata:\n  name: {{ .Values.name }}\n",
        )],
    ),
    (
        "quoted template",
        &[Resource(
            "e.yaml",
            "apiVersion: v1\nkind: Service\nmetadata:\n  name: \"{{ .Values.name }}\"\n",
        )],
    ),
    (
        "conflict markers",
        &[Resource(
            "e.yaml",
            "<<<<<<< ours\napiVersion: v1\nkind: Service\n=======\nkind: Service\n>>>>>>> theirs\nmetadata: {name: e}\n",
        )],
    ),
    (
        "pointer of Git LFS",
        &[Resource(
            "e.yaml",
            "version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 5\n",
        )],
    ),
    (
        "byte order mark",
        &[Resource("e.yaml", "\u{feff}apiVersion: v1\nkind: Service\nmetadata: {name: e}\n")],
    ),
    (
        "other extension",
        &[Resource("e.txt", "apiVersion: v1\nkind: Service\nmetadata: {name: e}\n")],
    ),
    (
        "local object without a name",
        &[Resource(
            "e.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {annotations: {config.kubernetes.io/local-config: 'true'}}\n",
        )],
    ),
    (
        "local object",
        &[Resource(
            "e.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: e, annotations: {config.kubernetes.io/local-config: 'true'}}\n",
        )],
    ),
    ("generator", &[Item("configMapGenerator", "{name: made, literals: [a=b]}")]),
    (
        "generator over an object",
        &[
            Resource("c1.yaml", CONFIG),
            Item("configMapGenerator", "{name: settings, literals: [a=b]}"),
        ],
    ),
    (
        "generator in another namespace",
        &[
            Resource("c1.yaml", CONFIG),
            Item("configMapGenerator", "{name: settings, namespace: x, literals: [a=b]}"),
        ],
    ),
    (
        "generator twice",
        &[
            Item("configMapGenerator", "{name: twice, literals: [a=b]}"),
            Item("configMapGenerator", "{name: twice, literals: [a=c]}"),
        ],
    ),
    (
        "generators of two kinds",
        &[
            Item("configMapGenerator", "{name: both, literals: [a=b]}"),
            Item("secretGenerator", "{name: both, literals: [a=b]}"),
        ],
    ),
    ("generator without its file", &[Item("configMapGenerator", "{name: f, files: [no.cfg]}")]),
    (
        "generator with its file",
        &[File("top/yes.cfg", "x"), Item("configMapGenerator", "{name: f, files: [yes.cfg]}")],
    ),
    (
        "generator with a key",
        &[File("top/yes.cfg", "x"), Item("configMapGenerator", "{name: f, files: [key=yes.cfg]}")],
    ),
    (
        "generator with a file outside",
        &[File("no.cfg", "x"), Item("configMapGenerator", "{name: f, files: [../no.cfg]}")],
    ),
    ("generator with a directory", &[Item("configMapGenerator", "{name: f, files: [../inner]}")]),
    ("generator without its environment", &[Item("secretGenerator", "{name: f, envs: [no.env]}")]),
    (
        "generator with its environment",
        &[
            File("top/yes.env", "# c\nA=b\n\nB\n"),
            Item("secretGenerator", "{name: f, envs: [yes.env]}"),
        ],
    ),
    (
        "environment with a key twice",
        &[File("top/two.env", "A=b\nA=c\n"), Item("secretGenerator", "{name: f, envs: [two.env]}")],
    ),
    (
        "generator to merge into nothing",
        &[Item("configMapGenerator", "{name: no, behavior: merge, literals: [a=b]}")],
    ),
    (
        "generator to replace nothing",
        &[Item("configMapGenerator", "{name: no, behavior: replace, literals: [a=b]}")],
    ),
    (
        "generator to merge",
        &[
            Resource("c1.yaml", CONFIG),
            Item("configMapGenerator", "{name: settings, behavior: merge, literals: [a=c]}"),
        ],
    ),
    (
        "generator of unknown behavior",
        &[Item("configMapGenerator", "{name: u, behavior: update, literals: [a=b]}")],
    ),
    ("generator without a name", &[Item("configMapGenerator", "{literals: [a=b]}")]),
    ("literal without a value", &[Item("configMapGenerator", "{name: l, literals: [a]}")]),
    ("literal without a key", &[Item("configMapGenerator", "{name: l, literals: ['=a']}")]),
    ("literal twice", &[Item("configMapGenerator", "{name: l, literals: [a=b, a=c]}")]),
    ("file of two keys", &[Item("configMapGenerator", "{name: l, files: [a=b=c]}")]),
    ("file without a key", &[Item("configMapGenerator", "{name: l, files: ['=yes.cfg']}")]),
    ("file without a path", &[Item("configMapGenerator", "{name: l, files: ['a=']}")]),
    ("patch", &[Item("patches", "patch: |-\n    {H0}spec: {online: false}")]),
    (
        "patch of a missing host",
        &[Item(
            "patches",
            "patch: |-\n    apiVersion: metal3.io/v1alpha1\n    kind: BareMetalHost\n    metadata: {name: h9, namespace: metal}",
        )],
    ),
    (
        "patch of a missing ConfigMap",
        &[Item(
            "patches",
            "patch: |-\n    apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: c9}",
        )],
    ),
    (
        "patch in another namespace",
        &[Item(
            "patches",
            "patch: |-\n    apiVersion: metal3.io/v1alpha1\n    kind: BareMetalHost\n    metadata: {name: h0, namespace: other}",
        )],
    ),
    (
        "patch of another version",
        &[Item(
            "patches",
            "patch: |-\n    apiVersion: metal3.io/v1beta1\n    kind: BareMetalHost\n    metadata: {name: h0, namespace: metal}",
        )],
    ),
    ("missing patch file", &[Item("patches", "path: no.yaml")]),
    (
        "patch outside",
        &[
            File(
                "p.yaml",
                "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {name: h0, namespace: metal}\n",
            ),
            Item("patches", "path: ../p.yaml"),
        ],
    ),
    (
        "patch file",
        &[
            File(
                "top/p.yaml",
                "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {name: h0, namespace: metal}\n",
            ),
            Item("patches", "path: p.yaml"),
        ],
    ),
    (
        "patch of both forms",
        &[
            File(
                "top/p.yaml",
                "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {name: h0, namespace: metal}\n",
            ),
            Item("patches", "path: p.yaml\n  patch: '- {op: test}'"),
        ],
    ),
    ("patch of no form", &[Item("patches", "target: {kind: BareMetalHost}")]),
    ("patch of spaces", &[Item("patches", "patch: ' '")]),
    ("empty patch file", &[File("top/pe.yaml", ""), Item("patches", "path: pe.yaml")]),
    (
        "empty patch file with a target",
        &[
            File("top/pe.yaml", "# nothing\n"),
            Item("patches", "path: pe.yaml\n  target: {kind: BareMetalHost}"),
        ],
    ),
    (
        "JSON patch",
        &[Item(
            "patches",
            "target: {kind: BareMetalHost}\n  patch: '- {op: add, path: /spec/x, value: 1}'",
        )],
    ),
    (
        "JSON patch without a target",
        &[Item("patches", "patch: '- {op: add, path: /spec/x, value: 1}'")],
    ),
    (
        "JSON patch of a missing path",
        &[Item(
            "patches",
            "target: {kind: BareMetalHost}\n  patch: '- {op: add, path: /spec/x/y, value: 1}'",
        )],
    ),
    (
        "JSON patch that removes nothing",
        &[Item(
            "patches",
            "target: {kind: BareMetalHost}\n  patch: '- {op: remove, path: /spec/x9}'",
        )],
    ),
    (
        "JSON patch with a test",
        &[Item(
            "patches",
            "target: {kind: BareMetalHost}\n  patch: '- {op: test, path: /spec/online, value: false}'",
        )],
    ),
    (
        "JSON patch of an unknown operation",
        &[Item(
            "patches",
            "target: {kind: BareMetalHost}\n  patch: '- {op: put, path: /spec/x, value: 1}'",
        )],
    ),
    (
        "JSON patch for nobody",
        &[Item(
            "patches",
            "target: {kind: BareMetalHost, name: h9}\n  patch: '- {op: remove, path: /spec/x9}'",
        )],
    ),
    (
        "JSON patch that is not JSON",
        &[Item(
            "patches",
            "target: {kind: BareMetalHost}\n  patch: '[{op: add, path: /spec/x, value: 1}]'",
        )],
    ),
    ("empty JSON patch", &[Item("patches", "target: {kind: BareMetalHost}\n  patch: '[]'")]),
    (
        "JSON patch of the name",
        &[Item(
            "patches",
            "target: {kind: BareMetalHost, name: h1}\n  patch: '- {op: replace, path: /metadata/name, value: h7}'",
        )],
    ),
    (
        "JSON patch to a taken name",
        &[Item(
            "patches",
            "target: {kind: BareMetalHost, name: h1}\n  patch: '- {op: replace, path: /metadata/name, value: h0}'",
        )],
    ),
    (
        "JSON patch without a name",
        &[Item(
            "patches",
            "target: {kind: BareMetalHost, name: h1}\n  patch: '- {op: remove, path: /metadata/name}'",
        )],
    ),
    (
        "JSON patch without a kind",
        &[Item(
            "patches",
            "target: {kind: BareMetalHost, name: h1}\n  patch: '- {op: remove, path: /kind}'",
        )],
    ),
    (
        "two patches with a target",
        &[Item(
            "patches",
            "target: {kind: BareMetalHost}\n  patch: |-\n    {H0}\n    ---\n    {H0}",
        )],
    ),
    ("two patches", &[Item("patches", "patch: |-\n    {H0}\n    ---\n    {H0}")]),
    (
        "patch without a kind",
        &[Item("patches", "patch: |-\n    metadata: {name: h0, namespace: metal}")],
    ),
    ("broken patch", &[Item("patches", "patch: '{'")]),
    ("scalar patch", &[Item("patches", "patch: hello")]),
    ("patch of another shape", &[Item("patches", "patch: |-\n    {H0}spec: {online: {a: b}}")]),
    (
        "patch with a key twice",
        &[Item("patches", "patch: |-\n    {H0}spec: {online: true, online: false}")],
    ),
    ("patch that deletes", &[Item("patches", "patch: |-\n    {H0}$patch: delete")]),
    (
        "patch that deletes twice",
        &[
            Item("patches", "patch: |-\n    {H0}$patch: delete"),
            Item("patches", "patch: |-\n    {H0}$patch: delete"),
        ],
    ),
    ("patch that replaces the whole", &[Item("patches", "patch: |-\n    {H0}$patch: replace")]),
    ("patch of an unknown strategy", &[Item("patches", "patch: |-\n    {H0}$patch: spoil")]),
    (
        "patch that renames",
        &[Item(
            "patches",
            "target: {kind: BareMetalHost, name: h1}\n  patch: |-\n    apiVersion: metal3.io/v1alpha1\n    kind: BareMetalHost\n    metadata: {name: h8}\n  options: {allowNameChange: true}",
        )],
    ),
    (
        "patch that renames to a taken name",
        &[Item(
            "patches",
            "target: {kind: BareMetalHost, name: h1}\n  patch: |-\n    apiVersion: metal3.io/v1alpha1\n    kind: BareMetalHost\n    metadata: {name: h0}\n  options: {allowNameChange: true}",
        )],
    ),
    (
        "patch by a former name",
        &[
            Item(
                "patches",
                "target: {kind: BareMetalHost, name: h1}\n  patch: |-\n    apiVersion: metal3.io/v1alpha1\n    kind: BareMetalHost\n    metadata: {name: h8}\n  options: {allowNameChange: true}",
            ),
            Item(
                "patches",
                "patch: |-\n    apiVersion: metal3.io/v1alpha1\n    kind: BareMetalHost\n    metadata: {name: h1, namespace: metal}",
            ),
        ],
    ),
    (
        "two objects of one former name",
        &[
            Item(
                "patches",
                "target: {kind: BareMetalHost, name: h1}\n  patch: '- {op: replace, path: /metadata/name, value: h5}'",
            ),
            Item(
                "patches",
                "target: {kind: BareMetalHost, name: h0}\n  patch: '- {op: replace, path: /metadata/name, value: h1}'",
            ),
            Item(
                "patches",
                "patch: |-\n    apiVersion: metal3.io/v1alpha1\n    kind: BareMetalHost\n    metadata: {name: h1, namespace: metal}",
            ),
        ],
    ),
    (
        "patch of another kind",
        &[Item(
            "patches",
            "target: {kind: BareMetalHost, name: h1}\n  patch: |-\n    apiVersion: metal3.io/v1alpha1\n    kind: Host\n    metadata: {name: h1}\n  options: {allowKindChange: true}",
        )],
    ),
    (
        "target of everything",
        &[Item(
            "patches",
            "target: {}\n  patch: '- {op: add, path: /metadata/annotations, value: {x: y}}'",
        )],
    ),
    (
        "target of a wrong regular expression",
        &[Item("patches", "target: {name: 'h('}\n  patch: '- {op: add, path: /spec/x, value: 1}'")],
    ),
    (
        "merge patch in the old list",
        &[Item(
            "patchesStrategicMerge",
            "|-\n  apiVersion: metal3.io/v1alpha1\n  kind: BareMetalHost\n  metadata: {name: h0, namespace: metal}\n  spec: {x: 1}",
        )],
    ),
    (
        "merge patch of nobody in the old list",
        &[Item(
            "patchesStrategicMerge",
            "|-\n  apiVersion: metal3.io/v1alpha1\n  kind: BareMetalHost\n  metadata: {name: h9, namespace: metal}\n  spec: {x: 1}",
        )],
    ),
    ("missing file in the old list", &[Item("patchesStrategicMerge", "no.yaml")]),
    (
        "empty file in the old list",
        &[File("top/pe.yaml", ""), Item("patchesStrategicMerge", "pe.yaml")],
    ),
    (
        "JSON patch in the old list",
        &[Item(
            "patchesJson6902",
            "target: {version: v1alpha1, group: metal3.io, kind: BareMetalHost, name: h0}\n  patch: '- {op: add, path: /spec/x, value: 1}'",
        )],
    ),
    (
        "JSON patch without a name in the old list",
        &[Item(
            "patchesJson6902",
            "target: {version: v1alpha1, group: metal3.io, kind: BareMetalHost}\n  patch: '- {op: add, path: /spec/x, value: 1}'",
        )],
    ),
    (
        "JSON patch without a target in the old list",
        &[Item("patchesJson6902", "patch: '- {op: add, path: /spec/x, value: 1}'")],
    ),
    (
        "empty JSON patch in the old list",
        &[Item("patchesJson6902", "target: {kind: BareMetalHost, name: h0}\n  patch: '[]'")],
    ),
    (
        "missing JSON patch in the old list",
        &[Item("patchesJson6902", "target: {kind: BareMetalHost, name: h0}\n  path: no.yaml")],
    ),
    ("namespace", &[Field("namespace", "metal")]),
    ("namespace that joins hosts", &[Resource("oh.yaml", OTHER_HOST), Field("namespace", "metal")]),
    ("other namespace", &[Resource("oh.yaml", OTHER_HOST)]),
    ("labels", &[Item("labels", "pairs: {a: b}")]),
    (
        "labels on a scalar",
        &[
            Resource("ls.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: ls, labels: x}\n"),
            Item("labels", "pairs: {a: b}"),
        ],
    ),
    (
        "annotations on a list",
        &[
            Resource(
                "as.yaml",
                "apiVersion: v1\nkind: Service\nmetadata: {name: as, annotations: [x]}\n",
            ),
            Field("commonAnnotations", "{a: b}"),
        ],
    ),
    ("replicas of nobody", &[Item("replicas", "{name: web9, count: 2}")]),
    ("replicas", &[Resource("d.yaml", DEPLOYMENT), Item("replicas", "{name: web, count: 2}")]),
    (
        "replicas of a ConfigMap",
        &[Resource("c1.yaml", CONFIG), Item("replicas", "{name: settings, count: 2}")],
    ),
    (
        "replicas by a prefixed name",
        &[
            Resource("d.yaml", DEPLOYMENT),
            Field("nameSuffix", "-x"),
            Item("replicas", "{name: web-x, count: 2}"),
        ],
    ),
    ("images", &[Item("images", "{name: x, newTag: '1'}")]),
    (
        "variable",
        &[
            Resource("c1.yaml", CONFIG),
            Item(
                "vars",
                "{name: V, objref: {apiVersion: v1, kind: ConfigMap, name: settings}, fieldref: {fieldPath: data.a}}",
            ),
        ],
    ),
    (
        "variable of nobody",
        &[Item("vars", "{name: W, objref: {apiVersion: v1, kind: ConfigMap, name: no}}")],
    ),
    (
        "variable of a missing field",
        &[
            Resource("c1.yaml", CONFIG),
            Item(
                "vars",
                "{name: X, objref: {apiVersion: v1, kind: ConfigMap, name: settings}, fieldref: {fieldPath: data.z}}",
            ),
        ],
    ),
    (
        "variable twice",
        &[
            Resource("c1.yaml", CONFIG),
            Item("vars", "{name: Y, objref: {apiVersion: v1, kind: ConfigMap, name: settings}}"),
            Item("vars", "{name: Y, objref: {apiVersion: v1, kind: ConfigMap, name: settings}}"),
        ],
    ),
    (
        "variable of two objects",
        &[
            Resource("oh.yaml", OTHER_HOST),
            Item(
                "vars",
                "{name: Z, objref: {apiVersion: metal3.io/v1alpha1, kind: BareMetalHost, name: h1}}",
            ),
        ],
    ),
    (
        "replacement",
        &[Item(
            "replacements",
            "source: {kind: BareMetalHost, name: h0, fieldPath: metadata.name}\n  targets: [{select: {kind: BareMetalHost, name: h1}, fieldPaths: [metadata.labels.from], options: {create: true}}]",
        )],
    ),
    (
        "replacement from nobody",
        &[Item(
            "replacements",
            "source: {kind: BareMetalHost, name: h9}\n  targets: [{select: {kind: BareMetalHost}, fieldPaths: [metadata.labels.from], options: {create: true}}]",
        )],
    ),
    (
        "replacement from two objects",
        &[Item(
            "replacements",
            "source: {kind: BareMetalHost}\n  targets: [{select: {kind: BareMetalHost}, fieldPaths: [metadata.labels.from], options: {create: true}}]",
        )],
    ),
    (
        "replacement from a missing field",
        &[Item(
            "replacements",
            "source: {kind: BareMetalHost, name: h0, fieldPath: spec.no}\n  targets: [{select: {kind: BareMetalHost}, fieldPaths: [metadata.labels.from], options: {create: true}}]",
        )],
    ),
    (
        "replacement to a missing field",
        &[Item(
            "replacements",
            "source: {kind: BareMetalHost, name: h0}\n  targets: [{select: {kind: BareMetalHost}, fieldPaths: [spec.no]}]",
        )],
    ),
    (
        "replacement to nobody",
        &[Item(
            "replacements",
            "source: {kind: BareMetalHost, name: h0}\n  targets: [{select: {kind: BareMetalHost, name: h9}, fieldPaths: [spec.no]}]",
        )],
    ),
    (
        "replacement without targets",
        &[Item("replacements", "source: {kind: BareMetalHost, name: h0}")],
    ),
    (
        "replacement without a source",
        &[Item(
            "replacements",
            "targets: [{select: {kind: BareMetalHost}, fieldPaths: [metadata.labels.rack]}]",
        )],
    ),
    (
        "replacement without a selector",
        &[Item(
            "replacements",
            "source: {kind: BareMetalHost, name: h0}\n  targets: [{fieldPaths: [metadata.labels.rack]}]",
        )],
    ),
    ("missing file of replacements", &[Item("replacements", "path: no.yaml")]),
    (
        "empty file of replacements",
        &[File("top/re.yaml", ""), Item("replacements", "path: re.yaml")],
    ),
    (
        "file of replacements and a source",
        &[
            File(
                "top/r.yaml",
                "- source: {kind: BareMetalHost, name: h0}\n  targets: [{select: {kind: BareMetalHost}, fieldPaths: [metadata.labels.rack]}]\n",
            ),
            Item("replacements", "path: r.yaml\n  source: {kind: BareMetalHost, name: h0}"),
        ],
    ),
    (
        "file of replacements",
        &[
            File(
                "top/r.yaml",
                "- source: {kind: BareMetalHost, name: h0}\n  targets: [{select: {kind: BareMetalHost}, fieldPaths: [metadata.labels.rack]}]\n",
            ),
            Item("replacements", "path: r.yaml"),
        ],
    ),
    ("missing configuration", &[Item("configurations", "no.yaml")]),
    (
        "configuration",
        &[
            File(
                "top/co.yaml",
                "nameReference:\n- kind: Secret\n  fieldSpecs: [{kind: BareMetalHost, path: spec/bmc/credentialsName}]\n",
            ),
            Item("configurations", "co.yaml"),
        ],
    ),
    ("missing definitions", &[Item("crds", "no.json")]),
    ("empty definitions", &[File("top/empty.json", ""), Item("crds", "empty.json")]),
    ("definitions", &[File("top/crd.json", "{}"), Item("crds", "crd.json")]),
    ("missing schema", &[Field("openapi", "{path: no.json}")]),
    ("missing transformer", &[Item("transformers", "no.yaml")]),
    ("missing validator", &[Item("validators", "no.yaml")]),
    ("missing generator", &[Item("generators", "no.yaml")]),
    (
        "inner kustomization with a missing file",
        &[File("sub/kustomization.yaml", "resources: [no.yaml]\n"), Item("resources", "../sub")],
    ),
    (
        "inner kustomization with an unknown field",
        &[File("sub/kustomization.yaml", "resource: [no.yaml]\n"), Item("resources", "../sub")],
    ),
    (
        "inner kustomization with a host twice",
        &[
            File("sub/kustomization.yaml", "resources: [h.yaml]\nnamespace: metal\n"),
            File("sub/h.yaml", OTHER_HOST),
            Item("resources", "../sub"),
        ],
    ),
    (
        "inner kustomization with a prefix",
        &[
            File("sub/kustomization.yaml", "resources: [h.yaml]\nnamePrefix: p-\n"),
            File("sub/h.yaml", OTHER_HOST),
            Item("resources", "../sub"),
        ],
    ),
    ("order of objects", &[Field("sortOptions", "{order: fifo}")]),
    ("unknown order of objects", &[Field("sortOptions", "{order: random}")]),
    (
        "order with options of another",
        &[Field("sortOptions", "{order: fifo, legacySortOptions: {orderFirst: [Namespace]}}")],
    ),
];

#[test]
fn what_is_accepted_builds_and_what_is_refused_does_not() {
    assert!(MUTATIONS.len() > 150);
    let mut cases: Vec<(String, Tree)> = Vec::new();
    for (is_labelled, suffix) in [(false, ""), (true, ", labelled")] {
        cases.push((format!("unchanged{suffix}"), tree(&[], is_labelled)));
        for mutation in MUTATIONS {
            cases.push((format!("{}{suffix}", mutation.0), tree(&[*mutation], is_labelled)));
        }
    }
    for seed in 0..COMBINATIONS {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1;
        let mut draw = |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state % below as u64).unwrap()
        };
        let mutations: Vec<Mutation> =
            (0..2 + draw(2)).map(|_| MUTATIONS[draw(MUTATIONS.len())]).collect();
        let names: Vec<&str> = mutations.iter().map(|(name, _)| *name).collect();
        cases.push((names.join(" + "), tree(&mutations, draw(2) == 0)));
    }
    let trees: Vec<Tree> = cases.iter().map(|(_, tree)| tree.clone()).collect();
    let real = real_builds(&trees, None);
    let (mut built, mut refused) = (0, 0);
    let mut different = Vec::new();
    for ((name, tree), real) in cases.iter().zip(real) {
        let generated = generated_from(tree, &[]);
        let errors: Vec<_> =
            generated.findings.iter().filter(|finding| finding.is_error()).collect();
        let is_refused = errors.iter().any(|finding| finding.code == Code::BuildRefused);
        match real {
            Ok(_) if is_refused => different.push(format!("{name}: builds, but {errors:#?}")),
            Err(error) if errors.is_empty() => {
                different.push(format!("{name}: accepted, but {error}"));
            }
            Ok(_) => built += 1,
            Err(_) => refused += 1,
        }
    }
    assert!(
        different.is_empty(),
        "{} of {}:\n{}",
        different.len(),
        cases.len(),
        different.join("\n")
    );
    // Neither kind may be rare, or the test would show little.
    assert!(built > 200 && refused > 300, "{built} {refused}");
}

/// The repo with some changes.
fn tree(mutations: &[Mutation], is_labelled: bool) -> Tree {
    let host = |name: &str| {
        format!(
            "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {{name: {name}, namespace: metal, labels: \
             {{rack: r1}}}}\nspec: {{online: true}}\n"
        )
    };
    let request = "apiVersion: airship.airshipit.org/v1\nkind: SIPCluster\nmetadata: {name: edge, namespace: metal}\n\
         spec:\n  nodes: {Worker: {labelSelector: {}, count: {active: 0}}}\n";
    let mut files: Tree = [
        ("top/hosts.yaml", format!("{}---\n{}", host("h0"), host("h1"))),
        ("inner/kustomization.yaml", "resources: [h2.yaml]\n".to_owned()),
        ("inner/h2.yaml", host("h2")),
        ("clusters/edge.yaml", request.to_owned()),
    ]
    .map(|(path, text)| (path.to_owned(), text))
    .into();
    let mut lists: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    lists.insert("resources", vec!["hosts.yaml".to_owned(), "../inner".to_owned()]);
    if is_labelled {
        lists.insert("labels", vec!["pairs: {site: lab}".to_owned()]);
    }
    let mut fields: BTreeMap<&str, &str> = BTreeMap::new();
    for edit in mutations.iter().flat_map(|(_, edits)| edits.iter()) {
        match edit {
            Resource(name, text) => {
                files.insert(format!("top/{name}"), (*text).to_owned());
                let listed = lists.entry("resources").or_default();
                if !listed.iter().any(|other| other == name) {
                    listed.push((*name).to_owned());
                }
            }
            File(path, text) => {
                files.insert((*path).to_owned(), (*text).to_owned());
            }
            Item(list, item) => lists.entry(list).or_default().push(item.replace("{H0}", H0)),
            Field(name, value) => {
                fields.insert(name, value);
            }
        }
    }
    let mut text = String::new();
    for (list, items) in lists {
        text += &format!("{list}:\n");
        items.iter().for_each(|item| text += &format!("- {item}\n"));
    }
    for (field, value) in fields {
        text += &format!("{field}: {value}\n");
    }
    files.insert("top/kustomization.yaml".to_owned(), text);
    files
}
