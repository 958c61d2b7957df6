//! Guests that break the interface in every way that there is.

use std::time::{Duration, Instant};

use bailiwick_isolate::{Clock, Ending, Random};
use proptest::prelude::*;

use crate::bed::{self, Host, hosted};
use crate::script::{SCRATCH, Script, Step, sleep};

/// A number that a hostile guest might give.
fn number() -> impl Strategy<Value = u32> {
    prop_oneof![
        4 => prop::sample::select(vec![
            0, 1, 2, 3, 4, 16, 255, 256, 257, 1024, 65535, 65536, 65537, 131_071, 131_072, 131_073,
            0x7FFF_FFFF, 0x8000_0000, 0xFFFF_0000, 0xFFFF_FFFE, 0xFFFF_FFFF,
        ]),
        2 => 0_u32..200_000,
        1 => any::<u32>(),
    ]
}

fn milliseconds() -> impl Strategy<Value = f64> {
    prop_oneof![
        prop::sample::select(vec![
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            -1.0,
            -0.0,
            0.0,
            1e-300,
            1e300,
            f64::MAX,
        ]),
        0.0..3.0,
        any::<f64>(),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let any_step = (0_u32..23, prop::collection::vec(number(), 7));
    let calling = any_step.prop_map(|(kind, numbers)| match kind {
        // What spins or counts for long is for other tests.
        13 | 18 | 20 => Step::new(2, &numbers),
        _ => Step::new(kind, &numbers),
    });
    let near = (0_u32..11, number(), 0_u32..40, 0_u32..40);
    prop_oneof![
        4 => calling,
        // Texts that are there: most of these get past the first check.
        4 => near.prop_map(|(kind, id, length, other)| match kind {
            0 => Step::new(0, &[id, 16, length, 65536, other]),
            3 => Step::new(3, &[16, 4, 65536, length]),
            4 => Step::new(4, &[65536, length]),
            5 => Step::new(5, &[id, 65536, length]),
            7 => Step::new(7, &[other % 3, SCRATCH, SCRATCH + 8]),
            8 => Step::new(8, &[SCRATCH, length, SCRATCH + 64]),
            9 => Step::new(9, &[16, 4, 16, length]),
            10 => Step::new(10, &[SCRATCH]),
            _ => Step::new(17, &[id]),
        }),
        1 => (number(), milliseconds()).prop_map(|(id, time)| sleep(id, time)),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 0..8)
}

fn script() -> impl Strategy<Value = Script> {
    let data = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..40),
        Just(b"[]".to_vec()),
        Just(b"[\"echo\", {\"a\": [1]}]".to_vec()),
    ];
    (data, steps(), steps(), steps(), 0_u32..4).prop_map(|(data, run, each, last, expected)| {
        let mut script = Script::new();
        script.text(data);
        script.run = run;
        script.each = each;
        script.last = last;
        script.expected = expected;
        script
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn no_guest_brings_down_its_host(
        script in script(),
        grants in any::<(bool, bool, bool)>(),
        place in prop::option::weighted(0.3, number()),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let program = match place {
            None => bed::program().clone(),
            // A guest whose very first allocation lies somewhere else.
            Some(place) => {
                let from = "(global $place (mut i32) (i32.const -1))";
                let place = place.cast_signed();
                let to = format!("(global $place (mut i32) (i32.const {place}))");
                bed::compile(bed::engine(), &bed::INTERPRETER.replace(from, &to))
            }
        };
        let mut job = hosted(&script, &Host::default());
        job.deadline = Instant::now() + Duration::from_millis(30);
        if grants.0 {
            job.clock = Clock::System;
        }
        if grants.1 {
            job.random = Random::Seeded(7);
        }
        if grants.2 {
            job.limits.host_calls = 1;
            job.limits.log_events = 1;
            job.limits.memory = 4 << 16;
        }
        let completion = runtime.block_on(program.evaluate(job));
        let is_expected = matches!(
            &completion.ending,
            Ending::Answered { .. }
                | Ending::ResultTooLarge { .. }
                | Ending::Stalled
                | Ending::Expired
                | Ending::OutOfMemory
                | Ending::StackExhausted
                | Ending::Violated { .. }
                | Ending::Trapped { .. }
        );
        prop_assert!(is_expected, "{:?}", completion.ending);
        prop_assert!(completion.observed.logs.len() <= 1000);
        prop_assert!(completion.observed.denials.len() <= 100);
        runtime.block_on(bed::works(bed::program()));
    }
}

#[tokio::test]
async fn each_broken_rule_is_named() {
    let outside = "it named a place outside its memory";
    let not_text = "it gave a text that is not UTF-8";
    let end = 2 * 65536;
    let mut with_bytes = Script::new();
    let (bad, length) = with_bytes.text([0xC3, 0x28]);
    let twice = [Step::new(5, &[1, 0, 0]), Step::new(5, &[1, 0, 0])];
    let cases: Vec<(&str, Vec<Step>, &str)> = vec![
        (
            "start, member",
            vec![Step::new(0, &[1, end, 1, 0, 0])],
            outside,
        ),
        (
            "start, arguments",
            vec![Step::new(0, &[1, 16, 4, u32::MAX, u32::MAX])],
            outside,
        ),
        (
            "start, member in bytes",
            vec![Step::new(0, &[1, bad, length, 16, 4])],
            not_text,
        ),
        (
            "log, level",
            vec![Step::new(3, &[end - 3, 4, 0, 0])],
            outside,
        ),
        (
            "log, level in bytes",
            vec![Step::new(3, &[bad, length, 0, 0])],
            not_text,
        ),
        (
            "log, text",
            vec![Step::new(3, &[16, 4, 1, u32::MAX])],
            outside,
        ),
        ("update", vec![Step::new(4, &[u32::MAX, 1])], outside),
        ("done", vec![Step::new(5, &[1, end, 1])], outside),
        (
            "done, all and one",
            vec![Step::new(5, &[1, 0, end + 1])],
            outside,
        ),
        ("done twice", twice.to_vec(), "it answered twice"),
        ("clock", vec![Step::new(7, &[0, end - 7, SCRATCH])], outside),
        (
            "a third clock",
            vec![Step::new(7, &[2, 0, SCRATCH])],
            "it asked for a clock that there is not",
        ),
        (
            "random",
            vec![Step::new(8, &[end - 1, 2, SCRATCH])],
            outside,
        ),
        (
            "much random",
            vec![Step::new(8, &[0, 65537, SCRATCH])],
            "it asked for more random bytes than there are",
        ),
        (
            "pure, operation",
            vec![Step::new(9, &[end, 1, 0, 0])],
            outside,
        ),
        (
            "pure, arguments",
            vec![Step::new(9, &[16, 4, end, 1])],
            outside,
        ),
        (
            "pure, in bytes",
            vec![Step::new(9, &[16, 4, bad, length])],
            not_text,
        ),
        (
            "pure, much",
            vec![Step::new(9, &[16, 4, 0, (1 << 20) + 1])],
            "it asked a longer question than a host call may be",
        ),
        (
            "reply, no room",
            vec![Step::new(7, &[0, 0, SCRATCH]), Step::new(10, &[end - 8])],
            outside,
        ),
    ];
    for (name, steps, expected) in cases {
        let mut script = with_bytes.clone();
        script.run = steps;
        let mut job = hosted(&script, &Host::default());
        if name != "reply, no room" {
            job.clock = Clock::System;
            job.random = Random::System;
        }
        let what = expected.to_owned();
        let completion = bed::program().evaluate(job).await;
        assert_eq!(completion.ending, Ending::Violated { what }, "{name}");
        bed::works(bed::program()).await;
    }
}

#[tokio::test]
async fn an_answer_while_nobody_waits_for_one_counts_once() {
    let early = "(call $done (i32.const 7) (i32.const 16) (i32.const 4))";
    for place in ["(;START;)", "(;ALLOC;)"] {
        let text = bed::INTERPRETER.replace(place, early);
        let program = bed::compile(bed::engine(), &text);
        let completion = program.evaluate(bed::job(&Script::new())).await;
        let bytes = b"info".to_vec();
        assert_eq!(
            completion.ending,
            Ending::Answered { kind: 7, bytes },
            "{place}"
        );
        let twice = program
            .evaluate(bed::job(&Script::new().answers("x")))
            .await;
        let what = "it answered twice".to_owned();
        assert_eq!(twice.ending, Ending::Violated { what }, "{place}");
    }
}

#[tokio::test]
async fn numbers_that_nobody_knows_are_nothing_to_give_up() {
    let script = Script::new()
        .does(2, &[99])
        .starts(1, "never", "[]")
        .does(2, &[1])
        .does(2, &[1])
        .sleeps(2, 60_000.0)
        .does(2, &[2]);
    let host = Host::default();
    let completion = bed::program().evaluate(hosted(&script, &host)).await;
    assert_eq!(
        completion.ending,
        Ending::Stalled,
        "nothing is left to wait for"
    );
    assert_eq!(host.started(), host.dropped());
}

#[tokio::test]
async fn a_number_used_twice_confuses_nobody_but_the_guest() {
    let script = Script::new()
        .starts(1, "after", "[1]")
        .starts(1, "echo", "[2]")
        .sleeps(1, 1.0)
        .awaits(3);
    let completion = bed::under(&script, |limits| limits.host_calls_concurrent = 1).await;
    assert_eq!(bed::text(&completion), "over");
}

#[tokio::test]
async fn what_is_denied_is_known_by_number_and_bounded() {
    let mut script = Script::new()
        .starts(5, "fs.read", "[]")
        .does(7, &[0, SCRATCH, SCRATCH + 8]);
    let (member, length) = script.text("other");
    for id in 100..300 {
        script = script.does(0, &[id, member, length, member, 0]);
    }
    let completion = bed::under(&script.awaits(201), |_| ()).await;
    let observed = &completion.observed;
    assert_eq!(
        observed.denials.len(),
        2,
        "arguments that are no list are no denial"
    );
    assert_eq!(
        observed.denial(5).unwrap().message(),
        "`fs.read` is not granted"
    );
    assert!(
        observed
            .denial(u32::MAX)
            .unwrap()
            .message()
            .contains("`clock`")
    );
    let mut script = Script::new();
    for id in 1..=200 {
        script = script.starts(id, "fs.read", "[]");
    }
    let completion = bed::under(&script.awaits(200), |_| ()).await;
    assert_eq!(completion.observed.denials.len(), 100);
}
