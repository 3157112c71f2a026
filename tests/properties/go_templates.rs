//! HAProxy templates of the SIP operator: what `sipgen migrate` makes of one renders what Go makes of it.

use std::fmt::Write as _;

use minijinja::Environment;
use minijinja::syntax::SyntaxConfig;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::support::api_server::fed;
use crate::support::{Repo, run, text, tool};

/// How many random templates there are.
const CASES: usize = 150;

/// Servers and ports as the operator's templates get them.
fn data(servers: usize) -> (Vec<Value>, Vec<Value>) {
    let server =
        |number| json!({"Name": format!("host-{number}"), "IP": format!("192.0.2.{number}")});
    let port = |number: u16| json!({"Name": format!("port-{number}"), "ContainerPort": number});
    (
        (1..=servers).map(server).collect(),
        [30001, 30002].map(port).into(),
    )
}

/// What Go renders of each template with each number of servers.
fn rendered_by_go(templates: &[String], servers: usize) -> Vec<Value> {
    let (servers, ports) = data(servers);
    let requests: String = templates
        .iter()
        .map(|template| {
            json!({"template": template, "servers": servers, "ports": ports}).to_string() + "\n"
        })
        .collect();
    let answers = fed(&mut tool("go-templates"), &requests);
    assert!(answers.status.success(), "{}", text(&answers.stderr));
    text(&answers.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The template that `sipgen migrate` prints, or the reason why it prints none.
fn migrated(template: &str) -> Result<String, String> {
    let repo = Repo::empty();
    repo.write(
        "kustomization.yaml",
        "configMapGenerator:\n- {name: a, files: [loadBalancerControlPlane.cfg]}\n",
    );
    repo.write("loadBalancerControlPlane.cfg", template);
    let run = run(&mut repo.sipgen(&["migrate"]));
    if run.stdout.is_empty() {
        Err(run.stderr)
    } else {
        Ok(run.stdout)
    }
}

/// What sipgen's environment renders of a template.
fn rendered_by_us(template: &str, servers: usize) -> String {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder()
        .keep_trailing_newline(true)
        .trim_blocks(true)
        .lstrip_blocks(true)
        .build()
        .unwrap();
    environment.set_syntax(syntax);
    let (servers, ports) = data(servers);
    let servers: Vec<Value> = servers
        .iter()
        .map(|server| json!({"name": server["Name"], "address": server["IP"]}))
        .collect();
    let ports: Vec<Value> = ports
        .iter()
        .map(|port| json!({"name": port["Name"], "port": port["ContainerPort"]}))
        .collect();
    let values = json!({
        "check": "kube-apiserver", "metrics_port": 8404, "ipv6": true, "servers": servers, "ports": ports,
    });
    let values = minijinja::Value::from(minijinja::value::Serde(values));
    environment
        .render_str(template, values)
        .unwrap_or_else(|error| panic!("{error:#}\n{template}"))
}

/// The directives: HAProxy ignores blank lines and indentation.
fn directives(text: &str) -> Vec<String> {
    let words = text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    words.filter(|line| !line.is_empty()).collect()
}

#[track_caller]
fn assert_same(templates: &[String]) -> usize {
    let mut compared = 0;
    let ours: Vec<Result<String, String>> = templates
        .iter()
        .map(|template| migrated(template))
        .collect();
    for servers in [0, 1, 3] {
        let theirs = rendered_by_go(templates, servers);
        assert_eq!(theirs.len(), templates.len());
        for ((template, ours), theirs) in templates.iter().zip(&ours).zip(theirs) {
            let (Ok(ours), Some(""), Some(expected)) = (
                ours,
                theirs["error"].as_str().or(Some("")),
                theirs["output"].as_str(),
            ) else {
                continue;
            };
            let rendered = rendered_by_us(ours, servers);
            let (own, probes) = rendered.split_once("# For probes and Prometheus.").unwrap();
            assert!(probes.contains("monitor-uri /healthz"));
            assert_eq!(
                directives(own),
                directives(expected),
                "{servers} servers\n--- Go\n{template}\n--- sipgen\n{ours}"
            );
            compared += 1;
        }
    }
    compared
}

/// Templates of the operator and of a site that changed them.
#[test]
fn the_operators_own_templates_and_changed_ones() {
    let scenes = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/support/scenes/sip-operator-live"
    );
    let mut templates = Vec::new();
    for file in ["default", "custom"] {
        let text =
            std::fs::read_to_string(format!("{scenes}/haproxy-templates-{file}.yaml")).unwrap();
        for document in crate::support::documents(&text) {
            let data = document["data"].as_mapping().unwrap();
            templates.extend(data.values().map(|text| text.as_str().unwrap().to_owned()));
        }
    }
    assert_eq!(templates.len(), 4);

    assert_eq!(assert_same(&templates), 3 * 4);
}

/// What `.` is within a part of a template.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Dot {
    Root,
    Server,
    Port,
}

/// A random part of a template. Each number of `choices` decides once.
struct Writer<'a> {
    text: String,
    choices: std::slice::Iter<'a, u8>,
}

impl Writer<'_> {
    fn choose(&mut self, among: u8) -> u8 {
        self.choices.next().copied().unwrap_or_default() % among
    }

    /// An action with a line of its own or within one, with or without trim markers.
    fn action(&mut self, body: &str) {
        let form = match self.choose(6) {
            0 => format!("{{{{ {body} }}}}"),
            1 => format!("\n{{{{ {body} }}}}\n"),
            2 | 3 => format!("\n{{{{- {body} }}}}\n"),
            4 => format!("\n  {{{{ {body} -}}}}\n"),
            _ => format!(" {{{{- {body} }}}}"),
        };
        self.text.push_str(&form);
    }

    fn number(&mut self, dot: Dot) -> String {
        match (self.choose(4), dot) {
            (0, _) => "len $.Servers".into(),
            (1, Dot::Port) => ".ContainerPort".into(),
            (2, _) => "len $servers".into(),
            _ => "2".into(),
        }
    }

    fn condition(&mut self, dot: Dot) -> String {
        let function = ["eq", "ne", "lt", "le", "gt", "ge"][usize::from(self.choose(6))];
        let compared = format!("{function} ({}) {}", self.number(dot), self.choose(3));
        match self.choose(5) {
            0 => "$.Servers".into(),
            1 => format!("and $.Servers ({compared})"),
            2 => format!("not ({compared})"),
            3 => format!("or ({compared}) false"),
            _ => compared,
        }
    }

    fn value(&mut self, dot: Dot) -> String {
        match (self.choose(5), dot) {
            (0, Dot::Server) => ".IP".into(),
            (0, Dot::Port) => ".ContainerPort".into(),
            (1, Dot::Server | Dot::Port) => ".Name | printf \"x-%s\"".into(),
            (2, Dot::Server | Dot::Port) => ".Name".into(),
            (3, _) => "print \"a\" \"b\"".into(),
            _ => self.number(dot),
        }
    }

    fn parts(&mut self, dot: Dot, depth: usize) {
        for _ in 0..=self.choose(3) {
            match self.choose(if depth > 3 { 3 } else { 7 }) {
                0 => self.text.push_str("\nbalance first\n"),
                1 => self.text.push_str(" word "),
                2 => {
                    let value = self.value(dot);
                    let _ = write!(self.text, "option {{{{ {value} }}}} end");
                }
                3 => {
                    let condition = self.condition(dot);
                    self.action(&format!("if {condition}"));
                    self.parts(dot, depth + 1);
                    if self.choose(2) == 0 {
                        let other = self.condition(dot);
                        self.action(&format!("else if {other}"));
                        self.parts(dot, depth + 1);
                    }
                    if self.choose(2) == 0 {
                        self.action("else");
                        self.parts(dot, depth + 1);
                    }
                    self.action("end");
                }
                4 => {
                    let (list, item) = if self.choose(2) == 0 {
                        ("$.Servers", Dot::Server)
                    } else {
                        ("$.ContainerPorts", Dot::Port)
                    };
                    let number = self.choose(3);
                    let names = match number {
                        0 => String::new(),
                        1 => format!("$item{depth} := "),
                        _ => format!("$i{depth}, $item{depth} := "),
                    };
                    self.action(&format!("range {names}{list}"));
                    if number > 0 {
                        let _ = write!(self.text, " {{{{ $item{depth}.Name }}}} ");
                    }
                    self.parts(item, depth + 1);
                    if number == 2 {
                        let _ =
                            writeln!(self.text, " {{{{ if eq $i{depth} 0 }}}}first{{{{ end }}}}");
                    }
                    self.action("end");
                }
                5 => {
                    self.action("with $.Servers");
                    self.text.push_str(" all {{ len . }} ");
                    self.action("end");
                }
                // Go takes no other space in a comment's action.
                _ => {
                    let comment = [
                        "{{/* a comment */}}",
                        "\n{{/* a comment */ -}}\n",
                        "\n{{- /* a comment */}}\n",
                        "\n{{- /* a comment */ -}}\n",
                    ];
                    let form = usize::from(self.choose(4));
                    self.text.push_str(comment[form]);
                }
            }
        }
    }
}

#[test]
fn random_templates_render_what_go_renders() {
    let mut runner = TestRunner::new_with_rng(
        Config::default(),
        proptest::test_runner::TestRng::deterministic_rng(
            proptest::test_runner::RngAlgorithm::ChaCha,
        ),
    );
    let choices = proptest::collection::vec(any::<u8>(), 20..200);
    let templates: Vec<String> = (0..CASES)
        .map(|_| {
            let choices = choices.new_tree(&mut runner).unwrap().current();
            let mut writer = Writer {
                text: "global\n{{ $servers := .Servers }}\n".to_owned(),
                choices: choices.iter(),
            };
            writer.parts(Dot::Root, 0);
            writer.text
        })
        .collect();

    let compared = assert_same(&templates);

    // Else the templates are worth little.
    assert!(compared > 2 * CASES, "only {compared} were compared");
}
