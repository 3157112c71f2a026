//! Counts the bytes that a rendering allocates.
//!
//! * Rewritten templates pass the results of operators and literals to functions with names in `__`.
//! * Every filter counts its input before it runs, and its output. Output that may be many times as
//!   large is counted before it is created.
//! * Lists are evaluated at once: lazily nested lists would exhaust the stack.

use minijinja::value::{Kwargs, Rest, ValueKind, ValueOrKwargs};
use minijinja::{
    AutoEscape, Environment, Error, Output, State, Value, escape_formatter, filters, functions,
};

use super::{BYTES, DEEPEST, invalid_operation, too_much};
use crate::output::render::json;
use crate::output::render::yaml_block::block;

/// Bytes of a value in addition to its text: the size of a list item.
const ITEM: usize = 32;
/// Number of bytes read that count as one allocated byte.
const SEEN: usize = 16;
/// Maximum width of indentation and padding, in characters.
const WIDEST: usize = 1000;

/// Number of bytes that the rendering may still allocate.
struct AllocationLeft(usize);

/// Counts allocated bytes.
fn count(state: &mut State<'_, '_>, bytes: usize) -> Result<(), Error> {
    let left = state.get_or_insert_extension_with(|| AllocationLeft(BYTES));
    left.0 = left.0.checked_sub(bytes).ok_or_else(too_much)?;
    Ok(())
}

/// Returns the size of a value and everything inside it, in bytes.
fn weight(state: &mut State<'_, '_>, value: &Value, is_kept: bool) -> Result<usize, Error> {
    let mut weight = 0;
    let left = state.get_or_insert_extension_with(|| AllocationLeft(BYTES)).0;
    add_weight(value, left, &mut weight, 0, is_kept)?;
    Ok(weight)
}

/// Counts a value that is written to the output.
fn count_written(state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    let weight = weight(state, value, false)?;
    count(state, weight)
}

/// Counts a value that is read completely.
fn count_seen(state: &mut State<'_, '_>, value: &Value) -> Result<usize, Error> {
    let weight = weight(state, value, false)?;
    count(state, weight / SEEN)?;
    Ok(weight)
}

/// Counts a new value: a text, or a list of existing values.
fn count_made(state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    if value.as_bytes().is_some() {
        count_written(state, value)
    } else {
        count_seen(state, value).map(drop)
    }
}

/// Adds the size of a value and everything inside it.
///
/// With `is_kept`, mutable values such as namespaces and macros are rejected: they could contain
/// each other endlessly.
fn add_weight(
    value: &Value,
    left: usize,
    weight: &mut usize,
    depth: usize,
    is_kept: bool,
) -> Result<(), Error> {
    *weight = weight.saturating_add(value.as_bytes().map_or(0, <[u8]>::len)).saturating_add(ITEM);
    if *weight > left {
        return Err(too_much());
    }
    if depth > DEEPEST {
        return Err(invalid_operation(format!("a value is nested more than {DEEPEST} deep")));
    }
    if is_kept && is_state(value) {
        return Err(not_kept());
    }
    match value.kind() {
        ValueKind::Seq | ValueKind::Iterable => {
            for item in value.try_iter()? {
                add_weight(&item, left, weight, depth + 1, is_kept)?;
            }
        }
        ValueKind::Map => {
            for key in value.try_iter()? {
                add_weight(&key, left, weight, depth + 1, is_kept)?;
                add_weight(&value.get_item(&key)?, left, weight, depth + 1, is_kept)?;
            }
        }
        ValueKind::Plain if is_kept => return Err(not_kept()),
        _ => {}
    }
    Ok(())
}

fn not_kept() -> Error {
    invalid_operation("a namespace keeps no other namespace, and no `loop` and no macro")
}

/// Returns whether a value has internal state.
fn is_state(value: &Value) -> bool {
    value.as_object().is_some_and(|object| {
        let name = object.type_name().rsplit("::").next().unwrap_or_default();
        ["Namespace", "Loop", "Macro", "Module"]
            .iter()
            .any(|state_prefix| name.starts_with(state_prefix))
    })
}

/// Evaluates a lazy iterable to a list.
fn made(value: Value) -> Result<Value, Error> {
    if value.kind() != ValueKind::Iterable || value.is_tuple() {
        return Ok(value);
    }
    Ok(value.try_iter()?.collect())
}

/// Counts a text whose characters become separate values.
fn count_characters(state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    count(state, value.as_str().map_or(0, str::len).saturating_mul(ITEM))
}

/// Rejects a factor that is a tuple: minijinja makes a repeated tuple at once.
fn factor(value: Value) -> Result<Value, Error> {
    if value.is_tuple() {
        return Err(invalid_operation("a tuple cannot be repeated: write a list"));
    }
    Ok(value)
}

/// The part of its input that a filter reads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FilterInput {
    /// At most one item. It creates nothing.
    OneItem,
    /// A text as a whole.
    Text,
    /// All items. It may split a text into a list of characters.
    Items,
}

struct BoundedFilter {
    name: &'static str,
    input: FilterInput,
    function: Value,
}

/// Returns minijinja's filters except `pprint`, which is for debugging only, and sipgen's own.
fn all_filters() -> Vec<BoundedFilter> {
    macro_rules! of {
        ($($input:ident: $($name:literal $function:expr),*;)*) => {
            vec![$($(BoundedFilter {
                name: $name,
                input: FilterInput::$input,
                function: Value::from_function($function),
            }),*),*]
        };
    }
    use filters::*;
    of![
        OneItem: "safe" safe, "length" length, "count" length, "default" default, "d" default,
            "attr" attr, "first" first, "last" last, "abs" abs, "int" int, "float" float, "bool" bool;
        Text: "escape" escape, "e" escape, "lower" lower, "upper" upper, "title" title,
            "capitalize" capitalize, "replace" replace, "trim" trim, "string" string,
            "indent" indent, "format" format, "tojson" tojson, "block" block;
        Items: "dictsort" dictsort, "items" items, "reverse" reverse, "join" join, "split" split,
            "lines" lines, "round" round, "min" min, "max" max, "sort" sort, "list" list,
            "batch" batch, "slice" slice, "sum" sum, "select" select, "reject" reject,
            "selectattr" selectattr, "rejectattr" rejectattr, "map" map, "groupby" groupby,
            "unique" unique, "chain" chain, "zip" zip;
    ]
}

/// Counts the output of filters that may create many times their input.
fn count_growth(
    state: &mut State<'_, '_>,
    name: &str,
    values: &[Value],
    weights: &[usize],
) -> Result<(), Error> {
    let weight = weights.first().copied().unwrap_or_default();
    let text = |index: usize| values.get(index).and_then(Value::as_str).unwrap_or_default();
    let mut numbers: Vec<i64> = values.iter().skip(1).filter_map(Value::as_i64).collect();
    if let Some(named) = values.last().filter(|last| last.is_kwargs()) {
        for key in named.try_iter()? {
            numbers.extend(named.get_item(&key)?.as_i64());
        }
    }
    let widest = numbers.into_iter().map(i64::unsigned_abs).max().unwrap_or_default();
    let widest = usize::try_from(widest).unwrap_or(usize::MAX);
    let width = match name {
        "indent" | "tojson" | "block" | "round" => widest,
        "format" => {
            let runs = text(0).split(|c: char| !c.is_ascii_digit()).filter(|run| !run.is_empty());
            let runs = runs.map(|run| run.parse().unwrap_or(usize::MAX));
            // `*` takes the width from an argument.
            runs.chain(text(0).contains('*').then_some(widest)).max().unwrap_or_default()
        }
        _ => 0,
    };
    if width > WIDEST {
        let message = format!("the filter {name} takes at most {WIDEST} for a width");
        return Err(invalid_operation(message));
    }
    let bytes = match name {
        "replace" => text(0).matches(text(1)).count().saturating_mul(text(2).len()),
        "join" => {
            let items = values.first().and_then(|list| list.as_str().map(str::len).or(list.len()));
            items.unwrap_or(weight / ITEM).saturating_mul(text(1).len())
        }
        "indent" => (text(0).matches('\n').count() + 1).saturating_mul(widest.max(4)),
        "tojson" | "block" => {
            (weight / ITEM).saturating_mul(widest.max(2)).saturating_mul(DEEPEST / 4)
        }
        // Each item may be searched for in the whole of another list.
        "select" | "reject" | "selectattr" | "rejectattr" | "map" => {
            (weight / ITEM).saturating_mul(weights.iter().skip(1).sum::<usize>() / ITEM) / SEEN
        }
        "batch" | "slice" => widest.saturating_mul(ITEM),
        "format" => text(0).matches('%').count().saturating_mul(width.max(widest.min(WIDEST))),
        _ => 0,
    };
    count(state, bytes)
}

impl BoundedFilter {
    /// Calls the filter within the limits.
    fn call(&self, state: &mut State<'_, '_>, values: &[Value]) -> Result<Value, Error> {
        if self.input == FilterInput::OneItem {
            let text = values.first().and_then(Value::as_str).map_or(0, str::len);
            count(state, text / SEEN)?;
            return self.function.call(state, values);
        }
        if let ("tojson", [value]) = (self.name, values)
            && let Some(json) = json::plain(value)
        {
            count(state, json.len() + ITEM)?;
            return Ok(Value::from_safe_string(json));
        }
        let mut weights = Vec::with_capacity(values.len());
        for value in values {
            weights.push(count_seen(state, value)?);
            if self.input == FilterInput::Items {
                count_characters(state, value)?;
            }
        }
        count_growth(state, self.name, values, &weights)?;
        let result = made(self.function.call(state, values)?)?;
        count_made(state, &result)?;
        Ok(result)
    }
}

/// Counts a value that is stored in a namespace.
fn count_kept(state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    let weight = weight(state, value, true)?;
    count(state, weight / SEEN)
}

fn format(output: &mut Output<'_>, state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    count_written(state, value)?;
    // Templates of metadata are texts without a format.
    match state.auto_escape() {
        AutoEscape::Custom(_) if value.is_none() => Ok(()),
        AutoEscape::Custom(_) => Ok(write!(output, "{value}")?),
        _ => escape_formatter(output, state, value),
    }
}

/// Adds a function of rewritten templates: it counts a value and returns the `result` of it.
fn add_counting(
    environment: &mut Environment<'static>,
    name: &'static str,
    count: fn(&mut State<'_, '_>, &Value) -> Result<(), Error>,
    result: fn(Value) -> Result<Value, Error>,
) {
    environment.add_function(name, move |state: &mut State<'_, '_>, value: Value| {
        count(state, &value)?;
        result(value)
    });
}

/// Adds the counting functions and filters to an environment.
pub(super) fn apply(environment: &mut Environment<'static>) {
    environment.set_formatter(format);
    for filter in all_filters() {
        let name = filter.name;
        let bounded = move |state: &mut State<'_, '_>, values: Rest<ValueOrKwargs>| {
            filter.call(state, &values.into_values())
        };
        environment.add_filter(name, bounded);
    }
    environment.remove_filter("pprint");
    // It would print all values, including ones that templates should not write.
    environment.remove_global("debug");
    let dict = |state: &mut State<'_, '_>, value: Option<Value>, named: Kwargs| {
        let dictionary = functions::dict(value, named)?;
        count_made(state, &dictionary).map(|()| dictionary)
    };
    let namespace = |state: &mut State<'_, '_>, values: Rest<ValueOrKwargs>| {
        let values = values.into_values();
        for value in &values {
            count_kept(state, value)?;
        }
        Value::from_function(functions::namespace).call(state, &values)
    };
    environment.add_function("dict", dict);
    environment.add_function("namespace", namespace);
    environment.add_function("__factor", factor);
    add_counting(environment, "__made", count_made, made);
    add_counting(environment, "__kept", count_kept, made);
    add_counting(environment, "__weighed", |state, value| count_seen(state, value).map(drop), Ok);
    add_counting(environment, "__items", count_characters, Ok);
    environment.add_function("__text", |state: &mut State<'_, '_>, value: Value| {
        match value.as_usize() {
            // The argument is the length of a text in the template.
            Some(length) => count(state, length).map(|()| Value::from_safe_string(String::new())),
            None => count(state, value.as_str().map_or(0, str::len) / SEEN).map(|()| value),
        }
    });
}
