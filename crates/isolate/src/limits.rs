//! What one guest call may use.

use serde::Serialize;

/// The limits of one call; every one is enforced by the host at the boundary.
///
/// The wall-clock deadline is not among them: it belongs to the [`Job`](crate::Job).
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Limits {
    /// Units of work, a unit being about one wasm instruction; none counts nothing.
    pub fuel: Option<u64>,
    /// Bytes of linear memory, the guest's own 2 to 3 MiB among them.
    pub memory: usize,
    /// Elements of all tables together.
    pub table: usize,
    /// Bytes of stack that the guest's language may use.
    pub stack: u32,
    /// Host calls in one call.
    pub host_calls: u32,
    /// Host calls that run at the same time; more wait.
    pub host_calls_concurrent: u32,
    /// Bytes of one host call's arguments, and of its answer.
    pub host_call_bytes: usize,
    /// Bytes of the answer.
    pub result: usize,
    /// Log events, and partial results, that are kept; more are counted.
    pub log_events: u32,
    /// Bytes of one log event; more are cut.
    pub log_bytes: usize,
    /// Levels of nesting of any JSON that leaves the guest.
    pub json_depth: u32,
    /// Values in any JSON that leaves the guest.
    pub json_nodes: u32,
}

impl Limits {
    /// Checks text that a guest gave as JSON against [`json_depth`](Self::json_depth) and
    /// [`json_nodes`](Self::json_nodes), before anything parses it.
    ///
    /// # Errors
    ///
    /// What it exceeds, in words. Text that is no JSON may pass; its parser rejects it.
    pub fn check_json(&self, text: &[u8]) -> Result<(), String> {
        let excess = crate::json::excess(text, self.json_depth, self.json_nodes);
        excess.map_or(Ok(()), |excess| Err(excess.to_string()))
    }
}

impl Default for Limits {
    /// Returns the limits that hold where nobody says otherwise: those of `[limits.isolate]`.
    fn default() -> Self {
        Self {
            fuel: None,
            memory: 64 << 20,
            table: 10_000,
            stack: 512 << 10,
            host_calls: 1000,
            host_calls_concurrent: 32,
            host_call_bytes: 1 << 20,
            result: 10 << 20,
            log_events: 1000,
            log_bytes: 8 << 10,
            json_depth: 64,
            json_nodes: 100_000,
        }
    }
}
