//! Arguments that passed their schema.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::code::Code;
use crate::error::{SkillError, one_line};
use crate::schema::depth;

/// Arguments that match their tool's schema; only [`Schema::check`](crate::Schema::check) makes
/// one.
///
/// ```compile_fail
/// let forged: bailiwick_core::Arguments = serde_json::from_str("{}").unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Arguments {
    values: Map<String, Value>,
    #[serde(skip)]
    timeout: Option<Duration>,
}

impl Arguments {
    pub(crate) fn proven(values: Map<String, Value>, timeout: Option<Duration>) -> Self {
        Self { values, timeout }
    }

    /// Returns the values by name, without the runtime's own `timeout_seconds`.
    pub fn values(&self) -> &Map<String, Value> {
        &self.values
    }

    /// Returns the value of one name.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }

    /// Returns the deadline that the call asked for or the schema's default; none for tier 1.
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// Returns the values as one JSON object.
    pub fn to_value(&self) -> Value {
        Value::Object(self.values.clone())
    }
}

/// One way in which arguments do not match.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Violation {
    /// The JSON pointer of the offending value; empty for the whole object.
    pub pointer: String,
    /// What is wrong with it.
    pub reason: String,
}

impl Violation {
    /// Describes a violation at a JSON pointer.
    pub fn new(pointer: &str, reason: &str) -> Self {
        Self {
            pointer: pointer.to_owned(),
            reason: one_line(reason, MAX_REASON_CHARS),
        }
    }

    /// Turns violations into the error that lists them all.
    pub fn reject(violations: &[Self]) -> SkillError {
        let list: Vec<String> = violations
            .iter()
            .map(|v| {
                if v.pointer.is_empty() {
                    v.reason.clone()
                } else {
                    format!("{} ({})", v.reason, v.pointer)
                }
            })
            .collect();
        SkillError::new(
            Code::ArgumentsRejected,
            format!("the arguments do not match: {}", list.join("; ")),
        )
        .with_hint("correct the named values and call again; the tool's schema says what fits")
        .with_detail(
            "violations",
            serde_json::to_value(violations).unwrap_or_default(),
        )
    }
}

/// Rejects arguments that are too large or too deep to look at.
pub(crate) fn check_size(raw: &Value) -> Result<(), SkillError> {
    if depth(raw) > MAX_DEPTH {
        return Err(Violation::reject(&[Violation::new(
            "",
            "they are nested deeper than 64 levels",
        )]));
    }
    if raw.to_string().len() > MAX_BYTES {
        return Err(Violation::reject(&[Violation::new(
            "",
            "they are larger than 1 MiB of JSON",
        )]));
    }
    Ok(())
}

pub(crate) const MAX_DEPTH: usize = 64;
const MAX_BYTES: usize = 1024 * 1024;
const MAX_REASON_CHARS: usize = 160;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::Schema;

    #[test]
    fn deep_and_large_arguments_are_rejected_before_the_schema_runs() {
        let schema = Schema::from_author(json!({ "additionalProperties": true })).unwrap();
        let mut deep = json!(1);
        for _ in 0..70 {
            deep = json!([deep]);
        }
        assert!(
            schema
                .check(json!({ "a": deep }))
                .unwrap_err()
                .message()
                .contains("64 levels")
        );
        let large = json!({ "a": "x".repeat(MAX_BYTES) });
        assert!(schema.check(large).unwrap_err().message().contains("1 MiB"));
    }

    #[test]
    fn every_violation_is_listed_with_its_pointer() {
        let schema = Schema::from_author(json!({
            "properties": { "a": { "type": "string" }, "b": { "items": { "type": "integer" } } }, "required": ["c"],
        }))
        .unwrap();
        let error = schema.check(json!({ "a": 1, "b": [1, "x"] })).unwrap_err();
        let pointers: Vec<_> = error.details()["violations"]
            .as_array()
            .unwrap()
            .iter()
            .map(|v| v["pointer"].as_str().unwrap().to_owned())
            .collect();
        assert!(
            pointers.contains(&"/a".to_owned())
                && pointers.contains(&"/b/1".to_owned())
                && pointers.contains(&String::new()),
            "{pointers:?}"
        );
    }
}
