//! The integration tests of `bailiwick-package`.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "the helpers of these modules are test code, though no test themselves"
)]

mod catalog;
mod check;
mod discovery;
mod guard;
mod hostile;
mod package;
mod schema;
mod sidecar;
mod sources;
mod support;
mod verdicts;
