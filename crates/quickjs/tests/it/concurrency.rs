//! Host calls side by side, and how a call gives them up.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bailiwick_core::{CallContext, Code};
use bailiwick_testkit::{Patience, wait_until};
use serde_json::json;

use crate::bed::{self, Host, call, call_in, failure, success};

#[tokio::test]
async fn ten_slow_calls_take_about_the_time_of_one() {
    let host = Host::default();
    let tool = bed::with(
        "async (args, context) => (await Promise.all(Array.from({ length: args.n }, \
         (_, i) => context.test.after(200, i)))).length",
        |holdings| holdings.services = Arc::new(host.clone()),
    )
    .await;
    let mut times = Vec::new();
    for count in [1, 10] {
        let begun = Instant::now();
        assert_eq!(success(call(&tool, json!({ "n": count })).await), count);
        times.push(begun.elapsed());
    }
    assert_eq!((host.started(), host.finished()), (11, 11));
    assert!(
        times[1] < times[0] * 5,
        "{times:?}: one after the other would be ten times"
    );
}

#[tokio::test]
async fn a_cancel_drops_what_is_pending_and_touches_no_other_call() {
    let source = "async (args, context) => { await Promise.all(Array.from({ length: 10 }, \
                  () => context.test.never())); }";
    let (host, other) = (Host::default(), Host::default());
    let tool = |host: &Host| {
        let host = host.clone();
        bed::with(source, |holdings| holdings.services = Arc::new(host))
    };
    let (tool, other_tool) = (tool(&host).await, tool(&other).await);
    let mine = CallContext::new("/");
    let theirs = CallContext::new("/");
    let (cancel, other_cancel) = (mine.cancel.clone(), theirs.cancel.clone());
    let running = tokio::spawn(async move { call_in(&tool, json!({}), &mine).await });
    let other_running = tokio::spawn(async move { call_in(&other_tool, json!({}), &theirs).await });
    wait_until("all calls are pending", || {
        host.started() == 10 && other.started() == 10
    })
    .await;
    cancel.cancel();
    let patience = Patience::measured();
    let outcome = patience
        .settle("the cancelled call", running)
        .await
        .unwrap();
    let (error, report) = failure(outcome);
    assert_eq!(error.code(), Code::Cancelled);
    assert!(report.confirmed_dead.is_some());
    assert_eq!((host.dropped().len(), host.finished()), (10, 0));
    assert!(!other_running.is_finished());
    assert_eq!(other.dropped().len(), 0);
    other_cancel.cancel();
    let outcome = patience
        .settle("the other call", other_running)
        .await
        .unwrap();
    assert_eq!(failure(outcome).0.code(), Code::Cancelled);
}

#[tokio::test]
async fn a_cancel_ends_what_computes() {
    for source in [
        "async (args, context) => { context.test.echo(1); await 0; for (;;) await \
         context.test.echo(1); }",
        "async (args, context) => { await context.test.echo(1); for (;;) {} }",
        "async (args, context) => { await context.test.echo(1); /^(a+)+$/.test('a'.repeat(40) + \
         'b'); }",
        "async (args, context) => { await context.test.echo(1); \
         const a = Array.from({ length: 5e5 }, (_, i) => -i); for (;;) a.sort(); }",
    ] {
        let host = Host::default();
        let tool = bed::with(source, |holdings| {
            holdings.services = Arc::new(host.clone());
            holdings.limits.host_calls = u32::MAX;
        })
        .await;
        let context = CallContext::new("/");
        let cancel = context.cancel.clone();
        let running = tokio::spawn(async move { call_in(&tool, json!({}), &context).await });
        wait_until("it has begun", || host.finished() > 0).await;
        tokio::time::sleep(Duration::from_millis(5)).await;
        cancel.cancel();
        let outcome = Patience::measured()
            .settle("its end", running)
            .await
            .unwrap();
        assert_eq!(failure(outcome).0.code(), Code::Cancelled, "{source}");
    }
}

#[tokio::test]
async fn a_signal_gives_up_one_call_and_the_tool_goes_on() {
    let host = Host::default();
    let tool = bed::with(
        "async (args, context) => { const stop = new AbortController(); \
         const never = context.test.never({ signal: stop.signal }); \
         await context.test.echo(); stop.abort(new Error('enough')); \
         const reason = await never.catch((error) => error.message); \
         return [reason, await context.test.echo(1)]; }",
        |holdings| {
            holdings.services = Arc::new(host.clone());
            holdings.limits.host_calls_concurrent = 2;
        },
    )
    .await;
    assert_eq!(
        success(call(&tool, json!({})).await),
        json!(["enough", [1]])
    );
    assert_eq!(host.dropped(), ["test.never"]);
}

#[tokio::test]
async fn a_promise_that_nobody_settles_is_told_at_once() {
    let mut failures = Vec::new();
    for source in [
        "async () => { await new Promise(() => {}); }",
        "async () => new Promise(() => {})",
        "async () => { const t = setTimeout(() => {}, 1e6); clearTimeout(t); await new \
         Promise(() => {}); }",
        "async () => ({ then() {} })",
    ] {
        failures.push((source, bed::fails(source).await.0));
    }
    for execute in [
        "async () => new Promise(() => {})",
        "() => new Promise(() => {})",
        "() => ({ then() {} })",
    ] {
        failures.push((execute, bed::execute_fails(execute).await.0));
    }
    for (source, error) in failures {
        assert_eq!(error.code(), Code::ToolFailed, "{source}: {error}");
        assert!(
            error
                .message()
                .contains("a promise that nothing will settle"),
            "{source}: {error}"
        );
    }
}

#[tokio::test]
async fn failures_of_the_host_carry_what_the_tool_can_act_on() {
    let told = bed::value(
        "async (args, context) => { const seen = []; for (const retryable of [true, false]) { \
         try { await context.test.fail({ message: 'no', retryable }); } \
         catch (e) { seen.push([e.code, e.message, e.retryable, e instanceof Error]); } } \
         try { await context.fs.read('x'); } catch (e) { seen.push([e.code, e.hint]); } \
         return seen; }",
    )
    .await;
    assert_eq!(
        told,
        json!([
            ["E_SKILL_SOURCE_FAILED", "no", true, true],
            ["E_SKILL_ARGUMENTS_REJECTED", "no", false, true],
            ["E_SKILL_ISOLATED_CAPABILITY_DENIED", "grant `fs.read`"],
        ])
    );
}
