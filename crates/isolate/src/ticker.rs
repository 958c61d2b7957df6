//! The thread that moves an engine's epoch on while guests run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::Thread;
use std::time::Duration;

/// How long a tick takes: a running guest looks up at least this often.
pub(crate) const TICK: Duration = Duration::from_millis(1);

/// Moves the epoch on while at least one guest runs, and for a moment after.
///
/// It parks when nobody has run for [`LINGER`] ticks, so an idle host is not woken; and it does not
/// park at once, so that a host which calls often is not slowed by waking it.
pub(crate) struct Ticker {
    shared: Arc<Shared>,
    thread: Thread,
}

#[derive(Default)]
struct Shared {
    running: AtomicUsize,
    entered: AtomicU64,
    is_parked: AtomicBool,
    is_over: AtomicBool,
}

impl Ticker {
    /// Starts the thread; it ends when the ticker is dropped.
    pub(crate) fn start(engine: wasmtime::Engine) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let its_own = shared.clone();
        let thread = std::thread::Builder::new()
            .name("bailiwick-epoch".to_owned())
            .spawn(move || run(&engine, &its_own))?
            .thread()
            .clone();
        Ok(Self { shared, thread })
    }

    /// Keeps the epoch moving until the guard is dropped.
    pub(crate) fn enter(&self) -> Ticking {
        self.shared.running.fetch_add(1, Ordering::SeqCst);
        self.shared.entered.fetch_add(1, Ordering::Relaxed);
        if self.shared.is_parked.load(Ordering::SeqCst) {
            self.thread.unpark();
        }
        Ticking(self.shared.clone())
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        self.thread.unpark();
    }
}

/// Keeps the epoch moving.
pub(crate) struct Ticking(Arc<Shared>);

impl Drop for Ticking {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

fn run(engine: &wasmtime::Engine, shared: &Shared) {
    let (mut idle, mut seen) = (0, 0);
    while !shared.is_over.load(Ordering::SeqCst) {
        std::thread::sleep(TICK);
        engine.increment_epoch();
        let entered = shared.entered.load(Ordering::Relaxed);
        let is_busy = shared.running.load(Ordering::SeqCst) > 0 || entered != seen;
        seen = entered;
        idle = if is_busy { 0 } else { idle + 1 };
        if idle < LINGER {
            continue;
        }
        idle = 0;
        // A guest that enters from here on sees the flag, or is seen by the look that follows it.
        shared.is_parked.store(true, Ordering::SeqCst);
        let is_wanted =
            || shared.running.load(Ordering::SeqCst) > 0 || shared.is_over.load(Ordering::SeqCst);
        while !is_wanted() {
            std::thread::park();
        }
        shared.is_parked.store(false, Ordering::SeqCst);
    }
}

/// Ticks without a guest before the thread parks.
const LINGER: u32 = 100;
