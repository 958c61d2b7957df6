//! One guest call, from a fresh instance to its end.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bailiwick_core::{BoxFuture, CancelToken, HostCall, HostCalls, SkillError, Updates};
use serde_json::Value;
use wasmtime::{Store, Trap, UpdateDeadline};

use crate::abi::{Violation, violation};
use crate::clock::{Clock, Random, denied};
use crate::completion::{Completion, Ending, Observed};
use crate::limits::Limits;
use crate::program::{Exports, Program};
use crate::state::{Settled, Settling, State};

/// What one call asks of a guest, and what it may use.
#[derive(Clone)]
#[non_exhaustive]
pub struct Job {
    /// The number of what is asked; it belongs to the guest's language.
    pub operation: u32,
    /// Up to three inputs; they belong to the guest's language as well.
    pub parts: [Arc<[u8]>; 3],
    /// The limits. Those of [`Limits::default`] by default.
    pub limits: Limits,
    /// When the call must have ended.
    pub deadline: Instant,
    /// The caller's wish to stop. Never by default.
    pub cancel: CancelToken,
    /// Who answers host calls. Nobody by default: each is denied.
    pub host: Arc<dyn HostCalls>,
    /// What the guest learns of time. Nothing by default.
    pub clock: Clock,
    /// What the guest learns of chance. Nothing by default.
    pub random: Random,
    /// Who is shown partial results. Nobody by default.
    pub updates: Option<Updates>,
}

impl Job {
    /// Asks for an operation under the default limits, with nothing granted.
    pub fn new(operation: u32, parts: [Arc<[u8]>; 3], deadline: Instant) -> Self {
        Self {
            operation,
            parts,
            limits: Limits::default(),
            deadline,
            cancel: CancelToken::new(),
            host: no_host(),
            clock: Clock::default(),
            random: Random::default(),
            updates: None,
        }
    }
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job")
            .field("operation", &self.operation)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// Returns a host that denies every call.
pub fn no_host() -> Arc<dyn HostCalls> {
    Arc::new(NoHost)
}

struct NoHost;

impl HostCalls for NoHost {
    fn begin(&self, call: HostCall) -> BoxFuture<'static, Result<Value, SkillError>> {
        Box::pin(std::future::ready(Err(denied(&call.member))))
    }
}

impl Program {
    /// Carries out a job in a fresh instance, waiting for a free slot first.
    ///
    /// The future must be polled by a tokio runtime with its timer. A guest that computes yields at
    /// each tick, so one thread can drive many. Dropping the future drops the guest.
    pub async fn evaluate(&self, job: Job) -> Completion {
        let inner = self.engine.inner();
        let slot = async {
            let slot = tokio::select! {
                biased;
                ending = stopped(&job.cancel, job.deadline) => return Err(ending),
                slot = inner.slots.acquire() => slot,
            };
            // A timer rings up to a millisecond late, and a guest may need less.
            must_stop(&job.cancel, job.deadline).map_or(Ok(slot), Err)
        };
        let slot = match slot.await {
            Ok(slot) => slot,
            Err(ending) => {
                return Completion {
                    ending,
                    observed: Observed::default(),
                    confirmed_dead: None,
                };
            }
        };
        let _ticking = inner.ticker.enter();
        let mut call = Call::new(self, &job);
        let ending = call.drive(self, job).await;
        let ordered = Instant::now();
        let observed = call.close();
        let confirmed_dead =
            matches!(ending, Ending::Cancelled | Ending::Expired).then(|| ordered.elapsed());
        drop(slot);
        Completion {
            ending,
            observed,
            confirmed_dead,
        }
    }
}

/// Returns how a call must end now, if it must.
pub(crate) fn must_stop(cancel: &CancelToken, deadline: Instant) -> Option<Ending> {
    if cancel.is_cancelled() {
        Some(Ending::Cancelled)
    } else if Instant::now() >= deadline {
        Some(Ending::Expired)
    } else {
        None
    }
}

/// Waits until the caller cancels or the deadline passes.
async fn stopped(cancel: &CancelToken, deadline: Instant) -> Ending {
    tokio::select! {
        biased;
        () = cancel.cancelled() => Ending::Cancelled,
        () = tokio::time::sleep_until(deadline.into()) => Ending::Expired,
    }
}

/// A live guest.
struct Call {
    store: Store<State>,
    fuel: Option<u64>,
}

impl Call {
    fn new(program: &Program, job: &Job) -> Self {
        let inner = program.engine.inner();
        let state = State::new(job, program.pure, Instant::now());
        let mut store = Store::new(&inner.wasmtime, state);
        store.limiter(|state| state);
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(|mut context| {
            let state = context.data_mut();
            match must_stop(&state.cancel, state.deadline) {
                Some(ending) => {
                    state.ending = Some(ending);
                    Ok(UpdateDeadline::Interrupt)
                }
                None => Ok(UpdateDeadline::Yield(1)),
            }
        });
        let fuel = inner
            .settings
            .counts_fuel()
            .then(|| job.limits.fuel.unwrap_or(u64::MAX));
        Self { store, fuel }
    }

    async fn drive(&mut self, program: &Program, job: Job) -> Ending {
        match self.attempt(program, job).await {
            Ok(ending) => ending,
            Err(error) => self.explain(&error),
        }
    }

    async fn attempt(&mut self, program: &Program, job: Job) -> wasmtime::Result<Ending> {
        if let Some(what) = program.engine.excess(&job.limits) {
            return Ok(Ending::Misconfigured { what });
        }
        if let Some(fuel) = self.fuel {
            self.store.set_fuel(fuel)?;
        }
        let instance = program.linked.instantiate_async(&mut self.store).await?;
        let exports = Exports::of(&instance, &mut self.store)?;
        let lengths = job.parts.each_ref().map(|part| size(part.len()));
        let parts = job.parts.each_ref().map(|part| &**part);
        let place = self.place(&exports, &parts).await?;
        let [first, second, third] = lengths;
        let question = (job.operation, job.limits.stack, place, first, second, third);
        exports.run.call_async(&mut self.store, question).await?;
        loop {
            if let Some(ending) = self.store.data_mut().ending.take() {
                return Ok(ending);
            }
            let state = self.store.data_mut();
            let settling = tokio::select! {
                biased;
                ending = stopped(&job.cancel, job.deadline) => return Ok(ending),
                settling = state.next() => settling,
            };
            let Some(settling) = settling else {
                return Ok(Ending::Stalled);
            };
            self.settle(&exports, settling).await?;
        }
    }

    async fn settle(&mut self, exports: &Exports, settling: Settling) -> wasmtime::Result<()> {
        let state = self.store.data_mut();
        state.is_over(&settling);
        let id = settling.id;
        let (is_ok, json) = match settling.what {
            Settled::Dropped => return Ok(()),
            Settled::Timer => (true, b"null".to_vec()),
            Settled::Call(result) => state.tell(id, result),
            Settled::Refused(error) => state.tell(id, Err(error)),
        };
        let place = self.place(exports, &[&json]).await?;
        let arguments = (id, u32::from(is_ok), place, size(json.len()));
        exports
            .settle
            .call_async(&mut self.store, arguments)
            .await?;
        Ok(())
    }

    /// Copies bytes into the guest's memory, one behind the other, to where the guest says.
    async fn place(&mut self, exports: &Exports, parts: &[&[u8]]) -> wasmtime::Result<u32> {
        let length = parts.iter().map(|part| part.len()).sum();
        let place = exports
            .alloc
            .call_async(&mut self.store, size(length))
            .await?;
        if place == 0 {
            return Err(wasmtime::Error::new(NoRoom));
        }
        let mut offset = place as usize;
        for part in parts {
            exports
                .memory
                .write(&mut self.store, offset, part)
                .map_err(|_| violation("it offered a place outside its memory"))?;
            offset += part.len();
        }
        Ok(place)
    }

    /// Says how a call ended whose guest did not come to its end.
    fn explain(&mut self, error: &wasmtime::Error) -> Ending {
        let state = self.store.data_mut();
        let was_refused = state.observed.memory_refused || state.observed.table_refused;
        if let Some(ending @ (Ending::Cancelled | Ending::Expired)) = state.ending.take() {
            return ending;
        }
        if let Some(Violation(what)) = error.downcast_ref::<Violation>() {
            return Ending::Violated { what: what.clone() };
        }
        match error.downcast_ref::<Trap>() {
            Some(Trap::OutOfFuel) => Ending::OutOfFuel,
            Some(Trap::StackOverflow) => Ending::StackExhausted,
            // The guest's own `abort`, which is where its allocations end that nobody catches.
            Some(Trap::UnreachableCodeReached) if was_refused => Ending::OutOfMemory,
            None if was_refused || error.is::<NoRoom>() => Ending::OutOfMemory,
            Some(trap) => Ending::Trapped {
                what: trap.to_string(),
            },
            None => Ending::Trapped {
                what: error.to_string(),
            },
        }
    }

    /// Drops the guest, and with it every host call under way.
    fn close(mut self) -> Observed {
        let used = self
            .fuel
            .and_then(|given| Some(given - self.store.get_fuel().ok()?));
        let mut observed = std::mem::take(&mut self.store.data_mut().observed);
        observed.fuel_used = used;
        drop(self.store);
        observed
    }
}

/// The guest had no room for what it was to be given.
#[derive(Debug, thiserror::Error)]
#[error("the guest has no room for its input")]
struct NoRoom;

fn size(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// How soon a guest that computes notices that it must stop.
pub const TICK: Duration = crate::ticker::TICK;
