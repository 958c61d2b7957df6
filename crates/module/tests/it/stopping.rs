//! Cancel and deadline, against handlers that yield and handlers that do not.

use std::sync::Arc;
use std::time::Duration;

use bailiwick_core::{CallContext, Code, Outcome, Response};
use bailiwick_module::{Boundary, WrappedTool, rewrap};
use bailiwick_testkit::{Patience, Recorder, Release, hostile, wait_until};
use serde_json::json;

use crate::{called, called_with, failure, provenance, wrapped};

type Events = Recorder<&'static str>;

/// Calls a tool, cancels once the handler has started, and returns the outcome.
async fn cancelled_once_started(tool: WrappedTool, events: &Events) -> Outcome {
    let context = CallContext::new("/");
    let cancel = context.cancel.clone();
    let call = tokio::spawn(async move { called_with(&tool, &context).await });
    wait_until("the handler has started", || !events.is_empty()).await;
    cancel.cancel();
    Patience::measured().settle("the call", call).await.unwrap()
}

#[tokio::test]
async fn a_handler_that_never_settles_is_dropped_when_the_caller_cancels() {
    let (tool, events) = hostile::never_settles();
    let outcome = cancelled_once_started(wrapped(tool), &events).await;
    assert_eq!(events.entries(), ["started", "dropped"]);
    assert!(!outcome.report.still_running && outcome.report.confirmed);
    assert!(outcome.report.confirmed_dead.is_some());
    let error = failure(outcome);
    assert_eq!(error.code(), Code::Cancelled);
    assert_eq!(error.details()["reason"], "cancel");
    insta::assert_snapshot!(
        error.model_text(),
        @"E_SKILL_CANCELLED: the caller cancelled before tool `reports` of skill `audit` answered"
    );
}

#[tokio::test]
async fn the_callers_deadline_stops_a_handler_and_is_told_apart_from_a_cancel() {
    let (tool, events) = hostile::never_settles();
    let mut context = CallContext::new("/");
    context.deadline = Some(Duration::from_millis(50));
    let outcome = called_with(&wrapped(tool), &context).await;
    assert_eq!(
        events.entries().last().copied().unwrap_or("dropped"),
        "dropped"
    );
    assert!(
        !context.cancel.is_cancelled(),
        "the caller's own token is left alone"
    );
    let error = failure(outcome);
    assert_eq!(error.code(), Code::Cancelled);
    assert_eq!(error.details()["reason"], "deadline");
    insta::assert_snapshot!(
        error.model_text(),
        @"E_SKILL_CANCELLED: the caller's deadline passed before tool `reports` of skill `audit` answered"
    );
}

#[tokio::test]
async fn a_deadline_that_does_not_pass_changes_nothing() {
    let mut context = CallContext::new("/");
    context.deadline = Some(Duration::from_hours(1));
    let outcome = called_with(&wrapped(hostile::returns("fine")), &context).await;
    assert_eq!(outcome.result.unwrap().text(), "fine");
}

/// Cancels a handler that blocks its thread; the test's own runtime has one thread or several.
async fn blocked_thread() {
    let release = Release::new();
    let _open = release.on_drop();
    let (tool, events) = hostile::blocks_its_thread(&release);
    let boundary = Boundary::default().cancel_grace(Duration::from_millis(5));
    let tool = rewrap(tool, provenance(), boundary).unwrap();
    let outcome = cancelled_once_started(tool, &events).await;
    assert!(outcome.report.still_running, "{:?}", outcome.report);
    assert!(!outcome.report.confirmed && outcome.report.confirmed_dead.is_none());
    assert_eq!(failure(outcome).code(), Code::Cancelled);
    assert_eq!(events.entries(), ["started"], "it really was still running");
    release.open();
    wait_until("the handler has ended", || events.len() == 2).await;
}

#[tokio::test(flavor = "current_thread")]
async fn a_handler_that_blocks_its_thread_cannot_hold_a_current_thread_runtime() {
    blocked_thread().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_handler_that_blocks_its_thread_cannot_hold_the_only_worker() {
    blocked_thread().await;
}

#[tokio::test]
async fn an_answer_that_comes_after_the_cancel_is_no_answer() {
    let release = Release::new();
    let _open = release.on_drop();
    let (tool, events) = hostile::blocks_its_thread(&release);
    let context = CallContext::new("/");
    let cancel = context.cancel.clone();
    let call = tokio::spawn(async move { called_with(&wrapped(tool), &context).await });
    wait_until("the handler has started", || !events.is_empty()).await;
    cancel.cancel();
    release.open();
    let outcome = call.await.unwrap();
    // Yields within the grace or, on a machine that stalls that long, not: never a third thing.
    assert_eq!(
        outcome.report.still_running,
        outcome.report.confirmed_dead.is_none()
    );
    assert_eq!(
        failure(outcome).code(),
        Code::Cancelled,
        "a late answer is no answer"
    );
}

#[tokio::test]
async fn a_caller_that_walks_away_stops_the_handler() {
    let (tool, events) = hostile::never_settles();
    let tool = wrapped(tool);
    let call = tokio::spawn(async move { called_with(&tool, &CallContext::new("/")).await });
    wait_until("the handler has started", || !events.is_empty()).await;
    call.abort();
    wait_until("the handler is dropped", || {
        events.entries() == ["started", "dropped"]
    })
    .await;
}

#[tokio::test]
async fn a_handler_that_cancels_its_own_token_is_not_taken_for_the_caller() {
    let error = failure(called(hostile::cancels_itself()).await);
    assert_eq!(error.code(), Code::ToolFailed);
    assert!(
        error.host_chain().ends_with("gave up"),
        "nor stopped: {error:?}"
    );
}

#[tokio::test]
async fn a_future_that_panics_when_it_is_stopped_is_stopped_all_the_same() {
    let mut context = CallContext::new("/");
    context.deadline = Some(Duration::from_millis(20));
    let tool = wrapped(hostile::never_settles_and_panics_on_drop());
    let outcome = called_with(&tool, &context).await;
    assert!(!outcome.report.still_running);
    let error = failure(outcome);
    assert_eq!(error.code(), Code::Cancelled);
    assert!(!error.host_chain().contains("secret"));
}

#[test]
fn a_call_that_was_stopped_while_it_waited_for_a_thread_never_starts() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .max_blocking_threads(1)
        .build()
        .unwrap();
    runtime.block_on(async {
        let release = Release::new();
        let _open = release.on_drop();
        let (blocker, blocking) = hostile::blocks_its_thread(&release);
        let blocked = tokio::spawn(called(blocker));
        wait_until("the only thread is taken", || !blocking.is_empty()).await;

        let calls = Recorder::new();
        let told = calls.clone();
        let waiting = hostile::tool_named(hostile::NAME, json!({}), move |_, _| {
            told.record("called");
            std::future::pending()
        });
        let mut context = CallContext::new("/");
        context.deadline = Some(Duration::from_millis(1));
        let boundary = Boundary::default().cancel_grace(Duration::from_millis(1));
        let waiting = rewrap(waiting, provenance(), boundary).unwrap();
        assert_eq!(
            failure(called_with(&waiting, &context).await).code(),
            Code::Cancelled
        );

        release.open();
        assert!(blocked.await.unwrap().result.is_ok());
        // The pool is first come, first served: when this one has answered, the other had its turn.
        assert!(called(hostile::returns("fine")).await.result.is_ok());
        assert!(calls.is_empty());
    });
}

#[test]
fn a_call_outside_a_runtime_says_what_it_needs() {
    let tool = wrapped(hostile::returns("fine"));
    let context = CallContext::new("/");
    let mut call = Box::pin(called_with(&tool, &context));
    let mut waker = std::task::Context::from_waker(std::task::Waker::noop());
    let std::task::Poll::Ready(outcome) = call.as_mut().poll(&mut waker) else {
        panic!("nothing to wait for");
    };
    let error = failure(outcome);
    assert_eq!(error.code(), Code::InvalidSkillsConfig);
    insta::assert_snapshot!(error.message(), @"tool `reports` was called outside a tokio runtime");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_one_tool_run_at_the_same_time() {
    let release = Release::new();
    let _open = release.on_drop();
    let (tool, events) = hostile::blocks_its_thread(&release);
    let tool: Arc<WrappedTool> = Arc::new(wrapped(tool));
    let calls: Vec<_> = (0..4)
        .map(|_| {
            let tool = Arc::clone(&tool);
            tokio::spawn(async move { called_with(&tool, &CallContext::new("/")).await })
        })
        .collect();
    wait_until("all four are inside", || events.len() == 4).await;
    release.open();
    for call in calls {
        let response: Response = call.await.unwrap().result.unwrap();
        assert_eq!(response.text(), "late");
    }
}
