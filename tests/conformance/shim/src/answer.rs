//! The protocol's three answers.

use bailiwick_core::SkillError;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// What the implementation did with one input.
pub(crate) enum Answer {
    Accepted(Value),
    Refused {
        code: String,
        reason: Option<String>,
    },
    Unsupported(String),
}

impl Answer {
    /// Refuses with the code of one of our errors.
    pub(crate) fn refused(error: impl Into<SkillError>, reason: Option<String>) -> Self {
        Self::Refused {
            code: error.into().code().to_string(),
            reason,
        }
    }

    pub(crate) fn unsupported(why: impl Into<String>) -> Self {
        Self::Unsupported(why.into())
    }

    pub(crate) fn into_message(self, id: u64) -> Value {
        match self {
            Self::Accepted(value) => json!({"id": id, "ok": value}),
            Self::Refused {
                code,
                reason: Some(reason),
            } => {
                json!({"id": id, "error": {"code": code, "reason": reason}})
            }
            Self::Refused { code, reason: None } => json!({"id": id, "error": {"code": code}}),
            Self::Unsupported(why) => json!({"id": id, "unsupported": why}),
        }
    }
}

/// Reads a question; one of an unknown shape is unsupported, never guessed at.
pub(crate) fn read<T: DeserializeOwned>(input: Value) -> Result<T, Answer> {
    serde_json::from_value(input).map_err(|error| Answer::unsupported(error.to_string()))
}

/// Folds both ways a question can end into the answer.
pub(crate) fn finish(result: Result<Value, Answer>) -> Answer {
    match result {
        Ok(value) => Answer::Accepted(value),
        Err(answer) => answer,
    }
}
