//! Blocking work for callers who must not block.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::thread;

use bailiwick_core::{BoxFuture, CancelToken, SkillError};
use tokio::sync::oneshot;

use crate::error::PackageError;

/// Runs work on a thread of its own and hands its answer over.
///
/// On cancel the future answers at once; the thread sees the token and ends between two files,
/// and its answer is dropped. Dropping the future cancels nothing but the waiting.
pub(crate) fn on_thread<T: Send + 'static>(
    cancel: CancelToken,
    work: impl FnOnce(&CancelToken) -> Result<T, PackageError> + Send + 'static,
) -> BoxFuture<'static, Result<T, SkillError>> {
    let (sender, receiver) = oneshot::channel();
    let token = cancel.clone();
    let started = thread::Builder::new()
        .name("bailiwick-files".to_owned())
        .spawn(move || {
            // Nobody waits any more when the receiver is gone.
            let _ = sender.send(work(&token));
        });
    Box::pin(async move {
        if started.is_err() {
            return Err(PackageError::Thread.into());
        }
        let mut cancelled = pin!(cancel.cancelled());
        let mut answered = pin!(receiver);
        let answer = poll_fn(|context| {
            if let Poll::Ready(answer) = answered.as_mut().poll(context) {
                return Poll::Ready(answer.unwrap_or(Err(PackageError::Thread)));
            }
            cancelled
                .as_mut()
                .poll(context)
                .map(|()| Err(PackageError::Cancelled))
        });
        Ok(answer.await?)
    })
}
