//! What becomes of an isolated tool's source and of one call of it (contracts 4 and 7.6).

use std::sync::OnceLock;
use std::time::Duration;

use bailiwick_core::{
    CallContext, Code, Decision, Gatekeeper, Outcome, Provenance, Schema, SkillError, SkillPath,
    Tier, ToolSpec, gate_fn,
};
use bailiwick_quickjs::{EngineSettings, Form, Holdings, IsolatedTool, JsEngine};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::answer::{Answer, finish, read};

/// A source and one call of it; without `args` it is loaded and not called.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    form: Shape,
    source: String,
    #[serde(default)]
    typescript: bool,
    args: Option<Value>,
    /// Milliseconds until the deadline.
    wall: Option<u64>,
    /// Bytes of memory.
    memory: Option<usize>,
    /// Units of fuel.
    fuel: Option<u64>,
}

#[derive(Clone, Copy, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Shape {
    Arrow,
    Module,
}

pub(crate) fn answer(input: Value) -> Answer {
    finish(read(input).and_then(|question| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .map_err(|error| Answer::unsupported(error.to_string()))?;
        runtime.block_on(ask(question))
    }))
}

async fn ask(question: Question) -> Result<Value, Answer> {
    let tool = load(&question).await.map_err(placed)?;
    let Some(arguments) = question.args else {
        return Ok(json!({ "loaded": true }));
    };
    let mut context = CallContext::new("/work");
    context.deadline = question.wall.map(Duration::from_millis);
    let gate = Gatekeeper::new(gate_fn(|_| async { Decision::allow() }));
    let outcome = bailiwick_core::call(&tool, &gate, arguments, &context).await;
    describe(outcome).map_err(|error| Answer::refused(error, None))
}

fn describe(outcome: Outcome) -> Result<Value, SkillError> {
    let response = outcome.result?;
    Ok(json!({
        "text": response.text(),
        "structured": response.structured,
        "details": outcome.report.details,
        "trusted": response.trusted(),
    }))
}

async fn load(question: &Question) -> Result<IsolatedTool, SkillError> {
    let name = if question.typescript {
        "scripts/tool.ts"
    } else {
        "scripts/tool.js"
    };
    let path: SkillPath = name.parse()?;
    let engine = engine(question.fuel.is_some())?;
    let form = match question.form {
        Shape::Arrow => Form::Arrow,
        Shape::Module => Form::Module,
    };
    let script = engine
        .compile(&path, question.source.as_bytes(), form)
        .await?;
    let schema = match question.form {
        Shape::Arrow => Schema::from_author(json!({ "additionalProperties": true }))?,
        Shape::Module => engine.describe(&script).await?.schema,
    };
    let schema = schema.with_timeout(Duration::from_secs(20), Duration::from_mins(1))?;
    let skill = "demo".parse()?;
    let spec = ToolSpec::new(
        "tool".parse()?,
        "Does what the case says.",
        Tier::Isolated,
        schema,
        Provenance::new(skill, None, None),
    );
    let mut holdings = Holdings::deny_all();
    holdings.limits.fuel = question.fuel;
    holdings.limits.memory = question.memory.unwrap_or(holdings.limits.memory);
    Ok(IsolatedTool::new(spec, engine, script, holdings))
}

/// Starts each kind of engine once; they cost about a second.
fn engine(counts_fuel: bool) -> Result<JsEngine, SkillError> {
    static ENGINES: [OnceLock<JsEngine>; 2] = [const { OnceLock::new() }; 2];
    let slot = &ENGINES[usize::from(counts_fuel)];
    if let Some(engine) = slot.get() {
        return Ok(engine.clone());
    }
    let engine = JsEngine::start(
        EngineSettings::default().fuel(counts_fuel),
        &["fs.read".to_owned()],
        None,
    )?;
    Ok(slot.get_or_init(|| engine).clone())
}

/// Refuses a source, with its place as the reason where there is one.
fn placed(error: SkillError) -> Answer {
    let number = |name| error.details().get(name).and_then(Value::as_u64);
    let place = number("line").zip(number("column"));
    let place = place.map(|(line, column)| format!("{line}:{column}"));
    let is_source = error.code() == Code::IsolatedGuestInvalid;
    Answer::refused(error, place.filter(|_| is_source))
}
