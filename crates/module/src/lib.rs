//! Rebuilds live tools into bounded wrappers that the host owns (tier 1).
//!
//! An author writes a [`LiveTool`](bailiwick_core::LiveTool), most easily with [`tool_fn`]. A host
//! never registers it: [`rewrap`] copies its name, description and schema once and keeps the
//! original behind a [`WrappedTool`], which alone decides how it is called and what it may return.
//!
//! # Examples
//!
//! ```
//! use bailiwick_core::{CallContext, Decision, Gatekeeper, Provenance, gate_fn};
//! use bailiwick_module::{Boundary, rewrap, schemars, tool_fn};
//! use serde_json::json;
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Count {
//!     /// The text whose words are counted.
//!     text: String,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let live = tool_fn::<Count>("word_count", "Counts words.", |count| async move {
//!     Ok::<_, std::io::Error>(count.text.split_whitespace().count().to_string())
//! });
//! let provenance = Provenance::new("text-tools".parse()?, None, None);
//! let tool = rewrap(live, provenance, Boundary::default())?;
//!
//! let gate = Gatekeeper::new(gate_fn(|_| async { Decision::allow() }));
//! let context = CallContext::new("/");
//! let outcome = bailiwick_core::call(&tool, &gate, json!({ "text": "a b c" }), &context).await;
//! assert_eq!(outcome.result?.text(), "3");
//! # Ok(())
//! # }
//! ```
//!
//! # What it promises
//!
//! Bounded, not safe:
//!
//! - The gate is asked before the handler runs, whatever the handler does or forgets.
//! - An error or a panic of the handler (in `call` itself, at any await, or when its future is
//!   dropped) is `E_SKILL_TOOL_FAILED`. The model is told tool and skill; the handler's words stay
//!   in the host chain, and a panic's payload is shown nowhere. An error of ours that a handler
//!   returns is a handler's error like any other.
//! - An answer has one of four shapes (text, bytes, media, a list of media) or is
//!   `E_SKILL_TOOL_BAD_RESPONSE`; provenance is the host's, and nothing is trusted.
//! - A text beyond the inline reply is kept in the artifact store and shown by its two ends.
//! - On cancel, or at the caller's deadline, the handler is stopped at its next await. If it has
//!   not yielded after the grace, the report says `still_running`.
//!
//! # Where a handler runs
//!
//! Each call runs on a thread of tokio's blocking pool, which polls the handler's future there.
//! A handler that blocks its thread therefore never blocks the caller's executor, on a
//! current-thread runtime neither. What follows from it:
//!
//! - The runtime needs its timers (`enable_time`).
//! - On a current-thread runtime the handler's own timers advance only while the host's thread
//!   drives the runtime, and `tokio::task::block_in_place` panics (which is contained).
//! - A handler that never yields keeps its thread. Dropping a runtime waits for such threads; end
//!   it with `shutdown_timeout` or `shutdown_background`.
//!
//! # What it does not enforce
//!
//! A wrapped tool is still a function in the host's process: it reaches what the host reaches,
//! and has no limit of memory, time or threads. It cannot be killed, only asked and abandoned. A
//! second panic during unwinding, a stack overflow, `abort` and a host built with
//! `panic = "abort"` end the process. The host's panic hook runs before a panic is contained and
//! sees its message. For code that is not yours, use a tier that confines it.

#![forbid(unsafe_code)]

mod boundary;
mod error;
mod function;
mod tool;
mod wrap;

pub use schemars;

pub use crate::boundary::Boundary;
pub use crate::error::{HandlerFault, ModuleError, StopReason};
pub use crate::function::{Handler, tool_fn};
pub use crate::tool::{WrappedTool, rewrap};
