//! Sizes and durations as people write them.
//!
//! Every number carries its unit, the units are powers of 1024 or of time, and what is shown reads
//! back as the same value.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A number of bytes, written `256MiB`, `25KiB` or `512B`.
///
/// # Examples
///
/// ```
/// use bailiwick_policy::ByteSize;
///
/// assert_eq!("25KiB".parse::<ByteSize>()?.bytes(), 25 * 1024);
/// assert_eq!(ByteSize::new(1 << 20).to_string(), "1MiB");
/// assert!("25KB".parse::<ByteSize>().is_err());
/// # Ok::<(), bailiwick_policy::UnitError>(())
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ByteSize(u64);

impl ByteSize {
    /// Returns a size of `bytes` bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Returns the number of bytes.
    pub const fn bytes(self) -> u64 {
        self.0
    }
}

impl FromStr for ByteSize {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        quantity(text, &SIZES, "a size such as `256MiB`").map(Self)
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&show(self.0, &SIZES, &SIZES[0]))
    }
}

/// A span of time, written `30s`, `250ms`, `5m` or `1h`.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use bailiwick_policy::TimeSpan;
///
/// assert_eq!("250ms".parse::<TimeSpan>()?.duration(), Duration::from_millis(250));
/// assert_eq!(TimeSpan::new(Duration::from_secs(30)).to_string(), "30s");
/// assert!("30".parse::<TimeSpan>().is_err());
/// # Ok::<(), bailiwick_policy::UnitError>(())
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct TimeSpan(Duration);

impl TimeSpan {
    /// Returns a span of `duration`.
    pub const fn new(duration: Duration) -> Self {
        Self(duration)
    }

    /// Returns the span as the standard library's type.
    pub const fn duration(self) -> Duration {
        self.0
    }
}

impl FromStr for TimeSpan {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let nanos = quantity(text, &TIMES, "a duration such as `30s` or `250ms`")?;
        Ok(Self(Duration::from_nanos(nanos)))
    }
}

impl fmt::Display for TimeSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&show(
            u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX),
            &TIMES,
            &SECONDS,
        ))
    }
}

macro_rules! as_text {
    ($($type:ty),*) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Cow::<'de, str>::deserialize(deserializer)?.parse().map_err(de::Error::custom)
            }
        }
    )*};
}

as_text!(ByteSize, TimeSpan);

/// A size or duration that cannot be read.
#[non_exhaustive]
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum UnitError {
    /// The text is no whole number with a unit.
    #[error("`{}` is not {expected}", text.escape_debug())]
    Malformed {
        /// What was written.
        text: String,
        /// What is expected, with an example.
        expected: &'static str,
    },
    /// There is a number and no unit.
    #[error("`{text}` has no unit: write {expected}")]
    NoUnit {
        /// What was written.
        text: String,
        /// What is expected, with an example.
        expected: &'static str,
    },
    /// The unit is not one of ours.
    #[error("`{}` has the unknown unit `{}`: the units are {units}", text.escape_debug(), unit.escape_debug())]
    UnknownUnit {
        /// What was written.
        text: String,
        /// The unit found.
        unit: String,
        /// The units there are.
        units: String,
    },
    /// The value does not fit in 64 bits.
    #[error("`{text}` is too large")]
    TooLarge {
        /// What was written.
        text: String,
    },
}

type Unit = (&'static str, u64);

fn quantity(text: &str, units: &[Unit], expected: &'static str) -> Result<u64, UnitError> {
    let malformed = || UnitError::Malformed {
        text: text.to_owned(),
        expected,
    };
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    if number.is_empty() {
        return Err(malformed());
    }
    if unit.is_empty() {
        return Err(UnitError::NoUnit {
            text: text.to_owned(),
            expected,
        });
    }
    // A fraction or a gap is a slip of the pen; a word is more likely a wrong unit.
    if !unit.chars().all(char::is_alphabetic) {
        return Err(malformed());
    }
    let Some((_, factor)) = units.iter().find(|(name, _)| *name == unit) else {
        let units = units
            .iter()
            .map(|(name, _)| format!("`{name}`"))
            .collect::<Vec<_>>();
        return Err(UnitError::UnknownUnit {
            text: text.to_owned(),
            unit: unit.to_owned(),
            units: units.join(", "),
        });
    };
    number
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(*factor))
        .ok_or_else(|| UnitError::TooLarge {
            text: text.to_owned(),
        })
}

/// Shows a value in the largest unit that divides it, so that it reads back unchanged.
fn show(value: u64, units: &[Unit], unit_of_zero: &Unit) -> String {
    let dividing = units
        .iter()
        .rev()
        .find(|(_, factor)| value.is_multiple_of(*factor));
    let (name, factor) = dividing.filter(|_| value > 0).unwrap_or(unit_of_zero);
    format!("{}{name}", value / factor)
}

/// Units of size, smallest first.
const SIZES: [Unit; 5] = [
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

const SECONDS: Unit = ("s", 1_000_000_000);

/// Units of time in nanoseconds, smallest first.
const TIMES: [Unit; 6] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    SECONDS,
    ("m", 60 * 1_000_000_000),
    ("h", 3_600 * 1_000_000_000),
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn size_error(text: &str) -> String {
        text.parse::<ByteSize>().unwrap_err().to_string()
    }

    fn time_error(text: &str) -> String {
        text.parse::<TimeSpan>().unwrap_err().to_string()
    }

    #[test]
    fn says_exactly_what_is_wrong_with_a_size() {
        insta::assert_snapshot!(size_error("256"), @"`256` has no unit: write a size such as `256MiB`");
        insta::assert_snapshot!(size_error("256MB"), @"`256MB` has the unknown unit `MB`: the units are `B`, `KiB`, `MiB`, `GiB`, `TiB`");
        insta::assert_snapshot!(size_error("256 MiB"), @"`256 MiB` is not a size such as `256MiB`");
        insta::assert_snapshot!(size_error("1.5GiB"), @"`1.5GiB` is not a size such as `256MiB`");
        insta::assert_snapshot!(size_error("-1B"), @"`-1B` is not a size such as `256MiB`");
        insta::assert_snapshot!(size_error(""), @"`` is not a size such as `256MiB`");
        insta::assert_snapshot!(size_error("99999999TiB"), @"`99999999TiB` is too large");
    }

    #[test]
    fn says_exactly_what_is_wrong_with_a_duration() {
        insta::assert_snapshot!(time_error("30"), @"`30` has no unit: write a duration such as `30s` or `250ms`");
        insta::assert_snapshot!(time_error("30sec"), @"`30sec` has the unknown unit `sec`: the units are `ns`, `us`, `ms`, `s`, `m`, `h`");
        insta::assert_snapshot!(time_error("soon"), @"`soon` is not a duration such as `30s` or `250ms`");
    }

    #[test]
    fn shows_zero_in_a_unit_that_people_know() {
        assert_eq!(TimeSpan::new(Duration::ZERO).to_string(), "0s");
        assert_eq!(ByteSize::new(0).to_string(), "0B");
    }

    proptest! {
        #[test]
        fn what_is_shown_reads_back(value: u64) {
            let size = ByteSize::new(value);
            prop_assert_eq!(size.to_string().parse::<ByteSize>().unwrap(), size);
            let span = TimeSpan::new(Duration::from_nanos(value));
            prop_assert_eq!(span.to_string().parse::<TimeSpan>().unwrap(), span);
        }

        #[test]
        fn parsing_never_panics(text in ".*") {
            let _ = text.parse::<ByteSize>();
            let _ = text.parse::<TimeSpan>();
        }
    }
}
