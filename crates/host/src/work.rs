//! Blocking work that ends when nobody waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bailiwick_core::{CancelToken, Capability, SkillError};
use tokio::runtime::Handle;

use crate::error::HostError;

/// Says to blocking work that it should stop: the call was cancelled, or its future dropped.
#[derive(Clone, Debug)]
pub(crate) struct Stop {
    cancel: CancelToken,
    abandoned: Arc<AtomicBool>,
}

impl Stop {
    pub(crate) fn new(cancel: CancelToken) -> Self {
        Self {
            cancel,
            abandoned: Arc::default(),
        }
    }

    pub(crate) fn is_set(&self) -> bool {
        self.abandoned.load(Ordering::Relaxed) || self.cancel.is_cancelled()
    }

    /// Ends the work with the error of a cancelled call; asked between files and between chunks.
    pub(crate) fn check(&self) -> Result<(), SkillError> {
        if self.is_set() {
            return Err(CancelToken::error());
        }
        Ok(())
    }
}

/// Runs blocking work off the executor.
pub(crate) async fn blocking<T: Send + 'static>(
    member: Capability,
    cancel: CancelToken,
    work: impl FnOnce(&Stop) -> Result<T, SkillError> + Send + 'static,
) -> Result<T, SkillError> {
    let Ok(runtime) = Handle::try_current() else {
        return Err(HostError::NoRuntime { member }.into());
    };
    let stop = Stop::new(cancel);
    let _abandon = AbandonOnDrop(Arc::clone(&stop.abandoned));
    let finished = runtime.spawn_blocking(move || work(&stop)).await;
    finished.unwrap_or_else(|_| Err(HostError::HandlerPanicked { member }.into()))
}

struct AbandonOnDrop(Arc<AtomicBool>);

impl Drop for AbandonOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use bailiwick_core::Code;
    use bailiwick_testkit::{Recorder, wait_until};

    use super::*;

    fn name() -> Capability {
        "test.work".parse().unwrap()
    }

    /// Works until it is told to stop, and says when it begins and ends.
    fn endless(
        log: &Recorder<&'static str>,
    ) -> impl FnOnce(&Stop) -> Result<(), SkillError> + use<> {
        let log = log.clone();
        move |stop| {
            log.record("begun");
            while !stop.is_set() {
                std::thread::yield_now();
            }
            log.record("ended");
            stop.check()
        }
    }

    #[tokio::test]
    async fn work_ends_when_its_future_is_dropped() {
        let log = Recorder::new();
        let pending = tokio::spawn(blocking(name(), CancelToken::new(), endless(&log)));
        wait_until("it begins", || log.len() == 1).await;
        pending.abort();
        wait_until("it ends", || log.len() == 2).await;
    }

    #[tokio::test]
    async fn work_ends_when_its_call_is_cancelled() {
        let (log, cancel) = (Recorder::new(), CancelToken::new());
        let pending = tokio::spawn(blocking(name(), cancel.clone(), endless(&log)));
        wait_until("it begins", || log.len() == 1).await;
        cancel.cancel();
        let error = pending.await.unwrap().unwrap_err();
        assert_eq!(error.code(), Code::Cancelled);
        assert_eq!(log.entries(), ["begun", "ended"]);
    }

    #[tokio::test]
    async fn work_that_panics_is_an_error_of_its_member() {
        let work = |_: &Stop| -> Result<(), SkillError> { panic!("secret") };
        let error = blocking(name(), CancelToken::new(), work)
            .await
            .unwrap_err();
        assert_eq!(error.code(), Code::ToolFailed);
        assert!(!error.host_chain().contains("secret"));
    }
}
