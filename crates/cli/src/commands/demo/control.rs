//! The attacks without confinement: what they do to whoever runs them.
//!
//! The one place of the program that starts a process. It starts the attack program alone, with a
//! bound of its own on everything that it does, because an attack that fails without the layer
//! proves nothing about the layer.

use std::io::{self, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What an attack came to without confinement.
#[derive(Debug)]
pub(super) struct Control {
    pub(super) succeeded: bool,
    /// What it said.
    pub(super) said: String,
}

/// Runs an attack to its own end.
pub(super) fn run(program: &Path, words: &[String]) -> io::Result<Control> {
    let mut running = Running(start(program, words)?);
    let ended = running.within(BOUND)?;
    let mut said = String::new();
    // What the program ends with is in the pipe already; one that does not end is killed first.
    drop(running.0.kill());
    if let Some(stdout) = running.0.stdout.take() {
        stdout.take(MOST_SAID).read_to_string(&mut said)?;
    }
    Ok(Control {
        succeeded: ended == Some(true),
        said: said.trim().to_owned(),
    })
}

/// Starts an attack that has no end, and says whether it still ran when its bound ended it.
pub(super) fn outlasts(program: &Path, words: &[String], bound: Duration) -> io::Result<bool> {
    Ok(Running(start(program, words)?).within(bound)?.is_none())
}

/// A process that does not outlive this value.
struct Running(Child);

impl Running {
    /// Waits until the process ends and says whether it succeeded; nothing if it goes on.
    fn within(&mut self, bound: Duration) -> io::Result<Option<bool>> {
        let end = Instant::now() + bound;
        loop {
            if let Some(status) = self.0.try_wait()? {
                return Ok(Some(status.success()));
            }
            if Instant::now() >= end {
                return Ok(None);
            }
            std::thread::sleep(LOOK);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended is waited for all the same.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the control runs our own program, unconfined"
)]
fn start(program: &Path, words: &[String]) -> io::Result<Child> {
    Command::new(program)
        .args(words)
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
}

/// How long a control may take on a busy machine.
const BOUND: Duration = Duration::from_secs(10);

const LOOK: Duration = Duration::from_millis(5);

const MOST_SAID: u64 = 4096;
