//! Fresh artifact ids.

use std::time::SystemTime;

use bailiwick_core::ArtifactId;

use crate::error::StoreError;
use crate::moment::to_millis;

/// Makes an id: `a`, nine digits of base 32 for the time and ten for 50 random bits of the
/// operating system.
///
/// Ids sort by the millisecond in which they were made. Two of one millisecond are alike with a
/// chance of 2⁻⁵⁰, and then the second is refused by whoever keeps them.
pub(crate) fn fresh_id(now: SystemTime) -> Result<ArtifactId, StoreError> {
    let random = getrandom::u64().map_err(|source| StoreError::Random {
        source: source.to_string().into(),
    })?;
    let mut text = String::with_capacity(1 + TIME_DIGITS + RANDOM_DIGITS);
    text.push('a');
    push_digits(&mut text, to_millis(now), TIME_DIGITS);
    push_digits(&mut text, random, RANDOM_DIGITS);
    text.parse().map_err(
        |source: bailiwick_core::ArtifactIdRejected| StoreError::Random {
            source: source.into(),
        },
    )
}

/// Appends the lowest `count` digits of a number in base 32, highest first.
fn push_digits(text: &mut String, number: u64, count: usize) {
    for place in (0..count).rev() {
        let digit = (number >> (5 * place)) & 31;
        text.push(char::from(DIGITS[usize::try_from(digit).unwrap_or(0)]));
    }
}

/// Base 32 without letters that are mistaken for digits; in the order of ASCII, so that texts sort
/// as their numbers do.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// 45 bits of milliseconds last until the year 3084.
const TIME_DIGITS: usize = 9;
const RANDOM_DIGITS: usize = 10;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use super::*;

    #[test]
    fn ids_are_short_distinct_and_sort_by_time() {
        let mut seen = BTreeSet::new();
        let mut last = None;
        for step in 0..1000 {
            let time = SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_000 + step);
            let id = fresh_id(time).unwrap();
            assert_eq!(id.as_str().len(), 20);
            assert!(last.is_none_or(|last| last < id));
            last = Some(id.clone());
            assert!(seen.insert(id));
        }
    }

    #[test]
    fn ids_of_one_moment_differ_in_their_random_half() {
        let ids: BTreeSet<_> = (0..1000)
            .map(|_| fresh_id(SystemTime::UNIX_EPOCH).unwrap())
            .collect();
        assert_eq!(ids.len(), 1000);
        assert!(ids.iter().all(|id| id.as_str().starts_with("a000000000")));
    }
}
