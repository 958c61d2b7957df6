//! What the host decides about a store.

use std::time::Duration;

use crate::error::StoreError;

/// Bounds of a store.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct StoreConfig {
    quota: u64,
    keep: Duration,
}

impl StoreConfig {
    /// Sets how many bytes one skill may keep, each artifact counted as at least 4 KiB. 256 MiB by
    /// default.
    #[must_use]
    pub fn quota_per_skill(mut self, bytes: u64) -> Self {
        self.quota = bytes;
        self
    }

    /// Sets how long an artifact is kept that does not say so itself. Seven days by default, ten
    /// years at most.
    #[must_use]
    pub fn default_keep(mut self, keep: Duration) -> Self {
        self.keep = keep;
        self
    }

    /// Refuses bounds with which nothing could ever be kept.
    pub(crate) fn check(self) -> Result<Self, StoreError> {
        if self.quota < LEAST_CHARGE {
            return Err(StoreError::Config {
                field: "quota_per_skill",
                reason: "it is below 4 KiB, so that nothing could be kept",
            });
        }
        if self.keep.is_zero() {
            return Err(StoreError::Config {
                field: "default_keep",
                reason: "it is zero, so that everything would expire at once",
            });
        }
        Ok(self)
    }

    pub(crate) fn quota(self) -> u64 {
        self.quota
    }

    /// Returns how long an artifact is kept that asked for `keep`, in whole milliseconds.
    pub(crate) fn keep(self, keep: Option<Duration>) -> Duration {
        let keep = keep.unwrap_or(self.keep).min(MAX_KEEP);
        Duration::from_millis(u64::try_from(keep.as_millis()).unwrap_or(u64::MAX))
    }
}

impl Default for StoreConfig {
    fn default() -> Self {
        Self {
            quota: 256 * 1024 * 1024,
            keep: Duration::from_hours(7 * 24),
        }
    }
}

/// Returns what an artifact of that size counts against a quota: a file takes at least a block.
pub(crate) fn charge(size: u64) -> u64 {
    size.max(LEAST_CHARGE)
}

/// The block of common file systems, in bytes; it bounds the number of tiny artifacts.
pub(crate) const LEAST_CHARGE: u64 = 4096;
/// Ten years: a longer wish is taken for "for ever", and stays a time that every clock can hold.
const MAX_KEEP: Duration = Duration::from_hours(10 * 365 * 24);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_with_which_nothing_could_be_kept_are_refused() {
        assert!(StoreConfig::default().check().is_ok());
        assert!(
            StoreConfig::default()
                .quota_per_skill(4095)
                .check()
                .is_err()
        );
        assert!(
            StoreConfig::default()
                .default_keep(Duration::ZERO)
                .check()
                .is_err()
        );
    }

    #[test]
    fn a_wish_to_be_kept_for_ever_is_ten_years() {
        let config = StoreConfig::default();
        assert_eq!(config.keep(Some(Duration::MAX)), MAX_KEEP);
        assert_eq!(config.keep(None), Duration::from_hours(168));
        assert_eq!(
            config.keep(Some(Duration::from_micros(1500))),
            Duration::from_millis(1)
        );
    }
}
