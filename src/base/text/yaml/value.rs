//! Any value, read with tolerance and up to a limit.

use std::cell::Cell;
use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, IgnoredAny, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};
use yaml_serde::{Mapping, Value};

/// Reads any value. The last of several equal keys wins, and tags are ignored. With a limit, values
/// are only counted, and none is kept.
#[derive(Clone, Copy, Default)]
pub(crate) struct ValueReader<'a> {
    /// The keys of the entries that are read; `None` for all.
    pub(crate) keys: Option<&'static [&'static str]>,
    /// The limit, if there is one.
    pub(crate) limit: Option<&'a ValueLimit>,
}

/// The numbers of values, and of bytes in their texts, that may still be read; `None` if there were
/// more.
pub(crate) struct ValueLimit(Cell<Option<(usize, usize)>>);

impl ValueLimit {
    pub(crate) fn new(values: usize, texts: usize) -> Self {
        Self(Cell::new(Some((values, texts))))
    }

    pub(crate) fn is_exceeded(&self) -> bool {
        self.0.get().is_none()
    }

    /// Counts a value with a text of this length.
    fn count(&self, text: usize) {
        let left = self.0.get();
        self.0.set(
            left.and_then(|(values, texts)| {
                Some((values.checked_sub(1)?, texts.checked_sub(text)?))
            }),
        );
    }
}

impl ValueReader<'_> {
    fn counted<E: Error>(self, value: impl Into<Value>, text: usize) -> Result<Value, E> {
        let Some(limit) = self.limit else { return Ok(value.into()) };
        limit.count(text);
        if limit.is_exceeded() { Err(E::custom("too much")) } else { Ok(Value::Null) }
    }
}

impl<'de> DeserializeSeed<'de> for ValueReader<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueReader<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any YAML")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        self.counted(value, 0)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        self.counted(value, 0)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        self.counted(value, 0)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        self.counted(value, 0)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        self.counted(value, value.len())
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        self.counted(Value::Null, 0)
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        self.visit_unit()
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = items.next_element_seed(self)? {
            values.extend(self.limit.is_none().then_some(value));
        }
        self.counted(values, 0)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut mapping = Mapping::new();
        // Keys may be of any type.
        while let Some(key) = entries.next_key_seed(self)? {
            if self.keys.is_none_or(|keys| keys.iter().any(|wanted| key == **wanted)) {
                let value = entries.next_value_seed(self)?;
                if self.limit.is_none() {
                    mapping.insert(key, value);
                }
            } else {
                entries.next_value::<IgnoredAny>()?;
            }
        }
        self.counted(mapping, 0)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, tagged: A) -> Result<Value, A::Error> {
        let (_, value) = tagged.variant_seed(self)?;
        value.newtype_variant_seed(self)
    }
}
