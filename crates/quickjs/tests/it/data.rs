//! The behaviour of the guest's world, which `tests/guests` has as data.

use std::path::Path;
use std::sync::Arc;

use bailiwick_core::{CallContext, Code};
use bailiwick_quickjs::{Clock, Form, Holdings, Random};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::bed::{self, Host, call_in, failure, success};

/// Reads a file of the data, which is small and ours.
#[expect(clippy::disallowed_methods, reason = "a test reads its own data")]
fn read(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

fn identity() -> CallContext {
    let mut context = CallContext::new("/work");
    context.conversation = Some("c1".to_owned());
    context.place.thread = Some("t1".to_owned());
    context.place.thread_path = Some("/threads/t1".to_owned());
    context
}

fn bounded(holdings: &mut Holdings) {
    holdings.limits.json_depth = 64;
    holdings.limits.json_nodes = 10_000;
}

#[tokio::test]
async fn every_subject_of_the_world_is_as_its_tool_checks() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests");
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| {
            Path::new(name)
                .extension()
                .is_some_and(|ending| ending == "js")
        })
        .collect();
    names.sort();
    assert!(names.len() >= 14, "{names:?}");
    for name in names {
        let source = read(&name);
        let grants = source.lines().next().unwrap().strip_prefix("// grants: ");
        let host = Host::default();
        let tool = bed::with(&source, |holdings| {
            bounded(holdings);
            holdings.services = Arc::new(host.clone());
            for grant in grants.unwrap_or_default().split(", ") {
                match grant {
                    "clock" => holdings.clock = Clock::System,
                    "random" => holdings.random = Random::System,
                    _ => assert_eq!(grant, ""),
                }
            }
        })
        .await;
        let context = host.watching(identity());
        let outcome = call_in(&tool, json!({ "a": 1 }), &context).await;
        let logs = outcome.report.logs.clone();
        if let Err(error) = &outcome.result {
            panic!("{name}: {}\n{:?}", error.host_chain(), outcome.report.stack);
        }
        assert_eq!(success(outcome), "ok", "{name}");
        match name.as_str() {
            "console.js" => console(&logs),
            "granted.js" => {
                assert!(logs[0].text.starts_with("t: ") && logs[0].text.ends_with("ms half"));
                assert!(logs[1].text.starts_with("t: ") && logs[1].text.ends_with("ms"));
            }
            _ => {}
        }
    }
}

fn console(logs: &[bailiwick_core::LogEvent]) {
    let expected: Vec<(String, String)> = serde_json::from_str(&read("console.json")).unwrap();
    for (log, (level, text)) in logs.iter().zip(&expected) {
        assert_eq!((&log.level, &log.text), (level, text));
    }
    let [error, long, list] = &logs[expected.len()..] else {
        panic!("{} events", logs.len());
    };
    assert!(
        error.text.starts_with("TypeError: bad\n    at "),
        "{}",
        error.text
    );
    assert!(error.text.contains("code: 'E_X'"), "{}", error.text);
    assert!(!error.text.contains("<prelude>"), "{}", error.text);
    assert_eq!(long.text.len(), 8192 + '…'.len_utf8());
    assert!(list.text.contains("... 4900 more items"), "{}", list.text);
}

/// One tool and what must come of it.
#[derive(Deserialize)]
struct Case {
    name: String,
    source: String,
    /// The form of the source, where it is no arrow function.
    form: Option<String>,
    kind: u32,
    answer: Value,
    #[serde(default)]
    contains: Vec<String>,
    #[serde(default)]
    lacks: Vec<String>,
}

#[tokio::test]
async fn every_tool_ends_as_the_data_says() {
    let cases: Vec<Case> = serde_json::from_str(&read("outcomes.json")).unwrap();
    for case in cases {
        let form = match case.form.as_deref() {
            None => Form::Arrow,
            Some(form) => {
                assert_eq!(form, "module", "{}", case.name);
                Form::Module
            }
        };
        let script = bed::script(&case.source, form).await.unwrap();
        let tool = bed::of(&bed::engine(), script, bounded);
        let outcome = call_in(&tool, json!({ "a": 1 }), &identity()).await;
        let name = &case.name;
        if case.kind == 1 {
            let warnings = outcome.report.warnings.clone();
            let value = success(outcome);
            assert!(
                case.answer["value"] == "*" || case.answer["value"] == value,
                "{name}: {value}"
            );
            let notes = case.answer["encoded"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            let notes: Vec<String> = notes.iter().map(note).collect();
            assert_eq!(warnings, notes, "{name}");
            continue;
        }
        let (error, report) = failure(outcome);
        if case.kind == 3 {
            assert_eq!(error.code(), Code::ToolBadResponse, "{name}: {error}");
            for part in ["reason", "path"] {
                // A message has 400 characters, and a path may have more.
                let part = case.answer[part].as_str().unwrap();
                let part = &part[..part.len().min(60)];
                assert!(error.message().contains(part), "{name}: {error}");
            }
            continue;
        }
        thrown(&case, &error, &report);
    }
}

fn note(note: &Value) -> String {
    let text = |key: &str| note[key].as_str().unwrap().to_owned();
    format!(
        "`{}` of the answer was {} and is given as text",
        text("path"),
        text("was")
    )
}

fn thrown(case: &Case, error: &bailiwick_core::SkillError, report: &bailiwick_core::CallReport) {
    let name = &case.name;
    let answer = &case.answer;
    let code = if answer.get("call").is_some() {
        Code::IsolatedCapabilityDenied
    } else if answer.get("outOfMemory").is_some() {
        Code::IsolatedMemoryExceeded
    } else {
        Code::ToolFailed
    };
    assert_eq!(error.code(), code, "{name}: {error}");
    let says = |key: &str| {
        answer
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    if code == Code::ToolFailed {
        assert!(error.message().contains(&says("name")), "{name}: {error}");
        assert!(
            error.message().contains(&says("message")),
            "{name}: {error}"
        );
        let kind = says("type");
        assert!(
            kind == "error" || error.message().contains(&kind),
            "{name}: {error}"
        );
    }
    let stack = report.stack.clone().unwrap_or_default();
    for text in &case.contains {
        assert!(stack.contains(text), "{name}: {stack}");
    }
    for text in &case.lacks {
        assert!(
            !stack.contains(text) && !error.message().contains(text),
            "{name}: {stack}"
        );
    }
}
