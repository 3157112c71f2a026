//! Nodes as the data model of serde.

use serde::de::{DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::reader::{NodeContent, YamlReader};
use super::scalar::Scalar;
use super::{Result, UnsupportedYaml};

/// The node at the position of a reader.
pub(super) struct YamlNode<'r, 'de> {
    reader: &'r mut YamlReader<'de>,
    content: NodeContent<'de>,
}

impl<'r, 'de> YamlNode<'r, 'de> {
    pub(super) fn new(reader: &'r mut YamlReader<'de>, content: NodeContent<'de>) -> Self {
        Self { reader, content }
    }

    fn scalar(&self) -> Result<Scalar<'de>> {
        match self.content {
            NodeContent::Scalar(scalar) => Ok(scalar),
            _ => Err(UnsupportedYaml),
        }
    }

    fn visit_map<V: Visitor<'de>>(self, column: Option<usize>, visitor: V) -> Result<V::Value> {
        let reader = self.reader;
        let visited = reader.nested(|reader| visitor.visit_map(Collection { reader, column }))?;
        // The complete parser refuses entries that the visitor does not take.
        match (Collection { reader, column }).next_key()? {
            None => Ok(visited),
            Some(_) => Err(UnsupportedYaml),
        }
    }

    fn visit_seq<V: Visitor<'de>>(self, column: Option<usize>, visitor: V) -> Result<V::Value> {
        let reader = self.reader;
        let visited = reader.nested(|reader| visitor.visit_seq(Collection { reader, column }))?;
        if (Collection { reader, column }).has_next_item()? {
            return Err(UnsupportedYaml);
        }
        Ok(visited)
    }
}

/// A collection whose entries or items are being read.
struct Collection<'r, 'de> {
    reader: &'r mut YamlReader<'de>,
    /// The column of the keys or dashes; `None` for an empty collection.
    column: Option<usize>,
}

impl<'de> Collection<'_, 'de> {
    fn next_key(&mut self) -> Result<Option<Scalar<'de>>> {
        self.column.map_or(Ok(None), |column| self.reader.next_key(column))
    }

    fn has_next_item(&self) -> Result<bool> {
        self.column.map_or(Ok(false), |column| self.reader.has_next_item(column))
    }
}

impl<'de> MapAccess<'de> for Collection<'_, 'de> {
    type Error = UnsupportedYaml;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        let Some(key) = self.next_key()? else { return Ok(None) };
        let key = YamlNode { reader: self.reader, content: NodeContent::Scalar(key) };
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value> {
        let content = self.reader.value(self.column.ok_or(UnsupportedYaml)?)?;
        seed.deserialize(YamlNode { reader: self.reader, content })
    }
}

impl<'de> SeqAccess<'de> for Collection<'_, 'de> {
    type Error = UnsupportedYaml;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        if !self.has_next_item()? {
            return Ok(None);
        }
        let content = self.reader.item(self.column.ok_or(UnsupportedYaml)?)?;
        let item = YamlNode { reader: self.reader, content };
        seed.deserialize(item).map(Some)
    }
}

impl<'de> Deserializer<'de> for YamlNode<'_, 'de> {
    type Error = UnsupportedYaml;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.content {
            NodeContent::Scalar(scalar) => scalar.visit(visitor),
            NodeContent::Mapping(column) => self.visit_map(column, visitor),
            NodeContent::Sequence(column) => self.visit_seq(column, visitor),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.scalar()?.visit_text(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.content {
            NodeContent::Scalar(scalar) if scalar.is_null() => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.content {
            NodeContent::Sequence(column) => self.visit_seq(column, visitor),
            // An absent value is an empty collection of either kind.
            NodeContent::Scalar(Scalar::Plain("")) => self.visit_seq(None, visitor),
            _ => Err(UnsupportedYaml),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.content {
            NodeContent::Mapping(column) => self.visit_map(column, visitor),
            NodeContent::Scalar(Scalar::Plain("")) => self.visit_map(None, visitor),
            _ => Err(UnsupportedYaml),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        // Without tags, only a variant without content can be written.
        visitor.visit_enum(self.scalar()?.text().into_deserializer())
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.reader.skip_over(self.content)?;
        visitor.visit_unit()
    }

    // What these do not take, the complete parser may: a list is absent, for example.
    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct
        tuple tuple_struct
    }
}
