//! Time and chance: denied, granted, and repeated.

use std::time::Duration;

use bailiwick_core::Code;
use bailiwick_quickjs::{Clock, Random};
use serde_json::{Value, json};

use crate::bed::{self, call, success};

#[tokio::test]
async fn no_way_leads_to_a_time_that_is_not_granted() {
    let ways = [
        "Date.now()",
        "new Date().getTime()",
        "Date()",
        "+new Date",
        "new Date(0).constructor.now()",
        "new (new Date(0).constructor)().getTime()",
        "Date.prototype.constructor()",
        "Reflect.construct(Date, []).getTime()",
        "Reflect.construct(Date, [], Object).getTime()",
        "new (class extends Date {})().getTime()",
        "Reflect.construct(class extends Date { constructor() { super(); } }, []).getTime()",
        "new Function('return Date.now()')()",
        "(0, eval)('Date.now()')",
        "Date.bind(null)()",
        "new (Date.bind(null))().getTime()",
        "Date.call(new Date(0))",
        "Object.getPrototypeOf(class extends Date {}).now()",
        "performance.now()",
        "performance.timeOrigin",
        "performance.toJSON().timeOrigin",
        "Object.getOwnPropertyDescriptor(Object.getPrototypeOf(performance), \
         'timeOrigin').get.call(performance)",
    ];
    for way in ways {
        let source = format!(
            "async () => {{ try {{ return ['got', String({way})]; }} \
             catch (e) {{ return ['threw', e.code, e.message]; }} }}"
        );
        let tool = bed::arrow(&source).await;
        let outcome = call(&tool, json!({})).await;
        assert_eq!(outcome.report.denials.len(), 1, "{way}");
        assert_eq!(outcome.report.denials[0]["object"], "clock", "{way}");
        let told = success(outcome);
        assert_eq!(told[0], "threw", "{way}: {told}");
        assert_eq!(told[1], "E_SKILL_ISOLATED_CAPABILITY_DENIED", "{way}");
    }
    // What needs no clock must show none.
    let shown = bed::value(
        "async () => [new Event('x').timeStamp, new Date(NaN).getTime(), Date.parse('now'), \
         new Date(2020, 0).getTimezoneOffset(), typeof Atomics, typeof Intl, typeof Temporal]",
    )
    .await;
    assert_eq!(
        shown,
        json!([0, "NaN", "NaN", 0, "undefined", "undefined", "undefined"])
    );
    for (error, _) in [
        bed::fails("async () => Date.now()").await,
        bed::execute_fails("() => Date.now()").await,
    ] {
        assert_eq!(error.code(), Code::IsolatedCapabilityDenied);
        assert!(
            error.hint().unwrap().contains("--grant context=clock"),
            "{error:?}"
        );
    }
    for (error, _) in [
        bed::fails("async () => crypto.randomUUID()").await,
        bed::execute_fails("() => crypto.randomUUID()").await,
    ] {
        assert_eq!(error.code(), Code::IsolatedCapabilityDenied);
        assert_eq!(error.details()["capability"], "random");
    }
}

const DRAWS: &str = "async () => ({ now: Date.now(), date: new Date().toISOString(), \
     elapsed: performance.now(), origin: performance.timeOrigin, \
     draws: Array.from({ length: 20 }, Math.random), id: crypto.randomUUID(), \
     bytes: [...crypto.getRandomValues(new Uint8Array(300))] })";

async fn drawn(clock: Clock, random: Random) -> Value {
    let tool = bed::with(DRAWS, |holdings| {
        holdings.clock = clock;
        holdings.random = random;
    })
    .await;
    success(call(&tool, json!({})).await)
}

#[tokio::test]
async fn a_fixed_clock_and_a_seed_repeat_a_call() {
    let fixed = Clock::Fixed(Duration::from_micros(1_700_000_000_123_900));
    let first = drawn(fixed.clone(), Random::Seeded(1)).await;
    assert_eq!(first["now"], 1_700_000_000_123_u64);
    assert_eq!(first["date"], "2023-11-14T22:13:20.123Z");
    assert_eq!(first["elapsed"], 0);
    assert_eq!(drawn(fixed.clone(), Random::Seeded(1)).await, first);
    let second = drawn(fixed, Random::Seeded(2)).await;
    for key in ["draws", "id", "bytes"] {
        assert_ne!(second[key], first[key], "{key}");
    }
}

#[tokio::test]
async fn granted_chance_is_another_in_each_call() {
    let first = drawn(Clock::System, Random::System).await;
    let second = drawn(Clock::System, Random::System).await;
    for key in ["draws", "id", "bytes"] {
        assert_ne!(second[key], first[key], "{key}");
    }
    let draws = first["draws"].as_array().unwrap();
    assert!(
        draws
            .iter()
            .all(|draw| (0.0..1.0).contains(&draw.as_f64().unwrap()))
    );
    assert!(second["now"].as_u64() >= first["now"].as_u64());
    let system = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    let behind = system.as_secs() - second["now"].as_u64().unwrap() / 1000;
    assert!(behind < 600, "{behind}");
}

#[tokio::test]
async fn one_grant_is_not_the_other() {
    for (clock, random, source) in [
        (Clock::System, Random::Deny, "async () => Math.random()"),
        (Clock::Deny, Random::System, "async () => Date.now()"),
    ] {
        let tool = bed::with(source, |holdings| {
            holdings.clock = clock;
            holdings.random = random;
        })
        .await;
        let error = call(&tool, json!({})).await.result.unwrap_err();
        assert_eq!(error.code(), Code::IsolatedCapabilityDenied, "{source}");
    }
}
