//! Texts in Dex's configuration, parsed like Dex does.

use crate::base::text::static_regex;

/// The meaning of a `$` to Dex, which expands environment variables like Go's `os.ExpandEnv`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DollarMeaning<'a> {
    /// `$NAME`: the value of an environment variable.
    Variable(&'a str),
    /// `$1`, `$$` and similar: expands to nothing.
    Vanishing(char),
}

/// Returns the variables that Dex expands in a text. `$` before other characters stays.
pub(super) fn dollars(text: &str) -> Vec<DollarMeaning<'_>> {
    let expanded = static_regex!(r"\$(?:([A-Za-z_][A-Za-z0-9_]*)|([0-9*#$@!?-]))");
    let found = expanded.captures_iter(text).filter_map(|found| match found.get(1) {
        Some(name) => Some(DollarMeaning::Variable(name.as_str())),
        None => found.get(2)?.as_str().chars().next().map(DollarMeaning::Vanishing),
    });
    found.collect()
}

/// Returns whether a text is exactly one environment variable.
pub(super) fn is_variable(text: &str) -> bool {
    text.strip_prefix('$').is_some_and(is_variable_name)
}

/// Returns whether a text is a valid name of an environment variable.
pub(super) fn is_variable_name(text: &str) -> bool {
    text.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
        && text.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
}

/// Returns whether a text is a URL with a password.
pub(super) fn has_password(text: &str) -> bool {
    let authority = text.split_once("://").and_then(|(_, rest)| rest.split(['/', '?', '#']).next());
    authority
        .and_then(|authority| authority.rsplit_once('@'))
        .is_some_and(|(user, _)| user.contains(':'))
}

/// Returns whether the name of a setting suggests a secret.
pub(super) fn sounds_secret(name: &str) -> bool {
    const ENDINGS: &str = "secret password passwd passphrase pw token credential apikey accesskey \
        secretkey privatekey";
    let name = name.to_ascii_lowercase().replace(['_', '-'], "");
    // Plurals such as `secrets` count as well.
    let one = name.strip_suffix('s').unwrap_or(&name);
    ENDINGS.split(' ').any(|ending| one.ends_with(ending))
}

/// Parses a duration in Go's syntax, such as `1h30m`, and returns seconds.
pub(super) fn duration(text: &str) -> Option<f64> {
    /// Maximum in seconds, because Go counts nanoseconds in 63 bits.
    const LONGEST: f64 = 9.2e9;
    let mut seconds = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let (number, after) = rest.split_at(rest.find(|c: char| c != '.' && !c.is_ascii_digit())?);
        let number: f64 = number.parse().ok()?;
        let end = after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let length = match unit {
            "ns" => 1e-9,
            "us" | "µs" | "μs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        seconds += number * length;
        rest = after;
    }
    (!text.is_empty() && seconds < LONGEST).then_some(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dollar_is_read_as_go_reads_it() {
        use DollarMeaning::*;
        for (text, expected) in [
            ("$NAME", vec![Variable("NAME")]),
            ("cn=$USER,dc=$DC.example", vec![Variable("USER"), Variable("DC")]),
            ("a$$b", vec![Vanishing('$')]),
            ("$1st", vec![Vanishing('1')]),
            ("$$NAME", vec![Vanishing('$')]),
            ("^x$", vec![]),
            ("(a$)", vec![]),
            ("5 $ or $ä", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(dollars(text), expected, "{text}");
        }
    }

    #[test]
    fn a_duration_is_read_as_go_reads_it() {
        for (text, expected) in [
            ("24h", Some(86400.0)),
            ("1h30m", Some(5400.0)),
            ("1.5m", Some(90.0)),
            (".5s", Some(0.5)),
            ("500ms", Some(0.5)),
            ("0s", Some(0.0)),
            ("", None),
            ("24", None),
            ("1d", None),
            ("-1h", None),
            ("h", None),
            (".h", None),
            ("1h 30m", None),
            ("1.2.3h", None),
            ("9999999999h", None),
        ] {
            assert_eq!(duration(text), expected, "{text}");
        }
    }

    #[test]
    fn what_sounds_like_a_secret_is_told_from_what_does_not() {
        for name in [
            "clientSecret",
            "bindPW",
            "keystonePassword",
            "api_key",
            "accessToken",
            "passwords",
            "clientSecretKey",
        ] {
            assert!(sounds_secret(name), "{name}");
        }
        for name in ["clientID", "tokenURL", "userIDKey", "groupsKey", "passwordPrompt"] {
            assert!(!sounds_secret(name), "{name}");
        }
    }
}
