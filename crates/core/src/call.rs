//! The one call path: validate, prepare, gate, run.

use std::time::Instant;

use serde_json::Value;

use crate::cancel::CancelToken;
use crate::error::SkillError;
use crate::gate::Gatekeeper;
use crate::outcome::{CallReport, Outcome};
use crate::tool::{CallContext, Tool};

/// Proof that the gate allowed a call; only [`call()`] makes one.
///
/// The call's own deadline counts from [`granted_at`](Self::granted_at).
///
/// ```compile_fail
/// let forged = bailiwick_core::Permit { granted_at: std::time::Instant::now() };
/// ```
#[derive(Debug)]
pub struct Permit {
    granted_at: Instant,
    _only_call_makes_one: (),
}

impl Permit {
    /// Returns when the gate answered.
    pub fn granted_at(&self) -> Instant {
        self.granted_at
    }
}

/// Calls a tool: validates the arguments, prepares, asks the gate, runs.
///
/// # Errors
///
/// The outcome's result fails with `E_SKILL_ARGUMENTS_REJECTED`, the tier's codes of preparing,
/// a gate code, `E_SKILL_CANCELLED`, or the tier's codes of running, in that order.
pub async fn call(
    tool: &dyn Tool,
    gatekeeper: &Gatekeeper,
    raw: Value,
    context: &CallContext,
) -> Outcome {
    let started = Instant::now();
    let mut report = CallReport::new(tool.spec().tier);
    let prepared = async {
        stop_if_cancelled(&context.cancel)?;
        let arguments = tool.spec().schema.check(raw)?;
        let prepared = tool.prepare(arguments.clone(), context).await?;
        let asked = Instant::now();
        let answer = gatekeeper
            .ask(
                tool.spec(),
                arguments,
                prepared.effects().clone(),
                &context.cancel,
            )
            .await;
        report.gate = asked.elapsed();
        answer?;
        stop_if_cancelled(&context.cancel)?;
        Ok(prepared)
    }
    .await;
    let mut outcome = match prepared {
        Err(error) => Outcome::new(Err(error), report),
        Ok(prepared) => {
            let permit = Permit {
                granted_at: Instant::now(),
                _only_call_makes_one: (),
            };
            let mut outcome = prepared.run(permit).await;
            outcome.report.gate = report.gate;
            outcome
        }
    };
    outcome.report.duration = started.elapsed();
    outcome
}

fn stop_if_cancelled(cancel: &CancelToken) -> Result<(), SkillError> {
    if cancel.is_cancelled() {
        Err(CancelToken::error())
    } else {
        Ok(())
    }
}
