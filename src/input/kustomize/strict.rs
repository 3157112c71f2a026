//! Kustomizations that kustomize refuses to read.
//!
//! kustomize decodes them by YAML 1.1 and Go's `encoding/json`. Plain `n`, `on` and `yes` are
//! booleans, unknown fields are errors, and each value must have its field's type. `EnforceFields`
//! and `CheckEmpty` of its `api/types` run after that.

use yaml_serde::Value;

use crate::base::api::kustomization::Kustomization;
use crate::base::api::kustomization_fields::{KUSTOMIZATION, Type};
use crate::base::finding::{Origin, Place, RouteStep, shown_route};
use crate::input::decode::unknown_fields::{FLAG, LIST, MAPPING, NOTHING, TEXT, ValueType};
use crate::input::load::kustomize::{file_entries, resource_entries, schema_path};
use crate::input::load::{Document, OtherReading, PlainScalars, read_by_others};

const KIND: &str = "Kustomization";
const COMPONENT: &str = "Component";
const API_VERSION: &str = "kustomize.config.k8s.io/v1beta1";
const COMPONENT_API_VERSION: &str = "kustomize.config.k8s.io/v1alpha1";

/// The reason why kustomize refuses a kustomization, and its place.
pub(crate) struct KustomizationRefusal {
    pub(crate) why: String,
    pub(crate) place: Place,
}

/// A number of any form.
const ANY_NUMBER: ValueType = ValueType { schema: "number", words: "a number" };

/// Returns the type of the values that kustomize accepts.
fn accepted(wanted: Type) -> ValueType {
    match wanted {
        Type::Text => TEXT,
        Type::Bool => FLAG,
        Type::Number => ANY_NUMBER,
        Type::List(_) => LIST,
        Type::Texts | Type::Labels | Type::Mapping | Type::Object(_) => MAPPING,
    }
}

/// Returns why kustomize refuses a kustomization that was decoded to `written`, and to `own` if its
/// values have the right types.
pub(crate) fn refusal(
    document: &Document<'_>,
    written: &Value,
    own: Option<&Kustomization>,
) -> Option<KustomizationRefusal> {
    let (origin, scalars) = (&document.origin, PlainScalars::new(document));
    if document.text().contains(char::REPLACEMENT_CHARACTER) {
        let why = "it is not UTF-8".to_owned();
        return Some(KustomizationRefusal { why, place: origin.start() });
    }
    let mut reader = KustomizationReader { origin, scalars, route: Vec::new() };
    reader
        .check(written, KUSTOMIZATION)
        .or_else(|| enforced(written, origin))
        .or_else(|| absolute_path(own?, origin))
}

struct KustomizationReader<'d> {
    origin: &'d Origin,
    scalars: PlainScalars<'d>,
    /// Route to the current value.
    route: Vec<RouteStep>,
}

impl KustomizationReader<'_> {
    /// Returns the first value or key that has the wrong type or is unknown.
    fn check(&mut self, value: &Value, wanted: Type) -> Option<KustomizationRefusal> {
        let found = self.found(value);
        let expected = accepted(wanted);
        // `encoding/json` accepts null for every type.
        if ![expected, NOTHING].contains(&found) {
            let (expected, found) = (expected.words, found.words);
            let why = format!("`{}` must be {expected}, found {found}", shown(&self.route));
            return Some(KustomizationRefusal { why, place: self.origin.at(self.route.clone()) });
        }
        match (value, wanted) {
            (Value::Sequence(items), Type::List(wanted)) => {
                items.iter().enumerate().find_map(|(index, item)| {
                    self.within(RouteStep::from(index), |reader| reader.check(item, *wanted))
                })
            }
            (Value::Mapping(fields), Type::Object(_) | Type::Texts | Type::Labels) => {
                fields.iter().find_map(|(key, value)| {
                    let Some(key) = key.as_str() else {
                        let why =
                            format!("`{}` has a key that is not a string", shown(&self.route));
                        return self.refused_key(why);
                    };
                    self.within(RouteStep::from(key), |reader| {
                        reader.check_field(key, value, wanted)
                    })
                })
            }
            _ => None,
        }
    }

    /// Refuses the key of the current value.
    fn refused_key(&self, why: String) -> Option<KustomizationRefusal> {
        let (origin, route) = (self.origin, self.route.clone());
        let place = if route.is_empty() { origin.start() } else { origin.key(route) };
        Some(KustomizationRefusal { why, place })
    }

    fn check_field(
        &mut self,
        key: &str,
        value: &Value,
        wanted: Type,
    ) -> Option<KustomizationRefusal> {
        let route = &self.route;
        match wanted {
            Type::Object(_) => match wanted.field(key).filter(|_| !self.is_switch(key)) {
                Some((_, field_type)) => self.check(value, field_type),
                None => self.refused_key(format!("unknown field `{}`", shown(route))),
            },
            // kustomize writes such a key without quotes and cannot read it back.
            Type::Labels
                if matches!(
                    read_by_others(key),
                    Some(OtherReading::Boolean | OtherReading::Number)
                ) || self.is_switch(key) =>
            {
                let why = format!(
                    "`{key}` in `{}` must be quoted, because kustomize does not read the key as a string",
                    shown(&route[..route.len() - 1])
                );
                self.refused_key(why)
            }
            _ => self.check(value, Type::Text),
        }
    }

    /// Returns whether a plain key is a boolean of YAML 1.1, which kustomize reads as `true` or
    /// `false`.
    fn is_switch(&self, key: &str) -> bool {
        read_by_others(key) == Some(OtherReading::Switch) && self.scalars.has_key(&self.route)
    }

    /// Calls `look` one step further down the route.
    fn within<T>(&mut self, step: RouteStep, look: impl FnOnce(&mut Self) -> T) -> T {
        self.route.push(step);
        let found = look(self);
        self.route.pop();
        found
    }

    fn found(&self, value: &Value) -> ValueType {
        match value {
            Value::Null => NOTHING,
            Value::Bool(_) => FLAG,
            Value::Number(_) => ANY_NUMBER,
            Value::Sequence(_) => LIST,
            Value::Mapping(_) => MAPPING,
            Value::String(text) => {
                match read_by_others(text).filter(|_| self.scalars.has_at(&self.route, text)) {
                    Some(OtherReading::Switch | OtherReading::Boolean) => FLAG,
                    Some(OtherReading::Number) => ANY_NUMBER,
                    Some(OtherReading::Null) => NOTHING,
                    Some(OtherReading::Date) | None => TEXT,
                }
            }
            Value::Tagged(tagged) => self.found(&tagged.value),
        }
    }
}

/// Checks `kind`, `apiVersion` and emptiness, as `EnforceFields` and `CheckEmpty` do.
fn enforced(written: &Value, origin: &Origin) -> Option<KustomizationRefusal> {
    let text = |wanted: &str| {
        let fields = written.as_mapping().into_iter().flatten();
        let texts = fields.filter_map(|(key, value)| Some((key.as_str()?, value.as_str()?)));
        // `encoding/json` uses the last of several keys that differ only in case.
        texts.filter(|(key, _)| key.eq_ignore_ascii_case(wanted)).last().unwrap_or_default()
    };
    let (kind_key, kind) = text("kind");
    if !["", KIND, COMPONENT].contains(&kind) {
        let why = format!("`kind` must be `{KIND}` or `{COMPONENT}`, found `{kind}`");
        return Some(KustomizationRefusal { why, place: origin.at([kind_key]) });
    }
    let (version_key, version) = text("apiVersion");
    let wanted = if kind == COMPONENT { COMPONENT_API_VERSION } else { API_VERSION };
    if !["", wanted].contains(&version) {
        let why = format!("`apiVersion` must be `{wanted}`, found `{version}`");
        return Some(KustomizationRefusal { why, place: origin.at([version_key]) });
    }
    let why = "the kustomization is empty".to_owned();
    is_empty_kustomization(written).then(|| KustomizationRefusal { why, place: origin.start() })
}

/// Returns whether a kustomization says nothing, which kustomize refuses.
pub(crate) fn is_empty_kustomization(written: &Value) -> bool {
    let says = |(key, value): (&Value, &Value)| {
        let is_type = key
            .as_str()
            .is_some_and(|key| ["kind", "apiversion"].contains(&key.to_ascii_lowercase().as_str()));
        !is_type && !value.is_null() && value.as_str() != Some("")
    };
    written.is_null() || written.as_mapping().is_some_and(|fields| !fields.iter().any(says))
}

/// Returns the first entry that is an absolute path, which leads out of the build.
fn absolute_path(own: &Kustomization, origin: &Origin) -> Option<KustomizationRefusal> {
    let entries = resource_entries(own).chain(file_entries(own));
    let entries = entries.map(|entry| ([entry.list.into(), entry.index.into()], entry.text));
    let schema = schema_path(own).map(|path| (["openapi", "path"].map(RouteStep::from), path));
    let (route, path) = entries.chain(schema).find(|(_, path)| path.starts_with('/'))?;
    let why = format!("`{path}` is an absolute path, which leads out of the build");
    Some(KustomizationRefusal { why, place: origin.at(route) })
}

fn shown(route: &[RouteStep]) -> String {
    if route.is_empty() { "the kustomization".to_owned() } else { shown_route(route) }
}
