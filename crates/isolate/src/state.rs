//! What the host keeps for one guest: counts, bounds and the calls under way.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bailiwick_core::{
    BoxFuture, CancelToken, Code, HostCall, HostCalls, LogEvent, Panicked, SkillError, Updates,
    contain_panic,
};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use serde_json::Value;
use wasmtime::ResourceLimiter;

use crate::clock::{Clock, Stream};
use crate::completion::{Ending, Observed};
use crate::json;
use crate::limits::Limits;

/// The data of a store.
pub(crate) struct State {
    pub(crate) limits: Limits,
    pub(crate) observed: Observed,
    /// The answer, or the end that a host function found.
    pub(crate) ending: Option<Ending>,
    /// What the guest copies out next.
    pub(crate) reply: Vec<u8>,
    pub(crate) clock: Clock,
    pub(crate) random: Stream,
    pub(crate) begun: Instant,
    pub(crate) deadline: Instant,
    pub(crate) cancel: CancelToken,
    pub(crate) pure: Pure,
    updates: Option<Updates>,
    host: Arc<dyn HostCalls>,
    /// The work under way; each ends with the settling that the guest waits for.
    pending: FuturesUnordered<BoxFuture<'static, Settling>>,
    /// Host calls that wait for one of those under way to end.
    waiting: VecDeque<Waiting>,
    waiting_bytes: usize,
    running: u32,
    /// Calls that were refused at once, and of which the guest has not been told.
    refused: VecDeque<Settling>,
    /// The timers, the next to ring first; those of one moment in the order of their making.
    timers: BTreeMap<(Instant, u64), u32>,
    timers_made: u64,
    /// What gives up a call that is waiting or under way.
    given_up: HashMap<u32, CancelToken>,
}

/// Answers the guest's pure questions: text in, text out, no effect.
pub(crate) type Pure = fn(operation: &str, arguments: &str) -> String;

/// What is told to the guest about one call.
pub(crate) struct Settling {
    pub(crate) id: u32,
    pub(crate) what: Settled,
}

pub(crate) enum Settled {
    Timer,
    Call(Result<Value, SkillError>),
    /// It was refused before it began.
    Refused(SkillError),
    /// The guest gave it up, so it is told nothing.
    Dropped,
}

/// A call that has not begun. Its arguments stay the text that they are: parsed they may take
/// twenty times the room, and a guest may have a thousand of them waiting.
struct Waiting {
    id: u32,
    member: String,
    arguments: Vec<u8>,
    cancel: CancelToken,
}

impl State {
    pub(crate) fn new(job: &crate::Job, pure: Pure, begun: Instant) -> Self {
        Self {
            limits: job.limits,
            observed: Observed::default(),
            ending: None,
            reply: Vec::new(),
            clock: job.clock.clone(),
            random: Stream::new(&job.random),
            begun,
            deadline: job.deadline,
            cancel: job.cancel.clone(),
            pure,
            updates: job.updates.clone(),
            host: job.host.clone(),
            pending: FuturesUnordered::new(),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            running: 0,
            refused: VecDeque::new(),
            timers: BTreeMap::new(),
            timers_made: 0,
            given_up: HashMap::new(),
        }
    }

    /// Begins a host call, or has the guest told why not.
    ///
    /// # Errors
    ///
    /// What the guest did, when it asks for more than the host remembers.
    pub(crate) fn start(&mut self, id: u32, member: &str, arguments: &[u8]) -> Result<(), String> {
        if member.len() > LONGEST_MEMBER {
            return Err(format!(
                "it named a member in more than {LONGEST_MEMBER} bytes"
            ));
        }
        self.observed.host_calls = self.observed.host_calls.saturating_add(1);
        if let Err(error) = self.admit(member, arguments) {
            if self.refused.len() >= MOST_REFUSED {
                return Err(format!(
                    "it makes host calls and waits for none of {MOST_REFUSED} that were refused"
                ));
            }
            let what = Settled::Refused(error);
            self.refused.push_back(Settling { id, what });
            return Ok(());
        }
        let waiting = Waiting {
            id,
            member: member.to_owned(),
            arguments: arguments.to_vec(),
            cancel: self.cancel.child(),
        };
        self.given_up.insert(id, waiting.cancel.clone());
        if self.running < self.limits.host_calls_concurrent {
            self.begin(waiting);
        } else {
            self.waiting_bytes += arguments.len();
            self.waiting.push_back(waiting);
        }
        Ok(())
    }

    /// Checks a host call against the quotas.
    fn admit(&mut self, member: &str, arguments: &[u8]) -> Result<(), SkillError> {
        let Limits {
            host_calls,
            host_call_bytes,
            json_depth,
            json_nodes,
            ..
        } = self.limits;
        if self.observed.host_calls > host_calls {
            return Err(self.over(
                "host_calls",
                &format!("it may make {host_calls} host calls"),
            ));
        }
        if arguments.len() > host_call_bytes {
            let what = format!("a host call may carry {host_call_bytes} bytes of arguments");
            return Err(self.over("host_call_bytes", &what));
        }
        if self.waiting_bytes.saturating_add(arguments.len()) > self.limits.memory {
            let what = "its waiting host calls hold more than its memory";
            return Err(self.over("memory", what));
        }
        match json::excess(arguments, json_depth, json_nodes) {
            Some(excess) => Err(malformed(member, &excess)),
            None => Ok(()),
        }
    }

    /// Notes a quota that is used up and says so.
    fn over(&mut self, quota: &'static str, what: &str) -> SkillError {
        self.observed.quota_hit.get_or_insert(quota);
        SkillError::new(Code::ToolFailed, format!("a quota is used up: {what}"))
            .with_hint(format!(
                "do with less, or have `limits.isolate.{quota}` raised"
            ))
            .with_detail("limit", quota)
    }

    /// Hands a call to the host when the guest next waits: what the host does then neither stands
    /// on the guest's stack nor, when it panics, unwinds through the guest.
    fn begin(&mut self, waiting: Waiting) {
        self.running += 1;
        let Waiting {
            id,
            member,
            arguments,
            cancel,
        } = waiting;
        let host = self.host.clone();
        let given_up = cancel.clone();
        let work = async move {
            let arguments: Vec<Value> =
                serde_json::from_slice(&arguments).map_err(|error| malformed(&member, &error))?;
            let call = HostCall::new(member.as_str(), arguments, cancel);
            let answer = contain_panic(async { host.begin(call).await }).await;
            answer.unwrap_or_else(|panicked| Err(broken(&member, panicked)))
        };
        self.pending.push(Box::pin(async move {
            let what = tokio::select! {
                biased;
                () = given_up.cancelled() => Settled::Dropped,
                result = work => Settled::Call(result),
            };
            Settling { id, what }
        }));
    }

    /// Begins a timer.
    ///
    /// # Errors
    ///
    /// What the guest did, when it has more of them than the host remembers.
    pub(crate) fn sleep(&mut self, id: u32, milliseconds: f64) -> Result<(), String> {
        if self.timers.len() >= MOST_TIMERS {
            return Err(format!("it has more than {MOST_TIMERS} timers"));
        }
        let longest = MOST_SLEEP.as_secs_f64() * 1000.0;
        let milliseconds = if milliseconds.is_finite() {
            milliseconds.clamp(0.0, longest)
        } else {
            0.0
        };
        let rings = Instant::now() + Duration::from_secs_f64(milliseconds / 1000.0);
        self.timers_made += 1;
        self.timers.insert((rings, self.timers_made), id);
        Ok(())
    }

    /// Waits for the next thing that the guest is to be told; nothing where it waits for nothing.
    ///
    /// Where both a timer and a call are ready chance decides, so that neither a guest's timers nor
    /// its calls can keep the other from being served.
    pub(crate) async fn next(&mut self) -> Option<Settling> {
        if let Some(settling) = self.refused.pop_front() {
            return Some(settling);
        }
        let Some((&(rings, made), &id)) = self.timers.first_key_value() else {
            return self.pending.next().await;
        };
        tokio::select! {
            () = tokio::time::sleep_until(rings.into()) => {
                self.timers.remove(&(rings, made));
                Some(Settling { id, what: Settled::Timer })
            }
            Some(settling) = self.pending.next() => Some(settling),
        }
    }

    /// Gives up a call or timer; a number that is not under way is nothing to give up.
    pub(crate) fn give_up(&mut self, id: u32) {
        if let Some(token) = self.given_up.remove(&id) {
            token.cancel();
        }
        if let Some(index) = self.waiting.iter().position(|waiting| waiting.id == id)
            && let Some(waiting) = self.waiting.remove(index)
        {
            self.waiting_bytes -= waiting.arguments.len();
        }
        self.timers.retain(|_, timer| *timer != id);
    }

    /// Books a call that is over, and begins one that waited.
    pub(crate) fn is_over(&mut self, settling: &Settling) {
        match settling.what {
            Settled::Timer | Settled::Refused(_) => return,
            Settled::Call(_) | Settled::Dropped => self.running -= 1,
        }
        self.given_up.remove(&settling.id);
        while self.running < self.limits.host_calls_concurrent
            && let Some(waiting) = self.waiting.pop_front()
        {
            self.waiting_bytes -= waiting.arguments.len();
            self.begin(waiting);
        }
    }

    /// Turns the end of a host call into what the guest is told: whether it succeeded, and JSON.
    pub(crate) fn tell(&mut self, id: u32, result: Result<Value, SkillError>) -> (bool, Vec<u8>) {
        let most = self.limits.host_call_bytes;
        let result = result.and_then(|value| {
            let bytes = value.to_string().into_bytes();
            if bytes.len() <= most {
                return Ok(bytes);
            }
            let what = format!("the answer of a host call may have {most} bytes");
            Err(self.over("host_call_bytes", &what))
        });
        match result {
            Ok(bytes) => (true, bytes),
            Err(error) => {
                let told = told(&error, id);
                if error.code() == Code::IsolatedCapabilityDenied {
                    self.denied(id, error);
                }
                (false, told)
            }
        }
    }

    /// Records a denial; a guest that asks again and again is recorded so often and no more.
    pub(crate) fn denied(&mut self, id: u32, error: SkillError) {
        let is_known = self.observed.denial(id).is_some();
        if !is_known && self.observed.denials.len() < MOST_DENIALS {
            self.observed.denials.push((id, error));
        }
    }

    /// Keeps one log event, cut to its bound, or counts it.
    pub(crate) fn log(&mut self, level: String, text: &str) {
        if self.observed.logs.len() >= self.limits.log_events as usize {
            self.observed.logs_dropped += 1;
            return;
        }
        let cut = text.floor_char_boundary(self.limits.log_bytes);
        let mut kept = text[..cut].to_owned();
        if cut < text.len() {
            kept.push('…');
        }
        self.observed.logs.push(LogEvent::new(level, kept));
    }

    /// Hands a partial result to the caller, within the bounds of logs.
    pub(crate) fn update(&mut self, json_text: &[u8]) {
        let Limits {
            host_call_bytes,
            json_depth,
            json_nodes,
            ..
        } = self.limits;
        let Some(updates) = self.updates.clone() else {
            return;
        };
        self.observed.updates = self.observed.updates.saturating_add(1);
        let is_admitted = self.observed.updates <= self.limits.log_events
            && json_text.len() <= host_call_bytes
            && json::excess(json_text, json_depth, json_nodes).is_none();
        let partial = is_admitted.then(|| serde_json::from_slice(json_text));
        let is_taken = match partial {
            Some(Ok(partial)) => contained(|| updates.send(partial)).is_some(),
            Some(Err(_)) | None => false,
        };
        self.observed.logs_dropped += u64::from(!is_taken);
    }
}

fn malformed(member: &str, what: &dyn std::fmt::Display) -> SkillError {
    SkillError::new(
        Code::ArgumentsRejected,
        format!("the arguments of `{member}` cannot be taken: {what}"),
    )
}

/// Tells the guest of a member that panicked; the guest may go on.
fn broken(member: &str, panicked: Panicked) -> SkillError {
    SkillError::new(
        Code::ToolFailed,
        format!("`{member}` is broken in this host"),
    )
    .with_hint("do without it; the host's log has the panic")
    .with_source(panicked)
}

/// Runs the host's code and contains its panic, which must not unwind through a guest.
pub(crate) fn contained<T>(work: impl FnOnce() -> T) -> Option<T> {
    contain_panic(async { work() }).now_or_never()?.ok()
}

/// Writes an error as the guest is told it.
pub(crate) fn told(error: &SkillError, id: u32) -> Vec<u8> {
    serde_json::json!({
        "code": error.code().as_str(),
        "message": error.message(),
        "hint": error.hint(),
        "retryable": error.code().is_retryable(),
        "call": id,
    })
    .to_string()
    .into_bytes()
}

impl ResourceLimiter for State {
    fn memory_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if desired > self.limits.memory {
            self.observed.memory_refused = true;
            return Ok(false);
        }
        self.observed.memory_peak = self.observed.memory_peak.max(desired);
        Ok(true)
    }

    fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let is_within = desired <= self.limits.table;
        self.observed.table_refused |= !is_within;
        Ok(is_within)
    }
}

/// Timers that a guest may have at the same time.
const MOST_TIMERS: usize = 4096;

/// Refused calls that the guest has not been told of. It is told of them whenever it waits, so only
/// one that calls on and on without waiting has as many.
const MOST_REFUSED: usize = 4096;

/// Bytes of the name of a member.
const LONGEST_MEMBER: usize = 256;

/// The longest timer; a guest's deadline is long before it.
const MOST_SLEEP: Duration = Duration::from_hours(24);

/// Denials that are kept of one call.
const MOST_DENIALS: usize = 100;
