//! Five attacks: each first as a control without the layer, then confined.

use std::time::Duration;

use bailiwick::sandbox_policy::{Answer, Rights};
use bailiwick::{Code, Error, Outcome, SkillManager};
use serde_json::{Value, json};

use super::claim::Seen;
use super::control;
use super::stage::Stage;
use crate::error::cannot;
use crate::policy::host_path;

/// An attack and how it must fail.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Attack {
    Read,
    Connect,
    Fork,
    Allocate,
    Loop,
}

impl Attack {
    const fn verb(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Connect => "connect",
            Self::Fork => "fork",
            Self::Allocate => "allocate",
            Self::Loop => "loop",
        }
    }

    /// The words of the control, and the same as arguments of the confined call.
    fn words(self, stage: &Stage) -> Result<(Vec<String>, Value), Error> {
        let verb = self.verb().to_owned();
        Ok(match self {
            Self::Read => {
                let key = stage.key().to_string_lossy().into_owned();
                (vec![verb, key.clone()], json!({ "path": key }))
            }
            Self::Connect => {
                let port = stage.port()?;
                let words = vec![verb, LOCALHOST.to_owned(), port.to_string()];
                (words, json!({ "address": LOCALHOST, "port": port }))
            }
            Self::Fork => (vec![verb, FORKS.to_string()], json!({ "count": FORKS })),
            Self::Allocate => (
                vec![verb, MEBIBYTES.to_string()],
                json!({ "mebibytes": MEBIBYTES }),
            ),
            Self::Loop => (vec![verb], json!({ "timeout_seconds": 1 })),
        })
    }

    /// Attacks without and with confinement, and says what was seen of both.
    pub(super) async fn seen(self, stage: &Stage, manager: &SkillManager) -> Result<Seen, Error> {
        let (words, arguments) = self.words(stage)?;
        let (succeeded, said) = self.control(stage, &words)?;
        let seen = Seen::nothing().and(succeeded, format!("control: {said}"));
        let outcome = manager
            .call(&format!("demo-attacks.{}", self.verb()), arguments)
            .await;
        self.confined(stage, manager, &outcome, seen).await
    }

    fn control(self, stage: &Stage, words: &[String]) -> Result<(bool, String), Error> {
        let program = stage.attack();
        let result = match self {
            Self::Loop => control::outlasts(&program, words, LOOP_BOUND).map(|outlasted| {
                (
                    outlasted,
                    format!("still ran after {LOOP_BOUND:?} and was ended"),
                )
            }),
            Self::Read | Self::Connect | Self::Fork | Self::Allocate => {
                control::run(&program, words).map(|control| (control.succeeded, control.said))
            }
        };
        result.map_err(|error| {
            cannot(
                "run the control",
                &program,
                "allow programs in `TMPDIR`",
                error,
            )
        })
    }

    async fn confined(
        self,
        stage: &Stage,
        manager: &SkillManager,
        outcome: &Outcome,
        seen: Seen,
    ) -> Result<Seen, Error> {
        let error = match &outcome.result {
            Err(error) => error,
            Ok(response) => {
                return Ok(seen.and(false, format!("confined it succeeded: {}", response.text())));
            }
        };
        let said = error
            .details()
            .get("output")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let said = said.lines().last().unwrap_or_default();
        let axis = error.details().get("axis").and_then(Value::as_str);
        let code = error.code();
        Ok(match self {
            Self::Read | Self::Connect => {
                let answer = self.missing_grant(stage, manager).await?;
                let add = answer.add().unwrap_or("nothing is missing");
                seen.and(
                    code == Code::ScriptFailed && said.contains(" errno "),
                    format!("confined: {code}, {said}"),
                )
                .and(
                    !answer.allowed() && answer.add().is_some(),
                    format!("missing: {add}"),
                )
            }
            Self::Fork => seen.and(
                code == Code::ScriptLimit && axis == Some("processes"),
                limit(error, axis),
            ),
            Self::Allocate => seen.and(
                code == Code::ScriptLimit && axis == Some("memory"),
                limit(error, axis),
            ),
            Self::Loop => seen
                .and(code == Code::ScriptTimeout, format!("confined: {code}"))
                .and(outcome.report.confirmed, dead(outcome)),
        })
    }

    /// Asks `explain` which grant the attack lacked.
    async fn missing_grant(self, stage: &Stage, manager: &SkillManager) -> Result<Answer, Error> {
        let tool = format!("demo-attacks.{}", self.verb());
        let explanation = manager.explain(&tool, None).await?;
        let answer = match self {
            Self::Connect => explanation.host(LOCALHOST, stage.port()?),
            Self::Read | Self::Fork | Self::Allocate | Self::Loop => {
                explanation.path(&host_path(&stage.key())?, Rights::READ)
            }
        };
        answer.ok_or_else(|| Error::new(Code::ScriptFailed, "a script has no policy to explain"))
    }
}

/// Says how long it took until nothing of a run was left.
pub(super) fn dead(outcome: &Outcome) -> String {
    match outcome.report.confirmed_dead {
        Some(after) => format!("confirmed dead after {:.1} ms", after.as_secs_f64() * 1e3),
        None => "not confirmed dead".to_owned(),
    }
}

fn limit(error: &Error, axis: Option<&str>) -> String {
    format!(
        "confined: {}, axis {}",
        error.code(),
        axis.unwrap_or("none")
    )
}

const LOCALHOST: &str = "127.0.0.1";

/// Twice the processes that the demo's policy allows.
const FORKS: u32 = 48;

/// Half as much again as the memory that the demo's policy allows.
const MEBIBYTES: u32 = 96;

/// How long the control's loop may run.
const LOOP_BOUND: Duration = Duration::from_millis(300);
