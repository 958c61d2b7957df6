//! Many runs at the same time, and the end of a run that will not end.

use std::path::Path;
use std::time::{Duration, Instant};

use bailiwick::sandbox::{ConfinedCommand, Host, spawn};
use bailiwick::sandbox_policy::Net;

use super::{Confined, raw};
use crate::measure::{BoxError, Sample};

/// Runs that are under way at the same time.
const IN_FLIGHT: usize = 4;
/// Processes of the bomb, its first one among them.
const BOMB: u32 = 64;

/// Returns how many confined runs end in the time of one raw run each, with four in flight of
/// either; above 0.4 is promised.
pub(super) fn throughput(
    confined: &Confined,
    target: &Path,
    rounds: usize,
) -> Result<f64, BoxError> {
    let each = rounds.div_ceil(IN_FLIGHT);
    let raw = at_once(each, || raw(target))?;
    let confined = at_once(each, || confined.run())?;
    Ok(raw.as_secs_f64() / confined.as_secs_f64())
}

/// Times `each` turns of the same work on every one of the threads.
fn at_once(
    each: usize,
    work: impl Fn() -> Result<Duration, BoxError> + Sync,
) -> Result<Duration, BoxError> {
    let many = || {
        for _ in 0..each {
            work().map_err(|error| error.to_string())?;
        }
        Ok::<(), String>(())
    };
    let started = Instant::now();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..IN_FLIGHT).map(|_| scope.spawn(many)).collect();
        threads.into_iter().try_for_each(|thread| {
            thread
                .join()
                .unwrap_or_else(|_| Err("a thread panicked".to_owned()))
        })
    })?;
    Ok(started.elapsed())
}

/// Measures from the kill of a bomb of 64 processes to the confirmed end of the last of them.
pub(super) fn kill(host: &Host, shell: &Path, rounds: usize) -> Result<Sample, BoxError> {
    let confined = Confined::with(host, shell, &Net::None, |limits| {
        limits
            .with_processes(BOMB)
            .with_wall(Duration::from_secs(20))
    })?;
    let mut took = Vec::new();
    for round in 0..rounds.div_ceil(10) {
        let program = "echo; bomb() { bomb & bomb & wait; }; bomb 2>/dev/null";
        let words = ["/bin/sh", "-c", program].map(str::to_owned);
        let id = format!("bench-kill-{}-{round}", std::process::id());
        let child = spawn(&confined.compiled, ConfinedCommand::new(id, words)?)?;
        let canceller = child.canceller();
        let waiting = std::thread::spawn(move || child.wait());
        // The bomb has grown to its limit long before.
        std::thread::sleep(Duration::from_millis(60));
        canceller.cancel();
        let completion = waiting.join().map_err(|_| "the waiting thread panicked")?;
        if !completion.confirmed_dead.confirmed {
            return Err("the end was not confirmed".into());
        }
        took.push(completion.confirmed_dead.after);
    }
    Ok(Sample::of("script.kill", took))
}
