//! Unquoted scalars that other programs may read as another type than text.

use std::cell::OnceCell;

use super::document::{Document, DocumentContent};
use super::nodes::{DocumentNodes, EntryRange};
use crate::base::finding::position::RouteStep;
use crate::base::text::static_regex;

/// The type of a plain scalar in programs that follow YAML 1.1, or Go's mixture of YAML 1.1 and
/// 1.2: kubectl, kustomize and the agents that embed them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, derive_more::Display)]
pub(crate) enum OtherReading {
    /// `yes`, `off`: a boolean to kubectl, a text to kustomize.
    #[display("a boolean")]
    Switch,
    /// `true`, `False`.
    #[display("a boolean")]
    Boolean,
    /// `008`, `1e3`, `1_000`, `0x1F`.
    #[display("a number")]
    Number,
    /// `null`, `~`.
    #[display("null")]
    Null,
    /// `2021-01-01`: a timestamp to kustomize.
    #[display("a date")]
    Date,
}

/// Returns the type that other programs read for an unquoted text; `None` if they read the text.
pub(crate) fn read_by_others(text: &str) -> Option<OtherReading> {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" | "n" | "N" | "no" | "No" | "NO"
        | "off" | "Off" | "OFF" => Some(OtherReading::Switch),
        "true" | "True" | "TRUE" | "false" | "False" | "FALSE" => Some(OtherReading::Boolean),
        "~" | "null" | "Null" | "NULL" => Some(OtherReading::Null),
        _ if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.')) => {
            None
        }
        _ if is_number(text) => Some(OtherReading::Number),
        _ if is_date(text) => Some(OtherReading::Date),
        _ => None,
    }
}

/// Returns whether Go's YAML parser reads a number. It ignores underscores, and a prefix such as
/// `0x` sets the base.
fn is_number(text: &str) -> bool {
    let compact = text.replace('_', "");
    let unsigned = compact.strip_prefix(['+', '-']).unwrap_or(&compact);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF" | ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    let based = |prefixes: [&str; 2], base: u32| {
        let digits = prefixes.iter().find_map(|prefix| unsigned.strip_prefix(prefix));
        digits.is_some_and(|digits| {
            // `from_str_radix` accepts a sign.
            u64::from_str_radix(digits, base).is_ok() && !digits.starts_with('+')
        })
    };
    let is_decimal = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && unsigned
            .bytes()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-'))
        && unsigned.parse::<f64>().is_ok_and(f64::is_finite);
    is_decimal || based(["0x", "0X"], 16) || based(["0b", "0B"], 2) || based(["0o", "0O"], 8)
}

/// Returns whether a text is a date such as `2021-01-31`.
fn is_date(text: &str) -> bool {
    let date = static_regex!("^[0-9]{4}-(?:0?[1-9]|1[0-2])-(?:0?[1-9]|[12][0-9]|3[01])$");
    date.is_match(text) && !text.starts_with("0000")
}

/// Returns whether YAML 1.1, as in Python and Ruby, reads an unquoted text as a base-60 number. One
/// example is the MAC address `52:54:00:12:34:56`.
pub(crate) fn is_of_base_60(text: &str) -> bool {
    // YAML 1.1 allows underscores as well.
    static_regex!("^[1-9][0-9]*(?::[0-5]?[0-9])+$").is_match(text)
}

/// The unquoted scalars of a document. The text is parsed at most once.
pub(crate) struct PlainScalars<'d> {
    document: &'d Document<'d>,
    nodes: OnceCell<Option<DocumentNodes>>,
}

impl<'d> PlainScalars<'d> {
    /// Returns the unquoted scalars of a document.
    pub(crate) fn new(document: &'d Document<'d>) -> Self {
        Self { document, nodes: OnceCell::new() }
    }

    /// Returns whether the scalar at a route of keys is this text without quotes.
    pub(crate) fn has(&self, route: &[&str], text: &str) -> bool {
        if route.last().is_some_and(|key| self.always_quotes(key)) {
            return false;
        }
        let steps: Vec<RouteStep> = route.iter().map(|key| RouteStep::from(*key)).collect();
        self.has_at(&steps, text)
    }

    /// Returns whether the scalar at a route is this text without quotes.
    pub(crate) fn has_at(&self, route: &[RouteStep], text: &str) -> bool {
        let value = self.find(route).and_then(|found| self.document.text().get(found.value?));
        value.is_some_and(|value| value.trim_end() == text)
    }

    /// Returns whether the key at the end of a route is unquoted.
    pub(crate) fn has_key(&self, route: &[RouteStep]) -> bool {
        let key = self.find(route).and_then(|found| self.document.text().get(found.key?));
        key.is_some_and(|key| !key.starts_with(['"', '\'']))
    }

    /// Returns whether a quote follows the key wherever it stands. Most documents need no parser.
    fn always_quotes(&self, key: &str) -> bool {
        let text = self.document.text();
        let is_quoted = |rest: &str| {
            let rest = rest.trim_start_matches(['"', '\'']).trim_start();
            let value = rest.strip_prefix(':').map(str::trim_start);
            value.is_none_or(|value| value.starts_with(['"', '\'']))
        };
        text.contains(key) && text.split(key).skip(1).all(is_quoted)
    }

    fn find(&self, route: &[RouteStep]) -> Option<EntryRange> {
        // JSON quotes every text.
        if matches!(self.document.content, DocumentContent::Json) {
            return None;
        }
        let text = self.document.text();
        let nodes = self.nodes.get_or_init(|| DocumentNodes::parse(text)).as_ref()?;
        let found = nodes.find(text, self.document.origin.shape, route)?;
        (found.depth == route.len()).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use camino::Utf8Path;

    use super::*;
    use crate::input::load::file_objects::objects;

    #[test]
    fn others_read_what_kubectl_and_kustomize_were_seen_to_read() {
        for (text, expected) in [
            ("yes", Some(OtherReading::Switch)),
            ("Off", Some(OtherReading::Switch)),
            ("n", Some(OtherReading::Switch)),
            ("TRUE", Some(OtherReading::Boolean)),
            ("~", Some(OtherReading::Null)),
            ("008", Some(OtherReading::Number)),
            ("1e3", Some(OtherReading::Number)),
            ("1_000", Some(OtherReading::Number)),
            ("1_", Some(OtherReading::Number)),
            ("0x1F", Some(OtherReading::Number)),
            ("0b11", Some(OtherReading::Number)),
            ("0o17", Some(OtherReading::Number)),
            ("-.5", Some(OtherReading::Number)),
            ("5.", Some(OtherReading::Number)),
            ("+1", Some(OtherReading::Number)),
            ("18446744073709551616", Some(OtherReading::Number)),
            (".inf", Some(OtherReading::Number)),
            ("2021-01-31", Some(OtherReading::Date)),
            ("yEs", None),
            ("1e1000", None),
            ("0x", None),
            ("0b12", None),
            ("_1", None),
            ("1.2.3", None),
            ("123e", None),
            ("12:30", None),
            ("a3", None),
            ("inf", None),
            ("-", None),
            ("2021-13-01", None),
            ("", None),
        ] {
            assert_eq!(read_by_others(text), expected, "{text}");
        }
    }

    #[test]
    fn only_digits_below_sixty_are_of_base_60() {
        assert!(is_of_base_60("52:54:00:12:34:56"));
        for text in [
            "00:00:5e:00:53:15",
            "08:00:27:12:34:56",
            "52:54:00:12:34:60",
            "52",
            "52:",
            "",
            "52:5a",
        ] {
            assert!(!is_of_base_60(text), "{text}");
        }
    }

    #[test]
    fn quotes_are_seen_however_the_document_is_written() {
        for (text, expected) in [
            ("kind: A\nmetadata:\n  labels:\n    rack: 008\n", true),
            ("kind: A\nmetadata:\n  labels:\n    \"rack\": 008 # of old\r\n", true),
            ("kind: A\nmetadata:\n  labels: {rack: 008}\n", true),
            ("metadata:\n  labels: &l\n    rack: 008\nkind: A\nx: *l\n", true),
            ("kind: List\nitems:\n- kind: A\n  metadata:\n    labels:\n      rack: 008\n", true),
            ("kind: List\nitems: [{kind: A, metadata: {labels: {rack: 008}}}]\n", true),
            ("kind: A\nmetadata:\n  labels:\n    rack: \"008\"\n", false),
            ("kind: A\nmetadata:\n  labels:\n    rack: '008'\n    other: 008\n", false),
            (
                "kind: A\nmetadata:\n  annotations:\n    rack: 008\n  labels:\n    rack: \"008\"\n",
                false,
            ),
            ("kind: A\nmetadata:\n  labels: {rack: \"008\"}\n", false),
            ("{\"kind\": \"A\", \"metadata\": {\"labels\": {\"rack\": \"008\"}}}", false),
            ("kind: A\nmetadata:\n  labels:\n    rack: 0080\n", false),
        ] {
            let documents = objects(&Arc::from(Utf8Path::new("f.yaml")), text);
            let plain = PlainScalars::new(&documents[0]);
            assert_eq!(plain.has(&["metadata", "labels", "rack"], "008"), expected, "{text}");
        }
    }
}
