//! What every test here stands on: one engine, tools made of source text, and a host that answers.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use bailiwick_core::{
    BoxFuture, CallContext, CallReport, Code, Gatekeeper, HostCall, HostCalls, Outcome, Provenance,
    Schema, SkillError, Tier, ToolSpec,
};
use bailiwick_quickjs::{EngineSettings, Form, Holdings, IsolatedTool, JsEngine, Script, Services};
use serde_json::{Value, json};

/// The engine of this process; its code is kept between tests.
pub(crate) fn engine() -> JsEngine {
    static ENGINE: OnceLock<JsEngine> = OnceLock::new();
    ENGINE
        .get_or_init(|| start(EngineSettings::default()))
        .clone()
}

pub(crate) fn start(settings: EngineSettings) -> JsEngine {
    JsEngine::start(settings, &MEMBERS.map(str::to_owned), Some(&folder())).unwrap()
}

/// A folder of this user's own, which the tests of one run share.
pub(crate) fn folder() -> PathBuf {
    bailiwick_testkit::private_folder("guests")
}

/// Compiles a JavaScript source in one of the two forms.
pub(crate) async fn script(source: &str, form: Form) -> Result<Script, SkillError> {
    script_at("scripts/tool.js", source, form).await
}

/// Compiles a source in the language that its path names.
pub(crate) async fn script_at(path: &str, source: &str, form: Form) -> Result<Script, SkillError> {
    let path = path.parse().unwrap();
    engine().compile(&path, source.as_bytes(), form).await
}

/// Makes a tool of an arrow function.
pub(crate) async fn arrow(source: &str) -> IsolatedTool {
    with(source, |_| ()).await
}

/// Makes a tool of an arrow function that holds more or less than nothing.
pub(crate) async fn with(source: &str, adjust: impl FnOnce(&mut Holdings)) -> IsolatedTool {
    of(
        &engine(),
        script(source, Form::Arrow).await.unwrap(),
        adjust,
    )
}

/// Makes a tool of a tool module.
pub(crate) async fn module(source: &str) -> IsolatedTool {
    module_with(source, |_| ()).await
}

/// Makes a tool of a tool module that holds more or less than nothing.
pub(crate) async fn module_with(source: &str, adjust: impl FnOnce(&mut Holdings)) -> IsolatedTool {
    of(
        &engine(),
        script(source, Form::Module).await.unwrap(),
        adjust,
    )
}

pub(crate) fn of(
    engine: &JsEngine,
    script: Script,
    adjust: impl FnOnce(&mut Holdings),
) -> IsolatedTool {
    let mut holdings = Holdings::new(Arc::new(Host::default()));
    adjust(&mut holdings);
    let schema = Schema::from_author(json!({ "additionalProperties": true }))
        .unwrap()
        .with_timeout(Duration::from_mins(2), Duration::from_mins(2))
        .unwrap();
    let provenance = Provenance::new("test-skill".parse().unwrap(), None, None);
    let spec = ToolSpec::new(
        "tool".parse().unwrap(),
        "Tests.",
        Tier::Isolated,
        schema,
        provenance,
    );
    IsolatedTool::new(spec, engine.clone(), script, holdings)
}

/// Calls a tool through the one call path.
pub(crate) async fn call(tool: &IsolatedTool, arguments: Value) -> Outcome {
    call_in(tool, arguments, &CallContext::new("/somewhere")).await
}

pub(crate) async fn call_in(
    tool: &IsolatedTool,
    arguments: Value,
    context: &CallContext,
) -> Outcome {
    let gatekeeper = Gatekeeper::dangerously_ungated();
    bailiwick_core::call(tool, &gatekeeper, arguments, context).await
}

/// Returns the value of a call that succeeds.
pub(crate) fn success(outcome: Outcome) -> Value {
    match outcome.result {
        Ok(response) => response.structured.unwrap_or_default(),
        Err(error) => panic!("{}\n{:?}", error.host_chain(), outcome.report.stack),
    }
}

/// Returns the error of a call that fails, with its report.
pub(crate) fn failure(outcome: Outcome) -> (SkillError, CallReport) {
    match outcome.result {
        Ok(response) => panic!("it answered {}", response.text()),
        Err(error) => (error, outcome.report),
    }
}

/// Runs an arrow function and returns its value.
pub(crate) async fn value(source: &str) -> Value {
    success(call(&arrow(source).await, json!({})).await)
}

/// Runs an arrow function that fails.
pub(crate) async fn fails(source: &str) -> (SkillError, CallReport) {
    failure(call(&arrow(source).await, json!({})).await)
}

/// Runs a tool module whose `execute` is a given expression, which is called as it is: unlike an
/// arrow function it need not be async. It fails.
pub(crate) async fn execute_fails(execute: &str) -> (SkillError, CallReport) {
    let source = format!("{HEAD} const tool = {execute}; export {{ tool as execute }};");
    failure(call(&module(&source).await, json!({})).await)
}

/// What every tool module says of itself, on the first line.
pub(crate) const HEAD: &str =
    "export const description = 'd'; export const parameters = { type: 'object' };\n";

/// Shows that the engine still serves a call as if nothing had been before it.
pub(crate) async fn works(engine: &JsEngine, script: &Script) {
    let tool = of(engine, script.clone(), |_| ());
    let outcome = call(&tool, json!({ "a": 1, "b": 2 })).await;
    assert_eq!(success(outcome), json!({ "sum": 3 }));
}

/// What [`works`] calls.
pub(crate) const SUM: &str = "async (args) => ({ sum: args.a + args.b })";

/// A host of a few members, which counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Host(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    started: AtomicUsize,
    finished: AtomicUsize,
    dropped: Mutex<Vec<String>>,
    updates: Mutex<Vec<Value>>,
}

impl Host {
    pub(crate) fn started(&self) -> usize {
        self.0.started.load(Ordering::SeqCst)
    }

    pub(crate) fn finished(&self) -> usize {
        self.0.finished.load(Ordering::SeqCst)
    }

    pub(crate) fn dropped(&self) -> Vec<String> {
        self.0.dropped.lock().unwrap().clone()
    }

    /// Returns a context whose partial results this host takes.
    pub(crate) fn watching(&self, mut context: CallContext) -> CallContext {
        let counts = self.0.clone();
        context.updates = Some(bailiwick_core::Updates::to(move |partial| {
            counts.updates.lock().unwrap().push(partial);
        }));
        context
    }

    async fn answer(&self, call: &HostCall) -> Result<Value, SkillError> {
        let argument = |index: usize| call.arguments.get(index).cloned().unwrap_or_default();
        match call.member.as_str() {
            "test.echo" => Ok(json!(call.arguments)),
            "test.after" => {
                tokio::time::sleep(Duration::from_millis(argument(0).as_u64().unwrap())).await;
                Ok(argument(1))
            }
            "test.never" => std::future::pending().await,
            "test.updates" => Ok(json!(*self.0.updates.lock().unwrap())),
            "test.dropped" => Ok(json!(self.dropped())),
            "test.fail" => {
                let failure = argument(0);
                let code = if failure["retryable"] == true {
                    Code::SourceFailed
                } else {
                    Code::ArgumentsRejected
                };
                Err(SkillError::new(code, failure["message"].as_str().unwrap()))
            }
            member => Err(SkillError::new(
                Code::IsolatedCapabilityDenied,
                format!("`{member}` is not granted"),
            )
            .with_hint(format!("grant `{member}`"))
            .with_detail("capability", member)),
        }
    }
}

impl HostCalls for Host {
    fn begin(&self, call: HostCall) -> BoxFuture<'static, Result<Value, SkillError>> {
        let host = self.clone();
        host.0.started.fetch_add(1, Ordering::SeqCst);
        let pending = Pending(Some((host.clone(), call.member.clone())));
        Box::pin(async move {
            let answer = host.answer(&call).await;
            pending.finish();
            answer
        })
    }
}

/// Notes a call that was dropped before it ended.
struct Pending(Option<(Host, String)>);

impl Pending {
    fn finish(mut self) {
        if let Some((host, _)) = self.0.take() {
            host.0.finished.fetch_add(1, Ordering::SeqCst);
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some((host, member)) = self.0.take() {
            host.0.dropped.lock().unwrap().push(member);
        }
    }
}

impl Services for Host {
    fn open(&self, _context: &CallContext) -> Result<Arc<dyn HostCalls>, SkillError> {
        Ok(Arc::new(self.clone()))
    }
}

const MEMBERS: [&str; 8] = [
    "test.echo",
    "test.after",
    "test.never",
    "test.fail",
    "test.updates",
    "test.dropped",
    "fs.read",
    "fs.writeText",
];
