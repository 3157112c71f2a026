//! Validation of a request's fields against its kind; for a SIPCluster, against the current
//! generation.
//!
//! The API server drops unknown fields silently, and so would parsing. A dropped field is an unmet
//! requirement, such as distinct racks, so each one is reported. Values of the wrong type are
//! reported with their place, which the parser does not know.

use std::sync::LazyLock;

use schemars::{JsonSchema, schema_for};
use serde_json::{Value as Schema, json};
use yaml_serde::{Mapping, Value};

use crate::base::api::provisioning::{self, ProvisioningSpec, SoftwareSpec};
use crate::base::api::sipcluster::{self, SIPClusterSpec};
use crate::base::finding::{Code, Finding, Origin, RouteStep};
use crate::base::text::suggest::alike;
use crate::input::load::ParseError;

/// The field errors of a spec.
#[derive(Default)]
pub(crate) struct FieldErrors {
    pub(crate) unknown: Vec<Finding>,
    /// Values of the wrong type, which make the spec unreadable.
    pub(crate) wrong: Vec<Finding>,
    /// Unquoted numbers and booleans in string fields. They are usually readable as strings, and
    /// count only if decoding fails.
    pub(crate) unquoted: Vec<Finding>,
}

/// The known fields of a kind's spec.
pub(crate) struct SpecFields {
    kind: &'static str,
    schema: Schema,
}

/// Built once per process, like the others: a site may have hundreds of requests.
pub(crate) static OF_SIPCLUSTER: LazyLock<SpecFields> =
    LazyLock::new(|| SpecFields::new::<SIPClusterSpec>(sipcluster::KIND));

pub(crate) static OF_PROVISIONING: LazyLock<SpecFields> =
    LazyLock::new(|| SpecFields::new::<ProvisioningSpec>(provisioning::KIND));

pub(crate) static OF_SOFTWARE: LazyLock<SpecFields> =
    LazyLock::new(|| SpecFields::new::<SoftwareSpec>(provisioning::SOFTWARE_KIND));

impl SpecFields {
    fn new<T: JsonSchema>(kind: &'static str) -> Self {
        SpecFields { kind, schema: schema_for!(T).to_value() }
    }

    /// Validates an object: the fields of its spec, and the spelling of `spec` itself.
    pub(crate) fn misfit_of_object(&self, object: &Value, origin: &Origin) -> FieldErrors {
        let mut misfit =
            object.get("spec").map(|spec| self.misfit(spec, origin)).unwrap_or_default();
        let keys = object.as_mapping().into_iter().flat_map(Mapping::keys);
        for key in keys.filter_map(Value::as_str) {
            if key != "spec" && alike(key, ["spec"]).is_some() {
                let finding = misspelled(self.kind, key, "spec");
                misfit.wrong.push(finding.at(origin.key(vec![key.into()])));
            }
        }
        misfit
    }

    /// Validates the fields of a spec.
    pub(crate) fn misfit(&self, spec: &Value, origin: &Origin) -> FieldErrors {
        // An empty spec is reported elsewhere, with the way to write one.
        if spec.is_null() {
            return FieldErrors::default();
        }
        let mut walk = SchemaWalk {
            fields: self,
            origin,
            route: vec!["spec".into()],
            misfit: FieldErrors::default(),
        };
        walk.value(spec, &self.schema);
        walk.misfit
    }
}

/// Returns the finding for an unknown field that resembles none of `known`, or for a misspelled one,
/// which is an error, as is any if `is_closed` is set: each field is a requirement there. None has a
/// place.
///
/// Ignoring a misspelled field would remove what it configures, such as distinct racks or a load
/// balancer in use.
pub(crate) fn unknown_field<'a>(
    kind: &str,
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
    is_closed: bool,
) -> Finding {
    let known: Vec<&str> = known.into_iter().collect();
    if let Some(meant) = alike(name, known.iter().copied()) {
        return misspelled(kind, name, meant);
    }
    let message = format!("a {kind} has the unknown field `{name}`");
    if is_closed {
        let help = format!("remove it, or write one of `{}`", known.join("`, `"));
        return Finding::new(Code::MisspelledField, message).help(help);
    }
    Finding::new(Code::UnknownField, format!("{message}: it is ignored"))
        .help("fix its name or remove it; the API server drops it")
}

fn misspelled(kind: &str, name: &str, meant: &str) -> Finding {
    Finding::new(Code::MisspelledField, format!("a {kind} has the unknown field `{name}`")).help(
        format!("write `{meant}`, or remove `{name}`: the API server drops it without an error"),
    )
}

/// Reports an unknown field of a count without `active`.
fn no_active(key: &str) -> Finding {
    let message = format!("`count` has the unknown field `{key}`, but no `active`");
    Finding::new(Code::MissingField, message).help("write `count: {active: N, standby: N}`")
}

/// Translates the parser's message for a number of more than 64 bits.
pub(crate) fn too_large_number(error: &ParseError, origin: &Origin) -> Option<Finding> {
    let expected =
        ["any YAML value", "i64"].map(|what| format!(": invalid type: integer, expected {what}"));
    let path = expected.iter().find_map(|end| error.message.strip_suffix(end.as_str()))?;
    let place = error.line.map_or(origin.start(), |line| origin.spot(line, error.column));
    let field = path.rsplit('.').next().unwrap_or_default();
    let finding = Finding::new(Code::WrongType, format!("`{field}` is too large for a number"));
    Some(finding.at(place).help("write fewer digits, a unit such as `Gi`, or a text in quotes"))
}

impl SpecFields {
    /// Resolves references, and unwraps nullable schemas. Also returns whether null is allowed.
    fn resolved<'a>(&'a self, schema: &'a Schema) -> (&'a Schema, bool) {
        if let Some(path) = schema.get("$ref").and_then(Schema::as_str) {
            let definition = self.schema.pointer(path.trim_start_matches('#'));
            return definition.map_or((schema, true), |definition| self.resolved(definition));
        }
        let is_null = |schema: &&Schema| schema.get("type").is_some_and(|name| name == "null");
        let Some(alternatives) = schema.get("anyOf").and_then(Schema::as_array) else {
            return (schema, schema.get("type").is_none_or(|expected| accepts(expected, "null")));
        };
        let may_be_null = alternatives.iter().any(|schema| is_null(&schema));
        let real = alternatives.iter().find(|schema| !is_null(schema));
        real.map_or((schema, true), |real| (self.resolved(real).0, may_be_null))
    }
}

/// A parallel walk through a spec and its schema.
struct SchemaWalk<'a> {
    fields: &'a SpecFields,
    origin: &'a Origin,
    route: Vec<RouteStep>,
    misfit: FieldErrors,
}

impl SchemaWalk<'_> {
    fn value(&mut self, value: &Value, schema: &Schema) {
        let (schema, may_be_null) = self.fields.resolved(schema);
        // Fields that must be absent are refused elsewhere, with their own messages.
        if schema.pointer("/x-editor/type").is_some_and(|name| name == "null") {
            return;
        }
        if value.is_null() && may_be_null {
            // A variable may have lost the number. Without it, the cluster would release hosts.
            let is_count =
                matches!(self.route.as_slice(), [.., RouteStep::Key(count), _] if count == "count");
            if is_count && let Some(expected) = schema.get("type") {
                let finding = self.wrong(NOTHING, expected).help("write a number of hosts");
                self.misfit.wrong.push(finding);
            }
            return;
        }
        let (text, number_or_text) = (json!("string"), json!(["string", "number"]));
        let is_of_two_types = |name: &str| schema.get(name).is_some_and(|yes| yes == true);
        let may_be_number = is_of_two_types("x-kubernetes-int-or-string");
        let expected = schema.get("type").or(may_be_number.then_some(&number_or_text));
        if is_of_two_types("x-kubernetes-preserve-unknown-fields")
            && let Some(schema) = schema.pointer("/x-editor/anyOf")
        {
            self.text_or_mapping(value, schema);
            return;
        }
        if let Some(expected) = expected
            && let Some(found) = ValueType::new(value)
            && !found.is_taken_by(expected)
        {
            let is_unquoted = accepts(expected, "string") && matches!(found, FLAG | WHOLE | NUMBER);
            let finding =
                self.wrong(found, if *expected == number_or_text { &text } else { expected });
            // YAML reads `1.5` or `true` as another type; the decoder can usually restore the text.
            if is_unquoted { &mut self.misfit.unquoted } else { &mut self.misfit.wrong }
                .push(finding);
            return;
        }
        match value {
            Value::Mapping(map) => {
                let properties = schema.get("properties").and_then(Schema::as_object);
                // Unknown keys of selectors are reported elsewhere, with their own messages.
                let is_selector =
                    properties.is_some_and(|properties| properties.contains_key("matchLabels"));
                for (key, value) in map {
                    let Some(key) = key.as_str() else { continue };
                    let known = properties.and_then(|properties| properties.get(key));
                    self.route.push(key.into());
                    match (known.or(schema.get("additionalProperties")), properties) {
                        (Some(schema), _) => self.value(value, schema),
                        (None, Some(properties)) => {
                            let place = self.origin.key(self.route.clone());
                            let kind = self.fields.kind;
                            // A key in another case cannot be meant beside the right one either.
                            let unused = properties.keys().map(String::as_str).filter(|known| {
                                known.eq_ignore_ascii_case(key)
                                    || !is_selector && !map.contains_key(*known)
                            });
                            let is_closed = schema.pointer("/x-editor/additionalProperties")
                                == Some(&Schema::Bool(false));
                            let finding = unknown_field(kind, key, unused, is_closed);
                            // `standby` alone is a valid count, so a typo in `active` would release
                            // hosts.
                            let may_be_active = properties.contains_key("active")
                                && map.contains_key("standby")
                                && !map.contains_key("active");
                            if finding.is_error() {
                                self.misfit.wrong.push(finding.at(place));
                            } else if may_be_active {
                                self.misfit.wrong.push(no_active(key).at(place));
                            } else if !is_selector {
                                self.misfit.unknown.push(finding.at(place));
                            }
                        }
                        _ => {}
                    }
                    self.route.pop();
                }
            }
            Value::Sequence(items) => {
                let Some(schema) = schema.get("items") else { return };
                for (index, item) in items.iter().enumerate() {
                    self.route.push(index.into());
                    self.value(item, schema);
                    self.route.pop();
                }
            }
            _ => {}
        }
    }

    /// Validates a value that may be a string or a mapping, by the matching one of two schemas.
    fn text_or_mapping(&mut self, value: &Value, schemas: &Schema) {
        let schemas = schemas.as_array().map(Vec::as_slice).unwrap_or_default();
        match (value, schemas) {
            (Value::String(_), _) => {}
            (Value::Mapping(_), [_, mapping]) => {
                self.value(value, mapping.pointer("/allOf/0").unwrap_or(mapping))
            }
            _ => {
                let finding =
                    ValueType::new(value).map(|found| self.wrong(found, &json!("string")));
                self.misfit.wrong.extend(finding);
            }
        }
    }

    /// Reports a value of the wrong type. The value is not shown: it may be a misplaced secret.
    fn wrong(&self, found: ValueType, expected: &Schema) -> Finding {
        let field = match self.route.as_slice() {
            [.., RouteStep::Key(field), RouteStep::Index(_)] => format!("an item of `{field}`"),
            [.., RouteStep::Key(field)] => format!("`{field}`"),
            _ => "this".to_owned(),
        };
        let mut types = [MAPPING, LIST, WHOLE, NUMBER, FLAG].into_iter();
        let known = types.find(|kind| accepts(expected, kind.schema)).unwrap_or(TEXT);
        let list = self.route.get(1).and_then(RouteStep::key);
        // A list of packages.
        let is_package = || list.is_some_and(|list| list.ends_with("Software"));
        let help = match (known, found) {
            (WHOLE, TEXT) => "write a whole number, without quotes or leading zeros",
            (FLAG, TEXT) => "write true or false, without quotes",
            (TEXT, FLAG | WHOLE | NUMBER) => "put it in quotes",
            (MAPPING, LIST) => "write `KEY: VALUE` without a dash before it",
            (LIST, _) => "write each item on a line of its own behind a dash: `- ITEM`",
            (MAPPING, NOTHING) if is_package() => {
                "write `version` below it; for any version, write only its name, without a colon"
            }
            (MAPPING, NOTHING) => "write its fields below it, or `{}` for none",
            (_, NOTHING) => "write a value, or remove it",
            (MAPPING, _) => "write its fields below it as `KEY: VALUE`",
            _ => "fix the value; the API server refuses it",
        };
        let message = format!("{field} must be {}, found {}", known.words, found.words);
        Finding::new(Code::WrongType, message)
            .at(self.origin.at(self.route.iter().cloned()))
            .help(help)
    }
}

/// A type of YAML values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct ValueType {
    /// Its name in JSON Schema.
    pub(crate) schema: &'static str,
    pub(crate) words: &'static str,
}

pub(crate) const MAPPING: ValueType = ValueType { schema: "object", words: "a mapping" };
pub(crate) const LIST: ValueType = ValueType { schema: "array", words: "a list" };
const WHOLE: ValueType = ValueType { schema: "integer", words: "a whole number" };
const NUMBER: ValueType =
    ValueType { schema: "number", words: "a number with a fraction or exponent" };
pub(crate) const FLAG: ValueType = ValueType { schema: "boolean", words: "true or false" };
pub(crate) const TEXT: ValueType = ValueType { schema: "string", words: "a string" };
pub(crate) const NOTHING: ValueType = ValueType { schema: "null", words: "null" };

impl ValueType {
    /// Returns a value's type, or `None` for a tagged value, which may become anything.
    fn new(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Null => NOTHING,
            Value::Bool(_) => FLAG,
            Value::Number(number) if number.is_f64() => NUMBER,
            Value::Number(_) => WHOLE,
            Value::String(_) => TEXT,
            Value::Sequence(_) => LIST,
            Value::Mapping(_) => MAPPING,
            Value::Tagged(_) => return None,
        })
    }

    fn is_taken_by(self, expected: &Schema) -> bool {
        accepts(expected, self.schema) || self == WHOLE && accepts(expected, NUMBER.schema)
    }
}

/// Returns whether a schema's `type`, a name or a list, includes a name.
pub(crate) fn accepts(expected: &Schema, name: &str) -> bool {
    match expected {
        Schema::Array(names) => names.iter().any(|known| known == name),
        one => one == name,
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::input::load::Files;

    fn found(spec: &str) -> FieldErrors {
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
    fn a_misspelled_field_is_an_error_and_another_a_warning() {
        for (spec, field, right) in [
            ("  nodes: {Worker: {topolgyKey: rack}}\n", "topolgyKey", "topologyKey"),
            ("  nodes: {Worker: {topologykey: rack}}\n", "topologykey", "topologyKey"),
            ("  nodes: {Worker: {count: {activ: 3, standby: 1}}}\n", "activ", "active"),
            ("  nodes: {Worker: {label_selector: {}}}\n", "label_selector", "labelSelector"),
            ("  services: {jumpHost: [{bmc: {proxi: true}}]}\n", "proxi", "proxy"),
            ("  services: {jumpHost: [{bmc: {Proxy: true}}]}\n", "Proxy", "proxy"),
            ("  services: {jumpHosts: []}\n", "jumpHosts", "jumpHost"),
            ("  services: {jumphost: []}\n", "jumphost", "jumpHost"),
            ("  services: {jumpHost: [{nodeInterface: a}]}\n", "nodeInterface", "nodeInterfaceId"),
        ] {
            let misfit = found(spec);
            assert_eq!(said(&misfit.unknown), Vec::<String>::new(), "{spec}");
            let wrong = said(&misfit.wrong);
            let message = format!("a SIPCluster has the unknown field `{field}`; write `{right}`");
            assert!(wrong.len() == 1 && wrong[0].starts_with(&message), "{wrong:?}");
            assert!(misfit.wrong[0].is_error());
        }
        // Nothing was meant, or the field that resembles it is there.
        for spec in
            ["  nodes: {Worker: {colour: red}}\n", "  services: {auth: [{image: a, images: b}]}\n"]
        {
            let misfit = found(spec);
            assert_eq!(said(&misfit.wrong), Vec::<String>::new(), "{spec}");
            assert!(misfit.unknown.len() == 1 && !misfit.unknown[0].is_error(), "{spec}");
        }
    }

    #[test]
    fn a_value_of_the_wrong_kind_is_named_without_the_value() {
        for (spec, expected) in [
            ("  nodes: {Worker: {count: \"3\"}}\n", "`count` must be a mapping, found a string"),
            (
                "  nodes: {Worker: {count: {active: \"3\"}}}\n",
                "`active` must be a whole number, found a string",
            ),
            (
                "  nodes: {Worker: {count: {active: 1.5}}}\n",
                "`active` must be a whole number, found a number with",
            ),
            ("  nodes: []\n", "`nodes` must be a mapping, found a list"),
            ("  nodes: {Worker: secret}\n", "`Worker` must be a mapping, found a string"),
            (
                "  nodes: {Worker: {labelSelector: {matchLabels: [a]}}}\n",
                "`matchLabels` must be a mapping",
            ),
            ("  services:\n", "`services` must be a mapping, found null"),
            (
                "  nodes: {Worker: {count: {active: , standby: 1}}}\n",
                "`active` must be a whole number, found null",
            ),
            ("  services: {jumpHost: {image: x}}\n", "`jumpHost` must be a list, found a mapping"),
            (
                "  services: {jumpHost: [image]}\n",
                "an item of `jumpHost` must be a mapping, found a string",
            ),
            (
                "  services: {jumpHost: [{bmc: {proxy: \"no\"}}]}\n",
                "`proxy` must be true or false, found a string",
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
