//! How a guest ends that does not end by itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bailiwick_core::{CancelToken, Updates};
use bailiwick_isolate::{Completion, Ending, EngineSettings, Program};
use bailiwick_testkit::{Patience, wait_until};
use tokio::task::JoinHandle;

use crate::bed::{self, Host, hosted, job, text};
use crate::script::{Script, Step, sleep};

/// A guest under way, which has told that it is.
struct Running {
    cancel: CancelToken,
    task: JoinHandle<Completion>,
}

/// Starts a guest that spins, and waits until it does.
async fn spinning(program: &Program) -> Running {
    let mut job = job(&Script::new().updates("1").spins());
    let begun = Arc::new(AtomicUsize::new(0));
    let told = begun.clone();
    job.updates = Some(Updates::to(move |_| {
        told.fetch_add(1, Ordering::SeqCst);
    }));
    let cancel = job.cancel.clone();
    let program = program.clone();
    let task = tokio::spawn(async move { program.evaluate(job).await });
    wait_until("the guest runs", || begun.load(Ordering::SeqCst) > 0).await;
    Running { cancel, task }
}

async fn end(task: JoinHandle<Completion>) -> Completion {
    let ended = Patience::measured().settle("the end of the guest", task);
    ended.await.unwrap()
}

#[tokio::test]
async fn a_guest_that_spins_expires_wherever_it_does() {
    let spin = "(loop $spin (br $spin))";
    let settling = Script::new().sleeps(1, 0.0);
    for (place, script) in [
        ("(;START;)", Script::new()),
        ("(;ALLOC;)", Script::new()),
        ("(;SETTLE;)", settling),
        ("", Script::new().spins()),
    ] {
        let text = match place {
            "" => bed::INTERPRETER.to_owned(),
            place => bed::INTERPRETER.replace(place, spin),
        };
        let program = bed::compile(bed::engine(), &text);
        let mut job = job(&script);
        job.deadline = Instant::now() + Duration::from_millis(30);
        let task = tokio::spawn(async move { program.evaluate(job).await });
        let completion = end(task).await;
        assert_eq!(completion.ending, Ending::Expired, "{place}");
        assert!(completion.confirmed_dead.is_some());
        bed::works(bed::program()).await;
    }
}

#[tokio::test]
async fn a_guest_that_waits_expires() {
    for script in [
        Script::new().starts(1, "never", "[]"),
        Script::new().sleeps(1, 1e9),
        Script::new().sleeps(1, f64::MAX),
    ] {
        let host = Host::default();
        let mut job = hosted(&script, &host);
        job.deadline = Instant::now() + Duration::from_millis(30);
        let completion = bed::program().evaluate(job).await;
        assert_eq!(completion.ending, Ending::Expired);
        assert_eq!(host.started(), host.dropped());
    }
}

#[tokio::test]
async fn a_guest_whose_time_is_over_or_who_is_not_wanted_does_not_start() {
    let script = Script::new().logs("info", "here").answers("x");
    let mut late = job(&script);
    late.deadline = Instant::now();
    let unwanted = job(&script);
    unwanted.cancel.cancel();
    for (job, ending) in [(late, Ending::Expired), (unwanted, Ending::Cancelled)] {
        let completion = bed::program().evaluate(job).await;
        assert_eq!(completion.ending, ending);
        assert_eq!(completion.observed.memory_peak, 0);
        assert!(completion.observed.logs.is_empty());
    }
}

#[tokio::test]
async fn a_cancel_ends_one_guest_and_no_other() {
    let first = spinning(bed::program()).await;
    let second = spinning(bed::program()).await;
    first.cancel.cancel();
    let completion = end(first.task).await;
    assert_eq!(completion.ending, Ending::Cancelled);
    assert!(completion.confirmed_dead.is_some());
    bed::works(bed::program()).await;
    assert!(!second.task.is_finished());
    second.cancel.cancel();
    assert_eq!(end(second.task).await.ending, Ending::Cancelled);
}

#[tokio::test]
async fn a_cancel_drops_the_host_calls_that_are_pending() {
    let host = Host::default();
    let script = Script::new()
        .starts(1, "never", "[]")
        .starts(2, "never", "[]");
    let job = hosted(&script, &host);
    let cancel = job.cancel.clone();
    let task = tokio::spawn(bed::program().evaluate(job));
    wait_until("the calls are pending", || host.started() == 2).await;
    cancel.cancel();
    assert_eq!(end(task).await.ending, Ending::Cancelled);
    assert_eq!((host.dropped(), host.finished()), (2, 0));
}

#[tokio::test]
async fn a_guest_without_a_slot_can_be_cancelled_and_can_expire() {
    let program = bed::on(EngineSettings::default().slots(1));
    let first = spinning(&program).await;
    let script = Script::new().answers("x");
    let waiting = job(&script);
    let cancel = waiting.cancel.clone();
    let owned = program.clone();
    let task = tokio::spawn(async move { owned.evaluate(waiting).await });
    tokio::task::yield_now().await;
    assert!(!task.is_finished());
    cancel.cancel();
    assert_eq!(end(task).await.ending, Ending::Cancelled);
    let mut late = job(&script);
    late.deadline = Instant::now() + Duration::from_millis(20);
    assert_eq!(program.evaluate(late).await.ending, Ending::Expired);
    assert!(!first.task.is_finished());
    first.cancel.cancel();
    end(first.task).await;
    bed::works(&program).await;
}

#[tokio::test]
async fn whoever_drops_the_call_drops_the_guest() {
    let program = bed::on(EngineSettings::default().slots(1));
    let host = Host::default();
    let waiting = hosted(&Script::new().starts(1, "never", "[]"), &host);
    let owned = program.clone();
    let task = tokio::spawn(async move { owned.evaluate(waiting).await });
    wait_until("the call is pending", || host.started() == 1).await;
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    assert_eq!(host.dropped(), 1);
    bed::works(&program).await;

    let spinning = spinning(&program).await;
    spinning.task.abort();
    assert!(spinning.task.await.unwrap_err().is_cancelled());
    bed::works(&program).await;
}

#[tokio::test]
async fn more_calls_than_slots_wait_and_all_end() {
    let program = bed::on(EngineSettings::default().slots(2));
    let host = Host::default();
    let script = Script::new().starts(1, "after", "[2]").answers_with(1);
    let calls: Vec<(bool, CancelToken, JoinHandle<Completion>)> = (0..24)
        .map(|index| {
            let job = hosted(&script, &host);
            let cancel = job.cancel.clone();
            let program = program.clone();
            let task = tokio::spawn(async move { program.evaluate(job).await });
            (index % 3 == 2, cancel, task)
        })
        .collect();
    tokio::task::yield_now().await;
    for (_, cancel, _) in calls.iter().filter(|(is_unwanted, ..)| *is_unwanted) {
        cancel.cancel();
    }
    for (is_unwanted, _, task) in calls {
        let completion = end(task).await;
        if is_unwanted {
            assert_eq!(completion.ending, Ending::Cancelled);
        } else {
            assert_eq!(text(&completion), "[2]");
            assert!(completion.confirmed_dead.is_none());
        }
    }
    assert_eq!((host.finished(), host.most()), (16, 2));
    bed::works(&program).await;
}

#[tokio::test(flavor = "current_thread")]
async fn guests_that_spin_share_one_thread_with_everybody_else() {
    let ticks = Arc::new(AtomicUsize::new(0));
    let ticking = ticks.clone();
    let other = tokio::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_millis(1)).await;
            ticking.fetch_add(1, Ordering::SeqCst);
        }
    });
    // Half of them have a deadline; the others only their caller ends.
    let (mut expiring, mut lasting) = (Vec::new(), Vec::new());
    for index in 1..=10 {
        let mut late = job(&Script::new().spins());
        late.deadline = Instant::now() + Duration::from_millis(20 + 5 * index);
        expiring.push(tokio::spawn(bed::program().evaluate(late)));
        let endless = job(&Script::new().spins());
        let cancel = endless.cancel.clone();
        let task = tokio::spawn(bed::program().evaluate(endless));
        lasting.push((cancel, task));
    }
    bed::works(bed::program()).await;
    wait_until("everybody else is served", || {
        ticks.load(Ordering::SeqCst) > 20
    })
    .await;
    for task in expiring {
        assert_eq!(end(task).await.ending, Ending::Expired);
    }
    assert!(lasting.iter().all(|(_, task)| !task.is_finished()));
    for (cancel, task) in lasting {
        cancel.cancel();
        assert_eq!(end(task).await.ending, Ending::Cancelled);
    }
    other.abort();
}

#[tokio::test]
async fn an_engine_that_was_idle_still_stops_its_guests() {
    let program = bed::on(EngineSettings::default().slots(1));
    bed::works(&program).await;
    // Long enough for the thread that counts the ticks to go to sleep.
    tokio::time::sleep(bailiwick_isolate::TICK * 400).await;
    let mut job = job(&Script::new().spins());
    job.deadline = Instant::now() + Duration::from_millis(10);
    let task = tokio::spawn(async move { program.evaluate(job).await });
    assert_eq!(end(task).await.ending, Ending::Expired);
}

#[tokio::test]
async fn timers_ring_in_order_and_starve_no_host_call() {
    let mut script = Script::new()
        .sleeps(1, 30.0)
        .sleeps(2, 10.0)
        .sleeps(3, 10.0)
        .sleeps(4, -1.0)
        .sleeps(5, f64::NAN)
        .awaits(5);
    script.each = vec![Step::new(23, &[])];
    let completion = bed::run(&script).await;
    assert_eq!(text(&completion), "over");
    let logs = completion.observed.logs.iter();
    let order: Vec<u8> = logs.map(|log| log.text.as_bytes()[0]).collect();
    assert_eq!(order, [4, 5, 2, 3, 1]);

    // A timer that is due again before its callback ends.
    let mut script = Script::new().starts(9, "after", "[1]").sleeps(1, 0.0);
    script.each = vec![
        Step::new(22, &[9]),
        sleep(1, 0.0),
        Step::new(18, &[2_000_000]),
    ];
    let task = tokio::spawn(bed::program().evaluate(hosted(&script, &Host::default())));
    assert_eq!(text(&end(task).await), "[1]");
}
