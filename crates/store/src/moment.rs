//! Times as a store keeps them: whole milliseconds since 1970.

use std::time::{Duration, SystemTime};

/// Returns the present, in whole milliseconds.
pub(crate) fn now() -> SystemTime {
    from_millis(to_millis(SystemTime::now()))
}

/// Returns the milliseconds since 1970; none for a clock before it.
pub(crate) fn to_millis(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| {
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        })
}

/// Returns the time that many milliseconds after 1970.
pub(crate) fn from_millis(millis: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_present_survives_being_kept() {
        let now = now();
        assert_eq!(from_millis(to_millis(now)), now);
        assert_eq!(
            to_millis(SystemTime::UNIX_EPOCH - Duration::from_secs(1)),
            0
        );
    }
}
