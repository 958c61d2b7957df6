//! The lines that runner and shim exchange.
//!
//! The runner writes [`Hello`] first and the shim answers with its own. Then each [`Request`] is
//! answered by one [`Answer`] with the same `id`, in order. Every message is one line of JSON; a
//! shim ends when its stdin does, with exit code 0.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of these messages; a shim that speaks another one is refused.
pub const PROTOCOL: u32 = 1;

/// The first line in each direction.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Hello {
    /// [`PROTOCOL`] of the speaker.
    pub protocol: u32,
    /// Name and version of the speaker, for the report.
    pub implementation: String,
}

impl Hello {
    /// Introduces `implementation` with this version of the protocol.
    pub fn new(implementation: impl Into<String>) -> Self {
        Self {
            protocol: PROTOCOL,
            implementation: implementation.into(),
        }
    }
}

/// One case as the shim sees it: without its expectation.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Request {
    /// Chosen by the runner, repeated in the answer.
    pub id: u64,
    /// Which part of the contracts is asked about; it decides the shape of `input`.
    pub area: String,
    /// The question, in the shape that `docs/conformance.md` gives for the area.
    pub input: Value,
}

impl Request {
    /// Asks `input` of `area` under `id`.
    pub fn new(id: u64, area: impl Into<String>, input: Value) -> Self {
        Self {
            id,
            area: area.into(),
            input,
        }
    }
}

/// The shim's answer to one [`Request`].
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Answer {
    /// The `id` of the request.
    pub id: u64,
    /// What the implementation did.
    #[serde(flatten)]
    pub outcome: Outcome,
}

impl Answer {
    /// Answers request `id`.
    pub fn new(id: u64, outcome: Outcome) -> Self {
        Self { id, outcome }
    }
}

/// What an implementation did with one input.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(
    clippy::exhaustive_enums,
    reason = "the protocol has these three answers in version 1"
)]
pub enum Outcome {
    /// It accepted the input and this is the result.
    Ok(Value),
    /// It refused the input.
    Error(Refusal),
    /// It has nothing to try the input on; counts as a failure.
    Unsupported(String),
}

/// A refusal: the stable code and, where the contract tells refusals of one code apart, why.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Refusal {
    /// A code of the error table, such as `E_SKILL_SOURCE_PATH_REJECTED`.
    pub code: String,
    /// A word or two; compared only where a case asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Refusal {
    /// Refuses with `code` and, if the implementation has one, a reason.
    pub fn new(code: impl Into<String>, reason: Option<String>) -> Self {
        Self {
            code: code.into(),
            reason,
        }
    }
}
