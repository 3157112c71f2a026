//! The rules for Dex's connectors, compared with Dex's own types.

use std::collections::BTreeSet;
use std::fs;

use camino::Utf8Path;
use serde::Deserialize;
use serde_json::{Value, json};
use sipgen::input::load::Files;
use sipgen::input::settings::Settings;
use sipgen::site::Site;

use crate::support::api_server::fed;
use crate::support::{text, tool};

/// A setting of a connector type; without a path for a type that has none.
#[derive(Debug, Deserialize)]
struct Setting {
    #[serde(rename = "type")]
    of: String,
    #[serde(default)]
    path: Option<Vec<String>>,
    kind: String,
}

impl Setting {
    fn path(&self) -> &[String] {
        self.path.as_deref().unwrap_or_default()
    }
}

/// A connector of a type, with settings.
#[derive(Debug, Clone)]
struct Connector {
    of: String,
    config: Value,
}

/// Returns the verdicts of Dex's types, one for each line of input.
fn dex(arguments: &[&str], input: &str) -> Vec<Value> {
    let output = fed(tool("dex-connectors").args(arguments), input);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let lines = text(&output.stdout);
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// All settings of Dex's types.
fn settings() -> Vec<Setting> {
    let lines = dex(&["fields"], "");
    lines.into_iter().map(|line| serde_json::from_value(line).unwrap()).collect()
}

/// Returns Dex's error for each connector; an empty text for a valid one.
fn by_dex(connectors: &[Connector]) -> Vec<String> {
    let lines: String = connectors
        .iter()
        .map(|connector| format!("{}\n", json!({"type": connector.of, "config": connector.config})))
        .collect();
    let answers = dex(&[], &lines);
    answers.iter().map(|answer| answer["error"].as_str().unwrap().to_owned()).collect()
}

/// Returns sipgen's messages for each connector, each in a SIPCluster of its own.
fn by_sipgen(connectors: &[Connector]) -> Vec<Vec<String>> {
    let documents = connectors.iter().enumerate().map(|(index, connector)| {
        let auth = json!({
            "image": "ghcr.io/dexidp/dex:v2.45.1", "nodePort": 30556, "caSecret": "ca", "envFrom": ["env"],
            "issuerURL": "https://dex.example.com/dex",
            "connectors": [{"type": connector.of, "id": "a", "name": "A", "config": connector.config}]
        });
        let request = json!({
            "apiVersion": "airship.airshipit.org/v1", "kind": "SIPCluster",
            "metadata": {"name": format!("c{index}"), "namespace": "tenant"},
            "spec": {
                "nodes": {"Worker": {"labelSelector": {}, "count": {"active": 1}}},
                "services": {"auth": [auth]}
            }
        });
        format!("---\n{request}\n")
    });
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("clusters.yaml"), documents.collect::<String>()).unwrap();
    let repo = Files::on_disk(Utf8Path::from_path(directory.path()).unwrap());
    let (_, findings) = Site::read(&repo, Settings::default()).unwrap();
    let mut said = vec![Vec::new(); connectors.len()];
    for finding in &findings {
        for cluster in &finding.clusters {
            let index: usize = cluster.name.as_str()[1..].parse().unwrap();
            said[index].push(finding.message.clone());
        }
    }
    said
}

/// The settings `{first: {second: value}}`, with a list where the setting is one.
fn nested(of_type: &[&Setting], path: &[String], value: Value) -> Value {
    (0..path.len()).rev().fold(value, |inner, depth| {
        let is_inner = depth + 1 < path.len();
        let kind = of_type.iter().find(|setting| setting.path() == &path[..=depth]);
        let inner = match kind {
            Some(setting) if is_inner && setting.kind == "list of fields" => json!([inner]),
            _ => inner,
        };
        json!({ path[depth].as_str(): inner })
    })
}

/// The settings of a type.
fn of_type<'a>(settings: &'a [Setting], of: &str) -> Vec<&'a Setting> {
    settings.iter().filter(|setting| setting.of == of).collect()
}

/// The types whose settings sipgen knows: it names one that no type has.
fn known_types(settings: &[Setting]) -> BTreeSet<String> {
    let types: BTreeSet<&str> = settings.iter().map(|setting| setting.of.as_str()).collect();
    let connectors: Vec<Connector> = types
        .iter()
        .map(|of| Connector { of: (*of).to_owned(), config: json!({"noSuchSetting": "a"}) })
        .collect();
    let said = by_sipgen(&connectors);
    for (connector, said) in connectors.iter().zip(&said) {
        assert!(
            !said.iter().any(|message| message.contains("Dex has no connector of type")),
            "{}: {said:?}",
            connector.of
        );
    }
    let names_it = |said: &Vec<String>| {
        said.iter().any(|message| message.contains("unknown setting `noSuchSetting`"))
    };
    let known = connectors.into_iter().zip(&said).filter(|(_, said)| names_it(said));
    known.map(|(connector, _)| connector.of).collect()
}

/// Every name of any setting of any type, at every place of every type.
#[test]
fn a_setting_is_known_where_dex_has_it_and_nowhere_else() {
    let settings = settings();
    let known = known_types(&settings);
    assert!(known.contains("ldap") && known.contains("oidc"), "{known:?}");
    let names: BTreeSet<&String> =
        settings.iter().filter_map(|setting| setting.path().last()).collect();
    let mut connectors = Vec::new();
    let mut tried = Vec::new();
    for of in &known {
        let of_type = of_type(&settings, of);
        let parents = of_type.iter().filter(|setting| setting.kind.ends_with("fields"));
        let parents: Vec<&[String]> =
            std::iter::once(&[][..]).chain(parents.map(|setting| setting.path())).collect();
        for (parent, name) in
            parents.iter().flat_map(|parent| names.iter().map(move |name| (*parent, *name)))
        {
            let beside = of_type.iter().filter(|setting| {
                setting.path().split_last().is_some_and(|(_, above)| above == parent)
            });
            let alike: Vec<&String> = beside.filter_map(|setting| setting.path().last()).collect();
            // Go's decoder takes a name in any case; a manifest that relies on it is better corrected.
            if alike.iter().any(|other| other.eq_ignore_ascii_case(name) && *other != name) {
                continue;
            }
            let path: Vec<String> = parent.iter().chain([name]).cloned().collect();
            connectors
                .push(Connector { of: of.clone(), config: nested(&of_type, &path, Value::Null) });
            tried.push(path);
        }
    }
    assert!(connectors.len() > 1000, "{}", connectors.len());

    let (dex, sipgen) = (by_dex(&connectors), by_sipgen(&connectors));

    let mut differing = Vec::new();
    for (((connector, path), dex), sipgen) in connectors.iter().zip(&tried).zip(&dex).zip(&sipgen) {
        let is_unknown = format!("unknown setting `{}`", path.last().unwrap());
        let [in_sipgen, in_dex] = [
            !sipgen.iter().any(|message| message.contains(&is_unknown)),
            !dex.contains("unknown field"),
        ];
        if in_sipgen != in_dex {
            differing.push(format!(
                "{} {}: in Dex {in_dex}, in sipgen {in_sipgen}",
                connector.of,
                path.join(".")
            ));
        }
    }
    assert!(differing.is_empty(), "{differing:#?}");
}

#[test]
fn the_rules_name_the_version_of_dex_that_they_are_compared_with() {
    let rules = include_str!("../../src/base/api/connectors.yaml");
    let module = include_str!("../tools/go/go.mod");
    let version = rules.split("in its source, ").nth(1).and_then(|rest| rest.split(')').next());

    let compared = module.split("without saying so in its path: this is ").nth(1).unwrap();

    assert!(compared.starts_with(&format!("{}.", version.unwrap())), "{version:?}");
}

/// Every setting of the known types with values of every type.
#[test]
fn a_value_that_dex_cannot_read_is_refused() {
    let settings = settings();
    let known = known_types(&settings);
    let values = [
        json!(true),
        json!("YQ=="),
        json!(7),
        json!(["YQ=="]),
        json!([{}]),
        json!({"a": "b"}),
        json!([7]),
    ];
    let mut connectors = Vec::new();
    let mut tried = Vec::new();
    for of in &known {
        let of_type = of_type(&settings, of);
        for setting in of_type.iter().filter(|setting| !setting.path().is_empty()) {
            for value in &values {
                connectors.push(Connector {
                    of: of.clone(),
                    config: nested(&of_type, setting.path(), value.clone()),
                });
                tried.push((setting.path().join("."), value));
            }
        }
    }

    let (dex, sipgen) = (by_dex(&connectors), by_sipgen(&connectors));

    let of_type =
        |message: &String| message.contains(" must be ") || message.contains("is a secret in git");
    let mut differing = Vec::new();
    for (((connector, (path, value)), dex), sipgen) in
        connectors.iter().zip(&tried).zip(&dex).zip(&sipgen)
    {
        let refused = dex.contains("cannot unmarshal") || dex.contains("illegal base64");
        let objects = sipgen.iter().any(of_type);
        if refused && !objects {
            differing.push(format!("{} {path} {value}: {dex}, {sipgen:?}", connector.of));
        }
    }
    assert!(differing.is_empty(), "{differing:#?}");
}
