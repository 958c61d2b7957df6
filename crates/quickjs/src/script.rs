//! A source that was checked and compiled.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bailiwick_core::{Code, Schema, SkillError, SkillPath};
use bailiwick_isolate::{Ending, Job, Limits};
use bailiwick_js_syntax::{Checked, Form, Language, Source, SyntaxError};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::answer::{self, Answer, Threw};
use crate::configuration;
use crate::engine::JsEngine;
use crate::error::QuickjsError;
use crate::operation::Operation;
use crate::place;

/// The script of a tool, compiled to the engine's bytecode inside a guest.
///
/// The bytecode is only ever read inside a guest again, so what a hostile source makes of it hurts
/// nobody else.
#[derive(Clone)]
pub struct Script {
    path: SkillPath,
    checked: Arc<Checked>,
    bytecode: Arc<[u8]>,
}

/// What a tool module says of itself.
#[derive(Debug)]
#[non_exhaustive]
pub struct Description {
    /// What a model is told the tool does.
    pub description: String,
    /// The schema of its arguments.
    pub schema: Schema,
    /// Whether the author wrote `{}`, which takes any object and tells a model nothing
    /// (contracts 7.6).
    pub takes_anything: bool,
}

impl Script {
    /// Returns the file inside the skill.
    pub fn path(&self) -> &SkillPath {
        &self.path
    }

    /// Returns which form the source has.
    pub fn form(&self) -> Form {
        self.checked.form()
    }

    /// Adds the place of an export to an error that is about it.
    fn pointing_at(&self, export: &str, error: SkillError) -> SkillError {
        let error = error.with_detail("path", self.path.as_str());
        match self.checked.export(export) {
            None => error,
            Some(position) => error
                .with_detail("line", position.line)
                .with_detail("column", position.column),
        }
    }

    /// Returns a stack of the engine with the columns that the author sees.
    pub(crate) fn stack(&self, stack: &str) -> String {
        place::in_characters(stack, self.path.as_str(), self.checked.javascript()).into_owned()
    }

    pub(crate) fn bytecode(&self) -> Arc<[u8]> {
        self.bytecode.clone()
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Script")
            .field("path", &self.path)
            .field("form", &self.form())
            .finish_non_exhaustive()
    }
}

impl JsEngine {
    /// Checks and compiles a source.
    ///
    /// # Errors
    ///
    /// `E_SKILL_ISOLATED_GUEST_INVALID` with file, line and column: it does not parse, has another
    /// form, imports something, or is TypeScript that cannot be stripped of its types.
    /// `E_SKILL_WORKSPACE_FAILED` when the host cannot start the thread that parses.
    pub async fn compile(
        &self,
        path: &SkillPath,
        bytes: &[u8],
        form: Form,
    ) -> Result<Script, SkillError> {
        let language = Language::of(path).ok_or_else(|| QuickjsError::Language {
            path: path.to_string(),
        })?;
        let source = Source::new(path.clone(), language, bytes).map_err(unparsed)?;
        let checked =
            tokio::task::spawn_blocking(move || bailiwick_js_syntax::check(&source, form))
                .await
                .map_err(|error| {
                    SkillError::new(
                        Code::IsolatedGuestInvalid,
                        format!("`{path}` could not be checked"),
                    )
                    .with_hint("the runtime is shutting down; load it in one that is not")
                    .with_source(error)
                })?
                .map_err(unparsed)?;
        let parts = [
            path.as_str().as_bytes().into(),
            checked.javascript().as_bytes().into(),
            [].into(),
        ];
        let operation = match form {
            Form::Arrow => Operation::CompileArrow,
            Form::Module => Operation::CompileModule,
        };
        let bytecode = match self.at_load(path, operation, parts).await? {
            Answer::Compiled(bytecode) => bytecode,
            Answer::Threw(threw) => return Err(refused(path, &checked, &threw).into()),
            Answer::Returned(_) | Answer::Unfit(_) => return Err(nothing(path).into()),
        };
        Ok(Script {
            path: path.clone(),
            checked: Arc::new(checked),
            bytecode: bytecode.into(),
        })
    }

    /// Asks a tool module what it is: its top level runs once, in a guest that holds nothing.
    ///
    /// # Errors
    ///
    /// `E_SKILL_ISOLATED_GUEST_INVALID` when the top level throws or does not end, or an export is
    /// not what the contract of tool modules says (contracts 7.6); `E_SKILL_MANIFEST_INVALID` when
    /// `parameters` breaks a bound of [`Schema`].
    pub async fn describe(&self, script: &Script) -> Result<Description, SkillError> {
        let path = &script.path;
        let parts = [configuration::at_load(), script.bytecode(), [].into()];
        let exports: Exports = match self.at_load(path, Operation::Describe, parts).await? {
            Answer::Returned(returned) => {
                serde_json::from_value(returned.value).map_err(|_| nothing(path))?
            }
            Answer::Threw(threw) => {
                return Err(refused(path, &script.checked, &threw).into());
            }
            Answer::Unfit(unfit) => {
                let message = format!(
                    "`parameters` is no JSON: {} at `{}`",
                    unfit.reason, unfit.path
                );
                let hint = "export a JSON Schema: objects, arrays, texts, numbers, booleans, null";
                return Err(contract(script, "parameters", message, hint).into());
            }
            Answer::Compiled(_) => return Err(nothing(path).into()),
        };
        exports.judge(script)
    }

    /// Does something at load, under the default limits as far as the engine allows them, and a
    /// deadline of its own.
    async fn at_load(
        &self,
        path: &SkillPath,
        operation: Operation,
        parts: [Arc<[u8]>; 3],
    ) -> Result<Answer, SkillError> {
        let mut job = Job::new(operation.number(), parts, Instant::now() + LOAD_DEADLINE);
        job.limits = self.fit(Limits::default());
        job.limits.host_calls = 0;
        job.limits.result = LOAD_RESULT;
        let limits = job.limits;
        let mut completion = self.evaluate(job).await;
        answer::of(&mut completion, &limits).map_err(|ending| {
            let message = match ending {
                Ending::Expired => format!("its top level did not end within {LOAD_DEADLINE:?}"),
                Ending::Stalled => "its top level waits for what never comes".to_owned(),
                Ending::OutOfMemory => format!(
                    "it needs more than {} MiB to load",
                    self.fit(Limits::default()).memory >> 20
                ),
                Ending::ResultTooLarge { .. } => "it is too large".to_owned(),
                other @ (Ending::Answered { .. }
                | Ending::Cancelled
                | Ending::OutOfFuel
                | Ending::StackExhausted
                | Ending::Misconfigured { .. }
                | Ending::Violated { .. }
                | Ending::Trapped { .. }
                | _) => format!("it ended as {other:?}"),
            };
            QuickjsError::Source {
                path: path.to_string(),
                message,
                line: None,
                column: None,
            }
            .into()
        })
    }
}

/// The exports of a tool module, as the prelude describes them.
#[derive(Deserialize)]
struct Exports {
    description: Export,
    parameters: Export,
    execute: Export,
}

#[derive(Deserialize)]
struct Export {
    #[serde(rename = "type")]
    kind: String,
    value: Option<Value>,
}

impl Exports {
    fn judge(self, script: &Script) -> Result<Description, SkillError> {
        let wrong = |name: &str, export: &Export, wanted: &str, hint: &str| {
            let message = format!("`{name}` is {}, not {wanted}", of_type(&export.kind));
            contract(script, name, message, hint)
        };
        let Some(Value::String(description)) = self.description.value else {
            let hint = "write `export const description = \"…\"`";
            return Err(wrong("description", &self.description, "a text", hint).into());
        };
        if description.trim().is_empty() || description.len() > MAX_DESCRIPTION {
            let message = format!("`description` has {} bytes", description.len());
            let hint = format!("say what the tool does in 1 to {MAX_DESCRIPTION} bytes");
            return Err(contract(script, "description", message, &hint).into());
        }
        if self.execute.kind != "function" {
            let hint = "write `export async function execute(args, context) { … }`";
            return Err(wrong("execute", &self.execute, "a function", hint).into());
        }
        let Some(parameters @ Value::Object(_)) = self.parameters.value else {
            let hint = "write `export const parameters = { type: \"object\", … }`";
            return Err(wrong("parameters", &self.parameters, "an object", hint).into());
        };
        let takes_anything = parameters == json!({});
        let schema = Schema::from_author(if takes_anything {
            json!({ "additionalProperties": true })
        } else {
            parameters
        });
        Ok(Description {
            description,
            schema: schema.map_err(|error| script.pointing_at("parameters", error))?,
            takes_anything,
        })
    }
}

fn of_type(kind: &str) -> String {
    match kind {
        "undefined" | "null" => kind.to_owned(),
        "array" | "object" => format!("an {kind}"),
        _ => format!("a {kind}"),
    }
}

fn contract(script: &Script, export: &str, message: String, hint: &str) -> QuickjsError {
    let position = script.checked.export(export);
    QuickjsError::Contract {
        path: script.path.to_string(),
        message,
        hint: hint.to_owned(),
        line: position.map(|position| position.line),
        column: position.map(|position| position.column),
    }
}

/// Gives what does not parse a hint where the parser has none.
fn unparsed(error: SyntaxError) -> SkillError {
    let error = SkillError::from(error);
    if error.hint().is_some() {
        return error;
    }
    error.with_hint("correct the script at the named place")
}

/// Tells what the engine did not take, at the place that the stack names.
fn refused(path: &SkillPath, checked: &Checked, threw: &Threw) -> QuickjsError {
    let stack = place::in_characters(&threw.stack, path.as_str(), checked.javascript());
    let (line, column) = place::first(&stack, path.as_str()).unzip();
    QuickjsError::Source {
        path: path.to_string(),
        message: threw.describe(),
        line,
        column,
    }
}

fn nothing(path: &SkillPath) -> QuickjsError {
    QuickjsError::Source {
        path: path.to_string(),
        message: "the engine answered with something else".to_owned(),
        line: None,
        column: None,
    }
}

/// How long the top level of a module may take at load.
const LOAD_DEADLINE: Duration = Duration::from_secs(5);

/// Bytes of bytecode: a source of 1 MiB makes about 4 MiB.
const LOAD_RESULT: usize = 32 << 20;

/// Bytes of a description, which a model reads with those of every other tool.
const MAX_DESCRIPTION: usize = 16 * 1024;
