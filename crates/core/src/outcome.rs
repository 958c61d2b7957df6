//! How a call ended, and what was observed on the way.

use std::time::Duration;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::artifact::ArtifactId;
use crate::error::SkillError;
use crate::response::Response;
use crate::tier::Tier;

/// The result of a call together with its report; a failure keeps its report.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// What the tool answered, or why it did not.
    pub result: Result<Response, SkillError>,
    /// What the host observed.
    pub report: CallReport,
}

impl Outcome {
    /// Pairs a result with its report.
    pub fn new(result: Result<Response, SkillError>, report: CallReport) -> Self {
        Self { result, report }
    }
}

/// What the host observed during a call (contracts 2.4).
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct CallReport {
    /// Where the code ran.
    pub tier: Tier,
    /// From the request to the answer, the gate's time included.
    #[serde(rename = "duration_us", serialize_with = "microseconds")]
    pub duration: Duration,
    /// How much of it the gate took.
    #[serde(rename = "gate_us", serialize_with = "microseconds")]
    pub gate: Duration,
    /// The exit code of a script that exited.
    pub exit: Option<i32>,
    /// The signal that ended a script.
    pub signal: Option<i32>,
    /// How many bytes of output were captured.
    pub bytes: u64,
    /// How many bytes of output were dropped.
    pub dropped: u64,
    /// Whether anything was dropped.
    pub truncated: bool,
    /// The artifact that keeps the whole captured output.
    pub artifact: Option<ArtifactId>,
    /// Artifacts made from files that the tool left behind.
    pub files: Vec<ArtifactId>,
    /// The limits in force, by name.
    pub limits: Value,
    /// The limit that ended the call.
    pub limit_hit: Option<String>,
    /// The sandbox's layers and how far each is in force; null where there is no sandbox.
    pub sandbox: Value,
    /// What the proxy of a script decided, to which hosts are granted; null elsewhere.
    pub network: Value,
    /// Refusals that the host observed.
    pub denials: Vec<Value>,
    /// What the host wants read: weakened settings, stale caches.
    pub warnings: Vec<String>,
    /// What an isolated tool logged, within its limits.
    pub logs: Vec<LogEvent>,
    /// How many log events and partial results were dropped.
    pub logs_dropped: u64,
    /// What an isolated tool used: memory, fuel, host calls; null elsewhere.
    pub usage: Value,
    /// What a tool tells its host and no model.
    pub details: Option<Value>,
    /// Where an isolated tool threw, in the lines of its author's source.
    pub stack: Option<String>,
    /// From the order to stop to the proof that nothing runs any more.
    #[serde(rename = "confirmed_dead_us", serialize_with = "optional_microseconds")]
    pub confirmed_dead: Option<Duration>,
    /// Whether that proof exists; `false` means that remains are quarantined.
    pub confirmed: bool,
    /// Whether a cancelled or expired tier-1 handler had not yielded when the call answered.
    pub still_running: bool,
}

impl CallReport {
    /// Creates the report of a call in which nothing has been observed yet.
    pub fn new(tier: Tier) -> Self {
        Self {
            tier,
            duration: Duration::ZERO,
            gate: Duration::ZERO,
            exit: None,
            signal: None,
            bytes: 0,
            dropped: 0,
            truncated: false,
            artifact: None,
            files: Vec::new(),
            limits: Value::Null,
            limit_hit: None,
            sandbox: Value::Null,
            network: Value::Null,
            denials: Vec::new(),
            warnings: Vec::new(),
            logs: Vec::new(),
            logs_dropped: 0,
            usage: Value::Null,
            details: None,
            stack: None,
            confirmed_dead: None,
            confirmed: true,
            still_running: false,
        }
    }
}

/// One thing that a tool logged.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LogEvent {
    /// The level: `debug`, `log`, `info`, `warn` or `error`.
    pub level: String,
    /// The text, cut to the limit of one event.
    pub text: String,
}

impl LogEvent {
    /// Pairs a level with a text.
    pub fn new(level: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            level: level.into(),
            text: text.into(),
        }
    }
}

fn microseconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX))
}

#[expect(clippy::ref_option, reason = "serde hands a reference to the field")]
fn optional_microseconds<S: Serializer>(
    duration: &Option<Duration>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match duration {
        Some(duration) => microseconds(duration, serializer),
        None => serializer.serialize_none(),
    }
}
