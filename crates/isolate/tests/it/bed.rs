//! What every test here stands on: an engine, the guest that does as it is told, and a host.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bailiwick_core::{BoxFuture, Code, HostCall, HostCalls, SkillError};
use bailiwick_isolate::{Completion, Ending, Engine, EngineSettings, Job, Program};
use serde_json::{Value, json};

use crate::script::Script;

pub(crate) const INTERPRETER: &str = include_str!("../guests/interpreter.wat");

/// The guest that does as it is told, on an engine that the tests of a process share.
pub(crate) fn program() -> &'static Program {
    static PROGRAM: OnceLock<Program> = OnceLock::new();
    PROGRAM.get_or_init(|| compile(engine(), INTERPRETER))
}

pub(crate) fn engine() -> &'static Engine {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    ENGINE.get_or_init(|| Engine::new(EngineSettings::default().slots(32)).unwrap())
}

/// The same on an engine of its own.
pub(crate) fn on(settings: EngineSettings) -> Program {
    compile(&Engine::new(settings).unwrap(), INTERPRETER)
}

pub(crate) fn compile(engine: &Engine, text: &str) -> Program {
    engine.compile(&wat::parse_str(text).unwrap()).unwrap()
}

/// A job that nobody would call late.
pub(crate) fn job(script: &Script) -> Job {
    Job::new(0, script.parts(), Instant::now() + Duration::from_mins(2))
}

pub(crate) async fn run(script: &Script) -> Completion {
    program().evaluate(job(script)).await
}

/// Runs a script under limits of its own, against a host that answers.
pub(crate) async fn under(
    script: &Script,
    adjust: impl FnOnce(&mut bailiwick_isolate::Limits),
) -> Completion {
    let mut job = hosted(script, &Host::default());
    adjust(&mut job.limits);
    program().evaluate(job).await
}

pub(crate) fn hosted(script: &Script, host: &Host) -> Job {
    let mut job = job(script);
    job.host = Arc::new(host.clone());
    job
}

/// Shows that an engine still serves a call as if nothing had been before it.
pub(crate) async fn works(program: &Program) {
    let script = Script::new()
        .starts(1, "echo", "[\"here\"]")
        .answers_with(1);
    let completion = program.evaluate(hosted(&script, &Host::default())).await;
    assert_eq!(text(&completion), "[\"here\"]");
}

/// Returns what a guest answered.
pub(crate) fn text(completion: &Completion) -> &str {
    std::str::from_utf8(bytes(completion)).unwrap()
}

/// Returns the answer as numbers.
pub(crate) fn numbers(completion: &Completion) -> Vec<u32> {
    let numbers = bytes(completion).chunks_exact(4);
    numbers
        .map(|number| u32::from_le_bytes(number.try_into().unwrap()))
        .collect()
}

fn bytes(completion: &Completion) -> &[u8] {
    if let Ending::Answered { bytes, .. } = &completion.ending {
        bytes
    } else {
        panic!("it ended as {:?}", completion.ending)
    }
}

/// Returns what was settled, in the order in which the guest learned of it.
pub(crate) fn settled(completion: &Completion) -> Vec<Value> {
    let logs = &completion.observed.logs;
    logs.iter()
        .map(|log| serde_json::from_str(&log.text).unwrap())
        .collect()
}

/// A host of a few members, which counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Host(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    started: AtomicUsize,
    finished: AtomicUsize,
    dropped: AtomicUsize,
    running: AtomicUsize,
    most: AtomicUsize,
}

impl Host {
    pub(crate) fn started(&self) -> usize {
        self.0.started.load(Ordering::SeqCst)
    }

    pub(crate) fn finished(&self) -> usize {
        self.0.finished.load(Ordering::SeqCst)
    }

    pub(crate) fn dropped(&self) -> usize {
        self.0.dropped.load(Ordering::SeqCst)
    }

    /// Returns how many calls were under way at the same time, at most.
    pub(crate) fn most(&self) -> usize {
        self.0.most.load(Ordering::SeqCst)
    }
}

impl HostCalls for Host {
    fn begin(&self, call: HostCall) -> BoxFuture<'static, Result<Value, SkillError>> {
        assert!(call.member != "panics at once", "as asked");
        let pending = Pending::new(&self.0);
        Box::pin(async move {
            let answer = answer(&call).await;
            pending.finish();
            answer
        })
    }
}

async fn answer(call: &HostCall) -> Result<Value, SkillError> {
    let number = call.arguments.first().and_then(Value::as_u64);
    match call.member.as_str() {
        "echo" => Ok(json!(call.arguments)),
        "after" => {
            tokio::time::sleep(Duration::from_millis(number.unwrap())).await;
            Ok(json!(call.arguments))
        }
        "never" => std::future::pending().await,
        "large" => Ok(json!("x".repeat(usize::try_from(number.unwrap()).unwrap()))),
        "panics later" => {
            tokio::task::yield_now().await;
            panic!("as asked")
        }
        "busy" => Err(SkillError::new(Code::SourceFailed, "try again").with_hint("later")),
        other => Err(SkillError::new(
            Code::IsolatedCapabilityDenied,
            format!("`{other}` is not granted"),
        )
        .with_hint("grant it")),
    }
}

struct Pending {
    counts: Arc<Counts>,
    is_finished: bool,
}

impl Pending {
    fn new(counts: &Arc<Counts>) -> Self {
        counts.started.fetch_add(1, Ordering::SeqCst);
        let running = counts.running.fetch_add(1, Ordering::SeqCst) + 1;
        counts.most.fetch_max(running, Ordering::SeqCst);
        Self {
            counts: counts.clone(),
            is_finished: false,
        }
    }

    fn finish(mut self) {
        self.is_finished = true;
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.counts.running.fetch_sub(1, Ordering::SeqCst);
        let count = if self.is_finished {
            &self.counts.finished
        } else {
            &self.counts.dropped
        };
        count.fetch_add(1, Ordering::SeqCst);
    }
}
