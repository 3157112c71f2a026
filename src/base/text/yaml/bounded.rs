//! Limits for hostile YAML, so that parsing takes bounded time and memory.
//!
//! The parser limits nesting and recursive aliases. It does not limit three other costs: the time
//! for nested brackets, which is quadratic; 10,000 aliases of one list of 10,000 items, which
//! expand 1 MiB to gigabytes; and many short lines, which use 100 times their size.
//! `docs/reference/limits.md` lists all limits.

use serde::de::DeserializeSeed;

use super::value::{ValueLimit, ValueReader};

/// The maximum size of an object: 16 MiB, at least 10 times the limit of Kubernetes.
const LARGEST: usize = 16 << 20;
/// The maximum nesting of brackets.
const DEEPEST: usize = 1000;
/// The maximum numbers of values after alias expansion, and of bytes in their texts.
const VALUES: usize = 1_000_000;
const TEXTS: usize = 64 << 20;

/// A limit that a text exceeds. The display completes the sentence "the document cannot be read:
/// …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TextLimitExceeded {
    /// Size in bytes.
    #[error("it has {} MiB, and an object has at most {}", .0 >> 20, LARGEST >> 20)]
    Bytes(usize),
    /// Lines and commas, each of which may precede a value.
    #[error("it has more than {VALUES} lines and commas")]
    Parts,
    /// Nested brackets.
    #[error("it has brackets nested more than {DEEPEST} deep")]
    Brackets,
    /// Values after alias expansion.
    #[error("its aliases expand to more than {VALUES} values, or to more than {} MiB of text", TEXTS >> 20)]
    Values,
}

/// Checks all limits before a text is parsed as YAML. It does not check the syntax.
pub(crate) fn check(text: &str) -> Result<(), TextLimitExceeded> {
    check_text(text)?;
    // The parser reports syntax errors later.
    let _ = check_aliases(text)?;
    Ok(())
}

/// Checks the limits of a text as written.
pub(super) fn check_text(text: &str) -> Result<(), TextLimitExceeded> {
    not_too_large(text)?;
    not_too_many(text)?;
    not_too_deep(text)
}

/// Checks what aliases expand to. Returns the error at which the parser ends, whatever it reads.
pub(super) fn check_aliases(
    text: &str,
) -> Result<Result<(), yaml_serde::Error>, TextLimitExceeded> {
    // Only aliases expand a document beyond its text.
    let has_aliases = memchr::memchr(b'*', text.as_bytes()).is_some()
        && memchr::memchr(b'&', text.as_bytes()).is_some();
    if !has_aliases {
        return Ok(Ok(()));
    }
    let limit = ValueLimit::new(VALUES, TEXTS);
    let reader = ValueReader { limit: Some(&limit), ..ValueReader::default() };
    let read = reader.deserialize(yaml_serde::Deserializer::from_str(text));
    if limit.is_exceeded() { Err(TextLimitExceeded::Values) } else { Ok(read.map(drop)) }
}

/// Checks the size of YAML or JSON.
pub(crate) fn not_too_large(text: &str) -> Result<(), TextLimitExceeded> {
    if text.len() > LARGEST { Err(TextLimitExceeded::Bytes(text.len())) } else { Ok(()) }
}

/// Checks the number of values in YAML or JSON by an upper bound. The parser needs about 100 bytes
/// for each value.
pub(crate) fn not_too_many(text: &str) -> Result<(), TextLimitExceeded> {
    // Each has at least one byte.
    if text.len() <= VALUES {
        return Ok(());
    }
    let parts = memchr::memchr2_iter(b'\n', b',', text.as_bytes()).take(VALUES + 1).count();
    if parts > VALUES { Err(TextLimitExceeded::Parts) } else { Ok(()) }
}

/// Checks the nesting of brackets in YAML or JSON.
pub(crate) fn not_too_deep(text: &str) -> Result<(), TextLimitExceeded> {
    // The common case: too few brackets to exceed the limit.
    if memchr::memchr2_iter(b'[', b'{', text.as_bytes()).take(DEEPEST + 1).count() <= DEEPEST {
        return Ok(());
    }
    // Brackets in texts and comments count as well. Real documents never have as many.
    let mut depth: usize = 0;
    for byte in text.bytes() {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth > DEEPEST {
            return Err(TextLimitExceeded::Brackets);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_are_counted_by_what_they_expand_to() {
        let bomb = |item: &str, items: usize, aliases: usize| {
            let (items, aliases) = (vec![item; items].join(", "), vec!["*a"; aliases].join(", "));
            format!("a: &a [{items}]\nb: [{aliases}]\n")
        };
        assert_eq!(check(&bomb("x", 100, 100)), Ok(()));
        assert_eq!(check(&bomb("x", 10_000, 10_000)), Err(TextLimitExceeded::Values));
        assert_eq!(check(&bomb(&"x".repeat(100_000), 1, 10_000)), Err(TextLimitExceeded::Values));
        assert_eq!(check(&bomb("!t x", 10_000, 10_000)), Err(TextLimitExceeded::Values));
        let merges = format!("a: &a {{{}}}\nb:\n{}", keys(10_000), "- <<: *a\n".repeat(10_000));
        assert_eq!(check(&merges), Err(TextLimitExceeded::Values));
    }

    fn keys(count: usize) -> String {
        (0..count).map(|number| format!("k{number}: x, ")).collect()
    }

    #[test]
    fn what_is_no_yaml_is_for_the_parser_to_refuse() {
        assert_eq!(check("a: *nowhere\nb: &b [\n"), Ok(()));
    }

    #[test]
    fn texts_may_not_be_larger_than_any_object() {
        assert_eq!(check(&"x".repeat(LARGEST)), Ok(()));
        assert!(check(&"x".repeat(LARGEST + 1)).is_err());
    }

    #[test]
    fn texts_may_not_have_more_values_than_any_object() {
        for part in ["\n", "- a\n", "a,"] {
            assert_eq!(check(&part.repeat(VALUES)), Ok(()));
            assert_eq!(check(&part.repeat(VALUES + 1)), Err(TextLimitExceeded::Parts));
        }
    }

    #[test]
    fn brackets_may_not_be_nested_for_ever() {
        assert_eq!(check(&"[]".repeat(5_000)), Ok(()));
        assert_eq!(check(&"[".repeat(1_001)), Err(TextLimitExceeded::Brackets));
    }
}
