//! The question that stands before every effect.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::arguments::Arguments;
use crate::cancel::CancelToken;
use crate::code::Code;
use crate::contain::contain_panic;
use crate::error::{BoxError, SkillError};
use crate::tier::Tier;
use crate::tool::{BoxFuture, Provenance, ToolSpec};

/// Decides whether a call may happen.
///
/// A gate that cannot decide returns [`GateUnavailable`]; an error, a panic or a missed deadline
/// never looks like a refusal (contracts 2.1).
pub trait Gate: Send + Sync {
    /// Answers one request.
    fn check(&self, request: GateRequest) -> BoxFuture<'_, Result<Decision, GateUnavailable>>;
}

/// A gate's answer.
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "contracts 2.1: a gate answers one of two things"
)]
pub enum Decision {
    /// The call may happen.
    Allow,
    /// The call must not happen, and why.
    Deny {
        /// What the caller and the model are told.
        reason: String,
    },
}

impl Decision {
    /// Returns the answer that lets the call happen.
    pub fn allow() -> Self {
        Self::Allow
    }

    /// Returns the answer that stops the call, with the reason that the model is told.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self::Deny {
            reason: reason.into(),
        }
    }
}

/// A gate that could not decide.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
#[non_exhaustive]
pub struct GateUnavailable {
    /// Why there is no answer.
    pub reason: String,
    /// What would bring one, when the gate knows.
    pub hint: Option<String>,
    /// The cause.
    pub source: Option<BoxError>,
}

impl GateUnavailable {
    /// Says why there is no answer.
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            hint: None,
            source: None,
        }
    }

    /// Adds what would bring an answer. None by default.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// The final request, as it would be carried out.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct GateRequest {
    /// The skill.
    pub provenance: Provenance,
    /// The tool's name.
    pub tool: String,
    /// Where its code would run.
    pub tier: Tier,
    /// The arguments, validated.
    pub arguments: Arguments,
    /// What it would do and hold.
    pub effects: Effects,
}

impl GateRequest {
    /// Returns the tool's name.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Returns the skill's name.
    pub fn skill(&self) -> &str {
        self.provenance.skill.as_str()
    }
}

/// What a prepared call would do, for the gate.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[non_exhaustive]
pub enum Effects {
    /// Tier 1: whatever the host's process can do.
    Module,
    /// Tier 2: a fresh guest that reaches what it is granted and nothing else.
    Isolated {
        /// What the tool holds, one line a grant; empty when it holds none.
        grants: Vec<String>,
        /// The limits of the call.
        limits: Value,
    },
    /// Tier 3: a child process.
    Script {
        /// The command, program first.
        argv: Vec<String>,
        /// How many bytes it is given on its standard input.
        stdin: usize,
        /// What the skill holds beyond its own files, one line a grant; empty when it holds none.
        grants: Vec<String>,
        /// The derived policy, as `explain` shows it.
        policy: Value,
    },
}

impl Effects {
    /// Returns whether the call reaches nothing but the skill's own workspace.
    ///
    /// A module tool is not confined, so it never does.
    pub fn is_contained(&self) -> bool {
        match self {
            Self::Module => false,
            Self::Isolated { grants, .. } | Self::Script { grants, .. } => grants.is_empty(),
        }
    }
}

/// Makes a gate of an async function.
///
/// The function returns a [`Decision`], or a `Result` of one when it can be unavailable.
///
/// # Examples
///
/// ```
/// use bailiwick_core::{Decision, gate_fn};
///
/// let gate = gate_fn(|request| async move {
///     if request.tool() == "word_count" { Decision::allow() } else { Decision::deny("not today") }
/// });
/// # let _ = gate;
/// ```
pub fn gate_fn<F, R>(check: F) -> impl Gate
where
    F: Fn(GateRequest) -> R + Send + Sync,
    R: Future<Output: IntoAnswer> + Send + 'static,
{
    GateFn(check)
}

struct GateFn<F>(F);

impl<F, R> Gate for GateFn<F>
where
    F: Fn(GateRequest) -> R + Send + Sync,
    R: Future<Output: IntoAnswer> + Send + 'static,
{
    fn check(&self, request: GateRequest) -> BoxFuture<'_, Result<Decision, GateUnavailable>> {
        let answer = (self.0)(request);
        Box::pin(async move { answer.await.into_answer() })
    }
}

/// What a function given to [`gate_fn`] may return.
pub trait IntoAnswer {
    /// Turns the value into a gate's answer.
    fn into_answer(self) -> Result<Decision, GateUnavailable>;
}

impl IntoAnswer for Decision {
    fn into_answer(self) -> Result<Decision, GateUnavailable> {
        Ok(self)
    }
}

impl IntoAnswer for Result<Decision, GateUnavailable> {
    fn into_answer(self) -> Result<Decision, GateUnavailable> {
        self
    }
}

/// A gate with its deadline, as a manager holds it.
#[derive(Clone)]
pub struct Gatekeeper {
    gate: Option<Arc<dyn Gate>>,
    deadline: Option<Duration>,
}

impl Gatekeeper {
    /// Puts a gate in charge, without a deadline (a person may answer).
    pub fn new(gate: impl Gate + 'static) -> Self {
        Self {
            gate: Some(Arc::new(gate)),
            deadline: None,
        }
    }

    /// Puts nobody in charge: every call passes. Hosts reach this through `.dangerous()` alone.
    pub fn dangerously_ungated() -> Self {
        Self {
            gate: None,
            deadline: None,
        }
    }

    /// Sets how long a gate may take before it counts as unavailable. No deadline by default.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Option<Duration>) -> Self {
        self.deadline = deadline;
        self
    }

    /// Asks the gate about a prepared call.
    ///
    /// # Errors
    ///
    /// `E_SKILL_GATE_DENIED` or `E_SKILL_SCRIPT_DENIED` for a refusal, the tier's
    /// `…_GATE_UNAVAILABLE` for no answer, `E_SKILL_CANCELLED` when the caller cancels meanwhile.
    pub(crate) async fn ask(
        &self,
        spec: &ToolSpec,
        arguments: Arguments,
        effects: Effects,
        cancel: &CancelToken,
    ) -> Result<(), SkillError> {
        let Some(gate) = &self.gate else {
            return Ok(());
        };
        let request = GateRequest {
            provenance: spec.provenance.clone(),
            tool: spec.name.to_string(),
            tier: spec.tier,
            arguments,
            effects,
        };
        let deadline = async {
            match self.deadline {
                Some(deadline) => tokio::time::sleep(deadline).await,
                None => std::future::pending().await,
            }
        };
        let answer = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(CancelToken::error()),
            answer = contain_panic(async { gate.check(request).await }) => {
                answer.unwrap_or_else(|_| Err(GateUnavailable::new("the gate panicked")))
            }
            () = deadline => Err(GateUnavailable::new("the gate did not answer within its deadline")),
        };
        match answer {
            Ok(Decision::Allow) => Ok(()),
            Ok(Decision::Deny { reason }) => Err(denied(spec, &reason)),
            Err(unavailable) => Err(unanswered(spec, unavailable)),
        }
    }
}

impl fmt::Debug for Gatekeeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gatekeeper")
            .field("gated", &self.gate.is_some())
            .field("deadline", &self.deadline)
            .finish()
    }
}

fn denied(spec: &ToolSpec, reason: &str) -> SkillError {
    let code = match spec.tier {
        Tier::Module | Tier::Isolated => Code::GateDenied,
        Tier::Script => Code::ScriptDenied,
    };
    let reason = if reason.trim().is_empty() {
        "no reason given"
    } else {
        reason
    };
    SkillError::new(code, format!("`{}` was denied: {reason}", spec.name))
        .with_hint("ask for something else, or have the person or policy behind the gate allow it")
        .with_detail("tool", spec.name.as_str())
        .with_detail("skill", spec.provenance.skill.as_str())
        .with_detail("reason", reason)
}

fn unanswered(spec: &ToolSpec, unavailable: GateUnavailable) -> SkillError {
    let code = match spec.tier {
        Tier::Module | Tier::Isolated => Code::GateUnavailable,
        Tier::Script => Code::ScriptGateUnavailable,
    };
    let hint = unavailable.hint.clone();
    SkillError::new(
        code,
        format!(
            "nobody decided about `{}`: {}",
            spec.name, unavailable.reason
        ),
    )
    .with_hint(
        hint.as_deref()
            .unwrap_or("make the gate answer, then call again; nobody said no"),
    )
    .with_detail("tool", spec.name.as_str())
    .with_detail("skill", spec.provenance.skill.as_str())
    .with_source(unavailable)
}
