//! Calendar dates, without time and zone.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::Deserialize;

use super::names::Invalid;

/// A date of the Gregorian calendar. Earlier dates are less than later ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String", extend("pattern" = "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$"))]
pub struct Date {
    year: u32,
    month: u32,
    day: u32,
}

impl Date {
    /// Returns the date in UTC, by the seconds since 1970.
    pub fn from_unix_seconds(seconds: u64) -> Self {
        let mut day = u32::try_from(seconds / 86_400).unwrap_or(u32::MAX);
        let mut year = 1970;
        // A clock that is set to a later year counts as the end of the range of four digits.
        while year < 9_999 && day >= days_of_year(year) {
            day -= days_of_year(year);
            year += 1;
        }
        let mut month = 1;
        while month < 12 && day >= days_of_month(year, month) {
            day -= days_of_month(year, month);
            month += 1;
        }
        let day = day.min(days_of_month(year, month) - 1) + 1;
        Self { year, month, day }
    }

    /// Returns the number of days from an earlier date; 0 from a later one.
    pub fn days_since(self, earlier: Self) -> u32 {
        self.number().saturating_sub(earlier.number())
    }

    /// Returns the number of days since the start of the year 0.
    fn number(self) -> u32 {
        let years: u32 = (0..self.year).map(days_of_year).sum();
        let months: u32 = (1..self.month)
            .map(|month| days_of_month(self.year, month))
            .sum();
        years + months + self.day
    }
}

fn is_leap_year(year: u32) -> bool {
    year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400)
}

fn days_of_year(year: u32) -> u32 {
    if is_leap_year(year) { 366 } else { 365 }
}

fn days_of_month(year: u32, month: u32) -> u32 {
    match month {
        2 if is_leap_year(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

impl FromStr for Date {
    type Err = Invalid;

    /// Parses `YYYY-MM-DD`.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        let number = |part: &str, digits: usize| {
            let is_number = part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| part.parse().ok()).flatten()
        };
        let parts: Vec<&str> = text.split('-').collect();
        let date = match parts.as_slice() {
            [year, month, day] => number(year, 4).zip(number(month, 2)).zip(number(day, 2)),
            _ => None,
        };
        date.filter(|((year, month), day)| {
            (1..=12).contains(month) && (1..=days_of_month(*year, *month)).contains(day)
        })
        .map(|((year, month), day)| Self { year, month, day })
        .ok_or_else(|| Invalid::because("is not a date"))
    }
}

impl TryFrom<String> for Date {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
            .map_err(|error: Invalid| format!("`{text}` {error}; write YYYY-MM-DD"))
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { year, month, day } = self;
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

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
            (u64::MAX, "9999-12-31"),
        ] {
            assert_eq!(Date::from_unix_seconds(seconds).to_string(), date);
        }
    }
}
