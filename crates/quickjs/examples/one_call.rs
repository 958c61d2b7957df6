//! One call of an isolated tool, from its source to its result.

#![expect(clippy::print_stdout, reason = "an example shows what it got")]

use std::error::Error;
use std::time::Duration;

use bailiwick_core::{
    CallContext, Decision, Gatekeeper, Provenance, Schema, Tier, ToolSpec, gate_fn,
};
use bailiwick_quickjs::{EngineSettings, Form, Holdings, IsolatedTool, JsEngine};
use serde_json::json;

const SOURCE: &str = "async (args) => ({ shouted: args.word.toUpperCase() })";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let engine = JsEngine::start(EngineSettings::default(), &[], None)?;
    let path = "scripts/shout.js".parse()?;
    let script = engine
        .compile(&path, SOURCE.as_bytes(), Form::Arrow)
        .await?;
    let spec = ToolSpec::new(
        "shout".parse()?,
        "Shouts a word.",
        Tier::Isolated,
        Schema::from_author(json!({
            "type": "object",
            "properties": { "word": { "type": "string" } },
            "required": ["word"],
        }))?
        .with_timeout(Duration::from_secs(5), Duration::from_mins(1))?,
        Provenance::new("example".parse()?, None, None),
    );
    let tool = IsolatedTool::new(spec, engine, script, Holdings::deny_all());
    let gate = Gatekeeper::new(gate_fn(|_| async { Decision::allow() }));
    let context = CallContext::new("/");
    let outcome = bailiwick_core::call(&tool, &gate, json!({ "word": "hello" }), &context).await;
    let structured = outcome.result?.structured;
    println!("{}", structured.unwrap_or_default());
    Ok(())
}
