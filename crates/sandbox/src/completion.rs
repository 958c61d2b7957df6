//! How a run ended and what it left.

use std::os::fd::OwnedFd;
use std::time::Duration;

use bailiwick_policy::LimitAxis;

use crate::class::LayerReport;
use crate::denial::Denial;
use crate::drain::Captured;

/// A run that is over.
#[derive(Debug)]
#[non_exhaustive]
pub struct Completion {
    /// The run's id, as its command gave it.
    pub run: String,
    /// How the main process ended, or who ended it.
    pub end: End,
    /// What was captured of both streams.
    pub output: Captured,
    /// How many bytes of output did not fit.
    pub dropped: u64,
    /// Whether any byte of output did not fit.
    pub truncated: bool,
    /// What the run used.
    pub usage: Usage,
    /// Whether every process of the run is known to be gone.
    pub confirmed_dead: Confirmed,
    /// The layers that were in force.
    pub layers: LayerReport,
    /// What the host saw refused.
    pub denials: Vec<Denial>,
    /// The limits at which the host observed a refusal, whether or not the run failed for it.
    pub limits_hit: Vec<LimitAxis>,
    /// The folder that the run left its results in. The files in it are the run's own work and
    /// are not to be trusted: open them beneath this handle, without following links.
    pub out_dir: Option<OwnedFd>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "an end that some match forgets would be misreported"
)]
pub enum End {
    /// The main process exited with this code.
    Exited(i32),
    /// A signal that is not accounted for by a limit ended the main process.
    Signalled {
        /// The signal's number.
        signal: i32,
    },
    /// The deadline passed.
    TimedOut,
    /// The caller cancelled.
    Cancelled,
    /// A limit ended the run, or it failed after a refusal at the limit.
    Limit(LimitAxis),
}

/// What a run used.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Usage {
    /// From the start of the program to its end.
    pub wall: Duration,
    /// Processor time in user mode of the main process and the children that it awaited.
    pub user: Duration,
    /// Processor time in kernel mode, likewise.
    pub system: Duration,
    /// The largest resident set of any one of them, in bytes.
    pub peak_memory: u64,
}

/// How sure it is that nothing of a run is left.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Confirmed {
    /// The time from the order to kill until the confirmation, or until it was given up.
    pub after: Duration,
    /// Whether the kernel confirmed it. If not, the run's resources are kept from reuse.
    pub confirmed: bool,
}
