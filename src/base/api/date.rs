//! Calendar dates, without time and zone.

use std::str::FromStr;

use derive_more::Display;
use jiff::civil;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Unit};
use schemars::JsonSchema;
use serde::Deserialize;

use super::names::{Invalid, try_from_string};

/// A date of the Gregorian calendar. Earlier dates are less than later ones.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, JsonSchema, Display,
)]
#[serde(try_from = "String")]
#[schemars(with = "String", extend("pattern" = "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$"))]
pub struct Date(civil::Date);

impl Date {
    /// Returns the date in UTC, by the seconds since 1970.
    pub fn from_unix_seconds(seconds: u64) -> Self {
        let time =
            i64::try_from(seconds).ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
        Self(time.unwrap_or(Timestamp::MAX).to_zoned(TimeZone::UTC).date())
    }

    /// Returns the number of days from an earlier date; 0 from a later one.
    pub fn days_since(self, earlier: Self) -> u32 {
        let span = self.0.since((Unit::Day, earlier.0));
        span.map_or(0, |span| u32::try_from(span.get_days()).unwrap_or_default())
    }
}

impl FromStr for Date {
    type Err = Invalid;

    /// Parses `YYYY-MM-DD`.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        let date: Option<civil::Date> = text.parse().ok();
        let date = date.filter(|date| date.to_string() == text);
        Ok(Self(date.ok_or("is not a date; write YYYY-MM-DD")?))
    }
}

try_from_string!(Date);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_between_dates_are_those_of_the_calendar() {
        let date = |text: &str| text.parse::<Date>().unwrap();
        for (later, earlier, days) in [
            ("2026-03-01", "2026-02-28", 1),
            ("2024-03-01", "2024-02-28", 2),
            ("2027-01-01", "2026-01-01", 365),
            ("2026-01-01", "2026-01-01", 0),
            ("2026-01-01", "2026-01-02", 0),
        ] {
            assert_eq!(date(later).days_since(date(earlier)), days, "{later}");
        }
    }

    #[test]
    fn only_days_of_the_calendar_are_dates() {
        for good in ["2026-12-24", "2028-02-29", "2000-02-29"] {
            assert_eq!(good.parse::<Date>().unwrap().to_string(), good);
        }
        for bad in [
            "2026-02-29",
            "2100-02-29",
            "2026-13-01",
            "2026-00-01",
            "2026-04-31",
            "2026-1-1",
            "24.12.2026",
            "",
            "2026-12-24T00:00:00Z",
            "+026-12-24",
        ] {
            assert!(bad.parse::<Date>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn seconds_since_1970_are_a_date_in_utc() {
        for (seconds, date) in [
            (0, "1970-01-01"),
            (86_399, "1970-01-01"),
            (951_782_400, "2000-02-29"),
            (1_798_070_400, "2026-12-24"),
            (1_798_761_599, "2026-12-31"),
            (u64::MAX, "9999-12-30"),
        ] {
            assert_eq!(Date::from_unix_seconds(seconds).to_string(), date);
        }
    }
}
