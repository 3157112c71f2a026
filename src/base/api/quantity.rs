//! Parses Kubernetes quantities of bytes.
//!
//! `kube_quantity` computes with 28 decimal digits. A quantity may have more, and larger ones than
//! fit are valid for the API server, which caps them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::text::static_regex;

/// A quantity or version as written, even if it looks like a number. The YAML parser returns the
/// source text of a scalar where a text is expected.
// Each field of this type has its own description.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(with = "serde_json::Value", inline, description = "", extend(
    "x-kubernetes-int-or-string" = true,
    "x-editor" = {"type": ["string", "number", "null"]}
))]
pub struct WrittenText(pub String);

/// Suffixes of quantities, each of 1,024 times the one before it.
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
/// Suffixes of quantities, each of 1,000 times the one before it. The first is a billionth.
const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];

/// A Kubernetes quantity that is not negative, or an empty text.
pub(super) const QUANTITY_PATTERN: &str =
    "^([+]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][-+]?[0-9]+)?)?$";

/// Maximum number of digits in a number. More would overflow.
const MOST_DIGITS: usize = 18;

/// Parses a quantity of bytes (`16Gi`, `17179869184`, `1e3`, `1.5G`, `128974848000m`) to mebibytes,
/// rounded up. `None` for an invalid or negative quantity. The grammar is that of
/// `resource.Quantity`.
pub(crate) fn mebibytes(text: &str) -> Option<u64> {
    in_units(text, 1 << 20)
}

/// Parses a quantity of bytes, rounded up; see [`mebibytes`].
pub(crate) fn bytes(text: &str) -> Option<u64> {
    in_units(text, 1)
}

fn in_units(text: &str, unit: u128) -> Option<u64> {
    let found = static_regex!(QUANTITY_PATTERN).captures(text)?;
    let number = found.get(2)?.as_str();
    let suffix = found.get(3).map_or("", |suffix| suffix.as_str());
    let exponent = |suffixes: &[&str], per_step: i32| {
        let steps = suffixes.iter().position(|known| *known == suffix)?;
        Some(per_step * i32::try_from(steps).ok()?)
    };
    let written = suffix.strip_prefix(['e', 'E']).filter(|rest| !matches!(*rest, "" | "i"));
    let (base, power): (u128, _) = match written {
        Some(exponent) => (10, exponent.parse::<i32>().ok()?),
        None => match (exponent(&BINARY, 10), exponent(&DECIMAL, 3)) {
            (Some(exponent), _) => (2, exponent),
            // The first one is a billionth.
            (None, exponent) => (10, exponent? - 9),
        },
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{whole}{fraction}");
    if digits.len() > MOST_DIGITS {
        return None;
    }
    let mut numerator: u128 = digits.parse().ok()?;
    let mut denominator =
        10_u128.checked_pow(u32::try_from(fraction.len()).ok()?)?.checked_mul(unit)?;
    let factor = base.checked_pow(power.unsigned_abs());
    if power >= 0 {
        numerator = if numerator == 0 { 0 } else { numerator.checked_mul(factor?)? };
    } else {
        // A divisor beyond the range of numbers makes the result almost zero.
        denominator =
            factor.and_then(|factor| denominator.checked_mul(factor)).unwrap_or(u128::MAX);
    }
    u64::try_from(numerator.div_ceil(denominator)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantity_is_read_as_kubernetes_reads_it_and_rounded_up() {
        for (text, expected) in [
            ("16Gi", 16384),
            ("1Ei", 1 << 40),
            ("17179869184", 16384),
            ("17179869185", 16385),
            ("1e3", 1),
            ("1E9", 954),
            ("1e-3", 1),
            ("128974848000m", 123),
            ("1.5Gi", 1536),
            (".5Gi", 512),
            ("5.Gi", 5120),
            ("+2Mi", 2),
            ("64G", 61036),
            ("1Ti", 1_048_576),
            ("1E", 953_674_316_407),
            ("1n", 1),
            ("0", 0),
            ("0e99", 0),
            ("1e-99", 1),
        ] {
            assert_eq!(mebibytes(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_quantity_is_none() {
        for text in [
            "",
            "not-a-quantity",
            "-1Gi",
            "16 Gi",
            "16gi",
            "16GiB",
            "16Gb",
            "Gi",
            ".",
            "1.2.3",
            "1e",
            "1e3Gi",
            "1e99",
            "0x10",
            "1_000",
            "１６Gi",
            "9999999999999999999",
            "--1",
            "1-",
            "e3",
            "1e1.5",
        ] {
            assert_eq!(mebibytes(text), None, "{text}");
        }
    }
}
