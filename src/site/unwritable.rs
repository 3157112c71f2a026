//! Texts that must not reach a file, whatever field of a request they stand in. Not even a part of them is shown.

use yaml_serde::Value;

use crate::api::sipcluster;
use crate::finding::{Code, Finding};
use crate::layout;
use crate::source::{Origin, Step};

/// What is wrong with the texts of the spec of a kind.
pub(super) fn unwritable(spec: &Value, kind: &str, origin: &Origin) -> Vec<Finding> {
    let mut found = Vec::new();
    collect(spec, &mut vec!["spec".into()], &mut |text, route| {
        let finding = |(code, message, help)| Finding::new(code, message).at(origin.at(route.to_vec())).help(help);
        found.extend(reason(text, kind).map(finding));
    });
    found
}

fn reason(text: &str, kind: &str) -> Option<(Code, &'static str, &'static str)> {
    if text.contains(layout::VARIABLE) {
        Some((
            Code::VariableInText,
            "the text has `${` in it, and Flux would put a variable there",
            if kind == sipcluster::KIND {
                "sipgen knows no variables: write the value itself; or in a connector's settings `$NAME`, for a \
                 variable of Dex's"
            } else {
                "sipgen knows no variables: write the value itself"
            },
        ))
    } else if text.contains("PRIVATE KEY-----") {
        Some((
            Code::SecretInGit,
            "a private key does not belong into git",
            "put it into a Secret of the base cluster, and name that; make a new key if this one was pushed",
        ))
    } else if text.contains(is_invisible) {
        Some((
            Code::InvisibleCharacter,
            "the text has a character that cannot be seen, and that not every reader of YAML takes",
            "write the text anew by hand; such characters come along when it is copied",
        ))
    } else {
        None
    }
}

fn is_invisible(c: char) -> bool {
    // The last two ranges turn the direction of what follows, so that it shows in another order than it is read.
    let turns = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() && !matches!(c, '\n' | '\r' | '\t') || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}') || turns
}

/// Hands over every text, the keys of mappings included, with the route to it.
fn collect(value: &Value, route: &mut Vec<Step>, take: &mut impl FnMut(&str, &[Step])) {
    match value {
        Value::String(text) => take(text, route),
        Value::Mapping(map) => {
            for (key, value) in map {
                let Some(key) = key.as_str() else { continue };
                route.push(key.into());
                take(key, route);
                collect(value, route, take);
                route.pop();
            }
        }
        Value::Sequence(items) => {
            for (index, item) in items.iter().enumerate() {
                route.push(index.into());
                collect(item, route, take);
                route.pop();
            }
        }
        _ => {}
    }
}
