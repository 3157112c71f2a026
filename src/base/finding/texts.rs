//! The texts in a value, with their routes.

use yaml_serde::{Mapping, Value};

use super::RouteStep;

/// Visits every text of a value with its route, including the keys of mappings, until `take` fails.
pub(crate) fn each_text<E>(
    value: &Value,
    route: &mut Vec<RouteStep>,
    take: &mut impl FnMut(&str, &[RouteStep]) -> Result<(), E>,
) -> Result<(), E> {
    match value {
        Value::String(text) => take(text, route),
        Value::Mapping(mapping) => each_text_in(mapping, route, take),
        Value::Sequence(items) => items.iter().enumerate().try_for_each(|(index, item)| {
            route.push(index.into());
            each_text(item, route, take)?;
            route.pop();
            Ok(())
        }),
        _ => Ok(()),
    }
}

/// Visits every key and text of a mapping as [`each_text`] does. A key has the route of its value.
pub(crate) fn each_text_in<E>(
    mapping: &Mapping,
    route: &mut Vec<RouteStep>,
    take: &mut impl FnMut(&str, &[RouteStep]) -> Result<(), E>,
) -> Result<(), E> {
    for (key, value) in mapping {
        let Some(key) = key.as_str() else { continue };
        route.push(key.into());
        take(key, route)?;
        each_text(value, route, take)?;
        route.pop();
    }
    Ok(())
}
