//! What a fresh guest costs, and what it does to a host call and a cancel.

use std::cell::RefCell;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use bailiwick::core::{
    self, BoxFuture, CallContext, Code, Gatekeeper, HostCall, HostCalls, Provenance, Schema, Tier,
    ToolSpec,
};
use bailiwick_quickjs::{EngineSettings, Form, Holdings, IsolatedTool, JsEngine, Services};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::{node, script};
use crate::measure::{BoxError, Variant, interleaved, timed};
use crate::report::Report;

pub(crate) fn measure(report: &mut Report, rounds: usize) -> Result<(), BoxError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let bench = Bench::new(runtime)?;
    let folder = tempfile::tempdir()?;
    let target = script::build_target(folder.path());

    let small = bench.tool(FUNCTION, Form::Arrow)?;
    let large = bench.tool(&ten_kilobytes(), Form::Module)?;
    let hundred = bench.tool(HUNDRED_CALLS, Form::Arrow)?;
    let endless = bench.tool(ENDLESS, Form::Arrow)?;
    let arguments = json!({ "text": "x".repeat(1024) });
    let mut variants: Vec<Variant<'_>> = vec![
        (
            "isolate.fresh",
            Box::new(|| bench.timed_call(&small, &arguments)),
        ),
        (
            "native.quickjs",
            Box::new(|| timed(|| natively(&arguments))),
        ),
        (
            "isolate.10kb",
            Box::new(|| bench.timed_call(&large, &arguments)),
        ),
        (
            "isolate.2threads",
            Box::new(|| bench.on_two_threads(&small, &arguments)),
        ),
        ("isolate.cancel", Box::new(|| bench.cancel(&endless))),
        (
            "host.call",
            Box::new(|| Ok(bench.timed_call(&hundred, &json!({}))? / 100)),
        ),
    ];
    match &target {
        Ok(target) => variants.push((SPAWN, Box::new(|| script::raw(target)))),
        Err(why) => report.absent(SPAWN, why.to_string()),
    }
    let samples = interleaved(variants, rounds)?;
    let median = |name: &str| {
        let sample = samples.iter().find(|sample| sample.name == name);
        sample.map(|sample| sample.p50_us)
    };
    // A whole run has this variant of the script tier as well; the ratio is to the one whose turns
    // the guest took.
    for (to, most) in [(SPAWN, 0.15), ("native.quickjs", 1.0)] {
        if let (Some(fresh), Some(base)) = (median("isolate.fresh"), median(to)) {
            report.add_ratio("isolate.fresh", to, fresh / base, Some(most));
        }
    }
    let spawn_is_there = report.has(SPAWN);
    report.add(
        samples
            .into_iter()
            .filter(|sample| sample.name != SPAWN || !spawn_is_there),
    );
    report.compare("isolate.10kb", "isolate.fresh", None);
    report.compare("isolate.2threads", "isolate.fresh", None);
    for (name, program) in [
        ("node.worker", node::WORKER),
        ("node.isolated_vm", node::ISOLATED_VM),
    ] {
        match node::measure(name, program, FUNCTION, &arguments, rounds) {
            Ok(sample) => {
                report.add([sample]);
                report.compare("isolate.fresh", name, None);
            }
            Err(why) => report.absent(name, why.to_string()),
        }
    }
    Ok(())
}

/// An engine, what its tools are called with, and where.
struct Bench {
    runtime: Runtime,
    engine: JsEngine,
    host: Host,
    started: RefCell<mpsc::Receiver<()>>,
    gate: Gatekeeper,
}

impl Bench {
    fn new(runtime: Runtime) -> Result<Self, BoxError> {
        let (says, started) = mpsc::channel();
        let members = [NOTHING, STARTED].map(str::to_owned);
        Ok(Self {
            runtime,
            engine: JsEngine::start(EngineSettings::default(), &members, None)?,
            host: Host { says },
            started: RefCell::new(started),
            gate: Gatekeeper::dangerously_ungated(),
        })
    }

    fn tool(&self, source: &str, form: Form) -> Result<IsolatedTool, BoxError> {
        let path = "scripts/bench.js".parse()?;
        let compiling = self.engine.compile(&path, source.as_bytes(), form);
        let script = self.runtime.block_on(compiling)?;
        let spec = ToolSpec::new(
            "bench".parse()?,
            "Measures.",
            Tier::Isolated,
            Schema::from_author(json!({ "type": "object", "additionalProperties": true }))?
                .with_timeout(Duration::from_secs(20), Duration::from_mins(1))?,
            Provenance::new("bench".parse()?, None, None),
        );
        let holdings = Holdings::new(Arc::new(self.host.clone()));
        Ok(IsolatedTool::new(
            spec,
            self.engine.clone(),
            script,
            holdings,
        ))
    }

    fn timed_call(&self, tool: &IsolatedTool, arguments: &Value) -> Result<Duration, BoxError> {
        let context = CallContext::new("/");
        let call = core::call(tool, &self.gate, arguments.clone(), &context);
        timed(|| Ok(self.runtime.block_on(call).result?))
    }

    /// Returns what a call takes while another thread makes as many.
    fn on_two_threads(&self, tool: &IsolatedTool, arguments: &Value) -> Result<Duration, BoxError> {
        let (runtime, gate) = (&self.runtime, &self.gate);
        let many = || {
            let context = CallContext::new("/");
            for _ in 0..CALLS_A_THREAD {
                let call = core::call(tool, gate, arguments.clone(), &context);
                if let Err(error) = runtime.block_on(call).result {
                    return Err(error.to_string());
                }
            }
            Ok(())
        };
        let took = timed(|| {
            let ends = std::thread::scope(|scope| {
                let threads = [scope.spawn(many), scope.spawn(many)];
                threads.map(|thread| {
                    thread
                        .join()
                        .unwrap_or_else(|_| Err("a thread panicked".to_owned()))
                })
            });
            Ok(ends.into_iter().collect::<Result<(), String>>()?)
        })?;
        Ok(took / CALLS_A_THREAD)
    }

    /// Returns what it takes from the wish to stop a tight loop to its confirmed end.
    fn cancel(&self, endless: &IsolatedTool) -> Result<Duration, BoxError> {
        let context = CallContext::new("/");
        let (runtime, gate, cancel) = (&self.runtime, &self.gate, context.cancel.clone());
        let started = self.started.borrow();
        let (took, ended) = std::thread::scope(|scope| {
            let guest = scope.spawn(|| {
                let outcome = runtime.block_on(core::call(endless, gate, json!({}), &context));
                (
                    Instant::now(),
                    outcome.result.err().map(|error| error.code()),
                )
            });
            started.recv_timeout(Duration::from_secs(10))?;
            // The guest goes on to its loop.
            std::thread::sleep(Duration::from_millis(2));
            let asked = Instant::now();
            cancel.cancel();
            let (at, ended) = guest.join().map_err(|_| "the calling thread panicked")?;
            Ok::<_, BoxError>((at - asked, ended))
        })?;
        if ended == Some(Code::Cancelled) {
            Ok(took)
        } else {
            Err(format!("a cancelled call ended with {ended:?}").into())
        }
    }
}

/// What answers the guests' host calls.
#[derive(Clone)]
struct Host {
    says: mpsc::Sender<()>,
}

impl Services for Host {
    fn open(&self, _context: &CallContext) -> Result<Arc<dyn HostCalls>, bailiwick::Error> {
        Ok(Arc::new(self.clone()))
    }
}

impl HostCalls for Host {
    fn begin(&self, call: HostCall) -> BoxFuture<'static, Result<Value, bailiwick::Error>> {
        if call.member == STARTED {
            // Nobody listens once the bench is over.
            let _over = self.says.send(());
        }
        Box::pin(std::future::ready(Ok(Value::Null)))
    }
}

/// Does in this process what a guest does: a new engine, the source, one call.
fn natively(arguments: &Value) -> Result<(), BoxError> {
    let runtime = rquickjs::Runtime::new()?;
    let context = rquickjs::Context::full(&runtime)?;
    let answer: String = context.with(|context| {
        let call: rquickjs::Function<'_> = context.eval(format!(
            "(text) => ({FUNCTION})(JSON.parse(text)).then(JSON.stringify)"
        ))?;
        let promise: rquickjs::Promise<'_> = call.call((arguments.to_string(),))?;
        promise.finish()
    })?;
    if answer == ANSWER {
        Ok(())
    } else {
        Err(format!("it answered {answer}").into())
    }
}

/// Makes a module of ten kilobytes, of which most is functions that are not called.
fn ten_kilobytes() -> String {
    let mut source = String::from(
        "export const description = \"Measures.\";\n\
         export const parameters = { type: \"object\" };\n\
         export async function execute(args) {\n  \
         return { content: [{ type: \"text\", text: String(args.text.length) }] };\n}\n",
    );
    for index in 0.. {
        if source.len() >= 10 * 1024 {
            break;
        }
        source.push_str("\nfunction step");
        source.push_str(&index.to_string());
        source.push_str(
            "(items) {\n  const found = items.filter((item) => item.size > 10);\n  \
             return found.map(({ name, size }) => `${name}: ${size}`).join(\", \");\n}\n",
        );
    }
    source
}

const FUNCTION: &str = "async (args) => ({ length: args.text.length })";
const ANSWER: &str = r#"{"length":1024}"#;
const HUNDRED_CALLS: &str = "async (args, context) => { \
    for (let made = 0; made < 100; made += 1) await context.bench.nothing(); }";
const ENDLESS: &str = "async (args, context) => { await context.bench.started(); for (;;) {} }";
const NOTHING: &str = "bench.nothing";
const STARTED: &str = "bench.started";
const SPAWN: &str = "spawn.raw";
const CALLS_A_THREAD: u32 = 20;
