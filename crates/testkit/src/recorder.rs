//! What somebody was told, in order.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// A shared list to which the party under test adds and from which the test reads.
pub struct Recorder<T>(Arc<Mutex<Vec<T>>>);

impl<T> Recorder<T> {
    /// Creates an empty recorder.
    pub fn new() -> Self {
        Self(Arc::default())
    }

    /// Adds an entry.
    pub fn record(&self, entry: T) {
        self.entries_mut(|entries| entries.push(entry));
    }

    /// Returns how many entries there are.
    pub fn len(&self) -> usize {
        self.entries_mut(|entries| entries.len())
    }

    /// Returns whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn entries_mut<R>(&self, work: impl FnOnce(&mut Vec<T>) -> R) -> R {
        // A panic of a hostile party that held the lock must not hide what it recorded.
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<T: Clone> Recorder<T> {
    /// Returns what was recorded so far.
    pub fn entries(&self) -> Vec<T> {
        self.entries_mut(|entries| entries.clone())
    }
}

impl<T> Clone for Recorder<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for Recorder<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for Recorder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_clone_adds_to_the_same_list() {
        let recorder = Recorder::new();
        assert!(recorder.is_empty());
        recorder.clone().record(1);
        recorder.record(2);
        assert_eq!(recorder.entries(), [1, 2]);
    }
}
