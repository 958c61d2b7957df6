//! Calls that nobody waits for any more.

use std::time::{Duration, Instant};

use bailiwick_core::{CallContext, CancelToken, Code, HostCall, HostCalls};
use bailiwick_host::{Registry, Roots, Services};
use bailiwick_testkit::members::{MemberCounters, slow_member};
use bailiwick_testkit::wait_until;
use serde_json::{Value, json};

use super::{Fixture, grants};

const AN_AGE: Duration = Duration::from_hours(1);

#[tokio::test]
async fn cancelling_or_dropping_a_call_drops_what_its_handler_was_doing() {
    let counters = MemberCounters::default();
    let registry = Registry::empty()
        .with(slow_member(AN_AGE, &counters))
        .unwrap();
    let services = Services::new(
        registry,
        "skill".parse().unwrap(),
        grants(&["test"]),
        Roots::none(),
    )
    .unwrap();
    let host = services.for_call(&CallContext::new("/")).unwrap();

    let cancel = CancelToken::new();
    let call = HostCall::new("test.slow", Vec::new(), cancel.clone());
    let pending = tokio::spawn(host.begin(call));
    wait_until("the member starts", || counters.started() == 1).await;
    cancel.cancel();
    let error = pending.await.unwrap().unwrap_err();
    assert_eq!(error.code(), Code::Cancelled);
    assert_eq!((counters.finished(), counters.dropped()), (0, 1));

    let call = HostCall::new("test.slow", Vec::new(), CancelToken::new());
    let pending = tokio::spawn(host.begin(call));
    wait_until("the member starts", || counters.started() == 2).await;
    pending.abort();
    wait_until("it is dropped", || counters.dropped() == 2).await;
    assert_eq!(counters.finished(), 0);
}

#[tokio::test]
async fn calls_of_one_guest_run_side_by_side() {
    let counters = MemberCounters::default();
    let registry = Registry::empty()
        .with(slow_member(Duration::from_millis(20), &counters))
        .unwrap();
    let services = Services::new(
        registry,
        "skill".parse().unwrap(),
        grants(&["test"]),
        Roots::none(),
    )
    .unwrap();
    let host = services.for_call(&CallContext::new("/")).unwrap();
    let call = || host.begin(HostCall::new("test.slow", Vec::new(), CancelToken::new()));
    let pending: Vec<_> = (0..10).map(|_| tokio::spawn(call())).collect();
    wait_until("all of them start before the last one ends", || {
        counters.started() == 10
    })
    .await;
    for call in pending {
        assert_eq!(call.await.unwrap().unwrap(), json!("slow"));
    }
    assert_eq!((counters.finished(), counters.dropped()), (10, 0));
}

/// How a test ends a search.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Waits,
    Cancels,
    Drops,
}

/// Searches 128 MiB in some files and returns how long it took until no thread worked on it any
/// more.
fn time_to_quiet(fixture: &Fixture, path: &str, files: u64, end: End) -> Duration {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let started = Instant::now();
    runtime.block_on(async {
        let host = fixture.host();
        let cancel = CancelToken::new();
        let query = json!({ "pattern": r"\w+\s\w+\s\d{9}[^x]", "path": path });
        let call = HostCall::new("fs.grep", vec![query], cancel.clone());
        let pending = tokio::spawn(host.begin(call));
        if end == End::Waits {
            let found: Value = pending.await.unwrap().unwrap();
            assert_eq!(found["filesSearched"], files);
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        if end == End::Drops {
            pending.abort();
            return;
        }
        cancel.cancel();
        let answer = pending.await.unwrap();
        assert_eq!(answer.unwrap_err().code(), Code::Cancelled);
    });
    // The end of a runtime waits for the work that blocks.
    drop(runtime);
    started.elapsed()
}

#[test]
fn a_long_search_ends_when_it_is_cancelled_or_dropped() {
    let fixture = Fixture::new();
    let text = "some words of a text that goes on and on 1234567\n".repeat(21_400);
    fixture.write("big/0", &text);
    for n in 1..128 {
        let big = fixture.root().join("big");
        std::fs::hard_link(big.join("0"), big.join(n.to_string())).unwrap();
    }
    fixture.write("one", text.repeat(128));
    for (path, files) in [("big", 128), ("one", 1)] {
        let whole = time_to_quiet(&fixture, path, files, End::Waits);
        for end in [End::Cancels, End::Drops] {
            let cut = time_to_quiet(&fixture, path, files, end);
            assert!(cut < whole / 2, "{cut:?} of {whole:?} in {path}");
        }
    }
}
