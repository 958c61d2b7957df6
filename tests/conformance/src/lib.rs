//! Runs the conformance cases of Bailiwick's contracts against any implementation.
//!
//! The cases are data: one JSON file per subject under `data/<area>/`, every case below the
//! sentence of the contract that it comes from. An implementation takes part through a *shim*, a
//! program that answers one JSON line for each line it is given (see [`protocol`]).
//!
//! ```
//! use bailiwick_conformance::cases::{Expectation, Verdict};
//! use bailiwick_conformance::protocol::Answer;
//!
//! let expected: Expectation = serde_json::from_str(r#"{"ok": "a/b"}"#)?;
//! let answer: Answer = serde_json::from_str(r#"{"id": 1, "ok": "a/c"}"#)?;
//! assert!(matches!(expected.judge(&answer.outcome), Verdict::Fail { .. }));
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! # Promises
//!
//! A case passes only when the answer equals the expectation. The baseline is strict: a failure
//! that is not listed fails the run, and so does a listed case that passes. A shim that dies, goes
//! silent or answers out of turn fails the run and is named.
//!
//! # Not enforced
//!
//! A shim runs with the authority of whoever starts the runner; nothing confines it.
#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_methods,
    reason = "a developer's tool reads its own data files and starts the shim it was given"
)]

pub mod baseline;
pub mod cases;
pub mod protocol;
pub mod report;
pub mod shim;

use thiserror::Error;

/// What can stop a run before it has a verdict for every case.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConformanceError {
    /// A data or baseline file could not be read.
    #[error("cannot read {path}")]
    Read {
        /// The file or folder.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A data file is not a list of cases.
    #[error("{path} does not hold cases")]
    Data {
        /// The file.
        path: String,
        /// Where and why parsing stopped.
        source: serde_json::Error,
    },
    /// A data file parses and still says something impossible.
    #[error("{path}: {problem}")]
    Inconsistent {
        /// The file.
        path: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The shim did not start, died, went silent or broke the protocol.
    #[error("the shim {problem}")]
    Shim {
        /// What it did, and for which case.
        problem: String,
    },
    /// A command line that the runner does not understand.
    #[error("{problem}")]
    Usage {
        /// What is wrong with it.
        problem: String,
    },
}
