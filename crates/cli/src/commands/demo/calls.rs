//! Calls that succeed: one a tier, one behind a grant, one cancelled, one with a big result.

use std::time::Duration;

use bailiwick::{ArtifactStore as _, CallRequest, Code, Error, SkillManager};
use serde_json::{Value, json};

use super::attacks::dead;
use super::claim::Seen;
use super::stage::Stage;

/// A live tool in this process.
pub(super) async fn module(manager: &SkillManager) -> Result<Seen, Error> {
    manager.load("demo-host").await?;
    let outcome = manager
        .call("demo-host.demo_shout", json!({ "text": "hello" }))
        .await;
    let response = outcome.result?;
    Ok(Seen::nothing()
        .and(
            response.text() == "HELLO!",
            format!("answered {:?}", response.text()),
        )
        .and(!response.trusted(), "and is not trusted"))
}

/// A script in a child process; returns its layers too.
pub(super) async fn script(manager: &SkillManager) -> Result<(Seen, Value), Error> {
    let mut request = CallRequest::new("demo-tools.count", json!({}));
    request.stdin = Some(b"one\ntwo\nthree\n".as_slice().into());
    let outcome = manager.call_with(request).await;
    let response = outcome.result?;
    let stdout = response
        .structured
        .as_ref()
        .and_then(|value| value.get("stdout"))
        .and_then(Value::as_str);
    let seen = Seen::nothing()
        .and(
            stdout == Some("3 lines\n"),
            format!("answered {:?}", stdout.unwrap_or_default().trim()),
        )
        .and(
            outcome.report.exit == Some(0),
            format!("in {:.1} ms", outcome.report.duration.as_secs_f64() * 1e3),
        );
    Ok((seen, outcome.report.sandbox))
}

/// The refused read again, under a policy with one grant more.
pub(super) async fn grant(stage: &Stage) -> Result<Seen, Error> {
    let arguments = json!({ "path": stage.key() });
    let without = read_key(stage, false, &arguments).await?;
    let with = read_key(stage, true, &arguments).await?;
    Ok(Seen::nothing()
        .and(
            without.is_err_and(|error| error.code() == Code::ScriptFailed),
            "without the grant: E_SKILL_SCRIPT_FAILED",
        )
        .and(
            with.as_ref().is_ok_and(|said| said.contains("read: ok")),
            match &with {
                Ok(said) => format!("with `grant.read`: {said}"),
                Err(error) => format!("with `grant.read`: {error}"),
            },
        ))
}

/// A loop that its caller cancels.
pub(super) async fn cancel(manager: &SkillManager) -> Result<Seen, Error> {
    let request = CallRequest::new("demo-attacks.loop", json!({}));
    let cancel = request.cancel.clone();
    let later = async move {
        tokio::time::sleep(RUNNING).await;
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(manager.call_with(request), later);
    let code = outcome.result.as_ref().err().map(Error::code);
    let ended = code.map_or_else(|| "it ended by itself".to_owned(), |code| code.to_string());
    Ok(Seen::nothing()
        .and(code == Some(Code::Cancelled), ended)
        .and(
            outcome.report.confirmed && outcome.report.confirmed_dead.is_some(),
            dead(&outcome),
        ))
}

/// A result too long for a reply, read back by its handle.
pub(super) async fn artifact(stage: &Stage, manager: &SkillManager) -> Result<Seen, Error> {
    let outcome = manager
        .call("demo-tools.lines", json!({ "count": LINES }))
        .await;
    let response = outcome.result?;
    let reply = response.text().len();
    let Some(id) = response.artifact else {
        return Ok(Seen::nothing().and(false, "the result has no handle"));
    };
    let store = stage.artifacts()?;
    let kept = store.stat(&id)?;
    let line = store.lines(&id, MIDDLE, 1)?;
    let line = line.first().map_or("", |line| line.text.as_str());
    let is_in_reply = response
        .structured
        .is_some_and(|value| value.to_string().contains(line));
    Ok(Seen::nothing()
        .and(
            kept.size > reply as u64,
            format!("{} bytes kept, a reply of {reply}", kept.size),
        )
        .and(
            line.starts_with(&format!("line {MIDDLE} ")) && !is_in_reply,
            format!("line {MIDDLE}, which is not in the reply, read back from {id}"),
        ))
}

/// Reads the key with a manager that does or does not grant it.
async fn read_key(
    stage: &Stage,
    granted: bool,
    arguments: &Value,
) -> Result<Result<String, Error>, Error> {
    let manager = stage.manager(granted).await?;
    manager.load("demo-attacks").await?;
    let outcome = manager.call("demo-attacks.read", arguments.clone()).await;
    manager.shutdown().await;
    Ok(outcome.result.map(|response| {
        response
            .text()
            .lines()
            .last()
            .unwrap_or_default()
            .to_owned()
    }))
}

/// Long enough for the loop to have started on an idle machine; a call that has not is cancelled
/// all the same.
const RUNNING: Duration = Duration::from_millis(300);

const LINES: u64 = 3000;
const MIDDLE: u64 = 1990;
