//! How a guest call ended and what the host saw of it.

use std::time::Duration;

use bailiwick_core::{LogEvent, SkillError};
use serde::Serialize;

/// The end of a call together with what the host observed.
#[derive(Debug)]
#[non_exhaustive]
pub struct Completion {
    /// How it ended.
    pub ending: Ending,
    /// What was observed.
    pub observed: Observed,
    /// From the order to stop until the guest was gone; none when the guest ended by itself.
    pub confirmed_dead: Option<Duration>,
}

/// How a call ended, as the host saw it.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Ending {
    /// The guest gave its answer.
    Answered {
        /// Which kind of answer; the numbers belong to the guest's language.
        kind: u32,
        /// The answer, within [`Limits::result`](crate::Limits::result).
        bytes: Vec<u8>,
    },
    /// The guest's answer is larger than it may be.
    ResultTooLarge {
        /// How large it is, in bytes.
        bytes: u64,
    },
    /// The guest waits for something that nobody is working on.
    Stalled,
    /// The deadline passed.
    Expired,
    /// The caller cancelled.
    Cancelled,
    /// The fuel is used up.
    OutOfFuel,
    /// The guest was refused memory or table and could not go on.
    OutOfMemory,
    /// The guest used more native stack than its language accounts for.
    StackExhausted,
    /// The limits are beyond what the engine can hold a guest to, so it was not started.
    Misconfigured {
        /// Which limit, and what the engine can hold.
        what: String,
    },
    /// The guest broke the interface: a pointer outside its memory, an unknown number, more timers
    /// or unanswered calls than the host remembers.
    Violated {
        /// What it did.
        what: String,
    },
    /// The guest's code trapped for a reason of its own.
    Trapped {
        /// What the engine said.
        what: String,
    },
}

/// What the host observed during a call, whichever way it ended.
#[derive(Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Observed {
    /// The most linear memory that the guest had, in bytes.
    pub memory_peak: usize,
    /// Whether the guest was refused memory.
    pub memory_refused: bool,
    /// Whether the guest was refused table elements.
    pub table_refused: bool,
    /// How much fuel was used; none where none is counted.
    pub fuel_used: Option<u64>,
    /// How many host calls the guest made.
    pub host_calls: u32,
    /// What the guest logged.
    pub logs: Vec<LogEvent>,
    /// How many partial results the guest sent.
    pub updates: u32,
    /// How many log events and partial results were dropped.
    pub logs_dropped: u64,
    /// The quota that refused a host call, if one did.
    pub quota_hit: Option<&'static str>,
    /// The refusals of what is not granted, each with the number under which the guest knows it.
    #[serde(skip)]
    pub denials: Vec<(u32, SkillError)>,
}

impl Observed {
    /// Returns the denial that the guest knows by a number.
    pub fn denial(&self, call: u32) -> Option<&SkillError> {
        self.denials
            .iter()
            .find(|(id, _)| *id == call)
            .map(|(_, error)| error)
    }
}
