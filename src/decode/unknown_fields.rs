//! The fields of a request, held against those that its kind has: of a SIPCluster, against those of the current
//! generation.
//!
//! The API server drops fields that it does not know, silently, and so would parsing. But a field that is dropped is a
//! wish that is not met, such as one for different racks: so each is named. A value of another kind than its field
//! takes (a text for a number, a list for a mapping) is named with its place, which the parser could not.

use std::sync::LazyLock;

use schemars::schema_for;
use serde_json::{Value as Schema, json};
use yaml_serde::Value;

use crate::api::provisioning::{self, ProvisioningSpec, SoftwareSpec};
use crate::api::sipcluster::{self, MOST_HOSTS, SIPClusterSpec};
use crate::finding::{Code, Finding, Origin, Step};
use crate::load::ParseError;
use crate::text::suggest::alike;

/// What is wrong with the fields of a spec.
#[derive(Default)]
pub(crate) struct Misfit {
    /// Fields that there are not.
    pub(crate) unknown: Vec<Finding>,
    /// Values of kinds that their fields do not take: the spec cannot be read with them.
    pub(crate) wrong: Vec<Finding>,
    /// Numbers and the like where a text is due, which can mostly be read as the text that they are written as. They
    /// count where that fails.
    pub(crate) unquoted: Vec<Finding>,
}

/// The fields that the specs of a kind have.
pub(crate) struct Fields {
    kind: &'static str,
    schema: Schema,
}

/// Those of a SIPCluster. Made once, as the others: a site may have hundreds of requests.
pub(crate) static OF_SIPCLUSTER: LazyLock<Fields> = LazyLock::new(|| Fields {
    kind: sipcluster::KIND,
    schema: schema_for!(SIPClusterSpec).to_value(),
});

/// Those of a Provisioning.
pub(crate) static OF_PROVISIONING: LazyLock<Fields> = LazyLock::new(|| Fields {
    kind: provisioning::KIND,
    schema: schema_for!(ProvisioningSpec).to_value(),
});

/// Those of a Software.
pub(crate) static OF_SOFTWARE: LazyLock<Fields> = LazyLock::new(|| Fields {
    kind: provisioning::SOFTWARE_KIND,
    schema: schema_for!(SoftwareSpec).to_value(),
});

impl Fields {
    /// Compares the fields of an object with those that there are: those of its spec, and how `spec` itself is written.
    pub(crate) fn misfit_of_object(&self, object: &Value, origin: &Origin) -> Misfit {
        let mut misfit = object
            .get("spec")
            .map(|spec| self.misfit(spec, origin))
            .unwrap_or_default();
        let keys = object
            .as_mapping()
            .into_iter()
            .flat_map(|object| object.keys())
            .filter_map(Value::as_str);
        let wrong = keys.filter(|key| *key != "spec" && key.eq_ignore_ascii_case("spec"));
        misfit.wrong.extend(
            wrong.map(|key| {
                wrong_case(self.kind, key, "spec").at(origin.key(vec![Step::from(key)]))
            }),
        );
        misfit
    }

    /// Compares the fields of a spec with those that there are.
    pub(crate) fn misfit(&self, spec: &Value, origin: &Origin) -> Misfit {
        // That nothing is wanted is said elsewhere, and how to say it.
        if spec.is_null() {
            return Misfit::default();
        }
        let mut walk = Walk {
            fields: self,
            origin,
            route: vec!["spec".into()],
            misfit: Misfit::default(),
        };
        walk.value(spec, &self.schema);
        walk.misfit
    }
}

/// A field that a kind does not have, whose place is still to be said; `known` are the names that there are.
pub(crate) fn unknown_field<'a>(
    kind: &str,
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Finding {
    let finding = Finding::new(
        Code::UnknownField,
        format!("a {kind} has no field `{name}` here: it is ignored"),
    );
    match alike(name, known) {
        Some(meant) => finding.help(format!(
            "did you mean `{meant}`? The API server would drop `{name}`"
        )),
        None => finding.help("correct its name, or remove it: the API server would drop it"),
    }
}

/// The field that a key is but for the case of its letters.
fn in_another_case<'a>(key: &str, mut fields: impl Iterator<Item = &'a String>) -> Option<&'a str> {
    fields
        .find(|field| *field != key && field.eq_ignore_ascii_case(key))
        .map(String::as_str)
}

/// A field in the wrong case. To ignore it would take away what it asks for, such as a load balancer that is in use.
fn wrong_case(kind: &str, key: &str, right: &str) -> Finding {
    Finding::new(
        Code::WrongCase,
        format!("a {kind} has no field `{key}` here"),
    )
    .help(format!(
        "write `{right}`: the API server would drop `{key}`, and what it asks for would be removed"
    ))
}

/// A field of a count that there is not, where the count does not say how many hosts are active.
fn no_active(key: &str) -> Finding {
    Finding::new(
        Code::NoCount,
        format!("`count` has no field `{key}`, and no `active`"),
    )
    .help("write `count: {active: N, standby: N}`")
}

/// What the parser means when it finds no value that a number of more than 64 bits could be, where it is known what that
/// would count.
pub(crate) fn too_large_number(error: &ParseError, origin: &Origin) -> Option<Finding> {
    let expected =
        ["any YAML value", "i64"].map(|what| format!(": invalid type: integer, expected {what}"));
    let path = expected
        .iter()
        .find_map(|end| error.message.strip_suffix(end.as_str()))?;
    let place = error
        .line
        .map_or(origin.start(), |line| origin.spot(line, error.column));
    let of_machines = [
        (
            "cpu",
            Code::InvalidRequirement,
            "`cpu` is a number that counts no CPUs",
            "write how many the machine needs at least",
        ),
        (
            "memory",
            Code::InvalidRequirement,
            "`memory` is a number of bytes that no machine has",
            "write it with its unit, such as `16Gi`",
        ),
        (
            "version",
            Code::InvalidPackage,
            "`version` is a number that is too large for one",
            "put it in quotes",
        ),
    ];
    let is_in = |list: &str| path.starts_with(&format!("spec.{list}["));
    let is_of_bpa = ["masters", "workers", "masterSoftware", "workerSoftware"]
        .into_iter()
        .any(is_in);
    let field = path.rsplit('.').next().unwrap_or_default();
    if let Some((_, code, message, help)) = of_machines
        .into_iter()
        .find(|(name, ..)| is_of_bpa && *name == field)
    {
        return Some(Finding::new(code, message).at(place).help(help));
    }
    let field = ["active", "standby"]
        .into_iter()
        .find(|field| path.ends_with(&format!(".count.{field}")))?;
    let route = path.split('.').map(Step::from);
    let finding = Finding::new(
        Code::InvalidCount,
        format!("`{field}` is a number that counts no hosts"),
    );
    Some(
        finding
            .at(origin.at(route))
            .help(format!("write 0 to {MOST_HOSTS}")),
    )
}

impl Fields {
    /// The schema behind a reference, and of what may also be null, the one that is not; and whether it may be null.
    fn resolved<'a>(&'a self, schema: &'a Schema) -> (&'a Schema, bool) {
        if let Some(name) = schema
            .get("$ref")
            .and_then(Schema::as_str)
            .and_then(|path| path.strip_prefix("#/$defs/"))
        {
            let definition = self
                .schema
                .get("$defs")
                .and_then(|definitions| definitions.get(name));
            return definition.map_or((schema, true), |definition| self.resolved(definition));
        }
        let is_null = |schema: &&Schema| schema.get("type").is_some_and(|name| name == "null");
        let Some(alternatives) = schema.get("anyOf").and_then(Schema::as_array) else {
            return (
                schema,
                schema
                    .get("type")
                    .is_none_or(|expected| takes(expected, "null")),
            );
        };
        let may_be_null = alternatives.iter().any(|schema| is_null(&schema));
        let real = alternatives.iter().find(|schema| !is_null(schema));
        real.map_or((schema, true), |real| (self.resolved(real).0, may_be_null))
    }
}

/// The way down a spec and its schema at once.
struct Walk<'a> {
    fields: &'a Fields,
    origin: &'a Origin,
    route: Vec<Step>,
    misfit: Misfit,
}

impl Walk<'_> {
    fn value(&mut self, value: &Value, schema: &Schema) {
        let (schema, may_be_null) = self.fields.resolved(schema);
        // What may not be there at all, whatever it is, is refused in words of its own.
        if schema
            .get("x-editor")
            .and_then(|editor| editor.get("type"))
            .is_some_and(|name| name == "null")
        {
            return;
        }
        if value.is_null() && may_be_null {
            return;
        }
        let (text, number_or_text) = (json!("string"), json!(["string", "number"]));
        let is_of_two_types = |name: &str| schema.get(name).is_some_and(|yes| yes == true);
        let expected = match schema.get("type") {
            None if is_of_two_types("x-kubernetes-int-or-string") => Some(&number_or_text),
            expected => expected,
        };
        if is_of_two_types("x-kubernetes-preserve-unknown-fields")
            && let Some(schema) = schema.pointer("/x-editor/anyOf")
        {
            self.text_or_mapping(value, schema);
            return;
        }
        if let Some(expected) = expected
            && let Some(found) = Kind::of(value)
            && !found.is_taken_by(expected)
        {
            let is_unquoted = takes(expected, "string")
                && matches!(found, Kind::Flag | Kind::Whole | Kind::Number);
            let finding = self.wrong(
                found,
                if *expected == number_or_text {
                    &text
                } else {
                    expected
                },
            );
            if is_unquoted {
                &mut self.misfit.unquoted
            } else {
                &mut self.misfit.wrong
            }
            .push(finding);
            return;
        }
        match value {
            Value::Mapping(map) => {
                let properties = schema.get("properties").and_then(Schema::as_object);
                // What a selector does not have, it has words of its own for.
                let is_selector =
                    properties.is_some_and(|properties| properties.contains_key("matchLabels"));
                for (key, value) in map {
                    let Some(key) = key.as_str() else { continue };
                    let known = properties.and_then(|properties| properties.get(key));
                    self.route.push(key.into());
                    match (known.or(schema.get("additionalProperties")), properties) {
                        (Some(schema), _) => self.value(value, schema),
                        (None, Some(properties))
                            if let Some(right) = in_another_case(key, properties.keys()) =>
                        {
                            let finding = wrong_case(self.fields.kind, key, right);
                            self.misfit
                                .wrong
                                .push(finding.at(self.origin.key(self.route.clone())));
                        }
                        (None, Some(properties)) if !is_selector => {
                            // One of both counts is enough, so a slip in the other would give its hosts back.
                            let may_be_active = properties.contains_key("active")
                                && map.contains_key("standby")
                                && !map.contains_key("active");
                            let known = properties
                                .keys()
                                .map(String::as_str)
                                .filter(|known| !map.contains_key(*known));
                            let finding = unknown_field(self.fields.kind, key, known)
                                .at(self.origin.key(self.route.clone()));
                            if may_be_active {
                                self.misfit
                                    .wrong
                                    .push(no_active(key).at(self.origin.key(self.route.clone())));
                            } else {
                                self.misfit.unknown.push(finding);
                            }
                        }
                        _ => {}
                    }
                    self.route.pop();
                }
            }
            Value::Sequence(items) => {
                let Some(schema) = schema.get("items") else {
                    return;
                };
                for (index, item) in items.iter().enumerate() {
                    self.route.push(index.into());
                    self.value(item, schema);
                    self.route.pop();
                }
            }
            _ => {}
        }
    }

    /// Judges what may be a text as well as a mapping, by the one of two schemas that is of its type.
    fn text_or_mapping(&mut self, value: &Value, schemas: &Schema) {
        let schemas = schemas.as_array().map(Vec::as_slice).unwrap_or_default();
        match (value, schemas) {
            (Value::String(_), _) => {}
            (Value::Mapping(_), [_, mapping]) => {
                self.value(value, mapping.pointer("/allOf/0").unwrap_or(mapping))
            }
            _ => {
                let finding = Kind::of(value).map(|found| self.wrong(found, &json!("string")));
                self.misfit.wrong.extend(finding);
            }
        }
    }

    /// What to do about a mapping that has nothing in it.
    fn nothing(&self) -> &'static str {
        let list = match self.route.as_slice() {
            [_, Step::Key(list), Step::Index(_), Step::Key(_)] => list.as_str(),
            _ => "",
        };
        match list {
            "masterSoftware" | "workerSoftware" => {
                "write its `version` below it, or for any version its name alone, without a colon"
            }
            _ => "write its fields below it, or `{}` for none",
        }
    }

    /// Says what is there and what should be; never the value, which may be a secret at a wrong place.
    fn wrong(&self, found: Kind, expected: &Schema) -> Finding {
        let field = match self.route.as_slice() {
            [.., Step::Key(field), Step::Index(_)] => format!("an item of `{field}`"),
            [.., Step::Key(field)] => format!("`{field}`"),
            _ => "this".to_owned(),
        };
        let known = Kind::ALL
            .into_iter()
            .find(|kind| takes(expected, kind.schema()))
            .unwrap_or(Kind::Text);
        let help = match (known, found) {
            (Kind::Whole, Kind::Text) => "write a whole number, without quotes or leading zeros",
            (Kind::Flag, Kind::Text) => "write true or false, without quotes",
            (Kind::Text, Kind::Flag | Kind::Whole | Kind::Number) => "put it in quotes",
            (Kind::Mapping, Kind::List) => "write `KEY: VALUE` without a dash before it",
            (Kind::List, _) => "write each item on a line of its own behind a dash: `- ITEM`",
            (Kind::Mapping, Kind::Nothing) => self.nothing(),
            (_, Kind::Nothing) => "write what it is to be, or remove it",
            (Kind::Mapping, _) => "write its fields below it as `KEY: VALUE`",
            _ => "correct it; the API server would refuse it",
        };
        let message = format!(
            "{field} has to be {}, and here is {}",
            known.words(),
            found.words()
        );
        Finding::new(Code::WrongType, message)
            .at(self.origin.at(self.route.iter().cloned()))
            .help(help)
    }
}

/// The kinds of values that there are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Mapping,
    List,
    Whole,
    Number,
    Flag,
    Text,
    Nothing,
}

impl Kind {
    const ALL: [Kind; 6] = [
        Kind::Mapping,
        Kind::List,
        Kind::Whole,
        Kind::Number,
        Kind::Flag,
        Kind::Text,
    ];

    /// The kind of a value; none of one with a tag, which may become anything.
    fn of(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Null => Kind::Nothing,
            Value::Bool(_) => Kind::Flag,
            Value::Number(number) if number.is_f64() => Kind::Number,
            Value::Number(_) => Kind::Whole,
            Value::String(_) => Kind::Text,
            Value::Sequence(_) => Kind::List,
            Value::Mapping(_) => Kind::Mapping,
            Value::Tagged(_) => return None,
        })
    }

    /// Its name in a schema.
    fn schema(self) -> &'static str {
        match self {
            Kind::Mapping => "object",
            Kind::List => "array",
            Kind::Whole => "integer",
            Kind::Number => "number",
            Kind::Flag => "boolean",
            Kind::Text => "string",
            Kind::Nothing => "null",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Kind::Mapping => "a mapping",
            Kind::List => "a list",
            Kind::Whole => "a whole number",
            Kind::Number => "a number with a fraction or exponent",
            Kind::Flag => "true or false",
            Kind::Text => "a text",
            Kind::Nothing => "nothing",
        }
    }

    fn is_taken_by(self, expected: &Schema) -> bool {
        takes(expected, self.schema())
            || self == Kind::Whole && takes(expected, Kind::Number.schema())
    }
}

/// Whether a schema's `type`, one or a list, has a name.
fn takes(expected: &Schema, name: &str) -> bool {
    match expected {
        Schema::Array(names) => names.iter().any(|known| known == name),
        one => one == name,
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::load::Files;

    fn found(spec: &str) -> Misfit {
        let directory = tempfile::tempdir().unwrap();
        let text = format!("kind: SIPCluster\nspec:\n{spec}");
        std::fs::write(directory.path().join("c.yaml"), text).unwrap();
        let repo = Files::on_disk(camino::Utf8Path::from_path(directory.path()).unwrap());
        let read = repo.scan(
            &["c.yaml".into()],
            |_, _| true,
            |document| {
                let value: Value = document.parse().ok()?;
                Some(OF_SIPCLUSTER.misfit(&value["spec"], &document.origin))
            },
        );
        read.unwrap().remove(0)
    }

    fn said(findings: &[Finding]) -> Vec<String> {
        findings
            .iter()
            .map(|finding| format!("{}; {}", finding.message, finding.help.as_deref().unwrap()))
            .collect()
    }

    #[test]
    fn every_field_of_the_current_generation_is_known() {
        let spec = "  nodes: {Worker: {labelSelector: {matchLabels: {a: b}}, topologyKey: k, count: {active: 1, standby: 0}}}\n\
                    \x20 services:\n    jumpHost: [{image: i, nodePort: 30000, bmc: {proxy: true}, nodeLabels: {a: b}}]\n\
                    \x20   loadBalancerWorker: [{nodePort: 1, nodePortRange: {start: 1, end: 2}, clusterIP: x}]\n\
                    \x20   auth: [{connectors: [{type: ldap, id: a, name: b, config: {port: 1, any: [thing, {}]}}]}]\n";
        let misfit = found(spec);
        assert_eq!(said(&misfit.unknown), Vec::<String>::new());
        assert_eq!(said(&misfit.wrong), Vec::<String>::new());
    }

    #[test]
    fn a_field_that_nothing_reads_is_named_and_a_near_miss_is_told() {
        for (spec, field, meant) in [
            (
                "  nodes: {Worker: {topologKey: rack}}\n",
                "topologKey",
                Some("topologyKey"),
            ),
            (
                "  services: {jumpHost: [{bmc: {proxi: true}}]}\n",
                "proxi",
                Some("proxy"),
            ),
            (
                "  services: {jumpHosts: []}\n",
                "jumpHosts",
                Some("jumpHost"),
            ),
            (
                "  services: {jumpHost: [{nodeInterface: oam}]}\n",
                "nodeInterface",
                Some("nodeInterfaceId"),
            ),
            ("  nodes: {Worker: {colour: red}}\n", "colour", None),
        ] {
            let said = said(&found(spec).unknown);
            assert_eq!(said.len(), 1, "{said:?}");
            assert!(
                said[0].starts_with(&format!("a SIPCluster has no field `{field}` here")),
                "{said:?}"
            );
            match meant {
                Some(meant) => assert!(
                    said[0].contains(&format!("did you mean `{meant}`?")),
                    "{said:?}"
                ),
                None => assert!(!said[0].contains("did you mean"), "{said:?}"),
            }
        }
    }

    #[test]
    fn a_field_in_the_wrong_case_is_an_error() {
        for (spec, field, right) in [
            (
                "  nodes: {Worker: {topologykey: rack}}\n",
                "topologykey",
                "topologyKey",
            ),
            (
                "  services: {jumpHost: [{bmc: {Proxy: true}}]}\n",
                "Proxy",
                "proxy",
            ),
            ("  services: {jumphost: []}\n", "jumphost", "jumpHost"),
            (
                "  services: {jumpHost: [{nodeInterfaceID: oam}]}\n",
                "nodeInterfaceID",
                "nodeInterfaceId",
            ),
        ] {
            let said = said(&found(spec).wrong);
            assert_eq!(said.len(), 1, "{said:?}");
            assert!(
                said[0].starts_with(&format!(
                    "a SIPCluster has no field `{field}` here; write `{right}`"
                )),
                "{said:?}"
            );
        }
    }

    #[test]
    fn a_value_of_the_wrong_kind_is_named_without_the_value() {
        for (spec, expected) in [
            (
                "  nodes: {Worker: {count: \"3\"}}\n",
                "`count` has to be a mapping, and here is a text",
            ),
            (
                "  nodes: {Worker: {count: {active: \"3\"}}}\n",
                "`active` has to be a whole number, and here is a text",
            ),
            (
                "  nodes: {Worker: {count: {active: 1.5}}}\n",
                "`active` has to be a whole number, and here is a number with",
            ),
            (
                "  nodes: []\n",
                "`nodes` has to be a mapping, and here is a list",
            ),
            (
                "  nodes: {Worker: secret}\n",
                "`Worker` has to be a mapping, and here is a text",
            ),
            (
                "  nodes: {Worker: {labelSelector: {matchLabels: [a]}}}\n",
                "`matchLabels` has to be a mapping",
            ),
            (
                "  services:\n",
                "`services` has to be a mapping, and here is nothing",
            ),
            (
                "  services: {jumpHost: {image: x}}\n",
                "`jumpHost` has to be a list, and here is a mapping",
            ),
            (
                "  services: {jumpHost: [image]}\n",
                "an item of `jumpHost` has to be a mapping, and here is a text",
            ),
            (
                "  services: {jumpHost: [{bmc: {proxy: \"no\"}}]}\n",
                "`proxy` has to be true or false, and here is a text",
            ),
        ] {
            let said = said(&found(spec).wrong);
            assert_eq!(said.len(), 1, "{spec}: {said:?}");
            assert!(said[0].starts_with(expected), "{spec}: {said:?}");
            assert!(!said[0].contains("secret"), "{said:?}");
        }
    }

    #[test]
    fn what_may_be_left_out_may_also_be_empty() {
        let misfit = found(
            "  nodes:\n    Worker:\n      labelSelector:\n      topologyKey:\n      count:\n",
        );
        assert_eq!(said(&misfit.wrong), Vec::<String>::new());
    }
}
