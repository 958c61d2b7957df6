//! A handler on a thread of its own, raced against the caller.

use std::future::{pending, poll_fn};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use bailiwick_core::{Arguments, CancelToken, LiveContext, RawOutput};
use tokio::runtime::Handle;
use tokio::task::JoinError;

use crate::error::{HandlerFault, StopReason};
use crate::wrap::contain::{contain, discard};
use crate::wrap::held::Held;

/// Everything that running a handler needs.
pub(crate) struct Run {
    pub(crate) tool: Arc<Held>,
    pub(crate) arguments: Arguments,
    pub(crate) cancel: CancelToken,
    pub(crate) deadline: Option<Instant>,
    pub(crate) grace: Duration,
}

/// How a call ended.
pub(crate) enum Ending {
    /// The handler answered, failed or panicked.
    Settled(Answer),
    /// The caller stopped it.
    Stopped {
        reason: StopReason,
        /// From the order to stop to the handler's end; none when it had not yielded in time.
        confirmed_dead: Option<Duration>,
    },
}

type Answer = Result<RawOutput, HandlerFault>;

/// Runs a handler until it settles or the caller stops it; nothing outside a tokio runtime.
///
/// 1. A wish to stop that is seen together with the answer wins: the caller has given it up.
/// 2. Once stopped, an answer that arrives within the grace is discarded, and the report says how
///    long it took to end.
/// 3. A caller that drops the future stops the handler in the same way and learns nothing.
pub(crate) async fn run(run: Run) -> Option<Ending> {
    let runtime = Handle::try_current().ok()?;
    // The handler gets a child of this token: cancelling its own never looks like the caller.
    let stop = StopOnDrop(CancelToken::new());
    let mut thread = runtime.spawn_blocking({
        let (runtime, stop) = (runtime.clone(), stop.0.clone());
        move || drive(&runtime, &run.tool, run.arguments, &stop)
    });
    let reason = tokio::select! {
        biased;
        () = run.cancel.cancelled() => StopReason::Cancel,
        () = passed(run.deadline) => StopReason::Deadline,
        ended = &mut thread => return Some(Ending::Settled(settled(ended))),
    };
    let ordered = Instant::now();
    stop.0.cancel();
    let confirmed_dead = match tokio::time::timeout(run.grace, &mut thread).await {
        Ok(ended) => {
            if let Err(error) = ended {
                forget(error);
            }
            Some(ordered.elapsed())
        }
        Err(_elapsed) => None,
    };
    Some(Ending::Stopped {
        reason,
        confirmed_dead,
    })
}

/// Polls a handler's future to its end on the current thread; nothing when it was stopped.
fn drive(
    runtime: &Handle,
    tool: &Held,
    arguments: Arguments,
    stop: &CancelToken,
) -> Option<Answer> {
    if stop.is_cancelled() {
        return None;
    }
    let context = LiveContext::new(stop.child());
    let Ok(mut future) = tool.ask(|tool| tool.call(arguments, context)) else {
        return Some(Err(HandlerFault::panicked()));
    };
    let polled = poll_fn(|cx| match contain(|| future.as_mut().poll(cx)) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(answer)) => Poll::Ready(answer.map_err(HandlerFault::of_error)),
        Err(_panicked) => Poll::Ready(Err(HandlerFault::panicked())),
    });
    let answer = runtime.block_on(async {
        tokio::select! {
            biased;
            () = stop.cancelled() => None,
            answer = polled => Some(answer),
        }
    });
    // Dropped here, where the runtime contains its panic, and not by an unwinding frame: a second
    // panic during the first would abort.
    drop(future);
    answer
}

fn settled(ended: Result<Option<Answer>, JoinError>) -> Answer {
    match ended {
        Ok(Some(answer)) => answer,
        // Nobody stopped the handler, so an end without an answer is the runtime's.
        Ok(None) => Err(HandlerFault::lost()),
        Err(error) => Err(forget(error)),
    }
}

/// Turns the end of a thread that did not come back into words.
fn forget(error: JoinError) -> HandlerFault {
    match error.try_into_panic() {
        Ok(payload) => {
            discard(payload);
            HandlerFault::panicked()
        }
        Err(_cancelled) => HandlerFault::lost(),
    }
}

async fn passed(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
        None => pending().await,
    }
}

/// Stops the handler when the caller drops the call's future.
struct StopOnDrop(CancelToken);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
