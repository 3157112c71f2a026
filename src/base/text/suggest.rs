//! Suggestions for unknown names ("did you mean").

/// The minimum Jaro-Winkler similarity of a suggestion, from 0 to 1.
const ALIKE: f64 = 0.85;

/// Returns the known name that was probably meant: one that differs in spelling only, otherwise the
/// most similar. Digits must be equal, because `rack-1` is not a typo for `rack-2`.
pub(crate) fn alike<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut nearest: Option<(f64, &str)> = None;
    for other in known {
        if is_spelled_like(name, other) {
            return Some(other);
        }
        let likeness =
            strsim::jaro_winkler(&name.to_ascii_lowercase(), &other.to_ascii_lowercase());
        if likeness >= ALIKE
            && digits(name).eq(digits(other))
            && nearest.is_none_or(|(most, _)| likeness > most)
        {
            nearest = Some((likeness, other));
        }
    }
    nearest.map(|(_, name)| name)
}

/// Returns the edit distance of two names, unless more than a quarter of a name would be wrong.
pub(crate) fn slips(name: &str, known: &str) -> Option<usize> {
    let distance =
        strsim::damerau_levenshtein(&name.to_ascii_lowercase(), &known.to_ascii_lowercase());
    (distance <= name.len().max(known.len()).div_ceil(4)).then_some(distance)
}

/// Returns whether two names differ only in case and separators.
pub(crate) fn is_spelled_like(one: &str, other: &str) -> bool {
    letters(one).eq(letters(other))
}

/// Returns the characters of a name in lower case, without separators.
pub(crate) fn letters(name: &str) -> impl Iterator<Item = char> {
    name.chars().filter(|c| !matches!(c, '-' | '_' | '.')).map(|c| c.to_ascii_lowercase())
}

fn digits(name: &str) -> impl Iterator<Item = char> {
    name.chars().filter(char::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_spelling_and_a_slip_of_the_finger_are_understood() {
        let known = ["control-plane", "worker"];
        for (written, meant) in [
            ("controlplane", "control-plane"),
            ("Control_Plane", "control-plane"),
            ("wroker", "worker"),
        ] {
            assert_eq!(alike(written, known), Some(meant));
        }
        assert_eq!(alike("gold", known), None);
    }

    #[test]
    fn another_number_is_another_name() {
        assert_eq!(alike("rack-1", ["rack-2"]), None);
        assert_eq!(alike("oam_ipv4", ["oam-ipv6", "oam-ipv4"]), Some("oam-ipv4"));
    }
}
