//! What the host decides about every tool that it wraps.

use std::sync::Arc;
use std::time::Duration;

use bailiwick_core::ArtifactStore;

use crate::error::ModuleError;

/// The host's side of the border around a live tool.
#[derive(Clone, Debug)]
pub struct Boundary {
    store: Option<Arc<dyn ArtifactStore>>,
    max_inline: usize,
    cancel_grace: Duration,
}

impl Boundary {
    /// Sets where answers are kept that are too long for a reply.
    ///
    /// None by default; the middle of a long answer is then dropped and counted.
    #[must_use]
    pub fn store(mut self, store: Arc<dyn ArtifactStore>) -> Self {
        self.store = Some(store);
        self
    }

    /// Sets the longest text, in bytes, that a reply holds. 25 KiB by default, at least 1 KiB.
    #[must_use]
    pub fn max_inline(mut self, bytes: usize) -> Self {
        self.max_inline = bytes;
        self
    }

    /// Sets how long a stopped handler has to yield before it counts as still running. 250 ms by
    /// default (contracts 2.6).
    #[must_use]
    pub fn cancel_grace(mut self, grace: Duration) -> Self {
        self.cancel_grace = grace;
        self
    }

    pub(crate) fn check(&self) -> Result<(), ModuleError> {
        if self.max_inline < MIN_INLINE {
            return Err(ModuleError::InlineTooSmall {
                bytes: self.max_inline,
                least: MIN_INLINE,
            });
        }
        Ok(())
    }

    pub(crate) fn artifact_store(&self) -> Option<&Arc<dyn ArtifactStore>> {
        self.store.as_ref()
    }

    pub(crate) fn inline_bytes(&self) -> usize {
        self.max_inline
    }

    pub(crate) fn grace(&self) -> Duration {
        self.cancel_grace
    }
}

impl Default for Boundary {
    fn default() -> Self {
        Self {
            store: None,
            max_inline: DEFAULT_INLINE,
            cancel_grace: DEFAULT_GRACE,
        }
    }
}

/// What a model is shown of one answer.
const DEFAULT_INLINE: usize = 25 * 1024;
/// Room for the mark that replaces the middle, and something on both sides of it.
const MIN_INLINE: usize = 1024;
const DEFAULT_GRACE: Duration = Duration::from_millis(250);
