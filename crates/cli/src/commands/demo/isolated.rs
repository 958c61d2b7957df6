//! Isolated tools: one that runs, and three attacks, each first where its limit is not in the way.

use std::time::Duration;

use bailiwick::{CallRequest, Code, Error, Outcome, SkillManager};
use serde_json::{Value, json};

use super::attacks::dead;
use super::claim::Seen;
use super::stage::{GENEROUS_MEMORY, SMALL_MEMORY, Stage};

/// What an isolated tool tries, and how it must fail.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Isolated {
    Read,
    Allocate,
    Loop,
}

/// A tool that counts its calls in a global variable, which does not survive one.
pub(super) async fn tool(manager: &SkillManager) -> Result<Seen, Error> {
    load(manager).await?;
    let arguments = json!({ "text": "one two\nthree" });
    let first = call(manager, "demo_words", arguments.clone()).await;
    let second = call(manager, "demo_words", arguments).await;
    let took = second.report.duration.as_secs_f64() * 1e3;
    let (first, second) = (first.result?, second.result?);
    Ok(Seen::nothing()
        .and(
            first.text() == "3 words, call 1 of this guest",
            format!("answered {:?}", first.text()),
        )
        .and(
            second.text() == first.text(),
            format!("a second call answered {:?} in {took:.1} ms", second.text()),
        )
        .and(!second.trusted(), "and is not trusted"))
}

impl Isolated {
    /// Attacks where the policy is wide enough and where it is not, and says what was seen of both.
    pub(super) async fn seen(self, stage: &Stage, manager: &SkillManager) -> Result<Seen, Error> {
        load(manager).await?;
        match self {
            Self::Read => read(stage, manager).await,
            Self::Allocate => allocate(stage, manager).await,
            Self::Loop => endless(manager).await,
        }
    }
}

/// The same source reads the key where it is granted.
async fn read(stage: &Stage, manager: &SkillManager) -> Result<Seen, Error> {
    let arguments = json!({ "path": stage.key() });
    let control = generous(stage, "demo_read", arguments.clone()).await?;
    let (read, said) = match &control.result {
        Ok(response) => (
            response.text().contains("DEMO PRIVATE KEY"),
            response.text().into_owned(),
        ),
        Err(error) => (false, error.to_string()),
    };
    let confined = call(manager, "demo_read", arguments).await;
    let error = confined.result.err();
    let missing = error
        .as_ref()
        .and_then(|error| error.details().get("capability")?.as_str());
    Ok(Seen::nothing()
        .and(read, format!("control, granted: read {said:?}"))
        .and(
            code(error.as_ref()) == Some(Code::IsolatedCapabilityDenied),
            ended(error.as_ref()),
        )
        .and(
            missing == Some("fs.read"),
            format!("missing: {}", missing.unwrap_or("nothing")),
        ))
}

/// The same source keeps as much where the limit is higher.
async fn allocate(stage: &Stage, manager: &SkillManager) -> Result<Seen, Error> {
    let arguments = json!({ "mebibytes": MEBIBYTES });
    let control = generous(stage, "demo_allocate", arguments.clone()).await?;
    let peak = control.report.usage.get("memory_peak");
    let peak = peak.and_then(Value::as_u64).unwrap_or_default() >> 20;
    let (kept, said) = match &control.result {
        Ok(response) => (peak >= MEBIBYTES, response.text().into_owned()),
        Err(error) => (false, error.to_string()),
    };
    let confined = call(manager, "demo_allocate", arguments).await;
    let error = confined.result.err();
    Ok(Seen::nothing()
        .and(
            kept,
            format!("control, with {GENEROUS_MEMORY}: {said}, {peak} MiB in use"),
        )
        .and(
            code(error.as_ref()) == Some(Code::IsolatedMemoryExceeded),
            format!("with {SMALL_MEMORY}, {}", ended(error.as_ref())),
        ))
}

/// The same source ends where its loop does, and without an end it lasts as long as it may.
async fn endless(manager: &SkillManager) -> Result<Seen, Error> {
    let bounded = call(manager, "demo_loop", json!({ "turns": 1000 })).await;
    let (answered, said) = match &bounded.result {
        Ok(response) => (
            response.text() == "1000 turns",
            response.text().into_owned(),
        ),
        Err(error) => (false, error.to_string()),
    };
    let mut seen = Seen::nothing().and(answered, format!("control: {said} and an end"));
    for deadline in DEADLINES {
        let mut request = CallRequest::new("demo-isolated.demo_loop", json!({}));
        request.deadline = Some(deadline);
        let outcome = manager.call_with(request).await;
        let lasted = outcome.report.duration;
        let error = outcome.result.as_ref().err();
        seen = seen
            .and(
                code(error) == Some(Code::IsolatedTimeout) && lasted >= deadline,
                format!("without an end and with {deadline:?}, {}", ended(error)),
            )
            .and(outcome.report.confirmed, dead(&outcome));
    }
    Ok(seen)
}

/// Calls a tool under a policy that grants what it wants.
async fn generous(stage: &Stage, tool: &str, arguments: Value) -> Result<Outcome, Error> {
    let manager = stage.manager(true).await?;
    load(&manager).await?;
    let outcome = call(&manager, tool, arguments).await;
    manager.shutdown().await;
    Ok(outcome)
}

async fn call(manager: &SkillManager, tool: &str, arguments: Value) -> Outcome {
    manager
        .call(&format!("demo-isolated.{tool}"), arguments)
        .await
}

/// Loads the skill, once.
async fn load(manager: &SkillManager) -> Result<(), Error> {
    match manager.load("demo-isolated").await {
        Err(error) if error.code() != Code::AlreadyLoaded => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}

fn code(error: Option<&Error>) -> Option<Code> {
    error.map(Error::code)
}

fn ended(error: Option<&Error>) -> String {
    match error {
        Some(error) => format!("confined: {}", error.code()),
        None => "confined: it succeeded".to_owned(),
    }
}

/// More than the demo's policy allows, and less than the generous one.
const MEBIBYTES: u64 = 48;

/// How long a loop without an end may run, one after the other.
const DEADLINES: [Duration; 2] = [Duration::from_millis(200), Duration::from_millis(800)];
