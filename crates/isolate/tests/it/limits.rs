//! Each limit, in a test that fails when nobody enforces it.

use std::sync::{Arc, Mutex};

use bailiwick_core::Updates;
use bailiwick_isolate::{Ending, EngineSettings};
use serde_json::{Value, json};

use crate::bed::{self, Host, hosted, job, numbers, settled, text, under};
use crate::script::{SCRATCH, Script, Step};

const PAGE: usize = 65536;

#[tokio::test]
async fn fuel_ends_a_guest_and_is_counted_the_same_each_time() {
    let program = bed::on(EngineSettings::default().slots(2).fuel(true));
    let work = Script::new().does(18, &[100_000]).answers("done");
    let mut used = Vec::new();
    for _ in 0..3 {
        let completion = program.evaluate(job(&work)).await;
        assert_eq!(text(&completion), "done");
        used.push(completion.observed.fuel_used.unwrap());
    }
    assert!(
        used[0] > 100_000 && used.iter().all(|one| *one == used[0]),
        "{used:?}"
    );

    let mut limited = job(&work);
    limited.limits.fuel = Some(used[0]);
    assert_eq!(text(&program.evaluate(limited.clone()).await), "done");
    limited.limits.fuel = Some(used[0] / 2);
    let completion = program.evaluate(limited.clone()).await;
    assert_eq!(completion.ending, Ending::OutOfFuel);
    assert_eq!(completion.observed.fuel_used, Some(used[0] / 2));
    limited.limits.fuel = Some(0);
    assert_eq!(program.evaluate(limited).await.ending, Ending::OutOfFuel);
    bed::works(&program).await;
}

#[tokio::test]
async fn limits_that_an_engine_cannot_hold_are_refused_before_the_guest_starts() {
    let program = bed::on(
        EngineSettings::default()
            .slots(1)
            .memory(8 << 20)
            .stack(1 << 16),
    );
    let work = Script::new().answers("done");
    let fitting = {
        let mut job = job(&work);
        job.limits.memory = 8 << 20;
        job.limits.stack = 1 << 16;
        job
    };
    assert_eq!(text(&program.evaluate(fitting.clone()).await), "done");
    for (name, adjust) in [
        (
            "fuel",
            (|limits| limits.fuel = Some(1)) as fn(&mut bailiwick_isolate::Limits),
        ),
        ("memory", |limits| limits.memory += 1),
        ("stack", |limits| limits.stack += 1),
        ("table", |limits| limits.table = 100_001),
    ] {
        let mut job = fitting.clone();
        adjust(&mut job.limits);
        let ending = program.evaluate(job).await.ending;
        let is_named = matches!(&ending, Ending::Misconfigured { what } if what.contains(name));
        assert!(is_named, "{name}: {ending:?}");
    }
    assert_eq!(text(&program.evaluate(fitting).await), "done");
}

#[tokio::test]
async fn memory_is_refused_beyond_its_limit_and_the_peak_is_known() {
    let grow = |pages| Script::new().does(11, &[pages, SCRATCH]);
    // Two pages are there already: the guest's own, and one that its input took.
    let completion = under(&grow(6).answers_from(SCRATCH, 4), |limits| {
        limits.memory = 8 * PAGE;
    })
    .await;
    assert_eq!(numbers(&completion), [2]);
    assert_eq!(completion.observed.memory_peak, 8 * PAGE);
    assert!(!completion.observed.memory_refused);

    let completion = under(&grow(7).answers_from(SCRATCH, 4), |limits| {
        limits.memory = 8 * PAGE;
    })
    .await;
    assert_eq!(numbers(&completion), [u32::MAX], "the guest may go on");
    assert!(completion.observed.memory_refused);
    assert_eq!(completion.observed.memory_peak, 2 * PAGE);

    let completion = under(&grow(7).does(14, &[]), |limits| limits.memory = 8 * PAGE).await;
    assert_eq!(completion.ending, Ending::OutOfMemory, "or end on it");

    let completion = under(&Script::new().answers("x"), |limits| {
        limits.memory = PAGE / 2;
    })
    .await;
    assert_eq!(completion.ending, Ending::OutOfMemory, "or not start");
    assert_eq!(completion.observed.memory_peak, 0);

    let mut large = Script::new().answers("x");
    large.text(vec![0; 8 * PAGE]);
    let completion = under(&large, |limits| limits.memory = 4 * PAGE).await;
    assert_eq!(
        completion.ending,
        Ending::OutOfMemory,
        "or have no room for its input"
    );
}

#[tokio::test]
async fn a_trap_of_its_own_is_not_the_fault_of_memory() {
    let completion = bed::run(&Script::new().does(14, &[])).await;
    assert!(
        matches!(completion.ending, Ending::Trapped { .. }),
        "{:?}",
        completion.ending
    );
}

#[tokio::test]
async fn a_table_is_refused_beyond_its_limit() {
    let grow = |elements| {
        Script::new()
            .does(12, &[elements, SCRATCH])
            .answers_from(SCRATCH, 4)
    };
    let completion = under(&grow(9), |limits| limits.table = 10).await;
    assert_eq!(numbers(&completion), [1]);
    assert!(!completion.observed.table_refused);
    let completion = under(&grow(10), |limits| limits.table = 10).await;
    assert_eq!(numbers(&completion), [u32::MAX]);
    assert!(completion.observed.table_refused);
    let completion = under(&grow(0), |limits| limits.table = 0).await;
    assert_eq!(
        completion.ending,
        Ending::OutOfMemory,
        "not even the module's own"
    );
}

#[tokio::test]
async fn the_stack_of_the_language_arrives_and_the_native_one_is_bounded() {
    let state = Script::new().does(19, &[SCRATCH]).answers_from(SCRATCH, 16);
    let completion = under(&state, |limits| limits.stack = 12_345).await;
    assert_eq!(numbers(&completion)[3], 12_345);
    let completion = bed::run(&Script::new().does(99, &[])).await;
    assert_eq!(completion.ending, Ending::StackExhausted);
    bed::works(bed::program()).await;
}

#[tokio::test]
async fn host_calls_beyond_their_number_are_refused_one_by_one() {
    let mut script = Script::new();
    for id in 1..=5 {
        script = script.starts(id, "echo", "[]");
    }
    let host = Host::default();
    let mut job = hosted(&script.awaits(5), &host);
    job.limits.host_calls = 3;
    let completion = bed::program().evaluate(job).await;
    assert_eq!(text(&completion), "over");
    let refused = settled(&completion);
    let refused = refused
        .iter()
        .filter(|answer| answer["code"] == "E_SKILL_TOOL_FAILED");
    assert_eq!(refused.count(), 2);
    assert_eq!(host.started(), 3);
    assert_eq!(completion.observed.host_calls, 5);
    assert_eq!(completion.observed.quota_hit, Some("host_calls"));
}

#[tokio::test]
async fn host_calls_beyond_those_at_a_time_wait_and_all_complete() {
    for most in [1, 3, 10] {
        let mut script = Script::new();
        for id in 1..=10 {
            script = script.starts(id, "after", "[5]");
        }
        let host = Host::default();
        let mut job = hosted(&script.awaits(10), &host);
        job.limits.host_calls_concurrent = most;
        let completion = bed::program().evaluate(job).await;
        assert_eq!(text(&completion), "over");
        assert_eq!(host.finished(), 10);
        assert_eq!(host.most(), most as usize);
        assert_eq!(settled(&completion), vec![json!([5]); 10]);
    }
}

#[tokio::test]
async fn refusals_do_not_take_the_place_of_calls() {
    let script = Script::new()
        .starts(1, "after", "[\"no list\"")
        .starts(2, "after", "[1]")
        .starts(3, "after", "[2]");
    let completion = under(&script.awaits(3), |limits| limits.host_calls_concurrent = 1).await;
    assert_eq!(text(&completion), "over");
    let codes: Vec<Value> = settled(&completion);
    assert_eq!(codes[0]["code"], "E_SKILL_ARGUMENTS_REJECTED");
    assert_eq!(codes[1..], [json!([1]), json!([2])]);
}

#[tokio::test]
async fn a_host_call_is_bounded_in_its_arguments_and_its_answer() {
    let list = |bytes: usize| json!(["x".repeat(bytes - 4)]).to_string();
    let script = Script::new()
        .starts(1, "echo", &list(100))
        .starts(2, "echo", &list(101))
        .starts(3, "large", "[98]")
        .starts(4, "large", "[99]");
    let completion = under(&script.awaits(4), |limits| limits.host_call_bytes = 100).await;
    assert_eq!(text(&completion), "over");
    let mut lengths = Vec::new();
    let mut refusals = Vec::new();
    for answer in settled(&completion) {
        if answer.is_object() {
            refusals.push(answer["call"].as_u64().unwrap());
            assert!(
                answer["message"].as_str().unwrap().contains("100 bytes"),
                "{answer}"
            );
        } else {
            lengths.push(answer.to_string().len());
        }
    }
    refusals.sort_unstable();
    assert_eq!((lengths, refusals), (vec![100, 100], vec![2, 4]));
    assert_eq!(completion.observed.quota_hit, Some("host_call_bytes"));
}

#[tokio::test]
async fn calls_that_wait_hold_no_more_than_the_memory_of_the_guest() {
    let mut script = Script::new().starts(1, "never", "[]");
    let (member, length) = script.text("never");
    let (arguments, size) = script.text(json!(["x".repeat(PAGE)]).to_string());
    let start = Step::new(0, &[2, member, length, arguments, size]);
    let script = script.times(20).then(start);
    let mut script = script.answers_with(2);
    script.expected = u32::MAX;
    let completion = under(&script, |limits| {
        limits.host_calls_concurrent = 1;
        limits.memory = 6 * PAGE;
    })
    .await;
    assert!(text(&completion).contains("hold more than its memory"));
    assert_eq!(completion.observed.quota_hit, Some("memory"));
}

#[tokio::test]
async fn the_result_is_bounded() {
    let answer = Script::new().answers(&"x".repeat(100));
    let completion = under(&answer, |limits| limits.result = 100).await;
    assert_eq!(text(&completion).len(), 100);
    let completion = under(&answer, |limits| limits.result = 99).await;
    assert_eq!(completion.ending, Ending::ResultTooLarge { bytes: 100 });
}

#[tokio::test]
async fn log_events_are_bounded_in_number_and_size() {
    let mut script = Script::new();
    for index in 0..8 {
        script = script.logs("warn", format!("event {index}"));
    }
    let completion = under(&script.answers("x"), |limits| limits.log_events = 5).await;
    assert_eq!(completion.observed.logs.len(), 5);
    assert_eq!(completion.observed.logs[4].text, "event 4");
    assert_eq!(completion.observed.logs_dropped, 3);

    let script = Script::new()
        .logs("error", "12345")
        .logs("error", "123456")
        .logs("error", "1234é6")
        .logs("no level", [b'a', 0xFF, b'b'])
        .answers("x");
    let completion = under(&script, |limits| limits.log_bytes = 5).await;
    let logs = &completion.observed.logs;
    let texts: Vec<&str> = logs.iter().map(|log| log.text.as_str()).collect();
    assert_eq!(texts, ["12345", "12345…", "1234…", "a\u{FFFD}b"]);
    assert_eq!(
        (logs[0].level.as_str(), logs[3].level.as_str()),
        ("error", "log")
    );
    assert_eq!(completion.observed.logs_dropped, 0);
}

#[tokio::test]
async fn partial_results_are_bounded_as_logs_are() {
    let taken = Arc::new(Mutex::new(Vec::new()));
    let sink = taken.clone();
    let mut script = Script::new()
        .updates("[[1]]")
        .updates("[1,2,3,4]")
        .updates("no json");
    for index in 0..8 {
        script = script.updates(&index.to_string());
    }
    let mut job = job(&script.updates(&"9".repeat(30)).answers("x"));
    job.limits.log_events = 6;
    job.limits.json_depth = 1;
    job.limits.json_nodes = 4;
    job.limits.host_call_bytes = 20;
    job.updates = Some(Updates::to(move |partial| {
        sink.lock().unwrap().push(partial);
    }));
    let completion = bed::program().evaluate(job).await;
    assert_eq!(text(&completion), "x");
    assert_eq!(*taken.lock().unwrap(), [json!(0), json!(1), json!(2)]);
    assert_eq!(completion.observed.updates, 12);
    assert_eq!(completion.observed.logs_dropped, 9);
}

#[tokio::test]
async fn json_that_leaves_the_guest_is_bounded_in_depth_and_values() {
    let script = Script::new()
        .starts(1, "echo", "[[[1]]]")
        .starts(2, "echo", "[[[[1]]]]")
        .starts(3, "echo", "[1,2,3,4]")
        .starts(4, "echo", "[1,2,3,4,5]")
        .starts(5, "echo", "[")
        .starts(6, "echo", "{}");
    let completion = under(&script.awaits(6), |limits| {
        limits.json_depth = 3;
        limits.json_nodes = 5;
    })
    .await;
    let mut refused: Vec<(u64, String)> = settled(&completion)
        .into_iter()
        .filter(|answer| answer["code"] == "E_SKILL_ARGUMENTS_REJECTED")
        .map(|answer| {
            let message = answer["message"].as_str().unwrap().to_owned();
            (answer["call"].as_u64().unwrap(), message)
        })
        .collect();
    refused.sort();
    let calls: Vec<u64> = refused.iter().map(|(call, _)| *call).collect();
    assert_eq!(calls, [2, 4, 5, 6]);
    assert!(refused[0].1.contains("deeper than 3"), "{refused:?}");
    assert!(refused[1].1.contains("more than 5"), "{refused:?}");
}

#[tokio::test]
async fn timers_and_unanswered_refusals_are_bounded() {
    let many = |step: Script| step.answers("x");
    let sleeps = |times| many(Script::new().times(times).sleeps(1, 1000.0));
    assert_eq!(text(&bed::run(&sleeps(4096)).await), "x");
    let completion = bed::run(&sleeps(4097)).await;
    assert_eq!(completion.ending, violated("it has more than 4096 timers"));

    let starts = |times| many(Script::new().times(times).starts(1, "echo", "[]"));
    let refusing = |limits: &mut bailiwick_isolate::Limits| limits.host_calls = 0;
    assert_eq!(text(&under(&starts(4096), refusing).await), "x");
    let completion = under(&starts(4097), refusing).await;
    assert_eq!(
        completion.ending,
        violated("it makes host calls and waits for none of 4096 that were refused")
    );
    let long = Script::new().starts(1, &"m".repeat(257), "[]").answers("x");
    assert_eq!(
        under(&long, |_| ()).await.ending,
        violated("it named a member in more than 256 bytes")
    );
}

fn violated(what: &str) -> Ending {
    Ending::Violated {
        what: what.to_owned(),
    }
}
