//! Kustomizations that kustomize refuses to read.
//!
//! kustomize decodes them by YAML 1.1 and Go's `encoding/json`. Plain `n`, `on` and `yes` are
//! booleans, unknown fields are errors, and each value must have its field's type. `EnforceFields`
//! and `CheckEmpty` of its `api/types` run after that.

use yaml_serde::Value;

use crate::api::kustomization_fields::{KUSTOMIZATION, Type};
use crate::finding::{Place, RouteStep};
use crate::load::{Document, Plain, Reading, read_by_others};

const KIND: &str = "Kustomization";
const COMPONENT: &str = "Component";
const API_VERSION: &str = "kustomize.config.k8s.io/v1beta1";
const COMPONENT_API_VERSION: &str = "kustomize.config.k8s.io/v1alpha1";

/// The reason why kustomize refuses a kustomization, and its place.
pub(crate) struct Refusal {
    pub(crate) why: String,
    pub(crate) place: Place,
}

/// The type of a value as kustomize decodes it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Null,
    Bool,
    Number,
    Text,
    List,
    Mapping,
}

impl Found {
    fn words(self) -> &'static str {
        match self {
            Found::Null => "null",
            Found::Bool => "a boolean",
            Found::Number => "a number",
            Found::Text => "a string",
            Found::List => "a list",
            Found::Mapping => "a mapping",
        }
    }
}

/// Returns why kustomize refuses a kustomization that was decoded to `written`.
pub(crate) fn refusal(document: &Document<'_>, written: &Value) -> Option<Refusal> {
    let plain = Plain::of(document);
    let reader = Reader { plain: &plain };
    let refused = reader
        .check(written, KUSTOMIZATION, &mut Vec::new())
        .or_else(|| enforced(written));
    refused.map(|(why, route, is_key)| {
        let origin = &document.origin;
        let place = if route.is_empty() {
            origin.start()
        } else if is_key {
            origin.key(route)
        } else {
            origin.at(route)
        };
        Refusal { why, place }
    })
}

/// A reason, the route to it, and whether the key (not the value) is wrong.
type Refused = (String, Vec<RouteStep>, bool);

struct Reader<'d> {
    plain: &'d Plain<'d>,
}

impl Reader<'_> {
    /// Returns the first value or key that has the wrong type or is unknown.
    fn check(&self, value: &Value, wanted: Type, route: &mut Vec<RouteStep>) -> Option<Refused> {
        let found = self.found(value, route);
        let fits = match wanted {
            Type::Text => found == Found::Text,
            Type::Bool => found == Found::Bool,
            Type::Number => found == Found::Number,
            Type::Texts | Type::Labels | Type::Mapping | Type::Object(_) => found == Found::Mapping,
            Type::List(_) => found == Found::List,
        };
        // `encoding/json` accepts null for every type.
        if !fits && found != Found::Null {
            let should_be = match wanted {
                Type::Text => "a string",
                Type::Bool => "a boolean",
                Type::Number => "a number",
                Type::List(_) => "a list",
                Type::Texts | Type::Labels | Type::Mapping | Type::Object(_) => "a mapping",
            };
            let why = format!(
                "`{}` must be {should_be}, found {}",
                shown(route),
                found.words()
            );
            return Some((why, route.clone(), false));
        }
        match (value, wanted) {
            (Value::Sequence(items), Type::List(wanted)) => {
                items.iter().enumerate().find_map(|(index, item)| {
                    within(route, RouteStep::from(index), |route| {
                        self.check(item, *wanted, route)
                    })
                })
            }
            (Value::Mapping(fields), Type::Object(_) | Type::Texts | Type::Labels) => {
                fields.iter().find_map(|(key, value)| {
                    let Some(key) = key.as_str() else {
                        return Some((
                            format!("`{}` has a key that is not a string", shown(route)),
                            route.clone(),
                            true,
                        ));
                    };
                    within(route, RouteStep::from(key), |route| {
                        self.check_field(key, value, wanted, route)
                    })
                })
            }
            _ => None,
        }
    }

    fn check_field(
        &self,
        key: &str,
        value: &Value,
        wanted: Type,
        route: &mut Vec<RouteStep>,
    ) -> Option<Refused> {
        match wanted {
            Type::Object(_) => match wanted.field(key).filter(|_| !self.is_switch(key, route)) {
                Some((_, of_field)) => self.check(value, *of_field, route),
                None => Some((
                    format!("unknown field `{}`", shown(route)),
                    route.clone(),
                    true,
                )),
            },
            // kustomize writes such a key without quotes and cannot read it back.
            Type::Labels
                if matches!(
                    read_by_others(key),
                    Some(Reading::Boolean | Reading::Number)
                ) || self.is_switch(key, route) =>
            {
                let why = format!(
                    "`{key}` in `{}` must be quoted, because kustomize does not read the key as a string",
                    shown(&route[..route.len() - 1])
                );
                Some((why, route.clone(), true))
            }
            _ => self.check(value, Type::Text, route),
        }
    }

    /// Returns whether a plain key is a boolean of YAML 1.1, which kustomize reads as `true` or
    /// `false`.
    fn is_switch(&self, key: &str, route: &[RouteStep]) -> bool {
        read_by_others(key) == Some(Reading::Switch) && self.plain.has_key(route)
    }

    fn found(&self, value: &Value, route: &[RouteStep]) -> Found {
        match value {
            Value::Null => Found::Null,
            Value::Bool(_) => Found::Bool,
            Value::Number(_) => Found::Number,
            Value::Sequence(_) => Found::List,
            Value::Mapping(_) => Found::Mapping,
            Value::String(text) => {
                match read_by_others(text).filter(|_| self.plain.has_at(route, text)) {
                    Some(Reading::Switch | Reading::Boolean) => Found::Bool,
                    Some(Reading::Number) => Found::Number,
                    Some(Reading::Null) => Found::Null,
                    Some(Reading::Date) | None => Found::Text,
                }
            }
            Value::Tagged(tagged) => self.found(&tagged.value, route),
        }
    }
}

/// Calls `look` one step further down the route.
fn within<T>(
    route: &mut Vec<RouteStep>,
    step: RouteStep,
    look: impl FnOnce(&mut Vec<RouteStep>) -> T,
) -> T {
    route.push(step);
    let found = look(route);
    route.pop();
    found
}

/// Checks `kind`, `apiVersion` and emptiness, as `EnforceFields` and `CheckEmpty` do.
fn enforced(written: &Value) -> Option<Refused> {
    let fields = written.as_mapping()?;
    let text = |wanted: &str| {
        let found = fields
            .iter()
            .filter_map(|(key, value)| Some((key.as_str()?, value.as_str()?)));
        found
            .filter(|(key, _)| key.eq_ignore_ascii_case(wanted))
            // `encoding/json` uses the last of several keys that differ only in case.
            .last()
            .unwrap_or_default()
    };
    let (kind_key, kind) = text("kind");
    if !["", KIND, COMPONENT].contains(&kind) {
        let why = format!("`kind` must be `{KIND}` or `{COMPONENT}`, found `{kind}`");
        return Some((why, vec![RouteStep::from(kind_key)], false));
    }
    let (version_key, version) = text("apiVersion");
    let wanted = if kind == COMPONENT {
        COMPONENT_API_VERSION
    } else {
        API_VERSION
    };
    if !["", wanted].contains(&version) {
        let why = format!("`apiVersion` must be `{wanted}`, found `{version}`");
        return Some((why, vec![RouteStep::from(version_key)], false));
    }
    let says = |(key, value): (&Value, &Value)| {
        let is_type = key
            .as_str()
            .is_some_and(|key| ["kind", "apiversion"].contains(&key.to_ascii_lowercase().as_str()));
        !is_type && !value.is_null() && value.as_str() != Some("")
    };
    (!fields.iter().any(says)).then(|| ("the kustomization is empty".to_owned(), Vec::new(), false))
}

/// Formats a route for messages: `labels[0].pairs`.
fn shown(route: &[RouteStep]) -> String {
    let mut shown = String::new();
    for step in route {
        match step {
            RouteStep::Index(index) => shown.push_str(&format!("[{index}]")),
            RouteStep::Key(key) if shown.is_empty() => shown.push_str(key),
            RouteStep::Key(key) => shown.push_str(&format!(".{key}")),
        }
    }
    if shown.is_empty() {
        "the kustomization".to_owned()
    } else {
        shown
    }
}
