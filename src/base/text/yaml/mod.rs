//! Reads YAML, fast if it has the block style that kubectl, kustomize, sipgen and most people
//! write.
//!
//! The reader of this module knows only block mappings and sequences, scalars on one line, literal
//! block scalars (`|`), empty flow collections, and comments. At anything else it gives up, and
//! `yaml_serde` reads the document: at anchors, aliases, tags, flow style, tabs, CRLF, directives,
//! scalars on several lines, unusual escapes, and at all that is invalid or does not fit the type.
//! So it reports no errors, and its values are those of `yaml_serde`. The tests below and the fuzz
//! target `documents` compare the two.
//!
//! * `bounded`: limits for hostile documents.
//! * `marks`: the ends of spaces, lines and unquoted scalars.
//! * `reader`: tokens and structure.
//! * `scalar`: scalars and their values.
//! * `node`: nodes as the data model of serde.
//! * `value`: any value, read with tolerance and up to a limit.

pub(crate) mod bounded;
mod marks;
mod node;
mod reader;
mod scalar;
mod value;

use std::fmt;

use serde::de::{Deserialize, Error as _};
use yaml_serde::Value;

use self::node::YamlNode;
use self::reader::YamlReader;
pub(crate) use self::value::ValueReader;

/// Reads a document within the limits of [`bounded`].
///
/// # Errors
///
/// If it exceeds a limit, is not YAML, or does not fit the type.
pub(crate) fn from_str<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, yaml_serde::Error> {
    bounded::check_text(text).map_err(yaml_serde::Error::custom)?;
    // The block style has no aliases.
    if let Some(value) = in_block_style(text) {
        return Ok(value);
    }
    // What the type ignores may hide where the parser ends for any value.
    bounded::check_aliases(text).map_err(yaml_serde::Error::custom)??;
    yaml_serde::from_str(text)
}

/// Reads a document; `None` on errors.
pub(crate) fn parse<'de, T: Deserialize<'de>>(text: &'de str) -> Option<T> {
    from_str(text).ok()
}

/// Reads a document in block style; returns `None` if it takes the complete parser.
fn in_block_style<'de, T: Deserialize<'de>>(text: &'de str) -> Option<T> {
    if !has_usual_characters(text) {
        return None;
    }
    let mut reader = YamlReader::new(text);
    let content = reader.root().ok()?;
    let value = T::deserialize(YamlNode::new(&mut reader, content)).ok()?;
    reader.is_done().then_some(value)
}

/// Returns a scalar of any type as text.
pub(crate) fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}

/// Returns whether a text has only characters that YAML allows anywhere, and no line breaks except
/// LF.
pub(crate) fn has_usual_characters(text: &str) -> bool {
    is_printable_ascii(text.as_bytes())
        || text.chars().all(|char| {
            matches!(char, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
                && !matches!(char, '\u{2028}' | '\u{2029}' | '\u{feff}')
        })
}

/// Returns whether a text has only printable ASCII characters and LF. All bytes of a chunk are compared
/// at once, because every inventory passes through here.
fn is_printable_ascii(text: &[u8]) -> bool {
    let are_printable = |bytes: &[u8]| {
        bytes.iter().fold(true, |all, byte| all & matches!(byte, b' '..=b'~' | b'\n'))
    };
    let (chunks, rest) = text.as_chunks::<64>();
    chunks.iter().all(|chunk| are_printable(chunk)) && are_printable(rest)
}

/// The reason to give up. It says nothing, because the complete parser reports errors.
#[derive(Debug, thiserror::Error)]
#[error("this takes the complete parser")]
struct UnsupportedYaml;

impl serde::de::Error for UnsupportedYaml {
    fn custom<T: fmt::Display>(_: T) -> Self {
        UnsupportedYaml
    }
}

type Result<T, E = UnsupportedYaml> = std::result::Result<T, E>;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use yaml_serde::Value;

    use super::reader::{DEEPEST, LONGEST_KEY};
    use super::*;
    use crate::base::api::host::BareMetalHost;

    /// Reads a text, and checks that the complete parser reads the same.
    fn read(text: &str) -> Option<Value> {
        let read = in_block_style::<Value>(text);
        if let Some(read) = &read {
            let parsed = yaml_serde::from_str::<Value>(text);
            assert_eq!(Some(read), parsed.as_ref().ok(), "{text:?}: {parsed:?}");
        }
        // A type that skips most fields, and texts that are numbers in the other type.
        if let Some(host) = in_block_style::<BareMetalHost>(text) {
            let parsed = yaml_serde::from_str::<BareMetalHost>(text);
            assert_eq!(
                format!("{host:?}"),
                parsed.map_or_else(|error| error.to_string(), |host| format!("{host:?}")),
                "{text:?}"
            );
        }
        read
    }

    #[test]
    fn unusual_characters_are_seen_at_every_place() {
        for char in ('\0'..='\u{ff}').chain(['\u{2028}', '\u{feff}', '\u{fffe}', '\u{10000}']) {
            let is_usual = match char {
                '\u{2028}' | '\u{feff}' | '\u{fffe}' => false,
                _ => char == '\n' || !char.is_control(),
            };
            for place in 0..=17 {
                let text = format!("{}{char}{}", "~".repeat(place), " ".repeat(17 - place));
                assert_eq!(has_usual_characters(&text), is_usual, "{char:?} at {place}");
            }
        }
    }

    #[test]
    fn block_style_is_read() {
        for text in [
            "a: b\n",
            "---\na: b",
            "--- # comment\n\n# comment\n  a: b\n  c:\n",
            "- a\n- b: c\n  d: e\n-\n- - f\n  - g\n",
            "a:\n- b\n- c: d\ne:\n  - f\ng: {} # none\nh: []\ni: # nothing\nj:\n  k: l\n",
            "a: 1\nb: -1\nc: 0x1F\nd: 007\ne: 1.5\nf: .inf\ng: 1e3\nh: +1\ni: 1_000\nj: 18446744073709551615\n",
            "a: null\nb: ~\nc: True\nd: yes\ne: '1'\nf: \"true\"\ng: 2024-01-01T00:00:00Z\nh: 52:54:00:12:34:56\n",
            "a: 'it''s'\nb: \"x\\\"y\\\\z\\n\"\nc: ''\nd: a#b\ne: a:b\n'f g' : h\n\"i\": j\nk l: m\n",
            "a: |\n  x\n\n   y\n  # z\nb: |-\n    x\n\n\n# comment\nc: |+\n  x\n\nd: e\n",
            "- |\n  x",
            "f:metadata:\n  .: {}\n  f:labels: {}\n  k:{\"uid\":\"x\"}: {}\n",
            "ä: 'ö'\n",
            "a: b # a comment that is longer than sixty-four bytes, which are searched at once\nc: d #",
            "key of a mapping that is longer than sixty-four bytes, searched at once : # c\n  - a:b#c: d\n",
            "metadata:\n  name: 007\n  labels:\n    a: 1\n    b: true\n  annotations:\nspec:\n  bmc:\n",
        ] {
            assert!(read(text).is_some(), "{text:?}");
        }
    }

    #[test]
    fn the_rest_takes_the_complete_parser() {
        for text in [
            "",
            "\n",
            "# comment\n",
            "a",
            "'a'",
            "|\n a\n",
            "a: b\n---\n",
            "a: b\n...\n",
            "%YAML 1.2\n---\na: b\n",
            "a: &b c\n",
            "a: *b\n",
            "a: !!str b\n",
            "a: [b]\n",
            "a: {b: c}\n",
            "{a: b}\n",
            "? a\n: b\n",
            "a: b\r\n",
            "a:\tb\n",
            "a: b\n\tc: d\n",
            "a: b\n  c\n",
            "a:\n  b\n",
            "a: 'b\n  c'\n",
            "a: \"\\x41\"\n",
            "a: >\n  b\n",
            "a: |2\n   b\n",
            "a: b: c\n",
            "a: b:\n",
            "a:\n    b: c\n  d: e\n",
            "a: - b\n",
            "a: @b\n",
            "a: `b\n",
            "a: b\n- c\n",
            "- a\nb: c\n",
            "a: 'b'c\n",
            "a: b\na: c\n",
            "\u{feff}a: b\n",
            "a: \u{85}\n",
            "a: \u{7}\n",
            "a: \"b\" #c\n d",
            ": a\n",
            "a: 'b' c: d\n",
        ] {
            assert_eq!(read(text), None, "{text:?}");
        }
    }

    #[test]
    fn nesting_is_limited() {
        let nested = |depth: usize| format!("{}a: b\n", "- ".repeat(depth));
        assert!(read(&nested(DEEPEST - 1)).is_some());
        assert!(in_block_style::<Value>(&nested(100_000)).is_none());
        assert!(in_block_style::<serde::de::IgnoredAny>(&nested(100_000)).is_none());
    }

    #[test]
    fn long_keys_take_the_complete_parser() {
        for key in ["a".repeat(LONGEST_KEY + 1), format!("'{}'", "a".repeat(LONGEST_KEY))] {
            assert_eq!(read(&format!("{key}: b\n")), None);
        }
    }

    /// Lines of YAML, mostly of the usual style.
    fn texts() -> impl Strategy<Value = String> {
        let indent = (0..4_usize).prop_map(|depth| " ".repeat(depth));
        let tokens = prop::sample::select(vec![
            "a",
            "b",
            "kind",
            "metadata",
            "labels",
            "name",
            "spec",
            ":",
            ": ",
            ": ",
            ": ",
            "- ",
            "- ",
            "-",
            " ",
            "#",
            " #",
            "'",
            "\"",
            "\\",
            "''",
            "|",
            "|-",
            "|+",
            ">",
            "{}",
            "[]",
            "{",
            "}",
            "[",
            "]",
            ",",
            "&a",
            "*a",
            "!t",
            "1",
            "0",
            "-1",
            ".",
            "18446744073709551616",
            "~",
            "null",
            "true",
            "?",
            "%",
            "@",
            "---",
            "...",
            "<<",
            "ä",
            "\u{2028}",
            "\t",
            "\r",
        ]);
        let usual = prop::sample::select(vec![
            "a: b",
            "b:",
            "c: 1",
            "- a",
            "- b: c",
            "-",
            "- - d",
            "e: |",
            "f: 'x'",
            "g: \"y\"",
            "# c",
            "",
            "h: {}",
            "x",
            "labels:",
            "metadata:",
            "name: z",
            "---",
        ]);
        let line = prop_oneof![
            3 => usual.prop_map(str::to_owned),
            1 => prop::collection::vec(tokens, 0..6).prop_map(|tokens| tokens.concat()),
        ];
        let lines = prop::collection::vec((indent, line), 0..10);
        let end = prop::sample::select(vec!["\n", ""]);
        // Comments shift the lines, because the reader looks at 64 bytes at once.
        let comment = prop_oneof![
            Just(String::new()),
            (0..70_usize).prop_map(|length| format!("#{}\n", "c".repeat(length))),
        ];
        (comment, lines, end).prop_map(|(comment, lines, end)| {
            let lines: Vec<String> =
                lines.into_iter().map(|(indent, line)| format!("{indent}{line}")).collect();
            comment + &lines.join("\n") + end
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 20_000,
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn the_complete_parser_agrees(text in texts()) {
            read(&text);
        }
    }
}
