//! Label selectors in the text form of `kubectl get -l`: `rack=r7,!gpu,size in (small,large)`.

use std::collections::BTreeSet;

use kube::core::{Expression, Selector};

/// Parses a selector. An empty text selects everything.
///
/// # Errors
///
/// Returns the first part that is no requirement.
pub(crate) fn parse(text: &str) -> Result<Selector, String> {
    // Commas in parentheses separate values, not requirements.
    let mut depth = 0usize;
    let parts = text.split(|c: char| {
        depth = match c {
            '(' => depth + 1,
            ')' => depth.saturating_sub(1),
            _ => depth,
        };
        c == ',' && depth == 0
    });
    let parts = parts.map(str::trim).filter(|part| !part.is_empty());
    parts
        .map(|part| requirement(part).ok_or_else(|| format!("invalid label selector `{part}`")))
        .collect()
}

fn requirement(text: &str) -> Option<Expression> {
    if let Some(list) = text.strip_suffix(')') {
        let (before, list) = list.split_once('(')?;
        let values: BTreeSet<String> =
            list.split(',').map(|value| value.trim().to_owned()).collect();
        let (name, word) = before.trim().rsplit_once(char::is_whitespace)?;
        return match word {
            "in" => Some(Expression::In(key(name)?, values)),
            "notin" => Some(Expression::NotIn(key(name)?, values)),
            _ => None,
        };
    }
    let value = |value: &str| value.trim().to_owned();
    if let Some((name, text)) = text.split_once("!=") {
        return Some(Expression::NotEqual(key(name)?, value(text)));
    }
    if let Some((name, text)) = text.split_once("==").or_else(|| text.split_once('=')) {
        return Some(Expression::Equal(key(name)?, value(text)));
    }
    match text.strip_prefix('!') {
        Some(name) => Some(Expression::DoesNotExist(key(name)?)),
        None => Some(Expression::Exists(key(text)?)),
    }
}

fn key(text: &str) -> Option<String> {
    let key = text.trim();
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    (!key.is_empty() && key.chars().all(is_part)).then(|| key.to_owned())
}

/// Returns the key of the label that a requirement of a selector is about.
pub(crate) fn required_label(requirement: &Expression) -> &str {
    let (Expression::In(key, _)
    | Expression::NotIn(key, _)
    | Expression::Equal(key, _)
    | Expression::NotEqual(key, _)
    | Expression::Exists(key)
    | Expression::DoesNotExist(key)) = requirement;
    key
}

/// Returns whether a requirement of a selector excludes hosts without its label.
pub(crate) fn requires_label(requirement: &Expression) -> bool {
    matches!(requirement, Expression::In(..) | Expression::Equal(..) | Expression::Exists(_))
}

/// Returns the values that a requirement of a selector names.
pub(crate) fn named_values(requirement: &Expression) -> Vec<&String> {
    match requirement {
        Expression::In(_, values) | Expression::NotIn(_, values) => values.iter().collect(),
        Expression::Equal(_, value) | Expression::NotEqual(_, value) => vec![value],
        Expression::Exists(_) | Expression::DoesNotExist(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_parsed() {
        let selector = parse("rack=r1, a==b,c!=d,!e,f, g in (1, 2),h notin (3)").unwrap();
        assert_eq!(selector.to_string(), "rack=r1,a=b,c!=d,!e,f,g in (1,2),h notin (3)");
        for text in ["a in b", "a b", "=b", "a in (b", "(b)", "a like (b)", "!"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
