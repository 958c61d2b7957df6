//! No limit of isolated tools is inert: each is tried under roomy limits, where it must not show,
//! then small in `[limits.isolate]`, then small in the skill's own limits.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bailiwick::host::{Member, Parameter, Registry};
use bailiwick::{Code, Outcome};
use serde_json::json;

use crate::bed::{in_memory, policy_file};
use crate::isolated::{builder, text};

struct Limit {
    fields: [&'static str; 2],
    small: (&'static str, &'static str),
    /// What the tool answers with.
    expression: &'static str,
    shows: fn(&Outcome) -> bool,
}

const LIMITS: &[Limit] = &[
    Limit {
        fields: ["limits.isolate.fuel", "skill[].limits.isolate.fuel"],
        small: ("fuel", "200000"),
        expression: "{ let sum = 0; for (let i = 0; i < 1e5; i += 1) sum += i; return sum; }",
        shows: |outcome| fails(outcome, Code::IsolatedOutOfFuel),
    },
    Limit {
        fields: ["limits.isolate.memory", "skill[].limits.isolate.memory"],
        small: ("memory", "\"8MiB\""),
        expression: "new Uint8Array(20 << 20).length",
        shows: |outcome| fails(outcome, Code::IsolatedMemoryExceeded),
    },
    Limit {
        fields: ["limits.isolate.stack", "skill[].limits.isolate.stack"],
        small: ("stack", "\"64KiB\""),
        expression: "{ const deep = (n) => (n === 0 ? 0 : 1 + deep(n - 1)); return deep(1000); }",
        shows: |outcome| says(outcome, "RangeError"),
    },
    Limit {
        fields: ["limits.isolate.table", "skill[].limits.isolate.table"],
        small: ("table", "16"),
        expression: "1",
        shows: |outcome| {
            fails(outcome, Code::IsolatedMemoryExceeded)
                && outcome.report.limit_hit.as_deref() == Some("table")
        },
    },
    Limit {
        fields: [
            "limits.isolate.host_calls",
            "skill[].limits.isolate.host_calls",
        ],
        small: ("host_calls", "2"),
        expression: "{ for (let i = 0; i < 3; i += 1) await context.test.most(\"\"); }",
        shows: |outcome| hit(outcome, "host_calls"),
    },
    Limit {
        fields: [
            "limits.isolate.host_calls_concurrent",
            "skill[].limits.isolate.host_calls_concurrent",
        ],
        small: ("host_calls_concurrent", "1"),
        expression: "{ const all = Array.from({ length: 8 }, () => context.test.most(\"\")); \
                     return Math.max(...(await Promise.all(all))); }",
        shows: |outcome| shown(outcome) == "1",
    },
    Limit {
        fields: [
            "limits.isolate.host_call_bytes",
            "skill[].limits.isolate.host_call_bytes",
        ],
        small: ("host_call_bytes", "\"1KiB\""),
        expression: "context.test.most(\"x\".repeat(5000))",
        shows: |outcome| hit(outcome, "host_call_bytes"),
    },
    Limit {
        fields: ["limits.isolate.result", "skill[].limits.isolate.result"],
        small: ("result", "\"1KiB\""),
        expression: "\"x\".repeat(5000)",
        shows: |outcome| {
            fails(outcome, Code::ToolBadResponse)
                && outcome.report.limit_hit.as_deref() == Some("result")
        },
    },
    Limit {
        fields: [
            "limits.isolate.log_events",
            "skill[].limits.isolate.log_events",
        ],
        small: ("log_events", "2"),
        expression: "{ for (let i = 0; i < 5; i += 1) console.log(i); }",
        shows: |outcome| outcome.report.logs.len() == 2 && outcome.report.logs_dropped == 3,
    },
    Limit {
        fields: [
            "limits.isolate.log_bytes",
            "skill[].limits.isolate.log_bytes",
        ],
        small: ("log_bytes", "\"1KiB\""),
        expression: "console.log(\"x\".repeat(5000))",
        shows: |outcome| outcome.report.logs[0].text.len() <= 1024 + '…'.len_utf8(),
    },
    Limit {
        fields: [
            "limits.isolate.json_depth",
            "skill[].limits.isolate.json_depth",
        ],
        small: ("json_depth", "4"),
        expression: "context.test.most([[[[[[[[[1]]]]]]]]])",
        shows: |outcome| says(outcome, "deeper"),
    },
    Limit {
        fields: [
            "limits.isolate.json_nodes",
            "skill[].limits.isolate.json_nodes",
        ],
        small: ("json_nodes", "20"),
        expression: "context.test.most(Array.from({ length: 50 }, () => 1))",
        shows: |outcome| says(outcome, "more than"),
    },
];

fn fails(outcome: &Outcome, code: Code) -> bool {
    let error = outcome.result.as_ref().err();
    error.is_some_and(|error| error.code() == code)
}

fn says(outcome: &Outcome, word: &str) -> bool {
    let error = outcome.result.as_ref().err();
    error.is_some_and(|error| error.code() == Code::ToolFailed && error.message().contains(word))
}

fn hit(outcome: &Outcome, quota: &str) -> bool {
    fails(outcome, Code::ToolFailed) && outcome.report.limit_hit.as_deref() == Some(quota)
}

fn shown(outcome: &Outcome) -> String {
    let response = outcome.result.as_ref().ok();
    response.map_or_else(String::new, |response| response.text().into_owned())
}

/// A member that answers with how many calls of it ran at the same time when it was called.
fn counting() -> Registry {
    let running = Arc::new(AtomicUsize::new(0));
    let anything = Parameter::optional("anything", "unknown", json!({}));
    let member = Member::builder("test.most", "Counts.")
        .parameter(anything)
        .build(move |_| {
            let running = running.clone();
            async move {
                let now = running.fetch_add(1, Ordering::SeqCst) + 1;
                tokio::time::sleep(Duration::from_millis(5)).await;
                running.fetch_sub(1, Ordering::SeqCst);
                Ok(json!(now))
            }
        })
        .unwrap();
    Registry::standard().unwrap().with(member).unwrap()
}

async fn run(expression: &str, limits: &str, own: &str) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let policy = format!(
        "version = 1\n{limits}\n[session]\ncontext = [\"test\"]\n\
         [[skill]]\nname = \"demo\"\nsource = \"bundled\"\ngrant.context = [\"test\"]\n{own}\n"
    );
    let manager = builder()
        .policy(policy_file(folder.path(), &policy))
        .context_members(counting())
        .source(in_memory(text(expression)))
        .build()
        .await
        .unwrap();
    manager.load("demo").await.unwrap();
    let outcome = manager.call("go", json!({})).await;
    manager.shutdown().await;
    outcome
}

#[tokio::test(flavor = "multi_thread")]
async fn every_limit_of_isolated_tools_takes_effect() {
    for limit in LIMITS {
        let (key, value) = limit.small;
        let control = run(limit.expression, "", "").await;
        let is_roomy = control.result.is_ok() && !(limit.shows)(&control);
        assert!(is_roomy, "{key}: {control:?}");
        let ceiling = format!("[limits.isolate]\n{key} = {value}");
        let own = format!("limits.isolate.{key} = {value}");
        for (field, limits, own) in [
            (limit.fields[0], ceiling.as_str(), ""),
            (limit.fields[1], "", own.as_str()),
        ] {
            let limited = run(limit.expression, limits, own).await;
            assert!((limit.shows)(&limited), "{field} is ignored: {limited:?}");
        }
    }
}

// field: limits.reply
#[tokio::test(flavor = "multi_thread")]
async fn a_long_answer_is_kept_whole_and_shown_by_its_ends() {
    let outcome = run("\"x\".repeat(5000)", "[limits]\nreply = \"1KiB\"", "").await;
    assert!(shown(&outcome).len() <= 1024, "{outcome:?}");
    assert!(outcome.report.artifact.is_some());
    assert_eq!(outcome.report.bytes, 5000);
}

// field: limits.wall_default
#[tokio::test(flavor = "multi_thread")]
async fn an_endless_loop_ends_at_the_deadline() {
    let limits = "[limits]\nwall = \"5s\"\nwall_default = \"250ms\"";
    let outcome = run("{ for (;;) {} }", limits, "").await;
    assert!(fails(&outcome, Code::IsolatedTimeout), "{outcome:?}");
    assert_eq!(outcome.report.limit_hit.as_deref(), Some("wall"));
    assert!(outcome.report.confirmed_dead.is_some());
}
