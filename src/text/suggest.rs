//! The name that somebody may have meant by another one.

/// How like two names are that may be meant for each other, from 0 to 1.
const ALIKE: f64 = 0.85;

/// The name that somebody may have meant: one that differs in its spelling only, or else the one most like it.
/// Numbers are not misspelt: nobody who writes `rack-1` means `rack-2`.
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

/// Whether two names differ only in case and in what stands between their words.
pub(crate) fn is_spelled_like(one: &str, other: &str) -> bool {
    letters(one).eq(letters(other))
}

/// What is left of a name without case and without what stands between its words.
pub(crate) fn letters(name: &str) -> impl Iterator<Item = char> {
    name.chars()
        .filter(|c| !matches!(c, '-' | '_' | '.'))
        .map(|c| c.to_ascii_lowercase())
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
        assert_eq!(
            alike("oam_ipv4", ["oam-ipv6", "oam-ipv4"]),
            Some("oam-ipv4")
        );
    }
}
