//! Waiting without sleeping to be safe.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a test waits before it calls something a hang: a multiple of a control that the same
/// run measured, so that a loaded machine is given more.
#[derive(Clone, Copy, Debug)]
pub struct Patience(Duration);

impl Patience {
    /// Measures a control and allows a thousand times as long, at least 20 s.
    pub fn from_control(control: impl FnOnce()) -> Self {
        let started = Instant::now();
        control();
        Self((started.elapsed() * FACTOR).max(FLOOR))
    }

    /// Measures starting and joining a thread, the usual control.
    pub fn measured() -> Self {
        Self::from_control(|| {
            let joined = std::thread::spawn(|| ()).join();
            debug_assert!(joined.is_ok(), "an empty thread does not panic");
        })
    }

    /// Waits until a condition holds, looking again after short pauses.
    ///
    /// # Panics
    ///
    /// When it still does not hold at the end of the patience, naming `what` was waited for.
    pub async fn wait_until(self, what: &str, mut condition: impl FnMut() -> bool) {
        let started = Instant::now();
        while !condition() {
            assert!(
                started.elapsed() < self.0,
                "waited {:?} in vain until {what}",
                self.0
            );
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Waits for a future to settle.
    ///
    /// # Panics
    ///
    /// When it has not settled at the end of the patience, naming `what` was waited for.
    #[expect(clippy::panic, reason = "a hang fails the test")]
    pub async fn settle<T>(self, what: &str, future: impl Future<Output = T>) -> T {
        tokio::time::timeout(self.0, future)
            .await
            .unwrap_or_else(|_| panic!("waited {:?} in vain for {what}", self.0))
    }
}

/// Waits until a condition holds, with the [usual control](Patience::measured).
///
/// # Panics
///
/// As [`Patience::wait_until`].
pub async fn wait_until(what: &str, condition: impl FnMut() -> bool) {
    Patience::measured().wait_until(what, condition).await;
}

/// Lets go of threads that block on purpose.
#[derive(Clone, Debug)]
pub struct Release(Arc<Latch>);

#[derive(Debug, Default)]
struct Latch {
    open: Mutex<bool>,
    opened: Condvar,
}

impl Release {
    /// Creates a latch that is closed.
    pub fn new() -> Self {
        Self(Arc::default())
    }

    /// Blocks the calling thread until somebody lets go.
    pub fn block(&self) {
        let mut open = self.0.open.lock().unwrap_or_else(PoisonError::into_inner);
        while !*open {
            open = self
                .0
                .opened
                .wait(open)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Lets everybody go who blocks now or later.
    pub fn open(&self) {
        *self.0.open.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.opened.notify_all();
    }

    /// Opens the latch when the returned guard goes, also when the test panics.
    #[must_use]
    pub fn on_drop(&self) -> impl Drop + use<> {
        OpenOnDrop(self.clone())
    }
}

impl Default for Release {
    fn default() -> Self {
        Self::new()
    }
}

struct OpenOnDrop(Release);

impl Drop for OpenOnDrop {
    fn drop(&mut self) {
        self.0.open();
    }
}

const FACTOR: u32 = 1000;
const FLOOR: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_is_never_less_than_its_floor_and_grows_with_the_control() {
        assert_eq!(Patience::from_control(|| ()).0, FLOOR);
        let slow = Patience::from_control(|| std::thread::sleep(Duration::from_millis(30)));
        assert!(slow.0 > FLOOR);
    }

    #[test]
    fn a_blocked_thread_goes_on_when_released() {
        let release = Release::new();
        let blocked = {
            let release = release.clone();
            std::thread::spawn(move || release.block())
        };
        release.open();
        blocked.join().unwrap();
    }
}
