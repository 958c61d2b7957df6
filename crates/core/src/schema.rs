//! Argument schemas, compiled once.

use std::fmt;
use std::time::Duration;

use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::{Map, Value, json};

use crate::arguments::{Arguments, MAX_DEPTH, Violation};
use crate::code::Code;
use crate::declaration::{Param, ParamKind, TIMEOUT_PARAM};
use crate::error::SkillError;
use crate::unfold::{self, Unfolded};

/// A checked and compiled JSON Schema (2020-12) of a tool's arguments (contracts 2.2).
///
/// Bounds: 64 KiB of text, depth 32, no reference that leaves the document, patterns that a
/// linear-time engine accepts, root type `object`, and references that neither repeat nor chain so
/// much that a check takes long or deep recursion.
///
/// # Examples
///
/// ```
/// use bailiwick_core::Schema;
/// use serde_json::json;
///
/// let schema = Schema::from_author(json!({
///     "type": "object",
///     "properties": { "message": { "type": "string" } },
///     "required": ["message"],
/// }))?;
/// assert!(schema.check(json!({ "message": "hi" })).is_ok());
/// let error = schema.check(json!({ "message": 5, "extra": 1 })).unwrap_err();
/// assert_eq!(error.details()["violations"].as_array().map(Vec::len), Some(2));
/// # Ok::<_, bailiwick_core::SkillError>(())
/// ```
pub struct Schema {
    json: Value,
    validator: Validator,
    unfolded: Unfolded,
    timeout: Option<TimeoutRange>,
}

#[derive(Clone, Copy, Debug)]
struct TimeoutRange {
    default: Duration,
}

impl Schema {
    /// Compiles the schema that an author wrote.
    ///
    /// It is closed with `unevaluatedProperties: false` at the root, unless it says itself what
    /// happens to additional properties.
    ///
    /// # Errors
    ///
    /// `E_SKILL_MANIFEST_INVALID` when the schema breaks a bound of this type.
    pub fn from_author(mut json: Value) -> Result<Self, SkillError> {
        check_author(&json)?;
        if let Value::Object(root) = &mut json {
            root.entry("type").or_insert_with(|| json!("object"));
            if !root.contains_key("additionalProperties")
                && !root.contains_key("unevaluatedProperties")
            {
                root.insert("unevaluatedProperties".to_owned(), Value::Bool(false));
            }
        }
        Self::compile(json)
    }

    /// Builds the closed schema of declared parameters.
    ///
    /// # Errors
    ///
    /// `E_SKILL_MANIFEST_INVALID` when the result exceeds a bound of this type.
    pub fn from_params(params: &[Param]) -> Result<Self, SkillError> {
        let properties: Map<String, Value> = params
            .iter()
            .map(|param| (param.name.clone(), param_schema(param)))
            .collect();
        let required: Vec<&str> = params
            .iter()
            .filter(|param| param.required)
            .map(|param| param.name.as_str())
            .collect();
        Self::from_author(json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        }))
    }

    /// Adds the runtime's `timeout_seconds` (a number from 1 to `max`), which [`check`](Self::check)
    /// strips again.
    ///
    /// # Errors
    ///
    /// `E_SKILL_MANIFEST_INVALID` when the schema declares a property of that name itself.
    pub fn with_timeout(self, default: Duration, max: Duration) -> Result<Self, SkillError> {
        let mut json = self.json;
        let properties = json
            .as_object_mut()
            .map(|root| root.entry("properties").or_insert_with(|| json!({})))
            .and_then(Value::as_object_mut);
        let Some(properties) = properties else {
            return Err(invalid("`properties` is not an object"));
        };
        if properties.contains_key(TIMEOUT_PARAM) {
            return Err(invalid("`timeout_seconds` is the runtime's own parameter"));
        }
        properties.insert(
            TIMEOUT_PARAM.to_owned(),
            json!({
                "type": "number", "minimum": 1, "maximum": max.as_secs_f64(), "default": default.as_secs_f64(),
                "description": "Seconds after which the call is ended.",
            }),
        );
        let schema = Self::compile(json)?;
        Ok(Self {
            timeout: Some(TimeoutRange { default }),
            ..schema
        })
    }

    /// Checks raw arguments and returns the proof.
    ///
    /// # Errors
    ///
    /// `E_SKILL_ARGUMENTS_REJECTED` listing every violation with its JSON pointer.
    pub fn check(&self, raw: Value) -> Result<Arguments, SkillError> {
        crate::arguments::check_size(&raw)?;
        if !self.unfolded.admits(depth(&raw), unfold::values(&raw)) {
            return Err(Violation::reject(&[Violation::new(
                "",
                "they are nested too deeply, or hold too much, for this schema",
            )]));
        }
        let violations: Vec<Violation> = self
            .validator
            .iter_errors(&raw)
            .take(MAX_VIOLATIONS)
            .map(|error| Violation::new(error.instance_path().as_str(), &error.to_string()))
            .collect();
        if !violations.is_empty() {
            return Err(Violation::reject(&violations));
        }
        let Value::Object(mut values) = raw else {
            return Err(Violation::reject(&[Violation::new(
                "",
                "the arguments are not an object",
            )]));
        };
        let timeout = match self.timeout {
            None => None,
            Some(range) => {
                let given = values
                    .remove(TIMEOUT_PARAM)
                    .and_then(|value| value.as_f64());
                Some(given.map_or(range.default, Duration::from_secs_f64))
            }
        };
        Ok(Arguments::proven(values, timeout))
    }

    /// Returns the schema as JSON, as a model is shown it.
    pub fn json(&self) -> &Value {
        &self.json
    }

    fn compile(json: Value) -> Result<Self, SkillError> {
        // Before the compiler, which recurses as the validator does.
        let unfolded = Unfolded::of(&json, MAX_DEPTH).map_err(|reason| invalid(&reason))?;
        let validator = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .with_pattern_options(PatternOptions::regex())
            .offline()
            .build(&json)
            .map_err(|error| {
                invalid(&error.to_string()).with_detail("pointer", error.instance_path().as_str())
            })?;
        Ok(Self {
            json,
            validator,
            unfolded,
            timeout: None,
        })
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema")
            .field("json", &self.json)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// Checks the bounds that the compiler itself does not.
fn check_author(json: &Value) -> Result<(), SkillError> {
    let Value::Object(root) = json else {
        return Err(invalid("it is not an object"));
    };
    if json.to_string().len() > MAX_SCHEMA_BYTES {
        return Err(invalid("it is larger than 64 KiB"));
    }
    if depth(json) > MAX_SCHEMA_DEPTH {
        return Err(invalid("it is nested deeper than 32 levels"));
    }
    if let Some(dialect) = root.get("$schema")
        && dialect.as_str().map(|d| d.trim_end_matches('#')) != Some(DIALECT)
    {
        return Err(invalid(&format!(
            "the dialect {dialect} is not supported, only {DIALECT} is"
        )));
    }
    if root.get("type").is_some_and(|kind| kind != "object") {
        return Err(invalid("the root's `type` must be `object`"));
    }
    check_references(json)
}

/// Refuses every reference that is not to a place inside the document.
fn check_references(json: &Value) -> Result<(), SkillError> {
    match json {
        Value::Object(map) => {
            for (key, value) in map {
                if matches!(key.as_str(), "$ref" | "$dynamicRef")
                    && !value.as_str().is_some_and(|target| target.starts_with('#'))
                {
                    return Err(invalid(&format!(
                        "the reference {value} leaves the document"
                    )));
                }
                check_references(value)?;
            }
            Ok(())
        }
        Value::Array(items) => items.iter().try_for_each(check_references),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

/// Returns how deep a value nests; a scalar is 1.
pub(crate) fn depth(json: &Value) -> usize {
    match json {
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    }
}

fn param_schema(param: &Param) -> Value {
    let description = &param.description;
    match &param.kind {
        ParamKind::String => json!({ "type": "string", "description": description }),
        ParamKind::Number => json!({ "type": "number", "description": description }),
        ParamKind::Integer => json!({ "type": "integer", "description": description }),
        ParamKind::Boolean => json!({ "type": "boolean", "description": description }),
        ParamKind::Enum { values } => {
            json!({ "type": "string", "enum": values, "description": description })
        }
        ParamKind::File => {
            json!({ "type": "string", "description": format!("{description} (path of a file)") })
        }
        ParamKind::Dir => {
            json!({ "type": "string", "description": format!("{description} (path of a directory)") })
        }
    }
}

fn invalid(reason: &str) -> SkillError {
    SkillError::new(
        Code::ManifestInvalid,
        format!("the parameter schema is invalid: {reason}"),
    )
    .with_hint(
        "see the bounds of argument schemas: 2020-12, 64 KiB, depth 32, local references only",
    )
}

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
const MAX_SCHEMA_BYTES: usize = 64 * 1024;
const MAX_SCHEMA_DEPTH: usize = 32;
/// More violations than this say nothing new and would flood the reply.
const MAX_VIOLATIONS: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    fn rejected(schema: Value) -> String {
        Schema::from_author(schema)
            .unwrap_err()
            .message()
            .to_owned()
    }

    #[test]
    fn a_schema_silent_on_additional_properties_is_closed_and_an_outspoken_one_is_not() {
        let silent = Schema::from_author(json!({ "properties": { "a": {} } })).unwrap();
        assert!(silent.check(json!({ "b": 1 })).is_err());
        let open = Schema::from_author(json!({ "additionalProperties": true })).unwrap();
        assert!(open.check(json!({ "b": 1 })).is_ok());
    }

    #[test]
    fn closing_looks_through_composition() {
        let schema =
            Schema::from_author(json!({ "allOf": [{ "properties": { "a": {} } }] })).unwrap();
        assert!(schema.check(json!({ "a": 1 })).is_ok());
        assert!(schema.check(json!({ "b": 1 })).is_err());
    }

    #[test]
    fn bounds_of_author_schemas_hold() {
        assert!(rejected(json!([])).contains("not an object"));
        assert!(rejected(json!({ "type": "string" })).contains("root's `type`"));
        assert!(
            rejected(json!({ "$schema": "http://json-schema.org/draft-07/schema#" }))
                .contains("draft-07")
        );
        assert!(
            rejected(json!({ "properties": { "a": { "$ref": "https://example.com/x" } } }))
                .contains("leaves")
        );
        assert!(rejected(json!({ "description": "x".repeat(70_000) })).contains("64 KiB"));
        assert!(
            rejected(json!({ "properties": { "a": { "pattern": "(a+)+\\1" } } }))
                .contains("invalid")
        );
        let mut deep = json!({});
        for _ in 0..20 {
            deep = json!({ "properties": { "a": deep } });
        }
        assert!(rejected(deep).contains("32 levels"));
    }

    #[test]
    fn the_timeout_is_bounded_defaulted_and_stripped() {
        let schema = Schema::from_params(&[])
            .unwrap()
            .with_timeout(Duration::from_secs(1), Duration::from_secs(3))
            .unwrap();
        let given = schema.check(json!({ "timeout_seconds": 2.5 })).unwrap();
        assert_eq!(given.timeout(), Some(Duration::from_millis(2500)));
        assert!(given.values().is_empty());
        assert_eq!(
            schema.check(json!({})).unwrap().timeout(),
            Some(Duration::from_secs(1))
        );
        for bad in [json!(0), json!(0.5), json!(3.1), json!("2"), json!(null)] {
            assert!(
                schema.check(json!({ "timeout_seconds": bad })).is_err(),
                "{bad}"
            );
        }
    }

    #[test]
    fn an_author_cannot_own_the_timeout() {
        let schema =
            Schema::from_author(json!({ "properties": { "timeout_seconds": {} } })).unwrap();
        assert!(
            schema
                .with_timeout(Duration::from_secs(1), Duration::from_secs(2))
                .is_err()
        );
    }

    #[test]
    fn a_whole_float_is_an_integer_as_the_standard_says() {
        let param = Param::new("n", "N.", ParamKind::Integer, true, None).unwrap();
        let schema = Schema::from_params(&[param]).unwrap();
        assert!(schema.check(json!({ "n": 1.0 })).is_ok());
        assert!(schema.check(json!({ "n": 1.5 })).is_err());
    }
}
