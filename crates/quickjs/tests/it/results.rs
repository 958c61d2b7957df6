//! What a tool returns, and what becomes of it.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use bailiwick_core::{Artifact, ArtifactId, ArtifactStore, Code, Line, NewArtifact, SkillError};
use serde_json::{Value, json};

use crate::bed::{self, call, failure, success};

/// Keeps what it is given, or refuses to.
#[derive(Debug, Default)]
struct Shelf {
    kept: Mutex<Vec<(String, Vec<u8>)>>,
    is_full: bool,
}

impl Shelf {
    fn nothing<T>() -> Result<T, SkillError> {
        Err(SkillError::new(
            Code::ArtifactUnavailable,
            "the shelf is full",
        ))
    }
}

impl ArtifactStore for Shelf {
    fn put(&self, artifact: NewArtifact<'_>) -> Result<Artifact, SkillError> {
        if self.is_full {
            return Self::nothing();
        }
        let mut kept = self.kept.lock().unwrap();
        kept.push((artifact.kind.to_owned(), artifact.bytes.to_vec()));
        let id = "a1".parse().unwrap();
        Ok(Artifact::describe(
            id,
            &artifact,
            SystemTime::UNIX_EPOCH,
            Duration::from_secs(1),
        ))
    }

    fn stat(&self, _: &ArtifactId) -> Result<Artifact, SkillError> {
        Self::nothing()
    }

    fn read(&self, _: &ArtifactId, _: u64, _: u64) -> Result<Vec<u8>, SkillError> {
        Self::nothing()
    }

    fn lines(&self, _: &ArtifactId, _: u64, _: u64) -> Result<Vec<Line>, SkillError> {
        Self::nothing()
    }

    fn grep(&self, _: &ArtifactId, _: &str, _: usize) -> Result<Vec<Line>, SkillError> {
        Self::nothing()
    }

    fn list(&self) -> Result<Vec<Artifact>, SkillError> {
        Self::nothing()
    }

    fn remove(&self, _: &ArtifactId) -> Result<(), SkillError> {
        Self::nothing()
    }
}

#[tokio::test]
async fn a_text_is_itself_and_all_else_is_json() {
    for (source, text, value) in [
        (
            "async () => 'plain \"text\"'",
            "plain \"text\"",
            json!("plain \"text\""),
        ),
        (
            "async () => ({ b: [1, null], a: 'x' })",
            "{\"b\":[1,null],\"a\":\"x\"}",
            json!({ "b": [1, null], "a": "x" }),
        ),
        ("async () => undefined", "null", Value::Null),
        ("async () => {}", "null", Value::Null),
        ("async () => 1.5", "1.5", json!(1.5)),
        ("async () => ''", "", json!("")),
    ] {
        let outcome = call(&bed::arrow(source).await, json!({})).await;
        let response = outcome.result.unwrap();
        assert_eq!(response.text(), text);
        assert_eq!(response.structured, Some(value));
        assert!(!response.trusted());
        assert_eq!(response.provenance.skill.as_str(), "test-skill");
    }
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_refused_with_its_size() {
    let tool = bed::with("async (args) => 'x'.repeat(args.n)", |holdings| {
        holdings.limits.result = 1000;
    })
    .await;
    assert_eq!(
        success(call(&tool, json!({ "n": 900 })).await)
            .as_str()
            .unwrap()
            .len(),
        900
    );
    let (error, report) = failure(call(&tool, json!({ "n": 1001 })).await);
    assert_eq!(error.code(), Code::ToolBadResponse);
    assert!(error.message().contains("may have 1000"), "{error}");
    assert_eq!(report.limit_hit.as_deref(), Some("result"));
}

#[tokio::test]
async fn a_long_reply_is_kept_whole_where_it_can_be() {
    let source = "async () => 'head' + 'x'.repeat(3000) + 'tail'";
    let shelf = Arc::new(Shelf::default());
    let kept = shelf.clone();
    let tool = bed::with(source, |holdings| {
        holdings.reply = 1000;
        holdings.artifacts = Some(kept);
    })
    .await;
    let outcome = call(&tool, json!({})).await;
    let response = outcome.result.unwrap();
    let text = response.text();
    assert!(text.len() <= 1000 && text.starts_with("head") && text.ends_with("tail"));
    assert!(text.contains("the whole answer is artifact"), "{text}");
    assert_eq!(response.artifact, outcome.report.artifact);
    assert!(response.artifact.is_some() && !outcome.report.truncated);
    let (kind, bytes) = shelf.kept.lock().unwrap().pop().unwrap();
    assert_eq!((kind.as_str(), bytes.len()), ("tool-response", 3008));

    let full = Arc::new(Shelf {
        is_full: true,
        ..Shelf::default()
    });
    for (store, why) in [
        (None, "this host keeps no artifacts"),
        (
            Some(full as Arc<dyn ArtifactStore>),
            "was not kept: the shelf is full",
        ),
    ] {
        let tool = bed::with(source, |holdings| {
            holdings.reply = 1000;
            holdings.artifacts = store;
        })
        .await;
        let outcome = call(&tool, json!({})).await;
        let response = outcome.result.unwrap();
        assert!(response.text().len() <= 1000 && response.text().contains(why));
        assert!(response.artifact.is_none() && outcome.report.truncated);
        assert!(outcome.report.dropped > 2000);
        assert!(outcome.report.warnings[0].contains(why));
        assert_eq!(outcome.report.bytes, 3008);
    }
}

#[tokio::test]
async fn the_host_bounds_json_itself() {
    for (source, reason) in [
        ("async () => [[[[1]]]]", "depth"),
        ("async () => [1, 2, 3, 4, 5, 6]", "nodes"),
    ] {
        let tool = bed::with(source, |holdings| {
            holdings.limits.json_depth = 3;
            holdings.limits.json_nodes = 6;
        })
        .await;
        let (error, _) = failure(call(&tool, json!({})).await);
        assert_eq!(error.code(), Code::ToolBadResponse);
        assert!(error.message().contains(reason), "{error}");
    }
}

#[tokio::test]
async fn a_report_says_what_a_call_used_and_logged() {
    let tool = bed::arrow(
        "async (args, context) => { console.warn('careful', 1); await context.test.echo(1); \
         return 1; }",
    )
    .await;
    let report = call(&tool, json!({})).await.report;
    assert_eq!(report.logs.len(), 1);
    assert_eq!(
        (report.logs[0].level.as_str(), report.logs[0].text.as_str()),
        ("warn", "careful 1")
    );
    assert_eq!(report.usage["host_calls"], 1);
    assert!(report.usage["memory_peak"].as_u64().unwrap() > 1 << 20);
    assert_eq!(report.usage["fuel"], Value::Null);
    assert_eq!(report.limits["host_calls"], 1000);
    assert_eq!(report.limits["wall"], 120.0);
    assert!(report.confirmed && report.confirmed_dead.is_none() && report.limit_hit.is_none());
}

#[tokio::test]
async fn what_was_queued_before_the_answer_runs_and_an_endless_queue_does_not_keep_it() {
    for (name, source, logged) in [
        (
            "one that returns at once",
            "async () => { queueMicrotask(() => console.log('queued')); return 1; }",
            "queued",
        ),
        (
            "an async function whose promise is settled later",
            "async () => { Promise.resolve().then(() => console.log('reaction')); await null; \
             queueMicrotask(() => console.log('too')); return 1; }",
            "reaction too",
        ),
        (
            "a queue without end",
            "async () => { const f = () => queueMicrotask(f); f(); console.log('at once'); return 1; }",
            "at once",
        ),
        (
            "a thenable that is no promise",
            "async () => ({ then(resolve) { console.log('asked'); resolve(1); } })",
            "asked",
        ),
        (
            "a lazy promise, which `await` asks too",
            "async () => { class Lazy extends Promise { then(...both) { console.log('asked'); \
             return Promise.resolve(1).then(...both); } } return new Lazy(() => {}); }",
            "asked",
        ),
    ] {
        let outcome = call(&bed::arrow(source).await, json!({})).await;
        let texts: Vec<_> = outcome.report.logs.iter().map(|log| &*log.text).collect();
        assert_eq!(texts.join(" "), logged, "{name}");
        assert_eq!(success(outcome), json!(1), "{name}");
    }
    let lazy = bed::module(
        "export const description = 'd';\nexport const parameters = {};\n\
         class Lazy extends Promise {\n  then(...both) {\n    \
         return Promise.resolve({ content: [{ type: 'text', text: 'asked' }] }).then(...both);\n  \
         }\n}\n\
         export function execute() {\n  return new Lazy(() => {});\n}\n",
    );
    let outcome = call(&lazy.await, json!({})).await;
    assert_eq!(outcome.result.unwrap().text(), "asked");
}
