//! Starting a confined run, at once or in a launcher that waits for it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::child::ConfinedChild;
use crate::command::ConfinedCommand;
use crate::compile::Compiled;
use crate::error::SandboxError;
use crate::message::Stage;
use crate::place::Place;

/// Starts a command under a compiled policy.
///
/// Returns once the program is executed. Blocks for as long as that takes, some milliseconds.
///
/// # Errors
///
/// `E_SKILL_SCRIPT_SANDBOX_UNAVAILABLE` naming the stage of the launch that failed; nothing of the
/// program has run then. `E_SKILL_ARGUMENTS_REJECTED` when the command cannot be carried.
#[expect(
    clippy::needless_pass_by_value,
    reason = "a command is a run, and is run once"
)]
pub fn spawn(compiled: &Compiled, command: ConfinedCommand) -> Result<ConfinedChild, SandboxError> {
    // A machine can refuse three things that a run does without: mapped owners, a template, and a
    // network namespace that is joined. What it refused once is not tried again.
    for _ in 0..3 {
        match attempt(compiled, &command) {
            Err(SandboxError::Launch {
                stage: Stage::IdMappedMount,
                ..
            }) => compiled.set_unmapped()?,
            Err(SandboxError::Launch {
                stage: Stage::Template | Stage::Network,
                ..
            }) => {}
            result => return result,
        }
    }
    attempt(compiled, &command)
}

fn attempt(compiled: &Compiled, command: &ConfinedCommand) -> Result<ConfinedChild, SandboxError> {
    // What began from a place that was replaced since would run in the old one.
    let in_place = compiled.root.is_in_place();
    if !in_place {
        compiled.warm.clear();
    }
    let place = match compiled.warm.take() {
        Some(place) => place,
        None => Place::make(compiled, in_place)?,
    };
    place.execute(compiled, command)
}

impl Compiled {
    /// Starts launchers until `count` of them wait, each in the namespaces of the run that it will
    /// be, and returns how many were started.
    ///
    /// [`spawn`] takes one that waits before it starts another, and leaves the pool smaller by one:
    /// whoever wants it full again calls this again, when it can spare the millisecond that each
    /// takes. A launcher serves one run. While it waits it holds a run's uid and control group, two
    /// processes and some pages; it ends with this value, and with the host however that ends. No
    /// more than 16 of one policy wait.
    ///
    /// # Errors
    ///
    /// As those of [`spawn`] that do not depend on the command. What was started stays.
    pub fn keep_warm(&self, count: usize) -> Result<usize, SandboxError> {
        let in_place = self.root.is_in_place();
        // Where another fills the pool there is nothing to do.
        let Ok(_filling) = self.warm.filling.try_lock() else {
            return Ok(0);
        };
        self.warm.drop_failed();
        let mut started = 0;
        while self.warm.places().len() < count.min(MOST_WARM) {
            let place = Place::make(self, in_place)?;
            self.warm.places().push(place);
            started += 1;
        }
        Ok(started)
    }
}

/// Launchers that wait for a command.
#[derive(Debug, Default)]
pub(crate) struct Warm {
    places: Mutex<Vec<Place>>,
    /// Held by whoever starts some.
    filling: Mutex<()>,
}

impl Warm {
    /// Takes one that still waits. What failed meanwhile is dropped, and told by the run that is
    /// started in its place.
    fn take(&self) -> Option<Place> {
        loop {
            let mut place = self.places().pop()?;
            if place.is_waiting() {
                return Some(place);
            }
        }
    }

    /// Drops those that failed meanwhile.
    fn drop_failed(&self) {
        let failed: Vec<_> = self
            .places()
            .extract_if(.., |place| !place.is_waiting())
            .collect();
        drop(failed);
    }

    /// Drops all.
    fn clear(&self) {
        let places = std::mem::take(&mut *self.places());
        drop(places);
    }

    fn places(&self) -> MutexGuard<'_, Vec<Place>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The most launchers of one policy that wait: a host has 256 uids for all of its runs.
const MOST_WARM: usize = 16;
