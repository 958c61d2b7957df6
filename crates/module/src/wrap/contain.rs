//! Panics that stay where they happened.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Proof that something panicked; the payload is gone and shown nowhere.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Panicked;

/// Runs a tool author's code and contains its panic.
///
/// Unwind safety is asserted: what a panicked handler leaves broken is its own, the wrapper never
/// looks at it again.
pub(crate) fn contain<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(work)).map_err(discard)
}

/// Drops a payload, which is a value of the tool's author and may panic when it is dropped. The
/// payload of that second panic is leaked: to drop it could go on for ever.
pub(crate) fn discard(payload: Box<dyn Any + Send>) -> Panicked {
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        Box::leak(second);
    }
    Panicked
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            std::panic::panic_any(Self);
        }
    }

    #[test]
    fn a_payload_that_panics_for_ever_is_contained() {
        assert_eq!(
            contain(|| std::panic::panic_any(Bomb)),
            Err::<(), _>(Panicked)
        );
        assert_eq!(contain(|| 1), Ok(1));
    }
}
