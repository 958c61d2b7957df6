//! Foreign code that panics.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::task::Poll;

/// Drives a future of foreign code and turns a panic, at any await, into a value.
///
/// The payload is dropped: what foreign code panics with is shown to nobody.
///
/// # Errors
///
/// [`Panicked`] when polling the future panicked; it is not polled again.
pub async fn contain_panic<T>(future: impl Future<Output = T>) -> Result<T, Panicked> {
    let mut future = std::pin::pin!(future);
    std::future::poll_fn(move |context| {
        let polled = AssertUnwindSafe(|| future.as_mut().poll(context));
        match std::panic::catch_unwind(polled) {
            Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
            Ok(Poll::Pending) => Poll::Pending,
            Err(payload) => {
                // A payload may panic again when it is dropped.
                let _ = std::panic::catch_unwind(AssertUnwindSafe(|| drop(payload)));
                Poll::Ready(Err(Panicked))
            }
        }
    })
    .await
}

/// Foreign code panicked.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("it panicked")]
#[non_exhaustive]
pub struct Panicked;
