//! Escapes invisible characters, so that a name cannot control a terminal, a log or a CI runner.

use std::borrow::Cow;
use std::fmt::{Display, Write};

use super::static_regex;

/// Returns whether a character is invisible or controls its output: control characters (C0, DEL,
/// C1), line and paragraph separators, bidirectional controls, characters without a glyph, and
/// noncharacters.
pub(crate) fn is_hidden(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    let code = u32::from(c);
    c.is_control()
        // The last two code points of every plane are noncharacters.
        || code & 0xfffe == 0xfffe
        || matches!(code,
            // Soft hyphen, grapheme joiner, prefixes of Arabic, Syriac and other numbers, Hangul
            // fillers, Khmer vowels without a sound, Mongolian selectors.
            0xad | 0x34f | 0x600..=0x605 | 0x61c | 0x6dd | 0x70f | 0x890..=0x891 | 0x8e2 | 0x115f..=0x1160
            | 0x17b4..=0x17b5 | 0x180b..=0x180f
            // Zero-width and bidirectional characters, separators, invisible operators.
            | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f
            // Braille blank, Hangul filler, noncharacters, variation selectors, byte order mark,
            // half-width Hangul filler, annotations, object replacement character.
            | 0x2800 | 0x3164 | 0xfdd0..=0xfdef | 0xfe00..=0xfe0f | 0xfeff | 0xffa0 | 0xfff0..=0xfffc
            // Controls for Kaithi numbers, Egyptian hieroglyphs, shorthand and musical notation.
            | 0x110bd | 0x110cd | 0x13430..=0x1343f | 0x1bca0..=0x1bca3 | 0x1d173..=0x1d17a
            // Tags and further variation selectors.
            | 0xe0000..=0xe0fff)
}

/// Returns the text on one line, with hidden characters escaped.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, is_hidden, char::escape_default)
}

/// Escapes some characters of a text.
pub(crate) fn escaped<E: Display>(
    text: &str,
    is_escaped: impl Fn(char) -> bool,
    escape: impl Fn(char) -> E,
) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_escaped(c) {
            // Writing to a String cannot fail.
            let _ = write!(out, "{}", escape(c));
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Appends a line with CI commands escaped: GitHub's `::name::` and GitLab's `section_start:` at
/// the start of a line, even after whitespace, and `##[name]` and Azure's `##vso[name]` anywhere.
///
/// `lead` returns whether a character is ignored at the start of a line.
pub(crate) fn push_without_commands(out: &mut String, line: &str, lead: impl Fn(char) -> bool) {
    let body = line.trim_start_matches(|c: char| c.is_whitespace() || lead(c));
    out.push_str(&line[..line.len() - body.len()]);
    // One escaped colon or `#` is enough to break a command.
    let at_start = static_regex!("^(?:(section_(?:start|end)):|:(:))");
    let body = at_start.replace(body, r"$1\u{3a}$2");
    let named = static_regex!(r"##([A-Za-z0-9-]*\[)");
    out.push_str(&named.replace_all(&body, r"#\u{23}$1"));
}

/// Escapes hidden characters in JSON, and the second `#` of a CI command.
///
/// Outside of texts, the only hidden characters in JSON are the line feeds of a pretty-printer.
pub(crate) fn visible_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut units = [0; 2];
    let mut before = ' ';
    for c in json.chars() {
        if c != '\n' && is_hidden(c) || c == '#' && before == '#' {
            for unit in c.encode_utf16(&mut units) {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
        before = c;
    }
    out
}

/// Returns JSON as YAML that every parser reads alike. Some parsers end a line at U+0085 or U+2028,
/// reject unprintable characters, or read an escaped surrogate pair as two characters.
pub(crate) fn json_as_yaml(json: &str) -> Cow<'_, str> {
    let escape = |c: char| match u32::from(c) {
        code @ 0x10000.. => format!("\\U{code:08x}"),
        code => format!("\\u{code:04x}"),
    };
    escaped(json, |c| c != '\n' && is_hidden(c), escape)
}

/// Returns a text as a quoted YAML scalar that every parser reads as this text.
pub(crate) fn yaml_text(text: &str) -> String {
    let mut out = String::new();
    push_yaml_text(&mut out, text);
    out
}

/// Appends a text as a quoted YAML scalar that every parser reads as this text.
pub(crate) fn push_yaml_text(out: &mut String, text: &str) {
    // Most texts need no escapes, and every label of every host passes here.
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    if text.bytes().all(is_plain) {
        out.extend(["\"", text, "\""]);
    } else {
        out.push_str(&json_as_yaml(&serde_json::Value::from(text).to_string()));
    }
}

/// Returns whether a character in a file makes YAML parsers reject it or read something else.
pub(crate) fn is_unreadable(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t')
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without_commands(line: &str) -> String {
        let mut out = String::new();
        push_without_commands(&mut out, line, |_| false);
        out
    }

    #[test]
    fn hidden_characters_become_escapes() {
        for (text, expected) in [
            ("plain größe 机架 é", "plain größe 机架 é"),
            ("a\nb\r\tc\0", "a\\nb\\r\\tc\\u{0}"),
            (
                "\u{1b}]8;;http://x\u{7}y\u{7f}\u{85}\u{9b}1m",
                "\\u{1b}]8;;http://x\\u{7}y\\u{7f}\\u{85}\\u{9b}1m",
            ),
            ("a\u{202e}b\u{2066}c\u{2028}d\u{2029}", "a\\u{202e}b\\u{2066}c\\u{2028}d\\u{2029}"),
            (
                "\u{200b}\u{ad}\u{feff}\u{2060}\u{e0041}",
                "\\u{200b}\\u{ad}\\u{feff}\\u{2060}\\u{e0041}",
            ),
            (
                "\u{fffe}\u{ffff}\u{1fffe}\u{fdd1}\u{fffd}",
                "\\u{fffe}\\u{ffff}\\u{1fffe}\\u{fdd1}\u{fffd}",
            ),
        ] {
            assert_eq!(visible(text), expected, "{text:?}");
        }
    }

    #[test]
    fn no_line_is_a_command_of_a_runner() {
        for (line, expected) in [
            ("::error::x", "\\u{3a}:error::x"),
            (
                " \u{a0}\u{3000}::set-output name=a::b",
                " \u{a0}\u{3000}\\u{3a}:set-output name=a::b",
            ),
            (
                "a ##[error]x ##vso[task.setvariable]",
                "a #\\u{23}[error]x #\\u{23}vso[task.setvariable]",
            ),
            ("###[group]", "##\\u{23}[group]"),
            ("  section_start:1:a", "  section_start\\u{3a}1:a"),
            ("## heading ##", "## heading ##"),
            ("2001:db8::1 ::", "2001:db8::1 ::"),
        ] {
            assert_eq!(without_commands(line), expected, "{line:?}");
        }
    }

    #[test]
    fn yaml_says_the_same_without_hidden_characters() {
        let text = "a\u{85}b\u{2028}\u{feff}\u{ffff}\u{7f}\u{e0041}\u{10ffff}\u{1b}\n\"\\机";
        let yaml = yaml_text(text);

        assert!(!yaml.contains(is_hidden) && !yaml.contains("\\ud"), "{yaml}");
        assert_eq!(yaml_serde::from_str::<String>(&yaml).unwrap(), text);
    }

    #[test]
    fn json_says_the_same_without_hidden_characters() {
        let text = "::a ##[b]\u{85}\u{202e}\u{e0041}\u{10ffff}\u{7f}###[c]";
        let json = visible_json(&serde_json::to_string(text).unwrap());

        assert!(!json.contains(is_hidden) && !json.contains("##"), "{json}");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
    }
}
