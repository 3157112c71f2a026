//! YAML that may be made to break programs, in bounded time and memory.
//!
//! The parser bounds how deep documents nest and how often aliases lead to aliases. Neither keeps it from taking time
//! with the square of nested brackets, nor a document of a megabyte from growing to gigabytes, by ten thousand aliases
//! of one list of ten thousand, nor one of many short lines from taking a hundred times what it has as text.
//! `docs/limits.md` says all bounds.

use std::cell::Cell;
use std::fmt;

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor,
};

/// How many bytes an object may have. Those of Kubernetes have at most a tenth of that.
const LARGEST: usize = 16 << 20;
/// How deep brackets may be nested.
const DEEPEST: usize = 1000;
/// How many values a document may have with its aliases expanded, and how many bytes their texts.
const VALUES: usize = 1_000_000;
const TEXTS: usize = 64 << 20;

/// What a text has too much of. The display completes the sentence "the document cannot be read: …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TooMuch {
    /// Bytes.
    #[error("it has {} MiB, and an object has at most {}", .0 >> 20, LARGEST >> 20)]
    Bytes(usize),
    /// Lines and commas, each of which may stand before a value.
    #[error("it has more than {VALUES} lines and commas")]
    Parts,
    /// Brackets in brackets.
    #[error("it has brackets nested more than {DEEPEST} deep")]
    Brackets,
    /// Values, once its aliases are expanded.
    #[error("its aliases expand to more than {VALUES} values, or to more than {} MiB of text", TEXTS >> 20)]
    Values,
}

/// Checks a text before it is parsed as YAML. Whether it is YAML is for the parser to say.
pub(crate) fn check(text: &str) -> Result<(), TooMuch> {
    not_too_large(text)?;
    not_too_many(text)?;
    not_too_deep(text)?;
    let has_aliases = memchr::memchr(b'*', text.as_bytes()).is_some()
        && memchr::memchr(b'&', text.as_bytes()).is_some();
    if !has_aliases {
        return Ok(());
    }
    let count = Count {
        values: Cell::new(0),
        texts: Cell::new(0),
        exceeded: Cell::new(false),
    };
    let _ = (&count).deserialize(yaml_serde::Deserializer::from_str(text));
    if count.exceeded.get() {
        Err(TooMuch::Values)
    } else {
        Ok(())
    }
}

/// Parses a text as YAML that [`check`] has nothing against; nothing where it has, or where that fails.
pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Option<T> {
    check(text).ok()?;
    yaml_serde::from_str(text).ok()
}

/// Checks how large a text is, be it YAML or JSON.
pub(crate) fn not_too_large(text: &str) -> Result<(), TooMuch> {
    if text.len() > LARGEST {
        Err(TooMuch::Bytes(text.len()))
    } else {
        Ok(())
    }
}

/// Checks how many values a text may have at most, be it YAML or JSON: the parser takes a hundred bytes for each.
pub(crate) fn not_too_many(text: &str) -> Result<(), TooMuch> {
    let parts = memchr::memchr2_iter(b'\n', b',', text.as_bytes())
        .take(VALUES + 1)
        .count();
    if parts > VALUES {
        Err(TooMuch::Parts)
    } else {
        Ok(())
    }
}

/// Checks how deep brackets are nested in a text, be it YAML or JSON.
pub(crate) fn not_too_deep(text: &str) -> Result<(), TooMuch> {
    if memchr::memchr2_iter(b'[', b'{', text.as_bytes())
        .take(DEEPEST + 1)
        .count()
        <= DEEPEST
    {
        return Ok(());
    }
    let mut depth: usize = 0;
    for byte in text.bytes() {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth > DEEPEST {
            return Err(TooMuch::Brackets);
        }
    }
    Ok(())
}

/// Counts the values of a document and the bytes of their texts, and fails where there are too many.
struct Count {
    values: Cell<usize>,
    texts: Cell<usize>,
    exceeded: Cell<bool>,
}

impl Count {
    fn add<E: Error>(&self, text: usize) -> Result<(), E> {
        self.values.set(self.values.get() + 1);
        self.texts.set(self.texts.get().saturating_add(text));
        if self.values.get() > VALUES || self.texts.get() > TEXTS {
            self.exceeded.set(true);
            return Err(E::custom("too much"));
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for &Count {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &Count {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.add(0)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        self.add(0)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        self.add(0)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        self.add(0)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        self.add(0)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.add(text.len())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        self.add(0)?;
        while items.next_element_seed(self)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        self.add(0)?;
        while entries.next_key_seed(self)?.is_some() {
            entries.next_value_seed(self)?;
        }
        Ok(())
    }

    /// A value with a tag.
    fn visit_enum<A: serde::de::EnumAccess<'de>>(self, tagged: A) -> Result<(), A::Error> {
        use serde::de::VariantAccess;
        let ((), value) = tagged.variant_seed(self)?;
        value.newtype_variant_seed(self)
    }
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
        assert_eq!(check(&bomb("x", 10_000, 10_000)), Err(TooMuch::Values));
        assert_eq!(
            check(&bomb(&"x".repeat(100_000), 1, 10_000)),
            Err(TooMuch::Values)
        );
        assert_eq!(check(&bomb("!t x", 10_000, 10_000)), Err(TooMuch::Values));
        let merges = format!(
            "a: &a {{{}}}\nb:\n{}",
            keys(10_000),
            "- <<: *a\n".repeat(10_000)
        );
        assert_eq!(check(&merges), Err(TooMuch::Values));
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
            assert_eq!(check(&part.repeat(VALUES + 1)), Err(TooMuch::Parts));
        }
    }

    #[test]
    fn brackets_may_not_be_nested_for_ever() {
        assert_eq!(check(&"[]".repeat(5_000)), Ok(()));
        assert_eq!(check(&"[".repeat(1_001)), Err(TooMuch::Brackets));
    }
}
